"""Finished batches of a long run, kept until its output is there.

A batch that was drawn stays drawn: its reports are written, flushed to the disk and only then given
their name, and whoever goes on with the run takes them as they are. A batch without its name was
seen by nobody and may be drawn anew. A checksum ends each file, so that damage is told, not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from confide._arrow import arrow
from confide._files import load_json, named
from confide.errors import InvalidInput, Mismatch

MANIFEST = "manifest.json"
LOCK = "lock"
CHECKSUM = 4
"""Bytes of the checksum at the end of a batch."""
OWN = (MANIFEST, LOCK, "*.arrow", "*.tmp", ".output.*")
RESTART = "Run it as before to go on, or add --restart to throw away what it did."


def folder_of(to: Path) -> Path:
    """The hidden folder beside an output that holds the finished batches on the way to it."""
    to = to.resolve()
    return to.parent / f".{to.name[:200]}.parts"


@dataclass(frozen=True)
class Parts:
    """The batches of one run: files in a folder that nobody else may read.

    Parameters
    ----------
    folder
        Where they are.
    key
        A short name of the run that they belong to; no other run would take them.
    """

    folder: Path
    key: str

    @classmethod
    @contextlib.contextmanager
    def open(cls, to: Path, manifest: Mapping[str, Any], *, restart: bool) -> Iterator[Parts]:
        """The batches on the way to an output; one run at a time.

        Raises
        ------
        Mismatch
            If there are batches of a run of something else.
        """
        folder = folder_of(to)
        _private(folder)
        with _locked(folder):
            text = json.dumps(manifest, sort_keys=True, indent=1)
            parts = cls(folder, hashlib.sha256(text.encode()).hexdigest()[:16])
            if restart:
                parts._clear()
            parts._check(json.loads(text))
            for leftover in folder.glob("*.tmp"):
                leftover.unlink(missing_ok=True)
            with parts._written(folder / MANIFEST) as temporary:
                temporary.write_text(text)
            yield parts

    def _check(self, manifest: Any) -> None:
        path = self.folder / MANIFEST
        found = None
        if path.exists():
            with contextlib.suppress(InvalidInput):
                found = load_json(path.read_bytes(), named(path))
        elif not any(self.folder.glob("*.arrow")):
            return
        if found != manifest:
            raise Mismatch(
                f"the values, survey and options of the run that was interrupted, which left "
                f"finished batches in {named(self.folder)}",
                "others",
                RESTART,
            )

    def output(self, suffix: str) -> Path:
        """Where the output grows."""
        return self.folder / f".output{suffix}"

    def path(self, number: int) -> Path:
        """The file of a finished batch."""
        return self.folder / f"{self.key}-{number:08d}.arrow"

    def has(self, number: int) -> bool:
        """Whether a batch is finished; it must be as it was written."""
        path = self.path(number)
        if not path.exists():
            return False
        try:
            with arrow().memory_map(str(path)) as file:
                whole = file.read_buffer()
        except (arrow().ArrowException, OSError):
            raise self._damaged(number) from None
        body = whole[: max(0, whole.size - CHECKSUM)]
        if _bytes(zlib.crc32(body)) != whole[body.size :].to_pybytes():
            raise self._damaged(number)
        return True

    def write(self, number: int, tables: Iterator[Any]) -> None:
        """Keep the tables of a batch, all or none."""
        ipc = arrow("pyarrow.ipc")
        with self._written(self.path(number)) as temporary, temporary.open("wb") as file:
            first = next(tables)
            summed = _Summed(file)
            with ipc.new_stream(summed, first.schema) as stream:
                stream.write_table(first)
                for table in tables:
                    stream.write_table(table)
            file.write(_bytes(summed.checksum))

    def read(self, number: int, rows: int, metadata: Mapping[bytes, bytes]) -> Iterator[Any]:
        """The tables of a finished batch, which must have so many rows and say what made them."""
        pa, ipc = arrow(), arrow("pyarrow.ipc")
        seen = 0
        try:
            with pa.memory_map(str(self.path(number))) as file, ipc.open_stream(file) as stream:
                for batch in stream if stream.schema.metadata == metadata else ():
                    seen += batch.num_rows
                    yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError):
            seen = -1
        if seen != rows:
            raise self._damaged(number)

    def _damaged(self, number: int) -> Mismatch:
        return Mismatch(
            f"batch {number + 1} in {named(self.folder)} as it was written",
            "a damaged one",
            "Add --restart to throw away what the interrupted run did.",
        )

    @contextlib.contextmanager
    def _written(self, path: Path) -> Iterator[Path]:
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        temporary.touch(0o600)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            # A worker that outlived a killed run may have been first: its batch stands.
            if path.suffix != ".arrow" or not path.exists():
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def remove(self) -> None:
        """Throw the batches away, and the folder unless somebody else put something into it."""
        self._clear()
        # Where the lock cannot go while it is held, it stays, and the folder with it.
        with contextlib.suppress(OSError):
            (self.folder / LOCK).unlink(missing_ok=True)
            self.folder.rmdir()

    def _clear(self) -> None:
        for pattern in OWN:
            for path in self.folder.glob(pattern) if pattern != LOCK else ():
                path.unlink(missing_ok=True)


class _Summed:
    """A file that adds up a checksum of what is written to it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.checksum = 0

    def write(self, data: bytes) -> int:
        """Write and add up."""
        self.checksum = zlib.crc32(data, self.checksum)
        return self.file.write(data)

    def flush(self) -> None:
        """Nothing stays here."""


def _bytes(checksum: int) -> bytes:
    return checksum.to_bytes(CHECKSUM, "big")


def _private(folder: Path) -> None:
    """Make the folder, for nobody else to read; refuse one that somebody else made."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    own = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
    if folder.is_symlink() or not folder.is_dir() or not own:
        raise InvalidInput(f"a folder of our own at {named(folder)}", "something else")
    folder.chmod(0o700)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder while a run lasts; the lock of a killed run is gone with it."""
    path = folder / LOCK
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("ab"))
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have removed it meanwhile, and others have another one.
            held = os.path.samestat(os.fstat(file.fileno()), path.stat())
        except ImportError:
            # Elsewhere two runs at once would still share their batches, not draw them twice.
            held = True
        except (BlockingIOError, FileNotFoundError):
            held = False
        if not held:
            raise InvalidInput(
                f"no other run that writes through {named(folder)}", "one that is under way"
            )
        yield
