"""`confide phase`: the survey of the next phase, and both phases together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import inputs, output
from confide.cli.options import JsonOption
from confide.errors import InvalidInput
from confide.estimators.zooms import eligible, zoom
from confide.files.paths import counted, expand, writable, write_bytes
from confide.files.settings import toml_of
from confide.lattice import Lattice
from confide.summaries import Counts, Summaries
from confide.summaries.files import load
from confide.summaries.forms import SUFFIXES
from confide.survey import Survey


def phase(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SURVEY SUMMARIES",
            help="The survey of the first phase and its summary; or the survey of the second, and "
            "the summaries of both phases in their order.",
        ),
    ],
    to: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The survey of the second phase, .toml; or the summary of both phases, .json.",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Make the survey of the second phase, or put the summaries of both phases together."""
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    found = expand(rest, SUFFIXES)
    if survey.phases is None:
        raise InvalidInput("a survey with [phases]", "one without")
    parts = [load(one) for one in found]
    known = [*found, *([path] if path else [])]
    if survey.phases.now == 1:
        if len(parts) != 1:
            raise InvalidInput(
                "one summary of the first phase",
                counted(len(parts), "file"),
                "confide merge makes one of several.",
            )
        writable(to, (".toml",), known)
        _next(survey, parts[0], to, as_json)
        return
    if len(parts) != 2:
        raise InvalidInput(
            "the summary of the first phase and that of the second", counted(len(parts), "file")
        )
    writable(to, SUFFIXES[:1], known)
    both = survey.combine(*parts)
    both.save(to)
    # Where each person is asked some of the questions, no single one has all respondents.
    n = round(sum(one.n for one in both.values()) / survey.asks) if survey.ask else both.n
    if as_json:
        output.machine({"n": n, "questions": list(both), "output": str(to)})
        return
    output.say(f"Both phases, {n:,} respondents: {to}")


def _next(survey: Survey, summaries: Summaries, to: Path, as_json: bool) -> None:
    """Write the survey of the second phase, and say what changed."""
    made = survey.next_phase(summaries)
    zooms = {
        name: axis.zoom
        for name, question in made.questions.items()
        if isinstance(axis := question.axis, Lattice) and axis.zoom is not None
    }
    kept = {name: _kept(summaries[name]) for name in made.questions if name not in zooms}
    write_bytes(to, toml_of(made.to_dict()).encode())
    if as_json:
        told = {name: list(ends) for name, ends in zooms.items()}
        output.machine({"zooms": told, "kept": kept, "output": str(to)})
        return
    for name in made.questions:
        if name in zooms:
            low, high = zooms[name]
            output.say(f"{name}: nine tenths of the cells from {low:,.10g} to {high:,.10g}.")
        else:
            output.say(f"{name}: the same cells as before, since {kept[name]}.")
    output.say(f"Survey of the second phase: {to}")


def _kept(counts: Counts) -> str:
    """Why a question keeps its cells."""
    if not eligible(counts.mechanism):
        return "only numbers on a linear scale with square waves get others"
    return zoom(counts).reason
