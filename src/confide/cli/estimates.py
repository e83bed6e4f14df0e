"""Estimates as tables for people and as plain values for machines, of all or of every group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confide.cli import output
from confide.curves import Density, Proportions
from confide.errors import Unsupported
from confide.estimators import CategoryShares
from confide.files.paths import counted
from confide.foreign.spectrum import Spectrum
from confide.mechanisms import Mechanism
from confide.summaries import Counts
from confide.summaries.groups import Key, label
from confide.tables.asked import Asked

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
HIDDEN = ("n", "epsilon", "summary")
"""Facts that the table for people shows elsewhere, or not at all."""


@dataclass(frozen=True)
class Subject:
    """What an estimate is about.

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
    """

    name: str
    summary: Counts | Spectrum
    missing: float | str | None = None
    left_out: Mapping[str, int] | None = None

    @classmethod
    def of(cls, asked: Asked) -> Subject:
        """One question of files, all respondents together."""
        return cls(asked.question, asked.counts, asked.missing, asked.left_out)

    @property
    def mechanism(self) -> Mechanism | None:
        """What made the reports; None where somebody else noised them."""
        found = getattr(self.summary, "mechanism", None)
        return found if isinstance(found, Mechanism) else None

    @property
    def many(self) -> str:
        """How many reports; numbers noised elsewhere are values."""
        return counted(self.summary.n, "report" if self.mechanism else "value")

    def title(self) -> str:
        """How many reports of what."""
        return f"{self.many} of {self.name!r}" if self.name else self.many

    def caption(self, curve: Density | Proportions) -> str:
        """The same for a picture, with what it cost and how it was estimated."""
        parts = [self.name, self.many]
        if self.mechanism:
            parts.append(f"epsilon = {output.costs([self.mechanism.spend.epsilon])[0]}")
        return ", ".join([*(part for part in parts if part), str(curve.facts.get("method", ""))])

    def say(self) -> None:
        """Print what must be known beside the estimate."""
        if self.missing is not None:
            value = self.missing if isinstance(self.missing, str) else output.number(self.missing)
            output.say(f"Missing answers count as {value}.")
        if self.mechanism:
            output.say(self.mechanism.spend.words())

    def facts(self, curve: Density | Proportions) -> dict[str, Any]:
        """The first keys of every estimate, in one order."""
        summary = self.summary
        start = {"question": self.name or None, "n": None, "epsilon": None, "method": None}
        left = {} if self.left_out is None else {"left_out": dict(self.left_out)}
        return {**start, "missing": self.missing, **left, **summary.facts, **curve.facts}


def as_dict(curve: Density, subject: Subject, level: float) -> dict[str, Any]:
    """A density as plain values."""
    cells = curve.cells
    edges = cells.edges[0]
    x = (edges[:-1] + edges[1:]) / 2
    intervals: dict[str, Any] = {"level": level}
    mean = _interval(curve, "mean", None, level)
    if mean is not None:
        intervals["mean"] = [float(end) for end in mean]
    quantiles = _interval(curve, "quantile", QUANTILES, level)
    if quantiles is not None:
        ends = zip(QUANTILES, *(end.tolist() for end in quantiles), strict=True)
        intervals["quantiles"] = {str(q): [below, above] for q, below, above in ends}
    band = _interval(curve, "pdf", x, level)
    if band is not None:
        intervals["pdf"] = {"lower": band[0].tolist(), "upper": band[1].tolist()}
    values = zip(QUANTILES, curve.quantile(QUANTILES).tolist(), strict=True)
    return {
        **subject.facts(curve),
        "edges": edges.tolist(),
        "x": x.tolist(),
        "pdf": cells.pdf(x).tolist(),
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
    subject.say()


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
    return {
        **subject.facts(curve),
        "shares": {category: share for category, share, _, _ in rows},
        "intervals": {
            "level": level,
            "shares": {category: [below, above] for category, _, below, above in rows},
        },
    }


def densities(found: Asked, estimator: Any, level: float, *, as_json: bool) -> None:
    """The mean and the median of each group; for machines the whole density."""
    fitted = list(_fitted(found, estimator))
    if as_json:
        _machine(found, [(key, as_dict(curve, own, level)) for key, own, curve in fitted])
        return
    values = [rows_of(curve, (0.5,), level) for _, _, curve in fitted]
    number = output.format_of([value for rows in values for _, value, _ in rows])
    rows = []
    for (key, own, _), parts in zip(fitted, values, strict=True):
        cells = [label(key), f"{own.summary.n:,}"]
        for _, value, ends in parts:
            cells += [number(value), *(map(number, ends) if ends else ("-", "-"))]
        rows.append(cells)
    ends = (f"{output.percent(level)} from", "to")
    _table(found, ("reports", "mean", *ends, "median", *ends), rows)


def proportions(found: Asked, level: float, *, as_json: bool) -> None:
    """The shares of each group."""
    fitted = list(_fitted(found, CategoryShares()))
    if as_json:
        _machine(found, [(key, shares_as_dict(curve, own, level)) for key, own, curve in fitted])
        return
    rows = [
        [label(key), category, f"{own.summary.n:,}", *map("{:.3f}".format, numbers)]
        for key, own, curve in fitted
        for category, *numbers in share_rows(curve, level)
    ]
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
    return Subject(found.question, counts, found.missing, found.left_out)


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
