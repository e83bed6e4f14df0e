"""The protection of gamma noise (Ghatak, Sengupta and Roy), and the scale that reaches it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.foreign.noise_laws import Noise, TwoSidedGamma
from confide.gamma.surface import Spread, Surface, gamma_spread

Distribution = Any
"""A frozen distribution of scipy.stats, or a density."""

TAILS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
MARKS = (*TAILS, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, *(1 - tail for tail in reversed(TAILS)))
NODES = 20
STEPS = 513
FAR = (3.0, 10.0, 30.0)


@dataclass(frozen=True, eq=False)
class Known:
    """A density with what quadrature must know of it.

    Parameters
    ----------
    pdf
        The density.
    sd
        Its standard deviation.
    marks
        Quantiles and the ends of the support: between two of them it is smooth.
    ends
        The finite ends of the support.
    """

    pdf: Callable[[Floats], Floats]
    sd: float
    marks: Floats
    ends: tuple[float, ...]

    def closeness(self, z: Floats, noise: Noise, within: float) -> Floats:
        """M(z), one number a z."""
        reach = _reach(noise, within)
        ends = np.concatenate([np.geomspace(within / 16, within, 5), reach])
        # Distances at which either side of z comes to a mark of the density.
        marks = np.abs(z[:, None] - self.marks)
        limits = np.broadcast_to(ends, (z.size, ends.size))
        edges = np.concatenate([np.zeros((z.size, 1)), limits, marks], axis=1)
        edges = np.sort(np.minimum(edges, reach[-1]), axis=1)
        power = _power(noise)
        # Distances y = w**(1/power): in w the noise's density has no pole at zero.
        roots = edges**power
        u, weights = _rule()
        width = np.diff(roots, axis=1)[..., None]
        w = roots[:, :-1, None] + width * u
        y = np.maximum(w, 1e-300) ** (1 / power)
        heights = self.pdf(z[:, None, None] - y) + self.pdf(z[:, None, None] + y)
        terms = heights * _smooth(noise, y, power) * width * weights
        parts = terms.sum(axis=2)
        near = np.where(edges[:, 1:] <= within * (1 + 1e-12), parts, 0.0).sum(axis=1)
        every = parts.sum(axis=1)
        ratio: Floats = np.where(every > 0, near / np.where(every > 0, every, 1), 0.0)
        return ratio

    def largest(self, noise: Noise, within: float) -> float:
        """The supremum of M(z), where z has any density to speak of."""
        low, high = self.marks.min(), self.marks.max()
        bottom, top = np.quantile(self.marks, [0.15, 0.85])
        far = np.outer([-1, 1], FAR).ravel() * max(within, self.sd, math.sqrt(noise.variance))
        turns = [end + side * within for end in self.ends for side in (-1, 0, 1)]
        grid = np.concatenate(
            [np.linspace(low, high, 65), np.linspace(bottom - within, top + within, STEPS), turns]
        )
        grid = np.unique(np.concatenate([grid, (low + high) / 2 + far]))
        for _ in range(4):
            heights = self.closeness(grid, noise, within)
            best = int(np.argmax(heights))
            grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)], 17)
        return float(heights.max())


def described(population: Distribution, support: tuple[float, float] | None) -> Known:
    """The facts about a distribution that are needed, from scipy or from a density alone."""
    if hasattr(population, "ppf") and hasattr(population, "pdf"):
        ends = tuple(float(end) for end in population.support() if math.isfinite(end))
        sd = float(population.std())
        if not math.isfinite(sd):
            raise InvalidInput(
                "a population with a standard deviation",
                "one whose variance is infinite or unknown",
            )
        marks = np.unique(np.append(population.ppf(MARKS), ends))
        return Known(population.pdf, sd, marks, ends)
    if not callable(population):
        raise InvalidInput("a distribution of scipy.stats or a density", _checks.shown(population))
    if support is None:
        raise InvalidInput("support=(low, high) with a density", "none")
    low, high = (_checks.finite(support=end) for end in support)
    if not low < high:
        raise InvalidInput("support=(low, high) with low < high", f"({low:g}, {high:g})")
    edges = np.linspace(low, high, 2**14 + 1)
    x = (edges[:-1] + edges[1:]) / 2
    heights = np.asarray(population(x), dtype=np.float64)
    if heights.shape != x.shape or not (heights >= 0).all() or not heights.sum() > 0:
        raise InvalidInput(
            "a density that takes an array and is never negative", "one that does not"
        )
    shares = heights / heights.sum()
    mean = shares @ x
    marks = np.interp(MARKS, np.append(0, np.cumsum(shares)), edges)

    def inside(y: Floats) -> Floats:
        return np.where((y >= low) & (y <= high), population(np.clip(y, low, high)), 0.0)

    sd = math.sqrt(float(shares @ (x - mean) ** 2))
    return Known(inside, sd, np.unique(np.append(marks, (low, high))), (low, high))


def _power(noise: Noise) -> float:
    return min(noise.shape, 1.0) if isinstance(noise, TwoSidedGamma) else 1.0


def _smooth(noise: Noise, y: Floats, power: float) -> Floats:
    """The noise's density by w = y**power, up to a constant."""
    if isinstance(noise, TwoSidedGamma):
        result: Floats = np.exp(-y / noise.scale) * y ** (noise.shape - power)
        return result
    density = getattr(noise, "pdf", None)
    if density is None or getattr(noise, "varies", False):
        raise InvalidInput("noise with one density for all values", type(noise).__name__)
    heights: Floats = density(y)
    return heights


