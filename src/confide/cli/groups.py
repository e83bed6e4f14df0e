"""Estimates of every group, as one table for people and as one object for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from confide.cli import output
from confide.cli.results import Subject, as_dict, rows_of, share_rows, shares_as_dict
from confide.estimators import CategoryShares
from confide.summaries import Counts
from confide.summaries.groups import Key, label
from confide.tables.asked import Asked


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
