"""Files as they come: paths, Arrow tables, CSV and Parquet, and how much they may ask for."""

from __future__ import annotations
