"""A public partition of a box into cells, for private points of one or more numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.errors import InvalidInput, unquoted
from confide.lattice import LIMIT, MAX_SIZE

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

MAX_AXES = 32


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Equal cells of a box between public bounds, in one dimension or several.

    Points outside the box are told apart from those inside: they are in no cell. A point on a
    border between two cells belongs to the upper one, and the box holds its own surface.

    Parameters
    ----------
    low, high
        Corners of the box, one number an axis, in the units of the data.
    shape
        Number of cells along each axis.

    Examples
    --------
    >>> cells = Cells(low=[0, 0], high=[1, 2], shape=[2, 4])
    >>> cells.size
    8
    >>> cells.index([[0.1, 0.1], [1, 2], [0.5, 3.0]])
    array([ 0,  7, -1])
    """

    low: Sequence[float]
    high: Sequence[float]
    shape: Sequence[int]

    def __post_init__(self) -> None:
        low = tuple(_validate.finite(low=x) + 0.0 for x in _listed(low=self.low))
        high = tuple(_validate.finite(high=x) + 0.0 for x in _listed(high=self.high))
        shape = tuple(_validate.integer(1, MAX_SIZE, shape=x) for x in _listed(shape=self.shape))
        if not len(low) == len(high) == len(shape):
            raise InvalidInput(
                "low, high and shape of one length", f"{len(low)}, {len(high)} and {len(shape)}"
            )
        for a, b in zip(low, high, strict=True):
            if not a < b:
                raise InvalidInput("low < high on every axis", f"low={a:g}, high={b:g}")
            if max(abs(a), abs(b)) > LIMIT:
                raise InvalidInput(f"bounds within {LIMIT:g}", f"low={a:g}, high={b:g}")
        if math.prod(shape) > MAX_SIZE:
            raise InvalidInput(f"at most {MAX_SIZE} cells", str(math.prod(shape)))
        for name, value in (("low", low), ("high", high), ("shape", shape)):
            object.__setattr__(self, name, value)
        if not all((np.diff(edges) > 0).all() for edges in self.edges):
            raise InvalidInput(
                "cells that floating point can tell apart",
                f"{shape} cells between {_validate.shown(low)} and {_validate.shown(high)}",
                "Take fewer cells or a wider range.",
            )

    @property
    def axes(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @cached_property
    def edges(self) -> tuple[Floats, ...]:
        """Cell edges of each axis, ascending."""
        edges = tuple(
            np.linspace(a, b, k + 1)
            for a, b, k in zip(self.low, self.high, self.shape, strict=True)
        )
        for axis in edges:
            axis.flags.writeable = False
        return edges

    @property
    def centers(self) -> Floats:
        """Middle of each cell, one row a cell in the order of their numbers."""
        middles = [(axis[:-1] + axis[1:]) / 2 for axis in self.edges]
        grid = np.meshgrid(*middles, indexing="ij")
        return np.stack([axis.ravel() for axis in grid], axis=1)

    @unquoted("rows of numbers")
    @_validate.steady
    def index(self, points: npt.ArrayLike) -> Numbers:
        """Number of each point's cell, or -1 outside the box.

        Parameters
        ----------
        points
            One row a point; on a single axis a plain list will do.

        Raises
        ------
        InvalidInput
            If a coordinate is not a finite number.
        """
        columns = self._columns(points)
        inside = np.ones(columns.shape[1], dtype=bool)
        number = np.zeros(columns.shape[1], dtype=np.int64)
        for column, edges in zip(columns, self.edges, strict=True):
            inside &= (column >= edges[0]) & (column <= edges[-1])
            at = np.searchsorted(edges[1:-1], column, side="right")
            number = number * (edges.size - 1) + at
        return np.where(inside, number, -1)

    def _columns(self, points: npt.ArrayLike) -> Floats:
        table = _validate.array(points=points)
        if table.ndim == 1 and self.axes == 1:
            table = table[:, None]
        if table.ndim != 2 or table.shape[1] != self.axes:
            raise InvalidInput(f"points of {self.axes} columns", f"shape {table.shape}")
        if isinstance(points, (list, tuple)):
            # A list of truth values and numbers becomes numbers without a word.
            rows = (row if isinstance(row, (list, tuple)) else (row,) for row in points)
            for position, row in enumerate(rows):
                if any(isinstance(x, (bool, np.bool_)) for x in row):
                    raise InvalidInput("numbers in points", f"a bool at position {position}")
        return np.stack([_validate.vector(points=column) for column in table.T])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"low": list(self.low), "high": list(self.high), "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Cells:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("cells as a JSON object", _validate.shown(fields))
        known = ("low", "high", "shape")
        _validate.known_keys(fields, known, "cells")
        for key in known:
            if key not in fields:
                raise InvalidInput(f"the key {key!r} in cells", _validate.shown(list(fields)))
        return cls(**fields)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what it is made of."""
        return {name: getattr(self, name) for name in ("low", "high", "shape")}


def _listed(**named: Any) -> Sequence[Any]:
    """A short list, one entry an axis, of whatever the entries are."""
    ((name, value),) = named.items()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = list(value)
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(f"{name} as a list, one entry an axis", _validate.shown(value))
    if not 1 <= len(value) <= MAX_AXES:
        raise InvalidInput(f"from 1 to {MAX_AXES} axes", f"{len(value)} in {name}")
    return value
