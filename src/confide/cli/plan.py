"""`confide plan`: the expected error of a survey before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import output
from confide.cli.options import JsonOption, PlotOption, plottable
from confide.errors import InvalidInput
from confide.files.columns import Columns
from confide.mechanisms import numeric
from confide.planning.metrics import told_apart
from confide.planning.planner import Plan
from confide.planning.planner import plan as make_plan
from confide.planning.populations import NAMES, Population
from confide.planning.scenario import BoundsRow, best_bounds
from confide.planning.simulation import NAMES as RESPONSES


def plan(
    n: Annotated[int, typer.Option("--n", help="Respondents.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss of one report.")],
    low: Annotated[float, typer.Option(help="Lower bound of the values.")],
    high: Annotated[float, typer.Option(help="Upper bound of the values.")],
    *,
    size: Annotated[int, typer.Option(help="Cells of the lattice.")] = 1024,
    scale: Annotated[str, typer.Option(help="Of the lattice: linear or log.")] = "linear",
    population: Annotated[
        str | None,
        typer.Option(
            help=f"Stretched over the bounds: {', '.join(NAMES)}.", show_default="lognormal"
        ),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead: public values that look like those to come."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Their column.")] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option(help=f"One or more of {', '.join(numeric())}.")
    ] = None,
    shape: Annotated[float | None, typer.Option(help="Of two-sided gamma noise.")] = None,
    response: Annotated[
        str | None, typer.Option(help=f"For a regression, a curve: {', '.join(RESPONSES)}.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Which error --target and --plot are about; w1 if not said.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Error wanted, as VALUE or METRIC=VALUE: what does it take?")
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Also plan the printed intervals of quantiles.")
    ] = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Also compare narrower and wider bounds.")
    ] = False,
    surveys: Annotated[
        int | None, typer.Option(help="Surveys to simulate at most: fewer are faster and rougher.")
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the error to expect before anybody is asked, or what a wanted error takes."""
    plottable(plot, [pilot] if pilot else [])
    metric, wanted = _target(metric, target)
    guess = _guess(population, pilot, column)
    # What is not given has the library's default.
    options = {"shape": shape, "mechanisms": mechanism or None, "surveys": surveys}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    with output.shares("Simulating surveys") as told:
        made = make_plan(
            n=n,
            epsilon=epsilon,
            low=low,
            high=high,
            size=size,
            scale=scale,
            population=guess,
            response=response,
            intervals=intervals,
            metric=metric,
            told=told,
            **given,
        )
    answers = table = None
    if wanted is not None:
        with output.progress("Looking for the target", None):
            answers = made.reach(wanted, metric=metric)
    if bounds:
        with output.progress("Comparing bounds", None):
            table = made.bounds(metric=told_apart(metric))
    if plot is not None:
        with output.shares("Drawing") as told:
            display = made.plot(metric=metric, told=told)
        output.save_plot(display, plot, f"{made.name}, n={n:,}, epsilon={epsilon:g}")
    if as_json:
        fields = made.to_dict()
        if answers is not None:
            fields["target"] = answers.to_dict()
        if table is not None:
            fields["bounds"] = [row.to_dict() for row in table]
        output.machine(fields)
        return
    _show(made, metric)
    if answers is not None:
        output.say(*answers.words())
    if table is not None:
        _show_bounds(table, told_apart(metric))
    if plot is not None:
        output.say(f"Picture: {plot}")


def _target(metric: str | None, text: str | None) -> tuple[str, float | None]:
    """The metric and the error wanted."""
    if text is None:
        return metric or "w1", None
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


def _show_bounds(table: tuple[BoundsRow, ...], metric: str) -> None:
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
