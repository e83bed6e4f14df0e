"""Seals: finished batches on the disk that nobody can read without a key that is held in memory.

What is sealed is combined by exclusive or with the output of SHAKE-128 of the key, the nonce of
the batch and the number of the piece. The key is drawn from the system's entropy when a run
begins. It lies in a folder that is not on a disk (``$XDG_RUNTIME_DIR``, else ``/dev/shm``), where
only its owner may read it, and goes with the batches or with the next start of the machine. Where
there is no such folder, or where a file cannot be written without a name, the key lies with the
batches. A file beside the batches tells where the key lies, under a random name that nobody could
take before, and has a hash of it: no other key is taken for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
from pathlib import Path

import numpy as np

from confide.errors import InvalidInput
from confide.files.paths import load_json, nameless

SIZE = 32
"""Bytes of a key."""
SEAL = "seal.json"
"""The file beside the batches that tells which key is theirs, and where it lies."""
THROWN = "seal.gone"
"""Its name from the moment on when the batches are to be thrown away."""


def sealed(data: bytes | memoryview, *secret: bytes) -> bytes:
    """Encrypt bytes with the secret; the same call decrypts them."""
    plain = np.frombuffer(data, np.uint8)
    mask = hashlib.shake_128(b"".join(secret)).digest(plain.size)
    return (plain ^ np.frombuffer(mask, np.uint8)).tobytes()


def read(folder: Path) -> bytes | None:
    """The key of the batches in a folder, or None where it is not found."""
    told = _told(folder)
    for path in _places(folder):
        # What others put there, and what cannot be read, is not it.
        with contextlib.suppress(OSError):
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(path, flags), "rb") as file:
                own = _own(os.fstat(file.fileno()))
                key = file.read(SIZE + 1) if own else b""
            if len(key) == SIZE and _hash(key) == told.get("hash"):
                return key
    return None


def place(folder: Path) -> str:
    """Where the key of the batches in a folder was put, or an empty text where that is not told."""
    return str(_told(folder).get("place", ""))


def make(folder: Path) -> bytes:
    """A new key for a folder of batches, in place of any older one."""
    remove(folder)
    forget(folder)
    key = secrets.token_bytes(SIZE)
    path = _best(folder)
    # First where it is going to lie: whatever ends the process, it can be found and removed.
    draft = folder / f"{SEAL}.tmp"
    draft.write_text(json.dumps({"hash": _hash(key), "place": str(path)}))
    draft.replace(folder / SEAL)
    # Whole when it is there: 32 bytes are written at once.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    return key


def remove(folder: Path) -> None:
    """Remove the key, which makes its sealed batches unreadable.

    A mark stays until `forget`, so that nobody looks for the key of batches that are still there.
    """
    with contextlib.suppress(FileNotFoundError):
        (folder / SEAL).replace(folder / THROWN)
    for path in _places(folder):
        if _ours(path):
            path.unlink(missing_ok=True)


def thrown(folder: Path) -> bool:
    """Whether the process ended while it was removing the batches in a folder."""
    return (folder / THROWN).exists()


def forget(folder: Path) -> None:
    """Remove the mark, when the batches are gone too."""
    (folder / THROWN).unlink(missing_ok=True)


def _told(folder: Path) -> dict[str, str]:
    """What the file beside the batches says; nothing where it is missing or damaged."""
    for name in (SEAL, THROWN):
        with contextlib.suppress(FileNotFoundError, InvalidInput):
            told = load_json((folder / name).read_bytes(), name)
            if isinstance(told, dict) and all(isinstance(value, str) for value in told.values()):
                return told
    return {}


def _places(folder: Path) -> list[Path]:
    """Where the key of a folder may lie: where it was put, or under that name in another place.

    The environment may be another one than then, or the same folder may have another path now.
    """
    put = place(folder)
    if not put:
        return []
    found = [Path(put), *(other / Path(put).name for other in (*_fleeting(), folder))]
    return list(dict.fromkeys(found))


def _best(folder: Path) -> Path:
    """Where to put a new key."""
    name = f"confide-{secrets.token_hex(16)}.key"
    fleeting = _fleeting() if nameless(folder) else []
    usable = [other for other in fleeting if os.access(other, os.W_OK | os.X_OK)]
    return usable[0] / name if usable else folder / "key"


def _fleeting() -> list[Path]:
    """Folders that are not on a disk, the best one first."""
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm")
    return [Path(place).absolute() for place in places if place and os.path.isdir(place)]


def _hash(key: bytes) -> str:
    """Tells one key from others, and nothing about it."""
    return hashlib.sha256(b"confide batches" + key).hexdigest()


def _ours(path: Path) -> bool:
    try:
        return _own(path.lstat())
    except OSError:
        return False


def _own(state: os.stat_result) -> bool:
    """Whether a file is a regular one of our own: others could read what their key seals."""
    ours = not hasattr(os, "getuid") or state.st_uid == os.getuid()
    return ours and stat.S_ISREG(state.st_mode)
