"""Whether a ratio or a noise keeps to an epsilon, decided in integers."""

from __future__ import annotations

import math
from fractions import Fraction

from confide.exact.enclosures import exp_enclosure
from confide.exact.noise import ONE, DiscreteLaplace

BITS = 256


def within(ratio: Fraction, epsilon: Fraction | float) -> bool:
    """Whether ratio <= e**epsilon."""
    if epsilon == math.inf:
        return True
    bits = BITS
    while True:
        lower, upper = exp_enclosure(Fraction(epsilon), bits)
        if ratio.numerator << bits <= lower * ratio.denominator:
            return True
        if ratio.numerator << bits > upper * ratio.denominator:
            return False
        bits *= 2


def enough(noise: DiscreteLaplace, change: int) -> bool:
    """Whether the noise hides so large a change for its epsilon: (2**62 / P)**change <= e**epsilon.

    Parameters
    ----------
    noise
        Its parameter P and the epsilon that it may cost; not the sensitivity that it states.
    change
        The sum of absolute changes that one record causes.
    """
    if change == 0:
        return True
    _, upper = exp_enclosure(-noise.epsilon / change, BITS)
    return noise.parameter << BITS >= upper * ONE
