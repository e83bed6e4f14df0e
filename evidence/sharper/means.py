"""How far the unbiased mean and the mean of the default curve are from the population's mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from confide import Lattice, SquareWave
from confide.estimators.adaptive import Adaptive
from confide.summaries import Counts
from evidence.sharper.populations import Population, split

PEOPLE, EPSILONS = (200, 1_000, 10_000), (0.5, 1.0, 2.0, 4.0)
SEED = 67


def true_mean(population: Population) -> float:
    """The area above the distribution function."""
    x = np.linspace(0, 1, 200_001)
    return float(1 - np.trapezoid(population.below(x), x))


def measure(place: int, epsilon: float, n: int, surveys: int) -> dict[str, Any]:
    """Root mean square errors of both means, and the bias of the curve's."""
    population = split()["tuning"][place]
    mechanism = SquareWave(Lattice(low=0, high=1), epsilon=epsilon)
    shares = np.diff(population.below(mechanism.lattice.edges))
    chances = np.maximum(mechanism.law.forward(shares), 0)
    chances /= chances.sum()
    errors = []
    for survey in range(surveys):
        generator = np.random.default_rng([SEED, place, round(10 * epsilon), n, survey])
        counts = Counts(mechanism, generator.multinomial(n, chances), simulated=True)
        curve = Adaptive().fit(counts)
        errors.append((curve.mean(), curve.curve_mean()))
    away = np.array(errors) - true_mean(population)
    unbiased, own = np.sqrt((away**2).mean(axis=0))
    row = {"population": population.name, "epsilon": epsilon, "n": n, "surveys": surveys}
    return {
        **row,
        "unbiased": float(unbiased),
        "curve": float(own),
        "bias": float(away[:, 1].mean()),
    }


def check(surveys: int) -> list[dict[str, Any]]:
    """All populations of the half for tuning."""
    return [
        measure(place, epsilon, n, surveys)
        for n in PEOPLE
        for epsilon in EPSILONS
        for place in range(len(split()["tuning"]))
    ]


def section(rows: list[dict[str, Any]]) -> str:
    """The part of the page."""

    def middle(own: list[dict[str, Any]]) -> float:
        logs = [math.log(row["curve"] / row["unbiased"]) for row in own]
        return math.exp(sum(logs) / len(logs))

    table = [f"| epsilon | {' | '.join(f'n {n:,}' for n in PEOPLE)} |", "|---" * 4 + "|"]
    for epsilon in EPSILONS:
        cells = (
            middle([row for row in rows if row["epsilon"] == epsilon and row["n"] == n])
            for n in PEOPLE
        )
        table.append(f"| {epsilon:g} | {' | '.join(f'{x:.2f}' for x in cells)} |")
    worst = max(rows, key=lambda row: row["curve"] / row["unbiased"])
    times = worst["curve"] / worst["unbiased"]
    return "\n\n".join(
        [
            "## The mean of the curve",
            "`density.mean()` is the unbiased mean of the reports and `density.curve_mean()` that "
            "of the curve. Root mean square error of the second over that of the first, geometric "
            f"means over the six populations for tuning, {rows[0]['surveys']} surveys a cell:",
            "\n".join(table),
            f"The least favorable to the curve was {worst['population']}, epsilon "
            f"{worst['epsilon']:g}, n {worst['n']:,}: {times:.2f}, with a bias of "
            f"{worst['bias']:+.4f} beside an unbiased error of {worst['unbiased']:.4f}. So "
            "printing the unbiased mean costs precision in small groups. It is printed because it "
            "lies inside its interval, because means of groups add up to that of all, and because "
            "what smoothing does to a mean near a bound is neither small nor known.",
        ]
    )
