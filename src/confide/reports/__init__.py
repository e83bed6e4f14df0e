"""Reports in and out of tables and files.

A Parquet file or Arrow table carries its mechanisms in the schema's metadata, under one key. What
drops that metadata (CSV, pandas, polars, a copy made by SQL) keeps the integers only, so that
whoever reads them must bring the mechanism: the survey says which.
"""

from __future__ import annotations

from confide.mechanisms.protocol import Reports
from confide.reports.files import from_table, read, to_arrow, to_pandas, to_polars, write

__all__ = [
    "Reports",
    "from_table",
    "read",
    "to_arrow",
    "to_pandas",
    "to_polars",
    "write",
]
