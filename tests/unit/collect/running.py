"""A collector that runs in a thread, as `confide serve` runs it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confide.collect.collector import Addresses, Collector
from confide.collect.invitations import Signer, split_link
from confide.collect.people import People, invite
from confide.collect.stores import opened
from confide.questions import Questionnaire

KEY = bytes(range(32))


def free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


@contextlib.contextmanager
def running(survey: Questionnaire, path: Path, **more: Any) -> Iterator[Addresses]:
    """A collector on free ports; ``more`` are fields of `Collector`."""
    key = None if "cap" in more else KEY
    more = {"port": 0, "owner_port": None} | more
    collector = Collector(survey, str(path), key, **more)
    stop, ready, found = threading.Event(), threading.Event(), []

    def told(addresses: Addresses) -> None:
        found.append(addresses)
        ready.set()

    thread = threading.Thread(target=collector.run, kwargs={"ready": told, "stop": stop})
    thread.start()
    try:
        assert ready.wait(20)
        yield found[0]
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def invited(survey: Questionnaire, path: Path, folder: Path, n: int) -> list[str]:
    """Tokens of new invitations."""
    store, to = opened(path, survey, create=True), folder / "links.csv"
    signer = Signer(KEY, survey)
    invite(People.nameless(n), survey, signer, store, url="http://127.0.0.1:1", to=to)
    store.shut()
    lines = to.read_text().split()[1:]
    to.unlink()
    return [split_link(line)[1] for line in lines]
