"""What a data set holds, as a few bytes that do not depend on the order of its records."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DENSE = 2**22
"""Up to so many cells there is a counter for each; beyond that the records are sorted."""
CHUNK = 2**22
"""Records that are counted at a time, so that little memory is needed beside them."""
WHOLE = 2**53
"""Whole numbers up to here are exact as floats: 1 and 1.0 are taken for the same record."""


def content(*tables: Array) -> bytes:
    """32 bytes that stand for the multisets of rows of some tables, one row a record.

    The same records in another order give the same bytes. They are private: who has them can test
    guesses of the data, so they are kept in memory only, and a ledger stores an HMAC of them.
    """
    digest = hashlib.sha256()
    for table in tables:
        for piece in _pieces(table):
            digest.update(len(piece).to_bytes(8, "little"))
            digest.update(piece)
    return digest.digest()


def _pieces(table: Array) -> Iterator[bytes]:
    rows = _plain(table.reshape(len(table), math.prod(table.shape[1:])))
    if rows.dtype == np.int64 and rows.size:
        low = rows.min(axis=0)
        shape = [int(b) - int(a) + 1 for a, b in zip(low, rows.max(axis=0), strict=True)]
        if math.prod(shape) < 2**63:
            yield _numbers([len(rows), *low, *shape])
            yield from _counted(rows, low, shape)
            return
    kind = rows.dtype.newbyteorder("<")
    yield f"{kind.str} {rows.shape}".encode()
    width = rows.shape[1] * rows.itemsize
    if rows.size and width:
        rows = np.ascontiguousarray(rows, dtype=kind)
        yield np.sort(rows.view(np.dtype((np.void, width))).ravel()).tobytes()


def _plain(rows: Array) -> Array:
    """One type for the same numbers, whatever type they came in."""
    kind = rows.dtype.kind
    if kind == "f":
        with np.errstate(all="ignore"):
            if not np.all((np.rint(rows) == rows) & (np.abs(rows) <= WHOLE)):
                rows = rows.astype(np.float64) + 0.0  # of -0 and 0 make one
                rows[np.isnan(rows)] = np.nan
                return rows
    elif kind not in "bi" and not (kind == "u" and np.all(rows < 2**63)):
        return rows
    return rows.astype(np.int64, copy=False)


def _counted(rows: Array, low: Array, shape: list[int]) -> Iterator[bytes]:
    """Which rows there are, as numbers of the cells of a box, and how often."""
    cells = math.prod(shape)

    def flat(start: int) -> Array:
        part = rows[start : start + CHUNK] - low
        numbers: Array = np.ravel_multi_index(tuple(part.T), shape)
        return numbers

    starts = range(0, len(rows), CHUNK)
    if cells <= DENSE:
        every = np.zeros(cells, dtype=np.int64)
        for start in starts:
            every += np.bincount(flat(start), minlength=cells)
        found = np.flatnonzero(every)
        counts = every[found]
    else:
        found, counts = np.unique(
            np.concatenate([flat(start) for start in starts]), return_counts=True
        )
    yield _numbers(found)
    yield _numbers(counts)


def _numbers(numbers: Any) -> bytes:
    return np.asarray(numbers, dtype="<i8").tobytes()
