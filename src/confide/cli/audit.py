"""`confide audit`: check that every question of a survey keeps its epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.accounting.spend import odds, rounded_up
from confide.cli import output, partitions
from confide.cli.options import JsonOption, PlotOption, plottable
from confide.cli.parsing import harmless
from confide.files.paths import counted
from confide.survey import Survey

if TYPE_CHECKING:
    from confide.audits import SurveyAudit


def audit(
    survey: Annotated[Path, typer.Argument(metavar="SURVEY", help="The survey, .toml or .json.")],
    *,
    n: Annotated[
        int, typer.Option(min=1000, help="Reports drawn for each value that is tried.")
    ] = 100_000,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that every question of a survey keeps the epsilon that it claims."""
    # Imported here, since every other verb would wait for it.
    from confide import audits

    partition = partitions.survey_of([survey])
    questions = Survey.read(survey) if partition is None else partition[0]
    plottable(plot, [survey])
    with output.shares("Auditing") as tell:
        found = audits.survey(questions, n=n, tell=tell)
    if plot is not None:
        output.save_plot(found.plot(), plot, questions.title or survey.name)
    if as_json:
        output.machine(found.to_dict())
    else:
        _tell(found, survey)
        if plot is not None:
            output.say(f"Picture: {plot}")
    if not found.holds:
        raise typer.Exit(1)


def _tell(found: SurveyAudit, path: Path) -> None:
    rows = found.rows()
    lines = [
        (
            harmless(name),
            "holds" if row["holds"] else "FAILS",
            rounded_up(row["claimed"], 4),
            "none" if row["certified"] is None else rounded_up(row["certified"], 4),
            f"{row['lower_bound']:.3f}",
        )
        for name, row in rows.items()
    ]
    head = ("question", "verdict", "claimed", "certified", "found, at least")
    output.table(f"{counted(len(rows), 'question')} of {path}", head, lines, words=2)
    output.say(
        "claimed: the epsilon that the survey states for one report.",
        "certified: the most that one report can give away, worked out exactly; it may not be "
        "above claimed.",
        "found, at least: what an attack on real reports could prove; above claimed it is a "
        "breach, and far below it is no proof of safety.",
        "",
        "What was checked:",
        *(f"  {name}: {words}" for name, words in found.checked.items()),
        "",
    )
    for name, finding in found.faults:
        output.say(f"FAULT {harmless(name) or 'all questions'}: {finding.words()}")
    for name, finding in found.untested:
        output.say(f"NOTE {harmless(name) or 'all questions'}: {finding.words()}")
    together = found.together
    if found.holds:
        output.say(
            f"Nothing was found against this survey. One respondent's answers together cost "
            f"epsilon = {rounded_up(together.claimed, 4)} at most: they change anybody's odds "
            f"about that respondent by a factor of at most {odds(together.claimed)}."
        )
    else:
        output.say("Do not collect with this survey until the faults are understood.")
    output.say(found.unseen["outside"])
