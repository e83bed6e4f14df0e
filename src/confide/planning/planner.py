"""Plans: the expected errors of a survey before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card, table
from confide._figures import number, percent
from confide.accounting.spend import Spend, checked_epsilon, told_cost
from confide.curves.forms import frame
from confide.displays import ESTIMATE, NAIVE, TRUTH, Display, commas, new_axes
from confide.errors import BadSetting, InvalidInput, Unsupported
from confide.lattice import Lattice
from confide.mechanisms import numeric
from confide.planning.answers import Answer, Answers, unreachable
from confide.planning.metrics import DENSITY, MSE, QUANTILES, Truth, metrics
from confide.planning.populations import Population, guess
from confide.planning.scenario import (
    LEAST_N,
    MOST_EPSILON,
    MOST_N,
    ROUGH,
    BoundsRow,
    ErrorCurve,
    Row,
    Scenario,
    Unreachable,
    bounds_table,
    candidates,
    checked_n,
    crossing,
    smallest,
)
from confide.planning.simulation import ResponseCurve, score_deviation

COLORS = {"square-wave": ESTIMATE, "laplace": NAIVE, "two-sided-gamma": "#7a5195"}
LINES = dict(zip(COLORS, ("-", "--", ":"), strict=True))
"""Lines of the mechanisms where they have one color."""
TARGET = "#d55e00"
LABELS = {"n": "respondents", "epsilon": "epsilon"}


@dataclass(repr=False)
class PlanDisplay(Display):
    """Expected errors against n and against epsilon.

    Parameters
    ----------
    curves
        One for each mechanism and direction.
    planned
        The plan's own n and epsilon, which a vertical line marks.
    target
        An error wanted, which a horizontal line marks; None for no line.
    """

    curves: tuple[ErrorCurve, ...]
    planned: tuple[int, float]
    target: float | None = None
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Sequence[Any] | None = None, *, label: str = "", color: str | None = None
    ) -> PlanDisplay:
        """Draw into two axes, or new ones.

        Parameters
        ----------
        ax
            Two axes of matplotlib.
        label
            Put before the names of the mechanisms in the legend, to tell plans apart.
        color
            Of all curves; by default each mechanism has its own.
        """
        from matplotlib.ticker import LogLocator

        if ax is None:
            first = new_axes(9.0, 3.8)
            figure = first.figure
            first.remove()
            ax = figure.subplots(1, 2, sharey=True)
        self.ax_ = ax[0]
        for one, along, here in zip(ax, LABELS, self.planned, strict=True):
            for curve in self.curves:
                if curve.along == along:
                    self._draw(one, curve, label, color)
            one.axvline(here, color=TRUTH, lw=0.8, ls=":")
            if self.target is not None:
                words = f"target {number(self.target)}"
                one.axhline(self.target, color=TARGET, lw=1.2, ls="--", label=words)
            one.set_xscale("log")
            one.set_yscale("log")
            one.set_xlabel(LABELS[along])
            one.set_xticks(next(curve.x for curve in self.curves if curve.along == along))
            one.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            for axis in (one.xaxis, one.yaxis):
                commas(axis)
                axis.set_minor_formatter("")
        ax[0].set_ylabel(f"expected error ({self.curves[0].metric})")
        ax[0].legend(frameon=False)
        return self

    def _draw(self, ax: Any, curve: ErrorCurve, label: str, color: str | None) -> None:
        line = "-" if color is None else LINES.get(curve.mechanism, "-.")
        color = COLORS.get(curve.mechanism, TRUTH) if color is None else color
        x = np.geomspace(curve.x[0], curve.x[-1], 101)
        name = f"{label}: {curve.mechanism}" if label else curve.mechanism
        ax.plot(x, curve.at(x), color=color, lw=1.6, ls=line, label=name)
        ax.errorbar(
            curve.x, curve.error, 2 * curve.standard_error, fmt="o", ms=4, color=color, capsize=2
        )

    def __repr__(self) -> str:
        return f"<PlanDisplay of {len(self.curves)} curves>"


ALONG = ("n", "epsilon")


@dataclass(frozen=True)
class Price:
    """The price of privacy for a mean, here and at best, as standard errors.

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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Plan:
    """Expected errors of a survey before it runs, made by `plan`.

    Attributes
    ----------
    n, epsilon
        Respondents, and the privacy loss of each report.
    lattice
        Where values are collected.
    name
        What the guess that the errors are for is called.
    outside
        Share of that population beyond the bounds.
    level
        Confidence level of half-widths.
    rows
        Each mechanism with its best estimator, by metric.
    price
        What privacy costs a mean.
    answer
        What the target took, where n or epsilon was found from it.
    simulated
        What further errors are simulated with; None in a plan that was read from JSON.

    Examples
    --------
    >>> pay = plan(n=500, epsilon=1.0, low=0, high=9, surveys=2, size=16)
    >>> isinstance(pay, Plan), pay.best("mean").error > 0
    (True, True)
    """

    n: int
    epsilon: float
    lattice: Lattice
    name: str
    outside: float
    level: float
    rows: tuple[Row, ...]
    price: Price
    answer: Answer | None = None
    simulated: Scenario | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario that further errors are simulated with."""
        if self.simulated is None:
            raise Unsupported(
                "A plan that was read from JSON holds the errors that were simulated then: call "
                "plan() again for others."
            )
        return self.simulated

    @property
    def population(self) -> Population:
        """The guess that the errors are for."""
        return self.scenario.truth.population

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics of the plan."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    def best(self, metric: str = "w1") -> Row:
        """The mechanism with the least error by a metric, epsilon being equal."""
        metric = _checks.one_of(self.metrics, metric=metric)
        return min((row for row in self.rows if row.metric == metric), key=lambda row: row.error)

    def row(self, mechanism: str, metric: str = "w1") -> Row:
        """The row of a mechanism and a metric."""
        metric = _checks.one_of(self.metrics, metric=metric)
        rows = {row.mechanism: row for row in self.rows if row.metric == metric}
        return rows[_checks.one_of(tuple(rows), mechanism=mechanism)]

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
        row = self._row(metric, mechanism)
        return _n_for(self.scenario, row, target, self.epsilon, self.n)

    def epsilon_for(
        self, target: float, *, metric: str = "w1", mechanism: str | None = None
    ) -> Answer:
        """The smallest epsilon at which the plan's n reach a target; see `n_for`."""
        row = self._row(metric, mechanism)
        return _epsilon_for(self.scenario, row, target, self.n, self.epsilon)

    def reach(self, target: float, *, metric: str = "w1") -> Answers:
        """Both ways to a target error; refused where neither leads there.

        Parameters
        ----------
        target
            The error wanted, in the units of the metric.
        metric
            Which error.
        """
        faults: list[InvalidInput] = []

        def found(ask: Callable[..., Answer]) -> Answer | None:
            try:
                return ask(target, metric=metric)
            except InvalidInput as error:
                faults.append(error)
                return None

        by_n, by_epsilon = found(self.n_for), found(self.epsilon_for)
        if by_n is None and by_epsilon is None:
            raise faults[0]
        return Answers(by_n, by_epsilon, tuple(fault.advice for fault in faults))

    def words(self, metric: str = "w1") -> list[str]:
        """Sentences on the metrics, the least error by one of them, and the price of privacy.

        Parameters
        ----------
        metric
            The metric of the least error.
        """
        best, price = self.best(metric), self.price
        known = metrics() if self.simulated is None else self.simulated.metrics
        legend = {name: known[name].meaning for name in self.metrics if name in known}
        lines = [
            f"{', '.join(name for name in legend if legend[name] == meaning)}: {meaning}."
            for meaning in dict.fromkeys(legend.values())
        ]
        lines += [
            "Known to: the standard error of this simulation. The mean's error needs none, as "
            "reports have scores whose mean is that of the values.",
            f"Least {metric}: {number(best.error)}, by {best.mechanism} with {best.estimator}.",
            f"The price of privacy: the mean of {self.n:,} values in the open has a standard error "
            f"of {number(price.sampling)}, that of their reports {number(price.reports)}; a "
            f"curator who held the values would add about {number(price.privacy)} (range / (n "
            "epsilon)), and no private method can add less, up to a constant (Barber and Duchi "
            "2014).",
        ]
        if self.outside:
            lines.append(
                f"{percent(self.outside)} of this population lies beyond the bounds; what clipping "
                "costs is part of the errors of w1 and the mean."
            )
        return lines

    def _row(self, metric: str, mechanism: str | None) -> Row:
        return self.best(metric) if mechanism is None else self.row(mechanism, metric)

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
        _checks.one_of(ALONG, along=along)
        row = self._row(metric, mechanism)
        x = self._anchors(along, row.mechanism) if at is None else np.unique(_checks.vector(at=at))
        rows = []
        for done, place in enumerate(x.tolist(), start=1):
            n = checked_n(round(place)) if along == "n" else self.n
            epsilon = self.epsilon if along == "n" else checked_epsilon(place)
            rows.append(self.scenario.best(row.mechanism, metric, n, epsilon, look=ROUGH))
            told(done / x.size)
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
        """Compare other bounds for the same population.

        Parameters
        ----------
        ranges
            Pairs of bounds; by default the plan's own, narrower and wider ones.
        metric
            Which error; see `told_apart` for those that this can be asked about.
        mechanism
            By default the best one at the plan's own n and epsilon.
        """
        row = self._row(metric, mechanism)
        if ranges is None:
            lattice = self.scenario.truth.lattice
            ranges = candidates(self.population, low=lattice.low, high=lattice.high)
        return bounds_table(
            self.scenario, ranges, self.n, self.epsilon, metric=metric, mechanism=row.mechanism
        )

    def plot(
        self,
        ax: Sequence[Any] | None = None,
        *,
        metric: str = "w1",
        target: float | None = None,
        label: str = "",
        color: str | None = None,
        told: Callable[[float], None] = lambda share: None,
    ) -> PlanDisplay:
        """Draw the error of every mechanism against n and against epsilon.

        Parameters
        ----------
        ax
            Two axes of matplotlib, which may hold another plan already; by default new ones.
        metric
            Which error.
        target
            An error to mark.
        label
            Put before the names of the mechanisms in the legend, to tell plans apart.
        color
            Of all curves; by default each mechanism has its own.
        told
            Called with the share of the work that is done.
        """
        names = self.scenario.names(_checks.one_of(self.metrics, metric=metric))
        jobs = [(along, name) for along in ALONG for name in names]
        curves = []
        for done, (along, name) in enumerate(jobs, start=1):
            curves.append(self.curve(along, metric=metric, mechanism=name))
            told(done / len(jobs))
        display = PlanDisplay(tuple(curves), (self.n, self.epsilon), target)
        return display.plot(ax, label=label, color=color)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the errors that were simulated, not the population."""
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            **self.lattice.to_dict(),
            "population": self.name,
            "level": self.level,
            "outside": self.outside,
            "rows": [vars(row).copy() for row in self.rows],
            "price": vars(self.price).copy(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`. Metrics that were not simulated need a new `plan`."""
        try:
            rows = tuple(Row(**row) for row in fields["rows"])
            price, name = Price(**fields["price"]), fields["population"]
            lattice = Lattice(**{key: fields[key] for key in ("low", "high", "size", "scale")})
            numbers = [float(row.error) + float(row.standard_error) for row in rows]
            numbers += map(float, vars(price).values())
            outside = _checks.within(0, 1, outside=fields["outside"])
            n, epsilon, level = fields["n"], fields["epsilon"], fields["level"]
        except (TypeError, KeyError, ValueError):
            raise InvalidInput("a plan that to_dict wrote", "another document") from None
        if not isinstance(name, str) or not rows or not np.isfinite(numbers).all():
            raise InvalidInput("a plan that to_dict wrote", "another document")
        return cls(
            n=checked_n(n),
            epsilon=checked_epsilon(epsilon),
            lattice=lattice,
            name=name,
            outside=outside,
            level=_checks.level(level),
            rows=rows,
            price=price,
        )

    def __repr__(self) -> str:
        row = self.best()
        return (
            f"<Plan n={self.n:,}, epsilon={self.epsilon:g}, {self.name}: "
            f"w1 {row.error:.3g} by {row.mechanism}>"
        )

    def _repr_html_(self) -> str:
        """The errors of the mechanisms as bars and numbers, for notebooks."""
        shown = [row for row in self.rows if row.metric == "w1"]
        names = tuple(dict.fromkeys(row.mechanism for row in self.rows))
        picture = bars([row.error for row in shown], [row.mechanism for row in shown], told="w1")
        errors = {(row.mechanism, row.metric): number(row.error) for row in self.rows}
        rows = [
            (metric, *(errors.get((name, metric), "–") for name in names))
            for metric in self.metrics
        ]
        title = f"Plan for {self.n:,} people: expected errors"
        cost, facts = told_cost(Spend(self.epsilon)), f"Population: {self.name}."
        return card(title, picture, table(("", *names), rows), cost=cost, facts=facts)

    def to_frame(self) -> Any:
        """All rows as a table of pandas."""
        return frame([vars(row).copy() for row in self.rows])


