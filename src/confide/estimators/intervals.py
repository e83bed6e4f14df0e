"""Confidence intervals of likelihood estimates: means, shares, quantiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from confide import _checks
from confide._types import Floats
from confide.curves import SimultaneousBand, forms
from confide.errors import InvalidInput, Unsupported
from confide.estimators.averaged import AveragedIntervals
from confide.estimators.calibration import Calibration
from confide.estimators.declining import Answerers
from confide.estimators.em import one_thread, stacks
from confide.estimators.pilot import Pilot
from confide.estimators.profile import MOST_BINS, NODES, Profile, bins_for
from confide.lattice import INTEGER, NUMBER, POINTS, Lattice
from confide.mechanisms import Channel
from confide.mechanisms.laws import Law
from confide.summaries import Counts
from confide.summaries.residuals import Residuals

Rows = npt.NDArray[np.int64]
Test = Callable[[Floats, Rows], Floats]
Cuts = Callable[[Floats], Floats]

LEAST = 1e-7
STEPS = 40
CLOSE = 0.01
TOUCH = 1e-9
"""Part of a cell that an interval of a quantile must reach into."""
FAR = 100.0
"""Ranges beyond the bounds to which an interval that is not cut may reach."""


def least_variance(law: Law, scores: Floats, spreads: Floats) -> float:
    """Least variance of one respondent's score: of its noise, and of places inside a cell."""
    noise = law.adjoint(scores**2) - law.adjoint(scores) ** 2
    return float(np.maximum(noise, spreads).min())


