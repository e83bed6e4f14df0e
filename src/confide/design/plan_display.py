"""Pictures of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide.design.scaling import ErrorCurve
from confide.displays import ESTIMATE, NAIVE, TRUTH, commas, new_axes

COLORS = {"square-wave": ESTIMATE, "laplace": NAIVE, "two-sided-gamma": "#7a5195"}
LABELS = {"n": "respondents", "epsilon": "epsilon"}


@dataclass(repr=False)
class PlanDisplay:
    """Expected errors against n and against epsilon.

    Parameters
    ----------
    curves
        One for each mechanism and direction.
    planned
        The plan's own n and epsilon, which a vertical line marks.
    """

    curves: tuple[ErrorCurve, ...]
    planned: tuple[int, float]
    ax_: Any = field(default=None, init=False)

    def plot(self, axes: Sequence[Any] | None = None) -> PlanDisplay:
        """Draw into two axes, or new ones."""
        from matplotlib.ticker import LogLocator

        if axes is None:
            first = new_axes(9.0, 3.8)
            figure = first.figure
            first.remove()
            axes = figure.subplots(1, 2, sharey=True)
        self.ax_ = axes[0]
        for ax, along, here in zip(axes, LABELS, self.planned, strict=True):
            for curve in self.curves:
                if curve.along == along:
                    self._draw(ax, curve)
            ax.axvline(here, color=TRUTH, lw=0.8, ls=":")
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xlabel(LABELS[along])
            ax.set_xticks(next(curve.x for curve in self.curves if curve.along == along))
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            for axis in (ax.xaxis, ax.yaxis):
                commas(axis)
                axis.set_minor_formatter("")
        axes[0].set_ylabel(f"expected error ({self.curves[0].metric})")
        axes[0].legend(frameon=False)
        return self

    def _draw(self, ax: Any, curve: ErrorCurve) -> None:
        color = COLORS.get(curve.mechanism, TRUTH)
        x = np.geomspace(curve.x[0], curve.x[-1], 101)
        ax.plot(x, curve.at(x), color=color, lw=1.6, label=curve.mechanism)
        ax.errorbar(
            curve.x, curve.error, 2 * curve.standard_error, fmt="o", ms=4, color=color, capsize=2
        )

    def __repr__(self) -> str:
        return f"<PlanDisplay of {len(self.curves)} curves>"
