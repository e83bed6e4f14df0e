"""A picture of an expected error over n and epsilon."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide._figures import number
from confide._types import Floats
from confide.displays import ESTIMATE, TRUTH, Display, commas, new_axes

FINE = 80
"""Places along each side of a picture."""
MARK = "#d55e00"


@dataclass(frozen=True, eq=False)
class ErrorMap:
    """Expected errors at several n and epsilons.

    Attributes
    ----------
    name
        Which error, such as ``"pay.mean"``.
    n, epsilon
        Where, ascending.
    errors
        A row for each epsilon, a column for each n.
    target
        The error wanted, or None.
    planned
        The plan's own n and epsilon.
    """

    name: str
    n: Floats
    epsilon: Floats
    errors: Floats
    target: float | None
    planned: tuple[int, float]

    def fine(self) -> tuple[Floats, Floats, Floats]:
        """The map at many more places, interpolated on a log scale."""
        if self.errors.size >= FINE:
            return self.n, self.epsilon, self.errors
        n = np.geomspace(self.n[0], self.n[-1], FINE)
        epsilon = np.geomspace(self.epsilon[0], self.epsilon[-1], FINE)
        logs = np.log(np.maximum(self.errors, np.finfo(np.float64).tiny))
        rows = np.array([np.interp(np.log(n), np.log(self.n), row) for row in logs])
        places = np.log(self.epsilon)
        fine = [np.interp(np.log(epsilon), places, column) for column in rows.T]
        return n, epsilon, np.exp(np.array(fine).T)


@dataclass(repr=False)
class MapDisplay(Display):
    """An expected error over n and epsilon, with lines of equal error.

    Parameters
    ----------
    map
        The errors.
    """

    map: ErrorMap
    ax_: Any = field(default=None, init=False)

    @property
    def title(self) -> str:
        """The title of the picture."""
        return f"expected error of {self.map.name}"

    def plot(self, ax: Any = None, *, label: str = "", color: str | None = None) -> MapDisplay:
        """Draw into the given axes, or new ones.

        Parameters
        ----------
        ax
            Axes of matplotlib.
        label
            Name of the plan's own point.
        color
            Of the lines of equal error.
        """
        from matplotlib.ticker import LogLocator, NullFormatter

        self.ax_ = ax = new_axes(7.0, 5.0) if ax is None else ax
        # Scales first: labels of lines are placed where the lines are drawn.
        ax.set_xscale("log")
        ax.set_yscale("log")
        n, epsilon, errors = self.map.fine()
        target = self.map.target
        # The target has a separate line.
        levels = [level for level in _levels(errors) if level != target]
        lines = ax.contour(n, epsilon, errors, levels=levels, colors=color or ESTIMATE)
        lines.set_linewidth(1.0)
        ax.clabel(lines, fmt=number, fontsize=9, inline_spacing=6)
        if target is not None and errors.min() < target < errors.max():
            ax.contourf(n, epsilon, errors, levels=[0, target], colors=[MARK], alpha=0.12)
            ax.contour(n, epsilon, errors, levels=[target], colors=MARK, linewidths=2.4)
            ax.plot([], [], color=MARK, lw=2.4, label=f"target {number(target)}, met where shaded")
        ax.plot(
            *self.map.planned, "o", ms=8, color=TRUTH, label=label or "as planned", clip_on=False
        )
        ax.plot([], [], color=color or ESTIMATE, lw=1.0, label="equal error")
        ax.set_xlabel("respondents")
        ax.set_ylabel("epsilon of each respondent, in all")
        ax.set_title(self.title, parse_math=False)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
            axis.set_minor_formatter(NullFormatter())
            commas(axis)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False)
        return self

    def __repr__(self) -> str:
        return f"<MapDisplay of {self.map.name}>"


def _levels(errors: Floats) -> list[float]:
    """Round numbers 1, 2, 5 of each decade between the least and the largest error."""
    low, high = np.log10(max(float(errors.min()), 1e-300)), np.log10(float(errors.max()))
    decades = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    marks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    inside = [mark for mark in marks if errors.min() < mark < errors.max()]
    return inside or [float(np.median(errors))]
