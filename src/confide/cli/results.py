"""`confide results`: the finished results of a whole survey."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import inputs, output
from confide.cli.options import (
    InvalidOption,
    JsonOption,
    LevelOption,
    RakeOption,
    UnstampedOption,
)
from confide.errors import InvalidInput, Mismatch
from confide.files.paths import expand, writable
from confide.results import Results, tables, telling
from confide.results.saving import FORMATS
from confide.summaries import Summaries, raking, read
from confide.summaries.forms import SUFFIXES
from confide.summaries.groups import label
from confide.survey import Survey
from confide.tables.asked import are_summaries, no_reports
from confide.tables.jobs import Job, tell
from confide.tables.public import Public

HIDDEN = 12
"""Groups whose rows the terminal shows, at most; files have all of them."""


def results(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="The survey (.toml), and its reports (files, globs, folders) or a summary.",
        ),
    ],
    *,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Results for each group of a public column; can be repeated. By "
            "default the survey's groups, if the files have them.",
        ),
    ] = None,
    to: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help=f"Where to write them: {', '.join(FORMATS)}; repeat it.",
        ),
    ] = None,
    invited: Annotated[
        int | None, typer.Option(metavar="N", help="How many people were invited to answer.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A public column of survey weights.")
    ] = None,
    rake: RakeOption = None,
    level: LevelOption = 0.95,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Accept simulated reports, which are not private.")
    ] = False,
    invalid: InvalidOption = "refuse",
    unstamped: UnstampedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the results of a whole survey: every question, every group, privacy and methods."""
    level = _checks.level(level)
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    assert path is not None
    margins = None if rake is None else raking.read(rake)
    columns = list(dict.fromkeys(by or ()))
    if margins is not None:
        columns = list(dict.fromkeys([*(columns or survey.groups), *margins]))
    found = _summaries(survey, rest, columns, weights, invalid, unstamped=unstamped)
    if margins is not None:
        found = found.rake(margins)
    if not simulated and any(found[name].simulated for name in found):
        raise Mismatch(
            "private reports",
            "simulated ones",
            "They are not private; --simulated makes results of them that say so.",
        )
    for one in to or ():
        writable(one, tuple(FORMATS), [path, *(file for file in rest if file.is_file())])
    with output.shares("Estimating") as advance:
        made = survey.estimate(
            found,
            level=level,
            invited=invited,
            progress=lambda done, total: advance(done / total),
        )
    for one in to or ():
        made.save(one)
    if as_json:
        output.machine({**made.to_dict(), "output": [str(one) for one in to or ()]})
        return
    _told(made)
    if to:
        output.say(f"Results: {', '.join(map(str, to))}")
    else:
        output.say(f"Next: confide results {path} ... -o results.html writes the whole page.")


def _summaries(
    survey: Survey,
    files: Sequence[Path],
    by: list[str],
    weights: str | None,
    invalid: str,
    *,
    unstamped: bool,
) -> Summaries:
    """The counts of all questions, by group, from reports or from summaries of them."""
    if not are_summaries(files):
        public = Public(weights, None, None)
        job = _opened(files, by, survey=survey, public=public, invalid=invalid, unstamped=unstamped)
        with output.counter("Counting reports") as advance:
            found, left = job.run(advance)
        tell(left, job.files.doubt)
        return found
    if invalid == "drop":
        raise no_reports("a summary")
    if unstamped:
        raise InvalidInput("reports to go with --unstamped", "a summary")
    if weights is not None:
        raise InvalidInput(
            "reports to go with --weights", "a summary", "Summarize with --weights COLUMN."
        )
    found = read(expand(files, SUFFIXES))
    if not by:
        return found
    parts = {name: found.groups(name).coarser(by) for name in found}
    return Summaries(parts)


def _opened(files: Sequence[Path], by: list[str], *, survey: Survey, **asked: Any) -> Job:
    """The files of reports, by the columns that were asked for or else those of the survey."""
    if by or not survey.groups:
        return Job.open(files, survey=survey, by=by or None, **asked)
    try:
        return Job.open(files, survey=survey, by=list(survey.groups), **asked)
    except InvalidInput:
        # Reports may lack their public columns; other faults are reported below.
        return Job.open(files, survey=survey, **asked)


def _told(made: Results) -> None:
    """The answer first, then a table, and what it cost."""
    output.say(*telling.opening(made)[:1])
    table = tables.glance(made)
    output.table("", table.head, table.rows)
    if made.relations:
        related = tables.relations(made)
        output.table("Relations", related.head, related.rows)
    for by in made.by:
        n = max(len(one.groups.get(by, {})) for one in made.values())
        output.say(f"By {by}: {n:,} groups.")
    if words := telling.compared(made):
        output.say(words)
        for line in _differing(made):
            output.say(line)
    survey = made.questionnaire
    if survey is not None and not made.simulated:
        output.say(survey.spend.words(answers=survey.asks * survey.times))


def _differing(made: Results) -> list[str]:
    """The groups that differ from everybody else, a line for each question."""
    lines = []
    for name, result in made.items():
        for by, own in result.groups.items():
            found = [
                f"{label(key)} {sign}" + ("" if gap.name == "mean" else f" ({gap.name})")
                for key, one in own.items()
                for gap in one.differences
                if (sign := tables.mark(gap))
            ]
            if found:
                more = f" and {len(found) - HIDDEN} more" if len(found) > HIDDEN else ""
                lines.append(f"  {name}, by {by}: {', '.join(found[:HIDDEN])}{more}")
    return lines
