"""What an answer costs: one report, several together, and a summary of many."""

from __future__ import annotations

from confide.accounting.shuffling import shuffled
from confide.accounting.spend import Spend

__all__ = ["Spend", "shuffled"]
