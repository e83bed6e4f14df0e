"""`confide plan`: the expected error of a survey before it runs."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide import _checks
from confide.cli import output
from confide.cli.options import JsonOption, PlotOption, plottable
from confide.cli.verbs import EXAMPLES
from confide.errors import InvalidInput
from confide.files import arrow
from confide.files.columns import Columns
from confide.files.formats import readable
from confide.files.paths import ends, writable
from confide.mechanisms import numeric
from confide.planning.answers import Answers
from confide.planning.metrics import told_apart
from confide.planning.planner import Plan
from confide.planning.planner import plan as make_plan
from confide.planning.populations import NAMES, Population
from confide.planning.scenario import BoundsRow, best_bounds
from confide.planning.simulation import NAMES as RESPONSES

if TYPE_CHECKING:
    from confide.planning.survey_plans import SurveyPlan


ALONE = (
    *("low", "high", "size", "scale", "population", "pilot", "column", "mechanism", "shape"),
    *("response", "metric", "intervals", "bounds"),
)
"""Options of a plan for one question, which a survey file answers itself."""
TWO = (
    "Two groups: the two smallest, as the only comparison. Marked in results: the smallest group "
    "against everybody else, at a level that allows for all comparisons of the survey.",
)
PAGES = (".html", ".md", ".json", ".csv", ".parquet")
"""What results are written as."""
SEED = 1
"""Made-up answers are the same each time."""
ZERO = ("± 0: so many surveys find the median of the whole numbers exactly.",)
WHOLE = ("ask", "by", "guess", "example")
"""Options that need a survey file."""


def plan(
    survey: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SURVEY]", help="A survey file: plan all of it.", show_default=False
        ),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Respondents.", show_default=False)] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Epsilon of one report; with a survey, the total for one person."),
    ] = None,
    low: Annotated[float | None, typer.Option(help="Lower bound of the values.")] = None,
    high: Annotated[float | None, typer.Option(help="Upper bound of the values.")] = None,
    *,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="The error to reach: VALUE or METRIC=VALUE, or "
            "QUESTION.QUANTITY=VALUE with a survey, such as pay.mean=2000 or "
            "smokes.yes=0.02 (can be repeated). Finds --n or --epsilon if one is missing."
        ),
    ] = None,
    ask: Annotated[
        int | None, typer.Option(help="Number of questions for each person; overrides the survey.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=GROUPS",
            help="Groups to compare: region=4, or shares region=0.5,0.3,0.2.",
        ),
    ] = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTION=GUESS",
            help="Answers to plan for: pay=normal, pay=lognormal:0..90000, pay=pilot.csv, "
            "smokes=no:0.7,yes:0.3, pay.declined=0.1.",
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Cells of the lattice.", show_default="1024")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Scale of the lattice: linear or log.", show_default="linear")
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            help=f"Stretched over the bounds: {', '.join(NAMES)}.", show_default="lognormal"
        ),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Public values like those to come, instead of --population."
        ),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column of these numbers.")] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option(help=f"One or more of {', '.join(numeric())}.")
    ] = None,
    shape: Annotated[float | None, typer.Option(help="Shape of two-sided gamma noise.")] = None,
    response: Annotated[
        str | None, typer.Option(help=f"For a regression, a curve: {', '.join(RESPONSES)}.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="The error for --target and --plot; w1 by default.")
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Also plan the printed intervals of quantiles.")
    ] = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Also compare narrower and wider bounds.")
    ] = False,
    surveys: Annotated[
        int | None,
        typer.Option(
            help="Largest number of simulated surveys; fewer are faster and less precise."
        ),
    ] = None,
    plot: PlotOption = None,
    example: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the results of made-up answers, to show: .html, .md, .json, .csv or "
            ".parquet.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the error of a survey before it runs, or find the people or epsilon it needs."""
    given = dict(locals())
    if survey is not None:
        _refuse(given, ALONE, "no survey file")
        _whole(survey, given, plot, as_json=as_json)
        return
    _refuse(given, WHOLE, "a survey file")
    if low is None or high is None:
        raise InvalidInput(
            "--low and --high of the values, or a survey file",
            "neither" if low is None and high is None else "one of them",
            f"For example: {EXAMPLES['plan']}.",
        )
    plottable(plot, [pilot] if pilot else [])
    metric, wanted = _target(metric, target)
    alone = wanted is not None and (n is None or epsilon is None)
    # What is not given has the library's default.
    options = {
        "size": size,
        "scale": scale,
        "shape": shape,
        "mechanisms": mechanism or None,
        "surveys": surveys,
        "target": wanted if alone else None,
    }
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    with output.shares("Simulating surveys") as told:
        made = make_plan(
            n=n,
            epsilon=epsilon,
            low=low,
            high=high,
            population=_guess(population, pilot, column),
            response=response,
            intervals=intervals,
            metric=metric,
            told=told,
            **chosen,
        )
    answers = table = None
    if made.answer is not None:
        answers = Answers(made.answer, None) if n is None else Answers(None, made.answer)
    elif wanted is not None:
        with output.progress("Looking for the target", None):
            answers = made.reach(wanted, metric=metric)
    if bounds:
        with output.progress("Comparing bounds", None):
            table = made.bounds(metric=told_apart(metric))
    if plot is not None:
        with output.shares("Drawing") as told:
            display = made.plot(metric=metric, target=wanted, told=told)
        output.save_plot(display, plot, f"{made.name}, n={made.n:,}, epsilon={made.epsilon:g}")
    if as_json:
        fields = made.to_dict()
        if answers is not None:
            fields["target"] = answers.to_dict()
        if table is not None:
            fields["bounds"] = [row.to_dict() for row in table]
        output.machine(fields)
        return
    if answers is not None:
        output.say(*answers.words())
    _show(made, metric)
    if table is not None:
        _show_bounds(table, told_apart(metric), stretched=pilot is None)
    if plot is not None:
        output.say(f"Picture: {plot}")


