"""Populations of the planner's check: none of its own, and nothing was tuned on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Case:
    """A population: how to draw from it, its distribution function, and what the planner hears."""

    name: str
    told_as: str
    low: float
    high: float
    top: float
    draw: Callable[[int, int], np.ndarray]
    cdf: Callable[[np.ndarray], np.ndarray]
    guess: Any
    preset: str

    def response(self, x: np.ndarray) -> np.ndarray:
        """A curve that is none of the planner's own."""
        return np.cos(4 * (x - self.low) / (self.high - self.low))


def commute() -> Case:
    """Minutes to work; one in 300 takes longer than the bound."""
    law = stats.lognorm(0.55, scale=27)
    return Case(
        "commute",
        "distribution",
        0,
        120,
        400,
        lambda n, seed: law.rvs(n, random_state=np.random.default_rng([3, seed])),
        law.cdf,
        law,
        "beta",
    )


def rent() -> Case:
    """Rents of flats and of houses, of which the planner sees 2,000 of another year."""
    flats, houses = stats.gamma(9, scale=100), stats.norm(1700, 350)

    def draw(n: int, seed: int) -> np.ndarray:
        generator = np.random.default_rng([5, seed])
        house = generator.random(n) < 0.4
        return np.where(house, generator.normal(1700, 350, n), generator.gamma(9, 100, n))

    return Case(
        "rent",
        "pilot of 2,000",
        0,
        4_000,
        4_000,
        draw,
        lambda x: 0.6 * flats.cdf(x) + 0.4 * houses.cdf(x),
        draw(2_000, 10_000_000),
        "lognormal",
    )


def pressure() -> Case:
    """Blood pressure, a quarter of people ill."""
    parts = ((0.75, stats.norm(122, 13)), (0.25, stats.norm(148, 17)))

    def draw(n: int, seed: int) -> np.ndarray:
        generator = np.random.default_rng([9, seed])
        ill = generator.random(n) < 0.25
        return np.where(ill, generator.normal(148, 17, n), generator.normal(122, 13, n))

    return Case(
        "pressure",
        "density",
        70,
        220,
        220,
        draw,
        lambda x: sum(share * law.cdf(x) for share, law in parts),
        lambda x: sum(share * law.pdf(x) for share, law in parts),
        "normal",
    )


def hours() -> Case:
    """Hours of work a week, in three groups with gaps between them; a pilot of 1,000."""
    parts = ((0.2, 8, 1.0), (0.35, 20, 1.5), (0.45, 40, 1.5))

    def draw(n: int, seed: int) -> np.ndarray:
        generator = np.random.default_rng([11, seed])
        group = generator.choice(3, n, p=[share for share, *_ in parts])
        middle, sd = np.array([law for _, *law in parts]).T
        return generator.normal(middle[group], sd[group])

    return Case(
        "hours",
        "pilot of 1,000",
        0,
        60,
        60,
        draw,
        lambda x: sum(share * stats.norm.cdf(x, middle, sd) for share, middle, sd in parts),
        draw(1_000, 10_000_000),
        "bimodal",
    )


CASES = (commute, rent, pressure, hours)
