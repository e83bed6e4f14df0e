"""A store in a file: which files are taken, and what becomes of a disk that fills up."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from evidence.collector.people import People

from confide.collect.stores import opened, sqlite
from confide.collect.stores.store import Outcome, Unavailable
from confide.collect.wire import Entry
from confide.collect.writer import BATCH
from confide.errors import InvalidInput, Mismatch
from confide.ledger import Ledger
from confide.questions import Questionnaire

PEOPLE = People()


def make(path: Path) -> sqlite.SqliteStore:
    store = opened(path, PEOPLE.survey, create=True)
    assert isinstance(store, sqlite.SqliteStore)
    return store


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    before = os.umask(0)
    try:
        store = make(path)
        PEOPLE.invite(store, 3)
        store.backup(tmp_path / "b.db")
    finally:
        os.umask(before)
    assert {each.name for each in tmp_path.iterdir()} == {"a.db", "a.db-wal", "a.db-shm", "b.db"}
    for each in tmp_path.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    store.shut()
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        make(path)


def test_it_flushes_and_wipes(tmp_path: Path) -> None:
    store = make(tmp_path / "a.db")
    run = store._open().execute
    for pragma, value in {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}.items():
        assert run(f"PRAGMA {pragma}").fetchone() == (value,)
    tables = run("SELECT name, wr FROM pragma_table_list WHERE schema = 'main'").fetchall()
    assert {name for name, without in tables if without} == {
        "cells",
        "counts",
        "invitations",
        "reports",
    }
    store.shut()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()


def with_trigger(path: Path) -> None:
    make(path).shut()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER t AFTER INSERT ON reports BEGIN DELETE FROM reports; END")
    connection.close()


def of_version(version: int, path: Path) -> None:
    make(path).shut()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def linked(path: Path) -> None:
    make(path.with_name("real.db")).shut()
    path.symlink_to("real.db")


def linked_twice(path: Path) -> None:
    make(path).shut()
    os.link(path, path.with_name("second.db"))


BAD = {
    "text": (lambda path: path.write_text("some text " * 1000), "not SQLite"),
    "empty": (lambda path: path.touch(), "an SQLite file of something else"),
    "folder": (lambda path: path.mkdir(), "a link, a folder or a device"),
    "pipe": (os.mkfifo, "a link, a folder or a device"),
    "link": (linked, "a link, a folder or a device"),
    "link to nothing": (lambda path: path.symlink_to("nothing"), "a link, a folder or a device"),
    "two names": (linked_twice, "several hard links"),
    "foreign": (foreign, "an SQLite file of something else"),
    "ledger": (lambda path: Ledger(path, epsilon=1.0), "an SQLite file of something else"),
    "trigger": (with_trigger, "other tables, views or triggers"),
    "newer": (lambda path: of_version(2, path), "A newer confide"),
    "older": (lambda path: of_version(0, path), "An older confide"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("create", [True, False])
def test_what_is_no_store_is_refused_and_left_alone(
    tmp_path: Path, kind: str, create: bool
) -> None:
    path = tmp_path / "a.db"
    spoil, message = BAD[kind]
    spoil(path)
    if path.is_file() and not path.is_symlink():
        path.chmod(0o600)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(InvalidInput, match=message) as told:
        opened(path, PEOPLE.survey, create=create)
    assert str(told.value).count("Expected") == 1
    if path.is_file():
        assert path.read_bytes() == before


def test_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a folder"):
        make(tmp_path / "none" / "a.db")
    assert not list(tmp_path.iterdir())


def test_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = make(path)
    uploads = [PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, 300)]
    store.put(uploads)
    store.shut()
    data = bytearray(path.read_bytes())
    data[8192:-4096] = os.urandom(len(data) - 12288)
    path.write_bytes(data)
    store = make(path)
    with pytest.raises(InvalidInput, match="a damaged file"):
        store.put(uploads)
    store.shut()


def test_a_kill_between_the_two_names_of_a_new_file_is_put_right(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    make(path).shut()
    os.link(path, tmp_path / ".a.db.draft-0123")
    make(path).shut()
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"]


def test_a_file_that_goes_away_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = make(path)
    first, second, third = (PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, 3))
    assert store.put([first]) == [Outcome.STORED]
    path.rename(tmp_path / "b.db")
    with pytest.raises(Unavailable, match="moved or replaced"):
        store.put([second])
    with pytest.raises(Unavailable, match="is gone"):
        store.put([second])
    (tmp_path / "b.db").rename(path)
    assert store.put([first, second, third]) == [Outcome.SAME] + [Outcome.STORED] * 2
    store.shut()


def test_a_backup_is_a_store_and_replaces_nothing(tmp_path: Path) -> None:
    store = make(tmp_path / "a.db")
    uploads = [PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, 5)]
    store.put(uploads)
    store.backup(tmp_path / "b.db")
    with pytest.raises(InvalidInput, match="replaces nothing"):
        store.backup(tmp_path / "b.db")
    again = make(tmp_path / "b.db")
    assert (again.status(), again.tallies()) == (store.status(), store.tallies())
    assert again.put(uploads) == [Outcome.SAME] * 5
    again.shut()
    store.shut()


def test_closing_that_was_cut_short_is_finished_when_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    store = make(path)
    uploads = [PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, 50)]
    store.put(uploads)
    with monkeypatch.context() as cut:
        cut.setattr(store, "_wipe", lambda: None)
        store.close()
    assert store.status().closed
    assert store.put(uploads[:1]) == [Outcome.CLOSED]
    run = store._open().execute
    assert run("SELECT state FROM survey").fetchone() == (sqlite.CLOSING,)
    store.shut()
    again = make(path)
    run = again._open().execute
    assert run("SELECT state FROM survey").fetchone() == (sqlite.CLOSED,)
    assert not any(upload.receipt in path.read_bytes() for upload in uploads)
    assert sum(again.status().answered.values()) == 50
    again.shut()


def test_another_process_that_holds_it_for_long_makes_it_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    path = tmp_path / "a.db"
    store = make(path)
    upload = PEOPLE.entry(PEOPLE.upload(*PEOPLE.invite(store, 1)))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="another process holds it"):
        store.put([upload])
    assert sum(store.status().answered.values()) == 0
    other.execute("ROLLBACK")
    assert store.put([upload]) == [Outcome.STORED]
    # Whoever reads keeps the log, so that closing cannot be finished.
    other.execute("BEGIN")
    other.execute("SELECT * FROM reports").fetchall()
    with pytest.raises(Unavailable, match="is in use"):
        store.close()
    assert store.status().closed
    other.close()
    store.close()
    assert store._open().execute("SELECT state FROM survey").fetchone() == (sqlite.CLOSED,)
    store.shut()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def filled(store: sqlite.SqliteStore, uploads: Sequence[Entry]) -> int:
    """How many could be stored."""
    for number, upload in enumerate(uploads):
        try:
            assert store.put([upload]) == [Outcome.STORED]
        except Unavailable:
            return number
    return len(uploads)


def test_a_full_disk_loses_nothing_and_is_got_over(small: Path) -> None:
    store = make(small / "a.db")
    uploads = [PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, 300)]
    (small / "filler").write_bytes(bytes(2**18))
    stored = filled(store, uploads)
    assert 0 < stored < 300
    # Nothing is lost, nothing is half there, and it stays as it is while the disk is full.
    with pytest.raises(Unavailable, match="the disk is full"):
        store.put(uploads[stored:])
    assert sum(store.status().answered.values()) == stored == len(list(store.rows()))
    store.shut()
    (small / "filler").unlink()
    again = make(small / "a.db")
    assert again.put(uploads) == [Outcome.SAME] * stored + [Outcome.STORED] * (300 - stored)
    assert sum(n for cell in again.tallies().values() for n in cell["pay"].values()) == 300
    again.shut()


def test_another_survey_is_refused_without_touching_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    make(path).shut()
    before = path.read_bytes()
    other = People(type(PEOPLE.survey).from_dict({**PEOPLE.survey.to_dict(), "title": "Other"}))
    with pytest.raises(Mismatch):
        opened(path, other.survey, create=True)
    assert path.read_bytes() == before


def test_a_program_that_comes_and_goes_leaves_the_log_to_those_who_write(tmp_path: Path) -> None:
    # As in a service, which opens a store several times.
    store, other = make(tmp_path / "a.db"), make(tmp_path / "a.db")
    first, second = (PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, 2))
    assert store.put([first]) == [Outcome.STORED]
    look = (
        "import sqlite3, sys; own = sqlite3.connect(sys.argv[1]);"
        "print(own.execute('SELECT count(*) FROM reports').fetchone()[0]); own.close()"
    )

    def seen() -> int:
        command = [sys.executable, "-c", look, str(tmp_path / "a.db")]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    assert seen() == 1
    assert (tmp_path / "a.db-wal").exists()
    assert store.put([second]) == [Outcome.STORED]
    assert seen() == 2
    other.shut()
    store.shut()


def test_a_full_batch_of_a_long_survey(tmp_path: Path) -> None:
    questions = {f"q{at}": {"low": 0, "high": 9, "epsilon": 0.1} for at in range(40)}
    survey = Questionnaire.from_dict({"questions": questions})
    store = opened(tmp_path / "a.db", survey, create=True, cap=BATCH)
    assert isinstance(store, sqlite.SqliteStore)
    # What SQLite has unless whoever built it said otherwise.
    store._open().setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)
    entries = [
        Entry(None, key, key, "", json.dumps(dict.fromkeys(questions, at)))
        for at, key in enumerate(secrets.token_bytes(32) for _ in range(BATCH))
    ]
    assert store.put(entries) == [Outcome.STORED] * BATCH
    assert store.tallies()[""]["q39"] == dict.fromkeys(range(BATCH), 1)
    store.shut()
