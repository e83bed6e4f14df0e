"""Scenarios of a plan: errors by n and epsilon, and the cost of wider bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Unsupported
from confide.lattice import Lattice
from confide.mechanisms import Numeric, Partition, numeric
from confide.planning.metrics import Metric, Truth, metrics
from confide.planning.populations import Population
from confide.planning.simulation import (
    Draws,
    ResponseCurve,
    Risk,
    best,
    density_draws,
    each,
    exact_mean,
    interval_draw,
    partition_draw,
    regression_draw,
    risks,
)

CLOSE = 0.02
"""Relative difference of an error from its target that is good enough."""
STEPS = 24
LEAST = 1e-300
"""Below this an error is none, and has no logarithm."""


class Unreachable(Exception):
    """Even the most that may be asked for does not bring the error down to the target."""

    def __init__(self, least: float) -> None:
        self.least = least
        super().__init__(f"{least:g}")


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Expected errors along n or epsilon, at a few points.

    Attributes
    ----------
    mechanism, metric, along
        Of what, and along what: ``"n"`` or ``"epsilon"``.
    x, error, standard_error
        The points, ascending.
    """

    mechanism: str
    metric: str
    along: str
    x: Floats
    error: Floats
    standard_error: Floats

    def at(self, x: npt.ArrayLike) -> Floats:
        """Error anywhere: log-log interpolation, beyond the ends the slope of the end stretch.

        Chance may make one point worse than the one before; the curve does not rise.
        """
        places, errors = np.log(self.x), np.log(np.minimum.accumulate(self.error))
        wanted = np.log(np.asarray(x, dtype=np.float64))
        if places.size == 1:
            return np.full(wanted.shape, self.error[0])
        first = np.clip(np.searchsorted(places, wanted) - 1, 0, places.size - 2)
        slope = np.diff(errors)[first] / np.diff(places)[first]
        return np.asarray(np.exp(errors[first] + slope * (wanted - places[first])))


def crossing(
    error: Callable[[float, bool], float], *, start: float, least: float, most: float, target: float
) -> float:
    """The x at which a falling error meets the target, by interpolation of logarithms.

    Parameters
    ----------
    error
        Of x, and whether a rough figure will do; each call may cost a simulation.
    start
        Where to look first.
    least, most
        Where to stay.
    target
        The error wanted.

    Raises
    ------
    Unreachable
        If the error is above the target at the most.
    """
    found: dict[float, float] = {}
    x = start
    for _ in range(STEPS):
        found[x] = max(error(x, True), LEAST)
        if abs(math.log(found[x] / target)) < CLOSE:
            break
        too_few = max((at for at in found if found[at] > target), default=0.0)
        enough = min((at for at in found if found[at] <= target and at > too_few), default=0.0)
        if not too_few:
            if enough <= least:
                return least
            x = max(least, enough * min(max(found[enough] / target, 0.03) ** 2, 0.3))
        elif not enough:
            if too_few >= most:
                raise Unreachable(found[too_few])
            x = min(most, too_few * max(min(1.1 * found[too_few] / target, 30.0) ** 2, 3.0))
        elif enough / too_few < 1 + CLOSE:
            break
        else:
            share = math.log(found[too_few] / target) / math.log(found[too_few] / found[enough])
            x = too_few * (enough / too_few) ** share
    # What little is left, and what the rough figure was off by, follows the square root.
    return min(max(x * (error(x, False) / target) ** 2, least), most)


def smallest(
    error: Callable[[float], float], *, start: float, least: float, most: float, target: float
) -> float:
    """The smallest epsilon whose error is at a target, for errors that need no simulation.

    The plateau of a square wave is a whole number of cells. Where it loses one, a larger epsilon
    can have a larger error, so the range is searched from below, not halved.

    Parameters
    ----------
    error
        The error at an epsilon.
    start
        An epsilon of the plan, which is looked at as well: if it will do, no larger one is found.
    least, most
        Ends of the search.
    target
        The error wanted.

    Raises
    ------
    Unreachable
        If the error is above the target everywhere.
    """
    tried: list[float] = sorted(
        {*np.geomspace(least, most, LOOKS).tolist(), min(max(start, least), most)}
    )
    errors = [error(each) for each in tried]
    if min(errors) > target:
        raise Unreachable(min(errors))
    place = next(place for place, each in enumerate(errors) if each <= target)
    high = tried[place]
    low = tried[max(place - 1, 0)]
    while high / low > 1 + NARROW:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if error(middle) <= target else (middle, high)
    return high


