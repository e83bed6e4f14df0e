"""Cells of Arrow columns: numbers, whole numbers and words, or an error that names the row."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._checks import shown
from confide._types import Flags, Floats
from confide.errors import BadRows, BadType, InvalidInput, unquoted
from confide.files.arrow import arrow
from confide.files.source import Source

Where = Callable[[int], str]
CELLS = "a column of values"

# ASCII digits only, no underscore, no hexadecimal, no sign but a minus.
NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"

LARGEST_WHOLE = 2**53
"""Larger floats cannot represent every whole number."""

# What people and spreadsheets write instead, and what to tell them.
MONEY = re.compile(r"[-+]?[$€£¥]? ?[0-9][0-9.,' \u00a0\u202f]*[$€£¥%]?", re.ASCII)
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,([0-9]{1,2}|[0-9]{4,})", re.ASCII)
GAPS = ("NA", "N/A", "#N/A", "NaN", "null", "None", "missing", "-", ".")
"""Words that other programs take for a missing number."""


def kind_of(kind: Any) -> str:
    """A type's name, without the names inside of it, which may be values."""
    return str(kind).partition("<")[0]


def rows_of(where: str, first: int = 0) -> Where:
    """How a row is named in a message, counted from 1 after the header."""
    return lambda at: f"row {first + at + 1} of {where}"


def picked(where: str, kept: npt.NDArray[np.integer], first: int = 0) -> Where:
    """Like `rows_of`, for rows that were picked out of others by their numbers."""
    every = rows_of(where, first)
    return lambda at: every(int(kept[at]))


@unquoted(CELLS)
def numbers(
    column: Any, *, name: str, plain: bool, where: Where, gap: str = "leave its row out."
) -> Floats:
    """A column's numbers as floats, NaN where the answer is missing.

    Parameters
    ----------
    column
        An Arrow column.
    name
        What it is called.
    plain
        Whether its cells are text that must still be parsed.
    where
        How to name a row.
    gap
        What to do about a cell that spells a missing number.

    Raises
    ------
    InvalidInput
        If a cell is there but is not a finite number. Cells are named by row, never quoted.
    """
    pa, compute = arrow(), arrow("pyarrow.compute")
    expected = f"plain finite numbers in column {name!r}"
    kind = column.type
    if plain and pa.types.is_string(kind):
        _match(column, NUMBER, name, expected, where, advice=lambda cell: _advice(cell, gap))
        column = column.cast(pa.float64())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise _no_type(expected, column, name, where)
    result: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(result))
    if odd.size and column.null_count:
        odd = odd[~compute.is_null(column).to_numpy(zero_copy_only=False)[odd]]
    if odd.size:
        got = "nan" if np.isnan(result[odd[0]]) else "an infinity"
        raise BadRows(expected, f"{got} in {where(int(odd[0]))}", column=name)
    return result


@unquoted(CELLS)
def whole(column: Any, *, name: str, plain: bool, where: Where) -> npt.NDArray[np.int64]:
    """A column's whole numbers; none may be missing."""
    pa = arrow()
    expected = f"whole numbers in column {name!r}"
    if plain and pa.types.is_string(column.type):
        _match(column, WHOLE, name, expected, where)
    elif not pa.types.is_integer(column.type):
        raise _no_type(expected, column, name, where)
    if column.null_count:
        at = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise BadRows(expected, f"nothing in {where(at)}", column=name)
    if pa.types.is_uint64(column.type):
        large = column.to_numpy(zero_copy_only=False) >= 2**63
        if large.any():
            place = where(int(large.argmax()))
            raise BadRows(expected, f"a number too large in {place}", column=name)
    if pa.types.is_integer(column.type) and hasattr(column, "__dlpack__"):
        # Arrow's own ways load its functions, and pandas where it is installed.
        return np.from_dlpack(column).astype(np.int64, copy=False)
    result: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return result


def whole_where(
    column: Any, *, name: str, plain: bool, where: Where, floats: bool = False
) -> tuple[npt.NDArray[np.int64], Flags, Flags]:
    """A column's whole numbers, where there is a cell, and where it is a whole number.

    The type of the column must be one that can hold them; a number too large for 64 bits is -1.
    ``floats`` may hold them too, in columns with gaps: pandas makes floats of such columns.
    """
    pa, compute = arrow(), arrow("pyarrow.compute")
    there = ~column.is_null().to_numpy(zero_copy_only=False)
    fits = there
    if floats and pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        fits = there & (np.abs(values) < LARGEST_WHOLE) & (values == np.floor(values))
        return np.where(fits, values, 0.0).astype(np.int64), there, fits
    if plain and pa.types.is_string(column.type):
        spelt = compute.fill_null(compute.match_substring_regex(column, WHOLE), False)
        fits = spelt.to_numpy(zero_copy_only=False)
        column = compute.if_else(spelt, column, pa.scalar("0"))
    elif not pa.types.is_integer(column.type):
        raise _no_type(f"whole numbers in column {name!r}", column, name, where)
    if pa.types.is_uint64(column.type):
        large = np.iinfo(np.int64).max
        column = compute.if_else(
            compute.less_equal(column, pa.scalar(large, pa.uint64())), column, 0
        )
    result = column.fill_null("0" if pa.types.is_string(column.type) else 0).cast(pa.int64())
    return result.to_numpy(zero_copy_only=False), there, fits


