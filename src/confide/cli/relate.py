"""`confide relate`: how the answers to two questions go together."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from confide import _checks
from confide.cli import inputs, output
from confide.cli.options import InvalidOption, JsonOption, LevelOption, PlotOption, plottable
from confide.curves import Copula
from confide.errors import InvalidInput
from confide.files.paths import expand, named, writable, write_bytes
from confide.planning.pair_designs import WORTH, chosen, pair_designs
from confide.summaries import Summaries, read
from confide.summaries.forms import SUFFIXES
from confide.survey import Survey
from confide.tables.asked import are_summaries
from confide.tables.jobs import Job, tell

HEAD = re.compile(r"^\s*\[\s*relations\s*\]\s*(#.*)?$", re.MULTILINE)
THRESHOLDS = re.compile(r"^\s*at\s*=")


def relate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="The survey (.toml), and its reports (files, globs, folders) or a summary.",
        ),
    ],
    *,
    level: LevelOption = 0.95,
    n: Annotated[
        int | None,
        typer.Option(
            "--n", "-n", metavar="N", help="Show the expected errors for N people, and stop."
        ),
    ] = None,
    thresholds: Annotated[
        bool,
        typer.Option(
            "--thresholds",
            help="Take thresholds from these earlier reports of other people, and "
            "write the survey with them.",
        ),
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The new survey, .toml."),
    ] = None,
    plot: PlotOption = None,
    invalid: InvalidOption = "refuse",
    as_json: JsonOption = False,
) -> None:
    """Estimate how the answers to pairs of questions are related."""
    given, path, rest = inputs.split(files)
    survey = inputs.needed(given)
    assert path is not None
    if survey.relations is None:
        raise InvalidInput(
            "a survey that asks for pairs, with a table [relations]", f"none in {named(path)}"
        )
    if (to is not None) != thresholds:
        raise InvalidInput("--thresholds and -o NEW.toml together", "one of them")
    if plot is not None and (n is not None or thresholds):
        raise InvalidInput(
            "reports of pairs to go with --plot", "--thresholds" if thresholds else "-n"
        )
    plottable(plot, files)
    if n is not None:
        if rest or thresholds:
            raise InvalidInput(
                "-n and the survey alone",
                "reports too" if rest else "--thresholds too",
                "-n shows the expected errors before anybody is asked.",
            )
        _expected(survey, n, as_json=as_json)
    elif thresholds:
        assert to is not None
        _with_thresholds(survey, path, rest, to, invalid=invalid, as_json=as_json)
    else:
        _related(survey, summaries_of(rest, survey, invalid), level, plot, as_json=as_json)


def summaries_of(files: Sequence[Path], survey: Survey | None, invalid: str) -> Summaries:
    """Counts of all questions and pairs, from reports or from summaries of them."""
    if are_summaries(files):
        return read(expand(files, SUFFIXES))
    job = Job.open(files, survey=survey, invalid=invalid)
    with output.counter("Counting reports") as advance:
        found, left = job.run(advance)
    tell(left, job.files.doubt)
    return found


def _related(
    survey: Survey, summaries: Summaries, level: float, plot: Path | None, *, as_json: bool
) -> None:
    found = survey.relate(summaries, level=_checks.level(level))
    if not found.relations:
        raise InvalidInput("reports about pairs of questions", "none")
    if plot is not None:
        output.save_plot(found.plot(), plot, survey.title or "Correlations")
    if as_json:
        output.machine(
            {
                "n": found.facts["n"],
                "level": found.level,
                "epsilon": survey.spend.epsilon,
                "relations": [one.to_dict() for one in found.relations],
                "questions": list(found.margins),
                "correlations": found.correlations.tolist(),
            }
        )
        return
    _told(found)
    output.say(survey.spend.words(answers=1))
    if plot is not None:
        output.say(f"Picture: {plot}")


def _told(found: Copula) -> None:
    """The correlations, then a table of each relation that is about words."""
    output.table(
        f"Correlations of normal scores, {100 * found.level:g} % intervals",
        ("pair", "people", "correlation", "from", "to"),
        [
            (one.name, f"{one.n:,}", f"{one.correlation:.3f}", f"{one.low:.3f}", f"{one.high:.3f}")
            for one in found.relations
        ],
    )
    for one in found.relations:
        if not one.crossed:
            continue
        low, high = one.ends
        output.table(
            f"{one.name}: shares of the people, with intervals",
            (one.questions[0], *one.labels[1]),
            [
                (
                    label,
                    *(
                        f"{100 * share:.1f} % ({100 * a:.1f} to {100 * b:.1f})"
                        for share, a, b in zip(one.shares[at], low[at], high[at], strict=True)
                    ),
                )
                for at, label in enumerate(one.labels[0])
            ],
        )
    output.say(
        "A relation that is symmetric, or that is there for extreme answers only, does not show "
        "in one threshold each."
    )


def _expected(survey: Survey, n: int, *, as_json: bool) -> None:
    """What each way of asking for a pair tells, from the exact information of its reports."""
    relations, epsilon = survey.relations, survey.epsilon
    assert relations is not None
    assert epsilon is not None
    each = int(_checks.integer(1, n=n) * relations.share / len(relations.pairs))
    offered = any(
        survey.questions[name].mechanism.prefer_not_to_say for name in relations.questions
    )
    designs = pair_designs(epsilon, n=max(each, 1), declined=0.1 if offered else 0.0)
    taken = chosen(designs)
    if as_json:
        output.machine(
            {
                "n": n,
                "n_pair": each,
                "epsilon": epsilon,
                "designs": [
                    {"name": one.name, "classes": one.classes, "error": one.error}
                    for one in designs
                ],
                "chosen": taken.name,
            }
        )
        return
    output.table(
        f"{each:,} people for each pair, epsilon {epsilon:g}",
        ("report", "standard error of a correlation of 0.4"),
        [(one.name + " *" * (one == taken), f"{one.error:.3f}") for one in designs],
    )
    output.say(
        f"*: what confide relate --thresholds takes, {taken.name}. A table is taken if its error "
        f"is below {WORTH:.0%} of that of the bit, since it depends more on how well the "
        "distribution of each question is known."
    )
    output.say(
        "Assumed: two numbers, with thresholds at the medians (one bit) or at more quantiles "
        "(tables)" + (", and that one in ten declines." if offered else ".")
    )


def _with_thresholds(
    survey: Survey, path: Path, files: Sequence[Path], to: Path, *, invalid: str, as_json: bool
) -> None:
    """Write the survey with thresholds from earlier reports."""
    writable(to, (".toml",), [path])
    made = survey.with_thresholds(summaries_of(files, None, invalid))
    assert made.relations is not None
    at = made.relations.to_dict().get("at", {})
    write_bytes(to, inserted(path.read_text("utf-8-sig"), at).encode())
    if Survey.read(to) != made:
        to.unlink()
        raise InvalidInput(
            f"a table that begins with the line [relations] in {named(path)}",
            "the table in another form",
            "Write the thresholds by hand, or write the table with that line.",
        )
    if as_json:
        output.machine({"at": at, "output": str(to)})
        return
    output.table(
        f"Thresholds in {to}",
        ("question", "threshold"),
        [
            (name, ", ".join(f"{one:,.6g}" for one in each))
            for name, each in made.relations.at.items()
        ],
    )
    output.say(
        "They come from the private reports of people who were asked earlier, and cost these "
        "nothing more. Ask other people for pairs."
    )
    if at:
        most = max(len(each) for each in made.relations.at.values()) + 1
        report = "one bit" if most == 2 else f"a cell of a table of {most} x {most} classes"
        output.say(
            f"A report about two numbers is {report}. The exact information of the reports at "
            f"epsilon {made.epsilon:g} chose this."
        )


def inserted(text: str, at: dict[str, object]) -> str:
    """The text of a survey file with thresholds in its table [relations]."""
    found = HEAD.search(text)
    if found is None:
        raise InvalidInput("a line [relations] in the survey", "none")
    keys = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in at.items())
    head, tail = text[: found.end()], text[found.end() :]
    end = re.search(r"^\s*\[", tail, re.MULTILINE)
    own, rest = (tail, "") if end is None else (tail[: end.start()], tail[end.start() :])
    kept = "\n".join(line for line in own.split("\n") if not THRESHOLDS.match(line))
    return f"{head}\nat = {{ {keys} }}{kept}{rest}"
