"""The planner: how much noise, how many people, what error?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from confide import _validate
from confide.accounting import checked_epsilon
from confide.design.guesses import guess
from confide.design.plans import Plan, Price, checked_n
from confide.design.responses import ResponseCurve
from confide.design.scenario import MECHANISMS, Scenario
from confide.design.simulation import INTERVAL, Truth, score_deviation
from confide.errors import InvalidInput
from confide.lattice import Lattice

MOST_CELLS = 4096


def plan(
    *,
    n: int,
    epsilon: float,
    low: float,
    high: float,
    population: Any = "lognormal",
    size: int = 1024,
    scale: str = "linear",
    mechanisms: str | Sequence[str] = ("square-wave", "laplace"),
    shape: float = 0.9,
    response: Any = None,
    deviation: float | None = None,
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
    level: float = 0.95,
    intervals: bool = False,
    reach: tuple[float, float] | None = None,
    surveys: int = 200,
    precision: float = 0.05,
    told: Callable[[float], None] = lambda share: None,
) -> Plan:
    """Expected errors of a survey, before anybody is asked.

    Every number that a plan needs is public. A pilot that is raw private data leaks through what
    is chosen with it: take public values, or an estimate from private reports.

    Parameters
    ----------
    n, epsilon
        Respondents, and the privacy loss of each report.
    low, high, size, scale
        Of the `Lattice`.
    population
        A name (see `Population.named`), pilot values, a density, or a distribution of scipy.stats.
    mechanisms
        Among ``"square-wave"``, ``"laplace"`` and ``"two-sided-gamma"`` (of the given ``shape``,
        with the least noise whose loss on this lattice is epsilon).
    response
        For a regression on the values: ``"line"``, ``"hump"``, ``"wave"`` or ``"step"`` from 0 to
        1, or a function; its noise is even, of standard deviation ``deviation`` (default 0.25).
        The partition, whose error stands beside, keeps the response private too.
    quantiles, level
        Which quantiles; half-widths (of quantiles and the mean) are of ranges around the truth
        that hold this share of estimates.
    intervals
        Whether to plan the intervals of quantiles that an estimate prints, too. They assume
        nothing of the population, and are wider: up to three times.
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
    """
    n, epsilon = checked_n(n), checked_epsilon(epsilon)
    _validate.integer(2, MOST_CELLS, size=size)
    lattice = Lattice(low=low, high=high, size=size, scale=scale)
    chosen = guess(population, low=lattice.low, high=lattice.high, reach=reach)
    several = (mechanisms,) if isinstance(mechanisms, str) else mechanisms
    names = tuple(dict.fromkeys(_validate.one_of(MECHANISMS, mechanism=m) for m in several))
    if not names:
        raise InvalidInput("at least one mechanism", "none")
    shares = tuple(_inside(q) for q in quantiles)
    curve = None
    if response is not None:
        curve = ResponseCurve.of(response, low=lattice.low, high=lattice.high, deviation=deviation)
    elif deviation is not None:
        raise InvalidInput("a response to go with deviation", "none")
    scenario = Scenario(
        Truth(chosen, lattice, shares),
        names,
        _validate.within(0.01, 100, shape=shape),
        curve,
        bool(intervals),
        _validate.integer(2, surveys=surveys),
        _validate.positive(precision=precision),
        _validate.level(level),
    )
    jobs = [(metric, name) for metric in scenario.metrics for name in scenario.names(metric)]
    printed = [metric for metric in scenario.metrics if metric.endswith(INTERVAL)][:1]
    # One simulation serves all distances and quantiles, another all intervals.
    costly = [job for job in jobs if job[0] in ("w1", *printed, "mse")]
    for done, (metric, name) in enumerate(costly):

        def tell(share: float, done: int = done) -> None:
            told((done + share) / len(costly))

        scenario.best(name, metric, n, epsilon, told=tell)
    rows = tuple(scenario.best(name, metric, n, epsilon) for metric, name in jobs)
    return Plan(n, epsilon, scenario, rows, _price(scenario, n, epsilon))


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
    result = _validate.within(0, 1, quantile=q)
    if result in (0, 1):
        raise InvalidInput("0 < quantile < 1", f"quantile={result:g}")
    return result