def _reach(noise: Noise, within: float) -> Floats:
    """Distances beyond the given one, in steps over which the noise falls moderately."""
    scale = math.sqrt(noise.variance)
    steps = np.array([0.25, 0.5, 1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40])
    result: Floats = within + scale * steps
    return result


def _rule() -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return (x + 1) / 2, w / 2


def closeness(
    z: npt.ArrayLike,
    population: Distribution,
    noise: Noise,
    *,
    within: float,
    support: tuple[float, float] | None = None,
) -> Floats:
    """M(z): P(|value - z| < within, given that the noised value is z).

    Parameters
    ----------
    z
        Noised values.
    population
        Distribution of the values: a frozen one of scipy.stats, or a density.
    noise
        What was added.
    within
        Distance, in the units of the values.
    support
        Where a density that is given as a function is not zero.

    Examples
    --------
    >>> from scipy import stats
    >>> from confide.foreign import Laplace
    >>> near = closeness(0.0, stats.norm(), Laplace(scale=1 / np.log(10)), within=1.0)
    >>> round(1 - float(near), 6)  # figure 1 of the paper
    0.044971
    """
    given = np.asarray(z, dtype=np.float64)
    truth = described(population, support)
    within = _checks.positive(within=within)
    return truth.closeness(np.atleast_1d(given).ravel(), noise, within).reshape(given.shape)


def protection(
    population: Distribution,
    noise: Noise,
    *,
    certainty: float = 0.9,
    support: tuple[float, float] | None = None,
) -> float:
    """Protection mu for a known distribution of values, in its standard deviations.

    Parameters
    ----------
    population, noise, support
        As for `closeness`.
    certainty
        The probability that M(z) may not reach: delta in the paper.

    Examples
    --------
    >>> from scipy import stats
    >>> from confide.foreign import Gaussian
    >>> mu = protection(stats.norm(scale=2.0), Gaussian(scale=1.0))
    >>> bool(abs(mu - normal_protection(2.0, 1.0)) < 1e-4)
    True
    """
    certainty = _certainty(certainty)
    truth = described(population, support)

    def deficit(log_distance: float) -> float:
        return certainty - truth.largest(noise, truth.sd * math.exp(log_distance))

    return math.exp(root(deficit, 0.0))


def empirical_protection(
    values: npt.ArrayLike, noise: Noise, *, certainty: float = 0.9, resolution: int = 64
) -> float:
    """Protection mu for data, in their standard deviations (eq. 6 of the paper, on cells).

    For a shape below 1 the printed supremum is 1 whatever the noise, because the density of the
    noise is infinite at the data points. So z is known here to the width of a cell only.

    Parameters
    ----------
    values
        Values, at least 10 and not all equal.
    noise
        What is to be added.
    certainty
        The probability that M(z) may not reach.
    resolution
        Cells in the protection that comes out.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> values = np.random.default_rng(1).normal(size=200)
    >>> weak, strong = (empirical_protection(values, Laplace(scale=scale)) for scale in (0.1, 2.0))
    >>> weak < strong
    True
    """
    certainty = _certainty(certainty)
    resolution = _checks.integer(4, 1024, resolution=resolution)
    coarse = _empirical(Surface.of(values, width=1 / 64), noise, certainty)
    return _empirical(Surface.of(values, width=coarse / resolution), noise, certainty)


