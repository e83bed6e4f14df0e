from __future__ import annotations

import json
import math

import numpy as np
import pytest

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave, TwoSidedGamma
from confide.curves.regression import Line, Logistic
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators.linear import LinearRegression, LogisticRegression, baseline
from confide.foreign import Spectrum
from confide.foreign import noise_laws as noise
from confide.summaries import Counts

UNIT = Lattice(low=0, high=1, size=64)
LOG = Lattice(low=1, high=100, size=64, scale="log")
MECHANISMS = {
    "laplace": Laplace(UNIT, epsilon=4.0),
    "square-wave": SquareWave(UNIT, epsilon=2.0),
    "two-sided-gamma": TwoSidedGamma(UNIT, shape=1.4, scale=0.1),
    "log-laplace": Laplace(LOG, epsilon=6.0),
    "log-square-wave": SquareWave(LOG, epsilon=4.0),
}


def values(lattice, n, seed):
    x = np.random.default_rng(seed).beta(2, 3, n)
    return lattice.low + (lattice.high - lattice.low) * x


def summary(mechanism, n, seed, *, noise_sd=0.2, **options):
    """Counts with y = 1 + 2 x + noise, x scaled to [0, 1]."""
    lattice = mechanism.lattice
    x = values(lattice, n, seed)
    span = lattice.high - lattice.low
    y = 1 + 2 * (x - lattice.low) / span + np.random.default_rng([seed, 1]).normal(0, noise_sd, n)
    return Counts.of(mechanism.simulate(x, seed=seed), response=y, **options)


def test_an_interval_at_one_point_is_two_floats():
    line = LinearRegression().fit(summary(MECHANISMS["laplace"], 2000, 1))
    low, high = line.interval(0.5)
    assert (type(low), type(high)) == (float, float)
    assert low < line.predict(0.5) < high
    assert line.interval([0.5])[0].tolist() == [low]


@pytest.mark.parametrize("name", MECHANISMS)
def test_slope_is_not_attenuated(name):
    mechanism = MECHANISMS[name]
    line = LinearRegression().fit(summary(mechanism, 100_000, 1))
    span = mechanism.lattice.high - mechanism.lattice.low
    assert isinstance(line, Line)
    assert abs(line.slope[0] * span - 2) < 3 * line.slope_error[0] * span + 0.01
    assert not line.facts["floored_variance"]


def test_formula_as_printed():
    mechanism = MECHANISMS["square-wave"]
    counts = summary(mechanism, 5000, 2)
    g1, g2 = mechanism.unbiased(1), mechanism.unbiased(2)
    n = counts.n
    means = [float(g @ counts.counts) / n for g in (g1, g2)]
    y, product = counts.response.sums.sum() / n, g1 @ counts.response.sums / n
    slope = (product - means[0] * y) / (means[1] - means[0] ** 2)
    line = LinearRegression().fit(counts)
    assert line.slope[0] == pytest.approx(slope)
    assert line.intercept == pytest.approx(y - slope * means[0])


def test_noised_numbers_divide_by_the_variance_less_the_noise():
    x = values(UNIT, 5000, 3)
    y = 1 + 2 * x
    z = x + np.random.default_rng(4).laplace(0, 0.2, x.size)
    law = noise.Laplace(scale=0.2)
    line = LinearRegression().fit(Spectrum.of(z, noise=law, response=y))
    attenuated = np.cov(z, y)[0, 1] / z.var(ddof=1)
    ratio = (z.var() - law.variance) / z.var()
    assert line.slope[0] == pytest.approx(attenuated / ratio)
    binned = Counts.of_noised(z, noise=law, low=0, high=1, response=y)
    assert LinearRegression().fit(binned).slope[0] == pytest.approx(line.slope[0], rel=0.02)


def test_each_number_may_have_its_own_noise():
    rng = np.random.default_rng(5)
    x = values(UNIT, 50_000, 5)
    sd = rng.uniform(0.05, 0.4, x.size)
    spectrum = Spectrum.of(
        x + rng.normal(0, sd), noise=noise.Gaussian(scale=sd), response=1 + 2 * x
    )
    line = LinearRegression().fit(spectrum)
    assert abs(line.slope[0] - 2) < 3 * line.slope_error[0]
    assert line.slope_error[0] < 0.1


