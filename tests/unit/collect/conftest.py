"""A survey with stored reports, and a way to ask a service without a network."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.collect import stores
from confide.collect.invitations import cell
from confide.collect.stores.store import Store
from confide.collect.wire import Entry
from confide.questions import Questionnaire

SURVEY = {
    "title": "Pay & health",
    "groups": ["region"],
    "closes": "2099-01-31T18:00:00Z",
    "questions": {
        "pay": {
            "text": "What do you earn?",
            "unit": "EUR",
            "low": 0,
            "high": 100,
            "size": 32,
            "epsilon": 2.0,
        },
        "smokes": {"categories": ["no", "yes"], "labels": ["No", "Yes"], "epsilon": 2.0},
    },
}


@dataclass
class Collected:
    """A store in a file, and reports that go there."""

    path: Path
    survey: Questionnaire
    cap: int | None = None
    sent: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = self.opened()

    def opened(self) -> Store:
        """Another object for the same store."""
        return stores.opened(self.path, self.survey, create=True, cap=self.cap)

    def add(self, n: int, *, region: str = "north", seed: int = 1, more: int = 0) -> None:
        """Store the reports of some people, and invite some more who do not answer."""
        draw = np.random.default_rng(seed)
        pay = self.survey.mechanisms["pay"].simulate(draw.uniform(20, 60, n), seed=seed).indices
        words = np.where(draw.random(n) < 0.3, "yes", "no").tolist()
        smokes = self.survey.mechanisms["smokes"].simulate(words, seed=seed).indices
        own = cell([region]) if self.cap is None else ""
        entries = [
            Entry(
                invitation=secrets.token_bytes(32) if self.cap is None else None,
                receipt=secrets.token_bytes(32),
                tie=secrets.token_bytes(32),
                cell=own,
                reports=json.dumps({"pay": int(one), "smokes": int(two)}, separators=(",", ":")),
            )
            for one, two in zip(pay, smokes, strict=True)
        ]
        if self.cap is None:
            invited = [entry.invitation or b"" for entry in entries]
            invited += [secrets.token_bytes(32) for _ in range(more)]
            self.store.invite(invited, Counter({own: n + more}))
        self.store.put(entries)
        self.sent += entries


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    """A survey by invitation, without reports."""
    return Collected(tmp_path / "reports.db", Questionnaire.from_dict(SURVEY))


@pytest.fixture
def anybody(tmp_path: Path) -> Collected:
    """A survey that takes anybody."""
    return Collected(tmp_path / "open.db", Questionnaire.from_dict(SURVEY), cap=1000)


@dataclass(frozen=True)
class Reply:
    """What a service answers."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Asking = Callable[..., Any]


@pytest.fixture
def asking() -> Asking:
    """Asks an ASGI service: ``await asking(app, "GET", "/", headers={...}, body=b"")``."""

    async def ask(
        app: Any,
        method: str,
        path: str,
        *,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Reply:
        path, _, query = path.partition("?")
        given = [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": given,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8301),
        }
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        await app(scope, receive, send)
        start = messages[0]
        told = {key.decode(): value.decode() for key, value in start["headers"]}
        return Reply(start["status"], told, b"".join(one.get("body", b"") for one in messages[1:]))

    return ask
