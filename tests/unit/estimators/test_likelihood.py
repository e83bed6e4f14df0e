"""Fast fits against plain iterations with a dense matrix, and what fits promise."""

from __future__ import annotations

from itertools import pairwise
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from confide.errors import InvalidInput
from confide.estimators import likelihood
from confide.estimators.em import coarse_edges, coarsen, em, log_likelihood, one_thread, smooth
from confide.estimators.likelihood import Likelihood, choose_smoothing
from confide.estimators.profile import maximize
from confide.foreign import noise_laws as noise
from confide.lattice import Lattice
from confide.mechanisms import Joint, Laplace, RandomizedResponse, SquareWave
from confide.summaries import Counts

SMALL = Lattice(low=0, high=1, size=24)
KINDS = [SquareWave(SMALL, epsilon=1.0), Laplace(SMALL, epsilon=3.0)]


def drawn(mechanism, n=20_000, seed=1):
    """Counts of n reports of values from Beta(2, 5)."""
    values = np.random.default_rng(seed).beta(2, 5, n)
    return Counts.of(mechanism.simulate(values, seed=seed))


def plain_em(matrix, counts, smoothing, iterations):
    """Richardson-Lucy as printed, the smoothing as a matrix."""
    size = matrix.shape[1]
    f = np.full(size, 1 / size)
    smoother = (np.eye(size, k=1) + 2 * np.eye(size) + np.eye(size, k=-1)) / 4
    smoother[0, 0] = smoother[-1, -1] = 3 / 4
    for _ in range(iterations):
        f = f * (matrix.T @ (counts / (matrix @ f))) / counts.sum()
        f = (1 - smoothing) * f + smoothing * smoother @ f
    return f


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.name)
def test_likelihood_is_at_least_that_of_20_000_plain_steps(mechanism):
    counts = drawn(mechanism).counts.astype(float)
    oracle = plain_em(mechanism.law.matrix(), counts, 0.0, 20_000)
    fast = em(mechanism.law, counts, tolerance=1e-9)
    difference = log_likelihood(mechanism.law, counts, fast) - log_likelihood(
        mechanism.law, counts, oracle
    )
    assert difference > -1e-4  # of a statistic whose noise is about 1
    # Kuhn and Tucker: no cell's ratio is above one, so nothing can be gained by moving mass.
    ratio = mechanism.law.adjoint(counts / mechanism.law.forward(fast)) / counts.sum()
    assert counts.sum() * (ratio.max() - 1) < 0.05


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.name)
@pytest.mark.parametrize("smoothing", [0.02, 0.3, 1.0])
def test_smoothed_fit_is_the_fixed_point_of_plain_steps(mechanism, smoothing):
    counts = drawn(mechanism).counts.astype(float)
    oracle = plain_em(mechanism.law.matrix(), counts, smoothing, 20_000)
    fast = em(mechanism.law, counts, smoothing=smoothing, tolerance=1e-14)
    np.testing.assert_allclose(fast, oracle, atol=1e-7)


def test_likelihood_never_falls_with_more_steps():
    mechanism = KINDS[0]
    counts = drawn(mechanism, n=500).counts.astype(float)
    fits = [em(mechanism.law, counts, tolerance=0, iterations=k) for k in range(0, 200, 7)]
    values = [float(log_likelihood(mechanism.law, counts, fit)) for fit in fits]
    assert all(after >= before - 1e-9 for before, after in pairwise(values))


def test_a_batch_is_a_loop():
    mechanism = KINDS[1]
    counts = np.stack([drawn(mechanism, seed=seed).counts for seed in range(3)]).astype(float)
    smoothing = np.array([0.05, 0.4, 1.0])
    whole = em(mechanism.law, counts[:, None], smoothing=np.tile(smoothing, (3, 1)), tolerance=1e-9)
    assert whole.shape == (3, 3, 24)
    for row, given_counts in zip(whole, counts, strict=True):
        for fit, s in zip(row, smoothing, strict=True):
            alone = em(mechanism.law, given_counts, smoothing=s, tolerance=1e-9)
            np.testing.assert_allclose(fit, alone, atol=1e-5)


