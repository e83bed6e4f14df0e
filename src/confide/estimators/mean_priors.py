"""Curves of a mean response with a Gaussian-process prior, and the evidence for each prior.

Given the density of the private values, every report has a known mixture of values behind it, so
that the mean response given a report is a linear map of the curve. The prior of the curve is an
integrated Wiener process of order 1, 2 or 3. Its null space holds constants, straight lines and
parabolas; its scale tau says how far the curve may leave them. Posterior and evidence, the chance
of the responses under a prior, are then known in closed form. A logistic curve is one more
candidate for a response of 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from confide._types import Floats
from confide.estimators.em import LEAST, one_thread
from confide.estimators.log_density import BROAD, basis

ORDERS: Mapping[int, tuple[float, float, float]] = {
    1: (0.0, math.log(1.5), 0.7),
    2: (2.0, math.log(8), 1.0),
    3: (1.0, math.log(40), 1.3),
}
"""By order: log prior weight, and mean and standard deviation of the logarithm of tau."""
SCALES: Mapping[int, Floats] = {
    1: np.geomspace(0.1, 30, 10),
    2: np.geomspace(0.3, 300, 11),
    3: np.geomspace(1, 3000, 12),
}
"""Scales tau that are tried, in standard deviations of the response."""
POLYNOMIALS: Mapping[int, tuple[str, float, tuple[float, ...]]] = {
    1: ("constant", 1.5, (1.0,)),
    2: ("line", 1.0, (1.0, 0.5, 0.25, 0.12, 0.06)),
    3: ("parabola", -1.0, (1.0,)),
}
"""By order, the curves that it leaves free: name, log prior weight of each, and the scales of their
slopes, in standard deviations of the response. Small scales find slopes that a prior of steep lines
would miss, and shrink them."""
LOGISTIC = 2.0
"""Log prior weight of a logistic curve."""
WAVES = 60
SHRUNK = 30.0
"""Respondents that the pooled variance of the response counts for beside those of a report."""
STEPS = 50


@dataclass(frozen=True, eq=False)
class Behind:
    """Responses by report, and the mixture of values behind each report.

    Parameters
    ----------
    mixture
        Chance of each cell of values given a report, reports by cells.
    n, means, variances
        Respondents of each report, their mean response and its variance.
    """

    mixture: Floats
    n: Floats
    means: Floats
    variances: Floats

    @classmethod
    def of(cls, law: Floats, masses: Floats, table: Floats) -> Behind:
        """From the law, reports by cells, masses of cells, and n, sums, squares by report."""
        joint = law * masses
        seen = (table[0] > 0) & (joint.sum(axis=1) > LEAST)
        n, sums, squares = table[:, seen]
        means = sums / n
        within = np.maximum(squares - sums * means, 0.0)
        freedom = np.maximum(n - 1, 0.0)
        total = float(squares.sum() / n.sum() - (sums.sum() / n.sum()) ** 2)
        pooled = float(within.sum() / freedom.sum()) if freedom.sum() >= 1 else total
        pooled = max(pooled, 1e-9 * total, np.finfo(np.float64).tiny)
        # A report of few respondents says little about the spread of their responses.
        variances = (within + SHRUNK * pooled) / (freedom + SHRUNK)
        mixture = joint[seen] / joint[seen].sum(axis=1, keepdims=True)
        return cls(mixture, n, means, variances)

    @cached_property
    def masses(self) -> Floats:
        """Share of the respondents in each cell."""
        return np.asarray(self.n @ self.mixture / self.n.sum())

    @property
    def mean(self) -> float:
        """Mean response of everybody."""
        return float(self.n @ self.means / self.n.sum())

    @property
    def deviation(self) -> float:
        """Standard deviation of the response."""
        around = self.variances + (self.means - self.mean) ** 2
        return math.sqrt(float(self.n @ around / self.n.sum()))

    @cached_property
    def information(self) -> Floats:
        """Precision of a curve on the cells, from the responses alone."""
        half = self.mixture * np.sqrt(self.n / self.variances)[:, None]
        return np.asarray(half.T @ half)


@dataclass(frozen=True, eq=False)
class Candidate:
    """The most probable curve under one prior.

    Attributes
    ----------
    name
        Of the prior: a polynomial, ``"order 1"`` to ``"order 3"``, or ``"logistic"``.
    tau
        Its scale; 0 for what has none.
    values
        Mean response in each cell.
    evidence
        Its logarithm, with the prior weight.
    half
        Posterior covariance of the values is ``half @ half.T``.
    """

    name: str
    tau: float
    values: Floats
    evidence: float
    half: Floats


@one_thread
def candidates(behind: Behind, *, logistic: bool = False) -> list[Candidate]:
    """The curve under every prior, by order: polynomials first, then by rising scale."""
    cells = behind.mixture.shape[1]
    center, unit = behind.mean, behind.deviation
    weight = np.sqrt(behind.n / behind.variances)
    right = (behind.means - center) * weight
    found = []
    for order, (prior, middle, spread) in ORDERS.items():
        if cells <= order:
            continue
        directions = basis(cells, order, WAVES).columns
        free = np.hstack([np.ones((cells, 1)), directions[:, : order - 1] / BROAD])
        design = unit * np.hstack([free, directions[:, order - 1 :]])
        slopes = (behind.mixture @ design) * weight[:, None]
        gram, pull = slopes.T @ slopes, slopes.T @ right
        scales = SCALES[order]
        density = math.log(math.log(scales[1] / scales[0]) / (spread * math.sqrt(2 * math.pi)))
        name, chance, steepness = POLYNOMIALS[order]
        tried = [(name, 0.0, slope, chance) for slope in steepness]
        for tau in scales.tolist():
            away = (math.log(tau) - middle) / spread
            tried.append((f"order {order}", tau, 1.0, prior + density - away**2 / 2))
        for name, tau, slope, log_weight in tried:
            size = design.shape[1] if tau else order
            scale = np.repeat([1.0, slope, tau], [1, order - 1, size - order])
            precision = gram[:size, :size] * np.multiply.outer(scale, scale) + np.eye(size)
            root = np.linalg.cholesky(precision)
            half = np.linalg.solve(root, (design[:, :size] * scale).T).T
            pulled = np.linalg.solve(root, scale * pull[:size])
            evidence = float(pulled @ pulled) / 2 - float(np.log(np.diag(root)).sum())
            values = center + half @ pulled
            found.append(Candidate(name, tau, values, log_weight + evidence, half))
    if logistic:
        found.append(_logistic(behind))
    return found


def _logistic(behind: Behind) -> Candidate:
    """A logistic curve by Gauss-Newton steps, with Laplace's approximation to its evidence."""
    cells = behind.mixture.shape[1]
    x = (2 * np.arange(cells) + 1) / cells - 1
    design = np.stack([np.ones(cells), 2 * x], axis=1)
    weight = np.sqrt(behind.n / behind.variances)
    start = np.array([special.logit(np.clip(behind.mean, 1e-3, 1 - 1e-3)), 0.0])

    def at(theta: Floats) -> tuple[Floats, Floats, float]:
        values = special.expit(design @ theta)
        rest = (behind.means - behind.mixture @ values) * weight
        return values, rest, float(rest @ rest + (theta - start) @ (theta - start)) / 2

    theta = start
    values, rest, loss = at(theta)
    for _ in range(STEPS):
        slopes = design * (values * (1 - values))[:, None]
        jacobian = (behind.mixture @ slopes) * weight[:, None]
        precision = jacobian.T @ jacobian + np.eye(2)
        step = np.linalg.solve(precision, jacobian.T @ rest - (theta - start))
        while (trial := at(theta + step))[2] > loss and np.abs(step).max() > 1e-9:
            step = step / 2
        if trial[2] > loss:
            break
        theta, gained = theta + step, loss - trial[2]
        values, rest, loss = trial
        if gained < 1e-9:
            break
    root = np.linalg.cholesky(precision)
    away = (behind.means - behind.mean) * weight
    evidence = LOGISTIC + float(away @ away) / 2 - loss - float(np.log(np.diag(root)).sum())
    return Candidate("logistic", 0.0, values, evidence, np.linalg.solve(root, slopes.T).T)


