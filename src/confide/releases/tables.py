"""Densities released through sums of a public integer table: series and Bernstein polynomials."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.accounting import exact
from confide.lattice import Lattice
from confide.randomness import Entropy
from confide.releases._columns import Bounds, cell_density, counted, indexed, named, split
from confide.releases.additive import Additive, Noise, Totals
from confide.releases.base import Indices
from confide.releases.noise import DiscreteLaplace, laplace, sensitivity

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

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
        """What a record in each cell of a column adds: rows are sums, columns cells."""

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
        return tuple(
            Lattice(low=each.low, high=each.high, size=self.cells, scale=each.scale)
            for each in named(self.lattice).values()
        )

    def sensitivity(self, n: int) -> int:
        """Sum of absolute changes of the integer sums that one record can cause, at most."""
        return sensitivity(self.table(n))

    def noise(self, n: int) -> DiscreteLaplace:
        """The noise on each integer sum."""
        return laplace(exact(self.epsilon), self.sensitivity(n))

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The same for all sums."""
        return (self.noise(n),)

    def _index(self, values: Any) -> Indices:
        return indexed(self.grids, split(self.lattice, values))

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """What the records add, in all."""
        sums, table = counted(self.grids, prepared), self.table(len(prepared))
        for _ in range(self._dimensions):
            # Over the first axis, with the sums as the last one: after a turn of each, in order.
            sums = np.tensordot(sums, table, axes=(0, 1))
        return [sums.ravel()]

    def _finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
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
