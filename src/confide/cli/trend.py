"""`confide trend`: a quantity from round to round."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from confide import _checks
from confide.cli import inputs, output
from confide.cli.options import (
    InvalidOption,
    JsonOption,
    LevelOption,
    PlotOption,
    QuestionOption,
    plottable,
)
from confide.errors import ConfideWarning
from confide.estimators.trends import ROUND, SHARED_ROUNDS, Trend
from confide.estimators.trends import trend as fitted


def trend(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="Reports of a survey with rounds, or summaries of them by round; a .toml is the "
            "survey.",
        ),
    ],
    *,
    question: QuestionOption = None,
    category: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="The category whose share is shown, for a question with categories.",
        ),
    ] = None,
    level: LevelOption = 0.95,
    plot: PlotOption = None,
    invalid: InvalidOption = "refuse",
    as_json: JsonOption = False,
) -> None:
    """Estimate how a mean or a share changes from round to round."""
    level = _checks.level(level)
    plottable(plot, files)
    survey, _, _ = inputs.split(files)
    found = inputs.question_of(files, question, by=[ROUND], invalid=invalid)
    if survey is not None and survey.times > 1:
        warnings.warn(SHARED_ROUNDS, ConfideWarning, stacklevel=2)
    made = fitted(found.summaries.groups(), category=category, level=level)
    if plot is not None:
        output.save_plot(made.plot(), plot, f"{found.question or 'Answers'} by round")
    if as_json:
        output.machine({"question": found.question or None, **made.to_dict()})
        return
    _table(made, found.question)
    if plot is not None:
        output.say(f"Picture: {plot}")


def _table(made: Trend, question: str) -> None:
    """Print it for people."""
    number = output.format_of([one.value for one in made.rounds.values()])
    rows = []
    for at, one in made.rounds.items():
        change = made.changes.get(at)
        rest = ("", "", "") if change is None else (change.value, change.low, change.high)
        told = [each if isinstance(each, str) else number(each) for each in rest]
        rows.append((str(at), *map(number, (one.value, one.low, one.high)), *told))
    what = made.what if made.what == "mean" else f"share of {made.what}"
    ends = f"{output.percent(made.level)} from"
    head = ("round", what, ends, "to", "change", "from", "to")
    output.table(f"{question!r} by round" if question else "By round", head, rows)
    slope = made.slope
    output.say(
        f"Change a round: {number(slope.value)}, {output.percent(made.level)} from "
        f"{number(slope.low)} to {number(slope.high)}."
    )
