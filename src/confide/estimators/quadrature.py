"""Integrals of waves."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PHASE = 160.0
"""Phase that one panel covers; large rules cost more to make than to use."""


def nodes(top: float, window: float) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, top] for smooth functions times cos(t x), |x| <= window.

    Gauss-Legendre needs about top window/2 nodes for the waves, and 20 more for the rest: measured
    on deconvolution estimates, it is exact then to about 14 digits.

    Examples
    --------
    >>> t, weights = nodes(3.0, 10.0)
    >>> bool(abs(weights @ np.cos(10 * t) - np.sin(30) / 10) < 1e-14)
    True
    """
    panels = max(1, math.ceil(top * window / PHASE))
    x, w = _rule(math.ceil(top * window / panels / 2) + 20)
    width = top / panels
    t: Floats = (width * (np.arange(panels)[:, None] + x)).ravel()
    return t, np.tile(width * w, panels)


@cache
def _rule(size: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(size)
    return (x + 1) / 2, w / 2
