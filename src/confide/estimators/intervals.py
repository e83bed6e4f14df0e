"""Confidence intervals for the mean, the distribution function and quantiles, from counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from confide import _validate
from confide.errors import InvalidInput
from confide.estimators._ends import least_variance, mean_ends, quantile_ends, scales, share_ends
from confide.estimators._profile import NODES, Profile, bins_for
from confide.lattice import Lattice
from confide.summaries import Counts

Floats = npt.NDArray[np.float64]

WINDOW = 64
KEPT = 4096
MOST = 1e8
"""Respondents at most in a test: beyond, doubles cannot tell likelihoods apart."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals for a number in the population, computed from its reports when asked for.

    Mean: the mechanism's unbiased scores and their standard error. Distribution function and
    quantiles: all that a likelihood-ratio test does not reject. Of the population they assume one
    thing, that values inside a cell of the lattice are spread evenly, so they are as wide as the
    noise makes them. Values heaped inside a cell (round numbers) can shift an end by up to a cell:
    take a finer lattice.

    Parameters
    ----------
    counts
        Summary of the reports of one number.
    size
        Cells inside which values are taken to be spread evenly: at most so many, by default those
        of the lattice up to 1024. Fewer give narrower intervals, at the price of that assumption.

    Notes
    -----
    F(x) = c is rejected where twice the log-likelihood ratio is above k times the chi-square
    quantile with one degree of freedom. The factor k is the mean of that statistic in surveys
    simulated from a smooth fit to these counts, with a fixed seed and 30 % added; below 100
    respondents it is at least 1 + 10 / n. A quantile's interval holds every x at which F(x) = q
    is not rejected. More than 1e8 respondents count as so many. The mean of values inside a cell
    is taken to be its centre; where it is not, the mean's interval is off by up to half a cell.

    Weighted counts are scaled to their effective number (Kish). Where weights go with the answers
    that number is wrong for most parts of the distribution, so simulated surveys give each report
    the spread of its own weights, sum w**2 / sum w, and for the density the window where that is
    greatest is tested too. One factor then serves all places: intervals are right where weights
    are largest, and too wide elsewhere.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> values = np.random.default_rng(1).beta(2, 5, 20_000)
    >>> lattice = Lattice(low=0, high=1, size=64)
    >>> reports = SquareWave(lattice, epsilon=2.0).simulate(values, seed=1)
    >>> low, high = Intervals(Counts.of(reports)).quantile(0.5)
    >>> bool(low < np.median(values) < high)
    True
    """

    counts: Counts
    size: int = NODES
    _kept: dict[tuple[str, float, float], list[float]] = field(
        init=False, repr=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        axes = self.counts.mechanism.axes
        if len(axes) != 1 or not isinstance(next(iter(axes.values())), Lattice):
            raise InvalidInput(
                "counts of one number",
                f"{len(axes)} questions" if len(axes) > 1 else "categories",
                "Take marginal(question) of joint counts, CategoryShares for categories.",
            )

    @cached_property
    def _lattice(self) -> Lattice:
        lattice = next(iter(self.counts.mechanism.axes.values()))
        assert isinstance(lattice, Lattice)
        return lattice

    @cached_property
    def _profile(self) -> Profile:
        bins = bins_for(self.counts.effective_n)
        return Profile(self.counts.mechanism.law, nodes=self.size, bins=bins)

    def _binned(self, profile: Profile) -> Floats:
        total = self.counts.total
        n = min(self.counts.effective_n, MOST)
        return profile.bin(total * (n / total.sum()))[None]

    @cached_property
    def _reports(self) -> Floats:
        return self._binned(self._profile)

    @cached_property
    def _scale(self) -> float:
        return float(scales(self._profile, self._reports, self._dispersion)[0])

    @cached_property
    def _window_scale(self) -> float:
        if self.counts.weights is None:
            return self._scale
        return float(scales(self._profile, self._reports, self._dispersion, windows=True)[0])

    @cached_property
    def _dispersion(self) -> Floats | None:
        """Weight of one respondent in each bin, or None without weights; see `Profile.scale`."""
        if self.counts.weights is None:
            return None
        total, squares = (self._profile.bin(part)[None] for part in self.counts.weights)
        overall = squares.sum() / total.sum()
        return np.where(total > 0, squares / np.where(total > 0, total, 1.0) / overall, 1.0)

    def mean(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the mean."""
        level = _validate.level(level)
        bounds = self._lattice.low, self._lattice.high
        if not self.counts.n:
            return bounds
        weights = self.counts.total
        squares = weights if self.counts.weights is None else self.counts.weights[1]
        scores, law = self.counts.mechanism.unbiased(1), self.counts.mechanism.law
        least = least_variance(law, scores, self._lattice.widths)
        edges = self._lattice.edges
        low, high = mean_ends(scores, weights, squares, level=level, edges=edges, least=least)
        return float(low), float(high)

    def cdf(self, x: npt.ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Interval of the share of values up to x."""
        places = np.asarray(x, dtype=np.float64)
        if np.isnan(places).any():
            raise InvalidInput("numbers x", "nan")
        return self._each("cdf", places, _validate.level(level))

    def quantile(self, q: npt.ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Interval of the value below which a share q of the population lies."""
        shares = np.asarray(q, dtype=np.float64)
        if not np.all((shares >= 0) & (shares <= 1)):
            raise InvalidInput("0 <= q <= 1", f"q={_validate.shown(q)}")
        return self._each("quantile", shares, _validate.level(level))

    def pdf(self, x: npt.ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Interval of the mean density over a sixteenth of the lattice around x.

        Without an assumption of smoothness the density at a point has no interval; the share of
        a window has one, here tested on at most 64 cells. The window counts cells, so on a log
        scale it has the same width in the logarithm everywhere. Next to a bound it is moved
        inside: closer than half a window the interval no longer changes.
        """
        places = np.asarray(x, dtype=np.float64)
        if np.isnan(places).any():
            raise InvalidInput("numbers x", "nan")
        return self._each("pdf", places, _validate.level(level))

    def _each(self, what: str, at: Floats, level: float) -> tuple[Any, Any]:
        """Ends for each place, computing only those that were not kept from before."""
        kept = self._kept
        places, back = np.unique(at, return_inverse=True)
        new = np.array([a for a in places if (what, a, level) not in kept])
        if new.size:
            ends = getattr(self, f"_{what}")(new, level)
            kept.update({(what, a, level): end for a, *end in zip(new, *ends, strict=True)})
        pairs = np.array([kept[what, a, level] for a in places]).reshape(-1, 2)[back.ravel()]
        for key in list(kept)[: max(0, len(kept) - KEPT)]:
            del kept[key]
        low, high = np.moveaxis(pairs.reshape(*at.shape, 2), -1, 0)
        return (float(low), float(high)) if at.ndim == 0 else (low, high)

    def _edges(self) -> Floats:
        edges: Floats = self._lattice.edges[self._profile.nodes]
        return edges

    def _cdf(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        low, high = (x >= self._lattice.high).astype(float), (x > self._lattice.low).astype(float)
        inside = (x > self._lattice.low) & (x < self._lattice.high)
        if self.counts.n and inside.any():
            places = np.interp(x[inside], self._edges(), np.arange(self._profile.size + 1))
            reports = np.repeat(self._reports, places.size, axis=0)
            cuts = np.full(places.size, self._scale * float(chdtri(1, 1 - level)))
            parts = self._profile.below(places)
            low[inside], high[inside] = share_ends(self._profile, reports, parts, cuts)
        return low, high

    def _pdf(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        lattice = self._lattice
        numbers, half = np.arange(lattice.size + 1), lattice.size / 32
        center = np.clip(np.interp(x, lattice.edges, numbers), half, lattice.size - half)
        ends = center - half, center + half
        width = np.subtract(*(np.interp(end, numbers, lattice.edges) for end in ends[::-1]))
        inside = (x >= lattice.low) & (x <= lattice.high)
        low, high = np.zeros(x.size), np.where(inside, 1 / width, 0.0)
        if self.counts.n and inside.any():
            profile, reports = self._window
            below = (
                profile.below(np.interp(end[inside], profile.nodes, np.arange(profile.size + 1)))
                for end in ends[::-1]
            )
            count = int(inside.sum())
            cuts = np.full(count, self._window_scale * float(chdtri(1, 1 - level)))
            shares = share_ends(
                profile, np.repeat(reports, count, axis=0), np.subtract(*below), cuts
            )
            low[inside], high[inside] = (share / width[inside] for share in shares)
        return low, high

    @cached_property
    def _window(self) -> tuple[Profile, Floats]:
        bins = 2 * bins_for(self.counts.effective_n) // 3
        profile = Profile(self.counts.mechanism.law, nodes=WINDOW, bins=bins)
        return profile, self._binned(profile)

    def _quantile(self, q: Floats, level: float) -> tuple[Floats, Floats]:
        low, high = np.zeros(q.size), np.full(q.size, float(self._profile.size))
        inside = (q > 0) & (q < 1)
        if self.counts.n and inside.any():
            reports = np.repeat(self._reports, inside.sum(), axis=0)
            cuts = np.full(len(reports), self._scale * float(chdtri(1, 1 - level)))
            low[inside], high[inside] = quantile_ends(self._profile, reports, q[inside], cuts)
        positions = np.arange(self._profile.size + 1)
        return np.interp(low, positions, self._edges()), np.interp(high, positions, self._edges())
