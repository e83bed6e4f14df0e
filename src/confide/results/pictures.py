"""Pictures of results as SVG that stretches to any width, with its words in HTML beside it.

Shapes are drawn in a box that is stretched; lines keep their width, and letters are no part of it,
so that a picture can be read on a telephone and on paper. Colors come from the style sheet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide._markup import Html, el, join
from confide._types import Floats
from confide.curves import CellDensity, SimultaneousBand
from confide.estimators.intervals import EACH
from confide.results.digits import Format, ticks
from confide.results.values import Quantity

WIDE = 1000
"""Units across a picture."""
TALL = 240
"""Units of height of a density."""
LETTERS = 36
"""Letters below a picture, at most; with more, every second number is left out."""
ACROSS = 52
"""Letters that fill the width of a picture."""
ROOM = 6
"""Units of height above a density."""
HIGHEST = 2.0
"""The height of the picture at most, as a multiple of the density: a band may be far higher."""
STRIP = 20
"""Units of height of an interval."""


@dataclass(frozen=True)
class Scale:
    """Where values lie along a picture."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """From 0 to 1, cut at the ends."""
        if self.log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(max(part, 0.0), 1.0)

    @property
    def marks(self) -> list[float]:
        """Round numbers along it."""
        return ticks(self.low, self.high, log=self.log, most=6)


def density(
    curve: CellDensity,
    scale: Scale,
    *,
    told: str,
    bars: bool = False,
    band: SimultaneousBand | None = None,
) -> Html:
    """The shape of a distribution: areas are shares, on a log scale too.

    Parameters
    ----------
    curve
        The density.
    scale
        The axis.
    told
        What it shows, for those who cannot see it.
    bars
        Whether cells are whole numbers, which stand apart.
    band
        A band around the density; it is cut where it is higher than the picture.
    """
    edges = [WIDE * scale.place(edge) for edge in curve.edges[0].tolist()]
    widths = np.maximum(np.diff(edges), 1e-9)
    heights = curve.masses / widths
    # The spike of a value that many people share is cut, or nothing else could be seen.
    flat = np.ones(heights.size, dtype=bool)
    for atom in curve.facts.get("atoms", ()):
        flat[np.searchsorted(curve.edges[0], atom, side="right").clip(1, flat.size) - 1] = bars
    top = max(float(heights[flat].max() if flat.any() else heights.max()), 1e-300)
    ends = None if band is None else _ends(band, scale)
    if ends is not None:
        top = min(max(top, float(ends.max())), HIGHEST * top)
    levels = [TALL - (TALL - ROOM) * min(height / top, 1.0) for height in heights.tolist()]
    parts = [_grid(scale, TALL)]
    if bars and len(levels) <= 120:
        for left, right, level in zip(edges, edges[1:], levels, strict=False):
            gap = 0.12 * (right - left)
            d = f"M{left + gap:.1f},{TALL}V{level:.1f}H{right - gap:.1f}V{TALL}Z"
            parts.append(el("path", class_="area", d=d))
    else:
        steps = "".join(
            f"V{level:.1f}H{right:.1f}" for level, right in zip(levels, edges[1:], strict=True)
        )
        parts.append(el("path", class_="area", d=f"M{edges[0]:.1f},{TALL}{steps}V{TALL}Z"))
    if ends is not None:
        parts.append(el("path", class_="band", d=_around(ends / top)))
    return _box("shape", TALL, told, parts)


def _ends(band: SimultaneousBand, scale: Scale) -> Floats:
    """Lower and upper ends of a band at the places of `_along`, as shares for each unit across."""
    places = [scale.place(value) for value in band.x.tolist()]
    across = np.full(band.x.size, scale.high - scale.low)
    if scale.log:
        # A window has the same part of the scale everywhere; so wide is it around its middle.
        across = band.x * (2 * EACH * math.sinh(math.log(scale.high / scale.low) / (2 * EACH)))
    ends = (np.interp(_along(), places, end * across / WIDE) for end in (band.low, band.high))
    return np.array([*ends])


def _along() -> Floats:
    return np.linspace(0.0, 1.0, 8 * EACH + 1)


def _around(ends: Floats) -> str:
    """The path around a band, whose ends are given as parts of the picture's highest place."""
    levels = np.maximum(TALL - (TALL - ROOM) * ends, 0.0).tolist()
    across = (WIDE * _along()).tolist()
    low, high = (list(zip(across, own, strict=True)) for own in levels)
    return f"M{'L'.join(f'{x:.1f},{y:.1f}' for x, y in [*low, *reversed(high)])}Z"


