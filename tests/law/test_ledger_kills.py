"""A thinned run of the ledger study: killed writers, and mutants that must be caught."""

from __future__ import annotations

import pytest
from evidence import ledger
from evidence.ledger import MUTANTS, ROOM


def test_kills_leave_the_ledger_right() -> None:
    inside = 0
    # About a quarter of the kills fall inside a charge; go on until some did.
    for seed in range(20):
        found = ledger.study("", 8, seed)
        assert found["kills"] == 8
        assert found["charges"] == ROOM * found["trials"]
        assert found["releases"] >= found["charges"]
        assert ledger.violations(found) == found["lost"] == found["failed"] == 0
        inside += found["inside"]
        if inside > 1:
            return
    pytest.fail("no kill fell inside a charge")


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str) -> None:
    # Whether a kill or a race hits the weak spot is a matter of luck: a mutant gets many trials.
    assert any(ledger.violations(ledger.study(mutant, 4, seed)) for seed in range(40))
