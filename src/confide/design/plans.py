"""Plans: what a survey that was not held yet may be expected to tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.accounting import checked_epsilon
from confide.design.bounds import BoundsRow, bounds_table, candidates
from confide.design.guesses import Population
from confide.design.plan_display import PlanDisplay
from confide.design.scaling import ErrorCurve, Unreachable, crossing
from confide.design.scenario import ROUGH, Row, Scenario
from confide.errors import InvalidInput

MOST_N, LEAST_N = 10**9, 10
MOST_EPSILON = 16.0
ALONG = ("n", "epsilon")


@dataclass(frozen=True)
class Price:
    """What privacy costs a mean at best, and what it costs here, as standard errors.

    For values in [0, 1] the squared error of any private mean is of order 1/n + 1/(n epsilon)**2
    at worst (Barber and Duchi 2014; d/n + d**3/(n epsilon)**2 for d numbers), 1/n being that
    without privacy and the rest its price. The bound is up to a constant, and for a curator who
    holds the values. Where nobody does, as here, every respondent adds noise, and the price of
    privacy falls like 1/n only.

    Attributes
    ----------
    non_private
        range / sqrt(n): the first term.
    privacy
        range / (n epsilon): what privacy adds for a curator.
    sampling
        Standard error of the population's mean from n values in the open.
    reports
        The same from n reports of the best mechanism, exactly.
    """

    non_private: float
    privacy: float
    sampling: float
    reports: float


@dataclass(frozen=True)
class Answer:
    """How many respondents, or which epsilon, a target error takes.

    Attributes
    ----------
    metric, target
        The error that was asked for.
    mechanism, estimator
        What reaches it.
    n, epsilon
        With so many respondents at this epsilon; one of the two is the answer.
    """

    metric: str
    target: float
    mechanism: str
    estimator: str
    n: int
    epsilon: float


@dataclass(frozen=True, eq=False)
class Plan:
    """Expected errors of a survey before anybody is asked. It comes from `plan`.

    Attributes
    ----------
    n, epsilon
        Respondents, and the privacy loss of each report.
    population
        The guess that the errors are for.
    rows
        Each mechanism with its best estimator, by metric.
    price
        What privacy costs a mean.
    """

    n: int
    epsilon: float
    scenario: Scenario
    rows: tuple[Row, ...]
    price: Price

    @property
    def population(self) -> Population:
        """The guess that the errors are for."""
        return self.scenario.truth.population

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics of the plan."""
        return self.scenario.metrics

    def best(self, metric: str = "w1") -> Row:
        """The mechanism with the least error by a metric, epsilon being equal."""
        metric = _validate.one_of(self.metrics, metric=metric)
        return min((row for row in self.rows if row.metric == metric), key=lambda row: row.error)

    def row(self, mechanism: str, metric: str = "w1") -> Row:
        """The row of a mechanism and a metric."""
        metric = _validate.one_of(self.metrics, metric=metric)
        mechanism = _validate.one_of(self.scenario.names(metric), mechanism=mechanism)
        return next(r for r in self.rows if (r.mechanism, r.metric) == (mechanism, metric))

    def n_for(self, target: float, *, metric: str = "w1", mechanism: str | None = None) -> Answer:
        """Respondents that bring the error down to a target, at the plan's epsilon.

        Parameters
        ----------
        target
            The error wanted, in the units of the metric.
        metric
            Which error.
        mechanism
            By default the best one at the plan's own n.
        """
        row, target = self._asked(target, metric, mechanism)

        def error(x: float, rough: bool) -> float:
            look = ROUGH if rough else metric
            n = round(x)
            return self.scenario.best(row.mechanism, metric, n, self.epsilon, look=look).error

        try:
            found = crossing(error, start=self.n, least=LEAST_N, most=MOST_N, target=target)
        except Unreachable as limit:
            where = f"At epsilon={self.epsilon:g}, even with {MOST_N:,} respondents"
            raise _unreachable(metric, target, where, limit.least) from None
        n = math.ceil(found - 1e-6)
        return Answer(metric, target, row.mechanism, row.estimator, n, self.epsilon)

    def epsilon_for(
        self, target: float, *, metric: str = "w1", mechanism: str | None = None
    ) -> Answer:
        """The smallest epsilon at which the plan's n reach a target; see `n_for`."""
        row, target = self._asked(target, metric, mechanism)

        def error(x: float, rough: bool) -> float:
            look = ROUGH if rough else metric
            return self.scenario.best(row.mechanism, metric, self.n, x, look=look).error

        ends = {"least": self.scenario.least_epsilon(row.mechanism), "most": MOST_EPSILON}
        start = min(max(self.epsilon, ends["least"]), ends["most"])
        try:
            epsilon = crossing(error, start=start, **ends, target=target)
        except Unreachable as limit:
            where = f"With {self.n:,} respondents, even at epsilon={MOST_EPSILON:g}"
            raise _unreachable(metric, target, where, limit.least) from None
        return Answer(metric, target, row.mechanism, row.estimator, self.n, epsilon)

    def _row(self, metric: str, mechanism: str | None) -> Row:
        return self.best(metric) if mechanism is None else self.row(mechanism, metric)

    def _asked(self, target: float, metric: str, mechanism: str | None) -> tuple[Row, float]:
        target = _validate.positive(target=target)
        row = self._row(metric, mechanism)
        truth = self.scenario.truth
        floor = {"mean": truth.clipped[0], "w1": truth.clipped[1]}.get(metric, 0.0)
        if target <= floor:
            where = f"With values clipped to {truth.lattice.low:g} .. {truth.lattice.high:g}"
            raise _unreachable(metric, target, where, floor)
        return row, target

    def curve(
        self,
        along: str = "n",
        *,
        metric: str = "w1",
        mechanism: str | None = None,
        at: Sequence[float] | None = None,
        told: Callable[[float], None] = lambda share: None,
    ) -> ErrorCurve:
        """Expected error against n or against epsilon.

        Parameters
        ----------
        along
            ``"n"`` or ``"epsilon"``; the other stays as planned.
        metric
            Which error.
        mechanism
            By default the best one at the plan's own n and epsilon.
        at
            Where to simulate; by default a hundredth to a hundred times n, or a quarter to four
            times epsilon. The curve interpolates between.
        told
            Called with the share of the work that is done.
        """
        _validate.one_of(ALONG, along=along)
        row = self._row(metric, mechanism)
        x = (
            self._anchors(along, row.mechanism)
            if at is None
            else np.unique(_validate.vector(at=at))
        )
        rows = []
        for number, place in enumerate(x.tolist()):
            n = checked_n(round(place)) if along == "n" else self.n
            epsilon = self.epsilon if along == "n" else checked_epsilon(place)
            rows.append(self.scenario.best(row.mechanism, metric, n, epsilon, look=ROUGH))
            told((number + 1) / x.size)
        errors = np.array([[each.error, each.standard_error] for each in rows]).T
        return ErrorCurve(row.mechanism, metric, along, x, *errors)

    def _anchors(self, along: str, mechanism: str) -> npt.NDArray[np.float64]:
        if along == "n":
            places = self.n * 10.0 ** np.arange(-2, 3)
            return np.unique(np.clip(places.round(), LEAST_N, max(10**8, self.n)))
        places = self.epsilon * 2.0 ** np.arange(-2, 3)
        least = min(self.scenario.least_epsilon(mechanism), self.epsilon)
        return np.unique(np.clip(places, least, max(MOST_EPSILON, self.epsilon)))

    def bounds(
        self,
        ranges: Sequence[tuple[float, float]] | None = None,
        *,
        metric: str = "w1",
        mechanism: str | None = None,
    ) -> tuple[BoundsRow, ...]:
        """What other bounds would cost the same population; see `confide.design.bounds`."""
        row = self._row(metric, mechanism)
        if ranges is None:
            lattice = self.scenario.truth.lattice
            ranges = candidates(self.population, low=lattice.low, high=lattice.high)
        return bounds_table(
            self.scenario, ranges, self.n, self.epsilon, metric=metric, mechanism=row.mechanism
        )

    def plot(
        self,
        axes: Sequence[Any] | None = None,
        *,
        metric: str = "w1",
        told: Callable[[float], None] = lambda share: None,
    ) -> PlanDisplay:
        """Draw the error of every mechanism against n and against epsilon."""
        names = self.scenario.names(_validate.one_of(self.metrics, metric=metric))
        jobs = [(along, name) for along in ALONG for name in names]
        curves = []
        for number, (along, name) in enumerate(jobs):
            curves.append(self.curve(along, metric=metric, mechanism=name))
            told((number + 1) / len(jobs))
        return PlanDisplay(tuple(curves), (self.n, self.epsilon)).plot(axes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        lattice = self.scenario.truth.lattice
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            **lattice.to_dict(),
            "population": self.population.name,
            "level": self.scenario.level,
            "outside": self.population.outside(lattice.low, lattice.high),
            "rows": [vars(row).copy() for row in self.rows],
            "price": vars(self.price).copy(),
        }

    def __repr__(self) -> str:
        row = self.best()
        return (
            f"<Plan n={self.n:,}, epsilon={self.epsilon:g}, {self.population.name}: "
            f"w1 {row.error:.3g} by {row.mechanism}>"
        )


def checked_n(n: int) -> int:
    """A number of respondents that can be simulated."""
    return _validate.integer(1, MOST_N, n=n)


def _unreachable(metric: str, target: float, where: str, least: float) -> InvalidInput:
    return InvalidInput(
        "a target that can be reached",
        f"{metric}={target:g}",
        f"{where}, the least error is {least:.3g}.",
    )
