"""Rows that cannot be used: what is wrong with each, and how many there are of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.errors import ConfideWarning
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
}
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
    """

    def __init__(self, rows: Mapping[str, int], question: str = "") -> None:
        self.rows = dict(rows)
        about = f" of {question!r}" if question else ""
        super().__init__(f"Left out{about} {told(rows)}.")


def told(rows: Mapping[str, int]) -> str:
    """How many rows there are of each kind, in words."""
    parts = [f"{counted(n, 'row')} {kind}" for kind, n in rows.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


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

    def kinds(self, questions: Sequence[str]) -> Kinds:
        """What is wrong with each row first, for some questions together."""
        found = [self.reports[name][1] for name in questions]
        found += [kinds for _, kinds in self.numbers.values()]
        return first(found)


def first(kinds: Sequence[Kinds]) -> Kinds:
    """Of several kinds of each row the first that is not good."""
    result = kinds[0].copy()
    for more in kinds[1:]:
        np.copyto(result, more, where=result == GOOD)
    return result


def of_reports(column: Any, size: int, *, name: str, plain: bool, where: parse.Where) -> Any:
    """Reports and their kinds, of an Arrow column of a type that can hold any."""
    values, there, fits = parse.whole_where(column, name=name, plain=plain, where=where)
    kinds = np.full(values.size, GOOD, dtype=np.int8)
    kinds[(values < 0) | (values >= size)] = OUTSIDE
    kinds[~fits] = NOT_WHOLE
    kinds[~there] = NO_REPORT
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
