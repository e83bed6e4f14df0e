from __future__ import annotations

import numpy as np
import pytest

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave
from confide.errors import InvalidInput, Unsupported
from confide.estimators.responses import reliability, response_scores, unbiased_response
from confide.mechanisms import ForcedResponse
from confide.summaries import Counts

UNIT = Lattice(low=0, high=1, size=16)
RATE = Lattice(low=5, high=25, size=20)
X = SquareWave(UNIT, epsilon=1.0)


@pytest.mark.parametrize("kind", [Laplace, SquareWave])
def test_scores_of_numbers_are_unbiased(kind):
    answer = kind(RATE, epsilon=1.0)
    np.testing.assert_allclose(answer.law.adjoint(response_scores(answer)), RATE.centers)


@pytest.mark.parametrize(
    "answer",
    [
        RandomizedResponse(["no", "yes"], epsilon=1.0),
        ForcedResponse(["no", "yes"], truth=0.6),
    ],
)
def test_scores_of_two_categories_are_unbiased(answer):
    scores = response_scores(answer)
    np.testing.assert_allclose(answer.law.adjoint(scores), [0, 1], atol=1e-12)


def test_sums_are_those_of_the_scores():
    rng = np.random.default_rng(1)
    joint = Joint({"x": X, "rate": Laplace(RATE, epsilon=2.0)})
    reports = joint.simulate({"x": rng.random(500), "rate": 5 + 20 * rng.random(500)}, seed=1)
    counts = Counts.of(reports)
    scores = response_scores(joint.mechanisms["rate"])
    plain = unbiased_response(counts, "rate")
    for report in range(counts.counts.shape[0]):
        g = scores[reports.indices[reports.indices[:, 0] == report, 1]]
        assert plain.counts[report] == g.size
        assert plain.response.sums[report] == pytest.approx(g.sum())
        assert plain.response.squares[report] == pytest.approx((g**2).sum())
    assert plain.mechanism == X
    assert plain.simulated
    assert (plain.response.low, plain.response.high) == (5, 25)


def test_mean_is_that_of_the_response():
    rng = np.random.default_rng(2)
    n = 200_000
    x, y = rng.random(n), 5 + 20 * rng.beta(2, 5, n)
    joint = Joint({"rate": SquareWave(RATE, epsilon=2.0), "x": X})
    plain = unbiased_response(Counts.of(joint.simulate({"rate": y, "x": x}, seed=1)), "rate")
    g = plain.response
    mean = g.sums.sum() / n
    error = np.sqrt((g.squares.sum() / n - mean**2) / n)
    centers = RATE.centers[RATE.index(y)]
    assert abs(mean - centers.mean()) < 4 * error


def test_two_covariates_stay_joint_and_weights_add_up():
    rng = np.random.default_rng(3)
    columns = {name: rng.random(50) for name in ("a", "y", "b")}
    small = SquareWave(Lattice(low=0, high=1, size=4), epsilon=1.0)
    joint = Joint(dict.fromkeys(columns, small))
    weights = rng.uniform(1, 2, 50)
    counts = Counts.of(joint.simulate(columns, seed=1), weights=weights)
    plain = unbiased_response(counts, "y")
    assert plain.mechanism == Joint({"a": small, "b": small})
    assert plain.total.sum() == pytest.approx(weights.sum())
    scores = response_scores(small)
    expected = np.einsum("ayb,y->ab", counts.total, scores)
    np.testing.assert_allclose(plain.response.sums, expected)


def test_reliability_rises_with_epsilon():
    values = [reliability(SquareWave(RATE, epsilon=e)) for e in (0.5, 2.0, 8.0)]
    assert 0 < values[0] < values[1] < values[2] < 1


def test_what_it_refuses():
    counts = Counts.of(X.simulate([0.1, 0.2], seed=1))
    with pytest.raises(InvalidInput, match="joint mechanism"):
        unbiased_response(counts, "y")
    three = RandomizedResponse(["a", "b", "c"], epsilon=1.0)
    joint = Joint({"x": X, "y": three})
    both = Counts.of(joint.simulate({"x": [0.1, 0.2], "y": ["a", "c"]}, seed=1))
    with pytest.raises(Unsupported, match="3 categories"):
        unbiased_response(both, "y")
    with pytest.raises(InvalidInput, match="a response among x, y"):
        unbiased_response(both, "z")
