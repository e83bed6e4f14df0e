"""Pictures of audits: arrays in, matplotlib out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from confide.displays import ESTIMATE, NAIVE, TRUTH, new_axes


@dataclass(repr=False)
class ClaimDisplay:
    """Epsilons that were claimed, proved and found, a row each.

    Parameters
    ----------
    names
        What was checked.
    claimed, certified, found
        Epsilons; those that are missing or infinite are left out.
    """

    names: Sequence[str]
    claimed: Sequence[float | None]
    certified: Sequence[float | None]
    found: Sequence[float | None]
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> ClaimDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes(7.0, 1.2 + 0.5 * len(self.names)) if ax is None else ax
        places = range(len(self.names))
        found = [value or 0.0 for value in self.found]
        ax.barh(places, found, color=ESTIMATE, alpha=0.7, height=0.5, label="found, at least")
        for values, color, marker, label in (
            (self.certified, NAIVE, "D", "certified, at most"),
            (self.claimed, TRUTH, "|", "claimed"),
        ):
            pairs = [
                (value, at)
                for at, value in enumerate(values)
                if value is not None and math.isfinite(value)
            ]
            if pairs:
                size = 18 if marker == "|" else 6
                x, y = zip(*pairs, strict=True)
                ax.plot(x, y, marker, color=color, ms=size, mew=2, label=label)
        ax.set_yticks(places, list(self.names), parse_math=False)
        ax.invert_yaxis()
        ax.set_xlim(left=0)
        ax.set_xlabel("epsilon")
        ax.legend(frameon=False, loc="best")
        return self

    def __repr__(self) -> str:
        return f"<ClaimDisplay of {len(self.names):,} rows>"
