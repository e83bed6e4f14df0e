"""A server process on a port of its own: ``python -m evidence.collector.server SETTINGS``."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confide.collect import respondents, serving, wire, writer
from confide.collect.invitations import Signer
from confide.collect.stores import opened
from confide.collect.stores.sqlite import SqliteStore
from confide.collect.stores.store import Outcome, Store
from confide.questions import Questionnaire
from evidence.collector.people import People

ROOT = Path(__file__).parents[2]
EARLY, UNLOCKED = "answers before it commits", "looks before it locks"
LOCKLESS = "opens the file beside SQLite"
MUTANTS = (EARLY, UNLOCKED, LOCKLESS)


@dataclass
class Server:
    """A server process that can be killed and started again.

    Parameters
    ----------
    address
        Of the store.
    people
        Those whose uploads it takes.
    settings
        ``mutant``: what is wrong with it. ``delay``: seconds before each commit. ``batch``: uploads
        in a transaction, at most. ``nothing``: whether it commits nothing.
    """

    address: str
    people: People
    settings: dict[str, Any] = field(default_factory=dict)
    port: int = 0

    def start(self) -> Server:
        given = {
            "address": self.address,
            "survey": self.people.survey.to_dict(),
            "key": self.people.key.hex(),
            **self.settings,
        }
        # A pipe that nobody empties would stop the server once it is full.
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evidence.collector.server", json.dumps(given)],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise RuntimeError(f"the server did not start: {self.errors.read().decode()}")
        self.port = int(line)
        return self

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def stop(self) -> dict[str, int]:
        """End it gracefully; returns its own counts of batches and uploads."""
        self.process.send_signal(signal.SIGTERM)
        told = self._end()
        return json.loads(told.splitlines()[-1]) if told else {}

    def _end(self) -> bytes:
        told, _ = self.process.communicate(timeout=60)
        self.errors.close()
        return told

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()


@contextlib.contextmanager
def together(servers: Sequence[Server]) -> Iterator[list[Server]]:
    """Several servers at a time."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(server) for server in servers]


class Wrapped(Store):
    """A store that does something else when reports are put, and the same otherwise."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    cap = property(lambda self: self.inner.cap)

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        return self.inner.put(entries)

    def document(self) -> str:
        return self.inner.document()

    def advance(self, before: str, now: str) -> None:
        self.inner.advance(before, now)

    def invite(self, *given: Any) -> None:
        self.inner.invite(*given)

    def knows(self, invitation: bytes) -> bool:
        return self.inner.knows(invitation)

    def status(self) -> Any:
        return self.inner.status()

    def tallies(self) -> Any:
        return self.inner.tallies()

    def rows(self) -> Any:
        return self.inner.rows()

    def close(self) -> None:
        self.inner.close()

    def tidy(self) -> bool:
        return self.inner.tidy()

    def shut(self) -> None:
        self.inner.shut()


class Nothing(Wrapped):
    """Commits nothing."""

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        return [Outcome.STORED] * len(entries)

    def tidy(self) -> bool:
        return True


class Slow(Wrapped):
    """Waits before each commit."""

    def __init__(self, inner: Store, seconds: float) -> None:
        super().__init__(inner)
        self.seconds = seconds

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        time.sleep(self.seconds)
        return self.inner.put(entries)


class Early(Wrapped):
    """A mutant: answers a batch, and commits it together with the next."""

    last: Sequence[wire.Entry] = ()

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        before, self.last = self.last, entries
        self.inner.put(before)
        return [Outcome.STORED] * len(entries)


class Unlocked(Wrapped):
    """A mutant: looks at what is stored, and then stores under a lock."""

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        store = self.inner
        if not isinstance(store, SqliteStore):
            raise TypeError("a SQLite store is needed")
        with store._reading() as run:
            known = store._known(run, entries)
        time.sleep(0.01)
        store._known = lambda *_: known
        try:
            return store.put(entries)
        finally:
            del store._known


class Lockless(Wrapped):
    """A mutant: reads the head of the file by itself, which drops the locks of this process."""

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        outcomes = self.inner.put(entries)
        self.inner._path.read_bytes()  # type: ignore[attr-defined]
        return outcomes


def main(given: dict[str, Any]) -> None:
    survey = Questionnaire.from_dict(given["survey"])
    store = opened(given["address"], survey, create=False)
    if given.get("nothing"):
        store = Nothing(store)
    if seconds := given.get("delay"):
        store = Slow(store, seconds)
    kinds = {EARLY: Early, UNLOCKED: Unlocked, LOCKLESS: Lockless}
    if mutant := given.get("mutant"):
        store = kinds[mutant](store)
    writer.BATCH = given.get("batch", writer.BATCH)
    own = writer.Writer(store)
    signer = None if store.cap is not None else Signer(bytes.fromhex(given["key"]), survey)
    desk = respondents.Desk(wire.Reader(survey, signer), own, lambda: False)
    service = serving.Service(respondents.app(desk, {}), "127.0.0.1", 0)

    def ready(addresses: Sequence[str]) -> None:
        print(addresses[0].rstrip("/").rpartition(":")[2], flush=True)

    serving.serve([service], ready=ready)
    own.stop()
    print(json.dumps({"batches": own.batches, "uploads": own.uploads}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
