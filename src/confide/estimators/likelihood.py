"""Densities by maximum likelihood under the exact law of the reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Floats
from confide.curves import CellDensity
from confide.errors import InvalidInput, Mismatch, Unsupported
from confide.estimators.declining import Answerers, even, held
from confide.estimators.em import Channel, checked_grid, coarse_edges, coarsen, em, shared_out
from confide.estimators.intervals import Intervals, unbiased_means
from confide.estimators.profile import NODES
from confide.lattice import NUMBER, Lattice
from confide.summaries import Counts
from confide.summaries.counts import expected
from confide.summaries.plausibility import checked

FOLDS = 5
SEED = 20_200_614
MOST_CELLS = {1: 256, 2: 64, 3: 16}
FEWEST_CELLS = 16
TOGETHER = 10
"""Summaries that are fitted at a time: more do not fit into a processor's nearest memory."""
TYPICAL = 1 / 8
STEPS = np.arange(-4, 3)
MOST_TOLD = 2**21
"""Combinations of whole numbers in a joint estimate, at most."""


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """Density by maximum likelihood, for every mechanism that can state its law.

    Expectation maximization (Richardson-Lucy) with a 1-2-1 smoothing of neighboring cells after
    each step, f <- (1 - smoothing) f + smoothing S f. The estimate is never negative and stays
    inside the bounds; its cost does not depend on the number of respondents. For whole numbers it
    is the share of each. If people could decline, ``declined`` is their share, and everything else
    is about the others.

    Parameters
    ----------
    smoothing
        A number from 0 (plain maximum likelihood: spiky unless n is huge) to 1 (EMS; Silverman,
        Jones, Wilson and Nychka 1990), or ``"auto"``: the one that predicts held-out reports best.
    size
        Number of cells of the estimate in each column, at most those of the lattice, or ``"auto"``:
        about 2 n**(1/3) (n**(1/4), n**(1/5) for two and three columns) but no more than 256 (64,
        16). A histogram of the true values would not support more. Intervals use a given number
        too: fewer cells make them narrower, and assume that values are spread evenly inside cells.

    Notes
    -----
    The amount of smoothing is chosen by 5-fold cross-validation of the log-likelihood, climbing
    from the typical one as long as a neighbor, 4 times as much or as little, is better. Folds come
    from thinning the counts (each report goes to a fold at random, with a fixed seed), so the
    estimate depends on the summary alone. If the reports are so noisy that the folds hardly
    distinguish the candidates, a weak prior decides: 1/8 on a grid of 2 n**(1/3) cells, within a
    factor of 4 (one standard deviation). The effect of smoothing depends on smoothing / size**2, so
    the candidates scale with the grid. Weighted counts are scaled to their effective number.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> from confide.summaries import Counts
    >>> values = np.random.default_rng(1).beta(2, 5, 100_000)
    >>> reports = SquareWave(Lattice(low=0, high=1), epsilon=2.0).simulate(values, seed=1)
    >>> density = Likelihood().fit(Counts.of(reports))
    >>> print(f"{density.quantile(0.5):.1f}, truly {np.median(values):.1f}")
    0.3, truly 0.3
    """

    smoothing: float | str = "auto"
    size: int | str = "auto"

    def __post_init__(self) -> None:
        smoothing, size = checked_grid(self.smoothing, self.size)
        object.__setattr__(self, "smoothing", smoothing)
        object.__setattr__(self, "size", size)

    def fit(self, counts: Counts) -> CellDensity:
        """Estimate the density of the values behind the reports.

        Parameters
        ----------
        counts
            Summary of the reports.

        Returns
        -------
        CellDensity
            With ``facts`` that name the smoothing used and, for one column, intervals.
        """
        return self.fit_several([counts])[0]

    def fit_several(self, several: Sequence[Counts]) -> list[CellDensity]:
        """The estimates of several summaries, in a fraction of the time.

        Those of the same number of respondents, as simulated surveys are, are fitted together.

        Parameters
        ----------
        several
            Summaries of reports by one mechanism.
        """
        alike: dict[float, list[int]] = {}
        for at, counts in enumerate(several):
            _numeric_axes(expected(counts))
            n = checked(counts).effective_n
            if not n > 0:
                raise InvalidInput(
                    "at least one report", "none", "There is nothing to estimate from."
                )
            if counts.mechanism != several[0].mechanism:
                raise Mismatch("summaries of one mechanism", "those of several")
            alike.setdefault(n, []).append(at)
        found: dict[int, CellDensity] = {}
        for n, places in alike.items():
            for start in range(0, len(places), TOGETHER):
                some = places[start : start + TOGETHER]
                found |= zip(some, self._fit([several[at] for at in some], n), strict=True)
        return [found[at] for at in range(len(several))]

    def _fit(self, several: list[Counts], n: float) -> list[CellDensity]:
        """The estimates of summaries of as many respondents each."""
        mechanism = several[0].mechanism
        axes = _numeric_axes(several[0])
        detail = 2 * n ** (1 / (2 + len(axes)))
        sizes = [self._cells(lattice, detail, len(axes)) for lattice in axes.values()]
        scaled = np.stack([counts.total * (n / counts.total.sum()) for counts in several], axis=-1)
        law, reports = coarsen(mechanism.law, scaled, sizes)
        reports = np.moveaxis(reports, -1, 0)
        declined = None
        if mechanism.prefer_not_to_say:
            declined = np.array([Answerers(counts).declined for counts in several])
        if isinstance(self.smoothing, str):
            cells = float(np.exp(np.mean(np.log(sizes))))
            typical = TYPICAL * (cells / detail) ** 2
            smoothing = choose_smoothing(law, reports, typical, declined)
        else:
            smoothing = np.full(len(several), self.smoothing)
        settings = _apart(declined, sizes[0])
        masses = em(law, reports, smoothing=smoothing, iterations=1000, **settings)
        found = []
        for at, counts in enumerate(several):
            own = masses[at]
            if declined is not None:
                own = own[:-1] / own[:-1].sum()
            told, edges = _told(own, list(axes.values()))
            facts = {"method": "likelihood", **counts.facts, "smoothing": float(smoothing[at])}
            # A size that was asked for says inside which cells values may be taken as evenly
            # spread.
            given = max(self.size, 2) if isinstance(self.size, int) else NODES
            intervals = Intervals(counts, size=given) if len(axes) == 1 else Marginals(counts)
            curve = CellDensity(
                edges,
                told,
                names=tuple(axes),
                facts=facts,
                intervals=intervals,
                kinds=tuple(lattice.kind for lattice in axes.values()),
                declined=None if declined is None else float(declined[at]),
                means=unbiased_means(counts),
            )
            found.append(curve)
        return found

    def _cells(self, lattice: Lattice, detail: float, columns: int) -> int:
        if isinstance(self.size, int):
            return min(self.size, lattice.size)
        most = min(lattice.size, MOST_CELLS[columns])
        return round(min(max(detail, FEWEST_CELLS), most))


