"""Maximum likelihood of masses under one linear constraint, many surveys at once.

An interior-point method takes about 15 Newton steps to a certified gap, where expectation
maximization creeps for thousands of steps.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from confide._types import Flags, Floats, Integers
from confide.estimators.em import apart, one_thread
from confide.estimators.resolution import told, waves
from confide.mechanisms.laws import Law

CHUNK = 2**20
EVEN = 1e-12
CLOSED = 1e-6
"""Part of the gap that is asked for at which doubles no longer tell whether it is reached."""
AWAY, SLACK = 0.1, 0.03
"""How far from masses that are given, towards even ones, and with which slack a search starts."""


@one_thread
def maximize(
    law: Floats,
    shares: Floats,
    contrast: Floats | None = None,
    *,
    gap: npt.ArrayLike,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Masses f >= 0 with sum 1 and contrast . f = 0 that maximize sum shares log(law f).

    A primal-dual interior-point method. With the log-likelihood's scale the sum needs no
    constraint of its own: the minimum of sum f - sum shares log(law f) has sum f = 1, and still
    has it under contrast . f = 0. Each Newton system is solved in the space of reports
    (Woodbury) or of cells, whichever is smaller: identity plus a Gram matrix in both, and well
    conditioned.

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
    start : array (cells,) or (batch, cells), optional
        Masses near the maximum, which spare a quarter of the steps.

    Returns
    -------
    masses : array (batch, cells)
    values : array (batch,)
        sum shares log(law f).
    """
    rows, cells = shares.shape[0], law.shape[1]
    masses, values = np.empty((rows, cells)), np.empty(rows)
    gaps = np.broadcast_to(np.asarray(gap, dtype=np.float64), (rows,))
    near = None if start is None else np.broadcast_to(start, (rows, cells))
    step = max(1, CHUNK // law.size)
    for first in range(0, rows, step):
        part = slice(first, first + step)
        masses[part], values[part] = _maximize(
            law,
            shares[part],
            None if contrast is None else contrast[part],
            gaps[part],
            start=None if near is None else near[part],
        )
    return masses, values


def _maximize(
    law: Floats,
    shares: Floats,
    contrast: Floats | None,
    gap: Floats,
    *,
    start: Floats | None,
    iterations: int = 100,
) -> tuple[Floats, Floats]:
    (rows, reports), cells = shares.shape, law.shape[1]
    law = (1 - EVEN) * law + EVEN / reports  # a report that no cell explains must not stop the rest
    tied = contrast is not None
    h = np.zeros((rows, cells)) if contrast is None else contrast
    f = np.full(h.shape, 1 / cells)
    z, mu = np.ones((rows, cells)), np.zeros((rows, 1))
    if start is not None:
        f, z = (1 - AWAY) * start + AWAY * f, np.full((rows, cells), SLACK)
    if tied:
        # A search that starts on the constraint stays there.
        up, down = ((np.maximum(side, 0) * f).sum(1, keepdims=True) for side in (h, -h))
        f = f * np.where(h > 0, down, np.where(h < 0, up, (up + down) / 2))
    f = f / f.sum(1, keepdims=True)
    masses, values = np.empty((rows, cells)), np.empty(rows)
    live = np.arange(rows)
    for turn in range(iterations):
        fitted = f @ law.T
        gradient = (shares / fitted) @ law
        slack = 1 + mu * h
        total = f.sum(1)
        worst = np.where(slack > 0, gradient / np.where(slack > 0, slack, 1.0), np.inf).max(1)
        # Where the method itself has closed the gap long ago, rounding keeps it from being certain.
        done = (np.log(worst * total) < gap) | ((f * z).sum(1) < CLOSED * gap)
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
        scale = np.sqrt(f / z)[:, :, None]
        sides = scale * np.stack([right, h], axis=-1)
        half = (np.sqrt(shares) / fitted)[:, :, None] * (law * scale[:, None, :, 0])
        if cells < reports:
            moves = scale * np.linalg.solve(_plus_one(half.swapaxes(1, 2)), sides)
        else:
            inner = np.linalg.solve(_plus_one(half), half @ sides)
            moves = scale * (sides - half.swapaxes(1, 2) @ inner)
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


def _plus_one(half: Floats) -> Floats:
    """Identity plus half half', for each matrix of a batch."""
    system = half @ half.swapaxes(1, 2)
    diagonal = np.arange(half.shape[1])
    system[:, diagonal, diagonal] += 1
    return system


NODES, BINS, MOST_BINS = 1024, 64, 160
EVENLY = 0.5
"""Part of the bins that are spread evenly; the others lie where the reports are."""
CELLS = 256
"""Cells on which is looked at what reports can tell."""
GAP = 1e-3
BEND = 1e-13
"""Second differences of straight lines, at most: what rounding leaves of zero."""


def bins_for(law: Law, n: float) -> int:
    """Bins of reports that lose little: as fine as what n reports under this law can tell.

    A square wave at epsilon 1 needs 64 up to 20,000 respondents, at epsilon 4 it needs 72 for 500
    and 128 from 4,000 on. From 3e5 respondents on their number alone asks for more, up to 160.
    """
    size, reports = law.inputs[0] - apart(law), law.outputs[0] - apart(law)
    if reports <= BINS:
        return BINS
    table = _binned(law, _starts(reports, min(reports, CELLS)), _evenly(size, CELLS))
    cells = table[:, : min(size, CELLS)]
    fine = BINS - 16 + min(told(cells, cells @ waves(cells.shape[1], CELLS), n), 80)
    return int(np.clip(max(fine, 2 * np.cbrt(n)), BINS, MOST_BINS))


def _evenly(size: int, most: int) -> Integers:
    """The first cells of as many equal groups as there may be."""
    return np.unique(np.linspace(0, size, min(size, most) + 1).astype(np.int64)[:-1])


def _starts(reports: int, bins: int, chances: Floats | None = None) -> Integers:
    """The first report of each bin: half of the bins spread evenly, half where the reports are."""
    if reports <= bins:
        return np.arange(reports)
    dense = np.full(reports, 1 / reports)
    if chances is not None:
        dense = EVENLY * dense + (1 - EVENLY) * chances / chances.sum()
    marks = np.linspace(0, 1, bins + 1)[1:-1]
    # Half a report beyond rounding: even bins start where a division of integers puts them.
    inner = np.searchsorted(dense.cumsum(), marks - 1e-9 / reports) + 1
    found = np.unique(np.append(0, inner))
    return np.asarray(found[found < reports], dtype=np.int64)


def _binned(law: Law, bins: Integers, cells: Integers) -> Floats:
    """The law of bins of reports given cells, each even inside; those who declined are the last."""
    extra = apart(law)
    size, reports = law.inputs[0] - extra, law.outputs[0] - extra
    first = np.append(bins, np.full(extra, reports))
    last = np.append(first[1:], reports + extra)
    each = np.append(cells, np.full(extra, size))
    columns = np.empty((first.size, each.size))
    for row, (start, end) in enumerate(zip(first, last, strict=True)):
        inside = np.zeros(reports + extra)
        inside[start:end] = 1.0
        columns[row] = np.add.reduceat(law.adjoint(inside), each)
    columns = np.maximum(columns, 0.0)
    table: Floats = columns / columns.sum(0)
    return table


class Profile:
    """Tests of the distribution function, from counts of reports.

    All arrays have a leading batch axis, one row a survey. Places are positions among the nodes of
    the test: 0 is the low end of the lattice, k its k-th edge, and the distribution function is
    linear between. Reports are binned, which loses information and no honesty; `bins_for` says how
    many bins keep the loss small, and a pilot, masses of the law's cells, says where half of them
    should lie. Cells are joined only on lattices of more than 1,024: masses
    that sit at a few values (zeros, round numbers) would otherwise make a joined cell's even
    spread a wrong model. Where people may decline, they are one more cell, the last, and shares are
    those among all others: a contrast of shares leaves them out.

    Attributes
    ----------
    nodes
        Numbers of the lattice's edges that are nodes.
    law
        Distribution of binned reports given a cell between nodes.
    size
        Cells between nodes, without that of those who declined.
    """

    def __init__(
        self, law: Law, *, nodes: int = NODES, bins: int = BINS, pilot: Floats | None = None
    ) -> None:
        self._apart = apart(law)
        size, reports = law.inputs[0] - self._apart, law.outputs[0] - self._apart
        starts = np.arange(0, size, -(-size // nodes))
        self.nodes = np.append(starts, size)
        chances = None
        if pilot is not None:
            chances = np.maximum(law.forward(pilot)[:reports], 0.0)
        self._bins = _starts(reports, bins, chances)
        self.law: Floats = _binned(law, self._bins, starts)
        self._bins = np.append(self._bins, np.full(self._apart, reports))
        self.size = starts.size

    def bin(self, counts: Floats) -> Floats:
        """Counts of the bins of reports."""
        return np.add.reduceat(counts, self._bins, axis=-1)

    def fit(self, counts: Floats, *, gap: float = GAP) -> tuple[Floats, Floats]:
        """Masses without any constraint, and the log-likelihood a report."""
        if len(counts) > 1 and (counts == counts[0]).all():
            # Several questions about one survey.
            first, value = self.fit(counts[:1], gap=gap)
            return np.repeat(first, len(counts), axis=0), np.repeat(value, len(counts))
        n = counts.sum(1)
        kept = self._corners
        some, values = maximize(self.law[:, kept], counts / n[:, None], gap=gap / n)
        masses = np.zeros((len(counts), kept.size))
        masses[:, kept] = some
        return masses, values

    @cached_property
    def _corners(self) -> Flags:
        """Cells whose law is no mean of their neighbors' laws.

        Masses of a cell between two corners can be moved to them without any change of the
        likelihood, or of a share that is a straight line between them. So those cells are left out
        of every fit, which is as good and, on the 1,024 cells of a square wave, six times as fast.
        """
        return _bends(self.law, BEND * self.law.max(), self.size)

    def among(self, masses: Floats) -> Floats:
        """Masses of the cells among those who did not decline."""
        cells = masses[:, : self.size]
        shares: Floats = cells / cells.sum(1, keepdims=True)
        return shares if self._apart else cells

    def below(self, places: Floats) -> Floats:
        """Part of each cell below each place."""
        return np.clip(places[:, None] - np.arange(self.size), 0, 1)

    def deviance(
        self,
        counts: Floats,
        parts: Floats,
        shares: Floats,
        top: Floats,
        start: Floats | None = None,
        *,
        gap: float = GAP,
    ) -> Floats:
        """Twice the log-likelihood lost by a share of some cells; infinite where it cannot be.

        Parameters
        ----------
        counts : array (batch, bins)
        parts : array (batch, cells)
            Part of each cell that the share is of; ``below(places)`` for F(place) = share.
        shares : array (batch,)
        top : array (batch,)
            Log-likelihoods a report, from `fit`.
        start : array (batch, cells), optional
            Masses from `fit`, near which the search starts.
        gap
            By which a log-likelihood may be off.
        """
        contrast = self._ignoring(parts - shares[:, None])
        possible = (contrast.max(1) > 0) & (contrast.min(1) < 0)
        result = np.full(len(parts), np.inf)
        if possible.any():
            some = counts[possible]
            n = some.sum(1)
            # Between the cells that are kept both the law and the contrasts are straight lines.
            tied = contrast[possible]
            kept = self._corners | _bends(tied, BEND, self.size)
            near = None if start is None else start[possible][:, kept]
            shared = some / n[:, None]
            _, value = maximize(self.law[:, kept], shared, tied[:, kept], gap=gap / n, start=near)
            result[possible] = np.maximum(2 * n * (top[possible] - value), 0.0)
        return result

    def _ignoring(self, contrast: Floats) -> Floats:
        """The contrast with nothing for those who declined, so that it is one among the others."""
        return np.pad(contrast, ((0, 0), (0, self._apart)))


def _bends(lines: Floats, least: float, size: int) -> Flags:
    """Places at which some of the lines have a corner; the first, and all from the last on, count.

    Parameters
    ----------
    lines : array (lines, places)
    least
        What a second difference must be above.
    size
        Places up to the last.
    """
    found = np.ones(lines.shape[1], dtype=bool)
    found[1 : size - 1] = (np.abs(np.diff(lines[:, :size], 2)) > least).any(0)
    return found
