"""The least number of reports for which an estimate is more than noise."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from confide.estimators.shares import scores_of
from confide.lattice import Categories, Lattice
from confide.mechanisms import Mechanism

UNCERTAIN = 0.1
"""Standard deviation that noise alone may leave to a mean or a share, as a part of the scale."""
FEWEST = 20
"""Reports that are needed however little noise they have: fewer people are no population."""


@lru_cache(maxsize=256)
def needed(mechanism: Mechanism) -> int:
    """The fewest reports of a question that are worth an estimate.

    With so many, the noise leaves the mean (of logarithms on a log scale) uncertain by at most a
    tenth of the range, or every share by at most a tenth, in one standard deviation and whatever
    the answers are; where people may decline, as long as few do. The number depends on the
    mechanism alone, so that what reports say never decides whether they are shown.

    Parameters
    ----------
    mechanism
        What makes the reports of one question.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> lattice = Lattice(low=0, high=300_000)
    >>> needed(SquareWave(lattice, epsilon=1.0)), needed(SquareWave(lattice, epsilon=0.5))
    (138, 537)
    """
    axis = mechanism.axes[""]
    spread = _of_shares(mechanism) if isinstance(axis, Categories) else _of_mean(mechanism, axis)
    return max(math.ceil(spread / UNCERTAIN**2), FEWEST)


def _of_mean(mechanism: Mechanism, lattice: Lattice) -> float:
    """Variance that noise gives one report's score for the mean, at most, in ranges squared."""
    if lattice.scale == "log":
        logs = Lattice(low=math.log(lattice.low), high=math.log(lattice.high), size=lattice.size)
        asked: Any = mechanism
        mechanism, lattice = replace(asked, lattice=logs), logs
    scores, law = mechanism.unbiased(1), mechanism.law
    if mechanism.prefer_not_to_say:
        # Counted from the middle, as a mean among answerers is: those who decline count as nothing.
        scores = scores - (lattice.low + lattice.high) / 2 * mechanism.unbiased(0)
    noise = law.adjoint(scores**2) - law.adjoint(scores) ** 2
    return float(noise.max()) / (lattice.high - lattice.low) ** 2


def _of_shares(mechanism: Mechanism) -> float:
    """Variance that noise gives one report's score for a category, at most."""
    own, others = scores_of(mechanism.law)
    chances = mechanism.law.matrix()
    return float(np.max((own - others)[:, None] ** 2 * chances * (1 - chances)))
