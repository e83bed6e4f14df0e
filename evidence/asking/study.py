"""One question a person against all questions at a share of the epsilon, and coverage with weights.

python -m evidence asking [--surveys 20] [--covered 4000] [--thin]

A survey of six questions, one for each of six populations on [0, 1], and 100,000 people who spend
the same epsilon in all. Asked one question each, a sixth of them report on every question with the
whole epsilon; asked all, everybody reports on every question with a sixth of it. Errors are
Wasserstein-1 distances of the default estimate, the mean of |estimated cdf - true cdf| over 256
bins. People are independent draws from the populations and reports from the mechanism's law, so
counts of reports are one multinomial draw from the law applied to the population's cells: exact.

Coverage goes the whole way instead: answers of people in two groups, with survey weights that go
with the answers, through `Survey.simulate`, a Parquet file and `Survey.summarize`.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy import stats

import confide as cf
from confide.errors import ConfideWarning
from confide.summaries import Counts
from confide.survey import Survey

ROOT = Path(__file__).resolve().parents[2]
N = 100_000
LIMITS = {1.0: 0.5, 2.0: 0.45, 4.0: 0.52}
"""Error of one question each over that of all questions, at most, by total epsilon."""
EDGES = np.linspace(0, 1, 257)
LEVEL = 0.95
PREFACE = """# One question a person

Written by `make evidence NAME=asking`, which also writes `evidence/asking/results.json`. Errors are
Wasserstein-1 distances on [0, 1]: the average distance of mass from its true place, as a share of
the range. A survey has six questions, one for each population, and {n:,} people. Each person
spends the same epsilon in total. With `ask = 1` each person answers one question with the whole
epsilon. Otherwise each person answers all six with a sixth of it each. Figures are means over
{surveys} simulated surveys. The last line of each epsilon pools the populations. It has a
standard error of the ratio."""


def truncated(law: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The law of a value that is inside [0, 1]."""
    low, high = law.cdf(0.0), law.cdf(1.0)
    return lambda x: (law.cdf(x) - low) / (high - low)


POPULATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Beta(2, 5)": stats.beta(2, 5).cdf,
    "Beta(5, 2)": stats.beta(5, 2).cdf,
    ".6 Beta(2, 8) + .4 Beta(30, 12)": lambda x: (
        0.6 * stats.beta(2, 8).cdf(x) + 0.4 * stats.beta(30, 12).cdf(x)
    ),
    "lognormal, cut": truncated(stats.lognorm(0.8, scale=0.15)),
    "normal, sd .08": truncated(stats.norm(0.45, 0.08)),
    "exponential, cut": truncated(stats.expon(scale=0.3)),
}


def survey(epsilon: float, ask: int | None) -> Survey:
    """The six questions, asked one by one or all together."""
    questions = {name: {"low": 0, "high": 1} for name in POPULATIONS}
    given = {} if ask is None else {"ask": ask}
    return Survey.from_dict({"epsilon": epsilon, "questions": questions, **given})


def errors(epsilon: float, ask: int | None, seed: int) -> list[float]:
    """The error of each margin in one survey."""
    asked = survey(epsilon, ask)
    # How many are asked each question: evenly, as an assignment is.
    n = [int(part) for part in np.diff(np.linspace(0, N * asked.asks, len(POPULATIONS) + 1))]
    found = []
    for at, (name, cdf) in enumerate(POPULATIONS.items()):
        mechanism = asked.mechanisms[name]
        cells = np.diff(cdf(mechanism.axes[""].edges))
        shares = np.maximum(mechanism.law.forward(cells), 0)
        draw = np.random.default_rng([9, seed, at, asked.asks, round(1000 * epsilon)])
        counts = Counts(mechanism, draw.multinomial(n[at], shares / shares.sum()), simulated=True)
        found.append(float(np.abs(cf.density(counts).cdf(EDGES) - cdf(EDGES))[1:].mean()))
    return found


def compared(epsilon: float, surveys: int) -> dict[str, Any]:
    """Errors of both ways to ask at one total epsilon, by population and pooled."""
    one, every = (
        np.array([errors(epsilon, ask, seed) for seed in range(surveys)]) for ask in (1, None)
    )
    means = one.mean(), every.mean()
    ratio = means[0] / means[1]
    # Both means are over the same number of independent surveys.
    spread = [x.mean(axis=1).std(ddof=1) / math.sqrt(surveys) for x in (one, every)]
    error = ratio * math.hypot(spread[0] / means[0], spread[1] / means[1])
    rows = [
        {"population": name, "one": float(one[:, at].mean()), "all": float(every[:, at].mean())}
        for at, name in enumerate(POPULATIONS)
    ]
    return {
        "epsilon": epsilon,
        "surveys": surveys,
        "populations": rows,
        "one": float(means[0]),
        "all": float(means[1]),
        "ratio": float(ratio),
        "standard_error": float(error),
        "limit": LIMITS[epsilon],
        "verdict": "reached" if ratio <= LIMITS[epsilon] else "missed",
    }


