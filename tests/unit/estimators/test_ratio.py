from __future__ import annotations

import json

import numpy as np
import pytest

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave, TwoSidedGamma
from confide.curves.regression import CategoryMeans
from confide.errors import InvalidInput, Unsupported
from confide.estimators.levels import Levels, choose_smoothing
from confide.estimators.ratio import RatioRegression
from confide.foreign import noise_laws as noise
from confide.summaries import Counts

UNIT = Lattice(low=0, high=1, size=32)


def sine(x):
    return np.sin(2 * np.pi * x)


def sample(n, truth=sine, sd=0.3, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 2, n)
    return x, truth(x) + rng.normal(0, sd, n)


def ems(matrix, reports, smoothing, steps):
    """Silverman et al. (1990) as printed: an EM step, then 1-2-1 smoothing, thousands of times."""
    size = matrix.shape[1]
    smoother = np.eye(size) * 0.5
    for i in range(size):
        for j in (i - 1, i + 1):
            smoother[i, j if 0 <= j < size else i] += 0.25
    smoother = (1 - smoothing) * np.eye(size) + smoothing * smoother
    f = np.full(size, reports.sum() / size)
    for _ in range(steps):
        f = smoother @ (f * (matrix.T @ (reports / (matrix @ f))))
    return f


@pytest.mark.parametrize("kind", [Laplace, SquareWave])
def test_it_is_the_ratio_of_two_smoothed_deconvolutions(kind):
    x, y = sample(3000)
    mechanism = kind(UNIT, epsilon=3.0)
    counts = Counts.of(mechanism.simulate(x, seed=2), response=y, bounds=(-3, 3))
    curve = RatioRegression(smoothing=0.3, size=32).fit(counts)
    share = (counts.response.sums + 3 * counts.counts) / 6
    matrix = mechanism.law.matrix()
    p = ems(matrix, share, 0.3, 3000)
    q = ems(matrix, counts.counts - share, 0.3, 3000)
    np.testing.assert_allclose(curve.values, -3 + 6 * p / (p + q), atol=2e-3)


def test_with_hardly_any_noise_it_is_the_mean_in_each_cell():
    x, y = sample(20_000)
    coarse = Lattice(low=0, high=1, size=8)
    mechanism = Laplace(coarse, epsilon=100.0)
    counts = Counts.of(mechanism.simulate(x, seed=11), response=y)
    curve = RatioRegression(smoothing=0).fit(counts)
    cell = coarse.index(x)
    means = np.bincount(cell, y) / np.bincount(cell)
    np.testing.assert_allclose(curve.values, means, atol=1e-4)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(UNIT, epsilon=8.0),
        SquareWave(UNIT, epsilon=3.0),
        TwoSidedGamma(UNIT, shape=0.9, scale=0.1),
    ],
)
def test_every_mechanism_for_numbers(mechanism):
    x, y = sample(50_000)
    curve = RatioRegression().fit(Counts.of(mechanism.simulate(x, seed=11), response=y))
    grid = np.linspace(0.1, 0.9, 9)
    assert np.sqrt(np.mean((curve.predict(grid) - sine(grid)) ** 2)) < 0.15
    assert curve.facts["method"] == "ratio"
    assert curve.facts["response"] == "public"
    assert curve.facts["epsilon"] == mechanism.spend.epsilon
    assert curve.baseline is not None
    json.dumps(curve.to_dict())


def test_numbers_noised_elsewhere():
    x, y = sample(50_000)
    law = noise.Laplace(scale=0.1)
    z = x + np.random.default_rng(5).laplace(0, 0.1, x.size)
    counts = Counts.of_noised(z, noise=law, low=0, high=1, response=y)
    curve = RatioRegression().fit(counts)
    grid = np.linspace(0.1, 0.9, 9)
    assert np.sqrt(np.mean((curve.predict(grid) - sine(grid)) ** 2)) < 0.15
    assert "epsilon" not in curve.facts


def test_two_numbers_recover_a_surface():
    rng = np.random.default_rng(3)
    points = rng.beta(2, 2, (20_000, 2))

    def surface(at):
        return sine(at[..., 0]) + 2 * at[..., 1] ** 2 - 1

    y = surface(points) + rng.normal(0, 0.5, len(points))
    part = SquareWave(UNIT, epsilon=2.0)
    joint = Joint({"a": part, "b": part})
    reports = joint.simulate({"a": points[:, 0], "b": points[:, 1]}, seed=11)
    curve = RatioRegression().fit(Counts.of(reports, response=y))
    # A constant has .75, a Laplace prototype at this epsilon .121.
    assert np.mean((curve.predict(points) - surface(points)) ** 2) < 0.04
    low, high = curve.interval(points[:50])
    assert np.all(low <= high)
    assert curve.names == ("a", "b")


