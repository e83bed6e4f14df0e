"""`confide export`: the reports of a store as a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.invite import StoreOption, SurveyArgument, store_of
from confide.cli.options import JsonOption
from confide.collect import export as exported
from confide.collect import opened
from confide.errors import InvalidInput
from confide.files import formats
from confide.files.paths import counted, writable
from confide.survey import Survey


def export(
    survey: SurveyArgument,
    *,
    to: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Reports, .parquet.")],
    store: StoreOption = None,
    close: Annotated[
        bool, typer.Option("--close", help="End the survey first: nobody can answer any more.")
    ] = False,
    before_closing: Annotated[
        bool,
        typer.Option(
            "--before-closing",
            help="Export although people still answer. The difference of two exports is the "
            "reports of those who answered in between, perhaps one person.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the reports of a survey into a file, in random order."""
    asked = Survey.read(survey)
    writable(to, (".parquet",), [survey])
    found = opened(store_of(survey, store), asked, create=False)
    try:
        if close:
            found.close()
        closed = found.status().closed
        if not closed and not before_closing:
            raise InvalidInput(
                "a survey that is closed",
                "one that people still answer",
                "--close ends it first. --before-closing exports all the same: the difference of "
                "two exports is then the reports of those who answered in between.",
            )
        table = exported(found, asked)
    finally:
        found.shut()
    # One row a person, and a public group may tell who it is.
    formats.write(table, to, private=True)
    if as_json:
        output.machine({"n": table.num_rows, "closed": closed, "output": str(to)})
        return
    if close:
        output.say("The survey is closed.")
    output.say(
        f"{counted(table.num_rows, 'report')} in {to}, in random order.",
        f"Next: confide results {survey} {to} -o results.html"
        + "".join(f" --by {shlex.quote(name)}" for name in asked.groups),
    )
