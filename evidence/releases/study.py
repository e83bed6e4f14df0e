"""Coverage and width of the intervals of queries and of the cells of a histogram.

python -m evidence releases [--releases 2000] [--only cells]
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom, norm

from confide import Lattice
from confide.releases import Histogram, Query, shares

HERE = Path(__file__).parent
SIZES = (100, 1_000, 10_000)
EPSILONS = (0.1, 1.0, 4.0)
POPULATION = beta(2, 5)
"""A skewed population on [0, 1]."""
SHARE = 0.3
TRUTH = {
    "count": SHARE,
    "sum": POPULATION.mean(),
    "mean": POPULATION.mean(),
    "variance": POPULATION.var(),
    "quantile": POPULATION.median(),
}


def classical(what: str, values: np.ndarray) -> float:
    """Width of the usual 95 % interval without privacy, in the units of the answer."""
    n, z = len(values), norm.isf(0.025)
    if what == "count":
        share = values.mean()
        return float(2 * z * math.sqrt(n * share * (1 - share)))
    if what in ("sum", "mean"):
        width = 2 * z * values.std(ddof=1) / math.sqrt(n)
        return float(width * (n if what == "sum" else 1))
    if what == "variance":
        return float(2 * z * ((values - values.mean()) ** 2).std() / math.sqrt(n))
    a, b = binom.ppf([0.025, 0.975], n, 0.5).astype(int)
    ordered = np.sort(values)
    return float(ordered[min(b, n - 1)] - ordered[max(a - 1, 0)])


def study(what: str, n: int, epsilon: float, releases: int, seed: int = 0) -> dict[str, Any]:
    """Share of intervals that hold the truth, and their mean width."""
    lattice = None if what == "count" else Lattice(low=0, high=1)
    query = Query(what, lattice, epsilon=epsilon, q=0.5 if what == "quantile" else None)
    generator = np.random.default_rng((seed, n, int(1000 * epsilon)))
    truth = TRUTH[what] * (n if what in ("count", "sum") else 1)
    held, widths, plain = 0, [], []
    for at in range(releases):
        if what == "count":
            values = (generator.random(n) < SHARE).astype(np.float64)
        else:
            values = generator.beta(2, 5, n)
        answer = query.simulate(values, seed=seed + at).answer
        held += answer["low"] <= truth <= answer["high"]
        widths.append(answer["high"] - answer["low"])
        plain.append(classical(what, values))
    return {
        "what": what,
        "n": n,
        "epsilon": epsilon,
        "releases": releases,
        "coverage": held / releases,
        "width": float(np.mean(widths)),
        "width_without_privacy": float(np.mean(plain)),
    }


CELLS = 8
CASES = ((500, 1.0), (2_000, 0.1), (2_000, 1.0), (2_000, 4.0))


def cells(n: int, epsilon: float, releases: int) -> dict[str, Any]:
    """Share of the intervals of a histogram's cells that hold the population's share."""
    recipe = Histogram(Lattice(low=0, high=1), epsilon=epsilon, cells=CELLS)
    truth = np.diff(POPULATION.cdf(np.linspace(0, 1, CELLS + 1)))
    generator = np.random.default_rng((7, n, int(1000 * epsilon)))
    held, width = np.zeros(CELLS), np.zeros(CELLS)
    for at in range(releases):
        _, low, high = shares(recipe.simulate(generator.beta(2, 5, n), seed=at))
        held += (low <= truth) & (truth <= high)
        width += high - low
    plain = 2 * norm.isf(0.025) * np.sqrt(truth * (1 - truth) / n)
    return {
        "n": n,
        "epsilon": epsilon,
        "releases": releases,
        "coverage": float(held.mean() / releases),
        "coverage_of_cells": (held / releases).tolist(),
        "width": float(width.mean() / releases),
        "width_without_privacy": float(plain.mean()),
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="evidence releases", description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--only", choices=["queries", "cells"], help="the other stays as it is")
    args = parser.parse_args(argv)
    target = HERE / "results.json"
    result: dict[str, Any] = json.loads(target.read_text()) if args.only else {}
    if args.only != "cells":
        result["queries"] = [
            study(what, n, epsilon, args.releases)
            for what in TRUTH
            for n in SIZES
            for epsilon in EPSILONS
        ]
    if args.only != "queries":
        result["cells"] = [cells(n, epsilon, 2 * args.releases) for n, epsilon in CASES]
    target.write_text(json.dumps(result, indent=1) + "\n")
    (HERE.parents[1] / "docs" / "evidence" / "release-coverage.md").write_text(page(result))
    return 0


def page(result: dict[str, Any]) -> str:
    rows = result["queries"]
    lines = [
        "# Intervals of releases: coverage and width",
        "",
        f"{rows[0]['releases']:,} simulated releases a row, 95 % intervals; values are Beta(2, 5) "
        f"on [0, 1], counts have a share of {SHARE:g}. Made by `python -m evidence releases`.",
        "",
        "| query | n | epsilon | coverage | mean width | width without privacy |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['what']} | {row['n']:,} | {row['epsilon']:g} | {row['coverage']:.3f} | "
            f"{row['width']:.4g} | {row['width_without_privacy']:.4g} |"
        )
    several = result["cells"]
    lines += [
        "",
        "Intervals of quantiles hold far more often than 95 %, because they must hold for values "
        "at a few points with empty cells between them too, of which these values have none: "
        "[why, and what to do](../how-to/releases.md).",
        "",
        "## Cells of a histogram",
        "",
        f"`releases.shares` of a histogram of {CELLS} cells, {several[0]['releases']:,} simulated "
        "releases a row, the same population. Coverage is the mean over cells; below and above "
        "are the cells with the least and the most. A cell that holds almost nobody has an "
        "interval that can only miss on one side.",
        "",
        "| n | epsilon | coverage | least | most | mean width | width without privacy |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in several:
        own = row["coverage_of_cells"]
        lines.append(
            f"| {row['n']:,} | {row['epsilon']:g} | {row['coverage']:.3f} | {min(own):.3f} | "
            f"{max(own):.3f} | {row['width']:.4f} | {row['width_without_privacy']:.4f} |"
        )
    return "\n".join(lines) + "\n"
