"""The verb of those who have not asked anybody yet: plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.accounting import rounded_up
from confide.cli import output
from confide.cli.options import JsonOption, PlotOption, plottable
from confide.errors import InvalidInput
from confide.files.columns import Columns
from confide.mechanisms import numeric
from confide.planning.metrics import metrics
from confide.planning.planner import Answer, Plan
from confide.planning.planner import plan as make_plan
from confide.planning.populations import NAMES, Population
from confide.planning.scenario import BoundsRow, best_bounds
from confide.planning.simulation import NAMES as RESPONSES

METRICS = metrics()


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
    _checks.one_of(tuple(METRICS), metric=metric)
    if metric == "mse" and response is None:
        raise InvalidInput("--response to go with the metric mse", "none")
    guess = _guess(population, pilot, column)
    options: dict[str, Any] = {} if shape is None else {"shape": shape}
    if mechanism:
        options["mechanisms"] = mechanism
    if surveys is not None:
        options["surveys"] = surveys
    shaped = [name for name, kind in numeric().items() if "shape" in kind.extra]
    if shape is not None and not set(shaped) & set(mechanism or ()):
        raise InvalidInput(f"--mechanism {' or '.join(shaped)} to go with --shape", "none")
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
            intervals=intervals or METRICS[metric].source == "interval",
            told=told,
            **options,
        )
    answers = None if wanted is None else _answers(made, metric, wanted)
    table = None
    if bounds:
        with output.progress("Comparing bounds", None):
            table = made.bounds(metric=_bounds_metric(metric))
    if plot is not None:
        with output.shares("Drawing") as told:
            display = made.plot(metric=metric, told=told)
        output.save_plot(display, plot, f"{made.name}, n={n:,}, epsilon={epsilon:g}")
    if as_json:
        output.machine(_as_dict(made, answers, table))
        return
    _show(made, metric)
    if wanted is not None and answers is not None:
        _show_answers(made, metric, wanted, answers)
    if table is not None:
        _show_bounds(table, _bounds_metric(metric))
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


def _answers(made: Plan, metric: str, target: float) -> dict[str, Answer | InvalidInput]:
    """By more respondents and by a larger epsilon; refused only where neither will do."""
    found: dict[str, Answer | InvalidInput] = {}
    with output.progress("Looking for the target", None):
        for way, ask in (("by_n", made.n_for), ("by_epsilon", made.epsilon_for)):
            try:
                found[way] = ask(target, metric=metric)
            except InvalidInput as error:
                found[way] = error
    first = found["by_n"]
    if isinstance(first, InvalidInput) and isinstance(found["by_epsilon"], InvalidInput):
        raise first
    return found


def _as_dict(
    made: Plan,
    answers: dict[str, Answer | InvalidInput] | None,
    table: tuple[BoundsRow, ...] | None,
) -> dict[str, Any]:
    result = made.to_dict()
    if answers is not None:
        result["target"] = {
            way: vars(answer).copy() if isinstance(answer, Answer) else None
            for way, answer in answers.items()
        }
    if table is not None:
        result["bounds"] = [vars(row) | {"total": row.total} for row in table]
    return result


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
    best, price = made.best(metric), made.price
    legend = {name: METRICS[name].meaning for name in made.metrics}
    lines = [
        f"{', '.join(name for name in legend if legend[name] == meaning)}: {meaning}."
        for meaning in dict.fromkeys(legend.values())
    ]
    lines += [
        "Known to: the standard error of this simulation. The mean's error needs none, as reports "
        "have scores whose mean is that of the values.",
        f"Least {metric}: {output.number(best.error)}, by {best.mechanism} with {best.estimator}.",
        f"The price of privacy: the mean of {made.n:,} values in the open has a standard error of "
        f"{output.number(price.sampling)}, that of their reports {output.number(price.reports)}; "
        f"a curator who held the values would add about {output.number(price.privacy)} "
        "(range / (n epsilon)), and no private method can add less, up to a constant "
        "(Barber and Duchi 2014).",
    ]
    outside = made.outside
    if outside:
        lines.append(
            f"{output.percent(outside)} of this population lies beyond the bounds; what clipping "
            "costs is part of the errors of w1 and the mean."
        )
    output.say(*lines)


def _show_answers(
    made: Plan, metric: str, target: float, answers: dict[str, Answer | InvalidInput]
) -> None:
    goal = f"For {metric} = {output.number(target)}"
    for way, answer in answers.items():
        if isinstance(answer, InvalidInput):
            output.say(answer.advice)
        elif way == "by_n":
            output.say(
                f"{goal} at epsilon={made.epsilon:g}: about {_round(answer.n):,} respondents, by "
                f"{answer.mechanism}."
            )
        else:
            output.say(
                f"{goal} with {made.n:,} respondents: epsilon about "
                f"{rounded_up(answer.epsilon, 2)}, by {answer.mechanism}."
            )


def _round(n: int) -> int:
    """Two digits are all that a simulation can vouch for; rounded up, to be enough."""
    step: int = 10 ** max(len(str(n)) - 2, 0)
    return -(-n // step) * step


def _bounds_metric(metric: str) -> str:
    """The metric itself where it is known what clipping costs, else w1."""
    return metric if METRICS[metric].floor else "w1"


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
