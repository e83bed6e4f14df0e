"""The expected errors of the correlations of a survey that asks for pairs of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from confide._types import Floats
from confide.estimators.relating import Cut, Pair, cut_of, margin_of
from confide.lattice import INTEGER, Categories, Lattice
from confide.mechanisms import Mechanism, PairResponse, Side
from confide.planning.guesses import Guess
from confide.planning.pair_designs import best_classes
from confide.planning.simulation import reach
from confide.questions import Questionnaire
from confide.summaries import Counts

CORRELATION = 0.4
"""The correlation that errors are worked out for."""
DECLINED = 0.1
"""Share who decline either question when the number of classes is chosen."""


@dataclass(frozen=True)
class PairExpected:
    """The expected error of the correlation of one pair of questions.

    Attributes
    ----------
    pair
        Both questions, as in the column of their reports.
    n
        How many people are asked about it.
    report
        The report that they send: one bit, or a cell of a table.
    error
        Half of the range around a correlation of .4 that holds a share ``level`` of estimates, at
        most 1. It includes the errors of the shares below the thresholds, which come from people
        who answer single questions.
    """

    pair: str
    n: int
    report: str
    error: float


def cut_as_guessed(
    survey: Questionnaire, guesses: Mapping[str, Guess], epsilon: float
) -> Questionnaire:
    """The survey with thresholds at the quantiles of its guesses, where it has none yet.

    Parameters
    ----------
    survey
        The survey.
    guesses
        The guess for each question.
    epsilon
        What each respondent spends.
    """
    relations = survey.relations
    if relations is None or not (missing := relations.missing(survey.questions)):
        return survey
    offered = any(
        survey.questions[name].mechanism.prefer_not_to_say for name in relations.questions
    )
    classes = best_classes(epsilon, n=1000, declined=DECLINED if offered else 0.0)
    at = dict(relations.at)
    for name in missing:
        axis = survey.questions[name].axis
        assert isinstance(axis, Lattice)
        below = np.cumsum(_masses(guesses[name], axis))[:-1]
        cuts = {int(np.abs(below - each / classes).argmin()) + 1 for each in range(1, classes)}
        edges = axis.edges[sorted(cuts)]
        at[name] = tuple((np.ceil(edges) if axis.kind == INTEGER else edges).tolist())
    return replace(survey, relations=replace(relations, at=at))


def expected_pairs(
    survey: Questionnaire,
    guesses: Mapping[str, Guess],
    singles: Mapping[str, tuple[Mechanism, int]],
    *,
    n: int,
    epsilon: float,
    level: float,
) -> tuple[PairExpected, ...]:
    """The expected errors of all correlations; none where the survey asks for no pairs.

    Parameters
    ----------
    survey
        The survey, with thresholds.
    guesses
        The guess for each question.
    singles
        For each question what makes the reports to it alone, and how many people send one.
    n
        Respondents in all.
    epsilon
        What each of them spends.
    level
        Share of surveys whose estimates stay within an error.
    """
    relations = survey.relations
    if relations is None:
        return ()
    each = max(int(n * relations.share / len(relations.pairs)), 1)
    sides = {name: side for pair in survey.pairs.values() for name, side in pair.sides.items()}
    cuts = {name: _cut(side, guesses[name], *singles[name]) for name, side in sides.items()}
    found = []
    for column, (one, other) in zip(relations.columns, relations.pairs, strict=True):
        pair = PairResponse({name: sides[name] for name in (one, other)}, epsilon=epsilon)
        declined = 1 - (1 - guesses[one].declined) * (1 - guesses[other].declined)
        counts = _reports(pair, (cuts[one], cuts[other]), each, declined)
        error = reach(level) * Pair(counts, (cuts[one], cuts[other])).relation(level).error
        rows, columns = (len(sides[name].starts) for name in (one, other))
        report = "one bit" if pair.bit else f"table of {rows} x {columns}"
        found.append(PairExpected(column, each, report, min(error, 1.0)))
    return tuple(found)


def _masses(guess: Guess, axis: Lattice | Categories) -> Floats:
    """Share of the people who answer in each cell or category."""
    if isinstance(axis, Categories):
        assert guess.shares is not None
        return guess.shares
    assert guess.population is not None
    return guess.population.masses(axis)


def _cut(side: Side, guess: Guess, mechanism: Mechanism, n: int) -> Cut:
    """The true shares below the cuts, with the errors that they would have in one survey."""
    masses = _masses(guess, side.axis)
    true = np.cumsum(masses)[np.array(side.starts[1:]) - 1]
    cells = masses
    if mechanism.prefer_not_to_say:
        cells = np.append((1 - guess.declined) * masses, guess.declined)
    chances = np.maximum(mechanism.law.forward(cells), 0)
    # A fixed seed: the same survey gets the same plan.
    drawn = np.random.default_rng(0).multinomial(max(n, 1), chances / chances.sum())
    found = cut_of(side, margin_of(Counts(mechanism, drawn, simulated=True)))
    return Cut(np.clip(true, 0, 1), found.errors)


def _reports(pair: PairResponse, cuts: tuple[Cut, Cut], n: int, declined: float) -> Counts:
    """The reports of n people, as they are on average."""
    shares = Pair(Counts(pair, np.ones(pair.law.outputs, np.int64), simulated=True), cuts).expected(
        CORRELATION
    )
    if pair.declines:
        shares = np.append((1 - declined) * shares, declined)
    chances = pair.response.law.forward(shares)
    return Counts(pair, np.maximum(np.round(n * chances), 1).astype(np.int64), simulated=True)
