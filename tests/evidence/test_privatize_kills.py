"""A thinned run of the study of killed privatize runs, and mutants that must be caught."""

from __future__ import annotations

import pytest
from evidence.privatize_kills import study as privatize_kills
from evidence.privatize_kills.study import MUTANTS, ROWS, SUFFIXES, trial, violations


@pytest.mark.parametrize("kind", ROWS)
def test_nothing_is_left_that_the_next_run_does_not_take(kind: str) -> None:
    found = privatize_kills.study(kind, "", 6, seed=1)
    assert found["kills"] >= 6
    assert found["readable"] >= ROWS[kind] * found["trials"]
    assert violations(found) == 0


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str) -> None:
    # Whether a signal hits the weak spot is a matter of luck: a mutant gets many trials.
    trials = (trial(MUTANTS[mutant], SUFFIXES[seed % 2], mutant, 4, seed) for seed in range(20))
    assert any(map(violations, trials))
