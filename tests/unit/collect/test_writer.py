"""Group commit: batches, stores that fail, requests that are cancelled, and the end."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from evidence.collector.people import People
from evidence.collector.server import Wrapped

from confide.collect import writer
from confide.collect.stores import opened
from confide.collect.stores.store import Outcome, Store, Unavailable
from confide.collect.wire import Entry

PEOPLE = People()


class Watched(Wrapped):
    """A store that does something before each batch, and notes what it was asked."""

    def __init__(self, inner: Store, before: Callable[[], None] = int) -> None:
        super().__init__(inner)
        self.before = before
        self.sizes: list[int] = []
        self.tidied = threading.Event()

    def put(self, entries: Sequence[Entry]) -> list[Outcome]:
        self.sizes.append(len(entries))
        self.before()
        return super().put(entries)

    def tidy(self) -> bool:
        done = super().tidy()
        self.tidied.set()
        return done


@pytest.fixture
def store(tmp_path: Path) -> Watched:
    return Watched(opened(tmp_path / "a.db", PEOPLE.survey, create=True))


def uploads(store: Store, n: int) -> list[Entry]:
    return [PEOPLE.entry(PEOPLE.upload(token)) for token in PEOPLE.invite(store, n)]


async def every(own: writer.Writer, entries: Sequence[Entry]) -> list[Outcome | BaseException]:
    return await asyncio.gather(*map(own.put, entries), return_exceptions=True)


def test_what_waits_while_one_batch_is_flushed_is_the_next_batch(
    store: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BATCH", 40)
    entries = uploads(store, 101)
    gate = threading.Event()
    store.before = gate.wait
    own = writer.Writer(store)

    async def run() -> list[Outcome | BaseException]:
        first = asyncio.create_task(own.put(entries[0]))
        while not store.sizes:
            await asyncio.sleep(0.001)
        rest = asyncio.create_task(every(own, entries[1:]))
        while own._inbox.qsize() < 100:
            await asyncio.sleep(0.001)
        gate.set()
        return [await first, *await rest]

    assert asyncio.run(run()) == [Outcome.STORED] * 101
    assert store.sizes == [1, 40, 40, 20]
    own.stop()
    assert (own.batches, own.uploads) == (4, 101)


def test_too_many_are_asked_to_come_again(store: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WAITING", 3)
    entries = uploads(store, 10)
    gate = threading.Event()
    store.before = gate.wait
    own = writer.Writer(store)

    async def run() -> list[Outcome | BaseException]:
        first = asyncio.create_task(own.put(entries[0]))
        while not store.sizes:
            await asyncio.sleep(0.001)
        rest = asyncio.create_task(every(own, entries[1:]))
        await asyncio.sleep(0.01)
        gate.set()
        return [await first, *await rest]

    answers = asyncio.run(run())
    assert answers[:4] == [Outcome.STORED] * 4
    assert all(isinstance(answer, Unavailable) for answer in answers[4:])
    # Those are free to come again.
    again = [asyncio.run(own.put(entry)) for entry in entries]
    assert again == [Outcome.SAME] * 4 + [Outcome.STORED] * 6
    own.stop()


@pytest.mark.parametrize("error", [KeyError("report 1234"), Unavailable("full"), MemoryError()])
def test_a_store_that_fails_is_told_to_everybody_and_got_over(
    store: Watched, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    entries = uploads(store, 3)

    def fail() -> None:
        raise error

    store.before = fail
    own = writer.Writer(store)
    with caplog.at_level(logging.ERROR):
        answers = asyncio.run(every(own, entries))
    assert all(type(answer) is Unavailable for answer in answers)
    # Messages of others may quote a report.
    assert "1234" not in caplog.text + str(answers)
    assert caplog.records
    store.before = int
    assert asyncio.run(every(own, entries)) == [Outcome.STORED] * 3
    own.stop()


def test_a_cancelled_request_is_stored_and_hurts_nobody(store: Watched) -> None:
    entries = uploads(store, 3)
    gate = threading.Event()
    store.before = gate.wait
    own = writer.Writer(store)

    async def run() -> list[Outcome | BaseException]:
        tasks = [asyncio.create_task(own.put(entry)) for entry in entries]
        while not store.sizes:
            await asyncio.sleep(0.001)
        tasks[0].cancel()
        tasks[1].cancel()
        gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    cancelled, also, answer = asyncio.run(run())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(also, asyncio.CancelledError)
    assert answer is Outcome.STORED
    assert asyncio.run(every(own, entries)) == [Outcome.SAME] * 3
    own.stop()


def test_a_loop_that_ended_does_not_end_the_writer(store: Watched) -> None:
    entries = uploads(store, 2)
    gate = threading.Event()
    store.before = gate.wait
    own = writer.Writer(store)

    async def leave() -> None:
        task = asyncio.create_task(own.put(entries[0]))
        while not store.sizes:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(leave())
    gate.set()
    assert asyncio.run(every(own, entries)) == [Outcome.SAME, Outcome.STORED]
    own.stop()


def test_stopping_stores_what_waits_and_refuses_what_comes(store: Watched) -> None:
    entries = uploads(store, 5)
    gate = threading.Event()
    store.before = gate.wait
    own = writer.Writer(store)

    async def run() -> list[Outcome | BaseException]:
        tasks = [asyncio.create_task(own.put(entry)) for entry in entries[:4]]
        while not store.sizes:
            await asyncio.sleep(0.001)
        ending = asyncio.create_task(asyncio.to_thread(own.stop))
        while not own._ended:
            await asyncio.sleep(0.001)
        with pytest.raises(Unavailable, match="stopping"):
            await own.put(entries[4])
        gate.set()
        await ending
        return await asyncio.gather(*tasks)

    assert asyncio.run(run()) == [Outcome.STORED] * 4
    assert store.tidied.is_set()
    own.stop()


def test_a_store_is_tidied_when_nothing_comes(
    store: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "REST", 0.01)
    own = writer.Writer(store)
    assert store.tidied.wait(10)  # an earlier process may have left something
    store.tidied.clear()
    assert not store.tidied.wait(0.05)  # nothing was stored since
    asyncio.run(every(own, uploads(store, 1)))
    assert store.tidied.wait(10)
    own.stop()


def test_the_log_of_a_process_that_was_killed_is_emptied_although_nothing_comes(
    store: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the pages of each upload together: who sent what."""
    monkeypatch.setattr(writer, "REST", 0.01)
    store.put(uploads(store, 3))
    # What a kill leaves: both files, and nobody who has them open.
    for ending in ("", "-wal"):
        copy = tmp_path / f"b.db{ending}"
        copy.write_bytes((tmp_path / f"a.db{ending}").read_bytes())
        copy.chmod(0o600)
    log = tmp_path / "b.db-wal"
    assert log.stat().st_size > 0
    own = writer.Writer(opened(tmp_path / "b.db", PEOPLE.survey, create=False))
    until = time.monotonic() + 10
    while log.stat().st_size and time.monotonic() < until:
        time.sleep(0.01)
    assert log.stat().st_size == 0
    own.stop()
    assert len(list(own.store.rows())) == 3
    own.store.shut()


def test_a_store_that_somebody_read_is_tidied_afterwards(
    store: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "REST", 0.05)
    entries = uploads(store, 2)
    own = writer.Writer(store)
    asyncio.run(own.put(entries[0]))
    reader = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM reports").fetchall()
    asyncio.run(own.put(entries[1]))
    store.tidied.clear()
    assert store.tidied.wait(10)
    log = tmp_path / "a.db-wal"
    assert log.stat().st_size > 0
    reader.execute("COMMIT")
    until = time.monotonic() + 10
    while log.stat().st_size and time.monotonic() < until:
        time.sleep(0.01)
    assert log.stat().st_size == 0
    reader.close()
    own.stop()
