"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from confide import _limits
from confide.files import pages
from confide.files.arrow import arrow
from confide.files.paths import readable
from confide.files.source import ROWS, Source

CELLS, LETTERS = 2**24, 2**27
"""Cells of a batch and letters of a column: of very many columns, or of long words, fewer rows are
read at a time.
"""


@dataclass(frozen=True)
class Parquet(Source):
    """A Parquet file. It knows its types, and its metadata tells what made its reports."""

    title = "Parquet"
    stamped = True
    engine = "parquet"

    def _names(self) -> list[str]:
        return list(self._schema.names)

    @cached_property
    def metadata(self) -> Mapping[bytes, bytes]:
        """Metadata of the table's schema."""
        with self.told():
            return self._schema.metadata or {}

    def _kind(self, name: str) -> Any:
        with self.told():
            return self._schema.field(name).type

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._footer.num_rows)

    @property
    def groups(self) -> list[int]:
        """Rows of each row group."""
        with self.told():
            footer = self._footer
            return [footer.row_group(at).num_rows for at in range(footer.num_row_groups)]

    def states(self, name: str, low: int, high: int) -> bool:
        """Whether the file says that a column of whole numbers keeps to bounds.

        It may lie, and it may have nothing to say.
        """
        if not arrow().types.is_integer(self.kind(name)):
            return False
        with self.told():
            footer = self._footer
            paths = [footer.schema.column(at).path for at in range(footer.num_columns)]
            at = paths.index(name)
            for group in range(footer.num_row_groups):
                said = footer.row_group(group).column(at).statistics
                if said is None or not said.has_min_max or said.min < low or said.max > high:
                    return False
        return True

    @cached_property
    def _schema(self) -> Any:
        return self._footer.schema.to_arrow_schema()

    @cached_property
    def _footer(self) -> Any:
        """What the file says about itself, read once."""
        return self._opened().metadata

    def _opened(self) -> Any:
        readable(self.path)
        opened = arrow("pyarrow.parquet").ParquetFile(self.path)
        _limits.check_columns(opened.metadata.num_columns, self.where)
        return opened

    def check(self, columns: Sequence[str]) -> int:
        """Refuse a file whose pages ask for more than its size allows.

        Returns how many rows may be read at a time.
        """
        with self.told():
            return self._rows_at_once(self._footer, self.in_file(columns), None)

    def _rows_at_once(
        self, footer: Any, columns: Sequence[str], groups: Sequence[int] | None
    ) -> int:
        try:
            long = pages.check(self.path, footer, columns, groups, self.where)
        except pages.Damaged:
            raise self.damaged() from None
        return max(1, min(ROWS, CELLS // max(1, len(columns)), LETTERS // max(1, long)))

    def _batches(self, columns: Sequence[str], groups: Sequence[int] | None) -> Iterator[Any]:
        opened = self._opened()
        rows = self._rows_at_once(opened.metadata, columns, groups)
        # The file's own order would come back otherwise.
        wanted = list(columns)
        for batch in opened.iter_batches(rows, groups, columns=wanted, use_threads=len(wanted) > 1):
            yield batch.select(wanted)

    @classmethod
    def writer(cls, file: IO[bytes], schema: Any, *, packed: Sequence[str] = ()) -> Any:
        """A writer of a Parquet file.

        Packed bits hold small whole numbers without order in little more than a dictionary does,
        and take half the time.
        """
        pq = arrow("pyarrow.parquet")
        if not packed:
            return pq.ParquetWriter(file, schema)
        rest = [name for name in schema.names if name not in packed]
        encoding = dict.fromkeys(packed, "DELTA_BINARY_PACKED")
        return pq.ParquetWriter(file, schema, use_dictionary=rest, column_encoding=encoding)
