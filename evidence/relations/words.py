"""Relations of words: correlations and cross tables of words, and of words and numbers.

Four questions are joined by a normal copula: a number, three words in their order, four words and
two words. Each is asked alone of 5,000 people, and each of their six pairs of 5,000 others. Counts
of reports are multinomial draws from the exact laws, and the reports about pairs of a survey are
drawn four times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from confide.estimators.relating import Cut, Pair, cut_of, margin_of, table_of
from confide.lattice import Categories
from confide.mechanisms import PairResponse
from confide.summaries import Counts
from confide.survey import Survey

RHO = 0.4
EACH = 5_000
REPEATS = 4
SKIPPED = 0.1
"""Share of the people who decline a question, where they may."""
LIMITS = (0.93, 0.97)
BELOW: Mapping[str, tuple[float, ...]] = {
    "hours": (0.5,),
    "stress": (0.4, 0.8),
    "place": (0.25, 0.5, 0.75),
    "smokes": (0.7,),
}
"""Share of the people below each threshold, or in the words before."""
QUESTIONS: dict[str, dict[str, Any]] = {
    "hours": {"low": 0, "high": 1},
    "stress": {"categories": ["never", "sometimes", "often"], "ordered": True},
    "place": {"categories": ["north", "east", "south", "west"]},
    "smokes": {"categories": ["no", "yes"]},
}
Table = np.ndarray


def survey(epsilon: float, *, declining: bool) -> Survey:
    """The survey, which has its thresholds."""
    offered = {"prefer_not_to_say": True} if declining else {}
    fields = {
        "epsilon": epsilon,
        "ask": 1,
        "questions": {name: {**each, **offered} for name, each in QUESTIONS.items()},
        "relations": {"pairs": "all", "at": {"hours": 0.5}},
    }
    return Survey.from_dict(fields)


def table(pair: PairResponse) -> Table:
    """Shares of the classes of both questions in the population."""
    cuts = [Cut(np.array(BELOW[name]), np.zeros(len(BELOW[name]))) for name in pair.sides]
    return table_of(cuts[0], cuts[1], RHO)


def pair_chances(pair: PairResponse) -> Table:
    """Chances of the reports about a pair."""
    cells = table(pair)
    masses = np.zeros(pair.outcomes.shape)
    masses[: cells.shape[0], : cells.shape[1]] = cells
    if pair.declines:
        masses *= (1 - SKIPPED) ** 2
        masses[-1, -1] = 1 - (1 - SKIPPED) ** 2
    outcomes = np.bincount(pair.outcomes.ravel(), masses.ravel())
    shares = np.asarray(pair.response.law.forward(outcomes))
    return np.asarray(shares / shares.sum())


def single_chances(asked: Survey, name: str) -> Table:
    """Chances of the reports about one question."""
    mechanism: Any = asked.questions[name].mechanism
    axis = mechanism.axes[""]
    # Numbers are spread evenly between the bounds.
    words = np.diff([0, *BELOW[name], 1])
    cells = words if isinstance(axis, Categories) else np.diff(axis.edges)
    if mechanism.prefer_not_to_say:
        cells = np.append((1 - SKIPPED) * cells, SKIPPED)
    shares = np.maximum(mechanism.law.forward(cells), 0)
    return np.asarray(shares / shares.sum())


def one_survey(asked: Survey, draw: np.random.Generator) -> dict[str, list[tuple[Any, ...]]]:
    """For each pair, drawn several times: the estimate, and what its intervals hold.

    That is whether they hold the correlation, whether they hold each cell, and their ends.
    """
    cuts = {}
    sides = {name: side for pair in asked.pairs.values() for name, side in pair.sides.items()}
    for name, side in sides.items():
        drawn = draw.multinomial(EACH, single_chances(asked, name))
        counts = Counts(asked.questions[name].mechanism, drawn, simulated=True)
        cuts[name] = cut_of(side, margin_of(counts))
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, pair in asked.pairs.items():
        truth, reports = table(pair), pair_chances(pair)
        one, other = (cuts[question] for question in pair.sides)
        for _ in range(REPEATS):
            counts = Counts(pair, draw.multinomial(EACH, reports), simulated=True)
            made = Pair(counts, (one, other)).relation(0.95)
            cells = (made.ends[0] <= truth) & (truth <= made.ends[1])
            ends = (made.low, made.high, made.ends[0].sum(), made.ends[1].sum())
            row = (made.correlation, made.low <= RHO <= made.high, cells, ends)
            found.setdefault(name, []).append(row)
    return found


def sample() -> dict[str, float]:
    """Estimates and intervals of one survey."""
    asked = survey(2.0, declining=True)
    found = one_survey(asked, np.random.default_rng([13, 0, 2000, True]))
    names = ("low", "high", "low of cells", "high of cells")
    made = {f"words: {name}": rows[0][0] for name, rows in found.items()}
    for name, rows in found.items():
        ends = zip(names, rows[0][3], strict=True)
        made |= {f"words: {what} of {name}": float(end) for what, end in ends}
    return made


def measured(epsilon: float, surveys: int, *, declining: bool = False) -> list[dict[str, Any]]:
    """Errors and coverage over many surveys, by the kind of pair."""
    asked = survey(epsilon, declining=declining)
    made = [
        one_survey(asked, np.random.default_rng([13, seed, round(1000 * epsilon), declining]))
        for seed in range(surveys)
    ]
    rows = []
    for kind, names in kinds(asked).items():
        each = [[row for name in names for row in one[name]] for one in made]
        squares = np.array([[(row[0] - RHO) ** 2 for row in own] for own in each])
        held = np.array([[row[1] for row in own] for own in each]).mean(axis=1)
        by_cell = [np.mean([row[2] for one in made for row in one[name]], axis=0) for name in names]
        every = np.concatenate([cells.ravel() for cells in by_cell])
        rows.append(
            {
                "kind": kind,
                "epsilon": epsilon,
                "declining": declining,
                "surveys": surveys,
                "rmse": float(np.sqrt(squares.mean())),
                "covered": float(held.mean()),
                "covered_error": float(held.std(ddof=1) / math.sqrt(surveys)),
                "cells": float(every.mean()),
                "least": float(every.min()),
            }
        )
    return rows


def kinds(asked: Survey) -> dict[str, list[str]]:
    """The pairs of a number and words, and those of words alone."""
    found: dict[str, list[str]] = {"a number and words": [], "words": []}
    for name, pair in asked.pairs.items():
        found["a number and words" if "hours" in pair.sides else "words"].append(name)
    return found


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """The part of the page."""
    text = [
        "## Words",
        "",
        f"Four other questions with a correlation of {RHO:g}: a number, three words in their "
        f"order, four words and two words. Each is asked alone of {EACH:,} people, with a "
        f"threshold at the median of the number, and each pair of {EACH:,} others. Coverage is "
        "that of the correlation and of the shares in the cross table, over all cells and in the "
        "worst one; shares cannot be below 0, so that intervals near 0 cover more often.",
        "",
        "| epsilon in all | pairs of | surveys | root mean square error | coverage "
        "| coverage of cells | worst cell |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        text.append(
            f"| {row['epsilon']:g} | {row['kind']}"
            f"{', 10 % decline each question' * row['declining']} | {row['surveys']} "
            f"| {row['rmse']:.4f} | {row['covered']:.1%} ± {row['covered_error']:.1%} "
            f"| {row['cells']:.1%} | {row['least']:.1%} |"
        )
    return text
