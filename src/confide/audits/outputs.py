"""Whatever code puts out, as rows that can be compared: nothing that can be told apart is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from confide.errors import InvalidInput

Outputs = npt.NDArray[Any]

EXACT = 2**53
"""Whole numbers beyond it may not be floats."""
KINDS = (bool, int, float)


def tables(first: list[Any], second: list[Any]) -> tuple[Outputs, Outputs]:
    """Outputs of two inputs, one row a run, in one form for both.

    Numbers stay numbers. Where rows are of several lengths or outputs of several types, a last
    column tells which; all else becomes words.
    """
    outputs = [*first, *second]
    plain = [_plain(each) for each in outputs]
    kinds = [_kind(each) for each in outputs]
    code_of = {kind: code for code, kind in enumerate(sorted(set(kinds)))}
    codes = [code_of[kind] for kind in kinds]
    rows = _numbers(plain)
    if rows is None:
        rows = np.array([f"{each!r} {code}" for each, code in zip(plain, codes, strict=True)])
    elif len(code_of) > 1:
        rows = np.column_stack([rows, codes])
    return rows[: len(first)], rows[len(first) :]


def _plain(output: Any) -> Any:
    """Numbers, words and lists of Python's own, or a sentence: a name would hide the content."""
    if isinstance(output, np.ndarray | np.generic):
        output = output.tolist()
    if output is None or isinstance(output, (*KINDS, complex, str, bytes)):
        return output
    if isinstance(output, list | tuple):
        return [_plain(each) for each in output]
    if isinstance(output, dict):
        return {key: _plain(each) for key, each in output.items()}
    raise InvalidInput(
        "outputs that are numbers, words, or lists of them",
        f"a {type(output).__name__}",
        "Return all that is seen of it, such as the indices of reports.",
    )


def _kind(output: Any) -> str:
    """The types in an output, those of a list once where all are the same."""
    name = f"{type(output).__module__}.{type(output).__qualname__}"
    if isinstance(output, np.ndarray):
        return f"{name} {output.dtype.str} {output.ndim}"
    if isinstance(output, dict):
        return f"{name} {[_kind(each) for each in output.values()]}"
    if isinstance(output, list | tuple):
        kinds = [_kind(each) for each in output]
        return f"{name} {kinds if len(set(kinds)) > 1 else kinds[:1]}"
    return name


def _numbers(plain: list[Any]) -> Outputs | None:
    """One row of numbers a run; None where there is something else, or a float would be too short.

    Nested lists are numbers if they all have one shape.
    """
    if not all(isinstance(each, list) for each in plain):
        return _array(plain) if all(type(each) in KINDS for each in plain) else None
    lengths = np.array([len(row) for row in plain])
    if (lengths == lengths[0]).all():
        found = _array(plain)
        return None if found is None else found.reshape(len(plain), -1)
    longest = int(lengths.max())
    filled = [[*row, *[0] * (longest - len(row))] for row in plain]
    found = _array(filled)
    return None if found is None or found.ndim > 2 else np.column_stack([found, lengths])


def _array(plain: list[Any]) -> Outputs | None:
    try:
        found = np.array(plain)
    except ValueError:
        return None
    if found.dtype.kind in "bi":
        return found.astype(np.int64)
    if found.dtype.kind != "f":
        return None
    # A whole number this large among floats has lost its last digits.
    return None if (np.abs(found) > EXACT).any() and not _floats(plain) else found


def _floats(plain: list[Any]) -> bool:
    return all(
        _floats(each) if isinstance(each, list) else isinstance(each, float) for each in plain
    )
