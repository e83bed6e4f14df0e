"""Log-densities with a Gaussian-process prior, and how much the reports speak for each of them.

The density is a smooth part, softmax(eta) on equal cells, and heaps. The prior of eta is an
integrated Wiener process of order 1, 2 or 3: its q-th differences are independent. Its scale tau
says how rough the density may be. For each order and scale the posterior mode is found by Fisher
scoring, and Laplace's approximation gives the evidence: the chance of the reports under that prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from confide._types import Floats
from confide.estimators.em import LEAST, one_thread

ORDERS: Mapping[int, tuple[float, float, float]] = {
    1: (0.0, math.log(3), 1.5),
    2: (1.5, math.log(15), 2.0),
    3: (3.0, math.log(100), 2.5),
}
"""By order: log prior weight, and mean and standard deviation of the logarithm of tau."""
SCALES: Mapping[int, Floats] = {
    1: np.geomspace(0.1, 100, 10),
    2: np.geomspace(0.3, 3000, 11),
    3: np.geomspace(1, 1e5, 12),
}
"""Scales tau that are tried, by order."""
BROAD = 10.0
"""Standard deviation of the polynomials that an order does not penalize."""
SHARE, SPREAD = 0.1, 1.5
"""Prior of a heap: its odds against the smooth part, and the deviation of their logarithm."""
FAR = 8.0
"""Scales whose evidence lies so far below the best are not followed any further."""
STEPS, TRIES = 60, 12
GAIN, SLACK = 3e-3, 1e-9
"""Log-posterior that the last step may gain, and that rounding may lose."""


@lru_cache(maxsize=32)
def basis(cells: int, order: int, waves: int) -> Floats:
    """Directions of eta with standard normal coefficients at tau = 1, unpenalized ones first.

    The penalty is the sum of squared differences of an order. Its smoothest eigenvectors stand for
    the process; polynomials below the order cost nothing.
    """
    differences = np.diff(np.eye(cells), order, axis=0)
    penalty = differences.T @ differences * float(cells) ** (2 * order - 1)
    roots, vectors = np.linalg.eigh(penalty)
    kept = slice(order, min(order + waves, cells))
    rough = vectors[:, kept] / np.sqrt(roots[kept])
    x = (2 * np.arange(cells) + 1) / cells - 1
    free = np.polynomial.legendre.legvander(x, order - 1)[:, 1:] * BROAD
    columns: Floats = np.hstack([free, rough])
    columns -= columns.mean(axis=0)
    columns.flags.writeable = False
    return columns


@dataclass(frozen=True, eq=False)
class Problem:
    """Counts of reports, and their law given a smooth cell and given a heap.

    Parameters
    ----------
    counts
        Of each bin of reports.
    law
        Bins by smooth cells.
    heaps
        Bins by heaps.
    waves
        Directions of the smooth part.
    """

    counts: Floats
    law: Floats
    heaps: Floats
    waves: int

    @property
    def n(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable density under one prior, and the evidence for that prior.

    Attributes
    ----------
    order, tau
        The prior.
    theta
        Coefficients: of the directions, then of the heaps.
    smooth
        Masses of the smooth cells, which sum to one.
    shares
        Of the smooth part and of each heap.
    fitted
        Chance of each bin of reports.
    slope
        Derivative of ``fitted`` by ``theta``.
    root
        Lower triangular root of the posterior precision.
    likelihood, evidence
        Logarithms.
    """

    order: int
    tau: float
    theta: Floats
    smooth: Floats
    shares: Floats
    fitted: Floats
    slope: Floats
    root: Floats
    likelihood: float
    evidence: float


@one_thread
def mode(problem: Problem, order: int, tau: float, start: Floats | None = None) -> Mode:
    """The posterior mode under one prior, by damped Fisher scoring."""
    directions = basis(problem.law.shape[1], order, problem.waves).copy()
    directions[:, order - 1 :] *= tau
    free, many = directions.shape[1], problem.heaps.shape[1]
    counts, n = problem.counts, problem.n

    def at(theta: Floats) -> tuple[float, Floats, Floats, Floats]:
        eta = directions @ theta[:free]
        smooth = np.exp(eta - eta.max())
        smooth /= smooth.sum()
        odds = np.append(1.0, SHARE * np.exp(np.clip(SPREAD * theta[free:], -700, 700)))
        shares = odds / odds.sum()
        fitted = shares[0] * (problem.law @ smooth) + problem.heaps @ shares[1:]
        fitted = np.maximum(fitted, LEAST)
        return float(counts @ np.log(fitted)), smooth, shares, fitted

    def slope(smooth: Floats, shares: Floats, fitted: Floats) -> Floats:
        inner = (problem.law * smooth) @ directions
        inner -= np.outer(problem.law @ smooth, smooth @ directions)
        apart = (problem.heaps - fitted[:, None]) * (SPREAD * shares[1:])
        return np.hstack([shares[0] * inner, apart])

    theta = np.zeros(free + many) if start is None else start
    likelihood, smooth, shares, fitted = at(theta)
    value = likelihood - float(theta @ theta) / 2
    damping, diagonal = 0.0, np.diag_indices(theta.size)
    for _ in range(STEPS):
        jacobian = slope(smooth, shares, fitted)
        gradient = jacobian.T @ (counts / fitted) - theta
        half = jacobian * np.sqrt(n / fitted)[:, None]
        precision = half.T @ half
        precision[diagonal] += 1
        for _ in range(TRIES):
            damped = precision.copy()
            damped[diagonal] *= 1 + damping
            step = np.linalg.solve(damped, gradient)
            trial = at(theta + step)
            gained = trial[0] - float((theta + step) @ (theta + step)) / 2 - value
            if gained >= -SLACK:
                theta, value = theta + step, value + gained
                likelihood, smooth, shares, fitted = trial
                break
            damping = max(4 * damping, 1e-2)
        else:
            break
        if gained < GAIN and damping == 0:
            break
        damping = damping / 4 if damping > 1e-3 else 0.0
    # The precision is that of the last step but one, which differs by next to nothing. This way to
    # its root needs no square of it, so that rounding cannot make it indefinite.
    root = np.linalg.qr(np.vstack([half, np.eye(theta.size)])).R.T
    weight, middle, spread = ORDERS[order]
    prior = weight - ((math.log(tau) - middle) / spread) ** 2 / 2
    evidence = value - float(np.log(np.abs(np.diag(root))).sum()) + prior
    return Mode(order, tau, theta, smooth, shares, fitted, jacobian, root, likelihood, evidence)


def modes(problem: Problem) -> list[Mode]:
    """The mode under every prior that may matter, each started from the one before."""
    found: list[Mode] = []
    for order in ORDERS:
        found.extend(_along(problem, order))
    return found


def _along(problem: Problem, order: int) -> Iterator[Mode]:
    best, last = -math.inf, None
    for tau in SCALES[order]:
        start = None
        if last is not None:
            start = last.theta.copy()
            start[order - 1 : start.size - problem.heaps.shape[1]] *= last.tau / tau
        last = mode(problem, order, float(tau), start)
        yield last
        best = max(best, last.evidence)
        if last.evidence < best - FAR:
            return
