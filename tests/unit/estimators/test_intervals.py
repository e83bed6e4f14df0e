from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from confide import Laplace, Lattice, SquareWave
from confide.errors import InvalidInput
from confide.estimators import calibration, intervals, profile
from confide.estimators.intervals import Intervals
from confide.estimators.profile import Profile, maximize
from confide.estimators.shares import CategoryShares
from confide.foreign.noise_laws import Gaussian
from confide.mechanisms import Joint, RandomizedResponse, TwoSidedGamma
from confide.summaries import Counts, Groups


def lattice(size=16, **changes):
    return Lattice(**{"low": 0.0, "high": 1.0, "size": size, **changes})


def counted(mechanism, n=500, seed=1):
    values = np.random.default_rng(seed).beta(2, 5, n)
    return Counts.of(mechanism.simulate(values, seed=seed))


@pytest.fixture
def light(monkeypatch):
    """Fewer simulated surveys behind the cuts: these tests are not about their precision."""
    monkeypatch.setattr(calibration, "DRAWS", 12)


def one(cut):
    """The same cut at all places."""
    return lambda places: np.full(places.shape, cut)


def oracle(law, shares, contrast=None):
    """The same convex problem by a general solver, from several starts."""
    cells = law.shape[1]
    ties = [{"type": "eq", "fun": lambda f: f.sum() - 1}]
    if contrast is not None:
        ties.append({"type": "eq", "fun": lambda f: contrast @ f})
    best = -np.inf
    for seed in range(3):
        start = np.random.default_rng(seed).dirichlet(np.ones(cells))
        found = optimize.minimize(
            lambda f: -shares @ np.log(np.maximum(law @ f, 1e-12)),
            start,
            jac=lambda f: -(law.T @ (shares / np.maximum(law @ f, 1e-12))),
            bounds=[(0, 1)] * cells,
            constraints=ties,
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        if found.success:
            best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("kind", [Laplace, SquareWave])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_maximum_is_that_of_a_general_solver(kind, epsilon):
    law = kind(lattice(8), epsilon=epsilon).law.matrix()
    generator = np.random.default_rng(2)
    for share in (0.02, 0.4, 0.9):
        drawn = generator.multinomial(300, law @ generator.dirichlet(np.ones(8))) / 300
        contrast = np.clip(3.4 - np.arange(8), 0, 1) - share
        for tie in (None, contrast):
            rows = None if tie is None else tie[None]
            masses, values = maximize(law, drawn[None], rows, gap=1e-9)
            assert values[0] == pytest.approx(oracle(law, drawn, tie), abs=1e-6)
            assert masses.min() >= 0
            assert masses.sum() == pytest.approx(1)
            if tie is not None:
                assert masses[0] @ tie == pytest.approx(0, abs=1e-9)


def test_gap_is_certified_against_a_tighter_fit():
    law = SquareWave(lattice(32), epsilon=2.0).law.matrix()
    drawn = np.random.default_rng(0).multinomial(2000, law.mean(1), size=20) / 2000
    rough, fine = (maximize(law, drawn, gap=gap)[1] for gap in (1e-4, 1e-10))
    assert np.all(rough <= fine + 1e-10)
    assert np.all(rough >= fine - 1e-4)


def test_rows_of_a_batch_do_not_touch_each_other():
    law = Laplace(lattice(16), epsilon=2.0).law.matrix()
    drawn = np.random.default_rng(0).multinomial(500, law.mean(1), size=7) / 500
    contrast = np.clip(5.5 - np.arange(16), 0, 1)[None] - np.linspace(0.1, 0.9, 7)[:, None]
    together = maximize(law, drawn, contrast, gap=1e-8)[1]
    alone = [maximize(law, drawn[[i]], contrast[[i]], gap=1e-8)[1][0] for i in range(7)]
    np.testing.assert_allclose(together, alone, atol=1e-8)


@pytest.mark.parametrize("kind", [Laplace, SquareWave])
def test_ends_are_those_of_a_brute_force_inversion(kind):
    counts = counted(kind(lattice(12), epsilon=3.0))
    profile = Profile(counts.mechanism.law)
    reports = profile.bin(counts.total)[None]
    top = profile.fit(reports)[1]
    cut = 3.84
    shares = np.linspace(0.001, 0.999, 400)
    batch = np.repeat(reports, shares.size, 0)
    tops = np.repeat(top, shares.size)
    part = profile.below(np.full(shares.size, 4.3))
    passed = shares[profile.deviance(batch, part, shares, tops) <= cut]
    low, high = intervals.share_ends(profile, reports, part[:1], np.array([cut]))
    assert low[0] == pytest.approx(passed.min(), abs=0.006)
    assert high[0] == pytest.approx(passed.max(), abs=0.006)
    places = np.linspace(0.01, 11.99, 400)
    deviance = profile.deviance(batch, profile.below(places), np.full(400, 0.5), tops)
    passed = places[deviance <= cut]
    low, high = intervals.quantile_ends(profile, reports, np.array([0.5]), one(cut))
    assert low[0] == pytest.approx(passed.min(), abs=0.1)
    assert high[0] == pytest.approx(passed.max(), abs=0.1)
    assert np.all(np.diff(np.flatnonzero(deviance <= cut)) == 1)


@pytest.mark.parametrize("declining", [False, True])
def test_fewer_cells_and_a_near_start_change_no_deviance(declining):
    """Far from the fit, too: a search that leaves its constraint finds values that are too good."""
    mechanism = SquareWave(lattice(256), epsilon=1.0, prefer_not_to_say=declining)
    profile = Profile(mechanism.law, bins=32)
    values = np.random.default_rng(5).beta(2, 5, 200)
    reports = profile.bin(Counts.of(mechanism.simulate(values, seed=1)).total)[None]
    shares = np.array([0.02, 0.3, 0.5, 0.97, 0.6])
    batch = np.repeat(reports, shares.size, 0) + np.eye(5, reports.size)
    masses, top = profile.fit(batch)
    assert np.count_nonzero(masses.any(0)) < 100
    parts = profile.below(np.array([40.0, 77.25, 128.5, 3.0, 250.0]))
    found = profile.deviance(batch, parts, shares, top, masses)
    np.testing.assert_allclose(profile.deviance(batch, parts, shares, top), found, atol=0.01)
    n = batch.sum(1)
    drawn = batch / n[:, None]
    contrast = np.pad(parts - shares[:, None], ((0, 0), (0, int(declining))))
    whole = maximize(profile.law, drawn, gap=1e-8)[1]
    tied = maximize(profile.law, drawn, contrast, gap=1e-8)[1]
    np.testing.assert_allclose(whole, top, atol=1e-3 / 200)
    np.testing.assert_allclose(2 * n * (whole - tied), found, atol=0.01)


def test_quantile_and_cdf_invert_the_same_test(light):
    answer = Intervals(counted(SquareWave(lattice(32), epsilon=2.0), 3000))
    low, high = answer.quantile(0.5)
    # Ends are edges of cells: the first that the test of the median rejects, and not the next.
    assert answer.cdf(low)[1] < 0.5 < answer.cdf(low + 1 / 32)[1]
    assert answer.cdf(high - 1 / 32)[0] < 0.5 < answer.cdf(high)[0]


def test_values_may_lie_anywhere_in_a_cell(light):
    answer = Intervals(counted(SquareWave(lattice(32), epsilon=2.0), 3000))
    (low, _), (_, high) = answer.cdf(8 / 32), answer.cdf(9 / 32)
    assert answer.cdf(8.3 / 32) == pytest.approx((low, high))


def test_search_returns_the_outer_end():
    inside, outside = np.zeros(3), np.array([1.0, 1.0, -1.0])
    target = np.array([2.0, 30.0, 0.5])
    found = intervals._cross(
        lambda x, at: np.expm1(3 * np.abs(x)), inside, outside, target, resolution=1e-9
    )
    exact = np.log1p(target[[0, 2]]) / 3
    assert found[1] == 1.0
    beyond = np.abs(found[[0, 2]]) / exact
    assert np.all((beyond >= 1) & (beyond < 1.01))
    steep = intervals._cross(
        lambda x, at: np.where(x > 0.3, 9.0, 0.0), inside, np.ones(3), np.ones(3), resolution=1e-3
    )
    assert np.all((steep > 0.3) & (steep < 0.302))


def test_wider_at_higher_levels(light):
    answer = Intervals(counted(SquareWave(lattice(32), epsilon=2.0)))
    for method, at in ((answer.cdf, (0.3,)), (answer.quantile, (0.5,)), (answer.mean, ())):
        ends = [method(*at, level=level) for level in (0.5, 0.8, 0.95, 0.999)]
        lows, highs = zip(*ends, strict=True)
        assert list(lows) == sorted(lows, reverse=True)
        assert list(highs) == sorted(highs)


def test_scalars_give_floats_and_arrays_arrays(light):
    answer = Intervals(counted(Laplace(lattice(), epsilon=2.0)))
    low, high = answer.quantile(0.5)
    assert isinstance(low, float)
    lows, highs = answer.quantile([[0.25], [0.5]])
    assert lows.shape == highs.shape == (2, 1)
    assert (lows[1, 0], highs[1, 0]) == (low, high)
    lows, highs = answer.cdf([0.2, 0.5, 0.8])
    assert np.all(np.diff(lows) >= 0)
    assert np.all(np.diff(highs) >= 0)


def test_outside_the_bounds_the_cdf_is_known(light):
    answer = Intervals(counted(Laplace(lattice(), epsilon=2.0)))
    lows, highs = answer.cdf([-1.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(lows, [0, 0, 1, 1])
    np.testing.assert_array_equal(highs, [0, 0, 1, 1])
    assert answer.quantile(0.0)[0] == 0.0
    assert answer.quantile(1.0)[1] == 1.0


def test_answers_are_kept(light, monkeypatch):
    answer = Intervals(counted(Laplace(lattice(), epsilon=2.0)))
    first = answer.cdf([0.2, 0.4])
    monkeypatch.setattr(intervals, "share_ends", None)
    np.testing.assert_array_equal(answer.cdf([0.4, 0.2])[0], first[0][::-1])


def test_no_more_answers_are_kept_than_a_bound(light, monkeypatch):
    monkeypatch.setattr(intervals, "KEPT", 3)
    answer = Intervals(counted(Laplace(lattice(), epsilon=2.0)))
    first = answer.cdf([0.2, 0.4, 0.6, 0.4, 0.7, 0.8])
    assert first[0].shape == (6,)
    assert len(answer._kept) == 3
    np.testing.assert_allclose(answer.cdf([0.2, 0.8])[0], first[0][[0, 5]], rtol=1e-6)
    assert len(answer._kept) == 3


@pytest.mark.parametrize("kind", [Laplace, SquareWave])
def test_one_respondent_tells_nothing(kind, light):
    mechanism = kind(lattice(), epsilon=4.0)
    answer = Intervals(Counts.of(mechanism.simulate([0.3], seed=1)))
    assert answer.mean() == (0.0, 1.0)
    assert answer.cdf(0.5) == (0.0, 1.0)
    low, high = answer.quantile(0.5)
    assert low < 0.05
    assert high > 0.95


@pytest.mark.parametrize("report", [0, 7, -1])
@pytest.mark.parametrize("kind", [Laplace, SquareWave])
def test_all_reports_equal_is_not_certainty(kind, report, light):
    mechanism = kind(lattice(), epsilon=2.0)
    table = np.zeros(mechanism.law.outputs, dtype=np.int64)
    table[report] = 1000
    answer = Intervals(Counts(mechanism, table))
    low, high = answer.mean()
    assert 0 <= low <= high <= 1
    lows, highs = answer.cdf([0.25, 0.5, 0.75])
    assert np.all((lows >= 0) & (lows <= highs) & (highs <= 1))
    low, high = answer.quantile(0.5)
    assert 0 <= low < high <= 1


def test_no_reports_leave_everything_open():
    mechanism = Laplace(lattice(), epsilon=2.0)
    answer = Intervals(Counts(mechanism, np.zeros(16, dtype=np.int64)))
    assert answer.mean() == (0.0, 1.0)
    assert answer.cdf(0.5) == (0.0, 1.0)
    assert answer.quantile(0.5) == (0.0, 1.0)
    assert answer.pdf(0.5) == (0.0, 16.0)


def test_more_respondents_than_doubles_can_tell_apart(light):
    mechanism = SquareWave(lattice(32), epsilon=4.0)
    edges = np.linspace(0, 1, 33)
    below = stats.beta(2, 5).cdf(edges)
    chances = mechanism.law.forward(np.diff(below))
    answer = Intervals(Counts(mechanism, np.rint(1e12 * chances).astype(np.int64)))
    low, high = answer.quantile(0.5)
    assert low < np.interp(0.5, below, edges) < high
    assert high - low == pytest.approx(1 / 32)


def test_mean_is_students_interval_of_the_scores():
    counts = counted(Laplace(lattice(64), epsilon=2.0), 2000)
    scores = np.repeat(counts.mechanism.unbiased(1), counts.counts)
    expected = stats.t.interval(
        0.9, 1999, loc=scores.mean(), scale=scores.std(ddof=1) / np.sqrt(2000)
    )
    np.testing.assert_allclose(Intervals(counts).mean(0.9), expected, rtol=1e-10)


def test_equal_weights_change_nothing_and_unequal_ones_widen(light):
    mechanism = SquareWave(lattice(32), epsilon=2.0)
    values = np.random.default_rng(1).beta(2, 5, 4000)
    reports = mechanism.simulate(values, seed=1)
    plain, same, unequal = (
        Intervals(Counts.of(reports, weights=weights))
        for weights in (None, np.full(4000, 3.0), np.random.default_rng(2).lognormal(0, 1.5, 4000))
    )
    for ask in (lambda a: a.mean(), lambda a: a.cdf(0.3), lambda a: a.quantile(0.5)):
        np.testing.assert_allclose(ask(same), ask(plain), rtol=1e-6)
        assert np.diff(ask(unequal)) > np.diff(ask(plain))


def test_equal_reports_without_noise_leave_room_for_what_was_not_seen():
    axis = lattice(64)
    mechanism = SquareWave(axis, epsilon=100.0)
    for n in (3, 100, 100_000):
        reports = mechanism.simulate(np.full(n, 0.3), seed=1)
        low, high = Intervals(Counts.of(reports)).mean()
        center = axis.centers[axis.index([0.3])[0]]
        missed = 1 - 0.025 ** (1 / n)
        # So large a share of other values may stand at a bound, unseen.
        assert low <= center - missed * (center - axis.centers[0]) + 1e-9
        assert high >= center + missed * (axis.centers[-1] - center) - 1e-9
        assert high - low >= 2 * 1.95 * axis.widths[0] / np.sqrt(12 * n)
        assert high - low <= missed + 0.1 / np.sqrt(n)


def test_mean_beyond_the_bounds_keeps_the_end_cell():
    scores, counts = np.array([-0.5, -0.4, 1.4, 1.5]), np.array([[50, 50, 0, 0], [0, 0, 50, 50]])
    edges = np.linspace(0, 1, 9)
    low, high = intervals.mean_ends(scores, counts, counts, level=0.95, edges=edges)
    np.testing.assert_array_equal(low, [0, 7 / 8])
    np.testing.assert_array_equal(high, [1 / 8, 1])


def test_mean_ends_in_any_unit_and_without_bounds():
    generator = np.random.default_rng(4)
    scores, weights = generator.normal(size=200), generator.lognormal(size=200)
    low, high = intervals.mean_ends(scores, weights, weights**2, level=0.9)
    total = weights.sum()
    scaled = intervals.mean_ends(scores, weights / total, (weights / total) ** 2, level=0.9)
    np.testing.assert_allclose(scaled, (low, high), rtol=1e-10)
    ones = np.ones(200)
    expected = stats.t.interval(0.9, 199, loc=scores.mean(), scale=stats.sem(scores))
    np.testing.assert_allclose(intervals.mean_ends(scores, ones, ones, level=0.9), expected)
    wide = intervals.mean_ends(scores, ones, ones, level=0.9, least=100.0)
    assert np.diff(wide) == pytest.approx(2 * stats.t.ppf(0.95, 199) * 10 / np.sqrt(200))


def test_weights_that_go_with_the_answers_widen_more_than_others_of_the_same_size(light):
    mechanism = SquareWave(lattice(32), epsilon=8.0)
    generator = np.random.default_rng(1)
    heavy = generator.random(8000) < 0.01
    values = np.where(heavy, 0.6 + 0.05 * generator.random(8000), generator.random(8000))
    weights = np.where(heavy, 20.0, 1.0)
    moved = generator.permutation(weights)
    ratios = []
    for seed in range(6):
        reports = mechanism.simulate(values, seed=seed)
        there, anywhere = (Intervals(Counts.of(reports, weights=w)) for w in (weights, moved))
        assert there.counts.effective_n == pytest.approx(anywhere.counts.effective_n)
        # Cuts of the windows are those where the heavy weights are.
        heaviest = [
            one._window_cuts(np.array([20.0]), 1.0, 0.95, together=False)[0]
            for one in (there, anywhere)
        ]
        ratios.append(heaviest[0] / heaviest[1])
    assert np.mean(ratios) > 1.5


def test_more_respondents_take_more_bins():
    laws = [SquareWave(lattice(256), epsilon=epsilon).law for epsilon in (1.0, 4.0)]
    found = [[profile.bins_for(law, n) for n in (1, 500, 2e4, 1e6, 1e12)] for law in laws]
    assert found[0] == [64, 64, 64, 160, 160]
    assert found[1][0] == 64 < found[1][1] < found[1][2] == 128
    mechanism = SquareWave(lattice(256), epsilon=2.0)
    chances = mechanism.law.forward(np.diff(stats.beta(2, 5).cdf(mechanism.lattice.edges)))
    few, many = (Profile(mechanism.law, bins=bins) for bins in (96, 320))
    widths = [
        np.diff(
            intervals.quantile_ends(
                profile, profile.bin(1e8 * chances)[None], np.array([0.5]), one(5.0)
            ),
            axis=0,
        )
        for profile in (few, many)
    ]
    assert widths[1] < widths[0] / 5


@pytest.mark.parametrize(
    "mechanism",
    [
        TwoSidedGamma(lattice(32), shape=0.8, scale=0.1),
        Laplace(lattice(32, low=1.0, high=1000.0, scale="log"), epsilon=3.0),
        SquareWave(lattice(2048), epsilon=4.0),
    ],
    ids=["gamma", "log", "joined"],
)
def test_every_law_will_do(mechanism, light):
    axis = mechanism.lattice
    values = axis.low + (axis.high - axis.low) * np.random.default_rng(1).beta(2, 5, 3000)
    answer = Intervals(Counts.of(mechanism.simulate(values, seed=1)))
    middle = np.median(values)
    low, high = answer.quantile(0.5)
    assert axis.low <= low < middle < high <= axis.high
    low, high = answer.cdf(middle)
    assert 0 <= low < 0.5 < high <= 1
    low, high = answer.mean()
    assert low < values.mean() < high


def test_values_noised_elsewhere(light):
    generator = np.random.default_rng(3)
    values = generator.beta(2, 5, 3000)
    noised = values + generator.normal(0, 0.1, 3000)
    counts = Counts.of_noised(noised, noise=Gaussian(scale=0.1), low=0, high=1, size=32)
    low, high = Intervals(counts).quantile(0.5)
    assert low < np.median(values) < high


def test_cuts_are_measured():
    # Laplace noise at epsilon 1 leaves the likelihood far less to choose from than a chi-square.
    def cut(n):
        answer = Intervals(counted(Laplace(lattice(32), epsilon=1.0), n))
        return answer.tests.calibration.cuts(np.array([9.0]), 0.95)[0] / 3.84

    assert 0.2 < cut(2000) < 0.8
    assert cut(2000) == cut(2000)
    assert cut(20) >= 1.5


def test_band_is_of_shares_of_windows(light):
    counts = counted(SquareWave(lattice(64), epsilon=3.0), 20_000)
    answer = Intervals(counts)
    low, high = answer.pdf([-0.5, 0.0, 0.3, 1.0, 1.5])
    assert (low[[0, 4]] == 0).all()
    assert (high[[0, 4]] == 0).all()
    assert (low <= high).all()
    # The window is moved inside the range at its ends, and the mean density is 16 times its share.
    assert answer.pdf(0.0) == pytest.approx(answer.pdf(1 / 32), rel=1e-6)
    profile = answer._windows.profile
    part = profile.below(np.array([(0.3 + 1 / 32) * 64])) - profile.below(
        np.array([(0.3 - 1 / 32) * 64])
    )
    cut = answer._window_cuts(np.array([0.3 * 64]), 2.0, 0.95, together=False)[0]
    ends = intervals.share_ends(profile, profile.bin(counts.total)[None], part, np.array([cut]))
    assert low[2] == pytest.approx(16 * ends[0][0], rel=1e-4)
    assert high[2] == pytest.approx(16 * ends[1][0], rel=1e-4)


def test_windows_of_the_band_are_equal_in_the_logarithm(light):
    axis = lattice(64, low=1.0, high=2.0**16, scale="log")
    values = 2.0 ** np.random.default_rng(1).uniform(0, 16, 20_000)
    answer = Intervals(Counts.of(SquareWave(axis, epsilon=8.0).simulate(values, seed=1)))
    centers = 2.0 ** np.array([2.5, 8.5, 13.5])
    low, high = answer.pdf(centers)
    # Each window is one octave, of share 1/16.
    width = centers * (np.sqrt(2) - np.sqrt(0.5))
    np.testing.assert_allclose(low * width, 1 / 16, rtol=0.35)
    np.testing.assert_allclose(high * width, 1 / 16, rtol=0.35)
    assert np.all((low * width < 1 / 16) & (high * width > 1 / 16))


def test_refusals():
    answer = Intervals(counted(Laplace(lattice(), epsilon=2.0)))
    with pytest.raises(InvalidInput, match="0 < level < 1"):
        answer.cdf(0.5, level=95)
    with pytest.raises(InvalidInput, match="0 <= q <= 1"):
        answer.quantile(1.5)
    with pytest.raises(InvalidInput, match="nan"):
        answer.cdf(float("nan"))
    with pytest.raises(InvalidInput, match="nan"):
        answer.pdf(float("nan"))
    words = RandomizedResponse(["a", "b"], epsilon=1.0)
    with pytest.raises(InvalidInput, match="CategoryShares"):
        Intervals(Counts.of(words.simulate(["a"], seed=1)))
    both = Joint({"x": Laplace(lattice(), epsilon=1.0), "y": Laplace(lattice(), epsilon=1.0)})
    with pytest.raises(InvalidInput, match="marginal"):
        Intervals(Counts(both, np.zeros((16, 16), dtype=np.int64)))


def test_margins_that_explain_the_answers_narrow_the_intervals_of_all(light):
    mechanism, word = (
        SquareWave(lattice(256), epsilon=6.0),
        RandomizedResponse(["a", "b"], epsilon=6.0),
    )
    draw = np.random.default_rng(1)
    values = {"low": draw.beta(8, 24, 1500), "high": draw.beta(24, 8, 500)}
    numbers = {key: Counts.of(mechanism.simulate(own, seed=1)) for key, own in values.items()}
    words = {
        key: Counts.of(word.simulate(np.where(own < 0.5, "a", "b"), seed=2))
        for key, own in values.items()
    }
    margins = {"level": {"low": 0.5, "high": 0.5}}
    number, said = (Groups(("level",), each).rake(margins).total() for each in (numbers, words))
    forgotten, unsaid = (replace(each, raked=None) for each in (number, said))
    some = Intervals(number), Intervals(forgotten)
    # Of who is below the lower quartile the margin tells less than of who is below the middle.
    for ask, ratio in (
        (lambda a: a.mean(), 0.8),
        (lambda a: a.cdf(0.5), 0.9),
        # Ends of quantiles are edges of cells, which may be the same.
        (lambda a: a.quantile(0.25), 1.0),
    ):
        known, unknown = (np.diff(ask(each)) for each in some)
        assert known <= ratio * unknown
    one, two = (CategoryShares().fit(each).interval("a") for each in (said, unsaid))
    assert np.diff(one) < 0.5 * np.diff(two)
