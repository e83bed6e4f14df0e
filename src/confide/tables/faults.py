"""Finds invalid rows inside the database that holds a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.errors import BadRows, InvalidInput
from confide.files import parse
from confide.reports.rows import (
    BAD_RESPONSE,
    BAD_WEIGHT,
    GOOD,
    KINDS,
    LARGEST,
    NO_GROUP,
    NO_REPORT,
    NO_RESPONSE,
    NO_WEIGHT,
    NOT_WHOLE,
    OUT_OF_BOUNDS,
    OUTSIDE,
    Asking,
    told,
)
from confide.summaries.groups import Key
from confide.tables.sources import ibis

OTHERS = "[^-0-9]"
"""Letters that no whole number has."""
MAX_CELLS = 2**27
"""Groups times numbers at most: summaries are dense, this many counts take a gigabyte."""


def settle(
    found: Mapping[int, int], *, columns: Sequence[str], invalid: str, where: str
) -> dict[str, int]:
    """Refuse the rows that cannot be used, or say how many of each kind are left out.

    Parameters
    ----------
    found
        How many rows of each kind.
    columns
        The columns of reports, for a message.
    invalid
        ``"refuse"`` or ``"drop"``.
    where
        The table, for a message.
    """
    rows = {KINDS[kind]: found[kind] for kind in sorted(found) if kind != GOOD}
    if rows and invalid == "refuse":
        raise BadRows(
            f"valid rows of {', '.join(map(repr, columns))} in {where}",
            told(rows),
            'Mend them, or leave them out with invalid="drop".',
        )
    if not found.get(GOOD):
        raise InvalidInput(f"at least one report in {where}", "none")
    return rows


def narrowed(column: Any, size: int) -> Any:
    """Reports with one value for all that are none, so that those do not make groups without end.

    Floats stay as they are: what a file states of them is not to be relied on, see `odd`.
    """
    engine, kind = ibis(), column.type()
    if kind.is_integer():
        missing = (column.isnull(), engine.null())
        return engine.cases((column.between(0, size - 1), column), missing, else_=size)
    if kind.is_string():
        long = column.length() > len(str(size - 1))
        outside = _spells(column, parse.WHOLE, OTHERS).ifelse(str(size), "")
        return engine.cases((long, outside), (column.re_search(OTHERS), ""), else_=column)
    return column


def whole(column: Any, size: int, name: str) -> tuple[Any, Any]:
    """The kind of a report, 0 where it is good, and the report as an integer."""
    engine, kind = ibis(), column.type()
    missing = (column.isnull(), NO_REPORT)
    if kind.is_integer():
        inside = (column.between(0, size - 1), GOOD)
        code = engine.cases(missing, inside, else_=OUTSIDE)
        return code, (code == GOOD).ifelse(column, 0).cast("int64")
    if kind.is_floating() or kind.is_decimal():
        # Some engines call NaN null. A null is neither near 0 nor not near 0.
        near = column.between(-parse.LARGEST_WHOLE, parse.LARGEST_WHOLE)
        strange = odd(column)
        safe = strange.ifelse(0.5, near.ifelse(column, 0.5))
        even = near & (safe == safe.floor())
        inside = (even & column.between(0, size - 1), GOOD)
        other = ((even, OUTSIDE), (near, NOT_WHOLE), (~near, NOT_WHOLE))
        code = engine.cases((strange, NOT_WHOLE), inside, *other, else_=NO_REPORT)
        return code, (code == GOOD).ifelse(safe, 0).cast("int64")
    if kind.is_string():
        digits = _spells(column, parse.WHOLE, OTHERS)
        number = digits.ifelse(column, "0").cast("int64")
        inside = (digits & number.between(0, size - 1), GOOD)
        return engine.cases(missing, inside, (digits, OUTSIDE), else_=NOT_WHOLE), number
    raise InvalidInput(f"whole numbers in column {name!r}", f"the type {kind}")


def _spells(column: Any, pattern: str, others: str) -> Any:
    """Whether a text has a pattern to its very end: $ stands before a last line break too, in
    some engines, and casts pass over it.
    """
    return column.re_search(pattern) & ~column.re_search(others)


def odd(column: Any) -> Any:
    """Whether a float is NaN or an infinity, by its text.

    The least and greatest values that a Parquet file states leave NaN out, and DuckDB 2.0 concludes
    from them that there is none: tests for NaN, and comparisons, are then decided before a row is
    read. About the letters of a text it concludes nothing.
    """
    return column.cast("string").re_search("[nN]")


@dataclass(frozen=True)
class Numbers:
    """A public column of numbers.

    Parameters
    ----------
    value
        The numbers as floats.
    odd
        Whether one is no number, or None where comparisons tell.
    """

    value: Any
    odd: Any = None

    @classmethod
    def of(cls, column: Any, name: str, *, careful: bool) -> Numbers:
        """From a column of a table.

        Parameters
        ----------
        column
            Numbers, or text that spells them.
        name
            What it is called.
        careful
            Whether to make sure that NaN is seen, which takes several times as long.
        """
        kind = column.type()
        if kind.is_string():
            plain = _spells(column, parse.NUMBER, "[^-+.0-9eE]")
            return cls(
                column.isnull().ifelse(None, plain.ifelse(column, "0")).cast("float64"), ~plain
            )
        if not kind.is_numeric() or kind.is_boolean():
            raise InvalidInput(f"plain numbers in column {name!r}", f"the type {kind}")
        value = column.cast("float64")
        return cls(value, odd(value) if careful else None)

    def kind(self, low: float, high: float, *, missing: int, bad: int) -> Any:
        """The kind of a number, 0 where it is good."""
        inside = self.value.between(low, high)
        branches = [] if self.odd is None else [(self.odd, bad)]
        return ibis().cases(*branches, (inside, GOOD), (~inside, bad), else_=missing)


def weight_kind(weight: Numbers) -> Any:
    """The kind of a weight, 0 where it is good."""
    return weight.kind(1 / LARGEST, LARGEST, missing=NO_WEIGHT, bad=BAD_WEIGHT)


def response_kind(response: Numbers, bounds: tuple[float, float] | None) -> Any:
    """The kind of a response, 0 where it is good."""
    kind = response.kind(-LARGEST, LARGEST, missing=NO_RESPONSE, bad=BAD_RESPONSE)
    if bounds is None:
        return kind
    outside = ~response.value.between(*bounds)
    return ibis().cases((kind != GOOD, kind), (outside, OUT_OF_BOUNDS), else_=GOOD)


def wrong_number(table: Any, asking: Asking) -> Any:
    """Whether a row has other reports than a person is asked for."""
    single = _there(table, asking.questions)
    if not asking.pairs:
        return single != asking.ask
    pairs = _there(table, asking.pairs)
    return ~(((single == asking.ask) & (pairs == 0)) | ((single == 0) & (pairs == 1)))


def _there(table: Any, names: Sequence[str]) -> Any:
    """How many of some columns are not null."""
    there = [table[name].notnull().cast("int64") for name in names]
    return sum(there[1:], start=there[0])


def first_kind(*kinds: Any) -> Any:
    """The first of some kinds that is not good."""
    *branches, last = kinds
    if not branches:
        return last
    return ibis().cases(*((kind != GOOD, kind) for kind in branches), else_=last)


@dataclass(frozen=True)
class Grouping:
    """The public columns that make groups, none where there are no groups."""

    by: tuple[str, ...] = ()

    @classmethod
    def of(cls, by: str | Sequence[str] | None) -> Grouping:
        """From the argument ``by``."""
        if by is None:
            return cls()
        names = (by,) if isinstance(by, str) else tuple(by)
        if not names or not all(isinstance(name, str) for name in names):
            raise InvalidInput("names of columns in by", _checks.shown(by))
        if len(set(names)) < len(names):
            raise InvalidInput("each column once in by", "one twice")
        return cls(names)

    @property
    def names(self) -> list[str]:
        """What the columns are called inside a query."""
        return [f"g{at}" for at in range(len(self.by))]

    def columns(self, table: Any) -> dict[str, Any]:
        """The columns, dates as text."""
        result = {}
        for inner, name in zip(self.names, self.by, strict=True):
            column, kind = table[name], table[name].type()
            if not (kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date()):
                raise InvalidInput(
                    f"words, whole numbers or dates in column {name!r}", f"the type {kind}"
                )
            result[inner] = column.cast("string") if kind.is_date() else column
        return result

    def kind(self, table: Any) -> list[Any]:
        """The kind of a row by its group: nothing to check where there are no groups."""
        missing = [table[name].isnull() for name in self.names]
        return [ibis().cases((gone, NO_GROUP), else_=GOOD) for gone in missing]

    def keys(self, rows: Any, size: int) -> tuple[list[Key], npt.NDArray[np.int64]]:
        """The groups of an Arrow table in order, and the number of the one in each row.

        Refused where they are too many for summaries of so many numbers each.
        """
        codes, first = np.zeros(rows.num_rows, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for name in self.names:
            column = rows.column(name).combine_chunks().dictionary_encode()
            codes = codes * len(column.dictionary) + column.indices.to_numpy()
            # Numbered anew, so that many columns do not overflow.
            _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
        if len(first) * size > MAX_CELLS:
            raise InvalidInput(
                f"at most {MAX_CELLS // size:,} groups of {size:,} numbers each",
                f"{len(first):,}",
                "Take columns with fewer values in by=.",
            )
        if not self.by:
            return [()], codes
        parts = [rows.column(name).take(first).to_pylist() for name in self.names]
        keys: list[Key] = [key if len(key) > 1 else key[0] for key in zip(*parts, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys))
        return [keys[at] for at in order], place[codes]