def _reachable(scenario: Scenario, metric: str, target: float) -> float:
    """A target above what clipping alone makes of the error."""
    target, truth = _checks.positive(target=target), scenario.truth
    least = scenario.metrics[metric].floor
    floor = 0.0 if least is None else least(truth)
    if target <= floor:
        where = f"With values clipped to {truth.lattice.low:g} .. {truth.lattice.high:g}"
        raise unreachable(metric, target, where, floor)
    return target


def _n_for(scenario: Scenario, row: Row, target: float, epsilon: float, start: int) -> Answer:
    """Respondents that bring the error of a row's mechanism and metric down to a target."""
    metric, target = row.metric, _reachable(scenario, row.metric, target)

    def error(x: float, rough: bool) -> float:
        look = ROUGH if rough else metric
        return scenario.best(row.mechanism, metric, round(x), epsilon, look=look).error

    try:
        found = crossing(error, start=start, least=LEAST_N, most=MOST_N, target=target)
    except Unreachable as limit:
        where = f"At epsilon={epsilon:g}, even with {MOST_N:,} respondents"
        raise unreachable(metric, target, where, limit.least) from None
    n = math.ceil(found - 1e-6)
    return Answer(metric, target, row.mechanism, row.estimator, n, epsilon)


def _epsilon_for(scenario: Scenario, row: Row, target: float, n: int, start: float) -> Answer:
    """The smallest epsilon at which n respondents reach a target."""
    metric, target = row.metric, _reachable(scenario, row.metric, target)

    def error(x: float, rough: bool = False) -> float:
        look = ROUGH if rough else metric
        return scenario.best(row.mechanism, metric, n, x, look=look).error

    least, most = scenario.least_epsilon(row.mechanism), MOST_EPSILON
    start = min(max(start, least), most)
    search = smallest if scenario.metrics[metric].source == "mean" else crossing
    try:
        epsilon = search(error, start=start, least=least, most=most, target=target)
    except Unreachable as limit:
        where = f"With {n:,} respondents, even at epsilon={MOST_EPSILON:g}"
        raise unreachable(metric, target, where, limit.least) from None
    return Answer(metric, target, row.mechanism, row.estimator, n, epsilon)


