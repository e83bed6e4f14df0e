"""Files that hold a random key and that only their owner may read."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import final

from confide.errors import InvalidInput

SIZE = 32
"""Bytes of a key."""


@final
@dataclass(frozen=True)
class SecretFile:
    """A key on disk, with checks that nobody else can have read it.

    Parameters
    ----------
    path
        Where it is.
    label
        The first word of the file, which tells what the key is for.
    what
        What the file is called in messages.
    advice
        What to do about a file that cannot be used.
    beside
        A file that the key belongs to. The owner of that file may own the key as well.
    """

    path: Path
    label: str
    what: str
    advice: str
    beside: Path | None = None

    def read(self) -> bytes | None:
        """The key, or None where there is no such file."""
        try:
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            if os.path.lexists(self.path):
                raise self._unusable("a link that leads nowhere") from None
            return None
        except OSError:
            raise self._unusable("one that cannot be opened") from None
        try:
            self._check(os.fstat(handle))
            text = os.read(handle, 1024)
        except OSError:
            raise self._unusable("one that cannot be read") from None
        finally:
            os.close(handle)
        label, _, digits = text.decode("ascii", "replace").partition(" ")
        try:
            key = bytes.fromhex(digits.removesuffix("\n"))
        except ValueError:
            key = b""
        if label != self.label or len(key) != SIZE:
            raise self._unusable("a damaged one")
        return key

    def make(self) -> bytes:
        """A new key, on disk before it is returned; it takes the place of an old one."""
        key = secrets.token_bytes(SIZE)
        # Written under another name first: a kill leaves no half of a key behind.
        draft = self.path.with_name(self.path.name + ".new")
        try:
            draft.unlink(missing_ok=True)
            self._write(draft, key)
            os.rename(draft, self.path)
            settle(self.path.parent)
        except OSError:
            raise self._unusable("none, and none can be made") from None
        return key

    def make_once(self) -> bytes:
        """The key; a new one where there is none. Of processes that make one at once, one wins."""
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}.new")
        try:
            self._write(draft, secrets.token_bytes(SIZE))
            # Unlike a rename this fails where another process was faster.
            with contextlib.suppress(FileExistsError):
                os.link(draft, self.path)
            settle(self.path.parent)
        except OSError:
            raise self._unusable("none, and none can be made") from None
        finally:
            draft.unlink(missing_ok=True)
        key = self.read()
        if key is None:
            raise self._unusable("one that has just been taken away")
        return key

    def _write(self, draft: Path, key: bytes) -> None:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(f"{self.label} {key.hex()}\n")
            file.flush()
            os.fsync(file.fileno())
            self._check(os.fstat(file.fileno()))

    def _check(self, state: os.stat_result) -> None:
        if not stat.S_ISREG(state.st_mode):
            raise self._unusable("something that is no file")
        if not hasattr(os, "getuid"):
            return
        if state.st_uid not in (os.getuid(), 0, self._owner()):
            raise self._unusable("one of somebody else")
        if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise self._unusable(
                "one that others can use",
                " Take it back with chmod 600, on a mount where that has an effect; if others may "
                "have read it, make a new one.",
            )

    def _owner(self) -> int | None:
        if self.beside is None:
            return None
        try:
            return self.beside.stat().st_uid
        except OSError:
            return None

    def _unusable(self, got: str, also: str = "") -> InvalidInput:
        return InvalidInput(f"{self.what} at {str(self.path)!r}", got, self.advice + also)


def settle(folder: Path) -> None:
    """Wait until the disk has the names of the files in a folder."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
