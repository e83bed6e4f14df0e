"""The tables of results as rows of text, for pages and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confide.displays import percent
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
    """Whether a difference leaves zero out, and on which side."""
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


def _first(result: Result, about: About) -> tuple[str, str]:
    """The median of a number, or the largest share."""
    if result.curve is None:
        return result.reason, ""
    if result.kind == CATEGORIES:
        share = Percent()
        largest = max(result.quantities, key=lambda one: one.estimate or 0.0)
        name = about.label(largest.name)
        return f"{name}: {share(largest.estimate)}", share.range(largest)
    told, one = about.numbers(result), result["median"]
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
                row += (share(sums[one.name].estimate), share.range(sums[one.name]))
            rows.append(row)
    else:
        unit = f" ({about.unit})" if about.unit else ""
        head = ("Quantity", f"Estimate{unit}", interval)
        for one in result.quantities:
            told = about.numbers(result, mean=one.name == "mean")
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
    """What stands in place of an estimate from too few reports."""
    return f"needs {one.needed:,} reports"


def _numbers(about: About, own: Mapping[Part, Result], by: str, interval: str) -> Table:
    apart = any(one.differences for one in own.values())
    head: tuple[str, ...] = (capital(by), "Answered", "Mean", interval, "Median", interval)
    if apart:
        head += ("", "Mean, against all others", "Simultaneous interval")
    declining = any(one.declined is not None for one in own.values())
    if declining:
        head += (DECLINED, interval)
    mean, value = _formats(about, own)
    rows: list[tuple[str, ...]] = []
    for key, one in own.items():
        if one.curve is None:
            rows.append((label(key), f"{one.n:,}", needs(one)))
            continue
        row: tuple[str, ...] = (label(key), f"{one.n:,}")
        for told, quantity in ((mean, one["mean"]), (value, one["median"])):
            row += (told(quantity.estimate), told.range(quantity))
        if apart:
            gap = next(iter(one.differences), None)
            row += ("", "–", "–") if gap is None else _apart(gap, mean)
        if declining:
            row += _declined(one)
        rows.append(row)
    return Table(head, tuple(row + ("",) * (len(head) - len(row)) for row in rows))


def _formats(about: About, own: Mapping[Part, Result]) -> tuple[Format, Format]:
    """Formats of the means and of the other numbers of all groups."""
    known = [one for one in own.values() if one.curve is not None]
    if not known:
        return Format(1.0), Format(1.0)
    return tuple(  # type: ignore[return-value]
        min((about.numbers(one, mean=mean) for one in known), key=lambda told: told.step)
        for mean in (True, False)
    )


def _apart(gap: Quantity, told: Format) -> tuple[str, str, str]:
    return mark(gap), told.signed(gap.estimate), told.range(gap)


def _declined(one: Result) -> tuple[str, str]:
    share = Percent()
    if one.declined is None:
        return "–", "–"
    return share(one.declined.estimate), share.range(one.declined)


def _shares(about: About, own: Mapping[Part, Result], by: str, interval: str) -> Table:
    share = Percent()
    names = [quantity.name for quantity in next(iter(own.values())).quantities]
    declining = any(one.declined is not None for one in own.values())
    rows: list[tuple[str, ...]] = []
    head: tuple[str, ...]
    row: tuple[str, ...]
    if len(names) == 2:
        second = names[1]
        apart = any(one.differences for one in own.values())
        head = (capital(by), "Answered", about.label(second), interval)
        if apart:
            head += ("", "Against all others, in points", "Simultaneous interval")
        for key, one in own.items():
            if one.curve is None:
                rows.append((label(key), f"{one.n:,}", needs(one)))
                continue
            row = (label(key), f"{one.n:,}", share(one[second].estimate), share.range(one[second]))
            if apart:
                gap = next(iter(one.differences), None)
                row += (
                    ("", "–", "–")
                    if gap is None
                    else (mark(gap), share.signed(gap.estimate), share.points(gap))
                )
            rows.append(row + (_declined(one) if declining else ()))
    else:
        head = (capital(by), "Answered", *map(about.label, names))
        for key, one in own.items():
            if one.curve is None:
                rows.append((label(key), f"{one.n:,}", needs(one)))
                continue
            gaps = {gap.name: gap for gap in one.differences}
            cells = [
                f"{share(one[name].estimate)} ({share.points(one[name])})"
                f" {mark(gaps.get(name))}".rstrip()
                for name in names
            ]
            rows.append((label(key), f"{one.n:,}", *cells, *(_declined(one) if declining else ())))
    if declining:
        head += (DECLINED, interval)
    return Table(head, tuple(row + ("",) * (len(head) - len(row)) for row in rows))


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
