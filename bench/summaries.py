"""Summaries of files: against the bare GROUP BY of DuckDB on the same files."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import confide as cf
from bench.clock import Row, best, watch
from confide.reports.stamps import Stamp

LATTICE = cf.Lattice(low=0, high=300_000, size=1024)
MECHANISM = cf.SquareWave(LATTICE, epsilon=1.0)
FILES = 8
REGIONS = 16
START = 2.0
"""Seconds that a program may take to start."""
GIBIBYTE = 2**30


def write(folder: Path, n: int) -> None:
    """Files of n reports in all, with a public column of regions and one of responses."""
    generator = np.random.default_rng(1)
    stamp = Stamp({"pay": MECHANISM}).metadata()
    for at in range(FILES):
        rows = n * (at + 1) // FILES - n * at // FILES
        pay = LATTICE.high * generator.random(rows) ** 2
        table = pa.table(
            {
                "pay": MECHANISM.simulate(pay, seed=at).indices,
                "region": generator.integers(0, REGIONS, rows, dtype=np.int32),
                "rate": generator.integers(0, 1000, rows, dtype=np.int32).astype(np.float32),
            }
        )
        pq.write_table(table.replace_schema_metadata(stamp), folder / f"{at}.parquet")


def program(folder: Path) -> tuple[float, int]:
    """Seconds and bytes of memory that ``confide summarize`` takes, and a check of its counts."""
    out = folder / "counts.json"
    files = str(folder / "*.parquet")
    command = [sys.executable, "-m", "confide", "summarize", files, "-o", str(out)]
    seconds, memory = watch([*command, "--question", "pay"])
    fields = json.loads(out.read_text())
    if fields["counts"] != counted(folder).tolist():
        raise RuntimeError("confide summarize counts otherwise than DuckDB")
    return seconds, memory


def bare(folder: Path, columns: str, sums: str = "") -> dict[str, np.ndarray]:
    """What DuckDB takes for the grouping alone."""
    source = f"read_parquet('{folder}/*.parquet')"
    query = f"SELECT {columns}, count(*) AS n{sums} FROM {source} GROUP BY {columns}"
    return duckdb.sql(query).fetchnumpy()


def counted(folder: Path) -> np.ndarray:
    rows = bare(folder, "pay")
    counts = np.zeros(MECHANISM.law.outputs[0], dtype=np.int64)
    counts[rows["pay"]] = rows["n"]
    return counts


def rows(n: int = 10**8) -> list[Row]:
    sums = ", sum(rate), sum(rate * rate), min(rate), max(rate)"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        files = str(folder / "*.parquet")
        ours, yard = best(
            lambda: cf.tables.counts(files, MECHANISM, column="pay"),
            lambda: bare(folder, "pay"),
            rounds=15,
        )
        by, yard_by = best(
            lambda: cf.tables.counts(files, MECHANISM, column="pay", by="region"),
            lambda: bare(folder, "region, pay"),
            rounds=7,
        )
        answered, yard_answered = best(
            lambda: cf.tables.counts(files, MECHANISM, column="pay", response="rate"),
            lambda: bare(folder, "pay", sums),
            rounds=7,
        )
        same = (cf.tables.counts(files, MECHANISM, column="pay").counts == counted(folder)).all()
        if not same:
            raise RuntimeError("tables.counts counts otherwise than DuckDB")
        seconds, memory = min(program(folder) for _ in range(5))
    what = f"{n:.0e} reports in {FILES} Parquet files".replace("e+0", "e")
    group_by = "GROUP BY of DuckDB, the same files"
    return [
        Row(f"tables.counts, {what}", group_by, ours / yard, 1.2),
        Row(f"tables.counts by {REGIONS} regions, {what}", group_by, by / yard_by, 1.5),
        Row(f"tables.counts with a response, {what}", group_by, answered / yard_answered, 2.0),
        Row(
            f"confide summarize as a program, {what}",
            f"1.2 times that GROUP BY and {START:g} s to start",
            seconds / (1.2 * yard + START),
            1.0,
        ),
        Row(f"memory of confide summarize, {what}", "2 GiB", memory / (2 * GIBIBYTE), 1.0),
    ]
