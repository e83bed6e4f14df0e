"""Every estimator on numbers that somebody else noised, with every law of noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from confide import Lattice
from confide.errors import ConfideWarning, Implausible, InvalidInput, Unsupported
from confide.estimators import (
    Deconvolution,
    KernelRegression,
    Likelihood,
    LinearRegression,
    LogisticRegression,
    RatioRegression,
    calibration,
    density,
)
from confide.estimators.intervals import Intervals
from confide.foreign import Noised, Spectrum
from confide.foreign import noise_laws as noise
from confide.summaries import Counts

Floats = npt.NDArray[np.float64]

LOW, HIGH = 20_000.0, 220_000.0
RANGE = HIGH - LOW
SLOPE = 2 / RANGE


def two_sided_gamma(
    shape: float,
) -> tuple[Callable[..., noise.Noise], Callable[..., Floats]]:
    unit = (shape * (shape + 1)) ** 0.5
    return (
        lambda sd, n: noise.TwoSidedGamma(shape=shape, scale=sd / unit),
        lambda rng, sd, n: rng.choice([-1, 1], n) * rng.gamma(shape, sd / unit, n),
    )


def even(sd: float, n: int) -> noise.Noise:
    reach = sd * 3**0.5
    return noise.Custom(
        characteristic=lambda t: np.sinc(reach * t / np.pi),
        variance=sd**2,
        cdf=lambda x: np.clip((x + reach) / (2 * reach), 0, 1),
    )


# A law of noise from its standard deviation, and draws from it. Two thirds of the values of the
# last have half of the standard deviation.
LAWS: dict[str, tuple[Callable[..., noise.Noise], Callable[..., Floats]]] = {
    "laplace": (
        lambda sd, n: noise.Laplace(scale=sd / 2**0.5),
        lambda rng, sd, n: rng.laplace(0, sd / 2**0.5, n),
    ),
    "gaussian": (
        lambda sd, n: noise.Gaussian(scale=sd),
        lambda rng, sd, n: rng.normal(0, sd, n),
    ),
    "gaussians": (
        lambda sd, n: noise.Gaussian(scale=np.resize([sd, sd / 2, sd / 2], n)),
        lambda rng, sd, n: rng.normal(0, np.resize([sd, sd / 2, sd / 2], n), n),
    ),
    "gamma-0.7": two_sided_gamma(0.7),
    "gamma-3": two_sided_gamma(3.0),
    "gamma-50": two_sided_gamma(50.0),
    "even": (even, lambda rng, sd, n: rng.uniform(-sd * 3**0.5, sd * 3**0.5, n)),
}
SHARES = (0.02, 0.1, 0.5, 2.0)
"""Standard deviations of the noise, as shares of the range of the values."""


def made(
    name: str, share: float, n: int
) -> tuple[noise.Noise, Floats, Floats, Floats, Floats, float]:
    """The law, true values, their noised ones, two responses, and the mean's standard error."""
    rng = np.random.default_rng([20_260_513, n, round(1000 * share)])
    law, draw = LAWS[name]
    sd = share * RANGE
    x = LOW + RANGE * rng.beta(2, 5, n)
    y = 1 + SLOPE * (x - LOW) + rng.normal(0, 0.3, n)
    yes = (rng.random(n) < 1 / (1 + np.exp(2 - 4 * (x - LOW) / RANGE))).astype(np.float64)
    made = law(sd, n)
    error = float(np.sqrt((x.var() + made.variance) / n))
    return made, x, x + draw(rng, sd, n), y, yes, error


