"""How often 95 % intervals cover the truth, and how wide they are.

python -m evidence coverage [--surveys 2000] [--tuning] [--thin]

Every survey is one multinomial draw from the exact law applied to the population's cells. An
interval of F(x) covers where the test of the true share at the true x does not reject, so coverage
takes two fits a survey; the interval of a quantile covers exactly where that of F(true quantile)
holds the share or, next to a heap, where it touches the cell of the heap. The pilot, its bins and
its cuts are those of the first surveys, each of them used for a group of surveys; `own` counts how
often the first surveys themselves, whose decisions are those of `density.interval`, cover.

Populations are the reported half of `evidence.sharper`, and four that are hard at a bound, at heaps
or where nobody is. Of all combinations of n, epsilon and lattice four were fixed before any was
run, and each population has all four.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from evidence.sharper.populations import Population, split, truncated
from scipy import stats

from confide import Counts, Laplace, Lattice, SquareWave
from confide.curves.differences import apart
from confide.estimators.adaptive import Adaptive
from confide.estimators.intervals import Intervals, least_variance, mean_ends, quantile_ends
from confide.estimators.shares import ReportIntervals, scores_of
from confide.mechanisms import ForcedResponse, RandomizedResponse

ROOT = Path(__file__).resolve().parents[2]
LEVEL = 0.95
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
PLACES = (0.1, 0.5)
LEAST = 0.93
MEAN = (0.935, 0.965)
FULL = 2_000
LUCK = 3.5
"""Binomial standard errors by which a cell may miss its limit."""
WIDEST = {1.0: 1.6, 4.0: 1.4}
SEED = 20_261_119
MECHANISMS = {"Laplace": Laplace, "square wave": SquareWave}

TENTHS = tuple(round(0.1 * k, 1) for k in range(1, 10))
HARDER = (
    Population("normal at the edge", truncated(stats.norm(0.9, 0.08))),
    Population("30 % zeros", stats.beta(2, 4).cdf, {0.0: 0.3}),
    Population("a third at tenths", stats.beta(2, 3).cdf, dict.fromkeys(TENTHS, 1 / 27)),
    Population("empty tails", truncated(stats.norm(0.5, 0.04))),
)
APART = {one.name for one in HARDER}
"""Atoms and empty tails: their widths are no part of the averages."""
ATOMS = ("capped at 1 (15 %)", "hours worked", "30 % zeros, Gamma(2)", "half at multiples of .05")


@dataclass(frozen=True)
class Case:
    """One population with one design."""

    population: Population
    n: int
    epsilon: float
    size: int
    mechanism: str = "square wave"

    @property
    def title(self) -> str:
        """In tables."""
        return f"{self.population.name}, {self.mechanism}"


DESIGNS = ((500, 1.0, 64), (2_000, 4.0, 256), (20_000, 1.0, 256), (20_000, 4.0, 1_024))


def cases(half: str = "reporting") -> list[Case]:
    """All populations with every design, and one with Laplace noise."""
    populations = split()[half]
    harder = HARDER if half == "reporting" else ()
    found = [Case(one, *design) for design in DESIGNS for one in (*populations, *harder)]
    return [*found, *(Case(populations[0], 2_000, e, 64, "Laplace") for e in (1.0, 4.0))]


def quantile(population: Population, share: float) -> float:
    """The least value up to which the share lies."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        enough = float(population.below(np.nextafter(middle, 2.0))) >= share
        low, high = (low, middle) if enough else (middle, high)
    near = [value for value in population.heaps if abs(value - high) < 1e-9]
    return near[0] if near else high


def mean(population: Population) -> float:
    """By the area above the distribution function."""
    x = (np.arange(2**16) + 0.5) / 2**16
    return float(1 - population.below(x).mean())


