"""How often 95 % intervals cover the truth, and how wide they are.

python -m evidence coverage [--surveys 2000] [--thin]

Every survey is one multinomial draw from the exact law applied to the population's cells. An
interval of F(x) covers where the test of the true share at the true x does not reject, so coverage
takes two fits a survey; the median's interval covers exactly where that of F(true median) holds
1/2. Widths need the whole inversion and come from the first surveys only. The factor on the
chi-square quantile is simulated anew for the first surveys; the others use theirs in rotation.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats

from confide import Laplace, Lattice, SquareWave
from confide.estimators.intervals import (
    WINDOW,
    least_variance,
    mean_ends,
    quantile_ends,
    scales,
    share_ends,
)
from confide.estimators.profile import Profile
from confide.estimators.shares import ReportIntervals, scores_of
from confide.mechanisms import ForcedResponse, RandomizedResponse
from confide.mechanisms.laws import Law

ROOT = Path(__file__).resolve().parents[2]
LEVEL = 0.95
PREFACE = """# Coverage

Written by `make evidence NAME=coverage`, which also writes `evidence/coverage/results.json`.

The interval of the mean comes from unbiased scores of the reports. Intervals of the distribution
function, of quantiles and of the density (averaged over a sixteenth of the range) hold everything
that a likelihood-ratio test does not reject. Of the population they assume only that values inside
a cell of the lattice are spread evenly, so that they cover more often than they must. On a fine
lattice they are wider than on a coarse one: a lattice of 64 or 128 cells earns narrower intervals
where values are spread evenly inside its cells. Where they are not, for instance with many answers
at one round number inside a cell, an end can be off by a cell: take the finer lattice. Next to a
large mass at a bound coverage can fall a little short (the last rows)."""
SHARES = (0.25, 0.5, 0.9)
LEAST = 0.93
MEAN = (0.935, 0.965)
MECHANISMS = {"Laplace": Laplace, "square wave": SquareWave}


@dataclass(frozen=True)
class Population:
    """A known distribution on [0, 1]: a smooth part and masses at single values."""

    name: str
    smooth: Callable[[np.ndarray], np.ndarray]
    mean: float
    spikes: tuple[tuple[float, float], ...] = ()

    def cdf(self, x: Any) -> Any:
        """P(value <= x)."""
        x = np.asarray(x, dtype=float)
        rest = 1 - sum(mass for _, mass in self.spikes)
        return rest * self.smooth(x) + sum(mass * (x >= at) for at, mass in self.spikes)

    def masses(self, size: int) -> np.ndarray:
        """Masses of equal cells, each holding its lower edge, as a lattice's do."""
        edges = np.linspace(0, 1, size + 1)
        masses = np.diff(self.smooth(edges)) * (1 - sum(mass for _, mass in self.spikes))
        for at, mass in self.spikes:
            masses[min(int(at * size), size - 1)] += mass
        return masses


SKEWED = Population("skewed", stats.beta(2, 5).cdf, 2 / 7)
BIMODAL = Population(
    "bimodal",
    lambda x: 0.6 * stats.beta(2, 8).cdf(x) + 0.4 * stats.beta(30, 12).cdf(x),
    0.6 * 0.2 + 0.4 * 30 / 42,
)
SPIKES = ((0.0, 0.2), (0.1, 0.1), (0.2, 0.1), (0.4, 0.1))
SPIKED = Population("spiked", stats.beta(2, 5).cdf, 0.5 * 2 / 7 + 0.07, SPIKES)


@dataclass(frozen=True)
class Case:
    """One cell of the table."""

    mechanism: str
    epsilon: float
    n: int
    population: Population
    size: int = 64


CASES = tuple(
    Case(mechanism, epsilon, n, population)
    for mechanism in MECHANISMS
    for n in (2_000, 20_000)
    for epsilon in (1.0, 4.0)
    for population in (SKEWED, BIMODAL)
)
HARDER = (
    Case("Laplace", 4.0, 100, SKEWED),
    Case("square wave", 4.0, 100, SKEWED),
    Case("Laplace", 1.0, 20_000, SPIKED, 128),
    Case("square wave", 1.0, 20_000, SPIKED, 128),
    Case("square wave", 4.0, 20_000, SPIKED, 128),
    Case("Laplace", 4.0, 20_000, SPIKED, 128),
)


