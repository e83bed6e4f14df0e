"""Group commit: one thread stores all waiting uploads, then answers them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
REST = 1.0
"""Seconds without an upload after which a store is tidied."""
LOG = logging.getLogger("confide")


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
        self._inbox: queue.SimpleQueue[_Wish | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._ended = False
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="confide writer", daemon=True)
        self._thread.start()

    async def put(self, entry: Entry) -> Outcome:
        """Store an upload; returns when it is on disk.

        An upload whose device has gone meanwhile is stored all the same: it will ask again.

        Raises
        ------
        Unavailable
            If too many wait already, the store cannot take it, or the writer was stopped.
        """
        loop = asyncio.get_running_loop()
        wish = _Wish(entry, loop, loop.create_future())
        # Requests after the end marker would never be answered.
        with self._door:
            if self._ended:
                raise Unavailable("The service is stopping.")
            if self._inbox.qsize() >= WAITING:
                raise Unavailable("Too many reports wait to be stored.")
            self._inbox.put(wish)
        return await wish.answer

    def stop(self) -> None:
        """Store what waits, and end. A second call does nothing."""
        with self._door:
            if not self._ended:
                self._ended = True
                self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        # A process that was killed leaves its log, which tells who sent what until it is emptied.
        tidy = False
        while True:
            try:
                wish = self._inbox.get(timeout=None if tidy else REST)
            except queue.Empty:
                tidy = self._tidy()
                continue
            batch: list[_Wish] = []
            while wish is not None:
                batch.append(wish)
                if len(batch) == BATCH:
                    break
                try:
                    wish = self._inbox.get_nowait()
                except queue.Empty:
                    break
            if batch:
                self._store(batch)
                tidy = False
            if wish is None:
                self._tidy()
                return

    def _tidy(self) -> bool:
        """Whether the store is tidy, or there is no use in trying before the next upload."""
        try:
            return self.store.tidy()
        except Unavailable:
            pass  # the next upload is told
        except Exception as error:
            LOG.error("Tidying the store failed: %s.", type(error).__name__)
        return True

    def _complain(self, trouble: str) -> None:
        """Log what is wrong when it begins, and when it ends, but not for every batch."""
        if trouble != self._trouble:
            LOG.error("%s", trouble or "Reports are stored again.")
            self._trouble = trouble

    def _store(self, batch: list[_Wish]) -> None:
        answers: list[Outcome | Unavailable]
        try:
            answers = [*self.store.put([wish.entry for wish in batch])]
            self._complain("")
        except Unavailable as error:
            self._complain(str(error))
            answers = [error] * len(batch)
        except Exception as error:
            # The thread goes on and answers every waiting device. A message may quote a report.
            self._complain(f"Storing reports failed: {type(error).__name__}.")
            answers = [Unavailable("The store failed.")] * len(batch)
        self.batches += 1
        self.uploads += len(batch)
        told: defaultdict[asyncio.AbstractEventLoop, list[tuple[_Wish, Outcome | Unavailable]]]
        told = defaultdict(list)
        for wish, answer in zip(batch, answers, strict=True):
            told[wish.loop].append((wish, answer))
        for loop, pairs in told.items():
            # Where the loop has ended its connections have, too: devices send again.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_tell, pairs)


def _tell(pairs: list[tuple[_Wish, Outcome | Unavailable]]) -> None:
    for wish, answer in pairs:
        if wish.answer.done():
            continue  # its request was cancelled
        if isinstance(answer, Unavailable):
            wish.answer.set_exception(answer)
        else:
            wish.answer.set_result(answer)
