"""Timing, and the rows of the benchmark table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.peers import Peer


@dataclass(frozen=True)
class Row:
    """One line of the table: how long ours takes in units of the yardstick.

    The ratio is None where the yardstick could not be run; a peer is somebody else's package.
    """

    what: str
    yardstick: str
    ratio: float | None
    limit: float
    peer: bool = False

    @property
    def holds(self) -> bool:
        return self.ratio is None or self.ratio <= self.limit


def against(what: str, peer: Peer, work: str, ours: float, limit: float = 1.0) -> Row:
    """A row whose yardstick is a peer that does the same work, or could not be made to."""
    ratio = None if peer.seconds is None else ours / peer.seconds
    return Row(what, f"{peer}, {work}", ratio, limit, peer=True)


def best(*jobs: Callable[[], object], rounds: int = 5) -> list[float]:
    """Best time of each job in seconds, the jobs taking turns so that they meet the same load."""
    times = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for at, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[at] = min(times[at], time.perf_counter() - start)
    return times
