"""A kernel density estimate plus a Gaussian process (Hall, Rinaldo and Wasserman 2013)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide._types import Floats, Integers
from confide.accounting.spend import exact
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteGaussian, gaussian, gaussian_delta, most_rho
from confide.lattice import Lattice
from confide.releases.bounded import (
    Bounds,
    Columned,
    cell_density,
    checked_bounds,
    counted,
    indexed,
    named,
    resized,
    split,
)
from confide.releases.release import Additive, Indices, Noise, Progress, Totals, checked

UNITS = (2**20, 2**12, 2**9)
"""Height of a column's integer kernel, for one to three columns: sums stay within 64 bits."""
MOST_CELLS = (2048, 256, 48)
LEAST_BANDWIDTH = (0.002, 0.01, 0.03)
FINE = 8
"""Cells a bandwidth: a cell is then too narrow to be seen in the curve."""
MARGIN = 3
"""Points go so many kernel widths beyond the bounds, from where on records hardly matter."""
ROUGHNESS = 5000.0
"""Public guess of the squared bias a column at bandwidth 1, for the default bandwidth."""


@dataclass(frozen=True, repr=False)
class GaussianProcess(Columned, Additive):
    """A kernel density estimate of one to three columns, plus a Gaussian process.

    Formal guarantee: (epsilon, delta)-differential privacy, not pure; exactly so for the integers
    that are drawn, not only in ideal arithmetic.

    A Gaussian kernel of width h is one of width h / sqrt(2) convolved with itself. The release is
    the narrower one, in integers, summed over the records at public points h / sqrt(2) apart, with
    independent discrete Gaussian noise on every sum. Convolving that once more gives the density
    estimate plus a process of covariance exp(-|x-y|**2 / (2 h**2)). Near the bounds it is divided
    by the part of the kernel inside them: unlike reflection, that costs no noise elsewhere.

    Parameters
    ----------
    lattice
        Public bounds: a lattice, or a mapping of column names to lattices.
    epsilon, delta
        What the release costs. Keep delta far below 1 / n: that much would allow one record in
        full.
    bandwidth
        Standard deviation h of the Gaussian kernel as a share of the range, the same for all
        columns; by default a public rule from n, epsilon and delta.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = GaussianProcess(pay, epsilon=1.0, delta=1e-6).release([30_000.0, 42_000.0] * 500)
    >>> release.spend
    Spend(epsilon=1, delta=1e-06)
    """

    name: ClassVar[str] = "gaussian-process"

    lattice: Bounds
    _: KW_ONLY
    epsilon: float
    delta: float = field()  # the base class has one of 0, which is no default here
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", checked_bounds(self.lattice))
        checked(self)
        object.__setattr__(self, "delta", _checks.within(1e-12, 0.1, delta=self.delta))
        if self.bandwidth is not None:
            least = LEAST_BANDWIDTH[self._dimensions - 1]
            width = _checks.within(least, 1, bandwidth=self.bandwidth)
            object.__setattr__(self, "bandwidth", width)

    def __repr__(self) -> str:
        return (
            f"GaussianProcess({self.lattice!r}, epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"bandwidth={self.bandwidth}; no pure epsilon)"
        )

    @property
    def _dimensions(self) -> int:
        return len(named(self.lattice))

    def width(self, n: int) -> float:
        """The bandwidth for n records."""
        return self.bandwidth or default_bandwidth(
            n, most_rho(self.epsilon, self.delta), self._dimensions
        )

    def grids(self, n: int) -> tuple[Lattice, ...]:
        """The lattices that records are put on."""
        most = min(MOST_CELLS[self._dimensions - 1], math.ceil(FINE / self.width(n)))
        return tuple(resized(each, min(each.size, most)) for each in named(self.lattice).values())

    def tables(self, n: int) -> list[Integers]:
        """Integer kernels, one a column: rows are points, columns cells.

        A record adds the product of its columns' entries to the sum at each point.
        """
        unit, width = UNITS[self._dimensions - 1], self.width(n)
        return [kernel_table(grid.size, width, unit) for grid in self.grids(n)]

    def squared_sensitivity(self, n: int) -> int:
        """The largest sum of squared changes that one record can cause, or a little more."""
        return squared_sensitivity(self.tables(n))

    def _points(self, n: int) -> int:
        """Number of sums."""
        return math.prod(len(each) for each in self.tables(n))

    def noise(self, n: int) -> DiscreteGaussian:
        """The noise on each integer sum."""
        squared = self.squared_sensitivity(n)
        return gaussian(self.epsilon, self.delta, squared, self._points(n))

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all sums."""
        return (self.noise(n),)

    def loss(self, n: int) -> float:
        """Epsilon itself: `slack` is the certified probability left out at this epsilon."""
        return self.epsilon

    def slack(self, n: int) -> float:
        """The certified delta."""
        change = (self.noise(n), self.squared_sensitivity(n), self._points(n))
        return gaussian_delta([change], exact(self.epsilon))

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The lattices that records are put on."""
        return dict(zip(named(self.lattice), self.grids(n), strict=True))

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values."""
        columns = split(self.lattice, values)
        return indexed(self.grids(columns[0].size), columns)

    def prepare(self, indices: Indices, tell: Progress) -> tuple[Integers, int]:
        """Compute everything that needs no draw."""
        n = len(indices)
        return spread(self.tables(n), counted(self.grids(n), indices)), n

    def sums(self, prepared: tuple[Integers, int], entropy: Entropy) -> list[Totals]:
        """The prepared sums."""
        return [prepared[0].ravel()]

    def records(self, prepared: tuple[Integers, int]) -> int:
        """The number of counted records."""
        return prepared[1]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""
        tables, grids = self.tables(n), self.grids(n)
        sums = np.array([value / n for value in noisy]).reshape([len(each) for each in tables])
        back = [smoother(each) for each in tables]
        masses = spread(back, sums)
        # The process in the middle of the range, where the uniform density has height 1.
        height = math.prod(len(each) * math.hypot(*each[len(each) // 2]) for each in back)
        facts = {
            "bandwidth": self.width(n),
            "points": list(sums.shape),
            "noise_sd": self.noise(n).sd / n * height,
        }
        edges = [grid.edges for grid in grids]
        curve = cell_density(self.lattice, edges, nearest(masses), {**self._facts(n), **facts})
        return {"facts": facts, "curve": curve}


@lru_cache(maxsize=16)
def kernel_table(cells: int, width: float, unit: int) -> Integers:
    """Heights of the kernel of width h / sqrt(2) about each point, at the cells' centers.

    With points as far apart as the kernel is wide, sums over them differ from integrals by
    2 e**(-pi**2) of themselves at most.
    """
    narrow = width / math.sqrt(2)
    steps = math.ceil(1 / narrow + 2 * MARGIN)
    points = np.linspace(-MARGIN * narrow, 1 + MARGIN * narrow, steps + 1)
    places = (np.arange(cells) + 0.5) / cells
    heights = np.exp(-(((points[:, None] - places) / narrow) ** 2) / 2)
    table: Integers = np.rint(unit * heights).astype(np.int64)
    table.flags.writeable = False
    return table


def squared_sensitivity(tables: list[Integers]) -> int:
    """A bound on |Psi(x) - Psi(y)|**2 over all pairs of cells, in integers.

    It is |Psi(x)|**2 + |Psi(y)|**2 - 2 Psi(x).Psi(y), and no entry is negative, so at most twice
    the largest square less twice the smallest product; both are products over columns. Opposite
    corners reach it, but for the rounding of the tables.
    """
    largest = math.prod(int((table * table).sum(axis=0).max()) for table in tables)
    return 2 * (largest - math.prod(_least_product(table) for table in tables))


def _least_product(table: Integers) -> int:
    # None is below 0: where the ends do not meet, that is it, and else the table is small.
    if table[:, 0] @ table[:, -1] == 0:
        return 0
    return int((table.T @ table).min())


def spread(matrices: list[Any], array: Any) -> Any:
    """Each matrix applied along its own axis."""
    for axis, matrix in enumerate(matrices):
        array = np.moveaxis(np.tensordot(matrix, array, (1, axis)), 0, axis)
    return array


def smoother(table: Integers) -> Floats:
    """The second convolution, from sums at points to shares of cells.

    Each row is divided so that records spread evenly over the cells come out even: that corrects
    for the kernel beyond the bounds.
    """
    back = table.T.astype(np.float64)
    even: Floats = back @ table.sum(axis=1)
    smoothed: Floats = back / even[:, None]
    return smoothed


def nearest(masses: Floats) -> Floats:
    """Cell masses without negative ones.

    Cutting noise off at 0 leaves too much mass; taking the same from all cells before the cut
    until one is left gives the nearest density in squared distance (Duchi et al. 2008).
    """
    level = 0.0
    if np.maximum(masses, 0).sum() > 1:
        ordered = np.sort(masses, axis=None)[::-1]
        levels = (np.cumsum(ordered) - 1) / np.arange(1, ordered.size + 1)
        level = levels[np.flatnonzero(ordered > levels)[-1]]
    kept: Floats = np.maximum(masses - level, 0)
    return kept


@lru_cache(maxsize=64)
def default_bandwidth(n: int, rho: Fraction, dimensions: int) -> float:
    """The bandwidth with the least expected squared error for a guessed roughness.

    Bias, sampling variance of a kernel estimate and variance of the process, which is
    1 / (rho n**2) times the squared height of the kernel, for a range of one in each column.
    """
    h = np.geomspace(LEAST_BANDWIDTH[dimensions - 1], 1, 1000)
    error = (
        dimensions * ROUGHNESS * h**4
        + (4 * np.pi * h**2) ** (-dimensions / 2) / n
        + (2 * np.pi * h**2) ** -float(dimensions) / (float(rho) * n**2)
    )
    return float(h[np.argmin(error)])
