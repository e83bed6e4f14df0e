"""`confide ledger`: show what was released about a data set and the budget that is left."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.accounting.spend import odds, rounded_up
from confide.cli import output
from confide.cli.options import JsonOption
from confide.cli.parsing import harmless
from confide.cli.release import Published
from confide.errors import InvalidInput
from confide.files.paths import counted, named, readable
from confide.ledger.budget import Entry, Ledger
from confide.ledger.costs import MICRO, NOTHING, Cost, charged
from confide.releases import Release

SQLITE = b"SQLite format 3\0"
"""How every SQLite file starts, and so every ledger."""

ledger = typer.Typer(help="Show what was released about a data set, and the budget that is left.")
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A ledger.")]


@ledger.callback()
def _ledger() -> None:
    """Show what was released about a data set, and the budget that is left."""


@ledger.command()
def show(file: FileArgument, as_json: JsonOption = False) -> None:
    """Show the charges of a ledger, what they cost together and what is left."""
    opened = _opened(file)
    entries, spent, left = opened.entries(), opened.spent, opened.left
    if as_json:
        output.machine(
            {
                "path": str(file),
                "subject": opened.subject,
                "budget": opened.budget.to_dict(),
                "spent": spent.to_dict(),
                "left": left.to_dict(),
                "entries": [_fields(entry) for entry in entries],
            }
        )
        return
    deltas = opened.budget.delta > 0
    rows = []
    for entry in entries:
        group = "-" if entry.group is None else " = ".join(entry.group)
        about = harmless(_asked(entry))
        row = [harmless(entry.key), about, harmless(group), entry.at, f"{entry.spend.epsilon:.6f}"]
        rows.append([*row, rounded_up(entry.spend.delta, 3)] if deltas else row)
    head = ["key", "asked", "group", "at", "epsilon", *(["delta"] if deltas else [])]
    about = f", about {harmless(opened.subject)}" if opened.subject else ""
    title = f"{counted(len(entries), 'release')} in {harmless(str(file))}{about}"
    output.table(title, head, rows, words=4)
    output.say(
        f"Spent epsilon = {spent.epsilon:.6f} of {opened.budget.epsilon:.6f}, "
        f"{left.epsilon:.6f} left."
    )
    output.say(*_groups(entries))
    if deltas:
        output.say(
            f"Spent delta = {spent.delta:.3g} of {opened.budget.delta:.3g}, {left.delta:.3g} left."
        )
    loose = sum(not entry.bound for entry in entries)
    if loose:
        output.say(
            f"Nothing is wrong with {counted(loose, 'release')} whose data cannot be recognized "
            "here, because the secret file is not there or is another one, or because an older "
            "version stored no digest. Reading the ledger does not need it. A request "
            "for one of them again, with whatever data, returns what was released, with a warning."
        )
    if entries:
        output.say(
            "Whatever anybody believes about a person in the data, all releases together change "
            f"the odds by a factor of at most {odds(spent.epsilon)}"
            + (
                f", except with a probability of {rounded_up(spent.delta, 2)}."
                if spent.delta
                else "."
            )
        )


@ledger.command()
def get(
    file: FileArgument,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Name of a release; show lists the names.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Print a stored release again. That takes no data and costs nothing."""
    opened = _opened(file)
    entry = opened.entry(key)
    document = entry.release
    if as_json:
        output.machine({**_fields(entry), "release": document})
        return
    try:
        release = Release.from_dict(document)
    except InvalidInput:
        _other(entry, document)
        return
    names = () if release.curve is None else release.curve.cells.names
    kind = harmless(str(release.spec.get("release")))
    Published(release, kind, names, key, True, opened).show(as_json=False)


def _opened(file: Path) -> Ledger:
    readable(file)
    with file.open("rb") as start:
        if start.read(len(SQLITE)) != SQLITE:
            raise InvalidInput(
                f"a ledger at {named(file)}",
                "a file of another kind",
                "A ledger is what --ledger FILE of release or sample made.",
            )
    return Ledger(file)


def _fields(entry: Entry) -> dict[str, Any]:
    """A charge as plain values; what it was released from is none of them, nor is its digest."""
    return {
        "key": entry.key,
        "fingerprint": entry.fingerprint,
        **entry.spend.to_dict(),
        "asked": _asked(entry),
        "group": None if entry.group is None else list(entry.group),
        "at": entry.at,
        "bound": entry.bound,
    }


def _asked(entry: Entry) -> str:
    """What was released, in a few words: its kind, or the number, and of how many records."""
    try:
        spec = Release.from_dict(entry.release).spec
    except InvalidInput:
        document = entry.release
        samples = document.get("samples") if isinstance(document, dict) else None
        return counted(len(samples), "sample") if isinstance(samples, list) else "-"
    what = str(spec.get("what") or spec.get("release"))
    if isinstance(spec.get("q"), float):
        what = f"{100 * spec['q']:g} % quantile"
    # A single column of numbers has no name in a release: the default key has it.
    columns = [each for each in spec.get("columns") or () if isinstance(each, dict)]
    names = [str(each["name"]) for each in columns if each.get("name")]
    return f"{what}{' of ' * bool(names)}{', '.join(names)}, n = {spec['n']:,}"


def _groups(entries: Sequence[Entry]) -> list[str]:
    """What the groups of each public attribute cost together, which is less than their sum."""
    sums: dict[str, dict[str, Cost]] = {}
    for entry in entries:
        if entry.group is not None:
            attribute, member = entry.group
            own = sums.setdefault(attribute, {})
            own[member] = own.get(member, NOTHING).plus(charged(entry.spend))
    return [
        f"The {len(own)} groups by {harmless(attribute)} count once, as nobody is in two of them: "
        f"together they cost what the most expensive one does, epsilon = "
        f"{max(cost.epsilon for cost in own.values()) / 10**MICRO:.6f}."
        for attribute, own in sums.items()
        if len(own) > 1
    ]


def _other(entry: Entry, document: Any) -> None:
    """A release that is neither a number nor a density: samples, or something of one's own."""
    title = f"{harmless(entry.key)}, epsilon = {output.costs([entry.spend.epsilon])[0]}"
    rows = document.get("samples") if isinstance(document, dict) else None
    if isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows):
        cells = [[harmless(str(value)) for value in row] for row in rows]
        output.table(title, [""] * max(map(len, cells)), cells, words=0)
        return
    output.say(title, harmless(json.dumps(document, ensure_ascii=True)))
