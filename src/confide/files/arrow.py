"""Tables of any kind as Arrow tables, and files of tables as a stream of batches."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from confide import _checks, _limits
from confide.errors import InvalidInput, MissingColumn, extra, unquoted
from confide.exact.entropy import SystemEntropy
from confide.exact.inversion import permutation
from confide.files import gzip, pages
from confide.files.paths import counted, named, readable, unseen

SUFFIXES = (".parquet", ".csv")
READABLE = (*SUFFIXES, ".csv.gz")
"""Files that are read; the others are written too."""
ROWS = 2**18
"""Rows of a Parquet batch: small beside any table worth streaming."""
TABLE = "a table: a dict of columns, or a pandas, polars or Arrow table"
CELLS, LETTERS = 2**24, 2**27
"""Cells of a Parquet batch and letters of a column: of very many columns, or of long words, fewer
rows are read at a time.
"""
MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder whose rows have none, as Hive and Spark write it."""
BLOCK = 2**22
"""Bytes of a CSV batch; no line may be longer."""


def arrow(module: str = "pyarrow") -> Any:
    """The pyarrow module, or what to install."""
    return extra(module, "cli")


@unquoted(TABLE)
def table_of(data: Any) -> Any:
    """An Arrow table of a mapping of columns, or of a pandas, polars or Arrow table."""
    pa = arrow()
    library = type(data).__module__.partition(".")[0]
    try:
        if isinstance(data, pa.RecordBatch):
            table = pa.Table.from_batches([data])
        elif isinstance(data, pa.Table):
            table = data
        elif isinstance(data, Mapping):
            table = pa.table({str(name): _array(column) for name, column in data.items()})
        elif library == "pandas" and hasattr(data, "columns"):
            table = pa.Table.from_pandas(data, preserve_index=False)
        elif library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
            table = data.to_arrow()
        else:
            raise InvalidInput(TABLE, _checks.shown(type(data)))
    except InvalidInput:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InvalidInput(
            "columns of one length, each with a name of its own and values of one kind", "others"
        ) from None
    unique(table.schema.names, "a table")
    return table


def mixed(table: Any) -> Any:
    """The rows of a table in a uniformly random order, drawn from the system's entropy."""
    return table.take(arrow().array(permutation(SystemEntropy(), table.num_rows)))


def unpaired(table: Any) -> Any:
    """A table whose rows pandas numbers from n on, so that they match no rows of another table."""
    n = table.num_rows
    index = {"kind": "range", "name": None, "start": n, "stop": 2 * n, "step": 1}
    told = {"index_columns": [index], "column_indexes": [], "columns": [], "pandas_version": "2"}
    return table.replace_schema_metadata({**table.schema.metadata, "pandas": json.dumps(told)})


def write(table: Any, path: Path, *, replace: bool = True) -> None:
    """Write a table as Parquet or CSV, whole or not at all."""
    with unseen(path, replace=replace) as file:
        if path.suffix == ".csv":
            arrow("pyarrow.csv").write_csv(table, file)
        else:
            arrow("pyarrow.parquet").write_table(table, file)


def _array(column: Any) -> Any:
    pa = arrow()
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    return pa.array(column)


def plain(kind: Any) -> Any:
    """The type of the same values without a dictionary or a view, which not all of Arrow takes."""
    pa = arrow()
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    return _within(kind) if pa.types.is_nested(kind) else kind


def _within(kind: Any) -> Any:
    """A type whose values hold others, which are made plain."""
    pa = arrow()
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(plain(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_type), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(kind[at].name, plain(kind[at].type)) for at in range(kind.num_fields)])
    return kind


def unique(names: Sequence[str], where: str) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    seen = set()
    for name in names:
        if name in seen:
            # The names are not said: in a file without a header they are the first values.
            first = names.index(name)
            second = names.index(name, first + 1)
            raise InvalidInput(
                f"each column once in {where}", f"columns {first + 1} and {second + 1} of one name"
            )
        seen.add(name)


def column_of(table: Any, name: str, where: str) -> Any:
    """One column of an Arrow table or batch."""
    names = table.schema.names
    if name not in names:
        raise no_column(names, name, where)
    return table.column(names.index(name))


def no_column(names: Sequence[str], name: str, where: str) -> MissingColumn:
    """The error that a column is missing.

    What is there instead is not said, but for a name much like it: in a file without a header the
    names are the first values.
    """
    advice = _checks.nearest(name, names, rest="Do the columns have their names on top?")
    return MissingColumn(f"a column {name!r} in {where}", "none", advice, column=name)


