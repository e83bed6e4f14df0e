"""What a second phase gains where bounds are too wide, and what it costs where they are right.

python -m evidence phases [--narrow 60] [--wide 200] [--thin]

A quarter of the people answer on the survey's bounds, and their private reports zoom the lattice
of the others; all are fitted together. Beside it is one phase of as many people, with the same
estimator. Counts of reports are multinomial draws from the exact laws. Both surveys have the same
pilot; where a pilot declines to zoom they are the same survey.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, lognorm, norm

import confide as cf
from confide.estimators.zooms import zoom
from confide.summaries import Counts

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "evidence" / "phases-check.md"
N, EPSILON, SHARE = 100_000, 1.0, 0.25
LIMIT, WORSE = 0.6, 1.05
EDGES = np.linspace(0, 1, 20_001)
Population = Callable[[np.ndarray], np.ndarray]


def _cut(x: np.ndarray, scale: float) -> np.ndarray:
    """A lognormal distribution function, cut at 1."""
    inside = lognorm.cdf(np.clip(x, 0, 1), 0.8, scale=scale)
    return np.asarray(inside / lognorm.cdf(1.0, 0.8, scale=scale))


NARROW: dict[str, Population] = {
    "Beta(2, 5) in [.30, .35]": lambda x: beta.cdf((x - 0.3) / 0.05, 2, 5),
    "two Betas in [.60, .65]": lambda x: (
        (beta.cdf((x - 0.6) / 0.05, 4, 12) + beta.cdf((x - 0.6) / 0.05, 12, 4)) / 2
    ),
    "lognormal in [0, .05]": lambda x: _cut(x / 0.05, 0.25),
}
"""Values in 5 % of the bounds."""
WIDE: dict[str, Population] = {
    "Beta(2, 5)": lambda x: beta.cdf(x, 2, 5),
    ".6 Beta(2, 8) + .4 Beta(30, 12)": lambda x: (
        0.6 * beta.cdf(x, 2, 8) + 0.4 * beta.cdf(x, 30, 12)
    ),
    "normal, sd .15": lambda x: norm.cdf(x, 0.5, 0.15),
    "normal, sd .08": lambda x: norm.cdf(x, 0.5, 0.08),
    "lognormal, cut": lambda x: _cut(x, 0.25),
}
"""Populations whose bounds are right."""

SAMPLED = {
    name: {**NARROW, **WIDE}[name] for name in ("Beta(2, 5) in [.30, .35]", "normal, sd .08")
}
"""Populations of the surveys that tell whether the record is old."""


def draw(mechanism: Any, population: Population, n: int, rng: np.random.Generator) -> Counts:
    """Counts of the reports of n people; people beyond the bounds count as the bounds."""
    line = population(mechanism.lattice.edges)
    line[0], line[-1] = 0.0, 1.0
    chances = np.maximum(mechanism.law.forward(np.diff(line)), 0)
    return Counts(mechanism, rng.multinomial(n, chances / chances.sum()), simulated=True)


def errors(population: Population, seeds: list[int]) -> tuple[float, float, bool]:
    """Wasserstein-1 distances of one phase and of two, and whether the pilot declined."""
    rng = np.random.default_rng(seeds)
    wide = cf.SquareWave(cf.Lattice(low=0, high=1), epsilon=EPSILON)
    many = round(SHARE * N)
    pilot, rest = (draw(wide, population, n, rng) for n in (many, N - many))
    found = zoom(pilot)
    truth = np.clip(population(EDGES), 0, 1)

    def away(counts: Counts) -> float:
        return float(np.abs(cf.density(counts).cdf(EDGES) - truth).mean())

    one = away(pilot + rest)
    if found.declined:
        return one, one, True
    close = draw(cf.SquareWave(found.lattice, epsilon=EPSILON), population, N - many, rng)
    return one, away(Counts.stacked([pilot, close])), False


def measure(name: str, population: Population, surveys: int) -> dict[str, Any]:
    """Mean errors of one phase and of two, and their ratio with its standard error."""
    code = sum(map(ord, name))
    rows = [errors(population, [18, 3, code, survey]) for survey in range(surveys)]
    one, two, declined = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    ratio = two.mean() / one.mean()
    # Both are from the same surveys: the error of a ratio of two paired means.
    spread = (two - ratio * one).std(ddof=1) / math.sqrt(surveys) / one.mean()
    return {
        "population": name,
        "surveys": surveys,
        "one": float(one.mean()),
        "one_error": float(one.std(ddof=1) / math.sqrt(surveys)),
        "two": float(two.mean()),
        "two_error": float(two.std(ddof=1) / math.sqrt(surveys)),
        "worst_one": float(one.max()),
        "worst_two": float(two.max()),
        "ratio": float(ratio),
        "ratio_error": float(spread),
        "declined": int(declined.sum()),
    }


def sample() -> dict[str, float]:
    """Errors of one survey where bounds are wide and of one where they are right."""
    found = {}
    for name, population in SAMPLED.items():
        one, two, declined = errors(population, [18, 3, sum(map(ord, name)), 0])
        found |= {f"{name}: one phase": one, f"{name}: two phases": two}
        found[f"{name}: declined"] = float(declined)
    return found


def verdicts(results: dict[str, Any]) -> dict[str, str]:
    """Whether two phases gain enough where bounds are wide, and lose little where they are not."""
    gains = all(row["ratio"] <= LIMIT for row in results["narrow"])
    keeps = all(row["ratio"] - 2 * row["ratio_error"] <= WORSE for row in results["wide"])
    return {"narrow": "reached" if gains else "missed", "wide": "reached" if keeps else "missed"}


HEAD = [
    "| population | one phase | two phases | worst of one | worst of two | ratio | declined |",
    "|---|---|---|---|---|---|---|",
]


def _lines(rows: list[dict[str, Any]], unit: float) -> list[str]:
    return [
        f"| {row['population']} | {row['one'] / unit:.4f} ± {row['one_error'] / unit:.4f} | "
        f"{row['two'] / unit:.4f} ± {row['two_error'] / unit:.4f} | {row['worst_one'] / unit:.4f} "
        f"| {row['worst_two'] / unit:.4f} | {row['ratio']:.3f} ± {row['ratio_error']:.3f} | "
        f"{row['declined']} of {row['surveys']} |"
        for row in rows
    ]


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    lines = [
        "# Phases, checked",
        "",
        "Written by `make evidence NAME=phases`, which also writes `evidence/phases/results.json`. "
        f"Epsilon {EPSILON:g}, {N:,} people, a quarter of them in the first phase. Errors are "
        "Wasserstein-1 distances from the truth; one phase has the same pilot, the same number of "
        "people and the same estimator. ± is one standard error over simulated surveys, and the "
        "ratio is that of the two means.",
        "",
        "## Values in 5 % of the bounds",
        "",
        "Errors as a share of the width of the values, not of the bounds.",
        "",
        *HEAD,
        *_lines(results["narrow"], 0.05),
        "",
        f"At most {LIMIT:g} of one phase: **{results['verdicts']['narrow']}**.",
        "",
        "## Bounds that were right",
        "",
        *HEAD,
        *_lines(results["wide"], 1.0),
        "",
        f"At most {WORSE - 1:.0%} worse beyond two standard errors: "
        f"**{results['verdicts']['wide']}**.",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrow", type=int, default=60, help="surveys of each narrow population")
    parser.add_argument("--wide", type=int, default=200, help="surveys of each wide one")
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    narrow, wide = (2, 2) if options.thin else (options.narrow, options.wide)
    results: dict[str, Any] = {
        "narrow": [measure(name, own, narrow) for name, own in NARROW.items()],
        "wide": [measure(name, own, wide) for name, own in WIDE.items()],
    }
    results["verdicts"] = verdicts(results)
    results["sample"] = sample()
    text = page(results)
    print(text)
    if not options.thin:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text + "\n", encoding="utf-8")
    return 0 if set(results["verdicts"].values()) == {"reached"} else 1
