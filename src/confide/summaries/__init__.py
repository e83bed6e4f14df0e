"""What an estimator sees: summaries, which add up over batches, days and machines."""

from confide.summaries.cell_sums import CellSums
from confide.summaries.counts import Counts
from confide.summaries.groups import Groups
from confide.summaries.spectrum import Spectrum
from confide.summaries.tallies import Response

__all__ = ["CellSums", "Counts", "Groups", "Response", "Spectrum"]
