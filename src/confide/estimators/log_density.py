"""Log-densities with a Gaussian-process prior, and how much the reports speak for each of them.

The density is a smooth part, softmax(eta) on equal cells, and heaps. The prior of eta is an
integrated Wiener process of order 1, 2 or 3: its q-th differences are independent. Its scale tau
says how rough the density may be. For each order and scale the posterior mode is found by Fisher
scoring, and Laplace's approximation gives the evidence: the chance of the reports under that prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf

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
FAR = 5.0
"""Priors whose evidence lies so far below the best do not matter."""
NEAR = 1e-3
"""Chi-square distance, for one report, within which fitted chances count as the same."""
BACK = 4
"""How many scales below the best one the search for it starts again."""
STEPS, TRIES = 12, 12
SMALL = 1e-2
"""Damping of a step that is hardly shorter than a full one."""
GAIN, SLACK = 3e-3, 1e-9
"""Log-posterior that the last step may gain, and that rounding may lose."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Directions of eta with standard normal coefficients at tau = 1, unpenalized ones first.

    Attributes
    ----------
    columns
        Cells by directions.
    inverse
        Coefficients of the directions in a given eta.
    """

    columns: Floats
    inverse: Floats


@lru_cache(maxsize=32)
def basis(cells: int, order: int, waves: int) -> Basis:
    """The directions of an order.

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
    inverse = np.asarray(np.linalg.pinv(columns), dtype=np.float64)
    columns.flags.writeable = inverse.flags.writeable = False
    return Basis(columns, inverse)


class Information:
    """Fisher information of masses, n law' diag(1 / fitted) law.

    It depends on the fitted chances of the reports alone, which differ little between the priors
    that are worth a look. So it is kept as long as they stay near.
    """

    def __init__(self, columns: Floats, n: float) -> None:
        self.columns, self.n = columns, n
        self.fitted: Floats = np.zeros(columns.shape[0])
        self.matrix: Floats = np.zeros((0, 0))

    def near(self, fitted: Floats) -> Floats:
        """The information where these chances are fitted, or others that are near them."""
        if not float(((fitted - self.fitted) ** 2 / fitted).sum()) < NEAR:
            half = self.columns * np.sqrt(self.n / fitted)[:, None]
            self.fitted, self.matrix = fitted, half.T @ half
        return self.matrix

    def added(self, column: Floats) -> Information:
        """With one more column of the law."""
        more = Information(np.hstack([self.columns, column[:, None]]), self.n)
        if self.matrix.size:
            last = self.n * (more.columns.T @ (column / self.fitted))
            more.fitted = self.fitted
            more.matrix = np.block([[self.matrix, last[:-1, None]], [last]])
        return more


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

    @cached_property
    def information(self) -> Information:
        """About the masses of smooth cells and heaps."""
        return Information(np.hstack([self.law, self.heaps]), self.n)

    def added(self, heap: Floats) -> Problem:
        """With one more heap, whose column of the law is given."""
        more = Problem(self.counts, self.law, np.hstack([self.heaps, heap[:, None]]), self.waves)
        more.__dict__["information"] = self.information.added(heap)
        return more


@dataclass(frozen=True, eq=False)
class Point:
    """A density by its coefficients.

    Attributes
    ----------
    theta
        Coefficients: of the directions, then of the heaps.
    eta
        Logarithm of the smooth part, up to a constant.
    smooth
        Masses of the smooth cells, which sum to one.
    shares
        Of the smooth part and of each heap.
    fitted
        Chance of each bin of reports.
    likelihood, value
        Logarithms of the likelihood, and of that times the prior of the coefficients.
    """

    theta: Floats
    eta: Floats
    smooth: Floats
    shares: Floats
    fitted: Floats
    likelihood: float
    value: float


@dataclass(frozen=True, eq=False)
class Mode(Point):
    """The most probable density under one prior, and the evidence for that prior.

    Attributes
    ----------
    order, tau
        The prior.
    slope
        Derivative of the masses of smooth cells and heaps by ``theta``.
    precision
        Of the posterior.
    evidence
        Its logarithm.
    """

    order: int
    tau: float
    slope: Floats
    precision: Floats
    evidence: float


