"""Estimates of questions that can be declined, and of whole numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide import Counts, Lattice, RandomizedResponse, SquareWave
from confide.curves import CellDensity, Proportions, difference
from confide.errors import InvalidInput, Unsupported
from confide.estimators import (
    CategoryShares,
    Deconvolution,
    KernelRegression,
    LinearRegression,
    LogisticRegression,
    RatioRegression,
)
from confide.estimators.declining import Answerers, cut
from confide.estimators.em import Reduced, coarsen, em
from confide.estimators.enough import needed
from confide.estimators.intervals import Intervals
from confide.estimators.likelihood import Likelihood
from confide.estimators.profile import Profile, maximize
from confide.mechanisms import Joint, Laplace
from confide.summaries.plausibility import possible

DAYS = Lattice(low=0, high=20, kind="integer")
ASKED = SquareWave(DAYS, epsilon=2.0, prefer_not_to_say=True)
WORDS = RandomizedResponse(["no", "yes", "often"], epsilon=1.5, prefer_not_to_say=True)
N, DECLINED = 40_000, 0.2


def population() -> np.ndarray:
    masses = np.exp(-np.arange(21) / 5.0)
    masses[7] += 0.5
    return masses / masses.sum()


def sample(seed: int = 1) -> Any:
    generator = np.random.default_rng(seed)
    days = generator.choice(21, size=N, p=population())
    return np.ma.array(days, mask=generator.random(N) < DECLINED)


@pytest.fixture(scope="module")
def counts() -> Counts:
    return Counts.of(ASKED.simulate(sample(), seed=3))


@pytest.fixture(scope="module")
def density(counts: Counts) -> CellDensity:
    return cf.density(counts)


def test_the_distribution_is_that_among_answerers(density: CellDensity) -> None:
    assert density.masses.sum() == pytest.approx(1)
    assert density.masses.shape == (21,)
    assert density.kinds == ("integer",)
    np.testing.assert_array_equal(density.edges[0], np.arange(22) - 0.5)
    mean = population() @ np.arange(21)
    assert abs(density.mean() - mean) < 0.4
    low, high = density.interval("mean")
    assert low < mean < high
    assert high - low < 1


def test_the_share_that_declined(density: CellDensity) -> None:
    assert density.declined == pytest.approx(DECLINED, abs=0.03)
    low, high = density.interval("declined")
    assert low < DECLINED < high
    assert low <= density.declined <= high
    assert density.interval("declined", level=0.5)[0] > low
    assert density.facts["n"] == N
    frame = density.to_frame().set_index("quantity")
    assert frame.loc["declined", "estimate"] == density.declined
    assert frame.loc["declined", "low"] == low
    assert f"declined={density.declined:.4g}" in repr(density)


def test_quantiles_are_whole_numbers(density: CellDensity) -> None:
    truth = population().cumsum()
    for q in (0.1, 0.5, 0.9):
        value = density.quantile(q)
        assert value == int(value)
        low, high = density.interval("quantile", q)
        assert (low, high) == (int(low), int(high))
        assert low <= np.searchsorted(truth, q) <= high
    assert density.quantile(0.0) >= 0
    assert density.quantile(1.0) <= 20
    assert density.cdf(20) == pytest.approx(1)
    assert density.cdf(3.7) == density.cdf(3)
    assert density.pdf(3.5) == 0
    assert density.cdf(-1) == 0


def test_synthetic_values_are_whole_numbers(density: CellDensity) -> None:
    values = density.sample(5000, seed=2)
    assert values.dtype.kind == "i"
    assert values.min() >= 0
    assert values.max() <= 20
    shares = np.bincount(values, minlength=21) / 5000
    np.testing.assert_allclose(shares, density.masses, atol=0.03)


def test_intervals_of_the_distribution_function(density: CellDensity) -> None:
    truth = population().cumsum()
    low, high = density.interval("cdf", [-0.5, 0, 7.9, 20])
    assert (low[0], high[0]) == (0, 0)
    assert low[1] < truth[0] < high[1]
    assert low[2] < truth[7] < high[2]
    assert (low[3], high[3]) == (1, 1)


def test_json_both_ways(density: CellDensity) -> None:
    again = CellDensity.from_dict(json.loads(json.dumps(density.to_dict())))
    assert again.declined == density.declined
    assert again.kinds == density.kinds
    assert again.median() == density.median()
    with pytest.raises(Unsupported):
        again.interval("declined")
    for key, wrong in (("declined", 1.5), ("declined", "x"), ("kinds", ["whole"]), ("kinds", [])):
        with pytest.raises(InvalidInput):
            CellDensity.from_dict({**density.to_dict(), key: wrong})
    with pytest.raises(InvalidInput, match="halfway"):
        CellDensity.from_dict({**density.to_dict(), "edges": [np.arange(22).tolist()]})


def test_curves_that_nobody_could_decline_say_so() -> None:
    counts = Counts.of(SquareWave(DAYS, epsilon=2.0).simulate(sample().data, seed=1))
    curve = cf.density(counts)
    assert curve.declined is None
    assert "declined" not in curve.to_dict()
    with pytest.raises(InvalidInput, match="could be declined"):
        curve.interval("declined")
    with pytest.raises(InvalidInput, match="could be declined"):
        Intervals(counts).declined()
    shares = CategoryShares().fit(
        Counts.of(RandomizedResponse(["no", "yes"], epsilon=1.0).simulate(["no", "yes"], seed=1))
    )
    with pytest.raises(InvalidInput, match="could be declined"):
        shares.interval("declined")


def test_coarse_cells_share_whole_numbers_out() -> None:
    # 300 people support about 13 cells; 101 whole numbers are told all the same.
    asked = SquareWave(Lattice(low=0, high=100, kind="integer"), epsilon=2.0)
    few = cf.density(Counts.of(asked.simulate(np.arange(300) % 101, seed=1)))
    assert few.masses.shape == (101,)
    assert few.masses.sum() == pytest.approx(1)
    large = SquareWave(Lattice(low=0, high=5000, kind="integer"), epsilon=4.0)
    values = np.random.default_rng(1).integers(0, 5001, 20_000)
    many = cf.density(Counts.of(large.simulate(values, seed=1)))
    assert many.masses.shape == (1001,)
    assert many.median() == int(many.median())
    low, high = many.interval("median")
    assert low < 2500 < high
    # All whole numbers of a cell are in the set, or none.
    assert low % 5 == 0
    assert high % 5 == 4 or high == 5000


def test_a_mean_of_whole_numbers_has_no_bias_of_half_a_cell() -> None:
    # Everybody says 3 of 0 .. 5: cells of a continuum would tell 3.0 +- half a cell.
    asked = SquareWave(Lattice(low=0, high=5, kind="integer"), epsilon=8.0)
    counts = Counts.of(asked.simulate([3] * 50_000, seed=1))
    low, high = Intervals(counts).mean()
    assert low < 3 < high
    assert high - low < 0.05
    assert cf.density(counts).mean() == pytest.approx(3, abs=0.05)
    scores = asked.unbiased(1)
    np.testing.assert_allclose(asked.law.adjoint(scores), np.arange(6), atol=1e-9)


def test_an_interval_stays_inside_the_bounds_of_whole_numbers() -> None:
    asked = SquareWave(Lattice(low=0, high=5, kind="integer"), epsilon=1.0)
    low, high = Intervals(Counts.of(asked.simulate([0] * 30, seed=2))).mean()
    assert 0 <= low <= high <= 5


@pytest.fixture(scope="module")
def shares() -> Proportions:
    answers = ["no"] * 12_000 + ["yes"] * 3000 + ["often"] * 1000 + [None] * 4000
    return CategoryShares().fit(Counts.of(WORDS.simulate(answers, seed=3)))


def test_shares_are_those_among_answerers(shares: Proportions) -> None:
    assert shares.shares.sum() == pytest.approx(1)
    assert shares.declined == pytest.approx(0.2, abs=0.02)
    for name, truth in (("no", 0.75), ("yes", 0.1875), ("often", 0.0625), ("declined", 0.2)):
        low, high = shares.interval(name)
        assert low < truth < high
        assert high - low < 0.1
    again = Proportions.from_dict(json.loads(json.dumps(shares.to_dict())))
    assert again.declined == shares.declined
    frame = shares.to_frame().set_index("category")
    assert frame.loc["declined", "estimate"] == shares.declined
    assert f"declined {shares.declined:.3f}" in repr(shares)
    assert set(shares.sample(200, seed=1)) <= {"no", "yes", "often"}


def test_differences_of_shares_that_declined(shares: Proportions, density: CellDensity) -> None:
    other = ["no"] * 10_000 + [None] * 10_000
    second = CategoryShares().fit(Counts.of(WORDS.simulate(other, seed=4)))
    found = difference(second, shares, "declined")
    assert found.low < 0.3 < found.high
    assert found.certain
    assert difference(density, density, "declined").value == 0
    with pytest.raises(InvalidInput, match="no place"):
        difference(second, shares, "declined", "no")


def test_all_and_nobody_declined() -> None:
    all_of_them = Counts.of(ASKED.simulate([None] * 400, seed=1))
    curve = cf.density(all_of_them)
    assert curve.interval("declined")[1] == 1
    assert curve.interval("mean") == (0, 20)
    assert np.isfinite(curve.masses).all()
    nobody = Counts.of(ASKED.simulate([3] * 400, seed=1))
    assert cf.density(nobody).interval("declined")[0] == 0
    words = CategoryShares().fit(Counts.of(WORDS.simulate([None] * 400, seed=1)))
    assert words.interval("declined")[1] == 1
    assert words.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_few_reports_leave_everything_open(n: int) -> None:
    curve = cf.density(Counts.of(ASKED.simulate([5] * n, seed=1)))
    low, high = curve.interval("mean")
    assert 0 <= low <= curve.mean() <= high <= 20
    low, high = curve.interval("declined")
    assert low == 0
    assert high > 0.3 / n


def test_weights_count(counts: Counts) -> None:
    values, n = sample(2), 4000
    part = np.ma.array(values.data[:n], mask=values.mask[:n])
    # Those who decline weigh ten times as much.
    weights = np.where(part.mask, 10.0, 1.0)
    heavy = Counts.of(ASKED.simulate(part, seed=2), weights=weights)
    curve = cf.density(heavy)
    share = weights[part.mask].sum() / weights.sum()
    low, high = curve.interval("declined")
    assert low < share < high
    plain = cf.density(Counts.of(ASKED.simulate(part, seed=2)))
    assert high - low > plain.interval("declined")[1] - plain.interval("declined")[0]
    low, high = curve.interval("mean")
    assert low < population() @ np.arange(21) < high


def test_scores_are_the_ones_of_the_mechanism(counts: Counts) -> None:
    np.testing.assert_allclose(Answerers(counts).answered, ASKED.unbiased(0), atol=1e-9)
    target = np.append(np.ones(21), 0.0)
    np.testing.assert_allclose(ASKED.law.adjoint(ASKED.unbiased(0)), target, atol=1e-9)


def test_fieller_is_the_inverse_of_a_test(counts: Counts) -> None:
    # Fieller (1954): at each end the mean of "quantity - t answered" is just significant.
    scores, answered = ASKED.unbiased(1), ASKED.unbiased(0)
    total, n = counts.total, counts.n
    low, high = Answerers(counts).ratios(scores, 0.95, (0.0, 20.0))
    for end in (float(low), float(high)):
        gap = scores - end * answered
        mean = gap @ total / n
        error = np.sqrt((total @ (gap - mean) ** 2) / (n * (n - 1)))
        assert abs(mean / error) == pytest.approx(stats.t.ppf(0.975, n - 1), rel=1e-6)


def test_intervals_beyond_a_bound_keep_their_reach() -> None:
    low, high = cut(np.array([-0.3, -0.2, 1.1, 0.4]), np.array([-0.1, 0.1, 1.3, 0.6]), (0.0, 1.0))
    np.testing.assert_allclose(low, [0, 0, 0.9, 0.4])
    np.testing.assert_allclose(high, [0.1, 0.1, 1, 0.6])
    # Everybody says no: no share is certain, whatever the noise did.
    missed = 0
    for seed in range(60):
        counts = Counts.of(WORDS.simulate(["no"] * 500 + [None] * 100, seed=seed))
        shares = CategoryShares().fit(counts)
        for name in ("no", "yes", "often", "declined"):
            low, high = shares.interval(name)
            assert high > low
        missed += shares.interval("no")[1] < 1
    assert missed <= 6


def test_bars_have_intervals_of_their_own(density: CellDensity) -> None:
    low, high = density.interval("pdf", [0, 7, 19])
    truth = population()[[0, 7, 19]]
    assert (low <= truth).all()
    assert (truth <= high).all()
    assert (low <= density.pdf([0, 7, 19]) + 0.02).all()


def test_reduced_laws_keep_those_who_declined_apart() -> None:
    asked = SquareWave(Lattice(low=0, high=1, size=64), epsilon=1.0, prefer_not_to_say=True)
    matrix = asked.law.matrix()
    reports = np.arange(matrix.shape[0], dtype=float)
    law, binned = coarsen(asked.law, reports, [16])
    assert isinstance(law, Reduced)
    (small,) = law.matrices
    assert small.shape[1] == 17
    np.testing.assert_allclose(small.sum(0), 1)
    assert binned[-1] == reports[-1]
    np.testing.assert_allclose(small[-1], matrix[-1, [*range(0, 64, 4), 64]])
    # The same by hand: four cells of 64 make one, and bins of two reports each.
    joined = matrix[:, :64].reshape(-1, 16, 4).mean(2)
    starts = np.searchsorted(np.cumsum(binned), binned[0])
    assert starts == 0
    profile = Profile(asked.law, nodes=16, bins=20)
    np.testing.assert_allclose(profile.law.sum(0), 1)
    np.testing.assert_allclose(profile.law[-1, :16], joined[-1], atol=1e-12)
    assert profile.size == 16


def test_smoothing_leaves_those_who_declined_alone() -> None:
    law = Reduced((np.eye(5),))
    counts = np.array([0.0, 0, 100, 0, 900])
    found = em(law, counts, smoothing=1.0, apart=1, iterations=3)
    assert found[-1] == pytest.approx(0.9, abs=1e-6)
    assert found[3] > 0.01


def test_the_density_is_the_likeliest_one() -> None:
    # Without smoothing, a slow oracle: the interior-point method on the whole law.
    asked = SquareWave(Lattice(low=0, high=7, kind="integer"), epsilon=3.0, prefer_not_to_say=True)
    values = [*np.repeat(np.arange(8), [900, 100, 400, 300, 500, 50, 200, 550]), *[None] * 1000]
    counts = Counts.of(asked.simulate(values, seed=1))
    curve = Likelihood(smoothing=0.0).fit(counts)
    masses, _ = maximize(asked.law.matrix(), (counts.total / counts.n)[None], gap=1e-9)
    found = masses[0]
    assert curve.declined == pytest.approx(found[-1], abs=0.01)
    np.testing.assert_allclose(curve.masses, found[:-1] / found[:-1].sum(), atol=0.02)


def test_plausible_counts(counts: Counts) -> None:
    assert possible(ASKED, counts.counts)
    raw = np.bincount(sample().data, minlength=ASKED.law.outputs[0])
    assert not possible(ASKED, raw)


def test_how_many_reports_are_needed() -> None:
    plain = SquareWave(DAYS, epsilon=1.0)
    offered = SquareWave(DAYS, epsilon=1.0, prefer_not_to_say=True)
    assert needed(plain) < needed(offered) < 3 * needed(plain)
    assert needed(WORDS) >= needed(RandomizedResponse(["no", "yes", "often"], epsilon=1.5))
    shifted = Lattice(low=1000, high=1020, kind="integer")
    moved = SquareWave(shifted, epsilon=1.0, prefer_not_to_say=True)
    assert needed(moved) == needed(offered)


@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), LogisticRegression(), RatioRegression(), KernelRegression()],
    ids=lambda one: type(one).__name__,
)
def test_regressions_refuse_what_can_be_declined(estimator: Any) -> None:
    response = np.arange(100) % 2
    reports = ASKED.simulate(sample()[:100], seed=1)
    with pytest.raises(Unsupported, match="prefer_not_to_say"):
        estimator.fit(Counts.of(reports, response=response))


def test_regressions_take_whole_numbers() -> None:
    generator = np.random.default_rng(1)
    x = generator.integers(0, 21, 20_000)
    counts = Counts.of(SquareWave(DAYS, epsilon=3.0).simulate(x, seed=1), response=1.0 + 2 * x)
    line = LinearRegression().fit(counts)
    assert abs(line.slope[0] - 2) < 4 * line.slope_error[0]
    curve = RatioRegression().fit(counts)
    assert abs(curve.predict([10.0])[0] - 21) < 3


def test_what_cannot_be_done_with_whole_numbers() -> None:
    counts = Counts.of(Laplace(DAYS, epsilon=4.0).simulate(sample().data, seed=1))
    with pytest.raises(Unsupported, match="whole numbers"):
        Deconvolution().fit(counts)
    with pytest.raises(Unsupported, match="prefer_not_to_say"):
        Joint({"a": ASKED, "b": WORDS})


def test_joint_whole_numbers() -> None:
    generator = np.random.default_rng(1)
    part = SquareWave(Lattice(low=0, high=40, kind="integer"), epsilon=4.0)
    other = SquareWave(Lattice(low=0, high=1, size=16), epsilon=4.0)
    values = {"days": generator.integers(0, 41, 3000), "pay": generator.random(3000)}
    curve = cf.density(Counts.of(Joint({"days": part, "pay": other}).simulate(values, seed=1)))
    assert curve.kinds == ("integer", "number")
    assert curve.masses.shape[0] == 41
    days = curve.marginal("days")
    assert days.kinds == ("integer",)
    assert days.median() == int(days.median())
    drawn = curve.sample(50, seed=1)
    assert (drawn[:, 0] == np.floor(drawn[:, 0])).all()
