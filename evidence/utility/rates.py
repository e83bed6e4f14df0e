"""Rates of releases against n, what noise does to empty space, and a point mass."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.ndimage import gaussian_filter1d

from confide import Lattice
from confide.curves import CellDensity
from confide.displays import CYCLE
from confide.releases import GaussianProcess, Histogram, KolmogorovSmirnov, Series
from confide.releases.release import Recipe

SIZES = tuple(round(10 ** (k / 2)) for k in range(6, 13))
UNIT = Lattice(low=0, high=1)
FINE = {1: 4096, 2: 512}
"""Cells a column in which errors are measured."""


@dataclass(frozen=True)
class Rate:
    """A release, the epsilon that makes one part of its error dominate, and the slope in theory."""

    release: str
    columns: int
    epsilon: float
    part: str
    theory: float
    since: int

    def recipe(self) -> Recipe:
        if self.release == "series":
            return Series(UNIT, epsilon=self.epsilon)
        bounds = dict.fromkeys("xy", UNIT) if self.columns > 1 else UNIT
        return Histogram(bounds, epsilon=self.epsilon)


# Squared bias k**-2 (histogram, Lipschitz) or m**-4 (series, two derivatives), against k**d / n and
# (k**d / (n epsilon))**2 for a histogram, m / n and m**3 / (n epsilon)**2 for a series.
RATES = (
    Rate("histogram", 1, 10.0, "sampling", -2 / 3, 10**3),
    Rate("histogram", 1, 0.01, "noise", -1.0, 3 * 10**4),
    Rate("histogram", 2, 10.0, "sampling", -1 / 2, 10**3),
    Rate("histogram", 2, 0.01, "noise", -2 / 3, 3 * 10**4),
    Rate("series", 1, 10.0, "sampling", -4 / 5, 10**3),
    Rate("series", 1, 0.02, "noise", -8 / 7, 3 * 10**4),
)


def truth(rate: Rate) -> np.ndarray:
    """Masses of fine cells: tents for histograms, coefficients falling as j**-2.5 for series."""
    fine = FINE[rate.columns]
    at = (np.arange(fine) + 0.5) / fine
    if rate.release == "series":
        orders = np.arange(1, 400)[:, None]
        density = 1 + (0.5 * orders**-2.5 * np.cos(np.pi * orders * at)).sum(axis=0)
    else:
        tent = 2 - 4 * np.abs(at - 0.5)
        density = tent if rate.columns == 1 else np.multiply.outer(tent, tent)
    return density / density.sum()


def on_cells(curve: CellDensity, edges: np.ndarray) -> np.ndarray:
    """Masses of fine cells, the same edges for all columns."""
    if len(curve.edges) == 1:
        return np.diff(curve.cdf(edges))
    masses = curve.masses
    for own in curve.edges:
        # Share of each of the curve's cells (columns) that lies in each fine cell (rows).
        shares = np.diff(np.clip(edges[:, None], own[:-1], own[1:]), axis=0) / np.diff(own)
        masses = np.tensordot(masses, shares, axes=(0, 1))
    return masses


def drawn(masses: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Values that are uniform inside fine cells."""
    counts = generator.multinomial(n, masses.ravel())
    places = np.repeat(np.arange(masses.size), counts)
    found = np.stack(np.unravel_index(places, masses.shape), axis=1)
    values = (found + generator.random(found.shape)) / np.array(masses.shape)
    return values if masses.ndim > 1 else values[:, 0]


def square_error(rate: Rate, masses: np.ndarray, n: int, seed: int, noises: int) -> float:
    """Integrated squared error of releases of one sample, on average."""
    values = drawn(masses, n, np.random.default_rng([seed, n]))
    edges = np.linspace(0, 1, FINE[rate.columns] + 1)
    errors = []
    for at in range(noises):
        curve = rate.recipe().simulate(values, seed=noises * seed + at).curve
        errors.append(((on_cells(curve, edges) - masses) ** 2).sum() * masses.size)
    return float(np.mean(errors))


def rates(sizes: tuple[int, ...], seeds: int) -> list[dict[str, Any]]:
    """Mean errors, with more samples or more noise where these vary most."""
    rows = []
    for rate in RATES:
        masses = truth(rate)
        noises = 16 // rate.columns**2 if rate.part == "noise" else 1
        samples = 4 * seeds if (rate.part, rate.columns) == ("sampling", 1) else seeds
        for n in sizes:
            if n >= rate.since:
                errors = [square_error(rate, masses, n, seed, noises) for seed in range(samples)]
                rows.append(
                    {
                        "release": rate.release,
                        "columns": rate.columns,
                        "part": rate.part,
                        "epsilon": rate.epsilon,
                        "n": n,
                        "error": float(np.mean(errors)),
                        "se": float(np.std(errors, ddof=1) / math.sqrt(samples)),
                    }
                )
    return rows


