"""Whole numbers and "prefer not to say": the exact loss, and how often 95 % intervals cover.

python -m evidence declining [--surveys 4000] [--thin]

Every survey is one multinomial draw from the exact law applied to the population's cells. The
interval of a quantile of whole numbers covers where it touches the cell of the true one: the test
of the distribution function at the edge of that cell which is nearer to the estimate does not
reject. Cuts are simulated anew for the first surveys; the others use theirs in rotation.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from confide import Counts, Lattice, RandomizedResponse, SquareWave
from confide.accounting.spend import exact
from confide.estimators.declining import Answerers
from confide.estimators.intervals import Intervals, Tests
from confide.estimators.shares import AnswererIntervals
from confide.exact.enclosures import log_ceiling
from confide.mechanisms import Mechanism
from confide.mechanisms.laws import Law

ROOT = Path(__file__).resolve().parents[2]
LEVEL = 0.95
COVERAGE = (0.935, 0.965)
"""What the coverage of a share and of a mean must be."""
LEAST = 0.94
"""What the coverage of a quantile must be at least."""
BRUTE = 160
"""Cells up to which every pair of inputs is compared."""
QUANTILES = (0.25, 0.5, 0.9)
PREFACE = """# Declining and whole numbers

Written by `make evidence NAME=declining`, which also writes `evidence/declining/results.json`.

