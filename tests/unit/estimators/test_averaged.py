"""Intervals that average over models, and bands that hold as a whole."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.errors import Unsupported
from confide.estimators import averaged, calibration
from confide.summaries import Counts

WAVE = cf.SquareWave(cf.Lattice(low=0, high=1, size=64), epsilon=2.0)
SKEWED = np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, 65)))
SHARES = np.array([0.1, 0.5, 0.9])


def surveys(masses, n, count):
    chances = WAVE.law.forward(masses)
    drawn = np.random.default_rng(3).multinomial(n, chances / chances.sum(), size=count)
    return [cf.density(Counts(WAVE, row, simulated=True)) for row in drawn]


def test_intervals_cover_and_are_shorter_than_tests():
    truth = stats.beta(2, 5).ppf(SHARES)
    hits, widths = 0, []
    found = surveys(SKEWED, 3_000, 30)
    for density in found:
        low, high = density.interval("quantile", SHARES)
        hits += (low <= truth) & (truth <= high)
        widths.append(high - low)
    assert (hits >= 26).all()
    tested = cf.estimators.Likelihood().fit(found[0].intervals.counts)
    low, high = tested.interval("quantile", SHARES)
    assert np.mean(widths, axis=0).sum() < 0.8 * (high - low).sum()
    low, high = found[0].interval("cdf", truth)
    assert (low < found[0].cdf(truth)).all()
    assert (found[0].cdf(truth) < high).all()
    assert found[0].interval("cdf", [-1.0, 2.0])[0].tolist() == [0, 1]
    wide, narrow = (found[0].interval("median", level=level) for level in (0.99, 0.5))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_quantiles_known_to_a_part_of_a_cell_have_the_intervals_of_their_shares():
    # A chance that is taken to rise evenly over a cell makes these almost twice as wide.
    (density,) = surveys(np.diff(stats.norm(0.5, 0.08).cdf(np.linspace(0, 1, 65))), 20_000, 1)
    assert density.facts["heaps"] == []
    intervals = density.intervals.averaged.smooth
    low, high = intervals.quantile(SHARES)
    assert (high - low < 1 / 64).all()
    assert intervals.cdf(low)[1] == pytest.approx(SHARES, abs=1e-4)
    assert intervals.cdf(high)[0] == pytest.approx(SHARES, abs=1e-4)


def test_intervals_that_assume_a_smooth_density_are_shorter():
    ratios = []
    for density in surveys(SKEWED, 3_000, 12):
        # Reports that happen to look like heaps have none.
        if not (density.intervals.averaged.heaped or density.intervals.pilot.heaps_between):
            pair = (density.interval("quantile", SHARES, smooth=smooth) for smooth in (True, False))
            narrow, wide = (high - low for low, high in pair)
            ratios.append(narrow.sum() / wide.sum())
    assert len(ratios) >= 6
    assert np.mean(ratios) < 0.95


def heaped(step, share):
    """Half of the cells that hold a multiple of a step have a share of the people."""
    at = np.unique((np.arange(step, 1, step) * 64 + 1e-9).astype(int))
    masses = (1 - share) * SKEWED
    masses[at] += share * SKEWED[at] / SKEWED[at].sum()
    return masses


def test_heaps_that_no_search_finds_are_covered():
    # A fifth of the people at tenths, which 1,500 reports at epsilon 2 do not show.
    masses = heaped(0.1, 0.2)
    cells = np.searchsorted(masses.cumsum(), SHARES)
    found = surveys(masses, 1_500, 30)
    assert sum(len(density.facts["heaps"]) for density in found) < 8
    hits = 0
    for density in found:
        low, high = density.interval("quantile", SHARES)
        hits += (low <= cells / 64 + 0.5 / 64) & (cells / 64 + 0.5 / 64 <= high)
    assert (hits >= 26).all()


def test_a_heap_at_a_bound_may_hold_a_quantile():
    zeros = 0.7 * SKEWED
    zeros[0] += 0.3
    hits = sum(density.interval("quantile", 0.25)[0] == 0 for density in surveys(zeros, 1_000, 20))
    assert hits >= 17


def test_some_zeros_that_the_noise_hides_are_covered_and_count_for_all_shares():
    # 10 % zeros beside a curve that starts far from them: the reports show a heap in some surveys.
    lattice = cf.Lattice(low=0, high=1, size=256)
    wave = cf.SquareWave(lattice, epsilon=1.0)
    masses = 0.9 * np.diff(stats.lognorm(0.55, scale=0.2).cdf(lattice.edges))
    masses[0] += 1 - masses.sum()
    chances = wave.law.forward(masses)
    drawn = np.random.default_rng(5).multinomial(20_000, chances / chances.sum(), size=30)
    hits = zeros = 0
    for row in drawn:
        density = cf.density(Counts(wave, row, simulated=True))
        low, high = density.interval("cdf", lattice.edges[1:4])
        assert (np.diff(high) >= 0).all()
        hits += (low <= masses.cumsum()[:3]) & (masses.cumsum()[:3] <= high)
        # A share that the bound may hold has the bound in its interval, and only such a share.
        below = density.interval("quantile", [0.9 * high[0], 0.02])[0]
        zeros += below[0] == 0
    assert (hits >= 27).all()
    assert zeros == 30


def test_intervals_with_smooth_are_refused_where_there_are_heaps():
    (density,) = surveys(SKEWED, 3_000, 1)
    low, high = density.interval("median", smooth=True)
    assert (low, high) == density.interval("quantile", 0.5, smooth=True)
    assert low < density.median() < high
    with pytest.raises(Unsupported, match="cdf and of quantiles"):
        density.interval("pdf", 0.5, smooth=True)
    with pytest.raises(Unsupported, match="default estimate"):
        cf.estimators.Likelihood().fit(density.intervals.counts).interval("median", smooth=True)
    (density,) = surveys(heaped(0.25, 0.6), 20_000, 1)
    with pytest.raises(Unsupported, match="without heaps between the bounds"):
        density.interval("median", smooth=True)


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


def test_people_who_round_here_and_there_are_allowed_for(monkeypatch):
    # Of the heaps at round numbers, noise hides the smaller ones.
    wave = cf.SquareWave(cf.Lattice(low=0, high=1, size=64), epsilon=1.0)
    masses = 0.35 * np.diff(stats.norm(0.4, 0.14).cdf(np.linspace(0, 1, 65)))
    places = np.array([12, 19, 22, 25, 32, 38])
    masses[places] += 0.06, 0.06, 0.05, 0.35, 0.09, 0.04
    masses /= masses.sum()
    chances = wave.law.forward(masses)
    drawn = np.random.default_rng(4).multinomial(5_000, chances / chances.sum(), size=24)
    found = [cf.density(Counts(wave, row, simulated=True)) for row in drawn]
    below = np.append(0, masses.cumsum())[places]

    def held():
        ends = [replace(one.intervals.averaged).cdf(places / 64) for one in found]
        return np.sum([(low <= below) & (below <= high) for low, high in ends], axis=0)

    allowed = held()
    monkeypatch.setattr(averaged.AveragedIntervals, "_multiples", ())
    assert allowed.min() >= 19
    assert held().min() < 15


@pytest.mark.parametrize(("size", "n"), [(8, 2_000), (64, 20_000)])
def test_people_who_round_are_the_gaussian_of_all_coefficients_together(size, n):
    # The joint precision of a mode's coefficients and the parts who round, inverted as a whole.
    wave = cf.SquareWave(cf.Lattice(low=0, high=1, size=size), epsilon=1.0)
    chances = wave.law.forward(np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, size + 1))))
    row = np.random.default_rng(1).multinomial(n, chances / chances.sum())
    intervals = cf.density(Counts(wave, row, simulated=True)).intervals.averaged
    (one,) = (one for one in intervals.sets if not one.places)
    problem, nodes = one.ladder.problem, intervals._nodes
    none = np.empty((nodes.size, 0))
    seen = 0
    for prior in averaged._rougher(one, one.score, averaged.ROUGHER):
        found = one.ladder.mode(*prior)
        # Places are cells here.
        assert found.smooth.size == size
        smooth = problem.columns @ found.slope
        below = (np.arange(size) < nodes[:, None]).astype(np.float64)
        models = list(intervals._rounded(one, found, none, none))
        asked = [
            (at, parts) for at in intervals._multiples for _, parts in averaged._parts(at.size)
        ]
        assert len(models) == len(asked)
        for (at, parts), (_, gain, low, high) in zip(asked, models, strict=True):
            half = int(np.diff(at).min(initial=size)) // 2
            moved = np.zeros((size, at.size))
            for column, place in enumerate(at):
                near = slice(max(place - half, 0), place + half + 1)
                moved[near, column] -= found.smooth[near]
                moved[place, column] += found.smooth[near].sum()
            slopes = np.hstack([smooth, intervals.law @ moved @ parts])
            told = slopes.T @ (n / found.fitted[:, None] * slopes)
            joint, own = np.eye(len(told)) + told, found.theta.size
            inverse = np.linalg.inv(joint)
            pull = np.append(np.zeros(own), (problem.counts / found.fitted) @ slopes[:, own:])
            away = inverse @ pull
            alone = np.linalg.slogdet(joint[:own, :own])[1]
            exact = pull @ away / 2 - (np.linalg.slogdet(joint)[1] - alone) / 2
            assert gain == pytest.approx(exact, abs=1e-6)
            for line, upto in ((low, 0), (high, 1)):
                heaped = below @ moved
                if upto:
                    # The heap of a place counts where the place begins.
                    for column, place in enumerate(at):
                        near = slice(max(place - half, 0), place + half + 1)
                        heaped[nodes == place, column] += found.smooth[near].sum()
                shares = np.hstack([below @ found.slope, heaped @ parts])
                assert line.shares == pytest.approx(below @ found.smooth + shares @ away, abs=1e-7)
                spread = np.sqrt(np.einsum("ij,jk,ik->i", shares, inverse, shares).clip(0))
                assert line.all[0] == pytest.approx(spread, abs=1e-7)
            seen += 1
    assert seen > 4


@pytest.mark.parametrize("at", [70, 95, 110])
def test_a_heap_counts_in_all_of_its_place_where_cells_end_inside_or_near_it(at):
    # 128 smooth cells over 300 places: cells end inside place 70 and before 95 and 110.
    wave = cf.SquareWave(cf.Lattice(low=0, high=300, size=300), epsilon=1.0)
    masses = 0.7 * np.diff(stats.beta(2, 3).cdf(np.linspace(0, 1, 301)))
    masses[at] += 0.3
    chances = wave.law.forward(masses)
    row = np.random.default_rng(1).multinomial(100_000, chances / chances.sum())
    density = cf.density(Counts(wave, row, simulated=True))
    assert density.facts["heaps"] == [at]
    x = np.linspace(at - 2, at + 2, 201)
    low, high = density.intervals.averaged.cdf(x)
    assert (np.diff(low) > -1e-9).all()
    assert (np.diff(high) > -1e-9).all()
    # Everybody of the heap may be where the place begins, or where it ends.
    inside = (at < x) & (x < at + 1)
    assert (low[inside] < masses[:at].sum()).all()
    assert (high[inside] > masses[: at + 1].sum()).all()


@pytest.mark.parametrize(("size", "epsilon"), [(64, 8.0), (100, 8.0), (100, 4.0), (64, 1.0)])
def test_ends_rise_and_hold_the_truth_where_all_cells_are_round_numbers(size, epsilon):
    wave = cf.SquareWave(cf.Lattice(low=0, high=size, size=size), epsilon=epsilon)
    masses = 0.7 * np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, size + 1)))
    masses[0] += 0.3
    chances = wave.law.forward(masses)
    drawn = np.random.default_rng(2).multinomial(5_000, chances / chances.sum(), size=12)
    x = np.arange(1.0, size)
    hits = 0
    for row in drawn:
        intervals = cf.density(Counts(wave, row, simulated=True)).intervals.averaged
        # At epsilon 8 no model with a heap at the high bound has any chance left.
        with np.errstate(invalid="raise"):
            low, high = intervals.cdf(x)
        assert (low < high).all()
        # Where a heap may be hidden the reports leave more open than beside it.
        assert (np.diff(low) >= -(high - low)[1:] / 5).all()
        assert (np.diff(high) >= -(high - low)[1:] / 5).all()
        hits += (low <= masses.cumsum()[:-1]) & (masses.cumsum()[:-1] <= high)
        # What a share below a value may be, and where that share may end, are one statement.
        middle = size // 4
        at = intervals.quantile((low[middle] + high[middle]) / 2)
        assert at[0] <= x[middle] <= at[1]
    assert hits.min() >= 8
    assert hits.mean() >= 11


def test_lines_that_fall_are_pooled():
    below = np.array([[0.0, 0.3, 0.2, 1.0]])
    upto = np.array([[0.0, 0.1, 0.6, 1.0]])
    low, high = averaged._rising(below, upto)
    assert low == pytest.approx(np.array([[0, 0.2, 0.25, 1]]))
    assert high == pytest.approx(np.array([[0, 0.2, 0.6, 1]]))
    same = np.array([[0.0, 0.25, 0.5, 1.0]])
    assert np.array_equal(averaged._rising(same, same), (same, same))
