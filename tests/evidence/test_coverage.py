"""A thinned run of the coverage study: intervals that say 95 % and cover far less are caught."""

import numpy as np
import pytest
from evidence.coverage import study as coverage

from confide import Counts, Lattice, SquareWave
from confide.estimators import profile
from confide.estimators.intervals import Intervals

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
    row = coverage.study(case, surveys=120, calibrated=2, widths=2, seed=7)
    assert len(row["quantities"]) == 8
    for quantity in row["quantities"]:
        assert quantity["verdict"] == "held", quantity
        assert 0 < quantity["width"] < 16


def test_the_study_catches_intervals_that_are_too_short(monkeypatch):
    # Mutant: half the cut.
    monkeypatch.setattr(coverage, "scales", lambda profile, counts: 0.5 + 0 * counts[:, 0])
    case = coverage.Case("square wave", 4.0, 2_000, coverage.SKEWED)
    row = coverage.study(case, surveys=120, calibrated=2, widths=1, seed=7)
    assert "missed" in [quantity["verdict"] for quantity in row["quantities"]]


def test_shares_cover():
    assert {row["verdict"] for row in coverage.categories(300, seed=3)} == {"held"}


def test_weighted_intervals_cover_where_weights_go_with_the_answers(monkeypatch):
    # One respondent in 200 has the weight 25 and lies low. One effective number for all reports
    # would cover in about 60 % of surveys.
    monkeypatch.setattr(profile, "DRAWS", 25)
    mechanism = SquareWave(Lattice(low=0, high=1, size=32), epsilon=8.0)
    generator, n, surveys = np.random.default_rng(5), 20_000, 40
    weight = 0.005 * 25 / (0.005 * 25 + 0.995)
    hits = np.zeros(3)
    for seed in range(surveys):
        heavy = generator.random(n) < 0.005
        places = generator.random(n)
        values = np.where(heavy, places / 4, 0.25 + 0.75 * places)
        reports = mechanism.simulate(values, seed=seed)
        answer = Intervals(Counts.of(reports, weights=np.where(heavy, 25.0, 1.0)))
        for number, (ends, truth) in enumerate(
            (
                (answer.cdf(0.125), weight / 2),
                (answer.pdf(0.125), 4 * weight),
                (answer.quantile(0.05), 0.05 / weight / 4),
            )
        ):
            hits[number] += ends[0] <= truth <= ends[1]
    assert np.all(hits / surveys > 0.9), hits / surveys
