"""`confide density` and `confide shares`: estimates of one question."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import estimates, inputs, output
from confide.cli import noised as noised_options
from confide.cli.estimates import Subject, as_dict, share_rows, shares_as_dict, table
from confide.cli.options import (
    ByOption,
    GroupOption,
    InvalidOption,
    JsonOption,
    LevelOption,
    PlotOption,
    QuestionOption,
    RakeOption,
    ReportsArgument,
    plottable,
    word_or_number,
)
from confide.errors import ConfideWarning, InvalidInput
from confide.estimators import CategoryShares
from confide.estimators.register import DENSITIES
from confide.lattice import Categories


def _noised(
    files: list[Path] | None, method: str, words: str, ranges: list[str] | None, invalid: str
) -> Subject:
    """A column and a summary of its numbers, of the kind that a method needs."""
    name, law = noised_options.law(words)
    bounds = noised_options.ranges(ranges, [name])
    chosen = DENSITIES[method]
    if chosen.bounded and name not in bounds:
        raise InvalidInput(
            f"--range {name}=LOW:HIGH, bounds of the true values",
            "none",
            "Bounds that surely hold them all are enough.",
        )
    low, high = bounds.get(name, (None, None))
    parts, left = [], 0
    for batch, out in noised_options.numbers(noised_options.file(files), [name], invalid):
        left += out
        if batch[name].size:
            if low is not None and high is not None:
                noised_options.reachable(name, batch[name], law, low, high)
            parts.append(chosen.noised(batch[name], noise=law, low=low, high=high))
    told = noised_options.tell(left)
    return Subject(
        name, sum(parts[1:], start=parts[0]), left_out=told if invalid == "drop" else None
    )


def offering(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of every method in the register, in place of ``**options``."""
    several: dict[str, list[str]] = {}
    for name, method in DENSITIES.items():
        for option, words in method.options.items():
            several.setdefault(option, []).append(f"For {name}: {words}.")
    own = [
        inspect.Parameter(
            option,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[str | None, typer.Option(help=" ".join(words))],
        )
        for option, words in several.items()
    ]
    *known, _ = inspect.signature(command, eval_str=True).parameters.values()
    at = 1 + [each.name for each in known].index("method")
    offered: Any = command
    offered.__signature__ = inspect.Signature([*known[:at], *own, *known[at:]])
    return command


@offering
def density(
    files: ReportsArgument = None,
    *,
    question: QuestionOption = None,
    group: GroupOption = None,
    by: ByOption = None,
    method: Annotated[
        str | None, typer.Option(help=f"{' or '.join(DENSITIES)}; by default the first.")
    ] = None,
    level: LevelOption = 0.95,
    noised: Annotated[
        str | None,
        typer.Option(metavar="COLUMN=LAW:SCALE", help=f"{noised_options.HELP}."),
    ] = None,
    ranges: noised_options.RangeOption = None,
    rake: RakeOption = None,
    invalid: InvalidOption = "refuse",
    plot: PlotOption = None,
    as_json: JsonOption = False,
    band: Annotated[
        bool,
        typer.Option(
            "--band", help="With --json, intervals of the density too: seconds for each group."
        ),
    ] = False,
    **options: str | None,
) -> None:
    """Estimate the density of a number, with its mean and quantiles and their intervals."""
    level = _checks.level(level)
    method, estimator = _estimator(method, options)
    plottable(plot, files or [])
    if band and not as_json:
        raise InvalidInput("--json to go with --band", "none", "A picture has the band: --plot.")
    if noised is not None:
        _alone({"question": question, "group": group, "by": by, "rake": rake})
        subject = _noised(files, method, noised, ranges, invalid)
    else:
        if ranges:
            raise InvalidInput("--noised to go with --range", "none")
        found = inputs.question_of(
            files or [], question, group=group, by=by or [], invalid=invalid, rake=rake
        )
        if isinstance(found.counts.mechanism.axes.get(""), Categories):
            raise InvalidInput(
                "a question with numbers",
                "one with categories",
                "Use confide shares for categories.",
            )
        if by and group is None:
            estimates.densities(found, estimator, level, as_json=as_json, band=band, plot=plot)
            _warn(method)
            return
        subject = Subject.of(found, group)
    curve = estimator.fit(subject.summary)
    _warn(method)
    if plot is not None:
        output.save_plot(curve.plot(level=level), plot, subject.caption(curve), name=subject.axis)
    if as_json:
        output.machine(as_dict(curve, subject, level, band=band))
        return
    table(curve, subject, level)
    if plot is not None:
        output.say(f"Picture: {plot}")


def _warn(method: str) -> None:
    if DENSITIES[method].caveat:
        warnings.warn(DENSITIES[method].caveat, ConfideWarning, stacklevel=2)


def _estimator(method: str | None, options: Mapping[str, str | None]) -> tuple[str, Any]:
    """The method and what it makes: unless it is named, the first that has all given options."""
    given = {option: text for option, text in options.items() if text is not None}
    if method is None:
        knowing = (name for name, each in DENSITIES.items() if given.keys() <= each.options.keys())
        method = next(knowing, next(iter(DENSITIES)))
    chosen = DENSITIES[_checks.one_of(tuple(DENSITIES), method=method)]
    for option in given:
        if option not in chosen.options:
            right = next(name for name, each in DENSITIES.items() if option in each.options)
            raise InvalidInput(f"--method {right} to go with --{option}", f"--method {method}")
    words = {option: word_or_number(option, text) for option, text in given.items()}
    return method, chosen.make(**words)


def shares(
    files: ReportsArgument = None,
    *,
    question: QuestionOption = None,
    group: GroupOption = None,
    by: ByOption = None,
    level: LevelOption = 0.95,
    rake: RakeOption = None,
    invalid: InvalidOption = "refuse",
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the shares of categories from randomized responses."""
    level = _checks.level(level)
    plottable(plot, files or [])
    found = inputs.question_of(
        files or [], question, group=group, by=by or [], invalid=invalid, rake=rake
    )
    subject = Subject.of(found, group)
    if not isinstance(found.counts.mechanism.axes.get(""), Categories):
        raise InvalidInput(
            "a question with categories", "one with numbers", "Use confide density for numbers."
        )
    if by and group is None:
        _no_plot(plot)
        estimates.proportions(found, level, as_json=as_json)
        return
    curve = CategoryShares().fit(found.counts)
    if plot is not None:
        output.save_plot(curve.plot(level=level), plot, subject.caption(curve))
    if as_json:
        output.machine(shares_as_dict(curve, subject, level))
        return
    rows = [(category, *map("{:.3f}".format, row)) for category, *row in share_rows(curve, level)]
    head = ("category", "share", f"{output.percent(level)} from", "to")
    output.table(subject.title(), head, rows)
    estimates.say_declined(curve, level)
    subject.say()
    if plot is not None:
        output.say(f"Picture: {plot}")


def _alone(given: Mapping[str, Any]) -> None:
    """Refuse options for reports together with numbers noised elsewhere."""
    if given["question"] is not None:
        raise InvalidInput("--noised COLUMN=LAW:SCALE to name a column", "--question")
    for option in ("group", "by", "rake"):
        if given[option]:
            raise InvalidInput(f"a summary by group to go with --{option}", "--noised")


def _no_plot(plot: Path | None) -> None:
    if plot is not None:
        raise InvalidInput(
            "--plot of one group", "--by", "A picture shows one group: add --group NAME."
        )
