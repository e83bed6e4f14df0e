"""Expected errors of each quantity of one question, at any n and epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from confide._types import Floats
from confide.estimators.declining import Answerers
from confide.estimators.register import DEFAULT, DENSITIES
from confide.estimators.shares import scores_of
from confide.lattice import Categories
from confide.mechanisms import Mechanism, Numeric, SquareWave
from confide.mechanisms.square_wave import mean_reach, wave_reach
from confide.planning.guesses import Guess
from confide.planning.metrics import quantile
from confide.planning.simulation import Errors, Risk, fitted, reach, risks
from confide.questions import Question
from confide.summaries import Counts

MEAN, MEDIAN, DECLINED = "mean", "median", "declined"
CATEGORIES = "categories"
FEW = 16
"""Surveys for a rough look at a median."""
PAYS = 0.9
"""Error of a mean with a wider reach, of one without, from which on it is worth a word."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """One question, a guess of its answers, and the errors to expect of its estimates.

    Parameters
    ----------
    name
        Of the question.
    question
        How its answers are protected.
    guess
        What they may look like.
    level
        Share of surveys whose estimates stay within an error.
    surveys, precision
        Surveys to simulate for a median, at most, and the relative standard error at which fewer
        are enough.
    """

    name: str
    question: Question
    guess: Guess
    level: float
    surveys: int
    precision: float
    _kept: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)

    @cached_property
    def kind(self) -> str:
        """``"number"``, ``"points"``, ``"integer"`` or ``"categories"``."""
        axis = self.question.axis
        if isinstance(axis, Categories):
            return CATEGORIES
        return axis.kind

    @cached_property
    def quantities(self) -> tuple[str, ...]:
        """The estimated quantities: mean and median, or category shares; and the declined share."""
        axis = self.question.axis
        found = axis.labels if isinstance(axis, Categories) else (MEAN, MEDIAN)
        more = (
            (DECLINED,)
            if self.question.mechanism.prefer_not_to_say and DECLINED not in found
            else ()
        )
        return (*found, *more)

    @property
    def exact(self) -> tuple[str, ...]:
        """Quantities whose errors need no simulation."""
        return tuple(one for one in self.quantities if one != MEDIAN or self.kind == CATEGORIES)

    @property
    def main(self) -> tuple[str, ...]:
        """The quantities that designs are compared by."""
        axis = self.question.axis
        return axis.labels if isinstance(axis, Categories) else (MEAN,)

    @property
    def spent(self) -> float:
        """The epsilon that the survey gives to this question."""
        return self.question.mechanism.spend.epsilon

    @property
    def span(self) -> float:
        """The range of the answers; 1 for shares."""
        axis = self.question.axis
        return 1.0 if isinstance(axis, Categories) else axis.high - axis.low

    @cached_property
    def masses(self) -> Floats:
        """Share of people with each index; the last index is declining."""
        axis = self.question.axis
        if isinstance(axis, Categories):
            assert self.guess.shares is not None
            answered = self.guess.shares
        else:
            assert self.guess.population is not None
            answered = self.guess.population.masses(axis)
        if not self.question.mechanism.prefer_not_to_say:
            return answered
        return np.append((1 - self.guess.declined) * answered, self.guess.declined)

    def mechanism(self, epsilon: float) -> Mechanism:
        """The question's mechanism at another epsilon."""
        own = self.question.mechanism
        if math.isclose(epsilon, self.spent, rel_tol=1e-12):
            return own
        if epsilon not in self._kept:
            asking = own.asking()
            if "epsilon" in asking:
                made = type(own).asked(asking | {"epsilon": epsilon})
            else:
                assert isinstance(own, Numeric)
                extra = {key: getattr(own, key) for key in own.extra}
                made = type(own).costing(own.lattice, epsilon=epsilon, **extra)
            self._kept[epsilon] = made
        found: Mechanism = self._kept[epsilon]
        return found

    def wider(self, epsilon: float) -> tuple[int, float] | None:
        """A wider reach that serves the mean alone, and the error it leaves, of one today.

        None where it would gain little, or where the survey gives a reach of its own.
        """
        own = self.mechanism(epsilon)
        if not isinstance(own, SquareWave) or own.reach != wave_reach(epsilon, own.lattice.size):
            return None
        made = replace(own, reach=mean_reach(epsilon, own.lattice.size))
        other = replace(self, question=replace(self.question, mechanism=made))
        ratio = other.deviation(MEAN, epsilon) / self.deviation(MEAN, epsilon)
        return (made.reach, ratio) if ratio < PAYS else None

    def reports(self, epsilon: float) -> Floats:
        """Chance of each report."""
        shares = np.maximum(self.mechanism(epsilon).law.forward(self.masses), 0.0)
        return np.asarray(shares / shares.sum())

    def deviation(self, quantity: str, epsilon: float) -> float:
        """Standard deviation of one report's contribution to a quantity, without simulation.

        Estimates are means of scores of the reports, or quotients of two such means where some
        decline, which have to the first order the deviation of a mean of scores too.
        """
        key = ("deviation", quantity, epsilon)
        if key not in self._kept:
            shares, scores = self.reports(epsilon), self._scores(quantity, epsilon)
            self._kept[key] = math.sqrt(float(shares @ (scores - shares @ scores) ** 2))
        found: float = self._kept[key]
        return found

    def _scores(self, quantity: str, epsilon: float) -> Floats:
        """Scores of the reports whose mean is the quantity, to the first order around the guess."""
        mechanism = self.mechanism(epsilon)
        if self.kind == CATEGORIES:
            own, others = scores_of(mechanism.law)
            scores = others[:, None] + np.diag(own - others)
            every = dict(zip(self.main, scores, strict=False))
        else:
            every = {MEAN: mechanism.unbiased(1)}
        if not mechanism.prefer_not_to_say:
            return np.asarray(every[quantity])
        # A score of having answered; those of the other quantities expect 0 of who declined.
        nobody = np.zeros(mechanism.law.outputs, dtype=np.int64)
        answered = Answerers(Counts(mechanism, nobody, simulated=True)).answered
        if quantity not in every:
            return 1 - answered
        share = 1 - self.guess.declined
        value = float(self.reports(epsilon) @ every[quantity]) / share
        return np.asarray((every[quantity] - value * answered) / share)

    def floor(self, quantity: str) -> float:
        """The error that clipping makes, however many answer."""
        return self._clipped if quantity == MEAN else 0.0

    @cached_property
    def _clipped(self) -> float:
        axis, population = self.question.axis, self.guess.population
        if population is None or isinstance(axis, Categories):
            return 0.0
        return population.clipped(low=axis.low, high=axis.high)[0]

    def error(self, quantity: str, n: float, epsilon: float, *, rough: bool = False) -> Risk:
        """Half of the range around the truth that holds a share ``level`` of estimates.

        Parameters
        ----------
        quantity
            One of `quantities`.
        n
            How many people are asked.
        epsilon
            Of this question.
        rough
            Whether a few simulated surveys will do, for a median.
        """
        if quantity not in self.exact:
            return self._median(max(round(n), 1), epsilon, rough)
        half = reach(self.level) * self.deviation(quantity, epsilon) / math.sqrt(n)
        return Risk(half + self.floor(quantity), 0.0)

    def _median(self, n: int, epsilon: float, rough: bool) -> Risk:
        for look in (False, True) if rough else (False,):
            if (MEDIAN, n, epsilon, look) in self._kept:
                kept: Risk = self._kept[MEDIAN, n, epsilon, look]
                return kept
        mechanism, shares = self.mechanism(epsilon), self.reports(epsilon)
        assert self.guess.population is not None
        truth = self.guess.population.quantile(0.5)

        def draws(generators: Sequence[np.random.Generator]) -> list[Errors]:
            several = [
                Counts(mechanism, generator.multinomial(n, shares), simulated=True)
                for generator in generators
            ]
            curves = fitted(DENSITIES[DEFAULT].make(), several)
            return [{(DEFAULT, MEDIAN): float(curve.quantile(0.5)) - truth} for curve in curves]

        found = risks(
            draws,
            metrics={MEDIAN: quantile(0.5)},
            surveys=min(self.surveys, FEW) if rough else self.surveys,
            precision=2 * self.precision if rough else self.precision,
            level=self.level,
        )[DEFAULT, MEDIAN]
        self._kept[MEDIAN, n, epsilon, rough] = found
        return found

    def sampling(self, quantity: str, n: int) -> float:
        """The error that would remain without noise, from sampling n people alone."""
        half, population = reach(self.level), self.guess.population
        if quantity == DECLINED and DECLINED not in self.main:
            chance = self.guess.declined
            return half * math.sqrt(chance * (1 - chance) / n)
        answered = n * (1 - self.guess.declined)
        if self.guess.shares is not None:
            share = float(self.guess.shares[self.main.index(quantity)])
            return half * math.sqrt(share * (1 - share) / answered)
        assert population is not None
        if quantity == MEAN:
            return half * population.deviation / math.sqrt(answered)
        away = min(half / 2 / math.sqrt(answered), 0.499)
        return (population.quantile(0.5 + away) - population.quantile(0.5 - away)) / 2
