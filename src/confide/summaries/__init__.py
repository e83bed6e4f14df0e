"""Summaries: counts of reports, which add up over batches, days and machines."""

from __future__ import annotations

from confide.summaries.cell_sums import CellSums
from confide.summaries.counts import Counts, Response
from confide.summaries.files import Summaries, read
from confide.summaries.groups import Groups

__all__ = ["CellSums", "Counts", "Groups", "Response", "Summaries", "read"]
