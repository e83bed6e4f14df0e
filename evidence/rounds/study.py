"""Whether intervals of trends cover, and what rotation gains over asking everybody every time.

python -m evidence rounds [--surveys 1500] [--thin]

A survey has twelve rounds and 24,000 people, who spend the same epsilon in all: with rotation each
answers in one round with the whole epsilon, otherwise everybody answers every round with a twelfth
of it. The population moves from round to round. Counts of reports are multinomial draws from the
exact laws.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import confide as cf
from confide.estimators.trends import Trend, trend
from confide.summaries import Counts, Groups
from evidence import record

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "evidence" / "rounds-check.md"
PEOPLE, ROUNDS = 24_000, 12
EPSILONS = (1.0, 2.0, 4.0)
LIMITS = (0.93, 0.97)
NUMBERS = np.arange(1, ROUNDS + 1)
MEANS = 0.3 + 0.01 * NUMBERS
"""Means of the rounds: a straight line, so that its slope is the truth."""
YES = 0.2 + 0.02 * NUMBERS
QUESTIONS: dict[str, Any] = {
    "pay": {"low": 0, "high": 1, "size": 256},
    "smokes": {"categories": ["no", "yes"]},
}


def survey(name: str, epsilon: float, per_person: int) -> cf.Survey:
    """The survey in which each person is asked in so many of the rounds."""
    return cf.Survey.from_dict(
        {
            "epsilon": epsilon,
            "rounds": {"count": ROUNDS, "per_person": per_person},
            "questions": {name: QUESTIONS[name]},
        }
    )


def found(asked: cf.Survey, name: str, seeds: list[int]) -> Trend:
    """The trend of one question in one simulated survey."""
    assert asked.rounds is not None
    mechanism: Any = asked.mechanisms[name]
    n = PEOPLE * asked.rounds.per_person // ROUNDS
    draw = np.random.default_rng(seeds)
    parts = {}
    for number, mean, yes in zip(NUMBERS.tolist(), MEANS, YES, strict=True):
        if name == "pay":
            shares = np.diff(beta.cdf(mechanism.lattice.edges, 8 * mean, 8 * (1 - mean)))
        else:
            shares = np.array([1 - yes, yes])
        chances = np.maximum(mechanism.law.forward(shares), 0)
        counts = draw.multinomial(n, chances / chances.sum())
        parts[number] = Counts(mechanism, counts, simulated=True)
    return trend(Groups(("round",), parts), category="yes" if name == "smokes" else None)


def measure(epsilon: float, surveys: int) -> dict[str, Any]:
    """Coverage of rounds, changes and slopes, and the errors of both ways to ask."""
    row: dict[str, Any] = {"epsilon": epsilon, "surveys": surveys}
    for name, truth, step in (("pay", MEANS, 0.01), ("smokes", YES, 0.02)):
        held: dict[str, list[float]] = {"round": [], "change": [], "slope": []}
        errors = []
        for seed in range(surveys):
            one = found(
                survey(name, epsilon, 1), name, [18, 4, round(10 * epsilon), seed, len(name)]
            )
            points = list(one.rounds.values())
            inside = [p.low <= t <= p.high for p, t in zip(points, truth, strict=True)]
            held["round"].append(float(np.mean(inside)))
            held["change"].append(
                float(np.mean([p.low <= step <= p.high for p in one.changes.values()]))
            )
            held["slope"].append(float(one.slope.low <= step <= one.slope.high))
            errors += [p.value - t for p, t in zip(points, truth, strict=True)]
        row[name] = {what: float(np.mean(each)) for what, each in held.items()}
        row[name]["error"] = float(np.sqrt(np.mean(np.square(errors))))
        everybody = []
        for seed in range(max(2, surveys // 20)):
            one = found(
                survey(name, epsilon, ROUNDS), name, [18, 5, round(10 * epsilon), seed, len(name)]
            )
            pairs = zip(one.rounds.values(), truth, strict=True)
            everybody += [p.value - t for p, t in pairs]
        row[name]["everybody"] = float(np.sqrt(np.mean(np.square(everybody))))
    return row


def sample() -> dict[str, float]:
    """Estimates of one survey of each question."""
    made = {}
    for name in QUESTIONS:
        one = found(survey(name, EPSILONS[0], 1), name, [18, 4, 10, 0, len(name)])
        made |= {f"{name}: low of slope": one.slope.low, f"{name}: high of slope": one.slope.high}
        made |= {f"{name}: low of round {at}": point.low for at, point in one.rounds.items()}
        made |= {f"{name}: high of change {at}": each.high for at, each in one.changes.items()}
    return made


def verdict(results: dict[str, Any]) -> str:
    """Whether intervals of changes and slopes cover as they should, within two standard errors."""
    for row in results["measured"]:
        slack = 2 * math.sqrt(0.05 * 0.95 / row["surveys"])
        for name in ("pay", "smokes"):
            for what in ("change", "slope"):
                if not LIMITS[0] - slack <= row[name][what] <= LIMITS[1] + slack:
                    return "missed"
    return "reached"


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    lines = [
        "# Rounds, checked",
        "",
        "Written by `make evidence NAME=rounds`, which also writes `evidence/rounds/results.json`. "
        f"{ROUNDS} rounds and {PEOPLE:,} people, each of whom answers in one round."
        " Coverage is that of 95 % intervals: of the estimate of each round, of its change "
        "from the round before, and of the slope of the line through all. The last columns have "
        "the root mean square error of a round's estimate, and that of a survey in which everybody "
        "answers every round with a twelfth of the epsilon.",
        "",
        "| epsilon in all | quantity | rounds | changes | slope | error | everybody every round |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["measured"]:
        for name, what in (("pay", "mean"), ("smokes", "share")):
            own = row[name]
            lines.append(
                f"| {row['epsilon']:g} | {what} | {own['round']:.3f} | {own['change']:.3f} | "
                f"{own['slope']:.3f} | {own['error']:.4f} | {own['everybody']:.4f} |"
            )
    surveys = results["measured"][0]["surveys"]
    lines += [
        "",
        f"{surveys:,} simulated surveys in each line. Changes and slopes from .93 to .97, within "
        f"two standard errors of a slope's coverage: **{results['verdict']}**.",
    ]
    return "\n".join(lines)


def measured(surveys: int) -> dict[str, Any]:
    """The results of so many surveys at each epsilon."""
    results: dict[str, Any] = {"measured": [measure(epsilon, surveys) for epsilon in EPSILONS]}
    return {**results, "verdict": verdict(results), "sample": sample()}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page."""
    return record.run(sys.modules[__name__], arguments, surveys=1500, thin=10)
