"""Single numbers: count, sum, mean, variance, and quantiles."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, laplace
from confide.exact.inversion import Part, weighted
from confide.lattice import MAX_SIZE, Lattice
from confide.releases import noise_intervals
from confide.releases.ranks import Ranks
from confide.releases.release import Additive, Indices, Release, Totals, bounded, checked

VARIANCE_ROOM = 2**42
"""Sensitivity that the integer variance may have, so that its noise stays in 64-bit integers."""
FOURTH_CELLS = 2**10
"""Cells for fourth powers, for the same reason."""
PART = 2**20
ENDS_OF_RANGE = ("low", "high")
AT_BOUND = 0.01
"""Share of the range within which an answer whose interval reaches a bound counts as at it."""
CLEAR = 100
"""Records times epsilon from which on an answer at a bound is no mere noise."""


def variance_cells(n: int) -> int:
    """Cells for the variance of n records: a power of two, as many as the noise has room for."""
    most = math.isqrt(VARIANCE_ROOM // max(n, 1))
    return min(MAX_SIZE, 1 << max(most.bit_length() - 1, 4))


def variance_sensitivity(n: int) -> int:
    """The largest change of n sum i**2 - (sum i)**2 by one record: (n - 1) m**2.

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


KINDS = ("count", "sum", "mean", "variance", "quantile")
COUNT = "A count is of a column of 0 and 1: write 1 for those to count, such as yes, else 0."
"""Advice for those who count anything else."""
LEAST_FOR_RANKS = 1e-3
"""Below it the table of weights would be longer than any use of the answer."""

ENDS = ("quantile", "lower end", "upper end")


