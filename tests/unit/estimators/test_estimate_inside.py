"""A printed estimate lies inside its own interval, however few answered and whatever they said."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.estimators import Adaptive, Likelihood
from confide.estimators.intervals import Intervals
from confide.lattice import Lattice
from confide.summaries import Counts

MECHANISMS = (
    cf.SquareWave(Lattice(low=-3, high=5, size=16), epsilon=1.0),
    cf.Laplace(Lattice(low=1, high=100, size=16, scale="log"), epsilon=0.5),
    cf.SquareWave(Lattice(low=0, high=9, kind="integer"), epsilon=4.0),
    cf.SquareWave(Lattice(low=0, high=1, size=16), epsilon=2.0, prefer_not_to_say=True),
)


def surveys(mechanism, count: int):
    generator = np.random.default_rng(5)
    axis = mechanism.axes[""]
    for _ in range(count):
        n = int(generator.integers(1, 60))
        places = generator.choice([axis.low, axis.high, round((axis.low + axis.high) / 2)], 3)
        values = generator.choice(places, n)
        yield Counts.of(mechanism.simulate(values, seed=int(generator.integers(2**31))))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: repr(one)[:24])
def test_means(mechanism) -> None:
    for counts in surveys(mechanism, 12):
        for estimator in (Adaptive(), Likelihood(smoothing=0.1)):
            density = estimator.fit(counts)
            for level in (0.5, 0.95):
                low, high = density.interval("mean", level=level)
                assert low <= density.mean() <= high


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: repr(one)[:24])
def test_quantiles_and_shares(mechanism) -> None:
    axis = mechanism.axes[""]
    for counts in surveys(mechanism, 2):
        density = Adaptive().fit(counts)
        for what, at in (("quantile", [0.1, 0.5]), ("cdf", [(axis.low + axis.high) / 2])):
            low, high = density.interval(what, at)
            found = getattr(density, what)(np.array(at))
            assert ((low <= found) & (found <= high)).all()


def test_the_mean_is_the_unbiased_one_and_not_that_of_the_cells() -> None:
    mechanism = MECHANISMS[0]
    counts = Counts.of(mechanism.simulate([-3.0] * 200 + [1.0] * 100, seed=1))
    density = Likelihood().fit(counts)
    scores = mechanism.unbiased(1)
    assert density.mean() == pytest.approx(counts.total @ scores / 300)
    own = density.masses @ (density.edges[0][:-1] + density.edges[0][1:]) / 2
    assert abs(own - density.mean()) > 0.01
    read = type(density).from_dict(density.to_dict())
    assert read.mean() == density.mean()


def test_means_of_a_joint_estimate_are_those_of_its_columns() -> None:
    one = cf.SquareWave(Lattice(low=0, high=1, size=16), epsilon=3.0)
    drawn = np.random.default_rng(1).random((2, 500))
    counts = Counts.of(
        cf.Joint({"a": one, "b": one}).simulate({"a": drawn[0], "b": drawn[1]}, seed=1)
    )
    density = Likelihood(smoothing=0.1).fit(counts)
    assert density.mean()[1] == density.marginal("b").mean()
    assert density.marginal("b").mean() == Intervals(counts.marginal("b")).center()


def test_nobody_and_nobody_who_answered_have_no_mean() -> None:
    mechanism = MECHANISMS[3]
    none = np.zeros(mechanism.law.outputs, dtype=np.int64)
    assert Intervals(Counts(mechanism, none)).center() is None
    none[-1] = 50
    assert Intervals(Counts(mechanism, none)).center() is None


def test_a_quantile_on_a_bound_is_inside_its_interval() -> None:
    mechanism = cf.SquareWave(Lattice(low=2, high=10, size=64), epsilon=4.0)
    drawn = 2 + 8 * np.random.default_rng(1).beta(2, 5, 3000)
    drawn[:1000], drawn[1000:1800] = 2, 10
    intervals = Intervals(Counts.of(mechanism.simulate(drawn, seed=1)))
    low, high = intervals.quantile(np.array([0.1, 0.5, 0.9]))
    assert low[0] == 2
    assert high[2] == 10
    assert 2 < low[1] < np.median(drawn) < high[1] < 10
