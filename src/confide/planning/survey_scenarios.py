"""A whole survey at any n, epsilon and number of questions that each person is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from confide import _checks
from confide._figures import number
from confide._types import Floats
from confide.errors import InvalidInput
from confide.planning.answers import unreachable
from confide.planning.outlooks import CATEGORIES, MEAN, MEDIAN, Outlook
from confide.planning.scenario import (
    LEAST_EPSILON,
    MOST_EPSILON,
    MOST_N,
    Unreachable,
    crossing,
    smallest,
)
from confide.planning.simulation import Risk, reach

POWER = 0.8
"""Chance that a difference which is called detectable shows in a survey."""
ALIKE = 0.03
"""Designs whose errors differ by less, relatively, count as equally good."""


@dataclass(frozen=True)
class Design:
    """The effect of asking each person another number of questions at the same total epsilon.

    Attributes
    ----------
    ask
        How many questions each person is asked.
    n
        How many people are asked each question.
    epsilon
        What the answer to a question costs, at most.
    errors
        For each question the error of the mean, or the largest error of a share.
    relative
        Errors without what clipping shifts, compared with those of asking every question: the
        geometric mean over the questions.
    """

    ask: int
    n: int
    epsilon: float
    errors: Mapping[str, float]
    relative: float


@dataclass(frozen=True)
class Wanted:
    """A target: which error of a survey is to be how small."""

    question: str
    quantity: str
    by: str
    target: float

    @property
    def name(self) -> str:
        """As it is written: QUESTION.QUANTITY, or QUESTION.QUANTITY.COLUMN for a difference."""
        return ".".join(filter(None, (self.question, self.quantity, self.by)))


@dataclass(frozen=True, eq=False)
class SurveyScenario:
    """A survey with a guess for each question; errors at any n, epsilon and number of questions."""

    outlooks: Mapping[str, Outlook]
    by: Mapping[str, tuple[float, ...]]
    level: float
    single: float = 1.0
    """Share of the people who answer single questions; the others are asked about a pair."""

    def epsilons(self, epsilon: float, ask: int) -> dict[str, float]:
        """The epsilon of each question if a person spends epsilon on ``ask`` questions.

        Questions keep the proportions that the survey gives them.
        """
        own = {name: one.spent for name, one in self.outlooks.items()}
        most = math.fsum(sorted(own.values(), reverse=True)[:ask])
        return {name: spent / most * epsilon for name, spent in own.items()}

    def asked(self, n: float, ask: int) -> float:
        """Number of people among n who are asked a question."""
        return n * self.single * ask / len(self.outlooks)

    def error(
        self, what: Wanted, n: float, epsilon: float, ask: int, *, rough: bool = False
    ) -> Risk:
        """The expected error of a quantity, or the smallest detectable difference of it."""
        outlook = self.outlooks[what.question]
        asked, own = self.asked(n, ask), self.epsilons(epsilon, ask)[what.question]
        if not what.by:
            return outlook.error(what.quantity, asked, own, rough=rough)
        spread = outlook.deviation(what.quantity, own) / math.sqrt(asked)
        return Risk(self.visible(what.by) * spread, 0.0)

    def along(self, what: Wanted, n: Floats, epsilon: float, ask: int) -> Floats:
        """The expected errors at several n; simulated ones are rough."""
        if not self.exact(what):
            risks = [self.error(what, each, epsilon, ask, rough=True) for each in n.tolist()]
            return np.array([risk.error for risk in risks])
        floor = self.floor(what)
        return np.asarray(floor + (self.error(what, 1, epsilon, ask).error - floor) / np.sqrt(n))

    def visible(self, by: str) -> float:
        """Standard errors of an estimate from all respondents that a visible difference has.

        It is one between the two smallest groups, and the only one that is looked at.
        """
        first, second = sorted(self.by[by])[:2]
        return self._shown(first, second, 1)

    def marked(self, by: str) -> float:
        """Standard errors that a visible difference of the smallest group from everybody else has.

        The results of a survey compare every group with everybody else, the mean of a number or
        the share of each category; of two categories the second says it all.
        """
        each = [len(one.main) if len(one.main) != 2 else 1 for one in self.outlooks.values()]
        many = sum(each) * sum(map(len, self.by.values()))
        smallest = min(self.by[by])
        return self._shown(smallest, 1 - smallest, many)

    def _shown(self, first: float, second: float, comparisons: int) -> float:
        tail = (1 - self.level) / comparisons / 2
        return float(ndtri(1 - tail) + ndtri(POWER)) * math.sqrt(1 / first + 1 / second)

    def floor(self, what: Wanted) -> float:
        """The part of an error that no number of people makes smaller."""
        return 0.0 if what.by else self.outlooks[what.question].floor(what.quantity)

    def exact(self, what: Wanted) -> bool:
        """Whether the error needs no simulation."""
        return what.quantity in self.outlooks[what.question].exact

    def n_for(self, what: Wanted, epsilon: float, ask: int, start: int) -> int:
        """Number of respondents that an error at the target needs."""
        floor = self.floor(what)
        where = f"At epsilon={epsilon:g}, even with {MOST_N:,} respondents"
        if what.target <= floor:
            raise unreachable(what.name, what.target, "With values clipped to the bounds", floor)
        if self.exact(what):
            one = self.error(what, 1, epsilon, ask).error - floor
            n = math.ceil((one / (what.target - floor)) ** 2 * (1 - 1e-12))
            if n > MOST_N:
                least = self.error(what, MOST_N, epsilon, ask).error
                raise unreachable(what.name, what.target, where, least)
            return max(n, 1)
        try:
            found = crossing(
                lambda n, rough: self.error(what, round(n), epsilon, ask, rough=rough).error,
                start=start,
                least=len(self.outlooks),
                most=MOST_N,
                target=what.target,
            )
        except Unreachable as limit:
            raise unreachable(what.name, what.target, where, limit.least) from None
        return math.ceil(found)

    def epsilon_for(self, what: Wanted, n: int, ask: int, start: float) -> float:
        """The smallest total epsilon at which n respondents reach the target."""
        share = self.epsilons(1.0, ask)[what.question]
        least, most = LEAST_EPSILON / share, MOST_EPSILON / share
        floor = self.floor(what)
        if what.target <= floor:
            raise unreachable(what.name, what.target, "With values clipped to the bounds", floor)
        where = f"With {n:,} respondents, even at epsilon={number(most)}"

        def error(epsilon: float, rough: bool = False) -> float:
            return self.error(what, n, epsilon, ask, rough=rough).error

        start = min(max(start, least), most)
        search = smallest if self.exact(what) else crossing
        try:
            return search(error, start=start, least=least, most=most, target=what.target)
        except Unreachable as limit:
            raise unreachable(what.name, what.target, where, limit.least) from None

    def design(self, n: int, epsilon: float, ask: int) -> Design:
        """The expected errors if each person is asked this number of questions."""
        count = len(self.outlooks)
        own = self.epsilons(epsilon, ask)
        errors, logs = {}, []
        for name, one in self.outlooks.items():
            whole = self.epsilons(epsilon, count)[name]
            spread = max(one.deviation(each, own[name]) for each in one.main)
            floor = max(one.floor(each) for each in one.main)
            errors[name] = floor + reach(self.level) * spread / math.sqrt(self.asked(n, ask))
            base = max(one.deviation(each, whole) for each in one.main)
            logs.append(math.log(spread / base * math.sqrt(count / ask)))
        relative = math.exp(math.fsum(logs) / count)
        return Design(ask, round(self.asked(n, ask)), max(own.values()), errors, relative)

    def designs(self, n: int, epsilon: float, ask: int) -> tuple[Design, ...]:
        """Asking all questions, some, or one; the survey's own number is among them."""
        count = len(self.outlooks)
        chosen = sorted({1, min(2, count), -(-count // 2), count, ask}, reverse=True)
        return tuple(self.design(n, epsilon, each) for each in chosen)


def recommended(designs: Sequence[Design]) -> Design:
    """The design of the least errors; of those that are about as good the one that asks most."""
    least = min(design.relative for design in designs)
    good = [design for design in designs if design.relative <= least * (1 + ALIKE)]
    return max(good, key=lambda design: design.ask)


def wanted(scenario: SurveyScenario, name: str, target: float) -> Wanted:
    """A target by its name, such as ``pay.mean`` or ``pay.mean.region``."""
    value = _checks.positive(target=target)
    every = [
        Wanted(question, quantity, by, value)
        for question, outlook in scenario.outlooks.items()
        for quantity in outlook.quantities
        for by in ("", *scenario.by)
        if quantity in outlook.exact or (outlook.surveys and not by)
    ]
    known = {one.name: one for one in every}
    if name not in known:
        raise InvalidInput(
            "a target as QUESTION.QUANTITY, or QUESTION.QUANTITY.COLUMN for a difference",
            repr(name),
            "A difference takes groups: --by COLUMN=GROUPS, in Python by={COLUMN: GROUPS}."
            if not scenario.by and name.rpartition(".")[0] in known
            else _checks.nearest(name, known),
        )
    found = known[name]
    outlook = scenario.outlooks[found.question]
    shared = outlook.kind == CATEGORIES or found.quantity not in (MEAN, MEDIAN)
    if shared and value >= 1:
        raise InvalidInput(
            f"a target below 1 for the share {name}",
            f"{value:g}",
            f"Two points are 0.02: write {value / 100:g} for {value:g} of them.",
        )
    return found
