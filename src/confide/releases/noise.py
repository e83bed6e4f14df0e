"""Unbounded noise on integer sums, drawn exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.discrete import ONE
from confide.errors import InvalidInput
from confide.randomness import Entropy, Inversion, exp_ceiling, logs_ceiling

Integers = npt.NDArray[np.int64]

MOST_DIGITS = 52
"""Binary digits drawn one by one; with more, the noise would leave 64-bit integers."""
LEVELS = 64
"""What is left above the digits is drawn so many steps at a time."""


@dataclass(frozen=True)
class DiscreteLaplace:
    """Two-sided geometric noise p**|k| (1-p)/(1+p) for sums of known sensitivity.

    The public parameter is p = P / 2**62, the smallest one with p >= e**(-epsilon/sensitivity), so
    the exact loss sensitivity ln(1/p) is never above epsilon.

    Parameters
    ----------
    epsilon
        Bound on the loss, kept as an exact fraction.
    sensitivity
        Largest sum of absolute changes, over all sums, that one record can cause.
    bits
        Size of a word: 64, or smaller in tests.

    Examples
    --------
    >>> noise = DiscreteLaplace(Fraction(1), 2)
    >>> noise.loss <= 1
    True
    """

    epsilon: Fraction
    sensitivity: int
    bits: int = 64

    def __post_init__(self) -> None:
        number = _validate.positive(epsilon=self.epsilon)
        exact = self.epsilon if isinstance(self.epsilon, Fraction) else Fraction(number)
        object.__setattr__(self, "epsilon", exact)
        whole = _validate.integer(1, sensitivity=self.sensitivity)
        object.__setattr__(self, "sensitivity", whole)
        if self.parameter >= ONE or len(self._samplers) > MOST_DIGITS:
            raise InvalidInput(
                "epsilon large enough for integer noise",
                f"epsilon={float(self.epsilon):g} at sensitivity {self.sensitivity}",
                "Take a larger epsilon or a coarser lattice.",
            )

    @cached_property
    def parameter(self) -> int:
        """The public P."""
        return exp_ceiling(-self.epsilon / self.sensitivity, ONE)

    @property
    def power(self) -> tuple[Fraction, int]:
        """1/p and the sensitivity: the loss is the logarithm of this power."""
        return Fraction(ONE, self.parameter), self.sensitivity

    @cached_property
    def loss(self) -> float:
        """The exact loss sensitivity ln(1/p), rounded up to a float.

        Rounding P up keeps it at or below epsilon, and integers decide how it is rounded itself.
        """
        return logs_ceiling([self.power])

    @property
    def scale(self) -> float:
        """1 / ln(1/p): the scale of the Laplace law that it looks like."""
        gap = (ONE - self.parameter) / ONE
        # From whichever of p and 1 - p has the digits.
        return -1 / (math.log1p(-gap) if gap < 0.5 else math.log(self.parameter / ONE))

    @property
    def sd(self) -> float:
        """Standard deviation, sqrt(2 p) / (1 - p)."""
        return math.sqrt(2 * self.parameter / ONE) / ((ONE - self.parameter) / ONE)

    def draw(self, entropy: Entropy, n: int) -> Integers:
        """``n`` independent draws: each the difference of two geometric ones."""
        return self._geometric(entropy, n) - self._geometric(entropy, n)

    @cached_property
    def _samplers(self) -> tuple[Inversion, ...]:
        digits = 0
        # Until what lies above the digits has a ratio below about e**-1.
        while digits <= MOST_DIGITS and self.epsilon / self.sensitivity * 2**digits < 1:
            digits += 1
        return tuple(self._digit(j) for j in range(digits))

    def _geometric(self, entropy: Entropy, n: int) -> Integers:
        """Draws of (1-p) p**g. The binary digits of g are independent, digit j being 1 with
        probability q / (1+q), q = p**(2**j), and what lies above them is geometric again.
        """
        total = np.zeros(n, dtype=np.int64)
        for j, digit in enumerate(self._samplers):
            total += digit.draw(entropy, n) << j
        shift = len(self._samplers)
        left = np.arange(n)
        while left.size:
            # Outcome LEVELS means "at least so many": no memory, so draw again on top of it. That
            # happens with a probability below e**-64 for large words.
            steps = self._above.draw(entropy, left.size)
            total[left] += steps << shift
            left = left[steps == LEVELS]
        return total

    def _power(self, j: int, work: int) -> tuple[int, int]:
        """Integers around 2**work p**(2**j), by squaring with every step rounded outwards."""
        low = (self.parameter << work) >> 62
        high = -(-(self.parameter << work) >> 62)
        for _ in range(j):
            low = low * low >> work
            high = -(-high * high >> work)
        return low, high

    def _digit(self, j: int) -> Inversion:
        @cache
        def enclosure(bits: int) -> tuple[list[int], list[int]]:
            work = bits + 64 + j
            low, high = self._power(j, work)
            one = 1 << work
            return [(one << bits) // (one + high)], [-(-(one << bits) // (one + low))]

        return Inversion(enclosure, self.bits)

    @cached_property
    def _above(self) -> Inversion:
        shift = len(self._samplers)

        @cache
        def enclosure(bits: int) -> tuple[list[int], list[int]]:
            work = bits + 64 + shift
            low, high = self._power(shift, work)
            lower, upper = [], []
            below, above = low, high
            for _ in range(LEVELS):
                # F(k) = 1 - q**(k+1), k = 0 .. LEVELS-1.
                lower.append((1 << bits) - (-(-above >> (work - bits))))
                upper.append((1 << bits) - (below >> (work - bits)))
                below, above = below * low >> work, -(-above * high >> work)
            return lower, upper

        return Inversion(enclosure, self.bits)


@lru_cache(maxsize=64)
def laplace(epsilon: Fraction, sensitivity: int) -> DiscreteLaplace:
    """The noise for a sensitivity, kept with its tables: a study draws from the same one often."""
    return DiscreteLaplace(epsilon, sensitivity)


@lru_cache(maxsize=16)
def _sensitivity(size: int, shape: tuple[int, ...], raw: bytes) -> int:
    table = np.frombuffer(raw, dtype=np.int64).reshape(shape)
    return max(
        int(np.abs(table[:, at:] - table[:, at, None]).sum(axis=0).max()) for at in range(size)
    )


def sensitivity(table: Integers) -> int:
    """The exact L1 sensitivity: max over pairs of columns x, y of sum_j |table[j,x] - table[j,y]|.

    Every pair is looked at, in integers: nothing is sampled and nothing is rounded.
    """
    whole = np.ascontiguousarray(table, dtype=np.int64)
    return _sensitivity(whole.shape[1], whole.shape, whole.tobytes())
