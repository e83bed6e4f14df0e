"""How far fake respondents can move an estimate, beside the bound for it.

python -m evidence poisoning [--thin]

A share f of all respondents is fake and sends whatever moves the estimate most. The honest ones
answer as the mechanism's exact law says, in a survey so large that sampling does not matter, so
what is measured is the effect of the fakes alone: the estimate with them less the one without.
Fakes are found by search: every single report, then steps from the best one towards each other.

Bounds. A mean or a share is a mean of scores s(report), so it moves by f (mean of the fakes'
scores - mean of the honest ones'), at most f max(max s - mean, mean - min s), and by exactly that
where it is not cut off. A linear density moves by f (its value at the fakes' reports - the honest
one): a distance from the honest one is largest for a single report, and the median stays where the
lowest and the highest distribution function that single reports make leave room for one half.

For the likelihood let h = A m be the honest law of reports and g = A m' the fitted one with fakes
of law q, r = (1 - f) h + f q. At the maximum of sum r log g no step from m' towards the truth m
gains, sum r (h - g)/g <= 0, so

    (1 - f) sum h**2/g + f sum q h/g <= 1,

and h/g >= e**-epsilon since both are mixtures of the same private laws. So the chi-square distance
sum (h - g)**2/g is at most f (1 - e**-epsilon) / (1 - f), and the total variation at most half its
root (Cauchy and Schwarz), or less where populations so near to the truth cannot reach that ratio.
How far a distribution function may be from the truth under that constraint is a linear program
for each point; the envelope bounds the median and the distances of Kolmogorov-Smirnov and
Wasserstein. It is for the plain maximum of the likelihood; smoothing is measured against it too.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evidence.poisoning.bounds import Floats, N, Survey, nearness
from scipy.stats import beta

import confide as cf
from confide.errors import ConfideWarning
from confide.summaries import Counts

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "evidence" / "poisoning" / "results.json"
PAGE = ROOT / "docs" / "evidence" / "poisoning.md"
MARKS = ("<!-- made by evidence/poisoning -->\n", "<!-- end of poisoning -->\n")
CELLS = 32
SHARES = (0.01, 0.05)
EPSILONS = (1.0, 4.0)
STEPS = 2
"""Rounds of the search after the single reports."""


def population() -> Floats:
    """Beta(2, 5) on the cells."""
    masses: Floats = np.diff(beta(2, 5).cdf(np.linspace(0, 1, CELLS + 1)))
    return masses


Estimator = Callable[[Counts], Floats]
Distance = Callable[[Floats, Floats], float]


def estimated(estimator: Any, counts: Counts) -> Any:
    """What an estimator makes of them: that it may notice the fakes is another matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfideWarning)
        return estimator.fit(counts)


def by_likelihood(**options: Any) -> Estimator:
    """The distribution function at the cell edges."""

    def fit(counts: Counts) -> Floats:
        density = estimated(cf.estimators.Likelihood(size=CELLS, **options), counts)
        return np.asarray(density.cdf(density.edges[0]), dtype=np.float64)

    return fit


def by_deconvolution(counts: Counts) -> Floats:
    """The same by the linear estimate, its negative stretches left as they are."""
    density = estimated(cf.estimators.Deconvolution(bandwidth=0.1, positive=False), counts)
    masses = np.asarray(density.masses, dtype=np.float64)
    return np.append(0.0, np.cumsum(masses))


def mean_score(counts: Counts) -> Floats:
    """The unbiased mean."""
    shares = counts.total / counts.total.sum()
    return np.array([shares @ counts.mechanism.unbiased(1)])


def first_share(counts: Counts) -> Floats:
    return np.array([estimated(cf.estimators.CategoryShares(), counts).shares[0]])


def median(cdf: Floats) -> float:
    """Where it first reaches one half, in parts of the range; linear between the edges."""
    at = int(np.argmax(cdf >= 0.5))
    step = (0.5 - cdf[at - 1]) / (cdf[at] - cdf[at - 1])
    return float((at - 1 + step) / (cdf.size - 1))


def median_bound(low: Floats, high: Floats, middle: float) -> float:
    """How far from ``middle`` a curve between two others can reach one half."""
    ends = median(high), 1 - median(1 - low[::-1])
    return max(middle - ends[0], ends[1] - middle)


DISTANCES: dict[str, Distance] = {
    "number": lambda a, b: float(abs(a[0] - b[0])),
    "median": lambda a, b: abs(median(a) - median(b)),
    "KS": lambda a, b: float(np.abs(a - b).max()),
    "W1": lambda a, b: float((np.abs(a - b)[1:] + np.abs(a - b)[:-1]).sum() / 2 / (a.size - 1)),
}


LINEAR = ("KS", "W1")
"""Distances that are norms, so largest for a single report where the estimate is linear."""


