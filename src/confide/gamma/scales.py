"""The scale that gives gamma noise of some shape the protection asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from confide import _checks
from confide.errors import InvalidInput
from confide.foreign.noise import TwoSidedGamma
from confide.gamma.protection import Distribution, described
from confide.gamma.surface import Surface, gamma_spread

SMALLEST = 0.02
"""Shapes below are not looked at: nearly all of the noise would be next to nothing."""
TOLERANCE = 1e-6
FAR = 30.0
"""Logarithm of the largest scale, in units of the protected distance."""


@dataclass(frozen=True, eq=False)
class Feasible:
    """Which pairs of shape and scale protect values.

    Parameters
    ----------
    surface
        The values in cells.
    within
        The protected distance, in the units of the values.
    certainty
        The probability that M(z) may not reach.
    """

    surface: Surface
    within: float
    certainty: float

    def largest(self, shape: float, scale: float) -> float:
        """The supremum of M(z)."""
        return self.surface.largest(gamma_spread(shape, scale), self.within)

    def limit(self, shape: float) -> float:
        """The same as the scale grows without bound: what no scale gets below."""
        return self.surface.largest(lambda x: (x / self.within) ** shape, self.within)

    def smallest_shape(self) -> float:
        """Below this shape no scale protects the values; NaN where none up to 1 does."""
        if self.limit(1.0) >= self.certainty:
            return math.nan
        if self.limit(SMALLEST) < self.certainty:
            return SMALLEST

        def excess(shape: float) -> float:
            return self.limit(shape) - self.certainty

        return float(scipy.optimize.brentq(excess, SMALLEST, 1.0, xtol=1e-5))

    def scale(
        self, shape: float, *, start: float | None = None, tolerance: float = TOLERANCE
    ) -> float:
        """The smallest scale that protects; infinite where none does."""

        def excess(log_scale: float) -> float:
            return self.largest(shape, self.within * math.exp(log_scale)) - self.certainty

        first = math.log((start or self.within) / self.within)
        return self.within * math.exp(root(excess, first, tolerance))


def root(falling: Callable[[float], float], start: float, tolerance: float = TOLERANCE) -> float:
    """Where a falling function crosses zero; infinite where it does not within reason."""
    known = {start: falling(start)}
    sign = 1.0 if known[start] > 0 else -1.0
    here, step = start, 0.1 * sign
    while True:
        there = here + step
        if abs(there) > FAR:
            return sign * math.inf
        known[there] = falling(there)
        if (known[there] > 0) != (sign > 0):
            break
        here, step = there, 2 * step
    if known[there] == 0:
        return there
    low, high = sorted((here, there))
    return float(
        scipy.optimize.brentq(
            lambda x: known[x] if x in known else falling(x), low, high, xtol=tolerance
        )
    )


def gamma_scale(
    population: Distribution,
    *,
    shape: float,
    protection: float = 0.75,
    certainty: float = 0.9,
    support: tuple[float, float] | None = None,
) -> float:
    """The smallest scale with which gamma noise protects a known distribution of values.

    Parameters
    ----------
    population, support
        As for `closeness`.
    shape
        Shape of the noise.
    protection
        mu, in standard deviations of the values: Q in the paper.
    certainty
        The probability that M(z) may not reach: delta in the paper.

    Examples
    --------
    >>> from scipy import stats
    >>> round(gamma_scale(stats.norm(), shape=1.0), 4)
    0.4177
    """
    shape = _checks.positive(shape=shape)
    truth = described(population, support)
    within = truth.sd * _checks.positive(protection=protection)
    certainty = _checks.level(certainty)

    def excess(log_scale: float) -> float:
        noise = TwoSidedGamma(shape=shape, scale=within * math.exp(log_scale))
        return truth.largest(noise, within) - certainty

    found = root(excess, 0.0)
    if not math.isfinite(found):
        raise InvalidInput(
            f"a shape whose noise can protect this population to {protection:g} standard "
            f"deviations with certainty {certainty:g}",
            f"shape={shape:g}",
            "Take a larger shape, less protection or a higher certainty.",
        )
    return within * math.exp(found)


def widest(values: npt.ArrayLike, certainty: float) -> float:
    """The protection, in standard deviations, that no shape up to 1 reaches at a certainty.

    Half the shortest interval that holds such a share of the values: even noise that is spread
    out evenly leaves them there.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    count = min(x.size, math.ceil(certainty * x.size))
    lengths = x[count - 1 :] - x[: x.size - count + 1]
    return float(lengths.min() / 2 / x.std(ddof=1))
