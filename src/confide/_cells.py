"""Cells of Arrow columns: numbers, whole numbers and words, or an error that names the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._arrow import Source, arrow
from confide.errors import InvalidInput

Floats = npt.NDArray[np.float64]
Where = Callable[[int], str]

# ASCII digits only, no underscore, no hexadecimal, no sign but a minus.
NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"


def rows_of(where: str, first: int = 0) -> Where:
    """How a row is named in a message, counted from 1 after the header."""
    return lambda at: f"row {first + at + 1} of {where}"


def numbers(column: Any, *, name: str, plain: bool, where: Where) -> Floats:
    """A column's numbers as floats, NaN where the answer is missing.

    Raises
    ------
    InvalidInput
        If a cell is there but is not a finite number. Cells are named by row, never quoted.
    """
    pa, compute = arrow(), arrow("pyarrow.compute")
    expected = f"plain finite numbers in column {name!r}"
    kind = column.type
    if plain and pa.types.is_string(kind):
        _match(column, NUMBER, expected, where)
        column = column.cast(pa.float64())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InvalidInput(expected, f"the type {kind} in {where(0)}")
    missing = compute.is_null(column).to_numpy(zero_copy_only=False)
    result: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(result) & ~missing)
    if odd.size:
        got = "nan" if np.isnan(result[odd[0]]) else "an infinity"
        raise InvalidInput(expected, f"{got} in {where(int(odd[0]))}")
    return result


def whole(column: Any, *, name: str, plain: bool, where: Where) -> npt.NDArray[np.int64]:
    """A column's whole numbers; none may be missing."""
    pa = arrow()
    expected = f"whole numbers in column {name!r}"
    if plain and pa.types.is_string(column.type):
        _match(column, WHOLE, expected, where)
    elif not pa.types.is_integer(column.type):
        raise InvalidInput(expected, f"the type {column.type} in {where(0)}")
    if column.null_count:
        at = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InvalidInput(expected, f"nothing in {where(at)}")
    if pa.types.is_uint64(column.type):
        largest = arrow("pyarrow.compute").max(column).as_py() or 0
        if largest >= 2**63:
            raise InvalidInput(expected, f"a number too large in {where(0)}")
    result: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return result


def words(column: Any, *, name: str, where: Where) -> list[str | None]:
    """A column's words, None where the answer is missing."""
    pa = arrow()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_null,
        )
    ):
        raise InvalidInput(f"words in column {name!r}", f"the type {kind} in {where(0)}")
    result: list[str | None] = column.to_pylist()
    return result


def kinds(source: Source, columns: Sequence[str]) -> dict[str, Any]:
    """The Arrow type that holds every cell of some columns of a CSV file: numbers, else text."""
    pa = arrow()
    choices = [(WHOLE, pa.int64()), (NUMBER, pa.float64()), ("", pa.string())]
    at = dict.fromkeys(columns, 0)
    for batch in source.batches(columns):
        for name in columns:
            cells = batch.column(name)
            while not _all_match(cells, choices[at[name]][0]):
                at[name] += 1
    return {name: choices[choice][1] for name, choice in at.items()}


def _all_match(cells: Any, pattern: str) -> bool:
    """Whether every cell that is there matches: true where none is."""
    compute = arrow("pyarrow.compute")
    return bool(compute.all(compute.match_substring_regex(cells, pattern), min_count=0).as_py())


def _match(column: Any, pattern: str, expected: str, where: Where) -> None:
    compute = arrow("pyarrow.compute")
    fits = compute.fill_null(compute.match_substring_regex(column, pattern), True)
    odd = np.flatnonzero(~fits.to_numpy(zero_copy_only=False))
    if odd.size:
        raise InvalidInput(expected, f"other text in {where(int(odd[0]))}")
