"""A thinned run of the study of killed privatize runs, and mutants that must be caught."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from evidence.privatize_kills import study as privatize_kills
from evidence.privatize_kills.study import MUTANTS, ROWS, SPANS, SUFFIXES, trial, violations


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Fewer people than in the study, who are drawn in less time."""
    rows = {"small": 36_000, "large": 60_000, "asked": 36_000}
    spans = {"small": 0.5, "large": 0.8, "asked": 0.5}
    with mock.patch.dict(ROWS, rows), mock.patch.dict(SPANS, spans):
        yield


@pytest.mark.parametrize("kind", ROWS)
def test_nothing_is_left_that_the_next_run_does_not_take(kind: str) -> None:
    found = privatize_kills.study(kind, "", 3, seed=1)
    assert found["kills"] >= 3
    assert found["readable"] >= ROWS[kind] * found["trials"]
    assert violations(found) == 0


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant: str) -> None:
    # Whether a signal hits the weak spot is a matter of luck: a mutant gets many trials.
    SPANS["small"] = 1.0
    trials = (trial(MUTANTS[mutant], SUFFIXES[seed % 2], mutant, 2, seed) for seed in range(40))
    assert any(map(violations, trials))