def of(rate: Rate, rows: list[dict[str, Any]]) -> np.ndarray:
    """Sizes, errors and their standard errors."""
    wanted = (rate.release, rate.columns, rate.part)
    return np.array(
        [
            (row["n"], row["error"], row["se"])
            for row in rows
            if (row["release"], row["columns"], row["part"]) == wanted
        ]
    ).T


def slopes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fitted slopes of log error against log n, with standard errors, beside theory."""
    found = []
    for rate in RATES:
        n, error, se = of(rate, rows)
        x = np.log(n) - np.log(n).mean()
        weights = x / (x @ x)
        found.append(
            {
                "release": rate.release,
                "columns": rate.columns,
                "part": rate.part,
                "epsilon": rate.epsilon,
                "slope": float(weights @ np.log(error)),
                "se": float(np.hypot.reduce(weights * se / error)),
                "theory": rate.theory,
            }
        )
    return found


def off(row: dict[str, Any]) -> bool:
    """Whether a slope is further from theory than chance and small n explain."""
    return bool(abs(row["slope"] - row["theory"]) > 0.08 + 3 * row["se"])


CLUSTERS = ((0.25, 0.3, 0.02), (0.3, 0.45, 0.02), (0.7, 0.65, 0.05))
MANY = 64
"""Cells a column where there are too many of them."""


def cluster_values(n: int = 5_000, seed: int = 1) -> np.ndarray:
    """Three groups of people in a square that is mostly empty."""
    generator = np.random.default_rng(seed)
    x, y, sd = np.array(CLUSTERS)[generator.integers(len(CLUSTERS), size=n)].T
    return np.stack([x, y], axis=1) + sd[:, None] * generator.normal(size=(n, 2))


def cluster_release(epsilon: float, cells: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Shares of cells before and after."""
    values = cluster_values()
    recipe = Histogram(dict.fromkeys("xy", UNIT), epsilon=epsilon, cells=cells)
    after = recipe.simulate(values, seed=1).curve.masses
    edges = np.linspace(0, 1, len(after) + 1)
    before, _, _ = np.histogram2d(*np.clip(values, 0, 1).T, bins=[edges, edges])
    return before / len(values), after


def clusters() -> list[dict[str, Any]]:
    """Empty cells that noise fills, and the share of the released mass that lands in them."""
    rows = []
    for cells in (MANY, None):
        for epsilon in (0.1, 1.0):
            before, after = cluster_release(epsilon, cells)
            empty = before == 0
            rows.append(
                {
                    "cells": len(after),
                    "default": cells is None,
                    "epsilon": epsilon,
                    "empty": int(empty.sum()),
                    "filled": int((after[empty] > 0).sum()),
                    "mass": float(after[empty].sum()),
                }
            )
    return rows


def point_mass(sizes: tuple[int, ...] = (10**3, 10**5, 10**7)) -> list[dict[str, Any]]:
    """sup |F - F_released| where every record is the same number, for the default histogram."""
    rows = []
    x = 1 / math.pi
    for n in sizes:
        curve = Histogram(UNIT, epsilon=1.0).simulate(np.full(n, x), seed=1).curve
        # F is 0 just below x and 1 at x.
        below = float(curve.cdf(x))
        rows.append({"n": n, "cells": curve.masses.size, "distance": max(below, 1 - below)})
    return rows


SYNTHETIC = (300, 600, 1200, 3000, 6000)
"""Records behind synthetic data sets: more take long to draw exactly."""
SMOOTH = stats.beta(2, 5)
POINTS = ((1 / 2, 0.5), (1 / 2, 2.0), (2 / 3, 0.5), (5 / 6, 0.5), (5 / 6, 0.125))
"""Sizes of the synthetic data set that are compared: a power of n, and what it is multiplied by."""
FINEST = 512
"""Cells that stand for the line, on which the notes draw values; the default is 3 n^(1/3) cells."""


def synthetic(
    seeds: int, sizes: tuple[int, ...] = SYNTHETIC, cells: tuple[int | None, ...] = (None, FINEST)
) -> list[dict[str, Any]]:
    """sup |F - F_z| for synthetic data sets of several sizes, epsilon 1, values of Beta(2, 5)."""
    grid = np.linspace(0, 1, 2049)
    truth = SMOOTH.cdf(grid)
    rows = []
    for (exponent, factor), points in itertools.product(POINTS, cells):
        if (exponent, factor, points) == (5 / 6, 0.5, FINEST):
            continue  # That many values in that many cells take too long.
        for n in sizes:
            size = max(2, round(factor * n**exponent))
            recipe = KolmogorovSmirnov(UNIT, epsilon=1.0, size=size, points=points)
            found = []
            for seed in range(seeds):
                values = SMOOTH.rvs(n, random_state=np.random.default_rng([seed, n, 6]))
                curve = recipe.simulate(values, seed=seed).curve
                found.append(float(np.abs(curve.cdf(grid) - truth).max()))
            error = float(np.std(found, ddof=1) / math.sqrt(seeds))
            place = {"exponent": exponent, "factor": factor, "n": n, "size": size}
            place["cells"] = recipe.shape(n)[1]
            rows.append({**place, "distance": float(np.mean(found)), "se": error})
    return rows