def _found(
    scenario: Scenario, metric: str, target: float | None, n: int | None, epsilon: float | None
) -> Answer:
    """The n, or the epsilon, that a target takes where only the other one is given."""
    given = {"n": n, "epsilon": epsilon, "target": target}
    known = [name for name, value in given.items() if value is not None]
    if target is None or len(known) < 2:
        what = f"{{{known[0]}}} alone" if known else "none of them"
        raise BadSetting("two of {n}, {epsilon} and {target}", what)
    start = (START_N if n is None else n, START_EPSILON if epsilon is None else epsilon)
    rows = [scenario.best(name, metric, *start, look=ROUGH) for name in scenario.names(metric)]
    row = min(rows, key=lambda each: each.error)
    if n is None:
        return _n_for(scenario, row, target, start[1], start[0])
    return _epsilon_for(scenario, row, target, *start)


START_N, START_EPSILON = 5_000, 1.0
"""Where the search for a number of respondents, or an epsilon, begins."""
MOST_CELLS = 4096
SHAPE = 0.9
"""Shape of two-sided gamma noise, if none is given."""


def plan(
    *,
    n: int | None = None,
    epsilon: float | None = None,
    target: float | None = None,
    low: float,
    high: float,
    population: Any = "lognormal",
    size: int = 1024,
    scale: str = "linear",
    mechanisms: str | Sequence[str] = ("square-wave", "laplace"),
    shape: float | None = None,
    response: Any = None,
    deviation: float | None = None,
    quantiles: Sequence[float] = QUANTILES,
    level: float = 0.95,
    intervals: bool = False,
    metric: str | None = None,
    reach: tuple[float, float] | None = None,
    surveys: int = 140,
    precision: float = 0.05,
    told: Callable[[float], None] = lambda share: None,
) -> Plan:
    """Expected errors of a survey before it runs.

    Every number that a plan needs is public. A pilot that is raw private data leaks through what
    is chosen with it: take public values, or an estimate from private reports.

    Parameters
    ----------
    n, epsilon
        Respondents, and the privacy loss of each report.
    target
        The error that you want, by ``metric``. Give it with n or with epsilon: the plan then finds
        the other one. If you give n and epsilon, `Plan.reach` says what a target needs.
    low, high, size, scale
        Of the `Lattice`.
    population
        A name (see `Population.named`), pilot values, a density, or a distribution of scipy.stats.
    mechanisms
        Names of mechanisms for numbers: ``"square-wave"``, ``"laplace"``, ``"two-sided-gamma"``
        (with the least noise whose loss on this lattice is epsilon), or one that was added to
        `confide.mechanisms.KINDS`.
    shape
        Of two-sided gamma noise; 0.9 if it is not given.
    response
        For a regression on the values: ``"line"``, ``"hump"``, ``"wave"`` or ``"step"`` from 0 to
        1, or a function; its noise is even, of standard deviation ``deviation`` (default 0.25).
        The table also has the error of the partition, which keeps the response private too.
    quantiles, level
        Which quantiles; half-widths (of quantiles and the mean) are of ranges around the truth
        that hold this share of estimates.
    intervals
        Whether to plan the intervals of quantiles that an estimate prints, too. They assume
        nothing of the population, and are wider: up to three times.
    metric
        A metric that the plan must have: where it is of printed intervals, these are planned.
    reach
        Where a density given as a function is looked at; by default within the bounds.
    surveys, precision
        Surveys to simulate, at most; they stop when every error is known to this relative
        standard error.
    told
        Called with the share of the work that is done.

    Notes
    -----
    Metrics: ``w1``, the expected Wasserstein distance of the density (how far mass lies from where
    it should); ``ks``, the largest error of the distribution function at an edge of a cell;
    ``q10``, ``median``, ``q90`` and ``mean``, half-widths; ``q10-interval`` and so on, half-widths
    of printed intervals; ``mse``, the mean squared error of the regression curve. The mean's is
    exact, all others are simulated. Clipping is part of each but the intervals.

    Examples
    --------
    >>> pay = plan(n=5000, epsilon=1.0, low=0, high=300_000, surveys=8)
    >>> pay.best().mechanism
    'square-wave'
    >>> pay.n_for(2000, metric="mean").n > 5000
    True
    >>> plan(epsilon=1.0, low=0, high=300_000, target=2000, metric="mean", surveys=8).n > 5000
    True
    """
    n = None if n is None else checked_n(n)
    epsilon = None if epsilon is None else checked_epsilon(epsilon)
    _checks.integer(2, MOST_CELLS, size=size)
    lattice = Lattice(low=low, high=high, size=size, scale=scale)
    chosen = guess(population, low=lattice.low, high=lattice.high, reach=reach)
    several = (mechanisms,) if isinstance(mechanisms, str) else mechanisms
    names = tuple(dict.fromkeys(_checks.one_of(tuple(numeric()), mechanism=m) for m in several))
    if not names:
        raise InvalidInput("at least one mechanism", "none")
    shaped = [name for name, kind in numeric().items() if "shape" in kind.extra]
    if shape is not None and not set(shaped) & set(names):
        raise BadSetting(f"{{mechanisms {' or '.join(shaped)}}} to go with {{shape}}", "none")
    shares = tuple(_inside(q) for q in quantiles)
    if metric is not None:
        known = metrics(quantiles=shares)
        _checks.one_of(tuple(known), metric=metric)
        if metric == MSE.name and response is None:
            raise BadSetting("{response} to go with the metric mse", "none")
        intervals = intervals or known[metric].source == "interval"
    curve = None
    if response is not None:
        curve = ResponseCurve.of(response, low=lattice.low, high=lattice.high, deviation=deviation)
    elif deviation is not None:
        raise InvalidInput("a response to go with deviation", "none")
    scenario = Scenario(
        Truth(chosen, lattice, shares),
        names,
        _checks.within(0.01, 100, shape=SHAPE if shape is None else shape),
        curve,
        bool(intervals),
        _checks.integer(2, surveys=surveys),
        _checks.positive(precision=precision),
        _checks.level(level),
    )
    answer = None
    if n is None or epsilon is None:
        answer = _found(scenario, metric or DENSITY[0].name, target, n, epsilon)
        n, epsilon = answer.n, answer.epsilon
    elif target is not None:
        raise BadSetting(
            "{n} or {epsilon} to be left for {target} to find",
            "all three",
            "Plan.reach has both ways.",
        )
    jobs = [(what, name) for what in scenario.metrics for name in scenario.names(what)]
    # One simulation serves all metrics of its source; the mean needs none.
    first: dict[str, str] = {}
    for name, each in scenario.metrics.items():
        first.setdefault(each.source, name)
    costly = [job for job in jobs if job[0] in first.values() and job[0] != first["mean"]]
    for done, (what, name) in enumerate(costly):

        def tell(share: float, done: int = done) -> None:
            told((done + share) / len(costly))

        scenario.best(name, what, n, epsilon, told=tell)
    rows = tuple(scenario.best(name, what, n, epsilon) for what, name in jobs)
    return Plan(
        n=n,
        epsilon=epsilon,
        lattice=lattice,
        name=chosen.name,
        outside=chosen.outside(low=lattice.low, high=lattice.high),
        level=scenario.level,
        rows=rows,
        price=_price(scenario, n, epsilon),
        answer=answer,
        simulated=scenario,
    )


def _price(scenario: Scenario, n: int, epsilon: float) -> Price:
    truth = scenario.truth
    width = truth.lattice.high - truth.lattice.low
    reports = min(
        score_deviation(truth, scenario.mechanism(name, epsilon)) for name in scenario.mechanisms
    )
    return Price(
        width / math.sqrt(n),
        width / (n * epsilon),
        truth.population.deviation / math.sqrt(n),
        reports / math.sqrt(n),
    )


def _inside(q: float) -> float:
    result = _checks.within(0, 1, quantile=q)
    if result in (0, 1):
        raise InvalidInput("0 < quantile < 1", f"quantile={result:g}")
    return result
