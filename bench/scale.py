"""What large surveys cost, computed from rates that are measured here: docs/evidence/scale.md."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import confide as cf
from bench.clock import best
from bench.density import huge
from bench.peers import HOME
from bench.streaming import SURVEY, measure, write
from confide import streams
from confide.estimators.likelihood import MOST_CELLS
from confide.summaries import Groups
from confide.survey import Survey

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "scale.md"
N = 2 * 10**7
GROUPS, COUNTIES = 10_000, 100
DAY, YEAR, BILLION = 10**6, 365, 10**9
CELLS = MOST_CELLS[1]


@dataclass(frozen=True)
class Rates:
    """Measured on this machine: seconds a report, bytes a report, seconds and bytes a summary."""

    draw: float
    count: float
    count_groups: float
    make_groups: float
    stored: float
    memory: float
    summary_day: int
    summary: int
    packed: int
    groups: int
    add: float
    fit_day: float
    fit_billion: float
    fit_group: float
    interval: float


def rates() -> Rates:
    mechanism = Survey.from_dict(SURVEY).mechanisms["pay"]
    likelihood = cf.estimators.Likelihood()
    HOME.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as name:
        folder = Path(name)
        drawn, _, memory = measure(N, folder)
        values, reports = folder / "values.parquet", folder / "reports.parquet"
        write(values, N)
        streams.privatize(streams.Job(Survey.from_dict(SURVEY), [values]), reports)
        stored = reports.stat().st_size
        (counted,) = best(lambda: cf.tables.counts(reports, mechanism, column="pay"), rounds=3)

        table = pq.read_table(reports)
        towns = np.random.default_rng(1).integers(0, GROUPS, N, dtype=np.int32)
        table = table.append_column("town", pa.array(towns))
        pq.write_table(table.append_column("county", pa.array(towns % COUNTIES)), reports)
        found = {}

        def count(by: str) -> None:
            found[by] = cf.tables.counts(reports, mechanism, column="pay", by=by)

        towns_time, counties_time = best(lambda: count("town"), lambda: count("county"), rounds=1)
    # Reports of many towns are mostly alone in their cell, so what a town costs is told apart.
    by_town = found["town"]
    cells = sum(np.count_nonzero(one.counts) for one in by_town.values())
    full = GROUPS * mechanism.law.outputs[0]
    # Of as many reports as the page tells of: digits, and the cells of an estimate, go with them.
    day, billion, group = (huge(mechanism, n) for n in (DAY, BILLION, BILLION // GROUPS))
    groups = Groups(("town",), dict.fromkeys(range(GROUPS), group))
    adding, *fits, interval = best(
        lambda: billion + billion,
        *(lambda c=c: likelihood.fit(c) for c in (day, billion, group)),
        lambda: likelihood.fit(group).interval("quantile", 0.5),
        rounds=3,
    )
    return Rates(
        draw=drawn / N,
        count=counted / N,
        count_groups=counties_time / N,
        make_groups=max(towns_time - counties_time, 0.0) * full / cells,
        stored=stored / N,
        memory=memory,
        summary_day=len(json.dumps(day.to_dict())),
        summary=len(json.dumps(billion.to_dict())),
        packed=len(billion.to_bytes()),
        groups=len(json.dumps(groups.to_dict())),
        add=adding,
        fit_day=fits[0],
        fit_billion=fits[1],
        fit_group=fits[2],
        interval=interval,
    )


def seconds(value: float) -> str:
    for unit, size in (("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if value >= size:
            return f"{float(f'{value / size:.2g}'):g} {unit}"
    return "less than 1 ms"


def size(value: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} bytes"


def page(r: Rates) -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    columns = [
        (
            "reports on disk, Parquet",
            [DAY * r.stored, BILLION * r.stored, BILLION * r.stored],
            size,
        ),
        ("drawing them, 2 processes", [DAY * r.draw, BILLION * r.draw, BILLION * r.draw], seconds),
        (
            "counting them",
            [DAY * r.count, BILLION * r.count, r.make_groups + BILLION * r.count_groups],
            seconds,
        ),
        ("the summary, JSON", [r.summary_day, r.summary, r.groups], size),
        ("estimating from it", [r.fit_day, r.fit_billion, GROUPS * r.fit_group], seconds),
    ]
    lines = [
        "| one question | a million a day | a billion | a billion in 10,000 groups |",
        "|---|---|---|---|",
    ]
    for name, cells, shown in columns:
        lines.append(f"| {name} | " + " | ".join(shown(cell) for cell in cells) + " |")
    table = "\n".join(lines)
    return f"""# What size costs

Written by `make bench NAME=scale` from rates measured on {cores} cores with {N // 10**6} million
reports of a square wave on 1,024 cells. What is drawn and counted grows with reports and questions.

{table}

- A respondent's device draws one report, at no cost; drawing in bulk is for those who hold values.
- A report takes {r.stored:.2g} bytes in Parquet: the noise cannot be compressed.
- `confide privatize` needs {size(r.memory)} a process whatever the size of the files, and on the
  way 2 bytes a report and a question of disk for finished batches, which are then shuffled.
- A summary does not grow with the reports, but for the digits of its counts: {size(r.summary)} as
  JSON, {size(r.packed)} as .npz. A year of a million a day is {YEAR} of them, added in
  {seconds(YEAR * r.add)}: reports need not be kept to go on.
- Groups share one pass over the files, and their summaries are kept together: {size(r.groups)} for
  {GROUPS:,} of them. Estimates of groups are independent and run on as many machines as there are.
- An estimate takes the longer the finer it is, whatever its reports: about 2 n^(1/3) cells for n
  of them, {CELLS} at most. For one of {GROUPS:,} groups of {BILLION // GROUPS:,} that is
  {seconds(r.fit_group)}, with an interval of the median {seconds(r.interval)}: intervals are
  computed when they are asked for.

## Past one machine

Counting is a `GROUP BY`, so it runs where the reports are: `cf.tables.counts` takes a Spark or
other Ibis table and brings home the grouped rows only. Drawing parts by file: each machine
privatizes its own files, each value once, and nothing has to be agreed on but the survey. What
meets in one place are summaries, whose sum is exact in any order.
"""