class Posterior:
    """The posterior of the coefficients under one prior, up to a constant."""

    def __init__(self, problem: Problem, order: int, tau: float) -> None:
        self.problem, self.information = problem, problem.information
        self.directions = basis(problem.law.shape[1], order, problem.waves).columns
        self.cells, self.free = self.directions.shape
        self.scale = np.full(self.free + problem.heaps.shape[1], SPREAD)
        self.scale[: order - 1] = 1
        self.scale[order - 1 : self.free] = tau

    def at(self, theta: Floats) -> Point:
        """The density with given coefficients."""
        scaled = self.scale * theta
        eta = self.directions @ scaled[: self.free]
        smooth = np.exp(eta - eta.max())
        smooth /= smooth.sum()
        odds = np.append(1.0, SHARE * np.exp(np.clip(scaled[self.free :], -700, 700)))
        shares = odds / odds.sum()
        masses = np.append(shares[0] * smooth, shares[1:])
        fitted = np.maximum(self.information.columns @ masses, LEAST)
        likelihood = float(self.problem.counts @ np.log(fitted))
        value = likelihood - float(theta @ theta) / 2
        return Point(theta, eta, smooth, shares, fitted, likelihood, value)

    def step(self, point: Point, curvature: Floats, gradient: Floats) -> Point:
        """The density one step further; where the curvature is not one of a peak, the same."""
        _, step, failed = dposv(curvature, gradient, lower=1)
        return replace(point, value=-math.inf) if failed else self.at(point.theta + step)

    def slope(self, point: Point) -> Floats:
        """Derivative of the masses by the coefficients."""
        cells, free, heaps = self.cells, self.free, point.shares[1:]
        own = point.shares[0] * point.smooth
        table = np.zeros((cells + heaps.size, free + heaps.size))
        table[:cells, :free] = own[:, None] * (self.directions - point.smooth @ self.directions)
        table[:cells, free:] = -np.outer(own, heaps)
        table[cells:, free:] = np.diag(heaps) - np.outer(heaps, heaps)
        return np.asarray(table * self.scale)

    def bend(self, point: Point, pull: Floats) -> Floats:
        """Second derivative of ``pull @ masses`` by the coefficients."""
        cells, free = self.cells, self.free
        smooth, first, heaps = point.smooth, point.shares[0], point.shares[1:]
        inner = float(smooth @ pull[:cells])
        tilt = first * smooth * (pull[:cells] - inner)
        turned, middle = tilt @ self.directions, smooth @ self.directions
        own = heaps * (pull[cells:] - first * inner - heaps @ pull[cells:])
        both = np.outer(turned, middle)
        table = np.empty((free + heaps.size, free + heaps.size))
        table[:free, :free] = (self.directions.T * tilt) @ self.directions - both - both.T
        table[:free, free:] = -np.outer(turned, heaps)
        table[free:, :free] = table[:free, free:].T
        table[free:, free:] = np.diag(own) - np.outer(own, heaps) - np.outer(heaps, own)
        return np.asarray(table * self.scale * self.scale[:, None])


@one_thread
def mode(problem: Problem, order: int, tau: float, start: Floats | None = None) -> Mode:
    """The posterior mode under one prior, by Newton's method; damped scoring where that fails."""
    posterior = Posterior(problem, order, tau)
    point = posterior.at(np.zeros(posterior.scale.size) if start is None else start)
    damping, diagonal = 0.0, np.diag_indices(posterior.scale.size)
    for _ in range(STEPS):
        slope = posterior.slope(point)
        pull = posterior.information.columns.T @ (problem.counts / point.fitted)
        gradient = pull @ slope - point.theta
        precision = slope.T @ (posterior.information.near(point.fitted) @ slope)
        precision[diagonal] += 1
        trial = posterior.step(point, precision - posterior.bend(point, pull), gradient)
        plain = trial.value >= point.value - SLACK
        for _ in range(TRIES):
            if trial.value >= point.value - SLACK:
                break
            damped = precision.copy()
            damped[diagonal] *= 1 + damping
            trial = posterior.step(point, damped, gradient)
            damping = max(4 * damping, 1e-2)
        else:
            break
        gained, point = trial.value - point.value, trial
        if gained < GAIN and (plain or damping <= SMALL):
            break
        damping = damping / 16 if damping > SMALL else 0.0
    # The precision is that of the last step but one, which differs by next to nothing.
    weight, middle, spread = ORDERS[order]
    prior = weight - ((math.log(tau) - middle) / spread) ** 2 / 2
    evidence = point.value - half_log_determinant(precision) + prior
    return Mode(
        **vars(point), order=order, tau=tau, slope=slope, precision=precision, evidence=evidence
    )


