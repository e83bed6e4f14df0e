"""The data of Farokhi (2020): two real sets, and the simulation study."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from confide import Laplace, Lattice
from confide.foreign import Spectrum
from confide.foreign import noise_laws as noise
from confide.summaries import Counts


@dataclass(frozen=True)
class Table:
    """A real data set: a covariate made private and a public response."""

    name: str
    x: np.ndarray
    y: np.ndarray
    edge: float
    binary: bool

    def risk(self, predict: Callable[[np.ndarray], np.ndarray]) -> float:
        """Mean loss at the true values."""
        places, back = np.unique(self.x, return_inverse=True)
        fitted = np.asarray(predict(places))[back]
        if not self.binary:
            return float(np.mean((self.y - fitted) ** 2))
        p = np.clip(fitted, 1e-3, 1 - 1e-3)
        return float(-np.mean(np.where(self.y == 1, np.log(p), np.log1p(-p))))

    @property
    def range(self) -> float:
        return float(np.ptp(self.x))

    def spectrum(self, epsilon: float, seed: int) -> Spectrum:
        """Floats with Laplace noise, as in the paper."""
        scale = self.range / epsilon
        z = self.x + np.random.default_rng([5, seed]).laplace(0, scale, self.x.size)
        law = noise.Laplace(scale=scale)
        return Spectrum.of(z, noise=law, response=self.y, low=self.x.min(), high=self.x.max())

    def counts(self, epsilon: float, seed: int, size: int = 64) -> Counts:
        """Reports of our mechanism, clamped to the range."""
        low, high = self.x.min() - self.edge, self.x.max() + self.edge
        mechanism = Laplace(Lattice(low=low, high=high, size=size), epsilon=epsilon)
        return Counts.of(mechanism.simulate(self.x, seed=seed), response=self.y)


def lending(path: Path) -> Table:
    """FICO scores in hundreds, as in the paper, and interest rates in percent."""
    table = np.genfromtxt(path, delimiter=",", names=True)
    return Table("LC", table["fico_range_low"] / 100, table["int_rate"], 0.025, False)


def adult(path: Path) -> Table:
    """Years of education and whether income is above 50k."""
    table = np.genfromtxt(path, delimiter=",", names=True, usecols=(0, 1))
    return Table("Adult", table["education_num"], table["income_gt_50k"], 0.5, True)


def straight(x: np.ndarray, y: np.ndarray, *, binary: bool) -> Callable[[Any], np.ndarray]:
    """Ordinary least squares, or logistic regression by Newton steps."""
    middle, scale = x.mean(), x.std()
    design = np.stack([np.ones(x.size), (x - middle) / scale], axis=1)
    if not binary:
        theta = np.linalg.lstsq(design, y, rcond=None)[0]
        return lambda u: theta[0] + theta[1] * (np.asarray(u) - middle) / scale
    theta = np.zeros(2)
    for _ in range(25):
        p = special.expit(design @ theta)
        weight = (design * (p * (1 - p))[:, None]).T @ design
        theta = theta + np.linalg.solve(weight, design.T @ (y - p))
    return lambda u: special.expit(theta[0] + theta[1] * (np.asarray(u) - middle) / scale)


def smoothed(x: np.ndarray, y: np.ndarray, h: float) -> Callable[[Any], np.ndarray]:
    """Nadaraya-Watson with the Cauchy kernel on noiseless values."""
    places, back = np.unique(x, return_inverse=True)
    n, sums = np.bincount(back), np.bincount(back, y)

    def predict(u: Any) -> np.ndarray:
        weight = 1 / (1 + ((np.asarray(u)[..., None] - places) / h) ** 2)
        result: np.ndarray = (weight @ sums) / (weight @ n)
        return result

    return predict


@dataclass(frozen=True)
class Design:
    """A population of the simulation study and its bounds."""

    name: str
    low: float
    high: float
    draw: Callable[[np.random.Generator, int], np.ndarray]


def _mixture(rng: np.random.Generator, n: int) -> np.ndarray:
    # N(3/2, 1/2) is read as variance 1/2, which the paper does not say.
    wide, narrow = rng.normal(-1, 1, 4 * n), rng.normal(1.5, math.sqrt(0.5), 4 * n)
    x = np.where(rng.random(4 * n) < 1 / 3, wide, narrow)
    return x[np.abs(x) < 3][:n]


def _chi2(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.chisquare(3, 6 * n)
    return x[x < 3][:n]


DESIGNS = (Design("mixture", -3, 3, _mixture), Design("chi-squared", 0, 3, _chi2))
CURVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "g1": lambda x: x**2 * (1 - x**2) / 5,
    "g2": lambda x: 4.5 * np.sin(x) - 5,
}


def draw(
    design: Design, curve: str, n: int, seed: int, epsilon: float = 10.0
) -> tuple[np.ndarray, Spectrum, Counts]:
    """True values, and both kinds of reports."""
    rng = np.random.default_rng([6, seed, n])
    x = design.draw(rng, n)
    y = CURVES[curve](x) + rng.normal(0, 1, n)
    scale = (design.high - design.low) / epsilon
    spectrum = Spectrum.of(
        x + rng.laplace(0, scale, n),
        noise=noise.Laplace(scale=scale),
        response=y,
        low=design.low,
        high=design.high,
    )
    mechanism = Laplace(Lattice(low=design.low, high=design.high, size=256), epsilon=epsilon)
    return x, spectrum, Counts.of(mechanism.simulate(x, seed=seed), response=y)
