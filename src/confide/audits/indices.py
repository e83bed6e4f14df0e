"""Hostile inputs to the map from a value to an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from confide import _checks
from confide.audits.findings import Finding
from confide.audits.neighbors import across
from confide.audits.subjects import below, inside, same
from confide.errors import ConfideError, InvalidInput
from confide.exact.entropy import SystemEntropy
from confide.lattice import INTEGER, Axis, Categories, Cells, Lattice
from confide.mechanisms import Mechanism, PairResponse, Partition
from confide.mechanisms.protocol import Private
from confide.releases.release import Recipe
from confide.sampling.mollifier import FiniteMollifier

UNSEEN = (
    "It tries a list of inputs that have broken others; it cannot try all, and it says nothing "
    "about noise."
)
Map = Callable[[Any], Any]
Size = Callable[[Any], int]
Cases = Iterator[tuple[str, Any, Any]]
"""Name, values, and what must come of them: a refusal, a cell, or any cell."""


class Entry(NamedTuple):
    """A map, what it maps to and how many cells that has, and whether each value has one cell.

    What is no axis are cases of its own.
    """

    name: str
    run: Map
    axis: Axis | Cases
    size: Size
    settled: bool = True
    declines: bool = False


def index(subject: Any) -> Finding:
    """Check that every value gets an index on the lattice or is refused.

    Parameters
    ----------
    subject
        A mechanism, a partition, or a release or sampler with a lattice.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> index(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0)).holds
    True
    """
    maps = list(_maps(subject))
    tried, faults = 0, []
    for entry in maps:
        for case, value, expected in _cases(entry):
            tried += 1
            # Only None may come to the index of those who declined.
            spare = entry.declines and expected is not ANY
            if fault := _fault(entry.run, value, expected, entry.size(value) + spare):
                faults.append(f"{entry.name + ': ' if entry.name else ''}{case}: {fault}")
    return Finding(
        "index", repr(subject), subject.spend.epsilon,
        holds=not faults, looked=bool(maps),
        unseen=UNSEEN if maps else f"There is no lattice here to map to. {UNSEEN}",
        evidence={"inputs": tried, "faults": faults},
    )  # fmt: skip


REFUSED = "refused"
ANY = "any"


def _cases(entry: Entry) -> Cases:
    axis = entry.axis
    if not isinstance(axis, Categories | Lattice):
        return axis
    cases = _words(axis) if isinstance(axis, Categories) else _numbers(axis, entry.settled)
    return _declining(cases, axis) if entry.declines else cases


def _declining(cases: Cases, axis: Axis) -> Cases:
    """The same cases for those who may decline: None has an index of its own, and nothing else."""
    answer, at = (axis.labels[-1] if isinstance(axis, Categories) else axis.high), axis.size - 1
    yield "None after an answer", [answer, None], [at, axis.size]
    for name, value, expected in cases:
        if name == "None":
            yield name, value, axis.size
        elif name == "objects":
            yield name, value, [0, axis.size]
        elif name == "a masked array":
            yield name, value, np.where(value.mask, axis.size, 0)
        else:
            yield name, value, expected


def _numbers(axis: Lattice, settled: bool) -> Cases:
    low, high, last = axis.low, axis.high, axis.size - 1
    whole = axis.kind == INTEGER
    for name, bad in (("NaN", np.nan), ("infinity", np.inf), ("minus infinity", -np.inf)):
        yield name, [bad], REFUSED
        yield f"{name} among others", np.array([high, bad]), REFUSED
    for name, odd in {
        "None": [None],
        "a word": ["secret"],
        "a number as a word": ["1"],
        "truth values": [True, False],
        "truth among numbers": [True, low],
        "a complex number": [1 + 2j],
        "a huge whole number": [10**5000],
        "a table": [[low], [high]],
        "rows of two lengths": [[low], [low, high]],
        "nothing": [],
        "a single number": np.array(low),
        "a masked array": np.ma.array([low, high], mask=[False, True]),
        "objects": np.array([low, None], dtype=object),
        "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    }.items():
        yield name, odd, REFUSED
    width = high - low
    for name, value, cell in (
        ("the lower bound", low, 0),
        ("the upper bound", high, last),
        ("just below", np.nextafter(low, -np.inf), REFUSED if whole else 0),
        ("just above", np.nextafter(high, np.inf), REFUSED if whole else last),
        ("far below", low - width, 0),
        ("half a range above", high + (width if whole else width / 2), last),
        ("the largest float", 1.7e308, last),
        ("the most negative float", -1.7e308, 0),
        ("2**53 + 2", 2.0**53 + 2, last if high <= 2.0**53 else ANY),
        ("just inside", np.nextafter(high, -np.inf), REFUSED if whole else last),
    ):
        yield name, [value], cell
    yield "minus zero", [-0.0], ANY
    for name, value in (("the least float", 5e-324), ("1e-300", 1e-300)):
        yield name, [value], REFUSED if whole else ANY
    for at in (0, axis.size // 3, last):
        yield f"a value of cell {at}", [inside(axis, at)], at if settled else ANY
    edges = axis.edges
    inner = edges[np.linspace(0, axis.size, min(axis.size, 40) + 1).astype(np.int64)]
    # Edges of whole numbers lie between them.
    yield "edges", inner, REFUSED if whole else ANY
    yield "edges, from below", np.nextafter(inner, -np.inf), REFUSED if whole else ANY
    yield "edges, from above", np.nextafter(inner, np.inf), REFUSED if whole else ANY
    if whole:
        numbers = np.unique(np.clip(np.concatenate([inner - 0.5, inner + 0.5]), low, high))
        cells = np.searchsorted(edges, numbers, side="right") - 1
        yield "whole numbers next to edges", numbers, cells
    yield "whole numbers", np.array([0, 1, 2**62]), ANY
    if not whole or max(abs(low), abs(high)) < 2**24:
        yield "small floats", np.array([low, high], dtype=np.float32), ANY


def _words(axis: Categories) -> Cases:
    first = axis.labels[0]
    for name, odd in {
        "None": [None],
        "NaN": [float("nan")],
        "a number": [0],
        "a truth value": [True],
        "another word": [f"{first}?"],
        "an empty word": [""],
        "a word with a space": [f"{first} "],
        "bytes": [first.encode()],
        "nothing": [],
        "a table": [[first]],
        "a word among others": [first, f"not {first}"],
        "a masked array": np.ma.array([first], mask=[True]),
    }.items():
        yield name, odd, REFUSED
    for at, label in enumerate(axis.labels[:50]):
        yield f"category {at}", [label], at


def _fault(run: Map, value: Any, expected: Any, size: int) -> str:
    """What is wrong with what came of a value; empty if nothing is."""
    try:
        found = np.asarray(run(value))
    except ConfideError as error:
        # The message may end in a log.
        quoted = "the message quotes the value" if "secret" in str(error) else ""
        return quoted if expected is REFUSED else "refused"
    except Exception as error:  # whatever a broken map may raise
        return f"a {type(error).__name__} without a sentence"
    if expected is REFUSED:
        return "was taken"
    if found.dtype.kind not in "iu" or not (found.min() >= 0 and found.max() < size):
        return "fell outside the lattice"
    same = expected is ANY or bool(np.all(found == expected))
    return "" if same else "fell into another cell"


def _maps(subject: Any) -> Iterator[Entry]:
    """Each map of a subject: its name, itself, what it maps to, and how many cells that has."""
    if not isinstance(subject, Private):
        raise InvalidInput(
            "a mechanism, a sampler or the recipe of a release", _checks.shown(subject)
        )
    if isinstance(subject, Partition):
        yield from _partition(subject)
        return
    for name, each in subject.inner.items():
        for entry in _maps(each):
            yield entry._replace(name=f"{name} {entry.name}".strip())
    if subject.inner:
        return
    if isinstance(subject, PairResponse):
        yield from _sides(subject)
    elif isinstance(subject, Mechanism):
        axis = subject.axes[""]
        yield Entry("", subject.index, axis, _fixed(axis), declines=subject.prefer_not_to_say)
    elif isinstance(subject, FiniteMollifier):
        if len(subject.columns) == 1:
            ((name, axis),) = subject.columns.items()
            yield Entry(name, lambda values: subject.index({name: values}), axis, _fixed(axis))
    elif isinstance(subject, Recipe):
        yield from _recipe(subject)


def _sides(subject: PairResponse) -> Iterator[Entry]:
    """The map of either answer, beside a fixed one of the other."""
    for at, (name, side) in enumerate(subject.sides.items()):
        (other,) = (each for each in subject.sides if each != name)
        yield Entry(
            name,
            _beside(subject, name, at, {other: below(subject.sides[other])}),
            side.axis,
            _fixed(side.axis),
            declines=side.prefer_not_to_say,
        )


def _beside(subject: PairResponse, name: str, at: int, fixed: Mapping[str, Any]) -> Map:
    def run(values: Any) -> Any:
        others = {key: same(value, _length(values)) for key, value in fixed.items()}
        return subject.index({**others, name: values})[:, at]

    return run


def _recipe(subject: Recipe) -> Iterator[Entry]:
    lattices = subject.lattices(1)
    for at, (name, axis) in enumerate(lattices.items()):
        run = _one_column(subject, lattices, name, at) if name else subject.index
        yield Entry(name, run, axis, _sizes(subject, name))


def _sizes(subject: Recipe, name: str) -> Size:
    return lambda values: subject.lattices(_length(values))[name].size


def _one_column(subject: Recipe, axes: Mapping[str, Axis], name: str, at: int) -> Map:
    """The map of one column, with all others at their lower bounds or first words."""

    def run(values: Any) -> Any:
        first = {key: across(each, 1) for key, each in axes.items()}
        others = {key: np.repeat(each, _length(values)) for key, each in first.items()}
        return subject.index({**others, name: values})[:, at]

    return run


def _fixed(axis: Axis) -> Size:
    return lambda _: axis.size


def _length(values: Any) -> int:
    return max(1, len(values) if isinstance(values, list) else np.size(values))


def _partition(subject: Partition) -> Iterator[Entry]:
    """Points, which may be in no cell, and responses or labels."""
    inside = np.array([subject.cells.low])

    def place(points: Any) -> Any:
        labels = np.ones(max(1, len(points)))
        found = subject.index(points if subject.counting else (points, labels))
        return found[:, 0] + 1

    yield Entry("point", place, _points(subject.cells), lambda _: subject.cells.size + 1)

    def level(values: Any) -> Any:
        points = np.repeat(inside, _length(values), axis=0)
        return subject.levels_of(subject.index((points, values)), SystemEntropy())

    if not (subject.classify or subject.counting):
        axis = Lattice(low=-subject.limit, high=subject.limit, size=2 * subject.levels + 1)
        # Between two levels a response goes to either, at random.
        yield Entry("response", level, axis, _fixed(axis), settled=False)
    elif subject.classify:
        yield Entry("label", level, _labels(), lambda _: 2 * subject.levels + 1)


ODD = {
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "None": None,
    "a word": "secret",
    "a complex number": 1 + 2j,
    "a huge whole number": 10**5000,
}
"""What is no number that could be anywhere."""


def _points(cells: Cells) -> Cases:
    """Points of a partition; no cell is 0, and the first one 1."""
    low, high = np.array(cells.low), np.array(cells.high)
    first = low.tolist()
    for name, odd in ODD.items():
        yield f"{name} among others", [first, [odd, *first[1:]]], REFUSED
    yield "a number too many", [[*first, 0.0]], REFUSED
    yield "nothing", [], REFUSED
    for name, point in (("below", low - (high - low)), ("above", high + (high - low))):
        yield f"far {name}", [point.tolist()], 0
    yield "the largest float", [[1.7e308, *first[1:]]], 0
    for at in {0, cells.size // 2, cells.size - 1}:
        yield f"a point of cell {at}", [cells.centers[at].tolist()], at + 1


def _labels() -> Cases:
    for name, odd in {**ODD, "zero": 0, "a fraction": 0.5, "another label": 2}.items():
        yield name, [odd], REFUSED
    for label in (-1, 1):
        yield f"label {label}", [label], label + 1
