"""What is in gzip files, as far as their size allows."""

from __future__ import annotations

import gzip
import io
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from confide import _limits

BLOCK = 2**22
PATIENCE, PAUSE, QUIET = 10.0, 0.002, 0.1
"""Seconds to wait for a reader in another thread, between two looks at it, and without reading."""


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, refused where it is more than the file's size allows."""

    def __init__(self, path: Path, where: str) -> None:
        self._file = gzip.open(path)  # noqa: SIM115
        self._size, self._where = path.stat().st_size, where
        self._read = 0
        self._over = False
        self._reading = False
        self._last = time.monotonic()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        self._reading = True
        try:
            data = b"" if self._over else self._file.read(len(buffer))
            self._read += len(data)
            _limits.check_unpacked(self._read, self._size, self._where)
            buffer[: len(data)] = data
            return len(data)
        finally:
            self._last, self._reading = time.monotonic(), False

    def stop(self) -> None:
        """End here: there is nothing more to read."""
        self._last, self._over = time.monotonic(), True

    @property
    def quiet(self) -> bool:
        """Whether nobody has read for a while."""
        return not self._reading and time.monotonic() - self._last > QUIET

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()


@contextmanager
def lent(path: Path, where: str) -> Iterator[IO[bytes]]:
    """The content of a file for Arrow, which reads ahead in a thread, and back from it in the end.

    A thread that calls Python while Python comes to its end blocks the program for good, or breaks
    it. So this waits until nobody holds the file any more; or, where an error still holds it, until
    nobody reads it: a reader comes to the file's end at once.
    """
    raw = _Unpacked(path, where)
    file = io.BufferedReader(raw)
    held = weakref.ref(raw)
    try:
        yield file
    finally:
        raw.stop()
        del raw, file
        until = time.monotonic() + PATIENCE
        while (left := held()) is not None and not left.quiet and time.monotonic() < until:
            del left
            time.sleep(PAUSE)


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