def _refuse(given: dict[str, Any], options: Sequence[str], needed: str) -> None:
    """Refuse options that do not go with the form of the command."""
    for name in options:
        if given[name] is not None and given[name] is not False and given[name] != []:
            came = "none" if needed == "a survey file" else "one"
            raise InvalidInput(f"{needed} to go with --{name}", came)


def _whole(path: Path, given: dict[str, Any], plot: Path | None, *, as_json: bool) -> None:
    """Plan a whole survey."""
    # A plan for one question does not need the code for surveys.
    from confide.planning.survey_plans import plan_survey
    from confide.questions import Questionnaire

    survey = Questionnaire.read(path)
    plottable(plot, [path])
    example: Path | None = given["example"]
    if example is not None:
        writable(example, PAGES, [path])
        for name in ("epsilon", "ask"):
            if given[name] is not None:
                raise InvalidInput(
                    f"no --{name} to go with --example", "one", f"Write {name} into {path.name}."
                )
    options = {name: given[name] for name in ("n", "epsilon", "ask")}
    if given["surveys"] is not None:
        options["surveys"] = given["surveys"]
    target, by, guess = (_pairs(name, given[name]) for name in ("target", "by", "guess"))
    guesses = {name: _answers(name, value) for name, value in guess.items()}
    with output.shares("Simulating surveys") as told:
        made = plan_survey(
            survey,
            target={name: _number(name, value) for name, value in target.items()},
            by=by,
            guesses=guesses,
            told=told,
            **options,
        )
    if example is not None:
        _example(path, made, guesses, example)
    if plot is not None:
        with output.progress("Drawing", None):
            display = made.plot()
        output.save_plot(display, plot, display.title)
    if as_json:
        output.machine(made.to_dict())
        return
    _show_survey(made)
    if plot is not None:
        output.say(f"Picture: {plot}")
    if example is not None:
        output.say(f"Results of made-up answers: {example}")


