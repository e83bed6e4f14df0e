"""Results as one HTML file, without network, scripts or other files."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files

from confide._figures import percent
from confide._markup import Html, el
from confide.curves import CellDensity
from confide.results import pictures, tables, telling
from confide.results.about import About
from confide.results.digits import Percent
from confide.results.pictures import Scale
from confide.results.values import CATEGORIES, INTEGER, Estimates, Quantity, Result

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""What a browser lets the page do: show itself."""


def document(results: Estimates) -> str:
    """The results as a page of HTML."""
    title = telling.title(results)
    style = files("confide.results").joinpath("page.css").read_text()
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        # Our own style sheet, without outside content.
        el("style", Html(style)),
    )
    body = el("body", el("main", *_parts(results, title)), _foot(results))
    page = el("html", head, body, lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _parts(results: Estimates, title: str) -> Iterator[Html]:
    survey = results.questionnaire
    language = None if survey is None else survey.language
    first, *others = telling.opening(results)
    yield el(
        "header",
        el(
            "p",
            f"Results of a {'simulated' if results.simulated else 'private'} survey",
            class_="quiet",
        ),
        el("h1", title, lang=language, dir="auto"),
        el("p", first, class_="lead"),
        *(el("p", text) for text in (*others, telling.compared(results)) if text),
    )
    if len(results) > 1:
        yield el(
            "section", el("h2", "At a glance"), _table(tables.glance(results)), class_="card glance"
        )
    for number, (name, result) in enumerate(results.items(), start=1):
        yield _question(results, name, result, number)
    if results.relations:
        yield el(
            "section",
            el("h2", "Relations"),
            _table(tables.relations(results)),
            el("p", telling.RELATED, class_="quiet"),
            *(
                part
                for name, table in tables.crossed(results)
                for part in (el("h3", name, dir="auto"), _table(table))
            ),
            *([el("p", telling.CROSSED, class_="quiet")] if telling.has_crossed(results) else []),
            class_="card",
        )
    privacy = telling.privacy(results)
    if privacy:
        yield el(
            "section",
            el("h2", "Privacy"),
            *(el("p", text) for text in privacy),
            _costs(results),
            class_="card",
        )
    text, references = telling.methods(results)
    yield el(
        "section",
        el("h2", "Methods"),
        *(el("p", one) for one in text),
        el("h3", "References"),
        el("ul", *(el("li", one) for one in references), class_="references"),
        class_="card",
    )


def _question(results: Estimates, name: str, result: Result, number: int) -> Html:
    about = About.of(results, name)
    survey = results.questionnaire
    language = None if survey is None else survey.language
    parts: list[Html] = [el("h2", about.text, lang=language, dir="auto")]
    if about.help:
        parts.append(el("p", about.help, class_="quiet", lang=language, dir="auto"))
    parts.append(el("p", telling.answered(result, about)))
    if warning := telling.alarm(result):
        parts.append(el("p", warning, class_="alarm"))
    if result.curve is None:
        parts.append(el("p", result.reason, class_="empty"))
    else:
        draw = _bars if result.kind == CATEGORIES else _shape
        table = _table(tables.question(results, name))
        parts.append(el("div", draw(results, result, about), table, class_="body"))
        for text in (
            telling.banded(result),
            telling.shared(result),
            telling.middle(result, about),
            about.capped,
        ):
            if text:
                parts.append(el("p", text, class_="quiet"))
    for by in result.groups:
        parts.append(_groups(results, name, by, about))
    return el("section", *parts, class_="card question", id=f"q{number}")


def _shape(results: Estimates, result: Result, about: About) -> Html:
    """A density, and below it the mean and the quartiles with their intervals."""
    scale = about.scale
    assert scale is not None
    assert isinstance(result.curve, CellDensity)
    unit = f" {about.unit}" if about.unit else ""
    level = percent(results.level)
    told = []
    strips = []
    for one in result.quantities:
        digits = about.numbers(result, one.name)
        words = f"{tables.capital(one.name)} {digits(one.estimate)}"
        told.append(f"{words}{unit}, {level} interval {digits.range(one)}")
        look = "mean" if one.name == "mean" else "quantile"
        strips.append(_row(tables.capital(one.name), pictures.strip(one, scale, look=look)))
    shape = pictures.density(
        result.curve,
        scale,
        told=f"Estimated distribution. {'; '.join(told)}.",
        bars=result.kind == INTEGER,
        band=result.band,
    )
    names = pictures.labels(scale)
    foot = _row(about.unit, pictures.axis(scale, _open(names, about)), look="foot")
    return el("figure", _row("", shape), *strips, foot, class_="picture")


def _open(names: list[str], about: About) -> list[str]:
    """Ends of the axis that stand for all answers beyond them say so."""
    found = list(names)
    for at, sign, words in ((0, "≤", " or less"), (-1, "≥", " or more")):
        end = about.ends[at].removesuffix(words)
        if end != about.ends[at] and found[at] == end:
            found[at] = f"{sign} {end}"
    return found


def _bars(results: Estimates, result: Result, about: About) -> Html:
    """A bar for each category."""
    share, level = Percent(), percent(results.level)
    scale = _to([*result.quantities, *([result.declined] if result.declined else [])])
    rows = []
    for one in result.quantities:
        name = about.label(one.name)
        told = f"{name}: {share(one.estimate)}, {level} interval {share.range(one)}"
        rows.append(_row(name, pictures.bar(one, scale, told=told)))
    if result.declined is not None:
        told = f"{tables.DECLINED}: {share(result.declined.estimate)}"
        bar = pictures.bar(result.declined, scale, look="muted", told=told)
        rows.append(_row(tables.DECLINED, bar))
    return el("figure", *rows, _shares_axis(scale), class_="picture")


def _to(quantities: list[Quantity]) -> Scale:
    """A scale of shares from 0 to beyond the longest interval."""
    most = max([one.high or one.estimate or 0.0 for one in quantities], default=1.0)
    return Scale(0.0, min(1.0, max(0.1, round(most * 10 + 0.499) / 10)))


def _shares_axis(scale: Scale) -> Html:
    names = [f"{100 * mark:g} %" for mark in scale.marks]
    return _row("", pictures.axis(scale, names), look="foot")


def _groups(results: Estimates, name: str, by: str, about: About) -> Html:
    """The groups by one column: a picture of intervals, and a table."""
    result = results[name]
    parts: list[Html] = [el("h3", f"By {by}", dir="auto")]
    if all(one.curve is None for one in result.groups[by].values()):
        parts.append(el("p", "No group has enough reports for an estimate.", class_="empty"))
    else:
        blocks = [
            _block(results, result, what, own, about)
            for what, own in tables.drawn(results, name, by)
        ]
        look = "blocks several" if len(blocks) > 1 else "blocks"
        parts.append(el("div", *blocks, class_=look))
    parts.append(_table(tables.groups(results, name, by)))
    if told := telling.trend(results, name, by):
        parts.append(el("p", told))
    return el("div", *parts, class_="groups")


def _block(
    results: Estimates, result: Result, what: str, own: list[tuple[str, Result]], about: About
) -> Html:
    """One quantity of all groups, and everybody's as a line through them."""
    words = result.kind == CATEGORIES
    known = [one[what] for _, one in own if one.curve is not None]
    everybody = result[what].estimate if result.curve is not None else None
    if words:
        scale = _to(known)
        caption = f"{about.label(what)}: share and {percent(results.level)} interval"
    else:
        scale = _around(known, about.scale)
        caption = f"Mean and {percent(results.level)} interval" + (
            f", in {about.unit}" if about.unit else ""
        )
    rows = []
    for group, one in own:
        if one.curve is None:
            rows.append(_row(group, el("span", tables.needs(one), class_="quiet few")))
            continue
        gap = next((each for each in one.differences if each.name == what), None)
        sign = tables.mark(gap)
        look = {tables.HIGHER: "higher", tables.LOWER: "lower"}.get(sign, "")
        strip = pictures.strip(one[what], scale, look=look, center=everybody)
        rows.append(_row(f"{group} {sign}".rstrip(), strip))
    foot = (
        _shares_axis(scale)
        if words
        else _row("", pictures.axis(scale, pictures.labels(scale)), look="foot")
    )
    note = "" if everybody is None else "; the dashed line is everybody"
    return el("figure", el("figcaption", f"{caption}{note}."), *rows, foot, class_="picture")


def _around(known: list[Quantity], whole: Scale | None) -> Scale:
    """The part of the axis that the intervals reach, with a little room."""
    assert whole is not None
    ends = [end for one in known for end in (one.low, one.high, one.estimate) if end is not None]
    low, high = min(ends), max(ends)
    if whole.log:
        return Scale(max(whole.low, low * 0.9), min(whole.high, high * 1.1), log=True)
    room = 0.05 * max(high - low, 1e-6 * (whole.high - whole.low))
    return Scale(max(whole.low, low - room), min(whole.high, high + room))


def _row(name: str, picture: Html, *, look: str = "") -> Html:
    return el(
        "div",
        el("span", name, class_="name", dir="auto"),
        picture,
        class_=f"row {look}".rstrip(),
    )


def _costs(results: Estimates) -> Html:
    rows = [(one.group, f"{one.fewest:,}", one.epsilon) for one in telling.costs(results)]
    if not rows:
        return Html("")
    head = ("Group", "Fewest reports to a question", "Epsilon towards a reader of this page")
    return _table(tables.Table(head, tuple(rows)))


def _table(table: tables.Table) -> Html:
    """A table that scrolls by itself where it is wider than the page."""
    head = el("tr", *(el("th", *_held(text), scope="col") for text in table.head))
    rows = [
        el(
            "tr",
            el("th", first, scope="row", dir="auto"),
            *(el("td", *_held(text)) for text in others),
        )
        for first, *others in table.rows
    ]
    inner = el("table", el("thead", head), el("tbody", *rows))
    return el("div", inner, class_="table", tabindex="0", role="region", aria_label="Table")


def _held(text: str) -> tuple[str | Html, ...]:
    """Text in which no line breaks inside an interval in parentheses, or before a percent sign."""
    before, opening, interval = text.rpartition(" (")
    if opening:
        return (f"{before} ", el("span", f"({interval}", class_="held"))
    before, space, number = text.removesuffix(" %").rpartition(" ")
    if space and text.endswith(" %"):
        return (f"{before} ", el("span", f"{number} %", class_="held"))
    return (text,)


def _foot(results: Estimates) -> Html:
    """When it was written, and the numbers behind it, for machines."""
    text = json.dumps(results.to_dict(), allow_nan=False, separators=(",", ":"))
    data = base64.b64encode(text.encode()).decode()
    link = el(
        "a",
        "Download all numbers as JSON",
        href=f"data:application/json;base64,{data}",
        download="results.json",
    )
    now = f"Written on {datetime.now(UTC):%-d %B %Y} by confide. Survey {results.survey}."
    return el("footer", el("p", link), el("p", now))
