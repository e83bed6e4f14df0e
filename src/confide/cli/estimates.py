"""Printed tables and JSON of estimates, for all respondents or by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confide._figures import SHOWN
from confide.cli import output
from confide.cli.parsing import harmless
from confide.curves import Density, Proportions, forms
from confide.displays import CYCLE
from confide.errors import InvalidInput, Unsupported
from confide.estimators import CategoryShares
from confide.files.paths import counted
from confide.foreign.spectrum import Spectrum
from confide.mechanisms import Mechanism
from confide.summaries import Counts
from confide.summaries.groups import Key, label
from confide.tables.asked import Asked

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
HIDDEN = ("n", "epsilon", "summary", "orders", "heaps", "heap_shares", "misfit")
"""Facts that the table for people shows elsewhere, or not at all."""


@dataclass(frozen=True)
class Subject:
    """The subject of an estimate.

    Parameters
    ----------
    name
        The question, '' where nobody named it.
    summary
        What the estimate was made from.
    missing
        What stands for a missing answer, or None.
    left_out
        How many rows were left out, by kind; None where none may be.
    capped
        A sentence that says which values count as a bound, where a bound is open.
    unit
        What the values are measured in, '' where nobody says.
    group
        The group of respondents, '' for all of them.
    """

    name: str
    summary: Counts | Spectrum
    missing: float | str | None = None
    left_out: Mapping[str, int] | None = None
    capped: str = ""
    unit: str = ""
    group: str = ""

    @classmethod
    def of(cls, asked: Asked, group: str | None = None) -> Subject:
        """One question of files: of all respondents, or of the group that was picked."""
        told = (asked.question, asked.counts, asked.missing, asked.left_out, asked.capped)
        return cls(*told, asked.unit, group or "")

    @property
    def axis(self) -> str:
        """The name of the axis of a picture, with the unit where there is one."""
        return ", ".join(filter(None, (self.name, self.unit)))

    @property
    def mechanism(self) -> Mechanism | None:
        """The mechanism of the reports; None for data noised elsewhere."""
        found = getattr(self.summary, "mechanism", None)
        return found if isinstance(found, Mechanism) else None

    @property
    def many(self) -> str:
        """Number of reports in words; numbers noised elsewhere are called values."""
        return counted(self.summary.n, "report" if self.mechanism else "value")

    def title(self) -> str:
        """A title that names the question and the number of reports."""
        about = f"{self.many} of {self.name!r}" if self.name else self.many
        return f"{about} in {harmless(self.group)}" if self.group else about

    def caption(self, curve: Density | Proportions) -> str:
        """A title for a picture, with the cost and the method."""
        parts = [self.name, self.group, self.many]
        if self.mechanism:
            parts.append(f"epsilon = {output.costs([self.mechanism.spend.epsilon])[0]}")
        return ", ".join([*(part for part in parts if part), str(curve.facts.get("method", ""))])

    def say(self) -> None:
        """Print what must be known beside the estimate."""
        if self.missing is not None:
            value = self.missing if isinstance(self.missing, str) else output.number(self.missing)
            output.say(f"Missing answers count as {value}.")
        if self.capped:
            output.say(f"{self.capped} The mean counts them so too.")
        if self.mechanism:
            output.say(self.mechanism.spend.words())

    def facts(self, curve: Density | Proportions) -> dict[str, Any]:
        """The first keys of every estimate, in one order."""
        summary = self.summary
        start: dict[str, Any] = {
            "question": self.name or None,
            "n": None,
            "epsilon": None,
            "method": None,
        }
        left = {} if self.left_out is None else {"left_out": dict(self.left_out)}
        capped = {"capped": self.capped} if self.capped else {}
        start = {**start, "missing": self.missing, **left, **capped}
        return {**start, **summary.facts, **forms.with_declined(curve)}


def as_dict(
    curve: Density, subject: Subject, level: float, *, band: bool = False
) -> dict[str, Any]:
    """A density as plain values.

    Intervals of the density take many times what the rest does, and are there if asked for.
    """
    cells = curve.cells
    edges = cells.edges[0]
    # Of whole numbers, the last one of each cell: shares up to it are those of the cell.
    x = edges[1:] - 0.5 if cells.whole else (edges[:-1] + edges[1:]) / 2
    intervals: dict[str, Any] = {"level": level}
    mean = _interval(curve, "mean", None, level)
    if mean is not None:
        intervals["mean"] = [float(end) for end in mean]
    if curve.declined is not None:
        intervals["declined"] = list(curve.interval("declined", level=level))
    quantiles = _interval(curve, "quantile", QUANTILES, level)
    if quantiles is not None:
        rows = zip(QUANTILES, *(end.tolist() for end in quantiles), strict=True)
        intervals["quantiles"] = {str(q): [below, above] for q, below, above in rows}
    if band and (ends := _interval(curve, "pdf", x, level)) is not None:
        intervals["pdf"] = {"lower": ends[0].tolist(), "upper": ends[1].tolist()}
    values = zip(QUANTILES, curve.quantile(QUANTILES).tolist(), strict=True)
    return {
        **subject.facts(curve),
        "edges": edges.tolist(),
        "x": x.tolist(),
        "pdf": (cells.masses / np.diff(edges)).tolist(),
        "cdf": cells.cdf(x).tolist(),
        "mean": float(curve.mean()),
        "quantiles": {str(q): value for q, value in values},
        "intervals": intervals,
    }


def _interval(curve: Density, what: str, at: Any, level: float) -> tuple[Any, Any] | None:
    """An interval, or None where the method has none."""
    try:
        return curve.interval(what, at, level=level)
    except Unsupported:
        return None


def rows_of(
    curve: Density, quantiles: tuple[float, ...], level: float
) -> list[tuple[str, float, tuple[Any, Any] | None]]:
    """Name, estimate and interval of the mean and some quantiles."""
    rows = [("mean", float(curve.mean()), _interval(curve, "mean", None, level))]
    ends = _interval(curve, "quantile", quantiles, level)
    for at, (q, value) in enumerate(zip(quantiles, curve.quantile(quantiles), strict=True)):
        name = "median" if q == 0.5 else f"{output.percent(q)} quantile"
        rows.append((name, float(value), None if ends is None else (ends[0][at], ends[1][at])))
    return rows


def table(curve: Density, subject: Subject, level: float) -> None:
    """A density for people."""
    facts = {key: value for key, value in curve.facts.items() if key not in HIDDEN}
    how = ", ".join(
        f"{value}" if isinstance(value, str) else f"{_plain(key)} {output.number(value)}"
        for key, value in facts.items()
    )
    found = rows_of(curve, QUANTILES, level)
    number = output.format_of([value for _, value, _ in found])
    rows = [
        (name, number(value), *(map(number, ends) if ends else ("-", "-")))
        for name, value, ends in found
    ]
    head = ("", "estimate", f"{output.percent(level)} from", "to")
    output.table(f"{subject.title()}, {how}", head, rows)
    say_heaps(curve, foreign=subject.mechanism is None)
    say_declined(curve, level)
    subject.say()


def say_heaps(curve: Density, *, foreign: bool = False) -> None:
    """Which single values many people share, where the estimate found any.

    Of numbers that somebody else noised, many people at a bound may have another reason.
    """
    found = [(value, share) for value, share in curve.cells.heaps if share >= SHOWN]
    told = [f"{share:.1%} at {output.number(value)}" for value, share in found]
    if told:
        output.say(f"Many people share one value: {', '.join(told)}.")
    ends = [edge for edges in curve.cells.edges for edge in (edges[0], edges[-1])]
    if foreign and any(value in ends for value, _ in found):
        output.say(
            "If so many at a bound are a surprise, the noise is perhaps larger than stated, or the "
            "bounds are too narrow."
        )


def say_declined(curve: Density | Proportions, level: float) -> None:
    """Print the share that preferred not to say, where people could."""
    if curve.declined is None:
        return
    low, high = curve.interval("declined", level=level)
    output.say(
        f"{curve.declined:.1%} preferred not to say ({output.percent(level)} from {low:.1%} to "
        f"{high:.1%}). The table is about all others."
    )


def _plain(key: str) -> str:
    return key.replace("_", " ")


def share_rows(curve: Proportions, level: float) -> list[tuple[str, float, float, float]]:
    """Category, share and the ends of its interval."""
    assert curve.intervals is not None
    ends = (end.tolist() for end in curve.intervals.shares(level))
    return list(zip(curve.categories, curve.shares.tolist(), *ends, strict=True))


def shares_as_dict(curve: Proportions, subject: Subject, level: float) -> dict[str, Any]:
    """Shares as plain values."""
    rows = share_rows(curve, level)
    declined = {}
    if curve.declined is not None:
        declined["declined"] = list(curve.interval("declined", level=level))
    return {
        **subject.facts(curve),
        "shares": {category: share for category, share, _, _ in rows},
        "intervals": {
            "level": level,
            "shares": {category: [below, above] for category, _, below, above in rows},
            **declined,
        },
    }


def densities(
    found: Asked,
    estimator: Any,
    level: float,
    *,
    as_json: bool,
    band: bool = False,
    plot: Path | None = None,
) -> None:
    """The mean and the median of each group; for machines the whole density."""
    _drawable(found, plot)
    fitted, told, values = [], [], []
    for key, own, curve in _fitted(found, estimator):
        fitted.append((key, own, curve))
        if as_json:
            told.append((key, as_dict(curve, own, level, band=band)))
        else:
            values.append(rows_of(curve, (0.5,), level))
    if plot is not None:
        _draw(found, {label(key): curve for key, _, curve in fitted}, plot)
    if as_json:
        _machine(found, told)
        return
    number = output.format_of([value for rows in values for _, value, _ in rows])
    rows = []
    for (key, own, curve), parts in zip(fitted, values, strict=True):
        cells = [label(key), f"{own.summary.n:,}"]
        for _, value, ends in parts:
            cells += [number(value), *(map(number, ends) if ends else ("-", "-"))]
        rows.append([*cells, *_declined(curve, level)])
    ends = (f"{output.percent(level)} from", "to")
    last = ("declined", *ends) if any(curve.declined is not None for *_, curve in fitted) else ()
    _table(found, ("reports", "mean", *ends, "median", *ends, *last), rows)
    if plot is not None:
        output.say(f"Picture: {plot}")


def _drawable(found: Asked, plot: Path | None) -> None:
    """Refuse a picture with more curves than there are colors, before anything is estimated."""
    many = len(found.summaries.groups())
    if plot is not None and many > len(CYCLE):
        raise InvalidInput(
            f"at most {len(CYCLE)} groups in one picture",
            f"{many:,}",
            "--plot of one of them: --group NAME.",
        )


def _draw(found: Asked, curves: Mapping[str, Density], plot: Path) -> None:
    """One picture with the density of every group, without bands."""
    ax = None
    for name, curve in curves.items():
        # A legend leaves out names that begin with an underscore.
        shown = f" {name}" if name.startswith("_") else name
        display = curve.plot(ax, level=None, label=harmless(shown))
        ax = display.ax_
    subject = Subject.of(found)
    output.save_plot(
        display, plot, f"{subject.title()}, by {', '.join(found.summaries.by)}", name=subject.axis
    )


def _declined(curve: Density | Proportions, level: float) -> list[str]:
    """Cells of a table: the share that preferred not to say, and its interval."""
    if curve.declined is None:
        return []
    return [f"{each:.3f}" for each in (curve.declined, *curve.interval("declined", level=level))]


def proportions(found: Asked, level: float, *, as_json: bool) -> None:
    """The shares of each group."""
    fitted = list(_fitted(found, CategoryShares()))
    if as_json:
        _machine(found, [(key, shares_as_dict(curve, own, level)) for key, own, curve in fitted])
        return
    rows = []
    for key, own, curve in fitted:
        cells = (label(key), f"{own.summary.n:,}")
        for category, *numbers in share_rows(curve, level):
            rows.append([cells[0], category, cells[1], *map("{:.3f}".format, numbers)])
        if curve.declined is not None:
            rows.append([cells[0], "declined", cells[1], *_declined(curve, level)])
    head = ("category", "reports", "share", f"{output.percent(level)} from", "to")
    _table(found, head, rows, words=2)


def _fitted(found: Asked, estimator: Any) -> Iterator[tuple[Key, Subject, Any]]:
    """Each group, what its estimate is about, and its curve."""
    groups = found.summaries.groups()
    with output.progress("Estimating", len(groups)) as advance:
        for key, counts in groups.items():
            yield key, _subject(found, counts), estimator.fit(counts)
            advance(1)


def _subject(found: Asked, counts: Counts) -> Subject:
    return Subject(found.question, counts, found.missing, found.left_out, found.capped)


def _machine(found: Asked, groups: list[tuple[Key, dict[str, Any]]]) -> None:
    by = found.summaries.by
    keys = [key if isinstance(key, tuple) else (key,) for key, _ in groups]
    output.machine(
        {
            "question": found.question or None,
            "by": list(by),
            "n": found.counts.n,
            "groups": [
                {"group": dict(zip(by, key, strict=True)), **fields}
                for key, (_, fields) in zip(keys, groups, strict=True)
            ],
        }
    )


def _table(found: Asked, head: tuple[str, ...], rows: list[list[str]], *, words: int = 1) -> None:
    subject = Subject.of(found)
    by = ", ".join(found.summaries.by)
    output.table(f"{subject.title()}, by {by}", (by, *head), rows, words=words)
    subject.say()
