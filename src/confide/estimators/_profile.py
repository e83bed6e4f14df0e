"""Likelihood-ratio tests of one point of a distribution function, many surveys at once.

The log-likelihood is concave in the masses, and F(x) = c is one linear equation, so both fits are
small convex problems. An interior-point method solves them in about 15 Newton steps to a certified
gap, where expectation maximisation creeps for thousands of steps; a top that is not reached
would make every interval wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from confide.estimators._em import em
from confide.estimators._grids import Reduced
from confide.mechanisms.laws import Law

Floats = npt.NDArray[np.float64]

NODES, BINS = 1024, 96
PILOT_CELLS = 64
PILOT_SHARES = (0.1, 0.5, 0.9)
DRAWS, SEED = 100, 19_720_101
ALLOWANCE = 1.3
GAP = 1e-3
CHUNK = 2**20
EVEN = 1e-12


def maximize(
    law: Floats, shares: Floats, contrast: Floats | None = None, *, gap: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Masses f >= 0 with sum 1 and contrast . f = 0 that maximise sum shares log(law f).

    A primal-dual interior-point method. With the log-likelihood's scale the sum needs no
    constraint of its own: the minimum of sum f - sum shares log(law f) has sum f = 1, and still
    has it under contrast . f = 0. Each Newton system is solved in the space of reports
    (Woodbury), where it is well conditioned: identity plus a Gram matrix.

    Parameters
    ----------
    law : array (reports, cells)
    shares : array (batch, reports)
        Of the reports; each row sums to one.
    contrast : array (batch, cells), optional
        With entries of both signs in each row.
    gap : float or array (batch,)
        A row is done when its value is certainly within ``gap`` of the maximum: for every
        multiplier mu with 1 + mu contrast > 0 Jensen's inequality bounds what is missing by
        log max_k (law' (shares / law f))_k / (1 + mu contrast_k).

    Returns
    -------
    masses : array (batch, cells)
    values : array (batch,)
        sum shares log(law f).
    """
    rows, cells = shares.shape[0], law.shape[1]
    masses, values = np.empty((rows, cells)), np.empty(rows)
    gaps = np.broadcast_to(np.asarray(gap, dtype=np.float64), (rows,))
    step = max(1, CHUNK // law.size)
    for start in range(0, rows, step):
        part = slice(start, start + step)
        masses[part], values[part] = _maximize(
            law, shares[part], None if contrast is None else contrast[part], gaps[part]
        )
    return masses, values


def _maximize(
    law: Floats, shares: Floats, contrast: Floats | None, gap: Floats, iterations: int = 100
) -> tuple[Floats, Floats]:
    (rows, reports), cells = shares.shape, law.shape[1]
    law = (1 - EVEN) * law + EVEN / reports  # a report that no cell explains must not stop the rest
    tied = contrast is not None
    h = np.zeros((rows, cells)) if contrast is None else contrast
    up, down = np.maximum(h, 0).sum(1, keepdims=True), np.maximum(-h, 0).sum(1, keepdims=True)
    f = np.where(h > 0, down, np.where(h < 0, up, (up + down) / 2)) if tied else np.ones(h.shape)
    f = f / f.sum(1, keepdims=True)
    z, mu = np.ones((rows, cells)), np.zeros((rows, 1))
    masses, values = np.empty((rows, cells)), np.empty(rows)
    live = np.arange(rows)
    diagonal = np.arange(reports)
    for turn in range(iterations):
        fitted = f @ law.T
        gradient = (shares / fitted) @ law
        slack = 1 + mu * h
        total = f.sum(1)
        worst = np.where(slack > 0, gradient / np.where(slack > 0, slack, 1.0), np.inf).max(1)
        done = np.log(worst * total) < gap
        if turn == iterations - 1:
            done[:] = True
        if done.any():
            at, scale = live[done], total[done, None]
            masses[at] = f[done] / scale
            values[at] = (shares[done] * np.log(fitted[done] / scale)).sum(1)
            keep = ~done
            if not keep.any():
                break
            live, shares, gap, h, f, z = (a[keep] for a in (live, shares, gap, h, f, z))
            mu, fitted, gradient, slack = mu[keep], fitted[keep], gradient[keep], slack[keep]
        target = 0.1 * (f * z).mean(1, keepdims=True)
        right = gradient - slack + target / f
        spread = f / z
        root = (np.sqrt(shares) / fitted)[:, :, None] * law
        system = (root * spread[:, None, :]) @ root.swapaxes(1, 2)
        system[:, diagonal, diagonal] += 1
        sides = spread[:, :, None] * np.stack([right, h], axis=-1)
        inner = np.linalg.solve(system, root @ sides)
        moves = sides - spread[:, :, None] * (root.swapaxes(1, 2) @ inner)
        change = np.zeros_like(mu)
        if tied:
            along = (h[:, :, None] * moves).sum(1)
            change = (along[:, :1] + (h * f).sum(1, keepdims=True)) / along[:, 1:]
        df = moves[..., 0] - change * moves[..., 1]
        dz = (target - z * df) / f - z
        # Stay a hundredth of the way off the walls.
        near = 0.99 / np.maximum((-df / f).max(1, keepdims=True), 0.99)
        far = 0.99 / np.maximum((-dz / z).max(1, keepdims=True), 0.99)
        f, z, mu = f + near * df, z + far * dz, mu + far * change
    return masses, values


class Profile:
    """Tests of the distribution function, from counts of reports.

    All arrays have a leading batch axis, one row a survey. Places are positions among the nodes of
    the test: 0 is the low end of the lattice, k its k-th edge, and the distribution function is
    linear between. Reports are binned into at most 96, which loses a little information and no
    honesty. Cells are joined only on lattices of more than 1,024: masses that sit at a few values
    (zeros, round numbers) would otherwise make a joined cell's even spread a wrong model.

    Attributes
    ----------
    nodes
        Numbers of the lattice's edges that are nodes.
    law
        Distribution of binned reports given a cell between nodes.
    """

    def __init__(self, law: Law, *, nodes: int = NODES, bins: int = BINS) -> None:
        size, reports = law.inputs[0], law.outputs[0]
        starts = np.arange(0, size, -(-size // nodes))
        self.nodes = np.append(starts, size)
        self._bins = np.unique(np.linspace(0, reports, min(reports, bins) + 1).astype(int)[:-1])
        ends = np.append(self._bins[1:], reports)
        columns = np.empty((self._bins.size, starts.size))
        for row, (first, last) in enumerate(zip(self._bins, ends, strict=True)):
            inside = np.zeros(reports)
            inside[first:last] = 1.0
            columns[row] = np.add.reduceat(law.adjoint(inside), starts)
        columns = np.maximum(columns, 0.0)
        self.law: Floats = columns / columns.sum(0)
        self.size = starts.size

    def bin(self, counts: Floats) -> Floats:
        """Counts of the bins of reports."""
        return np.add.reduceat(counts, self._bins, axis=-1)

    def fit(self, counts: Floats) -> tuple[Floats, Floats]:
        """Masses without any constraint, and the log-likelihood a report."""
        n = counts.sum(1)
        return maximize(self.law, counts / n[:, None], gap=GAP / n)

    def below(self, places: Floats) -> Floats:
        """Part of each cell below each place."""
        return np.clip(places[:, None] - np.arange(self.size), 0, 1)

    def deviance(self, counts: Floats, parts: Floats, shares: Floats, top: Floats) -> Floats:
        """Twice the log-likelihood lost by a share of some cells; infinite where it cannot be.

        Parameters
        ----------
        counts : array (batch, bins)
        parts : array (batch, cells)
            Part of each cell that the share is of; ``below(places)`` for F(place) = share.
        shares : array (batch,)
        top : array (batch,)
            Log-likelihoods a report, from `fit`.
        """
        contrast = parts - shares[:, None]
        possible = (contrast.max(1) > 0) & (contrast.min(1) < 0)
        result = np.full(len(parts), np.inf)
        if possible.any():
            some = counts[possible]
            n = some.sum(1)
            _, value = maximize(self.law, some / n[:, None], contrast[possible], gap=GAP / n)
            result[possible] = np.maximum(2 * n * (top[possible] - value), 0.0)
        return result

    def scale(self, counts: Floats) -> Floats:
        """How many times a chi-square the deviance is, at this law and these counts.

        The deviance is not a chi-square where masses press against zero: its mean runs from .2
        (Laplace, epsilon 1) to 2 (square wave, epsilon 4, n=100), because noise alone decides
        there what the likelihood can tell apart, or because the positive parts of many small
        masses add up (Batlle et al. 2023 refute the conjecture that one degree of freedom is
        safe). Its shape stays close to a chi-square's. So its mean is measured: surveys are drawn
        (with a fixed seed) from a smooth fit, EMS on 64 cells, and tested at its own quantiles.
        """
        cells = min(self.size, PILOT_CELLS)
        starts = np.linspace(0, self.size, cells + 1).astype(int)[:-1]
        law = np.add.reduceat(self.law, starts, axis=1)
        law = law / law.sum(0)
        generator = np.random.default_rng(SEED)
        result = np.empty(len(counts))
        pilots = em(Reduced((law,)), counts, smoothing=1.0, tolerance=1e-2, iterations=200)
        for row, pilot in enumerate(pilots):
            n = max(1, round(float(counts[row].sum())))
            chances = law @ pilot
            drawn = generator.multinomial(n, chances / chances.sum(), size=DRAWS) / n
            _, top = maximize(law, drawn, gap=10 * GAP / n)
            line = np.append(0.0, pilot.cumsum())
            means = []
            for share in PILOT_SHARES:
                place = np.interp(share, line / line[-1], np.arange(cells + 1))
                contrast = np.clip(place - np.arange(cells), 0, 1) - share
                tied = np.broadcast_to(contrast, (DRAWS, cells))
                _, value = maximize(law, drawn, tied, gap=10 * GAP / n)
                means.append(2 * n * np.mean(top - value))
            result[row] = ALLOWANCE * max(means)
        return result
