"""Choosing bounds: what clipping costs, and what a range that is too wide costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from confide import _checks
from confide.errors import InvalidInput
from confide.lattice import Lattice
from confide.planning.populations import Population
from confide.planning.scenario import ROUGH, Scenario

SHARES = (0.9, 0.95, 0.98, 0.99, 0.999)
"""Shares of the population within candidate bounds."""


@dataclass(frozen=True)
class BoundsRow:
    """What some bounds cost, in the units of the values.

    Attributes
    ----------
    low, high
        The bounds.
    outside
        Share of the population beyond them.
    clip
        Error from clipping alone, however many respondents: the distance that clipped values
        move on average (``w1``), or the shift of the mean.
    noise
        Expected error from noise and sampling; it grows with the range.
    total
        Their sum.
    """

    low: float
    high: float
    outside: float
    clip: float
    noise: float

    @property
    def total(self) -> float:
        """Clipping and noise together."""
        return self.clip + self.noise


def candidates(
    population: Population, *, low: float, high: float
) -> tuple[tuple[float, float], ...]:
    """Bounds to compare: the given ones, one and a half and two times as wide, and narrower ones.

    Where the population begins next to the lower bound, as next to a natural end such as 0, only
    the upper one moves.
    """
    width = high - low
    found = {(low, high)}
    step = width / 1000
    natural = low <= population.quantile(0.001) and population.quantile(0.01) < low + 0.1 * width
    for share in SHARES:
        above = population.quantile(1 - (1 - share) / (1 if natural else 2))
        below = low if natural else population.quantile((1 - share) / 2)
        ends = (step * np.floor(below / step), step * np.ceil(above / step))
        if ends[0] < ends[1]:
            found.add((float(ends[0]), float(ends[1])))
    for factor in (0.5, 1.0):
        extra = factor * width
        found.add((low, high + extra) if natural else (low - extra / 2, high + extra / 2))
    return tuple(sorted(found, key=lambda ends: ends[1] - ends[0]))


def bounds_table(
    scenario: Scenario,
    ranges: Sequence[tuple[float, float]],
    n: int,
    epsilon: float,
    *,
    metric: str,
    mechanism: str,
) -> tuple[BoundsRow, ...]:
    """Costs of each of some bounds for a scenario's population."""
    known = {name: each.floor for name, each in scenario.metrics.items() if each.floor}
    floor = known[_checks.one_of(tuple(known), metric=metric)]
    if not len(ranges):
        raise InvalidInput("at least one pair of bounds", "none")
    truth, rows = scenario.truth, []
    for ends in ranges:
        low, high = ends
        lattice = Lattice(low=low, high=high, size=truth.lattice.size, scale=truth.lattice.scale)
        own = replace(scenario, truth=replace(truth, lattice=lattice))
        clip = floor(own.truth)
        total = own.best(mechanism, metric, n, epsilon, look=ROUGH).error
        outside = truth.population.outside(low=lattice.low, high=lattice.high)
        rows.append(BoundsRow(lattice.low, lattice.high, outside, clip, total - clip))
    return tuple(rows)


def best_bounds(rows: Sequence[BoundsRow]) -> BoundsRow:
    """The bounds of the least total cost."""
    return min(rows, key=lambda row: row.total)