PARTITION = Partition.name
"""For a regression only: there the response is private too."""
ALL, ROUGH = "all", "rough"
FEW = 20
"""Surveys, at most, for a rough look on the way to a target."""
SLOW = 16
"""Surveys, at most, for the intervals that an estimate prints."""
LOOKS = 400
"""How many epsilons are looked at to find the smallest one that will do; each is a bit above the
one before."""
NARROW = 1e-4
"""Relative precision of that epsilon."""
LEAST_EPSILON, MOST_EPSILON = 0.05, 16.0
"""Ends of the search for an epsilon."""
LEAST_N, MOST_N = 10, 10**9
"""Ends of the search for a number of respondents."""


def checked_n(n: int) -> int:
    """A number of respondents that can be simulated."""
    return _checks.integer(1, MOST_N, n=n)


@dataclass(frozen=True)
class Row:
    """The expected error of a mechanism with its best estimator, by one metric.

    Attributes
    ----------
    mechanism, estimator, metric
        Of what.
    error
        Expected error, clipping included, in the units of the values (``ks`` is a share, ``mse``
        in squared units of the response).
    standard_error
        Of the simulation that it comes from; 0 where the error is exact.
    """

    mechanism: str
    estimator: str
    metric: str
    error: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Scenario:
    """A population, a lattice and what is asked about them; it keeps what it has simulated."""

    truth: Truth
    mechanisms: tuple[str, ...]
    shape: float
    response: ResponseCurve | None
    intervals: bool
    surveys: int
    precision: float
    level: float
    _kept: dict[tuple[str, str, int, float, str], dict[tuple[str, str], Risk]] = field(
        init=False, repr=False, default_factory=dict
    )

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """All that can be asked for, by name."""
        return metrics(
            quantiles=self.truth.quantiles,
            intervals=self.intervals,
            response=self.response is not None,
        )

    def names(self, metric: str) -> tuple[str, ...]:
        """Mechanisms that the metric is asked of."""
        private = self.metrics[metric].source == "mse"
        return (*self.mechanisms, PARTITION) if private else self.mechanisms

    def best(
        self,
        name: str,
        metric: str,
        n: int,
        epsilon: float,
        *,
        look: str = ALL,
        told: Callable[[float], None] = lambda share: None,
    ) -> Row:
        """The estimator with the least error.

        A look is at `ALL` metrics of one simulation, at this ``metric`` alone, which may take
        fewer surveys, or `ROUGH`.
        """
        group = self.metrics[metric].source
        # What is known to more surveys than are wanted will do.
        looks = (ALL, metric, ROUGH)
        for done in looks[: looks.index(look) + 1]:
            if (name, group, n, epsilon, done) in self._kept:
                found = self._kept[name, group, n, epsilon, done]
                break
        else:
            found = self._risks(name, group, n, epsilon, look=look, told=told)
            self._kept[name, group, n, epsilon, look] = found
        estimator = best(found, metric)
        if estimator is None:
            raise InvalidInput(f"more respondents for {metric}", f"n={n}")
        risk = found[estimator, metric]
        return Row(name, estimator, metric, risk.error, risk.standard_error)

    def _risks(
        self,
        name: str,
        group: str,
        n: int,
        epsilon: float,
        *,
        look: str,
        told: Callable[[float], None],
    ) -> dict[tuple[str, str], Risk]:
        if group == "mean":
            exact = exact_mean(self.truth, self.mechanism(name, epsilon), n, self.level)
            return {("unbiased scores", "mean"): exact}
        surveys = self.surveys
        if group == "interval":  # about a second each
            surveys = min(surveys, SLOW)
        elif look == ROUGH:
            surveys = max(min(surveys // 3, FEW), 2)
        return risks(
            self._draws(name, group, n, epsilon),
            metrics=self.metrics,
            surveys=surveys,
            precision=2 * self.precision if look == ROUGH else self.precision,
            level=self.level,
            only=look if look in self.metrics else None,
            told=told,
        )

    def _draws(self, name: str, group: str, n: int, epsilon: float) -> Draws:
        if group == "density":
            asked = tuple(self.metrics.values())
            return density_draws(self.truth, self.mechanism(name, epsilon), n, asked)
        if group == "interval":
            return each(interval_draw(self.truth, self.mechanism(name, epsilon), n, self.level))
        assert self.response is not None
        if name == PARTITION:
            return each(partition_draw(self.truth, epsilon, n, self.response))
        return each(regression_draw(self.truth, self.mechanism(name, epsilon), n, self.response))

    def least_epsilon(self, name: str) -> float:
        """The smallest epsilon that a mechanism is looked at with."""
        kind, extra = self._kind(name)
        return max(LEAST_EPSILON, kind.least_epsilon(self.truth.lattice, **extra) * (1 + 1e-3))

    def mechanism(self, name: str, epsilon: float) -> Numeric:
        """A mechanism of this name whose loss is epsilon."""
        kind, extra = self._kind(name)
        return kind.costing(self.truth.lattice, epsilon=epsilon, **extra)

    def _kind(self, name: str) -> tuple[type[Numeric], dict[str, float]]:
        """The kind of this name, and what it must know besides an epsilon."""
        kind = numeric()[name]
        given = {"shape": self.shape}
        if unknown := [key for key in kind.extra if key not in given]:
            raise Unsupported(f"A plan knows no {unknown[0]}, which {name} noise needs.")
        return kind, {key: given[key] for key in kind.extra}


SHARES = (0.9, 0.95, 0.98, 0.99, 0.999)
"""Shares of the population within candidate bounds."""


@dataclass(frozen=True)
class BoundsRow:
    """The cost of one pair of bounds, in the units of the values.

    Attributes
    ----------
    low, high
        The bounds.
    outside
        Share of the population beyond them.
    clip
        Error from clipping alone, however many respondents: the distance that clipped values
        move on average (``w1``), or the shift of the mean.
    noise
        Expected error from noise and sampling; it grows with the range.
    total
        Their sum.
    """

    low: float
    high: float
    outside: float
    clip: float
    noise: float

    @property
    def total(self) -> float:
        """Clipping and noise together."""
        return self.clip + self.noise

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {**vars(self), "total": self.total}


def candidates(
    population: Population, *, low: float, high: float
) -> tuple[tuple[float, float], ...]:
    """Bounds to compare: the given ones, one and a half and two times as wide, and narrower ones.

    Where the population begins next to the lower bound, as next to a natural end such as 0, only
    the upper one moves.
    """
    width = high - low
    found = {(low, high)}
    step = width / 1000
    natural = low <= population.quantile(0.001) and population.quantile(0.01) < low + 0.1 * width
    for share in SHARES:
        above = population.quantile(1 - (1 - share) / (1 if natural else 2))
        below = low if natural else population.quantile((1 - share) / 2)
        ends = (step * np.floor(below / step), step * np.ceil(above / step))
        if ends[0] < ends[1]:
            found.add((float(ends[0]), float(ends[1])))
    for factor in (0.5, 1.0):
        extra = factor * width
        found.add((low, high + extra) if natural else (low - extra / 2, high + extra / 2))
    return tuple(sorted(found, key=lambda ends: ends[1] - ends[0]))


def bounds_table(
    scenario: Scenario,
    ranges: Sequence[tuple[float, float]],
    n: int,
    epsilon: float,
    *,
    metric: str,
    mechanism: str,
) -> tuple[BoundsRow, ...]:
    """Costs of each of some bounds for a scenario's population."""
    known = {name: each.floor for name, each in scenario.metrics.items() if each.floor}
    floor = known[_checks.one_of(tuple(known), metric=metric)]
    if not len(ranges):
        raise InvalidInput("at least one pair of bounds", "none")
    truth, rows = scenario.truth, []
    for ends in ranges:
        low, high = ends
        lattice = Lattice(low=low, high=high, size=truth.lattice.size, scale=truth.lattice.scale)
        own = replace(scenario, truth=replace(truth, lattice=lattice))
        clip = floor(own.truth)
        total = own.best(mechanism, metric, n, epsilon, look=ROUGH).error
        outside = truth.population.outside(low=lattice.low, high=lattice.high)
        rows.append(BoundsRow(lattice.low, lattice.high, outside, clip, total - clip))
    return tuple(rows)


def best_bounds(rows: Sequence[BoundsRow]) -> BoundsRow:
    """The bounds of the least total cost."""
    return min(rows, key=lambda row: row.total)
