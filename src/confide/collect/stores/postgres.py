"""A store in a PostgreSQL database, for several servers that collect together."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, final

from confide.collect.stores.identity import Identity
from confide.collect.stores.store import Outcome, Status, Store, Tallies, Unavailable
from confide.collect.stores.verdicts import Known, judged
from confide.collect.wire import Entry
from confide.errors import InvalidInput, extra

SCHEMES = ("postgresql://", "postgres://")
"""How addresses of databases begin."""
NAME = re.compile(r"[a-z0-9_]{1,40}")
"""Names of stores in one database."""
VERSION = 1
"""Of the tables."""
TABLES = """
CREATE TABLE survey (
    version integer NOT NULL,
    document text NOT NULL,
    fingerprint text NOT NULL,
    worded text NOT NULL,
    cap bigint,
    closed boolean NOT NULL
);
CREATE TABLE cells (cell text PRIMARY KEY, invited bigint NOT NULL, answered bigint NOT NULL);
CREATE TABLE invitations (hash bytea PRIMARY KEY);
CREATE TABLE spent (hash bytea PRIMARY KEY);
CREATE TABLE reports (
    receipt bytea PRIMARY KEY,
    tie bytea NOT NULL,
    cell text NOT NULL,
    reports text NOT NULL
);
CREATE TABLE fresh_spent (LIKE spent INCLUDING ALL);
CREATE TABLE fresh_reports (LIKE reports INCLUDING ALL);
CREATE TABLE counts (
    cell text,
    question text,
    report integer,
    n bigint NOT NULL,
    PRIMARY KEY (cell, question, report)
);
"""
FRESH_COUNTS = """
SELECT cell, key, value::integer, count(*)
FROM fresh_reports CROSS JOIN LATERAL json_each_text(reports::json) GROUP BY 1, 2, 3
"""
MIX = f"""
INSERT INTO counts {FRESH_COUNTS} ORDER BY 1, 2, 3
    ON CONFLICT (cell, question, report) DO UPDATE SET n = counts.n + excluded.n;
INSERT INTO cells SELECT cell, 0, count(*) FROM fresh_reports GROUP BY 1 ORDER BY 1
    ON CONFLICT (cell) DO UPDATE SET answered = cells.answered + excluded.answered;
INSERT INTO spent SELECT hash FROM fresh_spent ORDER BY hash;
INSERT INTO reports SELECT receipt, tie, cell, reports FROM fresh_reports ORDER BY receipt;
TRUNCATE fresh_spent, fresh_reports;
"""
"""Moves what came last to where it stays, in the order of hashes."""
REWRITE = """
CREATE TEMP TABLE old_reports ON COMMIT DROP AS
    SELECT uuid_send(gen_random_uuid()) AS receipt, cell, reports FROM reports;
CREATE TEMP TABLE old_spent ON COMMIT DROP AS SELECT hash FROM spent;
CREATE TEMP TABLE old_invitations ON COMMIT DROP AS SELECT hash FROM invitations;
CREATE TEMP TABLE old_counts ON COMMIT DROP AS SELECT cell, question, report, n FROM counts;
CREATE TEMP TABLE old_cells ON COMMIT DROP AS SELECT cell, invited, answered FROM cells;
TRUNCATE reports, spent, invitations, counts, cells;
INSERT INTO reports SELECT receipt, '', cell, reports FROM old_reports ORDER BY receipt;
INSERT INTO spent SELECT hash FROM old_spent ORDER BY hash;
INSERT INTO invitations SELECT hash FROM old_invitations ORDER BY hash;
INSERT INTO counts SELECT cell, question, report, n FROM old_counts ORDER BY 1, 2, 3;
INSERT INTO cells SELECT cell, invited, answered FROM old_cells ORDER BY cell;
UPDATE survey SET closed = true;
"""
"""Writes every table anew in one transaction, in an order that has nothing to do with time."""
LOADED, IDLE = 1000, 50
"""Uploads that are mixed together at least: while more keep coming, and when none come."""
PATIENCE = 10
"""Seconds to wait for another process, or for the database to answer."""
MIXING = "200ms"
"""How long a mixing waits for those who read; it is tried again later."""
ATTEMPTS = 3
"""How often a batch is tried if the connection was cut or the database asks to try again."""
STEP = 10_000
"""Rows that are read at a time."""
AGAIN = ("40001", "40P01")
"""SQLSTATE codes of transactions that should be tried again: serialization and deadlock."""
REASONS = {
    "08": "the connection was lost, or none can be made",
    "28": "it does not let this user in",
    "3D": "there is no such database",
    "42501": "this user may not do that",
    "53100": "its disk is full",
    "53300": "it has too many connections",
    "55P03": "another process holds it",
    "57": "it is stopping or starting",
}
"""By SQLSTATE code or its first two characters. The database's own messages may quote reports."""
SETTINGS = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 1000 * PATIENCE,
    "application_name": "confide",
}
"""A database that vanished is noticed within seconds, unless the address says otherwise."""
Result = TypeVar("Result")


