"""Summaries by GROUP BY, wherever a table lives: DuckDB for files, Spark or any engine of Ibis.

Only grouped rows come to Python. The same query counts the rows that cannot be used.
"""

from __future__ import annotations

from confide.reports.rows import LeftOut
from confide.tables.counting import counts

__all__ = ["LeftOut", "counts"]
