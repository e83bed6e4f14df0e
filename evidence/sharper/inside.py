"""Whether printed estimates lie inside their own intervals: odd surveys, and those of the study.

Few respondents, few cells and values on the bounds are where an estimate and its interval part.
Every other survey is one of the study's populations, with 500 to 20,000 respondents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from confide import Laplace, Lattice, SquareWave
from confide.estimators.adaptive import Adaptive
from confide.summaries import Counts
from evidence.sharper.populations import split

MECHANISMS = (
    SquareWave(Lattice(low=-3, high=5, size=16), epsilon=1.0),
    Laplace(Lattice(low=1, high=100, size=16, scale="log"), epsilon=0.5),
    SquareWave(Lattice(low=0, high=9, kind="integer"), epsilon=4.0),
    SquareWave(Lattice(low=0, high=1, size=16), epsilon=2.0, prefer_not_to_say=True),
    SquareWave(Lattice(low=0, high=30, size=16, kind="points"), epsilon=3.0),
)
ORDINARY = tuple(
    SquareWave(Lattice(low=0, high=1, size=size), epsilon=epsilon)
    for size in (64, 256)
    for epsilon in (1.0, 4.0)
)
OFTEN = 40
"""Two fits in so many have their quantiles and a share looked at, which take longer."""


def _odd(generator: np.random.Generator, number: int) -> Counts:
    """Few respondents at one to three values: the bounds and the middle."""
    mechanism = MECHANISMS[number % len(MECHANISMS)]
    axis = mechanism.lattice
    ends = [axis.low, axis.high, round((axis.low + axis.high) / 2)]
    values = generator.choice(generator.choice(ends, 3), int(generator.integers(1, 400)))
    return Counts.of(mechanism.simulate(values, seed=int(generator.integers(2**31))))


def _ordinary(generator: np.random.Generator, number: int) -> Counts:
    """A population of the study, from either half."""
    populations = [one for half in split().values() for one in half]
    mechanism = ORDINARY[number % len(ORDINARY)]
    masses = np.diff(populations[number % len(populations)].below(mechanism.lattice.edges))
    chances = mechanism.law.forward(masses)
    n = round(500 * 40 ** generator.random())
    drawn = generator.multinomial(n, chances / chances.sum())
    return Counts(mechanism, drawn, simulated=True)


def check(fits: int, seed: int = 77) -> dict[str, int]:
    """How many estimates were looked at, and how many of them were outside."""
    generator = np.random.default_rng(seed)
    found = {"fits": fits, "means": 0, "quantiles_and_shares": 0, "outside": 0}

    def look(kind: str, value: Any, low: Any, high: Any) -> None:
        inside = (np.asarray(low) <= value) & (value <= np.asarray(high))
        found[kind] += int(np.size(inside))
        found["outside"] += int(np.sum(~inside))

    for fit in range(fits):
        counts = _ordinary(generator, fit // 2) if fit % 2 else _odd(generator, fit // 2)
        axis = counts.mechanism.axes[""]
        density = Adaptive().fit(counts)
        for level in (0.5, 0.95):
            # As the estimator gives it: the density would widen it to hold the mean.
            look("means", density.mean(), *density.intervals.mean(level))
        if fit % OFTEN < 2:
            middle = round((axis.low + axis.high) / 2, int(axis.high <= 1))
            for what, at in (("quantile", [0.1, 0.5, 0.9]), ("cdf", [middle])):
                places = np.array(at)
                look(
                    "quantiles_and_shares",
                    getattr(density, what)(places),
                    *density.interval(what, places),
                )
    return found
