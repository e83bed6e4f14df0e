"""How the error of the privatised partitioning estimate falls with n, and beside what.

python -m evidence partition [--surveys 40] [--thin]

A survey of n respondents is drawn as counts: how many fall into each cell with each rounded
response, then the sum of what they report. Errors are integrated against the law of X, exactly up
to the quadrature inside a cell.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from confide.estimators.partition_regression import (
    PartitionClassification,
    PartitionRegression,
    suggest_cells,
)
from confide.lattice import Cells
from confide.mechanisms.partition import Partition
from confide.summaries.cell_sums import CellSums

ROOT = Path(__file__).resolve().parents[2]
SIZES = tuple(round(10 ** (k / 2)) for k in range(8, 17))
EPSILONS = (1.0, 4.0)
POINTS = 16
METHODS = {
    "ours": "confide",
    "paper, our noise": "the paper's cells and threshold, confide's noise",
    "paper": "paper as printed",
    "open": "not private",
}


def paper_cells(n: int, *, low: Sequence[float], high: Sequence[float]) -> Cells:
    """The cells of Berrett, Györfi and Walk: n**(1/(2(d+1))) an axis, whatever the noise."""
    d = len(low)
    count = max(1, round(n ** (1 / (2 * (d + 1)))))
    return Cells(low=tuple(low), high=tuple(high), shape=(count,) * d)


def paper_threshold(n: int) -> float:
    """Their threshold: c = 1/sqrt(ln n)."""
    return 1 / math.sqrt(math.log(max(n, 3)))


def partitioning(points: np.ndarray, responses: np.ndarray, *, cells: Cells) -> np.ndarray:
    """Mean response of each cell from data that are not private, to compare with.

    Cells with fewer than ln n respondents predict 0 (Györfi et al. 2002, theorem 23.3).
    """
    cell = cells.index(points)
    inside = cell >= 0
    counts = np.bincount(cell[inside], minlength=cells.size)
    sums = np.bincount(cell[inside], responses[inside], minlength=cells.size)
    kept = (counts >= math.log(cell.size)) & (counts > 0)
    return np.where(kept, sums / np.maximum(counts, 1), 0.0)


@dataclass(frozen=True)
class Population:
    """X with independent coordinates on [0, 1], y = m(X) + uniform noise within the spread."""

    name: str
    axes: int
    mean: Callable[..., np.ndarray]
    spread: float
    bound: float
    pdf: Callable[[np.ndarray], np.ndarray] = np.ones_like

    @cache  # noqa: B019 - there are four of them
    def cells(self, count: int) -> dict[str, np.ndarray]:
        """Masses and integrals over each of count**axes cells."""
        grid = (np.arange(count * POINTS) + 0.5) / (count * POINTS)
        mass = self.pdf(grid)
        mass = mass / mass.sum()
        columns = np.meshgrid(*[grid] * self.axes, indexing="ij")
        m = self.mean(*columns)
        f = np.ones(())
        for _ in range(self.axes):
            f = np.multiply.outer(f, mass)
        half = self.spread
        above = np.where(m >= half, m, np.where(m <= -half, 0, (m + half) ** 2 / (4 * half)))
        parts = {
            "mass": f,
            "above": f * above,
            "below": f * (above - m),
            "first": f * m,
            "second": f * m * m,
            "size": f * np.abs(m),
        }
        shape = (count, POINTS) * self.axes
        inner = tuple(range(1, 2 * self.axes, 2))
        return {name: part.reshape(shape).sum(inner).ravel() for name, part in parts.items()}


def smooth(axes: int) -> Population:
    """The populations of the table: the mean square of m is .32 and .16.

    Shifted, so that cells do not end where m changes its sign.
    """
    if axes == 1:
        return Population("d=1", 1, lambda x: 0.8 * np.sin(2 * np.pi * x + 0.7), 0.2, 1.0)
    return Population(
        "d=2",
        2,
        lambda x, z: 0.8 * np.sin(2 * np.pi * x + 0.7) * np.cos(2 * np.pi * z + 0.3),
        0.2,
        1.0,
    )


smooth_once = cache(smooth)


def square_error(parts: dict[str, np.ndarray], values: np.ndarray) -> float:
    """Integral of (values - m)**2 against the law of X."""
    squares = parts["second"] - 2 * values * parts["first"] + values**2 * parts["mass"]
    return float(squares.sum())


def cube(population: Population, count: int) -> Cells:
    d = population.axes
    return Cells(low=[0] * d, high=[1] * d, shape=[count] * d)


def survey(
    population: Population, partition: Partition, n: int, generator: np.random.Generator
) -> CellSums:
    """Sums of n respondents' reports; one level, so that a response is rounded to -1, 0 or 1."""
    parts = population.cells(partition.cells.shape[0])
    if partition.classify:
        rows = [(parts["mass"] - parts["first"]) / 2, 0 * parts["mass"]]
        rows.append((parts["mass"] + parts["first"]) / 2)
    else:
        low, high = (parts[side] / partition.limit for side in ("below", "above"))
        rows = [low, np.maximum(parts["mass"] - low - high, 0), high]
    table = np.stack(rows)
    truth = generator.multinomial(n, (table / table.sum()).ravel()).reshape(table.shape)
    return CellSums.simulate_tallies(partition, n, truth, seed=int(generator.integers(2**62)))


