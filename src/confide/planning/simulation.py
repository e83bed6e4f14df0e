"""Simulated surveys, and the errors of their estimates.

Values and reports are independent draws, so the counts of the reports of n respondents are one
multinomial draw from the law applied to the population's cells: exact, and as fast for ten million
respondents as for ten.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from confide import _checks
from confide._types import Floats
from confide.errors import ConfideError, ConfideWarning, InvalidInput, Unsupported
from confide.estimators import (
    AdaptiveRegression,
    KernelRegression,
    LinearRegression,
    PartitionRegression,
    suggest_cells,
)
from confide.estimators.em import LIMIT
from confide.estimators.register import DEFAULT, DENSITIES
from confide.mechanisms import Numeric, Partition
from confide.planning.metrics import Metric, Truth, printed
from confide.summaries import CellSums, Counts
from confide.summaries.counts import Response

Errors = dict[tuple[str, str], float]
"""Errors of one survey, by estimator and metric."""
Draw = Callable[[np.random.Generator], Errors]
Draws = Callable[[Sequence[np.random.Generator]], list[Errors]]
"""Several surveys at a time, a generator each."""

SEED = 20_261_115
BLOCK = 10
"""Surveys that are simulated at a time."""
LEAST = 8
"""Surveys before a standard error is believed."""


@dataclass(frozen=True)
class Risk:
    """An expected error and the standard error of its simulation (0 where it is exact)."""

    error: float
    standard_error: float


def exact_mean(truth: Truth, mechanism: Numeric, n: int, level: float) -> Risk:
    """Half-width of the mean's interval from unbiased scores, and the shift by clipping; exact."""
    half = reach(level) * score_deviation(truth, mechanism) / math.sqrt(n)
    return Risk(half + truth.clipped[0], 0.0)


def score_deviation(truth: Truth, mechanism: Numeric) -> float:
    """Standard deviation of one respondent's unbiased score."""
    scores, shares = mechanism.unbiased(1), truth.reports(mechanism)
    return math.sqrt(float(shares @ (scores - shares @ scores) ** 2))


def reach(level: float) -> float:
    """Standard deviations on either side that hold a share of a normal law."""
    return float(special.ndtri((1 + level) / 2))


def density_draws(truth: Truth, mechanism: Numeric, n: int, asked: Sequence[Metric]) -> Draws:
    """Surveys of n respondents: errors by estimator and metric, of the metrics of densities."""
    shares = truth.reports(mechanism)

    def draws(generators: Sequence[np.random.Generator]) -> list[Errors]:
        several = [
            Counts(mechanism, generator.multinomial(n, shares), simulated=True)
            for generator in generators
        ]
        found: list[Errors] = [{} for _ in several]
        for name, densities in _densities(several):
            for errors, density in zip(found, densities, strict=True):
                for metric in asked:
                    if metric.error is not None:
                        errors[name, metric.name] = metric.error(truth, density)
        return found

    return draws


def fitted(estimator: Any, several: Sequence[Counts]) -> list[Any]:
    """The curves of several summaries, together where the estimator can."""
    together = getattr(estimator, "fit_several", None)
    return [estimator.fit(one) for one in several] if together is None else together(several)


def each(draw: Draw) -> Draws:
    """Surveys one after the other."""
    return lambda generators: [draw(generator) for generator in generators]


def interval_draw(truth: Truth, mechanism: Numeric, n: int, level: float) -> Draw:
    """One survey: half-widths of the intervals of quantiles that the estimate will print."""
    shares = truth.reports(mechanism)

    def draw(generator: np.random.Generator) -> Errors:
        counts = Counts(mechanism, generator.multinomial(n, shares), simulated=True)
        curve = DENSITIES[DEFAULT].make().fit(counts)
        low, high = curve.interval("quantile", truth.quantiles, level=level)
        names = (printed(q).name for q in truth.quantiles)
        halves = ((high - low) / 2).tolist()
        return {(DEFAULT, name): half for name, half in zip(names, halves, strict=True)}

    return draw