@dataclass(frozen=True, eq=False)
class Marginals:
    """Intervals of the columns of a joint estimate, each from its own marginal counts."""

    counts: Counts

    def marginal(self, name: str) -> Intervals:
        """Intervals of one column."""
        return Intervals(self.counts.marginal(name))


def _told(masses: Floats, lattices: list[Lattice]) -> tuple[Floats, tuple[Floats, ...]]:
    """Masses and edges of the result: coarse cells of numbers, all points and whole numbers.

    Coarse cells cut the others apart. So what they hold is shared out evenly over those.
    """
    edges = []
    for axis, lattice in enumerate(lattices):
        size = masses.shape[axis]
        if lattice.kind == NUMBER or size == lattice.size:
            edges.append(coarse_edges(lattice, size))
            continue
        if masses.size // size * lattice.size > MOST_TOLD:
            raise Unsupported(
                f"A joint estimate tells at most {MOST_TOLD:,} combinations of points and "
                "whole numbers: take lattices of fewer cells."
            )
        flat = shared_out(np.arange(size + 1.0) * (lattice.size / size), lattice.size)
        masses = np.moveaxis(np.tensordot(masses, flat, axes=(axis, 0)), -1, axis)
        edges.append(lattice.edges)
    return masses, tuple(edges)


def _apart(declined: Floats | None, cells: int) -> dict[str, Any]:
    """Settings of `em` where the share of those who declined is given for each row."""
    if declined is None:
        return {}
    return {"project": held(declined), "start": even(declined, cells), "apart": 1}


def choose_smoothing(
    law: Channel, several: Floats, typical: float, declined: Floats | None = None
) -> Floats:
    """The smoothing that predicts held-out reports best, in steps of 4 around a typical one.

    Parameters
    ----------
    law
        Of the reports.
    several
        Counts of one summary or more, a row each.
    typical
        The smoothing that is right more often than not.
    declined
        Share of those who declined in each, where people may.

    Returns
    -------
    array
        One smoothing a row.
    """
    candidates = np.unique(np.minimum(typical * 4.0**STEPS, 1.0))
    prior = -((np.log(candidates / typical) / np.log(4)) ** 2) / 2
    # Thinned are respondents; each then weighs what the respondents of its report weigh.
    whole = np.ceil(several.round(6)).astype(np.int64)
    thinned = np.stack(
        [np.random.default_rng(SEED).multinomial(each, [1 / FOLDS] * FOLDS) for each in whole]
    )
    held = np.moveaxis(thinned, -1, 1) * (several / np.maximum(whole, 1))[:, None]
    kept = several[:, None] - held
    axes = tuple(range(2, kept.ndim))
    usable = (kept.sum(axes) > 0) & (held.sum(axes) > 0)
    best = np.full(len(several), np.argmax(prior))
    scores = np.tile(prior, (len(several), 1))
    known = np.zeros(scores.shape, dtype=bool)
    # Scores nearly always rise to one peak and fall, so the search climbs it; where they have two,
    # the other gains little. Most candidates are never fitted.
    while True:
        around = np.abs(np.arange(candidates.size) - best[:, None]) <= 1
        wanted = (around & ~known)[:, None, :] & usable[:, :, None]
        if not wanted.any():
            return np.asarray(candidates[best])
        row, fold, at = np.nonzero(wanted)
        shares = None if declined is None else declined[row]
        masses = em(
            law,
            kept[row, fold],
            smoothing=candidates[at],
            tolerance=1e-4,
            iterations=400,
            **_apart(shares, law.inputs[0] - 1),
        )
        predicted = np.log(np.maximum(law.forward(masses), np.finfo(float).tiny))
        gained = (held[row, fold] * predicted).sum(axis=tuple(range(1, predicted.ndim)))
        np.add.at(scores, (row, at), gained)
        known |= wanted.any(axis=1)
        best = np.argmax(np.where(known, scores, -np.inf), axis=1)


def _numeric_axes(counts: Counts) -> dict[str, Lattice]:
    axes = {}
    for name, axis in counts.mechanism.axes.items():
        if not isinstance(axis, Lattice):
            raise InvalidInput(
                "counts of numbers",
                f"categories{' in ' + repr(name) if name else ''}",
                "Take marginal(question) of joint counts; CategoryShares is for categories.",
            )
        axes[name] = axis
    return axes
