"""Log-densities with a Gaussian-process prior, and how much the reports speak for each of them.

The density is a smooth part, softmax(eta) on equal cells, and heaps. The prior of eta is an
integrated Wiener process of order 1, 2 or 3: its q-th differences are independent. Its scale tau
says how rough the density may be. For each order and scale the posterior mode is found by Newton's
method, and Laplace's approximation gives the evidence: the chance of the reports under that prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from confide._types import Floats
from confide.estimators.em import LEAST, one_thread
from confide.estimators.resolution import wave_information, waves

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
LITTLE = 1e-3
"""Information on a coefficient, in units of its prior's, below which it stays next to zero."""
SLOW = 0.25
"""Part of what the last step gained from which on another curvature is worth its time."""
NONE = np.ones(1)
"""Shares where there are no heaps."""
NO_TABLE = np.zeros((0, 0))
BACK = 4
"""How many scales below the one that fits the search for the best one starts."""
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
    sizes
        Mean square of each penalized direction.
    """

    columns: Floats
    inverse: Floats
    sizes: Floats


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
    sizes: Floats = 1 / (cells * roots[kept])
    columns.flags.writeable = inverse.flags.writeable = sizes.flags.writeable = False
    return Basis(columns, inverse, sizes)


class Information:
    """Fisher information of masses, n law' diag(1 / fitted) law, along given slopes.

    It depends on the fitted chances of the reports alone, which differ little between the priors
    that are worth a look. So it is taken where they have settled as long as they stay near. There a
    table of it makes each use cheaper, and is made once its uses would have paid for it.
    """

    def __init__(self, columns: Floats, n: float) -> None:
        self.columns, self.n = columns, n
        self.fitted = self.last = np.zeros(columns.shape[0])
        self.table: Floats = NO_TABLE
        self.spent = 0

    def along(self, slope: Floats, fitted: Floats) -> Floats:
        """The information on coefficients, given the slopes of the masses by them."""
        if not _near(fitted, self.fitted):
            if not _near(fitted, self.last):
                self.last = fitted
                return self._plain(slope, fitted)
            self.fitted, self.table, self.spent = fitted, NO_TABLE, 0
        if not self.table.size:
            (bins, masses), directions = self.columns.shape, slope.shape[1]
            # Products that the table would have saved, and those that it takes.
            self.spent += (bins - masses) * directions * (2 * masses + directions)
            if self.spent < bins * masses**2:
                return self._plain(slope, self.fitted)
            half = self.columns * np.sqrt(self.n / self.fitted)[:, None]
            self.table = half.T @ half
        return np.asarray(slope.T @ (self.table @ slope))

    def _plain(self, slope: Floats, fitted: Floats) -> Floats:
        half = self.columns @ slope
        half *= np.sqrt(self.n / fitted)[:, None]
        return np.asarray(half.T @ half)

    def added(self, column: Floats) -> Information:
        """With one more column of the law."""
        more = Information(np.hstack([self.columns, column[:, None]]), self.n)
        more.last, more.fitted, more.spent = self.last, self.fitted, self.spent
        if self.table.size:
            last = self.n * ((column / self.fitted) @ more.columns)
            more.table = np.block([[self.table, last[:-1, None]], [last]])
        return more


def _near(fitted: Floats, known: Floats) -> bool:
    return float(((fitted - known) ** 2 / fitted).sum()) < NEAR


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
        Directions of the smooth part, at most.
    one_report
        What it tells of waves of 1, 2, ... half periods if the density is even, where that is known
        from before.
    """

    counts: Floats
    law: Floats
    heaps: Floats
    waves: int
    one_report: Floats | None = None

    @cached_property
    def n(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())

    @cached_property
    def columns(self) -> Floats:
        """Bins by smooth cells and heaps."""
        return np.hstack([self.law, self.heaps]) if self.heaps.size else self.law

    @cached_property
    def information(self) -> Information:
        """About the masses of smooth cells and heaps."""
        return Information(self.columns, self.n)

    @cached_property
    def told(self) -> Floats:
        """Information of the reports about waves of 1, 2, ... half periods of an even density."""
        if self.one_report is not None:
            return self.n * self.one_report
        waved = self.law @ waves(self.law.shape[1], self.waves + max(ORDERS))
        return self.n * wave_information(self.law, waved)

    @cached_property
    def worth(self) -> dict[int, Floats]:
        """By order: the most that the reports tell, at tau = 1, of a direction or a later one."""
        found = {}
        for order in ORDERS:
            sizes = basis(self.law.shape[1], order, self.waves).sizes
            told = self.told[order - 1 :][: sizes.size]
            found[order] = np.maximum.accumulate((sizes[: told.size] * told)[::-1])[::-1]
        return found

    def directions(self, order: int, tau: float) -> int:
        """Number of directions of an order that matter at one of its scales.

        Of the others the reports tell so little that their coefficients stay next to zero. A
        penalized direction has about as many half periods as it has zeros.
        """
        some = int(np.count_nonzero(tau**2 * self.worth[order] > LITTLE))
        return order - 1 + max(some, 1)

    def added(self, heap: Floats) -> Problem:
        """With one more heap, whose column of the law is given."""
        more = Problem(self.counts, self.law, np.hstack([self.heaps, heap[:, None]]), self.waves)
        information = self.information.added(heap)
        vars(more).update(n=self.n, told=self.told, worth=self.worth, information=information)
        vars(more)["columns"] = information.columns
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
        Of the posterior, by the information that is expected.
    curvature
        Of the posterior, by the reports as they are.
    evidence
        Its logarithm.
    """

    order: int
    tau: float
    slope: Floats
    precision: Floats
    curvature: Floats
    evidence: float

    @cached_property
    def variances(self) -> Floats:
        """Of the coefficients."""
        root, failed = dpotrf(self.precision, lower=1)
        if failed:
            return np.asarray(np.diag(np.linalg.inv(self.precision)), dtype=np.float64)
        inverse, _ = dtrtri(root, lower=1)
        return np.asarray(np.einsum("ij,ij->j", inverse, inverse))


class Posterior:
    """The posterior of the coefficients under one prior, up to a constant."""

    def __init__(self, problem: Problem, order: int, tau: float) -> None:
        self.problem = problem
        self.free = problem.directions(order, tau)
        self.cells = problem.law.shape[1]
        self.size = self.free + problem.heaps.shape[1]
        self.directions = basis(self.cells, order, problem.waves).columns[:, : self.free].copy()
        self.directions[:, order - 1 :] *= tau

    def at(self, theta: Floats) -> Point:
        """The density with given coefficients."""
        eta = self.directions @ theta[: self.free]
        smooth = np.exp(eta - np.maximum.reduce(eta))
        smooth /= np.add.reduce(smooth)
        if theta.size > self.free:
            odds = np.empty(theta.size - self.free + 1)
            odds[0] = 1.0
            odds[1:] = SHARE * np.exp(np.clip(SPREAD * theta[self.free :], -700, 700))
            shares = odds / odds.sum()
            masses = np.concatenate([shares[0] * smooth, shares[1:]])
        else:
            shares, masses = NONE, smooth
        fitted = self.problem.columns @ masses
        np.maximum(fitted, LEAST, out=fitted)
        likelihood = float(self.problem.counts.dot(np.log(fitted)))
        value = likelihood - float(theta.dot(theta)) / 2
        return Point(theta, eta, smooth, shares, fitted, likelihood, value)

    def step(self, point: Point, root: Floats, gradient: Floats) -> Point:
        """The density one step further, by the Cholesky factor of a curvature."""
        step, _ = dpotrs(root, gradient, lower=1)
        return self.at(point.theta + step)

    def coast(self, point: Point, root: Floats) -> Point:
        """The density some steps further, all with one curvature, as long as they pay.

        A step costs a fraction of what the curvature does.
        """
        last = math.inf
        while True:
            gradient = self.gradient(point, self.tilt(point, self.pull(point)))
            trial = self.step(point, root, gradient)
            gained = trial.value - point.value
            if not gained > 0:
                return point
            point = trial
            if gained < GAIN or gained > last * SLOW:
                return point
            last = gained

    def pull(self, point: Point) -> Floats:
        """Derivative of the log-likelihood by the masses."""
        return np.asarray((self.problem.counts / point.fitted) @ self.problem.columns)

    def tilt(self, point: Point, pull: Floats) -> Floats:
        """Derivative of ``pull @ masses`` by the logarithms of the smooth masses and the heaps."""
        cells, first = self.cells, float(point.shares[0])
        own = pull[:cells]
        inner = float(point.smooth.dot(own))
        smooth = own - inner
        smooth *= point.smooth
        heaps = point.shares[1:]
        if not heaps.size:
            return np.asarray(smooth)
        smooth *= first
        own = pull[cells:]
        return np.concatenate([smooth, heaps * (own - first * inner - float(heaps.dot(own)))])

    def gradient(self, point: Point, tilt: Floats) -> Floats:
        """Derivative of the logarithm of the posterior by the coefficients."""
        if tilt.size == self.cells:
            return np.asarray(tilt @ self.directions - point.theta)
        turned = tilt[: self.cells] @ self.directions
        return np.concatenate([turned, SPREAD * tilt[self.cells :]]) - point.theta

    def slope(self, point: Point) -> Floats:
        """Derivative of the masses by the coefficients."""
        cells, free, heaps = self.cells, self.free, point.shares[1:]
        masses = point.shares[0] * point.smooth
        smooth = self.directions - point.smooth @ self.directions
        smooth *= masses[:, None]
        if not heaps.size:
            return np.asarray(smooth)
        table = np.empty((cells + heaps.size, free + heaps.size))
        table[:cells, :free] = smooth
        table[cells:, :free] = 0
        table[:cells, free:] = np.multiply.outer(masses, -SPREAD * heaps)
        table[cells:, free:] = SPREAD * (np.diag(heaps) - np.multiply.outer(heaps, heaps))
        return table

    def bend(self, point: Point, tilt: Floats) -> Floats:
        """Second derivative of ``pull @ masses`` by the coefficients."""
        cells, free, heaps = self.cells, self.free, point.shares[1:]
        smooth, own = tilt[:cells], tilt[cells:]
        turned, middle = smooth @ self.directions, point.smooth @ self.directions
        both = np.multiply.outer(turned, middle)
        inner = (self.directions.T * smooth) @ self.directions
        inner -= both
        inner -= both.T
        if not heaps.size:
            return np.asarray(inner)
        table = np.empty((free + heaps.size, free + heaps.size))
        table[:free, :free] = inner
        table[:free, free:] = np.multiply.outer(turned, -SPREAD * heaps)
        table[free:, :free] = table[:free, free:].T
        both = np.multiply.outer(own, heaps)
        table[free:, free:] = SPREAD**2 * (np.diag(own) - both - both.T)
        return table

    def precision(self, point: Point, slope: Floats) -> Floats:
        """Expected information on the coefficients, with that of the prior."""
        precision = self.problem.information.along(slope, point.fitted)
        precision.flat[:: precision.shape[0] + 1] += 1
        return np.asarray(precision)


@one_thread
def mode(
    problem: Problem,
    order: int,
    tau: float,
    start: Floats | None = None,
    about: Floats | None = None,
) -> Mode:
    """The posterior mode under one prior, by Newton's method; damped scoring where that fails.

    Parameters
    ----------
    problem
        Reports, and their law.
    order, tau
        The prior.
    start
        Coefficients to start from.
    about
        The curvature of the posterior at the start, if it is about known: that saves steps.
    """
    posterior = Posterior(problem, order, tau)
    point = posterior.at(np.zeros(posterior.size) if start is None else start)
    if about is not None:
        root, failed = dpotrf(about, lower=1)
        if not failed:
            point = posterior.coast(point, root)
    damping = 0.0
    for _ in range(STEPS):
        slope = posterior.slope(point)
        tilt = posterior.tilt(point, posterior.pull(point))
        gradient = posterior.gradient(point, tilt)
        precision = posterior.precision(point, slope)
        curvature = precision - posterior.bend(point, tilt)
        root, failed = dpotrf(curvature, lower=1)
        trial = None if failed else posterior.step(point, root, gradient)
        plain = trial is not None and trial.value >= point.value - SLACK
        for _ in range(TRIES):
            if trial is not None and trial.value >= point.value - SLACK:
                break
            damped = precision.copy()
            damped.flat[:: damped.shape[0] + 1] *= 1 + damping
            firm, failed = dpotrf(damped, lower=1)
            trial = None if failed else posterior.step(point, firm, gradient)
            damping = max(4 * damping, 1e-2)
        else:
            break
        assert trial is not None
        gained, point = trial.value - point.value, trial
        if gained < GAIN and (plain or damping <= SMALL):
            break
        damping = damping / 16 if damping > SMALL else 0.0
        if plain:
            point = posterior.coast(point, root)
    # The precision is that of the last step but one, which differs by next to nothing.
    weight, middle, spread = ORDERS[order]
    prior = weight - ((math.log(tau) - middle) / spread) ** 2 / 2
    evidence = point.value - half_log_determinant(precision) + prior
    return Mode(
        point.theta,
        point.eta,
        point.smooth,
        point.shares,
        point.fitted,
        point.likelihood,
        point.value,
        order=order,
        tau=tau,
        slope=slope,
        precision=precision,
        curvature=curvature,
        evidence=evidence,
    )


def half_log_determinant(precision: Floats) -> float:
    """Half the logarithm of the determinant of the identity plus a positive semidefinite matrix."""
    root, failed = dpotrf(precision, lower=1)
    if failed:
        # Rounding made it indefinite. Its eigenvalues are at least one.
        return float(np.log(np.maximum(np.linalg.eigvalsh(precision), 1)).sum()) / 2
    return float(np.log(np.diag(root)).sum())


def moved(problem: Problem, last: Mode, order: int, tau: float) -> Mode:
    """The mode under another prior, from one of the same problem."""
    heaps, free = last.shares.size - 1, problem.directions(order, tau)
    start, curvature = np.zeros(free + heaps), None
    old = last.theta.size - heaps
    start[free:] = last.theta[old:]
    if last.order == order:
        # The curvature of the likelihood hardly differs, and is known in the directions of both.
        both, times = min(old, free), tau / last.tau
        start[:both] = last.theta[:both]
        start[order - 1 : both] /= times
        known = last.curvature.copy()
        known.flat[:: last.theta.size + 1] -= 1
        known[order - 1 : old] *= times
        known[:, order - 1 : old] *= times
        curvature = np.zeros((start.size, start.size))
        curvature[:both, :both] = known[:both, :both]
        if heaps:
            curvature[free:, free:] = known[old:, old:]
            curvature[:both, free:] = known[:both, old:]
            curvature[free:, :both] = known[old:, :both]
        curvature.flat[:: start.size + 1] += 1
    else:
        start[:free] = basis(last.eta.size, order, problem.waves).inverse[:free] @ last.eta
        start[order - 1 : free] /= tau
    return mode(problem, order, tau, start, curvature)


class Ladder:
    """The modes of one problem: after a climb, found when asked for, each from the nearest one.

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
            last = self.found[order, min(near, key=lambda one: abs(one - rung))]
            self.found[order, rung] = moved(self.problem, last, order, tau)
        return self.found[order, rung]

    def climb(self) -> None:
        """Find the best scale of each order; the evidence has one peak, or nearly.

        A narrow population has several modes under a rough prior. The best one is smooth, and a
        path from smoother priors leads there; one from the best mode of another order may end
        beside it. So the climb starts some scales below the one that fits, from a smooth density.
        """
        first: Mode | None = None
        for order in sorted(ORDERS, reverse=True):
            rung = max(self.guess(order) - BACK, 0)
            tau = float(SCALES[order][rung])
            if first is None:
                first = mode(self.problem, order, tau, self.even(order, tau))
                self.found[order, rung] = first
            else:
                self.found[order, rung] = moved(self.problem, first, order, tau)
            for step in (1, -1):
                while 0 <= rung + step < SCALES[order].size and (
                    self.mode(order, rung + step).evidence > self.mode(order, rung).evidence
                ):
                    rung += step

    def even(self, order: int, tau: float) -> Floats:
        """Coefficients of an even density, with the heaps of the start."""
        heaps = self.problem.heaps.shape[1]
        coefficients = np.zeros(self.problem.directions(order, tau) + heaps)
        if self.start is not None and heaps:
            coefficients[-heaps:] = self.start.theta[-heaps:]
        return coefficients

    def guess(self, order: int) -> int:
        """The scale that fits the best density so far: coefficients of unit variance."""
        known = self.best if self.found else self.start
        if known is None:
            tau = math.exp(ORDERS[order][1])
        elif known.order == order:
            tau = known.tau
        else:
            told = known.theta.size - float(known.variances.sum())
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
