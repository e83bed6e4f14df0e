"""Coverage and width of query intervals.

python -m evidence releases [--releases 2000]
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
from confide.releases import Query

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


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="evidence releases", description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    args = parser.parse_args(argv)
    rows = [
        study(what, n, epsilon, args.releases)
        for what in TRUTH
        for n in SIZES
        for epsilon in EPSILONS
    ]
    (HERE / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    (HERE.parents[1] / "docs" / "release-coverage.md").write_text(page(rows))
    return 0


def page(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# Query intervals: coverage and width",
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
    return "\n".join(lines) + "\n"
