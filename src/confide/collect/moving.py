"""Starts the second phase of a survey, once and for all processes together."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import Future, ProcessPoolExecutor
from typing import final

from confide.collect.aside import aside, end
from confide.collect.invitations import phase_of
from confide.collect.stores.identity import document_of
from confide.collect.stores.store import Status, Store
from confide.collect.summing import summarized
from confide.errors import Mismatch
from confide.estimators.next_phase import next_phase
from confide.questions import Questionnaire
from confide.summaries import Summaries

PAUSE = 10.0
"""Seconds after which the cells of the second phase are worked out again, if that has failed."""


def second_in(document: str, first: Questionnaire) -> Questionnaire | None:
    """The survey of the second phase, if the document of a store is that; else None.

    Parameters
    ----------
    document
        As the store has it. Nothing but the zooms of questions may differ from the first phase:
        people were invited to that, and what they are asked must not be decided in a database.
    first
        The survey of the first phase.
    """
    survey = Questionnaire.from_dict(json.loads(document))
    if survey.phases is None or survey.phases.now == 1:
        return None
    if survey.pilot.worded != first.worded:
        raise Mismatch(
            "a second phase in the store that differs from the first in the cells of its "
            "questions only",
            "another survey",
            "Something else wrote to the store.",
        )
    return survey


def first_answered(status: Status) -> int:
    """Number of people of the first phase who have answered."""
    return sum(n for cell, n in status.answered.items() if phase_of(cell) == 1)


@final
class Moving:
    """Begins the second phase of a survey when the first one is over.

    The cells of the second phase follow from the stored reports of the first alone. A process of
    its own works them out, and one transaction puts them into the store. Of several servers that
    do so at the same time the first one counts, and all take what the store has.

    Parameters
    ----------
    store
        Where the reports are. Used by the thread that calls `look`.
    survey
        The survey, of the first phase where it has phases.
    """

    def __init__(self, store: Store, survey: Questionnaire) -> None:
        self._store, self._survey = store, survey
        self._second = None if survey.phases is None else second_in(store.document(), survey)
        self._pool: tuple[ProcessPoolExecutor, Future[int]] | None = None
        self._work: Future[str] | None = None
        self._due, self._before = 0.0, ""

    def second(self) -> Questionnaire | None:
        """The survey of the second phase, once it has begun."""
        return self._second

    def look(self, status: Status) -> None:
        """Move on if it is time, or if another process has; called again and again."""
        phases = self._survey.phases
        if phases is None or self._second is not None:
            return
        if self._work is not None and self._work.done():
            done, self._work = self._work, None
            self._due = time.monotonic() + PAUSE
            # Compare with the state at the start: another process may have moved on.
            self._store.advance(self._before, done.result())
        document = self._store.document()
        self._second = second_in(document, self._survey)
        if self._second is not None:
            self.end()
        elif (
            self._work is None
            and self._due <= time.monotonic()
            and phases.over(first_answered(status))
        ):
            self._before = document
            self._begin(status)

    def end(self) -> None:
        """Work out nothing any more."""
        if self._pool is not None:
            end(*self._pool)
            self._pool = None

    def _begin(self, status: Status) -> None:
        cells = {*status.invited, *status.answered}
        first = summarized(self._survey, self._store.tallies(), cells)
        # A process that has died is not used again.
        self.end()
        pool = aside()
        self._pool = pool, pool.submit(os.getpid)
        self._work = pool.submit(_next, self._survey, first)


def _next(survey: Questionnaire, first: Summaries) -> str:
    """The document of the second phase; runs in a process of its own."""
    return document_of(Questionnaire.from_dict(next_phase(survey, first)))
