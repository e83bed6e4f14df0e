"""Formats of files, by their ending. A new format is one module and one line here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from confide.errors import InvalidInput
from confide.files.csv import Csv, GzipCsv
from confide.files.parquet import Parquet
from confide.files.paths import ends, named, unseen
from confide.files.source import Source

__all__ = ["FORMATS", "format_of", "readable", "source", "write", "written"]

FORMATS: dict[str, type[Source]] = {".parquet": Parquet, ".csv": Csv, ".csv.gz": GzipCsv}
"""The format of each ending. A program may add its own."""


def readable() -> tuple[str, ...]:
    """Endings of files that are read."""
    return tuple(FORMATS)


def written() -> tuple[str, ...]:
    """Endings of files that are written."""
    return tuple(ending for ending, kind in FORMATS.items() if kind.written)


def format_of(path: Path) -> type[Source]:
    """The format of a file."""
    for ending, kind in FORMATS.items():
        if ends(path, (ending,)):
            return kind
    raise InvalidInput(f"a {' or '.join(FORMATS)} file", named(path))


def source(path: Path) -> Source:
    """A file of columns."""
    return format_of(path)(path)


def write(table: Any, path: Path, *, replace: bool = True, private: bool = False) -> None:
    """Write an Arrow table in the format of the file's ending, whole or not at all.

    A ``private`` one can be read by its owner only, unless it replaces one that others can read.
    """
    made = unseen(path, replace=replace, private=private)
    with made as file, format_of(path).writer(file, table.schema) as to:
        to.write_table(table)