def synthetic_slopes(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Slope of log distance against log n and its standard error, for each rule."""
    found = {}
    for rule in dict.fromkeys(rule_of(row) for row in rows):
        own = [row for row in rows if rule_of(row) == rule]
        found[rule] = _slope(
            *(np.array([row[key] for row in own]) for key in ("n", "distance", "se"))
        )
    return found


def rule_of(row: dict[str, Any]) -> str:
    """How the size of a synthetic data set follows n, and its cells where they do not."""
    cells = f", {FINEST} cells" if row["cells"] == FINEST else ""
    return f"{row['factor']:g} n^{row['exponent']:.2f}{cells}"


def _slope(n: np.ndarray, error: np.ndarray, se: np.ndarray) -> tuple[float, float]:
    x = np.log(n) - np.log(n).mean()
    weights = x / (x @ x)
    return float(weights @ np.log(error)), float(np.hypot.reduce(weights * se / error))


KERNELS = (1_000, 3_162, 10_000, 31_623, 100_000)
BUMPS = ((0.35, 0.07), (0.65, 0.1))
"""Two normal humps, far from the bounds."""


def processes(seeds: int, sizes: tuple[int, ...] = KERNELS) -> list[dict[str, Any]]:
    """Integrated squared error of a kernel estimate, h = .12 n^(-1/5), in the open and released.

    The release adds a Gaussian process: epsilon 1, delta 1e-6.
    """
    fine = 2048
    edges = np.linspace(0, 1, fine + 1)
    masses = np.mean([np.diff(stats.norm(*bump).cdf(edges)) for bump in BUMPS], axis=0)
    masses /= masses.sum()
    rows = []
    for n in sizes:
        h = 0.12 * n**-0.2
        recipe = GaussianProcess(UNIT, epsilon=1.0, delta=1e-6, bandwidth=h)
        errors: dict[str, list[float]] = {"open": [], "released": []}
        for seed in range(seeds):
            values = drawn(masses, n, np.random.default_rng([seed, n, 9]))
            counts = np.histogram(values, edges)[0]
            kernel = gaussian_filter1d(counts / n, h * fine, mode="constant", truncate=6)
            released = on_cells(recipe.simulate(values, seed=seed).curve, edges)
            for name, found in (("open", kernel), ("released", released)):
                errors[name].append(float(((found - masses) ** 2).sum() * fine))
        row: dict[str, Any] = {"n": n, "bandwidth": h}
        for name, found in errors.items():
            row[name] = float(np.mean(found))
            row[f"{name}_se"] = float(np.std(found, ddof=1) / math.sqrt(seeds))
        rows.append(row)
    return rows


def process_slopes(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Slopes of log error against log n, with their standard errors."""
    n = np.array([row["n"] for row in rows])
    return {
        name: _slope(n, *(np.array([row[key] for row in rows]) for key in (name, f"{name}_se")))
        for name in ("open", "released")
    }


def pictures(result: dict[str, Any], folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    for ax, (release, columns) in zip(
        axes, (("histogram", 1), ("histogram", 2), ("series", 1)), strict=True
    ):
        chosen = [rate for rate in RATES if (rate.release, rate.columns) == (release, columns)]
        for color, rate in zip(CYCLE, chosen, strict=False):
            n, error, _ = of(rate, result["rates"])
            told = f"epsilon = {rate.epsilon:g}: {rate.part}"
            ax.loglog(n, error, "o", color=color, ms=4, label=told)
            middle = np.exp(np.log(error).mean() - rate.theory * np.log(n).mean())
            told = f"slope {rate.theory:.2f}"
            ax.loglog(n, middle * n**rate.theory, color=color, lw=0.8, label=told)
        ax.set_title(f"{release}, {columns} column{'s' * (columns > 1)}")
        ax.set_xlabel("records")
        ax.set_ylabel("integrated squared error")
        ax.legend(fontsize=8)
    figure.savefig(folder / "utility_rates.png", dpi=120)
    plt.close(figure)

    figure, axes = plt.subplots(2, 3, figsize=(8, 5.4), layout="constrained")
    for line, cells in zip(axes, (MANY, None), strict=True):
        raw, _ = cluster_release(1.0, cells)
        shown = {"raw": raw}
        for epsilon in (1.0, 0.1):
            shown[f"epsilon = {epsilon:g}"] = cluster_release(epsilon, cells)[1]
        for ax, (name, masses) in zip(line, shown.items(), strict=True):
            density = masses * masses.size
            ax.imshow(np.sqrt(density.T), origin="lower", extent=(0, 1, 0, 1), cmap="Greys", vmin=0)
            size = len(masses)
            ax.set_title(f"{name}, {size} x {size} cells", fontsize=9)
            ax.set_xticks([])
            ax.set_yticks([])
    figure.savefig(folder / "utility_clusters.png", dpi=120)
    plt.close(figure)
