"""A density as a Bernstein polynomial with noise on its coefficients (Alda and Rubinstein 2017)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import betainc

from confide import _checks
from confide._types import Floats, Integers
from confide.errors import InvalidInput
from confide.releases.bounded import Bounds, Columned, checked_bounds
from confide.releases.release import checked
from confide.releases.series import TableRelease

MOST_DEGREE = (512, 128)
"""For one and for two columns."""
ROUGHNESS = 150.0
"""Public guess of the squared bias a column of a degree of one, for the default degree."""


@dataclass(frozen=True)
class Bernstein(Columned, TableRelease):
    """A kernel estimate at the points 0, 1/k .. 1 of each column, noised and joined up.

    Parameters
    ----------
    lattice
        Public bounds and cells: a lattice, or a mapping of one or two column names to lattices.
    epsilon
        What the release costs.
    degree
        The k above; by default a public rule from n and epsilon.
    bandwidth
        Standard deviation of the Gaussian kernel as a share of the range; by default half the
        distance of the points, because the polynomial smooths by much more than that.

    Notes
    -----
    Noise goes by the exact L1 sensitivity, for two columns by twice the largest sum of a record's
    entries, and negative heights of the polynomial are cut off. Husain et al. (2020) take a bound
    that is two to four times as large, and raise the polynomial instead.

    Examples
    --------
    >>> from confide import Lattice
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = Bernstein(pay, epsilon=1.0).release([30_000.0, 42_000.0] * 500)
    >>> round(float(release.curve.cdf(300_000)), 9)
    1.0
    """

    name: ClassVar[str] = "bernstein"

    lattice: Bounds
    _: KW_ONLY
    epsilon: float
    degree: int | None = None
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", checked_bounds(self.lattice))
        if self._dimensions > 2:
            raise InvalidInput("one or two columns", str(self._dimensions))
        checked(self)
        if self.degree is not None:
            most = MOST_DEGREE[self._dimensions - 1]
            degree = _checks.integer(1, most, degree=self.degree)
            object.__setattr__(self, "degree", degree)
        if self.bandwidth is not None:
            # No narrower, so that sums of tall products stay within 64 bits.
            width = _checks.within(1 / 256, 10, bandwidth=self.bandwidth)
            object.__setattr__(self, "bandwidth", width)

    def stated(self) -> dict[str, Any]:
        """How the noise is scaled and negative heights are mended.

        There were other rules once, and what a ledger has charged is still known by these.
        """
        return {"sensitivity_rule": "tight", "positive": "clip"}

    def _shape(self, n: int) -> tuple[int, float, int, int]:
        degree = self.degree or default_degree(n, self.epsilon, self._dimensions)
        return degree, self.bandwidth or 0.5 / degree, self.cells, self.unit

    def table(self, n: int) -> Integers:
        """Integer kernel heights at the points, for a record in each cell of a column."""
        return kernel(*self._shape(n))

    def sensitivity(self, n: int) -> int:
        """The exact one, or for two columns a bound that is met by records far apart."""
        table, columns = self.table(n), self._dimensions
        if columns == 1:
            return furthest(*self._shape(n))
        # No entry is negative, so |a - b| <= a + b, and sums of products are products of sums.
        return 2 * math.prod([int(table.sum(axis=0).max())] * columns)

    def _masses(self, coefficients: Floats, n: int) -> Floats:
        masses, steps = coefficients, polynomials(len(coefficients) - 1, self.cells)
        for _ in coefficients.shape:
            masses = np.tensordot(masses, steps, axes=(0, 0))
        return masses


@lru_cache(maxsize=16)
def kernel(degree: int, width: float, cells: int, unit: int) -> Integers:
    """Gaussian heights at 0, 1/degree .. 1 for each of equal cells of the unit interval."""
    places = (np.arange(cells) + 0.5) / cells
    far = (np.arange(degree + 1)[:, None] / degree - places) / width
    heights = np.exp(-(far**2) / 2) / (np.sqrt(2 * np.pi) * width)
    table: Integers = np.rint(unit * heights).astype(np.int64)
    table.flags.writeable = False
    return table


@lru_cache(maxsize=64)
def furthest(degree: int, width: float, cells: int, unit: int) -> int:
    """The exact L1 sensitivity of a kernel's table: the largest distance of two of its columns.

    No entry is negative, so |a - b| <= a + b: only pairs of cells whose sums together exceed the
    largest distance so far need a look, and those with the largest sums come first.
    """
    columns = np.ascontiguousarray(kernel(degree, width, cells, unit).T)
    sums = columns.sum(axis=1)
    order = np.argsort(-sums)
    best = 0
    for x in order:
        rivals = order[: int(np.searchsorted(-sums[order], sums[x] - best))]
        if not rivals.size:
            break
        best = max(best, int(np.abs(columns[rivals] - columns[x]).sum(axis=1).max()))
    return best


@lru_cache(maxsize=8)
def polynomials(degree: int, cells: int) -> Floats:
    """Integral of each Bernstein polynomial over each of equal cells of the unit interval."""
    orders = np.arange(degree + 1)[:, None]
    edges = np.arange(cells + 1) / cells
    steps: Floats = np.diff(betainc(orders + 1, degree - orders + 1, edges), axis=1) / (degree + 1)
    steps.flags.writeable = False
    return steps


def default_degree(n: int, epsilon: float, columns: int) -> int:
    """The degree with the least expected squared error for a guessed roughness.

    Bias is of order 1/k. A polynomial averages about sqrt(k) points a column, on which the tight
    noise is 2 k**columns / (n epsilon) wide.
    """
    k = np.arange(3, MOST_DEGREE[columns - 1] + 1, dtype=np.float64)
    sampling = (0.89 * k**0.5) ** columns / n
    noise = 8 * (0.89 * k**1.5) ** columns / (n * epsilon) ** 2
    return int(k[np.argmin(columns * ROUGHNESS / k**2 + sampling + noise)])
