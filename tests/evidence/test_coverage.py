"""A thinned run of the coverage study: intervals that say 95 % and cover far less are caught."""

import math

import numpy as np
import pytest
from evidence.coverage import shortest
from evidence.coverage import study as coverage

from confide import Counts, Lattice, SquareWave
from confide.estimators import averaged, calibration
from confide.estimators.intervals import Intervals

CHOSEN = [
    case
    for case in coverage.cases()
    if (case.population.name, case.mechanism, case.n, case.epsilon)
    in {
        ("Weibull(1.5), scale .3", "Laplace", 2_000, 1.0),
        ("hours worked", "square wave", 500, 1.0),
        ("30 % zeros", "square wave", 2_000, 4.0),
        ("normal at the edge", "square wave", 20_000, 1.0),
    }
]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.title)
def test_intervals_cover(case):
    row = coverage.study(case, 30)
    zeros = 0.0 in case.population.heaps
    assert len(row["quantities"]) == 19 + 2 * zeros
    for quantity in row["quantities"]:
        assert quantity["verdict"] in ("held", "none"), quantity
    assert all(0 < one["width"] < 1 for one in row["quantities"] if one.get("ratio", 0) > 0)


def test_the_study_catches_intervals_that_are_too_short(monkeypatch):
    # Mutant: a third of the standard deviation.
    spreads = averaged._spreads
    monkeypatch.setattr(averaged, "_spreads", lambda slopes: spreads(slopes) / 3)
    case = coverage.Case(coverage.HARDER[4], 500, 1.0, 64)
    row = coverage.study(case, 30)
    assert "missed" in [quantity["verdict"] for quantity in row["quantities"]]


def test_quantiles_and_means_of_populations():
    zeros = coverage.HARDER[1]
    assert coverage.quantile(zeros, 0.25) == 0.0
    assert zeros.below(np.array(coverage.quantile(zeros, 0.6))) == pytest.approx(0.6)
    assert coverage.mean(zeros) == pytest.approx(0.7 / 3, abs=1e-4)


def test_shares_cover():
    assert {row["verdict"] for row in coverage.categories(300, seed=3)} == {"held"}


def test_weighted_intervals_cover_where_weights_go_with_the_answers(monkeypatch):
    # One respondent in 200 has the weight 25 and lies low. One effective number for all reports
    # would cover in about 60 % of surveys.
    monkeypatch.setattr(calibration, "DRAWS", 25)
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


def test_no_interval_can_be_shorter_than_the_bound():
    # Without noise the nearest population with another median moves people across one edge: the
    # distance is that of a binomial test, and the width that of the best test of each place.
    masses, n = np.full(64, 1 / 64), 400
    table, sums = shortest.scaled(np.eye(64), masses, n)
    apart = shortest.distance(table, sums, 34, 0.5)
    share = 34 / 64
    one = math.sqrt(n) * abs(0.5 - share) / math.sqrt(share * (1 - share))
    assert apart == pytest.approx(one, rel=1e-4)
    found = shortest.width(np.eye(64), masses, n, share=0.5, at=0.5, cover=0.93)
    # On a line: the standard deviation of the median, .5 / sqrt(n), twice the integral of
    # Phi(1.476 - d) over d > 0, which is 1.476 Phi(1.476) + phi(1.476).
    exact = 2 * 0.025 * (1.476 * 0.93 + math.exp(-(1.476**2) / 2) / math.sqrt(2 * math.pi))
    assert 0.75 * exact < found < exact
    # Noise makes it wider, and so does an interval that holds more often.
    law = SquareWave(Lattice(low=0, high=1, size=64), epsilon=1.0).law.matrix()
    noised = shortest.width(law, masses, n, share=0.5, at=0.5, cover=0.93)
    assert found < noised < shortest.width(law, masses, n, share=0.5, at=0.5, cover=0.95)


def test_the_bound_sees_all_reports():
    # A test that sees every report finds more than one that sees some of them joined: a distance
    # of joined reports would make the bound too wide.
    wave = SquareWave(Lattice(low=0, high=1, size=256), epsilon=4.0)
    law, masses, n = wave.law.matrix(), np.full(256, 1 / 256), 2_000
    table, sums = shortest.scaled(law, masses, n)
    # Everybody of one place answers from the next: neighboring reports tell them apart.
    other = sums.copy()
    other[100:120:2] += 1 / 256
    other[101:120:2] -= 1 / 256
    exact = math.sqrt(n * (((law @ (other - masses)) ** 2) / (law @ masses)).sum())
    assert np.linalg.norm(table @ (other - sums)) == pytest.approx(exact, rel=1e-9)