def strip(
    one: Quantity, scale: Scale, *, look: str = "", center: float | None = None, told: str = ""
) -> Html:
    """An estimate as a dot on its interval, and the place of everybody as a thin line."""
    assert one.estimate is not None
    parts = [_grid(scale, STRIP)]
    if center is not None:
        at = f"{WIDE * scale.place(center):.1f}"
        parts.append(el("line", class_="all", x1=at, x2=at, y1=0, y2=STRIP))
    if one.low is not None and one.high is not None:
        parts += _whisker(WIDE * scale.place(one.low), WIDE * scale.place(one.high))
    at = f"{WIDE * scale.place(one.estimate):.1f}"
    # A line of no length with round ends is a dot, however the box is stretched.
    parts.append(el("path", class_="dot", d=f"M{at},{STRIP / 2}h0.01"))
    return _box(f"strip {look}".rstrip(), STRIP, told, parts)


def bar(one: Quantity, scale: Scale, *, look: str = "", told: str = "") -> Html:
    """A share as a bar with its interval."""
    assert one.estimate is not None
    wide = f"{max(WIDE * scale.place(one.estimate), 1):.1f}"
    parts = [
        _grid(scale, STRIP),
        el("rect", class_="bar", x=0, y=2, width=wide, height=STRIP - 4),
    ]
    if one.low is not None and one.high is not None:
        parts += _whisker(WIDE * scale.place(one.low), WIDE * scale.place(one.high))
    return _box(f"strip {look}".rstrip(), STRIP, told, parts)


def axis(scale: Scale, names: Sequence[str]) -> Html:
    """The numbers below a picture; those at its ends do not stick out."""
    marks = list(zip(scale.marks, names, strict=True))
    if sum(map(len, names)) > LETTERS:
        marks = marks[::2]
    spans: list[Html] = []
    for number, (mark, name) in enumerate(marks):
        at = 100 * scale.place(mark)
        look = "first" if at < 6 else "last" if at > 94 else ""
        # Some give way on a narrow screen: those between, and the one that the last would touch.
        between = number % 2 == 1 and 0 < number < len(marks) - 1
        beside = number == len(marks) - 2 and 100 * scale.place(marks[-1][0]) > 94
        if beside and number and _touches(scale, *marks[-2:]):
            continue
        look += " spare" if between or beside else ""
        spans.append(el("span", name, class_=look.strip() or None, style=f"left:{at:.2f}%"))
    return el("div", *spans, class_="axis", aria_hidden="true")


def _touches(scale: Scale, before: tuple[float, str], last: tuple[float, str]) -> bool:
    """Whether the last number, which ends at the edge, touches the one before it on any screen."""
    (left, name), (right, end) = before, last
    return ACROSS * (scale.place(right) - scale.place(left)) < len(end) + len(name) / 2 + 1


def labels(scale: Scale) -> list[str]:
    """The numbers of an axis, in one format."""
    marks = scale.marks
    steps = [b - a for a, b in itertools.pairwise(marks)]
    told = Format(10.0 ** math.floor(math.log10(min(steps, default=1.0)) + 1e-9))
    return [told(mark) for mark in marks]


def _whisker(low: float, high: float) -> list[Html]:
    middle, tall = STRIP / 2, STRIP / 4
    d = (
        f"M{low:.1f},{middle}H{high:.1f}M{low:.1f},{middle - tall}v{2 * tall}"
        f"M{high:.1f},{middle - tall}v{2 * tall}"
    )
    return [el("path", class_=look, d=d) for look in ("halo", "error")]


def _grid(scale: Scale, tall: float) -> Html:
    places = [f"{WIDE * scale.place(mark):.1f}" for mark in scale.marks]
    return el("path", class_="grid", d="".join(f"M{place},0v{tall}" for place in places))


def _box(look: str, tall: float, told: str, parts: Sequence[Html]) -> Html:
    hidden = None if told else "true"
    return el(
        "svg",
        join(parts),
        class_=look,
        viewBox=f"0 0 {WIDE} {tall}",
        preserveAspectRatio="none",
        role="img" if told else None,
        aria_label=told or None,
        aria_hidden=hidden,
    )
