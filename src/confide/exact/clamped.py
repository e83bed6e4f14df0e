"""Noise on the integers, for our own reports.

A report is clamped to the lattice's cells 0 .. m, so noise beyond -m or m ends at an end cell
whatever the value was: both laws here are therefore needed on -m .. m only, with everything beyond
gathered at the two ends.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from scipy.special import gammainc, gammaincc

from confide._types import Floats
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling
from confide.exact.inversion import Inversion, weighted

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


def laplace_sampler(parameter: int, m: int, bits: int = 64) -> Inversion:
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


def gamma_weights(shape: float, scale: float, m: int) -> tuple[int, ...]:
    """A public integer table at 0 .. m of two-sided gamma noise, ``scale`` in cells.

    Cell masses of the continuous law, in units of 2**-62 and at least 1, the last one holding the
    whole tail. The table is the law: whatever the floats it was made from, its integers are what
    is drawn from and what the loss is computed from.
    """
    edges = (np.arange(m + 1) - 0.5) / scale
    edges[0] = 0.0
    tail = gammaincc(shape, edges) / 2
    # From below where the tail is close to 1/2, else from above, so that no digits cancel.
    near = np.diff(gammainc(shape, edges) / 2)
    mass = np.append(np.where(tail[:-1] > 0.25, near, tail[:-1] - tail[1:]), tail[-1])
    mass[0] *= 2
    # Below 2**63 and exact: multiplying by a power of two does not round.
    return tuple(np.maximum(np.rint(ONE * mass), 1).astype(np.int64).tolist())


def gamma_sampler(weights: tuple[int, ...], bits: int = 64) -> Inversion:
    """Exact draws of noise + m from a symmetric table."""
    return weighted(weights[:0:-1] + weights, bits)
