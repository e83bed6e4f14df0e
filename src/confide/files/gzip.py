"""What is in gzip files, as far as their size allows."""

from __future__ import annotations

import gzip
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from confide import _limits

BLOCK = 2**22
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


@contextmanager
def lent(path: Path, where: str) -> Iterator[IO[bytes]]:
    """The content of a file, for Arrow to read.

    Arrow reads ahead in a thread of its own. If Python exits while that thread is in the middle of
    a read, the program hangs or crashes, so the reads are brought to an end here.
    """
    raw = _Unpacked(path, where)
    try:
        yield io.BufferedReader(raw)
    finally:
        raw.stop()


def opened(path: Path, where: str) -> IO[bytes]:
    """The content of a file.

    Parameters
    ----------
    path
        The file.
    where
        The file, for a message.
    """
    return io.BufferedReader(_Unpacked(path, where))


@lru_cache
def check(path: Path, where: str, *_: int) -> None:
    """Unpack a file once, for those who read it by themselves; later calls are for free.

    Whatever else is given tells one version of the file from another.
    """
    with opened(path, where) as file:
        while file.read(BLOCK):
            pass
