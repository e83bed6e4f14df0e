"""Curves that are sums of waves: what deconvolution gives for numbers noised elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.curves import forms
from confide.curves.density import CellDensity, Density, Intervals, points
from confide.curves.regression import Band, Regression, regression_or_none
from confide.errors import InvalidInput, Unsupported


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
    _: KW_ONLY
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
        return CellDensity(
            edges,
            kept / kept.sum(),
            names=self.names,
            facts=self.facts,
            intervals=self.intervals,
        )

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
        checked = forms.keyed(fields, "wave-density", (*keys, "facts"))
        waves, d = _size(checked, "cosines"), _size(checked, "low")
        means, deviations = forms.numbers(checked, "moments", (2, d))
        return cls(
            forms.numbers(checked, "frequencies", (waves, d)),
            forms.numbers(checked, "cosines", (waves,)),
            forms.numbers(checked, "sines", (waves,)),
            low=forms.numbers(checked, "low", (d,)),
            high=forms.numbers(checked, "high", (d,)),
            moments=(means, deviations),
            reach=forms.numbers(checked, "reach", (d,)),
            names=forms.names(checked, d),
            facts=dict(checked["facts"]),
        )


def _size(fields: Mapping[str, Any], key: str) -> int:
    if not isinstance(fields[key], list) or not fields[key]:
        raise InvalidInput(f"a list of {key} in a {fields['curve']}", "something else")
    return len(fields[key])


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
    >>> waves = {"low": (0.0,), "high": (1.0,), "floor": 0.1, "bounds": None}
    >>> curve = WaveRegression(np.zeros((1, 1)), flat, 3 * flat, **waves)
    >>> curve.predict([0.2, 0.8])
    array([3., 3.])
    """

    frequencies: Floats
    density: Floats
    product: Floats
    _: KW_ONLY
    low: tuple[float, ...]
    high: tuple[float, ...]
    floor: float
    center: float = 0.0
    bounds: tuple[float, float] | None
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

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the band."""
        keys = ("names", "frequencies", "density", "product", "low", "high", "floor", "center")
        more = ("bounds", "reach", "facts", "baseline")
        checked = forms.keyed(fields, "wave-regression", (*keys, *more))
        waves, d = _size(checked, "frequencies"), _size(checked, "low")
        bounds = checked["bounds"]
        if bounds is not None:
            low, high = forms.numbers(checked, "bounds", (2,)).tolist()
            bounds = (low, high)
        return cls(
            forms.numbers(checked, "frequencies", (waves, d)),
            forms.numbers(checked, "density", (2, waves)),
            forms.numbers(checked, "product", (2, waves)),
            low=tuple(forms.numbers(checked, "low", (d,)).tolist()),
            high=tuple(forms.numbers(checked, "high", (d,)).tolist()),
            floor=forms.finite(checked, "floor"),
            center=forms.finite(checked, "center"),
            bounds=bounds,
            reach=tuple(forms.numbers(checked, "reach", (d,)).tolist()),
            names=forms.names(checked, d),
            facts=dict(checked["facts"]),
            baseline=regression_or_none(checked, "baseline"),
        )