def _densities(several: Sequence[Counts]) -> Iterator[tuple[str, list[Any]]]:
    for name, method in DENSITIES.items():
        if method.planned and several[0].n >= method.least:
            # Some mechanisms can be undone by some methods only.
            with contextlib.suppress(Unsupported):
                yield name, fitted(method.make(), several)


def risks(
    draws: Draws,
    *,
    metrics: Mapping[str, Metric],
    surveys: int,
    precision: float,
    level: float,
    only: str | None = None,
    told: Callable[[float], None] = lambda share: None,
) -> dict[tuple[str, str], Risk]:
    """Expected errors over simulated surveys, by estimator and metric.

    Parameters
    ----------
    draws
        Several surveys.
    metrics
        What its errors are, by name.
    surveys
        How many, at most.
    precision
        Enough is when the least error by every metric is known to this relative standard error.
    level
        Of the ranges around the truth that half-widths belong to.
    only
        The metric to be precise about, if not all.
    told
        Called with the share of the work that is done.
    """
    drawn: list[Errors] = []
    with LIMIT, warnings.catch_warnings():
        # Warnings about simulated surveys do not matter.
        warnings.simplefilter("ignore", ConfideWarning)
        for start in range(0, surveys, BLOCK):
            # Use the same streams at every n and epsilon, so that errors differ by these alone.
            block = range(start, min(start + BLOCK, surveys))
            drawn += draws([np.random.default_rng([SEED, number]) for number in block])
            told(len(drawn) / surveys)
            if len(drawn) >= LEAST and _settled(_summary(drawn, metrics, level), precision, only):
                break
    told(1.0)
    return _summary(drawn, metrics, level)


def best(found: Mapping[tuple[str, str], Risk], metric: str) -> str | None:
    """The estimator with the least error, or none if there is none for this metric.

    An error that is hardly known may be small by chance, so doubt counts against it.
    """
    own = {estimator: risk for (estimator, of), risk in found.items() if of == metric}
    return min(own, key=lambda each: own[each].error + own[each].standard_error, default=None)


def _settled(found: Mapping[tuple[str, str], Risk], precision: float, only: str | None) -> bool:
    for metric in {metric for _, metric in found if only in (None, metric)}:
        risk = found[str(best(found, metric)), metric]
        if risk.standard_error > precision * risk.error:
            return False
    return True


def _summary(
    drawn: Sequence[Errors], metrics: Mapping[str, Metric], level: float
) -> dict[tuple[str, str], Risk]:
    # Leave out an estimator that failed on any simulated survey.
    always = [key for key in drawn[0] if all(key in one for one in drawn)]
    return {
        key: _risk(metrics[key[1]], np.array([one[key] for one in drawn]), level) for key in always
    }


def _risk(metric: Metric, values: Floats, level: float) -> Risk:
    if metric.distance:
        spread = values.std(ddof=1) if values.size > 1 else 0.0
        return Risk(float(values.mean()), float(spread / np.sqrt(values.size)))
    # The root of the mean square includes both bias and variation.
    squares = values**2
    size = float(np.sqrt(squares.mean()))
    spread = squares.std(ddof=1) if values.size > 1 else 0.0
    error = spread / np.sqrt(values.size) / (2 * size) if size else 0.0
    return Risk(reach(level) * size, float(reach(level) * error))


_SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "line": lambda u: u,
    "hump": lambda u: 4 * u * (1 - u),
    "wave": lambda u: (1 + np.sin(2 * np.pi * u)) / 2,
    "step": lambda u: (u > 0.5).astype(np.float64),
}
NAMES = tuple(_SHAPES)


@dataclass(frozen=True, eq=False)
class ResponseCurve:
    """A response y = mean(x) + noise that is spread evenly.

    Parameters
    ----------
    name
        What to call it.
    mean
        The mean response at an array of values.
    deviation
        Standard deviation of the noise, in the units of the response.
    """

    name: str
    mean: Callable[[Floats], npt.ArrayLike]
    deviation: float

    @classmethod
    def of(
        cls, what: Any, *, low: float, high: float, deviation: float | None = None
    ) -> ResponseCurve:
        """A curve from a name among `NAMES`, which runs from 0 to 1, or from a function."""
        if isinstance(what, ResponseCurve):
            return what
        noise = 0.25 if deviation is None else _checks.positive(deviation=deviation)
        if callable(what):
            return cls("function", what, noise)
        shape = _SHAPES[_checks.one_of(NAMES, response=what)]
        return cls(what, lambda x: shape((x - low) / (high - low)), noise)

    def at(self, x: Floats) -> Floats:
        """The mean response, checked."""
        means = np.asarray(self.mean(x), dtype=np.float64)
        if means.shape != x.shape or not np.isfinite(means).all():
            raise InvalidInput(
                "a finite mean response for each value", "one that is infinite or missing"
            )
        return means


