"""Populations to plan for: guesses of the distribution of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtr, ndtri

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.lattice import Lattice

POINTS = 2**16
"""Points that stand for a smooth population."""
TAIL = 0.999
"""Share of a population without an upper end that lies within the bounds."""


@dataclass(frozen=True, eq=False)
class Population:
    """A distribution of values, as points with weights; it may reach beyond the survey's bounds.

    Parameters
    ----------
    name
        What to call it.
    points
        Values, in the units of the survey; kept in ascending order.
    weights
        Their shares, scaled to sum to one.

    Examples
    --------
    >>> pay = Population.named("lognormal", low=0, high=300_000)
    >>> round(pay.quantile(0.5), -3)
    47000.0
    """

    name: str
    points: Floats
    weights: Floats

    def __post_init__(self) -> None:
        order = np.argsort(self.points, kind="stable")
        weights = self.weights[order] / self.weights.sum()
        object.__setattr__(self, "points", _checks.frozen(self.points[order]))
        object.__setattr__(self, "weights", _checks.frozen(weights))

    @classmethod
    def named(cls, name: str, *, low: float, high: float) -> Population:
        """One of `NAMES`, stretched over the bounds.

        Parameters
        ----------
        name
            ``"uniform"``; ``"normal"``, its bounds three standard deviations from the middle;
            ``"lognormal"`` with a long upper tail, as pay has; ``"bimodal"``, two groups;
            ``"beta"``, Beta(2, 5); ``"heaped"``, zeros and round numbers on a smooth ground.
        low, high
            Where it begins and ends, in the units of the survey.
        """
        points, weights = _SHAPES[_checks.one_of(NAMES, population=name)]()
        return cls(name, low + (high - low) * np.clip(points, 0.0, 1.0), weights)

    @classmethod
    def of_values(cls, values: npt.ArrayLike, *, name: str = "pilot") -> Population:
        """The population that pilot values come from.

        A value that occurs once stands for a stretch around it (a triangle), as far as its
        n**(8/9)/4-th neighbor on the nearer side but not across a gap; one that occurs more often
        stands for itself, so that zeros and round numbers stay where they are. The mean stays what
        it is. The pilot must be public, or an estimate from private reports that were paid for: raw
        private values leak through whatever is chosen with them.

        Parameters
        ----------
        values
            Two or more numbers, in the units of the survey.
        name
            What to call it.
        """
        numbers = _checks.vector(values=values)
        if numbers.size < 2:
            raise InvalidInput("two or more pilot values", str(numbers.size))
        known, counts = np.unique(numbers, return_counts=True)
        alone = counts == 1
        half = _stretches(known, int(alone.sum()))
        parts = max(1, POINTS // numbers.size)
        u = (np.arange(parts) + 0.5) / parts
        spots = np.where(u < 0.5, np.sqrt(2 * u) - 1, 1 - np.sqrt(2 * (1 - u)))
        spread = known[alone, None] + half[alone, None] * spots
        return cls(
            name,
            np.concatenate([known[~alone], spread.ravel()]),
            np.concatenate([counts[~alone].astype(np.float64), np.full(spread.size, 1 / parts)]),
        )

    @classmethod
    def of_density(
        cls, density: Callable[[Floats], npt.ArrayLike], *, low: float, high: float
    ) -> Population:
        """The population with a given density.

        Parameters
        ----------
        density
            A function of an array of values; its scale does not matter.
        low, high
            Where it is looked at; beyond there is nobody.
        """
        low, high = _checks.finite(low=low), _checks.finite(high=high)
        if not low < high:
            raise InvalidInput("low < high", f"low={low:g}, high={high:g}")
        points = low + (high - low) * _shares()
        heights = np.asarray(density(points), dtype=np.float64)
        if heights.shape != points.shape:
            raise InvalidInput("a density for each value", f"shape {heights.shape}")
        if not (np.isfinite(heights).all() and heights.min() >= 0 and heights.sum() > 0):
            raise InvalidInput(
                "a density that is finite, nowhere negative and somewhere positive",
                "one that is negative, infinite, missing or zero everywhere",
            )
        return cls("density", points, heights)

    @classmethod
    def of_quantiles(cls, quantile: Callable[[Floats], npt.ArrayLike]) -> Population:
        """The population with a given quantile function, such as scipy.stats' ``ppf``."""
        points = np.asarray(quantile(_shares()), dtype=np.float64)
        if points.shape != (POINTS,) or not np.isfinite(points).all():
            raise InvalidInput("a finite value for each share", "one that is infinite or missing")
        return cls("distribution", points, np.ones(POINTS))

    @cached_property
    def mean(self) -> float:
        """Mean of the values, wherever they lie."""
        return float(self.weights @ self.points)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the values."""
        return float(np.sqrt(self.weights @ (self.points - self.mean) ** 2))

    @cached_property
    def _cumulative(self) -> Floats:
        return self.weights.cumsum()

    def quantile(self, q: float) -> float:
        """The least value that at least a share q does not exceed."""
        at = np.searchsorted(self._cumulative, q * (1 - 1e-12))
        return float(self.points[min(int(at), self.points.size - 1)])

    def masses(self, lattice: Lattice) -> Floats:
        """Share of the population in each cell, values beyond the bounds in the end cells."""
        cells = lattice.index(self.points)
        return np.asarray(np.bincount(cells, self.weights, minlength=lattice.size), np.float64)

    def clipped(self, *, low: float, high: float) -> tuple[float, float]:
        """The cost of bounds: the shift of the mean, and the distance that clipped values move."""
        moves = np.clip(self.points, low, high) - self.points
        return abs(float(self.weights @ moves)), float(self.weights @ np.abs(moves))

    def outside(self, *, low: float, high: float) -> float:
        """Share of values beyond the bounds."""
        return float(self.weights[(self.points < low) | (self.points > high)].sum())


def guess(
    what: Any, *, low: float, high: float, reach: tuple[float, float] | None = None
) -> Population:
    """A population from any accepted description of one.

    Parameters
    ----------
    what
        A `Population`; a name among `NAMES`; pilot values; a density, as a function; or a
        distribution of scipy.stats.
    low, high
        Bounds of the survey, over which a named population is stretched.
    reach
        Where a density is looked at; by default within the bounds.

    Examples
    --------
    >>> guess([1.0, 2.0, 2.0, 3.0], low=0, high=4).quantile(0.5)
    2.0
    """
    if reach is not None and not callable(what):
        raise InvalidInput("a density, as a function, to go with reach", "another population")
    if isinstance(what, Population):
        return what
    if isinstance(what, str):
        return Population.named(what, low=low, high=high)
    if hasattr(what, "ppf"):
        return Population.of_quantiles(what.ppf)
    if callable(what):
        start, end = (low, high) if reach is None else reach
        return Population.of_density(what, low=start, high=end)
    return Population.of_values(what)


def _stretches(known: Floats, single: int) -> Floats:
    """How far each of some ascending pilot values is spread, ``single`` of which occur once."""
    at = np.arange(known.size)
    near = np.minimum(max(round(single**0.4), 1), np.minimum(at, at[::-1]))
    own = np.minimum(known - known[at - near], known[at + near] - known)
    # A gap is wider than what a value's near neighbors take on either side of it. Groups with
    # gaps between them are smoothed alone, or people would be put where nobody is.
    gaps = np.diff(known) > np.maximum(own[1:], own[:-1])
    group = np.append(0, gaps.cumsum())
    first, last = np.searchsorted(group, group), np.searchsorted(group, group, "right") - 1
    # Errors of estimates depend on how a density bends, and bends of a pilot are mostly chance
    # unless it is smoothed for its second derivative: n**(-1/9), wider than for a density.
    wide = (single / known.size * (last - first + 1)) ** (8 / 9) / 4
    steps = np.minimum(wide.round().astype(np.intp), np.minimum(at - first, last - at))
    return np.asarray(np.minimum(known - known[at - steps], known[at + steps] - known))


def _shares() -> Floats:
    return (np.arange(POINTS) + 0.5) / POINTS


def _even(points: Floats) -> tuple[Floats, Floats]:
    return points, np.ones(points.size)


def _lognormal() -> tuple[Floats, Floats]:
    z = ndtri(TAIL * _shares())
    return _even(np.exp(0.6 * (z - ndtri(TAIL))))


def _bimodal() -> tuple[Floats, Floats]:
    z = ndtri(_shares())
    both = np.concatenate([0.3 + 0.08 * z, 0.7 + 0.1 * z])
    return both, np.repeat([0.6, 0.4], z.size)


def _heaped() -> tuple[Floats, Floats]:
    ground = betaincinv(2, 3, _shares())
    every = np.concatenate([ground, np.round(20 * ground) / 20, np.zeros(ground.size)])
    return every, np.repeat([0.5, 0.4, 0.1], ground.size)


_SHAPES: dict[str, Callable[[], tuple[Floats, Floats]]] = {
    "uniform": lambda: _even(_shares()),
    "normal": lambda: _even(0.5 + ndtri(ndtr(-3) + (1 - 2 * ndtr(-3)) * _shares()) / 6),
    "lognormal": _lognormal,
    "bimodal": _bimodal,
    "beta": lambda: _even(betaincinv(2, 5, _shares())),
    "heaped": _heaped,
}
NAMES = tuple(_SHAPES)
