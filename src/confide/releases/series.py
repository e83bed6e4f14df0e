"""Densities released through sums of a public integer table: series and Bernstein polynomials."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide._types import Floats, Integers
from confide.accounting.spend import exact
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, laplace, sensitivity
from confide.lattice import Lattice
from confide.releases.bounded import (
    Bounds,
    cell_density,
    counted,
    indexed,
    named,
    resized,
    split,
)
from confide.releases.release import Additive, Indices, Noise, Totals, bounded, checked

UNIT = 2**20
"""Units of a record's entry in one: rounding moves an entry by 2**-21 at most in one column."""
MOST_CELLS = (1024, 128)
"""Cells a column for one and for two columns: the exact sensitivity looks at every pair of them."""


class TableRelease(Additive):
    """Quantise per record, sum, add exact noise: rounding the sums would break the sensitivity.

    With two columns a record adds the product of its two columns' entries.
    """

    lattice: Bounds

    @abstractmethod
    def table(self, n: int) -> Integers:
        """Contribution of a record in each cell: rows are sums, columns are cells."""

    @abstractmethod
    def _masses(self, coefficients: Floats, n: int) -> Floats:
        """Cell masses from the averages of the released sums, negative ones included."""

    @property
    def _dimensions(self) -> int:
        return len(named(self.lattice))

    @property
    def unit(self) -> int:
        """Units of the table of one column in one; those of all columns multiply to UNIT."""
        return 1 << (UNIT.bit_length() - 1) // self._dimensions

    @property
    def cells(self) -> int:
        """Cells a column."""
        sizes = (each.size for each in named(self.lattice).values())
        return min(MOST_CELLS[self._dimensions - 1], *sizes)

    @property
    def grids(self) -> tuple[Lattice, ...]:
        """The lattices that records are put on."""
        return tuple(resized(each, self.cells) for each in named(self.lattice).values())

    def sensitivity(self, n: int) -> int:
        """Sum of absolute changes of the integer sums that one record can cause, at most."""
        return sensitivity(self.table(n))

    def noise(self, n: int) -> DiscreteLaplace:
        """The noise on each integer sum."""
        return laplace(exact(self.epsilon), self.sensitivity(n))

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all sums."""
        return (self.noise(n),)

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The lattices that records are put on."""
        return dict(zip(named(self.lattice), self.grids, strict=True))

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values."""
        return indexed(self.grids, split(self.lattice, values))

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The sums over all records."""
        sums, table = counted(self.grids, prepared), self.table(len(prepared))
        for _ in range(self._dimensions):
            # Over the first axis, with the sums as the last one: after a turn of each, in order.
            sums = np.tensordot(sums, table, axes=(0, 1))
        return [sums.ravel()]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""
        shape = (len(self.table(n)),) * self._dimensions
        coefficients = np.array([value / (n * UNIT) for value in noisy]).reshape(shape)
        kept = np.maximum(self._masses(coefficients, n), 0)
        facts = {"sums": len(noisy), "noise_sd": self._noise_sd(n)}
        edges = [grid.edges for grid in self.grids]
        curve = cell_density(self.lattice, edges, kept, {**self._facts(n), **facts})
        return {"facts": facts, "curve": curve}

    def _noise_sd(self, n: int) -> float:
        """Standard deviation of the noise on an average."""
        return self.noise(n).sd / (n * UNIT)


MOST_TERMS = 256
ROUGHNESS = 3000.0
"""Public guess of the squared bias of a single term, for the default number of terms."""


@dataclass(frozen=True)
class Series(TableRelease):
    """A density by its first cosine coefficients.

    Blocks of coefficients that cannot be told from noise are shrunk towards 0 (James and Stein).

    Parameters
    ----------
    lattice
        Public bounds and cells; the series lives on the lattice's own scale.
    epsilon
        What the release costs.
    terms
        Number of coefficients; by default a public rule from n and epsilon.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = Series(pay, epsilon=1.0).release([30_000.0, 42_000.0] * 500)
    >>> release.curve.sample(3).shape
    (3,)
    """

    name: ClassVar[str] = "series"

    lattice: Lattice
    _: KW_ONLY
    epsilon: float
    terms: int | None = None

    def __post_init__(self) -> None:
        bounded(self.lattice)
        checked(self)
        if self.terms is not None:
            most = min(MOST_TERMS, self.cells - 1)
            object.__setattr__(self, "terms", _checks.integer(1, most, terms=self.terms))

    def size(self, n: int) -> int:
        """Number of coefficients released for n records."""
        return self.terms or min(default_terms(n, self.epsilon), self.cells - 1)

    def table(self, n: int) -> Integers:
        """Integer cosines of each cell."""
        return integer_waves(self.size(n), self.cells, self.unit)

    def _masses(self, coefficients: Floats, n: int) -> Floats:
        orders = np.arange(1, coefficients.size + 1)
        # The mean of a cosine over a cell is its value at the center times a sinc.
        damped = shrunk(coefficients, self._noise_sd(n) ** 2 + 1 / n)
        damped *= np.sinc(orders / (2 * self.cells))
        masses: Floats = (1 + damped @ waves(coefficients.size, self.cells)) / self.cells
        return masses


def waves(terms: int, cells: int) -> Floats:
    """Cosines of the first orders at the centers of equal cells of the unit interval."""
    orders = np.arange(1, terms + 1)[:, None]
    found: Floats = np.sqrt(2) * np.cos(np.pi * orders * (np.arange(cells) + 0.5) / cells)
    return found


@lru_cache(maxsize=16)
def integer_waves(terms: int, cells: int, unit: int) -> Integers:
    """Like `waves`, rounded to whole units."""
    table: Integers = np.rint(unit * waves(terms, cells)).astype(np.int64)
    table.flags.writeable = False
    return table


def shrunk(coefficients: Floats, variance: float) -> Floats:
    """Noisy coefficients times the share of each block's size that is not noise.

    Blocks grow with the order, as in Efromovich (1985) and Cai (1999).
    """
    result = coefficients.copy()
    start = 0
    while start < result.size:
        block = result[start : start + 1 + start // 3]
        size = float(block @ block)
        block *= max(0.0, 1 - block.size * variance / size) if size > 0 else 0.0
        start += block.size
    return result


def default_terms(n: int, epsilon: float) -> int:
    """The number of terms with the least expected squared error for a guessed roughness."""
    m = np.arange(1, MOST_TERMS + 1)
    # About 1.8 m in units of 1/n is the L1 sensitivity of m cosines.
    error = ROUGHNESS / m**4.0 + m / n + 2 * m * (1.8 * m / (n * epsilon)) ** 2
    return int(m[np.argmin(error)])
