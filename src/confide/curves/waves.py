"""Densities that are a finite sum of waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.curves.cells import CellDensity
from confide.curves.density import Density, Floats, Intervals, keyed, points
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
        arrays = {key: _validate.array(**{key: checked[key]}) for key in keys[1:]}
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
