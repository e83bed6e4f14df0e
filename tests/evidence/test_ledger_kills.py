"""A thinned run of the ledger study: killed writers, and mutants that must be caught."""

from __future__ import annotations

import pytest
from evidence.ledger import study as ledger
from evidence.ledger.study import BESIDE, FOLDERS, MUTANTS, ROOM, TWO, UNSEEN


def needs(case: str) -> None:
    if case in TWO and not ledger.mounts():
        pytest.skip("nothing can be mounted here")
    if case == UNSEEN and not ledger.marks():
        pytest.skip("files have no attributes here")


@pytest.mark.parametrize("case", ["", FOLDERS, UNSEEN])
def test_kills_leave_the_ledger_right(case: str) -> None:
    needs(case)
    inside = refused = 0
    # About a quarter of the kills fall inside a charge; go on until some did.
    for seed in range(20):
        found = ledger.study(case, 8, seed)
        assert found["kills"] == 8
        assert found["charges"] == ROOM * found["trials"]
        assert found["releases"] >= found["charges"]
        assert ledger.wrong(found) == 0
        inside += found["inside"]
        refused += found["refused"]
        if inside > 1 and (case != FOLDERS or refused):
            assert case or not refused
            return
    pytest.fail("no kill fell inside a charge")


# That a ledger without a mark is overspent takes a kill within some microseconds: the study has
# the time to wait for one, and test_ledger_folders cuts a charge short just there.
@pytest.mark.parametrize("mutant", [*MUTANTS, BESIDE])
def test_mutants_are_caught(mutant: str) -> None:
    needs(mutant)
    # Whether a kill or a race hits the weak spot is a matter of luck: a mutant gets many trials.
    assert any(ledger.violations(ledger.study(mutant, 4, seed)) for seed in range(40))
