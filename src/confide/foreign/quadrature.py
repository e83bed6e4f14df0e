"""Nodes and weights for integrals of waves."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from confide._types import Floats
from confide.errors import InvalidInput

PHASE = 160.0
"""Phase that one panel covers; large rules cost more to make than to use."""
EXTRA = 20
MAX_NODES = 2**22


def count(top: float, window: float) -> float:
    """How many nodes `nodes` will make; a float, for windows beyond all integers."""
    phase = top * window
    if not math.isfinite(phase):
        return math.inf
    panels = max(1, math.ceil(phase / PHASE))
    return float(panels * (math.ceil(phase / panels / 2) + EXTRA))


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
    if not count(top, window) <= MAX_NODES:
        raise InvalidInput(
            "a bandwidth within reach of the numbers' range",
            f"a range of {top * window:.2g} bandwidths",
            "Give low= and high=, remove outliers, or take a larger bandwidth.",
        )
    panels = max(1, math.ceil(top * window / PHASE))
    x, w = _rule(math.ceil(top * window / panels / 2) + EXTRA)
    width = top / panels
    t: Floats = (width * (np.arange(panels)[:, None] + x)).ravel()
    return t, np.tile(width * w, panels)


@cache
def _rule(size: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(size)
    return (x + 1) / 2, w / 2