@pytest.mark.parametrize("name", ["laplace", "square-wave"])
def test_standard_errors_are_those_of_repetition(name):
    mechanism = MECHANISMS[name]
    lines = [LinearRegression().fit(summary(mechanism, 3000, seed)) for seed in range(300)]
    slopes = np.array([line.slope[0] for line in lines])
    intercepts = np.array([line.intercept for line in lines])
    spread = 1 / np.sqrt(2 * 300)
    assert slopes.std() == pytest.approx(np.mean([i.slope_error[0] for i in lines]), rel=4 * spread)
    ours = np.mean([line.intercept_error for line in lines])
    assert intercepts.std() == pytest.approx(ours, rel=4 * spread)
    hits = [line.interval(0.5)[0] <= 2 <= line.interval(0.5)[1] for line in lines]
    assert 0.91 < np.mean(hits) < 0.985


def test_weights():
    mechanism = MECHANISMS["laplace"]
    x, rng = values(UNIT, 40_000, 6), np.random.default_rng(7)
    group = rng.random(x.size) < 0.5
    y = np.where(group, 1 + 2 * x, 5 - x)
    reports = mechanism.simulate(x, seed=1)
    # Weights that leave next to nothing of the second group.
    weighted = Counts.of(reports, response=y, weights=np.where(group, 1.0, 1e-6))
    line = LinearRegression().fit(weighted)
    assert abs(line.slope[0] - 2) < 4 * line.slope_error[0]
    equal = Counts.of(reports, response=y, weights=np.full(x.size, 3.0))
    plain = Counts.of(reports, response=y)
    one, two = LinearRegression().fit(equal), LinearRegression().fit(plain)
    assert one.slope == pytest.approx(two.slope)
    assert one.slope_error == pytest.approx(two.slope_error)


def test_constant_values_are_floored_and_told():
    mechanism = MECHANISMS["laplace"]
    reports = mechanism.simulate(np.full(2000, 0.5), seed=1)
    y = np.random.default_rng(1).normal(3, 1, 2000)
    counts = Counts.of(reports, response=y)
    with pytest.warns(ConfideWarning, match="taken at its floor"):
        line = LinearRegression().fit(counts)
    assert line.facts["floored_variance"]
    assert np.isfinite([line.intercept, *line.slope]).all()
    assert (line.intercept_error, line.slope_error) == (np.inf, (np.inf,))
    for place in (-1.0, 0.0, 0.5):
        assert line.interval(place) == (-np.inf, np.inf)
    # Beside another fit the facts say it, and nothing warns.
    assert baseline(counts).facts["floored_variance"]


def noised_line(scale: float, seed: int, stated: float | None = None, n: int = 4000) -> Line:
    """A line of slope 2 through values in [0, 1] with Laplace noise."""
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 5, n)
    y = 1 + 2 * x + rng.normal(0, 0.2, n)
    law = noise.Laplace(scale=stated or scale)
    z = x + rng.laplace(0, scale, n)
    return LinearRegression().fit(Spectrum.of(z, noise=law, response=y, low=0, high=1))


@pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
@pytest.mark.parametrize("scale", [0.1, 0.3, 0.6, 1.0, 10.0])
def test_the_interval_of_a_slope_covers_it_however_large_the_noise(scale: float) -> None:
    lines = [noised_line(scale, seed) for seed in range(200)]
    hits = [abs(line.slope[0] - 2) <= 1.96 * line.slope_error[0] for line in lines]
    # Where the variance just passes for more than its floor, the slope is too small.
    assert np.mean(hits) > (0.8 if scale == 0.6 else 0.92)
    guesses = [line.facts["floored_variance"] for line in lines]
    assert guesses == [math.isinf(line.slope_error[0]) for line in lines]
    if scale == 10:
        assert all(guesses)
    if scale == 0.1:
        assert not any(guesses)


def test_values_that_vary_more_than_they_can_are_told() -> None:
    with pytest.warns(ConfideWarning, match="vary more than their bounds allow"):
        line = noised_line(2.0, 1, stated=0.1)
    assert line.facts["floored_variance"]
    assert line.slope_error == (np.inf,)


def test_values_at_both_ends_vary_as_much_as_they_can() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 2, 4000).astype(float)
        z = x + rng.laplace(0, 0.2, x.size)
        law = noise.Laplace(scale=0.2)
        line = LinearRegression().fit(Spectrum.of(z, noise=law, response=2 * x, low=0, high=1))
        assert abs(line.slope[0] - 2) < 4 * line.slope_error[0]


