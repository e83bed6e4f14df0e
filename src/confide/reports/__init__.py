"""Reports in and out of tables and files.

A Parquet file or Arrow table stores its mechanisms in the schema's metadata, under one key. CSV,
pandas, polars and copies made by SQL lose that metadata and keep only the integers. To read these,
pass the survey, which names the mechanisms.
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
