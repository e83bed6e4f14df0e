"""`confide compare`: the difference between two groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from confide import _checks
from confide.cli import inputs, output
from confide.cli.estimates import Subject
from confide.cli.options import JsonOption, LevelOption, QuestionOption
from confide.cli.parsing import harmless
from confide.curves import Density, Difference, Proportions, difference
from confide.curves.forms import DECLINED
from confide.errors import InvalidInput
from confide.estimators import Adaptive, CategoryShares
from confide.lattice import Categories
from confide.summaries import Summaries
from confide.summaries.forms import SUFFIXES
from confide.summaries.groups import label
from confide.tables import Asked

OTHERS = "all others"
WHAT = ("mean", "median", "quantile", "cdf", "share", DECLINED)


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
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Compare the groups of this column: groups that differ in others only are added "
            "up; can be repeated.",
        ),
    ] = None,
    what: Annotated[
        str | None, typer.Option(help=" | ".join(WHAT), show_default="mean and median, or shares")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="For quantile a share, for cdf a value, for share a category."),
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Compare every group with all others together.")
    ] = False,
    level: LevelOption = 0.95,
    as_json: JsonOption = False,
) -> None:
    """Compare two groups of respondents, with an interval for the difference."""
    level = _checks.level(level)
    files, names = _split(given, each=each)
    found = inputs.question_of(files, question, by=by or [])
    axis = found.counts.mechanism.axes.get("")
    labels = axis.labels if isinstance(axis, Categories) else None
    wanted = _wanted(what, at, labels)
    pairs = _pairs(found) if each else {_pair(names): [found.group(group) for group in names]}
    estimator: Any = Adaptive() if labels is None else CategoryShares()
    compared = []
    with output.progress("Estimating", (2 + len(wanted)) * len(pairs)) as advance:
        for groups, parts in pairs.items():
            subjects = [Subject.of(part) for part in parts]
            curves: list[Density | Proportions] = []
            for subject in subjects:
                curves.append(estimator.fit(subject.summary))
                advance(1)
            results = []
            for kind, place in wanted:
                results.append(difference(curves[0], curves[1], kind, place, level=level))
                advance(1)
            compared.append(Compared(groups, subjects, curves[0], results, level))
    if not each:
        if as_json:
            output.machine(compared[0].to_dict())
        else:
            compared[0].table()
    elif as_json:
        by = list(found.summaries.by)
        comparisons = [one.to_dict() for one in compared]
        output.machine({"question": found.question or None, "by": by, "comparisons": comparisons})
    else:
        _table(compared, Subject.of(found))


def _pair(names: list[str]) -> tuple[str, str]:
    first, second = names
    return first, second


def _pairs(found: Asked) -> dict[tuple[str, str], list[Asked]]:
    """Every group, and all the others together."""
    groups = found.summaries.groups()
    pairs = {}
    for key, own in groups.items():
        parts = [Summaries({found.question: one}) for one in (own, groups.others(key))]
        pairs[label(key), OTHERS] = [replace(found, summaries=part) for part in parts]
    return pairs


def _split(given: list[str], *, each: bool) -> tuple[list[Path], list[str]]:
    """Files by their suffix; what is left are the groups."""
    endings = (*SUFFIXES, ".toml")
    files = [Path(text) for text in given if Path(text).suffix in endings]
    names = [text for text in given if Path(text).suffix not in endings]
    if each and names:
        raise InvalidInput("no names of groups with --each", ", ".join(map(repr, names)))
    if not each and (len(names) != 2 or names[0] == names[1]):
        raise InvalidInput(
            "the names of two groups",
            ", ".join(map(repr, names)) or "none",
            "For example: confide compare counts.json --question pay north south. --each compares "
            "every group with the others.",
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
        if what != DECLINED and (what == "share") != (labels is not None):
            kind = "numbers" if labels is None else "categories"
            raise InvalidInput(f"a --what for {kind}", f"--what {what}")
    if at is not None and what not in ("quantile", "cdf", "share"):
        raise InvalidInput("--what quantile, cdf or share to go with --at", f"--what {what}")
    if what == DECLINED:
        return [(DECLINED, None)]
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


@dataclass(frozen=True)
class Compared:
    """Two groups and how they differ."""

    names: tuple[str, str]
    subjects: list[Subject]
    curve: Density | Proportions
    results: list[Difference]
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        first = self.subjects[0]
        return {
            "question": first.name or None,
            "groups": list(self.names),
            "n": [subject.summary.n for subject in self.subjects],
            "epsilon": first.facts(self.curve)["epsilon"],
            "method": self.curve.facts["method"],
            "missing": first.missing,
            "level": self.level,
            "differences": [
                {
                    "what": _word(one),
                    "at": one.at,
                    "estimates": [one.first, one.second],
                    "difference": one.value,
                    "interval": [one.low, one.high],
                    "certain": one.certain,
                }
                for one in self.results
            ],
        }

    def table(self) -> None:
        """Print it for people."""
        shown = [harmless(name) for name in self.names]
        number = _format(self.results)
        rows = [(_title(one), *map(number, _numbers(one))) for one in self.results]
        many = " and ".join(
            f"{subject.many} in {name}" for subject, name in zip(self.subjects, shown, strict=True)
        )
        first = self.subjects[0]
        about = f"{first.name!r}: " if first.name else ""
        head = ("", *shown, "difference", f"{output.percent(self.level)} from", "to")
        output.table(f"{about}{many}", head, rows)
        for one in self.results:
            if not one.certain:
                output.say(f"The {_title(one)} may be the same in both: the interval holds 0.")
                continue
            side = "higher" if one.value > 0 else "lower"
            ends = sorted(map(abs, (one.low, one.high)))
            output.say(
                f"The {_title(one)} is {side} in {shown[0]} than in {shown[1]}, "
                f"by {number(ends[0])} to {number(ends[1])}."
            )
        first.say()


def _table(compared: list[Compared], subject: Subject) -> None:
    """Every group beside the others."""
    number = _format([one for each in compared for one in each.results])
    rows = [
        (harmless(each.names[0]), _title(one), *map(number, _numbers(one)))
        for each in compared
        for one in each.results
    ]
    ends = f"{output.percent(compared[0].level)} from"
    head = ("group", "", "in the group", OTHERS, "difference", ends, "to")
    output.table(f"{subject.title()}, every group and {OTHERS}", head, rows, words=2)
    output.say("Each interval is for its own difference: of many, some miss by chance.")
    subject.say()


def _numbers(one: Difference) -> tuple[float, ...]:
    return one.first, one.second, one.value, one.low, one.high


def _format(results: list[Difference]) -> Callable[[float], str]:
    return output.format_of([x for one in results for x in (one.first, one.second, one.value)])


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