def test_two_covariates():
    rng = np.random.default_rng(8)
    first = rng.beta(2, 2, 100_000)
    second = 0.5 * first + 0.5 * rng.beta(2, 2, first.size)
    y = 1 + 2 * first - 3 * second + rng.normal(0, 0.1, first.size)
    both = Joint({"a": Laplace(UNIT, epsilon=6.0), "b": SquareWave(UNIT, epsilon=3.0)})
    counts = Counts.of(both.simulate({"a": first, "b": second}, seed=1), response=y)
    line = LinearRegression().fit(counts)
    assert line.names == ("a", "b")
    away = (np.array(line.slope) - [2, -3]) / line.slope_error
    assert np.abs(away).max() < 4
    assert max(line.slope_error) < 0.3
    points = np.array([[0.5, 0.5], [0.2, 0.3]])
    assert line.predict(points).shape == (2,)
    assert line.to_dict()["slope"] == list(line.slope)
    with pytest.raises(InvalidInput, match="points of 2 columns"):
        line.predict([0.5])
    z = np.stack([first, second], axis=1) + rng.laplace(0, 0.1, (first.size, 2))
    spectrum = Spectrum.of(z, noise=noise.Laplace(scale=0.1), response=y)
    other = LinearRegression().fit(spectrum)
    assert np.abs((np.array(other.slope) - [2, -3]) / other.slope_error).max() < 4


def test_private_response():
    x = values(UNIT, 100_000, 9)
    both = Joint({"x": SquareWave(UNIT, epsilon=3.0), "y": Laplace(UNIT, epsilon=4.0)})
    counts = Counts.of(both.simulate({"x": x, "y": 0.2 + 0.5 * x}, seed=1))
    line = LinearRegression(response="y").fit(counts)
    assert abs(line.slope[0] - 0.5) < 3.5 * line.slope_error[0]
    assert line.facts["epsilon"] == pytest.approx(7)
    assert line.facts["response"] == "private"


def binary(mechanism, n, seed, intercept=-1.0, slope=3.0):
    x = values(mechanism.lattice, n, seed)
    p = 1 / (1 + np.exp(-(intercept + slope * x)))
    y = (np.random.default_rng([seed, 2]).random(n) < p).astype(float)
    return Counts.of(mechanism.simulate(x, seed=seed), response=y)


@pytest.mark.parametrize("name", ["laplace", "square-wave", "two-sided-gamma"])
def test_logistic_is_not_attenuated(name):
    curve = LogisticRegression().fit(binary(MECHANISMS[name], 100_000, 1))
    assert isinstance(curve, Logistic)
    assert abs(curve.slope[0] - 3) < 3.5 * curve.slope_error[0]
    assert curve.slope_error[0] < 0.4
    assert abs(curve.intercept + 1) < 3.5 * curve.intercept_error
    low, high = curve.interval([0.2, 0.5])
    assert ((low > 0) & (low < curve.predict([0.2, 0.5])) & (high < 1)).all()


def test_logistic_without_noise_is_the_plain_one():
    """At a huge epsilon it is Newton's method on the cells."""
    mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=100.0)
    counts = binary(mechanism, 5000, 2)
    design = np.stack([np.ones(8), mechanism.lattice.centers], axis=1)
    theta = np.zeros(2)
    for _ in range(20):
        p = 1 / (1 + np.exp(-design @ theta))
        weight = counts.counts * p * (1 - p)
        score = design.T @ (counts.response.sums - counts.counts * p)
        theta = theta + np.linalg.solve((design * weight[:, None]).T @ design, score)
    curve = LogisticRegression().fit(counts)
    assert curve.slope[0] == pytest.approx(theta[1], abs=2e-3)
    assert curve.intercept == pytest.approx(theta[0], abs=2e-3)


def test_logistic_standard_errors_are_those_of_repetition():
    mechanism = MECHANISMS["square-wave"]
    curves = [LogisticRegression().fit(binary(mechanism, 4000, seed)) for seed in range(60)]
    slopes = np.array([curve.slope[0] for curve in curves])
    ours = np.mean([curve.slope_error[0] for curve in curves[:6]])
    assert slopes.std() == pytest.approx(ours, rel=0.35)
    assert abs(slopes.mean() - 3) < 4 * slopes.std() / np.sqrt(60) + 0.15