@final
class PostgresStore(Store):
    """Reports in a PostgreSQL database.

    Parameters
    ----------
    address
        ``postgresql://user@host/database``, as libpq takes it. A database can hold several stores:
        what follows a ``#`` names one (small letters, digits, underscores). Each has a schema of
        its own, ``confide`` or ``confide_NAME``.
    identity
        The survey that it is for.
    create
        Make the store if there is none.

    Notes
    -----
    A batch is one transaction, on the database's disk before it is answered. The processes that
    share a store write one after the other, under an advisory lock: while one waits for the disk
    the others gather, so that their batches grow. The connection must be one of the store's own;
    a pooler that hands out connections by the transaction is not.

    New uploads go to two small tables, ``fresh_spent`` and ``fresh_reports``. When enough have
    gathered, one transaction moves them to the large ones in the order of their hashes, adds them
    to the counts and empties the small ones, whose files the database deletes.

    **What joins an invitation to its report while a survey runs.** Rows of one transaction have the
    same ``xmin``, and rows are on disk in the order in which they were written. In the small tables
    a transaction is a batch, which is one upload where nobody else sends at that time: these can be
    joined. In the large tables a transaction has all uploads that were moved together, at least
    50 (1,000 while more keep coming), and their order is that of hashes: an invitation can be
    joined to that group of reports, not to one of them. The write-ahead log of the database,
    archives of it, replicas and file backups have every batch.

    **After closing** all tables were written anew by one transaction: every row has the same
    ``xmin``, reports are in the order of new random names, everything else in that of its keys.
    What was written to the log before, and blocks that a file gave back to the disk, are beyond
    this.
    """

    def __init__(self, address: str, identity: Identity, *, create: bool) -> None:
        self._psycopg = extra("psycopg", "postgres")
        self._settings, self._schema, self._name = _read(self._psycopg, address)
        self._lock = int.from_bytes(
            hashlib.sha256(f"confide store {self._schema}".encode()).digest()[:8], signed=True
        )
        self._connection: Any = None
        # Others may have left some: the first moment without work shows.
        self._fresh = 1
        try:
            stored = self._run(lambda: self._found(identity if create else None))
            identity.check(stored, self._name)
            self._cap = stored.cap
        except BaseException:
            self.shut()
            raise

    @property
    def cap(self) -> int | None:
        """Limit of answers in a survey without invitations; None if invitations are needed."""
        return self._cap

    def document(self) -> str:
        """The survey of the current phase as JSON."""
        return self._run(self._document)

    def advance(self, before: str, now: str) -> None:
        """Begin the second phase, unless another process was faster or the survey has ended."""
        self._run(lambda: self._advance(before, now))

    def invite(self, hashes: Sequence[bytes], cells: Mapping[str, int]) -> None:
        """Admit one report for each hash of an invitation; ``cells`` says how many in each cell."""
        if self._cap is not None:
            raise InvalidInput("a survey that needs invitations", "one that takes anybody")
        # Do not retry with an unknown outcome: invitations are admitted once.
        with self._told():
            self._invite(sorted(hashes), dict(cells))

    def knows(self, invitation: bytes) -> bool:
        """Whether an invitation of this hash was admitted, once nobody is admitting any.

        Takes the writers' lock, because the database may still be working for a connection that was
        cut.
        """
        return self._run(lambda: self._knows(invitation))

    def put(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a batch in one transaction; what it answers is on disk when it returns."""
        if not entries:
            return []
        # A second attempt finds what the first one stored, and says so.
        outcomes = self._run(lambda: self._put(entries))
        self._fresh += outcomes.count(Outcome.STORED)
        if self._fresh >= LOADED:
            self._mix(LOADED)
        return outcomes

    def status(self) -> Status:
        """Numbers of people who were invited and who have answered."""
        return self._run(self._status)

    def tallies(self) -> Tallies:
        """How often each report came: cell -> question -> report -> count.

        A call reads the counts, and counts the uploads that were not moved to them yet.
        """
        return self._run(self._tallies)

    def close(self) -> None:
        """End the survey: no reports any more, receipts dropped, all tables written anew.

        This is one transaction: a survey is open, or it has ended and left no trace.
        """
        self._run(self._close)
        self._fresh = 0

    def rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Cell and reports of every person, in the order of random names."""
        with self._told(), contextlib.closing(self._connect()) as connection:
            connection.execute("SET idle_in_transaction_session_timeout = 0")
            connection.execute("SET statement_timeout = 0")
            with self._reading(connection), connection.cursor(name="rows") as cursor:
                cursor.itersize = STEP
                cursor.execute(
                    "SELECT cell, reports FROM (SELECT receipt, cell, reports FROM reports"
                    " UNION ALL SELECT receipt, cell, reports FROM fresh_reports) AS every"
                    " ORDER BY receipt"
                )
                for cell, reports in cursor:
                    yield cell, json.loads(reports)

    def tidy(self) -> bool:
        """Mix what came last, if that is enough to hide one among the others."""
        return not self._fresh or self._mix(IDLE)

    def shut(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _document(self) -> str:
        with self._reading(self._open()) as run:
            ((document,),) = run("SELECT document FROM survey").fetchall()
        return str(document)

    def _advance(self, before: str, now: str) -> None:
        with self._writing() as run:
            run("UPDATE survey SET document = %s WHERE document = %s AND NOT closed", [now, before])

    def _put(self, entries: Sequence[Entry]) -> list[Outcome]:
        receipts = [entry.receipt for entry in entries]
        hashes = [entry.invitation for entry in entries if entry.invitation is not None]
        connection = self._open()
        # Sent in two parts, each answered at once: first the queries, then the rows to store.
        with connection.pipeline(), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [self._lock])
            head = connection.execute(
                "SELECT closed, cap, CASE WHEN cap IS NULL THEN 0 ELSE"
                " (SELECT coalesce(sum(answered), 0)::bigint FROM cells)"
                " + (SELECT count(*) FROM fresh_reports) END FROM survey"
            )
            used = connection.execute(
                "SELECT hash, EXISTS (SELECT FROM spent WHERE spent.hash = invitations.hash)"
                " OR EXISTS (SELECT FROM fresh_spent WHERE fresh_spent.hash = invitations.hash)"
                " FROM invitations WHERE hash = ANY(%s)",
                [hashes],
                binary=True,
            )
            stored = connection.execute(
                "SELECT receipt, tie, cell, reports FROM reports WHERE receipt = ANY(%s) UNION ALL"
                " SELECT receipt, tie, cell, reports FROM fresh_reports WHERE receipt = ANY(%s)",
                [receipts, receipts],
                binary=True,
            )
            closed, cap, answered = head.fetchone()
            known = Known(
                closed=closed,
                cap=cap,
                answered=answered,
                used=dict(used.fetchall()),
                stored={receipt: tuple(row) for receipt, *row in stored.fetchall()},
            )
            outcomes = judged(entries, known)
            kept = [
                entry
                for entry, outcome in zip(entries, outcomes, strict=True)
                if outcome is Outcome.STORED
            ]
            if kept:
                self._keep(connection, kept)
        return outcomes

    def _keep(self, connection: Any, entries: Sequence[Entry]) -> None:
        hashes = sorted(entry.invitation for entry in entries if entry.invitation is not None)
        if hashes:
            connection.execute("INSERT INTO fresh_spent SELECT unnest(%s::bytea[])", [hashes])
        # Not in the order in which they came.
        ordered = sorted(entries, key=lambda entry: entry.receipt)
        connection.execute(
            "INSERT INTO fresh_reports"
            " SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::text[], %s::text[])",
            [
                [entry.receipt for entry in ordered],
                [entry.tie for entry in ordered],
                [entry.cell for entry in ordered],
                [entry.reports for entry in ordered],
            ],
        )

    def _mix(self, least: int) -> bool:
        """Move what came last, unless it is less than this or somebody reads just now."""
        done = False
        with contextlib.suppress(Unavailable):
            self._run(lambda: self._mixed(least))
            done = True
        # If others read for long, they are not waited for at every batch; one is left to tidy.
        self._fresh = 0 if done else 1
        return done

    def _mixed(self, least: int) -> None:
        with self._writing() as run:
            run(f"SET LOCAL lock_timeout = '{MIXING}'")
            ((found,),) = run("SELECT count(*) FROM fresh_reports").fetchall()
            if found >= least:
                run(MIX)

    def _invite(self, hashes: Sequence[bytes], cells: Mapping[str, int]) -> None:
        try:
            with self._writing() as run:
                ((closed,),) = run("SELECT closed FROM survey").fetchall()
                if closed:
                    raise InvalidInput("a survey that has not ended", "one that has")
                for start in range(0, len(hashes), STEP):
                    run(
                        "INSERT INTO invitations SELECT unnest(%s::bytea[])",
                        [hashes[start : start + STEP]],
                    )
                run(
                    "INSERT INTO cells SELECT *, 0 FROM unnest(%s::text[], %s::bigint[])"
                    " ON CONFLICT (cell) DO UPDATE SET invited = cells.invited + excluded.invited",
                    [list(cells), list(cells.values())],
                )
        except self._psycopg.errors.UniqueViolation:
            raise InvalidInput("new invitations", "some that the store has already") from None

    def _knows(self, invitation: bytes) -> bool:
        with self._writing() as run:
            found = run("SELECT FROM invitations WHERE hash = %s", [invitation])
            return bool(found.rowcount)

    def _status(self) -> Status:
        with self._reading(self._open()) as run:
            ((closed,),) = run("SELECT closed FROM survey").fetchall()
            cells = run(
                "SELECT cell, sum(invited)::bigint, sum(answered)::bigint FROM"
                " (SELECT cell, invited, answered FROM cells UNION ALL"
                " SELECT cell, 0, count(*) FROM fresh_reports GROUP BY 1) AS every GROUP BY 1"
            ).fetchall()
        return Status.of(cells, closed=closed)

    def _tallies(self) -> Tallies:
        tallies: dict[str, dict[str, dict[int, int]]] = {}
        with self._reading(self._open()) as run:
            every = f"SELECT cell, question, report, n FROM counts UNION ALL {FRESH_COUNTS}"
            for cell, question, report, n in run(every).fetchall():
                own = tallies.setdefault(cell, {}).setdefault(question, {})
                own[report] = own.get(report, 0) + n
        return tallies

    def _close(self) -> None:
        with self._writing() as run:
            # This works for any number of reports and while others read them.
            run("SET LOCAL statement_timeout = 0")
            ((closed,),) = run("SELECT closed FROM survey").fetchall()
            if not closed:
                run(MIX)
                run(REWRITE)

    def _found(self, made: Identity | None) -> Identity:
        """The survey of the store, which is made where one is given and there is none."""
        with self._writing() as run:
            ((fsync,),) = run("SHOW fsync").fetchall()
            if fsync != "on":
                raise InvalidInput(
                    f"a database at {self._name} that waits for its disk",
                    "one with fsync off",
                    "What it has answered would be lost when the power fails.",
                )
            ((schema, table),) = run(
                "SELECT to_regnamespace(%s) IS NOT NULL, to_regclass(%s) IS NOT NULL",
                [self._schema, f"{self._schema}.survey"],
            ).fetchall()
            if not schema and made is not None:
                run(f"CREATE SCHEMA {self._schema}")
                run(TABLES)
                run(
                    "INSERT INTO survey VALUES (%s, %s, %s, %s, %s, false)",
                    [VERSION, made.document, made.fingerprint, made.worded, made.cap],
                )
                return made
            if not schema:
                raise InvalidInput(
                    f"a store at {self._name}", "none", "Invite people first: that makes it."
                )
            if not table:
                raise InvalidInput(
                    f"a store at {self._name}", f"a schema {self._schema} of something else"
                )
            (row,) = run("SELECT version, document, fingerprint, worded, cap FROM survey")
        if row[0] != VERSION:
            raise InvalidInput(
                f"a store of version {VERSION} at {self._name}",
                f"version {row[0]}",
                f"{'A newer' if row[0] > VERSION else 'An older'} confide made it.",
            )
        return Identity(*row[1:])

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Callable[..., Any]]:
        """A transaction that no other process writes beside."""
        connection = self._open()
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [self._lock])
            yield connection.execute

    @contextlib.contextmanager
    def _reading(self, connection: Any) -> Iterator[Callable[..., Any]]:
        """A transaction during which nothing is mixed, so that nothing is counted twice."""
        with connection.transaction():
            connection.execute("LOCK TABLE fresh_reports IN ACCESS SHARE MODE")
            yield connection.execute

    def _run(self, work: Callable[[], Result]) -> Result:
        """Do some work that may be done again, if the connection is cut or a transaction fails."""
        with self._told():
            for _ in range(ATTEMPTS - 1):
                old = self._connection is not None
                try:
                    return work()
                except self._psycopg.Error as error:
                    cut = old and self._connection is not None and self._connection.broken
                    if error.sqlstate not in AGAIN and not cut:
                        raise
                    if cut:
                        self.shut()
            return work()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the database as ours; after one the connection is made anew."""
        try:
            yield
        except self._psycopg.Error as error:
            with contextlib.suppress(self._psycopg.Error):
                self.shut()
            raise Unavailable(
                f"The store {self._name} cannot be used now: {_reason(error)}."
            ) from None

    def _open(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> Any:
        connection = self._psycopg.connect(**self._settings, autocommit=True)
        try:
            connection.isolation_level = self._psycopg.IsolationLevel.READ_COMMITTED
            connection.execute(
                f"SET search_path = {self._schema}; SET synchronous_commit = on;"
                f" SET lock_timeout = '{PATIENCE}s'; SET statement_timeout = '{3 * PATIENCE}s';"
                f" SET idle_in_transaction_session_timeout = '{PATIENCE}s'"
            )
        except BaseException:
            connection.close()
            raise
        return connection


def _reason(error: Any) -> str:
    """What went wrong, in words of our own."""
    tried = getattr(error, "pgconn", None)
    if error.sqlstate is None and tried is not None:
        # No connection was made, and the library has no code that says why.
        if tried.needs_password:
            return "it asks for a password, which PGPASSWORD or ~/.pgpass can have"
        if tried.used_password:
            return "it does not know this user, password or database"
        return "it cannot be reached, or does not let this user in"
    code = error.sqlstate or "08"
    return REASONS.get(code) or REASONS.get(code[:2], f"error {code}")


def _read(psycopg: Any, address: str) -> tuple[dict[str, Any], str, str]:
    """Settings of a connection, the schema, and a name for messages, without a password."""
    plain, _, name = address.partition("#")
    if name and not NAME.fullmatch(name):
        raise InvalidInput(
            "lowercase letters, digits and underscores after the # of the database",
            "other characters",
        )
    try:
        given = psycopg.conninfo.conninfo_to_dict(plain)
    except psycopg.Error:
        # The library's message has the address, and that may have a password.
        raise InvalidInput(
            "an address such as postgresql://user@host/database", "one that cannot be read"
        ) from None
    parts = {key: str(given.get(key, "")) for key in ("user", "host", "port", "dbname")}
    place = parts["host"] + (f":{parts['port']}" if parts["port"] else "")
    user = f"{parts['user']}@" if parts["user"] else ""
    shown = f"postgresql://{user}{place}/{parts['dbname']}" + (f"#{name}" if name else "")
    return {**SETTINGS, **given}, f"confide_{name}" if name else "confide", repr(shown)
