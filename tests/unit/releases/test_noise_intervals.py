"""Intervals of released numbers, worked out a second time: from the law, not from the code."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from confide import Lattice
from confide.exact.integer_noise import DiscreteLaplace
from confide.lattice import MAX_SIZE
from confide.releases import Query
from confide.releases.noise_intervals import (
    mean_interval,
    rank_ends,
    reach,
    share_interval,
    variance_interval,
)
from confide.releases.query import FOURTH_CELLS, variance_cells

PAY = Lattice(low=100, high=300)
RISK_OF_SPREAD = 0.2
"""Part of the risk that goes to a noisy variance or fourth moment: 1 % of 5 %."""


def far(sd: float, scale: float, tail: float) -> float:
    """The point that normal plus Laplace noise exceeds with a probability, by quadrature."""

    def above(x: float) -> float:
        def normal_above(noise: float) -> float:
            return float(stats.laplace.pdf(noise, scale=scale) * stats.norm.sf(x - noise, scale=sd))

        ends = [-40 * scale, 40 * scale]
        kinks = sorted({0.0, *(min(max(x + at * sd, ends[0]), ends[1]) for at in (-6, 0, 6))})
        return float(integrate.quad(normal_above, *ends, points=kinks, limit=500)[0])

    return float(optimize.brentq(lambda x: above(x) - tail, 0, 40 * (sd + scale), xtol=1e-10))


@pytest.mark.parametrize(("sd", "scale"), [(1.0, 0.1), (0.2, 1.0), (0.5, 0.5)])
@pytest.mark.parametrize("tail", [0.25, 0.025, 1e-4])
def test_reach_is_where_the_two_noises_together_end(sd: float, scale: float, tail: float) -> None:
    assert reach(sd, scale, tail) == pytest.approx(far(sd, scale, tail), rel=1e-6)


def narrowed(
    estimate: float, spread: Callable[[float, float], float], scale: float, tail: float, top: float
) -> tuple[float, float]:
    """What is left after four cuts, each as wide as the truths left by the last one allow."""
    low, high = 0.0, top
    for _ in range(4):
        half = far(spread(low, high), scale, tail)
        low, high = max(low, estimate - half), min(high, estimate + half)
    return low, high


# Means.


@pytest.mark.parametrize("n", [2, 3, 60])
def test_the_interval_of_a_mean_with_a_released_variance(n: int) -> None:
    mean, variance, scales, level = 0.4, 0.001, (0.004, 2e-5), 0.9
    part = RISK_OF_SPREAD * (1 - level)
    tail = (1 - level - part) / 2
    # The sample's variance, unbiased, plus what its noise may have taken away.
    known = variance * n / (n - 1) - stats.laplace.ppf(part, scale=scales[1])
    factor = stats.t.isf(tail, n - 1) / stats.norm.isf(tail)

    def spread(low: float, high: float) -> float:
        worst = max(x * (1 - x) for x in np.linspace(low, high, 10_001))
        return math.sqrt(min(worst, known * factor**2) / n)

    expected = narrowed(mean, spread, scales[0], tail, 1.0)
    assert 0 < expected[0] < expected[1] < 1
    assert mean_interval(mean, variance, n, scales, level) == pytest.approx(expected, rel=1e-5)


def test_the_variance_of_one_record_is_worth_one_degree_of_freedom() -> None:
    # It has no variance of its own: what is known is the noise, and the factor is that of two.
    tail = 0.8 * 0.1 / 2
    known = -stats.laplace.ppf(0.02, scale=1e-4)
    factor = stats.t.isf(tail, 1) / stats.norm.isf(tail)
    half = far(math.sqrt(known) * factor, 0.001, tail)
    found = mean_interval(0.5, 0.0, 1, (0.001, 1e-4), 0.9)
    assert found == pytest.approx((0.5 - half, 0.5 + half), rel=1e-5)


def test_the_interval_of_a_mean_that_knows_nothing_but_the_bounds() -> None:
    def spread(low: float, high: float) -> float:
        return math.sqrt(max(x * (1 - x) for x in np.linspace(low, high, 10_001)) / 200)

    expected = narrowed(0.1, spread, 0.01, 0.05, 1.0)
    assert mean_interval(0.1, None, 200, (0.01, 0.0), 0.9) == pytest.approx(expected, rel=1e-5)


# Variances.


def most_deviation(low: float, high: float, n: int, known: float) -> float:
    """The largest standard deviation of a sample variance, over truths in an interval.

    It is sqrt((m4 - v**2) / n + 2 v**2 / (n (n - 1))), and a fourth moment m4 is at most v times
    the largest squared gap of a value and the mean.
    """
    worst = 0.0
    for v in np.linspace(low, high, 2001).tolist():
        fourth = v * largest_gap(v) ** 2
        bounded = min(fourth, known - v**2) if known < math.inf else fourth
        worst = max(worst, max(0.0, bounded - v**2) + 2 * v**2 / (n - 1))
    return math.sqrt(worst / n)


def largest_gap(v: float) -> float:
    """The furthest that a value may be from its mean: p (1 - p) = v for values 0 and 1."""
    return float(optimize.brentq(lambda p: p * (1 - p) - v, 0.5, 1)) if v < 0.25 else 0.5


@pytest.mark.parametrize(("n", "level"), [(5, 0.4), (8, 0.6), (400, 0.95)])
def test_the_interval_of_a_variance(n: int, level: float) -> None:
    expected = narrowed(
        0.12, lambda a, b: most_deviation(a, b, n, math.inf), 0.004, (1 - level) / 2, 0.25
    )
    assert 0 < expected[0] < expected[1] < 0.25
    assert variance_interval(0.12, n, 0.004, None, level) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("n", "level"), [(10, 0.6), (403, 0.95)])
def test_the_interval_of_a_variance_with_a_released_fourth_moment(n: int, level: float) -> None:
    found, scale = 0.02, 0.0005
    part = RISK_OF_SPREAD * (1 - level)
    # Each four gives a number in [0, 1/4], whose variance is at most a quarter of its mean.
    mean = found - stats.laplace.ppf(part, scale=scale)
    known = found + far(math.sqrt(mean / 4 / (n // 4)), scale, part)
    tail = (1 - level - part) / 2
    expected = narrowed(0.1, lambda a, b: most_deviation(a, b, n, known), 0.002, tail, 0.25)
    assert 0 < expected[0] < expected[1] < 0.25
    answer = variance_interval(0.1, n, 0.002, (found, scale), level)
    # Two bounds cross where the deviation is largest, which may be between two points looked at.
    assert answer == pytest.approx(expected, abs=2e-4)
    if n > 100:
        # Worth its part of the risk.
        without = variance_interval(0.1, n, 0.002, None, level)
        assert answer[1] - answer[0] < without[1] - without[0]


# Counts and ranks.


def binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("count", [2, 9, 15])
def test_the_ends_of_a_share_are_where_the_count_is_just_unlikely(count: int) -> None:
    n, level, noise = 20, 0.9, DiscreteLaplace(Fraction(1), 1)
    p = noise.parameter / 2**62
    reached = range(-60, 61)
    law = [(1 - p) / (1 + p) * p ** abs(k) for k in reached]

    def likely(share: float, holds: Callable[[int], bool]) -> float:
        return sum(
            chance * weight
            for ones, chance in enumerate(binomial(n, share))
            for k, weight in zip(reached, law, strict=True)
            if holds(ones + k)
        )

    low, high = share_interval(count, n, noise, level)
    # The truth is not below the low end: there the count, or a larger one, has 5 %.
    assert low == 0 or likely(low, lambda x: x >= count) == pytest.approx(0.05, abs=1e-6)
    assert likely(high, lambda x: x <= count) == pytest.approx(0.05, abs=1e-6)
    assert (count > 2) == (low > 0)


@pytest.mark.parametrize("q", [0.0, 0.03, 0.4, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_ranks_of_an_interval_are_as_near_as_they_may_be(n: int, q: float) -> None:
    law = binomial(n, q)
    for tail in (0.004, 0.02, 0.11):
        a, b = rank_ends(n, q, tail)
        assert a == max(k for k in range(-1, n + 1) if sum(law[: k + 1]) <= tail)
        assert b == min(k for k in range(n + 2) if sum(law[k:]) <= tail)


# From integers to answers.


def test_a_mean_is_that_of_the_centres_of_cells() -> None:
    query = Query("mean", PAY, epsilon=1.0, spread=0)
    sums = sum(query.index([120.0, 150.0, 270.0]).tolist())
    answer = query.finish((sums,), 3)["answer"]
    centres = query.grid.centers[query.index([120.0, 150.0, 270.0])]
    assert answer["value"] == pytest.approx(centres.mean(), abs=1e-10)
    assert answer["value"] == pytest.approx(180, abs=0.5 * 200 / MAX_SIZE)


@pytest.mark.parametrize("n", [50, 10**6, 10**9])
def test_a_variance_comes_with_the_scale_of_its_noise_and_of_its_rounding(n: int) -> None:
    cells = variance_cells(n)
    noise = Query("variance", PAY, epsilon=1.0).noises(n)[0]
    value, scale, rounding = Query._unit_variance(n**2 * cells**2 // 16, noise, n)
    assert value == pytest.approx(1 / 16)
    # The integer is n**2 times the variance in squared cells, and so is its noise.
    assert scale == pytest.approx(noise.scale / (n * cells) ** 2)
    # Records that are all in one cell may differ by a cell: its half, squared, is what that adds.
    assert Query._unit_variance(0, noise, n)[2] == pytest.approx((0.5 / cells) ** 2)
    assert rounding == pytest.approx(2 * 0.25 * (0.5 / cells) + (0.5 / cells) ** 2)


def test_an_answer_has_the_interval_of_its_integers() -> None:
    n = 1000
    mean = Query("mean", PAY, epsilon=1.0, level=0.9)
    sums, squares = mean.noises(n)
    cells = variance_cells(n)
    drawn = (n * MAX_SIZE // 4, (n * cells) ** 2 // 50)
    answer = mean.finish(drawn, n)["answer"]
    rounding = 2 * math.sqrt(0.02) * (0.5 / cells) + (0.5 / cells) ** 2
    low, high = mean_interval(
        0.25 + 0.5 / MAX_SIZE, 0.02 + rounding, n,
        (sums.scale / (n * MAX_SIZE), squares.scale / (n * cells) ** 2), 0.9,
    )  # fmt: skip
    half = 0.5 / MAX_SIZE
    ends = (answer["low"], answer["high"])
    assert ends == pytest.approx((100 + 200 * (low - half), 100 + 200 * (high + half)), rel=1e-12)

    variance = Query("variance", PAY, epsilon=1.0, level=0.9)
    squares, fourths = variance.noises(n)
    unit = 4 * FOURTH_CELLS**4 * (n // 4)
    answer = variance.finish((drawn[1], unit // 500), n)["answer"]
    low, high = variance_interval(
        0.02 * n / (n - 1), n, squares.scale / (n * cells) ** 2 * n / (n - 1),
        (0.002, fourths.scale / unit), 0.9,
    )  # fmt: skip
    ends = (answer["low"], answer["high"])
    assert ends == pytest.approx((200**2 * (low - rounding), 200**2 * (high + rounding)), rel=1e-6)
    assert answer["value"] == pytest.approx(200**2 * 0.02)
