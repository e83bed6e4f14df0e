"""Public defaults beside the best tuning on populations of many shapes, one column each."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from evidence.utility.rates import drawn, on_cells
from scipy.stats import beta, lognorm, norm

from confide import Lattice
from confide.releases import Bernstein, Histogram, Series
from confide.releases.release import Recipe

N = 10_000
EPSILONS = (0.1, 1.0, 10.0)
EDGES = np.linspace(0, 1, 1025)
CDFS = {
    "Beta(2, 5)": beta(2, 5).cdf,
    "Beta(1/2, 1/2)": beta(0.5, 0.5).cdf,
    "two normals": lambda x: (norm.cdf(x, 0.3, 0.06) + norm.cdf(x, 0.7, 0.1)) / 2,
    "one normal, bounds 20 sd apart": lambda x: norm.cdf(x, 0.4, 0.05),
    "lognormal cut at 10": lambda x: lognorm.cdf(10 * x, 1),
    "half uniform, half a spike of sd 0.02": lambda x: (x + norm.cdf(x, 0.5, 0.02)) / 2,
}
RELEASES = {
    "Histogram": (Histogram, "cells", (4, 8, 12, 16, 22, 30, 40, 55, 75, 100, 140)),
    "Series": (Series, "terms", (3, 5, 8, 12, 17, 24, 34, 48, 70)),
    "Bernstein": (Bernstein, "degree", (8, 16, 30, 60, 120, 240, 500)),
}


def masses(name: str) -> np.ndarray:
    """Of fine cells."""
    found = np.diff(CDFS[name](EDGES))
    return found / found.sum()


def divergence(truth: np.ndarray, recipe: Recipe, seed: int) -> float:
    """KL in nats of one release, mixed with 1 % of the uniform density."""
    values = drawn(truth, N, np.random.default_rng([seed, 7]))
    found = 0.99 * on_cells(recipe.simulate(values, seed=seed).curve, EDGES) + 0.01 / truth.size
    kept = truth > 0
    return float((truth[kept] * np.log(truth[kept] / found[kept])).sum())


def mean(truth: np.ndarray, recipe: Recipe, seeds: range) -> float:
    return float(np.mean([divergence(truth, recipe, seed) for seed in seeds]))


def study(seeds: int, names: tuple[str, ...] = tuple(CDFS)) -> list[dict[str, Any]]:
    """Mean KL with the default and with the best of the grid, tuned on other seeds."""
    lattice = Lattice(low=0, high=1)
    shown, others = range(seeds), range(1_000, 1_000 + seeds)
    rows = []
    for name, (release, (make, parameter, grid)), epsilon in product(
        names, RELEASES.items(), EPSILONS
    ):
        truth = masses(name)
        recipes = {value: make(lattice, epsilon=epsilon, **{parameter: value}) for value in grid}
        tuned = {value: mean(truth, recipe, others) for value, recipe in recipes.items()}
        best = min(grid, key=lambda value, tuned=tuned: tuned[value])
        rows.append(
            {
                "population": name,
                "release": release,
                "epsilon": epsilon,
                "default": mean(truth, make(lattice, epsilon=epsilon), shown),
                "best": mean(truth, recipes[best], shown),
                parameter: best,
            }
        )
    return rows
