"""Pointwise bands around linear estimates, from the exact variance of a linear estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from confide.errors import Unsupported
from confide.estimators.inversion import Inverse, along
from confide.estimators.kernels import Kernel
from confide.noise import Gaussian
from confide.summaries import Spectrum

Floats = npt.NDArray[np.float64]
Ends = tuple[Floats, Floats]
BINS = 2**16
CHUNK = 2**21


@dataclass(frozen=True, eq=False)
class CellBand:
    """Normal intervals around the linear estimate on cells; see `Deconvolution`.

    The estimate is linear in the counts, so that its variance is known from them exactly.

    Parameters
    ----------
    inverses, kernel, bandwidth
        What made the estimate.
    masses
        The linear estimate.
    spread
        Share of the total variance weight of each report: sum w**2/(sum w)**2.
    shares
        Shares of the reports.
    means
        Scores of the reports that are unbiased for the mean, or None with several axes.
    positive
        Whether the density was cut at zero.
    """

    inverses: Sequence[Inverse]
    kernel: Kernel
    bandwidth: tuple[float, ...]
    masses: Floats
    spread: Floats
    shares: Floats
    means: Floats | None
    positive: bool

    @cached_property
    def _operators(self) -> list[Floats]:
        pairs = zip(self.inverses, self.bandwidth, strict=True)
        return [inverse.operator(self.kernel, h) for inverse, h in pairs]

    def _errors(self, operators: Sequence[Floats], estimate: Floats) -> Floats:
        """Standard errors: sum over reports of spread (coefficient - estimate)**2."""
        squares = first = self.spread
        for axis, operator in enumerate(operators):
            squares = along(axis, lambda v, m=operator: v @ (m * m).T, squares)  # type: ignore[misc]
            first = along(axis, lambda v, m=operator: v @ m.T, first)  # type: ignore[misc]
        variance = squares - 2 * estimate * first + estimate**2 * self.spread.sum()
        result: Floats = np.sqrt(np.maximum(variance, 0))
        return result

    @cached_property
    def _pdf(self) -> Floats:
        return self._errors(self._operators, self.masses)

    @cached_property
    def _cdf(self) -> tuple[Floats, Floats]:
        """The linear cdf at the edges and its standard error."""
        below = np.cumsum(self._operators[0], axis=0)[:-1]
        estimate = np.cumsum(self.masses)[:-1]
        errors = self._errors([below], estimate)
        return np.concatenate([[0.0], estimate, [1.0]]), np.concatenate([[0.0], errors, [0.0]])

    def _single(self, what: str) -> None:
        if len(self.inverses) > 1:
            raise Unsupported(f"Several questions together have no interval for the {what}.")

    def pdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed density."""
        points = np.asarray(x, dtype=np.float64)
        points = points[..., None] if len(self.inverses) == 1 else points
        inside = np.ones(points.shape[:-1], dtype=bool)
        volume = np.ones(points.shape[:-1])
        at = []
        for axis, inverse in enumerate(self.inverses):
            edges, column = inverse.lattice.edges, points[..., axis]
            inside &= (column >= edges[0]) & (column <= edges[-1])
            cell = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, edges.size - 2)
            volume *= edges[cell + 1] - edges[cell]
            at.append(cell)
        middle = np.where(inside, self.masses[tuple(at)] / volume, 0.0)
        half = np.where(inside, _quantile(level) * self._pdf[tuple(at)] / volume, 0.0)
        return self._cut(middle - half), self._cut(middle + half)

    def _cut(self, ends: Floats) -> Floats:
        return np.maximum(ends, 0) if self.positive else ends

    def cdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed distribution."""
        self._single("cdf")
        middle, error = self._cdf
        edges, half = self.inverses[0].lattice.edges, _quantile(level) * error
        points = np.asarray(x, dtype=np.float64)
        ends = [np.interp(points, edges, np.clip(middle + sign * half, 0, 1)) for sign in (-1, 1)]
        return ends[0], ends[1]

    def quantile(self, q: npt.ArrayLike, level: float) -> Ends:
        """The stretch of x whose interval for the cdf holds q."""
        self._single("quantile")
        middle, error = self._cdf
        half = _quantile(level) * error
        return stretch(q, self.inverses[0].lattice.edges, middle - half, middle + half)

    def mean(self, level: float) -> tuple[float, float]:
        """Ends for the mean of the values, which needs no smoothing."""
        self._single("mean")
        assert self.means is not None
        middle = float(self.means @ self.shares)
        error = math.sqrt(float((self.means - middle) ** 2 @ self.spread))
        half = _quantile(level) * error
        return middle - half, middle + half


@dataclass(frozen=True, eq=False)
class WaveBand:
    """Normal intervals around the linear estimate from noised numbers of one axis.

    The estimate at x is the mean of one known function of x - z, whose square is averaged over the
    numbers; equal noise lets them be binned, finely against the bandwidth.

    Parameters
    ----------
    spectrum
        The numbers.
    frequencies, weights
        Nodes t and real factors of the function: sum of weights cos(t (x - z)), before each
        number's own noise where that varies.
    low, high
        Window of the density.
    positive
        Whether the density was cut at zero.
    """

    spectrum: Spectrum
    frequencies: Floats
    weights: Floats
    low: float
    high: float
    positive: bool

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats]:
        """Places and shares that stand for the numbers, binned where their noise is equal."""
        z, law = self.spectrum.values[:, 0], self.spectrum.noise[0]
        bins = min(BINS, math.ceil(8 * np.ptp(z) * self.frequencies[-1]) + 1)
        if bins >= z.size or (isinstance(law, Gaussian) and law.varies):
            return z, np.full(z.size, 1 / z.size)
        counts, edges = np.histogram(z, bins)
        kept = counts > 0
        return ((edges[:-1] + edges[1:]) / 2)[kept], counts[kept] / z.size

    def _ends(self, x: npt.ArrayLike, level: float, *, cumulative: bool) -> Ends:
        points = np.asarray(x, dtype=np.float64)
        law = self.spectrum.noise[0]
        own = np.asarray(law.scale) if isinstance(law, Gaussian) and law.varies else None
        places, shares = self._numbers
        t = self.frequencies
        factors = self.weights / t if cumulative else self.weights
        at = np.multiply.outer(points.ravel(), t)
        # sin(t(x - z)) for the cdf and cos(t(x - z)) for the pdf, as products of waves.
        first, second = (np.sin(at), -np.cos(at)) if cumulative else (np.cos(at), np.sin(at))
        sums = np.zeros((2, points.size))
        rows = max(1, CHUNK // max(t.size, points.size))
        for start in range(0, places.size, rows):
            part = slice(start, start + rows)
            phase = np.multiply.outer(places[part], t)
            scale = factors
            if own is not None:
                scale = factors * np.exp(-0.5 * np.multiply.outer(own[part], t) ** 2)
            terms = first @ (scale * np.cos(phase)).T + second @ (scale * np.sin(phase)).T
            sums += [terms @ shares[part], terms**2 @ shares[part]]
        middle = sums[0].reshape(points.shape)
        variance = np.maximum(sums[1] - sums[0] ** 2, 0) / self.spectrum.n
        half = _quantile(level) * np.sqrt(variance).reshape(points.shape)
        return middle - half, middle + half

    def pdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed density."""
        low, high = self._ends(x, level, cumulative=False)
        return (np.maximum(low, 0), np.maximum(high, 0)) if self.positive else (low, high)

    def cdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed distribution."""
        low, high = self._ends(x, level, cumulative=True)
        return np.clip(0.5 + low, 0, 1), np.clip(0.5 + high, 0, 1)

    def quantile(self, q: npt.ArrayLike, level: float) -> Ends:
        """The stretch of x whose interval for the cdf holds q."""
        edges = np.linspace(self.low, self.high, 257)
        return stretch(q, edges, *self.cdf(edges, level))

    def mean(self, level: float) -> tuple[float, float]:
        """Ends for the mean of the values, which needs no smoothing."""
        z = self.spectrum.values[:, 0]
        half = _quantile(level) * z.std(ddof=1) / math.sqrt(z.size)
        return float(z.mean() - half), float(z.mean() + half)


def stretch(q: npt.ArrayLike, edges: Floats, lower: Floats, upper: Floats) -> Ends:
    """Smallest and largest edge at which lower <= q <= upper, one step wider on each side."""
    shares = np.asarray(q, dtype=np.float64)
    low, high = np.empty(shares.shape), np.empty(shares.shape)
    for at in np.ndindex(shares.shape):
        inside = np.flatnonzero((lower <= shares[at]) & (shares[at] <= upper))
        if inside.size == 0:  # between two edges
            inside = np.array([np.count_nonzero(upper < shares[at])])
        low[at] = edges[max(inside[0] - 1, 0)]
        high[at] = edges[min(inside[-1] + 1, edges.size - 1)]
    return low, high


def _quantile(level: float) -> float:
    return float(special.ndtri((1 + level) / 2))
