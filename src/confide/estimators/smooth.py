"""Intervals that assume a smooth density: the posterior of the log-density, undersmoothed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from confide import _checks
from confide._types import Floats
from confide.estimators.em import one_thread
from confide.estimators.log_density import FAR, SCALES, Ladder, Mode, Problem

ROUGHER = 2
"""Steps of tau by which each prior is made rougher: what smoothing shifts is then less than what
the reports leave open."""


@dataclass(frozen=True, eq=False)
class SmoothIntervals:
    """Intervals of the distribution function and of quantiles of a density that is smooth.

    They are shorter than those that assume nothing, and wrong where many people share a value.

    Parameters
    ----------
    problem
        Counts and law of an estimate without heaps.
    edges
        Of the cells of the smooth part.

    Notes
    -----
    The logarithm of the density has the priors of `Adaptive`, and each hands its weight, its
    evidence, to the one that is rougher by two steps of tau. The variance of the distribution
    function is that within each of them, by Laplace's approximation, and that between them. An end
    of a quantile's interval in the first or the last cell is taken to the bound.
    """

    problem: Problem
    edges: Floats

    @cached_property
    def _line(self) -> tuple[Floats, Floats]:
        """The distribution function at the edges, and its standard deviation."""
        return self._found()

    @one_thread
    def _found(self) -> tuple[Floats, Floats]:
        ladder = Ladder(self.problem)
        ladder.climb()
        kept = ladder.above(ladder.best.evidence - FAR)
        weights = np.exp([one.evidence - ladder.best.evidence for one in kept])
        weights /= weights.sum()
        lines, variances = [], []
        for one in kept:
            scales = SCALES[one.order]
            rung = int(np.abs(np.log(scales / one.tau)).argmin())
            line, variance = _spread(ladder.mode(one.order, min(rung + ROUGHER, scales.size - 1)))
            lines.append(line)
            variances.append(variance)
        several = np.array(lines)
        middle = weights @ several
        spread = weights @ (np.array(variances) + (several - middle) ** 2)
        return middle, np.sqrt(np.maximum(spread, 0.0))

    def _band(self, level: float) -> tuple[Floats, Floats]:
        """Ends of intervals of the distribution function at the edges; they never fall."""
        middle, spread = self._line
        reach = float(ndtri((1 + level) / 2)) * spread
        low = np.maximum.accumulate(np.clip(middle - reach, 0, 1))
        high = np.minimum.accumulate(np.clip(middle + reach, 0, 1)[::-1])[::-1]
        return low, high

    def cdf(self, x: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval of the share of values up to x."""
        low, high = self._band(_checks.level(level))
        places = np.asarray(x, dtype=np.float64)
        return np.interp(places, self.edges, low), np.interp(places, self.edges, high)

    def quantile(self, q: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval of the value below which a share q of the population lies."""
        low, high = self._band(_checks.level(level))
        shares = np.asarray(q, dtype=np.float64)
        first = np.searchsorted(high, shares, side="left")
        last = np.searchsorted(low, shares, side="right")
        edges = self.edges
        least, most = _reached(shares, high, edges, first), _reached(shares, low, edges, last)
        # Those who are clipped lie on a bound, not somewhere in its cell.
        least = np.where(least < edges[1], edges[0], least)
        return least, np.where(most > edges[-2], edges[-1], most)


def _spread(one: Mode) -> tuple[Floats, Floats]:
    """The distribution function of a mode at the edges of its cells, and its variance."""
    slopes = np.vstack([np.zeros(one.slope.shape[1]), one.slope.cumsum(axis=0)])
    variance = (slopes * np.linalg.solve(one.precision, slopes.T).T).sum(axis=1)
    return np.append(0.0, one.smooth.cumsum()), variance


def _reached(shares: Floats, line: Floats, edges: Floats, at: npt.NDArray[np.int64]) -> Floats:
    """Where a line reaches each share, between the edges before and at the given numbers."""
    at = np.clip(at, 1, line.size - 1)
    rise = line[at] - line[at - 1]
    part = np.clip((shares - line[at - 1]) / np.where(rise > 0, rise, 1.0), 0, 1)
    found: Floats = edges[at - 1] + part * (edges[at] - edges[at - 1])
    return found
