"""Processes that draw batches."""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import (
    connection,
    current_process,
    get_all_start_methods,
    get_context,
    reduction,
)
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, cast

from confide.errors import ConfideError, InvalidInput
from confide.streams.batches import Batch, Job
from confide.streams.parts import PATIENCE, Parts

Ended = Callable[[Connection], ConfideError]

FORKS = "forkserver" in get_all_start_methods()
"""Whether processes can start as copies of one that has no threads."""
AHEAD = 2
"""Batches that a process is given at once, so that it never waits for the next."""
GUARD = 'if __name__ == "__main__":'
FAILED = 1
"""Exit code of a process that could not read what it was started with."""
LAST = 2**63
"""Number of a batch that could not be read, after all that could."""


def finished(job: Job, parts: Parts, processes: int) -> Generator[tuple[Batch, bool], None, None]:
    """Batches as they are finished, and whether they were before.

    This process is one of them: it draws too while it has nothing to hand out or to pass on.
    """
    _keep_memory()
    with _crew(job, parts) as (hire, ended):
        busy: dict[Connection, deque[Batch]] = {}
        faults: dict[int, Exception] = {}
        waiting, more = job.batches(), True
        old = parts.finished()
        while more or any(busy.values()):
            for worker, fault in _answers(busy, ended, wait=not more):
                batch = busy[worker].popleft()
                if fault is None:
                    yield batch, False
                else:
                    faults[batch.number], more = fault, False
                    if worker.closed:
                        del busy[worker]
            following = _following(waiting, faults) if more else None
            if following is None:
                more = False
                continue
            batch = following
            free = [worker for worker, batches in busy.items() if len(batches) < AHEAD]
            if batch.number in old:
                parts.check(old[batch.number])
                yield _light(batch), True
            elif free or len(busy) < processes - 1:
                worker = free[0] if free else hire()
                with suppress(ConnectionError):
                    worker.send(batch)
                busy.setdefault(worker, deque()).append(_light(batch))
            elif (fault := _drawn(job, parts, batch)) is None:
                yield _light(batch), False
            else:
                faults[batch.number], more = fault, False
        if faults:
            # Batches go out in order, so that the first bad row is in one of them.
            raise faults[min(faults)]


def _following(waiting: Iterator[Batch], faults: dict[int, Exception]) -> Batch | None:
    try:
        return next(waiting, None)
    except ConfideError as error:
        faults[LAST] = error
        return None


def _light(batch: Batch) -> Batch:
    return Batch(batch.number, batch.source, batch.first, batch.rows)


def _drawn(job: Job, parts: Parts, batch: Batch) -> Exception | None:
    """Draw and keep a batch; what went wrong, if anything did."""
    try:
        parts.write(batch.number, job.drawn(batch))
    except Exception as error:
        return error
    return None


def _answers(
    busy: Mapping[Connection, Sequence[Batch]], ended: Ended, *, wait: bool
) -> Iterator[tuple[Connection, Exception | None]]:
    """Processes that are done with their next batch, and what went wrong there."""
    at_work = [worker for worker, batches in busy.items() if batches]
    for ready in connection.wait(at_work, None if wait else 0) if at_work else ():
        worker = cast(Connection, ready)
        try:
            yield worker, worker.recv()
        except (EOFError, ConnectionError):
            fault = ended(worker)
            worker.close()
            yield worker, fault


@contextmanager
def _crew(job: Job, parts: Parts) -> Iterator[tuple[Callable[[], Connection], Ended]]:
    """Hire processes that draw batches, and tell why one ended before its time.

    They go when nobody is there to send more.
    """
    context = get_context("forkserver") if FORKS else get_context("spawn")
    # What the processes need is then imported once, not by each of them.
    context.set_forkserver_preload([__name__])
    # Here and now: what a job computes for later use grows while processes start.
    work = pickle.dumps((job, parts))
    lock = _Shared(parts.lock.fileno()) if parts.lock and FORKS else None
    hired: dict[Connection, tuple[Thread, Any]] = {}

    def hire() -> Connection:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, work, lock), daemon=True)
        # Starting waits for imports, long enough to draw a few batches here.
        starting = Thread(target=_start, args=(process, theirs))
        starting.start()
        hired[ours] = starting, process
        return ours

    def ended(worker: Connection) -> ConfideError:
        starting, process = hired[worker]
        starting.join()
        if process.pid is not None:
            process.join(PATIENCE)
            if process.exitcode == FAILED:
                return _not_started()
        return ConfideError(
            "Expected every process to last, got one that was ended, perhaps for want of memory. "
            "Run it again to go on."
        )

    try:
        yield hire, ended
    finally:
        for ours, (starting, process) in hired.items():
            starting.join()
            ours.close()
            if process.pid is not None:
                process.terminate()
                process.join()


def guarded() -> None:
    """Refuse to start processes in one that is itself about to start, and reads the script."""
    if getattr(current_process(), "_inheriting", False):
        raise InvalidInput(
            f"processes that a script starts under {GUARD}",
            "some that it starts whenever it is imported",
            "Move the call under that line, or take processes=1.",
        )


def _not_started() -> ConfideError:
    return ConfideError(
        "Expected every process to start, got one that could not. A script has to call this under "
        f"{GUARD} since every process reads it, or with processes=1. Run it again to go on."
    )


def _start(process: Any, theirs: Connection) -> None:
    # A process that cannot be started leaves a closed pipe, as one does that was ended.
    with suppress(OSError), theirs:
        process.start()


@dataclass(frozen=True)
class _Shared:
    """An open file that a process gets as it starts, and holds until it ends."""

    handle: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self.handle),)


def _received(handle: Any) -> _Shared:
    return _Shared(handle.detach())


def _serve(worker: Connection, work: bytes, lock: _Shared | None) -> None:
    # The drawing process holds the lock: a continued run waits until this process has ended.
    _keep_memory()
    # An interrupt ends the run through the first process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job, parts = pickle.loads(work)
    while True:
        try:
            batch: Batch = worker.recv()
        except EOFError:
            return
        try:
            worker.send(_drawn(job, parts, batch))
        except BrokenPipeError:
            return


def _keep_memory() -> None:
    """Free one large block, after which glibc keeps what smaller ones need.

    Otherwise every array is given back to the system, and its pages are cleared for the next one.
    """
    bytearray(2**24)


def cores() -> int:
    """Number of processes that can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
