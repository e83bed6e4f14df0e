"""Turns files and tables into Ibis tables, and decides when to use a database."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from confide import _checks
from confide.errors import InvalidInput, Unsupported, extra
from confide.files import arrow, formats
from confide.files.paths import expand, named
from confide.files.source import MISSING, Source
from confide.reports.files import Files

SMALL = 2**16
"""Values of a column that no engine minds to tell apart."""
MAX_ROWS = 2**24
"""Grouped rows that may come to Python at most: half a gigabyte or so."""


def ibis(module: str = "ibis") -> Any:
    """The ibis module, or what to install."""
    return extra(module, "tables")


@dataclass(frozen=True)
class Opened:
    """A table that can be queried.

    Parameters
    ----------
    table
        The Ibis table.
    stamps
        Metadata of the schema of each file or table, and how to call it in a message.
    where
        How to call the whole in a message.
    small
        Columns that files say to hold few different whole numbers.
    files
        The files, where there are any.
    """

    table: Any
    stamps: tuple[tuple[Any, str], ...]
    where: str
    small: frozenset[str] = frozenset()
    files: tuple[Source, ...] = ()


def opened(data: Any, columns: Sequence[str], public: Sequence[str] = ()) -> Opened:
    """An Ibis table of files, of a table in memory or of itself, with some columns.

    Public columns may be folders' names, but not both that and columns of the files.
    """
    engine = ibis()
    if isinstance(data, (str, Path)):
        found = _files([data], columns, public)
    elif isinstance(data, (list, tuple)) and data:
        found = _files(data, columns, public)
    elif isinstance(data, engine.expr.types.Table):
        found = Opened(data, (), "the table")
    else:
        found = _in_memory(arrow.table_of(data), columns)
    _require(found.table.columns, columns, found.where)
    return found


def _require(names: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column, or has one that an engine may take for it."""
    for name in columns:
        if name not in names:
            raise arrow.no_column(list(names), name, where)
        for other in names:
            if other != name and other.lower() == name.lower():
                raise InvalidInput(
                    f"column names in {where} that differ by more than case",
                    f"{_checks.shown(name)} and {_checks.shown(other)}",
                    "Rename one of them.",
                )


def _in_memory(table: Any, columns: Sequence[str]) -> Opened:
    """An Arrow table for a database of our own, whichever one Ibis uses by default."""
    names = table.schema.names
    _require(names, columns, "the table")
    connection = _duckdb()
    wanted = table.select(list(dict.fromkeys(columns)) or names)
    with _told("the table"):
        connection.con.register("rows", wanted)
        schema = ibis().Schema.from_pyarrow(wanted.schema)
        found = connection.sql("SELECT * FROM rows", schema=schema)
    return Opened(found, ((table.schema.metadata, "the table"),), "the table")


@cache
def _database(_: int) -> Any:
    """The embedded database of a process; it holds no data, but starting one takes a while."""
    return ibis("duckdb").connect(config={"temp_directory": tempfile.gettempdir()})


def _duckdb() -> Any:
    """A connection of its own for each call, so that threads do not meet."""
    return ibis().duckdb.from_connection(_database(os.getpid()).cursor())


def _files(paths: Sequence[Any], columns: Sequence[str], public: Sequence[str]) -> Opened:
    if not all(isinstance(path, (str, Path)) for path in paths):
        raise InvalidInput("a table or paths of files", _checks.shown(paths))
    found = expand(paths, formats.readable())
    where = named(found[0]) if len(found) == 1 else f"{len(found):,} files"
    # DuckDB takes stars and brackets in a name for a pattern, and a folder x=1 for a column.
    names = [glob.escape(str(path)) for path in found]
    sources = [formats.source(path) for path in found]
    engines = {source.engine for source in sources}
    if len(engines) > 1:
        raise InvalidInput("files that are all Parquet or all CSV", "some of each")
    for source in sources:
        source.require([name for name in columns if name not in public], public=public)
        source.apart(public)
        folders = [name for name in columns if name in source.folders]
        _require([*source.names, *folders], columns, source.where)
        source.check(columns)
    # Folders make columns where they are asked for only, of text: 05 is not 5.
    hive: dict[str, Any] = {"hive_partitioning": False}
    if any(name in sources[0].folders for name in public):
        for source in sources:
            # The engine would take the folder's.
            source.apart(columns)
        hive = {"hive_partitioning": True, "hive_types_autocast": False}
    connection = _duckdb()
    if not engines <= {"parquet", "csv"}:
        # A format that DuckDB does not read: it gets what we read.
        pa = arrow.arrow()
        batches = [batch for source in sources for batch in source.batches((), public=columns)]
        memory = ibis().memtable(pa.Table.from_batches(batches))
        return Opened(memory, (), where, files=tuple(sources))
    if engines == {"csv"}:
        with _told(where):
            # Cells stay text and are parsed by our rules. By name: files may order their columns.
            table = connection.read_csv(
                names, header=True, delim=",", quote='"', escape='"', all_varchar=True, skip=0,
                comment="", union_by_name=True, **hive,
            )  # fmt: skip
        return Opened(_present(table, sources, public), (), where, files=tuple(sources))
    for source in sources:
        for name in columns:
            # DuckDB would read all files with the types of the first: 1.5 as 2.
            first, kind = sources[0].kind(name), source.kind(name)
            if kind != first:
                raise InvalidInput(
                    f"column {name!r} of one type in all files",
                    f"{first} in {sources[0].where} and {kind} in {source.where}",
                )
    with _told(where):
        table = connection.read_parquet(names, **hive)
    small = frozenset(
        name for name in columns if all(source.states(name, 0, SMALL) for source in sources)
    )
    stamps = tuple((source.metadata, source.where) for source in sources)
    return Opened(_present(table, sources, public), stamps, where, small, tuple(sources))


def _present(table: Any, sources: Sequence[Source], public: Sequence[str]) -> Any:
    """A table with nulls for folders that say so: older releases of DuckDB take them for text."""
    folders = [name for name in public if name in sources[0].folders]
    if not folders:
        return table
    return table.mutate(**{name: table[name].nullif(MISSING) for name in folders})


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    """Say in our words, and without quoting the data, what an engine could not do."""
    trouble = ibis("ibis.common.exceptions")
    try:
        yield
    except (trouble.OperationNotDefinedError, trouble.UnsupportedOperationError) as error:
        # It ends with the missing class: No translation rule for <class '...Unnest'>.
        *_, operation = re.findall(r"\w+", str(error)) or ["operation"]
        raise Unsupported(
            f"The engine that holds {where} has no {operation}, which this needs: give the paths "
            "of its files, and DuckDB reads them."
        ) from error
    except (ibis("duckdb").Error, arrow.arrow().ArrowException):
        raise InvalidInput(
            f"rows of the types that columns have in {where}", "something else, or not all of them"
        ) from None


def grouped(query: Any, where: str) -> Any:
    """The rows of a grouped query as an Arrow table, refused where they are too many."""
    with _told(where):
        rows = query.limit(MAX_ROWS + 1).to_pyarrow()
    if rows.num_rows > MAX_ROWS:
        raise InvalidInput(
            f"at most {MAX_ROWS:,} pairs of a group and a report in {where}",
            "more",
            "Take columns with fewer values in by=.",
        )
    return rows


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
    reports = {*files.mechanisms, *(files.asking.columns if files.asking else ())}
    for source in files.sources:
        # A source that reads cells in its own way is for the stream.
        if source.recoded or source.engine != "parquet" or not source.rows:
            return False
        for name in (*reports, *(name for name in files.public if name not in by)):
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