def test_logistic_of_noised_numbers_and_two_covariates():
    rng = np.random.default_rng(10)
    x = rng.beta(2, 2, (60_000, 2))
    p = 1 / (1 + np.exp(-(-1 + 3 * x[:, 0] - 2 * x[:, 1])))
    y = (rng.random(len(x)) < p).astype(float)
    part = Laplace(Lattice(low=0, high=1, size=32), epsilon=8.0)
    counts = Counts.of(Joint({"a": part, "b": part}).simulate(x, seed=1), response=y)
    curve = LogisticRegression().fit(counts)
    np.testing.assert_allclose(curve.slope, [3, -2], atol=0.4)
    z = x[:, 0] + rng.laplace(0, 0.1, len(x))
    single = (rng.random(len(x)) < 1 / (1 + np.exp(1 - 3 * x[:, 0]))).astype(float)
    law = noise.Laplace(scale=0.1)
    spectrum = Spectrum.of(z, noise=law, response=single, low=0, high=1)
    assert LogisticRegression().fit(spectrum).slope[0] == pytest.approx(3, abs=0.3)
    two = Spectrum.of(x, noise=law, response=y)
    with pytest.raises(Unsupported, match="LinearRegression"):
        LogisticRegression().fit(two)
    assert isinstance(baseline(two), Line)


def test_private_binary_response():
    x = values(UNIT, 100_000, 11)
    y = np.random.default_rng(12).random(x.size) < 1 / (1 + np.exp(1 - 3 * x))
    both = Joint(
        {"x": SquareWave(UNIT, epsilon=4.0), "y": RandomizedResponse(["no", "yes"], epsilon=2.0)}
    )
    reports = both.simulate({"x": x, "y": np.where(y, "yes", "no")}, seed=1)
    curve = LogisticRegression(response="y").fit(Counts.of(reports))
    assert abs(curve.slope[0] - 3) < 3.5 * curve.slope_error[0]


def test_units_do_not_matter():
    one = binary(MECHANISMS["square-wave"], 5000, 13)
    wide = SquareWave(Lattice(low=-40, high=60, size=64), epsilon=2.0)
    two = Counts(wide, one.counts, True, None, one.response)
    for estimator in (LinearRegression(), LogisticRegression()):
        expected = estimator.fit(one).predict([0.2, 0.7])
        np.testing.assert_allclose(estimator.fit(two).predict([-20, 30]), expected, atol=1e-6)


def test_separated_classes_stay_finite():
    x = np.repeat([0.1, 0.9], 500)
    mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=100.0)
    counts = Counts.of(mechanism.simulate(x, seed=1), response=(x > 0.5).astype(float))
    curve = LogisticRegression().fit(counts)
    assert curve.predict(0.1) < 0.01
    assert curve.predict(0.9) > 0.99
    assert np.isfinite(curve.slope_error[0])


def test_baseline_and_its_form():
    mechanism = MECHANISMS["square-wave"]
    curve = baseline(binary(mechanism, 2000, 14))
    form = json.loads(json.dumps(curve.to_dict()))
    assert form["curve"] == "logistic"
    assert {"intercept", "slope", "intercept_error", "slope_error"} <= set(form)
    line = baseline(summary(mechanism, 2000, 14))
    assert json.loads(json.dumps(line.to_dict()))["curve"] == "line"
    assert line.baseline is None
    assert baseline(Counts.of(mechanism.simulate([0.1, 0.2], seed=1))) is None


def test_bad_input():
    reports = MECHANISMS["laplace"].simulate([0.1, 0.5, 0.9], seed=1)
    with pytest.raises(InvalidInput, match="response of 0 and 1"):
        LogisticRegression().fit(Counts.of(reports, response=[0.0, 0.5, 1.0]))
    with pytest.raises(InvalidInput, match="a summary with a response"):
        LinearRegression().fit(Counts.of(reports))
    with pytest.raises(InvalidInput, match="counts or a spectrum"):
        LinearRegression().fit([1.0, 2.0])
    words = RandomizedResponse(["a", "b"], epsilon=1.0).simulate(["a", "b", "a"], seed=1)
    for estimator in (LinearRegression(), LogisticRegression()):
        with pytest.raises(Unsupported, match="not categories"):
            estimator.fit(Counts.of(words, response=[0.0, 1.0, 1.0]))
