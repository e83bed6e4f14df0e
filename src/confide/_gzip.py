"""What is in gzip files, as far as their size allows."""

from __future__ import annotations

import gzip
import io
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from confide import _limits

BLOCK = 2**22


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, refused where it is more than the file's size allows."""

    def __init__(self, path: Path, where: str) -> None:
        self._file = gzip.open(path)  # noqa: SIM115
        self._size, self._where = path.stat().st_size, where
        self._read = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        data = self._file.read(len(buffer))
        self._read += len(data)
        _limits.check_unpacked(self._read, self._size, self._where)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()


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
