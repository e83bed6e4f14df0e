"""Made-up answers of a planned survey, to see what its results would look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from confide import _checks
from confide.errors import InvalidInput
from confide.lattice import Categories
from confide.planning.guesses import guesses
from confide.questions import Questionnaire

MOST = 1_000_000
"""Largest number of people whose answers are made up."""


def answers(
    survey: Questionnaire,
    *,
    n: int,
    given: Mapping[str, Any],
    by: Mapping[str, Sequence[float]],
    seed: int,
) -> dict[str, list[Any]]:
    """A column for each question, drawn from the guesses, and one for each public column.

    Parameters
    ----------
    survey
        The survey.
    n
        How many people answer.
    given
        Guesses by question, as a plan takes them.
    by
        The shares of the groups by each public column. All groups have the same answers.
    seed
        What the answers are drawn from: they belong to nobody.

    Examples
    --------
    >>> survey = Questionnaire.from_dict(
    ...     {"questions": {"smokes": {"categories": ["no", "yes"], "epsilon": 1.0}}})
    >>> answers(survey, n=3, given={"smokes": {"no": 1, "yes": 0}}, by={}, seed=1)
    {'smokes': ['no', 'no', 'no']}
    """
    for name, part in (("rounds", survey.rounds), ("phases", survey.phases)):
        if part is not None:
            raise InvalidInput("a survey that asks once, for an example", f"[{name}]")
    n = _checks.integer(1, MOST, n=n)
    draw = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {}
    for column, shares in by.items():
        drawn = draw.choice(len(shares), n, p=np.asarray(shares))
        columns[column] = [f"{column} {each + 1}" for each in drawn.tolist()]
    for name, guess in guesses(survey, given).items():
        axis = survey.questions[name].axis
        drawn_values: list[Any]
        if guess.population is None:
            assert isinstance(axis, Categories)
            drawn_values = draw.choice(np.array(axis.labels), n, p=guess.shares).tolist()
        else:
            known = guess.population
            drawn_values = draw.choice(known.points, n, p=known.weights).tolist()
        silent = draw.random(n) < guess.declined
        columns[name] = [
            None if none else value for none, value in zip(silent, drawn_values, strict=True)
        ]
    return columns
