"""Group commit: one thread stores whatever waits, and answers when the disk has it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import final

from confide.collect.stores.store import Outcome, Store, Unavailable
from confide.collect.wire import Entry

BATCH = 512
"""Uploads in one transaction, at most."""
WAITING = 4096
"""Uploads that wait for the disk, at most; more are asked to come again."""


@final
@dataclass(eq=False)
class _Wish:
    """An upload, and the coroutine that waits to hear what became of it."""

    entry: Entry
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Outcome]


@final
@dataclass(eq=False)
class Writer:
    """The only one that writes to a store in this process.

    While one batch is being flushed the next one gathers, so that a slow disk makes batches larger
    and not answers fewer.

    Parameters
    ----------
    store
        Where reports go. The writer's thread uses it alone.
    """

    store: Store
    batches: int = field(default=0, init=False)
    """Transactions so far."""
    uploads: int = field(default=0, init=False)
    """Uploads in them."""

    def __post_init__(self) -> None:
        self._inbox: queue.Queue[_Wish | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="confide writer", daemon=True)
        self._thread.start()

    async def put(self, entry: Entry) -> Outcome:
        """Store an upload; returns when it is on disk.

        Raises
        ------
        Unavailable
            If too many wait already, or the store cannot take it.
        """
        loop = asyncio.get_running_loop()
        wish = _Wish(entry, loop, loop.create_future())
        try:
            self._inbox.put_nowait(wish)
        except queue.Full:
            raise Unavailable("Too many reports wait to be stored.") from None
        return await wish.answer

    def stop(self) -> None:
        """Store what waits, and end."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            batch: list[_Wish] = []
            wish = self._inbox.get()
            while True:
                if wish is None:
                    going = False
                    break
                batch.append(wish)
                if len(batch) == BATCH:
                    break
                try:
                    wish = self._inbox.get_nowait()
                except queue.Empty:
                    break
            if batch:
                self._store(batch)

    def _store(self, batch: list[_Wish]) -> None:
        answers: list[Outcome | Exception]
        try:
            answers = list(self.store.put([wish.entry for wish in batch]))
        except Exception as error:  # the thread must live; every waiting device is told
            answers = [error] * len(batch)
        self.batches += 1
        self.uploads += len(batch)
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Wish, Outcome | Exception]]]
        by_loop = defaultdict(list)
        for wish, answer in zip(batch, answers, strict=True):
            by_loop[wish.loop].append((wish, answer))
        for loop, told in by_loop.items():
            try:
                loop.call_soon_threadsafe(_tell, told)
            except RuntimeError:
                # The server has gone, and its connections with it: devices send again.
                continue


def _tell(told: list[tuple[_Wish, Outcome | Exception]]) -> None:
    for wish, answer in told:
        if wish.answer.done():
            continue
        if isinstance(answer, Exception):
            wish.answer.set_exception(answer)
        else:
            wish.answer.set_result(answer)
