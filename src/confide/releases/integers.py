"""Cells for a column of whole numbers: each holds equally many of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from confide._types import Floats
from confide.errors import InvalidInput
from confide.lattice import Lattice

LARGEST = 2**40
"""Bounds of whole numbers: between them, halves and the edges of cells are exact floats."""
WORTH = 1.5
"""How much larger the expected error may be if every cell, the last included, is then as wide."""


@dataclass(frozen=True)
class WholeCells:
    """Cells of ``width`` whole numbers each from ``first`` to ``last``.

    Where the width does not divide their number the last cell holds the rest, and is as narrow as
    they are few: a density, which is a share for each whole number, has no dip there.
    """

    first: int
    last: int
    width: int

    @property
    def size(self) -> int:
        """Number of cells."""
        return -(-(self.last - self.first + 1) // self.width)

    @property
    def grid(self) -> Lattice:
        """The lattice that numbers are counted on; its edges lie halfway between whole numbers."""
        low = self.first - 0.5
        return Lattice(low=low, high=low + self.size * self.width, size=self.size)

    @property
    def edges(self) -> Floats:
        """Edges of the cells, the last one just above the last whole number."""
        lower = self.first - 0.5 + self.width * np.arange(self.size, dtype=np.float64)
        return np.append(lower, self.last + 0.5)


def whole_numbers(lattice: Lattice, name: str) -> tuple[int, int]:
    """The first and the last whole number between public bounds."""
    about = f" for the whole numbers of {name!r}" if name else " for whole numbers"
    if lattice.scale != "linear":
        raise InvalidInput(f"a linear scale{about}", f"scale={lattice.scale!r}")
    if max(abs(lattice.low), abs(lattice.high)) > LARGEST:
        raise InvalidInput(
            f"bounds within {LARGEST:,}{about}", f"low={lattice.low:g}, high={lattice.high:g}"
        )
    first, last = math.ceil(lattice.low), math.floor(lattice.high)
    if not first < last:
        raise InvalidInput(
            f"bounds with two or more whole numbers between them{about}",
            f"low={lattice.low:g}, high={lattice.high:g}",
        )
    return first, last


def width_for(count: int, cells: int) -> int:
    """Whole numbers in each of a given number of cells."""
    width = -(-count // cells) if cells <= count else 1
    if -(-count // width) != cells:
        wider = -(-count // width)
        nearest = [wider] if width == 1 else [wider, -(-count // (width - 1))]
        raise InvalidInput(
            f"cells that hold equally many of {count:,} whole numbers",
            f"cells={cells}",
            f"Nearest: {' or '.join(map(str, nearest))}.",
        )
    return width


@lru_cache(maxsize=64)
def default_width(
    count: int, n: int, epsilon: float, *, others: int, most: int, rough: float
) -> int:
    """Whole numbers a cell with the least expected squared error for a guessed roughness.

    The rule of `default_cells`, but without bias where every whole number has its own cell. A
    width that divides their number is preferred if it costs little.

    Parameters
    ----------
    count
        How many whole numbers there are.
    n, epsilon, rough
        As for `default_cells`.
    others
        Cells of the other columns together.
    most
        Cells of this column at most.
    """
    widths = np.unique(-(-count // np.arange(2, min(count, most) + 1)))
    cells = -(-count // widths)
    m = (cells * others).astype(np.float64)
    error = rough * (1 / cells**2 - 1 / count**2) + m / n + 8 * (m / (n * epsilon)) ** 2
    even = count % widths == 0
    if even.any() and error[even].min() <= WORTH * error.min():
        error = np.where(even, error, np.inf)
    return int(widths[np.argmin(error)])
