"""Shares of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import LEVEL, bars, card, estimates
from confide._types import Floats
from confide.curves import forms
from confide.curves.forms import DECLINED, ENDS, frame
from confide.displays import ProportionsDisplay
from confide.errors import InvalidInput

SHOWN = 8
"""Categories that are shown in print."""


class ShareIntervals(Protocol):
    """Intervals of the shares of categories.

    Examples
    --------
    >>> from confide import Counts, RandomizedResponse
    >>> from confide.estimators import CategoryShares
    >>> mechanism = RandomizedResponse(["no", "yes"], epsilon=2.0)
    >>> reports = mechanism.simulate(["no"] * 600 + ["yes"] * 400, seed=1)
    >>> low, high = CategoryShares().fit(Counts.of(reports)).intervals.shares(0.95)
    >>> bool(low[1] < 0.4 < high[1])
    True
    """

    def shares(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends, one a category."""

    def declined(self, level: float) -> tuple[float, float]:
        """Lower and upper end of the share that declined."""


@dataclass(frozen=True, eq=False, repr=False)
class Proportions:
    """Shares of categories in the population; among those who answered, where people could decline.

    Parameters
    ----------
    categories
        The answers.
    shares
        Share of each.
    facts
        How they were estimated: method, n, epsilon.
    intervals
        The intervals behind `interval`.
    declined
        Share of the population that preferred not to say; None where that was not offered.

    Examples
    --------
    >>> Proportions(("no", "yes"), np.array([0.7, 0.3])).share("yes")
    0.3
    """

    categories: tuple[str, ...]
    shares: Floats
    _: KW_ONLY
    facts: Mapping[str, Any] = field(default_factory=dict)
    intervals: ShareIntervals | None = None
    declined: float | None = None

    def _at(self, category: str) -> int:
        if category not in self.categories:
            advice = _checks.nearest(category, self.categories)
            raise InvalidInput("a known category", _checks.shown(category), advice)
        return self.categories.index(category)

    def share(self, category: str) -> float:
        """Share of one category."""
        return float(self.shares[self._at(category)])

    def interval(self, category: str, *, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval for the share of one category, or of ``"declined"``."""
        declining = category == DECLINED and DECLINED not in self.categories
        if declining and self.declined is None:
            raise forms.not_offered()
        at = 0 if declining else self._at(category)
        if self.intervals is None:
            raise forms.without_intervals(self.facts)
        if declining:
            return self.intervals.declined(_checks.level(level))
        low, high = self.intervals.shares(_checks.level(level))
        return float(low[at]), float(high[at])

    def sample(self, n: int, *, seed: int | None = None) -> npt.NDArray[np.str_]:
        """Synthetic answers; they cost no further privacy. Nobody among them declined."""
        generator = np.random.default_rng(seed)
        n = _checks.integer(1, n=n)
        return generator.choice(np.array(self.categories), size=n, p=self.shares)

    def plot(
        self,
        ax: Any = None,
        *,
        level: float | None = 0.95,
        label: str | None = None,
        color: str | None = None,
    ) -> ProportionsDisplay:
        """Draw the shares with their intervals.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold shares of the same categories already; by default
            new ones.
        level
            Confidence level; None for the shares alone.
        label
            Name in the legend.
        color
            By default the next one of the axes' cycle.
        """
        ends = None
        if level is not None and self.intervals is not None:
            ends = self.intervals.shares(level)
        display = ProportionsDisplay(self.categories, self.shares, ends, level)
        return display.plot(ax, label=label, color=color)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fields = {
            "curve": "proportions",
            "categories": list(self.categories),
            "shares": self.shares.tolist(),
            "facts": dict(self.facts),
        }
        return fields | forms.declined_to(self.declined)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the intervals."""
        keys = ("categories", "shares", "facts")
        checked = forms.keyed(fields, "proportions", keys, optional=(DECLINED,))
        shares = _checks.vector(shares=checked["shares"])
        categories = forms.words(checked, "categories", shares.size)
        declined = forms.declined_from(checked)
        return cls(categories, shares, facts=dict(checked["facts"]), declined=declined)

    def __repr__(self) -> str:
        shown = [f"{name} {self.share(name):.3f}" for name in self.categories[:SHOWN]]
        left = len(self.categories) - len(shown)
        rest = f", and {left} more" if left else ""
        rest += "" if self.declined is None else f"; {DECLINED} {self.declined:.3f}"
        return f"<Proportions {', '.join(shown)}{rest}>"

    def _repr_html_(self) -> str:
        """A small picture, the shares with their intervals and what they cost, for notebooks."""
        ends = None if self.intervals is None else self.intervals.shares(LEVEL)
        pairs = (
            [None] * len(self.shares) if ends is None else zip(*map(np.ravel, ends), strict=True)
        )
        rows: list[Any] = list(zip(self.categories, self.shares.tolist(), pairs, strict=True))
        if self.declined is not None:
            known = None if self.intervals is None else self.intervals.declined(LEVEL)
            rows.append((DECLINED, self.declined, known))
        picture = bars(self.shares.tolist(), self.categories, ends=ends, told="shares")
        numbers = estimates(rows, level=LEVEL, shares=True)
        about = {"cost": forms.cost(self.facts), "facts": forms.how(self.facts)}
        return card("Shares of categories", picture, numbers, **about)

    def to_frame(self, *, level: float = 0.95) -> Any:
        """The share of each category with its interval, as a table of pandas.

        Parameters
        ----------
        level
            Confidence level. Intervals that the shares do not have are missing.

        Returns
        -------
        pandas.DataFrame
            With the columns ``category``, ``estimate``, ``low`` and ``high``; the share that
            declined is the last row, where people could.
        """
        low = high = np.full(self.shares.shape, np.nan)
        if self.intervals is not None:
            low, high = self.intervals.shares(_checks.level(level))
        rows = list(zip(self.categories, self.shares.tolist(), low, high, strict=True))
        if self.declined is not None:
            ends = (np.nan, np.nan)
            if self.intervals is not None:
                ends = self.intervals.declined(_checks.level(level))
            rows.append((DECLINED, self.declined, *ends))
        names = ("category", *ENDS)
        return frame([dict(zip(names, row, strict=True)) for row in rows])
