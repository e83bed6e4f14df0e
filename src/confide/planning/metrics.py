"""Metrics: the ways to say how far the estimate of a survey is from its population.

A new metric of the density is one entry in `DENSITY`. Plans, targets, curves, tables of bounds and
the command line take it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from confide._types import Floats
from confide.lattice import Lattice
from confide.mechanisms import Numeric
from confide.planning.populations import Population

QUANTILES = (0.1, 0.5, 0.9)
"""Quantiles of a plan, if no others are asked for."""


@dataclass(frozen=True, eq=False)
class Truth:
    """A population as a survey with a lattice sees it."""

    population: Population
    lattice: Lattice
    quantiles: tuple[float, ...]

    @cached_property
    def masses(self) -> Floats:
        """Share of each cell, clipped values in the end ones."""
        return self.population.masses(self.lattice)

    @cached_property
    def cumulative(self) -> Floats:
        """Share of values below each edge, those below the lower bound included."""
        below = np.searchsorted(self.population.points, self.lattice.edges, side="left")
        sums: Floats = np.append(0.0, self.population.weights.cumsum())
        return np.take(sums, below)

    @cached_property
    def clipped(self) -> tuple[float, float]:
        """The error of the mean and of W1 that clipping at the bounds causes."""
        return self.population.clipped(low=self.lattice.low, high=self.lattice.high)

    def reports(self, mechanism: Numeric) -> Floats:
        """Chance of each report."""
        shares = np.maximum(mechanism.law.forward(self.masses), 0.0)
        return np.asarray(shares / shares.sum())

    def gaps(self, density: Any) -> Floats:
        """Errors of a density's distribution function at the edges of the cells, without sign."""
        return np.asarray(np.abs(density.cdf(self.lattice.edges) - self.cumulative))


@dataclass(frozen=True)
class Metric:
    """One way to say how far an estimate is from the population.

    Parameters
    ----------
    name
        In tables, JSON and options.
    meaning
        What it says, for people; it ends a sentence.
    source
        The simulation that it comes from: ``"density"``, ``"interval"``, ``"mean"`` or ``"mse"``.
    error
        Of a metric of the density: its error, from the truth and an estimated density.
    distance
        Whether the plan is the mean of the errors over surveys. Otherwise errors have a sign, and
        the plan is half of the range around the truth that holds a share ``level`` of estimates.
    floor
        The error that clipping alone makes, however many answer; None where it is not known apart.
    """

    name: str
    meaning: str
    source: str
    error: Callable[[Truth, Any], float] | None = None
    distance: bool = True
    floor: Callable[[Truth], float] | None = None


def _w1(truth: Truth, density: Any) -> float:
    gaps = truth.gaps(density)
    inside = ((gaps[1:] + gaps[:-1]) / 2 * truth.lattice.widths).sum()
    return float(inside) + truth.clipped[1]


DENSITY = (
    Metric(
        "w1",
        "how far, on average, the estimated curve puts people from where they are",
        "density",
        _w1,
        floor=lambda truth: truth.clipped[1],
    ),
    Metric(
        "ks",
        "the largest error of a share of people below some value",
        "density",
        lambda truth, density: float(truth.gaps(density).max()),
    ),
)
"""Distances of an estimated density from the population."""

MEAN = Metric(
    "mean",
    "half-width of the mean's 95 % interval",
    "mean",
    floor=lambda truth: truth.clipped[0],
)
MSE = Metric("mse", "mean squared error of the regression's curve", "mse")
"""For a plan with a response."""


def quantile(q: float) -> Metric:
    """The error of an estimated quantile: q10, median, q90."""

    def error(truth: Truth, density: Any) -> float:
        return float(density.quantile(q)) - truth.population.quantile(q)

    meaning = (
        "half of the range around the truth that holds 95 % of estimates; the intervals that are "
        "printed with them are wider, see --intervals"
    )
    name = "median" if q == 0.5 else f"q{100 * q:.4g}"
    return Metric(name, meaning, "density", error, distance=False)


def printed(q: float) -> Metric:
    """Half of the interval of a quantile that an estimate prints."""
    meaning = "half-width of the interval that an estimate will print"
    return Metric(f"{quantile(q).name}-interval", meaning, "interval")


def told_apart(metric: str) -> str:
    """The metric itself where the cost of clipping is known apart, as bounds need it, else w1."""
    known = metrics()
    return metric if metric in known and known[metric].floor else DENSITY[0].name


def metrics(
    *, quantiles: Sequence[float] = QUANTILES, intervals: bool = True, response: bool = True
) -> Mapping[str, Metric]:
    """All metrics of a plan by name, in the order of its table.

    Parameters
    ----------
    quantiles
        Of which quantiles.
    intervals
        Whether the printed intervals of quantiles are among them.
    response
        Whether there is a regression.
    """
    found = (
        *DENSITY,
        *map(quantile, quantiles),
        *(map(printed, quantiles) if intervals else ()),
        MEAN,
        *((MSE,) if response else ()),
    )
    return {metric.name: metric for metric in found}
