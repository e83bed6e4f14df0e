"""Which files of reports a database counts, and how many of them at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from confide.files import arrow
from confide.reports.files import Files

LEAST = 5 * 10**7
"""Rows that are worth a database: of fewer, the stream is done before DuckDB has started."""
ROWS = 10**8
"""Rows that one query counts, about: files are taken together up to so many."""


def countable(files: Files, by: Sequence[str] = ()) -> bool:
    """Whether DuckDB counts these files by the rules of the stream: Parquet, plain numbers.

    Columns ``by`` which rows are grouped may hold words.
    """
    if (files.rows or 0) < LEAST or find_spec("duckdb") is None or find_spec("ibis") is None:
        return False
    types = arrow.arrow().types
    for source in files.sources:
        # A source that reads cells in its own way is for the stream.
        if source.recoded or source.engine != "parquet" or not source.rows:
            return False
        for name in (*files.mechanisms, *(name for name in files.public if name not in by)):
            kind = source.kind(name)
            number = types.is_floating(kind) or types.is_decimal(kind)
            if not (types.is_integer(kind) or (number and name in files.public)):
                return False
    return True


def parts(files: Files) -> Iterator[tuple[list[Path], int]]:
    """The files, as many at a time as are worth a query, and their rows where they know them."""
    paths: list[Path] = []
    rows = 0
    for source in files.sources:
        paths.append(source.path)
        rows += source.rows or 0
        if rows >= ROWS:
            yield paths, rows
            paths, rows = [], 0
    if paths:
        yield paths, rows
