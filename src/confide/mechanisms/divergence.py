"""Exact hockey-stick divergences: the delta that goes with an epsilon.

delta(epsilon) is the sum over reports r of max(0, P(r | i) - e**epsilon P(r | j)), the largest over
all pairs of indices i and j. Everything is counted in integers, with e**epsilon rounded down to a
multiple of 2**-64, so that the result is never below the truth and above it by 2**-64 at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.randomness import exp_floor

Weights = npt.NDArray[Any]

BITS = 64


def largest(columns: Sequence[Sequence[int]], epsilon: float) -> Fraction:
    """The divergence of a small law, from the weights of its reports given each index."""
    factor = exp_floor(Fraction(epsilon), 1 << BITS)
    worst = max(
        sum(max(0, (a << BITS) - factor * b) for a, b in zip(one, other, strict=True))
        for one in columns
        for other in columns
    )
    return Fraction(worst, sum(columns[0]) << BITS)


def clamped(table: Sequence[int], tails: Sequence[int], epsilon: float) -> Fraction:
    """The same for symmetric noise on 0 .. m that is clamped.

    The reports inside see one difference of shifted tables, so that for each shift running sums
    serve all pairs of indices. A pass in floats first tells which shifts can hold the maximum.

    Parameters
    ----------
    table
        Weights of noise 0 .. m, the last one holding the tail.
    tails
        Weights of noise of at least 0 .. m.
    """
    factor = exp_floor(Fraction(epsilon), 1 << BITS)
    total = tails[0] + tails[1]
    m = len(table) - 1
    shares, ends = (np.array([w / total for w in weights]) for weights in (table, tails))
    size = factor / 2**BITS
    rough = _by_shift(shares, ends, shares * size, ends * size, range(1, m + 1))
    # Sums of at most 2 m + 2 terms, none above one: far more than floats can be off by.
    margin = 16 * (m + 2) * 2.0**-52
    shifts = [s for s, value in enumerate(rough, start=1) if value >= max(rough) - margin]
    whole, over = (np.array(weights, dtype=object) for weights in (table, tails))
    exact = _by_shift(whole << BITS, over << BITS, whole * factor, over * factor, shifts)
    return Fraction(max(exact), total << BITS)


def _by_shift(
    table: Weights, tails: Weights, scaled: Weights, scaled_tails: Weights, shifts: Iterable[int]
) -> list[Any]:
    """The largest divergence between the indices i and i + s, for each shift s.

    Pairs in the other order are mirror images of these.
    """
    m = table.size - 1
    near = np.concatenate([table[:0:-1], table])  # noise -m .. m
    far = np.concatenate([scaled[:0:-1], scaled])
    result = []
    for s in shifts:
        i = np.arange(m - s + 1)
        # Noise k = r - i at the report r of index i is noise k - s at index i + s.
        k = np.arange(1 - (m - s), m) + m
        running = np.zeros(k.size + 1, dtype=table.dtype)
        np.cumsum(np.maximum(near[k] - far[k - s], 0), out=running[1:])
        start = m - s - i  # where k = 1 - i lies
        inner = running[start + m - 1] - running[start]
        low = np.maximum(tails[i] - scaled_tails[i + s], 0)
        high = np.maximum(tails[m - i] - scaled_tails[m - i - s], 0)
        result.append(max((inner + low + high).tolist()))
    return result
