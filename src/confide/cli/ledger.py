"""The verb of those who keep a budget: ledger show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide._files import counted, named, readable
from confide.accounting import odds, rounded_up
from confide.cli import output
from confide.cli.collect import JsonOption
from confide.errors import InvalidInput
from confide.ledgers import Ledger

SQLITE = b"SQLite format 3\0"
"""How every SQLite file starts, and so every ledger."""

ledger = typer.Typer(help="What was released about a data set, and what is left to spend.")


@ledger.callback()
def _ledger() -> None:
    """What was released about a data set, and what is left to spend."""


@ledger.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A ledger.")],
    as_json: JsonOption = False,
) -> None:
    """Show the charges of a ledger, what they cost together and what is left."""
    readable(file)
    with file.open("rb") as start:
        if start.read(len(SQLITE)) != SQLITE:
            raise InvalidInput(
                f"a ledger at {named(file)}",
                "a file of another kind",
                "A ledger is what --ledger FILE of release or sample made.",
            )
    opened = Ledger(file)
    entries, spent, left = opened.entries(), opened.spent, opened.left
    if as_json:
        output.machine(
            {
                "path": str(file),
                "subject": opened.subject,
                "budget": opened.budget.to_dict(),
                "spent": spent.to_dict(),
                "left": left.to_dict(),
                "entries": [
                    {
                        "key": entry.key,
                        "fingerprint": entry.fingerprint,
                        **entry.spend.to_dict(),
                        "group": None if entry.group is None else list(entry.group),
                        "at": entry.at,
                    }
                    for entry in entries
                ],
            }
        )
        return
    deltas = opened.budget.delta > 0
    rows = []
    for entry in entries:
        group = "-" if entry.group is None else " = ".join(entry.group)
        row = [
            output.harmless(entry.key),
            output.harmless(group),
            entry.at,
            f"{entry.spend.epsilon:.6f}",
        ]
        rows.append([*row, rounded_up(entry.spend.delta, 3)] if deltas else row)
    head = ["key", "group", "at", "epsilon", *(["delta"] if deltas else [])]
    about = f", about {output.harmless(opened.subject)}" if opened.subject else ""
    output.table(f"{counted(len(entries), 'release')} in {file}{about}", head, rows, words=3)
    output.say(
        f"Spent epsilon = {spent.epsilon:.6f} of {opened.budget.epsilon:.6f}, "
        f"{left.epsilon:.6f} left."
    )
    if deltas:
        output.say(
            f"Spent delta = {spent.delta:.3g} of {opened.budget.delta:.3g}, {left.delta:.3g} left."
        )
    if entries:
        output.say(
            "Whatever anybody believes about a person in the data, all releases together change "
            f"the odds by a factor of at most {odds(spent.epsilon)}"
            + (f", but for a probability of {rounded_up(spent.delta, 2)}." if spent.delta else ".")
        )