def _empirical(surface: Surface, noise: Noise, certainty: float) -> float:
    spread = _spread(noise)

    def deficit(log_distance: float) -> float:
        return certainty - surface.largest(spread, surface.sd * math.exp(log_distance))

    return math.exp(root(deficit, 0.0))


def _spread(noise: Noise) -> Spread:
    if isinstance(noise, TwoSidedGamma):
        return gamma_spread(noise.shape, noise.scale)
    return lambda x: 2 * noise.mean_cdf(x) - 1


def normal_protection(value_sd: float, noise_sd: float, *, certainty: float = 0.9) -> float:
    """Protection mu of normal values with normal noise (lemma 2.1).

    Examples
    --------
    >>> round(normal_protection(1.0, 1.0), 4)
    1.1631
    """
    ratio = _checks.positive(value_sd=value_sd) / _checks.positive(noise_sd=noise_sd)
    return float(special.ndtri((1 + _certainty(certainty)) / 2) / math.hypot(1, ratio))


def shared_variance(value_sd: float, noise: Noise) -> float:
    """Tendick's rho**2: the share of the variance that the values have in what is noised.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> shared_variance(2.0, Laplace(scale=1.0))  # 4 / (4 + 2)
    0.6666666666666666
    """
    variance = _checks.positive(value_sd=value_sd) ** 2
    return variance / (variance + noise.variance)


def criterion_scale(shape: float, *, within: float, probability: float) -> float:
    """The scale with P(|noise| < within) = 1 - probability (Ghatak and Roy 2018; eq. 4).

    It looks at the noise alone: given z, the value may be much nearer than that.

    Examples
    --------
    >>> round(criterion_scale(1.0, within=1.0, probability=0.1), 7)
    0.4342945
    """
    shape = _checks.positive(shape=shape)
    within = _checks.positive(within=within)
    probability = _open(probability, "probability")
    return float(within / special.gammainccinv(shape, probability))


def reidentification(values: npt.ArrayLike, noise: Noise) -> float:
    """Expected share of records that are the nearest match of their own noised value.

    With the values and the noised ones at hand, this share can be linked by nearness. Exact, given
    the values; among equal values the match is a guess. Spruill's measure of confidentiality is
    one minus this.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> reidentification([0.0, 1.0, 2.0, 3.0], Laplace(scale=1e-3))
    1.0
    """
    return expected_matches(np.diff(np.sort(_checks.vector(values=values))), noise)


def expected_matches(gaps: Floats, noise: Noise) -> float:
    """Expected matches, from the gaps between neighboring values."""
    # Noise that stays within half the gap on its side leads back. Between equal values there is
    # no gap, so that only one of them adds its share.
    inner = noise.mean_cdf(gaps[gaps > 0] / 2)
    return float((2 * inner.sum() - inner.size + 1) / (gaps.size + 1))


def match_rate(values: npt.ArrayLike, noised: npt.ArrayLike) -> float:
    """Share of records whose own value is nearest to what was noised: one draw, as observed.

    Examples
    --------
    >>> match_rate([0.0, 1.0, 2.0], [0.2, 1.9, 2.1])
    0.6666666666666666
    """
    true, seen = _checks.vector(values=values), _checks.vector(noised=noised)
    if true.shape != seen.shape:
        raise InvalidInput("as many noised numbers as values", f"{seen.size} and {true.size}")
    places, counts = np.unique(true, return_counts=True)
    after = np.clip(np.searchsorted(places, seen), 1, places.size - 1) if places.size > 1 else 0
    before = np.maximum(np.subtract(after, 1), 0)
    nearer = np.where(np.abs(seen - places[before]) <= np.abs(places[after] - seen), before, after)
    own = places[nearer] == true
    return float(np.sum(own / counts[nearer]) / true.size)


def _certainty(certainty: float) -> float:
    return _open(certainty, "certainty")


def _open(value: float, name: str) -> float:
    number = _checks.finite(**{name: value})
    if not 0 < number < 1:
        raise InvalidInput(f"0 < {name} < 1", f"{name}={number:g}")
    return number


