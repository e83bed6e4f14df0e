"""Live estimates: what is counted, when they are made, and what happens when they fail."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from confide.collect import live as module
from confide.collect.live import Latest, Live, summarized
from confide.collect.stores.store import Unavailable
from confide.results import Results, estimate
from confide.summaries import Counts


class Clock:
    """Time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Slow(ThreadPoolExecutor):
    """Makes estimates in this process, one whenever it is let."""

    def __init__(self) -> None:
        super().__init__(1)
        self.may = threading.Semaphore(0)
        self.jobs: list[tuple[Any, ...]] = []
        self.fault: Exception | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.jobs.append(args)

        def wait() -> Any:
            assert self.may.acquire(timeout=30)
            if self.fault:
                raise self.fault
            return fn(*args, **kwargs)

        return super().submit(wait)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def stage(
    collected: Any, play: Callable[[Live, Slow], Awaitable[None]], *, slow: bool = True
) -> None:
    """Run a play with live estimates, and clean up."""

    async def run() -> None:
        live, executor = Live(collected.survey, collected.opened()), Slow()
        if slow:
            live._pool = executor
        try:
            await play(live, executor)
        finally:
            for _ in range(99):
                executor.may.release()
            await live.stop()
            executor.shutdown()

    asyncio.run(run())


async def until(live: Live, ready: Callable[[Latest], bool]) -> Latest:
    for _ in range(3000):
        latest = await live.latest()
        if ready(latest):
            return latest
        await asyncio.sleep(0.01)
    raise AssertionError("It never came.")


async def settled() -> None:
    """Let tasks that can go on do so."""
    for _ in range(20):
        await asyncio.sleep(0.005)


def test_tallies_become_counts_by_group(collected: Any) -> None:
    collected.add(50)
    collected.add(30, region="south", seed=2)
    found = summarized(collected.survey, collected.store.tallies(), ['["west"]'])
    assert {key: one.n for key, one in found.groups("pay").items()} == {
        "north": 50,
        "south": 30,
        "west": 0,
    }
    wanted = Counts.of(
        collected.survey.mechanisms["pay"].simulate(
            np.random.default_rng(1).uniform(20, 60, 50), seed=1
        )
    )
    assert np.array_equal(found.groups("pay")["north"].counts, wanted.counts)
    assert not found["pay"].simulated


def test_nobody_and_anybody_are_counted_without_groups(collected: Any, anybody: Any) -> None:
    nobody = summarized(collected.survey, collected.store.tallies())
    assert (nobody.by, nobody.n) == ((), 0)
    anybody.add(7)
    found = summarized(anybody.survey, anybody.store.tallies())
    assert (found.by, found["smokes"].n) == ((), 7)


def test_an_estimate_is_made_in_a_process_of_its_own(collected: Any) -> None:
    collected.add(100)

    async def play(live: Live, _: Slow) -> None:
        latest = await until(live, lambda one: one.whole and one.number > 0)
        assert latest.reports == 100
        found = Results.from_dict(json.loads(latest.results))
        summaries = summarized(collected.survey, collected.store.tallies())
        wanted = estimate(
            collected.survey, summaries, quick=True, group_intervals=("mean", "median")
        )
        assert found.to_dict() == wanted.to_dict()
        assert live._worker is not None
        assert live._worker.result() != os.getpid()

    stage(collected, play, slow=False)


def test_one_at_a_time_and_always_the_last_finished_one(collected: Any) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        first = await live.latest()
        assert (first.number, first.results, first.estimating) == (0, "", True)
        await settled()
        collected.add(10, seed=3)
        for _ in range(5):
            # Reports come in, and nothing else is begun.
            assert (await live.latest()).number == 0
        assert len(slow.jobs) == 1
        slow.may.release()
        done = await until(live, lambda one: one.number == 1)
        # Those of the store when it was begun.
        assert done.reports == 100

    stage(collected, play)


def test_everybody_comes_first_and_groups_stay_until_theirs_are_there(
    collected: Any, clock: Clock
) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        await live.latest()
        slow.may.release(2)
        whole = await until(live, lambda one: one.number == 2)
        assert whole.whole
        before = json.loads(whole.results)["questions"][0]["groups"]
        collected.add(50, seed=3)
        clock.now += 60
        await live.latest()
        slow.may.release()
        part = await until(live, lambda one: one.number == 3)
        assert (part.whole, part.reports, part.estimating) == (False, 150, True)
        question = json.loads(part.results)["questions"][0]
        assert (question["n"], question["groups"]) == (150, before)
        slow.may.release()
        whole = await until(live, lambda one: one.number == 4)
        await settled()
        (north,) = json.loads(whole.results)["questions"][0]["groups"][0]["of"]
        assert (whole.whole, north["n"]) == (True, 150)

    stage(collected, play)


def test_a_refresh_without_news_looks_at_nothing(collected: Any, clock: Clock) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        slow.may.release(9)
        await until(live, lambda one: one.number == 2 and not one.estimating)
        counted = []
        live._store.tallies = lambda: counted.append(1)  # type: ignore[method-assign,return-value,assignment,func-returns-value]
        looked = []
        status = live._store.status
        live._store.status = lambda: looked.append(1) or status()  # type: ignore[method-assign,func-returns-value]
        for _ in range(50):
            assert (await live.latest()).number == 2
        assert looked == []
        clock.now += 1
        await live.latest()
        assert looked == [1]
        assert counted == []

    stage(collected, play)


