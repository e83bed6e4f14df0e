"""Populations on [0, 1] of the study, and which of them may be looked at while tuning.

Six kinds of population, two of each. One of a pair is for tuning and the other for reporting, as a
seeded coin decides: both halves have the same kinds of difficulty, and no number of the reported
half was seen before the estimator's constants were settled. `split.json` records the outcome, and
a test compares it with this file. Uniform, normal and exponential populations lie in the null
space of the estimator's prior, which flatters it: they are reported apart and never averaged in.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

SPLIT = Path(__file__).with_name("split.json")
COIN = 20_261_118
"""Seed of the coin that splits each pair."""
STREAMS = {"tuning": 11, "reporting": 29, "apart": 47}
"""First seed of the draws of each half; the others are population, epsilon, n and survey."""


@dataclass(frozen=True)
class Population:
    """A smooth part and heaps, on [0, 1].

    Parameters
    ----------
    name
        In tables.
    cdf
        Of the smooth part.
    heaps
        Share of the population at each value where people heap.
    """

    name: str
    cdf: Callable[[np.ndarray], np.ndarray]
    heaps: Mapping[float, float] = field(default_factory=dict)

    def below(self, x: np.ndarray) -> np.ndarray:
        """Share of values below x, so that differences are shares of cells [a, b); all at 1."""
        smooth = (1 - sum(self.heaps.values())) * self.cdf(x)
        apart = sum(share * (x > value) for value, share in self.heaps.items())
        return np.where(x >= 1, 1.0, smooth + apart)


def truncated(law: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The law of a value that is inside [0, 1]."""
    low, high = law.cdf(0.0), law.cdf(1.0)
    return lambda x: (law.cdf(x) - low) / (high - low)


def mixture(*parts: tuple[float, Callable[[np.ndarray], np.ndarray]]) -> Any:
    """Several laws with their shares."""
    return lambda x: sum(share * cdf(x) for share, cdf in parts)


def stairs(edges: list[float], shares: list[float]) -> Any:
    """Even inside each step."""
    return lambda x: np.interp(x, edges, np.append(0.0, np.cumsum(shares)))


FIVES = tuple(round(0.05 * k, 2) for k in range(1, 20))

PAIRS: Mapping[str, tuple[Population, Population]] = {
    "skewed": (
        Population("Beta(2,5)", stats.beta(2, 5).cdf),
        Population("Weibull(1.5), scale .3", truncated(stats.weibull_min(1.5, scale=0.3))),
    ),
    "two humps": (
        Population(
            ".6 Beta(2,8) + .4 Beta(30,12)",
            mixture((0.6, stats.beta(2, 8).cdf), (0.4, stats.beta(30, 12).cdf)),
        ),
        Population(
            "normals at .3 and .7",
            mixture(
                (0.65, truncated(stats.norm(0.3, 0.08))), (0.35, truncated(stats.norm(0.7, 0.05)))
            ),
        ),
    ),
    "a spike": (
        Population(
            "Beta(2,3), spike at .42",
            mixture((0.75, stats.beta(2, 3).cdf), (0.25, truncated(stats.norm(0.42, 0.008)))),
        ),
        Population("double exponential at .55", truncated(stats.laplace(0.55, 0.05))),
    ),
    "a bound": (
        Population("30 % zeros, Gamma(2)", truncated(stats.gamma(2, scale=0.12)), {0.0: 0.3}),
        Population("capped at 1 (15 %)", truncated(stats.beta(3, 2)), {1.0: 0.15}),
    ),
    "heaps": (
        Population(
            "half at multiples of .05",
            stats.beta(3, 5).cdf,
            dict(
                zip(
                    FIVES,
                    0.5 * stats.beta(3, 5).pdf(FIVES) / stats.beta(3, 5).pdf(FIVES).sum(),
                    strict=True,
                )
            ),
        ),
        Population(
            "hours worked",
            truncated(stats.norm(0.4, 0.14)),
            {0.2: 0.06, 0.3: 0.06, 0.35: 0.05, 0.4: 0.35, 0.5: 0.09, 0.6: 0.04},
        ),
    ),
    "steps": (
        Population("stairs", stairs([0, 0.2, 0.35, 0.6, 1], [0.1, 0.35, 0.25, 0.3])),
        Population(
            "a block on a slope",
            mixture((0.6, stairs([0, 0.15, 0.5, 1], [0, 1, 0])), (0.4, stats.beta(1, 2).cdf)),
        ),
    ),
}
"""Two populations of each kind."""

APART = (
    Population("uniform", stats.uniform.cdf),
    Population("normal", truncated(stats.norm(0.45, 0.15))),
    Population("exponential", truncated(stats.expon(scale=0.25))),
)
"""In the null space of the prior."""


def split() -> dict[str, list[Population]]:
    """The halves, as the coin falls."""
    coin = random.Random(COIN)
    halves: dict[str, list[Population]] = {"tuning": [], "reporting": [], "apart": list(APART)}
    for pair in PAIRS.values():
        first = coin.randrange(2)
        halves["tuning"].append(pair[first])
        halves["reporting"].append(pair[1 - first])
    return halves


def record() -> dict[str, Any]:
    """What `split.json` has to say."""
    names = {half: [one.name for one in members] for half, members in split().items()}
    return {"coin": COIN, "streams": STREAMS, **names}


if __name__ == "__main__":
    SPLIT.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
