"""Finished batches of a run, kept until its output is there.

A batch is drawn only once: a run that continues an interrupted one takes its reports as
they are. A batch is sealed by the key of the run and by a nonce that is known to the process that
writes it and to nobody else. When all of it is written, the file is renamed and the nonce becomes
part of its name: this one step makes the batch readable and finished. So a process that is ended,
at whatever moment, leaves no report behind that can be read and is then drawn a second time.

Rows are dealt to buckets before they are written: each row to one that is drawn for it alone. A
bucket of the output is what all batches dealt to it. Without the key, which is not on the disk
where that can be had (see `seals`), the files tell nothing: neither reports nor an order. Where the
key is not found the batches stay, and an error says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from confide.errors import InvalidInput, Mismatch
from confide.exact.entropy import SystemEntropy
from confide.exact.inversion import permutation
from confide.files.arrow import arrow
from confide.files.paths import give, load_json, named, unseen
from confide.streams import seals

try:
    import fcntl
except ImportError:  # On Windows nothing stops a second run.
    fcntl = None  # type: ignore[assignment]

MANIFEST = "manifest.json"
LOCK = "lock"
WHOLE = "whole"
PATIENCE = 10.0
"""Seconds to wait for processes that outlived a killed run: they end after their batch."""
PAUSE = 0.05
"""Seconds between two looks at the lock."""
NONCE = 16
"""Bytes that seal one batch."""
CHECKSUM = 4
"""Bytes of the checksum at the end of a batch."""
LONG, START = 200, 40
"""Bytes of a name from which on its start, in letters, and a hash stand for it."""
COST = "drawing again costs epsilon again if anybody has seen the first reports"
RESTART = f"Run it as before to go on, or add --restart to throw away what it did; {COST}."


def folder_of(to: Path) -> Path:
    """The hidden folder beside an output that holds the finished batches on the way to it.

    Examples
    --------
    >>> from pathlib import Path
    >>> folder_of(Path("reports.parquet")).name
    '.reports.parquet.parts'
    """
    to = to.resolve()
    name = to.name
    if len(os.fsencode(name)) > LONG:
        name = f"{name[:START]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}"
    return to.parent / f".{name}.parts"


@dataclass(frozen=True)
class Parts:
    """The batches of one run: sealed files in a folder that nobody else may read.

    Parameters
    ----------
    folder
        Where they are.
    buckets
        How many buckets rows are dealt to, a power of two; 0 leaves them in their order.
    key
        What seals the batches.
    lock
        The open lock of the folder.
    """

    folder: Path
    buckets: int
    key: bytes = field(repr=False)
    lock: IO[bytes] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Processes that draw get the lock by another way."""
        return self.__dict__ | {"lock": None}

    @classmethod
    @contextlib.contextmanager
    def open(cls, to: Path, manifest: Mapping[str, Any], *, restart: bool) -> Iterator[Parts]:
        """The batches on the way to an output; one run at a time.

        Raises
        ------
        Mismatch
            If there are batches of a run of something else, or batches whose key is not found.
        """
        folder = folder_of(to)
        with _locked(folder) as lock:
            if restart:
                _clear(folder)
            whole = any(folder.glob(f"{WHOLE}-*"))
            if whole or seals.thrown(folder):
                # All is written, or was to be thrown away, when something ended the process.
                _drop(folder)
            text = json.dumps(manifest, sort_keys=True, indent=1)
            found = any(folder.glob("*.batch"))
            if whole or found:
                _check(folder, json.loads(text))
            key = _key(folder) if found else b"" if whole else seals.make(folder)
            for leftover in ("*.tmp", f".{WHOLE}-*", "*.new"):
                _unlink(folder, leftover)
            temporary = folder / f"{MANIFEST}.tmp"
            temporary.write_text(text)
            temporary.replace(folder / MANIFEST)
            yield cls(folder, manifest["buckets"], key, lock)

    def finished(self) -> dict[int, Path]:
        """The files of the finished batches by number."""
        return {int(path.name.partition("-")[0]): path for path in self.folder.glob("*-*.batch")}

    def write(self, number: int, batch: Any) -> None:
        """Deal the rows of a batch to the buckets, and keep them, all or none."""
        nonce = secrets.token_bytes(NONCE)
        counts = np.array([batch.num_rows])
        if self.buckets:
            # A reader who has the key sees no order within a bucket either.
            order = permutation(SystemEntropy(), batch.num_rows)
            at = _dealt(batch.num_rows, self.buckets)
            batch = batch.take(arrow().array(order[np.argsort(at, kind="stable")]))
            counts = np.bincount(at, minlength=self.buckets)
        starts = np.cumsum(counts) - counts
        pieces = [
            seals.sealed(batch.slice(start, rows).serialize(), self.key, nonce, _bytes(bucket))
            for bucket, (start, rows) in enumerate(zip(starts, counts, strict=True))
        ]
        ends = np.cumsum([8 * (len(pieces) + 1), *map(len, pieces)], dtype="<u8")
        body = b"".join([ends.tobytes(), *pieces])
        temporary = self.folder / f"{secrets.token_hex(8)}.tmp"
        with open(temporary, "xb", opener=_for_us) as file:
            file.write(body)
            file.write(_bytes(zlib.crc32(body)))
        temporary.replace(self.folder / f"{number:08d}-{nonce.hex()}.batch")

    def piece(self, path: Path, bucket: int, schema: Any) -> Any:
        """The rows that a batch dealt to a bucket."""
        nonce = bytes.fromhex(path.stem.partition("-")[2])
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(8 * bucket)
                start, end = np.frombuffer(file.read(16), "<u8").tolist()
                file.seek(start)
                data = file.read(end - start)
            opened = seals.sealed(data, self.key, nonce, _bytes(bucket))
            return arrow("pyarrow.ipc").read_record_batch(arrow().py_buffer(opened), schema)
        except (arrow().ArrowException, OSError, ValueError):
            raise self.damaged() from None

    def check(self, path: Path) -> None:
        """Refuse a batch that is not as it was written."""
        whole = path.read_bytes()
        if _bytes(zlib.crc32(whole[:-CHECKSUM])) != whole[-CHECKSUM:]:
            raise self.damaged()

    def damaged(self) -> Mismatch:
        """The error that a batch is not as it was written."""
        return Mismatch(
            f"finished batches in {named(self.folder)} as they were written",
            "a damaged one",
            f"Add --restart to throw away what the interrupted run did; {COST}.",
        )

    @contextlib.contextmanager
    def writing(self, rows: int, suffix: str) -> Iterator[IO[bytes]]:
        """The output, which is there when all of it is written; the batches go then."""
        with unseen(self.folder / f"{WHOLE}-{rows}{suffix}") as file:
            yield file
        _drop(self.folder)

    def whole(self) -> tuple[Path, int] | None:
        """The output, if all of it is there, and the number of its rows."""
        for path in self.folder.glob(f"{WHOLE}-*"):
            rows = path.stem.partition("-")[2]
            if rows.isdigit():
                return path, int(rows)
        return None

    def waiting(self, to: Path) -> InvalidInput:
        """The error that something else has the name that the output is to have."""
        what = "the finished reports of this run wait" if self.whole() else "finished batches wait"
        return InvalidInput(
            f"no file at {named(to)}, where {what} for their name",
            "one that is there",
            "Move that file away and run this again, or replace it: --replace, or replace=True in "
            "Python. Another name would mean a second draw of the same people, which costs epsilon "
            "again.",
        )

    def publish(self, to: Path, *, replace: bool) -> None:
        """Give the output its name, and throw away the folder."""
        found, to = self.whole(), to.resolve()
        if found and not (to.exists() and found[0].samefile(to)):
            try:
                give(found[0], to, replace=replace)
            except FileExistsError:
                raise self.waiting(to) from None
            _flush(to.parent)
        self.remove()

    def remove(self) -> None:
        """Remove all batches, and the folder if nothing else is in it."""
        _clear(self.folder)
        # Where the lock cannot go while it is held, it stays, and the folder with it.
        with contextlib.suppress(OSError):
            (self.folder / LOCK).unlink(missing_ok=True)
            self.folder.rmdir()


