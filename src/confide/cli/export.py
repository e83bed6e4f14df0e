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
from confide.collect.moving import second_in
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
        bool,
        typer.Option("--close", help="Close the survey first, so that nobody can answer anymore."),
    ] = False,
    before_closing: Annotated[
        bool,
        typer.Option(
            "--before-closing",
            help="Export while people can still answer. Two exports differ by the "
            "reports in between, perhaps of one person.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the reports of a survey into a file, in random order."""
    asked = Survey.read(survey)
    writable(to, (".parquet",), [survey])
    # Each phase has its own lattices, and so its own file.
    paths = [to] if asked.phases is None else [_numbered(to, phase) for phase in (1, 2)]
    for path in paths:
        writable(path, (".parquet",), [survey])
    found = opened(store_of(survey, store), asked, create=False)
    try:
        if close:
            found.close()
        status = found.status()
        closed, invited = status.closed, sum(status.invited.values())
        if not closed and not before_closing:
            raise InvalidInput(
                "a survey that is closed",
                "one that people still answer",
                "--close ends it first. --before-closing exports all the same: the difference of "
                "two exports is then the reports of those who answered in between.",
            )
        second = None if asked.phases is None else second_in(found.document(), asked)
        tables = [exported(found, each) for each in (asked, second) if each is not None]
    finally:
        found.shut()
    # Write no file for a second phase without answers.
    made = {path: table for path, table in zip(paths, tables, strict=False)
            if table.num_rows or path == paths[0]}  # fmt: skip
    for path, table in made.items():
        # One row a person, and a public group may tell who it is.
        formats.write(table, path, private=True)
    names = " ".join(map(str, made))
    n = sum(table.num_rows for table in tables)
    if as_json:
        output.machine({"n": n, "closed": closed, "output": [str(path) for path in made]})
        return
    if close:
        output.say("The survey is closed.")
    output.say(
        f"{counted(n, 'report')} in {' and '.join(map(str, made))}, in random order.",
        f"Next: confide results {survey} {names} -o results.html"
        + "".join(f" --by {shlex.quote(name)}" for name in asked.groups)
        + (f" --invited {invited}" if invited else ""),
    )


def _numbered(path: Path, phase: int) -> Path:
    """The file of a phase."""
    return path.with_stem(f"{path.stem}-{phase}")