def as_printed(
    population: Population, epsilon: float, n: int, count: int, generator: np.random.Generator
) -> np.ndarray:
    """The estimate with real Laplace noise of variance 32/epsilon**2 (and M**2 of it), not cut."""
    parts = population.cells(count)
    truth, sums = sampled(population, n, count, generator)

    def noise() -> np.ndarray:
        # The mean of n Laplace variables of variance 1 is a difference of two gamma variables.
        two = generator.standard_gamma(n, (2, parts["mass"].size))
        return (two[0] - two[1]) / (math.sqrt(2) * n)

    sigma = math.sqrt(32) / epsilon
    mu = truth / n + sigma * noise()
    nu = sums / n + population.bound * sigma * noise()
    kept = mu >= 1 / math.sqrt(math.log(n)) / mu.size
    return np.where(kept, nu / np.where(kept, mu, 1), 0)


def sampled(
    population: Population, n: int, count: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Respondents in each cell and the sum of their responses, which is close to normal."""
    parts = population.cells(count)
    truth = generator.multinomial(n, parts["mass"] / parts["mass"].sum())
    mean = parts["first"] / parts["mass"]
    variance = parts["second"] / parts["mass"] - mean**2 + population.spread**2 / 3
    return truth, truth * mean + np.sqrt(truth * variance) * generator.normal(size=truth.size)


def estimate(
    population: Population, method: str, epsilon: float, n: int, generator: np.random.Generator
) -> tuple[int, float]:
    """Cells along an axis and the integrated squared error of one survey."""
    d = population.axes
    box = {"low": [0] * d, "high": [1] * d}
    if method == "open":
        count = max(1, round(n ** (1 / (d + 2))))
        truth, sums = sampled(population, n, count, generator)
        values = np.where(truth >= math.log(n), sums / np.maximum(truth, 1), 0)
        return count, square_error(population.cells(count), values)
    ours = method == "ours"
    cells = suggest_cells(n, epsilon=epsilon, **box) if ours else paper_cells(n, **box)
    count = cells.shape[0]
    if method == "paper":
        values = as_printed(population, epsilon, n, count, generator)
    else:
        partition = Partition(cells, bound=population.bound, epsilon=epsilon)
        estimator = PartitionRegression(threshold=None if ours else paper_threshold(n))
        curve = estimator.fit(survey(population, partition, n, generator))
        values = curve.values.ravel()
    return count, square_error(population.cells(count), values)


def regression(
    sizes: tuple[int, ...], surveys: int, seed: int, methods: tuple[str, ...] = tuple(METHODS)
) -> list[dict[str, Any]]:
    """Rows of the table: mean integrated squared error and its standard error."""
    rows = []
    for d in (1, 2):
        for epsilon in EPSILONS:
            for method in methods:
                for n in sizes:
                    generator = np.random.default_rng([seed, d, int(epsilon), n])
                    draws = [
                        estimate(smooth_once(d), method, epsilon, n, generator)
                        for _ in range(surveys)
                    ]
                    errors = np.array([error for _, error in draws])
                    rows.append(
                        {
                            "d": d,
                            "epsilon": epsilon,
                            "method": method,
                            "n": n,
                            "cells": draws[0][0] ** d,
                            "error": float(errors.mean()),
                            "se": float(errors.std(ddof=1) / math.sqrt(surveys)),
                        }
                    )
    return rows


def slopes(rows: list[dict[str, Any]], since: int = 10**5) -> list[dict[str, Any]]:
    """Fitted slopes of log error against log n, from ``since`` on."""
    found = []
    for d in (1, 2):
        for epsilon in EPSILONS:
            for method in METHODS:
                chosen = [
                    (math.log(row["n"]), math.log(row["error"]))
                    for row in rows
                    if (row["d"], row["epsilon"], row["method"]) == (d, epsilon, method)
                    and row["n"] >= since
                ]
                if len(chosen) > 1:
                    x, y = np.array(chosen).T
                    slope = float(np.polyfit(x, y, 1)[0])
                    found.append({"d": d, "epsilon": epsilon, "method": method, "slope": slope})
    return found


def classification(sizes: tuple[int, ...], surveys: int, seed: int) -> list[dict[str, Any]]:
    """Error of the sign rule where P(Y = 1 | x) = (1 + m(x))/2, beside the least possible."""
    rows = []
    for d in (1, 2):
        population = smooth_once(d)
        for epsilon in EPSILONS:
            for n in sizes:
                generator = np.random.default_rng([seed, d, int(epsilon), n, 1])
                box = {"low": [0] * d, "high": [1] * d}
                cells = suggest_cells(n, epsilon=epsilon, classify=True, **box)
                partition = Partition(cells, epsilon=epsilon, classify=True)
                parts = population.cells(cells.shape[0])
                errors = []
                for _ in range(surveys):
                    sums = survey(population, partition, n, generator)
                    rule = PartitionClassification().fit(sums)
                    labels = rule.predict(cells.centers if d > 1 else cells.centers[:, 0])
                    errors.append((1 - (labels * parts["first"]).sum()) / 2)
                rows.append(
                    {
                        "d": d,
                        "epsilon": epsilon,
                        "n": n,
                        "cells": cells.size,
                        "error": float(np.mean(errors)),
                        "se": float(np.std(errors, ddof=1) / math.sqrt(surveys)),
                        "bayes": float((1 - population.cells(64)["size"].sum()) / 2),
                    }
                )
    return rows


HUMP = Population(
    "Beta(2,2), sin",
    1,
    lambda x: np.sin(2 * np.pi * x),
    1.0,
    2.0,
    lambda x: 6 * x * (1 - x),
)


def risk_private_xy(
    n: int, epsilon_x: float, epsilon_y: float, *, surveys: int = 40, seed: int = 1
) -> dict[str, float]:
    """Risk of the partitioning estimate where x and y are both private, at the sum of budgets.

    x ~ Beta(2,2) on [0, 1], m(x) = sin(2 pi x), y = m(x) + uniform on [-1, 1], so that |y| <= 2.
    The risk is E (estimate - m)**2 integrated against the law of x.
    """
    epsilon = epsilon_x + epsilon_y
    generator = np.random.default_rng([seed, n])
    errors = [estimate(HUMP, "ours", epsilon, n, generator)[1] for _ in range(surveys)]
    return {
        "n": n,
        "epsilon": epsilon,
        "risk": float(np.mean(errors)),
        "se": float(np.std(errors, ddof=1) / math.sqrt(surveys)),
        "zero": float(HUMP.cells(64)["second"].sum()),
    }


def picture(result: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(8.5, 10), layout="constrained")
    colors = {
        "ours": "#0072b2",
        "paper, our noise": "#e69f00",
        "paper": "#d55e00",
        "open": "#666666",
    }
    styles = {"ours": "o-", "paper, our noise": "s--", "paper": "^:", "open": "v-."}
    for line, d in enumerate((1, 2)):
        for column, epsilon in enumerate(EPSILONS):
            ax = axes[column, line]
            for method, label in METHODS.items():
                chosen = [
                    (row["n"], row["error"])
                    for row in result["regression"]
                    if (row["d"], row["epsilon"], row["method"]) == (d, epsilon, method)
                ]
                ax.loglog(
                    *zip(*chosen, strict=True),
                    styles[method],
                    color=colors[method],
                    ms=4,
                    label=label,
                )
                if method == "ours":
                    n, error = np.array(chosen).T
                    guide = error[-1] * (n / n[-1]) ** (-1 / (d + 1))
                    ax.loglog(n, guide, "k-", lw=0.6, label=f"slope -1/{d + 1}")
            zero = smooth_once(d).cells(64)["second"].sum()
            ax.axhline(zero, color="k", lw=0.5, ls=(0, (1, 4)), label="predicting 0")
            ax.set_title(f"d = {d}, epsilon = {epsilon:g}")
            ax.set_xlabel("respondents")
            ax.set_ylabel("integrated squared error")
        ax = axes[2, line]
        for k, epsilon in enumerate(EPSILONS):
            rows = [r for r in result["classification"] if (r["d"], r["epsilon"]) == (d, epsilon)]
            ax.semilogx(
                [r["n"] for r in rows], [r["error"] for r in rows], "o-", ms=4,
                color=("#0072b2", "#d55e00")[k], label=f"epsilon = {epsilon:g}",
            )  # fmt: skip
        ax.axhline(rows[0]["bayes"], color="k", lw=0.6, label="least possible")
        ax.set_title(f"classification, d = {d}")
        ax.set_xlabel("respondents")
        ax.set_ylabel("error probability")
        ax.legend(fontsize=8)
    lines, labels = axes[0, 0].get_legend_handles_labels()
    labels = [label.replace("slope -1/2", "slope -1/(d+1)") for label in labels]
    figure.legend(lines, labels, loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


PREFACE = """# Partitioning estimates

Written by `make evidence NAME=partition`, which also writes `evidence/partition/results.json`.

Both the point x and the response y are private here. [How to regress on several private
numbers](../how-to/partition.md) has the code. These tables compare it with the method as Berrett,
Györfi and Walk (2021) print it. The rate is the same, n^(-1/(d+1)); without privacy it is
n^(-2/(d+2)). Three things differ from the paper:

- Noise is exact and clamped, y is rounded at random to one of three levels, and the budget is split
  40 to 60. Together this halves the variance.
- The number of cells follows n/(1 + 32/epsilon^2) instead of n.
- A cell that cannot be told from noise is shrunk toward 0. The paper cuts it off by a threshold.

![Six panels: errors of four methods fall with the number of respondents](../images/partition.png)
"""


def page(result: dict[str, Any]) -> str:
    lines = [PREFACE, "## Integrated squared error", ""]
    for d in (1, 2):
        zero = smooth_once(d).cells(64)["second"].sum()
        lines += [f"d = {d}; predicting 0 everywhere gives {zero:.2f}.", ""]
        wanted = [n for n in result["sizes"] if math.log10(n) % 1 < 1e-6]
        lines.append(
            "| epsilon | method |" + "".join(f" n = {n:.0e} |" for n in wanted) + " slope |"
        )
        lines.append("|---|---|" + "---|" * (len(wanted) + 1))
        for epsilon in EPSILONS:
            for method, label in METHODS.items():
                found = {
                    row["n"]: row["error"]
                    for row in result["regression"]
                    if (row["d"], row["epsilon"], row["method"]) == (d, epsilon, method)
                }
                (slope,) = (
                    row["slope"]
                    for row in result["slopes"]
                    if (row["d"], row["epsilon"], row["method"]) == (d, epsilon, method)
                )
                cells = "".join(f" {found[n]:.2g} |" for n in wanted)
                lines.append(f"| {epsilon:g} | {label} |{cells} {slope:.2f} |")
        lines += [
            "",
            f"Slopes from n = 1e5 on; theory says {-1 / (d + 1):.2f} for private data.",
            "",
        ]
    lines += [
        "## Classification",
        "",
        "P(Y = 1 | x) = (1 + m(x))/2, all of epsilon on the label.",
        "",
    ]
    sizes = sorted({row["n"] for row in result["classification"]})
    lines.append(
        "| d | epsilon |" + "".join(f" n = {n:.0e} |" for n in sizes) + " least possible |"
    )
    lines.append("|---|---|" + "---|" * (len(sizes) + 1))
    for d in (1, 2):
        for epsilon in EPSILONS:
            rows = [r for r in result["classification"] if (r["d"], r["epsilon"]) == (d, epsilon)]
            errors = "".join(f" {row['error']:.3f} |" for row in rows)
            lines.append(f"| {d} | {epsilon:g} |{errors} {rows[0]['bayes']:.3f} |")
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence partition", description=__doc__)
    parser.add_argument("--surveys", type=int, default=40)
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing written")
    options = parser.parse_args(argv)
    sizes = SIZES[::4] if options.thin else SIZES
    surveys = 4 if options.thin else options.surveys
    rows = regression(sizes, surveys, seed=1)
    whole = (10**3, 10**4, 10**5, 10**6, 10**7)
    result = {
        "sizes": list(sizes),
        "surveys": surveys,
        "regression": rows,
        "slopes": slopes(rows),
        "classification": classification(whole, surveys, seed=2),
        "private_xy": [
            risk_private_xy(n, e / 2, e / 2, surveys=surveys)
            for n in (10_000, 100_000, 1_000_000)
            for e in (1.0, 2.0, 4.0)
        ],
    }
    for row in result["slopes"]:
        print(row)
    if not options.thin:
        target = ROOT / "evidence" / "partition" / "results.json"
        target.write_text(json.dumps(result, indent=1) + "\n")
        (ROOT / "docs" / "evidence" / "partition.md").write_text(page(result))
        picture(result, ROOT / "docs" / "images" / "partition.png")
    worst = [
        row["slope"] + 1 / (row["d"] + 1) for row in result["slopes"] if row["method"] == "ours"
    ]
    return int(max(worst) > 0.1)
