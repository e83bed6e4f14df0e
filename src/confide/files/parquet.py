"""Parquet files, whose page headers are checked before any page is read."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from confide import _limits
from confide.errors import InvalidInput, extra
from confide.files.arrow import arrow
from confide.files.paths import readable
from confide.files.source import ROWS, Source

DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3
HEADERS = {DATA_PAGE: (5, 2), DICTIONARY_PAGE: (7, 2), DATA_PAGE_V2: (8, 4)}
"""The field that tells about a kind of page, and the field of the encoding inside it."""
DELTA_BYTE_ARRAY = 7
"""An encoding of text by the part that it shares with the text before."""
DEPTH = 8
"""Structures inside structures in a page header, at most."""
CODECS = {"LZ4": "lz4_raw"}
"""What pyarrow calls codecs that have another name in Parquet."""
FIELDS = 2**15 - 1
"""The largest number of a field: a reader keeps 16 bits of it."""
LONGEST = 2**8
"""Bytes of a value of fixed length, at most."""
# Types of the compact protocol.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 12


class Damaged(ValueError):
    """Bytes that are no page."""


@dataclass(frozen=True)
class Page:
    """The header of a page.

    Parameters
    ----------
    kind, encoding
        By the numbers of the format.
    values
        How many it holds.
    unpacked
        Bytes of memory for its content.
    start, end
        Where its content is in the file.
    """

    kind: int
    encoding: int
    values: int
    unpacked: int
    start: int
    end: int


def check(
    path: Path, metadata: Any, columns: Sequence[str], groups: Sequence[int] | None, where: str
) -> int:
    """Refuse a file whose pages of some columns ask for more than its size allows.

    Parameters
    ----------
    path
        The file.
    metadata
        Its footer, as pyarrow reads it.
    columns
        The columns that will be read.
    groups
        The row groups that will be read, or None for all.
    where
        The file, for a message.

    Returns
    -------
    int
        Letters of the longest word that may be meant more than once, so that batches of rows can
        be small enough.

    Raises
    ------
    InvalidInput
        If they ask for too much.
    Damaged
        If there are no pages where the footer says.
    """
    leaves = _leaves(metadata, columns, where)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        size = len(data)
        stored = values = unpacked = text = longest = 0
        for group in range(metadata.num_row_groups) if groups is None else groups:
            chunks = metadata.row_group(group)
            for leaf, words in leaves:
                chunk = chunks.column(leaf)
                if chunks.num_rows == chunk.num_values == 0:
                    continue
                start, length = _place(chunk)
                stored += length
                # Chunks that lie on top of each other would be read over and over.
                if min(start, length) < 0 or start + length > size or stored > size:
                    raise Damaged
                pages = list(_pages(data, start, start + length))
                own = sum(page.values for page in pages if page.kind != DICTIONARY_PAGE)
                # The footer says how many values there are too.
                own = max(own, _natural(chunk.num_values))
                values += own
                unpacked += sum(page.unpacked for page in pages)
                _limits.check_values(values, size, where)
                _limits.check_unpacked(unpacked, size, where)
                if words:
                    long = _longest(data, pages, own, chunk.compression)
                    text += own * long
                    _limits.check_text(text, size, where)
                    longest = max(longest, long)
    return longest


def _leaves(metadata: Any, columns: Sequence[str], where: str) -> list[tuple[int, bool]]:
    """Numbers of the columns as the footer has them, and whether they are text."""
    wanted = set(columns)
    found = []
    for at in range(metadata.num_columns):
        leaf = metadata.schema.column(at)
        # A list or structure has a column for each part, under a longer name.
        if leaf.path in wanted or any(leaf.path.startswith(f"{name}.") for name in wanted):
            if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" and leaf.length > LONGEST:
                raise InvalidInput(
                    f"values of at most {LONGEST} bytes in {where}", f"{leaf.length:,} bytes"
                )
            found.append((at, leaf.physical_type == "BYTE_ARRAY"))
    return found


def _place(chunk: Any) -> tuple[int, int]:
    """Where the pages of a column start, and how many bytes they take: as Arrow finds them."""
    start, first = chunk.data_page_offset, chunk.dictionary_page_offset
    if chunk.has_dictionary_page and first is not None and 0 < first < start:
        start = first
    return start, chunk.total_compressed_size


def _longest(data: mmap.mmap, pages: Sequence[Page], values: int, codec: str) -> int:
    """Letters of the longest word that some pages may repeat: 0 where each is there as it is.

    A word of a dictionary may be meant any number of times, and so may the first part of the text
    before.
    """
    most = 0
    for page in pages:
        if page.kind == DICTIONARY_PAGE:
            long = page.unpacked
            if values * long > _limits.UNPACKED:
                long = _longest_word(data, page, codec)
            most = max(most, long)
        elif page.encoding == DELTA_BYTE_ARRAY:
            most = max(most, page.unpacked)
    return most


def _longest_word(data: mmap.mmap, page: Page, codec: str) -> int:
    """The length of the longest word of a dictionary, where it can be unpacked."""
    packed = data[page.start : page.end]
    try:
        if codec != "UNCOMPRESSED":
            coder = extra("pyarrow", "cli").Codec(CODECS.get(codec, codec.lower()))
            packed = coder.decompress(packed, page.unpacked, asbytes=True)
    except (ValueError, OSError, NotImplementedError):
        return page.unpacked
    at = longest = 0
    for _ in range(page.values):
        length = int.from_bytes(packed[at : at + 4], "little")
        longest = max(longest, length)
        at += 4 + length
    return min(longest, page.unpacked)


def _pages(data: mmap.mmap, at: int, end: int) -> Iterator[Page]:
    while at < end:
        try:
            fields, start = _structure(data, at, DEPTH)
        except IndexError:
            raise Damaged from None
        kind, unpacked, packed = (_natural(fields.get(number)) for number in (1, 2, 3))
        at = start + packed
        if at > end:
            raise Damaged
        values = code = 0
        if kind in HEADERS:
            number, encoding = HEADERS[kind]
            inner = fields.get(number)
            if not isinstance(inner, dict):
                raise Damaged
            values, code = _natural(inner.get(1)), _natural(inner.get(encoding))
        yield Page(kind, code, values, unpacked, start, at)


def _natural(number: Any) -> int:
    """A number that must be there, and not be negative."""
    if not isinstance(number, int) or number < 0:
        raise Damaged
    return number


def _structure(data: mmap.mmap, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The numbers of 32 bits and structures of a structure by their field, and where it ends.

    What two readers could understand in two ways is damaged: a field that is there twice, and
    numbers that do not fit. A reader skips a field of another type than it expects.
    """
    if not depth:
        raise Damaged
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        kind, step = head & 15, head >> 4
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        if number in fields or not 1 <= number <= FIELDS:
            raise Damaged
        value: Any = None
        if kind == I32:
            value, at = _integer(data, at)
            if not -(2**31) <= value < 2**31:
                raise Damaged
        elif kind in (I16, I64):
            _, at = _integer(data, at)
        elif kind == STRUCT:
            value, at = _structure(data, at, depth - 1)
        elif kind == BINARY:
            length, at = _varint(data, at)
            at += length
        elif kind in (BYTE, DOUBLE):
            at += 1 if kind == BYTE else 8
        elif kind not in (TRUE, FALSE):
            raise Damaged
        fields[number] = value
    return fields, at + 1


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first."""
    number = shift = 0
    while shift < 64:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    raise Damaged


def _integer(data: mmap.mmap, at: int) -> tuple[int, int]:
    """The same with a sign, in its lowest bit."""
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


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
            long = check(self.path, footer, columns, groups, self.where)
        except Damaged:
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
