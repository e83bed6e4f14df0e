"""A density as a histogram with noise on its counts, and cells for whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, laplace
from confide.lattice import SIZE, Lattice
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
from confide.releases.noise_intervals import share_interval
from confide.releases.release import Additive, Indices, Noise, Release, Totals, checked

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


MOST_CELLS = 2**21
ROUGHNESS = 20.0
"""Public guess of the squared error of a single cell a column, for the default number of cells."""

FINE = 20
"""Whole numbers a cell from which on one more or less does not show."""


def whole_between(low: float, high: float) -> int:
    """Number of whole numbers from one bound to the other, both included."""
    return math.floor(high) - math.ceil(low) + 1


@dataclass(frozen=True)
class Histogram(Columned, Additive):
    """A histogram of one to three columns.

    One record that changes moves one count down and another up, so the counts have sensitivity 2.
    Noisy counts below 0 become 0 and the rest is scaled to one; if none is left, the density is
    uniform. Noise fills empty cells: clusters and gaps finer than the noise are lost.

    Parameters
    ----------
    lattice
        Public bounds: a lattice, or a mapping of column names to lattices. Their size is not used:
        ``cells`` sets the number of cells. `release` warns if a different size was given.
    epsilon
        The cost of the release.
    cells
        Cells per column; by default from n and epsilon by a public rule.
    integers
        Whether columns hold whole numbers: True for all columns, or the names of some. Each cell
        then holds equally many whole numbers (the last one maybe fewer), so no cell is empty only
        because no whole number falls into it. Decide this from the meaning of the column, never
        from the values: whether they happen to be whole is private. Other values count as the
        nearest whole number.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = Histogram(pay, epsilon=1.0).release([30_000.0, 42_000.0] * 500)
    >>> release.spend
    Spend(epsilon=1)
    >>> ages = Histogram(Lattice(low=17, high=90), epsilon=1.0, integers=True)
    >>> ages.release([30, 42] * 500).facts["integers_per_cell"]
    [2]
    """

    name: ClassVar[str] = "histogram"
    implied: ClassVar[tuple[str, ...]] = ("integers",)

    lattice: Bounds
    _: KW_ONLY
    epsilon: float
    cells: int | None = None
    integers: bool | Sequence[str] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", checked_bounds(self.lattice))
        checked(self)
        columns = named(self.lattice)
        if self.cells is not None:
            cells = _checks.integer(2, self._most, cells=self.cells)
            object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "integers", self._integers(tuple(columns)))
        for name, each in columns.items():
            if self._whole(name):
                first, last = whole_numbers(each, name)
                if self.cells is not None:
                    width_for(last - first + 1, self.cells)

    def _integers(self, columns: tuple[str, ...]) -> bool | tuple[str, ...]:
        """Whether, or which, columns hold whole numbers."""
        given = self.integers
        if isinstance(given, bool):
            return given
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InvalidInput("integers=True, or names of columns", _checks.shown(given))
        for name in given:
            _checks.one_of(columns, integers=name)
        return tuple(name for name in columns if name in given)

    def _whole(self, name: str) -> bool:
        return self.integers if isinstance(self.integers, bool) else name in self.integers

    @property
    def _most(self) -> int:
        """Cells a column at most."""
        return int(MOST_CELLS ** (1 / len(named(self.lattice))) + 1e-9)

    def made_of(self) -> dict[str, Any]:
        """The fields; integers only where they say something, as releases of before had none."""
        fields = super().made_of()
        whole = fields.pop("integers")
        if not whole:
            return fields
        return {**fields, "integers": whole if isinstance(whole, bool) else list(whole)}

    def size(self, n: int) -> int:
        """Cells a column for n records, unless it holds whole numbers."""
        return self.cells or default_cells(n, self.epsilon, len(named(self.lattice)))

    def whole(self, n: int) -> tuple[WholeCells | None, ...]:
        """The cells of each column of whole numbers, None for other columns."""
        columns = named(self.lattice)
        others = self.size(n) ** (len(columns) - 1)
        found: list[WholeCells | None] = []
        for name, each in columns.items():
            if not self._whole(name):
                found.append(None)
                continue
            first, last = whole_numbers(each, name)
            count = last - first + 1
            if self.cells is None:
                width = default_width(
                    count, n, self.epsilon, others=others, most=self._most, rough=ROUGHNESS
                )
            else:
                width = width_for(count, self.cells)
            found.append(WholeCells(first, last, width))
        return tuple(found)

    def aligned(self, n: int) -> Histogram:
        """The histogram with cells of equally many whole numbers where that costs fractions little.

        Decided from the bounds, n and epsilon alone, which are public: there must be whole numbers
        enough between the bounds to tell about as much apart as the histogram could otherwise, and
        so few that one more or less in a cell would show.

        Parameters
        ----------
        n
            Number of records.
        """
        if self.cells is not None:
            return self
        columns = named(self.lattice)
        size = self.size(n)
        found = []
        for (name, lattice), whole in zip(columns.items(), self.whole(n), strict=True):
            between = whole_between(lattice.low, lattice.high)
            if whole or (lattice.scale == "linear" and size / 2 <= between < FINE * size):
                found.append(name)
        return replace(self, integers=bool(found) if list(columns) == [""] else found)

    def grids(self, n: int) -> tuple[Lattice, ...]:
        """The lattices that records are counted on."""
        size = self.size(n)
        return tuple(
            resized(each, size) if whole is None else whole.grid
            for whole, each in zip(self.whole(n), named(self.lattice).values(), strict=True)
        )

    def _advice(self, n: int) -> str:
        """Where a lattice came with a size of its own, which is not used."""
        for grid, each in zip(self.grids(n), named(self.lattice).values(), strict=True):
            if self.cells is None and each.size not in (SIZE, grid.size):
                return (
                    f"The histogram has {grid.size} cells, which suits n and epsilon, and not the "
                    f"{each.size} of its lattice, of which it takes the bounds only: give "
                    f"cells={each.size} for those, or a lattice without a size."
                )
        return ""

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each count."""
        return laplace(exact(self.epsilon), 2)

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all counts."""
        return (self.noise,)

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The lattices that records are put on."""
        return dict(zip(named(self.lattice), self.grids(n), strict=True))

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values."""
        columns = split(self.lattice, values)
        return indexed(self.grids(columns[0].size), columns)

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The counts."""
        return [counted(self.grids(len(prepared)), prepared).ravel()]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""
        grids = self.grids(n)
        shape = tuple(grid.size for grid in grids)
        kept = np.maximum(np.array(noisy, dtype=np.float64), 0).reshape(shape)
        facts = {"cells": list(shape), "noise_sd": self.noise.sd / n}
        whole = self.whole(n)
        if any(whole):
            facts["integers_per_cell"] = [each.width if each else None for each in whole]
        edges = [
            each.edges if each else grid.edges for each, grid in zip(whole, grids, strict=True)
        ]
        curve = cell_density(self.lattice, edges, kept, {**self._facts(n), **facts})
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


