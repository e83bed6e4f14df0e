"""Sums of product kernels over noised numbers of several covariates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.curves.regression import chebyshev
from confide.errors import InvalidInput
from confide.estimators import division
from confide.estimators.bandwidths import Kernel
from confide.foreign.noise_laws import Gaussian
from confide.foreign.spectrum import Spectrum

Rows = slice | npt.NDArray[np.int64]
"""Some of the numbers."""
BLOCK = 2**18
"""Numbers times places held at once."""
PHASE = 0.08
"""Phase of the fastest wave over one cell of a table: a polynomial of degree five is then off by
1e-11 of the kernel's largest value."""
DEGREE = 5
MAX_LINE = 2**12
"""Waves at most on one axis."""
MAX_NODES = 2**19
"""Nodes at most of all axes together: their sums take seconds for 100,000 numbers."""
DIGITS = 1e-9
"""Error of the interpolation between nodes, as a share of the kernel's largest value."""


@dataclass(frozen=True, eq=False)
class AxisKernel:
    """The kernel of one axis that undoes its noise, as a function of x - z.

    Parameters
    ----------
    frequencies, weights
        The function is the sum of weights cos(t (x - z)), damped by each number's own noise where
        that varies.
    window
        The largest |x - z| that will be asked for.
    scales
        Standard deviation of each number's own Gaussian noise, or None for equal noise.
    """

    frequencies: Floats
    weights: Floats
    window: float
    scales: Floats | None

    @cached_property
    def _table(self) -> tuple[float, list[Floats]]:
        """Width of a cell, and the Taylor coefficients around the cells' centers by degree."""
        t = self.frequencies
        cells = math.ceil(self.window * float(t[-1]) / PHASE) + 2
        step = self.window / (cells - 2)
        factors = [self.weights]
        for degree in range(1, DEGREE + 1):
            factors.append(factors[-1] * t * (step / degree))
        # Places are sums of coarse and fine ones, and waves of sums are products.
        fine = math.isqrt(cells) + 1
        coarse = np.multiply.outer(np.arange(0, cells, fine) * step, t)
        rest = np.multiply.outer(np.arange(fine) * step, t)
        first, second = (np.cos(coarse), np.sin(coarse)), (np.cos(rest).T, np.sin(rest).T)
        columns = []
        for degree, factor in enumerate(factors):
            # The derivatives of a cosine: -sin, -cos, sin, cos.
            sign = 1.0 if degree % 4 in (0, 3) else -1.0
            cosine, sine = (part * (sign * factor) for part in first)
            if degree % 2:
                column = sine @ second[0] + cosine @ second[1]
            else:
                column = cosine @ second[0] - sine @ second[1]
            columns.append(column.ravel())
        return step, columns

    def between(self, z: Floats, x: Floats, rows: Rows) -> Floats:
        """The kernel at x - z: one row a number, one column a place."""
        if self.scales is not None:
            phase, at = (np.multiply.outer(side, self.frequencies) for side in (z, x))
            scaled = self.weights * self._damping(rows)
            both: Floats = (scaled * np.cos(phase)) @ np.cos(at).T
            return both + (scaled * np.sin(phase)) @ np.sin(at).T
        step, columns = self._table
        away = np.abs(np.subtract.outer(z, x)) / step
        cell = np.rint(away).astype(np.intp)
        away -= cell
        result = columns[-1][cell]
        for column in columns[-2::-1]:
            result *= away
            result += column[cell]
        return result

    def own(self, away: Floats) -> Floats:
        """The kernel at x - z where each number has one place of its own."""
        result = np.empty(away.size)
        rows = max(1, BLOCK // self.frequencies.size)
        for start in range(0, away.size, rows):
            part = slice(start, start + rows)
            waves = np.cos(np.multiply.outer(away[part], self.frequencies))
            if self.scales is not None:
                waves *= self._damping(part)
            result[part] = waves @ self.weights
        return result

    def _damping(self, rows: Rows) -> Floats:
        assert self.scales is not None
        result: Floats = np.exp(-0.5 * np.multiply.outer(self.scales[rows], self.frequencies) ** 2)
        return result

    def nodes(self, length: float) -> int:
        """Number of Chebyshev nodes that an interval needs.

        A wave of phase a over half the interval needs a + (1.06 log(1/error))**(2/3) a**(1/3)
        nodes, by the decay of Bessel functions; a weak one needs fewer, for it may be off by more.
        """
        strength = np.abs(self.weights)
        phase = self.frequencies * length / 2
        digits = np.log(np.maximum(strength / (DIGITS * strength.sum()), 1.0))
        needed = (phase + (1.06 * digits) ** (2 / 3) * np.cbrt(phase))[digits > 0]
        return math.ceil(float(needed.max(initial=0.0))) + 6


@dataclass(frozen=True, eq=False)
class ProductKernel:
    """The product of the kernels of all axes, and sums of it over numbers.

    Parameters
    ----------
    spectrum
        The numbers.
    kernels
        One for each axis.
    """

    spectrum: Spectrum
    kernels: tuple[AxisKernel, ...]

    @classmethod
    def of(
        cls,
        spectrum: Spectrum,
        kernel: Kernel,
        bandwidth: Sequence[float],
        window: Sequence[float],
    ) -> ProductKernel:
        """Undo the noise of each axis in a kernel of some bandwidth; |x - z| <= window."""
        kernels = []
        for noise, h, width in zip(spectrum.noise, bandwidth, window, strict=True):
            t, _, weights = division.line(noise, kernel, h, width, most=MAX_LINE)
            own = isinstance(noise, Gaussian) and noise.varies
            scales = np.asarray(noise.scale) if own else None  # type: ignore[attr-defined]
            kernels.append(AxisKernel(t, weights, width, scales))
        return cls(spectrum, tuple(kernels))

    def on_grid(
        self, axes: Sequence[Floats], powers: Floats, among: npt.NDArray[np.int64] | None = None
    ) -> Floats:
        """Sums of powers times the kernel over n, at all combinations of places.

        Parameters
        ----------
        axes
            Places of each axis.
        powers
            What to weigh the numbers by, in one way or several: one row each.
        among
            Rows of the numbers that are summed; by default all n.
        """
        first, others = axes[0].size, math.prod(axis.size for axis in axes[1:])
        total = np.zeros((len(powers) * first, others))
        z, n = self.spectrum.values, self.spectrum.n
        rows = max(1, BLOCK // max(others, len(powers) * first))
        for start in range(0, powers.shape[1], rows):
            part = slice(start, start + rows)
            kept: Rows = part if among is None else among[part]
            parts = [
                kernel.between(z[kept, at], x, kept)
                for at, (kernel, x) in enumerate(zip(self.kernels, axes, strict=True))
            ]
            right = parts[1]
            for more in parts[2:]:
                right = (right[:, :, None] * more[:, None, :]).reshape(len(right), -1)
            left = parts[0][None] * powers[:, part, None]
            total += np.moveaxis(left, 1, 2).reshape(-1, len(right)) @ right
        return (total / n).reshape(len(powers), *(axis.size for axis in axes))

    def at(self, places: Floats, powers: Floats) -> tuple[Floats, Floats]:
        """Means of the first two powers times the kernel, and of all times its square.

        Parameters
        ----------
        places
            One row a place.
        powers
            What to weigh the numbers by: one row for 1, y and y**2.
        """
        z, n = self.spectrum.values, self.spectrum.n
        sums, squares = np.zeros((2, len(places))), np.zeros((3, len(places)))
        rows = max(1, BLOCK // max(1, len(places)))
        for start in range(0, n, rows):
            part = slice(start, start + rows)
            terms = self.kernels[0].between(z[part, 0], places[:, 0], part)
            for at, kernel in enumerate(self.kernels[1:], start=1):
                terms *= kernel.between(z[part, at], places[:, at], part)
            sums += powers[:2, part] @ terms
            squares += powers[:, part] @ (terms * terms)
        return sums / n, squares / n

    def own(self, places: Floats) -> Floats:
        """The kernel at each number's own place."""
        away = places - self.spectrum.values
        result = np.ones(len(places))
        for at, kernel in enumerate(self.kernels):
            result *= kernel.own(away[:, at])
        return result

    def sizes(self, low: Floats, high: Floats) -> tuple[int, ...]:
        """Number of nodes that each axis needs between two bounds."""
        return tuple(
            kernel.nodes(float(length))
            for kernel, length in zip(self.kernels, high - low, strict=True)
        )

    def at_nodes(self, low: Floats, high: Floats, powers: Floats) -> Floats:
        """`on_grid` at as many Chebyshev nodes as determine the sums between the bounds."""
        sizes = self.sizes(low, high)
        if math.prod(sizes) > MAX_NODES:
            raise InvalidInput(
                "bandwidths within reach of the numbers' range",
                f"some that need {math.prod(sizes):,} nodes, more than {MAX_NODES:,}",
                "Take larger ones, or remove outliers; Spectrum.of with low= and high= does that.",
            )
        axes = [chebyshev(a, b, size) for a, b, size in zip(low, high, sizes, strict=True)]
        return self.on_grid(axes, powers)


def affordable(
    spectrum: Spectrum,
    kernel: Kernel,
    bandwidth: Sequence[float],
    window: Sequence[float],
    limits: tuple[Floats, Floats],
) -> tuple[float, ...]:
    """Bandwidths, raised together where so small ones would need too many waves or nodes."""
    h = tuple(bandwidth)
    while not within_reach(spectrum, kernel, h, window, limits):
        h = tuple(1.1 * one for one in h)
    return h


def within_reach(
    spectrum: Spectrum,
    kernel: Kernel,
    h: Sequence[float],
    window: Sequence[float],
    limits: tuple[Floats, Floats],
    *,
    most: int = MAX_NODES,
) -> bool:
    """Whether so small bandwidths need no more waves and nodes than there may be."""
    for noise, one, width in zip(spectrum.noise, h, window, strict=True):
        if division.line_count(noise, kernel, one, width) > MAX_LINE:
            return False
    return math.prod(ProductKernel.of(spectrum, kernel, h, window).sizes(*limits)) <= most
