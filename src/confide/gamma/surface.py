"""The largest M(z) of data, on cells: bin once, then two short Fourier transforms a question."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaln

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.mechanisms.laws import fast_length

Spread = Callable[[Floats], Floats]
"""P(|noise| <= x), up to a factor."""

FEWEST = 10
MAX_CELLS = 2**16
LIMIT = 1e50
"""Ranges stay where their fifth powers are still finite floats."""
EXACT = 160
ROUNDING = 1e-13
"""Where so little of the most probable z is left, transforms hold nothing but rounding."""


def gamma_spread(shape: float, scale: float) -> Spread:
    """That of two-sided gamma noise."""

    def spread(x: Floats) -> Floats:
        y = x / scale
        below = np.empty(y.shape)
        below[:EXACT] = gammainc(shape, y[:EXACT])
        if y.size > EXACT:
            # Away from zero the density is smooth, and Simpson's rule is quicker than the exact
            # integral: its error is of the order of the cell's width over x to the fourth.
            ends = y[EXACT - 1 :]
            marks = np.empty(2 * ends.size - 1)
            marks[::2], marks[1::2] = ends, (ends[1:] + ends[:-1]) / 2
            heights = np.exp((shape - 1) * np.log(marks) - marks - gammaln(shape))
            sums = heights[:-2:2] + 4 * heights[1::2] + heights[2::2]
            below[EXACT:] = below[EXACT - 1] + np.cumsum(sums * np.diff(ends) / 6)
        return below

    return spread


@dataclass(frozen=True, eq=False)
class Surface:
    """Values in cells of equal width.

    Parameters
    ----------
    shares
        Share of the values at each cell center.
    step
        Width of a cell, in the units of the values.
    n
        How many values there are.
    sd
        Their standard deviation.
    extent
        Largest value less the smallest.
    """

    shares: Floats
    step: float
    n: int
    sd: float
    extent: float

    @classmethod
    def of(cls, values: npt.ArrayLike, *, width: float) -> Self:
        """Bin values, cells being of some width in standard deviations, wider for far outliers.

        A value between two centers is shared out between them, so that no mean is moved.
        """
        x = _checks.vector(values=values)
        if x.size < FEWEST:
            raise InvalidInput(f"at least {FEWEST} values", str(x.size))
        low, high = float(x.min()), float(x.max())
        extent = high - low
        if extent == 0:
            raise InvalidInput(
                "values that differ",
                "constant ones",
                "Noise is measured by their standard deviation.",
            )
        if not 1 / LIMIT < extent < LIMIT:
            raise InvalidInput(
                f"values that spread over {1 / LIMIT:g} to {LIMIT:g}",
                "a range beyond that",
                "Take other units.",
            )
        sd = float(np.std(x - low, ddof=1))
        step = max(width * sd, extent / (MAX_CELLS - 2))
        place = (x - low) / step
        at = place.astype(np.int64)
        place -= at
        cells = int(extent / step) + 2
        upper = np.bincount(at, place, minlength=cells)
        shares = np.bincount(at, minlength=cells) - upper
        shares[1:] += upper[:-1]
        return cls(shares / x.size, step, x.size, sd, extent)

    @cached_property
    def _transform(self) -> tuple[int, npt.NDArray[np.complex128]]:
        # Circular, with room for noise that reaches across all cells in both directions.
        period = fast_length(2 * self.shares.size)
        return period, np.fft.rfft(self.shares, period)

    def largest(self, spread: Spread, within: float) -> float:
        """The supremum over z of M(z) = P(|value - z| < within, given z)."""
        period, values = self._transform
        cells = self.shares.size
        edges = np.arange(-0.5, cells + 0.25) * self.step
        edges[0] = 0.0
        below = spread(edges)
        masses = np.diff(below) / 2
        masses[0] *= 2
        # As above, cut off exactly at the distance.
        last = min(int(within / self.step + 0.5), cells - 1)
        inner = np.zeros(cells)
        inner[:last] = masses[:last]
        cut = float(spread(np.array([min(within, edges[-1])]))[0])
        inner[last] = (cut - below[last]) / (1 if last == 0 else 2)
        kernels = np.zeros((2, period))
        for kernel, half in zip(kernels, (masses, inner), strict=True):
            kernel[:cells] = half
            kernel[period - cells + 1 :] = half[:0:-1]
        transforms = np.fft.rfft(kernels).real
        every, near = np.fft.irfft(transforms * values, period)[:, :cells]
        seen = every > ROUNDING * every.max()
        # Rounding of the transform can lift a probability of 1 a little.
        return min(1.0, float(np.max(near[seen] / every[seen])))

    def resampled(self, generator: np.random.Generator) -> Surface:
        """About as many values drawn again from the cells, a Poisson number from each."""
        counts = used = np.empty(0, dtype=np.int64)
        while used.size < 2:
            counts = generator.poisson(self.n * np.maximum(self.shares, 0))
            used = np.flatnonzero(counts)
        counts = counts[used[0] : used[-1] + 1]
        n = int(counts.sum())
        shares = counts / n
        place = np.arange(shares.size) * self.step
        mean = np.sum(shares * place)
        variance = float(np.sum(shares * (place - mean) ** 2)) * n / (n - 1)
        return Surface(shares, self.step, n, math.sqrt(variance), float(place[-1]))
