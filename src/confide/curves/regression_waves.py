"""Regression curves that are the ratio of two finite sums of waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.curves.density import points
from confide.curves.regression import Band, Floats, Regression

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
