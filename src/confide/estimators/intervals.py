"""Confidence intervals for the mean, the distribution function and quantiles, from counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from confide import _validate
from confide.errors import InvalidInput
from confide.estimators._profile import Profile
from confide.lattice import Lattice
from confide.mechanisms.laws import Law
from confide.summaries import Counts

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Test = Callable[[Floats, Rows], Floats]

LEAST = 1e-7
STEPS = 40
CLOSE = 0.01
SMALL = 100
WINDOW = 64
MOST = 1e8
"""Respondents at most in a test: beyond, doubles cannot tell likelihoods apart."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals for a number in the population, computed from its reports when asked for.

    Mean: the mechanism's unbiased scores and their standard error. Distribution function and
    quantiles: all that a likelihood-ratio test does not reject. They assume no smoothness and no
    shape, so they are as wide as the noise makes them.

    Parameters
    ----------
    counts
        Summary of the reports of one number.

    Notes
    -----
    F(x) = c is rejected where twice the log-likelihood ratio is above k times the chi-square
    quantile with one degree of freedom. The factor k is the mean of that statistic in surveys
    simulated from a smooth fit to these counts, with a fixed seed and 30 % added; below 100
    respondents it is at least 1 + 10 / n. A quantile's interval holds every x at which F(x) = q
    is not rejected. Weighted counts are scaled to their effective number (Kish), and more than
    1e8 respondents count as so many. The mean of values inside a cell is taken to be its centre.

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
        return Profile(self.counts.mechanism.law)

    def _binned(self, profile: Profile) -> Floats:
        total = self.counts.total
        n = min(self.counts.effective_n, MOST)
        return profile.bin(total * (n / total.sum()))[None]

    @cached_property
    def _reports(self) -> Floats:
        return self._binned(self._profile)

    @cached_property
    def _scale(self) -> float:
        return float(scales(self._profile, self._reports)[0])

    def _cut(self, level: float) -> float:
        return self._scale * float(stats.chi2.ppf(_validate.level(level), 1))

    def mean(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the mean."""
        level = _validate.level(level)
        bounds = self._lattice.low, self._lattice.high
        if not self.counts.n:
            return bounds
        weights = self.counts.total
        squares = weights if self.counts.weights is None else self.counts.weights[1]
        channel = self.counts.mechanism
        low, high = mean_ends(
            channel.law, channel.unbiased(1), weights[None], squares[None], level=level
        )
        return float(np.clip(low[0], *bounds)), float(np.clip(high[0], *bounds))

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
        """Interval of the mean density over a sixteenth of the range around x.

        Without an assumption of smoothness the density at a point has no interval; the share of
        a window has one, here tested on at most 64 cells.
        """
        places = np.asarray(x, dtype=np.float64)
        if np.isnan(places).any():
            raise InvalidInput("numbers x", "nan")
        return self._each("pdf", places, _validate.level(level))

    def _each(self, what: str, at: Floats, level: float) -> tuple[Any, Any]:
        """Ends for each place, computing only those that were not asked for before."""
        kept = self._kept
        wanted = np.unique(at)
        new = np.array([a for a in wanted if (what, a, level) not in kept])
        if new.size:
            ends = getattr(self, f"_{what}")(new, level)
            kept.update({(what, a, level): end for a, *end in zip(new, *ends, strict=True)})
        pairs = np.array([kept[what, a, level] for a in at.ravel()]).reshape(*at.shape, 2)
        low, high = pairs[..., 0], pairs[..., 1]
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
            cuts = np.full(places.size, self._cut(level))
            parts = self._profile.below(places)
            low[inside], high[inside] = share_ends(self._profile, reports, parts, cuts)
        return low, high

    def _pdf(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        lattice = self._lattice
        half = (lattice.high - lattice.low) / 32
        inside = (x >= lattice.low) & (x <= lattice.high) & (self.counts.n > 0)
        low, high = np.zeros(x.size), np.where(inside, 1 / (2 * half), 0.0)
        if inside.any():
            profile, reports = self._window
            edges = lattice.edges[profile.nodes]
            center = np.clip(x[inside], lattice.low + half, lattice.high - half)
            ends = [
                np.interp(c, edges, np.arange(edges.size)) for c in (center - half, center + half)
            ]
            parts = profile.below(ends[1]) - profile.below(ends[0])
            cuts = np.full(center.size, self._cut(level))
            shares = share_ends(profile, np.repeat(reports, center.size, axis=0), parts, cuts)
            low[inside], high[inside] = (share / (2 * half) for share in shares)
        return low, high

    @cached_property
    def _window(self) -> tuple[Profile, Floats]:
        profile = Profile(self.counts.mechanism.law, nodes=WINDOW, bins=WINDOW)
        return profile, self._binned(profile)

    def _quantile(self, q: Floats, level: float) -> tuple[Floats, Floats]:
        low, high = np.zeros(q.size), np.full(q.size, float(self._profile.size))
        inside = (q > 0) & (q < 1)
        if self.counts.n and inside.any():
            reports = np.repeat(self._reports, inside.sum(), axis=0)
            cuts = np.full(len(reports), self._cut(level))
            low[inside], high[inside] = quantile_ends(self._profile, reports, q[inside], cuts)
        positions = np.arange(self._profile.size + 1)
        return np.interp(low, positions, self._edges()), np.interp(high, positions, self._edges())


def scales(profile: Profile, counts: Floats) -> Floats:
    """The factor on the chi-square quantile, one for each row of binned counts."""
    n = counts.sum(1)
    return np.maximum(profile.scale(counts), np.where(n < SMALL, 1 + 10 / n, 0.0))


def mean_ends(
    law: Law, scores: Floats, weights: Floats, squares: Floats, *, level: float
) -> tuple[Floats, Floats]:
    """Ends of Student's interval for the mean, one for each row of weights a report.

    The variance is never taken to be below that of the noise at its least noisy index, so that
    reports that happen to be all equal do not pass for certainty.
    """
    total, squared = weights.sum(1), squares.sum(1)
    n = total**2 / squared
    center = weights @ scores / total
    noise = (law.adjoint(scores**2) - law.adjoint(scores) ** 2).min()
    sampled = (squares * (scores - center[:, None]) ** 2).sum(1) / total**2
    freedom = np.maximum(n - 1, np.finfo(float).tiny)
    variance = np.maximum(sampled * n / freedom, max(float(noise), 0.0) / n)
    # One respondent leaves no degree of freedom, and no idea of the mean.
    student = stats.t.ppf((1 + level) / 2, np.maximum(freedom, 1e-3))
    wide = np.where(n > 1 + 1e-9, student * np.sqrt(variance), np.inf)
    return center - wide, center + wide


def share_ends(
    profile: Profile, counts: Floats, parts: Floats, cuts: Floats
) -> tuple[Floats, Floats]:
    """The shares that the given parts of cells may have without being rejected, one a row."""
    masses, top = profile.fit(counts)
    center = np.clip((parts * masses).sum(1), LEAST, 1 - LEAST)

    def root(shares: Floats, at: Rows) -> Floats:
        return np.sqrt(profile.deviance(counts[at], parts[at], shares, top[at]))

    ends = []
    for end in (LEAST, 1 - LEAST):
        found = _cross(root, center, np.full(len(counts), end), np.sqrt(cuts), resolution=1e-5)
        ends.append(np.where(found == end, round(end), found))
    return ends[0], ends[1]


def quantile_ends(
    profile: Profile, counts: Floats, shares: Floats, cuts: Floats
) -> tuple[Floats, Floats]:
    """The places x at which F(x) = share is not rejected, one interval a row.

    They are an interval: the distribution functions that the cut lets pass form a convex set, and
    their least and greatest values at x both rise with x.
    """
    masses, top = profile.fit(counts)
    nodes = np.arange(profile.size + 1)
    lines = np.pad(masses.cumsum(1), ((0, 0), (1, 0)))
    center = np.array([np.interp(q, line, nodes) for q, line in zip(shares, lines, strict=True)])

    def root(places: Floats, at: Rows) -> Floats:
        return np.sqrt(profile.deviance(counts[at], profile.below(places), shares[at], top[at]))

    resolution = profile.size / 4096
    low, high = (
        _cross(root, center, np.full(len(counts), end), np.sqrt(cuts), resolution=resolution)
        for end in (0.0, float(profile.size))
    )
    return low, high


def _cross(
    root: Test, inside: Floats, outside: Floats, target: Floats, *, resolution: float
) -> Floats:
    """Where root, which rises from inside to outside, crosses target; outside if nowhere.

    False position (Illinois), with a bisection wherever three steps did not quarter the bracket.
    """
    result = outside.copy()
    # Far outside the root may be infinite: capped, it still rises, and secants stay useful.
    cap = 3 * target
    rows = np.arange(len(inside))
    far = np.minimum(root(outside, rows), cap)
    live = rows[far > target]
    a, b = inside[live], outside[live]
    low, high = -target[live], far[live] - target[live]
    side, before = np.zeros(live.size), np.abs(b - a)
    for turn in range(STEPS):
        if not live.size:
            break
        guess = b - high * (b - a) / (high - low)
        if turn % 3 == 2:
            guess = np.where(np.abs(b - a) > before / 4, (a + b) / 2, guess)
            before = np.abs(b - a)
        value = np.minimum(root(guess, live), cap[live]) - target[live]
        result[live] = guess
        beyond = value > 0
        low = np.where(beyond, np.where(side == 1, low / 2, low), value)
        high = np.where(beyond, value, np.where(side == -1, high / 2, high))
        a, b = np.where(beyond, a, guess), np.where(beyond, guess, b)
        side = np.where(beyond, 1, -1)
        keep = (np.abs(value) > CLOSE * target[live]) & (np.abs(b - a) > resolution)
        live, a, b, low, high = live[keep], a[keep], b[keep], low[keep], high[keep]
        side, before = side[keep], before[keep]
    return result
