"""A thinned run of the coverage study: intervals that say 95 % and cover far less are caught."""

import pytest
from evidence import coverage

CHOSEN = [
    case
    for case in (*coverage.CASES, *coverage.HARDER)
    if (case.mechanism, case.epsilon, case.n, case.population.name)
    in {
        ("Laplace", 1.0, 2_000, "bimodal"),
        ("Laplace", 4.0, 20_000, "skewed"),
        ("square wave", 1.0, 20_000, "bimodal"),
        ("square wave", 4.0, 2_000, "skewed"),
    }
]


@pytest.mark.parametrize(
    "case", CHOSEN, ids=lambda case: f"{case.mechanism}-{case.epsilon:g}-{case.population.name}"
)
def test_intervals_cover(case):
    row = coverage.study(case, surveys=200, calibrated=2, widths=2, seed=7)
    assert len(row["quantities"]) == 8
    for quantity in row["quantities"]:
        assert quantity["verdict"] == "held", quantity
        assert 0 < quantity["width"] < 16


def test_the_study_catches_intervals_that_are_too_short(monkeypatch):
    # Mutant: half the cut.
    monkeypatch.setattr(coverage, "scales", lambda profile, counts: 0.5 + 0 * counts[:, 0])
    case = coverage.Case("square wave", 4.0, 2_000, coverage.SKEWED)
    row = coverage.study(case, surveys=200, calibrated=2, widths=1, seed=7)
    assert "missed" in [quantity["verdict"] for quantity in row["quantities"]]


def test_shares_cover():
    assert {row["verdict"] for row in coverage.categories(300, seed=3)} == {"held"}