def worst(survey: Survey, fit: Estimator, share: float, *, thin: bool = False) -> dict[str, float]:
    """The largest distance, of each kind, that fakes were found for; thin looks at few reports."""
    clean = fit(survey.counts())
    outputs = survey.honest.size
    kinds = ["number"] if clean.size == 1 else ["median", "KS", "W1"]

    def moved(fakes: Floats) -> dict[str, float]:
        estimate = fit(survey.counts(fakes, share))
        return {kind: DISTANCES[kind](estimate, clean) for kind in kinds}

    single = np.eye(outputs)[sorted({*range(0, outputs, 8 if thin else 1), outputs - 1})]
    found = [moved(fakes) for fakes in single]
    best = {}
    for kind in kinds:
        fakes = single[int(np.argmax([one[kind] for one in found]))]
        top = max(one[kind] for one in found)
        # The estimate is linear in the fakes where it is a mean: no mixture can do more.
        for _ in range(STEPS if clean.size > 1 and not thin else 0):
            ends = [0.5 * fakes + 0.5 * other for other in single[:: max(1, outputs // 16)]]
            reach = [moved(end)[kind] for end in ends]
            if max(reach) <= top:
                break
            top, fakes = max(reach), ends[int(np.argmax(reach))]
        best[kind] = top
    return best


def number_bound(scores: Floats, honest: Floats, share: float) -> float:
    """The bound for a mean of scores."""
    mean = float(scores @ honest)
    return share * max(float(scores.max()) - mean, mean - float(scores.min()))


def curve_bounds(survey: Survey, share: float) -> dict[str, float]:
    """Bounds of what the likelihood can be moved by."""
    low, high = nearness(survey, share).envelope()
    true = np.append(0.0, np.cumsum(survey.truth))
    gap = np.maximum(high - true, true - low)
    return {
        "median": median_bound(low, high, median(true)),
        "KS": float(gap.max()),
        "W1": float(gap.sum() / CELLS),
    }


def linear_bounds(survey: Survey, fit: Estimator, share: float) -> dict[str, float]:
    """Bounds of a linear estimate, from what it makes of each single report."""
    clean = fit(survey.counts())
    single = np.array([fit(survey.counts(one, 1.0)) for one in np.eye(survey.honest.size)])
    found = {kind: share * max(DISTANCES[kind](one, clean) for one in single) for kind in LINEAR}
    low = (1 - share) * clean + share * single.min(axis=0)
    high = (1 - share) * clean + share * single.max(axis=0)
    return {"median": median_bound(low, high, median(clean)), **found}


def study(
    epsilons: Sequence[float], shares: Sequence[float], *, thin: bool = False
) -> list[dict[str, Any]]:
    """A row for each estimator, mechanism, epsilon and share of fakes."""
    lattice = cf.Lattice(low=0, high=1, size=CELLS)
    rows: list[dict[str, Any]] = []

    def add(what: str, survey: Survey, share: float, measured: Any, bound: Any) -> None:
        rows.extend(
            {
                "estimate": f"{what}, {kind}" if kind != "number" else what,
                "mechanism": survey.mechanism.name,
                "epsilon": survey.mechanism.spend.epsilon,
                "fakes": share,
                "shift": measured[kind],
                "bound": bound[kind],
            }
            for kind in measured
        )

    for epsilon in epsilons:
        numbers = [cf.SquareWave(lattice, epsilon=epsilon), cf.Laplace(lattice, epsilon=epsilon)]
        for share in shares:
            for mechanism in numbers:
                survey = Survey(mechanism, population())
                most = number_bound(mechanism.unbiased(1), survey.honest, share)
                add(
                    "mean",
                    survey,
                    share,
                    worst(survey, mean_score, share, thin=thin),
                    {"number": most},
                )
                bounds = curve_bounds(survey, share)
                for name, options in (("", {}), (", unsmoothed", {"smoothing": 0.0})):
                    fit = by_likelihood(**options)
                    found = worst(survey, fit, share, thin=thin)
                    add(f"likelihood{name}", survey, share, found, bounds)
            found = worst(survey, by_deconvolution, share, thin=thin)
            bounds = linear_bounds(survey, by_deconvolution, share)
            add("deconvolution", survey, share, found, bounds)
            response = cf.RandomizedResponse(["yes", "no"], epsilon=epsilon)
            survey = Survey(response, np.array([0.3, 0.7]))
            scores = np.linalg.inv(survey.matrix)[0]
            most = number_bound(scores, survey.honest, share)
            add(
                "share",
                survey,
                share,
                worst(survey, first_share, share, thin=thin),
                {"number": most},
            )
    return rows


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The table of the docs."""
    keys = list(dict.fromkeys((r["estimate"], r["mechanism"], r["epsilon"]) for r in rows))
    lines = [
        "| estimate | mechanism | epsilon | 1 % fake: shift | bound | 5 % fake: shift | bound |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in keys:
        cells = []
        for share in SHARES:
            (row,) = [
                r
                for r in rows
                if (r["estimate"], r["mechanism"], r["epsilon"]) == key and r["fakes"] == share
            ]
            cells += [f"{row['shift']:.3f}", f"{row['bound']:.3f}"]
        estimate, mechanism, epsilon = key
        lines.append(f"| {estimate} | {mechanism} | {epsilon:g} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="evidence poisoning")
    parser.add_argument("--thin", action="store_true", help="a small run that writes nothing")
    options = parser.parse_args(arguments)
    epsilons = EPSILONS[:1] if options.thin else EPSILONS
    rows = study(epsilons, SHARES, thin=options.thin)
    print(page(rows))
    broken = [r for r in rows if r["shift"] > r["bound"] + 1e-6]
    for row in broken:
        print("above its bound:", row)
    if not options.thin:
        RESULT.write_text(json.dumps({"n": N, "cells": CELLS, "rows": rows}, indent=1) + "\n")
        text = PAGE.read_text()
        before, rest = text.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text(before + MARKS[0] + page(rows) + MARKS[1] + after)
    return 1 if broken else 0
