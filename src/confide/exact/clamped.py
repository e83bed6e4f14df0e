"""Laplace noise on the integers that is clamped at the ends, for our own reports.

A report is clamped to the lattice's cells 0 .. m, so noise beyond -m or m ends at an end cell
whatever the value was: the law is needed on -m .. m only, with everything beyond gathered at the
two ends.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from confide._types import Floats
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling
from confide.exact.inversion import Inversion

ONE = 2**62
"""Denominator of the public parameter of the discrete Laplace law."""


def laplace_parameter(epsilon: Fraction | float, m: int) -> int:
    """The public P: the smallest integer with P / 2**62 >= e**(-epsilon/m).

    Rounding up makes the ratio of neighbours closer to one, so the true loss m ln(2**62 / P) is
    never above the declared epsilon.
    """
    parameter = exp_ceiling(Fraction(-Fraction(epsilon), m), ONE)
    if parameter >= ONE:
        raise InvalidInput(
            "epsilon large enough to leave a trace of the value",
            f"epsilon={float(epsilon):g} over {m + 1} cells",
            "Take fewer cells or a larger epsilon.",
        )
    return parameter


def laplace_table(parameter: int, m: int) -> Floats:
    """Masses at 0 .. m of the law p**|k| (1-p)/(1+p), the last one holding the whole tail."""
    p = parameter / ONE
    gap = (ONE - parameter) / ONE
    # The logarithm of p from whichever of p and 1 - p has the digits.
    log_p = np.log1p(-gap) if gap < 0.5 else np.log(p)
    powers = np.exp(np.arange(m + 1) * log_p)
    table: Floats = powers * gap / (1 + p)
    table[m] = powers[m] / (1 + p)
    table.flags.writeable = False
    return table


def laplace_weights(parameter: int, m: int) -> list[int]:
    """The same table in exact integers, over the total 2**(62 m) (2**62 + P)."""
    weights = [(ONE - parameter) * parameter**k << 62 * (m - k) for k in range(m)]
    weights.append(parameter**m << 62)
    return weights


def laplace_sampler(parameter: int, m: int, bits: int = 32) -> Inversion:
    """Exact draws of noise + m, the noise gathered at -m and m."""

    @cache
    def enclosure(bits: int) -> tuple[list[int], list[int]]:
        # F(-j) = p**j / (1+p) for j = m .. 1, and F(j-1) = 1 - F(-j). Every step rounds outwards;
        # 64 guard bits keep the enclosures tight over the whole table.
        work = bits + 64
        low = high = (1 << (work + 62)) // (ONE + parameter)
        high += 1
        lower, upper = [], []
        for _ in range(m):
            low = low * parameter >> 62
            high = -(-high * parameter >> 62)
            lower.append(low >> 64)
            upper.append(-(-high >> 64))
        lower_half = lower[::-1] + [(1 << bits) - t for t in upper]
        upper_half = upper[::-1] + [(1 << bits) - t for t in lower]
        return lower_half, upper_half

    return Inversion(enclosure, bits)