def shares(release: Release, *, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """The share of the population in each cell of a released histogram, with its interval.

    It costs nothing more: it follows from what was released. The records are a sample of the
    population; an interval holds sampling and privacy noise, and inverts their exact law for its
    cell alone. Of many cells some intervals miss: a level of 95 % is that of each.

    Parameters
    ----------
    release
        What `Histogram.release` gave.
    level
        Confidence level.

    Returns
    -------
    tuple
        Estimates, and lower and upper ends, in the shape of the cells. Estimates are cut to 0 and
        1 and do not sum to one exactly: those of ``release.curve`` do.

    Examples
    --------
    >>> pay = Lattice(low=0, high=100_000)
    >>> release = Histogram(pay, epsilon=1.0, cells=4).simulate([30_000.0, 42_000.0] * 500, seed=1)
    >>> estimate, low, high = shares(release)
    >>> bool(low[1] < 1.0 == high[1]), bool(high[3] < 0.03)
    (True, True)
    """
    if not isinstance(release, Release) or release.spec.get("release") != Histogram.name:
        raise InvalidInput("the release of a Histogram", _checks.shown(type(release)))
    level = _checks.level(level)
    n = int(release.spec["n"])
    fields = {key: value for key, value in release.spec.items() if key not in ("version", "n")}
    recipe = Histogram.from_dict(fields)
    counts = np.array(release.noisy, dtype=np.int64)
    ends = np.array([share_interval(int(count), n, recipe.noise, level) for count in counts])
    assert release.curve is not None
    shape = release.curve.cells.masses.shape
    estimate = np.clip(counts / n, 0, 1)
    low, high = ends.T
    return estimate.reshape(shape), low.reshape(shape), high.reshape(shape)
