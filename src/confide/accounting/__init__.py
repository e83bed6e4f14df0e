"""What an answer costs: one report, several together, and a summary of many."""

from __future__ import annotations

from confide.accounting.shuffling import shuffled
from confide.accounting.spend import (
    MAX_EPSILON,
    WEAK_EPSILON,
    Spend,
    checked_epsilon,
    exact,
    odds,
    rounded_up,
)

__all__ = [
    "MAX_EPSILON",
    "WEAK_EPSILON",
    "Spend",
    "checked_epsilon",
    "exact",
    "odds",
    "rounded_up",
    "shuffled",
]
