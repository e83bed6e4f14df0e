"""Cards: how notebooks show a result. A small picture, its numbers, and what it cost.

Nothing is assumed about the page around a card: letters and thin lines take the color of the text
there, and the one color of the pictures can be seen on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from confide._figures import SHOWN, logarithmic, number, percent
from confide._markup import Html, el, join
from confide._types import Floats

COLOR = "#3a87b7"
"""Has a contrast of at least 3 with white and with black."""
WIDE, TALL = 320, 96
"""Pixels of a picture."""
FOOT = 14
"""Pixels below a picture for the numbers of its axis."""
COLUMNS = 160
"""Points along a curve: more than every second pixel cannot be seen."""
BLOCKS = 24
"""Blocks along each side of a map."""
ROWS = 12
"""Rows of a table, and bars of a picture; further ones are counted."""
LEVEL = 0.95
"""Confidence level of the intervals."""
NAME = 19
"""Letters of a name in a picture."""

Ends = tuple[float, float]
Look = dict[str, str | float]


def card(title: str, *parts: str, cost: str = "", facts: str = "") -> str:
    """A card as HTML.

    Parameters
    ----------
    title
        What it is, in a few words.
    *parts
        Pictures and tables; empty ones are left out.
    cost
        What it cost the people it is about.
    facts
        How it came about.

    Examples
    --------
    >>> card("1 < 2", cost="epsilon 1")
    '<div style="max-width:40em"><strong>1 &lt; 2</strong><div>epsilon 1</div></div>'
    """
    lines = [el("div", cost)] if cost else []
    if facts:
        lines.append(el("div", facts, style="opacity:0.7;font-size:0.9em;overflow-wrap:anywhere"))
    shown = [part for part in parts if part]
    return el("div", el("strong", title), *shown, *lines, style="max-width:40em")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    """A table: the first column has names, the others numbers.

    Examples
    --------
    >>> "mean" in table(("", "estimate"), [("mean", "3")])
    True
    """
    if not rows:
        return Html()
    told = [*rows[:ROWS]]
    if len(rows) > ROWS:
        told.append((f"and {len(rows) - ROWS:,} more", *[""] * (len(head) - 1)))
    whole = el(
        "table",
        el("thead", _row("th", head)),
        el("tbody", *(_row("td", row) for row in told)),
        style="border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.3em 0",
    )
    # A table that is wider than the notebook scrolls by itself.
    return el("div", whole, style="overflow-x:auto")


def _row(tag: str, cells: Sequence[str]) -> Html:
    looks = ["text-align:left", *["text-align:right;white-space:nowrap"] * (len(cells) - 1)]
    shared = "padding:0.1em 1em 0.1em 0;font-weight:" + ("600" if tag == "th" else "400")
    pairs = zip(cells, looks, strict=True)
    return el("tr", *(el(tag, cell, style=f"{look};{shared}") for cell, look in pairs))


def estimates(
    rows: Sequence[tuple[str, float | None, Ends | None]], *, level: float, shares: bool = False
) -> Html:
    """A table of estimates with their intervals; a missing number is a dash."""
    told = percent if shares else number

    def ends(pair: Ends | None) -> str:
        if pair is None or not all(map(math.isfinite, pair)):
            return "–"
        return f"{told(pair[0])} to {told(pair[1])}"

    head = ("", "estimate", f"{percent(level)} interval")
    return table(
        head, [(name, "–" if one is None else told(one), ends(pair)) for name, one, pair in rows]
    )


def _svg(inside: Sequence[Html], height: float, told: str) -> Html:
    return el(
        "svg",
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDE} {height:g}",
        width=WIDE,
        height=f"{height:g}",
        role="img",
        aria_label=told,
        style="display:block;max-width:100%;margin:0.3em 0",
    )


def _text(words: str, x: float, y: float, anchor: str = "start") -> Html:
    return el(
        "text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, font_size=11,
        fill="currentColor", fill_opacity=0.8,
    )  # fmt: skip


def _rule(x1: float, y1: float, x2: float, y2: float, **keys: str | float) -> Html:
    look: Look = {"stroke": "currentColor", "stroke_opacity": 0.5}
    look.update(keys)
    return el("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", **look)


def _path(x: Floats, y: Floats, **keys: str | float) -> Html:
    points = "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return el("path", d=f"M{points}", **keys)


def _feet(low: float, high: float) -> list[Html]:
    """The ends of an axis."""
    return [
        _rule(0, TALL, WIDE, TALL),
        _text(number(low), 0, TALL + FOOT - 3),
        _text(number(high), WIDE, TALL + FOOT - 3, "end"),
    ]


def steps(
    edges: Floats,
    heights: Floats,
    *,
    told: str = "density",
    middle: Ends | None = None,
    heaps: Sequence[tuple[float, float]] = (),
) -> Html:
    """A density: areas are shares, on a log axis too.

    Parameters
    ----------
    edges
        Cell edges; those of one ratio are drawn on a log axis.
    heights
        Density in each cell.
    told
        What it shows, for those who cannot see it.
    middle
        Ends of an interval that is drawn along the axis.
    heaps
        Values that many people share, each with its share.
    """
    log = logarithmic(edges)
    marks = np.log(edges) if log else edges
    if log:
        heights = heights * np.diff(edges) / np.diff(marks)
    places = np.linspace(marks[0], marks[-1], COLUMNS + 1)
    cells = np.searchsorted(marks, (places[:-1] + places[1:]) / 2, side="right") - 1
    if heights.size <= COLUMNS:
        places, cells = marks, np.arange(heights.size)
    shown = np.maximum(heights[np.clip(cells, 0, heights.size - 1)], 0)

    def across(value: Floats | float) -> Floats:
        where = np.log(value) if log else np.asarray(value, dtype=np.float64)
        return np.asarray(WIDE * (where - marks[0]) / (marks[-1] - marks[0]))

    x = np.repeat(WIDE * (places - marks[0]) / (marks[-1] - marks[0]), 2)[1:-1]
    y = np.repeat(TALL - (TALL - 14) * shown / max(float(shown.max()), 1e-300), 2)
    outline = _path(
        np.concatenate([x[:1], x, x[-1:]]), np.concatenate([[TALL], y, [TALL]]),
        fill=COLOR, fill_opacity=0.25, stroke=COLOR, stroke_width=1.5,
    )  # fmt: skip
    parts = [outline, *_feet(float(edges[0]), float(edges[-1]))]
    for value, share in [pair for pair in heaps if pair[1] >= SHOWN][:6]:
        at = float(across(value))
        parts.append(_rule(at, 12, at, TALL, stroke=COLOR, stroke_dasharray="2 2"))
        anchor = "start" if at < 20 else "end" if at > WIDE - 20 else "middle"
        parts.append(_text(f"{share:.0%}", at, 10, anchor))
    if middle is not None:
        low, high = (float(across(end)) for end in np.clip(middle, edges[0], edges[-1]))
        parts.append(_rule(low, TALL, max(high, low + 2), TALL, stroke_width=5, stroke_opacity=0.8))
    return _svg(parts, TALL + FOOT, told)


def curve(
    x: Floats, y: Floats, *, band: tuple[Floats, Floats] | None = None, told: str = "curve"
) -> Html:
    """A line and its band, with the ends of both axes."""
    known = [y] if band is None else [y, *band]
    finite = np.concatenate([part[np.isfinite(part)] for part in known])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    span = max(high - low, 1e-300)

    def place(values: Floats) -> Floats:
        return np.asarray(TALL - 4 - (TALL - 8) * (np.clip(values, low, high) - low) / span)

    across = WIDE * (x - x[0]) / (x[-1] - x[0])
    parts = []
    if band is not None and all(np.isfinite(end).all() for end in band):
        both = np.concatenate([place(band[0]), place(band[1])[::-1]])
        wide = np.concatenate([across, across[::-1]])
        parts.append(_path(wide, both, fill=COLOR, fill_opacity=0.25, stroke="none"))
    there = np.isfinite(y)
    line = _path(across[there], place(y[there]), fill="none", stroke=COLOR, stroke_width=1.5)
    parts += [line, *_feet(float(x[0]), float(x[-1]))]
    # The heights at the ends of the axis, on the side where the line is not.
    rising = not there.any() or bool(y[there][0] <= y[there][-1])
    side, anchor = (2.0, "start") if rising else (WIDE - 2.0, "end")
    parts.append(_text(number(high), side, 11, anchor))
    other, opposite = (WIDE - 2.0, "end") if rising else (2.0, "start")
    parts.append(_text(number(low), other, TALL - 4, opposite))
    return _svg(parts, TALL + FOOT, told)


def bars(
    values: Sequence[float],
    names: Sequence[str],
    *,
    ends: tuple[Floats, Floats] | None = None,
    told: str = "bars",
) -> Html:
    """Named bars from zero on, with intervals where there are any."""
    rows = min(len(names), ROWS)
    if not rows:
        return Html()
    shown = np.asarray(values[:rows], dtype=np.float64)
    low, high = (shown, shown) if ends is None else (ends[0][:rows], ends[1][:rows])
    finite = np.concatenate([shown, low, high])
    finite = finite[np.isfinite(finite)]
    left = min(0.0, float(finite.min(initial=0.0)))
    right = max(0.0, float(finite.max(initial=0.0)))
    start = 0.4 * WIDE

    def place(value: float) -> float:
        return start + (WIDE - start - 2) * (value - left) / max(right - left, 1e-300)

    parts = []
    for row, name in enumerate(names[:rows]):
        top, value = 18 * row, float(shown[row])
        short = name if len(name) <= NAME else f"{name[: NAME - 1]}…"
        parts.append(_text(short, start - 6, top + 13, "end"))
        if math.isfinite(value):
            x, wide = min(place(0.0), place(value)), abs(place(value) - place(0.0))
            parts.append(
                el("rect", x=f"{x:.1f}", y=top + 3, width=f"{wide:.1f}", height=12,
                   fill=COLOR, fill_opacity=0.6, stroke=COLOR)
            )  # fmt: skip
        if ends is not None and math.isfinite(float(low[row])) and math.isfinite(float(high[row])):
            a, b = place(float(low[row])), place(float(high[row]))
            parts.append(_rule(a, top + 9, b, top + 9, stroke_opacity=0.9))
            parts += [_rule(at, top + 5, at, top + 13, stroke_opacity=0.9) for at in (a, b)]
    parts.append(_rule(place(0.0), 0, place(0.0), 18 * rows))
    return _svg(parts, 18 * rows + 2, told)


def whisker(value: float, ends: Ends, *, told: str = "interval") -> Html:
    """A number and its interval, beside zero."""
    marks = [one for one in (0.0, value, *ends) if math.isfinite(one)]
    low, high = min(marks), max(marks)
    span = max(high - low, 1e-300)

    def place(one: float) -> float:
        return 12 + (WIDE - 24) * (min(max(one, low), high) - low) / span

    look: Look = {"stroke": COLOR, "stroke_opacity": 1, "stroke_width": 2}
    a, b, at, zero = (place(one) for one in (*ends, value, 0.0))
    parts = [
        _rule(zero, 2, zero, 30),
        _text("0", zero, 42, "middle"),
        *(_rule(end, 10, end, 22, **look) for end in (a, b)),
        _rule(a, 16, b, 16, **look),
        el("rect", x=f"{at - 4:.1f}", y=12, width=8, height=8, rx=4, fill=COLOR),
    ]
    return _svg(parts, 46, told)


def shades(heights: Floats, *, told: str = "map") -> Html:
    """A map of two columns, the first across and the second upwards: the darker, the more."""
    across, up = (np.array_split(np.arange(size), min(size, BLOCKS)) for size in heights.shape)
    blocks = np.array([[heights[np.ix_(a, b)].mean() for b in up] for a in across])
    blocks = np.nan_to_num(blocks - min(float(np.nanmin(blocks)), 0.0))
    top = max(float(blocks.max()), 1e-300)
    wide, tall, side = WIDE / 2 / len(across), WIDE / 2 / len(up), WIDE / 2
    parts = [
        el("rect", x=f"{column * wide:.1f}", y=f"{side - (row + 1) * tall:.1f}",
           width=f"{wide + 0.3:.1f}", height=f"{tall + 0.3:.1f}", fill=COLOR,
           fill_opacity=f"{value / top:.2f}")
        for (column, row), value in np.ndenumerate(blocks)
        if value > 0.01 * top
    ]  # fmt: skip
    frame = [_rule(0, side, side, side), _rule(0, 0, 0, side)]
    return _svg([*parts, *frame], side + 1, told)


def dots(points: Floats, *, told: str = "points") -> Html:
    """Points in the plane, or along a line where they have one column."""
    flat = points.reshape(len(points), -1)[: 4 * COLUMNS]
    tall = 24.0 if flat.shape[1] == 1 else WIDE / 2
    columns = [flat[:, 0], np.zeros(len(flat)) if flat.shape[1] == 1 else flat[:, 1]]
    spans = [(float(one.min()), max(float(np.ptp(one)), 1e-300)) for one in columns]
    x = 6 + (WIDE - 12) * (columns[0] - spans[0][0]) / spans[0][1]
    y = tall - 6 - (tall - 12) * (columns[1] - spans[1][0]) / spans[1][1]
    marks = "".join(f"M{a:.1f},{b:.1f}h0.01" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    look: Look = {
        "stroke": COLOR,
        "stroke_width": 6,
        "stroke_linecap": "round",
        "stroke_opacity": 0.6,
    }
    foot = [
        _text(number(spans[0][0]), 0, tall + FOOT - 3),
        _text(number(float(columns[0].max())), WIDE, tall + FOOT - 3, "end"),
    ]
    return _svg([el("path", d=marks, **look), _rule(0, tall, WIDE, tall), *foot],
                tall + FOOT, told)  # fmt: skip


def listed(*lines: str) -> Html:
    """Sentences, one a line; empty ones are left out."""
    return join(el("div", line) for line in lines if line)