def test_projection_holds_and_is_the_constrained_maximum():
    """Cells below the 8th sum to c: the same as plain steps with a rescaling after each."""
    mechanism = KINDS[0]
    counts = drawn(mechanism, n=2000).counts.astype(float)
    below, matrix = 8, mechanism.law.matrix()
    shares = np.array([0.3, 0.5, 0.7])

    def project(masses, rows):
        left, right = masses[:, :below], masses[:, below:]
        left = left / left.sum(axis=1, keepdims=True) * shares[rows, None]
        right = right / right.sum(axis=1, keepdims=True) * (1 - shares[rows, None])
        return np.concatenate([left, right], axis=1)

    batch = np.broadcast_to(counts, (3, counts.size))
    fits = em(mechanism.law, batch, project=project, tolerance=1e-9)
    np.testing.assert_allclose(fits[:, :below].sum(axis=1), shares, atol=1e-12)
    for fit, c in zip(fits, shares, strict=True):
        f = np.full(24, 1 / 24)
        for _ in range(5000):
            f = f * (matrix.T @ (counts / (matrix @ f)))
            f[:below] *= c / f[:below].sum()
            f[below:] *= (1 - c) / f[below:].sum()
        reached, oracle = (log_likelihood(mechanism.law, counts, g) for g in (fit, f))
        assert reached > oracle - 1e-3


def test_smoothing_is_1_2_1_with_reflecting_ends():
    f = np.array([[0.1, 0.2, 0.3, 0.4]])
    expected = [[0.125, 0.2, 0.3, 0.375]]
    np.testing.assert_allclose(smooth(f, np.array([1.0]), 1), expected)
    square = np.random.default_rng(1).random((1, 3, 5))
    once = smooth(square, np.array([0.5]), 2)
    np.testing.assert_allclose(
        np.swapaxes(once, 1, 2), smooth(np.swapaxes(square, 1, 2), np.array([0.5]), 2)
    )
    np.testing.assert_allclose(once.sum(), square.sum())


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.name)
@pytest.mark.parametrize("size", [5, 6])
def test_coarse_law_is_the_law_of_evenly_spread_cells(mechanism, size):
    law, counts = mechanism.law, drawn(mechanism).counts.astype(float)
    coarse, binned = coarsen(law, counts, [size])
    bins = np.linspace(0, law.outputs[0], coarse.outputs[0], endpoint=False).round().astype(int)
    # Each of 24 cells in 120 equal parts, which 5 and 6 coarse cells share out evenly.
    fine = np.repeat(np.add.reduceat(law.matrix(), bins, axis=0), 120, axis=1)
    expected = fine.reshape(len(bins), size, -1).mean(axis=2)
    np.testing.assert_allclose(coarse.forward(np.eye(size)).T, expected, atol=1e-14)
    np.testing.assert_allclose(coarse.adjoint(np.eye(coarse.outputs[0])), expected, atol=1e-14)
    np.testing.assert_array_equal(binned, np.add.reduceat(counts, bins))


