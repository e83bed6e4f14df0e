"""A thinned run of the study of declining: intervals that are too short are caught."""

import pytest
from evidence.declining import study

from confide.estimators import calibration, declining

CHOSEN = [
    study.Case("numbers", 1.0, 2_000, 0.15),
    study.Case("whole numbers", 4.0, 2_000, 0.5),
    study.Case("words", 1.0, 2_000, 0.03),
]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.kind)
def test_shares_and_means_among_answerers_cover(case):
    row = study.covering(case, surveys=400, seed=5)
    assert {one["verdict"] for one in row["quantities"]} == {"held"}
    assert all(0 < one["width"] < 40 for one in row["quantities"])


@pytest.mark.parametrize("declined", [0.0, 0.15])
def test_sets_of_whole_numbers_cover(declined):
    case = study.Case("whole numbers", 4.0, 2_000, declined)
    row = study.quantiles(case, surveys=60, calibrated=1, seed=5)
    assert {one["verdict"] for one in row["quantities"]} == {"held"}


def test_the_study_catches_intervals_that_are_too_short(monkeypatch):
    # Mutants: a normal quantile that is a fifth too small, and hits that are counted twice.
    right, n = declining.stdtrit, 2.0
    monkeypatch.setattr(declining, "stdtrit", lambda freedom, p: 0.8 * right(freedom, p))
    row = study.covering(CHOSEN[0], surveys=400, seed=5)
    assert "missed" in {one["verdict"] for one in row["quantities"] if one["quantity"] == "mean"}
    ends = declining.chance_ends
    monkeypatch.setattr(
        declining, "chance_ends", lambda shares, m, level: ends(shares, n * m, level)
    )
    row = study.covering(CHOSEN[2], surveys=400, seed=5)
    assert "missed" in {
        one["verdict"] for one in row["quantities"] if one["quantity"] == "declined"
    }


def test_the_study_catches_sets_that_are_too_small(monkeypatch):
    # Mutant: hardly anything is left of the cuts.
    monkeypatch.setattr(calibration, "ALLOWANCE", 0.01)
    monkeypatch.setattr(calibration, "LEAST", 0.01)
    case = study.Case("whole numbers", 4.0, 2_000, 0.15)
    row = study.quantiles(case, surveys=60, calibrated=1, seed=5)
    assert "missed" in {one["verdict"] for one in row["quantities"]}


def test_the_record_holds():
    results = study.json.loads((study.ROOT / "evidence/declining/results.json").read_text())
    assert all(row["surveys"] == 4000 for row in results["rows"] + results["quantiles"])
    found = [one["coverage"] for row in results["rows"] for one in row["quantities"]]
    assert len(found) == 96
    assert study.COVERAGE[0] <= min(found) <= max(found) <= study.COVERAGE[1]
    sets = [one["coverage"] for row in results["quantiles"] for one in row["quantities"]]
    assert min(sets) >= study.LEAST
    assert study.page(results) + "\n" == (study.ROOT / "docs/evidence/declining.md").read_text()
