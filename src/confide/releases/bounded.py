"""One to three columns of values, each with public bounds of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.curves import CellDensity
from confide.errors import InvalidInput
from confide.lattice import Axis, Lattice, axes_from_list, listed_axes
from confide.mechanisms.protocol import NONE, Kinds
from confide.releases.release import Indices, Recipe, bounded

Bounds = Lattice | Mapping[str, Lattice]


class Columned(Recipe):
    """A release of one to three columns, which are a list in JSON in place of a lattice."""

    lattice: Bounds

    @classmethod
    def json_keys(cls) -> tuple[str, ...]:
        """The fields, with columns for the lattice."""
        return tuple("columns" if key == "lattice" else key for key in super().json_keys())

    def made_of(self) -> dict[str, Any]:
        """The fields, with names and bounds of the columns."""
        fields = {key: getattr(self, key) for key in self.json_keys() if key != "columns"}
        return {"columns": described(self.lattice), **fields}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        fields = {key: value for key, value in made.items() if key != "columns"}
        make: Callable[..., Self] = cls
        return make(lattice=read_columns(made["columns"]), **fields)


def read_columns(given: Any) -> Bounds:
    """The inverse of `described`."""
    found = {name: bounded(axis) for name, axis in axes_from_list(given).items()}
    return found[""] if list(found) == [""] else found


def checked_bounds(lattice: Any) -> Bounds:
    """A lattice, or a mapping of one to three names to lattices, as a copy that nobody changes."""
    if isinstance(lattice, (list, tuple)):
        raise InvalidInput(
            "public bounds of several columns as a dict of lattices by name",
            _checks.kind(lattice),
            "Such as {'age': Lattice(low=0, high=100), 'cost': Lattice(low=0, high=50_000)}.",
        )
    if not isinstance(lattice, Mapping):
        return bounded(lattice)
    if not 1 <= len(lattice) <= 3:
        raise InvalidInput("one to three columns", str(len(lattice)))
    return {name: bounded(each) for name, each in lattice.items()}


def named(lattice: Bounds) -> dict[str, Lattice]:
    """Lattices by the names of their columns; a single number has the name ""."""
    return {"": lattice} if isinstance(lattice, Lattice) else dict(lattice)


def described(lattice: Bounds) -> list[dict[str, Any]]:
    """Names and bounds, as plain values for JSON."""
    return listed_axes(named(lattice))


@lru_cache(maxsize=256)
def resized(lattice: Lattice, size: int) -> Lattice:
    """A lattice with the same bounds and scale, and this number of cells."""
    return replace(lattice, size=size)


def split(columns: Axis | Mapping[str, Axis], values: Any) -> list[npt.NDArray[Any]]:
    """The columns of the values, all of one length: numbers, or words as they came."""
    axes = dict(columns) if isinstance(columns, Mapping) else {"": columns}
    names = list(axes)
    if names == [""]:
        found = [values]
    elif isinstance(values, Mapping) or hasattr(values, "columns"):
        # By name, in any order of the table's columns.
        missing = [name for name in names if name not in values]
        if missing:
            raise InvalidInput(f"a column {missing[0]!r}", "none")
        found = [values[name] for name in names]
    else:
        table = _checks.array(values=values)
        if table.ndim != 2 or table.shape[1] != len(names):
            several = ", ".join(f"{name!r}: [...]" for name in names[:3])
            raise InvalidInput(
                f"values of {len(names)} columns, by name or one row a record",
                f"an array of shape {table.shape}",
                f"Give a dict: {{{several}{', ...' * (len(names) > 3)}}}.",
            )
        found = list(table.T)
    arrays = [
        _checks.vector(values=column) if isinstance(axis, Lattice) else _checks.array(values=column)
        for column, axis in zip(found, axes.values(), strict=True)
    ]
    lengths = {column.size for column in arrays}
    if len(lengths) > 1:
        raise InvalidInput("columns of one length", f"lengths {sorted(lengths)}")
    return arrays


def indexed(grids: Sequence[Axis], columns: Sequence[npt.NDArray[Any]]) -> Indices:
    """Cell numbers, one row a record and one column a lattice or list of words."""
    found = [grid.index(column) for grid, column in zip(grids, columns, strict=True)]
    return np.stack(found, axis=1).astype(np.int64)


def counted(grids: Sequence[Axis], indices: Indices) -> npt.NDArray[np.int64]:
    """Number of records in each cell, one axis per column."""
    shape = tuple(grid.size for grid in grids)
    flat = np.ravel_multi_index(tuple(indices.T), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def cell_density(
    lattice: Bounds, edges: Sequence[Floats], kept: Floats, facts: Mapping[str, Any]
) -> CellDensity:
    """The density with cell masses in proportion to what was kept; uniform if that is nothing."""
    total = kept.sum()
    if total <= 0:
        kept = np.ones(())
        for line in edges:
            kept = np.multiply.outer(kept, np.diff(line) / (line[-1] - line[0]))
        total = kept.sum()
    return CellDensity(tuple(edges), kept / total, names=tuple(named(lattice)), facts=facts)