def _check(folder: Path, manifest: Any) -> None:
    """Refuse the batches of a run of something else."""
    found = None
    with contextlib.suppress(InvalidInput, FileNotFoundError):
        found = load_json((folder / MANIFEST).read_bytes(), MANIFEST)
    if found != manifest:
        raise Mismatch(
            f"the values, survey and options of the run that was interrupted, which left "
            f"finished batches in {named(folder)}",
            "different ones",
            RESTART,
        )


def _key(folder: Path) -> bytes:
    """The key of the finished batches, or an error if it is not found.

    The batches are not drawn again without being asked: if the key turns up later, a copy of the
    old batches can be read, and every person in them has two reports.
    """
    key = seals.read(folder)
    if key is None:
        place = seals.place(folder)
        raise Mismatch(
            f"the key of the finished batches in {named(folder)}"
            + (f", which was put at {named(place)}," if place else ""),
            "none",
            "Run it where that file is, with XDG_RUNTIME_DIR as it was then. If the machine was "
            "started again since, the key is gone for good: add --restart, which costs nothing if "
            "nobody kept the key, since nobody can read those batches then.",
        )
    return key


def _drop(folder: Path) -> None:
    """Throw the batches away, the key first: from there on nobody can read them."""
    seals.remove(folder)
    _unlink(folder, "*.batch")
    seals.forget(folder)


def _clear(folder: Path) -> None:
    _drop(folder)
    for pattern in (f"*{WHOLE}-*", "*.tmp", MANIFEST):
        _unlink(folder, pattern)


def _dealt(rows: int, buckets: int) -> Any:
    """A bucket for each row, every one equally likely."""
    kind: Any = np.uint8 if buckets <= 2**8 else np.uint16
    fair = SystemEntropy().words(-(-rows * kind().itemsize // 8), 64).view(kind)[:rows]
    return fair & kind(buckets - 1)


def _bytes(number: int) -> bytes:
    return number.to_bytes(CHECKSUM, "big")


def _for_us(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _unlink(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        path.unlink(missing_ok=True)


def _flush(folder: Path) -> None:
    """Let a new name reach the disk before what it was made of goes."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _private(folder: Path) -> None:
    """Make the private folder; refuse one that another user made."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    own = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
    if folder.is_symlink() or not folder.is_dir() or not own:
        raise InvalidInput(f"a folder of our own at {named(folder)}", "something else")
    folder.chmod(0o700)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    """Hold the folder while a run lasts.

    Processes that draw hold it too, so that it is free when all of a killed run has ended.
    """
    end = time.monotonic() + PATIENCE
    while True:
        _private(folder)
        with contextlib.suppress(FileNotFoundError, BlockingIOError), contextlib.ExitStack() as own:
            file = own.enter_context((folder / LOCK).open("ab"))
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its holder may have removed it meanwhile, and others have another one.
            if os.path.samestat(os.fstat(file.fileno()), (folder / LOCK).stat()):
                held = own.pop_all()
                break
        if time.monotonic() > end:
            raise InvalidInput(
                f"no other run that writes through {named(folder)}", "one that is under way"
            )
        time.sleep(PAUSE)
    with held:
        yield file
