"""Densities released through sums of a public integer table: series and Bernstein polynomials."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.curves import CellDensity
from confide.lattice import MAX_SIZE, Lattice
from confide.randomness import Entropy
from confide.releases.base import Indices, Recipe, added
from confide.releases.noise import DiscreteLaplace, laplace, sensitivity

Floats = npt.NDArray[np.float64]

UNIT = 2**20
"""Units of the integer tables in one: rounding a record's entry moves it by 2**-21 at most."""
MOST_CELLS = 2048
"""The exact sensitivity looks at every pair of cells, so there are not too many."""


class TableRelease(Recipe):
    """Quantise per record, sum, add exact noise: rounding the sums would break the sensitivity."""

    lattice: Lattice

    @abstractmethod
    def table(self, n: int) -> npt.NDArray[np.int64]:
        """What a record in each cell adds to each sum: rows are sums, columns cells."""

    @abstractmethod
    def _masses(self, coefficients: Floats) -> Floats:
        """Cell masses from the averages of the released sums, negative ones included."""

    @property
    def grid(self) -> Lattice:
        """The lattice that records are put on."""
        given = self.lattice
        size = min(given.size, MOST_CELLS, MAX_SIZE)
        return Lattice(low=given.low, high=given.high, size=size, scale=given.scale)

    @property
    def _places(self) -> Floats:
        """Cell centres in the unit interval."""
        size = self.grid.size
        places: Floats = (np.arange(size) + 0.5) / size
        return places

    def sensitivity(self, n: int) -> int:
        """Sum of absolute changes of the integer sums that one record can cause, at most."""
        return sensitivity(self.table(n))

    def noise(self, n: int) -> DiscreteLaplace:
        """The noise on each integer sum."""
        return laplace(Fraction(self.epsilon), self.sensitivity(n))

    def loss(self, n: int) -> float:
        """The certified loss."""
        return self.noise(n).loss

    def _index(self, values: Any) -> Indices:
        return self.grid.index(values).astype(np.int64)

    def _draw(self, prepared: Indices, entropy: Entropy) -> list[int]:
        n = len(prepared)
        table = self.table(n)
        counts = np.bincount(prepared, minlength=table.shape[1])
        return added(table @ counts, self.noise(n).draw(entropy, len(table)))

    def _finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        coefficients = np.array([value / (n * UNIT) for value in noisy])
        masses = np.maximum(self._masses(coefficients), 0)
        masses = (
            masses / masses.sum() if masses.sum() > 0 else np.full(masses.size, 1 / masses.size)
        )
        facts = {"sums": len(noisy), "noise_sd": self.noise(n).sd / (n * UNIT)}
        facts_of_curve = {"method": self.name, "n": n, "epsilon": self.epsilon, **facts}
        curve = CellDensity((self.grid.edges,), masses, facts=facts_of_curve)
        return {"facts": facts, "curve": curve}
