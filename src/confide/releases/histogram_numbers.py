"""The mean and quantiles of a released histogram, with intervals that hold sampling and noise.

The curve of a histogram has no negative masses, so noise lifts its empty cells: its mean is drawn
to the middle of the bounds. The noisy counts themselves are unbiased, and are released with it.
Since the number of records is public, so is the sum of all noises, which is taken out in equal
parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.exact.integer_noise import DiscreteLaplace
from confide.releases.bounded import named
from confide.releases.histogram import Histogram
from confide.releases.noise_intervals import SPREAD_RISK, shrunk, student
from confide.releases.release import Release

TERMS = 1024
"""Terms of the series for the tails of a sum of noises."""
PERIOD = 24.0
"""Period of that series in standard deviations: beyond it the tails are below 1e-9."""
MANY = 2048
"""From so many cells on the sum of their noises is as good as normal, and an interval of a quantile
looks at so many edges at most: a part of the edges gives a valid interval too, only a wider one."""

Numbers = tuple[float, float, float]


def histogram_mean(release: Release, *, column: str | None = None, level: float = 0.95) -> Numbers:
    """The mean of a released histogram, without bias by noise, and its interval.

    It costs nothing more: it follows from what was released. The interval is for the population
    that the records are a sample of, its values clipped to the bounds. It holds the sampling, the
    noise by its exact law, and that values may lie anywhere in their cells.

    Parameters
    ----------
    release
        What `Histogram.release` gave.
    column
        Which column, if there are several.
    level
        Confidence level.

    Returns
    -------
    tuple
        The estimate, and the lower and the upper end.

    Examples
    --------
    >>> from confide import Lattice
    >>> pay = Lattice(low=0, high=100_000)
    >>> release = Histogram(pay, epsilon=1.0).simulate([30_000.0, 42_000.0] * 500, seed=1)
    >>> mean, low, high = histogram_mean(release)
    >>> bool(low < 36_000 < high), bool(low < mean < high)
    (True, True)
    """
    counts = _Counts.of(release, column)
    level = _checks.level(level)
    low, value, high = (
        counts.mean(ends, level) for ends in (counts.lows, counts.middles, counts.highs)
    )
    bottom, top = float(counts.lows[0]), float(counts.highs[-1])
    ends = (min(max(low[1], bottom), top), min(max(high[2], bottom), top))
    return min(max(value[0], ends[0]), ends[1]), *ends


def histogram_quantile(
    release: Release, q: float, *, column: str | None = None, level: float = 0.95
) -> Numbers:
    """A quantile of a released histogram and its interval.

    It costs nothing more: it follows from what was released. Ends of the interval are ends of
    cells. A cell is in it unless the noisy counts say, beyond sampling and the exact law of the
    noise, that too many records lie below it or too many above.

    Parameters
    ----------
    release
        What `Histogram.release` gave.
    q
        Share below the quantile.
    column
        Which column, if there are several.
    level
        Confidence level.

    Returns
    -------
    tuple
        The estimate, and the lower and the upper end.

    Examples
    --------
    >>> from confide import Lattice
    >>> pay = Lattice(low=0, high=100_000)
    >>> release = Histogram(pay, epsilon=1.0).simulate(range(20_000, 60_000, 40), seed=1)
    >>> median, low, high = histogram_quantile(release, 0.5)
    >>> bool(low < 40_000 < high), bool(low < median < high)
    (True, True)
    """
    counts = _Counts.of(release, column)
    q = _checks.within(0, 1, q=q)
    if q in (0, 1):
        raise InvalidInput("0 < q < 1", f"q={q:g}")
    return counts.quantile(q, _checks.level(level))


@dataclass(frozen=True, eq=False)
class _Counts:
    """The noisy counts of one column of a histogram.

    Parameters
    ----------
    noisy
        The counts.
    lows, highs
        The least and the greatest value that each cell may hold.
    edges
        Where its cells end.
    n
        Number of records.
    noise
        The noise on each cell of the histogram.
    each
        How many cells of the histogram a count is the sum of.
    """

    noisy: Floats
    lows: Floats
    highs: Floats
    edges: Floats
    n: int
    noise: DiscreteLaplace
    each: int

    @classmethod
    def of(cls, release: Release, column: str | None) -> _Counts:
        if not isinstance(release, Release) or release.spec.get("release") != Histogram.name:
            raise InvalidInput("the release of a Histogram", _checks.shown(type(release)))
        n = int(release.spec["n"])
        recipe = Histogram.from_dict(
            {key: value for key, value in release.spec.items() if key not in ("version", "n")}
        )
        names = list(named(recipe.lattice))
        at = names.index(_checks.only(names, column=column))
        grids, whole = recipe.grids(n), recipe.whole(n)[at]
        shape = tuple(grid.size for grid in grids)
        noisy = np.array(release.noisy, dtype=np.float64).reshape(shape)
        own = noisy.sum(axis=tuple(axis for axis in range(len(shape)) if axis != at))
        edges = grids[at].edges if whole is None else whole.edges
        # A whole number is in the cell whose edges lie half a unit beyond it.
        within = 0.0 if whole is None else 0.5
        others = math.prod(shape) // shape[at]
        return cls(own, edges[:-1] + within, edges[1:] - within, edges, n, recipe.noise, others)

    @property
    def middles(self) -> Floats:
        middles: Floats = (self.lows + self.highs) / 2
        return middles

    def linear(self, weights: Floats) -> tuple[float, Floats]:
        """An unbiased mean of weights of the records, and what each cell's noise counts in it."""
        middle = float(weights.mean())
        factors = (weights - middle) / self.n
        return middle + float(factors @ self.noisy), factors

    def mean(self, weights: Floats, level: float) -> Numbers:
        """The mean of the weights of the population's cells, with its interval."""
        n, (mean, factors) = self.n, self.linear(weights)
        low, high = float(weights[0]), float(weights[-1])
        middle, half = (low + high) / 2, (high - low) / 2
        part = SPREAD_RISK * (1 - level) / 0.05
        tail = (1 - level - part) / 2
        # The mean square about the middle of the bounds, as large as its noise may hide.
        square, noises = self.linear((weights - middle) ** 2)
        square = min(half**2, max(0.0, square + self.reach(noises, 0.0, part)))
        square *= n / max(n - 1, 1) * student(n, tail) ** 2

        def spread(least: float, most: float) -> float:
            off = max(0.0, least - middle, middle - most)
            return math.sqrt(max(0.0, min(half**2, square) - off**2) / n)

        return mean, *shrunk(
            mean, spread, lambda sd: self.reach(factors, sd, tail), bottom=low, top=high
        )

    def reach(self, factors: Floats, sd: float, tail: float) -> float:
        """The x with P(normal + sum of factors times noises > x) = tail."""
        noise_sd = self.noise.sd * math.sqrt(self.each * float(factors @ factors))
        if not math.hypot(sd, noise_sd):
            return 0.0
        used = factors[factors != 0] if factors.size <= MANY else factors[:0]
        normal = sd if used.size else math.hypot(sd, noise_sd)
        total = math.hypot(sd, noise_sd)
        t = _places(np.array([total]))
        law = self.each * np.sum(_log_cf(self.noise, np.multiply.outer(used, t[0])), axis=0)[None]
        above = _tail(law, np.array([normal]), t)
        low, high = 0.0, 12 * total
        for _ in range(50):
            half = (low + high) / 2
            low, high = (half, high) if above(np.array([half]))[0] > tail else (low, half)
        return high

    def quantile(self, q: float, level: float) -> Numbers:
        """A quantile with its interval, by a test of every cell."""
        from scipy.optimize import isotonic_regression  # slow to import

        size, n = self.noisy.size, self.n
        shares = np.arange(1, size) / size
        below = np.cumsum(self.noisy)[:-1] - shares * (self.noisy.sum() - n)
        rising = np.clip(isotonic_regression(below / n).x, 0, 1)
        value = float(np.interp(q, np.r_[0, rising, 1], self.edges))

        some = np.arange(0, size - 1, -(-size // MANY))
        part, over = shares[some, None], below[some] - n * q
        sd = np.full(some.size, math.sqrt(n * q * (1 - q)))
        noises = self.noise.sd * np.sqrt(self.each * size * part[:, 0] * (1 - part[:, 0]))
        t = _places(np.hypot(sd, noises))
        law = part * _log_cf(self.noise, t * (1 - part))
        law += (1 - part) * _log_cf(self.noise, t * part)
        above, tail = _tail(self.each * size * law, sd, t), (1 - level) / 2
        # Counts are whole numbers: half a record is given to each test.
        may_begin = np.r_[True, above(over - 0.5) > tail]
        may_end = np.r_[above(-over - 0.5) > tail, True]
        kept = np.flatnonzero(may_begin & may_end)
        lows = self.lows[np.r_[0, some + 1]]
        highs = self.highs[np.r_[some, size - 1]]
        if not kept.size:
            kept = np.array([min(int(np.searchsorted(highs, value)), highs.size - 1)])
        low, high = float(lows[kept[0]]), float(highs[kept[-1]])
        return min(max(value, low), high), low, high


def _log_cf(noise: DiscreteLaplace, t: Floats) -> Floats:
    """Logarithm of the characteristic function of discrete Laplace noise."""
    p = math.exp(-1 / noise.scale)
    found: Floats = -np.log1p(4 * p / (1 - p) ** 2 * np.sin(t / 2) ** 2)
    return found


def _places(sd: Floats) -> Floats:
    """Where the characteristic function is needed, one row for each standard deviation."""
    found: Floats = np.multiply.outer(2 * math.pi / PERIOD / sd, np.arange(TERMS) + 0.5)
    return found


def _tail(law: Floats, sd: Floats, t: Floats) -> Callable[[Floats], Floats]:
    """Tails P(normal + noise > x) of symmetric laws, from their logarithms at some places.

    By the inversion of Gil-Pelaez (1951) with the midpoint rule, as Davies (1973) has it: its error
    is the probability of values more than a period away.
    """
    weights = np.exp(law - (sd[:, None] * t) ** 2 / 2) / (np.arange(TERMS) + 0.5) / math.pi

    def above(x: Floats) -> Floats:
        # Beyond half a period both the tail and what the series can tell are nothing.
        most = math.pi / (2 * t[:, 0])
        near = np.clip(x, -most, most)
        told: Floats = (np.sin(near[:, None] * t) * weights).sum(axis=1)
        return 0.5 - told

    return above
