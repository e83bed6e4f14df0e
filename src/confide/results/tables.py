"""The tables of results as rows of text, for pages and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from confide._figures import percent
from confide.results.about import About
from confide.results.digits import Format, Percent
from confide.results.values import CATEGORIES, Estimates, Quantity, Result
from confide.summaries.groups import Part, label

HIGHER, LOWER = "▲", "▼"
"""Marks of groups that lie above or below everybody else."""
DECLINED = "Preferred not to say"


@dataclass(frozen=True)
class Table:
    """A head and rows of text. The first cell of a row is its name."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def capital(text: str) -> str:
    """Text with a capital letter."""
    return text[:1].upper() + text[1:]


def mark(one: Quantity | None) -> str:
    """A mark for a difference whose interval excludes zero, by its side."""
    if one is None or one.low is None or one.high is None:
        return ""
    return HIGHER if one.low > 0 else LOWER if one.high < 0 else ""


def glance(results: Estimates) -> Table:
    """The most important number of each question."""
    rows = []
    for name, result in results.items():
        about = About.of(results, name)
        rows.append((about.text, f"{result.n:,}", *_first(result, about)))
    head = ("Question", "Answered", "Estimate", f"{percent(results.level)} interval")
    return Table(head, tuple(rows))


def relations(results: Estimates) -> Table:
    """The correlation of each pair that was asked for."""
    rows = [
        (
            " & ".join(About.of(results, name).text for name in one.questions),
            f"{one.n:,}",
            f"{one.correlation:.2f}",
            f"{one.low:.2f} to {one.high:.2f}",
        )
        for one in results.relations
    ]
    head = ("Pair", "Answered", "Correlation", f"{percent(results.level)} interval")
    return Table(head, tuple(rows))


def crossed(results: Estimates) -> Iterator[tuple[str, Table]]:
    """The cross table of each pair of which a correlation does not say all, with its name."""
    share = Percent()
    for one in results.relations:
        if not one.crossed:
            continue
        abouts = [About.of(results, name) for name in one.questions]
        rows, columns = (
            [about.label(each) for each in own]
            for about, own in zip(abouts, one.labels, strict=True)
        )
        cells = np.stack([one.shares, *one.ends], axis=-1).tolist()
        body = [
            (
                name,
                *(
                    f"{share(each)} ({share.points(Quantity('', None, low=low, high=high))})"
                    for each, low, high in own
                ),
            )
            for name, own in zip(rows, cells, strict=True)
        ]
        head = (abouts[0].text, *columns)
        yield " & ".join(about.text for about in abouts), Table(head, tuple(body))


def _first(result: Result, about: About) -> tuple[str, str]:
    """The median of a number, or the largest share."""
    if result.curve is None:
        return result.reason, ""
    if result.kind == CATEGORIES:
        share = Percent()
        largest = max(result.quantities, key=lambda one: one.estimate or 0.0)
        name = about.label(largest.name)
        return f"{name}: {share(largest.estimate)}", share.range(largest)
    told, one = about.numbers(result, "median"), result["median"]
    unit = f" {about.unit}" if about.unit else ""
    return f"median {told(one.estimate)}{unit}", told.range(one)


def question(results: Estimates, name: str) -> Table:
    """All quantities of a question, for all respondents."""
    result, about = results[name], About.of(results, name)
    interval = f"{percent(results.level)} interval"
    rows: list[tuple[str, ...]] = []
    if result.kind == CATEGORIES:
        share = Percent()
        head: tuple[str, ...] = ("Answer", "Share", interval)
        if result.cumulative:
            head = (*head, "This or one before", interval)
        sums = {one.name: one for one in result.cumulative}
        for one in result.quantities:
            row: tuple[str, ...] = (about.label(one.name), share(one.estimate), share.range(one))
            if one.name in sums:
                whole = one is result.quantities[-1]  # up to the last category it is everybody
                row += (
                    share(sums[one.name].estimate),
                    "" if whole else share.range(sums[one.name]),
                )
            rows.append(row)
    else:
        unit = f" ({about.unit})" if about.unit else ""
        head = ("Quantity", f"Estimate{unit}", interval)
        for one in result.quantities:
            told = about.numbers(result, one.name)
            rows.append((capital(one.name), told(one.estimate), told.range(one)))
    if result.declined is not None:
        share = Percent()
        row = (DECLINED, share(result.declined.estimate), share.range(result.declined))
        rows.append(row + ("",) * (len(head) - 3))
    return Table(head, tuple(rows))


