"""CSV files, plain and packed with gzip."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from confide import _limits
from confide.errors import InvalidInput
from confide.files.arrow import arrow
from confide.files.paths import counted, readable
from confide.files.source import ROWS, Source

BLOCK = 2**22
"""Bytes of a batch; no line may be longer."""
PACKED = 8
"""Bytes of text in a byte of a packed file, about."""


@dataclass(frozen=True)
class Csv(Source):
    """A CSV file. Cells are text, and an empty one is missing: nothing else is, whatever it spells.

    It holds numbers and words only, and cannot say what made its reports.
    """

    title = "CSV"
    text = True
    engine = "csv"

    @property
    def letters(self) -> int:
        """Bytes of text to parse."""
        return self.path.stat().st_size

    def _names(self) -> list[str]:
        try:
            self._check_header()
            with self._lent() as file:
                return list(self._rows(file, ()).schema.names)
        except arrow().ArrowException:
            # Decimal commas make the lines of such a file uneven.
            self._explain()
            raise

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

    def _explain(self) -> None:
        """Refuse a header that is not split by commas: spreadsheets write others too."""
        with self.told(), self._bytes() as file:
            header = file.readline(BLOCK)
        for mark, got in ((b";", "semicolons"), (b"\t", "tabs")):
            if mark in header and b"," not in header:
                raise InvalidInput(
                    f"commas between the columns of {self.where}", got, "Save it with commas."
                )

    def _bytes(self) -> IO[bytes]:
        """The text."""
        return self.path.open("rb")

    @contextlib.contextmanager
    def _lent(self) -> Iterator[Path | IO[bytes]]:
        """The text as Arrow takes it."""
        readable(self.path)
        yield self.path

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

    def _batches(self, columns: Sequence[str], groups: Sequence[int] | None) -> Iterator[Any]:
        with self._lent() as file:
            yield from map(_cells, self._rows(file, columns))

    @classmethod
    def writer(cls, file: IO[bytes], schema: Any, *, packed: Sequence[str] = ()) -> Any:
        """A writer of a CSV file."""
        return arrow("pyarrow.csv").CSVWriter(file, schema)

    def _fault(self, said: str) -> InvalidInput:
        ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said)
        if ragged:
            line, expected, got = ragged.groups()
            return InvalidInput(
                f"{counted(int(expected), 'cell')} in every line of {self.where}",
                f"{got} in line {line}",
            )
        if "UTF8" in said:
            return self.not_utf8()
        found = "no header and rows" if "mpty" in said else "something else"
        if "straddl" in said:
            found = "a line that does not end, perhaps an open quote"
        return InvalidInput(f"a CSV file at {self.where}", found)


@dataclass(frozen=True)
class GzipCsv(Csv):
    """A CSV file that is packed with gzip, unpacked as far as its size allows."""

    written = False

    @property
    def letters(self) -> int:
        """Bytes of text to parse, about."""
        return PACKED * self.path.stat().st_size

    def check(self, columns: Sequence[str]) -> int:
        """Refuse a file that unpacks to more than its size allows.

        Returns how many rows may be read at a time.
        """
        with self.told():
            stat = self.path.stat()
            _unpack(self.path, self.where, stat.st_size, stat.st_mtime_ns)
        return ROWS

    def _bytes(self) -> IO[bytes]:
        return io.BufferedReader(_Unpacked(self.path, self.where))

    @contextlib.contextmanager
    def _lent(self) -> Iterator[Path | IO[bytes]]:
        """The text as Arrow takes it.

        Arrow reads ahead in a thread of its own. If Python exits while that thread is in the
        middle of a read, the program hangs or crashes, so the reads are brought to an end here.
        """
        readable(self.path)
        raw = _Unpacked(self.path, self.where)
        try:
            yield io.BufferedReader(raw)
        finally:
            raw.stop()


def _cells(batch: Any) -> Any:
    pa, compute = arrow(), arrow("pyarrow.compute")
    none = pa.scalar(None, pa.string())
    columns = [compute.if_else(compute.equal(cells, ""), none, cells) for cells in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@lru_cache
def _unpack(path: Path, where: str, *_: int) -> None:
    """Unpack a file once, for those who read it by themselves; later calls are for free.

    Whatever else is given tells one version of the file from another.
    """
    with io.BufferedReader(_Unpacked(path, where)) as file:
        while file.read(BLOCK):
            pass


PAUSE, QUIET = 0.002, 0.1
"""Seconds between two looks at a reader, and without a read until it counts as done."""


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, refused where it is more than the file's size allows."""

    def __init__(self, path: Path, where: str) -> None:
        self._file = gzip.open(path)  # noqa: SIM115
        self._size, self._where = path.stat().st_size, where
        self._read = 0
        self._stopped = self._ended = self._reading = False
        self._last = time.monotonic()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        self._reading = True
        try:
            data = b"" if self._stopped else self._file.read(len(buffer))
            self._read += len(data)
            _limits.check_unpacked(self._read, self._size, self._where)
            buffer[: len(data)] = data
            self._ended = not data
            return len(data)
        finally:
            self._last, self._reading = time.monotonic(), False

    def stop(self) -> None:
        """End the file here, for readers in other threads, and wait until they are done with it.

        A reader is done when it has come to the end, or when it has not read for a while.
        """
        self._stopped, self._last = True, time.monotonic()
        while self._reading or not (self._ended or time.monotonic() - self._last > QUIET):
            time.sleep(PAUSE)

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()
