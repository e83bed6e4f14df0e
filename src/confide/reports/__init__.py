"""Reports in and out of tables and files.

A Parquet file or Arrow table carries its mechanisms in the schema's metadata, under one key. What
drops that metadata (CSV, pandas, polars, a copy made by SQL) keeps the integers only, so that
whoever reads them must bring the mechanism: the survey says which.
"""

from __future__ import annotations

from confide.mechanisms import Reports
from confide.reports.files import Files, read, write
from confide.reports.stamps import Stamp
from confide.reports.tables import from_table, to_arrow, to_pandas, to_polars

__all__ = [
    "Files",
    "Reports",
    "Stamp",
    "from_table",
    "read",
    "to_arrow",
    "to_pandas",
    "to_polars",
    "write",
]
