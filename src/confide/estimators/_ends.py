"""Ends of intervals: Student's for a mean, and inverted likelihood-ratio tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from confide.estimators._profile import Profile
from confide.mechanisms.laws import Law

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Test = Callable[[Floats, Rows], Floats]

LEAST = 1e-7
STEPS = 40
CLOSE = 0.01
SMALL = 100


def scales(
    profile: Profile,
    counts: Floats,
    dispersion: Floats | None = None,
    *,
    windows: bool = False,
) -> Floats:
    """The factor on the chi-square quantile, one for each row of binned counts."""
    n = counts.sum(1)
    measured = profile.scale(counts, dispersion, windows=windows)
    return np.maximum(measured, np.where(n < SMALL, 1 + 10 / n, 0.0))


def least_variance(law: Law, scores: Floats, widths: Floats) -> float:
    """Least variance of one respondent's score: of its noise, and of places inside a cell."""
    noise = law.adjoint(scores**2) - law.adjoint(scores) ** 2
    return float(np.maximum(noise, widths**2 / 12).min())


def mean_ends(
    scores: Floats,
    weights: Floats,
    squares: Floats,
    *,
    level: float,
    edges: npt.ArrayLike = (-np.inf, np.inf),
    least: float = 0.0,
) -> tuple[Floats, Floats]:
    """Ends of Student's interval for the mean, one for each row of weights a report.

    Parameters
    ----------
    scores : array (reports,)
        Unbiased for the value behind a report.
    weights, squares : array (..., reports)
        Sums of weights and of their squares, in any unit: counts for both if there are none.
    level
        Of confidence.
    edges
        Of the lattice. Ends are cut to its bounds; an interval beyond a bound keeps the end cell.
    least
        Variance of one respondent's score, at least: reports that happen to be all alike must
        not pass for certainty. For the same reason as much of the population as n equal reports
        may have missed is given any other report.
    """
    total, squared = weights.sum(-1), squares.sum(-1)
    n = total**2 / squared
    center = weights @ scores / total
    sampled = (squares * (scores - center[..., None]) ** 2).sum(-1) / total**2
    freedom = np.maximum(n - 1, np.finfo(float).tiny)
    variance = np.maximum(sampled * n / freedom, least / n)
    # One respondent leaves no degree of freedom, and no idea of the mean.
    student = stdtrit(np.maximum(freedom, 1e-3), (1 + level) / 2)
    wide = np.where(n > 1 + 1e-9, student * np.sqrt(variance), np.inf)
    seen = weights > 0
    alike = np.where(seen, scores, np.inf).min(-1) == np.where(seen, scores, -np.inf).max(-1)
    missed = np.where(alike, 1 - ((1 - level) / 2) ** (1 / n), 0.0)
    low = center - np.maximum(wide, missed * (center - scores.min()))
    high = center + np.maximum(wide, missed * (scores.max() - center))
    bounds = np.asarray(edges, dtype=np.float64)
    low = np.where(low >= bounds[-1], bounds[-2], np.clip(low, bounds[0], bounds[-1]))
    return low, np.where(high <= bounds[0], bounds[1], np.clip(high, bounds[0], bounds[-1]))


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
    """Where root, which rises from inside to outside, has crossed target; outside if nowhere.

    False position (Illinois), with a bisection wherever three steps did not quarter the bracket.
    What is returned lies beyond the crossing, by at most 1 % of the target or the resolution.
    """
    result = outside.copy()
    slack = CLOSE / 2 * target
    target = target + slack
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
        beyond = value > 0
        low = np.where(beyond, np.where(side == 1, low / 2, low), value)
        high = np.where(beyond, value, np.where(side == -1, high / 2, high))
        a, b = np.where(beyond, a, guess), np.where(beyond, guess, b)
        side = np.where(beyond, 1, -1)
        near = np.abs(value) <= slack[live]
        result[live] = np.where(near, guess, b)
        keep = ~near & (np.abs(b - a) > resolution)
        live, a, b, low, high = live[keep], a[keep], b[keep], low[keep], high[keep]
        side, before = side[keep], before[keep]
    return result
