"""Lattices: public grids that turn values into cell numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import BadSetting, InvalidInput, unquoted

Indices = npt.NDArray[np.int32]

SIZE = 1024
MAX_SIZE = 2**20
CHUNK = 2**18
LIMIT = 1e150
"""Bounds stay where ratios and squares of them are still finite floats."""
FEWEST = 20
"""Cells of a zoomed lattice, at least: one or more on each side of the zoom."""
WHOLE = 2.0**50
"""Bounds of whole numbers stay where floats hold them, and what lies between, exactly."""
LINEAR, LOG, ZOOM = "linear", "log", "zoom"
"""Scales of a lattice."""
INSIDE = 0.9
"""Share of the cells of a zoomed lattice that lie inside its zoom."""
NUMBER, POINTS, INTEGER = "number", "points", "integer"
"""Kinds of numbers that a lattice can hold."""
KINDS = (NUMBER, POINTS, INTEGER)
DOUBT = 1e-6
"""Cells from an edge within which logarithms are compared by `portable_log`. Two logarithms that
are right to four units in the last digit place a value within MAX_SIZE 2**-49 = 2e-9 cells."""
SQRT2, LN2 = 1.4142135623730951, 0.6931471805599453


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Cells of equal width between two public bounds.

    A value is clipped to the bounds and becomes the number of its cell, 0 .. size-1. Bounds are
    public: choose them from common knowledge, never from the data.

    Parameters
    ----------
    low, high
        Bounds, in the units of the values.
    size
        Number of cells; for whole numbers the largest number of cells.
    scale
        ``"linear"``, ``"log"`` for cells of equal width in the logarithm, or ``"zoom"``.
    kind
        ``"number"``, ``"points"`` or ``"integer"``.

        Points are ``size`` numbers at equal distances, including both bounds. Use them if many
        people answer a bound or a round number: such answers are then exact. A value becomes its
        nearest point; a value halfway between two points becomes the upper one. Edges lie halfway
        between points, the outermost half a step outside the bounds.

        With whole numbers (``"integer"``) each cell holds equally many, as few as ``size`` cells
        allow: one if there are at most ``size``. Edges lie halfway between whole numbers, and both
        bounds are inside. If the whole numbers do not divide evenly, the last cell holds fewer.
    zoom
        With the scale ``"zoom"``, two numbers between the bounds. Nine tenths of the cells lie
        between them, and the others outside, equally wide on each side. The bounds do not change,
        so values are clipped as before.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000, size=1024)
    >>> pay.index([0, 150_000, 1e9])
    array([   0,  512, 1023], dtype=int32)
    >>> days = Lattice(low=0, high=60, kind="integer")
    >>> days.size, days.index([0, 59, 60, 75])
    (61, array([ 0, 59, 60, 60], dtype=int32))
    >>> rent = Lattice(low=0, high=2_000, size=41, kind="points")
    >>> rent.centers[[0, 1, -1]], rent.index([0, 50, 74, 75, 2_000])
    (array([   0.,   50., 2000.]), array([ 0,  1,  1,  2, 40], dtype=int32))
    >>> close = Lattice(low=0, high=100, size=20, scale="zoom", zoom=(30, 40))
    >>> close.edges[[0, 1, 2, 3, 18, 19, 20]].tolist()
    [0.0, 30.0, 30.555555555555557, 31.11111111111111, 39.44444444444444, 40.0, 100.0]
    """

    low: float
    high: float
    size: int = SIZE
    scale: str = LINEAR
    kind: str = NUMBER
    zoom: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        # Adding 0 turns -0 into 0: equal lattices must have equal fingerprints.
        low, high = _checks.finite(low=self.low) + 0.0, _checks.finite(high=self.high) + 0.0
        if not low < high:
            raise InvalidInput("low < high", f"low={low:g}, high={high:g}")
        if max(abs(low), abs(high)) > LIMIT:
            raise InvalidInput(f"bounds within {LIMIT:g}", f"low={low:g}, high={high:g}")
        _checks.one_of((LINEAR, LOG, ZOOM), scale=self.scale)
        if self.scale == LOG and low < 1 / LIMIT:
            raise InvalidInput("low > 0 on a log scale", f"low={low:g}")
        size = _checks.integer(2, MAX_SIZE, size=self.size)
        _checks.one_of(KINDS, kind=self.kind)
        if self.kind != NUMBER and self.scale != LINEAR:
            raise InvalidInput(f"a linear scale for kind={self.kind!r}", f"scale={self.scale!r}")
        for name, value in (("low", low), ("high", high)):
            object.__setattr__(self, name, value)
        if self.kind == INTEGER:
            size = self._shared(size)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "zoom", self._zoomed())
        if not np.all(np.diff(self.edges) > 0):
            raise InvalidInput(
                "cells that floating point can tell apart",
                f"{size} cells between {low!r} and {high!r}",
                "Take fewer cells or a wider range.",
            )

    def _shared(self, size: int) -> int:
        """How many cells whole numbers fill: they are shared out evenly, the last cell excepted."""
        low, high = self.low, self.high
        if not (low.is_integer() and high.is_integer() and max(abs(low), abs(high)) <= WHOLE):
            raise InvalidInput(
                f"bounds of whole numbers that are whole numbers within {WHOLE:g}",
                f"low={low:g}, high={high:g}",
            )
        count = int(high) - int(low) + 1
        each = -(-count // size)
        return -(-count // each)

    def _zoomed(self) -> tuple[float, float] | None:
        """The zoom as floats, checked."""
        if (self.zoom is None) == (self.scale == ZOOM):
            raise InvalidInput(
                'zoom = [from, to] with scale = "zoom", and only then',
                "one of them without the other",
            )
        if self.zoom is None:
            return None
        if not isinstance(self.zoom, Sequence) or isinstance(self.zoom, str) or len(self.zoom) != 2:
            raise InvalidInput("two numbers in zoom", _checks.shown(self.zoom))
        start, end = (_checks.finite(zoom=each) + 0.0 for each in self.zoom)
        if not self.low <= start < end <= self.high or end - start >= self.high - self.low:
            raise InvalidInput(
                f"a zoom inside of the bounds {self.low:g} and {self.high:g}, and narrower",
                f"zoom = [{start:g}, {end:g}]",
            )
        if self.size < FEWEST:
            raise InvalidInput(f"at least {FEWEST} cells with a zoom", f"size={self.size}")
        return start, end

    @cached_property
    def pieces(self) -> tuple[tuple[float, float, int, int], ...]:
        """Stretches of equal cells: from, to, the number of the first cell, how many cells.

        A zoom has up to three, all others have one.
        """
        if self.zoom is None:
            return ((self.low, self.high, 0, self.size),)
        start, end = self.zoom
        left, right = start - self.low, self.high - end
        counts = [
            # Half is rounded up: a device in another language must find the same number.
            max(1, math.floor((1 - INSIDE) * self.size * (side / (left + right)) + 0.5))
            if side > 0
            else 0
            for side in (left, right)
        ]
        inside = self.size - sum(counts)
        whole = (
            (self.low, start, 0, counts[0]),
            (start, end, counts[0], inside),
            (end, self.high, counts[0] + inside, counts[1]),
        )
        return tuple(piece for piece in whole if piece[3])

    @property
    def step(self) -> float:
        """Width of a cell, on a linear scale; the last cell of whole numbers may be narrower."""
        if self.kind != INTEGER:
            return (self.high - self.low) / (self.size - (self.kind == POINTS))
        return float(-(-(int(self.high) - int(self.low) + 1) // self.size))

    @cached_property
    def edges(self) -> Floats:
        """The size + 1 cell edges, ascending; of points and whole numbers halfway between them."""
        edges = self.position(np.arange(self.size + 1) - 0.5, exact=True)
        if self.kind == INTEGER:
            edges[-1] = self.high + 0.5
        edges.flags.writeable = False
        return edges

    @property
    def uneven(self) -> bool:
        """Whether the last cell holds fewer whole numbers than the others."""
        return self.kind == INTEGER and bool(self.widths[-1] < self.step)

    @property
    def centers(self) -> Floats:
        """Midpoint of each cell: its point, or the mean of the whole numbers that it holds."""
        if self.kind == POINTS:
            return self.position(np.arange(self.size))
        edges = self.edges
        return (edges[:-1] + edges[1:]) / 2

    @property
    def spreads(self) -> Floats:
        """Variance of values that are spread evenly inside each cell; none of points."""
        if self.kind == POINTS:
            return np.zeros(self.size)
        return (self.widths**2 - (self.kind == INTEGER)) / 12

    @property
    def widths(self) -> Floats:
        """Width of each cell."""
        return np.diff(self.edges)

    @unquoted("numbers")
    @_checks.steady
    def index(self, values: npt.ArrayLike) -> Indices:
        """Cell number of each value; values outside the bounds go to the end cells.

        Raises
        ------
        InvalidInput
            If a value is not a finite number, or not whole where numbers are: nothing is clipped
            in silence but size, and nothing is rounded.
        """
        numbers = _checks.vector(values=values)
        indices = np.empty(numbers.size, dtype=np.int32)
        for start in range(0, numbers.size, CHUNK):
            part = numbers[start : start + CHUNK]
            if self.kind == INTEGER and (odd := part != np.floor(part)).any():
                raise InvalidInput(
                    "whole numbers in values", f"another at position {start + int(odd.argmax())}"
                )
            part = np.clip(part, self.low, self.high)
            if self.kind == INTEGER:
                # Whole numbers below 2**53: their quotient never rounds up to the next cell.
                part = np.floor((part - self.low) / self.step)
            elif self.scale == LOG:
                part = self._logarithmic(part)
            elif self.kind == POINTS:
                part = (part - self.low) / (self.high - self.low) * (self.size - 1) + 0.5
            else:
                part = self._linear(part)
            part = np.clip(part, 0, self.size - 1)
            # Privacy rests on the integer alone: whatever the floats did, NaN included, nothing
            # but 0 .. size-1 goes on.
            if not np.all((part >= 0) & (part <= self.size - 1)):
                raise InvalidInput("values that this lattice can hold", "values that overflow it")
            indices[start : start + CHUNK] = part
        return indices

    def _linear(self, values: Floats) -> Floats:
        """Where values lie on stretches of equal cells, in cells from the low bound."""
        if self.zoom is None:
            return (values - self.low) / (self.high - self.low) * self.size
        result = np.full(values.shape, np.nan)
        for start, end, first, cells in self.pieces:
            inside = (values >= start) & (values <= end)
            at = (values - start) / (end - start) * cells
            # The last cell of a stretch holds its end, unless another stretch starts there.
            result = np.where(inside, first + np.minimum(np.floor(at), cells - 1), result)
        return result

    def _logarithmic(self, values: Floats) -> Floats:
        """Where values lie on a log scale, in cells from the low bound.

        The logarithms of two machines may differ in the last digit, which decides the cell of a
        value at an edge. There the one counts that is the same everywhere.
        """
        ratios, whole = values / self.low, np.array([self.high / self.low])
        cells: Floats = np.log(ratios) / np.log(whole) * self.size
        edge = np.flatnonzero(np.abs(cells - np.rint(cells)) < DOUBT)
        cells[edge] = portable_log(ratios[edge]) / portable_log(whole) * self.size
        return cells

    def position(self, index: npt.ArrayLike, *, exact: bool = False) -> Floats:
        """Where a (fractional) cell number lies, beyond the ends too; whole numbers are centers.

        ``exact`` returns the edge itself on a log scale, where a center is the midpoint of two.
        """
        if self.kind == INTEGER:
            return self.low - 0.5 + self.step * (np.asarray(index, dtype=np.float64) + 0.5)
        if self.kind == POINTS:
            # One rounding at the end, so that bounds and round numbers are what they are.
            steps, last = np.asarray(index, dtype=np.float64), self.size - 1
            return np.asarray((self.low * (last - steps) + self.high * steps) / last)
        if self.zoom is not None:
            return self._stretched(np.asarray(index, dtype=np.float64) + 0.5)
        at = (np.asarray(index, dtype=np.float64) + 0.5) / self.size
        if self.scale == LINEAR:
            return self.low * (1 - at) + self.high * at
        middle = 1.0
        if not exact:
            ratio = (self.high / self.low) ** (0.5 / self.size)
            middle = (ratio + 1 / ratio) / 2
        return middle * self.low ** (1 - at) * self.high**at

    def _stretched(self, at: Floats) -> Floats:
        """Where a number of cells from the low bound lies on a zoomed lattice, beyond it too."""
        ends = [(first, start) for start, _, first, _ in self.pieces] + [(self.size, self.high)]
        cells, places = np.array(ends, dtype=np.float64).T
        inside = np.interp(at, cells, places)
        steps = [(end - start) / many for start, end, _, many in self.pieces]
        below, above = np.minimum(at, 0) * steps[0], np.maximum(at - self.size, 0) * steps[-1]
        stretched: Floats = inside + below + above
        return stretched

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers that need not be whole are not mentioned."""
        fields: dict[str, Any] = {"low": self.low, "high": self.high, "size": self.size}
        fields["scale"] = self.scale
        if self.zoom is not None:
            fields["zoom"] = list(self.zoom)
        return fields if self.kind == NUMBER else fields | {"kind": self.kind}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Lattice:
        """The inverse of `to_dict`."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("a lattice as a JSON object", _checks.shown(fields))
        _checks.known_keys(fields, ("low", "high", "size", "scale", "kind", "zoom"), "a lattice")
        for key in ("low", "high"):
            if key not in fields:
                raise InvalidInput(f"the key {key!r} in a lattice", f"keys {sorted(fields)}")
        return cls(**fields)


def portable_log(numbers: Floats) -> Floats:
    """The logarithm of numbers >= 1, to three units in the last digit, the same on every machine.

    It takes nothing but sums, products and quotients of floats, which IEEE 754 defines to the last
    bit, so that a device in another language finds the same cell: docs/tutorials/porting.md.

    Examples
    --------
    >>> portable_log(np.array([1.0, 1000.0]))
    array([0.        , 6.90775528])
    """
    mantissa, exponent = np.frexp(numbers)
    # The number is mantissa 2**exponent, with a mantissa from sqrt(1/2) to sqrt(2).
    small = mantissa < SQRT2 / 2
    mantissa = np.where(small, 2 * mantissa, mantissa)
    exponent = exponent - small
    # ln(mantissa) = 2 artanh(s) = 2 s (1 + s**2/3 + s**4/5 + ...), and s**2 is below 0.03.
    s = (mantissa - 1) / (mantissa + 1)
    series = np.zeros_like(s)
    for odd in range(23, 0, -2):
        series = series * (s * s) + 1 / odd
    total: Floats = exponent * LN2 + 2 * s * series
    return total


@dataclass(frozen=True)
class Categories:
    """Named answers, the lattice of a question that is not a number.

    Examples
    --------
    >>> Categories(("no", "yes")).index(["yes", "no"])
    array([1, 0], dtype=int32)
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) or not isinstance(self.labels, Sequence):
            raise InvalidInput("a list of categories", _checks.shown(self.labels))
        labels = tuple(self.labels)
        for label in labels:
            if not isinstance(label, str) or not label:
                raise InvalidInput("categories that are words", _checks.shown(label))
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise InvalidInput("two or more different categories", _checks.shown(list(labels)))
        if len(labels) > MAX_SIZE:
            raise InvalidInput(f"at most {MAX_SIZE} categories", str(len(labels)))
        object.__setattr__(self, "labels", labels)

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.labels)

    @unquoted("words among the categories")
    def index(self, values: npt.ArrayLike) -> Indices:
        """Number of each answer's category; an answer that is none of them is refused."""
        array = _checks.array(values=values)
        if array.ndim != 1 or array.size == 0:
            raise InvalidInput("a list of at least one answer", f"shape {array.shape}")
        number = {label: at for at, label in enumerate(self.labels)}
        result = np.empty(array.size, dtype=np.int32)
        for position, answer in enumerate(array.tolist()):
            at = number.get(answer) if isinstance(answer, str) else None
            if at is None:
                # The answer itself stays out of the message, which may end in a log.
                raise InvalidInput(
                    f"answers among {_checks.shown(list(self.labels))}",
                    f"{'another word' if isinstance(answer, str) else _checks.kind(answer)}"
                    f" in row {position + 1}",
                )
            result[position] = at
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"categories": list(self.labels)}


Axis = Lattice | Categories
"""A column of a table: numbers in cells between public bounds, or words of a public list."""


def axis_from_dict(fields: Mapping[str, Any]) -> Axis:
    """The column that a `to_dict` describes: words where it has categories.

    Examples
    --------
    >>> axis_from_dict({"categories": ["no", "yes"]}).size
    2
    """
    if isinstance(fields, Mapping) and "categories" in fields:
        _checks.known_keys(fields, ("categories",), "categories")
        return Categories(fields["categories"])
    return Lattice.from_dict(fields)


def axes_of_settings(
    columns: Sequence[str],
    *,
    words: Mapping[str, Sequence[str]],
    low: Sequence[float],
    high: Sequence[float],
    scale: str = "linear",
    size: int = SIZE,
) -> dict[str, Axis]:
    """Columns of plain settings, such as those of the command line.

    Parameters
    ----------
    columns
        Their names.
    words
        The categories of those that hold words, by name.
    low, high
        Public bounds of the others, in their order.
    scale, size
        Of the lattices of the others.

    Examples
    --------
    >>> axes_of_settings(["sex", "age"], words={"sex": ["f", "m"]}, low=[0], high=[99])["age"].high
    99.0
    """
    for name in words:
        if name not in columns:
            raise BadSetting(
                f"{{column}} for the {{words}} of {name!r}",
                "none",
                "Name each column with {column}, those of words too.",
            )
    numbers = [name for name in columns if name not in words]
    for end, given in (("low", low), ("high", high)):
        if len(given) != len(numbers):
            raise BadSetting(
                f"{{{end}}}, a public bound for each column of numbers, {len(numbers)} in all",
                str(len(given)) if given else "none",
                "Columns of words need {words}.",
            )
    ends = iter(zip(low, high, strict=True))
    found: dict[str, Axis] = {}
    for name in columns:
        if name in words:
            found[name] = Categories(tuple(words[name]))
        else:
            least, most = next(ends)
            found[name] = Lattice(low=least, high=most, scale=scale, size=size)
    return found


def listed_axes(columns: Mapping[str, Axis]) -> list[dict[str, Any]]:
    """Columns as plain values for JSON, each with its name.

    Examples
    --------
    >>> listed_axes({"way": Categories(("bus", "car"))})
    [{'name': 'way', 'categories': ['bus', 'car']}]
    """
    return [{"name": name, **axis.to_dict()} for name, axis in columns.items()]


def axes_from_list(given: Any) -> dict[str, Axis]:
    """The inverse of `listed_axes`.

    Examples
    --------
    >>> axes_from_list([{"name": "way", "categories": ["bus", "car"]}])
    {'way': Categories(labels=('bus', 'car'))}
    """
    found: dict[str, Axis] = {}
    for each in given if isinstance(given, list) and given else [None]:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            raise InvalidInput("columns with names and bounds or categories", _checks.shown(given))
        if each["name"] in found:
            raise InvalidInput("columns with names of their own", _checks.shown(each["name"]))
        rest = {key: value for key, value in each.items() if key != "name"}
        found[each["name"]] = axis_from_dict(rest)
    return found


Numbers = npt.NDArray[np.int64]

MAX_AXES = 32


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Equal cells of a box between public bounds, in one dimension or several.

    Points outside the box are in no cell. A point on the border of two cells belongs to the upper
    one, and the box includes its surface.

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
        low = tuple(_checks.finite(low=x) + 0.0 for x in _listed(low=self.low))
        high = tuple(_checks.finite(high=x) + 0.0 for x in _listed(high=self.high))
        shape = tuple(_checks.integer(1, MAX_SIZE, shape=x) for x in _listed(shape=self.shape))
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
                f"{shape} cells between {_checks.shown(low)} and {_checks.shown(high)}",
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
    @_checks.steady
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
        table = _checks.array(points=points)
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
        return np.stack([_checks.vector(points=column) for column in table.T])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"low": list(self.low), "high": list(self.high), "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Cells:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("cells as a JSON object", _checks.shown(fields))
        known = ("low", "high", "shape")
        _checks.known_keys(fields, known, "cells")
        for key in known:
            if key not in fields:
                raise InvalidInput(f"the key {key!r} in cells", _checks.shown(list(fields)))
        return cls(**fields)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the defining fields only."""
        return {name: getattr(self, name) for name in ("low", "high", "shape")}


def _listed(**named: Any) -> Sequence[Any]:
    """A short list, one entry an axis, of whatever the entries are."""
    ((name, value),) = named.items()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = list(value)
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(f"{name} as a list with one entry for each axis", _checks.shown(value))
    if not 1 <= len(value) <= MAX_AXES:
        raise InvalidInput(f"from 1 to {MAX_AXES} axes", f"{len(value)} in {name}")
    return value
