"""Integrals of waves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.curves.density import CellDensity, Density, Intervals, keyed, points
from confide.curves.regression import Band, Regression
from confide.errors import InvalidInput, Unsupported

PHASE = 160.0
"""Phase that one panel covers; large rules cost more to make than to use."""
EXTRA = 20
MAX_NODES = 2**22


def count(top: float, window: float) -> float:
    """How many nodes `nodes` will make; a float, for windows beyond all integers."""
    phase = top * window
    if not math.isfinite(phase):
        return math.inf
    panels = max(1, math.ceil(phase / PHASE))
    return float(panels * (math.ceil(phase / panels / 2) + EXTRA))


def nodes(top: float, window: float) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, top] for smooth functions times cos(t x), |x| <= window.

    Gauss-Legendre needs about top window/2 nodes for the waves, and 20 more for the rest: measured
    on deconvolution estimates, it is exact then to about 14 digits.

    Examples
    --------
    >>> t, weights = nodes(3.0, 10.0)
    >>> bool(abs(weights @ np.cos(10 * t) - np.sin(30) / 10) < 1e-14)
    True
    """
    if not count(top, window) <= MAX_NODES:
        raise InvalidInput(
            "a bandwidth within reach of the numbers' range",
            f"a range of {top * window:.2g} bandwidths",
            "Give low= and high=, remove outliers, or take a larger bandwidth.",
        )
    panels = max(1, math.ceil(top * window / PHASE))
    x, w = _rule(math.ceil(top * window / panels / 2) + EXTRA)
    width = top / panels
    t: Floats = (width * (np.arange(panels)[:, None] + x)).ravel()
    return t, np.tile(width * w, panels)