SMALLEST = 0.02
"""Shapes below are not looked at: nearly all of the noise would be next to nothing."""
TOLERANCE = 1e-6
FURTHEST = 30.0
"""Logarithm of the largest scale, in units of the protected distance."""


@dataclass(frozen=True, eq=False)
class Feasible:
    """Which pairs of shape and scale protect values.

    Parameters
    ----------
    surface
        The values in cells.
    within
        The protected distance, in the units of the values.
    certainty
        The probability that M(z) may not reach.
    """

    surface: Surface
    within: float
    certainty: float

    def largest(self, shape: float, scale: float) -> float:
        """The supremum of M(z)."""
        return self.surface.largest(gamma_spread(shape, scale), self.within)

    def limit(self, shape: float) -> float:
        """The limit of M(z) for ever larger scales, below which no scale gets."""
        return self.surface.largest(lambda x: (x / self.within) ** shape, self.within)

    def smallest_shape(self) -> float:
        """Below this shape no scale protects the values; NaN where none up to 1 does."""
        if self.limit(1.0) >= self.certainty:
            return math.nan
        if self.limit(SMALLEST) < self.certainty:
            return SMALLEST

        def excess(shape: float) -> float:
            return self.limit(shape) - self.certainty

        return float(scipy.optimize.brentq(excess, SMALLEST, 1.0, xtol=1e-5))

    def scale(
        self, shape: float, *, start: float | None = None, tolerance: float = TOLERANCE
    ) -> float:
        """The smallest scale that protects; infinite where none does."""

        def excess(log_scale: float) -> float:
            return self.largest(shape, self.within * math.exp(log_scale)) - self.certainty

        first = math.log((start or self.within) / self.within)
        return self.within * math.exp(root(excess, first, tolerance))


def root(falling: Callable[[float], float], start: float, tolerance: float = TOLERANCE) -> float:
    """The zero of a falling function; infinite if it is too far away."""
    known = {start: falling(start)}
    sign = 1.0 if known[start] > 0 else -1.0
    here, step = start, 0.1 * sign
    while True:
        there = here + step
        if abs(there) > FURTHEST:
            return sign * math.inf
        known[there] = falling(there)
        if (known[there] > 0) != (sign > 0):
            break
        here, step = there, 2 * step
    if known[there] == 0:
        return there
    low, high = sorted((here, there))
    return float(
        scipy.optimize.brentq(
            lambda x: known[x] if x in known else falling(x), low, high, xtol=tolerance
        )
    )


def gamma_scale(
    population: Distribution,
    *,
    shape: float,
    protection: float = 0.75,
    certainty: float = 0.9,
    support: tuple[float, float] | None = None,
) -> float:
    """The smallest scale with which gamma noise protects a known distribution of values.

    Parameters
    ----------
    population, support
        As for `closeness`.
    shape
        Shape of the noise.
    protection
        mu, in standard deviations of the values: Q in the paper.
    certainty
        The probability that M(z) may not reach: delta in the paper.

    Examples
    --------
    >>> from scipy import stats
    >>> round(gamma_scale(stats.norm(), shape=1.0), 4)
    0.4177
    """
    shape = _checks.positive(shape=shape)
    truth = described(population, support)
    within = truth.sd * _checks.positive(protection=protection)
    certainty = _checks.level(certainty)

    def excess(log_scale: float) -> float:
        noise = TwoSidedGamma(shape=shape, scale=within * math.exp(log_scale))
        return truth.largest(noise, within) - certainty

    found = root(excess, 0.0)
    if not math.isfinite(found):
        raise InvalidInput(
            f"a shape whose noise can protect this population to {protection:g} standard "
            f"deviations with certainty {certainty:g}",
            f"shape={shape:g}",
            "Take a larger shape, less protection or a higher certainty.",
        )
    return within * math.exp(found)


def widest(values: npt.ArrayLike, certainty: float) -> float:
    """The protection, in standard deviations, that no shape up to 1 reaches at a certainty.

    Half the shortest interval that holds such a share of the values: even noise that is spread
    out evenly leaves them there.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    count = min(x.size, math.ceil(certainty * x.size))
    lengths = x[count - 1 :] - x[: x.size - count + 1]
    return float(lengths.min() / 2 / x.std(ddof=1))
