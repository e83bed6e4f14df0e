"""Covariances and correlations of numbers that were asked together."""

from __future__ import annotations

import numpy as np
import pytest

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators import Correlation, correlations, covariance
from confide.estimators.correlations import _fine
from confide.summaries import Counts

SMALL = Lattice(low=-1, high=3, size=8)
JOINT = Joint({"x": SquareWave(SMALL, epsilon=2.0), "y": Laplace(SMALL, epsilon=3.0)})


def values(n, rho=0.7, seed=1):
    rng = np.random.default_rng(seed)
    x, e = rng.normal(size=(2, n))
    y = rho * x + np.sqrt(1 - rho**2) * e
    return {"x": (1 + 0.6 * x).clip(-1, 3), "y": (1 + 0.6 * y).clip(-1, 3)}


def test_covariances_are_unbiased_exactly():
    """The mean of the scores over all reports of a known population, without any drawing."""
    rng = np.random.default_rng(1)
    masses = rng.dirichlet(np.ones(64)).reshape(8, 8)
    chances = JOINT.law.forward(masses)
    whole = np.rint(chances * 2**40).astype(np.int64)
    found = covariance(Counts(JOINT, whole, simulated=True))
    # Values stand for the centers of their cells.
    x = SMALL.centers
    a, b = masses.sum(axis=1), masses.sum(axis=0)
    u, v = x - a @ x, x - b @ x
    expected = [[a @ u**2, u @ masses @ v], [u @ masses @ v, b @ v**2]]
    np.testing.assert_allclose(found.means, [a @ x, b @ x], atol=1e-6)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-6)
    assert found.names == ("x", "y")


def test_standard_errors_are_those_of_repeated_surveys():
    given = values(3_000)
    found = [
        covariance(Counts.of(JOINT.simulate(values(3_000, seed=seed), seed=seed)))
        for seed in range(60)
    ]
    spread = np.std([one.matrix for one in found], axis=0, ddof=1)
    np.testing.assert_allclose(np.mean([one.errors for one in found], axis=0), spread, rtol=0.3)
    assert set(found[0].to_dict()) == {"names", "means", "covariance", "errors", "facts"}
    assert len(given["x"]) == 3_000


def test_a_strong_correlation_is_not_drawn_to_zero():
    lattice = Lattice(low=-1, high=3, size=32)
    joint = Joint({name: SquareWave(lattice, epsilon=2.0) for name in "xy"})
    away = []
    for seed in range(4):
        given = values(20_000, seed=seed)
        truth = np.corrcoef(given["x"], given["y"])[0, 1]
        (found,) = correlations(Counts.of(joint.simulate(given, seed=seed)))
        away.append([found.estimate - truth, found.facts["likelihood"] - truth])
        low, high = found.interval()
        assert low <= found.estimate <= high
        assert found.facts["weights"]["corrected"] + found.facts["weights"]["moments"] == 1
    estimate, likelihood = np.abs(np.mean(away, axis=0))
    assert estimate < likelihood / 2
    assert np.abs(away)[:, 0].max() < 0.15


def test_three_numbers_have_three_correlations_and_one_answer():
    lattice = Lattice(low=-1, high=3, size=12)
    joint = Joint({name: SquareWave(lattice, epsilon=4.0) for name in "xyz"})
    given = values(4_000)
    given["z"] = -given["x"] + 2
    counts = Counts.of(joint.simulate(given, seed=1))
    one, two = correlations(counts), correlations(counts)
    assert [pair.names for pair in one] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert [pair.estimate for pair in one] == [pair.estimate for pair in two]
    assert one[1].estimate < -0.7 < 0.3 < one[0].estimate


def test_sharing_out_keeps_masses():
    masses = np.random.default_rng(1).dirichlet(np.ones(15)).reshape(3, 5)
    fine = _fine(masses, (6, 7))
    np.testing.assert_allclose(fine.reshape(3, 2, 7).sum(axis=(1, 2)), masses.sum(axis=1))
    assert fine.sum() == pytest.approx(1)
    np.testing.assert_allclose(_fine(masses, (3, 5)), masses)


def test_noise_that_drowns_the_values_gives_no_moment():
    joint = Joint({name: Laplace(SMALL, epsilon=0.05) for name in "xy"})
    with pytest.warns(ConfideWarning, match="correlation of x and y has no interval"):
        (found,) = correlations(Counts.of(joint.simulate(values(50), seed=1)))
    assert found.moment is None
    assert found.interval() == (-1.0, 1.0)
    assert -1 < found.estimate < 1
    assert found.to_dict()["moment"] is None


def test_intervals_hold_the_estimate():
    found = Correlation(("a", "b"), 0.9, moment=0.4, moment_error=0.1, n=100.0)
    low, high = found.interval(level=0.9)
    assert low == pytest.approx(0.4 - 1.645 * 0.1, abs=1e-3)
    assert high == 0.9


def test_what_it_refuses():
    with pytest.raises(InvalidInput, match="asked together"):
        covariance(Counts.of(SquareWave(SMALL, epsilon=1.0).simulate([0.0, 1.0], seed=1)))
    words = Joint({"x": JOINT.mechanisms["x"], "w": RandomizedResponse(["a", "b"], epsilon=1.0)})
    with pytest.raises(Unsupported, match="not categories"):
        covariance(Counts.of(words.simulate({"x": [0.0, 1.0], "w": ["a", "b"]}, seed=1)))
    with pytest.raises(InvalidInput, match="two or more respondents"):
        covariance(Counts.of(JOINT.simulate({"x": [0.0], "y": [1.0]}, seed=1)))
    with pytest.raises(InvalidInput, match="counts"):
        covariance([1])  # type: ignore[arg-type]
