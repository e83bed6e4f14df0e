"""Results of a whole survey, for tables, pictures, JSON and pages."""

from __future__ import annotations

from confide.estimators.enough import needed
from confide.results.estimating import estimate
from confide.results.synthetic import Synthetic, synthesize
from confide.results.values import Quantity, Result
from confide.results.whole import Results

__all__ = ["Quantity", "Result", "Results", "Synthetic", "estimate", "needed", "synthesize"]
