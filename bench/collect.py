"""Collecting reports over HTTP: against the same service with a store that commits nothing.

Client and server are processes of their own that share the cores; the client sends prepared bytes
over 64 connections, and takes a third to a half of the processor time. To be run on a machine that
does nothing else: whoever waits for a disk there waits for a processor too, each time, and a store
that commits nothing does not.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from evidence.collector.client import Load
from evidence.collector.database import database
from evidence.collector.people import People, request
from evidence.collector.server import Server, together

from bench.clock import Row
from bench.peers import HOME
from confide.collect.stores import opened

CONNECTIONS = 64
ROUNDS = 5
WARM, SENT = 500, 3000
SLOW, SINGLE = 0.005, 400
"""Seconds before each commit, and uploads where each has a commit of its own."""


class Place:
    """A server, and uploads that it has not seen yet."""

    def __init__(self, address: str, uploads: int, **settings: object) -> None:
        people = People()
        store = opened(address, people.survey, create=True)
        tokens = people.invite(store, uploads)
        store.shut()
        self.requests = [request(people.upload(token)) for token in tokens]
        self.server = Server(address, people, settings)
        self.rates: list[float] = []
        self.times: list[float] = []

    def run(self, warm: int, n: int) -> None:
        """Send so many, after some that are not measured."""
        for count in filter(None, (warm, n)):
            now, self.requests = self.requests[:count], self.requests[count:]
            load = Load(now).run([self.server.port], CONNECTIONS)
            if set(load.statuses) != {201}:
                raise RuntimeError(f"some were not stored: {set(load.statuses)}")
        self.rates.append(n / load.seconds)
        self.times += load.times

    @property
    def rate(self) -> float:
        """Uploads a second."""
        return statistics.median(self.rates)

    def told(self) -> str:
        """The rate, and how long answers took."""
        times = sorted(self.times)
        middle, late = times[len(times) // 2], times[len(times) * 99 // 100]
        return f"{self.rate:.0f} a second, p50 {1000 * middle:.1f} ms, p99 {1000 * late:.1f} ms"


def rates(folder: Path, address: str) -> list[Row]:
    """Both stores and none, taking turns."""
    total = ROUNDS * (WARM + SENT)
    places = {
        "nothing": Place(str(folder / "nothing.db"), total, nothing=True),
        "SQLite": Place(str(folder / "a.db"), total),
        "PostgreSQL": Place(address, total),
    }
    with together([place.server for place in places.values()]):
        for _ in range(ROUNDS):
            for place in places.values():
                place.run(WARM, SENT)
    for name, place in places.items():
        print(f"{name}: {place.told()}; rounds {[round(rate) for rate in place.rates]}")
    return [
        Row(
            f"an upload over HTTP, {CONNECTIONS} connections, {name}, on disk when answered",
            "the same service with a store that commits nothing",
            places["nothing"].rate / places[name].rate,
            limit,
        )
        for name, limit in (("SQLite", 2.0), ("PostgreSQL", 1 / 0.35))
    ]


def slow_disk(folder: Path) -> list[Row]:
    """Group commit, where a commit takes 5 ms more."""
    grouped = Place(str(folder / "grouped.db"), ROUNDS * SENT, delay=SLOW)
    single = Place(str(folder / "single.db"), ROUNDS * SINGLE, delay=SLOW, batch=1)
    with together([grouped.server, single.server]):
        for _ in range(ROUNDS):
            grouped.run(0, SENT)
            single.run(0, SINGLE)
        told = grouped.server.stop()
    print(f"5 ms before each commit: {grouped.told()}; one commit each: {single.told()}")
    what = f"an upload over HTTP, {CONNECTIONS} connections, 5 ms before each commit"
    return [
        Row(what, "one commit an upload", single.rate / grouped.rate, 0.2),
        Row(f"{what}: commits", "uploads", told["batches"] / told["uploads"], 1 / 8),
    ]


def rows() -> list[Row]:
    HOME.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as name, database() as server:
        return [*rates(Path(name), server.address()), *slow_disk(Path(name))]
