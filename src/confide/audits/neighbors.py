"""Neighboring data sets of a release, and the results of its own code on them.

A data set is an array of whole numbers: which spot each record lies at, a spot being a row of
values. In a family any two data sets are neighbors: they differ in one record, the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.lattice import Axis, Categories, Lattice
from confide.releases.choice import Choice
from confide.releases.release import Recipe

Spots = npt.NDArray[np.float64]
Data = npt.NDArray[np.int64]

FEW = 4
"""All data sets of up to so many records are tried, at as many spots or fewer."""
SPOTS = 16
"""Spots that every choice is tried at, at most."""
RECORDS = 2**23
"""Records in all these data sets of many records together, at most."""
MOST_CROSSED = 6
"""Columns whose spots are all crossed with each other, at most."""
NUMBERS = 2**22
"""Numbers that all these data sets of one size are made into, at most."""


def spots(recipe: Recipe, n: int, most: int) -> Spots:
    """Up to ``most`` cells a column of those that n records are put into, the ends included."""
    columns: list[Any] = []
    for cells in recipe.lattices(n).values():
        some = np.linspace(0, cells.size - 1, min(cells.size, most)).astype(np.int64)
        columns.append(_at(cells, some))
    if len(columns) > MOST_CROSSED:
        return _together(columns, most)
    return np.array(list(product(*columns or [[0.0, 1.0]])))


def _at(cells: Axis, some: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Values in cells; for words their numbers, which `values_of` turns into words."""
    return cells.position(some) if isinstance(cells, Lattice) else some.astype(np.float64)


def across(axis: Axis, n: int) -> npt.NDArray[Any]:
    """So many values from bound to bound, or words one after the other."""
    if isinstance(axis, Categories):
        return np.array(axis.labels)[np.arange(n) % axis.size]
    return np.linspace(axis.low, axis.high, n)


def _together(columns: list[Any], most: int) -> Spots:
    """Of many columns: all from end to end together, and every other one the other way around."""
    longest = max(map(len, columns))
    picked = [each[np.linspace(0, len(each) - 1, longest).astype(np.int64)] for each in columns]
    table = np.array(picked).T
    crossed = np.array([each[:: -1 if at % 2 else 1] for at, each in enumerate(picked)]).T
    # Of two rows the ends are worth more than what lies between.
    return np.concatenate([table, crossed[[0, -1]]]) if most > 2 else table[[0, -1]]


def near_spots(recipe: Choice, n: int) -> Spots:
    """Up to `SPOTS` cells of the finest candidate, next to each other in part, ends included.

    Two cells of one candidate that are one cell of another tell the two apart. Of very many records
    there are fewer.
    """
    spots = min(SPOTS, max(FEW, math.isqrt(RECORDS // n)))
    finest = max(
        (list(each.lattices(n).values()) for each in recipe.candidates),
        key=lambda several: math.prod(cells.size for cells in several),
    )
    most = max(3, int(spots ** (1 / len(finest))))
    columns = []
    for cells in finest:
        last = cells.size - 1
        first = np.arange(last) if last < most else np.linspace(0, last - 1, most // 2)
        some = np.unique([*first.astype(np.int64), *first.astype(np.int64) + 1, last])
        columns.append(_at(cells, some))
    found = np.array(list(product(*columns)))
    return found[np.linspace(0, len(found) - 1, min(len(found), spots)).astype(np.int64)]


def few_spots(recipe: Recipe, n: int, numbers: int = 1) -> Spots:
    """Some of the corners and cells between, few enough to try all data sets of a few records.

    Parameters
    ----------
    recipe
        The release.
    n
        Number of records.
    numbers
        How many numbers a data set is made into.
    """
    corners = spots(recipe, n, 2)
    found = spots(recipe, n, FEW) if corners.shape[1] == 1 else corners
    most = max(2, min(FEW, int((NUMBERS / numbers) ** (1 / min(n, FEW)))))
    return found[np.linspace(0, len(found) - 1, min(len(found), most)).astype(np.int64)]


def values_of(recipe: Recipe, rows: Spots) -> Any:
    """Rows of values as the release takes them: a column alone, or columns by name."""
    axes = recipe.lattices(len(rows))
    columns = dict(zip(list(axes) or [""], rows.T, strict=True))
    for name, axis in axes.items():
        if isinstance(axis, Categories):
            columns[name] = np.array(axis.labels)[columns[name].astype(int)]
    return columns.get("", columns)


def ready(recipe: Recipe, places: Spots, data: Data) -> Any:
    """A data set as the release's own code prepares it, from the raw values on."""
    return recipe.prepare(recipe.admitted(values_of(recipe, places[data])), lambda _: None)


def all_families(count: int, n: int) -> Iterator[list[Data]]:
    """All data sets of n records at so many spots, by the record that changes."""
    for at in range(n):
        for others in product(range(count), repeat=n - 1):
            yield [np.array([*others[:at], spot, *others[at:]]) for spot in range(count)]


def like_families(spots: int, others: list[int], n: int) -> Iterator[list[Data]]:
    """Data sets of n records that lie at one spot, all but the last, which lies anywhere."""
    for other in others:
        yield [np.append(np.full(n - 1, other), spot) for spot in range(spots)]


def remembered(made: Callable[[Data], Any]) -> Callable[[Data], Any]:
    """Wrap a function so that it runs once for each small data set."""
    kept: dict[bytes, Any] = {}

    def look(data: Data) -> Any:
        if data.size > FEW:
            return made(data)
        key = data.tobytes()
        if key not in kept:
            kept[key] = made(data)
        return kept[key]

    return look
