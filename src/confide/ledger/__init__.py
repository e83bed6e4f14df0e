"""A ledger keeps what was spent, and what was released for it."""

from __future__ import annotations

from confide.ledger.budget import Entry, Ledger

__all__ = ["Entry", "Ledger"]
