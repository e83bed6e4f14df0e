"""Files that several processes share, perhaps through several folders."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a process cannot lose SQLite's own locks
    fcntl = None  # type: ignore[assignment]

INSIDE = sys.platform == "linux" and hasattr(fcntl, "F_OFD_SETLK")
"""Whether locks can belong to an open file instead of a process, as on Linux."""
BYTE = 2**62
"""The byte of the file that is locked: SQLite locks some bytes of its own, and never this one."""
PAUSE = 0.005
"""Seconds between two attempts."""
MARK = "user.confide.writer"
"""An attribute of the file itself: the path that it is being written by."""


@contextlib.contextmanager
def inside(path: Path, until: float, *, shared: bool) -> Iterator[bool]:
    """A lock on the file itself, which is one and the same whatever path leads to the file.

    SQLite locks the file too, but for the process as a whole, and the system drops those locks as
    soon as anything in the process closes the file, be it a backup. This one belongs to what is
    opened here. Where the system has no such locks, those who write lock a file beside it, and
    those who read lock nothing; what is yielded tells whether the file itself is locked.

    Raises
    ------
    TimeoutError
        If somebody else still holds it at the time ``until``.
    FileNotFoundError
        If there is no such file.
    """
    try:
        handle = _taken(path, until, lambda: _opened(path, shared=shared)) if INSIDE else None
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        handle = None
    if handle is not None:
        with _released(handle, lambda: _set(handle, fcntl.F_UNLCK)):
            yield True
    elif shared:
        yield False
    else:
        with beside(path, until):
            yield False


@contextlib.contextmanager
def beside(path: Path, until: float) -> Iterator[Path | None]:
    """A lock on a file of its own, which is yielded; None where there can be no such file."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = None if fcntl is None else _taken(lock, until, lambda: _made(lock))
    except TimeoutError:
        raise
    except OSError:
        # Where it cannot be made, nothing can be written: SQLite will say so.
        handle = None
    if handle is None:
        yield None
        return
    with _released(handle, lambda: fcntl.flock(handle, fcntl.LOCK_UN)):
        yield lock


def _taken(path: Path, until: float, attempt: Callable[[], int | None]) -> int:
    """A handle of the locked file, once nobody else holds it."""
    while True:
        handle = attempt()
        if handle is not None:
            # Another process has replaced the file and locks the new one.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
            os.close(handle)
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(PAUSE)


@contextlib.contextmanager
def _released(handle: int, unlock: Callable[[], None]) -> Iterator[None]:
    """Unlock explicitly: a child of a fork shares what is open, and would keep the lock."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == process:
            unlock()
        os.close(handle)


def _opened(path: Path, *, shared: bool) -> int | None:
    """The file itself, locked, or None while somebody else holds it."""
    try:
        handle = os.open(path, os.O_RDONLY if shared else os.O_RDWR)
    except OSError as error:
        if shared or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        # Nothing can be written then, but a stored release can still be had.
        return _opened(path, shared=True)
    try:
        _set(handle, fcntl.F_RDLCK if shared else fcntl.F_WRLCK)
    except OSError as error:
        os.close(handle)
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return None
    return handle


def _made(lock: Path) -> int | None:
    """The file beside, made where there is none and locked, or None while somebody else has it."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _set(handle: int, kind: int) -> None:
    """Lock or unlock for this open file, without waiting."""
    # struct flock: type, whence, start, length, process.
    request = struct.pack("hhqqi", kind, os.SEEK_SET, BYTE, 1, 0)
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, request)


def mounted(path: Path) -> bool:
    """Whether the file is a mount point by itself: a file of another folder is shown here."""
    try:
        return _mount(path) != _mount(path.parent)
    except (OSError, AttributeError, StopIteration):
        # No Linux, or nothing to ask there. Devices differ but for a mount of the same one.
        return path.stat().st_dev != path.parent.stat().st_dev


def _mount(path: Path) -> int:
    """The number of the mount through which a path is reached."""
    # Such a handle can neither read nor release locks of others.
    handle = os.open(path, os.O_PATH)
    try:
        told = Path(f"/proc/self/fdinfo/{handle}").read_text()
    finally:
        os.close(handle)
    return int(next(line for line in told.splitlines() if line.startswith("mnt_id:")).split()[1])


def mark(path: Path) -> None:
    """Note on the file itself by which path it is being written, where the system can.

    A file beside it that is needed to undo what is cut short is beside this path alone.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.setxattr(path, MARK, os.fsencode(f"{_place(path)}\n{path}"))


def unmark(path: Path) -> None:
    """Take the note away: nothing is under way any more."""
    with contextlib.suppress(OSError, AttributeError):
        os.removexattr(path, MARK)


def cut_short(path: Path) -> str:
    """The other path by which the file was being written when that was cut short, if there is one.

    A folder may be mounted at several paths, or get another number, but not both at once.
    """
    try:
        noted = os.fsdecode(os.getxattr(path, MARK))
    except (OSError, AttributeError):
        return ""
    place, _, other = noted.partition("\n")
    return "" if other == str(path) or place == _place(path) else other or "another path"


def _place(path: Path) -> str:
    folder = path.parent.stat()
    return f"{folder.st_dev}:{folder.st_ino}:{path.name}"
