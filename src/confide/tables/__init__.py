"""Summaries by GROUP BY, wherever a table lives: DuckDB for files, Spark or any engine of Ibis.

Only grouped rows come to Python. The same query counts the rows that cannot be used.
"""

from confide.reports.rows import LeftOut
from confide.tables._counts import counts
from confide.tables._vectors import cell_sums

__all__ = ["LeftOut", "cell_sums", "counts"]
