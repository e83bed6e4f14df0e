"""A density as a histogram with noise on its counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from confide import _validate
from confide.curves import CellDensity
from confide.errors import InvalidInput
from confide.lattice import Lattice
from confide.randomness import Entropy
from confide.releases.base import BOUNDS, Indices, Recipe, added, bounded, checked
from confide.releases.noise import DiscreteLaplace, laplace

MOST_CELLS = 2**21
ROUGHNESS = 4.0
"""Public guess of the squared error of a single cell a column, for the default number of cells."""


@dataclass(frozen=True)
class Histogram(Recipe):
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

    lattice: Lattice | Mapping[str, Lattice]
    epsilon: float
    cells: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.lattice, Mapping):
            if not 1 <= len(self.lattice) <= 3:
                raise InvalidInput("one to three columns", str(len(self.lattice)))
            for lattice in self.lattice.values():
                bounded(lattice)
            # A copy of its own, so that what was checked stays as it was.
            object.__setattr__(self, "lattice", dict(self.lattice))
        else:
            bounded(self.lattice)
        checked(self)
        if self.cells is not None:
            most = int(MOST_CELLS ** (1 / len(self._columns)) + 1e-9)
            cells = _validate.integer(2, most, cells=self.cells)
            object.__setattr__(self, "cells", cells)

    @property
    def _columns(self) -> dict[str, Lattice]:
        if isinstance(self.lattice, Lattice):
            return {"": self.lattice}
        return dict(self.lattice)

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        columns = [{"name": name, **each.to_dict()} for name, each in self._columns.items()]
        return {"columns": columns, "epsilon": self.epsilon, "cells": self.cells}

    def size(self, n: int) -> int:
        """Cells a column for n records."""
        return self.cells or default_cells(n, self.epsilon, len(self._columns))

    def grids(self, n: int) -> tuple[Lattice, ...]:
        """The lattices that records are counted on."""
        size = self.size(n)
        return tuple(
            Lattice(low=each.low, high=each.high, size=size, scale=each.scale)
            for each in self._columns.values()
        )

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each count."""
        return laplace(Fraction(self.epsilon), 2)

    def loss(self, n: int) -> float:
        """The certified loss."""
        return self.noise.loss

    def _index(self, values: Any) -> Indices:
        names = list(self._columns)
        if names == [""]:
            columns = [values]
        elif isinstance(values, Mapping) or hasattr(values, "columns"):
            # By name, whatever order a table has them in.
            missing = [name for name in names if name not in values]
            if missing:
                raise InvalidInput(f"a column {missing[0]!r}", "none")
            columns = [values[name] for name in names]
        else:
            table = _validate.array(values=values)
            if table.ndim != 2 or table.shape[1] != len(names):
                raise InvalidInput(
                    f"values of {len(names)} columns", f"shape {table.shape}", BOUNDS
                )
            columns = list(table.T)
        lengths = {len(_validate.vector(values=column)) for column in columns}
        if len(lengths) > 1:
            raise InvalidInput("columns of one length", f"lengths {sorted(lengths)}")
        grids = self.grids(lengths.pop())
        found = [grid.index(column) for grid, column in zip(grids, columns, strict=True)]
        return np.stack(found, axis=1).astype(np.int64)

    def _draw(self, prepared: Indices, entropy: Entropy) -> list[int]:
        shape = tuple(grid.size for grid in self.grids(len(prepared)))
        flat = np.ravel_multi_index(tuple(prepared.T), shape)
        counts = np.bincount(flat, minlength=int(np.prod(shape)))
        return added(counts, self.noise.draw(entropy, counts.size))

    def _finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        grids = self.grids(n)
        shape = tuple(grid.size for grid in grids)
        kept = np.maximum(np.array(noisy, dtype=np.float64), 0).reshape(shape)
        total = kept.sum()
        volumes = np.ones(shape)
        for axis, grid in enumerate(grids):
            widths = grid.widths / (grid.edges[-1] - grid.edges[0])
            volumes *= widths.reshape([-1 if a == axis else 1 for a in range(len(grids))])
        masses = kept / total if total > 0 else volumes / volumes.sum()
        facts = {"cells": list(shape), "noise_sd": self.noise.sd / n}
        curve = CellDensity(
            tuple(grid.edges for grid in grids),
            masses,
            tuple(self._columns),
            {"method": self.name, "n": n, "epsilon": self.epsilon, **facts},
        )
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