@cache
def _rule(size: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(size)
    return (x + 1) / 2, w / 2


@dataclass(frozen=True, eq=False, repr=False)
class WaveDensity(Density):
    """A finite sum of waves: the linear deconvolution estimate itself, negative where it is.

    Parameters
    ----------
    frequencies
        One row a wave, one column a dimension; in radians per unit of the values.
    cosines, sines
        Coefficients: pdf(x) = sum of cosines cos(t x) + sines sin(t x).
    low, high
        The window, one number a column, in which it is drawn and sampled.
    moments
        Means and standard deviations, one a column.
    reach
        How far outside the window the sum is still the estimate, one number a column. Beyond it
        waves come back in phase, and the density is taken to be zero.
    facts, intervals
        As for `CellDensity`.
    """

    frequencies: Floats
    cosines: Floats
    sines: Floats
    low: Floats
    high: Floats
    moments: tuple[Floats, Floats]
    reach: Floats
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    intervals: Intervals | None = None

    def _sum(self, points: Floats, cosines: Floats, sines: Floats) -> Floats:
        flat = points.reshape(-1, points.shape[-1])
        result = np.empty(len(flat))
        # Bounded memory: about 4 million waves times points at once.
        step = max(1, 2**22 // len(self.frequencies))
        for start in range(0, len(flat), step):
            phase = flat[start : start + step] @ self.frequencies.T
            result[start : start + step] = np.cos(phase) @ cosines + np.sin(phase) @ sines
        return result.reshape(points.shape[:-1])

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at any x, zero beyond the reach."""
        places = points(x, self.frequencies.shape[1])
        near = ((places >= self.low - self.reach) & (places <= self.high + self.reach)).all(-1)
        heights: Floats = np.where(near, self._sum(places, self.cosines, self.sines), 0.0)
        return heights[()]

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """1/2 plus the sine integral; one dimension only."""
        if self.frequencies.shape[1] != 1:
            raise Unsupported("The linear estimate has a cdf in one dimension only: use cells.cdf.")
        t = self.frequencies[:, 0]
        places = points(x, self.frequencies.shape[1])
        inside = 0.5 + self._sum(places, -self.sines / t, self.cosines / t)
        column = places[..., 0]
        inside = np.where(column < self.low[0] - self.reach[0], 0.0, inside)
        shares: Floats = np.where(column > self.high[0] + self.reach[0], 1.0, inside)
        return shares[()]

    @cached_property
    def cells(self) -> CellDensity:
        """Cut at zero and scaled to one, on cells of the window."""
        d = self.frequencies.shape[1]
        size = {1: 1024, 2: 128, 3: 48}[d]
        edges = tuple(np.linspace(a, b, size + 1) for a, b in zip(self.low, self.high, strict=True))
        centers = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
        grid = np.stack(np.meshgrid(*centers, indexing="ij"), axis=-1)
        kept = np.maximum(self.pdf(grid[..., 0] if d == 1 else grid), 0)
        return CellDensity(edges, kept / kept.sum(), self.names, self.facts, self.intervals)

    def mean(self) -> Any:
        """Mean of the noised values, which the noise leaves unbiased."""
        means = self.moments[0]
        return float(means[0]) if means.size == 1 else means

    def std(self) -> Any:
        """Standard deviation, the noise's variance taken off."""
        deviations = self.moments[1]
        return float(deviations[0]) if deviations.size == 1 else deviations

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "wave-density",
            "names": list(self.names),
            "frequencies": self.frequencies.tolist(),
            "cosines": self.cosines.tolist(),
            "sines": self.sines.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "reach": self.reach.tolist(),
            "moments": [part.tolist() for part in self.moments],
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the intervals."""
        keys = ("names", "frequencies", "cosines", "sines", "low", "high", "reach", "moments")
        checked = keyed(fields, "wave-density", (*keys, "facts"))
        arrays = {key: _checks.array(**{key: checked[key]}) for key in keys[1:]}
        waves, d = arrays["cosines"].size, len(checked["names"])
        shapes = {"frequencies": (waves, d), "cosines": (waves,), "sines": (waves,)}
        shapes |= {"moments": (2, d), "low": (d,), "high": (d,), "reach": (d,)}
        for key, shape in shapes.items():
            table = arrays[key]
            if table.shape != shape or table.dtype.kind not in "iuf":
                raise InvalidInput(f"{key} of shape {shape} in a wave-density", str(table.shape))
            arrays[key] = table.astype(np.float64)
        moments = arrays.pop("moments")
        return cls(
            arrays["frequencies"],
            arrays["cosines"],
            arrays["sines"],
            arrays["low"],
            arrays["high"],
            (moments[0], moments[1]),
            arrays["reach"],
            names=tuple(checked["names"]),
            facts=dict(checked["facts"]),
        )


CHUNK = 2**22
"""Waves times points held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class WaveRegression(Regression):
    """The deconvolution estimate of a regression itself: one sum of waves over another.

    Parameters
    ----------
    frequencies
        One row a wave, one column a covariate; in radians per unit of the values.
    density, product
        Coefficients of the two sums, a row of cosines and one of sines each: the density of the
        values, and density times mean response less `center`.
    low, high
        Bounds of the covariates, between which the curve is drawn.
    floor
        Least density to divide by.
    center
        Response that was taken off first, and that the curve falls back to at the floor.
    bounds
        Responses that the curve is cut to, or None.
    reach
        How far outside the bounds the sums are still the estimate; beyond, that of the nearest
        point within.
    names, facts, band, baseline
        As for `Regression`.

    Examples
    --------
    >>> flat = np.array([[1.0], [0.0]])
    >>> curve = WaveRegression(np.zeros((1, 1)), flat, 3 * flat, (0.0,), (1.0,), floor=0.1)
    >>> curve.predict([0.2, 0.8])
    array([3., 3.])
    """

    frequencies: Floats
    density: Floats
    product: Floats
    low: tuple[float, ...]
    high: tuple[float, ...]
    floor: float = field(kw_only=True)
    center: float = 0.0
    bounds: tuple[float, float] | None = None
    reach: tuple[float, ...] = (0.0,)
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None
    baseline: Regression | None = None

    def sums(self, x: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The two sums at x: density, and density times response less `center`."""
        d = self.frequencies.shape[1]
        reach = np.array(self.reach)
        places = np.clip(points(x, d), self.low - reach, self.high + reach)
        flat = places.reshape(-1, d)
        result = np.empty((2, len(flat)))
        step = max(1, CHUNK // len(self.frequencies))
        for start in range(0, len(flat), step):
            phase = flat[start : start + step] @ self.frequencies.T
            both = np.stack([self.density, self.product])
            part = both[:, 0] @ np.cos(phase).T + both[:, 1] @ np.sin(phase).T
            result[:, start : start + step] = part
        shape = places.shape[:-1]
        return result[0].reshape(shape), result[1].reshape(shape)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response at x."""
        density, product = self.sums(x)
        response: Floats = self.center + product / np.maximum(density, self.floor)
        if self.bounds is not None:
            response = np.clip(response, *self.bounds)
        return response[()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "wave-regression",
            "names": list(self.names),
            "frequencies": self.frequencies.tolist(),
            "density": self.density.tolist(),
            "product": self.product.tolist(),
            "low": list(self.low),
            "high": list(self.high),
            "floor": self.floor,
            "center": self.center,
            "bounds": None if self.bounds is None else list(self.bounds),
            "reach": list(self.reach),
            "facts": dict(self.facts),
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
        }
