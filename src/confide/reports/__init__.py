"""Reports in and out of tables and files.

A Parquet file or Arrow table carries its mechanisms in the schema's metadata, under one key. What
drops that metadata (CSV, pandas, polars, a copy made by SQL) keeps the integers only, so that
whoever reads them must bring the mechanism: the survey says which.
"""

from __future__ import annotations

from confide.mechanisms.protocol import Reports
from confide.reports.files import (
    Files,
    cells_from_table,
    cells_to_arrow,
    from_table,
    not_replaced,
    read,
    read_cells,
    to_arrow,
    to_pandas,
    to_polars,
    write,
    write_cells,
)
from confide.reports.stamps import CellStamp, Stamp

__all__ = [
    "CellStamp",
    "Files",
    "Reports",
    "Stamp",
    "cells_from_table",
    "cells_to_arrow",
    "from_table",
    "not_replaced",
    "read",
    "read_cells",
    "to_arrow",
    "to_pandas",
    "to_polars",
    "write",
    "write_cells",
]