def test_solvers_stay_on_one_thread():
    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        assert set(one_thread(threads)()) == {1}
        assert threads() == before
        with pytest.raises(ZeroDivisionError):
            one_thread(lambda: 1 / 0)()
        assert threads() == before
        # Several at a time: the last one out puts back what the first one found.
        meet = Barrier(3)
        crew = [Thread(target=one_thread(meet.wait)) for _ in range(3)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        assert threads() == before
    assert all(hasattr(solve, "__wrapped__") for solve in (em, maximize))


@pytest.mark.parametrize("size", [257, 331, 1013])
def test_no_spike_on_lattices_that_nothing_divides(size):
    # A short last cell once took its neighbour's mass and made the density jump.
    mechanism = SquareWave(Lattice(low=0, high=1, size=size), epsilon=4.0)
    values = np.random.default_rng(1).random(100_000)
    density = Likelihood().fit(Counts.of(mechanism.simulate(values, seed=1)))
    assert np.ptp(np.diff(density.edges[0])) < 1e-12
    assert density.pdf(0.999) < 1.25


def every_candidate(law, counts, typical):
    """The best of all candidates, each fitted: the search's oracle."""
    candidates = np.unique(np.minimum(typical * 4.0**likelihood.STEPS, 1.0))
    whole = counts.astype(np.int64)
    thinned = np.random.default_rng(likelihood.SEED).multinomial(whole, [1 / 5] * 5).T
    scores = -((np.log(candidates / typical) / np.log(4)) ** 2) / 2
    for at, smoothing in enumerate(candidates):
        for held in thinned:
            fit = em(law, counts - held, smoothing=smoothing, tolerance=1e-4, iterations=400)
            scores[at] += held @ np.log(law.forward(fit))
    return candidates, scores


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("typical", "steps"),
    [
        (0.125, {"square-wave": -1, "laplace": 0}),
        (1 / 2000, {"square-wave": 1, "laplace": 0}),
        (0.9, {"square-wave": -2, "laplace": -2}),
    ],
)
def test_smoothing_is_the_best_of_all_candidates(mechanism, typical, steps):
    counts = drawn(mechanism).counts.astype(float)
    candidates, scores = every_candidate(mechanism.law, counts, typical)
    (chosen,) = choose_smoothing(mechanism.law, counts[None], typical)
    assert chosen == candidates[scores.argmax()]
    assert chosen == pytest.approx(typical * 4.0 ** steps[mechanism.name])


@pytest.mark.parametrize(
    "mechanism",
    [
        *KINDS,
        SquareWave(Lattice(low=0, high=1, size=200), epsilon=2.0, prefer_not_to_say=True),
        SquareWave(Lattice(low=0, high=60, kind="integer"), epsilon=2.0),
    ],
    ids=["square-wave", "laplace", "declining", "integer"],
)
def test_several_are_fitted_as_each_alone(mechanism):
    generator = np.random.default_rng(2)
    shares = mechanism.law.forward(generator.dirichlet(np.ones(mechanism.law.inputs[0])))
    # More than are fitted at a time, of two sizes, in no order.
    sizes = [900, 3000, 900, 3000, *[900] * likelihood.TOGETHER]
    several = [
        Counts(mechanism, generator.multinomial(n, shares / shares.sum()), simulated=True)
        for n in sizes
    ]
    found = Likelihood().fit_several(several)
    assert [curve.facts["n"] for curve in found] == sizes
    for counts, curve in zip(several, found, strict=True):
        alone = Likelihood().fit(counts)
        assert curve.facts == alone.facts
        np.testing.assert_allclose(curve.masses, alone.masses, rtol=1e-5, atol=1e-9)
        assert curve.declined == alone.declined
    with pytest.raises(InvalidInput, match="one mechanism"):
        Likelihood().fit_several([several[0], drawn(SquareWave(SMALL, epsilon=3.0))])


def test_coarse_edges_follow_the_lattice():
    log = Lattice(low=1, high=1000, size=7, scale="log")
    np.testing.assert_allclose(coarse_edges(log, 3), [1, 10, 100, 1000])
    assert coarse_edges(log, 7) is log.edges


def test_fit_is_repeatable_and_names_what_it_did():
    counts = drawn(SquareWave(Lattice(low=0, high=10), epsilon=1.0), n=5000)
    one, two = Likelihood().fit(counts), Likelihood().fit(counts)
    np.testing.assert_array_equal(one.masses, two.masses)
    assert one.edges[0][[0, -1]].tolist() == [0, 10]
    assert 0 < one.smoothing <= 1
    assert one.facts["n"] == 5000
    assert one.facts["method"] == "likelihood"
    fixed = Likelihood(smoothing=one.smoothing).fit(counts)
    np.testing.assert_array_equal(one.masses, fixed.masses)


