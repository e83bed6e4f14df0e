"""Intervals for numbers that carry sampling and privacy noise at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri, stdtrit

from confide.exact.integer_noise import DiscreteLaplace

Interval = tuple[float, float]
FINE = 1000
"""Steps that the scale of the noise on a count is cut into, at most."""
SPREAD_RISK = 0.01
"""Part of the risk that goes to the noise on a released variance."""


def reach(sd: float, scale: float, tail: float) -> float:
    """The x with P(normal + Laplace > x) = tail, for a tail below one half."""
    if scale > 0 and sd < 1e-9 * scale:
        return scale * math.log(1 / (2 * tail))
    if sd > 100 * scale:
        return float(-ndtri(tail)) * math.hypot(sd, math.sqrt(2) * scale)
    ratio = sd / scale

    def survival(x: float) -> float:
        z, shift = x / sd, x / scale
        near = math.exp(min(0.0, ratio**2 / 2 - shift + float(log_ndtr(z - ratio))))
        far = math.exp(min(0.0, ratio**2 / 2 + shift + float(log_ndtr(-z - ratio))))
        return math.exp(float(log_ndtr(-z))) + (near - far) / 2

    low, high = 0.0, -float(ndtri(tail / 2)) * sd + scale * math.log(1 / tail)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if survival(middle) > tail else (low, middle)
    return high


def shrinking(
    estimate: float, spread: Callable[[float, float], float], scale: float, tail: float, top: float
) -> Interval:
    """The interval from 0 to ``top`` around an estimate with Laplace noise, as `shrunk` has it."""
    return shrunk(estimate, spread, lambda sd: reach(sd, scale, tail), bottom=0.0, top=top)


def shrunk(
    estimate: float,
    spread: Callable[[float, float], float],
    far: Callable[[float], float],
    *,
    bottom: float,
    top: float,
) -> Interval:
    """The interval around an estimate whose sampling deviation depends on the truth.

    ``spread(a, b)`` bounds the deviation over truths in [a, b], and ``far(sd)`` says how far the
    estimate may then be off. A truth that the widest interval holds is held by the next one too, so
    narrowing it a few times costs no coverage.
    """
    low, high = bottom, top
    for _ in range(4):
        half = far(spread(low, high))
        new_low, new_high = max(low, estimate - half), min(high, estimate + half)
        if new_low > new_high:
            # The noise moved the estimate outside the possible range: take the nearest end.
            end = bottom if estimate < bottom else top
            return end, end
        low, high = new_low, new_high
    return low, high


def student(n: int, tail: float) -> float:
    """Factor by which Student's quantile exceeds the normal one, for an estimated variance."""
    return float(stdtrit(max(n - 1, 1), tail) / ndtri(tail))


def mean_interval(
    mean: float, variance: float | None, n: int, scales: tuple[float, float], level: float
) -> Interval:
    """Interval of the mean of values in [0, 1], from noisy mean and (perhaps) noisy variance.

    No variance on [0, 1] is above mu (1 - mu); a released one, with its noise counted against us,
    may say that it is less.
    """
    risk = 1 - level
    known = 0.25
    if variance is not None:
        part = SPREAD_RISK * risk / 0.05
        risk -= part
        known = max(0.0, variance * n / max(n - 1, 1) + scales[1] * math.log(1 / (2 * part)))
    tail = risk / 2
    factor = student(n, tail)

    def spread(low: float, high: float) -> float:
        nearest = min(max(0.5, low), high)
        worst = nearest * (1 - nearest)
        return math.sqrt(min(worst, known * factor**2) / n)

    return shrinking(mean, spread, scales[0], tail, 1.0)


def variance_interval(
    variance: float, n: int, scale: float, fourth: tuple[float, float] | None, level: float
) -> Interval:
    """Interval of the variance of values in [0, 1].

    With variance v no value is further from the mean than M = (1 + sqrt(1 - 4 v)) / 2, so the
    fourth moment is at most v M**2. ``fourth``, a noisy estimate of (fourth moment + v**2) from
    n // 4 fours and the scale of its noise, may say that it is less: each four gives a number in
    [0, 1/4], so its variance is at most a quarter of its mean.
    """
    risk = 1 - level
    known = math.inf
    if fourth is not None:
        part = SPREAD_RISK * risk / 0.05
        risk -= part
        found, fourth_scale = fourth
        mean = max(0.0, found) + fourth_scale * math.log(1 / (2 * part))
        known = max(0.0, found + reach(math.sqrt(mean / 4 / (n // 4)), fourth_scale, part))

    def spread(low: float, high: float) -> float:
        v = np.linspace(low, high, 201)
        furthest = (1 + np.sqrt(np.maximum(1 - 4 * v, 0))) / 2
        worst = np.minimum(v * (furthest**2 - v), np.maximum(known - 2 * v**2, 0))
        worst += 2 * v**2 / max(n - 1, 1)
        return math.sqrt(max(0.0, float(worst.max())) / n)

    return shrinking(variance, spread, scale, risk / 2, 0.25)


@lru_cache(maxsize=2**12)
def share_interval(count: int, n: int, noise: DiscreteLaplace, level: float) -> Interval:
    """Interval of a share from a noisy count, by inverting the law of binomial + noise.

    The law is exact while the noise is small. Large noise moves in coarser steps, counted against
    us: in single ones its table would not fit into any memory.
    """
    from scipy.stats import binom  # slow to import, so only where it is needed

    tail = (1 - level) / 2
    step = 1 + int(noise.scale / FINE)
    width = int(noise.scale / step * 30) + 2
    steps = step * np.arange(-width, width + 1)
    law: npt.NDArray[np.float64] = np.exp(-np.abs(steps) / noise.scale)
    law /= law.sum()

    def above(p: float) -> float:
        return float(law @ binom.sf(count - step - steps, n, p))

    def below(p: float) -> float:
        return float(law @ binom.cdf(count + step - 1 - steps, n, p))

    return _cross(lambda p: above(p) > tail), _cross(lambda p: below(p) <= tail)


def _cross(reached: Callable[[float], bool]) -> float:
    """The share from which on a monotone condition holds; 0 or 1 where it always or never does."""
    low, high = 0.0, 1.0
    if reached(low):
        return 0.0
    if not reached(high):
        return 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return (low + high) / 2


def rank_ends(n: int, q: float, tail: float) -> tuple[int, int]:
    """Ranks (a, b) with P(Bin(n, q) <= a) <= tail and P(Bin(n, q) >= b) <= tail."""
    from scipy.stats import binom

    a = int(binom.ppf(tail, n, q))
    while a >= 0 and binom.cdf(a, n, q) > tail:
        a -= 1
    b = int(binom.isf(tail, n, q))
    while b <= n and binom.sf(b - 1, n, q) > tail:
        b += 1
    return a, b
