"""M(z) for a known distribution of values, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.foreign.noise import Noise, TwoSidedGamma

Distribution = Any
"""A frozen distribution of scipy.stats, or a density."""

TAILS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
MARKS = (*TAILS, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, *(1 - tail for tail in reversed(TAILS)))
NODES = 20
STEPS = 513
FAR = (3.0, 10.0, 30.0)


@dataclass(frozen=True, eq=False)
class Known:
    """A density with what quadrature must know of it.

    Parameters
    ----------
    pdf
        The density.
    sd
        Its standard deviation.
    marks
        Quantiles and the ends of the support: between two of them it is smooth.
    ends
        The finite ends of the support.
    """

    pdf: Callable[[Floats], Floats]
    sd: float
    marks: Floats
    ends: tuple[float, ...]

    def closeness(self, z: Floats, noise: Noise, within: float) -> Floats:
        """M(z), one number a z."""
        reach = _reach(noise, within)
        ends = np.concatenate([np.geomspace(within / 16, within, 5), reach])
        # Distances at which either side of z comes to a mark of the density.
        marks = np.abs(z[:, None] - self.marks)
        limits = np.broadcast_to(ends, (z.size, ends.size))
        edges = np.concatenate([np.zeros((z.size, 1)), limits, marks], axis=1)
        edges = np.sort(np.minimum(edges, reach[-1]), axis=1)
        power = _power(noise)
        # Distances y = w**(1/power): in w the noise's density has no pole at zero.
        roots = edges**power
        u, weights = _rule()
        width = np.diff(roots, axis=1)[..., None]
        w = roots[:, :-1, None] + width * u
        y = np.maximum(w, 1e-300) ** (1 / power)
        heights = self.pdf(z[:, None, None] - y) + self.pdf(z[:, None, None] + y)
        terms = heights * _smooth(noise, y, power) * width * weights
        parts = terms.sum(axis=2)
        near = np.where(edges[:, 1:] <= within * (1 + 1e-12), parts, 0.0).sum(axis=1)
        every = parts.sum(axis=1)
        ratio: Floats = np.where(every > 0, near / np.where(every > 0, every, 1), 0.0)
        return ratio

    def largest(self, noise: Noise, within: float) -> float:
        """The supremum of M(z), where z has any density to speak of."""
        low, high = self.marks.min(), self.marks.max()
        bottom, top = np.quantile(self.marks, [0.15, 0.85])
        far = np.outer([-1, 1], FAR).ravel() * max(within, self.sd, math.sqrt(noise.variance))
        turns = [end + side * within for end in self.ends for side in (-1, 0, 1)]
        grid = np.concatenate(
            [np.linspace(low, high, 65), np.linspace(bottom - within, top + within, STEPS), turns]
        )
        grid = np.unique(np.concatenate([grid, (low + high) / 2 + far]))
        for _ in range(4):
            heights = self.closeness(grid, noise, within)
            best = int(np.argmax(heights))
            grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)], 17)
        return float(heights.max())


def described(population: Distribution, support: tuple[float, float] | None) -> Known:
    """What is needed of a distribution, from scipy or from a density alone."""
    if hasattr(population, "ppf") and hasattr(population, "pdf"):
        ends = tuple(float(end) for end in population.support() if math.isfinite(end))
        sd = float(population.std())
        if not math.isfinite(sd):
            raise InvalidInput("a population with a standard deviation", "one without")
        marks = np.unique(np.append(population.ppf(MARKS), ends))
        return Known(population.pdf, sd, marks, ends)
    if not callable(population):
        raise InvalidInput("a distribution of scipy.stats or a density", _checks.shown(population))
    if support is None:
        raise InvalidInput("support=(low, high) with a density", "none")
    low, high = (_checks.finite(support=end) for end in support)
    if not low < high:
        raise InvalidInput("support=(low, high) with low < high", f"({low:g}, {high:g})")
    edges = np.linspace(low, high, 2**14 + 1)
    x = (edges[:-1] + edges[1:]) / 2
    heights = np.asarray(population(x), dtype=np.float64)
    if heights.shape != x.shape or not (heights >= 0).all() or not heights.sum() > 0:
        raise InvalidInput("a density that takes an array and is never negative", "another")
    shares = heights / heights.sum()
    mean = shares @ x
    marks = np.interp(MARKS, np.append(0, np.cumsum(shares)), edges)

    def inside(y: Floats) -> Floats:
        return np.where((y >= low) & (y <= high), population(np.clip(y, low, high)), 0.0)

    sd = math.sqrt(float(shares @ (x - mean) ** 2))
    return Known(inside, sd, np.unique(np.append(marks, (low, high))), (low, high))


def _power(noise: Noise) -> float:
    return min(noise.shape, 1.0) if isinstance(noise, TwoSidedGamma) else 1.0


def _smooth(noise: Noise, y: Floats, power: float) -> Floats:
    """The noise's density by w = y**power, up to a constant."""
    if isinstance(noise, TwoSidedGamma):
        result: Floats = np.exp(-y / noise.scale) * y ** (noise.shape - power)
        return result
    density = getattr(noise, "pdf", None)
    if density is None or getattr(noise, "varies", False):
        raise InvalidInput("noise with one density for all values", type(noise).__name__)
    heights: Floats = density(y)
    return heights


def _reach(noise: Noise, within: float) -> Floats:
    """Distances beyond the given one, in steps over which the noise falls moderately."""
    scale = math.sqrt(noise.variance)
    steps = np.array([0.25, 0.5, 1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40])
    result: Floats = within + scale * steps
    return result


def _rule() -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return (x + 1) / 2, w / 2
