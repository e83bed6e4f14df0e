"""Pictures of designs: arrays in, matplotlib out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.displays import ESTIMATE, NAIVE, TRUTH, commas, new_axes

Floats = npt.NDArray[np.float64]
COLORS = (TRUTH, ESTIMATE, NAIVE, "#7f4f91")


@dataclass(repr=False)
class PairsDisplay:
    """Pairs of shape and scale that protect, and the one that was taken.

    Parameters
    ----------
    shapes, scales
        The smallest scale of each shape.
    chosen
        The pair that was taken.
    smallest
        The smallest shape that any scale goes with.
    floor
        The smallest shape allowed; 0 for none.
    """

    shapes: Floats
    scales: Floats
    chosen: tuple[float, float]
    smallest: float
    floor: float = 0.0
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> PairsDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes(6.0, 4.0) if ax is None else ax
        top = 1.6 * max(float(np.median(self.scales)), self.chosen[1])
        above = np.maximum(self.scales, top)
        ax.fill_between(self.shapes, self.scales, above, color=ESTIMATE, alpha=0.15, lw=0)
        ax.plot(self.shapes, self.scales, color=ESTIMATE, lw=1.8, label="smallest scale")
        ax.plot(*self.chosen, "o", color=TRUTH, label="taken")
        ax.axvline(self.smallest, color=NAIVE, lw=1.2, ls="--", label="no scale protects left of")
        if self.floor:
            ax.axvline(self.floor, color="grey", lw=0.8, ls=":", label="floor")
        ax.set(xlim=(0, 1.02), ylim=(0, top), xlabel="shape", ylabel="scale")
        commas(ax.yaxis)
        ax.legend(frameon=False, fontsize=8)
        return self

    def __repr__(self) -> str:
        return f"<PairsDisplay of {self.shapes.size:,} pairs>"


@dataclass(repr=False)
class CurvesDisplay:
    """Distribution functions by name, the true one first.

    Parameters
    ----------
    x
        Where they are known.
    curves
        Shares of values up to x.
    """

    x: Floats
    curves: Mapping[str, Floats]
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> CurvesDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes(6.0, 4.0) if ax is None else ax
        for color, (name, heights) in zip(COLORS, self.curves.items(), strict=False):
            ax.plot(self.x, heights, color=color, lw=1.4, label=name)
        ax.set(xlabel="value", ylabel="share of values up to here")
        commas(ax.xaxis)
        ax.legend(frameon=False, fontsize=8)
        return self

    def __repr__(self) -> str:
        return f"<CurvesDisplay of {', '.join(self.curves)}>"
