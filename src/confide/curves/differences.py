"""The difference between two groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from confide import _checks
from confide._cards import card, estimates, whisker
from confide._figures import number, percent
from confide.curves import forms
from confide.curves.density import Density
from confide.curves.forms import DECLINED, frame
from confide.curves.proportions import Proportions
from confide.displays import DifferenceDisplay
from confide.errors import InvalidInput

OF_NUMBERS = ("mean", "quantile", "cdf", DECLINED)
OF_CATEGORIES = ("share", DECLINED)


@dataclass(frozen=True, kw_only=True, repr=False)
class Difference:
    """How much larger a quantity is in the first of two groups.

    Parameters
    ----------
    what, at
        The quantity, and where it was taken.
    first, second
        Its estimates in the two groups.
    low, high
        Confidence interval of first - second.
    level
        Confidence level.

    Examples
    --------
    >>> pay = Difference(
    ...     what="mean", at=None, first=41.0, second=38.0, low=1.0, high=5.0, level=0.95)
    >>> pay.value, pay.certain
    (3.0, True)
    """

    what: str
    at: float | str | None
    first: float
    second: float
    low: float
    high: float
    level: float

    @property
    def value(self) -> float:
        """First minus second."""
        return self.first - self.second

    @property
    def certain(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def _name(self) -> str:
        if self.what == "quantile" and self.at == 0.5:
            return "median"
        return self.what if self.at is None else f"{self.what} {forms.short(self.at)}"

    def __repr__(self) -> str:
        ends = f"{percent(self.level)} interval {number(self.low)} to {number(self.high)}"
        return f"<Difference of the {self._name}: {number(self.value)}, {ends}>"

    def _repr_html_(self) -> str:
        """The interval beside zero, and both groups, for notebooks."""
        ends = (self.low, self.high)
        shares = self.what in ("share", "cdf", DECLINED)
        rows = [("first", self.first, None), ("second", self.second, None)]
        numbers = estimates(
            [*rows, ("first minus second", self.value, ends)], level=self.level, shares=shares
        )
        verdict = "The interval leaves zero out." if self.certain else "The interval holds zero."
        picture = whisker(self.value, ends, told=f"difference of the {self._name}, beside zero")
        return card(f"Difference of the {self._name}", picture, numbers, facts=verdict)

    def to_frame(self) -> Any:
        """A table of pandas with one row: quantity, both estimates, difference and interval."""
        values = {"first": self.first, "second": self.second, "estimate": self.value}
        return frame([{"quantity": self._name, **values, "low": self.low, "high": self.high}])

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> DifferenceDisplay:
        """Draw the difference and its interval as a row, below others in the same axes.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold other differences already; by default new ones.
        label
            Name of the row; by default the quantity.
        color
            By default the next one of the axes' cycle.
        """
        display = DifferenceDisplay(self._name, self.value, (self.low, self.high), self.level)
        return display.plot(ax, label=label, color=color)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "difference",
            **asdict(self),
            "value": self.value,
            "certain": self.certain,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        numbers = ("first", "second", "low", "high", "level")
        keys = ("what", "at", *numbers, "value", "certain")
        checked = forms.keyed(fields, "difference", keys)
        at = checked["at"]
        if at is not None and not isinstance(at, str):
            at = forms.finite(checked, "at")
        what = _checks.one_of((*OF_NUMBERS, *OF_CATEGORIES), what=checked["what"])
        return cls(what=what, at=at, **{key: forms.finite(checked, key) for key in numbers})


def difference(
    first: Density | Proportions,
    second: Density | Proportions,
    what: str,
    at: float | str | None = None,
    *,
    level: float = 0.95,
) -> Difference:
    """The difference between two groups of different respondents, with its interval.

    Parameters
    ----------
    first, second
        Densities of a number, or shares of categories.
    what
        ``"mean"``, ``"median"``, ``"quantile"`` (at a share) or ``"cdf"`` (at a value) of a
        number; ``"share"`` (at a category) of categories; ``"declined"`` of either, where people
        could decline.
    at
        Where; not for the mean, the median and the share that declined.
    level
        Confidence level.

    Notes
    -----
    The interval combines those of the groups, and is skewed if they are: with estimates t and
    intervals (l, u), the lower end is t1 - t2 - sqrt((t1 - l1)^2 + (u2 - t2)^2), the upper end
    likewise (Zou and Donner 2008, eq. 2). It assumes that the groups have no respondent in common.
    The interval of a mean is built around the unbiased mean of the reports, so its middle stands
    for t.

    Intervals of quantiles cover more than their level says, and their differences more still: a
    difference of quantiles whose interval excludes zero is certain by a wide margin.

    Examples
    --------
    >>> from confide import Counts, RandomizedResponse
    >>> from confide.estimators import CategoryShares
    >>> mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0)
    >>> north = mechanism.simulate(["no"] * 6000 + ["yes"] * 4000, seed=1)
    >>> south = mechanism.simulate(["no"] * 8000 + ["yes"] * 2000, seed=2)
    >>> shares = [CategoryShares().fit(Counts.of(reports)) for reports in (north, south)]
    >>> found = difference(*shares, "share", "yes")
    >>> found.low < 0.2 < found.high, found.certain
    (True, True)
    """
    level = _checks.level(level)
    if what == "median" and at is None:
        what, at = "quantile", 0.5
    low, high = apart(*(_ends(curve, what, at, level) for curve in (first, second)))
    estimates = _estimate(first, what, at), _estimate(second, what, at)
    gap = estimates[0] - estimates[1]
    place = at if isinstance(at, str) or at is None else float(at)
    return Difference(
        what=what,
        at=place,
        first=estimates[0],
        second=estimates[1],
        low=min(low, gap),
        high=max(high, gap),
        level=level,
    )


def apart(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float]:
    """The interval of a difference, from two independent estimates with their intervals.

    Parameters
    ----------
    first, second
        An estimate and the ends of its interval.
    """
    (t1, l1, u1), (t2, l2, u2) = first, second
    low = t1 - t2 - math.hypot(t1 - l1, u2 - t2)
    return low, t1 - t2 + math.hypot(u1 - t1, t2 - l2)


def _ends(
    curve: Density | Proportions, what: str, at: Any, level: float
) -> tuple[float, float, float]:
    """What stands for the estimate, and the ends of its interval."""
    estimate = _estimate(curve, what, at)
    if what == DECLINED:
        low, high = curve.interval(DECLINED, level=level)
    elif isinstance(curve, Proportions):
        low, high = curve.interval(at, level=level)
    else:
        low, high = map(float, curve.interval(what, at, level=level))
        if what == "mean":
            return (low + high) / 2, low, high
    return estimate, min(low, estimate), max(high, estimate)


def _estimate(curve: Density | Proportions, what: str, at: Any) -> float:
    if isinstance(curve, Density | Proportions) and what == DECLINED:
        if at is not None:
            raise InvalidInput("no place for the share that declined", _checks.shown(at))
        if curve.declined is None:
            raise forms.not_offered()
        return curve.declined
    if isinstance(curve, Proportions):
        _checks.one_of(OF_CATEGORIES, what=what)
        if not isinstance(at, str):
            raise InvalidInput("a category for the share", _checks.shown(at), "Give at=.")
        return curve.share(at)
    if not isinstance(curve, Density):
        raise InvalidInput("a Density or Proportions", _checks.kind(curve))
    _checks.one_of(("mean", "median", *OF_NUMBERS[1:]), what=what)
    if what in ("mean", "median"):
        # Without a place, the median was taken for the quantile at one half.
        if at is not None:
            raise InvalidInput(f"no place for the {what}", _checks.shown(at))
        mean = curve.mean()
        if not isinstance(mean, float):
            raise InvalidInput(
                "densities of one number", "joint ones", "Take marginal(name) of each."
            )
        return mean
    place = _checks.finite(at=at)
    return float(getattr(curve, what)(place))
