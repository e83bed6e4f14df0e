"""Timing, and the rows of the benchmark table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: how long ours takes in units of the yardstick."""

    what: str
    yardstick: str
    ratio: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.ratio <= self.limit


def best(*jobs: Callable[[], object], rounds: int = 5) -> list[float]:
    """Best time of each job in seconds, the jobs taking turns so that they meet the same load."""
    times = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for at, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[at] = min(times[at], time.perf_counter() - start)
    return times
