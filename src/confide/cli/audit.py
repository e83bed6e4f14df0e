"""The verb of those who must trust a survey: audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide import audits
from confide._files import counted
from confide.accounting import odds, rounded_up
from confide.cli import output
from confide.cli.collect import JsonOption
from confide.cli.estimate import PlotOption, plottable
from confide.surveys import Survey

WORDS = {
    "exact": "the largest log ratio of two values' laws, over all pairs and reports, in integers",
    "grid": "the code that draws, fed all words in turn, against that law",
    "index": "missing, infinite, huge and odd values: refused, or put into a cell",
    "fit": "reports drawn as respondents' are, against that law",
    "sampled": "an attack: what two values' reports betray, with no knowledge of the law",
    "joint": "the same for all reports of one respondent together",
}


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
    questions = Survey.read(survey)
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


def _tell(found: audits.SurveyAudit, path: Path) -> None:
    rows = found.rows()
    lines = [
        (
            output.harmless(name),
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
        "certified: the loss worked out exactly from the law of the reports; it may not be above "
        "claimed.",
        "found, at least: what an attack on real reports could show; above claimed it is a "
        "breach, and far below it is no proof of safety.",
        "",
        "What was checked:",
        *(f"  {name}: {words}" for name, words in WORDS.items()),
        "",
    )
    faults = [
        f"{output.harmless(name)}: {finding.words()}"
        for name, findings in found.questions.items()
        for finding in findings
        if not finding.holds
    ]
    if not found.together.holds:
        faults.append(f"all questions: {found.together.words()}")
    output.say(*(f"FAULT {fault}" for fault in faults))
    together = found.together
    if found.holds:
        output.say(
            f"Nothing was found against this survey. One respondent's answers together cost "
            f"epsilon = {rounded_up(together.claimed, 4)} at most: they change anybody's odds "
            f"about that respondent by a factor of at most {odds(together.claimed)}."
        )
    else:
        output.say("Do not collect with this survey until the faults are understood.")
    output.say(
        "It cannot see what happens outside confide: other data about the same people, a device "
        "that sends more than its report, the time or address of sending, answers asked for again "
        "in another survey, or a machine whose source of randomness is broken."
    )
