"""Whether raking removes the bias of a sample that is not like its population, and intervals cover.

python -m evidence raking [--surveys 2000] [--thin]

A population has three regions and two sexes, and each of the six groups answers differently. How
readily people respond depends on both columns. Groups of respondents and counts of their reports
are multinomial draws from the exact laws.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import confide as cf
from confide.estimators import CategoryShares
from confide.estimators.intervals import Intervals
from confide.summaries import Counts, Groups

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "evidence" / "raking-check.md"
N = 5000
EPSILONS = (1.0, 2.0, 4.0)
LIMITS = (0.93, 0.97)
REGIONS, SEXES = ("north", "middle", "south"), ("f", "m")
KEYS = [(region, sex) for region in REGIONS for sex in SEXES]
# The odds ratio of the columns is the same among respondents as in the population where response
# is a product of what each column does to it, and raking is exact then.
PEOPLE = np.array([0.12, 0.08, 0.15, 0.25, 0.18, 0.22])
RESPONSE = np.outer([0.9, 0.5, 0.2], [0.6, 1.0]).ravel()
SHAPES = [(2, 8), (3, 7), (4, 6), (5, 5), (6, 4), (7, 3)]
YES = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7])
MEANS = np.array([a / (a + b) for a, b in SHAPES])


def margins() -> dict[str, dict[str, float]]:
    """Public shares of the population."""
    table = PEOPLE.reshape(len(REGIONS), len(SEXES))
    return {
        "region": dict(zip(REGIONS, table.sum(1).tolist(), strict=True)),
        "sex": dict(zip(SEXES, table.sum(0).tolist(), strict=True)),
    }


def drawn(mechanism: Any, shares: np.ndarray, draw: np.random.Generator) -> Groups[Counts]:
    """Counts by group of one survey; ``shares`` has the masses of the answers of each group."""
    sample = PEOPLE * RESPONSE
    sizes = draw.multinomial(N, sample / sample.sum())
    chances = np.maximum(mechanism.law.forward(shares), 0)
    parts = {
        key: Counts(mechanism, draw.multinomial(n, own / own.sum()), simulated=True)
        for key, n, own in zip(KEYS, sizes, chances, strict=True)
    }
    return Groups(("region", "sex"), parts)


def measure(epsilon: float, surveys: int) -> dict[str, Any]:
    """Bias and coverage of a mean and of a share, raked and not."""
    lattice = cf.Lattice(low=0, high=1, size=256)
    number = cf.SquareWave(lattice, epsilon=epsilon)
    word = cf.RandomizedResponse(("no", "yes"), epsilon=epsilon)
    cells = np.stack([np.diff(beta.cdf(lattice.edges, a, b)) for a, b in SHAPES])
    both = np.stack([1 - YES, YES], axis=1)
    truths = {"mean": float(PEOPLE @ MEANS), "share": float(PEOPLE @ YES)}
    found: dict[str, list[tuple[float, float, float]]] = {}
    for survey in range(surveys):
        draw = np.random.default_rng([18, 5, round(10 * epsilon), survey])
        means, shares = drawn(number, cells, draw), drawn(word, both, draw)
        for name, raked in (("raked", True), ("not raked", False)):
            one = (means.rake(margins()) if raked else means).total()
            low, high = Intervals(one).mean(0.95)
            found.setdefault(f"mean, {name}", []).append(((low + high) / 2, low, high))
            two = CategoryShares().fit((shares.rake(margins()) if raked else shares).total())
            low, high = two.interval("yes", level=0.95)
            found.setdefault(f"share, {name}", []).append((float(two.shares[1]), low, high))
    rows = {}
    for name, values in found.items():
        center, low, high = np.array(values).T
        truth = truths[name.split(",")[0]]
        rows[name] = {
            "truth": truth,
            "bias": float(center.mean() - truth),
            "bias_error": float(center.std(ddof=1) / math.sqrt(surveys)),
            "sd": float(center.std(ddof=1)),
            "covered": float(((low <= truth) & (truth <= high)).mean()),
        }
    return {"epsilon": epsilon, "surveys": surveys, "rows": rows}


def verdict(results: dict[str, Any]) -> str:
    """Whether all raked estimates are unbiased and their intervals cover as they should."""
    rows = [
        (row, 2.0 * math.sqrt(0.05 * 0.95 / found["surveys"]))
        for found in results["measured"]
        for name, row in found["rows"].items()
        if name.endswith(", raked")
    ]
    good = all(
        abs(row["bias"]) <= 3 * row["bias_error"]
        and LIMITS[0] - slack <= row["covered"] <= LIMITS[1] + slack
        for row, slack in rows
    )
    return "reached" if good else "missed"


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    lines = [
        "# Raking, checked",
        "",
        "Written by `make evidence NAME=raking`, which also writes `evidence/raking/results.json`.",
        f"A population of three regions and two sexes, of which {N:,} people answer, more readily "
        "in some groups than in others. Bias is that of the estimate, with its standard error; "
        "coverage is that of 95 % intervals.",
        "",
        "| epsilon | estimate | truth | bias | standard deviation | coverage |",
        "|---|---|---|---|---|---|",
    ]
    for found in results["measured"]:
        for name, row in found["rows"].items():
            lines.append(
                f"| {found['epsilon']:g} | {name} | {row['truth']:.4f} | {row['bias']:+.4f} ± "
                f"{row['bias_error']:.4f} | {row['sd']:.4f} | {row['covered']:.3f} |"
            )
    surveys = results["measured"][0]["surveys"]
    lines += [
        "",
        f"{surveys:,} simulated surveys in each line. Raked estimates without bias (three standard "
        "errors) and coverage from .93 to .97 (two standard errors): "
        f"**{results['verdict']}**.",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=2000)
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    surveys = 20 if options.thin else options.surveys
    results: dict[str, Any] = {"measured": [measure(epsilon, surveys) for epsilon in EPSILONS]}
    results["verdict"] = verdict(results)
    text = page(results)
    print(text)
    if not options.thin:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text + "\n", encoding="utf-8")
    return 0 if results["verdict"] == "reached" else 1
