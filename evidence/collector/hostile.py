"""Bad input at a rate, from many sides at once, while people answer."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from confide.collect import wire
from confide.collect.stores import opened
from evidence.collector.client import Load
from evidence.collector.kills import checked
from evidence.collector.people import HEAD, People, request
from evidence.collector.server import Server

RATE = 1000
"""Bad requests in a second."""
STEP = 0.1
"""Seconds between two volleys of them."""
SLOW = 40
"""Clients that send a byte now and then and never finish."""
PEOPLE = 20
"""People who answer in a second."""


def kinds(people: People) -> dict[str, tuple[int, Callable[[], bytes]]]:
    """What is sent, and the status that must answer it."""
    stranger = People(people.survey)
    good = people.signer.mint(["north"])

    def changed(**fields: Any) -> bytes:
        return json.dumps({**json.loads(people.upload(good)), **fields}).encode()

    def beyond() -> bytes:
        reports = json.loads(people.upload(good))["reports"]
        return changed(reports={**reports, "pay": 10**6})

    return {
        "malformed JSON": (422, lambda: people.upload(good)[:-5]),
        "deep JSON": (422, lambda: b"[" * 8000),
        "wrong fingerprint": (422, lambda: changed(survey="0" * 32)),
        "report out of range": (422, beyond),
        "huge body": (413, lambda: b" " * (4 * wire.LARGEST)),
        "unknown invitation": (404, lambda: stranger.upload(stranger.signer.mint(["north"]))),
        "invitation that was never stored": (404, lambda: people.upload(good)),
    }


def hostile(address: str, seconds: float) -> dict[str, Any]:
    """Bad requests of every kind and slow clients for so many seconds, while people answer."""
    people = People()
    store = opened(address, people.survey, create=True)
    n = max(PEOPLE, int(PEOPLE * seconds))
    bodies = [people.upload(token) for token in people.invite(store, n)]
    store.shut()
    bad = kinds(people)
    each = int(RATE * STEP / len(bad)) + 1
    volley = [(kind, request(make())) for kind, (_, make) in bad.items() for _ in range(each)]
    found: Counter[tuple[str, int]] = Counter()
    over = threading.Event()
    with Server(address, people) as server:

        def flood() -> None:
            begun, volleys = time.monotonic(), 0
            while not over.is_set():
                load = Load([data for _, data in volley]).run([server.port], 20)
                found.update(zip((kind for kind, _ in volley), load.statuses, strict=True))
                volleys += 1
                over.wait(max(0.0, begun + volleys * STEP - time.monotonic()))

        flooding = threading.Thread(target=flood)
        begun = time.monotonic()
        flooding.start()
        answers: Counter[int] = Counter()
        with _slow(server.port):
            for at in range(0, n, PEOPLE):
                own = [request(body) for body in bodies[at : at + PEOPLE]]
                answers.update(Load(own).run([server.port], 5).statuses)
                time.sleep(max(0.0, begun + (at + PEOPLE) / PEOPLE - time.monotonic()))
            over.set()
            flooding.join()
        took = time.monotonic() - begun
        told = server.stop()
    store = opened(address, people.survey, create=False)
    kept = checked(store, people, bodies)
    store.shut()
    never = sum(n for (kind, _), n in found.items() if kind.startswith("invitation"))
    return {
        "seconds": round(took, 1),
        "bad": sum(found.values()),
        "a second": round(sum(found.values()) / took),
        "slow clients": SLOW,
        "statuses": {
            kind: {str(status): n for (name, status), n in sorted(found.items()) if name == kind}
            for kind in bad
        },
        "other": sum(n for (kind, status), n in found.items() if status != bad[kind][0]),
        "answered": answers[201],
        "refused": sum(answers.values()) - answers[201],
        # Invitations that are signed and not stored are for the store to refuse, and nothing else.
        "beyond the door": told["uploads"] - n - never,
        **kept,
    }


@contextlib.contextmanager
def _slow(port: int) -> Iterator[None]:
    """Clients that begin an upload, send a byte now and then, and do not mind being cut off."""
    over = threading.Event()

    def trickle() -> None:
        lines = []
        for _ in range(SLOW):
            line = socket.create_connection(("127.0.0.1", port))
            line.sendall(HEAD.format(500).encode())
            lines.append(line)
        while not over.wait(STEP):
            for line in lines:
                with contextlib.suppress(OSError):
                    line.sendall(b" ")
        for line in lines:
            line.close()

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def wrong(found: dict[str, Any]) -> int:
    """What must be 0: other codes, people who were refused, and anything lost or let in."""
    return int(
        found["other"]
        + found["refused"]
        + abs(found["beyond the door"])
        + found["lost"]
        + found["apart"]
    )
