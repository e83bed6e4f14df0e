"""The normal distribution in exact integers, and a delta of Gaussian noise that follows from it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache

from confide.exact.enclosures import exp_enclosure, float_ceiling

FARTHEST = 64
"""Beyond this number of standard deviations shares are rounded outwards to 0 or 1."""
GRID = 2**40
"""Roots and thresholds are rounded outwards to this fraction."""


@cache
def pi_enclosure(bits: int) -> tuple[int, int]:
    """Integers ``(lower, upper)`` with lower <= 2**bits pi <= upper, by Machin's formula."""
    work = bits + 32
    total, error = 0, 0
    for factor, x in ((16, 5), (-4, 239)):
        power, k, sign = (1 << work) // x, 1, 1
        while power:
            total += sign * factor * (power // k)
            # Two divisions that round down, in each of which less than one is lost.
            error += 2 * abs(factor)
            power, k, sign = power // (x * x), k + 2, -sign
        error += 2 * abs(factor)
    return (total - error) >> 32, -(-(total + error) >> 32)


@lru_cache(maxsize=1024)
def normal_enclosure(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``(lower, upper)`` with lower <= 2**bits Phi(x) <= upper.

    Phi(x) = 1/2 + phi(x) (x + x**3/3 + x**5/(3 5) + ...) for x >= 0, where no term is negative;
    every step rounds outwards.
    """
    one = 1 << bits
    if x < 0:
        lower, upper = normal_enclosure(-x, bits)
        return one - upper, one - lower
    if x > FARTHEST:
        x = Fraction(FARTHEST)
        return normal_enclosure(x, bits)[0], one
    # The sum is at most e**(x**2/2) sqrt(2 pi), and phi(x) undoes that.
    work = bits + 64 + math.ceil(x * x)
    a, b = x.numerator, x.denominator
    low = term_low = (a << work) // b
    high = term_high = -(-(a << work) // b)
    k = 1
    while term_high > 1 or k * b * b < 2 * a * a:
        k += 2
        term_low = term_low * a * a // (b * b * k)
        term_high = -(-term_high * a * a // (b * b * k))
        low += term_low
        high += term_high
    # From here on each term is below half of the one before.
    high += term_high
    density_low, density_high = exp_enclosure(-x * x / 2, work)
    pi_low, pi_high = pi_enclosure(work)
    # sqrt(2 pi) 2**work, rounded outwards.
    root_low = math.isqrt(pi_low << (work + 1))
    root_high = math.isqrt(pi_high << (work + 1)) + 1
    shift = work - bits
    lower = (low * density_low // root_high) >> shift
    upper = -(-(high * density_high // root_low + 1) >> shift)
    return one // 2 + lower, one // 2 + upper


@lru_cache(maxsize=256)
def coupled_delta(rho: Fraction, shift: Fraction, epsilon: Fraction) -> float:
    """A delta for discrete Gaussian noise by its distance to the continuous one, rounded up.

    Noise X of a variance s2 >= 1 on integers and Y, normal of the same parameter, can be drawn
    together so that they differ by at most 1: F_Y(j) <= F_X(j) <= F_Y(j+1) for all integers j. For
    j >= 0 the first is Proposition 25 of Canonne, Kamath and Steinke (2020). For j = -m < 0 a sum
    over k >= m of f(k) = e**(-k**2/(2 s2)) exceeds the integral from m on by a factor of
    1 + 1/(3 s2) at least, and the sum over all k exceeds that over all x by less. The second is
    the first at -j-1, by symmetry. So the loss (2 <v, X> + |v|**2) / (2 s2) of a change v is at
    most that of Y and ``shift`` = |v|_1 / s2, and delta, the mean of a function that grows with the
    loss, at most that of continuous noise at epsilon - shift (Balle and Wang 2018, eq. 6):
    Phi(t/2 - e/t) - e**e Phi(-t/2 - e/t) with t**2 = 2 rho, which grows with t.

    Parameters
    ----------
    rho
        |v|**2 / (2 s2) for the largest change v.
    shift
        The sum of absolute values of v over s2, or more.
    epsilon
        What is declared.
    """
    # Outwards: delta grows with t, and falls with epsilon.
    e = Fraction(math.floor((epsilon - shift) * GRID), GRID)
    t = Fraction(math.isqrt(math.ceil(2 * rho * GRID * GRID)) + 1, GRID)
    if e <= 0:
        return 1.0
    bits = 256
    first, last = t / 2 - e / t, -t / 2 - e / t
    grow, _ = exp_enclosure(e, bits)
    above, below = normal_enclosure(first, bits)[1], normal_enclosure(last, bits)[0]
    found = Fraction(above, 1 << bits) - Fraction(grow * max(0, below), 1 << 2 * bits)
    return min(1.0, float_ceiling(max(Fraction(0), found)))


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The rho at which continuous Gaussian noise has this delta, nearly: floats guess it."""

    def reached(t: float) -> float:
        a, b = t / 2 - epsilon / t, -t / 2 - epsilon / t
        tail = 0.5 * math.erfc(-b / math.sqrt(2))
        return 0.5 * math.erfc(-a / math.sqrt(2)) - (math.exp(epsilon) * tail if tail else 0.0)

    low, high = 1e-12, 1.0
    while reached(high) < delta:
        high *= 2
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if reached(middle) < delta else (low, middle)
    return low * low / 2
