"""Costs of two-sided gamma noise: its differential privacy, and the error of a density."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from scipy.special import expit, gammainc, gammaincc

from confide import _checks
from confide._cards import bars, card, table
from confide._figures import number
from confide._types import Floats
from confide.errors import Unsupported
from confide.estimators.bandwidths import named
from confide.foreign.noise_laws import Noise, TwoSidedGamma
from confide.foreign.quadrature import nodes

SHIFTS = 64
ZOOMS = 5


def gamma_epsilon(noise: TwoSidedGamma, *, extent: float) -> float | None:
    """The epsilon of values clipped to an interval of that length, None where there is none.

    Examples
    --------
    >>> gamma_epsilon(TwoSidedGamma(shape=1.0, scale=0.5), extent=2.0)
    4.0
    >>> gamma_epsilon(TwoSidedGamma(shape=0.9, scale=0.5), extent=2.0) is None
    True
    """
    return _checks.positive(extent=extent) / noise.scale if noise.shape == 1 else None


def gamma_delta(noise: TwoSidedGamma, *, epsilon: float, extent: float) -> float:
    """The smallest delta with which the noise is (epsilon, delta)-private.

    Parameters
    ----------
    noise
        Two-sided gamma noise.
    epsilon
        The epsilon that delta goes with.
    extent
        Length of the interval that values are clipped to, in their units.

    Notes
    -----
    Up to shape 1 the density falls on both sides of zero, so that the worst shift is the whole
    extent; above 1 it may be a smaller one, which is searched for.

    Examples
    --------
    >>> round(gamma_delta(TwoSidedGamma(shape=0.8, scale=1.0), epsilon=1.0, extent=1.0), 5)
    0.15722
    """
    epsilon = _checks.positive(epsilon=epsilon)
    shift = _checks.positive(extent=extent) / noise.scale
    if noise.shape == 1:
        return -math.expm1(min(0.0, (epsilon - shift) / 2))
    if noise.shape < 1:
        return min(1.0, max(0.0, _peaked(epsilon, noise.shape, shift)))
    return _worst(lambda s: _hollow(epsilon, noise.shape, s), shift)


def _peaked(epsilon: float, shape: float, s: float) -> float:
    """Shape below 1, scale 1, shift s: the first density is the larger one around zero.

    The ends of that stretch are -A (all the line for epsilon <= s) and B.
    """

    def excess(v: float) -> float:
        return (1 - shape) * v + s * math.tanh(v / 2) - epsilon

    v = scipy.optimize.brentq(excess, 0.0, epsilon / (1 - shape), xtol=1e-300, rtol=1e-15)
    b = s / (1 + math.exp(v)) if v < 700 else 0.0
    inside = gammainc(shape, b) / 2
    if epsilon <= s:
        tail = math.exp(epsilon) * gammaincc(shape, s - b) / 2
        return float(0.5 + inside - tail)
    power = (epsilon - s) / (1 - shape)
    a = s / math.expm1(power) if 0 < power < 700 else (math.inf if power <= 0 else 0.0)
    other = float(gammainc(shape, s + a) - gammainc(shape, s - b))
    if a + b < 1e-3 * s:
        # The stretch is short and far from the other peak: cdfs would cancel.
        x, w = np.polynomial.legendre.leggauss(8)
        y = s + (a - b) / 2 + (a + b) / 2 * x
        other = float((a + b) / 2 * w @ (y ** (shape - 1) * np.exp(-y)) / math.gamma(shape))
    first = gammainc(shape, a) / 2 + inside
    return float(first - math.exp(epsilon) * other / 2) if first > 0 else 0.0


def _hollow(epsilon: float, shape: float, s: float) -> float:
    """Shape above 1, scale 1, one shift: where f(y) > e**epsilon f(y - s), and by how much."""

    def excess(w: float) -> float:  # at y = s / (1 + e**-w), between the two peaks
        return (shape - 1) * w - s * math.tanh(w / 2) - epsilon

    stretches = []
    if epsilon < s:
        ratio = math.exp(-(s - epsilon) / (shape - 1))
        stretches.append((-math.inf, -s * ratio / (1 - ratio)))
    # There the log ratio rises, may fall, and rises to infinity.
    last = (epsilon + s) / (shape - 1)
    ends = [-last - 1, last + 1]
    if s > 2 * (shape - 1):
        turn = 2 * math.acosh(math.sqrt(s / (2 * (shape - 1))))
        ends[1:1] = [-turn, turn]
    marks = []
    for low, high in pairwise(ends):
        if excess(low) * excess(high) < 0:
            root = scipy.optimize.brentq(excess, low, high, xtol=1e-13)
            marks.append(float(s * expit(root)))
    marks.append(s / -math.expm1(-last))
    stretches += list(zip(marks[::2], marks[1::2], strict=True))
    larger = math.exp(epsilon)
    gains = (_between(shape, a, b) - larger * _between(shape, a - s, b - s) for a, b in stretches)
    return max(0.0, math.fsum(gains))


def _between(shape: float, a: float, b: float) -> float:
    """Mass between a and b, from whichever side keeps the digits."""
    if a >= 0 or b <= 0:
        low, high = (a, b) if a >= 0 else (-b, -a)
        if low > shape:
            return float(gammaincc(shape, low) - gammaincc(shape, high)) / 2
        return float(gammainc(shape, high) - gammainc(shape, low)) / 2
    return float(gammainc(shape, -a) + gammainc(shape, b)) / 2


def _worst(delta: Callable[[float], float], shift: float) -> float:
    """The largest value over the shifts up to the given one."""
    grid = np.geomspace(1e-3 * shift, shift, SHIFTS)
    for _ in range(ZOOMS):
        values = [delta(s) for s in grid.tolist()]
        best = int(np.argmax(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
        grid = np.linspace(low, high, 17)
    return max(values)


CONSTANT = 36.0
"""Squared second moment of the kernel."""
PHASE = 280.0


@dataclass(frozen=True)
class ExpectedError:
    """The least expected integrated squared error of a deconvoluted density.

    Parameters
    ----------
    error
        At the best bandwidth: AIMSE, normal values assumed, or MISE.
    bandwidth
        That bandwidth, in the units of the values.
    variance
        The part of the error that is variance; of AIMSE the paper's integral over 2 pi n.

    Examples
    --------
    >>> found = ExpectedError(error=0.01, bandwidth=0.3, variance=0.004)
    >>> found.bandwidth
    0.3
    """

    error: float
    bandwidth: float
    variance: float

    def _repr_html_(self) -> str:
        """The error in its parts, and the bandwidth, for notebooks."""
        parts = {"error": self.error, "variance": self.variance}
        rows = [
            (name, number(one)) for name, one in (parts | {"bandwidth": self.bandwidth}).items()
        ]
        picture = bars(list(parts.values()), list(parts), told="error and variance")
        return card("Expected error of a density", picture, table(("", ""), rows))


def divisible(noise: Noise) -> None:
    """Refuse noise that wipes out a frequency."""
    if isinstance(noise, TwoSidedGamma) and noise.shape > 1:
        raise Unsupported(
            f"Deconvolution cannot undo two-sided gamma noise of shape {noise.shape:g} > 1, whose "
            "characteristic function has zeros."
        )


def least(
    errors: Callable[[Floats], tuple[Floats, Floats]], low: float, high: float
) -> ExpectedError:
    """The smallest error between two bandwidths; `errors` gives variances and whole errors."""
    for _ in range(6):
        b = np.geomspace(low, high, 33)
        variance, error = errors(b)
        best = int(np.argmin(error))
        low, high = b[max(best - 1, 0)], b[min(best + 1, b.size - 1)]
    return ExpectedError(float(error[best]), float(b[best]), float(variance[best]))


def expected_error(noise: Noise, *, n: int, sd: float) -> ExpectedError:
    """AIMSE of the kernel with transform (1 - t**2)**3, at the bandwidth that minimizes it.

    The asymptotic form for many normal values; `exact_error` is exact for any number of any values.
    (1/(2 pi n)) times the integral of K(tb)**2/f(t)**2, plus 36 b**4 R/4 with
    R = .375 sd**-5/sqrt(pi), as for normal values (Stefanski and Carroll 1990); 6 is the second
    moment of the kernel.

    Parameters
    ----------
    noise
        What is added; its characteristic function f must have no zeros.
    n, sd
        Number of values and their standard deviation.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> found = expected_error(Laplace(scale=0.4177), n=1000, sd=1.0)
    >>> f"{found.error:.5f} at {found.bandwidth:.3f}"
    '0.00291 at 0.157'
    """
    divisible(noise)
    n = _checks.integer(1, n=n)
    sd = _checks.positive(sd=sd)
    u, weights = nodes(1.0, PHASE)
    weights = weights * named("fan").transform(u) ** 2
    rough = CONSTANT * 0.375 / math.sqrt(math.pi) / sd**5 / 4

    def errors(b: Floats) -> tuple[Floats, Floats]:
        variance: Floats = noise.mean_square(u / b[:, None]) ** -1 @ weights / (math.pi * n * b)
        return variance, variance + rough * b**4

    return least(errors, 1e-3 * sd * n**-0.2, 10 * sd)
