"""Other programs that come and go while a server is killed, in a process of their own.

What `confide export --before-closing`, `confide invite` and a look at the status do to a store that
a server has open. SQLite's log is deleted by whoever takes the store for unused, so that a visitor
can lose what a server has acknowledged.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from confide.collect.exports import export
from confide.collect.stores import opened
from confide.questions import Questionnaire
from evidence.collector.people import People
from evidence.collector.server import ROOT

CHANCE = 0.5
"""How often visitors are killed with the server, rather than told to go."""


class Visitors:
    """A process that opens a store, does something, lets go of it, and begins again.

    Parameters
    ----------
    address
        Of the store.
    people
        Those who are invited to it.
    """

    def __init__(self, address: str, people: People) -> None:
        self.given = {
            "address": address,
            "survey": people.survey.to_dict(),
            "key": people.key.hex(),
        }

    def __enter__(self) -> Visitors:
        self.told = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evidence.collector.visitors", json.dumps(self.given)],
            stdout=self.told,
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        return self

    def wait(self, visits: int) -> None:
        """Wait until somebody has come and gone so many times."""
        until = self._lines() + visits
        while self._lines() < until:
            if self.process.poll() is not None:
                raise RuntimeError("the visitors have ended by themselves")
            time.sleep(0.01)

    def leave(self, generator: random.Random) -> int:
        """Kill the process or let it go; returns how many visits it has made."""
        kind = signal.SIGKILL if generator.random() < CHANCE else signal.SIGTERM
        self.process.send_signal(kind)
        self.process.wait()
        return self._lines()

    def _lines(self) -> int:
        size = os.fstat(self.told.fileno()).st_size
        return os.pread(self.told.fileno(), size, 0).count(b"\n")

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.told.close()


def main(given: dict[str, Any]) -> None:
    survey = Questionnaire.from_dict(given["survey"])
    people = People(survey, bytes.fromhex(given["key"]))
    going: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: going.append(1))
    kinds = ("status", "export", "invite")
    visits = 0
    while not going:
        store = opened(given["address"], survey, create=False)
        kind = kinds[visits % len(kinds)]
        if kind == "status":
            store.status()
        elif kind == "export":
            export(store, survey)
        else:
            people.invite(store, 1)
        store.shut()
        visits += 1
        print(kind, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
