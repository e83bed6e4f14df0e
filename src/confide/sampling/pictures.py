"""Pictures of what samplers have learned: arrays in, matplotlib out. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide._types import Floats
from confide.displays import ESTIMATE, NAIVE, TRUTH, new_axes
from confide.sampling.sampler import Samples

STYLES = {"target": (TRUTH, "-"), "reference": (NAIVE, "--")}
COLORS = (ESTIMATE, "#b23a48", "#6a994e", "#7b5ea7", "#888888")
WIDTH = 3.2
POINTS = {1: 400, 2: 80}
"""Cells along each axis of a picture of samples, by the number of axes."""


@dataclass(repr=False)
class LearnedDisplay:
    """Densities beside each other: curves on one axis, a map each on two.

    Parameters
    ----------
    edges
        Cell edges, one array an axis.
    heights
        Density in each cell by name; ``target`` and ``reference`` have styles of their own.
    """

    edges: tuple[Floats, ...]
    heights: Mapping[str, Floats]
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> LearnedDisplay:
        """Draw into the given axes, or new ones; maps divide the axes' place among them."""
        if len(self.edges) == 2:
            self.ax_ = new_axes(WIDTH * len(self.heights), WIDTH) if ax is None else ax
            self._maps(self.ax_)
            return self
        self.ax_ = ax = new_axes() if ax is None else ax
        colors = iter(COLORS)
        for name, height in self.heights.items():
            color, line = STYLES.get(name) or (next(colors), "-")
            centers = (self.edges[0][1:] + self.edges[0][:-1]) / 2
            ax.plot(centers, height, line, color=color, lw=1.6, label=name)
        ax.set_xlabel("value")
        ax.set_ylabel("density")
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
        return self

    def _maps(self, ax: Any) -> None:
        ax.set_axis_off()
        count = len(self.heights)
        for at, (name, height) in enumerate(self.heights.items()):
            part = ax.inset_axes((at / count, 0, 0.92 / count, 0.9))
            part.pcolormesh(*self.edges, height.T, cmap="Blues", rasterized=True)
            part.set_title(name, fontsize=9)
            part.set_aspect("equal")
            part.tick_params(labelsize=7)

    def __repr__(self) -> str:
        return f"<LearnedDisplay of {', '.join(self.heights)}>"


@dataclass(repr=False)
class SamplesDisplay:
    """Released samples over the density of their public reference.

    Parameters
    ----------
    edges
        Cell edges, one array an axis; one or two.
    heights
        The reference's density in each cell.
    points
        The samples, one row each.
    """

    edges: tuple[Floats, ...]
    heights: Floats
    points: Floats
    ax_: Any = field(default=None, init=False)

    @classmethod
    def of(cls, samples: Samples) -> SamplesDisplay:
        """Samples of one or two columns, over where they and their reference lie.

        Parameters
        ----------
        samples
            What a sampler with a reference has released.
        """
        sampler: Any = samples.mechanism
        points = samples.points
        lows, highs = sampler.reference.ends
        edges = [
            np.linspace(min(a, own.min()), max(b, own.max()), POINTS[points.shape[1]] + 1)
            for a, b, own in zip(lows, highs, points.T, strict=True)
        ]
        centers = np.meshgrid(*[(line[1:] + line[:-1]) / 2 for line in edges], indexing="ij")
        grid = np.stack([axis.ravel() for axis in centers], axis=1)
        heights = np.exp(sampler.reference.log_density(grid)).reshape(centers[0].shape)
        return cls(tuple(edges), heights, points)

    def plot(self, ax: Any = None) -> SamplesDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes() if ax is None else ax
        if len(self.edges) == 2:
            ax.pcolormesh(*self.edges, self.heights.T, cmap="Greys", alpha=0.6, rasterized=True)
            ax.plot(*self.points.T, "o", color=ESTIMATE, ms=4, label="samples")
        else:
            centers = (self.edges[0][1:] + self.edges[0][:-1]) / 2
            ax.plot(centers, self.heights, "--", color=NAIVE, label="reference")
            at = self.points[:, 0]
            ax.plot(at, np.zeros(len(at)), "|", color=ESTIMATE, ms=18, label="samples")
            ax.set_ylabel("density")
        ax.legend(frameon=False)
        return self

    def __repr__(self) -> str:
        return f"<SamplesDisplay of {len(self.points):,} samples>"


@dataclass(repr=False)
class MetricDisplay:
    """A measure against epsilon, for several samplers, with spreads.

    Parameters
    ----------
    epsilons
        Where it was measured.
    values
        Means by sampler.
    spreads
        Standard deviations by sampler.
    name
        What is measured.
    """

    epsilons: Sequence[float]
    values: Mapping[str, Sequence[float]]
    spreads: Mapping[str, Sequence[float]] = field(default_factory=dict)
    name: str = "KL"
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> MetricDisplay:
        """Draw into the given axes, or new ones."""
        self.ax_ = ax = new_axes() if ax is None else ax
        for at, (name, values) in enumerate(self.values.items()):
            color, line = STYLES.get(name) or (COLORS[at % len(COLORS)], "o-")
            errors = self.spreads.get(name)
            ax.errorbar(
                self.epsilons, values, errors, fmt=line, color=color, ms=3, capsize=2, label=name
            )
        ax.set_xscale("log")
        ax.set_xticks(list(self.epsilons), [f"{epsilon:g}" for epsilon in self.epsilons])
        ax.minorticks_off()
        ax.set_xlabel("epsilon")
        ax.set_ylabel(self.name)
        ax.legend(frameon=False, fontsize=8)
        return self

    def __repr__(self) -> str:
        return f"<MetricDisplay of {self.name} for {len(self.values)} samplers>"
