"""The default estimate of a density: a log-density averaged over smoothness, and heaps."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dposv

from confide._figures import number
from confide._types import Floats
from confide.curves import CellDensity
from confide.errors import ConfideWarning, InvalidInput
from confide.estimators import heaps
from confide.estimators.averaged import AveragedIntervals, Heaps
from confide.estimators.declining import Answerers
from confide.estimators.em import LEAST, STRETCH, apart, coarse_edges, one_thread, stacks
from confide.estimators.intervals import Intervals, unbiased_means
from confide.estimators.likelihood import Likelihood
from confide.estimators.log_density import FAR, ORDERS, Ladder, Mode, Problem
from confide.estimators.pilot import Pilot
from confide.estimators.resolution import count, wave_information, waves
from confide.foreign.noised import Noised
from confide.lattice import NUMBER, Lattice
from confide.mechanisms import Mechanism
from confide.mechanisms.laws import Law
from confide.summaries import Counts
from confide.summaries.counts import expected
from confide.summaries.plausibility import checked, possible

PLACES = 1024
"""Places of heaps at most: the cells of the lattice, or groups of them."""
FEWEST = 8
"""Cells of a lattice below which there is nothing to smooth over."""
CELLS = (64, 256)
WAVES = (40, 100)
"""Cells and directions of the smooth part: fewest and most."""
BINS, FINENESS = 256, 2
"""Bins of reports: this number, or a number for each smooth cell if that is more."""
MOST = 1e8
"""Respondents at most: beyond, doubles cannot tell likelihoods apart."""
ALL = 0.99
"""Share that declined from which on too few answered to choose anything from."""
ROUNDS = 3
"""Searches for heaps at most, each with the priors weighed anew."""
POOR = 5.0
"""Misfit from which on the model is not trusted. In 288 fits to nine populations, n from 1e3 to 1e6
and epsilon from .5 to 4, 99 % were below 3.7, and one was above 5."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of reports, and their probabilities given a number's place.

    Attributes
    ----------
    law
        Bins by equal places.
    starts
        First report of each bin.
    waved
        What cosines of 1, 2, ... half periods between the bounds do to the bins.
    """

    law: Floats
    starts: npt.NDArray[np.int64]
    waved: Floats

    @cached_property
    def squares(self) -> Floats:
        """Of the law."""
        return self.law**2

    @cached_property
    def information(self) -> Floats:
        """What one report tells of the waves."""
        return wave_information(self.law, self.waved)


@dataclass(frozen=True, eq=False)
class Grid:
    """Binned reports of one number, with the smooth part's resolution.

    Attributes
    ----------
    counts
        Of the bins.
    bins
        What is known of them without any report.
    cells
        Of the smooth part.
    waves
        Directions of the smooth part.
    """

    counts: Floats
    bins: Bins
    cells: int
    waves: int

    @property
    def law(self) -> Floats:
        """Bins by places."""
        return self.bins.law


@lru_cache(maxsize=16)
def overlap(places: int, cells: int) -> Floats:
    """Part of each of a number of equal places that lies in each of a number of equal cells."""
    edges = np.arange(cells + 1) * (places / cells)
    parts: Floats = np.diff(np.clip(edges[:, None] - np.arange(places), 0, 1), axis=0).T
    parts.flags.writeable = False
    return parts


@lru_cache(maxsize=16)
def spread(places: int, cells: int) -> Floats:
    """Share of each equal place in each cell; cells are even inside."""
    shares: Floats = overlap(places, cells) * (cells / places)
    shares.flags.writeable = False
    return shares


@lru_cache(maxsize=8)
def smoothed(bins: Bins, cells: int) -> Floats:
    """The law of bins given one of a number of equal cells."""
    law: Floats = bins.law @ spread(bins.law.shape[1], cells)
    law.flags.writeable = False
    return law


@lru_cache(maxsize=8)
def smooth_information(bins: Bins, cells: int, most: int) -> Floats:
    """What one report tells of the waves of so many equal cells."""
    law = smoothed(bins, cells)
    return wave_information(law, law @ waves(cells, most))


@lru_cache(maxsize=8)
def binned(law: Law, reports: int, places: int, declined: float | None) -> Bins:
    """Roughly the wanted number of bins of reports, and their law given equal places.

    The first and the last report have bins of their own: where noise is clamped they hold all that
    lies beyond, and mean something else than their neighbors. Where people may decline the report
    that says so is left out, which is as likely whatever the answer; among the others are those of
    the share that declined.
    """
    extra = apart(law)
    cells, outputs = law.inputs[0] - extra, law.outputs[0] - extra
    inner = np.linspace(1, outputs - 1, min(outputs - 2, reports) + 1).astype(np.int64)
    starts = np.unique(np.append(0, inner))
    ends = np.append(starts[1:], outputs)
    edges = np.arange(places + 1) * (cells / places)
    whole = np.minimum(edges.astype(np.int64), cells - 1)
    table = np.empty((starts.size, places))
    some = max(1, STRETCH // outputs)
    for first in range(0, starts.size, some):
        rows = slice(first, first + some)
        inside = np.zeros((starts[rows].size, outputs + extra))
        for row, (a, b) in enumerate(zip(starts[rows], ends[rows], strict=True)):
            inside[row, a:b] = 1
        chances = law.adjoint(inside)
        sums = np.pad(chances[:, :cells].cumsum(axis=1), ((0, 0), (1, 0)))
        below = sums[:, whole] + (edges - whole) * (sums[:, whole + 1] - sums[:, whole])
        table[rows] = np.diff(below, axis=1) * (places / cells)
        if declined is not None:
            table[rows] = (1 - declined) * table[rows] + declined * chances[:, cells:]
    table = np.maximum(table, 0)
    table /= table.sum(axis=0)
    waved: Floats = table @ waves(places, WAVES[1])
    table.flags.writeable = starts.flags.writeable = waved.flags.writeable = False
    return Bins(table, starts, waved)


def misfit(waved: Floats, counts: Floats, fitted: Floats) -> float:
    """Distance of the reports from the fit, in standard deviations.

    A sum of squares that has the mean and the variance of a chi-square where the model is right,
    in standard deviations from its mean. Directions are what waves of the density do to reports.
    """
    n = counts.sum()
    scale = np.sqrt(np.maximum(fitted, LEAST))
    directions = waved / scale[:, None]
    directions /= np.sqrt((directions**2).sum(axis=0))
    residual = (counts - n * fitted) / (math.sqrt(n) * scale)
    along, freedom = residual @ directions, directions.shape[1]
    _, solved, failed = dposv(directions.T @ directions, along, lower=1)
    if failed:
        # Reports tell next to nothing of some waves, which then look like others.
        directions, _ = np.linalg.qr(directions)
        along = solved = residual @ directions
    return float(along @ solved - freedom) / math.sqrt(2 * freedom)


def grid(law: Law, counts: Floats, declined: float | None = None) -> Grid:
    """Bins, cells and directions that are as fine as the reports can tell."""
    extra = apart(law)
    counts = counts[: counts.size - extra]
    n = float(counts.sum())
    places = min(law.inputs[0] - extra, PLACES)
    many = stacks(law)
    bins = binned(law, many * BINS, places, declined)
    kept = int(np.clip(2 * count(bins.information, n), *WAVES))
    cells = CELLS[0]
    while cells < min(1.5 * kept, CELLS[1]):
        cells *= 2
    if FINENESS * cells > BINS:
        bins = binned(law, many * FINENESS * cells, places, declined)
    cells = min(cells, places)
    return Grid(np.add.reduceat(counts, bins.starts), bins, cells, min(kept, cells - 1))


@dataclass(frozen=True)
class Adaptive:
    """Density as smooth as the reports suggest, with heaps at values that many people share.

    The default for one number. The logarithm of the density has a Gaussian-process prior (an
    integrated Wiener process of order 1, 2 or 3), and the estimate is an average over orders and
    amounts of roughness, each weighted by its evidence: the chance of the reports under it. A heap,
    a single value that many people share, is added where that raises the evidence. Bounds and round
    numbers need less evidence than other values.

    Notes
    -----
    Nothing is drawn at random: the estimate depends on the summary alone. The number of cells, and
    of directions in which the density may differ from a uniform one, follows from the number of
    waves that the reports can detect. That depends on the law and on the number of respondents.
    Weighted counts are scaled to their effective number.

    Where even with heaps the fit is worse than the noise explains (``facts["misfit"]``, in
    standard deviations, is above 5), the estimate is that of `Likelihood`, and so it is for several
    columns and for lattices of fewer than 8 cells. For numbers that somebody else noised, a warning
    then says that the noise is probably not the stated one.

    The facts of an estimate are the posterior weights of the three orders (``orders``), the values
    and shares of the heaps (``heaps``, ``heap_shares``) and the ``misfit``.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> values = np.random.default_rng(1).beta(2, 5, 20_000)
    >>> values[:6_000] = 0
    >>> mechanism = SquareWave(Lattice(low=0, high=1), epsilon=2.0)
    >>> density = Adaptive().fit(Counts.of(mechanism.simulate(values, seed=1)))
    >>> [round(value, 2) for value in density.facts["heaps"]]
    [0.0]
    """

    @one_thread
    def fit(self, counts: Counts) -> CellDensity:
        """Estimate the density of the values behind the reports.

        Parameters
        ----------
        counts
            Summary of the reports.

        Returns
        -------
        CellDensity
            With ``facts`` that name what was chosen and, for one column, intervals.
        """
        axes = expected(counts).mechanism.axes
        lattice = next(iter(axes.values()))
        law = counts.mechanism.law
        if len(axes) > 1 or not isinstance(lattice, Lattice) or lattice.size < FEWEST:
            return Likelihood().fit(counts)
        n = min(checked(counts).effective_n, MOST)
        if not n > 0:
            raise InvalidInput("at least one report", "none", "There is nothing to estimate from.")
        total = counts.total
        declined = Answerers(counts).declined if counts.mechanism.prefer_not_to_say else None
        if (declined or 0.0) > ALL or not believable(counts):
            return Likelihood().fit(counts)
        found = estimate(grid(law, total * (n / total.sum()), declined), lattice)
        if not found.misfit < POOR:
            if isinstance(counts.mechanism, Noised):
                _doubt(counts.mechanism, found.misfit)
            plain = Likelihood().fit(counts)
            return replace(plain, facts={**plain.facts, "misfit": found.misfit})
        edges, masses = found.curve(lattice)
        # Weights, and the share that declined, have an uncertainty that tests know of.
        sure = counts.weights is None and declined is None
        facts = {"method": "adaptive", **counts.facts, **found.facts(lattice)}
        return CellDensity(
            (edges,),
            masses,
            facts=facts,
            intervals=Intervals(
                counts, pilot=found.pilot, averaged=found.averaged(lattice) if sure else None
            ),
            kinds=(lattice.kind,),
            declined=declined,
            means=unbiased_means(counts),
        )


def _doubt(mechanism: Noised, missed: float) -> None:
    """Warn of numbers that noise from elsewhere, as it was stated, hardly makes of any values."""
    lattice, sd = mechanism.lattice, math.sqrt(mechanism.noise.variance)
    warnings.warn(
        f"The numbers do not look like values from {number(lattice.low)} to "
        f"{number(lattice.high)} to which noise with a standard deviation of "
        f"{number(float(f'{sd:.3g}'))} was added: they are {missed:.0f} standard "
        f"deviations from what the nearest density gives, where the right noise leaves less than "
        f"{POOR:g}. The noise is probably smaller or of another kind than stated: do not rely on "
        "this estimate.",
        ConfideWarning,
        stacklevel=4,
    )


def believable(counts: Counts) -> bool:
    """Whether any values could have given these reports."""
    mechanism = counts.mechanism
    return not isinstance(mechanism, Mechanism) or possible(mechanism, counts.counts)


def density(counts: Counts) -> CellDensity:
    """The default estimate of a density: `Adaptive`.

    Parameters
    ----------
    counts
        Counts of numbers; for categories use `CategoryShares`.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> curve = density(Counts.of(mechanism.simulate([0.2] * 50 + [0.7] * 50, seed=1)))
    >>> 0 < curve.mean() < 1
    True
    """
    return Adaptive().fit(counts)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Smooth masses, heaps, and the chosen settings.

    Attributes
    ----------
    grid
        What was estimated from.
    smooth
        Masses of the smooth cells; with those of the heaps they sum to one.
    heaps
        Share of the heap at each place that has one.
    orders
        Chance of each order of the prior.
    misfit
        In standard deviations.
    priors
        Each prior that counts: its chance, the places of its heaps, and the mode under it.
    sets
        Sets of heaps that count.
    """

    grid: Grid
    smooth: Floats
    heaps: dict[int, float]
    orders: tuple[float, ...]
    misfit: float
    priors: tuple[tuple[float, tuple[int, ...], Mode], ...]
    sets: tuple[Heaps, ...]

    @property
    def pilot(self) -> Pilot:
        """The estimate from which intervals simulate surveys."""
        own = spread(self.grid.law.shape[1], self.grid.cells) @ self.smooth
        own[list(self.heaps)] += list(self.heaps.values())
        return Pilot(own / own.sum(), tuple(self.heaps))

    def averaged(self, lattice: Lattice) -> AveragedIntervals | None:
        """Intervals of the same average; none of points and whole numbers."""
        if lattice.kind != NUMBER:
            return None
        return AveragedIntervals(self.sets, self.grid.law, lattice)

    def curve(self, lattice: Lattice) -> tuple[Floats, Floats]:
        """Edges and masses of equal cells: finer ones with heaps, all points and whole numbers."""
        places, cells = self.grid.law.shape[1], self.grid.cells
        own = self.pilot.masses
        if lattice.kind != NUMBER:
            cells = lattice.size
        elif self.heaps:
            cells = min(max(cells, CELLS[1]), places)
        masses = own @ overlap(places, cells)
        return coarse_edges(lattice, cells), masses / masses.sum()

    def line(self) -> tuple[Floats, Floats]:
        """The distribution function at the edges of the smooth cells, and its standard deviation.

        The variance is that of the posterior: within each prior by its precision, and between them.
        """
        cells, places = self.grid.cells, self.grid.law.shape[1]
        edges = np.arange(cells + 1)[:, None]
        chances, lines, within = [], [], []
        for chance, heaped, one in self.priors:
            own = np.array(heaped, dtype=np.float64)[None] * (cells / places)
            below = np.hstack([edges > np.arange(cells), edges > own]).astype(np.float64)
            slope = below @ one.slope
            within.append((slope * np.linalg.solve(one.precision, slope.T).T).sum(axis=1))
            lines.append(below @ np.append(one.shares[0] * one.smooth, one.shares[1:]))
            chances.append(chance)
        line = np.array(chances) @ np.array(lines)
        variance = np.array(chances) @ (np.array(within) + (np.array(lines) - line) ** 2)
        return np.asarray(line), np.sqrt(np.maximum(variance, 0))

    def facts(self, lattice: Lattice) -> dict[str, Any]:
        """The settings that were chosen."""
        found: list[float] = []
        if self.heaps:
            edges = coarse_edges(lattice, self.grid.law.shape[1])
            found = heaps.values(lattice, edges)[list(self.heaps)].tolist()
        return {
            "orders": list(self.orders),
            "heaps": found,
            "heap_shares": list(self.heaps.values()),
            "misfit": self.misfit,
        }


