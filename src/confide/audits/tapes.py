"""Fixed words in place of random ones, and how far outcomes made from them are from a law."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.exact.entropy import Entropy, Words


class Grid(Entropy):
    """Deterministic words: the midpoints of n equal parts of [0, 1), one for each draw.

    Parameters
    ----------
    n
        How many parts; by default as many as words are asked for at a time.
    start
        Number of the first.
    """

    def __init__(self, n: int | None = None, start: int = 0) -> None:
        self._n, self._start = n, start

    def words(self, n: int, bits: int) -> Words:
        """Return the same n words at every call."""
        parts = self._n or n
        at = np.arange(self._start, self._start + n, dtype=np.uint64)
        if bits <= 32:
            middles = (2 * at + np.uint64(1)) << np.uint64(bits)
            return middles // np.uint64(2 * parts)
        step = 2**bits // parts
        return at * np.uint64(step) + np.uint64(step // 2)


class Silence(Entropy):
    """Words that are all zero: noise made of them is zero."""

    def words(self, n: int, bits: int) -> Words:
        """Zeros."""
        return np.zeros(n, dtype=np.uint64)


def apart(outcomes: npt.NDArray[Any], pmf: Floats) -> float:
    """Largest |count - n pmf|."""
    n = outcomes.size
    if outcomes.dtype.kind not in "iu" or outcomes.min() < 0 or outcomes.max() >= pmf.size:
        return float(n)
    return float(np.abs(np.bincount(outcomes, minlength=pmf.size) - n * pmf).max())
