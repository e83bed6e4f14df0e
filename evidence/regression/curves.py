"""Populations of a private number with a response, and which may be looked at while tuning.

Seven kinds of curve, in pairs. One of a pair is for tuning and the other for reporting, as a seeded
coin decides: no number of the reported half was seen before the estimator's constants were settled.
The second pairs, with densities of their own, were split in the same way before those constants
were tuned again: "more" is for tuning, "fresh" for reporting. `split.json` records the outcome, and
a test compares it with this file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from confide.summaries import Counts
from confide.summaries.counts import Response

COIN = 20261119
STREAMS = {"tuning": 13, "reporting": 31, "later": 53, "more": 71, "fresh": 97}
SPLIT = Path(__file__).with_name("split.json")
Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """A private number in [0, 1] and its response.

    Parameters
    ----------
    name
        In tables.
    cdf
        Of the number.
    mean
        Mean response.
    deviation
        Standard deviation of the response around its mean; None for a response of 0 and 1.
    """

    name: str
    cdf: Function
    mean: Function
    deviation: float | None

    @property
    def bounds(self) -> tuple[float, float]:
        """Stated bounds of the response: three standard deviations beyond the curve."""
        if self.deviation is None:
            return 0.0, 1.0
        means = self.mean(np.linspace(0, 1, 2001))
        return float(means.min() - 3 * self.deviation), float(means.max() + 3 * self.deviation)

    def surveys(self, mechanism: Any, n: int, seeds: list[int], count: int) -> Iterator[Counts]:
        """Summaries of so many surveys.

        Given how many sent a report, the sum of their responses is drawn with its exact mean and
        variance: binomial for a response of 0 and 1, else normal.
        """
        fine = 16
        edges = np.linspace(0, 1, fine * mechanism.lattice.size + 1)
        masses = np.diff(self.cdf(edges))
        m = self.mean((edges[:-1] + edges[1:]) / 2)
        square = m if self.deviation is None else m**2 + self.deviation**2
        sums = np.stack([masses, masses * m, masses * square])
        sums = sums.reshape(3, -1, fine).sum(axis=-1)
        shares, first, second = mechanism.law.forward(sums)
        shares = np.maximum(shares, 0)
        at = first / np.maximum(shares, 1e-300)
        variance = np.maximum(second / np.maximum(shares, 1e-300) - at**2, 0)
        low, high = self.bounds
        for survey in range(count):
            rng = np.random.default_rng([*seeds, survey])
            number = rng.multinomial(n, shares / shares.sum())
            if self.deviation is None:
                total = rng.binomial(number, np.clip(at, 0, 1)).astype(float)
                squares = total
            else:
                total = number * at + np.sqrt(number * variance) * rng.standard_normal(at.size)
                total = np.clip(total, number * low, number * high)
                spread = variance * rng.chisquare(np.maximum(number - 1, 1))
                squares = total**2 / np.maximum(number, 1) + np.where(number > 1, spread, 0)
            yield Counts(
                mechanism,
                number,
                simulated=True,
                response=Response(total, squares, low=low, high=high),
            )

    def error(self, predict: Function) -> float:
        """Mean squared distance from the true curve, over the population."""
        edges = np.linspace(0, 1, 1025)
        x = (edges[:-1] + edges[1:]) / 2
        return float(np.diff(self.cdf(edges)) @ (predict(x) - self.mean(x)) ** 2)


def between(a: float, b: float, x: np.ndarray) -> np.ndarray:
    return ((x > a) & (x < b)).astype(np.float64)


BETA22, BETA25 = stats.beta(2, 2).cdf, stats.beta(2, 5).cdf


def humps(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * stats.beta(4, 10).cdf(x) + 0.5 * stats.beta(12, 5).cdf(x))


PAIRS: Mapping[str, tuple[Truth, Truth]] = {
    "wave": (
        Truth("sin(2 pi x), Beta(2,2)", BETA22, lambda x: np.sin(2 * np.pi * x), 0.5),
        Truth("cos(3 pi x), two humps", humps, lambda x: np.cos(3 * np.pi * x), 0.5),
    ),
    "bump": (
        Truth(
            "bump at .4, Beta(2,2)", BETA22, lambda x: 2 * np.exp(-(((x - 0.4) / 0.12) ** 2)), 0.5
        ),
        Truth(
            "bump at .3, Beta(2,5)", BETA25, lambda x: 2 * np.exp(-(((x - 0.3) / 0.1) ** 2)), 0.5
        ),
    ),
    "step": (
        Truth("step at .45, Beta(2,2)", BETA22, lambda x: np.where(x < 0.45, 0.0, 2.0), 0.5),
        Truth(
            "steps at .25 and .6, two humps",
            humps,
            lambda x: 2 - 2 * between(0.25, 0.6, x),
            0.5,
        ),
    ),
    "bend": (
        Truth("3 |x - .35|, Beta(2,2)", BETA22, lambda x: 3 * np.abs(x - 0.35), 0.5),
        Truth("2 sqrt(x), Beta(2,5)", BETA25, lambda x: 2 * np.sqrt(x), 0.5),
    ),
    "0/1": (
        Truth(
            "0/1, logistic, Beta(2,2)", BETA22, lambda x: stats.logistic.cdf(8 * (x - 0.4)), None
        ),
        Truth(
            "0/1, .2 + .6 sin(pi x)^2, two humps",
            humps,
            lambda x: 0.2 + 0.6 * np.sin(np.pi * x) ** 2,
            None,
        ),
    ),
    "heavy noise": (
        Truth("x / 4, noise 1, Beta(2,2)", BETA22, lambda x: x / 4, 1.0),
        Truth("(1 - x)^2 / 3, noise 1, two humps", humps, lambda x: (1 - x) ** 2 / 3, 1.0),
    ),
    "flat": (
        Truth("flat, noise 1, Beta(2,2)", BETA22, lambda x: np.zeros(x.shape), 1.0),
        Truth("flat, noise .5, Beta(2,5)", BETA25, lambda x: np.ones(x.shape), 0.5),
    ),
}
"""Two populations of each kind."""
LATER: Mapping[str, Truth] = {
    "bend": Truth("3 min(x, 1.2 - x), two humps", humps, lambda x: 3 * np.minimum(x, 1.2 - x), 0.5),
    "heavy noise": Truth("x^2 / 4, noise 1, Beta(2,5)", BETA25, lambda x: x**2 / 4, 1.0),
    "flat": Truth("flat, noise 2, two humps", humps, lambda x: np.zeros(x.shape), 2.0),
}
"""Set apart after a first look at the reported half, before the estimator was changed for it."""
CENTER = stats.truncnorm(-0.5 / 0.15, 0.5 / 0.15, loc=0.5, scale=0.15).cdf
EVEN = stats.uniform(0, 1).cdf
FALLING = stats.truncexpon(4, scale=0.25).cdf
BETA52 = stats.beta(5, 2).cdf


def three(x: np.ndarray) -> np.ndarray:
    parts = (stats.beta(3, 15), stats.beta(20, 20), stats.beta(15, 3))
    return np.asarray(sum(part.cdf(x) for part in parts) / 3)


SECOND: Mapping[str, tuple[Truth, Truth]] = {
    "wave": (
        Truth("cos(2 pi x), center", CENTER, lambda x: np.cos(2 * np.pi * x), 0.5),
        Truth("sin(3 pi x), even", EVEN, lambda x: np.sin(3 * np.pi * x), 0.5),
    ),
    "bump": (
        Truth("bump at .6, even", EVEN, lambda x: 2 * np.exp(-(((x - 0.6) / 0.1) ** 2)), 0.5),
        Truth(
            "dip at .7, Beta(5,2)", BETA52, lambda x: -2 * np.exp(-(((x - 0.7) / 0.1) ** 2)), 0.5
        ),
    ),
    "step": (
        Truth("step at .6, center", CENTER, lambda x: np.where(x < 0.6, 0.0, 2.0), 0.5),
        Truth("step at .35, falling", FALLING, lambda x: np.where(x < 0.35, 2.0, 0.0), 0.5),
    ),
    "bend": (
        Truth("3 |x - .6|, center", CENTER, lambda x: 3 * np.abs(x - 0.6), 0.5),
        Truth("4 max(x - .5, 0), even", EVEN, lambda x: 4 * np.maximum(x - 0.5, 0), 0.5),
    ),
    "bend 2": (
        Truth("3 |x - .4|, even", EVEN, lambda x: 3 * np.abs(x - 0.4), 0.5),
        Truth("3 |x - .7|, Beta(5,2)", BETA52, lambda x: 3 * np.abs(x - 0.7), 0.5),
    ),
    "slope": (
        Truth("2 x, center", CENTER, lambda x: 2 * x, 0.5),
        Truth("2 (1 - x)^2, falling", FALLING, lambda x: 2 * (1 - x) ** 2, 0.5),
    ),
    "0/1": (
        Truth("0/1, .8 - .6 x, three humps", three, lambda x: 0.8 - 0.6 * x, None),
        Truth("0/1, .1 + .8 x^2, Beta(5,2)", BETA52, lambda x: 0.1 + 0.8 * x**2, None),
    ),
    "heavy noise": (
        Truth("(1 - x) / 4, noise 1, falling", FALLING, lambda x: (1 - x) / 4, 1.0),
        Truth("x / 3, noise 1, center", CENTER, lambda x: x / 3, 1.0),
    ),
    "heavy noise 2": (
        Truth("sqrt(x) / 4, noise 1, Beta(2,5)", BETA25, lambda x: np.sqrt(x) / 4, 1.0),
        Truth("x^2 / 3, noise 1, Beta(5,2)", BETA52, lambda x: x**2 / 3, 1.0),
    ),
    "flat": (
        Truth("flat, noise .5, Beta(5,2)", BETA52, lambda x: np.ones(x.shape), 0.5),
        Truth("flat, noise .5, falling", FALLING, lambda x: np.ones(x.shape), 0.5),
    ),
    "flat 2": (
        Truth("flat, noise 1, center", CENTER, lambda x: np.zeros(x.shape), 1.0),
        Truth("flat, noise 1, three humps", three, lambda x: np.zeros(x.shape), 1.0),
    ),
}
"""Further pairs, split before the second tuning."""
WEAK = ("heavy noise", "flat", "heavy noise 2", "flat 2")
"""Kinds in which there is little or nothing to see."""


def split() -> dict[str, dict[str, Truth]]:
    """The halves, by kind, as the coin falls."""
    coin = random.Random(COIN)
    halves: dict[str, dict[str, Truth]] = {"tuning": {}, "reporting": {}}
    for kind, pair in PAIRS.items():
        first = coin.randrange(2)
        halves["tuning"][kind], halves["reporting"][kind] = pair[first], pair[1 - first]
    halves |= {"later": dict(LATER), "more": {}, "fresh": {}}
    for kind, pair in SECOND.items():
        first = coin.randrange(2)
        halves["more"][kind], halves["fresh"][kind] = pair[first], pair[1 - first]
    return halves


def record() -> dict[str, Any]:
    """What `split.json` has to say."""
    names = {
        half: {kind: one.name for kind, one in members.items()} for half, members in split().items()
    }
    return {"coin": COIN, "streams": STREAMS, **names}


if __name__ == "__main__":
    SPLIT.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