def tested(population: Population, size: int) -> list[tuple[str, float, float]]:
    """Names, positions on the lattice and true shares of the points that are tested."""
    if population.spikes:
        # Edges just behind a spike: no interval that spreads a cell evenly is wrong there.
        edges = [int(at * size) + 1 for at in (0.0, 0.2, 0.6)]
        below = np.append(0, population.masses(size).cumsum())
        return [(f"F({edge / size:.2f})", float(edge), float(below[edge])) for edge in edges]
    points = [optimize.brentq(lambda x, q=q: population.cdf(x) - q, 0, 1) for q in SHARES]
    return [(f"F at its {q:g} quantile", x * size, q) for x, q in zip(points, SHARES, strict=True)]


def windows(
    case: Case, law: Law, counts: np.ndarray, cuts: np.ndarray, widths: int
) -> list[dict[str, Any]]:
    """Coverage and widths of the density band: mean densities over a sixteenth of the range."""
    profile = Profile(law, nodes=WINDOW, bins=WINDOW)
    binned = profile.bin(counts)
    top = profile.fit(binned)[1]
    quantities = []
    for center in (0.1, 0.3, 0.7):
        ends = np.array([center - 1 / 32, center + 1 / 32])
        below = profile.below(ends * profile.size)
        parts = np.broadcast_to(below[1] - below[0], (len(counts), profile.size))
        truth = float(np.diff(case.population.cdf(ends))[0])
        deviance = profile.deviance(binned, parts, np.full(len(counts), truth), top)
        low, high = share_ends(profile, binned[:widths], parts[:widths], cuts[:widths])
        quantities.append(
            _quantity(f"density near {center:g}", deviance <= cuts, 16 * (high - low))
        )
    return quantities


def study(case: Case, surveys: int, calibrated: int, widths: int, seed: int = 1) -> dict[str, Any]:
    """Coverage and mean widths of one case."""
    began = time.perf_counter()
    lattice = Lattice(low=0, high=1, size=case.size)
    mechanism = MECHANISMS[case.mechanism](lattice, epsilon=case.epsilon)
    chances = mechanism.law.forward(case.population.masses(case.size))
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(case.n, chances / chances.sum(), size=surveys).astype(float)
    scores = mechanism.unbiased(1)
    least = least_variance(mechanism.law, scores, lattice.spreads)
    low, high = mean_ends(scores, counts, counts, level=LEVEL, edges=lattice.edges, least=least)
    # A cell's values stand at its centre; the truth is of the values themselves.
    covered = (low <= case.population.mean) & (case.population.mean <= high)
    quantities = [_quantity("mean", covered, high - low)]

    profile = Profile(mechanism.law)
    binned = profile.bin(counts)
    factors = np.resize(scales(profile, binned[:calibrated]), surveys)
    cuts = factors * stats.chi2.ppf(LEVEL, 1)
    top = profile.fit(binned)[1]
    few = slice(0, widths)
    own = slice(0, calibrated)
    for name, place, share in tested(case.population, case.size):
        parts, shares = profile.below(np.full(surveys, place)), np.full(surveys, share)
        deviance = profile.deviance(binned, parts, shares, top)
        ends = share_ends(profile, binned[few], parts[few], cuts[few])
        quantities.append(_quantity(name, deviance <= cuts, ends[1] - ends[0]))
        quantities[-1] |= {
            "own": int((deviance <= cuts)[own].sum()),
            "plain": float(np.mean(deviance <= stats.chi2.ppf(LEVEL, 1))),
        }
        if share == 0.5 and not case.population.spikes:
            ends = quantile_ends(profile, binned[few], shares[few], cuts[few])
            width = (ends[1] - ends[0]) / case.size
            quantities.append(_quantity("median", deviance <= cuts, width))
    if not case.population.spikes:
        quantities += windows(case, mechanism.law, counts, cuts, widths)
    return {
        **asdict(case),
        "population": case.population.name,
        "surveys": surveys,
        "calibrated": min(calibrated, surveys),
        "widths": min(widths, surveys),
        "factor": float(factors.mean()),
        "quantities": quantities,
        "seconds": round(time.perf_counter() - began, 1),
    }


def _quantity(name: str, covered: np.ndarray, width: np.ndarray) -> dict[str, Any]:
    coverage = float(covered.mean())
    # Two standard errors of a simulated share stand between a miss and bad luck.
    luck = 2 * np.sqrt(LEAST * (1 - LEAST) / covered.size)
    low, high = MEAN if name == "mean" else (LEAST, 1.0)
    return {
        "quantity": name,
        "coverage": coverage,
        "width": float(width.mean()),
        "verdict": "held" if low - luck <= coverage <= high + luck else "missed",
    }


