"""Mean and quantiles of a released histogram: no bias by noise, and intervals that hold it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide import Lattice
from confide.errors import InvalidInput
from confide.exact.integer_noise import laplace
from confide.releases import Histogram, Query, Release, histogram_mean, histogram_quantile
from confide.releases.histogram_numbers import _Counts

COST = Lattice(low=0, high=100_000)
CENTER, SPREAD = math.log(7_000), 0.459
"""Costs far below the upper bound of what a cost can be."""


def costs(draw: np.random.Generator, n: int) -> np.ndarray:
    return np.exp(draw.normal(CENTER, SPREAD, n))


def test_noise_draws_the_mean_of_the_curve_upward_but_not_the_mean() -> None:
    draw, runs = np.random.default_rng(1), 80
    truth = math.exp(CENTER + SPREAD**2 / 2)
    recipe = Histogram(COST, epsilon=0.2)
    drawn, found, held = np.zeros(runs), np.zeros(runs), 0
    for seed in range(runs):
        release = recipe.simulate(costs(draw, 4_000), seed=seed)
        assert release.curve is not None
        drawn[seed] = release.curve.mean()
        found[seed], low, high = histogram_mean(release)
        held += low <= truth <= high
        assert low <= found[seed] <= high
    error = found.std() / math.sqrt(runs)
    assert drawn.mean() - truth > 1_000
    assert abs(found.mean() - truth) < 3 * error
    assert held >= 0.95 * runs - 4


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("n", "epsilon"), [(300, 1.0), (4_000, 0.1)])
def test_quantiles_are_within_their_intervals(q: float, n: int, epsilon: float) -> None:
    draw, runs, held = np.random.default_rng(2), 100, 0
    recipe = Histogram(Lattice(low=0, high=1), epsilon=epsilon, cells=20)
    for seed in range(runs):
        value, low, high = histogram_quantile(recipe.simulate(draw.random(n), seed=seed), q)
        assert 0 <= low <= value <= high <= 1
        held += low <= q <= high
    assert held >= 0.95 * runs - 6


def test_intervals_of_quantiles_are_narrow_where_noise_is_large() -> None:
    """Narrower than those of a query of a quantile for the whole epsilon."""
    values = costs(np.random.default_rng(3), 4_000)
    for q in (0.5, 0.9):
        release = Histogram(COST, epsilon=0.1).simulate(values, seed=1)
        _, low, high = histogram_quantile(release, q)
        answer = Query("quantile", COST, epsilon=0.1, q=q).simulate(values, seed=1).answer
        assert answer is not None
        assert high - low < 0.7 * (answer["high"] - answer["low"])


def test_reach_is_where_the_noise_ends() -> None:
    """By drawing: a normal and a weighted sum of discrete Laplace noises."""
    noise = laplace(1, 2)
    factors = np.array([1.0, -0.5, 0.25, 0.0, -0.75])
    edges = np.arange(6.0)
    counts = _Counts(np.ones(5), edges[:-1], edges[1:], edges, 5, noise, 2)
    draw, runs, p = np.random.default_rng(4), 200_000, math.exp(-1 / noise.scale)
    tosses = draw.geometric(1 - p, (2, runs, 5, 2)) - 1
    drawn = (tosses[0] - tosses[1]).sum(axis=2) @ factors + draw.normal(0, 1.5, runs)
    for tail in (0.2, 0.025, 0.002):
        share = np.mean(drawn > counts.reach(factors, 1.5, tail))
        assert abs(share - tail) < 4 * math.sqrt(tail / runs)


def test_whole_numbers_and_columns() -> None:
    draw = np.random.default_rng(5)
    bounds = {"age": Lattice(low=0, high=99), "cost": COST}
    table = {"age": draw.integers(20, 60, 20_000), "cost": costs(draw, 20_000)}
    recipe = Histogram(bounds, epsilon=2.0, cells=10, integers=["age"])
    release = recipe.simulate(table, seed=1)
    mean, low, high = histogram_mean(release, column="age")
    assert low < 39.5 < high
    # Cells of ten whole numbers: a value is at most 4.5 from the middle of its cell.
    assert 9 < high - low < 11
    assert histogram_quantile(release, 0.5, column="age")[1:] in [(30, 39), (30, 49), (40, 49)]
    _, low, high = histogram_mean(release, column="cost")
    assert low < math.exp(CENTER + SPREAD**2 / 2) < high
    with pytest.raises(InvalidInput, match="age"):
        histogram_mean(release)
    again = Release.from_dict(release.to_dict())
    assert histogram_mean(again, column="age")[0] == mean
    one = Histogram(Lattice(low=0, high=9), epsilon=8.0, integers=True, cells=10)
    mean, low, high = histogram_mean(one.simulate([4] * 3_000, seed=1))
    assert low < 4 < high
    assert high - low < 0.1


def test_many_cells_and_cells_on_a_log_scale() -> None:
    draw = np.random.default_rng(6)
    values = costs(draw, 20_000)
    many = Histogram(COST, epsilon=4.0, cells=5_000).simulate(values, seed=1)
    log = Histogram(Lattice(low=10, high=100_000, scale="log"), epsilon=4.0, cells=40)
    for release in (many, log.simulate(values, seed=1)):
        _, low, high = histogram_mean(release)
        assert low < math.exp(CENTER + SPREAD**2 / 2) < high
        _, low, high = histogram_quantile(release, 0.5)
        assert low < 7_000 < high
        assert high - low < 3_000


@pytest.mark.parametrize("q", [0, 1, 2, math.nan, "0.5"])
def test_what_is_no_quantile_is_refused(q: object) -> None:
    release = Histogram(COST, epsilon=1.0).simulate([1.0, 2.0], seed=1)
    with pytest.raises(InvalidInput):
        histogram_quantile(release, q)
    with pytest.raises(InvalidInput, match="Histogram"):
        histogram_mean(Query("mean", COST, epsilon=1.0).simulate([1.0], seed=1))
