"""Measures and pictures of how close samples are to a known target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.displays import ESTIMATE, NAIVE, TRUTH, Display, new_axes
from confide.errors import InvalidInput
from confide.sampling.mollification import mollify
from confide.sampling.references import Reference
from confide.sampling.sampler import Samples

STYLES = {"target": (TRUTH, "-"), "reference": (NAIVE, "--")}
COLORS = (ESTIMATE, "#d55e00", "#009e73", "#cc79a7", "#888888", "#56b4e9")
WIDTH = 2.9
ACROSS = 3
"""Maps in a row."""
POINTS = {1: 400, 2: 80}
"""Cells along each axis of a picture of samples, by the number of axes."""


@dataclass(repr=False)
class LearnedDisplay(Display):
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
            rows = -(-len(self.heights) // ACROSS)
            wide = WIDTH * min(len(self.heights), ACROSS)
            self.ax_ = new_axes(wide, WIDTH * rows) if ax is None else ax
            self._maps(self.ax_)
            return self
        self.ax_ = ax = new_axes() if ax is None else ax
        colors = cycle(COLORS)
        for name, height in self.heights.items():
            color, line = STYLES.get(name) or (next(colors), "-")
            centers = (self.edges[0][1:] + self.edges[0][:-1]) / 2
            ax.plot(centers, height, line, color=color, lw=1.6, label=name)
        ax.set_xlabel("value")
        ax.set_ylabel("density")
        # Room for the legend above the curves.
        ax.set_ylim(0, ax.get_ylim()[1] * (1 + 0.05 * len(self.heights)))
        ax.legend(frameon=False, fontsize=8.5, ncols=2, loc="upper left")
        return self

    def _maps(self, ax: Any) -> None:
        ax.set_axis_off()
        across = min(len(self.heights), ACROSS)
        rows = -(-len(self.heights) // ACROSS)
        for at, (name, height) in enumerate(self.heights.items()):
            low = 1 - (at // across + 1) / rows
            part = ax.inset_axes((at % across / across, low, 0.9 / across, 0.84 / rows))
            part.pcolormesh(*self.edges, height.T, cmap="Blues", rasterized=True)
            part.set_title(name, fontsize=9)
            part.set_aspect("equal")
            part.tick_params(labelsize=7)

    def __repr__(self) -> str:
        return f"<LearnedDisplay of {', '.join(self.heights)}>"


@dataclass(repr=False)
class SamplesDisplay(Display):
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
class MetricDisplay(Display):
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


LogDensity = Callable[[Floats], Floats]

COVERED = 0.95
MOST_POINTS = 2**22
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Judge:
    """Compares densities with a known target, by the midpoint rule on a box.

    Parameters
    ----------
    target
        Log density of the target at points, one row each; up to a constant.
    low, high
        Corners of a box that holds nearly all of the target: one number an axis, or single ones.
    points
        Points along each axis.

    Examples
    --------
    >>> from confide.sampling.references import Gaussian
    >>> narrow, wide = Gaussian(sd=0.5), Gaussian()
    >>> judge = Judge(narrow.log_pdf, low=-5, high=5)
    >>> round(judge.kl(wide.log_pdf), 4)
    0.3181
    >>> judge.kl(judge.limit(wide, epsilon=0.2)) < judge.kl(wide.log_pdf)
    True
    """

    target: LogDensity
    low: float | Sequence[float] = field(kw_only=True)
    high: float | Sequence[float] = field(kw_only=True)
    points: int = field(default=1000, kw_only=True)

    def __post_init__(self) -> None:
        low, high = np.atleast_1d(self.low), np.atleast_1d(self.high)
        if low.ndim != 1 or low.shape != high.shape or not (low < high).all():
            raise InvalidInput(
                "low < high on each axis",
                f"low={_checks.shown(self.low)}, high={_checks.shown(self.high)}",
            )
        points = _checks.integer(2, points=self.points)
        if points ** len(low) > MOST_POINTS:
            raise InvalidInput(
                f"at most {MOST_POINTS} points in all", f"{points} on each of {len(low)} axes"
            )

    @cached_property
    def edges(self) -> list[Floats]:
        """Edges of the cells along each axis."""
        ends = zip(np.atleast_1d(self.low), np.atleast_1d(self.high), strict=True)
        return [np.linspace(a, b, self.points + 1) for a, b in ends]

    @cached_property
    def table(self) -> Floats:
        """Midpoints of the cells, one row each."""
        lines = [(line[1:] + line[:-1]) / 2 for line in self.edges]
        grid = np.meshgrid(*lines, indexing="ij")
        return np.stack([axis.ravel() for axis in grid], axis=1)

    @property
    def volume(self) -> float:
        """Size of a cell."""
        return float(np.prod([line[1] - line[0] for line in self.edges]))

    @cached_property
    def masses(self) -> Floats:
        """The target's masses of the cells; they sum to one."""
        logs = np.asarray(self.target(self.table), dtype=np.float64)
        heights = np.exp(logs - logs.max())
        masses: Floats = heights / heights.sum()
        return masses

    def kl(self, law: LogDensity) -> float:
        """KL(target, law) in nats: 0 where they are the same."""
        inside = self.masses > 0
        logs = np.log(self.masses[inside] / self.volume)
        gaps = logs - self._logs(law)[inside]
        return float(self.masses[inside] @ gaps)

    def nll(self, law: LogDensity) -> float:
        """Mean of minus the law's log density over the target: KL plus the target's entropy."""
        inside = self.masses > 0
        return -float(self.masses[inside] @ self._logs(law)[inside])

    def coverage(self, law: LogDensity) -> float:
        """Mode coverage: the target's mass where the law's density is in its upper 95 %.

        P(q > t) for the t with Q(q > t) = .95; the paper prints both inequalities the other way
        round, so that a law which misses every mode scores 1. It is a one-sided check: the target
        itself scores .95, and whatever is spread too widely scores more.
        """
        heights = np.exp(self._logs(law))
        order = np.argsort(-heights)
        above = np.cumsum(heights[order])
        inside = int(np.searchsorted(above, COVERED * above[-1])) + 1
        return float(self.masses[order[:inside]].sum())

    def limit(self, reference: Reference, epsilon: float) -> LogDensity:
        """The information limit: equation (8) on the target itself, as a log density.

        No law within e**(+-epsilon/2) of the reference is nearer to the target. It is known on
        the midpoints of this judge's cells only.
        """
        known = np.exp(reference.log_density(self.table)) * self.volume
        # What is outside the box is one more cell, without any of the target.
        everything = np.maximum(np.append(known, 1 - known.sum()), TINY)
        with np.errstate(divide="ignore"):
            ratio = np.log(np.append(self.masses, 0.0)) - np.log(everything)
        best = mollify(ratio, everything, epsilon)[:-1]
        logs: Floats = np.log(best / self.volume)

        def at(points: Floats) -> Floats:
            if points is not self.table:
                raise InvalidInput("the judge's own points", "other points")
            return logs

        return at

    def plot(
        self, law: LogDensity, reference: Reference, *, label: str = "sample"
    ) -> LearnedDisplay:
        """A picture of target, reference and law: curves on one axis, maps on two."""
        if len(self.edges) > 2:
            raise InvalidInput("one or two axes to plot", str(len(self.edges)))
        shape = tuple(len(line) - 1 for line in self.edges)
        heights = {
            "target": self.masses / self.volume,
            "reference": np.exp(reference.log_density(self.table)),
            label: np.exp(self._logs(law)),
        }
        tables = {name: height.reshape(shape) for name, height in heights.items()}
        return LearnedDisplay(tuple(self.edges), tables).plot()

    def _logs(self, law: LogDensity) -> Floats:
        return np.asarray(law(self.table), dtype=np.float64)


def mode_region(judge: Judge, reference: Reference, inside: npt.ArrayLike) -> tuple[float, float]:
    """Mass of a region and the integral of P log(P/Q0) over it, for `BoostedLaw.mode_bound`.

    Parameters
    ----------
    judge
        Knows the target.
    reference
        Q0.
    inside
        Whether each of the judge's points is in the region.
    """
    chosen = np.asarray(inside, dtype=bool) & (judge.masses > 0)
    own = judge.masses[chosen]
    gaps = np.log(own / judge.volume) - reference.log_density(judge.table)[chosen]
    return float(own.sum()), float(own @ gaps)
