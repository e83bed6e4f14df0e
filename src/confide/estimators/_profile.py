"""Likelihood-ratio tests of one point of a distribution function, many surveys at once.

The log-likelihood is concave in the masses, and F(x) = c is one linear equation, so both fits are
small convex problems, solved to a certified gap: a top that is not reached would make every
interval wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from confide.estimators._convex import maximize
from confide.estimators._em import em
from confide.estimators._grids import Reduced
from confide.mechanisms.laws import Law

Floats = npt.NDArray[np.float64]

NODES, BINS, MOST_BINS = 1024, 96, 320
PILOT_CELLS = 64
PILOT_SHARES = (0.1, 0.5, 0.9)
DRAWS, SEED = 100, 19_720_101
ALLOWANCE = 1.3
GAP = 1e-3


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
    spread a wrong model.

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
        law = np.add.reduceat(self.law, starts, axis=1)
        law = law / law.sum(0)
        generator = np.random.default_rng(SEED)
        result = np.empty(len(counts))
        pilots = em(Reduced((law,)), counts, smoothing=1.0, tolerance=1e-2, iterations=200)
        for row, pilot in enumerate(pilots):
            n = max(1, round(float(counts[row].sum())))
            chances = law @ pilot
            weight = np.ones(chances.size) if dispersion is None else dispersion[row]
            units = chances / weight
            drawn = weight * generator.multinomial(
                max(1, round(n * units.sum() / chances.sum())), units / units.sum(), size=DRAWS
            )
            drawn = drawn / drawn.sum(1, keepdims=True)
            _, top = maximize(law, drawn, gap=10 * GAP / n)
            line = np.append(0.0, pilot.cumsum())
            places = [np.interp(s, line / line[-1], np.arange(cells + 1)) for s in PILOT_SHARES]
            contrasts = [
                np.clip(place - np.arange(cells), 0, 1) - share
                for place, share in zip(places, PILOT_SHARES, strict=True)
            ]
            if windows:
                contrasts.append(_window(pilot, weight @ law, n))
            means = []
            for contrast in contrasts:
                tied = np.broadcast_to(contrast, (DRAWS, cells))
                _, value = maximize(law, drawn, tied, gap=10 * GAP / n)
                means.append(2 * n * np.mean(top - value))
            result[row] = ALLOWANCE * max(means)
        return result


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
