"""Options that name the ledger which a command charges."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from confide._checks import shown
from confide.accounting import Spend
from confide.errors import BudgetExhausted, InvalidInput
from confide.files.paths import readable
from confide.ledger.budget import Ledger

PANEL = "Budget"
"""The part of the help that these options stand in."""

LedgerOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The budget to charge; --budget makes a new one.",
        rich_help_panel=PANEL,
    ),
]
BudgetOption = Annotated[
    float | None, typer.Option(help="Total epsilon of a new ledger.", rich_help_panel=PANEL)
]
SubjectOption = Annotated[
    str | None,
    typer.Option(
        help="Name of the data set that the budget covers; a ledger for another one is refused.",
        rich_help_panel=PANEL,
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        help="Name in the ledger; asking again with the same data returns the stored release.",
        show_default="made of the file's path, the columns and the kind",
        rich_help_panel=PANEL,
    ),
]


def check(
    path: Path | None, budget: float | None, delta: float | None, with_it: dict[str, Any]
) -> None:
    """Refuse options that make no sense together, before anything is read."""
    if path is None:
        if any(option is not None for option in (budget, delta, *with_it.values())):
            raise InvalidInput(f"--ledger to go with --budget, {', '.join(with_it)}", "none")
    elif budget is None:
        if delta is not None:
            raise InvalidInput("--budget to go with --budget-delta", "none")
        if not path.exists():
            raise InvalidInput(f"a ledger at {str(path)!r}", "none", "--budget makes a new one.")
        readable(path)


def opened(
    path: Path, budget: float | None, delta: float | None, subject: str | None, spend: Spend
) -> Ledger:
    """The ledger, made if it is new and has a budget."""
    if budget is None:
        return Ledger(path, subject=subject)
    # A new ledger that could not pay for its first release would only be in the way.
    if not path.exists() and (spend.epsilon > budget or spend.delta > (delta or 0.0)):
        raise BudgetExhausted(
            f"--budget of at least {spend.epsilon:g} and --budget-delta of at least "
            f"{spend.delta:g}",
            f"{budget:g} and {delta or 0.0:g}",
            "Give the new ledger more, or release with a smaller --epsilon.",
        )
    return Ledger(path, epsilon=budget, delta=delta or 0.0, subject=subject)


def default_key(book: Ledger, file: Path, parts: Sequence[str]) -> str:
    """A name for a release: the file's path as seen from the ledger, the columns and the kind.

    Wherever the command runs, a retry has the same key; files of one name in two folders have two.
    """
    real = file.resolve()
    try:
        where = Path(os.path.relpath(real, book.path.parent))
    except ValueError:  # on another drive
        where = real
    key = "/".join([where.as_posix(), *parts])
    entries = {entry.key: entry for entry in book.entries()}
    older = "/".join([file.name, *parts])
    if key not in entries and older in entries and not entries[older].bound:
        raise InvalidInput(
            "--key, since this release may have been made already",
            f"none, and a release under the key {shown(older)} for a file of this name somewhere",
            f"--key {older} returns that one, unchecked, at no cost; --key {key} makes a new one.",
        )
    return key