def test_given_size_is_kept():
    counts = drawn(SquareWave(Lattice(low=0, high=1, size=128), epsilon=1.0))
    assert Likelihood(size=32, smoothing=0.5).fit(counts).masses.shape == (32,)
    assert Likelihood(size=128, smoothing=0.5).fit(counts).masses.shape == (128,)
    assert Likelihood(size=60, smoothing=0.5).fit(counts).masses.shape == (60,)
    assert Likelihood(size=999, smoothing=0.5).fit(counts).masses.shape == (128,)


def test_a_coarse_fit_is_near_the_fine_one():
    """What smoothing does depends on smoothing / size**2."""
    counts = drawn(SquareWave(Lattice(low=0, high=1, size=512), epsilon=2.0), n=100_000)
    fine = Likelihood(size=512, smoothing=0.64).fit(counts)
    coarse = Likelihood(size=64, smoothing=0.01).fit(counts)
    x = np.linspace(0, 1, 65)
    assert np.abs(fine.cdf(x) - coarse.cdf(x)).max() < 2e-3


def test_log_lattice_keeps_its_edges():
    lattice = Lattice(low=1, high=1000, size=64, scale="log")
    values = np.random.default_rng(1).lognormal(3, 0.7, 50_000)
    counts = Counts.of(SquareWave(lattice, epsilon=2.0).simulate(values, seed=1))
    density = Likelihood().fit(counts)
    assert density.quantile(0.5) == pytest.approx(np.exp(3), rel=0.05)


def test_weights_count_as_shares():
    mechanism = SquareWave(Lattice(low=0, high=1, size=64), epsilon=1.0)
    reports = mechanism.simulate(np.random.default_rng(1).beta(2, 5, 20_000), seed=1)
    plain = Likelihood().fit(Counts.of(reports))
    equal = Likelihood().fit(Counts.of(reports, weights=np.full(20_000, 3.7)))
    np.testing.assert_allclose(equal.masses, plain.masses, atol=1e-6)
    half = np.where(reports.indices < 40, 3.0, 1.0)
    weighted = Likelihood(smoothing=0.3).fit(Counts.of(reports, weights=half))
    assert weighted.mean() < plain.mean()
    scaled = Likelihood(smoothing=0.3).fit(Counts.of(reports, weights=1000 * half))
    np.testing.assert_allclose(scaled.masses, weighted.masses, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Expected reports")
@pytest.mark.parametrize("smoothing", ["auto", 0.0, 1.0])
@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.name)
@pytest.mark.parametrize("cell", [0, 7, -1])
def test_reports_all_in_one_cell(mechanism, smoothing, cell):
    for n in (1, 2, 1000):
        reports = np.zeros(mechanism.law.outputs, dtype=np.int64)
        reports[cell] = n
        density = Likelihood(smoothing=smoothing).fit(Counts(mechanism, reports))
        assert np.isfinite(density.masses).all()
        assert density.masses.min() >= 0
        assert density.masses.sum() == pytest.approx(1)


def test_no_reports_is_an_error():
    mechanism = KINDS[0]
    with pytest.raises(InvalidInput, match="Expected at least one report, got none"):
        Likelihood().fit(Counts(mechanism, np.zeros(mechanism.law.outputs, dtype=np.int64)))


def test_categories_go_elsewhere():
    with pytest.raises(InvalidInput, match="CategoryShares"):
        Likelihood().fit(Counts(RandomizedResponse(["a", "b"], epsilon=1.0), np.array([3, 4])))


