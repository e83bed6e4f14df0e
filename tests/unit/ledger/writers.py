"""What processes of their own do to a ledger; a module that is quick to import."""

from __future__ import annotations

from pathlib import Path

from confide.accounting import Spend
from confide.ledger import Ledger


def charge_all(path: Path, number: int) -> None:
    """Charge five releases that no other process charges."""
    ledger = Ledger(path)
    for at in range(5):
        ledger.charge(f"{number}/{at}", {}, Spend(0.01), lambda: 1, data=b"may")


def open_and_charge(path: Path, number: int) -> None:
    """Open a ledger, which may be of an older version, and charge one release."""
    Ledger(path).charge(f"k{number}", {"kind": "count"}, Spend(0.05), lambda: number, data=b"x")