@pytest.mark.parametrize("n", [500, 50_000])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", LAWS)
def test_every_estimator_on_counts(name: str, share: float, n: int) -> None:
    law, x, z, y, yes, error = made(name, share, n)
    counts, marked = (
        Counts.of_noised(z, noise=law, low=LOW, high=HIGH, response=response)
        for response in (y, yes)
    )
    with warnings.catch_warnings():
        # So much noise that a variance is floored is said, and is not what is looked at here.
        warnings.simplefilter("ignore", ConfideWarning)
        density = Likelihood().fit(counts)
        curve = RatioRegression().fit(counts)
        line = LinearRegression().fit(counts)
        logistic = LogisticRegression().fit(marked)
    assert abs(density.mean() - x.mean()) < 4 * error
    low, high = Intervals(counts).mean()
    assert LOW <= low <= high <= HIGH
    assert low - 2 * error < x.mean() < high + 2 * error
    if share <= 0.5:
        assert 2 < (high - low) / error < 5
    places = LOW + RANGE * np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(curve.predict(places), 1 + SLOPE * (places - LOW), atol=1.0)
    assert np.isfinite(curve.interval(places)).all()
    # With more noise than that the variance of the values is hardly told from zero.
    if share <= 0.5 and not line.facts["floored_variance"]:
        assert abs(line.slope[0] - SLOPE) < 4.5 * line.slope_error[0]
    assert np.isfinite([line.intercept, *line.slope]).all()
    assert np.isfinite(line.slope_error[0]) != line.facts["floored_variance"]
    assert np.isfinite([logistic.intercept, *logistic.slope]).all()
    if share <= 0.1:
        assert abs(logistic.slope[0] * RANGE - 4) < 4.5 * logistic.slope_error[0] * RANGE


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", LAWS)
def test_intervals_of_quantiles_and_shares(
    name: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fewer simulated surveys behind each interval; its length hardly changes.
    monkeypatch.setattr(calibration, "DRAWS", 25)
    law, x, z, *_ = made(name, share, 3000)
    intervals = Intervals(Counts.of_noised(z, noise=law, low=LOW, high=HIGH))
    low, high = intervals.quantile(0.5, 0.99)
    assert LOW <= low < np.median(x) < high <= HIGH
    place = LOW + RANGE / 4
    low, high = intervals.cdf(place, 0.99)
    assert 0 <= low < (x <= place).mean() < high <= 1


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", LAWS)
def test_every_estimator_on_a_spectrum(name: str, share: float) -> None:
    law, x, z, y, _, error = made(name, share, 8000)
    summary = Spectrum.of(z, noise=law, response=y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfideWarning)
        line = LinearRegression().fit(summary)
        if name in ("gamma-3", "gamma-50", "even"):
            # Their characteristic functions have zeros, which deconvolution cannot undo.
            for estimator in (Deconvolution(), KernelRegression()):
                with pytest.raises(Unsupported, match="zero"):
                    estimator.fit(summary)
        else:
            linear = Deconvolution(positive=False).fit(summary)
            assert abs(linear.mean() - x.mean()) < 4 * error
            density = Deconvolution().fit(summary)
            assert z.min() <= density.mean() <= z.max()
            curve = KernelRegression().fit(summary)
            assert np.isfinite(curve.predict(LOW + RANGE * np.array([0.2, 0.5]))).all()
    assert np.isfinite(line.slope).all()
    assert np.isfinite(line.slope_error[0]) != line.facts["floored_variance"]
    if share <= 0.5 and not line.facts["floored_variance"]:
        assert abs(line.slope[0] - SLOPE) < 4.5 * line.slope_error[0]


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("share", [0.001, *SHARES, 5.0])
@pytest.mark.parametrize("name", LAWS)
def test_scores_are_unbiased_and_vary_no_more_than_the_noised_values(
    name: str, share: float, power: int
) -> None:
    law, *_ = made(name, share, 300)
    channel = Counts.of_noised([LOW], noise=law, low=0, high=RANGE).mechanism
    scores, target = channel.unbiased(power), channel.lattice.centers**power
    reached = channel.law.adjoint(scores)
    np.testing.assert_allclose(reached, target, atol=1e-8 * RANGE**power)
    # The noised value itself, less what noise adds to its square, clamped to the outermost cells.
    plain = channel.wide.centers**power - (law.variance if power == 2 else 0)
    second, most = channel.law.adjoint(np.stack([scores**2, plain**2]))
    assert second.mean() < 1.01 * most.mean()
    # Cells that noise never reaches too: nothing there is out of all proportion.
    assert np.abs(scores).max() < 2 * np.abs(plain).max()


def test_numbers_that_the_noise_cannot_reach_are_refused() -> None:
    law, _, z, y, *_ = made("gaussian", 0.1, 3000)
    options = {"noise": law, "low": LOW, "high": HIGH}
    z[[7, 8]] = -999_999, LOW - 0.9 * RANGE
    counts = Counts.of_noised(z, **options, response=y)
    for fit in (Likelihood().fit, RatioRegression().fit, LinearRegression().fit):
        with pytest.raises(InvalidInput, match=r"2 of 3,000 that lie too far out.*-999 that"):
            fit(counts)
    # As far as noise does go, nothing is refused, and merging does not change that.
    z[[7, 8]] = LOW - 0.4 * RANGE, HIGH + 0.4 * RANGE
    counts = Counts.of_noised(z, **options)
    assert np.isfinite(Likelihood().fit(counts + counts).mean())
    # Noise of bounded reach, at its very end.
    ends = np.array([LOW - RANGE, LOW, HIGH, HIGH + RANGE])
    law = even(RANGE / 3**0.5, 4)
    assert np.isfinite(
        Likelihood().fit(Counts.of_noised(ends, noise=law, low=LOW, high=HIGH)).mean()
    )
    ends[0] -= 0.02 * RANGE
    with pytest.raises(InvalidInput, match="1 of 4 that lie"):
        Likelihood().fit(Counts.of_noised(ends, noise=law, low=LOW, high=HIGH))


class TestNoiseThatIsNotThere:
    """Numbers that stay within the bounds of the true values, where noise would not."""

    @pytest.mark.parametrize("name", ["laplace", "gaussian", "gaussians", "gamma-0.7", "gamma-3"])
    @pytest.mark.parametrize("share", [1.0, 2.0, 100.0])
    def test_is_told(self, name: str, share: float) -> None:
        x = LOW + RANGE * np.random.default_rng(1).beta(2, 5, 500)
        law = LAWS[name][0](share * RANGE, x.size)
        for values in (
            x,
            np.clip(x + LAWS[name][1](np.random.default_rng(2), RANGE, 500), 2e4, 2e5),
        ):
            counts = Counts.of_noised(values, noise=law, low=LOW, high=HIGH)
            with pytest.warns(Implausible, match="smaller than stated, or the numbers were cut"):
                Likelihood().fit(counts)

    @pytest.mark.parametrize("name", LAWS)
    @pytest.mark.parametrize("share", [0.02, 0.5, 2.0, 20.0])
    @pytest.mark.parametrize("n", [1, 30, 5000])
    def test_no_false_alarm(self, name: str, share: float, n: int) -> None:
        law, draw = LAWS[name]
        sd = share * RANGE
        # All in the middle, from where least leave.
        for seed in range(5):
            z = LOW + RANGE / 2 + draw(np.random.default_rng(seed), sd, n)
            made = law(sd, n)
            for values in (z, np.round(z / (0.9 * sd)) * 0.9 * sd):
                counts = Counts.of_noised(values, noise=made, low=LOW, high=HIGH)
                assert counts.mechanism.moved(counts.counts)  # type: ignore[union-attr]

    def test_nothing_can_be_told_without_a_margin(self) -> None:
        channel = Noised(Lattice(low=0, high=1, size=4), noise.Laplace(scale=9.0), margin=0)
        assert channel.moved(np.array([100, 0, 0, 0]))
        wider = Noised(channel.lattice, channel.noise, margin=1)
        assert wider.moved(np.zeros(6, dtype=np.int64))
        assert not wider.moved(np.array([0, 100, 0, 0, 0, 0]))


@pytest.mark.parametrize("law", [noise.Laplace, noise.Gaussian])
def test_a_scale_that_is_far_too_small_is_refused(law: Callable[..., Any]) -> None:
    rng = np.random.default_rng(4)
    true = np.clip(rng.lognormal(10.5, 0.45, 5000), 0, 200_000)
    added = rng.laplace(size=5000) if law is noise.Laplace else rng.normal(size=5000)
    numbers = true + 15_000 * added
    counts = Counts.of_noised(numbers, noise=law(scale=1500.0), low=0, high=200_000)
    with pytest.raises(InvalidInput, match="that lie too far out"):
        density(counts)
    for scale in (13_000, 15_000):
        counts = Counts.of_noised(numbers, noise=law(scale=float(scale)), low=0, high=200_000)
        assert density(counts).median() == pytest.approx(np.median(true), rel=0.15)
