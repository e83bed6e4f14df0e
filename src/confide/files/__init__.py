"""Files: paths, Arrow tables, CSV and Parquet, and limits on their size."""

from __future__ import annotations
