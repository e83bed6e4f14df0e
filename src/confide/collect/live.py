"""Live estimates while reports arrive, made outside of the service's process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar, final

from confide.collect.aside import aside
from confide.collect.exports import export, parquet
from confide.collect.moving import second_in
from confide.collect.stores.store import Status, Store
from confide.collect.summing import summarized
from confide.questions import Questionnaire
from confide.results import estimate
from confide.summaries import Summaries

FRESH = 0.5
"""Seconds for which a look at the store is taken for the present."""
QUIET = 10.0
"""Seconds without a new report after which an estimate is made again with the full intervals."""
SHORT = 3.0
"""Seconds that a quick estimate may take for that to happen before the survey has ended."""
RARELY = 3
"""Groups are estimated again after so many times as long as they took."""
PAUSE = 10.0
"""Seconds after which an estimate is tried again that has failed."""
Told = TypeVar("Told")


@final
@dataclass(frozen=True)
class Latest:
    """The last finished estimate.

    Parameters
    ----------
    number
        Counts the estimates, from 1 on; 0 before the first one.
    results
        Results as JSON text; empty before the first one.
    reports
        How many reports there were when it was begun.
    final
        Whether it is the last word: the survey has ended, and intervals are the full ones.
    quick
        Whether intervals are the quick ones.
    whole
        Whether groups are as new as the rest; they are estimated after it.
    estimating
        Whether another one is being made.
    fault
        Why the last attempt failed; empty where it did not.
    """

    number: int = 0
    results: str = ""
    reports: int = 0
    final: bool = False
    quick: bool = True
    whole: bool = True
    estimating: bool = False
    fault: str = ""


@final
class Live:
    """The state and the estimates of a survey that is being answered.

    The store is used by one thread. Estimates are made by one process of their own, one at a time:
    everybody, then a pause that is as long as that took, and from time to time all groups as well,
    of which there may be many. Reports are counted and estimated only while the dashboard is open.

    Parameters
    ----------
    survey
        The survey.
    store
        Where its reports are. Nobody else may use this object, though others may have the same
        store open.
    level
        Confidence level of intervals.
    """

    def __init__(self, survey: Questionnaire, store: Store, *, level: float = 0.95) -> None:
        self.survey = survey
        self.second: Questionnaire | None = None
        """The survey of the second phase, once the store has begun it."""
        self._store = store
        self._level = level
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="confide store")
        self._pool: Executor | None = None
        self._worker: Future[int] | None = None
        self._status: Status | None = None
        self._seen = -math.inf
        self._looking = asyncio.Lock()
        self._latest = Latest()
        self._task: asyncio.Task[None] | None = None
        self._due = self._groups_due = -math.inf
        self._took = self._pause = 0.0
        self._finished = -math.inf

    @property
    def closed(self) -> bool:
        """Whether the survey had ended when the store was last looked at."""
        return self._status is not None and self._status.closed

    async def status(self) -> Status:
        """Numbers of people who were invited and who have answered."""
        async with self._looking:
            if self._status is None or time.monotonic() > self._seen + FRESH:
                self._status = await self._with_store(self._look)
                self._seen = time.monotonic()
            return self._status

    def _look(self) -> Status:
        if self.survey.phases is not None and self.second is None:
            self.second = second_in(self._store.document(), self.survey)
        return self._store.status()

    async def latest(self) -> Latest:
        """The last finished estimate; where it is out of date, the next one is begun."""
        status = await self.status()
        self._consider(status)
        return replace(self._latest, estimating=self._task is not None)

    async def close(self) -> None:
        """End the survey."""
        async with self._looking:
            await self._with_store(self._store.close)
            self._status = None
        self._consider(await self.status())

    async def export(self, survey: Questionnaire) -> bytes:
        """All reports of a survey, in the phase that it is in, as a Parquet file."""
        return await self._with_store(lambda: parquet(export(self._store, survey)))

    async def stop(self) -> None:
        """Let go of the store, the thread and the process."""
        task, worker = self._task, self._worker
        self._drop()
        if worker is not None and worker.done() and not worker.exception():
            # An estimate that nobody waits for need not be finished.
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.result(), signal.SIGTERM)
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)
        await self._with_store(self._store.shut)
        self._thread.shutdown()

    async def _with_store(self, call: Callable[[], Told]) -> Told:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _consider(self, status: Status) -> None:
        """Begin an estimate if one is due and none is being made."""
        now, last = time.monotonic(), self._latest
        if self._task is not None or now < self._due:
            return
        reports = sum(status.answered.values())
        known = last.number > 0 and reports == last.reports
        if known and last.whole and not last.quick:
            if last.final != status.closed:
                self._latest = replace(last, number=last.number + 1, final=status.closed)
        elif status.closed:
            self._begin(status, quick=False, groups=True)
        elif known and last.whole:
            # Reports have stopped coming: there is time for the full intervals.
            if now > self._finished + QUIET and self._took < SHORT:
                self._begin(status, quick=False, groups=True)
        elif last.number and not last.whole and now >= self._groups_due:
            self._begin(status, quick=True, groups=True)
        elif not known:
            self._begin(status, quick=True, groups=False)

    def _begin(self, status: Status, *, quick: bool, groups: bool) -> None:
        self._task = asyncio.create_task(self._estimated(status, quick=quick, groups=groups))

    async def _estimated(self, status: Status, *, quick: bool, groups: bool) -> None:
        """Make an estimate and publish it; without groups, those of the one before stay."""
        began = time.monotonic()
        try:
            cells, second = {*status.invited, *status.answered}, self.second
            summaries = await self._with_store(
                lambda: summarized(self.survey, self._store.tallies(), cells, second=second)
            )
            whole = groups or not summaries.by
            if not whole:
                summaries = Summaries({name: summaries[name] for name in summaries})
            before = "" if whole else self._latest.results
            job = (second or self.survey, summaries, self._level, quick, before)
            loop = asyncio.get_running_loop()
            text = await loop.run_in_executor(self._process(), _estimate, *job)
        except Exception as error:  # whatever happened, the service goes on and says so
            self._drop()
            self._latest = replace(self._latest, fault=_fault(error))
            self._due = time.monotonic() + PAUSE
        else:
            self._latest = Latest(
                number=self._latest.number + 1,
                results=text,
                reports=sum(status.answered.values()),
                final=status.closed and not quick,
                quick=quick,
                whole=whole,
            )
            self._finished = time.monotonic()
            took = self._finished - began
            if whole:
                self._took = took
                self._groups_due = self._finished + RARELY * took
            if not groups:
                self._pause = took
            self._due = self._finished + self._pause
        finally:
            self._task = None

    def _process(self) -> Executor:
        if self._pool is None:
            self._pool = aside()
            self._worker = self._pool.submit(os.getpid)
        return self._pool

    def _drop(self) -> None:
        """Forget a process that may have died; the next estimate starts another."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _estimate(
    survey: Questionnaire, summaries: Summaries, level: float, quick: bool, before: str
) -> str:
    """Results as JSON text; runs in a process of its own."""
    few = ("mean", "median") if quick else None
    fields = estimate(survey, summaries, level=level, quick=quick, group_intervals=few).to_dict()
    if before:
        groups = {one["question"]: one["groups"] for one in json.loads(before)["questions"]}
        for one in fields["questions"]:
            one["groups"] = groups[one["question"]]
    return json.dumps(fields, separators=(",", ":"))


def _fault(error: Exception) -> str:
    return f"The last estimate could not be made ({type(error).__name__}); another try follows."