Where people may prefer not to say, results are the share that declined and the distribution among
the others. The share depends on the number of one report, and has a Clopper-Pearson interval. A
mean or a share among those who answered is a ratio of two unbiased means, with Fieller's interval.
The interval of a quantile of whole numbers is a set of them; it holds every whole number whose cell
a likelihood-ratio test does not rule out, and covers more often than it must."""


@dataclass(frozen=True)
class Case:
    """One cell of the table: what is asked, of whom, and how many of them decline."""

    kind: str
    epsilon: float
    n: int
    declined: float

    @property
    def mechanism(self) -> Mechanism:
        """How the question is asked."""
        if self.kind == "words":
            return RandomizedResponse(["a", "b", "c"], epsilon=self.epsilon, prefer_not_to_say=True)
        lattice = Lattice(low=0, high=1, size=256)
        if self.kind == "whole numbers":
            lattice = Lattice(low=0, high=60, kind="integer")
        return SquareWave(lattice, epsilon=self.epsilon, prefer_not_to_say=True)

    @property
    def masses(self) -> np.ndarray:
        """The answers of those who give one."""
        if self.kind == "words":
            return np.array([0.6, 0.3, 0.1])
        if self.kind == "whole numbers":
            # Sick days: many have none, and the cap holds a few.
            days = stats.nbinom(0.8, 0.08)
            masses = np.append(days.pmf(np.arange(60)), days.sf(59))
            masses *= 0.75
            masses[0] += 0.25
            return masses
        edges = np.linspace(0, 1, 257)
        masses = 0.9 * np.diff(stats.beta(2, 5).cdf(edges))
        masses[0] += 0.1
        return masses


CASES = tuple(
    Case(kind, epsilon, n, declined)
    for kind in ("numbers", "whole numbers", "words")
    for epsilon in (1.0, 4.0)
    for n in (2_000, 20_000)
    for declined in (0.03, 0.15, 0.5)
)


def exact_losses() -> dict[str, Any]:
    """The largest ratio of two probabilities of one report, in integers, on many lattices."""
    lattices, pairs, worst = 0, 0, 0.0
    for epsilon in (0.01, 0.1, 0.5, 1.0, 1.1, 2.0, 4.0, 8.0):
        for size in (2, 3, 4, 5, 7, 11, 16, 31, 61, 100, 128, 256, 1024):
            lattice = Lattice(low=0, high=size - 1, kind="integer")
            labels = [str(k) for k in range(size)]
            subjects: list[Any] = [SquareWave(lattice, epsilon=epsilon, prefer_not_to_say=True)]
            if size <= BRUTE:
                subjects.append(RandomizedResponse(labels, epsilon=epsilon, prefer_not_to_say=True))
            for mechanism in subjects:
                law = mechanism.law
                some = range(size + 1) if size <= BRUTE else (0, 1, size // 2, size - 1, size)
                ratio = Law.ratio(law) if size <= BRUTE else law.ratio()
                totals = {sum(law.weights(index)) for index in some}
                weights = [law.weights(index) for index in some]
                least = [min(row) for row in zip(*weights, strict=True)]
                most = [max(row) for row in zip(*weights, strict=True)]
                seen = max(Fraction(a, b) for a, b in zip(most, least, strict=True))
                assert len(totals) == 1
                assert ratio == seen == Fraction(law.near, law.far)
                lattices += 1
                pairs += len(weights) * (len(weights) - 1) * len(least)
                loss = Fraction(log_ceiling(ratio)) / exact(epsilon)
                assert loss <= 1
                worst = max(worst, float(loss))
    return {"lattices": lattices, "comparisons": pairs, "largest_loss_over_epsilon": worst}


def covering(case: Case, surveys: int, seed: int) -> dict[str, Any]:
    """Coverage of the share that declined, and of means or shares among those who did not."""
    mechanism, generator = case.mechanism, np.random.default_rng(seed)
    people = np.append((1 - case.declined) * case.masses, case.declined)
    counts = generator.multinomial(case.n, mechanism.law.forward(people), size=surveys)
    axis = mechanism.axes[""]
    if case.kind == "words":
        truth = dict(zip(axis.labels, case.masses, strict=True))
        truth = {f"share of {label}": share for label, share in truth.items()}
    else:
        truth = {"mean": float(case.masses @ axis.centers)}
    hits = dict.fromkeys(("declined", *truth), 0)
    widths = dict.fromkeys(hits, 0.0)
    scores = None if case.kind == "words" else mechanism.unbiased(1)
    for row in counts:
        summary = Counts(mechanism, row, simulated=True)
        ends = {"declined": Answerers(summary).interval(LEVEL)}
        if scores is None:
            found = np.stack(AnswererIntervals(summary).shares(LEVEL), axis=1)
            ends |= {name: tuple(pair) for name, pair in zip(truth, found, strict=True)}
        else:
            ends["mean"] = mean(summary, scores)
        for name, (low, high) in ends.items():
            hits[name] += low <= (case.declined if name == "declined" else truth[name]) <= high
            widths[name] += high - low
    return {
        "kind": case.kind, "epsilon": case.epsilon, "n": case.n, "declined": case.declined,
        "surveys": surveys,
        "quantities": [
            {
                "quantity": name,
                "coverage": hits[name] / surveys,
                "width": widths[name] / surveys,
                "verdict": _verdict(hits[name] / surveys, surveys, COVERAGE),
            }
            for name in hits
        ],
    }  # fmt: skip


def mean(summary: Counts, scores: np.ndarray) -> tuple[float, float]:
    """The interval of `Intervals.mean`, with scores that are made once for all surveys."""
    axis = summary.mechanism.axes[""]
    low, high = Answerers(summary).ratios(scores, LEVEL, (axis.low, axis.high))
    return float(low), float(high)


def quantiles(case: Case, surveys: int, calibrated: int, seed: int) -> dict[str, Any]:
    """Coverage of the sets of whole numbers that a quantile may be."""
    mechanism, generator = case.mechanism, np.random.default_rng(seed)
    if not case.declined:
        mechanism = SquareWave(mechanism.axes[""], epsilon=case.epsilon)
    people = (1 - case.declined) * case.masses
    people = np.append(people, case.declined) if case.declined else people
    drawn = generator.multinomial(case.n, mechanism.law.forward(people), size=surveys)
    covered = {share: np.zeros(surveys, dtype=bool) for share in QUANTILES}
    for first in range(calibrated):
        # The bins and the cuts of one survey serve a group of them.
        tests = Intervals(Counts(mechanism, drawn[first], simulated=True)).tests
        own = slice(first, None, calibrated)
        for share, hit in _covered(tests, drawn[own].astype(float), case.masses).items():
            covered[share][own] = hit
    found = [
        {
            "quantity": f"quantile {share:g}",
            "coverage": float(hit.mean()),
            "verdict": _verdict(hit.mean(), surveys, (LEAST, 1.0)),
        }
        for share, hit in covered.items()
    ]
    return {
        "epsilon": case.epsilon, "n": case.n, "declined": case.declined, "surveys": surveys,
        "calibrated": calibrated, "quantities": found,
    }  # fmt: skip


def _covered(tests: Tests, drawn: np.ndarray, truth: np.ndarray) -> dict[float, np.ndarray]:
    """Whether the sets of whole numbers hold the true quantiles, one flag a survey."""
    profile = tests.profile
    reports = profile.bin(drawn)
    masses, top = profile.fit(reports)
    lines = np.pad(profile.among(masses).cumsum(1), ((0, 0), (1, 0)))
    found = {}
    for share in QUANTILES:
        cell = int(np.searchsorted(truth.cumsum(), share))
        nodes = np.arange(profile.size + 1)
        center = np.array([np.interp(share, line, nodes) for line in lines])
        covered = (center > cell) & (center <= cell + 1)
        # The edge of the true cell that is nearer to the estimate.
        edge = np.where(center <= cell, cell, cell + 1.0)
        rest = np.flatnonzero(~covered)
        lost = profile.deviance(
            reports[rest], profile.below(edge[rest]), np.full(rest.size, share), top[rest]
        )
        covered[rest] = lost <= tests.calibration.cuts(edge[rest], LEVEL)
        found[share] = covered
    return found


def _verdict(coverage: float, surveys: int, wanted: tuple[float, float]) -> str:
    """Held, within three standard errors of simulation."""
    slack = 3 * math.sqrt(LEVEL * (1 - LEVEL) / surveys)
    return "held" if wanted[0] - slack <= coverage <= wanted[1] + slack else "missed"


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown: one line a quantity."""
    lines = [
        "| answers | epsilon | n | declined | quantity | coverage | mean width |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['kind']} | {row['epsilon']:g} | {row['n']:,} | {row['declined']:.0%} "
        f"| {one['quantity']} | {one['coverage']:.3f} | {one['width']:.3g} |"
        for row in rows
        for one in row["quantities"]
    ]
    return "\n".join(lines)


