"""A survey of a made-up company, whose staff answer over HTTP while the dashboard moves."""

from __future__ import annotations

import http.client
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

import numpy as np

from confide import datasets
from confide.collect import wire
from confide.collect.collector import Collector
from confide.collect.invitations import Signer, link
from confide.collect.people import assigned, invited
from confide.collect.stores import opened
from confide.questions import Questionnaire

SURVEY = {
    "title": "How are we doing?",
    "title_de": "Wie geht es uns?",
    "intro": "A survey of a company that does not exist. Its staff answer from this very machine: "
    "each adds noise to the answers, and only the noisy reports are sent.",
    "intro_de": "Eine Befragung in einer Firma, die es nicht gibt. Die Belegschaft antwortet von "
    "diesem Rechner aus: Jede und jeder verrauscht die Antworten, und nur das Ergebnis wird "
    "gesendet.",
    "contact": "survey@example.org",
    "groups": ["region"],
    "questions": {
        "pay": {
            "text": "What do you earn in a year, before tax?",
            "text_de": "Was verdienen Sie im Jahr, vor Steuern?",
            "unit": "EUR",
            "low": 0,
            "high": 300_000,
            "high_open": True,
            "epsilon": 1.0,
        },
        "commute": {
            "text": "How long is your way to work?",
            "text_de": "Wie lange brauchen Sie zur Arbeit?",
            "unit": "minutes",
            "unit_de": "Minuten",
            "kind": "integer",
            "low": 0,
            "high": 120,
            "epsilon": 1.0,
        },
        "leaving": {
            "text": "Do you think of leaving?",
            "text_de": "Denken Sie daran zu gehen?",
            "categories": ["never", "sometimes", "often"],
            "labels": ["Never", "Sometimes", "Often"],
            "labels_de": ["Nie", "Manchmal", "Oft"],
            "ordered": True,
            "prefer_not_to_say": True,
            "epsilon": 1.0,
        },
    },
}
"""The survey, as plain values."""
REGIONS = {"North": 0.45, "South": 0.35, "West": 0.2}
RAISE = {"North": 1.0, "South": 0.85, "West": 1.25}
"""What people earn in each region, as a multiple of the built-in population."""
OFTEN = {"North": (0.6, 0.3, 0.1), "South": (0.4, 0.35, 0.25), "West": (0.7, 0.25, 0.05)}
"""How often people of each region think of leaving."""
DECLINE = 0.08
"""Share of the people who do not say whether they think of leaving."""
PEOPLE = 4000
RATE = 60.0
"""People who answer in one second."""


@final
@dataclass(frozen=True)
class Person:
    """Somebody who does not exist: public groups, and private answers."""

    groups: tuple[str, ...]
    answers: dict[str, Any]


def people(n: int = PEOPLE) -> list[Person]:
    """So many made-up people, the same ones each time."""
    rng = np.random.default_rng(20_270_131)
    regions = rng.choice(list(REGIONS), size=n, p=list(REGIONS.values()))
    pay = np.asarray(datasets.pay(n))
    commute = 5 * np.rint(24 * rng.beta(2, 5, n))
    silent = rng.random(n) < DECLINE
    words = SURVEY["questions"]["leaving"]["categories"]  # type: ignore[index]
    return [
        Person(
            (str(region),),
            {
                "pay": float(pay[at] * RAISE[str(region)]),
                "commute": float(commute[at]),
                "leaving": None if silent[at] else str(rng.choice(words, p=OFTEN[str(region)])),
            },
        )
        for at, region in enumerate(regions)
    ]


Begin = Callable[[str], None]
"""Lets people begin to answer at an address."""


@final
@dataclass(frozen=True)
class Show:
    """A collector with everybody invited, and the devices of people who do not exist.

    Parameters
    ----------
    collector
        What is served.
    invited
        Each person with the token of an invitation.
    spare
        One more token, for the person who watches.
    """

    collector: Collector
    invited: Sequence[tuple[Person, str]]
    spare: str

    @classmethod
    def prepared(cls, folder: Path, *, n: int = PEOPLE, port: int, owner_port: int) -> Show:
        """A collector in a folder of its own."""
        survey = Questionnaire.from_dict(SURVEY)
        key = secrets.token_bytes(32)
        signer = Signer(key, survey)
        crowd = people(n)
        groups = [*(person.groups for person in crowd), crowd[0].groups]
        asked = assigned(groups, survey)
        tokens = [signer.mint(own, asked=places) for own, places in zip(groups, asked, strict=True)]
        store = opened(folder / "demo.reports", survey, create=True)
        found = [one for token in tokens if (one := signer.read(token)) is not None]
        store.invite([one.hash for one in found], invited(found, survey))
        store.shut()
        *tokens, spare = tokens
        collector = Collector(
            survey, str(folder / "demo.reports"), key, port=port, owner_port=owner_port
        )
        return cls(collector, list(zip(crowd, tokens, strict=True)), spare)

    def link(self, url: str) -> str:
        """The link of the spare invitation."""
        return link(url, self.spare)

    def answer(self, url: str, stop: threading.Event, *, rate: float = RATE) -> int:
        """Answer one after the other until all have or ``stop`` is set; returns how many did."""
        survey, address = self.collector.survey, urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
        done, begun = 0, time.monotonic()
        for at, (person, token) in enumerate(self.invited):
            if stop.wait(max(0.0, begun + at / rate - time.monotonic())):
                break
            reports = {
                name: int(mechanism.privatize(person.answers[name]).indices[0])
                for name, mechanism in survey.mechanisms.items()
            }
            upload = wire.body(survey, token, secrets.token_bytes(wire.RECEIPT), reports)
            try:
                connection.request("POST", "/reports", upload, {"content-type": "application/json"})
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException):
                # The collector was stopped: this is only a demo.
                break
            if response.status == 410:
                break
            done += response.status == 201
        connection.close()
        return done
