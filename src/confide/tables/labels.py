"""A public column of two values as 0 and 1."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from confide.errors import InvalidInput
from confide.files import arrow, parse
from confide.files.source import Source

Label = float | int | str | bool


def coded(
    sources: Sequence[Source], column: str, *, gaps: bool = False
) -> tuple[tuple[Source, ...], tuple[Label, Label]]:
    """Files whose column of two labels is read as 0 and 1, and the labels in that order.

    Parameters
    ----------
    sources
        The files.
    column
        The column.
    gaps
        Whether cells may be missing.

    Raises
    ------
    InvalidInput
        If there are more labels than two or fewer, or a cell without any where there may be none.
    """
    found: set[Label] = set()
    expected = f"two values in column {column!r}"
    for source in sources:
        first = 0
        for batch in source.batches([column]):
            cells = batch.column(0)
            where = parse.rows_of(source.where, first)
            if not _readable(cells.type):
                raise InvalidInput(expected, f"the type {cells.type} in {where(0)}")
            if cells.null_count and not gaps:
                at = int(np.flatnonzero(cells.is_null().to_numpy(zero_copy_only=False))[0])
                raise InvalidInput(
                    f"a value in every row of column {column!r}", f"none in {where(at)}"
                )
            found |= {_label(cell, source.text) for cell in _encoded(cells).dictionary.to_pylist()}
            if any(isinstance(label, float) and not math.isfinite(label) for label in found):
                raise InvalidInput(f"{expected}, both finite", f"another in {source.where}")
            if len(found) > 2:
                raise InvalidInput(expected, "more", "Take regress for numbers.")
            first += batch.num_rows
    if len(found) < 2:
        raise InvalidInput(expected, "one" if found else "none", "There is nothing to tell apart.")
    if len({isinstance(label, str) for label in found}) > 1:
        raise InvalidInput(f"{expected}, both numbers or both words", "one of each")
    low, high = sorted(found, key=lambda label: str(label) if isinstance(label, str) else label)

    def one(source: Source) -> Source:
        return replace(source, recoded={column: lambda cells: _numbers(cells, source.text, high)})

    return tuple(map(one, sources)), (low, high)


def _numbers(cells: Any, text: bool, second: Label) -> Any:
    """1 for one label and 0 for the other; a missing cell stays missing."""
    coded = _encoded(cells)
    # One more, for a batch in which all cells are missing.
    ones = [_label(cell, text) == second for cell in coded.dictionary.to_pylist()] + [False]
    missing = coded.indices.is_null().to_numpy(zero_copy_only=False)
    numbers = np.array(ones, dtype=np.int8)[
        coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    ]
    return arrow.arrow().array(numbers, mask=missing)


def _readable(kind: Any) -> bool:
    types = arrow.arrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (
        types.is_string,
        types.is_large_string,
        types.is_boolean,
        types.is_integer,
        types.is_floating,
    )
    return any(test(kind) for test in tests)


def _encoded(cells: Any) -> Any:
    types = arrow.arrow().types
    return cells if types.is_dictionary(cells.type) else cells.dictionary_encode()


def _label(cell: Any, text: bool) -> Label:
    """A cell as a number where it is one: whole if it can be."""
    if text and re.match(parse.NUMBER, cell):
        cell = float(cell)
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    result: Label = cell
    return result