def regression_draw(truth: Truth, mechanism: Numeric, n: int, curve: ResponseCurve) -> Draw:
    """One survey with a public response: mean squared error by estimator.

    Given how many sent a report, the sum of their responses has the exact mean and variance.
    """
    x, masses = truth.lattice.centers, truth.masses
    mean = curve.at(x)
    low, high = _bounds(curve, mean)
    first, second = mechanism.law.forward(
        np.stack([masses * mean, masses * (mean**2 + curve.deviation**2)])
    )
    shares = truth.reports(mechanism)
    least = np.finfo(np.float64).tiny
    at = first / np.maximum(shares, least)
    spread = np.sqrt(np.maximum(second / np.maximum(shares, least) - at**2, 0))

    def draw(generator: np.random.Generator) -> Errors:
        count = generator.multinomial(n, shares)
        sums = count * at + np.sqrt(count) * spread * generator.standard_normal(count.size)
        sums = np.clip(sums, count * low, count * high)
        squares = np.maximum(count * (at**2 + spread**2), sums**2 / np.maximum(count, 1))
        response = Response(sums, squares, low=low, high=high)
        counts = Counts(mechanism, count, simulated=True, response=response)
        found = {}
        for name, estimator in ESTIMATORS.items():
            try:
                fitted = estimator.fit(counts)
            except ConfideError:  # this mechanism, or so few respondents, are not for it
                continue
            found[name, "mse"] = float(masses @ (fitted.predict(x) - mean) ** 2)
        return found

    return draw


ESTIMATORS: dict[str, Any] = {
    "adaptive": AdaptiveRegression(),
    "linear": LinearRegression(),
    "kernel": KernelRegression(),
}


def partition_draw(truth: Truth, epsilon: float, n: int, curve: ResponseCurve) -> Draw:
    """One survey in which the response is private too: cells with noise, for epsilon in all."""
    lattice = truth.lattice
    x, masses = lattice.centers, truth.masses
    mean = curve.at(x)
    low, high = _bounds(curve, mean)
    middle, bound = (low + high) / 2, (high - low) / 2
    cells = suggest_cells(n, epsilon=epsilon, low=[lattice.low], high=[lattice.high])
    partition = Partition(cells, bound=bound, epsilon=epsilon)
    # E max(y, 0) of a response spread evenly over mean +- half (a response is rounded at random).
    half, centered = math.sqrt(3) * curve.deviation, mean - middle
    above = np.where(
        np.abs(centered) >= half, np.maximum(centered, 0), (centered + half) ** 2 / (4 * half)
    )
    place = cells.index(x)
    rows = [
        np.bincount(place, masses * part, minlength=cells.size)
        for part in ((above - centered) / bound, 1 - (2 * above - centered) / bound, above / bound)
    ]
    table = np.maximum(np.stack(rows), 0)
    table /= table.sum()

    def draw(generator: np.random.Generator) -> Errors:
        kinds = generator.multinomial(n, table.ravel()).reshape(table.shape)
        seed = int(generator.integers(2**62))
        sums = CellSums.simulate_tallies(partition, n, kinds, seed=seed)
        fitted = PartitionRegression().fit(sums)
        error = float(masses @ (fitted.predict(x) + middle - mean) ** 2)
        return {("partition, response private", "mse"): error}

    return draw


def _bounds(curve: ResponseCurve, mean: Floats) -> tuple[float, float]:
    half = math.sqrt(3) * curve.deviation
    return float(mean.min()) - half, float(mean.max()) + half
