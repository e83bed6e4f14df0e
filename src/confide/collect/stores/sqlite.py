"""A store in one SQLite file, for one machine: nothing to install, nothing to run."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from confide._secrets import settle
from confide.collect.stores.identity import Identity
from confide.collect.stores.store import Outcome, Status, Store, Tallies, Unavailable
from confide.collect.stores.verdicts import Known, counted, judged
from confide.collect.wire import Entry
from confide.errors import InvalidInput
from confide.files.paths import named

APPLICATION = int.from_bytes(b"cnfs")
"""In the head of the file; ledgers have another one."""
VERSION = 1
"""Of the tables."""
SCHEMA = (
    """CREATE TABLE survey (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    document TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    worded TEXT NOT NULL,
    cap INTEGER,
    state INTEGER NOT NULL
    )""",
    """CREATE TABLE cells (
    cell TEXT PRIMARY KEY,
    invited INTEGER NOT NULL,
    answered INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE invitations (
    hash BLOB PRIMARY KEY,
    used INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE reports (
    receipt BLOB PRIMARY KEY,
    tie BLOB NOT NULL,
    cell TEXT NOT NULL,
    reports TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE counts (
    cell TEXT,
    question TEXT,
    report INTEGER,
    n INTEGER NOT NULL,
    PRIMARY KEY (cell, question, report)
    ) WITHOUT ROWID""",
)
MIX = (
    "CREATE TEMP TABLE mixed AS SELECT fresh() AS receipt, cell, reports FROM reports ORDER BY 1",
    "DELETE FROM reports",
    "INSERT INTO reports SELECT receipt, x'', cell, reports FROM mixed ORDER BY receipt",
    "DROP TABLE mixed",
)
"""Gives every report a new random name and its place, and drops receipts and ties."""
OPEN, CLOSING, CLOSED = 0, 1, 2
"""States of a survey. One that is closing takes no reports, and its file is still to be wiped."""
PATIENCE = 10.0
"""Seconds to wait for another process."""
LOG = 4000
"""Pages of the write-ahead log after which they are moved to where they belong."""
STEP = 10_000
"""Rows that are read at a time."""
VALUES = 30_000
"""Values in one statement; SQLite takes 32,766 unless it was built otherwise."""
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of files that SQLite keeps beside a database."""
PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    f"PRAGMA wal_autocheckpoint = {LOG}",
    "PRAGMA cache_size = -65536",
    "PRAGMA trusted_schema = OFF",
)
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_BUSY: "another process holds it",
    sqlite3.SQLITE_IOERR: "the disk fails",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
}
"""By SQLite's codes. Its own messages may quote what was stored."""
Run = Callable[..., list[Any]]
"""Runs a statement with values for its question marks; returns all rows."""


@final
class SqliteStore(Store):
    """Reports in a SQLite file.

    Parameters
    ----------
    path
        The file. Only its owner may read it.
    identity
        The survey that it is for.
    create
        Make the file if there is none.

    Notes
    -----
    A batch is one transaction, flushed to disk before it is answered (write-ahead log,
    ``synchronous=FULL``). Tables are sorted by hashes and have no row numbers; counts are kept up
    to date by the transactions that store reports.

    **What joins an invitation to its report while a survey runs.** The tables do not: a spent
    invitation has a mark that looks the same whenever it was made, and a report has the hash of a
    random number. The write-ahead log (the file that ends in ``-wal``) does: it has the pages of
    each transaction together, and a transaction is one upload where nobody else sends at that time.
    `tidy` empties it, which a writer does whenever nothing has come for a moment, and otherwise
    it is used anew after some thousand pages. Inside a page of the file, the reports that came
    since it was last divided, ten or twenty at most, lie in the order of their arrival; the marks
    of invitations have no order. Copies of the file system (snapshots, backups that copy both
    files) keep what the log had. `backup` makes a copy without it.

    **After closing** the reports have new random names, the file was written anew, sorted by these
    names, and the log is empty. What a disk keeps of blocks that a file has given back is beyond
    this.
    """

    def __init__(self, path: Path, identity: Identity, *, create: bool) -> None:
        self._path = Path(path)
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        there = self._there()
        if not there and not create:
            raise InvalidInput(
                f"a store at {named(self._path)}", "none", "Invite people first: that makes it."
            )
        if not there:
            self._make(identity)
        try:
            with self._reading() as run:
                self._own(run)
                (row,) = run("SELECT document, fingerprint, worded, cap, state FROM survey")
            stored, state = Identity(*row[:4]), row[4]
            identity.check(stored, self._name)
            self._cap = stored.cap
            if state == CLOSING:
                self._wipe()
        except BaseException:
            self.shut()
            raise

    @property
    def cap(self) -> int | None:
        """Limit of answers in a survey without invitations; None if invitations are needed."""
        return self._cap

    def document(self) -> str:
        """The survey of the current phase as JSON."""
        with self._reading() as run:
            ((document,),) = run("SELECT document FROM survey")
        return str(document)

    def advance(self, before: str, now: str) -> None:
        """Begin the second phase, unless another process was faster or the survey has ended."""
        with self._writing() as run:
            run(
                f"UPDATE survey SET document = ? WHERE document = ? AND state = {OPEN}",
                (now, before),
            )

    def invite(self, hashes: Sequence[bytes], cells: Mapping[str, int]) -> None:
        """Admit one report for each hash of an invitation; ``cells`` says how many in each cell."""
        with self._writing() as run:
            self._may_invite(run)
            try:
                self._open().executemany(
                    "INSERT INTO invitations VALUES (?, 0)", ((one,) for one in sorted(hashes))
                )
            except sqlite3.IntegrityError:
                raise InvalidInput("new invitations", "some that the store has already") from None
            self._add(run, [(cell, n, 0) for cell, n in cells.items()])

    def knows(self, invitation: bytes) -> bool:
        """Whether an invitation with this hash was admitted; waits for a running `invite`."""
        with self._writing() as run:
            return bool(run("SELECT 1 FROM invitations WHERE hash = ?", (invitation,)))

    def put(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a batch in one transaction; what it answers is on disk when it returns."""
        if not entries:
            return []
        with self._writing() as run:
            outcomes = judged(entries, self._known(run, entries))
            kept = [
                entry
                for entry, outcome in zip(entries, outcomes, strict=True)
                if outcome is Outcome.STORED
            ]
            if kept:
                self._keep(run, kept)
        return outcomes

    def status(self) -> Status:
        """Numbers of people who were invited and who have answered."""
        with self._reading() as run:
            ((state,),) = run("SELECT state FROM survey")
            cells = run("SELECT cell, invited, answered FROM cells")
        return Status.of(cells, closed=state != OPEN)

    def tallies(self) -> Tallies:
        """How often each report came: cell -> question -> report -> count.

        The counts are kept by those who store reports: a call reads them, whatever their number.
        """
        tallies: dict[str, dict[str, dict[int, int]]] = {}
        with self._reading() as run:
            for cell, question, report, n in run("SELECT cell, question, report, n FROM counts"):
                tallies.setdefault(cell, {}).setdefault(question, {})[report] = n
        return tallies

    def close(self) -> None:
        """End the survey: no reports any more, receipts dropped, both tables written anew.

        The end and the new names are one transaction. If the process dies after it, the next
        process that opens the store wipes the file.
        """
        with self._writing() as run:
            ((state,),) = run("SELECT state FROM survey")
            if state == OPEN:
                self._open().create_function("fresh", 0, lambda: secrets.token_bytes(16))
                for statement in MIX:
                    run(statement)
                run(f"UPDATE survey SET state = {CLOSING}")
        if state != CLOSED:
            self._wipe()

    def rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Cell and reports of every person, in the order of random names."""
        with contextlib.closing(self._connect()) as connection, self._told():
            found = connection.execute("SELECT cell, reports FROM reports ORDER BY receipt")
            while rows := found.fetchmany(STEP):
                for cell, reports in rows:
                    yield cell, json.loads(reports)

    def backup(self, path: Path) -> None:
        """Write a copy of the store, without what the log has, where there is no file yet.

        A survey continued from a copy accepts invitations again that were spent since the copy.
        """
        path = Path(path)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise InvalidInput(
                f"no file at {named(path)}", "one", "A backup replaces nothing."
            ) from None
        try:
            with self._told():
                self._open().execute("VACUUM INTO ?", (str(path),))
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            settle(path.parent)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def tidy(self) -> bool:
        """Empty the write-ahead log unless a reader is using it."""
        with self._told():
            run = self._open().execute
            # Uploads must not wait for those who read.
            run("PRAGMA busy_timeout = 0")
            ((busy, *_),) = run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            run(f"PRAGMA busy_timeout = {1000 * PATIENCE:.0f}")
        return not busy

    def shut(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _name(self) -> str:
        return named(self._path)

    def _known(self, run: Run, entries: Sequence[Entry]) -> Known:
        # Few statements: each one lets go of Python's lock, and waits for it again.
        receipts = [entry.receipt for entry in entries]
        hashes = [entry.invitation for entry in entries if entry.invitation is not None]
        ((state, cap, answered),) = run(
            "SELECT state, cap, (SELECT TOTAL(answered) FROM cells) FROM survey"
        )
        used = _some(run, "SELECT hash, used FROM invitations WHERE hash", hashes)
        stored = _some(
            run, "SELECT receipt, tie, cell, reports FROM reports WHERE receipt", receipts
        )
        return Known(
            closed=state != OPEN,
            cap=cap,
            answered=int(answered),
            used={one: bool(mark) for one, mark in used},
            stored={receipt: tuple(row) for receipt, *row in stored},
        )

    def _keep(self, run: Run, entries: Sequence[Entry]) -> None:
        # OR ROLLBACK: a statement that could undo itself alone would first copy every page.
        hashes = [entry.invitation for entry in entries if entry.invitation is not None]
        _some(run, "UPDATE OR ROLLBACK invitations SET used = 1 WHERE hash", hashes)
        _insert(
            run,
            "INSERT OR ROLLBACK INTO reports",
            sorted((entry.receipt, entry.tie, entry.cell, entry.reports) for entry in entries),
        )
        counts = counted([(entry.cell, entry.reports) for entry in entries])
        _insert(
            run,
            "INSERT OR ROLLBACK INTO counts",
            [(*key, n) for key, n in sorted(counts.items())],
            "ON CONFLICT DO UPDATE SET n = n + excluded.n",
        )
        cells = Counter(entry.cell for entry in entries)
        self._add(run, [(cell, 0, n) for cell, n in cells.items()])

    def _add(self, run: Run, cells: Sequence[tuple[str, int, int]]) -> None:
        _insert(
            run,
            "INSERT OR ROLLBACK INTO cells",
            cells,
            "ON CONFLICT DO UPDATE SET"
            " invited = invited + excluded.invited, answered = answered + excluded.answered",
        )

    def _may_invite(self, run: Run) -> None:
        ((state,),) = run("SELECT state FROM survey")
        if self._cap is not None:
            raise InvalidInput("a survey that needs invitations", "one that takes anybody")
        if state != OPEN:
            raise InvalidInput("a survey that has not ended", f"the ended one in {self._name}")

    def _wipe(self) -> None:
        """Write the file anew without anything that was deleted, and empty the log."""
        with self._told():
            run = self._open().execute
            run("VACUUM")
            self._empty_log()
            run(f"UPDATE survey SET state = {CLOSED}")
            self._empty_log()

    def _empty_log(self) -> None:
        until = time.monotonic() + PATIENCE
        while self._open().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
            # A reader is using the log.
            if time.monotonic() > until:
                raise Unavailable(
                    f"The store {self._name} is in use: close whatever reads it, and try again."
                )
            time.sleep(0.01)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Run]:
        """One state of the file."""
        with self._transaction("BEGIN") as run:
            yield run

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Run]:
        """A transaction that nobody else writes beside, on disk when it ends."""
        with self._transaction("BEGIN IMMEDIATE") as run:
            yield run
            if self._file != _number(self._path):
                # It would go into a file that is deleted already.
                raise Unavailable(f"The store {self._name} was moved or replaced while in use.")

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Run]:
        with self._told():
            connection = self._open()

            def run(statement: str, values: Sequence[Any] = ()) -> list[Any]:
                return connection.execute(statement, values).fetchall()

            run(begin)
            try:
                yield run
                run("COMMIT")
            finally:
                if connection.in_transaction:
                    run("ROLLBACK")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite as ours; after one the file is opened anew."""
        try:
            yield
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self.shut()
            code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise self._damaged() from None
            raise Unavailable(
                f"The store {self._name} cannot be used now: {REASONS.get(code, 'SQLite fails')}."
            ) from None
        except Unavailable:
            self.shut()
            raise

    def _damaged(self) -> InvalidInput:
        return InvalidInput(
            f"an intact store at {self._name}", "a damaged file or one that is not SQLite"
        )

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._file = _number(self._path)
            if self._file is None:
                raise Unavailable(f"The store {self._name} is gone.")
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        connection = self._handle("rw")
        try:
            for pragma in PRAGMAS:
                connection.execute(pragma).fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _there(self) -> bool:
        """Whether there is a file; refuses one that cannot be a store that nobody else can read."""
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            if not self._path.parent.is_dir():
                raise InvalidInput(
                    f"a folder {named(self._path.parent)} for the store", "none"
                ) from None
            return False
        except OSError:
            raise InvalidInput(f"a store at {self._name}", "one that cannot be opened") from None
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(
                f"a file at {self._name}", "a link, a folder or a device", "Name the file itself."
            )
        if found.st_nlink > 1 and self._other_names(found):
            raise InvalidInput(
                f"one name for the store {self._name}",
                "a file with several hard links",
                "Each name would have a log of its own: remove the others.",
            )
        if os.name == "posix" and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InvalidInput(
                f"a store at {self._name} that only its owner can use",
                "one that others can use",
                "Take it back with chmod 600.",
            )
        self._check_head()
        return True

    def _handle(self, mode: str) -> sqlite3.Connection:
        """The file, opened by SQLite, as it must always be.

        If anything else in the process opened it, the system would drop SQLite's locks as soon as
        that handle is closed (POSIX locks belong to a process, not to a handle). Another process
        would take the store for unused, and delete its log with reports that were acknowledged.
        """
        return sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )

    def _check_head(self) -> None:
        """Refuse what is no store of this version, before anything is written to it."""
        with self._told(), contextlib.closing(self._handle("ro")) as connection:
            ((application,),) = connection.execute("PRAGMA application_id").fetchall()
            ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if application != APPLICATION:
            raise InvalidInput(f"a store at {self._name}", "an SQLite file of something else")
        if version != VERSION:
            raise InvalidInput(
                f"a store of version {VERSION} at {self._name}",
                f"version {version}",
                f"{'A newer' if version > VERSION else 'An older'} confide made it.",
            )

    @property
    def _draft(self) -> str:
        """How the name of the file begins until it is whole."""
        return f".{self._path.name[:50]}.draft-"

    def _other_names(self, found: os.stat_result) -> bool:
        """Whether the file has another name than that of a draft, which is taken from it."""
        for draft in self._path.parent.iterdir():
            if draft.name.startswith(self._draft):
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(draft.lstat(), found):
                        draft.unlink()
        return self._path.lstat().st_nlink > 1

    def _own(self, run: Run) -> None:
        """Refuse other tables and so on: a trigger, say, would change what is stored."""
        tables = run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        if sorted(tables) != sorted((table,) for table in SCHEMA):
            raise InvalidInput(
                f"nothing but the tables of a store at {self._name}",
                "other tables, views or triggers",
                "Something else wrote to it, so what it says may be wrong.",
            )

    def _make(self, identity: Identity) -> None:
        """Make the file, whole or not at all; another process may do so at the same time."""
        draft = self._path.with_name(f"{self._draft}{secrets.token_hex(8)}")
        try:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                run = connection.execute
                run("PRAGMA synchronous = FULL")
                run("BEGIN")
                for table in SCHEMA:
                    run(table)
                run(
                    f"INSERT INTO survey VALUES (1, ?, ?, ?, ?, {OPEN})",
                    (identity.document, identity.fingerprint, identity.worded, identity.cap),
                )
                run(f"PRAGMA application_id = {APPLICATION}")
                run(f"PRAGMA user_version = {VERSION}")
                run("COMMIT")
            # A hard link does not replace a store that another process made meanwhile.
            with contextlib.suppress(FileExistsError):
                os.link(draft, self._path)
            settle(self._path.parent)
        except (OSError, sqlite3.Error):
            raise InvalidInput(
                f"a place for a store at {self._name}", "one that cannot be written to"
            ) from None
        finally:
            for ending in ("", *BESIDE):
                draft.with_name(draft.name + ending).unlink(missing_ok=True)


def _number(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _some(run: Run, statement: str, values: Sequence[Any]) -> list[Any]:
    """Run a statement for all of these values, with as few calls as SQLite allows."""
    found = []
    for at in range(0, len(values), VALUES):
        part = values[at : at + VALUES]
        found += run(f"{statement} IN ({','.join('?' * len(part))})", part)
    return found


def _insert(run: Run, statement: str, rows: Sequence[tuple[Any, ...]], then: str = "") -> None:
    """Insert all of these rows, with as few calls as SQLite allows."""
    step = VALUES // len(rows[0]) if rows else 1
    for at in range(0, len(rows), step):
        part = rows[at : at + step]
        marks = f"({','.join('?' * len(part[0]))})"
        values = [value for row in part for value in row]
        run(f"{statement} VALUES {','.join([marks] * len(part))} {then}", values)