def test_the_next_one_waits_as_long_as_the_last_one_took(collected: Any, clock: Clock) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        await live.latest()
        await settled()
        clock.now += 4
        slow.may.release()
        await until(live, lambda one: one.number == 1)
        await settled()
        collected.add(10, seed=3)
        clock.now += 3.9
        assert not (await live.latest()).estimating
        clock.now += 0.2
        assert (await live.latest()).estimating

    stage(collected, play)


def test_groups_wait_longer_than_everybody(collected: Any, clock: Clock) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        async def made(number: int, seconds: float) -> Latest:
            await until(live, lambda one: one.estimating)
            await settled()
            clock.now += seconds
            slow.may.release()
            found = await until(live, lambda one: one.number == number)
            await settled()
            return found

        assert not (await made(1, 1)).whole
        clock.now += 1
        assert (await made(2, 10)).whole
        # From now on groups are not due for 30 seconds, and everybody is every two.
        for number in range(3, 12):
            collected.add(10, seed=number)
            clock.now += 1.1
            assert not (await made(number, 1)).whole
        clock.now += 29
        assert (await made(12, 10)).whole

    stage(collected, play)


def test_full_intervals_come_when_it_is_quiet_and_when_it_ends(
    collected: Any, clock: Clock
) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        slow.may.release(99)
        quick = await until(live, lambda one: one.number == 2 and not one.estimating)
        assert (quick.quick, quick.final) == (True, False)
        assert json.loads(quick.results)["quick"] is True
        clock.now += module.QUIET - 0.1
        assert not (await live.latest()).estimating
        clock.now += 0.2
        full = await until(live, lambda one: one.number == 3)
        assert (full.quick, full.final) == (False, False)
        assert json.loads(full.results)["quick"] is False
        await settled()
        jobs = len(slow.jobs)
        await live.close()
        assert live.closed
        last = await live.latest()
        # The estimate is the same, and now it is the last word.
        assert (last.final, last.number, last.results) == (True, 4, full.results)
        assert len(slow.jobs) == jobs

    stage(collected, play)


def test_a_survey_that_ends_gets_its_last_word_at_once(collected: Any) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        slow.may.release(99)
        await live.close()
        last = await until(live, lambda one: one.final)
        assert (last.quick, last.reports) == (False, 100)
        await settled()
        assert not (await live.latest()).estimating

    stage(collected, play)


def test_a_failure_is_told_and_tried_again(collected: Any, clock: Clock) -> None:
    collected.add(100)

    async def play(live: Live, slow: Slow) -> None:
        slow.fault = MemoryError()
        await live.latest()
        slow.may.release()
        failed = await until(live, lambda one: bool(one.fault))
        assert failed.fault == (
            "The last estimate could not be made (MemoryError); another try follows."
        )
        assert (failed.number, failed.estimating) == (0, False)
        again = Slow()
        again.may.release(9)
        live._pool = again
        clock.now += module.PAUSE + 1
        done = await until(live, lambda one: one.number == 2)
        assert done.fault == ""
        again.shutdown()

    stage(collected, play)


def test_a_process_that_was_killed_is_started_again(collected: Any) -> None:
    collected.add(100)

    async def play(live: Live, _: Slow) -> None:
        await until(live, lambda one: one.whole and one.number > 0 and not one.estimating)
        assert live._worker is not None
        first = live._worker.result()
        os.kill(first, 9)
        collected.add(10, seed=3)
        live._due = -np.inf
        await until(live, lambda one: bool(one.fault))
        live._due = -np.inf
        await until(live, lambda one: one.reports == 110 and not one.fault)
        assert live._worker.result() != first

    stage(collected, play, slow=False)


def test_a_store_that_is_not_there_says_so(collected: Any) -> None:
    async def play(live: Live, _: Slow) -> None:
        collected.path.rename(collected.path.with_name("gone.db"))
        live._store.shut()
        with pytest.raises(Unavailable):
            await live.latest()

    stage(collected, play)


KILLED = """
    import asyncio, os, sys
    from confide.collect import stores
    from confide.collect.live import Live
    from confide.questions import Questionnaire

    async def main():
        survey = Questionnaire.read(sys.argv[2])
        live = Live(survey, stores.opened(sys.argv[1], survey, create=False))
        while not (await live.latest()).number:
            await asyncio.sleep(0.01)
        print(live._worker.result(), flush=True)
        os._exit(0)

    if __name__ == "__main__":
        asyncio.run(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="asks the system for a process by its number")
def test_the_process_ends_with_a_service_that_was_killed(collected: Any, tmp_path: Any) -> None:
    collected.add(50)
    (tmp_path / "survey.json").write_text(json.dumps(collected.survey.to_dict()))
    script = tmp_path / "service.py"
    script.write_text(textwrap.dedent(KILLED))
    command = [sys.executable, script, collected.path, tmp_path / "survey.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    worker = int(done.stdout)
    for _ in range(1000):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("The process is still there.")
