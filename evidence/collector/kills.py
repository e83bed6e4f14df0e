"""Servers that are killed while uploads come in, and what is left of what they acknowledged."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Sequence
from typing import Any

from confide.collect.stores import Store, opened
from confide.collect.stores.sqlite import SqliteStore
from confide.collect.stores.store import Outcome
from evidence.collector.client import Load
from evidence.collector.people import People, request
from evidence.collector.server import Server
from evidence.collector.visitors import Visitors

CONNECTIONS = 64
NEW = 300
"""Uploads that join those without an answer, before each kill."""
FEW = 10
"""Those of them that are sent before somebody visits, where somebody does."""


def kills(
    address: str, mutant: str, times: int, seed: int, *, visited: bool = False
) -> dict[str, Any]:
    """Kill a server so many times under load, send again what was not answered, and look.

    Where it is ``visited`` another process opens the store over and over meanwhile, to look, to
    export and to invite, and half of the time it is killed too.
    """
    generator = random.Random(seed)
    people = People()
    sent: list[bytes] = []
    waiting: list[bytes] = []
    found: dict[str, Any] = {
        "kills": 0,
        "acknowledged": 0,
        "unanswered": 0,
        "inside": 0,
        "other": 0,
    }
    for number in range(times + 1):
        # Let go of again: whoever has a store open keeps others from taking it for unused.
        store = opened(address, people.survey, create=True)
        fresh = [people.upload(token) for token in people.invite(store, NEW)]
        store.shut()
        few, fresh = (fresh[:FEW], fresh[FEW:]) if visited else ([], fresh)
        first, waiting = len(waiting), waiting + fresh
        last = number == times
        with (
            Server(address, people, {"mutant": mutant}) as server,
            Visitors(address, people) if visited else contextlib.nullcontext() as visitors,
        ):
            if visitors is not None:
                # Somebody comes and goes between the first reports and those that follow.
                early = Load([request(body) for body in few]).run([server.port], 1)
                visitors.wait(2)
                found["other"] += len(few) - early.statuses.count(201)
                sent += few
            load = Load([request(body) for body in waiting])

            def kill(process: int = server.process.pid) -> None:
                os.kill(process, signal.SIGKILL)

            # Somewhere among the new ones, with many under way.
            at = 0 if last else first + generator.randrange(1, len(fresh) - CONNECTIONS)
            load.run([server.port], CONNECTIONS, at=at, then=kill)
            if visitors is not None:
                found["visits"] = found.get("visits", 0) + visitors.leave(generator)
            if last:
                server.stop()
        found["kills"] += not last
        # Stored by a server that was killed before it could say so.
        found["inside"] += load.statuses[:first].count(200)
        found["other"] += sum(status not in (0, 200, 201) for status in load.statuses)
        acknowledged = [
            body
            for body, status in zip(waiting, load.statuses, strict=True)
            if status in (200, 201)
        ]
        sent += acknowledged
        waiting = [
            body
            for body, status in zip(waiting, load.statuses, strict=True)
            if status not in (200, 201)
        ]
        found["unanswered"] += len(waiting)
    found["acknowledged"] = len(sent)
    found["never acknowledged"] = len(waiting)
    store = opened(address, people.survey, create=False)
    found |= checked(store, people, sent)
    store.shut()
    return found


def checked(store: Store, people: People, sent: Sequence[bytes]) -> dict[str, int]:
    """What a store has of uploads that were acknowledged."""
    rows = sum(1 for _ in store.rows())
    counted = sum(n for cell in store.tallies().values() for n in cell["pay"].values())
    spent = used(store)
    again = store.put([people.entry(body) for body in sent])
    return {
        "lost": len(again) - again.count(Outcome.SAME),
        "reports": rows,
        "apart": abs(rows - spent) + abs(rows - counted),
    }


def used(store: Store) -> int:
    """How many invitations are spent."""
    if isinstance(store, SqliteStore):
        return int(store._open().execute("SELECT sum(used) FROM invitations").fetchone()[0])
    both = "SELECT (SELECT count(*) FROM spent) + (SELECT count(*) FROM fresh_spent)"
    return int(store._open().execute(both).fetchone()[0])


def wrong(found: dict[str, Any]) -> int:
    """What must be 0."""
    return int(found["lost"] + found["apart"] + found["never acknowledged"] + found["other"])
