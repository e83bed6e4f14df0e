"""Files larger than memory: against two processes that only read the entropy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.clock import Row, peak
from bench.peers import HOME
from confide import streams
from confide.survey import Survey

LARGE, SMALL = 10**8, 10**7
GROUP = 2**20
SURVEY = {"questions": {"pay": {"low": 0, "high": 1, "epsilon": 1.0}}}
PROCESSES = 2


def write(path: Path, n: int) -> None:
    """A Parquet file of n floats."""
    generator = np.random.default_rng(1)
    with pq.ParquetWriter(path, pa.schema([("pay", pa.float64())])) as writer:
        for start in range(0, n, GROUP):
            writer.write_table(pa.table({"pay": generator.random(min(GROUP, n - start))}))


def read(n: int) -> None:
    """Read 8 bytes of entropy for each of n values."""
    for start in range(0, n, GROUP // 8):
        os.urandom(8 * min(GROUP // 8, n - start))


def entropy(n: int) -> float:
    """Seconds that two processes take for n values."""
    context = get_context("fork")
    crew = [context.Process(target=read, args=(n // PROCESSES,)) for _ in range(PROCESSES)]
    start = time.perf_counter()
    for process in crew:
        process.start()
    for process in crew:
        process.join()
    return time.perf_counter() - start


def stream(path: Path) -> tuple[float, float]:
    """Seconds and peak bytes of memory of a process that streams a file, and its helpers' start."""
    command = [sys.executable, "-m", "bench.streaming", str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    answer = json.loads(told.splitlines()[-1])
    return answer["seconds"], answer["bytes"]


def measure(n: int, folder: Path, rounds: int = 2) -> tuple[float, float, float]:
    """Best seconds of streaming and of the entropy alone, and peak bytes."""
    path = folder / f"{n}.parquet"
    write(path, n)
    best, limit, memory = np.inf, np.inf, 0.0
    for _ in range(rounds):
        limit = min(limit, entropy(n))
        seconds, used = stream(path)
        best, memory = min(best, seconds), max(memory, used)
    path.unlink()
    return best, limit, memory


def rows() -> list[Row]:
    HOME.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as name:
        *_, small = measure(SMALL, Path(name), rounds=1)
        ours, limit, large = measure(LARGE, Path(name))
    what = "privatize 1e8 values, Parquet to Parquet, 2 processes"
    return [
        # Every row is drawn, dealt, sealed, read again and put at a random place.
        Row(what, "2 processes that read 8e8 bytes of OS entropy", ours / limit, 10.0),
        Row(f"{what}: memory", "that of 1e7 values", large / small, 1.1),
    ]


def main(path: Path) -> None:
    job = streams.Job(Survey.from_dict(SURVEY), [path])
    start = time.perf_counter()
    streams.privatize(job, path.with_suffix(".out.parquet"), processes=PROCESSES, replace=True)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "bytes": peak()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
