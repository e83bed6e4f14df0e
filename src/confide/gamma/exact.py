"""The exact expected error of a deconvoluted density, for a finite number of values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.errors import Unsupported
from confide.estimators.bandwidths import named
from confide.foreign.noise_laws import Gaussian, Noise
from confide.foreign.quadrature import nodes
from confide.gamma.price import PHASE, ExpectedError, divisible, least
from confide.gamma.surface import Surface
from confide.mechanisms.laws import fast_length

WAVES = 1200.0
"""Phase that the nodes resolve for the values, whose transform may oscillate."""
WIDTH = 1 / 64
"""Of a cell that values are put in, in standard deviations."""
PADDING = 16
"""Factor by which frequencies are denser than the cells need, for interpolation."""
NEGLIGIBLE = 6.0
"""A normal factor e**(-(h t)**2) counts as zero from h t = 6 on."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The facts about the distribution of the values that the exact error needs.

    Parameters
    ----------
    square
        Squared modulus of the characteristic function, at frequencies t >= 0.
    roughness
        Integral of the squared density.
    sd
        Standard deviation.
    top
        Frequency from which on `square` counts as zero.

    Examples
    --------
    >>> uniform = Reference(lambda t: np.sinc(t / (2 * np.pi)) ** 2, roughness=1.0, sd=12**-0.5)
    >>> uniform.sd < Reference.normal(sd=1.0).sd
    True
    """

    square: Callable[[Floats], Floats]
    roughness: float
    sd: float
    top: float = math.inf

    @classmethod
    def normal(cls, *, sd: float) -> Self:
        """Normal values."""
        sd = _checks.positive(sd=sd)

        def square(t: Floats) -> Floats:
            result: Floats = np.exp(-((sd * t) ** 2))
            return result

        return cls(square, 0.5 / (math.sqrt(math.pi) * sd), sd, NEGLIGIBLE / sd)

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """The values' own distribution, smoothed.

        A normal kernel of Silverman's width (.9 times the smaller of the standard deviation and
        the interquartile range over 1.34, over the fifth root of n) is put around each value, and
        the whole is shrunk to the values' own standard deviation.

        Parameters
        ----------
        values
            At least 10 values, before any noise. The result depends on them: it is not private.
        """
        return cls.on(Surface.of(values, width=WIDTH))

    @classmethod
    def on(cls, surface: Surface) -> Self:
        """Like `of`, from values that are in cells already."""
        below = np.cumsum(surface.shares)
        quarter, rest = np.searchsorted(below, [0.25, 0.75])
        between = float(rest - quarter) * surface.step / 1.34
        spread = min(surface.sd, between) if between > 0 else surface.sd
        # No narrower than two cells: what happens inside a cell is not known.
        width = max(0.9 * spread * surface.n**-0.2, 2 * surface.step)
        period = fast_length(PADDING * surface.shares.size)
        t = 2 * math.pi / (period * surface.step) * np.arange(period // 2 + 1)
        t = t[: int(np.searchsorted(t, NEGLIGIBLE / width)) + 1]
        wave = np.fft.rfft(surface.shares, period)[: t.size]
        heights = (wave.real**2 + wave.imag**2) * np.exp(-((width * t) ** 2))
        t = t * math.hypot(1.0, width / surface.sd)

        def square(at: Floats) -> Floats:
            result: Floats = np.interp(at, t, heights, right=0.0)
            return result

        return cls(square, float(np.trapezoid(heights, t)) / math.pi, surface.sd, float(t[-1]))


def exact_error(
    noise: Noise, *, n: int, reference: Reference, bandwidth: float | None = None
) -> ExpectedError:
    """MISE of the deconvoluted density with the kernel of transform (1 - t**2)**3.

    With f the characteristic function of the noise, s the squared modulus of that of the values and
    K the transform of the kernel, the variance is (1/(2 pi n)) times the integral of
    K(tb)**2 (1/f(t)**2 - s(t)), and the squared bias (1/(2 pi)) times that of
    (1 - K(tb))**2 s(t). Nothing is approximated but the integrals, by quadrature.
    `expected_error` is its limit for many normal values.

    Parameters
    ----------
    noise
        What is added, the same for all values; its characteristic function must have no zeros.
    n
        Number of values.
    reference
        How the values are distributed.
    bandwidth
        In the units of the values; by default the best one.

    Examples
    --------
    >>> from confide.foreign import Laplace
    >>> found = exact_error(Laplace(scale=0.4177), n=1000, reference=Reference.normal(sd=1.0))
    >>> f"{found.error:.5f} at {found.bandwidth:.3f}"
    '0.00250 at 0.161'
    """
    divisible(noise)
    if isinstance(noise, Gaussian) and noise.varies:
        raise Unsupported("The exact error is for noise that is the same for all values.")
    n = _checks.integer(1, n=n)
    transform = named("fan").transform
    u, weights = nodes(1.0, PHASE)
    weights = weights * transform(u) ** 2
    v, shares = nodes(1.0, WAVES)

    def errors(b: Floats) -> tuple[Floats, Floats]:
        spread = noise.mean_square(u / b[:, None]) ** -1 @ weights / (math.pi * n * b)
        # Frequencies at which the values have something and the kernel lets it through.
        ends = np.minimum(1 / b, reference.top)[:, None]
        t = ends * v
        kernel, power = transform(t * b[:, None]), reference.square(t) * shares * ends / math.pi
        variance: Floats = spread - np.sum(kernel**2 * power, axis=1) / n
        bias = reference.roughness - np.sum((2 - kernel) * kernel * power, axis=1)
        return variance, variance + bias

    if bandwidth is not None:
        width = _checks.positive(bandwidth=bandwidth)
        (variance,), (error,) = errors(np.array([width]))
        return ExpectedError(float(error), width, float(variance))
    low = 1e-2 * reference.sd * n**-0.2
    if math.isfinite(reference.top):
        low = min(low, 0.05 / reference.top)
    return least(errors, low, 10 * reference.sd)