def numbers_where(column: Any, *, name: str, plain: bool, where: Where) -> tuple[Floats, Flags]:
    """A column's numbers, NaN where a cell is none, and where there is a cell."""
    pa, compute = arrow(), arrow("pyarrow.compute")
    there = ~column.is_null().to_numpy(zero_copy_only=False)
    kind = column.type
    if plain and pa.types.is_string(kind):
        spelt = compute.match_substring_regex(column, NUMBER)
        column = compute.if_else(spelt, column, pa.scalar(None, pa.string())).cast(pa.float64())
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise _no_type(f"plain finite numbers in column {name!r}", column, name, where)
    values: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return values, there


def _no_type(expected: str, column: Any, name: str, where: Where) -> BadType:
    return BadType(expected, f"the type {kind_of(column.type)} in {where(0)}", column=name)


@unquoted(CELLS)
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
        raise _no_type(f"words in column {name!r}", column, name, where)
    try:
        result: list[str | None] = column.to_pylist()
    except UnicodeDecodeError:
        # Parquet files are not checked for it when they are read.
        raise InvalidInput(f"UTF-8 text in column {name!r}", "other bytes") from None
    return result


def kinds(sources: Sequence[Source], columns: Sequence[str]) -> dict[str, Any]:
    """The Arrow type of some columns in every file: what holds the cells of all CSV files.

    Those hold whole numbers, else numbers, else text. Parquet files say their types themselves.
    """
    pa = arrow()
    choices = [(WHOLE, pa.int64()), (NUMBER, pa.float64()), ("", pa.string())]
    at = dict.fromkeys(columns, 0)
    for source in sources if columns else ():
        for batch in source.batches((), public=columns) if source.text else ():
            for name in columns:
                cells = batch.column(name)
                while not _all_match(cells, choices[at[name]][0]):
                    at[name] += 1
    found: dict[str, tuple[Any, str]] = {}
    for source in sources:
        for name in columns:
            kind = choices[at[name]][1] if source.text else source.kind(name)
            first, where = found.setdefault(name, (kind, source.where))
            if kind != first:
                raise InvalidInput(
                    f"column {name!r} of one type in all files",
                    f"{first} in {where} and {kind} in {source.where}",
                )
    return {name: kind for name, (kind, _) in found.items()}


def _all_match(cells: Any, pattern: str) -> bool:
    """Whether every cell that is there matches: true where none is."""
    compute = arrow("pyarrow.compute")
    return bool(compute.all(compute.match_substring_regex(cells, pattern), min_count=0).as_py())


@unquoted(CELLS)
def present(column: Any, *, name: str, plain: bool, where: Where) -> Floats:
    """A column's numbers, none of which may be missing."""
    values = numbers(column, name=name, plain=plain, where=where)
    gaps = np.isnan(values)
    if gaps.any():
        expected = f"a number in every row of column {name!r}"
        raise BadRows(expected, f"none in {where(int(gaps.argmax()))}", column=name)
    return values


@unquoted(CELLS)
def spelled(
    column: Any, *, name: str, where: Where, known: Collection[str] | None = None
) -> npt.NDArray[np.object_]:
    """A column's words, none of which may be missing, nor be another than those known."""
    found = words(column, name=name, where=where)
    if None in found:
        expected = f"a word in every row of column {name!r}"
        raise BadRows(expected, f"none in {where(found.index(None))}", column=name)
    if known is not None and (others := [at for at, word in enumerate(found) if word not in known]):
        expected = f"words among {shown(list(known))} in column {name!r}"
        raise BadRows(expected, f"another in {where(others[0])}", column=name)
    return np.array(found, dtype=object)


def _advice(cell: str, gap: str) -> str:
    """What to write instead of a cell that is no plain number."""
    for word in GAPS:
        if cell.strip().lower() == word.lower():
            return f"{word} is not read as missing: {gap}"
    if DECIMAL_COMMA.fullmatch(cell):
        return "Write 4.5, with a point: no decimal comma."
    if MONEY.fullmatch(cell) and not cell.isdigit():
        return "Write 45000: no per cent or currency sign, no thousands separator."
    return ""


def _match(
    column: Any,
    pattern: str,
    name: str,
    expected: str,
    where: Where,
    *,
    advice: Callable[[str], str] = lambda _: "",
) -> None:
    compute = arrow("pyarrow.compute")
    fits = compute.fill_null(compute.match_substring_regex(column, pattern), True)
    odd = np.flatnonzero(~fits.to_numpy(zero_copy_only=False))
    if odd.size:
        at = int(odd[0])
        told = advice(column[at].as_py())
        raise BadRows(expected, f"other text in {where(at)}", told, column=name)
