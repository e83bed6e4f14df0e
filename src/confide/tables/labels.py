"""A public column of two values as 0 and 1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidInput
from confide.files import arrow, parse

Label = float | int | str | bool


@dataclass(frozen=True)
class Coded(arrow.Source):
    """A file with one column of two labels read as 0 and 1.

    Parameters
    ----------
    column
        The column.
    labels
        What counts as 0 and what as 1.
    """

    column: str
    labels: tuple[Label, Label]

    def batches(
        self, columns: Sequence[str], *, groups: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """The same batches, with numbers in the column."""
        pa = arrow.arrow()
        for batch in super().batches(columns, groups=groups):
            at = batch.schema.names.index(self.column)
            cells = _encoded(batch.column(at))
            second = np.array(
                # One more, for a batch in which all cells are missing.
                [_label(c, self.plain) == self.labels[1] for c in cells.dictionary.to_pylist()]
                + [False],
                dtype=np.int8,
            )
            missing = cells.indices.is_null().to_numpy(zero_copy_only=False)
            numbers = second[cells.indices.fill_null(0).to_numpy(zero_copy_only=False)]
            yield batch.set_column(at, self.column, pa.array(numbers, mask=missing))


def coded(sources: Sequence[arrow.Source], column: str, *, gaps: bool = False) -> tuple[Coded, ...]:
    """Files with a column of two labels as 0 and 1, in the order of the labels.

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
            found |= {_label(cell, source.plain) for cell in _encoded(cells).dictionary.to_pylist()}
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
    return tuple(Coded(source.path, column, (low, high)) for source in sources)


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


def _label(cell: Any, plain: bool) -> Label:
    """A cell as a number where it is one: whole if it can be."""
    if plain and re.match(parse.NUMBER, cell):
        cell = float(cell)
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    result: Label = cell
    return result
