"""Results as Markdown: the text and the tables of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from confide.results import tables, telling
from confide.results.about import About
from confide.results.values import Estimates

SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
"""Letters that mean something to a reader of Markdown."""
FIRST = re.compile(r"^(?=[-+=:])|^(\d+)(?=[.)](?:\s|$))")
"""What makes a list, a rule or a heading at the start of a line."""


def escaped(text: str) -> str:
    """Untrusted text, escaped and on one line."""
    seen = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    return FIRST.sub(r"\1\\", SPECIAL.sub(r"\\\1", seen))


def document(results: Estimates) -> str:
    """The results as a Markdown document."""
    return "\n\n".join(_parts(results)) + "\n"


def _parts(results: Estimates) -> Iterator[str]:
    yield f"# {escaped(telling.title(results))}"
    yield from map(escaped, telling.opening(results))
    if len(results) > 1:
        yield "## At a glance"
        yield _table(tables.glance(results))
    told = telling.compared(results)
    if told:
        yield escaped(told)
    for name, result in results.items():
        about = About.of(results, name)
        yield f"## {escaped(about.text)}"
        for text in (about.help, telling.answered(result, about), telling.alarm(result)):
            if text:
                yield escaped(text)
        if result.curve is None:
            yield escaped(result.reason)
        else:
            yield _table(tables.question(results, name))
            for text in (telling.shared(result), telling.middle(result, about), about.capped):
                if text:
                    yield escaped(text)
        yield from _groups(results, name)
    yield from _relations(results)
    privacy = telling.privacy(results)
    if privacy:
        yield "## Privacy"
        yield from map(escaped, privacy)
        rows = [(one.group, f"{one.fewest:,}", one.epsilon) for one in telling.costs(results)]
        if rows:
            head = ("Group", "Fewest reports to a question", "Epsilon towards a reader")
            yield _table(tables.Table(head, tuple(rows)))
    paragraphs, references = telling.methods(results)
    yield "## Methods"
    yield from map(escaped, paragraphs)
    yield "### References"
    yield "\n".join(f"- {escaped(one)}" for one in references)


def _groups(results: Estimates, name: str) -> Iterator[str]:
    for by in results[name].groups:
        yield f"### By {escaped(by)}"
        yield _table(tables.groups(results, name, by))
        if text := telling.trend(results, name, by):
            yield escaped(text)


def _relations(results: Estimates) -> Iterator[str]:
    if results.relations:
        yield "## Relations"
        yield _table(tables.relations(results))
        yield escaped(telling.RELATED)
        for name, table in tables.crossed(results):
            yield f"### {escaped(name)}"
            yield _table(table)
        if telling.has_crossed(results):
            yield escaped(telling.CROSSED)


def _table(table: tables.Table) -> str:
    sides = ("---",) + ("---:",) * (len(table.head) - 1)
    rows = [_row(map(escaped, row)) for row in (table.head, *table.rows)]
    return "\n".join([rows[0], _row(sides), *rows[1:]])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
