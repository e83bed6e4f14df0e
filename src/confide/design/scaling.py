"""How an error falls with n or with epsilon: a few simulated points, a line of logarithms between.

Errors of all these estimates are close to powers of n and of epsilon over a decade or so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CLOSE = 0.02
"""Relative difference of an error from its target that is good enough."""
STEPS = 24
LEAST = 1e-300
"""Below this an error is none, and has no logarithm."""


class Unreachable(Exception):
    """Even the most that may be asked for does not bring the error down to the target."""

    def __init__(self, least: float) -> None:
        self.least = least
        super().__init__(f"{least:g}")


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Expected errors along n or epsilon, at a few points.

    Attributes
    ----------
    mechanism, metric, along
        Of what, and along what: ``"n"`` or ``"epsilon"``.
    x, error, standard_error
        The points, ascending.
    """

    mechanism: str
    metric: str
    along: str
    x: Floats
    error: Floats
    standard_error: Floats

    def at(self, x: npt.ArrayLike) -> Floats:
        """Error anywhere: log-log interpolation, beyond the ends the slope of the end stretch.

        Chance may make one point worse than the one before; the curve does not rise.
        """
        places, errors = np.log(self.x), np.log(np.minimum.accumulate(self.error))
        wanted = np.log(np.asarray(x, dtype=np.float64))
        if places.size == 1:
            return np.full(wanted.shape, self.error[0])
        first = np.clip(np.searchsorted(places, wanted) - 1, 0, places.size - 2)
        slope = np.diff(errors)[first] / np.diff(places)[first]
        return np.asarray(np.exp(errors[first] + slope * (wanted - places[first])))


def crossing(
    error: Callable[[float, bool], float], *, start: float, least: float, most: float, target: float
) -> float:
    """The x at which a falling error meets the target, by interpolation of logarithms.

    Parameters
    ----------
    error
        Of x, and whether a rough figure will do; each call may cost a simulation.
    start
        Where to look first.
    least, most
        Where to stay.
    target
        The error wanted.

    Raises
    ------
    Unreachable
        If the error is above the target at the most.
    """
    found: dict[float, float] = {}
    x = start
    for _ in range(STEPS):
        found[x] = max(error(x, True), LEAST)
        if abs(math.log(found[x] / target)) < CLOSE:
            break
        too_few = max((at for at in found if found[at] > target), default=0.0)
        enough = min((at for at in found if found[at] <= target and at > too_few), default=0.0)
        if not too_few:
            if enough <= least:
                return least
            x = max(least, enough * min(max(found[enough] / target, 0.03) ** 2, 0.3))
        elif not enough:
            if too_few >= most:
                raise Unreachable(found[too_few])
            x = min(most, too_few * max(min(1.1 * found[too_few] / target, 30.0) ** 2, 3.0))
        elif enough / too_few < 1 + CLOSE:
            break
        else:
            share = math.log(found[too_few] / target) / math.log(found[too_few] / found[enough])
            x = too_few * (enough / too_few) ** share
    # What little is left, and what the rough figure was off by, follows the square root.
    return min(max(x * (error(x, False) / target) ** 2, least), most)