def test_a_category_is_predicted_by_its_label_and_never_smoothed():
    rng = np.random.default_rng(1)
    labels = np.array(["bus", "car", "walk"])
    which = rng.choice(3, 40_000, p=[0.5, 0.3, 0.2])
    y = np.array([2.0, 5.0, 3.0])[which] + rng.normal(0, 1, which.size)
    mechanism = RandomizedResponse(labels.tolist(), epsilon=2.0)
    curve = RatioRegression().fit(Counts.of(mechanism.simulate(labels[which], seed=11), response=y))
    assert isinstance(curve, CategoryMeans)
    assert curve.facts["smoothing"] == 0
    np.testing.assert_allclose(curve.predict(["walk", "bus", "car"]), [3, 2, 5], atol=0.15)
    low, high = curve.interval(labels)
    assert np.all(low < [2.05, 5.05, 3.05])
    assert np.all(high > [1.95, 4.95, 2.95])
    assert np.all(high - low < 0.6)
    assert json.loads(json.dumps(curve.to_dict()))["categories"] == labels.tolist()


def test_weights_stand_for_repeated_respondents():
    x, y = sample(4000)
    mechanism = SquareWave(UNIT, epsilon=3.0)
    reports = mechanism.simulate(x, seed=11)
    even = Counts.of(reports, response=y, weights=np.full(x.size, 7.0))
    plain = Counts.of(reports, response=y)
    estimator = RatioRegression(smoothing=0.3)
    np.testing.assert_allclose(estimator.fit(even).values, estimator.fit(plain).values, rtol=1e-6)
    # 0/1 responses, half each; a one counts three times, so that the mean is 3/4 everywhere.
    one = (np.random.default_rng(7).random(x.size) < 0.5) * 1.0
    heavy = Counts.of(reports, response=one, weights=1 + 2 * one)
    assert estimator.fit(heavy).predict(0.5) == pytest.approx(0.75, abs=0.1)


def test_it_is_a_function_of_the_summary():
    x, y = sample(3000)
    mechanism = Laplace(UNIT, epsilon=4.0)
    reports = mechanism.simulate(x, seed=11)
    one, two = (RatioRegression().fit(Counts.of(reports, response=y)) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    grid = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(one.interval(grid), two.interval(grid))
    half = len(x) // 2
    parts = [
        Counts.of(type(reports)(reports.indices[at], mechanism, simulated=True), response=y[at])
        for at in (slice(0, half), slice(half, None))
    ]
    np.testing.assert_allclose(RatioRegression().fit(parts[0] + parts[1]).values, one.values)


def test_smoothing_follows_the_response():
    mechanism = SquareWave(Lattice(low=0, high=1, size=256), epsilon=4.0)
    chosen = []
    for waves in (0, 6):
        x, y = sample(100_000, lambda x, k=waves: np.sin(2 * np.pi * k * x), sd=0.5)
        curve = RatioRegression().fit(Counts.of(mechanism.simulate(x, seed=11), response=y))
        chosen.append(curve.facts["smoothing"])
    assert chosen[1] < chosen[0]


def test_folds_add_up_and_keep_the_spread():
    rng = np.random.default_rng(1)
    total = rng.poisson(200, 64).astype(float)
    sums, squares = total * 0.5, total * 0.27
    ends = np.array([1.0, 0.0])
    law = SquareWave(UNIT, epsilon=1.0).law
    levels = Levels(law, np.stack([sums, total - sums]), ends, ends, squares)
    held, kept = levels.folds()
    np.testing.assert_allclose(held + kept, np.broadcast_to(levels.parts, held.shape))
    np.testing.assert_allclose(held.sum(axis=0), levels.parts)
    # Sums of a fifth of 200 respondents with variance .02, drawn without replacement.
    mean = held[:, 0] / held.sum(axis=1)
    assert np.var(mean) == pytest.approx(0.02 / 40 * 0.8, rel=0.3)
    assert levels.spread == pytest.approx(0.02, rel=0.02)


def test_private_number_as_the_response():
    x, y = sample(60_000, lambda x: 0.5 + 0.3 * sine(x), sd=0.1)
    part = SquareWave(Lattice(low=0, high=1, size=64), epsilon=2.0)
    joint = Joint({"rate": part, "fico": part})
    counts = Counts.of(joint.simulate({"rate": np.clip(y, 0, 1), "fico": x}, seed=11))
    curve = RatioRegression(response="rate").fit(counts)
    grid = np.linspace(0.1, 0.9, 9)
    # A constant is .21 off.
    assert np.sqrt(np.mean((curve.predict(grid) - 0.5 - 0.3 * sine(grid)) ** 2)) < 0.06
    assert curve.facts["epsilon"] == 4.0
    assert curve.facts["epsilons"] == {"rate": 2.0, "fico": 2.0}
    assert curve.facts["response"] == "private"
    assert curve.low == (0.0,)


def test_private_category_as_the_response():
    rng = np.random.default_rng(2)
    x = rng.beta(2, 2, 60_000)
    y = np.where(rng.random(x.size) < x, "yes", "no")
    joint = Joint(
        {
            "x": SquareWave(UNIT, epsilon=3.0),
            "y": RandomizedResponse(["no", "yes"], epsilon=2.0),
        }
    )
    counts = Counts.of(joint.simulate({"x": x, "y": y}, seed=11))
    curve = RatioRegression(response="y").fit(counts)
    grid = np.linspace(0.15, 0.85, 8)
    assert np.max(np.abs(curve.predict(grid) - grid)) < 0.12
    low, high = curve.interval(grid)
    assert np.mean((low <= grid) & (grid <= high)) >= 0.75


def test_a_private_response_is_smoothed_along_the_values_only():
    """The joint fit against the same steps in a dense loop, smoothing one axis."""
    rng = np.random.default_rng(4)
    x = rng.beta(2, 2, 5000)
    small = Lattice(low=0, high=1, size=8)
    a, b = SquareWave(small, epsilon=3.0), RandomizedResponse(["no", "yes"], epsilon=2.0)
    y = np.where(rng.random(x.size) < x, "yes", "no")
    counts = Counts.of(Joint({"x": a, "y": b}).simulate({"x": x, "y": y}, seed=11))
    curve = RatioRegression(response="y", smoothing=0.2, size=8).fit(counts)
    left, right = a.law.matrix(), b.law.matrix()
    f = np.full((8, 2), 1 / 16)
    shares = counts.counts / counts.n
    for _ in range(5000):
        f = f * (left.T @ (shares / (left @ f @ right.T)) @ right)
        flow = 0.2 / 4 * np.diff(f, axis=0)
        f[:-1] += flow
        f[1:] -= flow
    np.testing.assert_allclose(curve.values, f[:, 1] / f.sum(axis=1), atol=2e-3)


def test_a_constant_response_is_said_so():
    x, _ = sample(100)
    counts = Counts.of(SquareWave(UNIT, epsilon=1.0).simulate(x, seed=11), response=np.full(100, 4))
    curve = RatioRegression().fit(counts)
    np.testing.assert_array_equal(curve.predict([0.1, 0.9]), [4, 4])
    np.testing.assert_array_equal(curve.interval([0.5]), [[4], [4]])
    assert curve.facts["constant"]


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_all_responses_at_a_bound(level):
    x, _ = sample(200)
    reports = SquareWave(UNIT, epsilon=1.0).simulate(x, seed=11)
    counts = Counts.of(reports, response=np.full(200, level), bounds=(0, 1))
    curve = RatioRegression().fit(counts)
    np.testing.assert_allclose(curve.values, level)
    low, high = curve.interval(np.linspace(0, 1, 5))
    assert np.isfinite(low).all()
    assert np.all(low <= high)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_respondents_give_finite_curves(n):
    x, y = sample(n)
    counts = Counts.of(Laplace(UNIT, epsilon=1.0).simulate(x, seed=11), response=y, bounds=(-9, 9))
    curve = RatioRegression().fit(counts)
    assert np.isfinite(curve.values).all()
    assert np.isfinite(curve.interval([0.0, 0.5, 1.0])).all()


def test_all_values_in_one_cell_leave_the_others_to_their_neighbours():
    y = np.random.default_rng(1).random(4000)
    mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=100.0)
    counts = Counts.of(mechanism.simulate(np.full(4000, 0.51), seed=11), response=y)
    curve = RatioRegression(smoothing=0).fit(counts)
    assert curve.facts["filled"] == pytest.approx(7 / 8)
    np.testing.assert_allclose(curve.values, y.mean(), atol=1e-4)


