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
from typing import Any, TypeVar, final

from confide import _secrets
from confide.errors import InvalidInput, Mismatch
from confide.ledger import locks

Run = Callable[..., list[Any]]
"""Runs a statement with values for its question marks; returns all rows."""
BESIDE = ("-journal", "-wal", "-shm")
"""Endings of files that SQLite keeps beside a database; the last two in write-ahead mode only."""
HEAD = 100
"""Bytes of a database's header, which has its version at VERSION_AT."""
VERSION_AT = slice(60, 64)
WRITABLE = 0o222
"""Permissions of a file of which at least one lets somebody write to it."""

Held = TypeVar("Held")

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
        """The path for a message, always on one line."""
        return repr(str(self.path))

    @property
    def _journal(self) -> Path:
        """What undoes a transaction that was cut short; SQLite looks for it beside the file."""
        return self.path.with_name(self.path.name + BESIDE[0])

    def make(self, statement: str, values: tuple[Any, ...]) -> None:
        """Write the tables and a first row unless there are some; whole or not at all."""
        if not self.path.exists() or not self.path.stat().st_size:
            beside = self._entered(lambda until: locks.beside(self.path, until))
            with self._alone(), beside as lock:
                self._make(statement, values)
                if lock is not None:
                    # From now on the file itself is there to be locked.
                    lock.unlink(missing_ok=True)

    def _make(self, statement: str, values: tuple[Any, ...]) -> None:
        if self.path.exists():
            # An empty file was something else once, perhaps this: it is not ours to fill.
            if not self.path.stat().st_size:
                raise self.damaged()
            return
        if any(self.path.with_name(self.path.name + ending).exists() for ending in BESIDE[:2]):
            raise self.damaged()
        # Made under another name and renamed when it is whole: a kill leaves nothing behind that
        # could be taken for a ledger.
        draft = replace(self, path=self.path.with_name(self.path.name + ".new"))
        for ending in ("", *BESIDE):
            draft.path.with_name(draft.path.name + ending).unlink(missing_ok=True)
        with draft._connection("rwc") as run:
            run("BEGIN IMMEDIATE")
            for table in self.schema:
                run(table)
            run(statement, values)
            run(f"PRAGMA application_id = {self.application}")
            run(f"PRAGMA user_version = {self.version}")
            run("COMMIT")
        os.replace(draft.path, self.path)
        _secrets.settle(self.path.parent)

    def upgrade(self, version: int, schema: tuple[str, ...], statements: tuple[str, ...]) -> None:
        """Turn a file of an older version into one of this version; whole or not at all.

        Parameters
        ----------
        version, schema
            What the older file has; any other file is left as it is.
        statements
            What turns the one into the other.
        """
        if self._version() != version:
            return
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise InvalidInput(
                f"a {self.noun} of version {self.version} at {self.named}",
                f"version {version} in a place that is read-only",
                "Open it once where it can be written to: that brings it up to date.",
            )
        older = replace(self, version=version, schema=schema)
        with older._held(shared=False):
            before = older._one()
            with older._connection("rw") as run:
                # Another process may have been faster.
                if run("PRAGMA user_version") != [(version,)]:
                    return
                older._roll_back_mode(run)
                run("BEGIN IMMEDIATE")
                older._own(run)
                for statement in statements:
                    run(statement)
                run(f"PRAGMA user_version = {self.version}")
                run("COMMIT")
            older._stayed(before)

    def _version(self) -> int | None:
        """The version that the file has, once what was cut short is undone."""
        if self._journal.exists():
            with self._held(shared=True), self._connection("rw") as run:
                ((found,),) = run("PRAGMA user_version")
                return int(found)
        try:
            with self.path.open("rb") as file:
                return int.from_bytes(file.read(HEAD)[VERSION_AT])
        except OSError:
            return None  # what is wrong with it is said by those who need it

    def place(self) -> bool:
        """Whether the file is there; refuses a place where none can be."""
        if not self.path.parent.is_dir():
            raise InvalidInput(f"a folder {str(self.path.parent)!r} for the {self.noun}", "none")
        if self.path.exists() and not self.path.is_file():
            raise InvalidInput(f"a file at {self.named}", "a folder or a device")
        return self.path.exists()

    def refuse_read_only(self) -> None:
        """Refuse a file that nobody may write to; the system would let root do it all the same."""
        found = self._found()
        if found is not None and not found.st_mode & WRITABLE:
            raise self._read_only()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Run]:
        """A transaction that sees one state of the file."""
        with self._held(shared=True), self._transaction("BEGIN") as run:
            yield run

    @contextlib.contextmanager
    def writing(self) -> Iterator[Run]:
        """A transaction that holds the lock from the start, on disk when it ends."""
        with self._held(shared=False), self._transaction("BEGIN IMMEDIATE") as run:
            yield run

    @contextlib.contextmanager
    def _held(self, *, shared: bool) -> Iterator[None]:
        """A lock of our own on the file, for one who writes or for several who read."""
        if shared and self.path in _paths():
            # We have the lock already, within a transaction that writes.
            yield
            return
        # Before waiting for those who use it by another path.
        self._one()
        alone = contextlib.nullcontext() if shared else self._alone()
        lock = self._entered(lambda until: locks.inside(self.path, until, shared=shared))
        with (
            alone,
            lock as inside,
            self._marked(shared=shared) if inside else contextlib.nullcontext(),
        ):
            yield

    @contextlib.contextmanager
    def _marked(self, *, shared: bool) -> Iterator[None]:
        """Refuse a file that was cut short elsewhere, and note on it that it is written here."""
        elsewhere = locks.cut_short(self.path)
        if elsewhere and not self._journal.exists():
            raise InvalidInput(
                f"the {self.noun} {self.named} with nothing unfinished",
                f"one whose use at {elsewhere!r} was cut short",
                "Open it there once, where its journal is: that puts it in order. If this is a "
                "copy, copy it again.",
            )
        if not shared:
            locks.mark(self.path)
        try:
            yield
        finally:
            # As long as there is a journal, what was cut short can be undone here only.
            if not self._journal.exists():
                locks.unmark(self.path)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse to wait for ourselves, which would take the whole timeout."""
        held = _paths()
        if self.path in held:
            raise InvalidInput(
                f"work that leaves the {self.noun} {self.named} alone while it holds the lock",
                "a use within another",
                "Do one after the other.",
            )
        held.add(self.path)
        try:
            yield
        finally:
            held.discard(self.path)

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Run]:
        # Whatever goes wrong inside closes the connection before its commit, which undoes it all.
        before = self._one()
        with self._connection("rw") as run:
            run(begin)
            self._own(run)
            yield run
            run("COMMIT")
        self._stayed(before)

    def _one(self) -> os.stat_result | None:
        """The file as it is now; refuses one that has two paths, each with files beside it."""
        found = self._found()
        if found is not None and found.st_nlink > 1:
            raise InvalidInput(
                f"one name for the {self.noun} {self.named}",
                "a file with several hard links",
                "Each name would have a journal of its own: remove the others.",
            )
        if found is not None and locks.mounted(self.path):
            raise InvalidInput(
                f"a {self.noun} in a folder that is mounted as a whole, at {self.named}",
                "a file that is mounted alone",
                "Its journal would not be seen where the file comes from: mount the folder.",
            )
        return found

    def _stayed(self, before: os.stat_result | None) -> None:
        after = self._found()
        if before is None or after is None or not os.path.samestat(before, after):
            raise self._moved("What was written went with the old one.")

    def _own(self, run: Run) -> None:
        """Refuse what is no file of this kind and version, within a transaction."""
        ((application,),) = run("PRAGMA application_id")
        if application != self.application:
            raise InvalidInput(f"a {self.noun} at {self.named}", "an SQLite file of something else")
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
        if run("PRAGMA journal_mode") == [("wal",)]:
            raise InvalidInput(
                f"a {self.noun} with a rollback journal at {self.named}",
                "one in write-ahead mode",
                "Something else changed it; PRAGMA journal_mode = DELETE of SQLite turns it back.",
            )

    def _found(self) -> os.stat_result | None:
        try:
            return self.path.stat()
        except OSError:
            return None

    @contextlib.contextmanager
    def _connection(self, mode: str) -> Iterator[Run]:
        """A connection of its own each time: nothing is shared by threads or forks."""
        try:
            connection = sqlite3.connect(
                f"{self.path.resolve().as_uri()}?mode={mode}",
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
            # The commit waits until the disk has the file, and the folder has forgotten the
            # journal; without this a power cut could undo what was handed out.
            run("PRAGMA synchronous = EXTRA")
            yield run

    def _roll_back_mode(self, run: Run) -> None:
        """Leave write-ahead mode, for which SQLite does not wait by itself.

        Its log and the index of that are found by the name of the file, and so is a rollback
        journal; but the locks of that mode are in the index, and those of this one in the file.
        """
        until = time.monotonic() + self.timeout
        while True:
            try:
                if run("PRAGMA journal_mode = DELETE") == [("delete",)]:
                    return
            except InvalidInput as error:
                if _code(error.__cause__) != sqlite3.SQLITE_BUSY:
                    raise
            if time.monotonic() > until:
                raise self._busy()
            time.sleep(0.01)

    @contextlib.contextmanager
    def _entered(
        self, lock: Callable[[float], contextlib.AbstractContextManager[Held]]
    ) -> Iterator[Held]:
        """A lock that is waited for as long as the timeout says."""
        with contextlib.ExitStack() as stack:
            try:
                found = stack.enter_context(lock(time.monotonic() + self.timeout))
            except TimeoutError:
                raise self._busy() from None
            except OSError:
                raise self._closed() from None
            yield found

    def damaged(self) -> InvalidInput:
        """What to say of a file that does not hold what it must."""
        return InvalidInput(
            f"an intact {self.noun} at {self.named}",
            "a damaged file or one that is not SQLite",
            f"Do not start afresh: a new {self.noun} forgets what was done before.",
        )

    def _moved(self, advice: str) -> Mismatch:
        return Mismatch(
            f"the {self.noun} {self.named} to stay where it is while it is in use",
            "another file or none",
            advice,
        )

    def _closed(self) -> InvalidInput:
        there = "one that cannot be opened" if self.path.exists() else "none"
        return InvalidInput(f"a {self.noun} at {self.named}", there)

    def _read_only(self) -> InvalidInput:
        return InvalidInput(
            f"a {self.noun} that can be written to at {self.named}", "a read-only one"
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
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_DBMOVED:
            return self._moved("Nothing was written.")
        if code == sqlite3.SQLITE_READONLY:
            return self._read_only()
        if code == sqlite3.SQLITE_CANTOPEN:
            return self._closed()
        return InvalidInput(f"a {self.noun} that works at {self.named}", str(error))


def _code(error: BaseException | None) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF  # the rest says more than we need


def _paths() -> set[Path]:
    """The files that this thread holds the lock of, to write."""
    held: set[Path] = vars(_HELD).setdefault("paths", set())
    return held
