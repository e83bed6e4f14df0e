"""Whether means and differences of medians are covered where answers lie on points.

Thirty per cent of the population of the half for tuning are at zero. On cells their mean is off by
half a cell; on points it is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from confide import Lattice, SquareWave
from confide.curves.differences import difference
from confide.estimators.adaptive import Adaptive
from confide.estimators.intervals import Intervals
from confide.summaries import Counts
from evidence.sharper.populations import split

POPULATION = split()["tuning"][3]
SIZES, EPSILONS, PEOPLE = (64, 256), (1.0, 4.0), (2_000, 20_000)
SEED = 61


def below(x: np.ndarray) -> np.ndarray:
    """Share of values below x, also beyond the bounds."""
    return np.where(x <= 0, 0.0, POPULATION.below(np.clip(x, 0, 1)))


def true_mean() -> float:
    """The mean of the population: the area above its distribution function."""
    x = np.linspace(0, 1, 200_001)
    return float(1 - np.trapezoid(POPULATION.below(x), x))


def drawn(mechanism: SquareWave, shares: np.ndarray, n: int, seeds: list[int]) -> Counts:
    """The counts of one survey."""
    chances = np.maximum(mechanism.law.forward(shares), 0)
    counts = np.random.default_rng([SEED, *seeds]).multinomial(n, chances / chances.sum())
    return Counts(mechanism, counts, simulated=True)


def means(kind: str, size: int, epsilon: float, n: int, surveys: int) -> dict[str, Any]:
    """How often the interval of the mean holds the population's own mean."""
    mechanism = SquareWave(Lattice(low=0, high=1, size=size, kind=kind), epsilon=epsilon)
    edges = mechanism.lattice.edges.copy()
    edges[[0, -1]] = -1, 2
    shares, truth = np.diff(below(edges)), true_mean()
    ends = np.array(
        [
            Intervals(drawn(mechanism, shares, n, [size, n, survey])).mean(0.95)
            for survey in range(surveys)
        ]
    )
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    row = {"kind": kind, "size": size, "epsilon": epsilon, "n": n, "surveys": surveys}
    return {**row, "coverage": float(held.mean()), "width": float(np.diff(ends).mean())}


def medians(size: int, epsilon: float, n: int, surveys: int) -> dict[str, Any]:
    """The same for the difference of two medians, of answers at points, that are a step apart."""
    mechanism = SquareWave(Lattice(low=0, high=1, size=size, kind="points"), epsilon=epsilon)
    lattice = mechanism.lattice
    shares = np.diff(below(np.append(lattice.edges[:-1], 2)))
    shifted = np.append(0.0, shares[:-1]) + np.append(np.zeros(size - 1), shares[-1])
    held = []
    for survey in range(surveys):
        first, second = (
            Adaptive().fit(drawn(mechanism, each, n, [size, n, survey, at]))
            for at, each in enumerate((shares, shifted))
        )
        found = difference(second, first, "quantile", 0.5)
        held.append(found.low - 1e-9 <= lattice.step <= found.high + 1e-9)
    row = {"size": size, "epsilon": epsilon, "n": n, "surveys": surveys}
    return {**row, "coverage": float(np.mean(held))}


def check(surveys: int, few: int) -> dict[str, Any]:
    """All of it; differences of medians take longer, and are few."""
    every = [
        means(kind, size, epsilon, n, surveys)
        for kind in ("number", "points")
        for size in SIZES
        for epsilon in EPSILONS
        for n in PEOPLE
    ]
    return {"means": every, "medians": [medians(64, epsilon, 2_000, few) for epsilon in EPSILONS]}


def section(found: dict[str, Any]) -> str:
    """The part of the page."""
    table = [
        "| lattice | epsilon | n | mean covered | width |",
        "|---|---|---|---|---|",
        *(
            f"| {row['size']} {'cells' if row['kind'] == 'number' else 'points'} "
            f"| {row['epsilon']:g} | {row['n']:,} | {row['coverage']:.3f} | {row['width']:.4f} |"
            for row in found["means"]
        ),
    ]
    apart = ", ".join(
        f"{row['coverage']:.3f} at epsilon {row['epsilon']:g} ({row['surveys']} surveys)"
        for row in found["medians"]
    )
    return "\n\n".join(
        [
            "## Answers at a bound: cells and points",
            f"{POPULATION.name}; {found['means'][0]['surveys']:,} simulated surveys a line, whose "
            "binomial standard error is .005. On cells of the kind `number` people at zero count "
            "as if they were in the middle of the first cell; on as many points they are at zero.",
            "\n".join(table),
            "The difference of the medians of two groups, whose answers are at 64 points and one "
            f"step apart, n = 2,000 each, is inside its 95 % interval in {apart}.",
        ]
    )