def half_log_determinant(precision: Floats) -> float:
    """Half the logarithm of the determinant of the identity plus a positive semidefinite matrix."""
    root, failed = dpotrf(precision, lower=1)
    if failed:
        # Rounding made it indefinite. Its eigenvalues are at least one.
        return float(np.log(np.maximum(np.linalg.eigvalsh(precision), 1)).sum()) / 2
    return float(np.log(np.diag(root)).sum())


def moved(problem: Problem, last: Mode, order: int, tau: float) -> Floats:
    """The coefficients of a mode's density under another prior, to start from."""
    coefficients = basis(last.eta.size, order, problem.waves).inverse @ last.eta
    coefficients[order - 1 :] /= tau
    heaps = last.shares.size - 1
    return np.append(coefficients, last.theta[last.theta.size - heaps :])


class Ladder:
    """The modes of one problem, found when they are asked for, each from the nearest one.

    Parameters
    ----------
    problem
        Of all modes.
    start
        A mode of it to start from, if there is one.
    """

    def __init__(self, problem: Problem, start: Mode | None = None) -> None:
        self.problem, self.start = problem, start
        self.found: dict[tuple[int, int], Mode] = {}

    @property
    def best(self) -> Mode:
        """The mode of the most evidence so far."""
        return max(self.found.values(), key=lambda one: one.evidence)

    def mode(self, order: int, rung: int) -> Mode:
        """The mode of an order at one of its scales."""
        if (order, rung) not in self.found:
            tau = float(SCALES[order][rung])
            near = [one for own, one in self.found if own == order]
            if near:
                last: Mode | None = self.found[order, min(near, key=lambda one: abs(one - rung))]
            else:
                last = self.best if self.found else self.start
            start = None if last is None else moved(self.problem, last, order, tau)
            self.found[order, rung] = mode(self.problem, order, tau, start)
        return self.found[order, rung]

    def climb(self) -> None:
        """Find the best scale of each order; the evidence has one peak, or nearly."""
        for order in sorted(ORDERS, reverse=True):
            rung = self.guess(order)
            for step in (1, -1):
                while 0 <= rung + step < SCALES[order].size and (
                    self.mode(order, rung + step).evidence > self.mode(order, rung).evidence
                ):
                    rung += step
            self.retrace(order, rung)

    def retrace(self, order: int, rung: int) -> None:
        """Reach a scale again from smoother ones; of two modes keep the one with more evidence.

        A narrow population has several modes under a rough prior. The best one is smooth, and a
        path from smoother priors leads there; one from another order may end beside it.
        """
        first = max(rung - BACK, 0)
        last = mode(self.problem, order, float(SCALES[order][first]))
        for at in range(first + 1, SCALES[order].size):
            if at > rung and (order, at) not in self.found:
                return
            tau = float(SCALES[order][at])
            last = mode(self.problem, order, tau, moved(self.problem, last, order, tau))
            known = self.found.get((order, at))
            if known is None or last.evidence > known.evidence + GAIN:
                self.found[order, at] = last
            elif at >= rung:
                return
            else:
                last = known

    def guess(self, order: int) -> int:
        """The scale that fits the best density so far: coefficients of unit variance."""
        known = self.best if self.found else self.start
        if known is None:
            tau = math.exp(ORDERS[order][1])
        elif known.order == order:
            tau = known.tau
        else:
            told = known.theta.size - float(np.trace(np.linalg.inv(known.precision)))
            own = basis(known.eta.size, order, self.problem.waves).inverse @ known.eta
            tau = math.sqrt(float(own[order - 1 :] @ own[order - 1 :]) / max(told, 1.0))
        return int(np.abs(np.log(SCALES[order] / max(tau, 1e-9))).argmin())

    def above(self, floor: float) -> list[Mode]:
        """All modes whose evidence is above a floor, found from the best of each order outward."""
        for order in ORDERS:
            own = {rung: one.evidence for (each, rung), one in self.found.items() if each == order}
            for step in (1, -1):
                rung = max(own, key=own.__getitem__)
                while 0 <= rung < SCALES[order].size and self.mode(order, rung).evidence > floor:
                    rung += step
        return [one for one in self.found.values() if one.evidence > floor]
