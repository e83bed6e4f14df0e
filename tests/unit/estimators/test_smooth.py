"""Intervals that assume a smooth density, and bands that hold as a whole."""

import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.errors import Unsupported
from confide.estimators import calibration
from confide.summaries import Counts

WAVE = cf.SquareWave(cf.Lattice(low=0, high=1, size=64), epsilon=2.0)
SKEWED = np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, 65)))
SHARES = np.array([0.1, 0.5, 0.9])


def surveys(masses, n, count):
    chances = WAVE.law.forward(masses)
    drawn = np.random.default_rng(3).multinomial(n, chances / chances.sum(), size=count)
    return [cf.density(Counts(WAVE, row, simulated=True)) for row in drawn]


def test_smooth_intervals_cover_and_are_shorter():
    truth = stats.beta(2, 5).ppf(SHARES)
    hits, widths = 0, []
    for density in surveys(SKEWED, 3_000, 40):
        if density.heaps:
            continue
        low, high = density.interval("quantile", SHARES, smooth=True)
        hits += (low <= truth) & (truth <= high)
        widths.append(high - low)
    assert len(widths) > 30
    assert (hits >= 0.85 * len(widths)).all()
    low, high = density.interval("quantile", SHARES)
    assert np.mean(widths, axis=0).sum() < 0.9 * (high - low).sum()
    assert density.interval("median", smooth=True) == density.interval("quantile", 0.5, smooth=True)
    low, high = density.interval("cdf", truth, smooth=True)
    assert (low < density.cdf(truth)).all()
    assert (density.cdf(truth) < high).all()


def test_smooth_intervals_are_refused_where_there_are_heaps():
    heaped = 0.7 * SKEWED
    heaped[0] += 0.3
    (density,) = surveys(heaped, 20_000, 1)
    with pytest.raises(Unsupported, match="without heaps, and this estimate has 1"):
        density.interval("median", smooth=True)
    with pytest.raises(Unsupported, match="cdf and of quantiles"):
        density.interval("pdf", 0.5, smooth=True)
    with pytest.raises(Unsupported, match="default estimate"):
        cf.estimators.Likelihood().fit(density.intervals.counts).interval("median", smooth=True)


@pytest.mark.parametrize("what", ["pdf", "cdf"])
def test_bands_hold_as_a_whole(what, monkeypatch):
    monkeypatch.setattr(calibration, "DRAWS", 30)
    held = 0
    for density in surveys(SKEWED, 2_000, 12):
        band = density.band(what)
        cdf = stats.beta(2, 5).cdf
        truth = cdf(band.x)
        if what == "pdf":
            truth = 16 * (cdf(band.x + 1 / 32) - cdf(band.x - 1 / 32))
        held += bool(((band.low <= truth + 1e-9) & (truth <= band.high + 1e-9)).all())
    assert held >= 10
    assert (band.what, band.level) == (what, 0.95)
    low, high = density.interval(what, band.x[1:-1])
    # Wider than the intervals of single places.
    assert (band.high - band.low)[1:-1].sum() > (high - low).sum()
    narrow = density.band(what, level=0.5)
    assert (narrow.high - narrow.low).sum() < (band.high - band.low).sum()


def test_bands_of_whole_numbers_and_of_other_estimates():
    days = cf.SquareWave(cf.Lattice(low=0, high=9, kind="integer"), epsilon=4.0)
    values = np.random.default_rng(1).integers(0, 10, 2_000)
    density = cf.density(Counts.of(days.simulate(values, seed=1)))
    band = density.band("cdf")
    assert (band.low[0], band.high[0], band.low[-1], band.high[-1]) == (0, 0, 1, 1)
    assert (np.diff(band.low) >= 0).all()
    band = density.band()
    assert (band.x == np.round(band.x)).all()
    drawn = density.plot()
    assert "95 % simultaneous band" in drawn.ax_.get_legend_handles_labels()[1]
    with pytest.raises(Unsupported, match="simultaneous band"):
        cf.estimators.Deconvolution().fit(
            Counts.of(
                cf.Laplace(cf.Lattice(low=0, high=1), epsilon=2.0).simulate([0.5] * 50, seed=1)
            )
        ).band()
