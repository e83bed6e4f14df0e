"""A real collector for the tests of the page: the respondents' service with a SQLite store."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from confide.collect import invitations, respondents, stores, wire
from confide.collect.invitations import Signer
from confide.collect.writer import Writer
from confide.questions import Questionnaire

SURVEY = """
title = "Pay and health at work"
title_de = "Gehalt und Gesundheit im Betrieb"
intro = "Ten minutes for better working conditions. Taking part is voluntary."
intro_de = "Zehn Minuten für bessere Arbeitsbedingungen. Die Teilnahme ist freiwillig."
contact = "survey@example.org"
groups = ["region"]
closes = 2099-01-31T18:00:00Z

[questions.pay]
text = "What do you earn in a year, before tax?"
text_de = "Was verdienen Sie im Jahr, vor Steuern?"
help = "Add bonuses and the like."
help_de = "Rechnen Sie Zulagen und Ähnliches dazu."
unit = "EUR"
low = 0
high = 300000
epsilon = 1.0

[questions.sick]
text = "How many days were you ill last year?"
text_de = "An wie vielen Tagen waren Sie im letzten Jahr krank?"
unit = "days"
unit_de = "Tage"
kind = "integer"
low = 0
high = 60
high_open = true
epsilon = 0.5
prefer_not_to_say = true

[questions.smokes]
text = "Do you smoke?"
text_de = "Rauchen Sie?"
categories = ["no", "sometimes", "daily"]
labels = ["No", "Sometimes", "Every day"]
labels_de = ["Nein", "Manchmal", "Jeden Tag"]
epsilon = 1.0
missing = "no"
"""


@dataclass
class Service:
    """The respondents' service with a SQLite store, on a free port of this machine."""

    folder: Path
    survey: Questionnaire
    invited: bool = True
    ended: bool = False
    second: Questionnaire | None = None
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.signer = Signer(bytes(32), self.survey) if self.invited else None
        self.path = self.folder / "answers.db"
        cap = None if self.invited else 100
        self.store = stores.opened(self.path, self.survey, create=True, cap=cap)
        self.writer = Writer(stores.opened(self.path, self.survey, create=False))
        desk = respondents.Desk(
            wire.Reader(self.survey, self.signer, lambda: self.second),
            self.writer,
            lambda: self.ended,
        )
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        config = uvicorn.Config(respondents.app(desk), log_config=None, log_level="debug")
        self.server = uvicorn.Server(config)
        run = {"sockets": [self.listener]}
        self.thread = threading.Thread(target=self.server.run, kwargs=run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def token(
        self,
        region: str = "north",
        asked: Sequence[int] | None = None,
        phase: int | None = None,
    ) -> str:
        """A new invitation."""
        assert self.signer is not None
        groups = [region] if self.survey.groups else []
        token = self.signer.mint(groups, asked=asked, phase=phase)
        invitation = self.signer.read(token)
        assert invitation is not None
        self.store.invite([invitation.hash], {invitation.cell: 1})
        return token

    def link(
        self,
        region: str = "north",
        asked: Sequence[int] | None = None,
        phase: int | None = None,
    ) -> str:
        """What a respondent opens."""
        if not self.invited:
            return self.url
        return invitations.link(self.url, self.token(region, asked, phase))

    def reports(self) -> list[Mapping[str, Any]]:
        """Everything that is stored."""
        return [reports for _, reports in self.store.rows()]

    def stop(self) -> None:
        """End the server, then let go of the file."""
        self.server.should_exit = True
        self.thread.join()
        self.listener.close()
        self.writer.stop()
        self.store.shut()


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
