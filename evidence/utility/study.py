"""What a released density is worth: KL beside the best tuning, rates against n, empty space.

python -m evidence utility [--seeds 8] [--thin]

Public defaults know n and epsilon only. The best tuning is found on other seeds, over the grids of
`METHODS`, with the truth at hand: nobody who holds private data can do that.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from evidence.printed import PrintedBernstein
from evidence.utility import defaults as utility_defaults
from evidence.utility import rates as utility_rates
from evidence.utility.page import page
from evidence.utility.rates import on_cells
from scipy.stats import norm

from confide import Lattice
from confide.curves import CellDensity
from confide.releases import Bernstein, Histogram, Series
from confide.releases.gaussian_process import GaussianProcess
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.release import Recipe

ROOT = Path(__file__).resolve().parents[2]
N = 10_000
EPSILONS = (0.1, 1.0, 10.0)
MIX = 0.01
"""Share of the uniform density in every row, so that an empty cell costs much but not all."""
TUNING = {1: 12, 2: 6}
"""Seeds a point of a grid, by the number of columns."""


@dataclass(frozen=True)
class Population:
    """A normal mixture with equal weights, cut to a box."""

    name: str
    centers: tuple[tuple[float, ...], ...]
    sds: tuple[float, ...]
    low: float
    high: float
    fine: int

    @property
    def columns(self) -> int:
        return len(self.centers[0])

    @property
    def lattice(self) -> dict[str, Lattice]:
        return {name: Lattice(low=self.low, high=self.high) for name in "xy"[: self.columns]}

    @property
    def edges(self) -> np.ndarray:
        return np.linspace(self.low, self.high, self.fine + 1)

    @cache  # noqa: B019 - there are two of them
    def masses(self) -> np.ndarray:
        """Of fine cells, one axis a column."""
        total = 0.0
        for center, sd in zip(self.centers, self.sds, strict=True):
            part = np.ones(())
            for middle in center:
                part = np.multiply.outer(part, np.diff(norm.cdf(self.edges, middle, sd)))
            total = total + part
        return total / np.sum(total)

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        which = generator.integers(len(self.centers), size=n)
        sds = np.array(self.sds)[which, None]
        return np.array(self.centers)[which] + sds * generator.normal(size=(n, self.columns))


ANGLES = 2 * np.pi * np.arange(8) / 8
POPULATIONS = (
    Population(
        "ring",
        tuple((4 * math.cos(a), 4 * math.sin(a)) for a in ANGLES),
        (math.sqrt(0.5),) * 8,
        -6.5,
        6.5,
        256,
    ),
    Population(
        "mix1d",
        ((0.3,), (0.5,), (0.7,)),
        (0.1, math.sqrt(0.1), math.sqrt(0.1)),
        -1.2,
        2.2,
        1024,
    ),
)


@dataclass(frozen=True)
class Method:
    """A release, the grid it is tuned over, and the largest number of columns it is for."""

    make: Callable[..., Recipe]
    grid: dict[str, tuple[Any, ...]]
    columns: int = 2


def as_printed(lattice: Any, **parameters: Any) -> Bernstein:
    """The Bernstein mechanism as Husain et al. (2020) used it."""
    return PrintedBernstein(lattice, **parameters)


def process(lattice: Any, **parameters: Any) -> GaussianProcess:
    return GaussianProcess(lattice, delta=1e-5, **parameters)


METHODS = {
    "DPB as in Husain et al.": Method(
        as_printed,
        {
            "degree": (4, 7, 10, 14, 20, 45, 90, 200),
            "bandwidth": (0.02, 0.03, 0.045, 0.07, 0.1, 0.15),
        },
    ),
    "Bernstein": Method(
        Bernstein,
        {
            "degree": (14, 20, 25, 30, 36, 45, 65, 90, 128, 200, 300, 512),
            "bandwidth": (None, 0.02),
        },
    ),
    "histogram": Method(
        Histogram,
        {"cells": (6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 25, 30, 35, 40, 50, 60, 80, 100)},
    ),
    "series": Method(
        Series, {"terms": (6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 42, 50, 60)}, columns=1
    ),
    "KDE + process": Method(
        process, {"bandwidth": (0.012, 0.016, 0.02, 0.025, 0.03, 0.036, 0.044, 0.052)}
    ),
    "Kolmogorov-Smirnov": Method(
        KolmogorovSmirnov,
        {"size": (25, 50, 100, 200), "points": (15, 25, 40)},
        columns=1,
    ),
}


def divergence(population: Population, curve: CellDensity) -> float:
    """KL in nats of the truth from the released density, mixed with the uniform one."""
    truth = population.masses()
    found = (1 - MIX) * on_cells(curve, population.edges) + MIX / truth.size
    kept = truth > 0
    return float((truth[kept] * np.log(truth[kept] / found[kept])).sum())


def score(population: Population, recipe: Recipe, seed: int) -> float:
    values = population.draw(N, np.random.default_rng([seed, population.columns]))
    values = values if isinstance(recipe.lattice, dict) else values[:, 0]
    return divergence(population, recipe.simulate(values, seed=seed).curve)


def build(population: Population, method: Method, epsilon: float, **parameters: Any) -> Recipe:
    lattice = population.lattice
    bounds = lattice if population.columns > 1 else next(iter(lattice.values()))
    return method.make(bounds, epsilon=epsilon, **parameters)


def tuned(population: Population, method: Method, epsilon: float, seeds: int) -> dict[str, Any]:
    """The parameters of the least mean KL over seeds that are not reported, or the defaults."""
    grid = itertools.product(*method.grid.values())
    candidates = [{}, *(dict(zip(method.grid, values, strict=True)) for values in grid)]
    if population.columns > 1:
        candidates = [each for each in candidates if each.get("degree", 0) <= 128]
    scores = []
    for parameters in candidates:
        recipe = build(population, method, epsilon, **parameters)
        scores.append(np.mean([score(population, recipe, 10_000 + seed) for seed in range(seeds)]))
    return candidates[int(np.argmin(scores))]


def table(
    seeds: int,
    tuning: dict[int, int],
    names: tuple[str, ...] = tuple(METHODS),
    epsilons: tuple[float, ...] = EPSILONS,
) -> list[dict[str, Any]]:
    """KL of every method with its public defaults and with its best tuning."""
    rows = []
    for population in POPULATIONS:
        for name in names:
            method = METHODS[name]
            if population.columns > method.columns:
                continue
            for epsilon in epsilons:
                best = tuned(population, method, epsilon, tuning[population.columns])
                row = {"population": population.name, "method": name, "epsilon": epsilon}
                for kind, parameters in (("default", {}), ("best", best)):
                    recipe = build(population, method, epsilon, **parameters)
                    found = [score(population, recipe, seed) for seed in range(seeds)]
                    row[kind] = float(np.mean(found))
                    row[f"{kind}_sd"] = float(np.std(found, ddof=1))
                rows.append({**row, "parameters": best})
    return rows


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence utility", description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--thin", action="store_true", help="a few rows, nothing written")
    parser.add_argument(
        "--only", nargs="+", default=[], help="parts to run again; others stay as they are"
    )
    options = parser.parse_args(argv)
    if options.thin:
        for row in (
            *table(2, {1: 2, 2: 1}, ("histogram",), (1.0,)),
            *(slopes := utility_rates.slopes(utility_rates.rates(utility_rates.SIZES[::2], 2))),
        ):
            print(row)
        return int(any(utility_rates.off(row) for row in slopes))
    seeds = options.seeds
    parts: dict[str, Callable[[], Any]] = {
        "divergence": lambda: table(seeds, TUNING),
        "defaults": lambda: utility_defaults.study(seeds),
        "rates": lambda: utility_rates.rates(utility_rates.SIZES, seeds),
        "clusters": utility_rates.clusters,
        "point": utility_rates.point_mass,
        "synthetic": lambda: utility_rates.synthetic(3 * seeds),
        "processes": lambda: utility_rates.processes(3 * seeds),
    }
    target = ROOT / "evidence" / "utility" / "results.json"
    result: dict[str, Any] = json.loads(target.read_text()) if options.only else {}
    result |= {"n": N, "seeds": seeds}
    for name in options.only or parts:
        result[name] = parts[name]()
        print(name, flush=True)
    result["slopes"] = utility_rates.slopes(result["rates"])
    result["synthetic_slopes"] = utility_rates.synthetic_slopes(result["synthetic"])
    result["process_slopes"] = utility_rates.process_slopes(result["processes"])
    target.write_text(json.dumps(result, indent=1) + "\n")
    (ROOT / "docs" / "evidence" / "utility.md").write_text(page(result))
    utility_rates.pictures(result, ROOT / "docs" / "images")
    return int(any(utility_rates.off(row) for row in result["slopes"]))
