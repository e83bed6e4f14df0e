"""`confide schedule`: draw the rounds or the phase in which each person is asked."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from confide.cli import inputs, output
from confide.cli.options import JsonOption
from confide.collect.people import table_of
from confide.errors import InvalidInput
from confide.files.paths import counted, named, writable, write_bytes
from confide.questions.persons import PERSON, once
from confide.questions.phases import PHASE
from confide.questions.rounds import ROUND
from confide.survey import Survey


def schedule(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SURVEY PEOPLE",
            help="A survey with rounds or phases, and a .csv file with a row for each person.",
        ),
    ],
    to: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The schedule, .csv.")],
    as_json: JsonOption = False,
) -> None:
    """Draw in which rounds, or in which phase, each person is asked. Run it once, beforehand."""
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    if len(rest) != 1:
        raise InvalidInput("one .csv file of people", f"{len(rest)} files")
    column = ROUND if survey.rounds is not None else PHASE
    if survey.rounds is None and survey.phases is None:
        raise InvalidInput("a survey with [rounds] or [phases]", "one with neither")
    columns, people = table_of(rest[0])
    if column in columns or not people:
        raise InvalidInput(
            f"people without a column {column!r}, at least one, in {named(rest[0])}",
            "a schedule" if people else "none",
        )
    if PERSON in columns:
        once([row[PERSON] for row in people], named(rest[0]))
    writable(to, (".csv",), [*rest, *([path] if path else [])])
    if to.exists():
        raise InvalidInput(
            "a schedule that is drawn once",
            f"{named(to)}, which is there",
            "People who are drawn again spend more than the survey says.",
        )
    numbers = _drawn(survey, columns, people)
    names = list(dict.fromkeys([PERSON, *columns, column]))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    rows = 0
    for at, (person, own) in enumerate(zip(people, numbers, strict=True), start=1):
        for number in own:
            writer.writerow({PERSON: str(at), **person, column: str(number)})
            rows += 1
    write_bytes(to, text.getvalue().encode())
    if as_json:
        output.machine({"people": len(people), "rows": rows, "column": column, "output": str(to)})
        return
    output.say(f"{counted(len(people), 'respondent')}, {counted(rows, 'row')}: {to}")
    if survey.rounds is not None:
        output.say(survey.rounds.words())
        output.say(survey.spend.words(answers=survey.asks * survey.times))


def _drawn(
    survey: Survey, columns: tuple[str, ...], people: list[dict[str, str]]
) -> list[tuple[int, ...]]:
    """The rounds of each person, or the phase."""
    known: dict[tuple[str, ...], int] = {}
    groups = [name for name in survey.groups if name in columns]
    cells = [known.setdefault(tuple(row[name] for name in groups), len(known)) for row in people]
    if survey.rounds is None:
        return [(int(phase),) for phase in survey.phase_of(cells)]
    return [tuple((row.nonzero()[0] + 1).tolist()) for row in survey.schedule(cells)]
