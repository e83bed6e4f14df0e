"""How well a density can be recovered from noised values, before any are collected."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import Unsupported
from confide.estimators.bandwidths import named
from confide.foreign.noise import Noise, TwoSidedGamma
from confide.foreign.quadrature import nodes

CONSTANT = 36.0
"""Squared second moment of the kernel."""
PHASE = 280.0


@dataclass(frozen=True)
class ExpectedError:
    """The least asymptotic integrated squared error of a deconvoluted density.

    Parameters
    ----------
    error
        AIMSE at the best bandwidth, normal values assumed.
    bandwidth
        That bandwidth, in the units of the values.
    variance
        The part of the error that is noise: the paper's integral over 2 pi n.
    """

    error: float
    bandwidth: float
    variance: float


def expected_error(noise: Noise, *, n: int, sd: float) -> ExpectedError:
    """AIMSE of the kernel with transform (1 - t**2)**3, at the bandwidth that minimises it.

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
    if isinstance(noise, TwoSidedGamma) and noise.shape > 1:
        raise Unsupported(
            f"Deconvolution cannot undo two-sided gamma noise of shape {noise.shape:g} > 1, whose "
            "characteristic function has zeros."
        )
    n = _checks.integer(1, n=n)
    sd = _checks.positive(sd=sd)
    u, weights = nodes(1.0, PHASE)
    weights = weights * named("fan").transform(u) ** 2
    rough = CONSTANT * 0.375 / math.sqrt(math.pi) / sd**5 / 4
    low, high = 1e-3 * sd * n**-0.2, 10 * sd
    for _ in range(6):
        b = np.geomspace(low, high, 33)
        variance: Floats = noise.mean_square(u / b[:, None]) ** -1 @ weights / (math.pi * n * b)
        error = variance + rough * b**4
        best = int(np.argmin(error))
        low, high = b[max(best - 1, 0)], b[min(best + 1, b.size - 1)]
    return ExpectedError(float(error[best]), float(b[best]), float(variance[best]))
