"""Randomized response on a public function of two answers: one report about how they relate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from confide import _checks
from confide._types import Floats, Integers
from confide.accounting.spend import Spend
from confide.errors import InvalidInput, Unsupported, unquoted
from confide.exact.entropy import Entropy
from confide.exact.inversion import Part
from confide.lattice import Categories, Lattice
from confide.mechanisms.categories import RandomizedResponse
from confide.mechanisms.laws import Grouped
from confide.mechanisms.protocol import NONE, Indices, Kinds, Mechanism, with_declined

MOST = 1024
"""Outcomes of a pair at most: their noise would hide any more."""


@dataclass(frozen=True)
class Side:
    """One of the two questions of a pair: its lattice or categories, cut into classes.

    Parameters
    ----------
    axis
        The lattice or the categories.
    cuts
        Indices at which a new class begins, ascending, from 1 on. ``(40,)`` makes the two classes
        of the indices below 40 and of those from 40 on. None cuts between all categories.
    prefer_not_to_say
        Whether people may decline to answer it.

    Examples
    --------
    >>> age = Side(Lattice(low=0, high=100, size=10), cuts=(4,))
    >>> age.classes
    (0, 0, 0, 0, 1, 1, 1, 1, 1, 1)
    """

    axis: Lattice | Categories
    cuts: tuple[int, ...] | None = None
    prefer_not_to_say: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.axis, Lattice | Categories):
            raise InvalidInput("a Lattice or Categories", _checks.shown(self.axis))
        size, cuts = self.axis.size, self.cuts
        if cuts is None and isinstance(self.axis, Categories):
            cuts = tuple(range(1, size))
        good = isinstance(cuts, list | tuple) and len(cuts) > 0
        if not good or not all(type(cut) is int and 1 <= cut < size for cut in cuts or ()):
            raise InvalidInput(
                f"cuts of a question as whole numbers from 1 to {size - 1}", _checks.shown(cuts)
            )
        assert cuts is not None
        if any(a >= b for a, b in pairwise(cuts)):
            raise InvalidInput("cuts in ascending order, each once", _checks.shown(cuts))
        object.__setattr__(self, "cuts", tuple(cuts))
        object.__setattr__(
            self, "prefer_not_to_say", _checks.flag(prefer_not_to_say=self.prefer_not_to_say)
        )

    @property
    def starts(self) -> tuple[int, ...]:
        """The index that each class begins with."""
        assert self.cuts is not None
        return (0, *self.cuts)

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """The class of each index; those who declined, where people may, are one more."""
        ends = (*self.starts[1:], self.axis.size)
        found = [
            at
            for at, (first, end) in enumerate(zip(self.starts, ends, strict=True))
            for _ in range(end - first)
        ]
        return tuple([*found, len(self.starts)] if self.prefer_not_to_say else found)

    def index(self, values: Any) -> Indices:
        """Indices of answers; one more for those who declined, where people may."""
        if self.prefer_not_to_say:
            return with_declined(self.axis, values)
        return self.axis.index(values)

    def labels(self) -> list[str]:
        """The classes in words: below 40, 40 and more; or the categories."""
        axis, starts = self.axis, self.starts
        ends = (*starts[1:], axis.size)
        if isinstance(axis, Categories):
            return [" or ".join(axis.labels[a:b]) for a, b in zip(starts, ends, strict=True)]
        edges = [f"{self.edge(cut):,.6g}" for cut in starts[1:]]
        inner = [f"{a} to {b}" for a, b in pairwise(edges)]
        return [f"below {edges[0]}", *inner, f"{edges[-1]} and more"]

    def edge(self, cut: int) -> float:
        """Where a cut lies, in the units of the data: the least value of the class above it."""
        assert isinstance(self.axis, Lattice)
        edge = float(self.axis.edges[cut])
        return math.ceil(edge) if self.axis.kind == "integer" else edge

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        assert self.cuts is not None
        axis = self.axis
        key = axis.to_dict() if isinstance(axis, Categories) else {"lattice": axis.to_dict()}
        declining = {"prefer_not_to_say": True} if self.prefer_not_to_say else {}
        return {**key, "cuts": list(self.cuts), **declining}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Side:
        """The inverse of `to_dict`."""
        known = ("lattice", "categories", "cuts", "prefer_not_to_say")
        _checks.known_keys(fields, known, "a question of a pair")
        if ("lattice" in fields) == ("categories" in fields):
            raise InvalidInput("a lattice or categories", "both or none")
        axis: Lattice | Categories
        if "lattice" in fields:
            axis = Lattice.from_dict(fields["lattice"])
        else:
            axis = Categories(fields["categories"])
        return cls(axis, fields.get("cuts"), fields.get("prefer_not_to_say", False))


@dataclass(frozen=True, eq=False)
class PairResponse(Mechanism):
    """One report about two answers together, at the whole epsilon.

    Both answers stay on the device. Public cuts put each into a class, the two classes make one
    outcome, and randomized response hides the outcome. Where both questions have two classes, the
    outcome is one bit: whether exactly one of the answers lies above its cut (an exclusive or).
    With more classes the outcome is the cell of the table of both. Where a question may be
    declined there is one outcome more, for people who declined either.

    Parameters
    ----------
    sides
        The two questions by name: their axis, their cuts, and whether they may be declined.
    epsilon
        Privacy loss of one report, at most, for both answers together.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the pair of answers, exactly. The
    outcome is a function of the two indices and of public cuts. The report is that outcome with
    weight U = floor(L e**epsilon) and every other one with weight L, in integers, drawn from the
    operating system's entropy. So whichever two pairs of answers are compared, both may change, a
    report's probabilities have a ratio of at most U / L <= e**epsilon.

    Examples
    --------
    >>> pay = Side(Lattice(low=0, high=100, size=100), (40,))
    >>> ill = Side(Lattice(low=0, high=60, kind="integer"), (5,))
    >>> mechanism = PairResponse({"pay": pay, "sick_days": ill}, epsilon=1.0)
    >>> mechanism.bit, mechanism.law.outputs, mechanism.spend
    (True, (2,), Spend(epsilon=1))
    >>> len(mechanism.privatize({"pay": [20.0, 70.0], "sick_days": [2, 9]}))
    2
    """

    name: ClassVar[str] = "pair-response"
    sides: Mapping[str, Side]
    epsilon: float = field(kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.sides, Mapping) or len(self.sides) != 2:
            raise InvalidInput("two different questions by name", _checks.shown(self.sides))
        for name, side in self.sides.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput("names that are words", _checks.shown(name))
            if not isinstance(side, Side):
                raise InvalidInput(f"a Side for {name!r}", _checks.shown(side))
        rows, columns = (len(side.starts) for side in self.sides.values())
        if rows * columns > MOST:
            raise InvalidInput(
                f"at most {MOST:,} cells in the table of a pair of questions",
                f"{rows} times {columns}",
                "Take fewer thresholds.",
            )
        object.__setattr__(self, "sides", MappingProxyType(dict(self.sides)))
        object.__setattr__(self, "epsilon", self.response.epsilon)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return _built, (dict(self.sides), self.epsilon)

    def __repr__(self) -> str:
        return f"PairResponse({' & '.join(self.sides)}, epsilon={self.epsilon:g})"

    @property
    def bit(self) -> bool:
        """Whether the outcome is one bit, the exclusive or of two classes each."""
        return all(len(side.starts) == 2 for side in self.sides.values())

    @property
    def declines(self) -> bool:
        """Whether one of the questions may be declined: then the last outcome says so."""
        return any(side.prefer_not_to_say for side in self.sides.values())

    @cached_property
    def outcomes(self) -> Integers:
        """The outcome for each class of the first question (a row) and of the second."""
        (one, first), (other, second) = ((side, len(side.starts)) for side in self.sides.values())
        row, column = np.arange(first)[:, None], np.arange(second)[None, :]
        table = (row ^ column) if self.bit else row * second + column
        whole = np.full(
            (first + one.prefer_not_to_say, second + other.prefer_not_to_say), table.max() + 1
        )
        whole[:first, :second] = table
        return whole

    @cached_property
    def response(self) -> RandomizedResponse:
        """Randomized response on the outcomes."""
        labels = [str(at) for at in range(int(self.outcomes.max()) + 1)]
        return RandomizedResponse(labels, epsilon=self.epsilon)

    @cached_property
    def law(self) -> Grouped:
        """Distribution of the report given both indices."""
        first, second = (side.classes for side in self.sides.values())
        table = tuple(tuple(row) for row in self.outcomes.tolist())
        return Grouped((first, second), table, self.response.law)

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The lattice or the categories of each question."""
        return {name: side.axis for name, side in self.sides.items()}

    @property
    def spend(self) -> Spend:
        """The declared epsilon, for both answers together."""
        return Spend(self.epsilon)

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The step from the true outcome round the circle of all."""
        return self.response.parts()

    @unquoted("a column of values for each question")
    def index(self, values: Any) -> Indices:
        """One row of two indices a respondent, from columns by name."""
        columns = []
        for name, side in self.sides.items():
            try:
                column = values[name]
            except Exception:  # each kind of table has its own error for this
                known = ", ".join(self.sides)
                raise InvalidInput(f"columns {known}", f"no column {name!r}") from None
            columns.append(side.index(column))
        if columns[0].size != columns[1].size:
            sizes = ", ".join(str(column.size) for column in columns)
            raise InvalidInput("columns of the same length", f"lengths {sizes}")
        return np.stack(columns, axis=1)

    @cached_property
    def _classes(self) -> tuple[Integers, Integers]:
        first, second = (np.array(side.classes) for side in self.sides.values())
        return first, second

    def blank(self, indices: Any) -> Any:
        """Two indices make one report."""
        return np.empty(len(indices), dtype=np.int32)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """The outcome of both indices, and a step round the circle of outcomes."""
        first, second = self._classes
        outcomes = self.outcomes[first[indices[:, 0]], second[indices[:, 1]]]
        return self.response.draw(outcomes.astype(np.int32), entropy)

    def unbiased(self, power: int) -> Floats:
        """A report about two answers has no single mean."""
        raise Unsupported("A pair of questions has no single mean: it tells how they relate.")

    @classmethod
    def json_keys(cls) -> tuple[str, ...]:
        """One list, so that the questions keep their order in JSON."""
        return ("parts", "epsilon")

    def made_of(self) -> dict[str, Any]:
        """The questions, each with its name."""
        parts = [{"name": name, **side.to_dict()} for name, side in self.sides.items()]
        return {"parts": parts, "epsilon": self.epsilon}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        if not isinstance(made["parts"], list):
            raise InvalidInput("a list of parts", _checks.shown(made["parts"]))
        named: dict[str, Side] = {}
        for part in made["parts"]:
            name = part.get("name") if isinstance(part, Mapping) else None
            if not isinstance(name, str) or not name or name in named:
                raise InvalidInput("a name of its own for each part", _checks.shown(name))
            named[name] = Side.from_dict({key: part[key] for key in part if key != "name"})
        return cls(named, epsilon=made["epsilon"])

    def stated(self) -> dict[str, Any]:
        """The public weights that the noise really has."""
        return self.response.stated()


def _built(sides: dict[str, Side], epsilon: float) -> PairResponse:
    return PairResponse(sides, epsilon=epsilon)
