"""The law of a vector report: independent coordinates, few of which depend on the value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from confide.discrete import ONE, laplace_table, laplace_weights
from confide.errors import Unsupported
from confide.mechanisms.laws import Clamped, Floats, largest_ratio


@dataclass(frozen=True)
class VectorLaw:
    """Clamped noise on an indicator and on a level, for each of ``size`` cells.

    Parameters
    ----------
    size
        Number of cells.
    levels
        J: responses are whole numbers from -J to J.
    count_parameter, value_parameter
        Numerators over 2**62 of the noises' p; 0 where indicators are not sent.
    """

    size: int
    levels: int
    count_parameter: int
    value_parameter: int

    @cached_property
    def counts(self) -> Clamped:
        """Distribution of one indicator's report, given 0 or 1."""
        if not self.count_parameter:
            raise Unsupported("A partition for classification does not send cell counts.")
        return _clamped(self.count_parameter, 1)

    @cached_property
    def values(self) -> Clamped:
        """Distribution of one level's report + J, given level + J; outside the cell that is J."""
        return _clamped(self.value_parameter, 2 * self.levels)

    @cached_property
    def count_scores(self) -> Floats:
        """Scores of the reports 0 and 1 whose mean is the indicator, exactly."""
        if not self.count_parameter:
            raise Unsupported("A partition for classification does not send cell counts.")
        over = _overshoot(self.count_parameter)
        return np.array([-over, 1 + over])

    @cached_property
    def value_scores(self) -> Floats:
        """Scores of the reports -J .. J whose mean is the level, exactly."""
        scores = np.arange(-self.levels, self.levels + 1, dtype=np.float64)
        over = _overshoot(self.value_parameter)
        scores[0] -= over
        scores[-1] += over
        return scores

    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one vector report, over all pairs of inputs.

        Exact. Coordinates are independent, so that the ratios of those that change multiply. Pairs
        are: the same cell and other responses; a cell and none; two cells.
        """
        columns = [self.values.weights(level) for level in range(2 * self.levels + 1)]
        middle = columns[self.levels]
        rows = list(zip(*columns, strict=True))
        enter = largest_ratio((max(row), at) for row, at in zip(rows, middle, strict=True))
        leave = largest_ratio((at, min(row)) for row, at in zip(rows, middle, strict=True))
        if self.count_parameter:
            off, on = (self.counts.weights(index) for index in (0, 1))
            enter *= largest_ratio(zip(on, off, strict=True))
            leave *= largest_ratio(zip(off, on, strict=True))
        apart = enter * leave if self.size > 1 else max(enter, leave)
        return max(self.values.ratio(), apart)


def _clamped(parameter: int, m: int) -> Clamped:
    return Clamped(laplace_table(parameter, m), lambda: laplace_weights(parameter, m))


def _overshoot(parameter: int) -> float:
    """Mean of how far noise went past an end, given that it reached it: p/(1-p)."""
    return parameter / (ONE - parameter)
