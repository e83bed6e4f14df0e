"""Pointwise intervals for a ratio of two linear estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import special

from confide._types import Floats
from confide.curves.regression import CellRegression
from confide.estimators.bandwidths import Kernel
from confide.estimators.inverting import Inverse, along
from confide.estimators.product import ProductKernel
from confide.foreign.noise_laws import Gaussian
from confide.foreign.spectrum import Spectrum

BINS = 2**14
CHUNK = 2**21


def fieller(
    sums: Floats, moments: Floats, level: float, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Ratios product/density that a test at this level does not reject (Fieller 1954).

    The delta method fails where the density is not far from zero; these ends widen there, up to
    the bounds where the density cannot be told from zero at all.

    Parameters
    ----------
    sums
        Density and product.
    moments
        Variance of the density, covariance, variance of the product.
    level
        Confidence level.
    bounds
        What the ratio may not leave.
    """
    density, product = sums
    square = float(special.ndtri((1 + level) / 2)) ** 2
    first = density**2 - square * moments[0]
    middle = density * product - square * moments[1]
    last = product**2 - square * moments[2]
    inside = middle**2 - first * last
    known = (first > 0) & (inside >= 0)
    root = np.sqrt(np.where(known, inside, 0.0))
    below = np.where(known, middle - root, -math.inf)
    above = np.where(known, middle + root, math.inf)
    scale = np.where(known, first, 1.0)
    low: Floats = np.clip(below / scale, *bounds)
    high: Floats = np.clip(above / scale, *bounds)
    return low, high


@dataclass(frozen=True, eq=False)
class CellRatioBand:
    """Intervals around a ratio of linear estimates on cells; see `KernelRegression`.

    Parameters
    ----------
    inverses, kernel, bandwidth
        What made the estimates.
    sums
        Density and product (density times response less the center), by cell.
    spread
        For each report, sums over its respondents of w**2, w**2 y and w**2 y**2, y less the
        center, divided by the square of all weights.
    center, bounds
        What was taken off the response, and what it may not leave.
    """

    inverses: Sequence[Inverse]
    kernel: Kernel
    bandwidth: tuple[float, ...]
    sums: Floats
    spread: Floats
    center: float
    bounds: tuple[float, float]

    @cached_property
    def _moments(self) -> Floats:
        squares = self.spread
        for axis, (inverse, h) in enumerate(zip(self.inverses, self.bandwidth, strict=True)):
            operator = inverse.operator(self.kernel, h)
            squares = along(axis + 1, partial(_applied, operator * operator), squares)
        density, product = self.sums
        # Less the square of the mean: respondents of a sample of fixed size.
        share = self.spread[0].sum()
        result: Floats = squares - share * np.stack([density**2, density * product, product**2])
        return result

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        bounds = (self.bounds[0] - self.center, self.bounds[1] - self.center)
        ends = fieller(self.sums, self._moments, level, bounds)
        edges = tuple(inverse.lattice.edges for inverse in self.inverses)
        low, high = (CellRegression(edges, self.center + end).predict(x) for end in ends)
        return low, high


def _applied(matrix: Floats, values: Floats) -> Floats:
    result: Floats = values @ matrix.T
    return result


@dataclass(frozen=True, eq=False)
class WaveRatioBand:
    """Intervals around a ratio of sums over noised numbers of one axis.

    Each sum at x is the mean of one known function of x - z, alone or times the response; equal
    noise lets the numbers be binned, finely against the bandwidth.

    Parameters
    ----------
    spectrum
        The numbers and their responses.
    frequencies, weights
        The function is the sum of weights cos(t (x - z)), before each number's own noise where
        that varies.
    center, bounds
        What was taken off the response, and what it may not leave.
    limits
        Where the sums of waves hold.
    """

    spectrum: Spectrum
    frequencies: Floats
    weights: Floats
    center: float
    bounds: tuple[float, float]
    limits: tuple[float, float]

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats]:
        """Places, and sums of 1, y and y**2 there as shares of n."""
        z, law = self.spectrum.values[:, 0], self.spectrum.noise[0]
        assert self.spectrum.response is not None
        y = self.spectrum.response - self.center
        powers = np.stack([np.ones(y.size), y, y * y]) / y.size
        bins = min(BINS, math.ceil(8 * float(np.ptp(z)) * self.frequencies[-1]) + 1)
        if bins >= z.size or (isinstance(law, Gaussian) and law.varies):
            return z, powers
        step = float(np.ptp(z)) / bins
        cell = np.minimum(((z - z.min()) / step).astype(np.int64), bins - 1)
        sums = np.array(
            [np.bincount(cell, power, minlength=bins) for power in powers], dtype=np.float64
        )
        kept = sums[0] > 0
        places: Floats = z.min() + (np.arange(bins, dtype=np.float64) + 0.5) * step
        return places[kept], sums[:, kept]

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        points = np.clip(np.asarray(x, dtype=np.float64), *self.limits)
        places, powers = self._numbers
        law, t = self.spectrum.noise[0], self.frequencies
        own = np.asarray(law.scale) if isinstance(law, Gaussian) and law.varies else None
        at = np.multiply.outer(points.ravel(), t)
        cosines, sines = np.cos(at), np.sin(at)
        sums, squares = np.zeros((2, points.size)), np.zeros((3, points.size))
        rows = max(1, CHUNK // max(t.size, points.size))
        for start in range(0, places.size, rows):
            part = slice(start, start + rows)
            phase = np.multiply.outer(places[part], t)
            scale = self.weights
            if own is not None:
                scale = scale * np.exp(-0.5 * np.multiply.outer(own[part], t) ** 2)
            terms = cosines @ (scale * np.cos(phase)).T + sines @ (scale * np.sin(phase)).T
            sums += powers[:2, part] @ terms.T
            squares += powers[:, part] @ (terms * terms).T
        density, product = sums
        moments = squares - np.stack([density**2, density * product, product**2])
        bounds = (self.bounds[0] - self.center, self.bounds[1] - self.center)
        ends = fieller(sums, moments / self.spectrum.n, level, bounds)
        low, high = ((self.center + end).reshape(points.shape) for end in ends)
        return low, high


@dataclass(frozen=True, eq=False)
class ProductRatioBand:
    """Intervals around a ratio of sums over noised numbers of several axes.

    Each sum at x is the mean of a product of known functions of x - z, alone or times the
    response; its variance is the sample variance of the same.

    Parameters
    ----------
    kernel
        The product, and the numbers.
    center, bounds
        What was taken off the response, and what it may not leave.
    low, high
        Where the sums hold.
    """

    kernel: ProductKernel
    center: float
    bounds: tuple[float, float]
    low: Floats
    high: Floats

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""
        spectrum = self.kernel.spectrum
        assert spectrum.response is not None
        y = spectrum.response - self.center
        powers = np.stack([np.ones(y.size), y, y * y])
        sums, squares = self.kernel.at(np.clip(x, self.low, self.high), powers)
        density, product = sums
        moments = squares - np.stack([density**2, density * product, product**2])
        bounds = (self.bounds[0] - self.center, self.bounds[1] - self.center)
        low, high = fieller(sums, moments / spectrum.n, level, bounds)
        return self.center + low, self.center + high
