"""Invalid rows: the fault of each, and counts by kind of fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._types import Flags, Floats
from confide.errors import ConfideWarning, InvalidInput
from confide.files import parse
from confide.files.paths import counted

Whole = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.int8]

CHOICES = ("refuse", "drop")
"""What to do about rows that cannot be used."""
GOOD = 0
KINDS = {
    1: "without a group",
    2: "without a report",
    3: "with a report that is not a whole number",
    4: "with a report out of range",
    5: "without a weight",
    6: "with a weight that is not positive or no ordinary number",
    7: "without a response",
    8: "with a response that is no ordinary number",
    9: "with a response out of bounds",
    10: "with a report that has not one number in range for each cell",
    11: "with more or fewer reports than each person is asked for",
}
NOT_ASKED = -1
"""The person was not asked the question, and sent no report: not a fault, and not counted."""
WRONG_NUMBER = 11
NO_GROUP, NO_REPORT, NOT_WHOLE, OUTSIDE = 1, 2, 3, 4
NO_WEIGHT, BAD_WEIGHT, NO_RESPONSE, BAD_RESPONSE, OUT_OF_BOUNDS, BAD_VECTOR = 5, 6, 7, 8, 9, 10
LARGEST = 1e100
"""Weights and responses stay where their squares and sums are finite floats."""


class LeftOut(ConfideWarning):
    """Rows were left out of a summary.

    Parameters
    ----------
    rows
        How many of each kind.
    question
        The question that they are left out of, where there are several.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", LeftOut)  # the number of rows is known by other means
    """

    def __init__(self, rows: Mapping[str, int], question: str = "") -> None:
        self.rows = dict(rows)
        about = f" of {question!r}" if question else ""
        super().__init__(f"Left out{about} {told(rows)}.")


def told(rows: Mapping[str, int]) -> str:
    """Counts of rows by kind, in words."""
    parts = [f"{counted(n, 'row')} {kind}" for kind, n in rows.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


@dataclass(frozen=True)
class Asking:
    """A rule for tables in which each person was asked some of the questions only, or one pair.

    Every row has reports to so many questions, or one report about a pair and no others. Null
    means that a question was not asked, and nothing else: who was asked what is public, and a
    person who is asked always sends a report.

    Parameters
    ----------
    questions
        The columns of all questions.
    ask
        How many of them each person was asked who was asked for no pair.
    pairs
        The columns of pairs of questions.
    """

    questions: tuple[str, ...]
    ask: int
    pairs: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of reports."""
        return (*self.questions, *self.pairs)

    def wrong(self, table: Any) -> Flags:
        """Which rows of an Arrow table or batch have other reports than a person is asked for."""
        single, pairs = (self._there(table, names) for names in (self.questions, self.pairs))
        right: Flags = ((single == self.ask) & (pairs == 0)) | ((single == 0) & (pairs == 1))
        return ~right

    def _there(self, table: Any, names: Sequence[str]) -> Whole:
        there = np.zeros(table.num_rows, dtype=np.int64)
        for name in names:
            there += ~table.column(name).is_null().to_numpy(zero_copy_only=False)
        return there

    def told(self) -> str:
        """The rule in words, for a message."""
        single = f"{counted(self.ask, 'report')} in each row, of {len(self.questions)} questions"
        return f"{single}, or one report about a pair and no others" if self.pairs else single

    def same(self, other: Asking | None) -> bool:
        """Whether another rule is equal, regardless of the order of columns."""
        return (
            other is not None
            and self.ask == other.ask
            and set(self.questions) == set(other.questions)
            and set(self.pairs) == set(other.pairs)
        )

    def refuse(self, table: Any, where: parse.Where) -> None:
        """Refuse a table whose rows do not keep to the rule."""
        wrong = self.wrong(table)
        if wrong.any():
            raise InvalidInput(
                self.told(),
                f"more or fewer in {where(int(wrong.argmax()))}",
                "Null means that a question was not asked. A person who is asked always sends a "
                "report.",
            )


