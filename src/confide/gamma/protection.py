"""How far a noised value leaves the true one in doubt (Ghatak, Sengupta and Roy, section 2).

M(z) is the probability that the value lies within some distance of what was noised, given that
this is z. mu, the protection, is the largest distance, in standard deviations of the values, at
which no z makes that probability reach a certainty. mu is not differential privacy: it bounds what
one guess, z itself, achieves against somebody who knows no more than the distribution.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput
from confide.foreign.noise import Noise, TwoSidedGamma
from confide.gamma.distributions import Distribution, described
from confide.gamma.scales import root
from confide.gamma.surface import Spread, Surface, gamma_spread


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
    """Tendick's rho**2: the share of the variance that the values have in what is noised."""
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

    Whoever holds the values and the noised ones can link so many by nearness alone. Exact, given
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
    """The same from the gaps between neighbouring values."""
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