class Group:
    """Surveys that are tested with the bins and the cuts of one of them."""

    def __init__(self, intervals: Intervals, counts: np.ndarray) -> None:
        tests = intervals.tests
        self.profile, self.calibration = tests.profile, tests.calibration
        self.binned = self.profile.bin(counts.astype(float))
        self.masses, self.top = self.profile.fit(self.binned)
        size = self.profile.size
        self.heaps = {0, size - 1}
        if intervals.pilot is not None:
            share = size / intervals.pilot.masses.size
            self.heaps |= {int(at * share) for at in intervals.pilot.heaps}

    def rejected(self, place: float, share: float) -> np.ndarray:
        """Whether F(place) = share is rejected."""
        many = len(self.binned)
        parts = self.profile.below(np.full(many, place))
        deviance = self.profile.deviance(
            self.binned, parts, np.full(many, share), self.top, self.masses
        )
        return deviance > self.calibration.cuts(np.array([place]), LEVEL)[0]

    def share(self, place: float, share: float) -> np.ndarray:
        """Whether the interval of F(place) holds the share."""
        return ~self.rejected(place, share)

    def quantile(self, place: float, share: float) -> np.ndarray:
        """Whether the interval of a quantile holds the place."""
        cell = min(int(place + 1e-9), self.profile.size - 1)
        if cell not in self.heaps:
            return ~self.rejected(place, share)
        below = (self.masses[:, :at].sum(1) for at in (cell, cell + 1))
        under, over = (line < share for line in below)
        return ~(self.rejected(cell, share) & ~under) & ~(self.rejected(cell + 1, share) & over)

    def ends(self, share: float, some: int) -> tuple[np.ndarray, np.ndarray]:
        """Intervals of a quantile in the first surveys, as parts of the lattice."""
        size, binned = self.profile.size, self.binned[:some]
        low, high = quantile_ends(
            self.profile,
            binned,
            np.full(len(binned), share),
            lambda at: self.calibration.cuts(at, LEVEL),
        )
        cells = (np.minimum(end.astype(int), size - 1) for end in (low, high))
        first, last = ([int(cell) in self.heaps for cell in each] for each in cells)
        low, high = np.where(first, np.floor(low), low), np.where(last, np.ceil(high), high)
        return low / size, high / size


