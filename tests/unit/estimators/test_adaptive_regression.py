"""The default regression: what it chooses, against dense algebra, its bands and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave
from confide.curves import CategoryMeans
from confide.errors import InvalidInput
from confide.estimators import AdaptiveRegression, RatioRegression
from confide.estimators.log_density import BROAD, basis
from confide.estimators.mean_priors import (
    ORDERS,
    POLYNOMIALS,
    SCALES,
    Behind,
    candidates,
    moments,
    rougher,
    weights,
)
from confide.summaries import Counts

UNIT = Lattice(low=0, high=1, size=64)
GRID = np.linspace(0.05, 0.95, 19)


def counted(truth, *, n=20_000, sd=0.5, epsilon=2.0, mechanism=SquareWave, seed=1, size=64):
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 2, n)
    y = truth(x) + rng.normal(0, sd, n)
    lattice = Lattice(low=0, high=1, size=size)
    reports = mechanism(lattice, epsilon=epsilon).simulate(x, seed=seed)
    return Counts.of(reports, response=y)


def behind(cells=12, reports=20, seed=1):
    rng = np.random.default_rng(seed)
    law = rng.random((reports, cells))
    law /= law.sum(axis=0)
    n = rng.integers(1, 50, reports).astype(float)
    sums = n * rng.normal(3, 1, reports)
    squares = sums**2 / n + n * 0.7
    return law, rng.dirichlet(np.ones(cells)), np.stack([n, sums, squares])


def test_candidates_against_dense_normal_laws():
    """Evidence and posterior mean from the covariance of the responses, written out."""
    one = Behind.of(*behind())
    found = candidates(one)
    for order, tau in ((1, 0.0), (2, float(SCALES[2][3])), (3, float(SCALES[3][5]))):
        directions = basis(12, order, 60).columns
        free = np.hstack([np.ones((12, 1)), directions[:, : order - 1] / BROAD])
        columns = one.deviation * np.hstack([free, tau * directions[:, order - 1 :]])
        prior = columns @ columns.T
        noise = np.diag(one.variances / one.n)
        total = one.mixture @ prior @ one.mixture.T + noise
        rest = one.means - one.mean
        mean = one.mean + prior @ one.mixture.T @ np.linalg.solve(total, rest)
        names = {f"order {order}", {1: "constant", 2: "line", 3: "parabola"}[order]}
        own = [each for each in found if each.name in names]
        (this,) = [each for each in own if each.tau == tau]
        np.testing.assert_allclose(this.values, mean, rtol=1e-6)
        spread = prior - prior @ one.mixture.T @ np.linalg.solve(total, one.mixture @ prior)
        np.testing.assert_allclose(this.half @ this.half.T, spread, atol=1e-8)
        other = own[0]
        if tau:
            # Differences of evidence but for the priors of tau, against the laws themselves.
            flat = one.deviation**2 * free @ free.T
            laws = [
                stats.multivariate_normal(cov=one.mixture @ each @ one.mixture.T + noise)
                for each in (prior, flat)
            ]
            expected = laws[0].logpdf(rest) - laws[1].logpdf(rest)
            grid = SCALES[order]
            middle, sd = {2: (np.log(8), 1.0), 3: (np.log(40), 1.3)}[order]
            step = np.log(grid[1] / grid[0])
            expected += np.log(step) + stats.norm(middle, sd).logpdf(np.log(tau))
            expected += ORDERS[order][0] - POLYNOMIALS[order][1]
            assert this.evidence - other.evidence == pytest.approx(expected, abs=1e-6)


def test_lines_of_every_steepness_against_dense_normal_laws():
    one = Behind.of(*behind())
    lines = [each for each in candidates(one) if each.name == "line"]
    x = (2 * np.arange(12) + 1) / 12 - 1
    rest, noise = one.means - one.mean, np.diag(one.variances / one.n)
    logs = []
    for line, slope in zip(lines, POLYNOMIALS[2][2], strict=True):
        columns = one.deviation * np.stack([np.ones(12), slope * x], axis=1)
        prior = columns @ columns.T
        total = one.mixture @ prior @ one.mixture.T + noise
        expected = one.mean + prior @ one.mixture.T @ np.linalg.solve(total, rest)
        np.testing.assert_allclose(line.values, expected, rtol=1e-6)
        logs.append(stats.multivariate_normal(cov=total).logpdf(rest))
    differences = np.diff([line.evidence for line in lines])
    np.testing.assert_allclose(differences, np.diff(logs), atol=1e-6)


def test_moments_are_those_of_a_mixture():
    found = candidates(Behind.of(*behind()))
    chances = weights(found)
    middle, variance = moments(found, chances)
    rng = np.random.default_rng(1)
    draws = np.stack(
        [
            found[at].values + found[at].half @ rng.standard_normal(found[at].half.shape[1])
            for at in rng.choice(chances.size, 20_000, p=chances)
        ]
    )
    np.testing.assert_allclose(draws.mean(axis=0), middle, atol=5 * np.sqrt(variance.max() / 2e4))
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.1)


def test_rougher_keeps_the_total_and_moves_up():
    found = candidates(Behind.of(*behind()))
    chances = weights(found)
    moved = rougher(found, chances, 1)
    assert moved.sum() == pytest.approx(1)
    np.testing.assert_array_equal(rougher(found, chances, 0), chances)
    assert moved @ [one.tau for one in found] > chances @ [one.tau for one in found]


@pytest.mark.parametrize(
    ("truth", "kinds"),
    [
        (lambda x: 0 * x, ["constant", "line"]),
        (lambda x: 2 * x, ["line", "parabola", "order 2"]),
        (lambda x: np.where(x < 0.4, 0.0, 3.0), ["order 1"]),
        (lambda x: np.sin(7 * x), ["order 2", "order 3"]),
    ],
)
def test_weights_say_what_the_responses_ask_for(truth, kinds):
    curve = AdaptiveRegression().fit(counted(truth, epsilon=4.0))
    told = curve.facts["weights"]
    assert sum(told.values()) == pytest.approx(1)
    assert sum(told[kind] for kind in kinds) > 0.8
    assert curve.facts["method"] == "adaptive"


def test_a_logistic_curve_for_zeros_and_ones():
    rng = np.random.default_rng(1)
    x = rng.beta(2, 2, 40_000)
    truth = 1 / (1 + np.exp(-12 * (x - 0.6)))
    reports = SquareWave(UNIT, epsilon=3.0).simulate(x, seed=1)
    curve = AdaptiveRegression().fit(
        Counts.of(reports, response=(rng.random(x.size) < truth) * 1.0)
    )
    assert curve.facts["weights"]["logistic"] > 0.5
    assert np.abs(curve.predict(GRID) - 1 / (1 + np.exp(-12 * (GRID - 0.6)))).max() < 0.05


def test_little_to_see_is_nearly_a_constant():
    counts = counted(lambda x: 0 * x, n=10_000, sd=1.0)
    now, before = (
        np.mean(kind.fit(counts).predict(GRID) ** 2)
        for kind in (AdaptiveRegression(), RatioRegression())
    )
    assert now < 0.35 * before


def test_a_curve_whose_values_are_in_doubt_is_mostly_the_ratios():
    counts = counted(lambda x: 2 * x, n=20_000, sd=0.1, epsilon=0.5, mechanism=Laplace)
    curve = AdaptiveRegression().fit(counts)
    share = curve.facts["weights"]["ratio"]
    doubt = curve.facts["doubt"]
    assert 0.5 < share <= doubt**4 / (doubt**4 + 0.1**4)
    low, high = curve.interval(GRID)
    assert np.all((low <= curve.predict(GRID)) & (curve.predict(GRID) <= high))


def test_a_curve_that_is_hardly_seen_is_not_the_ratios():
    """However much the spread of the values is in doubt."""
    counts = counted(lambda x: 0 * x, n=10_000, sd=1.0, epsilon=0.5, mechanism=Laplace)
    curve = AdaptiveRegression().fit(counts)
    assert curve.facts["doubt"] > 0.2
    assert curve.facts["weights"].get("ratio", 0.0) < 0.1


@pytest.mark.parametrize(("epsilon", "size"), [(4.0, 64), (4.0, 256)])
def test_bands_hold_both_sides_of_a_jump(epsilon, size):
    def truth(x):
        return np.where(x < 0.4, 0.0, 3.0)

    x = np.linspace(0.2, 0.7, 51)
    for seed in range(3):
        curve = AdaptiveRegression().fit(counted(truth, epsilon=epsilon, seed=seed, size=size))
        assert curve.facts["jumps"]
        low, high = curve.interval(x)
        near = np.abs(x - 0.4) < 0.02
        assert np.all((low[near] <= truth(x)[near]) & (truth(x)[near] <= high[near]))
        assert np.all((low <= curve.predict(x)) & (curve.predict(x) <= high))
        assert 0.01 < curve.facts["resolution"] < 0.3


def test_bands_hold_a_smooth_truth_as_often_as_they_say():
    inside = []
    for seed in range(12):
        curve = AdaptiveRegression().fit(counted(lambda x: np.sin(6 * x), seed=seed))
        low, high = curve.interval(GRID)
        inside.append((low <= np.sin(6 * GRID)) & (np.sin(6 * GRID) <= high))
    assert 0.9 < np.mean(inside) <= 1.0


def test_it_depends_on_the_summary_alone():
    counts = counted(np.sin, n=3_000)
    one, two = (AdaptiveRegression().fit(counts) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.interval(GRID), two.interval(GRID))


def test_units_do_not_matter():
    rng = np.random.default_rng(3)
    x = rng.beta(2, 2, 5_000)
    y = np.sin(6 * x) + rng.normal(0, 0.4, x.size)
    curves = []
    for scale, shift in ((1.0, 0.0), (250.0, -40.0)):
        lattice = Lattice(low=shift, high=shift + scale, size=64)
        reports = SquareWave(lattice, epsilon=2.0).simulate(shift + scale * x, seed=1)
        counts = Counts.of(reports, response=1_000 * y if shift else y)
        curve = AdaptiveRegression().fit(counts)
        values = [curve.predict(shift + scale * GRID), *curve.interval(shift + scale * GRID)]
        curves.append(np.array(values) / (1_000 if shift else 1))
    np.testing.assert_allclose(curves[0], curves[1], atol=2e-3)


def test_private_responses_are_the_ratios():
    x = np.random.default_rng(2).beta(2, 2, 1_000)
    part = SquareWave(UNIT, epsilon=2.0)
    counts = Counts.of(Joint({"x": part, "y": part}).simulate({"x": x, "y": x}, seed=1))
    curve = AdaptiveRegression(response="y").fit(counts)
    assert (curve.facts["method"], curve.facts["response"]) == ("ratio", "private")
    np.testing.assert_array_equal(curve.values, RatioRegression(response="y").fit(counts).values)


def test_categories_and_two_covariates_are_the_ratios():
    rng = np.random.default_rng(2)
    words = np.where(rng.random(500) < 0.5, "a", "b")
    counts = Counts.of(
        RandomizedResponse(["a", "b"], epsilon=2.0).simulate(words, seed=1),
        response=rng.random(500),
    )
    assert isinstance(AdaptiveRegression().fit(counts), CategoryMeans)
    x = rng.random((500, 2))
    part = SquareWave(UNIT, epsilon=2.0)
    reports = Joint({"a": part, "b": part}).simulate({"a": x[:, 0], "b": x[:, 1]}, seed=1)
    assert AdaptiveRegression().fit(Counts.of(reports, response=x[:, 0])).facts["method"] == "ratio"


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_respondents_give_finite_curves(n):
    rng = np.random.default_rng(1)
    reports = Laplace(UNIT, epsilon=1.0).simulate(rng.random(n), seed=11)
    curve = AdaptiveRegression().fit(
        Counts.of(reports, response=rng.normal(size=n), bounds=(-9, 9))
    )
    assert np.isfinite(curve.values).all()
    assert np.isfinite(curve.interval([0.0, 0.5, 1.0])).all()


def test_a_response_that_never_varies():
    reports = SquareWave(UNIT, epsilon=1.0).simulate(np.full(100, 0.3), seed=1)
    curve = AdaptiveRegression().fit(Counts.of(reports, response=np.full(100, 4.0)))
    np.testing.assert_allclose(curve.predict([0.1, 0.9]), 4.0)
    at_a_bound = Counts.of(reports, response=np.full(100, 1.0), bounds=(0, 1))
    np.testing.assert_allclose(AdaptiveRegression().fit(at_a_bound).predict([0.1, 0.9]), 1.0)


def test_what_it_refuses():
    with pytest.raises(InvalidInput, match="name of a question"):
        AdaptiveRegression(response=3)  # type: ignore[arg-type]
    reports = SquareWave(UNIT, epsilon=1.0).simulate([0.1, 0.2], seed=1)
    with pytest.raises(InvalidInput, match="counts with a response"):
        AdaptiveRegression().fit(Counts.of(reports))
    with pytest.raises(InvalidInput, match="counts"):
        AdaptiveRegression().fit([1, 2])  # type: ignore[arg-type]