def test_a_category_that_nobody_has_takes_the_mean_of_everybody():
    y = np.random.default_rng(1).random(4000)
    answers = np.where(y > 0.5, "b", "a")
    mechanism = RandomizedResponse(["a", "b", "c"], epsilon=30.0)
    counts = Counts.of(mechanism.simulate(answers, seed=11), response=y)
    curve = RatioRegression().fit(counts)
    assert curve.facts["filled"] == pytest.approx(1 / 3)
    assert curve.predict(["c"])[0] == pytest.approx(y.mean())


def test_what_it_refuses():
    x, y = sample(50)
    part = SquareWave(UNIT, epsilon=1.0)
    with pytest.raises(InvalidInput, match="counts with a response"):
        RatioRegression().fit(Counts.of(part.simulate(x, seed=11)))
    with pytest.raises(InvalidInput, match="joint mechanism"):
        RatioRegression(response="y").fit(Counts.of(part.simulate(x, seed=11)))
    with pytest.raises(InvalidInput, match="smoothing"):
        RatioRegression(smoothing=2.0)
    with pytest.raises(InvalidInput, match="name of a question"):
        RatioRegression(response=3)  # type: ignore[arg-type]
    mixed = Joint({"a": part, "b": RandomizedResponse(["u", "v"], epsilon=1.0)})
    reports = mixed.simulate({"a": x, "b": np.where(x > 0.5, "u", "v")}, seed=11)
    with pytest.raises(Unsupported, match="one category or one or two numbers"):
        RatioRegression().fit(Counts.of(reports, response=y))


def test_smoothing_is_typical_where_folds_are_empty():
    ends = np.array([1.0, 0.0])
    law = SquareWave(UNIT, epsilon=1.0).law
    parts = np.zeros((2, *law.outputs))
    parts[0, 3] = 1
    assert choose_smoothing(Levels(law, parts, ends, ends), 0.1) == pytest.approx(0.1)
