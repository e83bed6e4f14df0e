"""Integer statistics of second and fourth moments, and what one record can change them by."""

from __future__ import annotations

import math

import numpy as np

from confide.lattice import MAX_SIZE
from confide.randomness import Entropy
from confide.releases.base import Indices

VARIANCE_ROOM = 2**42
"""Sensitivity that the integer variance may have, so that its noise stays in 64-bit integers."""
FOURTH_CELLS = 2**10
"""Cells for fourth powers, for the same reason."""
PART = 2**20


def variance_cells(n: int) -> int:
    """Cells for the variance of n records: a power of two, as many as the noise has room for."""
    most = math.isqrt(VARIANCE_ROOM // max(n, 1))
    return min(MAX_SIZE, 1 << max(most.bit_length() - 1, 4))


def variance_sensitivity(n: int) -> int:
    """What one record can change n sum i**2 - (sum i)**2 by, at most: (n - 1) m**2.

    Moving one of n records by at most m on the line changes the sum of squares about the mean by
    at most (n - 1)/n m**2, and the integer is n times that sum.
    """
    return max(1, (n - 1) * (variance_cells(n) - 1) ** 2)


def integer_variance(indices: Indices) -> int:
    """Exactly n sum i**2 - (sum i)**2 on the coarser cells of a variance, in integers."""
    n = len(indices)
    coarse = _coarser(indices, variance_cells(n))
    squares = sum(int((part * part).sum()) for part in _parts(coarse))
    return n * squares - int(coarse.sum()) ** 2


def fourth_sensitivity() -> int:
    """What one record can change `integer_fourth` by, at most: it is in one four, 0 .. m**4."""
    return (FOURTH_CELLS - 1) ** 4


def integer_fourth(indices: Indices, entropy: Entropy) -> int:
    """The sum over fours of ((a-b)**2 - (c-d)**2)**2, for records put into fours at random.

    Half of (a-b)**2 estimates the variance, so a quarter of the mean over fours estimates twice
    the variance of that, which is (fourth central moment) + variance**2. The order is drawn
    without a look at the values: sorted records would make fours that are too alike.
    """
    n = len(indices)
    order = np.argsort(entropy.words(n, 64), kind="stable")[: n // 4 * 4]
    a, b, c, d = _coarser(indices, FOURTH_CELLS)[order].reshape(-1, 4).T
    return sum(int(part.sum()) for part in _parts(((a - b) ** 2 - (c - d) ** 2) ** 2))


def _coarser(indices: Indices, cells: int) -> Indices:
    coarse: Indices = indices >> (MAX_SIZE // cells).bit_length() - 1
    return coarse


def _parts(values: Indices) -> list[Indices]:
    """Pieces whose sums fit into 64 bits."""
    return np.array_split(values, len(values) // PART + 1)
