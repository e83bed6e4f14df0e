"""Responses to plan a regression for, and the errors of its estimate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.design.simulation import Draw, Truth
from confide.errors import ConfideError, InvalidInput
from confide.estimators import (
    KernelRegression,
    LinearRegression,
    PartitionRegression,
    RatioRegression,
    suggest_cells,
)
from confide.mechanisms import Numeric, Partition
from confide.summaries import CellSums, Counts
from confide.summaries.tallies import Response

Floats = npt.NDArray[np.float64]

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
        noise = 0.25 if deviation is None else _validate.positive(deviation=deviation)
        if callable(what):
            return cls("function", what, noise)
        shape = _SHAPES[_validate.one_of(NAMES, response=what)]
        return cls(what, lambda x: shape((x - low) / (high - low)), noise)

    def at(self, x: Floats) -> Floats:
        """The mean response, checked."""
        means = np.asarray(self.mean(x), dtype=np.float64)
        if means.shape != x.shape or not np.isfinite(means).all():
            raise InvalidInput("a finite mean response for each value", "another")
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

    def draw(generator: np.random.Generator) -> dict[tuple[str, str], float]:
        count = generator.multinomial(n, shares)
        sums = count * at + np.sqrt(count) * spread * generator.standard_normal(count.size)
        sums = np.clip(sums, count * low, count * high)
        squares = np.maximum(count * (at**2 + spread**2), sums**2 / np.maximum(count, 1))
        response = Response(sums, squares, low, high)
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
    "ratio": RatioRegression(),
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
    half, centred = math.sqrt(3) * curve.deviation, mean - middle
    above = np.where(
        np.abs(centred) >= half, np.maximum(centred, 0), (centred + half) ** 2 / (4 * half)
    )
    place = cells.index(x)
    rows = [
        np.bincount(place, masses * part, minlength=cells.size)
        for part in ((above - centred) / bound, 1 - (2 * above - centred) / bound, above / bound)
    ]
    table = np.maximum(np.stack(rows), 0)
    table /= table.sum()

    def draw(generator: np.random.Generator) -> dict[tuple[str, str], float]:
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