@dataclass(frozen=True)
class Query(Additive):
    """One number about the population, with an interval for sampling error and privacy noise.

    The interval is for the population from which the records are a sample, with values clipped to
    the bounds. For a count it is for n times the share.

    Parameters
    ----------
    what
        ``"count"`` (of ones among values 0 and 1), ``"sum"``, ``"mean"``, ``"variance"`` (the 1/n
        form) or ``"quantile"``.
    lattice
        Public bounds. A quantile is one of its cells; the other answers use finer cells between the
        same bounds. Not for a count.
    epsilon
        The cost of the release, including the interval.
    q
        Share below the quantile.
    spread
        Part of epsilon for a shorter interval: a mean or a sum spends it on the variance, and a
        variance on the fourth moment. With 0 the interval assumes the largest value that the bounds
        allow.
    level
        Confidence level of the interval.

    Examples
    --------
    >>> release = Query("count", epsilon=1.0).release([0, 1, 1, 0, 1] * 100)
    >>> sorted(release.answer)
    ['high', 'level', 'low', 'value']
    """

    name: ClassVar[str] = "query"

    what: str
    lattice: Lattice | None = None
    _: KW_ONLY
    epsilon: float
    q: float | None = None
    spread: float = 0.25
    level: float = 0.95

    def __post_init__(self) -> None:
        _checks.one_of(KINDS, what=self.what)
        checked(self)
        if self.what == "count":
            if self.lattice is not None:
                raise InvalidInput("no lattice for a count", "one", "Values are 0 and 1.")
        else:
            bounded(self.lattice)
        if (self.what == "quantile") != (self.q is not None):
            got = "none" if self.q is None else f"q={self.q}"
            raise InvalidInput("a share q for a quantile, such as 0.5, and for nothing else", got)
        if self.q is not None:
            object.__setattr__(self, "q", _checks.within(0, 1, q=self.q))
            if self.epsilon < LEAST_FOR_RANKS:
                raise InvalidInput(
                    f"epsilon >= {LEAST_FOR_RANKS:g} for a quantile", f"epsilon={self.epsilon:g}"
                )
        object.__setattr__(self, "spread", _checks.within(0, 0.9, spread=self.spread))
        object.__setattr__(self, "level", _checks.level(self.level))

    def _parts(self, n: int) -> tuple[Fraction, Fraction]:
        """Epsilon of the number itself and of what its interval needs besides."""
        whole = exact(self.epsilon)
        if self.what in ("sum", "mean") or (self.what == "variance" and n >= 4):
            besides = whole * Fraction(self.spread)
            return whole - besides, besides
        return whole, Fraction(0)

    @cached_property
    def ranks(self) -> Ranks:
        """How a quantile and the ends of its interval are drawn."""
        size = bounded(self.lattice).size
        return Ranks(exact(self.epsilon), size, self.q or 0.0, self.level)

    @cached_property
    def grid(self) -> Lattice:
        """Fine cells between the bounds; noise is as large in the units of the values as ever."""
        given = bounded(self.lattice)
        return Lattice(low=given.low, high=given.high, size=MAX_SIZE)

    def noises(self, n: int) -> tuple[DiscreteLaplace, ...]:
        """The noise on each integer that is released; none for a quantile, which is drawn."""
        if self.what == "quantile":
            return ()
        first, second = self._parts(n)
        if self.what == "count":
            return (laplace(first, 1),)
        if self.what == "variance":
            squares = laplace(first, variance_sensitivity(n))
            return (squares, laplace(second, fourth_sensitivity())) if second else (squares,)
        sums = laplace(first, MAX_SIZE - 1)
        return (sums, laplace(second, variance_sensitivity(n))) if second else (sums,)

    def loss(self, n: int) -> float:
        """The certified loss: that of all the integers together."""
        return self.ranks.loss(n) if self.what == "quantile" else super().loss(n)

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The cells of the values: those of a quantile, or finer ones; none for a count."""
        if self.lattice is None:
            return {}
        return {"": self.lattice if self.what == "quantile" else self.grid}

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The noises' parts; for a quantile the weights of all cells, for it and for two ends."""
        if self.what != "quantile":
            return super().parts(prepared)
        drawn = zip(ENDS, self.ranks.weights(prepared), strict=True)
        return tuple(Part(name, weighted(each), each) for name, each in drawn if each)

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values, or 0 and 1 to count."""
        if self.what == "quantile":
            return bounded(self.lattice).index(values).astype(np.int64)
        if self.what != "count":
            return self.grid.index(values).astype(np.int64)
        array = _checks.array(values=values)
        numbers = array.astype(np.int8) if array.dtype == bool else values
        found = _checks.vector(values=numbers)
        if not np.all((found == 0) | (found == 1)):
            raise InvalidInput(
                "values 0 and 1 to count",
                "other values",
                "Give 1 where the condition holds and 0 elsewhere.",
            )
        return found.astype(np.int64)

    def _caution(self, release: Release) -> str:
        """Where the answer lies at a bound: values were clipped, or bounds are far too wide."""
        if self.what not in ("mean", "sum", "quantile") or self.q in (0, 1):
            return ""
        if release.spec["n"] * self.epsilon < CLEAR:
            return ""
        lattice, answer = bounded(self.lattice), release.answer or {}
        times = release.spec["n"] if self.what == "sum" else 1
        value, *ends = (answer[part] / times for part in ("value", "low", "high"))
        width = lattice.high - lattice.low
        for name, bound, end in zip(ENDS_OF_RANGE, (lattice.low, lattice.high), ends, strict=True):
            near = abs(value - bound) <= AT_BOUND * width
            if near and math.isclose(end, bound, abs_tol=1e-9 * width):
                return (
                    f"The {self.what} lies at the bound {name}={bound:g}. If many values are "
                    "beyond it, they were clipped to it; if the bounds are far too wide, noise "
                    "hides the answer. Choose others from common knowledge; under a new key a new "
                    "release costs its epsilon again."
                )
        return ""

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The number asked for, and the one that its interval needs, if it is paid for."""
        besides = len(self.noises(len(prepared))) == 2
        if self.what == "variance":
            fourth = [[integer_fourth(prepared, entropy)]] if besides else []
            return [[integer_variance(prepared)], *fourth]
        variance = [[integer_variance(prepared)]] if besides else []
        return [[int(prepared.sum())], *variance]

    def draw(self, prepared: Indices, entropy: Entropy) -> list[int]:
        """Draw the release, from integers and fair words only."""
        if self.what == "quantile":
            return self.ranks.draw(prepared, entropy)
        return super().draw(prepared, entropy)

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""
        if self.what == "quantile":
            value, low, high = self.ranks.answer(noisy, n, bounded(self.lattice))
            return self._answer(value, low, high)
        noises = self.noises(n)
        if self.what == "count":
            low, high = noise_intervals.share_interval(noisy[0], n, noises[0], self.level)
            return self._answer(min(max(noisy[0], 0), n), n * low, n * high)
        lattice = bounded(self.lattice)
        width = lattice.high - lattice.low
        if self.what == "variance":
            v, scale, rounding = self._unit_variance(noisy[0], noises[0], n)
            bias = n / max(n - 1, 1)
            fourth = None
            if len(noisy) == 2:
                unit = 4 * FOURTH_CELLS**4 * (n // 4)
                fourth = (noisy[1] / unit, noises[1].scale / unit)
            low, high = noise_intervals.variance_interval(
                v * bias, n, scale * bias, fourth, self.level
            )
            low, high = max(0.0, low - rounding), min(0.25, high + rounding)
            value = min(max(v, 0.0), 0.25)
            return self._answer(value * width**2, low * width**2, high * width**2)
        # A cell's center is within half a cell of the value.
        half = 0.5 / MAX_SIZE
        mean = (noisy[0] / n + 0.5) / MAX_SIZE
        variance, scales = None, (noises[0].scale / (n * MAX_SIZE), 0.0)
        if len(noisy) == 2:
            variance, scale, rounding = self._unit_variance(noisy[1], noises[1], n)
            variance, scales = variance + rounding, (scales[0], scale)
        low, high = noise_intervals.mean_interval(mean, variance, n, scales, self.level)
        ends = (min(max(mean, 0.0), 1.0), max(0.0, low - half), min(1.0, high + half))
        times = n if self.what == "sum" else 1
        return self._answer(*(times * (lattice.low + width * end) for end in ends))

    @staticmethod
    def _unit_variance(noisy: int, noise: DiscreteLaplace, n: int) -> tuple[float, float, float]:
        """Variance on [0, 1], the scale of its noise, and what rounding to cells may have done."""
        cells = variance_cells(n)
        value = noisy / n**2 / cells**2
        # |V(x) - V(c)| <= 2 sd(c) sd(e) + V(e), with e at most half a cell.
        spread = math.sqrt(min(max(value, 0.0), 0.25))
        return value, noise.scale / n**2 / cells**2, spread / cells + 0.25 / cells**2

    def _answer(self, value: float, low: float, high: float) -> dict[str, Any]:
        answer = {"value": float(value), "low": low, "high": high, "level": self.level}
        return {"answer": answer, "facts": {"what": self.what}}
