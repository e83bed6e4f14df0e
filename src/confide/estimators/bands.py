"""Bands around distribution functions, and where they hold a share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from scipy import special

from confide._types import Floats
from confide.curves import CellDensity
from confide.errors import Unsupported
from confide.estimators.bandwidths import Kernel
from confide.estimators.inverting import Inverse, along
from confide.foreign.spectrum import Spectrum, varies

Indices = npt.NDArray[np.int64]
Ends = tuple[Floats, Floats]


def stretch(q: npt.ArrayLike, edges: Floats | Indices, lower: Floats, upper: Floats) -> Ends:
    """Smallest and largest edge at which lower <= q <= upper, one step wider on each side."""
    shares = np.asarray(q, dtype=np.float64)
    low, high = np.empty(shares.shape), np.empty(shares.shape)
    for at in np.ndindex(shares.shape):
        inside = np.flatnonzero((lower <= shares[at]) & (shares[at] <= upper))
        first, last = (inside[0] - 1, inside[-1] + 1) if inside.size else (-1, -1)
        if inside.size == 0:  # between two edges
            last = int(np.count_nonzero(upper < shares[at]))
            first = last - 1
        low[at] = edges[max(first, 0)]
        high[at] = edges[min(last, edges.size - 1)]
    return low, high


def search(
    q: npt.ArrayLike, last: int, ends: Callable[[Indices], Ends], *, coarse: int, fine: int
) -> tuple[Indices, Indices]:
    """`stretch` on the places 0, 1, ... last, without asking for the ends at all of them.

    A first look takes about `coarse` steps; the two steps that hold what is wanted are then split
    into `fine` smaller ones, until there are none.
    """
    shares = np.asarray(q, dtype=np.float64)
    all_places = _places(0, last, coarse)
    all_ends = np.stack(ends(all_places))
    result = np.empty((2, *shares.shape), dtype=np.int64)
    for at in np.ndindex(shares.shape):
        for side in (0, 1):
            places, known = all_places, all_ends
            while True:
                found = int(stretch(shares[at], places, *known)[side])
                # What lies inside is to the right of the left end, to the left of the right one.
                here = max(int(np.searchsorted(places, found)) - side, 0)
                pair = slice(here, here + 2)
                if places[pair].size < 2 or np.diff(places[pair])[0] < 2:
                    break
                places, known = _split(places[pair], known[:, pair], ends, fine)
            result[(side, *at)] = found
    return result[0], result[1]


def _split(
    pair: Indices, known: Floats, ends: Callable[[Indices], Ends], fine: int
) -> tuple[Indices, Floats]:
    places = _places(int(pair[0]), int(pair[1]), fine)
    between = np.stack(ends(places[1:-1]))
    return places, np.concatenate([known[:, :1], between, known[:, 1:]], axis=1)


def _places(first: int, last: int, steps: int) -> Indices:
    return np.unique(np.linspace(first, last, steps + 1).round().astype(np.int64))


Bools = npt.NDArray[np.bool_]
CHUNK = 2**21
POINTS = 1024
"""Numbers of an array, and places of a band, that are worked on at once."""
COST = 2**24
RESOLUTION = 2**16
"""Steps of the window to which the ends of a quantile are found."""


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

    def _errors(self, operators: Sequence[Floats], estimate: Floats) -> Floats:
        """Standard errors: sum over reports of spread (coefficient - estimate)**2."""
        squares = first = self.spread
        for axis, operator in enumerate(operators):
            squares = along(axis, lambda v, m=operator: v @ (m * m).T, squares)  # type: ignore[misc]
            first = along(axis, lambda v, m=operator: v @ m.T, first)  # type: ignore[misc]
        variance = squares - 2 * estimate * first + estimate**2 * self.spread.sum()
        result: Floats = np.sqrt(np.maximum(variance, 0))
        return result

    def _rows(self, axis: int, sums: Floats) -> Floats:
        return self.inverses[axis].rows(self.kernel, self.bandwidth[axis], sums)

    def _line(self, estimate: Floats, sums: Callable[[slice], Floats]) -> Floats:
        """Standard errors of sums over cells of the one axis, some rows at a time."""
        result = np.empty(estimate.size)
        step = max(1, CHUNK // self.masses.size)
        for start in range(0, estimate.size, step):
            part = slice(start, start + step)
            result[part] = self._errors([self._rows(0, sums(part))], estimate[part])
        return result

    def _at_cells(self, at: tuple[Indices, ...]) -> Floats:
        """Standard errors of the cells with these numbers; no other is looked at."""
        pairs = [np.unique(cells, return_inverse=True) for cells in at]
        estimate = self.masses[np.ix_(*(cells for cells, _ in pairs))]

        def units(axis: int, part: slice = slice(None)) -> Floats:
            cells = pairs[axis][0][part, None]
            unit: Floats = (cells == np.arange(self.masses.shape[axis])).astype(np.float64)
            return unit

        if len(at) == 1:
            errors = self._line(estimate, partial(units, 0))
        else:
            operators = [self._rows(axis, units(axis)) for axis in range(len(at))]
            errors = self._errors(operators, estimate)
        return errors[tuple(pair[1].reshape(at[0].shape) for pair in pairs)]

    def _at_edges(self, edges: Indices, level: float) -> Ends:
        """Ends for the linear cdf at the edges with these numbers."""
        size = self.masses.size
        estimate = np.append(0.0, np.cumsum(self.masses))[edges]
        estimate[edges == size] = 1.0

        def below(part: slice) -> Floats:
            return (np.arange(size) < edges[part, None]).astype(np.float64)

        errors = self._line(estimate, below)
        half = _quantile(level) * np.where((edges == 0) | (edges == size), 0.0, errors)
        return estimate - half, estimate + half

    def _single(self, what: str) -> None:
        if len(self.inverses) > 1:
            raise Unsupported(f"Several questions together have no interval for the {what}.")

    def pdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed density."""
        edges = tuple(inverse.lattice.edges for inverse in self.inverses)
        at, volume = CellDensity(edges, self.masses).locate(x)
        middle = self.masses[at] / volume
        half = _quantile(level) * self._at_cells(at) / volume
        return self._cut(middle - half), self._cut(middle + half)

    def _cut(self, ends: Floats) -> Floats:
        return np.maximum(ends, 0) if self.positive else ends

    def cdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed distribution."""
        self._single("cdf")
        edges, points = self.inverses[0].lattice.edges, np.asarray(x, dtype=np.float64)
        left = np.clip(np.searchsorted(edges, points, side="right") - 1, 0, edges.size - 2)
        near = np.unique(np.append(left, left + 1))
        ends = [np.clip(end, 0, 1) for end in self._at_edges(near, level)]
        low, high = (np.interp(points, edges[near], end) for end in ends)
        return low, high

    def quantile(self, q: npt.ArrayLike, level: float) -> Ends:
        """The stretch of x whose interval for the cdf holds q."""
        self._single("quantile")
        # One edge costs as much as the lattice is long, however many are asked for at once.
        coarse = max(16, min(256, COST // self.masses.size))
        low, high = search(
            q, self.masses.size, lambda at: self._at_edges(at, level), coarse=coarse, fine=2
        )
        edges = self.inverses[0].lattice.edges
        return edges[low], edges[high]

    def mean(self, level: float) -> tuple[float, float]:
        """Ends for the mean of the values, which needs no smoothing."""
        self._single("mean")
        assert self.means is not None
        middle = float(self.means @ self.shares)
        variance = float((self.means - middle) ** 2 @ self.spread)
        n, lattice = 1 / float(self.spread.sum()), self.inverses[0].lattice
        if n < 1 + 1e-9:
            return lattice.low, lattice.high
        error = math.sqrt(variance * n / (n - 1))
        return _student(middle, error, n, level, (lattice.low, lattice.high))


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
    reach
        How far outside the window the sum of waves is the estimate. Beyond it waves come back in
        phase, and nothing is there.
    """

    spectrum: Spectrum
    frequencies: Floats
    weights: Floats
    low: float
    high: float
    positive: bool
    reach: float = 0.0

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats]:
        """Places and shares that stand for the numbers, binned where their noise is equal."""
        z, law = self.spectrum.values[:, 0], self.spectrum.noise[0]
        if z.size <= POINTS or varies(law):
            return z, np.full(z.size, 1 / z.size)
        step = 1 / (8 * self.frequencies[-1])
        cells, counts = np.unique(np.floor((z - z.min()) / step), return_counts=True)
        return z.min() + (cells + 0.5) * step, counts / z.size

    def _outside(self, x: Floats) -> tuple[Bools, Bools]:
        return x < self.low - self.reach, x > self.high + self.reach

    def _ends(self, x: Floats, level: float, *, cumulative: bool) -> Ends:
        points = np.clip(x.ravel(), self.low - self.reach, self.high + self.reach)
        parts = [
            self._sums(points[start : start + POINTS], cumulative=cumulative)
            for start in range(0, points.size, POINTS)
        ]
        mean, square = np.concatenate([np.empty((2, 0)), *parts], axis=1)
        half = _quantile(level) * np.sqrt(np.maximum(square - mean**2, 0) / self.spectrum.n)
        low, high = (mean + sign * half for sign in (-1, 1))
        return low.reshape(x.shape), high.reshape(x.shape)

    def _sums(self, points: Floats, *, cumulative: bool) -> Floats:
        """Mean over the numbers of the function and of its square."""
        law = self.spectrum.noise[0]
        own = np.asarray(law.scale) if varies(law) else None
        places, shares = self._numbers
        sums = np.zeros((2, points.size))
        rows = min(places.size, max(1, CHUNK // points.size))
        columns = max(1, CHUNK // max(rows, points.size))
        for start in range(0, places.size, rows):
            part = slice(start, start + rows)
            terms = np.zeros((points.size, places[part].size))
            for from_ in range(0, self.frequencies.size, columns):
                t = self.frequencies[from_ : from_ + columns]
                scale = self.weights[from_ : from_ + columns] / (t if cumulative else 1)
                if own is not None:
                    scale = scale * np.exp(-0.5 * np.multiply.outer(own[part], t) ** 2)
                at, phase = np.multiply.outer(points, t), np.multiply.outer(places[part], t)
                # sin(t(x - z)) for the cdf and cos(t(x - z)) for the pdf, as products of waves.
                cosines, sines = np.cos(at), np.sin(at)
                first, second = (sines, -cosines) if cumulative else (cosines, sines)
                terms += first @ (scale * np.cos(phase)).T + second @ (scale * np.sin(phase)).T
            sums += [terms @ shares[part], terms**2 @ shares[part]]
        return sums

    def pdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed density."""
        points = np.asarray(x, dtype=np.float64)
        beyond = np.logical_or(*self._outside(points))
        ends = self._ends(points, level, cumulative=False)
        least = 0.0 if self.positive else -np.inf
        low, high = (np.where(beyond, 0.0, np.maximum(end, least)) for end in ends)
        return low, high

    def cdf(self, x: npt.ArrayLike, level: float) -> Ends:
        """Ends at x, for the smoothed distribution."""
        points = np.asarray(x, dtype=np.float64)
        below, above = self._outside(points)
        ends = self._ends(points, level, cumulative=True)
        low, high = (
            np.where(below, 0.0, np.where(above, 1.0, np.clip(0.5 + end, 0, 1))) for end in ends
        )
        return low, high

    def quantile(self, q: npt.ArrayLike, level: float) -> Ends:
        """The stretch of x whose interval for the cdf holds q."""
        places = np.linspace(self.low, self.high, RESOLUTION + 1)
        low, high = search(
            q, RESOLUTION, lambda at: self.cdf(places[at], level), coarse=256, fine=16
        )
        return places[low], places[high]

    def mean(self, level: float) -> tuple[float, float]:
        """Ends for the mean of the values, which needs no smoothing."""
        z, low, high = self.spectrum.values[:, 0], self.spectrum.low, self.spectrum.high
        # Numbers that happen to be all alike must not pass for certainty.
        variance = max(float(z.var(ddof=1)), self.spectrum.noise[0].variance)
        bounds = (low[0] if low else -math.inf, high[0] if high else math.inf)
        return _student(float(z.mean()), math.sqrt(variance / z.size), z.size, level, bounds)


def _student(
    middle: float, error: float, n: float, level: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Student's interval, cut to the bounds of the values."""
    half = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
    low, high = np.clip([middle - half, middle + half], *bounds)
    return float(low), float(high)


def _quantile(level: float) -> float:
    return float(special.ndtri((1 + level) / 2))