@pytest.mark.parametrize(
    "arguments",
    [{"smoothing": -0.1}, {"smoothing": 2}, {"smoothing": "cv"}, {"size": 0}, {"size": "all"}],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InvalidInput):
        Likelihood(**arguments)


def test_two_columns():
    lattice = Lattice(low=0, high=1, size=128)
    part = SquareWave(lattice, epsilon=3.0)
    mechanism = Joint({"a": part, "b": part})
    generator = np.random.default_rng(1)
    a = generator.beta(2, 5, 40_000)
    b = np.clip(a + generator.normal(0.3, 0.1, a.size), 0, 1)
    counts = Counts.of(mechanism.simulate({"a": a, "b": b}, seed=1))
    density = Likelihood().fit(counts)
    assert density.names == ("a", "b")
    np.testing.assert_allclose(density.mean(), [a.mean(), b.mean()], atol=0.01)
    centers = [(edges[1:] + edges[:-1]) / 2 for edges in density.edges]
    first, second = (c - m for c, m in zip(centers, density.mean(), strict=True))
    covariance = first @ density.masses @ second
    assert covariance / np.prod(density.std()) == pytest.approx(np.corrcoef(a, b)[0, 1], abs=0.1)


def test_three_columns():
    part = Laplace(Lattice(low=0, high=1, size=8), epsilon=4.0)
    mechanism = Joint({"a": part, "b": part, "c": part})
    values = np.random.default_rng(1).random((3, 5000)) ** 2
    counts = Counts.of(mechanism.simulate(dict(zip("abc", values, strict=True)), seed=1))
    density = Likelihood().fit(counts)
    np.testing.assert_allclose(density.mean(), values.mean(axis=1), atol=0.04)


def test_values_noised_elsewhere():
    generator = np.random.default_rng(1)
    truth = generator.normal(5, 0.7, 50_000)
    counts = Counts.of_noised(
        truth + generator.laplace(0, 0.5, truth.size), noise=noise.Laplace(scale=0.5), low=2, high=8
    )
    density = Likelihood().fit(counts)
    assert density.mean() == pytest.approx(5, abs=0.02)
    assert density.std() == pytest.approx(0.7, abs=0.03)


@pytest.mark.filterwarnings("ignore:Expected reports")
@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10**9), min_size=12, max_size=12).filter(any),
    smoothing=st.one_of(st.floats(0, 1), st.just("auto")),
)
def test_any_counts_give_a_density(counts, smoothing):
    mechanism = Laplace(Lattice(low=-1, high=1, size=12), epsilon=2.0)
    density = Likelihood(smoothing=smoothing).fit(Counts(mechanism, np.array(counts)))
    assert density.masses.min() >= 0
    assert density.masses.sum() == pytest.approx(1)


def test_a_lattice_of_50_000_cells_costs_no_more_than_its_matrix():
    """A prime number of cells: the last coarse cell is narrower, and nothing else changes."""
    for size in (50_000, 50_021):
        counts = drawn(SquareWave(Lattice(low=0, high=1, size=size), epsilon=2.0), n=50_000)
        density = Likelihood().fit(counts)
        assert 50 < density.masses.size < 100
        assert density.edges[0][-1] == 1
        assert density.quantile(0.5) == pytest.approx(0.2645, abs=0.01)


def test_intervals_come_along():
    counts = drawn(KINDS[0], n=5000)
    density = Likelihood().fit(counts)
    low, high = density.interval("mean")
    assert low < 2 / 7 < high
    assert low < density.mean() < high


def test_ends_of_intervals_are_edges_of_the_given_cells():
    counts = drawn(SquareWave(Lattice(low=0, high=1, size=512), epsilon=4.0), n=100_000)
    for size in (512, 32):
        low, high = Likelihood(size=size, smoothing=0.1).fit(counts).interval("quantile", 0.5)
        assert (low * size, high * size) == pytest.approx((round(low * size), round(high * size)))
        assert low < 0.264 < high  # the median of Beta(2, 5)