def study(case: Case, options: Any) -> dict[str, Any]:
    """Coverage and widths of one cell of the table."""
    began = time.process_time()
    lattice = Lattice(low=0, high=1, size=case.size)
    mechanism = MECHANISMS[case.mechanism](lattice, epsilon=case.epsilon)
    law, population = mechanism.law, case.population
    masses = np.diff(population.below(lattice.edges))
    chances = law.forward(masses)
    seed = [SEED, sum(map(ord, case.title)), case.n, int(case.epsilon * 10), case.size]
    counts = np.random.default_rng(seed).multinomial(
        case.n, chances / chances.sum(), size=options.surveys
    )
    truths = [quantile(population, q) for q in SHARES]
    densities = [
        Adaptive().fit(Counts(mechanism, row, simulated=True))
        for row in counts[: options.estimates]
    ]
    errors = np.array([d.quantile(np.array(SHARES)) for d in densities]) - truths
    oracle = 2 * np.quantile(np.abs(errors), 0.95, axis=0)
    calibrated = min(options.calibrated, len(densities))
    groups = [Group(densities[at].intervals, counts[at::calibrated]) for at in range(calibrated)]
    quantities = []

    scores = mechanism.unbiased(1)
    least = least_variance(law, scores, lattice.spreads)
    low, high = mean_ends(
        scores, counts, counts, level=LEVEL, edges=lattice.edges[[0, 1, -2, -1]], least=least
    )
    truth = mean(population)
    quantities.append(_quantity("mean", (low <= truth) & (truth <= high), high - low))
    centers = (low + high) / 2
    pairs = [
        apart(*zip(centers[at : at + 2], low[at : at + 2], high[at : at + 2], strict=True))
        for at in range(0, len(counts) - 1, 2)
    ]
    quantities.append(_differences("difference of means", pairs))

    def asked(name: str, method: str, place: float, share: float) -> dict[str, Any]:
        found = [getattr(group, method)(place, share) for group in groups]
        own = int(sum(each[0] for each in found))
        return {**_quantity(name, np.concatenate(found), np.array([np.nan])), "own": own}

    line = np.append(0.0, masses.cumsum())
    last = int(np.searchsorted(line, 0.98 * line[-1]))
    for edge in sorted({*(round(x * case.size) for x in PLACES), min(last, case.size - 1)}):
        at = asked(f"F({edge / case.size:.3g})", "share", float(edge), float(line[edge]))
        quantities.append({**at, "share": float(line[edge])})
    for q, x, scale in zip(SHARES, truths, oracle, strict=True):
        row = asked(f"quantile {q:g}", "quantile", x * case.size, q)
        some = -(-options.widths // calibrated)
        ends = [group.ends(q, some) for group in groups]
        width = float(np.concatenate([b - a for a, b in ends]).mean())
        quantities.append({**row, "width": width, "oracle": float(scale), "ratio": width / scale})
    some = -(-options.differences // calibrated)
    ends = [np.array(group.ends(0.5, some)) for group in groups]
    medians = [_medians(group, some) for group in groups]
    triples = [
        [(m, min(a, m), max(b, m)) for m, a, b in zip(middle, *each, strict=True)]
        for middle, each in zip(medians, ends, strict=True)
    ]
    pairs = [
        apart(*two)
        for one, other in zip(triples[::2], triples[1::2], strict=False)
        for two in zip(one, other, strict=False)
    ]
    quantities.append(_differences("difference of medians", pairs))
    return {
        "population": population.name,
        "mechanism": case.mechanism,
        "epsilon": case.epsilon,
        "n": case.n,
        "size": case.size,
        "surveys": options.surveys,
        "calibrated": calibrated,
        "estimates": len(densities),
        "quantities": quantities,
        "seconds": round(time.process_time() - began, 1),
    }


def _medians(group: Group, some: int) -> list[float]:
    """Medians of the unsmoothed fits, which stand for the estimates."""
    nodes = np.arange(group.profile.size + 1) / group.profile.size
    lines = np.pad(group.masses[:some].cumsum(1), ((0, 0), (1, 0)))
    return [float(np.interp(0.5, line / line[-1], nodes)) for line in lines]


def _differences(name: str, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Of two groups of one population, whose quantities do not differ."""
    low, high = np.array(pairs).T
    return _quantity(name, (low <= 0) & (high >= 0), high - low)


def _quantity(name: str, covered: np.ndarray, width: np.ndarray) -> dict[str, Any]:
    coverage = float(covered.mean())
    low, high = MEAN if name == "mean" else (LEAST, 1.0)
    luck = [LUCK * np.sqrt(limit * (1 - limit) / covered.size) for limit in (low, high)]
    return {
        "quantity": name,
        "coverage": coverage,
        "tests": int(covered.size),
        "width": float(width.mean()),
        "verdict": "held" if low - luck[0] <= coverage <= high + luck[1] else "missed",
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
    """Markdown: one line a cell; a coverage that missed its limit is bold."""
    rows = list(rows)
    names = [_short(one["quantity"]) for one in rows[0]["quantities"]]
    lines = [
        "| population | surveys | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for row in rows:
        cells = [_shown(one) for one in row["quantities"]]
        name = row["population"] + (", Laplace" if row["mechanism"] == "Laplace" else "")
        lines.append(f"| {name} | {row['surveys']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short(name: str) -> str:
    return "F" if name.startswith("F(") else name


def _shown(one: dict[str, Any]) -> str:
    text = f"{one['coverage']:.3f}"
    if one["verdict"] == "missed":
        text = f"**{text}**"
    if one["quantity"].startswith("F("):
        return f"{text} at {one['share']:.2g}"
    return f"{text} ({one['ratio']:.2f})" if "ratio" in one else text


def shares_table(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown: one line a share."""
    lines = ["| mechanism | n | quantity | coverage | mean width |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['mechanism']} | {row['n']:,} | {row['quantity']} | {row['coverage']:.3f} "
        f"| {row['width']:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)


def ratios(rows: Iterable[dict[str, Any]], epsilon: float) -> list[float]:
    """Widths over those of the oracle, of populations without atoms and empty tails."""
    return [
        one["ratio"]
        for row in rows
        for one in row["quantities"]
        if row["epsilon"] == epsilon and "ratio" in one
        if row["population"] not in APART and row["population"] not in ATOMS
    ]


def summary(rows: list[dict[str, Any]]) -> str:
    """What held and what did not."""
    every = [(row, one) for row in rows for one in row["quantities"]]
    missed = [(row, one) for row, one in every if one["verdict"] == "missed"]
    lines = [
        f"Of {len(every)} coverages {len(missed)} missed their limit by more than {LUCK:g} "
        "binomial standard errors."
    ]
    lines += [
        f"- {row['population']}, {row['mechanism']}, n {row['n']:,}, epsilon {row['epsilon']:g}, "
        f"{row['size']} cells: {one['quantity']} {one['coverage']:.3f}"
        for row, one in missed
    ]
    for epsilon, limit in WIDEST.items():
        found = ratios(rows, epsilon)
        if found:
            lines.append(
                f"\nMean width over that of the oracle at epsilon {epsilon:g}: "
                f"{np.mean(found):.2f} (from {min(found):.2f} to {max(found):.2f}; wanted: at most "
                f"{limit:g}). It is the mean of {len(found)} quantiles of populations without "
                "atoms and empty tails."
            )
    own = [(one["own"], row["calibrated"]) for row, one in every if "own" in one]
    lines.append(
        f"\nSurveys with their own pilot, bins and cuts: {sum(hit for hit, _ in own):,} of "
        f"{sum(many for _, many in own):,} intervals cover."
    )
    return "\n".join(lines)


def _extent(rows: list[dict[str, Any]]) -> str:
    """How much of the study the record holds."""
    whole, surveys = len(cases()), [row["surveys"] for row in rows]
    several = sorted({row["calibrated"] for row in rows})
    text = (
        f"This record holds {len(rows)} of {whole} cells with {min(surveys):,} to "
        f"{max(surveys):,} surveys each; bins and cuts are those of {several[0]} to {several[-1]} "
        f"surveys of a cell, and the oracle's width is from {min(r['estimates'] for r in rows)} "
        "estimates or more."
    )
    if len(rows) < whole or min(surveys) < FULL:
        text += (
            f" It is a thin first run: the whole study has {FULL:,} surveys a cell, and cuts of 16 "
            "of them. With the cuts of two or three surveys, what is random about them does not "
            "average out, so a single cell says little."
        )
    return text


PREFACE = """# Coverage

Written by `make evidence NAME=coverage`, which also writes `evidence/coverage/results.json`.

The interval of the mean comes from unbiased scores of the reports. Intervals of the distribution
function and of quantiles hold everything that a likelihood-ratio test does not reject. Of the
population they assume only that values inside a cell of the lattice are spread evenly. How large
the statistic may get is simulated: surveys are drawn from the default estimate, on the same lattice
and with the same bins, and tested where that estimate says the truth is.

Populations are the half of those of [the study of accuracy](sharper.md) that was set aside before
any tuning, and four more: a normal at the edge (mean .9, deviation .08), 30 % zeros with Beta(2,4),
Beta(2,3) with a third of the people at tenths, and a normal with empty tails (mean .5, deviation
.04). Of the 18 combinations of n, epsilon and lattice four were fixed before the first run, because
all of them take too long. Each cell is coverage; in brackets the mean width over that of the
oracle, twice the 95 % point of the estimate's own absolute error. F is tested at the edges nearest
to .1 and .5 and at the first behind the .98 quantile, at the share that is told. Differences are
those of two groups of one population; for those of medians there are fewer pairs."""


TRIED = """## What was tried and did not pay

Figures are from the half of the populations that is for tuning (60 surveys a cell, 256 cells, n
2,000 and 20,000); widths are over that of the oracle, as geometric means over quantiles.

- One factor from a pilot on 64 cells, as before: 1.85 and 2.38 at epsilon 1, 2.03 and 3.70 at 4.
- A cut of 3.84 without any calibration: 1.87 and 2.24 at epsilon 1; 1.59 and 1.91 at 4, with 192
  bins in place of 96.
- Bins of reports near the place (48 of 96 there): no better than 192 even ones, because places
  farther off matter too.
- The posterior of the log-density as the default: 1.21 and 1.30 at epsilon 1, 1.09 and 1.14 at 4,
  but it covers heaps that are too small to be found in 53 to 77 % of surveys. With half of the
  people of Beta(3,5) at multiples of .05 the search finds no heap at epsilon 1 with 20,000
  reports, so an interval that covers them there must be wider than the estimate of a smooth
  population needs. `interval(..., smooth=True)` is that posterior, for people who know that there
  are no heaps."""


def page(results: dict[str, Any]) -> str:
    """The tables for the docs."""
    rows = results["rows"]
    parts = [PREFACE, _extent(rows), summary(rows)]
    for n, epsilon, size in dict.fromkeys((r["n"], r["epsilon"], r["size"]) for r in rows):
        some = [r for r in rows if (r["n"], r["epsilon"], r["size"]) == (n, epsilon, size)]
        parts += [f"## n {n:,}, epsilon {epsilon:g}, {size:,} cells", table(some)]
    parts += [TRIED, "## Shares of categories", shares_table(results["shares"])]
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page; a run can be resumed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=FULL)
    parser.add_argument("--calibrated", type=int, default=16)
    parser.add_argument("--widths", type=int, default=48)
    parser.add_argument("--estimates", type=int, default=100)
    parser.add_argument("--differences", type=int, default=400)
    parser.add_argument("--tuning", action="store_true", help="the other half; nothing is written")
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    record = ROOT / "evidence" / "coverage" / "results.json"
    if options.thin:
        options.surveys, options.calibrated, options.widths = 120, 2, 2
        options.estimates, options.differences = 20, 40
    kept = not options.thin and not options.tuning
    rows: list[dict[str, Any]] = []
    if kept and record.exists():
        rows = json.loads(record.read_text(encoding="utf-8"))["rows"]
    done = {tuple(row[key] for key in KEYS) for row in rows if row["surveys"] >= options.surveys}
    rows = [row for row in rows if tuple(row[key] for key in KEYS) in done]
    shares = list(categories(options.surveys))
    for case in cases("tuning" if options.tuning else "reporting"):
        key = (case.population.name, case.mechanism, case.n, case.epsilon, case.size)
        if key in done:
            continue
        rows.append(study(case, options))
        print(f"n {case.n:,}, epsilon {case.epsilon:g}, {case.size} cells")
        print(table(rows[-1:]), flush=True)
        if kept:
            results = {"level": LEVEL, "rows": rows, "shares": shares}
            record.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(summary(rows))
    if kept:
        (ROOT / "docs" / "evidence" / "coverage.md").write_text(
            page({"rows": rows, "shares": shares}) + "\n", encoding="utf-8"
        )
    verdicts = [q["verdict"] for row in rows for q in row["quantities"]]
    verdicts += [row["verdict"] for row in shares]
    return 1 if "missed" in verdicts else 0


KEYS = ("population", "mechanism", "n", "epsilon", "size")
"""What makes a cell of the study."""