def groups(results: Estimates, name: str, by: str) -> Table:
    """The groups of a question by one public column."""
    result, about = results[name], About.of(results, name)
    own = result.groups[by]
    make = _shares if result.kind == CATEGORIES else _numbers
    return make(about, own, by, f"{percent(results.level)} interval")


def needs(one: Result) -> str:
    """The text shown instead of an estimate from too few reports."""
    return f"needs {one.needed:,} reports"


def _numbers(about: About, own: Mapping[Part, Result], by: str, interval: str) -> Table:
    head = [capital(by), "Answered", f"Mean ({interval})", f"Median ({interval})"]
    apart = any(one.differences for one in own.values())
    head += ["Mean against all others (simultaneous interval)"] if apart else []
    mean, value = _formats(about, own)

    def cells(one: Result) -> Iterator[str]:
        yield _both(mean, one["mean"])
        yield _both(value, one["median"])
        if apart:
            gap = next(iter(one.differences), None)
            yield (
                "–"
                if gap is None
                else f"{mean.signed(gap.estimate)} ({mean.range(gap)}) {mark(gap)}"
            )

    return _grouped(head, own, cells)


def _shares(about: About, own: Mapping[Part, Result], by: str, interval: str) -> Table:
    share = Percent()
    names = [one.name for one in next(iter(own.values())).quantities]
    apart = any(one.differences for one in own.values())
    # Of two categories the second says it all, and there is room for its difference.
    shown = names[1:] if len(names) == 2 else names
    head = [capital(by), "Answered", *(f"{about.label(name)} ({interval})" for name in shown)]
    head += (
        ["In points, against all others (simultaneous interval)"]
        if len(shown) == 1 and apart
        else []
    )

    def cells(one: Result) -> Iterator[str]:
        gaps = {gap.name: gap for gap in one.differences}
        for name in shown:
            sign = mark(gaps.get(name)) if len(shown) > 1 else ""
            yield f"{_both(share, one[name])} {sign}"
        if len(shown) == 1 and apart:
            gap = gaps.get(shown[0])
            yield (
                "–"
                if gap is None
                else f"{share.signed(gap.estimate)} ({share.points(gap)}) {mark(gap)}"
            )

    return _grouped(head, own, cells)


def _grouped(
    head: list[str], own: Mapping[Part, Result], cells: Callable[[Result], Iterator[str]]
) -> Table:
    """A row for each group; those with too few reports say how many they need."""
    declining = any(one.declined is not None for one in own.values())
    head = [*head, DECLINED] if declining else head
    rows = []
    for key, one in own.items():
        row = [label(key), f"{one.n:,}"]
        if one.curve is None:
            row.append(needs(one))
        else:
            row += [cell.rstrip() for cell in cells(one)]
            if declining:
                row.append("–" if one.declined is None else _both(Percent(), one.declined))
        rows.append((*row, *[""] * (len(head) - len(row))))
    return Table(tuple(head), tuple(rows))


def _both(told: Format, one: Quantity) -> str:
    """An estimate with its interval."""
    ends = told.points(one) if isinstance(told, Percent) else told.range(one)
    return told(one.estimate) if one.low is None else f"{told(one.estimate)} ({ends})"


def _formats(about: About, own: Mapping[Part, Result]) -> tuple[Format, Format]:
    """Formats of the means and of the other numbers of all groups."""
    known = [one for one in own.values() if one.curve is not None]
    if not known:
        return Format(1.0), Format(1.0)
    mean, value = (
        min((about.numbers(one, name) for one in known), key=lambda told: told.step)
        for name in ("mean", "median")
    )
    return mean, value


def drawn(results: Estimates, name: str, by: str) -> Iterator[tuple[str, list[tuple[str, Result]]]]:
    """What is drawn of the groups: the mean of a number, or the share of each category."""
    result = results[name]
    own = [(label(key), one) for key, one in result.groups[by].items()]
    if result.kind != CATEGORIES:
        yield "mean", own
        return
    names = [one.name for one in result.quantities]
    for each in names[1:] if len(names) == 2 else names:
        yield each, own
