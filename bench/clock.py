"""Timing, and the rows of the benchmark table."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.peers import Peer

WATCH = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps([seconds, peak]))
"""


@dataclass(frozen=True)
class Row:
    """One line of a table: how long ours takes in units of the yardstick.

    A peer is another way to do the same work, so that below 1 ours is better; other yardsticks are
    limits or units. The ratio is None where the yardstick could not be run.
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


def best(
    *jobs: Callable[[], object], rounds: int = 5, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Best time of each job in seconds, the jobs taking turns so that they meet the same load.

    ``time.process_time`` as the clock counts processor time: that of a job that runs on one thread
    depends less on what else the machine does.
    """
    times = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for at, job in enumerate(jobs):
            start = clock()
            job()
            times[at] = min(times[at], clock() - start)
    return times


def sort(values: npt.NDArray[Any]) -> None:
    """The unit of work: a stable sort, which no processor has special instructions for."""
    np.sort(values, kind="stable")


def peak() -> int:
    """Peak bytes of memory of this process, without those of whoever started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def watch(command: Sequence[str]) -> tuple[float, int]:
    """Seconds and peak bytes of memory of a program.

    Linux counts the peak of whoever starts a program as the program's own, so a small process
    stands between it and this one.
    """
    told = subprocess.run(
        [sys.executable, "-S", "-c", WATCH, *command], check=True, stdout=subprocess.PIPE
    )
    seconds, peak = json.loads(told.stdout)
    return seconds, peak