@dataclass(frozen=True)
class Marked:
    """A batch of rows, each with what is wrong with it.

    Parameters
    ----------
    where
        How to name a row.
    reports
        Reports of each question and their kinds; what is no report is 0.
    numbers
        Weights and responses and their kinds; what is no number is 0.
    groups
        Arrow columns that make groups.
    """

    where: parse.Where
    reports: Mapping[str, tuple[Whole, Kinds]]
    numbers: Mapping[str, tuple[Floats, Kinds]]
    groups: tuple[Any, ...] = ()

    def kinds(self, questions: Sequence[str], *, groupless: Kinds | None = None) -> Kinds:
        """The first fault of each row, for some questions together.

        Rows of people who were not asked all of them are `NOT_ASKED`, whatever else is wrong.

        Parameters
        ----------
        questions
            The questions.
        groupless
            Marks rows without a group, where there are groups.
        """
        reports = [self.reports[name][1] for name in questions]
        found = [] if groupless is None else [groupless]
        found += [*reports, *(kinds for _, kinds in self.numbers.values())]
        kinds = first(found)
        for own in reports:
            kinds[own == NOT_ASKED] = NOT_ASKED
        return kinds


def first(kinds: Sequence[Kinds]) -> Kinds:
    """Of several kinds of each row the first that is not good."""
    result = kinds[0].copy()
    for more in kinds[1:]:
        np.copyto(result, more, where=result == GOOD)
    return result


def of_reports(
    column: Any,
    size: int,
    *,
    name: str,
    plain: bool,
    where: parse.Where,
    wrong: Flags | None = None,
) -> Any:
    """Reports and their kinds, of an Arrow column of a type that can hold any.

    Parameters
    ----------
    column
        The column.
    size
        How many reports there can be.
    name, plain, where
        As for `parse.whole`.
    wrong
        Which rows have another number of reports than each person is asked for, where people are
        asked some of the questions only: in the other rows null means that this one was not asked.
    """
    floats = wrong is not None
    values, there, fits = parse.whole_where(
        column, name=name, plain=plain, where=where, floats=floats
    )
    kinds = np.full(values.size, GOOD, dtype=np.int8)
    kinds[(values < 0) | (values >= size)] = OUTSIDE
    kinds[~fits] = NOT_WHOLE
    kinds[~there] = NO_REPORT if wrong is None else NOT_ASKED
    if wrong is not None:
        kinds[wrong] = WRONG_NUMBER
    return np.where(kinds == GOOD, values, 0), kinds


def of_weights(column: Any, *, name: str, plain: bool, where: parse.Where) -> Any:
    """Weights and their kinds."""
    values, there = parse.numbers_where(column, name=name, plain=plain, where=where)
    good = (values >= 1 / LARGEST) & (values <= LARGEST)
    return _of_numbers(values, there, good, NO_WEIGHT, BAD_WEIGHT)


def of_responses(
    column: Any,
    bounds: tuple[float, float] | None,
    *,
    name: str,
    plain: bool,
    where: parse.Where,
) -> Any:
    """Responses and their kinds."""
    values, there = parse.numbers_where(column, name=name, plain=plain, where=where)
    good = np.abs(values) <= LARGEST
    numbers, kinds = _of_numbers(values, there, good, NO_RESPONSE, BAD_RESPONSE)
    if bounds is not None:
        low, high = bounds
        kinds[(kinds == GOOD) & ~((values >= low) & (values <= high))] = OUT_OF_BOUNDS
    return numbers, kinds


def _of_numbers(values: Floats, there: Any, good: Any, missing: int, bad: int) -> Any:
    kinds = np.where(good, GOOD, bad).astype(np.int8)
    kinds[~there] = missing
    return np.where(kinds == GOOD, values, 0.0), kinds
