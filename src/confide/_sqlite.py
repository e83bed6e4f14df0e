"""An SQLite file of our own: opened, checked, and its errors told in sentences."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, final

from confide.errors import InvalidInput, Mismatch

try:
    import fcntl
except ImportError:  # Windows, whose locks do not have the fault that it mends
    fcntl = None  # type: ignore[assignment]

Run = Callable[..., list[Any]]
"""Runs a statement with values for its question marks; returns all rows."""

_HELD = threading.local()


@final
@dataclass(frozen=True)
class File:
    """A file that holds tables of one kind.

    Parameters
    ----------
    path
        Where it is.
    noun
        What it is called in messages, for instance "ledger".
    application, version
        Numbers in its head that say what it is; another one is refused.
    schema
        The statements that make its tables. A file that holds anything else is refused: a trigger
        would change what is written behind our back.
    timeout
        Seconds to wait for others.
    """

    path: Path
    noun: str
    application: int
    version: int
    schema: tuple[str, ...]
    timeout: float

    @property
    def named(self) -> str:
        """The path for a message, on one line whatever it is called."""
        return repr(str(self.path))

    def make(self, statement: str, values: tuple[Any, ...]) -> None:
        """Write the tables and a first row unless there are some; whole or not at all."""
        if not self.path.exists() or not self.path.stat().st_size:
            with self._alone():
                self._make(statement, values)

    def _make(self, statement: str, values: tuple[Any, ...]) -> None:
        if self.path.exists():
            # An empty file was something else once, perhaps this: it is not ours to fill.
            if not self.path.stat().st_size:
                raise self.damaged()
            return
        if self.path.with_name(self.path.name + "-wal").exists():
            raise self.damaged()
        # Made under another name and renamed when it is whole: a kill leaves nothing behind that
        # could be taken for a ledger.
        draft = replace(self, path=self.path.with_name(self.path.name + ".new"))
        for ending in ("", "-wal", "-shm"):
            draft.path.with_name(draft.path.name + ending).unlink(missing_ok=True)
        with draft._connection("rwc") as run:
            draft._write_ahead(run)
            run("BEGIN IMMEDIATE")
            for table in self.schema:
                run(table)
            run(statement, values)
            run(f"PRAGMA application_id = {self.application}")
            run(f"PRAGMA user_version = {self.version}")
            run("COMMIT")
        os.replace(draft.path, self.path)

    def place(self) -> bool:
        """Whether the file is there; refuses a place where none can be."""
        if not self.path.parent.is_dir():
            raise InvalidInput(f"a folder {str(self.path.parent)!r} for the {self.noun}", "none")
        if self.path.exists() and not self.path.is_file():
            raise InvalidInput(f"a file at {self.named}", "a folder or a device")
        return self.path.exists()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Run]:
        """A transaction that sees one state of the file."""
        with self._transaction("BEGIN") as run:
            yield run

    @contextlib.contextmanager
    def writing(self) -> Iterator[Run]:
        """A transaction that holds the lock from the start, on disk when it ends."""
        with self._alone(), self._transaction("BEGIN IMMEDIATE") as run:
            yield run

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """A lock of our own on a file beside it.

        SQLite's locks belong to the process and are gone as soon as anything in it closes the
        file, be it a backup; this one belongs to what we opened here.
        """
        held = vars(_HELD).setdefault("paths", set())
        if self.path in held:
            # Waiting for ourselves would take the whole timeout.
            raise InvalidInput(
                f"work that leaves the {self.noun} {self.named} alone while it holds the lock",
                "a use within another",
                "Do one after the other.",
            )
        until = time.monotonic() + self.timeout
        with contextlib.ExitStack() as stack:
            if fcntl is not None:
                # Where it cannot be made, nothing can be written: SQLite will say so.
                with contextlib.suppress(OSError):
                    lock = open(self.path.with_name(self.path.name + ".lock"), "ab")  # noqa: SIM115
                    stack.enter_context(lock)
                    while not _locked(lock):
                        if time.monotonic() > until:
                            raise self._busy()
                        time.sleep(0.005)
            held.add(self.path)
            stack.callback(held.discard, self.path)
            yield

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Run]:
        # Whatever goes wrong inside closes the connection before its commit, which undoes it all.
        before = self._found()
        if before is not None and before.st_nlink > 1:
            raise InvalidInput(
                f"one name for the {self.noun} {self.named}",
                "a file with several hard links",
                "Each name would have a lock of its own: remove the others.",
            )
        with self._connection("rw") as run:
            run(begin)
            ((application,),) = run("PRAGMA application_id")
            if application != self.application:
                raise InvalidInput(
                    f"a {self.noun} at {self.named}", "an SQLite file of something else"
                )
            ((version,),) = run("PRAGMA user_version")
            if version != self.version:
                raise InvalidInput(
                    f"a {self.noun} of version {self.version} at {self.named}",
                    f"version {version}",
                    "A newer confide wrote it: update this one."
                    if version > self.version
                    else "An older confide wrote it: only that one can go on with it.",
                )
            stored = run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            if sorted(stored) != sorted((table,) for table in self.schema):
                raise InvalidInput(
                    f"nothing but the tables of a {self.noun} at {self.named}",
                    "other tables, views or triggers",
                    "Something else wrote to it, so what it says may be wrong.",
                )
            yield run
            run("COMMIT")
        after = self._found()
        if before is None or after is None or not os.path.samestat(before, after):
            raise Mismatch(
                f"the {self.noun} {self.named} to stay where it is while it is in use",
                "another file or none",
                "What was written went with the old one.",
            )

    def _found(self) -> os.stat_result | None:
        try:
            return self.path.stat()
        except OSError:
            return None

    @contextlib.contextmanager
    def _connection(self, mode: str) -> Iterator[Run]:
        """A connection of its own each time: nothing is shared by threads or forks."""
        options = f"mode={mode}"
        beside = self.path.with_name(self.path.name + "-wal")
        if not os.access(self.path.parent, os.W_OK) and not beside.exists():
            # Readers keep an index beside the file; where they cannot, it can still be looked at.
            options = "mode=ro&immutable=1"
        try:
            connection = sqlite3.connect(
                f"{self.path.resolve().as_uri()}?{options}",
                uri=True,
                timeout=self.timeout,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise self._told(error) from error

        def run(statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
            try:
                return connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._told(error) from error
            except UnicodeDecodeError:
                raise self.damaged() from None

        with contextlib.closing(connection):
            # The commit waits until the disk has it; without this a power cut could forget it.
            run("PRAGMA synchronous = FULL")
            yield run

    def _write_ahead(self, run: Run) -> None:
        """Turn the file into write-ahead mode, for which SQLite does not wait by itself."""
        until = time.monotonic() + self.timeout
        while True:
            try:
                run("PRAGMA journal_mode = WAL")
                return
            except InvalidInput as error:
                if _code(error.__cause__) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def damaged(self) -> InvalidInput:
        """What to say of a file that does not hold what it must."""
        return InvalidInput(
            f"an intact {self.noun} at {self.named}",
            "a damaged file or one that is not SQLite",
            f"Do not start afresh: a new {self.noun} forgets what was done before.",
        )

    def _busy(self) -> InvalidInput:
        return InvalidInput(
            f"the {self.noun} {self.named} to be free within {self.timeout:g} seconds",
            "one that somebody else holds locked",
            "Try again, or wait longer with timeout=.",
        )

    def _told(self, error: sqlite3.Error) -> InvalidInput:
        """What SQLite says, as a sentence for people."""
        code = _code(error)
        # Without a code it is Python that could not read a text, and it would quote it.
        if code in (None, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self.damaged()
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._busy()
        if code == sqlite3.SQLITE_READONLY:
            return InvalidInput(
                f"a {self.noun} that can be written to at {self.named}", "a read-only one"
            )
        if code == sqlite3.SQLITE_CANTOPEN:
            there = "one that cannot be opened" if self.path.exists() else "none"
            return InvalidInput(f"a {self.noun} at {self.named}", there)
        return InvalidInput(f"a {self.noun} that works at {self.named}", str(error))


def _code(error: BaseException | None) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF  # the rest says more than we need


def _locked(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
