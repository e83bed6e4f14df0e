"""Maximum likelihood of masses under one linear constraint, many surveys at once.

An interior-point method takes about 15 Newton steps to a certified gap, where expectation
maximisation creeps for thousands of steps.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from confide._types import Flags, Floats
from confide.estimators.em import Reduced, apart, em, one_thread
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
    """Masses f >= 0 with sum 1 and contrast . f = 0 that maximise sum shares log(law f).

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


NODES, BINS, MOST_BINS = 1024, 96, 320
PILOT_CELLS = 64
PILOT_SHARES = (0.1, 0.5, 0.9)
DRAWS, SEED = 100, 19_720_101
ALLOWANCE = 1.3
GAP = 1e-3
BEND = 1e-13
"""Second differences of straight lines, at most: what rounding leaves of zero."""


def bins_for(n: float) -> int:
    """Bins of reports that lose little with n respondents: about 2 n^(1/3), from 96 to 320.

    With 1e6 respondents (square wave, epsilon 2, 256 cells) a median's interval from 200 bins is
    a quarter shorter than from 96, with 1e8 and 320 bins it has a twelfth of the length.
    """
    return int(np.clip(2 * np.cbrt(n), BINS, MOST_BINS))


class Profile:
    """Tests of the distribution function, from counts of reports.

    All arrays have a leading batch axis, one row a survey. Places are positions among the nodes of
    the test: 0 is the low end of the lattice, k its k-th edge, and the distribution function is
    linear between. Reports are binned, which loses information and no honesty; `bins_for` says how
    many bins keep the loss small. Cells are joined only on lattices of more than 1,024: masses
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

    def __init__(self, law: Law, *, nodes: int = NODES, bins: int = BINS) -> None:
        self._apart = apart(law)
        size, reports = law.inputs[0] - self._apart, law.outputs[0] - self._apart
        starts = np.arange(0, size, -(-size // nodes))
        self.nodes = np.append(starts, size)
        bounds = np.linspace(0, reports, min(reports, bins) + 1).astype(int)
        self._bins = np.append(np.unique(bounds[:-1]), np.full(self._apart, reports))
        ends = np.append(self._bins[1:], reports + self._apart)
        columns = np.empty((self._bins.size, starts.size + self._apart))
        for row, (first, last) in enumerate(zip(self._bins, ends, strict=True)):
            inside = np.zeros(reports + self._apart)
            inside[first:last] = 1.0
            # Those who declined, where they are, are a cell of their own.
            each = np.append(starts, np.full(self._apart, size))
            columns[row] = np.add.reduceat(law.adjoint(inside), each)
        columns = np.maximum(columns, 0.0)
        self.law: Floats = columns / columns.sum(0)
        self.size = starts.size

    def bin(self, counts: Floats) -> Floats:
        """Counts of the bins of reports."""
        return np.add.reduceat(counts, self._bins, axis=-1)

    def fit(self, counts: Floats) -> tuple[Floats, Floats]:
        """Masses without any constraint, and the log-likelihood a report."""
        if len(counts) > 1 and (counts == counts[0]).all():
            # Several questions about one survey.
            first, value = self.fit(counts[:1])
            return np.repeat(first, len(counts), axis=0), np.repeat(value, len(counts))
        n = counts.sum(1)
        kept = self._corners
        some, values = maximize(self.law[:, kept], counts / n[:, None], gap=GAP / n)
        masses = np.zeros((len(counts), kept.size))
        masses[:, kept] = some
        return masses, values

    @cached_property
    def _corners(self) -> Flags:
        """Cells whose law is no mean of their neighbours' laws.

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
            _, value = maximize(self.law[:, kept], shared, tied[:, kept], gap=GAP / n, start=near)
            result[possible] = np.maximum(2 * n * (top[possible] - value), 0.0)
        return result

    def _ignoring(self, contrast: Floats) -> Floats:
        """The contrast with nothing for those who declined, so that it is one among the others."""
        return np.pad(contrast, ((0, 0), (0, self._apart)))

    def scale(
        self, counts: Floats, dispersion: Floats | None = None, *, windows: bool = False
    ) -> Floats:
        """How many times a chi-square the deviance is, at this law and these counts.

        The deviance is not a chi-square where masses press against zero: its mean runs from .2
        (Laplace, epsilon 1) to 2 (square wave, epsilon 4, n=100), because noise alone decides
        there what the likelihood can tell apart, or because the positive parts of many small
        masses add up (Batlle et al. 2023 refute the conjecture that one degree of freedom is
        safe). Its shape stays close to a chi-square's. So its mean is measured: surveys are drawn
        (with a fixed seed) from a smooth fit, EMS on 64 cells, and tested at its own quantiles.

        Parameters
        ----------
        counts : array (batch, bins)
        dispersion : array (batch, bins), optional
            Weight of one respondent in each bin, as a multiple of that of one of the effective
            respondents: survey weights that go with the answers make some bins more uncertain,
            and others less, than a multinomial draw of the effective number.
        windows
            Whether to test shares of a sixteenth of the cells, where dispersion is greatest, too.
        """
        cells = min(self.size, PILOT_CELLS)
        starts = np.linspace(0, self.size, cells + 1).astype(int)[:-1]
        starts = np.append(starts, np.full(self._apart, self.size))
        law = np.add.reduceat(self.law, starts, axis=1)
        law = law / law.sum(0)
        generator = np.random.default_rng(SEED)
        result = np.empty(len(counts))
        pilots = em(
            Reduced((law,)),
            counts,
            smoothing=1.0,
            apart=self._apart,
            tolerance=1e-2,
            iterations=200,
        )
        for row, pilot in enumerate(pilots):
            n = max(1, round(float(counts[row].sum())))
            chances = law @ pilot
            weight = np.ones(chances.size) if dispersion is None else dispersion[row]
            units = chances / weight
            drawn = weight * generator.multinomial(
                max(1, round(n * units.sum() / chances.sum())), units / units.sum(), size=DRAWS
            )
            drawn = drawn / drawn.sum(1, keepdims=True)
            _, top = maximize(law, drawn, gap=10 * GAP / n, start=pilot)
            told = pilot[:cells] / pilot[:cells].sum()
            line = np.append(0.0, told.cumsum())
            places = [np.interp(s, line / line[-1], np.arange(cells + 1)) for s in PILOT_SHARES]
            contrasts = [
                np.clip(place - np.arange(cells), 0, 1) - share
                for place, share in zip(places, PILOT_SHARES, strict=True)
            ]
            if windows:
                contrasts.append(_window(told, (weight @ law)[:cells], n))
            means = []
            for contrast in contrasts:
                tied = self._ignoring(np.broadcast_to(contrast, (DRAWS, cells)))
                _, value = maximize(law, drawn, tied, gap=10 * GAP / n, start=pilot)
                means.append(2 * n * np.mean(top - value))
            result[row] = ALLOWANCE * max(means)
        return result


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


def _window(pilot: Floats, dispersion: Floats, n: int) -> Floats:
    """Contrast of the share of a sixteenth of the cells whose reports are the most dispersed."""
    length = max(1, pilot.size // 16)
    ones = np.ones(length)
    shares = np.convolve(pilot, ones, "valid")
    # Ten respondents' worth of doubt: an empty window tells nothing.
    ratios = np.convolve(pilot * dispersion, ones, "valid") / (shares + 10 / n)
    first = int(ratios.argmax())
    contrast = np.full(pilot.size, -shares[first])
    contrast[first : first + length] += 1
    return contrast