@dataclass(frozen=True)
class Source:
    """A file of columns, read in batches that fit in memory.

    Cells of a CSV file are text, and an empty one is missing: nothing else is, whatever it spells.
    A folder of its path that is called ``day=2026-01-05`` makes a column ``day`` of text, where the
    file has none of that name.
    """

    path: Path

    @property
    def plain(self) -> bool:
        """Whether cells are text that must still be parsed."""
        return self.path.suffix != ".parquet"

    @property
    def where(self) -> str:
        """The file, for a message."""
        return named(self.path)

    @cached_property
    def names(self) -> list[str]:
        """Column names."""
        with _told(self.where, plain=self.plain):
            try:
                if self.plain:
                    self._check_header()
                names = list(self._header() if self.plain else self._schema.names)
            except arrow().ArrowException:
                # Decimal commas make the lines of such a file uneven.
                self._check_separator()
                raise
        unique(names, self.where)
        return names

    @cached_property
    def folders(self) -> Mapping[str, str | None]:
        """Columns that folders of the path make, as Hive and Spark write them, and their cells.

        Text whatever it spells, None where the folder says that the value is missing.
        """
        found: dict[str, str | None] = {}
        for part in self.path.parent.parts:
            name, equals, value = part.partition("=")
            if equals and name:
                found[unquote(name)] = None if value == MISSING else unquote(value)
        return found

    def in_file(self, columns: Sequence[str]) -> list[str]:
        """Those of some columns that are in the file; the others are folders of its path."""
        return [name for name in columns if name not in self.folders or name in self.names]

    def apart(self, columns: Sequence[str]) -> None:
        """Refuse columns that the file has and a folder of its path makes, too."""
        for name in columns:
            if name in self.folders and name in self.names:
                raise InvalidInput(
                    f"one column {name!r} in {self.where}",
                    "two, in the file and in the name of a folder",
                    "Rename one of them.",
                )

    def require(self, columns: Sequence[str]) -> None:
        """Refuse a file that lacks one of some columns; the names of its folders count too."""
        for name in columns:
            if name not in self.names and name not in self.folders:
                self._check_separator()
                raise no_column(self.names, name, self.where)

    def _check_header(self) -> None:
        """Refuse a header of very many columns: Arrow would guess the type of each."""
        readable(self.path)
        with self._bytes() as file:
            start = file.read(BLOCK)
        if start.count(b",") < _limits.MAX_COLUMNS:
            return
        text = io.StringIO(start.decode("utf-8", errors="replace"), newline="")
        try:
            columns = len(next(csv.reader(text)))
        except csv.Error:
            columns = start.count(b",") + 1
        _limits.check_columns(columns, self.where)

    def _check_separator(self) -> None:
        """Refuse a header that is not split by commas: spreadsheets write others too."""
        if not self.plain:
            return
        with _told(self.where, plain=True), self._bytes() as file:
            header = file.readline(BLOCK)
        for mark, got in ((b";", "semicolons"), (b"\t", "tabs")):
            if mark in header and b"," not in header:
                raise InvalidInput(
                    f"commas between the columns of {self.where}", got, "Save it with commas."
                )

    @cached_property
    def metadata(self) -> Mapping[bytes, bytes]:
        """Metadata of the table's schema."""
        if self.plain:
            return {}
        with _told(self.where, plain=self.plain):
            return self._schema.metadata or {}

    def kind(self, name: str) -> Any:
        """The Arrow type of a column of a Parquet file, or of a folder's name."""
        if name in self.folders and name not in self.names:
            return arrow().string()
        with _told(self.where, plain=self.plain):
            return self._schema.field(name).type

    @property
    def rows(self) -> int | None:
        """Number of rows, where the file knows it without being read."""
        return None if self.plain else int(self._footer.num_rows)

    @property
    def groups(self) -> list[int]:
        """Rows of each row group of a Parquet file."""
        with _told(self.where, plain=self.plain):
            metadata = self._footer
            return [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]

    def states(self, name: str, low: int, high: int) -> bool:
        """Whether a Parquet file says that a column of whole numbers keeps to bounds.

        It may lie, and it may have nothing to say.
        """
        if not arrow().types.is_integer(self.kind(name)):
            return False
        with _told(self.where, plain=self.plain):
            metadata = self._footer
            paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
            at = paths.index(name)
            for group in range(metadata.num_row_groups):
                said = metadata.row_group(group).column(at).statistics
                if said is None or not said.has_min_max or said.min < low or said.max > high:
                    return False
        return True

    @cached_property
    def _schema(self) -> Any:
        return self._footer.schema.to_arrow_schema()

    @cached_property
    def _footer(self) -> Any:
        """What a Parquet file says about itself, read once."""
        return self._parquet.metadata

    @property
    def _parquet(self) -> Any:
        readable(self.path)
        opened = arrow("pyarrow.parquet").ParquetFile(self.path)
        _limits.check_columns(opened.metadata.num_columns, self.where)
        return opened

    def check(self, columns: Sequence[str]) -> int:
        """Refuse a file that asks for more than its size allows when some columns are read.

        Returns how many rows may be read at a time.
        """
        columns = self.in_file(columns)
        with _told(self.where, plain=self.plain):
            if self.path.suffix == ".gz":
                stat = self.path.stat()
                gzip.check(self.path, self.where, stat.st_size, stat.st_mtime_ns)
            return ROWS if self.plain else self._rows_at_once(self._footer, columns, None)

    def _rows_at_once(
        self, footer: Any, columns: Sequence[str], groups: Sequence[int] | None
    ) -> int:
        try:
            long = pages.check(self.path, footer, columns, groups, self.where)
        except pages.Damaged:
            raise _damaged(self.where, plain=self.plain) from None
        return max(1, min(ROWS, CELLS // max(1, len(columns)), LETTERS // max(1, long)))

    def _bytes(self) -> IO[bytes]:
        """The text of a CSV file, unpacked as far as its size allows."""
        if self.path.suffix == ".gz":
            return gzip.opened(self.path, self.where)
        return self.path.open("rb")

    @contextlib.contextmanager
    def _text(self) -> Iterator[Path | IO[bytes]]:
        """A CSV file as Arrow takes it."""
        readable(self.path)
        if self.path.suffix != ".gz":
            yield self.path
            return
        with gzip.lent(self.path, self.where) as file:
            yield file

    def _header(self) -> list[str]:
        """The names in the first line of a CSV file."""
        with self._text() as text:
            return list(self._rows(text, ()).schema.names)

    def _csv(self, names: Sequence[str]) -> Iterator[Any]:
        """Batches of some columns of a CSV file."""
        with self._text() as text:
            yield from map(_cells, self._rows(text, names))

    def _rows(self, file: Any, names: Sequence[str]) -> Any:
        pa, table = arrow(), arrow("pyarrow.csv")
        return table.open_csv(
            file,
            # One thread, so that a bad row can be told by its number.
            read_options=table.ReadOptions(use_threads=False, block_size=BLOCK),
            parse_options=table.ParseOptions(ignore_empty_lines=False, newlines_in_values=True),
            convert_options=table.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=list(names),
                strings_can_be_null=False,
            ),
        )

    def batches(
        self, columns: Sequence[str], *, groups: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """Arrow record batches of some columns, in the order of the file.

        Of a Parquet file some row groups may be asked for.
        """
        self.require(columns)
        own = self.in_file(columns)
        batches = self._in_file(own or self.names[:1], groups)
        if len(own) == len(columns):
            yield from batches
            return
        for batch in batches:
            yield self._with_folders(batch, columns)

    def _in_file(self, columns: Sequence[str], groups: Sequence[int] | None) -> Iterator[Any]:
        with _told(self.where, plain=self.plain):
            if self.plain:
                yield from self._csv(columns)
            else:
                opened = self._parquet
                rows = self._rows_at_once(opened.metadata, columns, groups)
                # The file's own order would come back otherwise.
                wanted = list(columns)
                for batch in opened.iter_batches(
                    rows, groups, columns=wanted, use_threads=len(wanted) > 1
                ):
                    yield batch.select(wanted)

    def _with_folders(self, batch: Any, columns: Sequence[str]) -> Any:
        """A batch with what the names of folders say in every row."""
        pa = arrow()
        arrays = []
        for name in columns:
            if name in batch.schema.names:
                arrays.append(batch.column(batch.schema.names.index(name)))
            else:
                value = pa.scalar(self.folders[name], pa.string())
                arrays.append(pa.repeat(value, batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _cells(batch: Any) -> Any:
    pa, compute = arrow(), arrow("pyarrow.compute")
    none = pa.scalar(None, pa.string())
    columns = [compute.if_else(compute.equal(cells, ""), none, cells) for cells in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _not_utf8(where: str) -> InvalidInput:
    return InvalidInput(f"UTF-8 text in {where}", "other bytes", "Save it as CSV UTF-8.")


@contextlib.contextmanager
def _told(where: str, *, plain: bool) -> Iterator[None]:
    """Say in our words, and without quoting the data, what could not be read."""
    with unquoted(f"a file that can be read at {where}"), _said(where, plain=plain):
        yield


@contextlib.contextmanager
def _said(where: str, *, plain: bool) -> Iterator[None]:
    """Say in our words what Arrow could not read."""
    pa = arrow()
    try:
        yield
    except UnicodeDecodeError:
        raise _not_utf8(where) from None
    except pa.ArrowException as error:
        text = str(error)
        ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text)
        if ragged:
            line, expected, got = ragged.groups()
            raise InvalidInput(
                f"{counted(int(expected), 'cell')} in every line of {where}",
                f"{got} in line {line}",
            ) from None
        if "UTF8" in text:
            raise _not_utf8(where) from None
        if plain:
            got = "no header and rows" if "mpty" in text else "something else"
            if "straddl" in text:
                got = "a line that does not end, perhaps an open quote"
            raise InvalidInput(f"a CSV file at {where}", got) from None
        raise _damaged(where, plain=plain) from None
    except (OSError, EOFError, zlib.error) as error:
        # Damaged pages come as a bare OSError; the real ones carry a number.
        if getattr(error, "errno", None) is not None:
            raise
        raise _damaged(where, plain=plain) from None


def _damaged(where: str, *, plain: bool) -> InvalidInput:
    kind = "CSV" if plain else "Parquet"
    return InvalidInput(f"a {kind} file at {where}", "something else, or not all of it")