def quantile_table(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown: one line a survey of whole numbers."""
    names = " | ".join(f"quantile {share:g}" for share in QUANTILES)
    lines = [f"| epsilon | n | declined | {names} |", "|---|---|---|---|---|---|"]
    for row in rows:
        hits = " | ".join(f"{one['coverage']:.3f}" for one in row["quantities"])
        lines.append(f"| {row['epsilon']:g} | {row['n']:,} | {row['declined']:.0%} | {hits} |")
    return "\n".join(lines)


def asked_for_quantiles() -> Iterator[Case]:
    """Surveys of whole numbers whose quantiles are looked at."""
    for declined in (0.0, 0.15):
        for epsilon, n in ((1.0, 2_000), (1.0, 20_000), (4.0, 2_000), (4.0, 20_000)):
            yield Case("whole numbers", epsilon, n, declined)


def page(results: dict[str, Any]) -> str:
    """The tables for the docs."""
    loss = results["loss"]
    return "\n\n".join(
        [
            PREFACE,
            f"The exact loss, in integers: on {loss['lattices']} lattices of 2 to 1,024 answers "
            f"and epsilon from .01 to 8, in {loss['comparisons']:,} comparisons of one report "
            "under two inputs, no ratio was above e**epsilon, and totals were equal.",
            f"Coverage of 95 % intervals in {results['rows'][0]['surveys']:,} simulated surveys, "
            "and their mean width. Numbers: 10 % at 0, the others Beta(2,5) on 0 to 1, 256 cells. "
            "Whole numbers: sick days from 0 to 60, a third of them 0. Words: shares of .6, .3 "
            "and .1.",
            table(results["rows"]),
            f"Quantiles of the whole numbers, in {results['quantiles'][0]['surveys']:,} surveys.",
            quantile_table(results["quantiles"]),
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=4_000)
    parser.add_argument("--calibrated", type=int, default=20)
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    surveys, calibrated = (200, 3) if options.thin else (options.surveys, options.calibrated)
    began = time.perf_counter()
    loss = exact_losses()
    print(loss, flush=True)
    rows, found = [], []
    for seed, case in enumerate(CASES):
        rows.append(covering(case, surveys, seed))
        print(table(rows[-1:]).split("\n", 2)[2], flush=True)
    for seed, case in enumerate(asked_for_quantiles()):
        found.append(quantiles(case, surveys, calibrated, seed))
        print(quantile_table(found[-1:]).split("\n", 2)[2], flush=True)
    results = {
        "level": LEVEL,
        "seconds": round(time.perf_counter() - began),
        "loss": loss,
        "rows": rows,
        "quantiles": found,
    }
    if not options.thin:
        for path, text in (
            (ROOT / "evidence" / "declining" / "results.json", json.dumps(results, indent=1)),
            (ROOT / "docs" / "evidence" / "declining.md", page(results)),
        ):
            path.write_text(text + "\n", encoding="utf-8")
    verdicts = [one["verdict"] for row in (*rows, *found) for one in row["quantities"]]
    print(f"{results['seconds']} s, {verdicts.count('missed')} missed")
    return 1 if "missed" in verdicts else 0
