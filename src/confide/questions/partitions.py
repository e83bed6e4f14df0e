"""A partition survey: private features and their response, reported as one vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting import Spend
from confide.errors import InvalidInput, unquoted
from confide.files import arrow, parse
from confide.files.settings import settings_of
from confide.lattice import Categories, Cells
from confide.mechanisms import Partition, Reports
from confide.questions.questionnaire import already
from confide.reports.files import columns_of, to_arrow
from confide.reports.stamps import Stamp

TABLE = "partition"
"""The table of a survey file that makes it a partition survey."""
KEYS = ("epsilon", "response", "low", "high", "labels", "levels", "split", "missing", "features")
REFUSE, OUTSIDE = "refuse", "outside"
"""What a missing answer means: an error, or a report of noise alone."""


@dataclass(frozen=True)
class Feature:
    """One feature of a partition survey: a number in equal cells, or a word.

    Parameters
    ----------
    low, high
        Public bounds of a number. People outside them are in no cell and report only noise.
    cells
        How many cells there are between the bounds.
    categories
        The words instead, one cell each.

    Examples
    --------
    >>> Feature(low=18, high=80, cells=4).size, Feature(categories=("north", "south")).size
    (4, 2)
    """

    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    cells: int | None = field(default=None, kw_only=True)
    categories: Sequence[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        numbers = [each is not None for each in (self.low, self.high, self.cells)]
        if self.categories is not None:
            if any(numbers):
                raise InvalidInput("either categories, or low, high and cells", "both")
            object.__setattr__(self, "categories", Categories(tuple(self.categories)).labels)
        elif not all(numbers):
            raise InvalidInput(
                "low, high and cells of a number, or categories of a word",
                "some of the first" if any(numbers) else "neither",
            )
        else:
            cells = Cells(low=(self.low,), high=(self.high,), shape=(self.cells,))  # type: ignore[arg-type]
            for name, (value,) in (("low", cells.low), ("high", cells.high)):
                object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.categories) if self.categories is not None else int(self.cells or 0)

    @property
    def ends(self) -> tuple[float, float]:
        """The edges of its cells on the axis; words are at 1/2, 3/2 and so on."""
        return (0.0, float(self.size)) if self.categories is not None else (self.low, self.high)  # type: ignore[return-value]

    def places(self, column: Any, *, name: str, plain: bool, where: parse.Where) -> Floats:
        """An Arrow column as places on the axis, NaN where the answer is missing."""
        if self.categories is None:
            return parse.numbers(column, name=name, plain=plain, where=where)
        return _at(column, self.categories, name, where) + 0.5

    def described(self, at: int) -> dict[str, Any]:
        """A cell in words: its category, or where it begins and ends."""
        if self.categories is not None:
            return {"category": self.categories[at]}
        low, high = self.ends
        edges = np.linspace(low, high, self.size + 1)
        return {"from": float(edges[at]), "to": float(edges[at + 1])}

    def to_dict(self) -> dict[str, Any]:
        """The keys of a survey file."""
        if self.categories is not None:
            return {"categories": list(self.categories)}
        return {"low": self.low, "high": self.high, "cells": self.cells}


@dataclass(frozen=True)
class PartitionSurvey:
    """A survey of private features and a private response, reported as one vector.

    Parameters
    ----------
    response
        Name of the column with the response.
    features
        The columns that make the point, by name.
    epsilon
        What the report of one respondent costs, at most: features and response together.
    low, high
        Public bounds of a response that is a number; what is beyond them counts as the bound.
    labels
        The classes instead, where the response is a word: two or more.
    levels, split
        As for `Partition`.
    missing
        ``"refuse"``, or ``"outside"``: who leaves an answer out reports noise alone, which the
        collector cannot tell from a point outside of the cells.
    title
        Of the survey.

    Notes
    -----
    Formal guarantee: that of `Partition`, for features and response together. Words become places
    on an axis of as many cells. With more than two labels the label is an axis of its own, and the
    report a bit vector for each label under randomized response, all of epsilon on them.

    Examples
    --------
    >>> survey = PartitionSurvey(
    ...     response="pay", features={"age": Feature(low=18, high=80, cells=4)},
    ...     epsilon=2.0, low=0, high=100_000,
    ... )
    >>> survey.privatize({"age": [30, 50], "pay": [40_000, 61_000]}).num_rows
    2
    """

    response: str
    features: Mapping[str, Feature]
    epsilon: float = field(kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    labels: Sequence[str] | None = field(default=None, kw_only=True)
    levels: int = field(default=1, kw_only=True)
    split: float | None = field(default=None, kw_only=True)
    missing: str = field(default=REFUSE, kw_only=True)
    title: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        _named("a response", self.response)
        if not isinstance(self.features, Mapping) or not self.features:
            raise InvalidInput("at least one feature", _checks.shown(self.features))
        for name, feature in self.features.items():
            _named("a feature", name)
            if not isinstance(feature, Feature):
                raise InvalidInput(f"a Feature for {name!r}", _checks.shown(feature))
        if self.response in self.features:
            raise InvalidInput("a response that is no feature", f"{self.response!r} twice")
        object.__setattr__(self, "features", MappingProxyType(dict(self.features)))
        _checks.one_of((REFUSE, OUTSIDE), missing=self.missing)
        if not isinstance(self.title, str):
            raise InvalidInput("a title", _checks.shown(self.title))
        if self.labels is None:
            if self.low is None or self.high is None:
                raise InvalidInput("low and high of the response, or labels", "neither")
            low, high = _checks.finite(low=self.low), _checks.finite(high=self.high)
            if not low < high:
                raise InvalidInput("low < high of the response", f"low={low:g}, high={high:g}")
            object.__setattr__(self, "low", low)
            object.__setattr__(self, "high", high)
        else:
            if self.low is not None or self.high is not None:
                raise InvalidInput("either labels, or low and high of the response", "both")
            labels = Categories(tuple(self.labels)).labels
            if (self.levels, self.split) != (1, None):
                raise InvalidInput("no levels or split with labels", "one of them")
            object.__setattr__(self, "labels", labels)
        # Check now, before people answer.
        _ = self.mechanism

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return type(self).from_dict, (self.to_dict(),)

    @property
    def several(self) -> bool:
        """Whether there are more than two labels, which then form a separate axis."""
        return self.labels is not None and len(self.labels) > 2

    @property
    def middle(self) -> float:
        """The middle of the response's range, which the mechanism takes for zero."""
        return 0.0 if self.labels is not None else (self.low + self.high) / 2  # type: ignore[operator]

    @cached_property
    def cells(self) -> Cells:
        """The cells of the features."""
        low, high = zip(*(each.ends for each in self.features.values()), strict=True)
        return Cells(low=low, high=high, shape=tuple(f.size for f in self.features.values()))

    @cached_property
    def mechanism(self) -> Partition:
        """The mechanism that makes the reports."""
        cells = self.cells
        if self.several:
            count = len(self.labels or ())
            wider = Cells(
                low=(*cells.low, 0.0), high=(*cells.high, float(count)), shape=(*cells.shape, count)
            )
            return Partition(wider, epsilon=self.epsilon, counting=True)
        if self.labels is not None:
            return Partition(cells, epsilon=self.epsilon, classify=True)
        bound = (self.high - self.low) / 2  # type: ignore[operator]
        return Partition(
            cells, bound=bound, epsilon=self.epsilon, levels=self.levels, split=self.split
        )

    @property
    def spend(self) -> Spend:
        """The cost of one respondent's report."""
        return self.mechanism.spend

    @property
    def fingerprint(self) -> str:
        """A short name of the mechanism."""
        return self.mechanism.fingerprint

    @property
    def columns(self) -> list[str]:
        """The private columns of a table of values."""
        return [*self.features, self.response]

    @property
    def width(self) -> int:
        """Number of numbers in a report."""
        return self.mechanism.rows * self.mechanism.cells.size

    @property
    def asking(self) -> None:
        """Nothing: everybody is asked all of it."""
        return None

    @property
    def rounds(self) -> None:
        """None: it is asked once."""
        return None

    def check_columns(self, names: Sequence[str], where: str) -> None:
        """Nothing: it has no phases and no rounds."""

    def stamp(self, *, simulated: bool = False) -> Stamp:
        """The metadata of a table of reports."""
        return Stamp({"": self.mechanism}, simulated)

    def types(self, *, packed: bool) -> dict[str, Any]:
        """Arrow types of the columns of reports: lists of one byte each, packed or not."""
        pa = arrow.arrow()
        return dict.fromkeys(columns_of(self.mechanism), pa.list_(pa.int8()))

    def values(
        self, table: Any, *, plain: bool = False, where: str = "the table", first: int = 0
    ) -> Any:
        """The inputs of the mechanism from an Arrow table or batch: points and responses."""
        rows = parse.rows_of(where, first)
        columns = {name: arrow.column_of(table, name, where) for name in self.columns}
        found = {
            name: feature.places(columns[name], name=name, plain=plain, where=rows)
            for name, feature in self.features.items()
        }
        column = columns[self.response]
        if self.labels is not None:
            found[self.response] = _at(column, self.labels, self.response, rows)
        else:
            found[self.response] = parse.numbers(
                column, name=self.response, plain=plain, where=rows
            )
        outside = np.zeros(table.num_rows, dtype=bool)
        for name, numbers in found.items():
            gaps = np.isnan(numbers)
            if gaps.any() and self.missing == REFUSE:
                raise InvalidInput(
                    f"an answer to {name!r} in every row",
                    f"none in {rows(int(np.argmax(gaps)))}",
                    'With missing = "outside" people may leave it out: they report noise alone.',
                )
            outside |= gaps
        return self._placed(found, outside)

    def _placed(self, found: Mapping[str, Floats], outside: Any) -> Any:
        points = np.stack([found[name] for name in self.features], axis=1)
        low, high = np.array(self.cells.low), np.array(self.cells.high)
        points[outside] = high + (high - low)
        response = np.where(outside, 0.0, found[self.response])
        if self.several:
            return np.column_stack([points, response + 0.5])
        if self.labels is not None:
            return points, 2.0 * response - 1
        # As the mechanism does; here, so that a response far outside makes no huge number.
        response = np.where(outside, self.middle, np.clip(response, self.low, self.high))
        return points, response - self.middle

    def privatize(self, table: Any, *, keep: Sequence[str] = (), keep_order: bool = False) -> Any:
        """Private reports of a table's rows, in random order: columns of lists, ``w`` and ``z``.

        A pandas table made of them numbers shuffled rows from n on, so that pandas does not line
        them up with the rows of another table.

        Parameters
        ----------
        table
            Arrow, pandas or polars table, or a dict of columns.
        keep
            Public columns to carry along, each value with its row.
        keep_order
            Leave the rows in the order of the table, which can give answers away.
        """
        made = self.reports(arrow.table_of(table), keep=keep)
        return made if keep_order else arrow.unpaired(arrow.mixed(made))

    def simulate(self, table: Any, *, seed: int, keep: Sequence[str] = ()) -> Any:
        """Draw from a seed, in the order of the table: repeatable, stamped, not private."""
        seed = _checks.integer(0, seed=seed)
        return self.reports(arrow.table_of(table), keep=keep, seed=seed)

    @unquoted("a table of values")
    def reports(
        self,
        table: Any,
        *,
        keep: Sequence[str] = (),
        seed: int | None = None,
        plain: bool = False,
        where: str = "the table",
        first: int = 0,
    ) -> Any:
        """Reports of an Arrow table or batch, whose rows are numbered from ``first`` in messages.

        Where it is ``plain`` the cells are text from a CSV file.
        """
        self.check_keep(keep)
        if Stamp.read(table.schema.metadata, where) is not None:
            raise already(where)
        values = self.values(table, plain=plain, where=where, first=first)
        made: Reports = (
            self.mechanism.privatize(values)
            if seed is None
            else self.mechanism.simulate(values, seed=seed)
        )
        result = to_arrow(made)
        for name in keep:
            column = arrow.column_of(table, name, where)
            result = result.append_column(name, column.cast(arrow.plain(column.type)))
        return result

    def check_keep(self, keep: Sequence[str]) -> None:
        """Refuse to carry private columns along, or names that the reports have themselves."""
        for name in keep:
            if name in self.columns:
                raise InvalidInput("public columns to keep", f"the private column {name!r}")
            if name in ("w", "z"):
                raise InvalidInput(
                    "columns to keep of other names than the reports'", repr(name), "Rename it."
                )
        arrow.unique(list(keep), "the columns to keep")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields: dict[str, Any] = {"epsilon": self.epsilon, "response": self.response}
        if self.labels is not None:
            fields["labels"] = list(self.labels)
        else:
            fields |= {"low": self.low, "high": self.high}
        if self.levels != 1:
            fields["levels"] = self.levels
        if self.split is not None:
            fields["split"] = self.split
        if self.missing != REFUSE:
            fields["missing"] = self.missing
        fields["features"] = {name: each.to_dict() for name, each in self.features.items()}
        return {**({"title": self.title} if self.title else {}), TABLE: fields}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The survey that plain values describe; unknown keys are refused."""
        if not isinstance(fields, Mapping) or not isinstance(fields.get(TABLE), Mapping):
            raise InvalidInput(f"a table [{TABLE}]", "none")
        if "questions" in fields:
            raise InvalidInput(
                f"either [{TABLE}] or [questions] in a survey", "both", "Write two survey files."
            )
        _checks.known_keys(fields, ("title", TABLE), "a partition survey")
        inner = fields[TABLE]
        _checks.known_keys(inner, KEYS, f"[{TABLE}]")
        for key in ("epsilon", "response", "features"):
            if key not in inner:
                raise InvalidInput(f"the key {key!r} in [{TABLE}]", "none")
        given = inner["features"]
        if not isinstance(given, Mapping) or not given:
            raise InvalidInput(f"a table [{TABLE}.features.NAME] for at least one column", "none")
        features = {}
        for name, keys in given.items():
            where = f"[{TABLE}.features.{name}]"
            if not isinstance(keys, Mapping):
                raise InvalidInput(f"a table {where}", _checks.shown(keys))
            _checks.known_keys(keys, ("low", "high", "cells", "categories"), where)
            try:
                features[name] = Feature(**keys)
            except InvalidInput as error:
                raise InvalidInput(
                    f"{error.expected} in {where}", error.got, error.advice
                ) from None
        others = {key: inner[key] for key in inner if key != "features"}
        return cls(features=features, title=fields.get("title", ""), **others)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a survey from a .toml or .json file."""
        return cls.from_dict(settings_of(path, "a survey"))


def _named(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"the name of {what}", _checks.shown(name))


def _at(column: Any, words: Sequence[str], name: str, where: parse.Where) -> Floats:
    """Numbers of words, NaN where one is missing; others are refused."""
    numbers = {word: at for at, word in enumerate(words)}
    found = np.empty(len(column))
    for row, word in enumerate(parse.words(column, name=name, where=where)):
        if word is not None and word not in numbers:
            labels = _checks.shown(sorted(numbers))
            raise InvalidInput(
                f"words among {labels} in column {name!r}", f"another word in {where(row)}"
            )
        found[row] = np.nan if word is None else numbers[word]
    return found
