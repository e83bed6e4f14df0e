"""A density as a histogram with noise on its counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from confide import _validate
from confide.accounting import exact
from confide.lattice import Lattice
from confide.randomness import Entropy
from confide.releases._columns import (
    Bounds,
    cell_density,
    checked_bounds,
    counted,
    described,
    indexed,
    named,
    split,
)
from confide.releases.additive import Additive, Noise, Totals
from confide.releases.base import Indices, checked
from confide.releases.noise import DiscreteLaplace, laplace

MOST_CELLS = 2**21
ROUGHNESS = 20.0
"""Public guess of the squared error of a single cell a column, for the default number of cells."""


@dataclass(frozen=True)
class Histogram(Additive):
    """A histogram of one to three columns.

    One record that changes moves one count down and another up, so the counts have sensitivity 2.
    Noisy counts below 0 become 0 and the rest is scaled to one; if none is left, the density is
    uniform. Noise fills empty cells: clusters and gaps finer than the noise are lost.

    Parameters
    ----------
    lattice
        Public bounds: a lattice, or a mapping of column names to lattices.
    epsilon
        What the release costs.
    cells
        Cells a column, instead of the lattice's own; by default a public rule from n and epsilon.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = Histogram(pay, epsilon=1.0).release([30_000.0, 42_000.0] * 500)
    >>> release.spend
    Spend(epsilon=1)
    """

    name: ClassVar[str] = "histogram"

    lattice: Bounds
    epsilon: float
    cells: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", checked_bounds(self.lattice))
        checked(self)
        if self.cells is not None:
            most = int(MOST_CELLS ** (1 / len(named(self.lattice))) + 1e-9)
            cells = _validate.integer(2, most, cells=self.cells)
            object.__setattr__(self, "cells", cells)

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        return {
            "columns": described(self.lattice),
            "epsilon": self.epsilon,
            "cells": self.cells,
        }

    def size(self, n: int) -> int:
        """Cells a column for n records."""
        return self.cells or default_cells(n, self.epsilon, len(named(self.lattice)))

    def grids(self, n: int) -> tuple[Lattice, ...]:
        """The lattices that records are counted on."""
        size = self.size(n)
        return tuple(
            Lattice(low=each.low, high=each.high, size=size, scale=each.scale)
            for each in named(self.lattice).values()
        )

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each count."""
        return laplace(exact(self.epsilon), 2)

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The same for all counts."""
        return (self.noise,)

    def _index(self, values: Any) -> Indices:
        columns = split(self.lattice, values)
        return indexed(self.grids(columns[0].size), columns)

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The counts."""
        return [counted(self.grids(len(prepared)), prepared).ravel()]

    def _finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        grids = self.grids(n)
        shape = tuple(grid.size for grid in grids)
        kept = np.maximum(np.array(noisy, dtype=np.float64), 0).reshape(shape)
        facts = {"cells": list(shape), "noise_sd": self.noise.sd / n}
        curve = cell_density(self.lattice, grids, kept, {**self._facts(n), **facts})
        return {"facts": facts, "curve": curve}


@lru_cache(maxsize=64)
def default_cells(n: int, epsilon: float, columns: int) -> int:
    """Cells a column with the least expected squared error for a guessed roughness.

    Bias falls with the square of a cell's width; sampling adds m/n and noise
    8 m**2 / (n epsilon)**2 for m cells in all. Without noise that is m ~ n**(d/(2+d)), the
    minimax choice.
    """
    k = np.arange(2, min(int(MOST_CELLS ** (1 / columns)), 2**16) + 1, dtype=np.float64)
    m = k**columns
    error = columns * ROUGHNESS / k**2 + m / n + 8 * (m / (n * epsilon)) ** 2
    return int(k[np.argmin(error)])