def mean_ends(
    scores: Floats,
    weights: Floats,
    squares: Floats,
    *,
    level: float,
    edges: npt.ArrayLike = (-np.inf, np.inf),
    least: float = 0.0,
    raked: Residuals | None = None,
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
    raked
        The groups behind raked weights, whose margins leave less to chance.
    """
    total, squared = weights.sum(-1), squares.sum(-1)
    n = total**2 / squared
    center = weights @ scores / total
    sampled = (squares * (scores - center[..., None]) ** 2).sum(-1) / total**2
    freedom = np.maximum(n - 1, np.finfo(float).tiny)
    sampled = sampled * n / freedom
    if raked is not None:
        sampled, freedom = raked.covariance(scores, scores), np.asarray(raked.freedom)
    variance = np.maximum(sampled, least / n)
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
    center = np.clip((parts * profile.among(masses)).sum(1), LEAST, 1 - LEAST)

    def root(shares: Floats, at: Rows) -> Floats:
        return np.sqrt(profile.deviance(counts[at], parts[at], shares, top[at], masses[at]))

    low, high = _both(root, center, (LEAST, 1 - LEAST), np.sqrt(cuts), resolution=1e-5)
    return np.where(low == LEAST, 0.0, low), np.where(high == 1 - LEAST, 1.0, high)


def quantile_ends(
    profile: Profile, counts: Floats, shares: Floats, cuts: Cuts
) -> tuple[Floats, Floats]:
    """The places x at which F(x) = share is not rejected, one interval a row.

    With one cut they are an interval: the distribution functions that it lets pass form a convex
    set, and their least and greatest values at x both rise with x. A cut that changes slowly with
    the place leaves that so; of several stretches the nearest to the middle would be found.
    """
    masses, top = profile.fit(counts)
    nodes = np.arange(profile.size + 1)
    lines = np.pad(profile.among(masses).cumsum(1), ((0, 0), (1, 0)))
    center = np.array([np.interp(q, line, nodes) for q, line in zip(shares, lines, strict=True)])

    def root(places: Floats, at: Rows) -> Floats:
        parts = profile.below(places)
        found = profile.deviance(counts[at], parts, shares[at], top[at], masses[at])
        return np.sqrt(found / cuts(places))

    ends = 0.0, float(profile.size)
    return _both(root, center, ends, np.ones(len(shares)), resolution=profile.size / 4096)


def _both(
    root: Test,
    inside: Floats,
    ends: tuple[float, float],
    target: Floats,
    *,
    resolution: float,
) -> tuple[Floats, Floats]:
    """Where root crosses target on the way to each of two ends, searched at the same time."""
    rows = len(inside)
    found = _cross(
        lambda places, at: root(places, at % rows),
        np.tile(inside, 2),
        np.repeat(ends, rows),
        np.tile(target, 2),
        resolution=resolution,
    )
    return found[:rows], found[rows:]


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


WINDOW, EACH, TOGETHER = 72, 16, 40
"""Bins of reports of the tests of windows, windows side by side between the bounds, and surveys
that are simulated for them."""
UNEVEN = 128
"""Bins up to which half of them lie where the reports are; more are even, which is faster."""
FEW = 64
"""Whole numbers up to which each has an interval of its own."""
QUICK = 48
KEPT = 4096
MOST = 1e8
"""Respondents at most in a test: beyond, doubles cannot tell likelihoods apart."""


@dataclass(frozen=True, eq=False)
class Tests:
    """Tests of shares of cells, with their reports and critical values."""

    profile: Profile
    reports: Floats
    calibration: Calibration


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals for a number in the population, computed from its reports when asked for.

    Mean: the mechanism's unbiased scores and their standard error. Distribution function and
    quantiles: those of the default estimate's own average over priors (`AveragedIntervals`) where
    there are any; otherwise all that a likelihood-ratio test does not reject. The tests assume
    nothing about the population's shape, so they are as wide as the noise makes them. Reports say
    nothing about where in its cell a value lies, and many people may share one value: so a tested
    interval of a quantile ends at edges of cells of the lattice, and one of the distribution
    function inside a cell reaches from the least share at its lower edge to the greatest at its
    upper one.

    Parameters
    ----------
    counts
        Summary of the reports of one number.
    size
        Cells of the tests: at most so many, by default those of the lattice up to 1024. Of finer
        lattices neighboring cells are joined, and values are taken to be spread evenly inside.
    bins
        Bins that reports are gathered into, at most; by default so many that they lose little.
        Fewer make intervals of quantiles wider and sooner there. They cover as the others do: the
        law of binned reports is exact.
    pilot
        The estimate from which surveys are simulated; by default a smooth one.
    averaged
        Intervals of the distribution function and of quantiles in place of tests.

    Notes
    -----
    F(x) = c is rejected where twice the log-likelihood ratio is above a cut that depends on x: the
    point of a gamma law that has the mean and the variance of that statistic in surveys simulated
    from the pilot, on the same lattice and bins and with a fixed seed, and 10 % more. It is
    simulated at a few places, next to which nobody may be, and linear between them; see
    `confide.estimators.calibration`. A quantile's interval holds every x at which F(x) = q is not
    rejected. More than 1e8 respondents count as so many. The mean of values inside a cell is taken
    to be its center; where it is not, the mean's interval is off by up to half a cell.

    Of whole numbers an interval of quantiles is a set of them, from the first to the last: all that
    are in a cell in which the quantile may be. Where each has its own cell nothing is assumed.
    Where people may decline, everything is about those who did not, and `declined` is the share of
    those who did: see `confide.estimators.declining.Answerers`.

    Weighted counts are scaled to their effective number (Kish). Where weights go with the answers
    that number is wrong for most parts of the distribution, so simulated surveys give each report
    the spread of its own weights, sum w**2 / sum w. Of raked weights they know the groups, and
    leave out what the margins explain: see `confide.summaries.residuals.Residuals`.

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
    bins: int = MOST_BINS
    pilot: Pilot | None = None
    averaged: AveragedIntervals | None = None
    _kept: dict[tuple[str, float, float], list[float]] = field(
        init=False, repr=False, default_factory=dict
    )
    _simulated: dict[float, Floats] = field(init=False, repr=False, default_factory=dict)

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

    def quick(self) -> Intervals:
        """Intervals that take half of the time or less, and are wider where n is large.

        With 48 bins of reports in place of 64 to 160 the quartiles of a square wave on 1,024 cells
        take a tenth of a second. Their intervals are hardly wider up to 50,000 respondents at
        epsilon 1, twice as wide with 5,000 at epsilon 4, four times with a million.
        """
        return replace(self, bins=QUICK)

    @cached_property
    def _n(self) -> float:
        return min(self.counts.effective_n, MOST)

    @cached_property
    def _pilot(self) -> Pilot:
        return Pilot.of(self.counts, self._n) if self.pilot is None else self.pilot

    @cached_property
    def tests(self) -> Tests:
        """Tests of the distribution function."""
        law = self.counts.mechanism.law
        bins = stacks(law) * min(bins_for(law, self._n), self.bins)
        size = self._lattice.size
        whole = self._pilot.everybody(np.arange(size + 1) / size, self.counts)
        return self._calibrated(Profile(law, nodes=self.size, bins=bins, pilot=whole))

    @cached_property
    def _windows(self) -> Tests:
        """Tests of many places at once, with fewer bins of reports."""
        bins = min(WINDOW, self.bins)
        law = self.counts.mechanism.law
        return self._calibrated(Profile(law, nodes=self.size, bins=bins), TOGETHER)

    def _calibrated(self, profile: Profile, most: int | None = None) -> Tests:
        pilot = self._pilot.everybody(profile.nodes / self._lattice.size, self.counts)
        total = self.counts.total
        reports = profile.bin(total * (self._n / max(total.sum(), 1.0)))[None]
        weighed = self._weighed(profile)
        return Tests(profile, reports, Calibration(profile, pilot, self._n, weighed, most))

    def _weighed(self, profile: Profile) -> Residuals | None:
        """Weights by group and bin of reports, where there are any."""
        counts = self.counts
        if counts.weights is None:
            return None
        known = counts.residuals
        return Residuals(known.places, profile.bin(known.sums), profile.bin(known.squares))

    def mean(self, level: float = 0.95, *, cut: bool = True) -> tuple[float, float]:
        """Interval of the mean.

        Parameters
        ----------
        level
            Confidence level.
        cut
            Whether to cut it to the bounds of the lattice.
        """
        level = _checks.level(level)
        bounds = self._lattice.low, self._lattice.high
        if not self.counts.n:
            return bounds
        if self._lattice.zoom is not None:
            return self._likely_mean(level)
        weights = self.counts.total
        squares = weights if self.counts.weights is None else self.counts.weights[1]
        scores, law = self.counts.mechanism.unbiased(1), self.counts.mechanism.law
        if self.counts.mechanism.prefer_not_to_say:
            # The test of a ratio counts from the middle of the bounds.
            room = 0.0 if cut else FAR * (bounds[1] - bounds[0])
            most = bounds[0] - room, bounds[1] + room
            ends = Answerers(self.counts).ratios(scores, level, most)
            return float(ends[0]), float(ends[1])
        least = least_variance(law, scores, self._lattice.spreads)
        edges = self._lattice.edges[[0, 1, -2, -1]]
        if self._lattice.kind != NUMBER:
            edges[[0, -1]] = bounds
        if not cut:
            edges = np.array([-np.inf, np.inf])
        low, high = mean_ends(
            scores,
            weights,
            squares,
            level=level,
            edges=edges,
            least=least,
            raked=self.counts.raked,
        )
        return float(low), float(high)

    def center(self) -> float | None:
        """The unbiased mean, cut to the bounds, which is inside its interval at every level.

        None where the mechanism has no unbiased score, or next to nobody answered.
        """
        if not self.counts.n or self._lattice.zoom is not None:
            return None
        scores = _scores(self.counts.mechanism)
        if scores is None:
            return None
        mean, answered = float(self.counts.total @ scores), float(self.counts.total.sum())
        if self.counts.mechanism.prefer_not_to_say:
            answered = float(self.counts.total @ Answerers(self.counts).answered)
        if not answered > 0:
            return None
        return min(max(mean / answered, self._lattice.low), self._lattice.high)

    def _likely_mean(self, level: float) -> tuple[float, float]:
        """All means that a likelihood-ratio test does not reject.

        On a zoomed lattice a report says much about values inside the zoom and little about those
        outside, and unbiased scores must serve both: they are more than twice as noisy as those of
        equal cells. The likelihood need not be.
        """
        edges = self._edges()
        low, high = edges[0], edges[-1]
        # A mean is a share of the range: each cell counts by where its center lies.
        parts = ((edges[:-1] + edges[1:]) / 2 - low)[None] / (high - low)
        tests = self.tests
        cuts = tests.calibration.cuts_of(tests.calibration.deviances(parts[0])[None], level)
        least, most = share_ends(tests.profile, tests.reports, parts, cuts)
        return float(low + least[0] * (high - low)), float(low + most[0] * (high - low))

    def declined(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the share that preferred not to say, where people could."""
        if not self.counts.mechanism.prefer_not_to_say:
            raise forms.not_offered()
        return Answerers(self.counts).interval(_checks.level(level))

    def cdf(self, x: npt.ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Interval of the share of values up to x."""
        places = np.asarray(x, dtype=np.float64)
        if np.isnan(places).any():
            raise InvalidInput("numbers x", "nan")
        return self._each("cdf", places, _checks.level(level))

    def quantile(self, q: npt.ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Interval of the value below which a share q of the population lies."""
        shares = np.asarray(q, dtype=np.float64)
        if not np.all((shares >= 0) & (shares <= 1)):
            raise InvalidInput("0 <= q <= 1", f"q={_checks.shown(q)}")
        return self._each("quantile", shares, _checks.level(level))

    def pdf(self, x: npt.ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """Interval of the mean density over a sixteenth of the lattice around x.

        Without an assumption of smoothness the density at a point has no interval; the share of
        a window has one. The window counts cells, so on a log
        scale it has the same width in the logarithm everywhere. Next to a bound it is moved
        inside: closer than half a window the interval no longer changes. Of at most 64 whole
        numbers each has an interval of its own.
        """
        places = np.asarray(x, dtype=np.float64)
        if np.isnan(places).any():
            raise InvalidInput("numbers x", "nan")
        return self._each("pdf", places, _checks.level(level))

    def smooth(self) -> AveragedIntervals:
        """Intervals that assume a smooth density; refused where the reports speak against it."""
        if self.averaged is None:
            raise Unsupported(
                "Intervals with smooth=True are those of the default estimate of numbers that "
                "everybody answered, without weights: leave smooth=True out."
            )
        between = 0 if self.pilot is None else self.pilot.heaps_between
        if between or self.averaged.heaped:
            found = f"this estimate has {between}" if between else "reports point to round numbers"
            raise Unsupported(
                "Intervals with smooth=True need a density without heaps between the bounds, and "
                f"{found}: leave smooth=True out."
            )
        return self.averaged.smooth

    @one_thread
    def band(self, what: str, level: float = 0.95) -> SimultaneousBand:
        """A simultaneous band of mean densities over windows, or of the distribution function.

        Parameters
        ----------
        what
            ``"pdf"`` or ``"cdf"``.
        level
            Confidence level of the whole band.

        Notes
        -----
        It is tested for 16 windows side by side, or at 15 edges between the bounds, each with the
        level that Bonferroni's inequality asks for. Between the middles of windows the band is
        joined up. A distribution function never falls, so that its ends at the edges hold between
        them too. No cut is below that of a chi-square, which makes the band wide: 359 of 360 bands
        of three populations held (30 surveys each, epsilon 1 and 4).
        """
        level = _checks.level(level)
        lattice = self._lattice
        if what == "pdf":
            numbers = (np.arange(EACH) + 0.5) * (lattice.size / EACH)
            x = np.interp(numbers, np.arange(lattice.size + 1), lattice.edges)
            if lattice.kind == INTEGER:
                x = np.unique(np.clip(np.rint(x), lattice.low, lattice.high))
            low, high = self._shares_of_windows(x, level, together=True)
        else:
            x, low, high = self._lines(level)
        return SimultaneousBand(what=what, x=x, low=low, high=high, level=level)

    def _lines(self, level: float) -> tuple[Floats, Floats, Floats]:
        """Edges, and the ends of the distribution function there, for all of them together."""
        tests, lattice = self._windows, self._lattice
        profile = tests.profile
        few = np.unique(np.linspace(0, profile.size, EACH + 1).round().astype(int))
        x = lattice.edges[profile.nodes[few]]
        if lattice.kind == INTEGER:
            x = x - 0.5
        low, high = np.zeros(few.size), np.ones(few.size)
        low[-1], high[0] = 1.0, 0.0
        if self.counts.n and few.size > 2:
            parts = profile.below(few[1:-1].astype(np.float64))
            found = np.stack([tests.calibration.deviances(part) for part in parts])
            cuts = tests.calibration.together(found, level)
            reports = np.repeat(tests.reports, len(parts), axis=0)
            low[1:-1], high[1:-1] = share_ends(profile, reports, parts, cuts)
        return x, np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]

    @one_thread
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
        edges: Floats = self._lattice.edges[self.tests.profile.nodes]
        return edges

    def _cdf(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        if self.averaged is not None:
            return self.averaged.cdf(x, level)
        if self._lattice.kind == INTEGER:
            # Sums up to a whole number are reached halfway to the next one.
            x = np.where(x >= self._lattice.high, np.inf, np.floor(x) + 0.5)
        elif self._lattice.kind == POINTS:
            slack = 1e-9 * self._lattice.step
            below = np.searchsorted(self._lattice.centers, x + slack, side="right")
            x = np.where(x >= self._lattice.high, np.inf, self._lattice.edges[below])
        low, high = (x >= self._lattice.high).astype(float), (x > self._lattice.low).astype(float)
        inside = (x > self._lattice.low) & (x < self._lattice.high)
        if self.counts.n and inside.any():
            places = np.interp(x[inside], self._edges(), np.arange(self.tests.profile.size + 1))
            # Values may be anywhere in the cell of x: below it the share is that of its lower edge
            # at least, and that of its upper edge at most.
            near = np.abs(places - places.round()) < TOUCH
            under = np.where(near, places.round(), np.floor(places))
            over = np.where(near, places.round(), np.ceil(places))
            edges, back = np.unique(np.append(under, over), return_inverse=True)
            ends = np.array(self._at_edges(edges, level))[:, back.reshape(2, -1)]
            low[inside], high[inside] = ends[0, 0], ends[1, 1]
        return low, high

    def _at_edges(self, places: Floats, level: float) -> tuple[Floats, Floats]:
        """Ends of the distribution function at edges of cells, which are given by number."""
        tests = self.tests
        size = tests.profile.size
        low, high = (places >= size).astype(float), (places > 0).astype(float)
        inner = (places > 0) & (places < size)
        if inner.any():
            parts = tests.profile.below(places[inner])
            reports = np.repeat(tests.reports, len(parts), axis=0)
            cuts = tests.calibration.cuts(places[inner], level)
            low[inner], high[inner] = share_ends(tests.profile, reports, parts, cuts)
        return low, high

    def _pdf(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        return self._shares_of_windows(x, level, together=False)

    def _shares_of_windows(
        self, x: Floats, level: float, *, together: bool
    ) -> tuple[Floats, Floats]:
        """Mean densities over windows around x, with one level each or one for all of them."""
        lattice = self._lattice
        numbers, half = np.arange(lattice.size + 1), lattice.size / 32
        if lattice.kind == INTEGER:
            # Whole cells; of few whole numbers one, and then it is the share of that number.
            half = 0.5 if lattice.size <= FEW else lattice.size // 32 + 0.5
        center = np.clip(np.interp(x, lattice.edges, numbers), half, lattice.size - half)
        ends = center - half, center + half
        width = np.subtract(*(np.interp(end, numbers, lattice.edges) for end in ends[::-1]))
        inside = (x >= lattice.low) & (x <= lattice.high)
        low, high = np.zeros(x.size), np.where(inside, 1 / width, 0.0)
        if self.counts.n and inside.any():
            profile = self._windows.profile
            parts = self._parts(center[inside], half)
            cuts = self._window_cuts(center[inside], half, level, together=together)
            reports = np.repeat(self._windows.reports, len(parts), axis=0)
            shares = share_ends(profile, reports, parts, cuts)
            low[inside], high[inside] = (share / width[inside] for share in shares)
        return low, high

    def _parts(self, centers: Floats, half: float) -> Floats:
        """Part of each cell of the windows' profile that lies in windows around centers."""
        profile = self._windows.profile
        places = np.arange(profile.size + 1)
        ends = (np.interp(centers + side, profile.nodes, places) for side in (half, -half))
        return np.asarray(np.subtract(*(profile.below(end) for end in ends)))

    def _window_cuts(self, centers: Floats, half: float, level: float, *, together: bool) -> Floats:
        """Cuts for windows, linear between those of windows that lie side by side."""
        many = max(1, min(EACH, int(self._lattice.size / (2 * half))))
        step = (self._lattice.size - 2 * half) / max(many - 1, 1)
        known = np.asarray(half + np.arange(many) * step, dtype=np.float64)
        if half not in self._simulated:
            parts = self._parts(known, half)
            found = np.stack([self._windows.calibration.deviances(part) for part in parts])
            self._simulated[half] = found
        found, calibration = self._simulated[half], self._windows.calibration
        cuts = (calibration.together if together else calibration.cuts_of)(found, level)
        return np.interp(centers, known, cuts)

    def _quantile(self, q: Floats, level: float) -> tuple[Floats, Floats]:
        if self.averaged is not None:
            return self.averaged.quantile(q, level)
        tests = self.tests
        profile = tests.profile
        low, high = np.zeros(q.size), np.full(q.size, float(profile.size))
        inside = (q > 0) & (q < 1)
        if self.counts.n and inside.any():
            reports = np.repeat(tests.reports, inside.sum(), axis=0)
            low[inside], high[inside] = quantile_ends(
                profile, reports, q[inside], lambda at: tests.calibration.cuts(at, level)
            )
        positions = np.arange(profile.size + 1)
        if self._lattice.kind != NUMBER:
            # All that is in any cell which the interval touches: a quantile in the cell from edge k
            # to k + 1 has a position above k and at most k + 1.
            ends = (np.interp(end, positions, profile.nodes) for end in (low, high))
            first, last = (np.maximum(np.ceil(end).astype(int) - 1, 0) for end in ends)
            if self._lattice.kind == POINTS:
                return self._lattice.centers[first], self._lattice.centers[last]
            edges = self._lattice.edges
            return edges[first] + 0.5, edges[last + 1] - 0.5
        # A quantile may be anywhere in a cell that the interval touches: many may share a value.
        # A crossing that lies on an edge, but for rounding, does not touch the next cell.
        first, last = np.floor(low + TOUCH).astype(int), np.ceil(high - TOUCH).astype(int)
        edges = self._edges()
        return edges[np.minimum(first, profile.size - 1)], edges[np.maximum(last, 1)]


@lru_cache(maxsize=32)
def _scores(mechanism: Channel) -> Floats | None:
    """Scores of the reports that are unbiased for the value; None where there are none."""
    try:
        return mechanism.unbiased(1)
    except Unsupported:
        return None


def unbiased_means(counts: Counts) -> tuple[float, ...]:
    """The unbiased mean of each column; none at all where one has none."""
    names = counts.mechanism.axes
    parts = [counts] if len(names) == 1 else [counts.marginal(name) for name in names]
    centers = [Intervals(part).center() for part in parts]
    known = tuple(center for center in centers if center is not None)
    return known if len(known) == len(centers) else ()