def weights(found: list[Candidate]) -> Floats:
    """Posterior chance of each prior."""
    scores = np.array([one.evidence for one in found])
    chances = np.exp(scores - scores.max())
    return np.asarray(chances / chances.sum())


def moments(found: list[Candidate], chances: Floats) -> tuple[Floats, Floats]:
    """Mean of the curve in each cell, and its variance within and between priors."""
    values = np.stack([one.values for one in found])
    middle = chances @ values
    own = np.stack([np.einsum("ij,ij->i", one.half, one.half) for one in found])
    return middle, chances @ (own + (values - middle) ** 2)


def rougher(found: list[Candidate], chances: Floats, steps: int) -> Floats:
    """Chances moved so many scales up within each order; polynomials go to the lowest scales."""
    if not steps:
        return chances
    moved = np.zeros(chances.size)
    for order in ORDERS:
        free = [at for at, one in enumerate(found) if one.name == POLYNOMIALS[order][0]]
        own = [at for at, one in enumerate(found) if one.name == f"order {order}"]
        for place, at in [*((-1, at) for at in free), *enumerate(own)]:
            moved[own[min(place + steps, len(own) - 1)]] += chances[at]
    rest = np.array([one.name == "logistic" for one in found])
    return np.asarray(np.where(rest, chances, moved))
