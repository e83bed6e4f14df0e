"""Seals: finished batches on the disk that nobody can read without a key that is held in memory.

What is sealed is combined by exclusive or with the output of SHAKE-128 of the key, the nonce of
the batch and the number of the piece. The key is drawn from the system's entropy when a run
begins. It lies in a folder that is not on a disk (``$XDG_RUNTIME_DIR``, else ``/dev/shm``), where
only its owner may read it, and goes with the batches or with the next start of the machine. Where
there is no such folder, or where a file cannot be written without a name, the key lies with the
batches.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

import numpy as np

from confide._files import named, nameless
from confide.errors import InvalidInput

SIZE = 32
"""Bytes of a key."""


def sealed(data: bytes | memoryview, *secret: bytes) -> bytes:
    """Bytes that only whoever has the secret can read; sealing them again opens them."""
    plain = np.frombuffer(data, np.uint8)
    mask = hashlib.shake_128(b"".join(secret)).digest(plain.size)
    return (plain ^ np.frombuffer(mask, np.uint8)).tobytes()


def read(folder: Path) -> bytes | None:
    """The key of the batches in a folder, or None where it is gone."""
    for path in _places(folder):
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as file:
                _own(path, os.fstat(file.fileno()))
                key = file.read(SIZE + 1)
            if len(key) == SIZE:
                return key
    return None


def make(folder: Path) -> bytes:
    """A new key for a folder of batches, in place of any older one."""
    remove(folder)
    path = _places(folder)[0]
    key = secrets.token_bytes(SIZE)
    # Whole when it is there: 32 bytes are written at once.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    return key


def remove(folder: Path) -> None:
    """Forget the key: what it sealed can be read by nobody any more."""
    for path in _places(folder):
        path.unlink(missing_ok=True)


def _places(folder: Path) -> list[Path]:
    """Where the key of a folder may lie, the best place first."""
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]
    fleeting = [os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"] if nameless(folder) else []
    return [
        *(
            Path(place) / f"confide-{name}.key"
            for place in fleeting
            if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)
        ),
        folder / "key",
    ]


def _own(path: Path, state: os.stat_result) -> None:
    """Refuse a key that others could have put there: they could read what it seals."""
    ours = not hasattr(os, "getuid") or state.st_uid == os.getuid()
    if not (ours and stat.S_ISREG(state.st_mode)):
        raise InvalidInput(f"a key of our own at {named(path)}", "something else")
