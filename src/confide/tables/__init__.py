"""Summaries of reports in files and tables, wherever they live.

`summarize` counts files of reports, all questions in one run. `counts` and `cell_sums` count with
one GROUP BY where a table is: DuckDB for files, Spark or any engine of Ibis. Only grouped rows come
to Python, and the same query counts the rows that cannot be used.
"""

from __future__ import annotations

from confide.reports.rows import LeftOut
from confide.tables.asked import Asked, asked
from confide.tables.counting import counts
from confide.tables.jobs import Job, summarize
from confide.tables.pairs import Pair, Together, pair

__all__ = [
    "Asked",
    "Job",
    "LeftOut",
    "Pair",
    "Together",
    "asked",
    "counts",
    "pair",
    "summarize",
]
