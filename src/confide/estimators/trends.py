"""Trends: a mean or a share from round to round, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from confide import _checks
from confide._cards import card, curve, estimates
from confide._types import Floats
from confide.curves.differences import apart
from confide.curves.forms import frame
from confide.displays import TrendDisplay
from confide.errors import InvalidInput
from confide.estimators.intervals import Intervals
from confide.estimators.shares import CategoryShares
from confide.lattice import Categories
from confide.summaries import Counts, Groups
from confide.summaries.counts import expected

ROUND = "round"
SHARED_ROUNDS = (
    "Each person answers in several rounds. The interval takes the rounds as independent, so it "
    "may be too wide or too narrow."
)
"""What is told of a slope where rounds share people."""


@dataclass(frozen=True)
class Point:
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Trend:
    """A quantity in each round, how it changed, and its average change per round.

    Parameters
    ----------
    what
        The quantity: ``"mean"``, or the category whose share it is.
    level
        Confidence level of each interval.
    rounds
        The quantity in each round, by its number.
    changes
        From the round before, for each round but the first that was asked.
    slope
        Change per round of the straight line through all rounds, which is fitted by least squares
        with the rounds weighted by their precision.

    Examples
    --------
    >>> one, two, change = Point(3.0, 2.9, 3.1), Point(4.0, 3.9, 4.1), Point(1.0, 0.8, 1.2)
    >>> Trend("mean", 0.95, {1: one, 2: two}, {2: change}, change).to_dict()["slope"]
    {'estimate': 1.0, 'interval': [0.8, 1.2]}
    """

    what: str
    level: float
    rounds: Mapping[int, Point]
    changes: Mapping[int, Point]
    slope: Point

    def _repr_html_(self) -> str:
        """The quantity from round to round with its intervals, for notebooks."""
        rows: list[tuple[str, float | None, Any]] = [
            (f"round {number}", one.value, (one.low, one.high))
            for number, one in self.rounds.items()
        ]
        rows.append(("change per round", self.slope.value, (self.slope.low, self.slope.high)))
        picture = ""
        if len(self.rounds) > 1:
            low, middle, high = (self._each(end) for end in ("low", "value", "high"))
            x = np.array(list(self.rounds), dtype=np.float64)
            picture = curve(x, middle, band=(low, high), told=f"{self.what} by round")
        share = self.what != "mean"
        title = f"Trend of the share of {self.what}" if share else "Trend of the mean"
        return card(title, picture, estimates(rows, level=self.level, shares=share))

    def _each(self, name: str) -> Floats:
        """One field of the point of each round."""
        return np.array([getattr(one, name) for one in self.rounds.values()])

    def plot(
        self, ax: Any = None, *, label: str = "estimate", color: str | None = None
    ) -> TrendDisplay:
        """Draw the quantity in each round with its interval, and the fitted line.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold other trends already; by default new ones.
        label
            Name in the legend.
        color
            By default the next one of the axes' cycle.
        """
        low, values, high = (self._each(name) for name in ("low", "value", "high"))
        x = np.array(list(self.rounds), dtype=np.float64)
        weights = 1 / np.maximum(high - low, np.finfo(np.float64).tiny) ** 2
        center, middle = (weights @ each / weights.sum() for each in (x, values))
        share = self.what != "mean"
        name = f"share of {self.what}" if share else "mean"
        line = middle + self.slope.value * (x - center)
        display = TrendDisplay(name, x, values, (low, high), line, self.level, share)
        return display.plot(ax, label=label, color=color)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = []
        for number, one in self.rounds.items():
            row: dict[str, Any] = {"round": number, "estimate": one.value}
            row["interval"] = [one.low, one.high]
            if (change := self.changes.get(number)) is not None:
                row |= {"change": change.value, "change_interval": [change.low, change.high]}
            rows.append(row)
        slope = {"estimate": self.slope.value, "interval": [self.slope.low, self.slope.high]}
        return {"what": self.what, "level": self.level, "rounds": rows, "slope": slope}

    def to_frame(self) -> Any:
        """A table of pandas: a row for each round with its estimate, interval and change."""
        rows = []
        for number, one in self.rounds.items():
            change = self.changes.get(number)
            rows.append(
                {
                    "round": number,
                    "estimate": one.value,
                    "low": one.low,
                    "high": one.high,
                    "change": None if change is None else change.value,
                    "change_low": None if change is None else change.low,
                    "change_high": None if change is None else change.high,
                }
            )
        return frame(rows)


def trend(groups: Groups[Counts], *, category: str | None = None, level: float = 0.95) -> Trend:
    """How a mean or a share changes from round to round.

    Intervals take the rounds as independent. They are, except for people who are in two of them:
    with ``per_person = 1`` there are none. Each round has its own noise.

    Parameters
    ----------
    groups
        Counts by the public column ``round``; other columns are added up.
    category
        The category whose share is wanted, for a question with categories.
    level
        Confidence level of each interval. With many intervals, some miss by chance.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> mechanism = SquareWave(Lattice(low=0, high=10, size=64), epsilon=4.0)
    >>> parts = {
    ...     number: Counts.of(mechanism.simulate([3.0 + number] * 2000, seed=number))
    ...     for number in (1, 2, 3)}
    >>> found = trend(Groups(("round",), parts))
    >>> found.slope.low < 1 < found.slope.high
    True
    """
    level = _checks.level(level)
    if not isinstance(groups, Groups) or ROUND not in groups.by:
        raise InvalidInput(
            f"counts by the column {ROUND!r}", "counts without it", f"Summarize by {ROUND}."
        )
    counts = {_number(key): expected(one) for key, one in groups.coarser([ROUND]).items()}
    counts = {number: counts[number] for number in sorted(counts) if counts[number].n}
    if len(counts) < 2:
        raise InvalidInput("reports of at least two rounds", str(len(counts)))
    axis = next(iter(counts.values())).mechanism.axes[""]
    if isinstance(axis, Categories):
        if category is None:
            raise InvalidInput(
                "a category whose share is wanted, for a question of words",
                "none",
                f"Known: {', '.join(axis.labels)}.",
            )
        what = _checks.one_of(axis.labels, category=category)
    elif category is not None:
        raise InvalidInput("a category for a question of words", "a question that is a number")
    else:
        what = "mean"
    points = {number: _point(one, category, level) for number, one in counts.items()}
    for number, one in points.items():
        if not np.isfinite([one.value, one.low, one.high]).all():
            raise InvalidInput(
                "two reports or more of each round",
                f"{counts[number].n:,} of round {number}",
                "Leave that round out.",
            )
    numbers = list(points)
    changes = {}
    for before, after in pairwise(numbers):
        one, two = points[after], points[before]
        low, high = apart((one.value, one.low, one.high), (two.value, two.low, two.high))
        changes[after] = Point(one.value - two.value, low, high)
    return Trend(what, level, points, changes, _slope(points, level))


def _number(key: Any) -> int:
    try:
        return int(key)
    except (TypeError, ValueError):
        raise InvalidInput("rounds that are whole numbers", _checks.shown(key)) from None


def _point(counts: Counts, category: str | None, level: float) -> Point:
    """The unbiased mean and its interval, which bounds do not cut, or a share."""
    if category is None:
        low, high = Intervals(counts).mean(level, cut=False)
        return Point((low + high) / 2, low, high)
    curve = CategoryShares().fit(counts)
    low, high = curve.interval(category, level=level)
    value = float(curve.shares[curve.categories.index(category)])
    return Point(value, min(low, value), max(high, value))


def _slope(points: Mapping[int, Point], level: float) -> Point:
    z = float(ndtri((1 + level) / 2))
    x = np.array(list(points), dtype=np.float64)
    y = np.array([one.value for one in points.values()])
    deviations = np.array([(one.high - one.low) / (2 * z) for one in points.values()])
    weights = 1 / np.maximum(deviations, np.finfo(float).tiny) ** 2
    center = weights @ x / weights.sum()
    spread = weights @ (x - center) ** 2
    slope = float(weights @ ((x - center) * y) / spread)
    wide = z / float(np.sqrt(spread))
    return Point(slope, slope - wide, slope + wide)
