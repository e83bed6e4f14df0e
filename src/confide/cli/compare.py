"""The verb that compares two groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import inputs, output
from confide.cli.collect import JsonOption, QuestionOption
from confide.cli.commands import harmless
from confide.cli.estimate import LevelOption
from confide.cli.results import Subject
from confide.curves import Density, Difference, Proportions, difference
from confide.errors import InvalidInput
from confide.estimators import CategoryShares, Likelihood
from confide.lattice import Categories
from confide.summaries.files import SUFFIXES

WHAT = ("mean", "median", "quantile", "cdf", "share")


def compare(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES GROUP GROUP",
            help="Summaries made with --by, then the names of two groups; a .toml is the survey.",
        ),
    ],
    *,
    question: QuestionOption = None,
    what: Annotated[
        str | None, typer.Option(help=" | ".join(WHAT), show_default="mean and median, or shares")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="For quantile a share, for cdf a value, for share a category."),
    ] = None,
    level: LevelOption = 0.95,
    as_json: JsonOption = False,
) -> None:
    """Compare two groups of respondents, with an interval for the difference."""
    level = _checks.level(level)
    files, names = _split(given)
    found = inputs.question_of(files, question)
    pairs = [Subject.of(found.group(group)) for group in names]
    axis = found.counts.mechanism.axes.get("")
    labels = axis.labels if isinstance(axis, Categories) else None
    wanted = _wanted(what, at, labels)
    estimator: Any = Likelihood() if labels is None else CategoryShares()
    curves: list[Density | Proportions] = []
    with output.progress("Estimating", len(names) + len(wanted)) as advance:
        for subject in pairs:
            curves.append(estimator.fit(subject.summary))
            advance(1)
        results = []
        for kind, place in wanted:
            results.append(difference(curves[0], curves[1], kind, place, level=level))
            advance(1)
    if as_json:
        output.machine(_as_dict(pairs, names, curves[0], results, level))
    else:
        _table(pairs, names, results, level)


def _split(given: list[str]) -> tuple[list[Path], list[str]]:
    """Files by their suffix; what is left are the groups."""
    endings = (*SUFFIXES, ".toml")
    files = [Path(text) for text in given if Path(text).suffix in endings]
    names = [text for text in given if Path(text).suffix not in endings]
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidInput(
            "the names of two groups",
            ", ".join(map(repr, names)) or "none",
            "For example: confide compare counts.json --question pay north south.",
        )
    if all(path.suffix == ".toml" for path in files):
        raise InvalidInput(f"at least one {' or '.join(SUFFIXES)} file", "none")
    return files, names


def _wanted(
    what: str | None, at: str | None, labels: tuple[str, ...] | None
) -> list[tuple[str, Any]]:
    """The quantities to compare and where."""
    if what is not None:
        _checks.one_of(WHAT, what=what)
        if (what == "share") != (labels is not None):
            kind = "numbers" if labels is None else "categories"
            raise InvalidInput(f"a --what for {kind}", f"--what {what}")
    if at is not None and what not in ("quantile", "cdf", "share"):
        raise InvalidInput("--what quantile, cdf or share to go with --at", f"--what {what}")
    if labels is not None:
        return [("share", label) for label in ((at,) if at is not None else labels)]
    if what in ("quantile", "cdf"):
        if at is None:
            raise InvalidInput(f"--at to go with --what {what}", "none")
        try:
            return [(what, float(at))]
        except ValueError:
            raise InvalidInput("a number for --at", repr(at)) from None
    known = {"mean": ("mean", None), "median": ("quantile", 0.5)}
    return [known[word] for word in ([what] if what is not None else known)]


def _as_dict(
    pairs: list[Subject],
    names: list[str],
    curve: Density | Proportions,
    results: list[Difference],
    level: float,
) -> dict[str, Any]:
    first = pairs[0]
    return {
        "question": first.name or None,
        "groups": names,
        "n": [subject.summary.n for subject in pairs],
        "epsilon": first.facts(curve)["epsilon"],
        "method": curve.facts["method"],
        "missing": first.missing,
        "level": level,
        "differences": [
            {
                "what": _word(one),
                "at": one.at,
                "estimates": [one.first, one.second],
                "difference": one.value,
                "interval": [one.low, one.high],
                "certain": one.certain,
            }
            for one in results
        ],
    }


def _word(one: Difference) -> str:
    return "median" if (one.what, one.at) == ("quantile", 0.5) else one.what


def _title(one: Difference) -> str:
    """A quantity as people say it."""
    word = _word(one)
    if word == "cdf":
        return f"share up to {output.number(float(one.at or 0))}"
    if word == "quantile":
        return f"{output.percent(float(one.at or 0))} quantile"
    return f"share of {one.at}" if word == "share" else word


def _table(pairs: list[Subject], names: list[str], results: list[Difference], level: float) -> None:
    shown = [harmless(name) for name in names]
    number = output.format_of([x for one in results for x in (one.first, one.second, one.value)])
    rows = [
        (_title(one), *map(number, (one.first, one.second, one.value, one.low, one.high)))
        for one in results
    ]
    many = " and ".join(
        f"{subject.many} in {name}" for subject, name in zip(pairs, shown, strict=True)
    )
    about = f"{pairs[0].name!r}: " if pairs[0].name else ""
    head = ("", *shown, "difference", f"{output.percent(level)} from", "to")
    output.table(f"{about}{many}", head, rows)
    for one in results:
        if not one.certain:
            output.say(f"The {_title(one)} may be the same in both: the interval holds 0.")
            continue
        side = "higher" if one.value > 0 else "lower"
        ends = sorted(map(abs, (one.low, one.high)))
        output.say(
            f"The {_title(one)} is {side} in {shown[0]} than in {shown[1]}, "
            f"by {number(ends[0])} to {number(ends[1])}."
        )
    pairs[0].say()