def categories(surveys: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Coverage and widths of the intervals of categories' shares."""
    generator = np.random.default_rng(seed)
    labels = ["a", "b", "c", "d"]
    for name, mechanism, truth in (
        ("randomized response, epsilon 1", RandomizedResponse(labels, epsilon=1.0), (5, 3, 2, 0)),
        ("randomized response, epsilon 4", RandomizedResponse(labels, epsilon=4.0), (5, 3, 2, 0)),
        ("forced response, truth 1/2", ForcedResponse(labels[:2], truth=0.5), (9, 1)),
    ):
        shares, law = np.array(truth) / 10, mechanism.law.matrix()
        for n in (200, 2_000):
            drawn = generator.multinomial(n, law @ shares, size=surveys) / n
            scores = scores_of(mechanism.law)
            ends = np.array([ReportIntervals(*scores, row, n).shares(LEVEL) for row in drawn])
            covered = (ends[:, 0] <= shares) & (shares <= ends[:, 1])
            wide = (ends[:, 1] - ends[:, 0]).mean(0)
            for share, hit, width in zip(shares, covered.T, wide, strict=True):
                row = _quantity(f"share {share:g}", hit, np.array([width]))
                yield {"mechanism": name, "n": n, "surveys": surveys, **row}


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown: one line a quantity."""
    lines = [
        "| mechanism | epsilon | n | population | factor | quantity | coverage | mean width |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for quantity in row["quantities"]:
            lines.append(
                f"| {row['mechanism']} | {row['epsilon']:g} | {row['n']:,} | {row['population']} "
                f"| {row['factor']:.2f} | {quantity['quantity']} | {quantity['coverage']:.3f} "
                f"| {quantity['width']:.3f} |"
            )
    return "\n".join(lines)


def shares_table(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown: one line a share."""
    lines = ["| mechanism | n | quantity | coverage | mean width |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['mechanism']} | {row['n']:,} | {row['quantity']} | {row['coverage']:.3f} "
        f"| {row['width']:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)


def page(results: dict[str, Any]) -> str:
    """The tables for the docs."""
    rows = results["rows"]
    first = rows[0]
    return "\n\n".join(
        [
            PREFACE,
            f"Coverage of 95 % intervals in {first['surveys']:,} simulated surveys of values in "
            f"[0, 1], and their mean width in {first['widths']} of them. Lattices have 64 cells "
            "(128 for the spiked population: half Beta(2,5), half at 0, .1, .2 and .4). Skewed: "
            "Beta(2,5); bimodal: .6 Beta(2,8) + .4 Beta(30,12). The factor is what multiplies the "
            f"chi-square quantile in the test, the mean of {first['calibrated']} surveys.",
            table(rows),
            "Shares of categories:",
            shares_table(results["shares"]),
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=2_000)
    parser.add_argument("--calibrated", type=int, default=25)
    parser.add_argument("--widths", type=int, default=50)
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    surveys, calibrated, widths = options.surveys, options.calibrated, options.widths
    if options.thin:
        surveys, calibrated, widths = 100, 4, 5
    rows, began = [], time.perf_counter()
    for case in (*CASES, *HARDER):
        rows.append(study(case, surveys, calibrated, widths))
        print(table(rows[-1:]).split("\n", 2)[2], flush=True)
    shares = list(categories(surveys))
    own = [(q["own"], row["calibrated"]) for row in rows for q in row["quantities"] if "own" in q]
    results = {
        "level": LEVEL,
        "seconds": round(time.perf_counter() - began),
        "coverage_with_own_factor": sum(hit for hit, _ in own) / sum(tests for _, tests in own),
        "rows": rows,
        "shares": shares,
    }
    print(shares_table(shares))
    print(f"{results['seconds']} s, own factor {results['coverage_with_own_factor']:.3f}")
    if not options.thin:
        for path, text in (
            (ROOT / "evidence" / "coverage" / "results.json", json.dumps(results, indent=1)),
            (ROOT / "docs" / "evidence" / "coverage.md", page(results)),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
    verdicts = [q["verdict"] for row in rows for q in row["quantities"]]
    verdicts += [row["verdict"] for row in shares]
    return 1 if "missed" in verdicts else 0
