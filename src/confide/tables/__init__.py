"""Count reports in files and tables, by stream or in a database.

`summarize` counts files of reports, all questions in one run. `counts` counts with one
GROUP BY in the engine that holds the table: DuckDB for files, Spark, or any other engine of Ibis.
Only grouped rows come to Python, and the same query counts the invalid rows.
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
