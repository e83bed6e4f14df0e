"""Guesses of the answers to each question of a survey, for planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide import _checks
from confide._figures import number, percent
from confide._types import Floats
from confide.errors import InvalidInput
from confide.lattice import INTEGER, POINTS, Categories, Lattice
from confide.planning.populations import Population, guess
from confide.questions import Question, Questionnaire

DECLINED = 0.05
"""Share of people who prefer not to say, unless another is given."""
LISTED = 6
"""Categories whose guessed shares are told one by one, at most."""


@dataclass(frozen=True, eq=False)
class Guess:
    """A guess of the answers to one question.

    Attributes
    ----------
    name
        The guess in words.
    population
        The values of those who answer, for a number; None for categories.
    shares
        The share of each category among those who answer; None for a number.
    declined
        Share of people who prefer not to say; 0 where the question does not offer it.
    """

    name: str
    population: Population | None
    shares: Floats | None
    declined: float

    @property
    def words(self) -> str:
        """The whole guess in words."""
        if not self.declined:
            return self.name
        return f"{self.name}, {percent(self.declined)} prefer not to say"


def guesses(survey: Questionnaire, given: Mapping[str, Any]) -> dict[str, Guess]:
    """A guess for every question of a survey.

    Parameters
    ----------
    survey
        The survey.
    given
        By the name of a question: for a number whatever `confide.planning.plan` takes as a
        population, or a shape with ends of its own, ``"lognormal:0..200000"``; for categories
        their shares, by name or in their order. By ``NAME.declined``: the share of people who
        prefer not to say. All others get a default: a lognormal population where values begin at
        0, else a normal one, both stretched over the bounds; equal shares; 5 % who prefer not to
        say.

    Examples
    --------
    >>> survey = Questionnaire.from_dict({"questions": {
    ...     "age": {"low": 18, "high": 68, "epsilon": 1.0},
    ...     "smokes": {"categories": ["no", "yes"], "epsilon": 1.0}}})
    >>> found = guesses(survey, {"smokes": {"no": 0.7, "yes": 0.3}})
    >>> found["age"].words, found["smokes"].words
    ('normal over 18 to 68', 'no 70 %, yes 30 %')
    """
    if not isinstance(given, Mapping):
        raise InvalidInput("guesses by the name of a question", _checks.shown(given))
    declined = {f"{name}.declined": name for name in survey.questions}
    known = (*survey.questions, *declined)
    for key in given:
        if key not in known:
            advice = _checks.nearest(key, known, rest=_listed(survey))
            raise InvalidInput("guesses for questions of the survey", _checks.shown(key), advice)
    found = {}
    for name, question in survey.questions.items():
        share = _declined(name, question, given.get(f"{name}.declined"))
        try:
            found[name] = _guess(question, given.get(name), share)
        except InvalidInput as error:
            raise InvalidInput(
                f"{error.expected} in the guess for {name!r}", error.got, error.advice
            ) from None
    return found


def _listed(survey: Questionnaire) -> str:
    return f"Questions: {', '.join(map(repr, survey.questions))}."


def _declined(name: str, question: Question, share: Any) -> float:
    if not question.mechanism.prefer_not_to_say:
        if share is not None:
            raise InvalidInput(
                f"prefer_not_to_say = true in question {name!r} to go with {name}.declined", "none"
            )
        return 0.0
    if share is None:
        return DECLINED
    result = _checks.within(0, 1, declined=share)
    if result == 1:
        raise InvalidInput("a share of people who answer, declined < 1", f"declined={result:g}")
    return result


def _guess(question: Question, what: Any, declined: float) -> Guess:
    axis = question.axis
    if isinstance(axis, Categories):
        return _of_categories(axis, what, declined)
    if what is None:
        what = "lognormal" if axis.low == 0 else "normal"
    population = _of_number(axis, what)
    if axis.kind == INTEGER:
        rounded = np.rint(population.points)
        population = Population(f"{population.name}, whole numbers", rounded, population.weights)
    elif axis.kind == POINTS:
        rounded = axis.position(np.rint((population.points - axis.low) / axis.step))
        population = Population(f"{population.name}, points", rounded, population.weights)
    return Guess(population.name, population, None, declined)


def _of_number(lattice: Lattice, what: Any) -> Population:
    if not isinstance(what, str):
        return guess(what, low=lattice.low, high=lattice.high)
    name, mark, ends = what.partition(":")
    low, high = _ends(ends) if mark else (lattice.low, lattice.high)
    over = f"over {number(low)} to {number(high)}"
    if lattice.scale == "linear" or mark:
        shape = Population.named(name, low=low, high=high)
        return Population(f"{name} {over}", shape.points, shape.weights)
    # On a log scale a shape is one of the logarithms: otherwise nearly all would be near the top.
    shape = Population.named(name, low=0, high=1)
    points = lattice.low * (lattice.high / lattice.low) ** shape.points
    return Population(f"{name} logarithms {over}", points, shape.weights)


def _ends(text: str) -> tuple[float, float]:
    low, _, high = text.partition("..")
    try:
        ends = float(low), float(high)
    except ValueError:
        raise InvalidInput("a shape with its ends as NAME:LOW..HIGH", repr(text)) from None
    if not ends[0] < ends[1]:
        raise InvalidInput("LOW < HIGH in NAME:LOW..HIGH", repr(text))
    return ends


def _of_categories(axis: Categories, what: Any, declined: float) -> Guess:
    if what is None:
        what = [1.0] * axis.size
        words = f"equal shares of {axis.size} categories"
    else:
        what = shares_of(what, axis.labels)
        words = ""
    shares = np.asarray(what, dtype=np.float64)
    shares = shares / shares.sum()
    if not words:
        pairs = zip(axis.labels, shares.tolist(), strict=True)
        told = [f"{label} {percent(round(share, 4))}" for label, share in pairs]
        words = ", ".join(told[:LISTED]) + (", ..." if told[LISTED:] else "")
    return Guess(words, None, shares, declined)


def shares_of(what: Any, labels: Sequence[str]) -> list[float]:
    """Shares by name, or in the order of some labels, or as text such as ``"no:0.7,yes:0.3"``.

    They are scaled to one later on, so that numbers of people will do.
    """
    if isinstance(what, str):
        what = named_shares(what)
    if isinstance(what, Mapping):
        for label in what:
            if label not in labels:
                advice = _checks.nearest(label, labels)
                raise InvalidInput("shares of known categories", _checks.shown(label), advice)
        what = [what.get(label, 0.0) for label in labels]
    numbers = _checks.vector(shares=what)
    if numbers.size != len(labels):
        raise InvalidInput(f"{len(labels)} shares, one a category", str(numbers.size))
    if not (numbers.min() >= 0 and numbers.sum() > 0):
        raise InvalidInput(
            "shares of at least 0 that are not all 0", "a negative one, or zeros only"
        )
    return [float(one) for one in numbers]


def named_shares(text: str) -> dict[str, float] | list[float]:
    """Text such as ``"0.7,0.3"`` or ``"no:0.7,yes:0.3"`` as shares."""
    parts = text.split(",")
    pairs = [part.rpartition(":") for part in parts]
    try:
        numbers = [float(value) for _, _, value in pairs]
    except ValueError:
        raise InvalidInput("shares as 0.7,0.3 or no:0.7,yes:0.3", repr(text)) from None
    if all(mark for _, mark, _ in pairs):
        return {name.strip(): value for (name, _, _), value in zip(pairs, numbers, strict=True)}
    if any(mark for _, mark, _ in pairs):
        raise InvalidInput("a name for each share, or for none", repr(text))
    return numbers