@lru_cache(maxsize=16)
def heap_odds(lattice: Lattice, places: int) -> Floats:
    """Logarithm of the prior odds of a heap at each of a number of equal places."""
    prior = heaps.chances(lattice, coarse_edges(lattice, places))
    odds: Floats = np.log(prior / (1 - prior))
    odds.flags.writeable = False
    return odds


@one_thread
def estimate(grid: Grid, lattice: Lattice) -> Estimate:
    """The log-density averaged over priors, with the heaps that the evidence asks for."""
    sets = _sets(grid, heap_odds(lattice, grid.law.shape[1]))
    floor = max(one.score for one in sets) - FAR
    sets = [one for one in sets if one.score > floor]
    # With and without heaps: each set by its evidence and prior.
    found = [(one, each) for one in sets for each in one.ladder.above(floor - one.odds)]
    scores = np.array([one.odds + each.evidence for one, each in found])
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    smooth, fitted = np.zeros(grid.cells), np.zeros(grid.counts.size)
    shares, orders = (
        dict.fromkeys((at for one in sets for at in one.places), 0.0),
        dict.fromkeys(ORDERS, 0.0),
    )
    for weight, (one, each) in zip(chances.tolist(), found, strict=True):
        smooth += weight * each.shares[0] * each.smooth
        fitted += weight * each.fitted
        orders[each.order] += weight
        for at, share in zip(one.places, each.shares[1:].tolist(), strict=True):
            shares[at] += weight * share
    missed = misfit(grid.bins.waved[:, : grid.waves], grid.counts, fitted)
    priors = tuple(
        (weight, one.places, each)
        for weight, (one, each) in zip(chances.tolist(), found, strict=True)
    )
    return Estimate(grid, smooth, shares, tuple(orders.values()), missed, priors, tuple(sets))


def _sets(grid: Grid, odds: Floats) -> list[Heaps]:
    """No heaps, and each larger set of heaps that was found on the way to the best one."""
    none = np.empty((grid.counts.size, 0))
    law = smoothed(grid.bins, grid.cells)
    information = smooth_information(grid.bins, grid.cells, grid.waves + max(ORDERS))
    ladder = Ladder(Problem(grid.counts, law, none, grid.waves, information))
    ladder.climb()
    sets = [Heaps((), 0.0, ladder)]
    for _ in range(ROUNDS):
        last = sets[-1]
        found = heaps.search(
            last.ladder.problem,
            last.ladder.best,
            grid.law,
            grid.bins.squares,
            odds=odds,
            places=last.places,
        )
        if found.places == last.places:
            break
        ladder = Ladder(found.problem, found.mode)
        ladder.climb()
        sets.append(Heaps(found.places, float(odds[list(found.places)].sum()), ladder))
    return sets