GROUP = "north"
QUESTIONS = ("pay", "rent", "age")
PEOPLE = 1500


def people(seed: int) -> tuple[dict[str, Any], float]:
    """Answers, groups and weights of a sample, and the mean that its weights stand for.

    Of two strata with other means one is sampled twice as often and has half the weight; groups
    are drawn within them. So the mean of the group's sample without weights would be wrong.
    """
    draw = np.random.default_rng([10, seed])
    rich = draw.random(PEOPLE) < 2 / 3
    values = np.where(rich, draw.beta(5, 2, PEOPLE), draw.beta(2, 5, PEOPLE))
    table = {name: values if name == "pay" else draw.random(PEOPLE) for name in QUESTIONS}
    table["weight"] = np.where(rich, 0.5, 1.0)
    table["region"] = np.where(draw.random(PEOPLE) < 0.6, GROUP, "south")
    return table, 0.5 * (5 / 7 + 2 / 7)


def covers(seed: int, folder: Path, weights: str | None = "weight") -> bool:
    """Whether the interval of a group's weighted mean holds the truth, in one whole survey."""
    asked = Survey.from_dict(
        {
            "epsilon": 2.0,
            "ask": 1,
            "groups": ["region"],
            "questions": {name: {"low": 0, "high": 1, "size": 64} for name in QUESTIONS},
        }
    )
    table, truth = people(seed)
    path = folder / "reports.parquet"
    pq.write_table(asked.simulate(table, seed=seed, keep=["region", "weight"]), path)
    counts = asked.summarize(path, question="pay", by="region", weights=weights)
    low, high = cf.density(counts.groups("pay")[GROUP]).interval("mean", level=LEVEL)
    return bool(low <= truth <= high)


def coverage(seeds: Iterable[int], weights: str | None = "weight") -> dict[str, Any]:
    """How often the interval of the group's mean holds the truth."""
    with tempfile.TemporaryDirectory() as folder:
        held = [covers(seed, Path(folder), weights) for seed in seeds]
    return {"surveys": len(held), "level": LEVEL, "covered": float(np.mean(held))}


def page(results: dict[str, Any]) -> str:
    """The page of the docs."""
    lines = [PREFACE.format(n=N, surveys=results["compared"][0]["surveys"]), ""]
    lines += ["| epsilon in all | population | one question each | all questions | ratio |"]
    lines += ["|---|---|---|---|---|"]
    for found in results["compared"]:
        epsilon = f"{found['epsilon']:g}"
        for row in found["populations"]:
            ratio = row["one"] / row["all"]
            lines.append(
                f"| {epsilon} | {row['population']} | {row['one']:.4f} | {row['all']:.4f} "
                f"| {ratio:.2f} |"
            )
        lines.append(
            f"| {epsilon} | **all six** | {found['one']:.4f} | {found['all']:.4f} "
            f"| **{found['ratio']:.3f}** ± {found['standard_error']:.3f}, to reach "
            f"{found['limit']:g}: {found['verdict']} |"
        )
    covered = results["coverage"]
    lines += [
        "",
        "With survey weights, `ask = 1` of three questions, epsilon 2 and 1,500 people, of whom "
        "300 or so are in the group and were asked: the 95 % interval of the group's weighted mean "
        f"holds the truth in {covered['covered']:.1%} of {covered['surveys']:,} simulated surveys.",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and (unless thinned) write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surveys", type=int, default=20)
    parser.add_argument("--covered", type=int, default=4000, help="surveys to measure coverage")
    parser.add_argument("--thin", action="store_true", help="few surveys, nothing is written")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConfideWarning)
    surveys, covered = (2, 20) if options.thin else (options.surveys, options.covered)
    results: dict[str, Any] = {
        "n": N,
        "compared": [compared(epsilon, surveys) for epsilon in LIMITS],
        "coverage": coverage(range(covered)),
    }
    text = page(results)
    print(text)
    if not options.thin:
        own = Path(__file__).with_name("results.json")
        own.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (ROOT / "docs" / "evidence" / "asking.md").write_text(text + "\n", encoding="utf-8")
    return 1 if any(found["verdict"] == "missed" for found in results["compared"]) else 0
