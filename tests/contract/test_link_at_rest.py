"""Whether a thief of the store, who has every invitation too, can tell who sent which report.

The thief knows the tokens and has all files or tables. Findings, which these tests assert:

- SQLite, survey running, log not empty: uploads that came one at a time are all joined, by the
  transactions in the write-ahead log. Once the log is empty none is. Within a page the reports
  that came since it was last divided are in the order in which they came; the marks of spent
  invitations have no order, so that this joins nothing.
- PostgreSQL, survey running: the last uploads, not mixed yet, are all joined by xmin. Those that
  were mixed are joined to the whole group that was mixed with them. The database's log has all.
- After closing, in both: nothing joins them, and no file has a receipt or a tie any more, but for
  the log of PostgreSQL.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidence.collector.people import People

from confide.collect.invitations import decoded
from confide.collect.stores import opened
from confide.collect.stores.postgres import PostgresStore
from confide.collect.stores.sqlite import SqliteStore
from confide.collect.wire import Entry

PAGE = 4096
FRAME = 24
"""Bytes before each page in a write-ahead log, whose own head has 32."""


@dataclass
class Sent:
    """An upload, and the token that it spends."""

    token: str
    body: bytes
    entry: Entry


def sent(people: People, tokens: Sequence[str]) -> list[Sent]:
    """Uploads of all of them, no two with the same report."""
    found: dict[str, Sent] = {}
    for token in tokens:
        while True:
            body = people.upload(token)
            entry = people.entry(body)
            if entry.reports not in found:
                found[entry.reports] = Sent(token, body, entry)
                break
    return list(found.values())


def secrets_of(uploads: Sequence[Sent]) -> list[bytes]:
    """What must never be on disk: tokens and receipts, as text and as bytes."""
    found = []
    for upload in uploads:
        fields = json.loads(upload.body)
        raw = decoded(upload.token)
        assert raw is not None
        found += [upload.token.encode(), raw[:33], fields["receipt"].encode()]
    return found


def files(path: Path) -> bytes:
    """All bytes of a SQLite store."""
    names = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))]
    return b"".join(name.read_bytes() for name in names if name.exists())


def commits(log: bytes) -> list[int]:
    """Where each transaction of a write-ahead log ends."""
    ends, at = [], 32
    while at + FRAME + PAGE <= len(log):
        _, pages = struct.unpack(">II", log[at : at + 8])
        at += FRAME + PAGE
        if pages:
            ends.append(at)
    return ends


def joined_by_log(path: Path, folder: Path) -> dict[bytes, str]:
    """Invitations and their reports, from the states of the file after each transaction."""
    wal = path.with_name(path.name + "-wal")
    log = wal.read_bytes() if wal.exists() else b""
    found: dict[bytes, str] = {}
    spent: set[bytes] | None = None
    reports: set[str] = set()
    for number, end in enumerate(commits(log)):
        copy = folder / f"{number}.db"
        shutil.copy(path, copy)
        copy.with_name(copy.name + "-wal").write_bytes(log[:end])
        connection = sqlite3.connect(copy)
        now = {one for (one,) in connection.execute("SELECT hash FROM invitations WHERE used")}
        texts = {text for (text,) in connection.execute("SELECT reports FROM reports")}
        connection.close()
        if spent is not None and len(now - spent) == 1:
            (invitation,), (report,) = now - spent, texts - reports
            found[invitation] = report
        spent, reports = now, texts
    return found


def concordance(places: Mapping[int, int]) -> float:
    """Of pairs in one page, how many are in the order of their numbers, from its end on.

    SQLite fills a page from its end.
    """
    pages: dict[int, list[tuple[int, int]]] = {}
    for number, at in places.items():
        pages.setdefault(at // PAGE, []).append((-at, number))
    pairs = [
        first < second
        for page in pages.values()
        for (_, first), (_, second) in itertools.combinations(sorted(page), 2)
    ]
    assert len(pairs) > 1000
    return sum(pairs) / len(pairs)


def test_sqlite(tmp_path: Path) -> None:
    people, path = People(), tmp_path / "answers.db"
    store = opened(path, people.survey, create=True)
    assert isinstance(store, SqliteStore)
    uploads = sent(people, people.invite(store, 400))
    truth = {upload.entry.invitation: upload.entry.reports for upload in uploads}
    for upload in uploads[:12]:
        store.put([upload.entry])
    store.tidy()
    data = path.read_bytes()
    places = [data.find(upload.entry.receipt) for upload in uploads[:12]]
    assert places == sorted(places, reverse=True)
    for upload in uploads[12:-40]:
        store.put([upload.entry])
    store.tidy()
    for upload in uploads[-40:]:
        store.put([upload.entry])

    # The log has the last ones, each in a transaction of its own; the first is where it begins.
    folder = tmp_path / "thief"
    folder.mkdir()
    found = joined_by_log(path, folder)
    assert len(found) == 39
    assert all(truth[invitation] == report for invitation, report in found.items())
    # An empty log has nothing.
    store.tidy()
    assert joined_by_log(path, folder) == {}
    assert path.with_name(path.name + "-wal").stat().st_size == 0

    data = path.read_bytes()
    spent = {number: data.find(upload.entry.invitation) for number, upload in enumerate(uploads)}
    assert min(spent.values()) > 0
    assert 0.4 < concordance(spent) < 0.6

    for secret in secrets_of(uploads):
        assert secret not in files(path)
    # A backup has the same rows, and each page in the order of its keys.
    store.backup(tmp_path / "copy.db")
    copy = (tmp_path / "copy.db").read_bytes()
    again = {number: copy.find(upload.entry.receipt) for number, upload in enumerate(uploads)}
    assert 0.4 < concordance(again) < 0.6

    store.close()
    everything = files(path)
    for upload in uploads:
        assert upload.entry.receipt not in everything
        assert upload.entry.tie not in everything
    for secret in secrets_of(uploads):
        assert secret not in everything
    data = path.read_bytes()
    after = {
        number: data.find(upload.entry.reports.encode()) for number, upload in enumerate(uploads)
    }
    assert min(after.values()) > 0
    assert 0.4 < concordance(after) < 0.6
    assert joined_by_log(path, folder) == {}
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA freelist_count").fetchall() == [(0,)]
    connection.close()
    store.shut()


JOIN = "SELECT i.hash, r.reports FROM {0}spent AS i JOIN {0}reports AS r ON i.xmin = r.xmin"
PLACES = "SELECT {1} FROM {0} ORDER BY ctid"


def test_postgres(postgres: Callable[[], str]) -> None:
    people, address = People(), postgres()
    store = opened(address, people.survey, create=True)
    assert isinstance(store, PostgresStore)
    uploads = sent(people, people.invite(store, 130))
    truth = {upload.entry.invitation: upload.entry.reports for upload in uploads}
    number = {upload.entry.invitation: at for at, upload in enumerate(uploads)}
    number |= {upload.entry.reports: at for at, upload in enumerate(uploads)}
    run = store._open().execute

    def joined(small: str) -> dict[bytes, set[str]]:
        found: dict[bytes, set[str]] = {}
        for invitation, report in run(JOIN.format(small)).fetchall():
            found.setdefault(invitation, set()).add(report)
        return found

    def order(table: str, column: str) -> float:
        rows = [number[value] for (value,) in run(PLACES.format(table, column)).fetchall()]
        return sum(a < b for a, b in itertools.pairwise(rows)) / (len(rows) - 1)

    for upload in uploads[:60]:
        store.put([upload.entry])
    # What came last is joined one to one, and lies in the order in which it came.
    assert joined("fresh_") == {key: {truth[key]} for key in list(truth)[:60]}
    assert order("fresh_spent", "hash") == order("fresh_reports", "reports") == 1
    store.tidy()
    assert joined("fresh_") == {}
    assert run("SELECT pg_relation_size('fresh_reports')").fetchone() == (0,)
    for upload in uploads[60:120]:
        store.put([upload.entry])
    store.tidy()
    for upload in uploads[120:]:
        store.put([upload.entry])
    # Ten are too few to hide one among the others.
    store.tidy()
    assert len(joined("fresh_")) == 10
    # What was mixed is joined to a whole group.
    groups = [{upload.entry.reports for upload in uploads[a : a + 60]} for a in (0, 60)]
    assert [joined("")[upload.entry.invitation] for upload in uploads[:120]] == [
        groups[at // 60] for at in range(120)
    ]

    store.close()
    everybody = {upload.entry.reports for upload in uploads}
    assert joined("") == dict.fromkeys(truth, everybody)
    assert 0.3 < order("spent", "hash") < 0.7
    assert 0.3 < order("reports", "reports") < 0.7
    for table in ("reports", "spent", "invitations", "counts", "cells"):
        ((kinds,),) = run(f"SELECT count(DISTINCT xmin::text) FROM {table}").fetchall()
        assert kinds == 1

    run("CHECKPOINT")
    ((home,),) = run("SHOW data_directory").fetchall()
    if Path(home).is_dir():
        tables = b"".join(
            each.read_bytes() for each in Path(home, "base").rglob("*") if each.is_file()
        )
        log = b"".join(each.read_bytes() for each in Path(home, "pg_wal").glob("0*"))
        some = uploads[::60] + uploads[-1:]
        for upload in some:
            assert upload.entry.receipt not in tables
            assert upload.entry.tie not in tables
        assert uploads[-1].entry.tie in log
        for secret in secrets_of(some):
            assert secret not in tables
            assert secret not in log
    store.shut()