def _example(path: Path, made: SurveyPlan, guesses: dict[str, Any], to: Path) -> None:
    """Write the results of a simulated survey, which say that nobody answered."""
    from confide.planning.examples import answers
    from confide.survey import Survey

    survey, shares = Survey.read(path), made.scenario.by
    drawn = answers(survey, n=made.n, given=guesses, by=shares, seed=SEED)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reports.parquet"
        reports = survey.simulate(arrow.table_of(drawn), seed=SEED, keep=list(shares))
        arrow.arrow("pyarrow.parquet").write_table(reports, file)
        counts = survey.summarize(file, by=list(shares) or None)
    with output.shares("Estimating") as advance:
        results = survey.estimate(counts, progress=lambda done, total: advance(done / total))
    results.save(to)


def _pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """What was given as NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, mark, value = text.partition("=")
        if not mark or not name.strip():
            raise InvalidInput(f"--{option} as NAME=VALUE", repr(text))
        if name.strip() in found:
            raise InvalidInput(f"--{option} {name.strip()} once", "it twice")
        found[name.strip()] = value.strip()
    return found


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"a number for {name}", repr(text)) from None


def _answers(name: str, text: str) -> Any:
    """A guess: values of a file, a share of people who decline, or words that the library reads."""
    path, _, column = text.rpartition(":")
    file, own = (text, name) if ends(Path(text), readable()) else (path, column)
    if ends(Path(file), readable()):
        with output.counter("Reading") as tell:
            ((label, numbers),) = Columns.open(file, own).read(tell).items()
        return Population.of_values(numbers, name=f"pilot {label!r}")
    return _number(name, text) if name.endswith(".declined") else text


def _target(metric: str | None, texts: list[str] | None) -> tuple[str, float | None]:
    """The metric and the error wanted."""
    if not texts:
        return metric or "w1", None
    if len(texts) > 1:
        raise InvalidInput("--target once", f"it {len(texts)} times", "A survey may have several.")
    (text,) = texts
    name, mark, number = text.rpartition("=")
    if mark and metric is not None and name.strip() != metric:
        raise InvalidInput(f"one metric for --target, {metric}", repr(text))
    try:
        value = float(number)
    except ValueError:
        raise InvalidInput("--target as VALUE or METRIC=VALUE", repr(text)) from None
    return (name.strip() if mark else metric) or "w1", _checks.positive(target=value)


def _guess(name: str | None, pilot: Path | None, column: str | None) -> str | Population:
    if pilot is None:
        if column is not None:
            raise InvalidInput("--pilot to go with --column", "none")
        return name or "lognormal"
    if name is not None:
        raise InvalidInput("either --population or --pilot", "both")
    with output.counter("Reading") as tell:
        ((label, numbers),) = Columns.open(pilot, column).read(tell).items()
    return Population.of_values(numbers, name=f"pilot {label!r}")


def _show(made: Plan, metric: str) -> None:
    lattice = made.lattice
    rows = []
    for row in made.rows:
        plus = f"± {output.number(row.standard_error)}" if row.standard_error else "exact"
        rows.append((row.metric, row.mechanism, row.estimator, output.number(row.error), plus))
    output.table(
        f"{made.n:,} respondents, epsilon={made.epsilon:g}, values from "
        f"{output.number(lattice.low)} to {output.number(lattice.high)}, "
        f"population: {made.name}",
        ("metric", "mechanism", "estimator", "error", "known to"),
        rows,
        words=3,
    )
    output.say(*made.words(metric))


def _show_bounds(table: tuple[BoundsRow, ...], metric: str, *, stretched: bool) -> None:
    best = best_bounds(table)
    rows = [
        (
            f"{output.number(row.low)} .. {output.number(row.high)}"
            + (" *" if row is best else ""),
            output.percent(row.outside),
            *map(output.number, (row.clip, row.noise, row.total)),
        )
        for row in table
    ]
    output.table(
        f"What bounds cost, by {metric}", ("bounds", "outside", "clipping", "noise", "total"), rows
    )
    output.say(
        f"* Least total: {output.number(best.low)} .. {output.number(best.high)}, for this "
        "population. Clipping costs the same however many answer; noise grows with the range."
    )
    if stretched:
        output.say(
            "This population is a guess stretched over the bounds that you gave, so it says "
            "nothing of people beyond them: --pilot takes public values of similar people."
        )


def _show_survey(made: SurveyPlan) -> None:
    """The answers first, then the tables behind them."""
    output.say(*made.words())
    rows = []
    for name, own in _grouped(made.rows, lambda row: row.question):
        for quantity, row in _merged(own, lambda row: row.error):
            known = "exact" if row.is_exact else f"± {_size(row.standard_error, row)}"
            rows.append(
                (
                    name,
                    quantity,
                    f"{row.n:,}",
                    f"{row.epsilon:.3g}",
                    f"± {_size(row.error, row)}",
                    known,
                    f"± {_size(row.sampling, row)}",
                )
            )
    output.say("")
    output.table(
        f"Expected errors: {output.percent(made.level)} of surveys come so close",
        ("question", "quantity", "asked", "epsilon", "error", "known to", "in the open"),
        rows,
        words=2,
    )
    if made.pairs:
        output.table(
            "Expected errors of a correlation of 0.4",
            ("pair", "asked", "report", "error"),
            [(one.pair, f"{one.n:,}", one.report, f"± {one.error:.2g}") for one in made.pairs],
        )
    if made.differences:
        output.table(
            "Smallest differences that 80 % of surveys show",
            ("question", "quantity", "by", "in a group", "two groups", "marked in results"),
            [
                (
                    name,
                    quantity,
                    one.by,
                    f"{one.n:,}",
                    _size(one.difference, one),
                    _size(one.in_results, one),
                )
                for (name, _), own in _grouped(made.differences, lambda one: (one.question, one.by))
                for quantity, one in _merged(own, lambda one: one.difference)
            ],
            words=3,
        )
    if made.designs:
        best = made.recommended
        output.table(
            "Asking all questions, some or one of each person, at the same epsilon in all",
            ("questions", "asked each", "epsilon each", "errors, relative"),
            [
                (
                    f"{one.ask}{' *' if one is best else ''}",
                    f"{one.n:,}",
                    f"{one.epsilon:.3g}",
                    f"{one.relative:.2f}",
                )
                for one in made.designs
            ],
        )
    whole = any(not size for row in made.rows for size in (row.error, row.sampling))
    output.say(
        "Errors are half-widths. Those of means and shares follow from the law of the reports; "
        "medians are simulated, and known to: the standard error of that simulation. In the open: "
        "if everybody answered everything without noise.",
        *ZERO[:whole],
        *TWO[: bool(made.differences)],
        "Another guess: --guess QUESTION=..."
        + (" Groups are taken to have the same answers." if made.differences else ""),
    )


def _grouped(rows: Sequence[Any], key: Callable[[Any], Any]) -> list[tuple[Any, list[Any]]]:
    return [(name, list(own)) for name, own in itertools.groupby(rows, key)]


def _merged(own: list[Any], size: Callable[[Any], float]) -> list[tuple[str, Any]]:
    """Rows of one question with their names; shares that are equally uncertain have one."""
    shares = [row for row in own if row.is_category]
    others = [row for row in own if not row.is_category]
    sizes = [size(row) for row in shares]
    if len(shares) > 1 and math.isclose(min(sizes), max(sizes)):
        return [("each share", shares[0]), *((row.quantity, row) for row in others)]
    return [(row.quantity, row) for row in own]


def _size(error: float, row: Any) -> str:
    if row.is_share:
        return f"{output.number(float(f'{100 * error:.2g}'))} points"
    return output.number(float(f"{error:.3g}"))
