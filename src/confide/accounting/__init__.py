"""Privacy costs: of one report, of several together, and of a summary of many."""

from __future__ import annotations

from confide.accounting.shuffling import shuffled
from confide.accounting.spend import Spend

__all__ = ["Spend", "shuffled"]
