"""Exact integer noise: clamped Laplace for reports, unbounded Laplace and Gaussian for sums."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats, Integers
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling, exp_enclosure, logs_ceiling
from confide.exact.entropy import Entropy
from confide.exact.inversion import Enclosure, Inversion, Part
from confide.exact.normal import coupled_delta, largest_rho

ONE = 2**62
"""Denominator of the public parameter of the discrete Laplace law."""


def laplace_parameter(epsilon: Fraction | float, m: int) -> int:
    """The public P: the smallest integer with P / 2**62 >= e**(-epsilon/m).

    Rounding up makes the ratio of neighbors closer to one, so the true loss m ln(2**62 / P) is
    never above the declared epsilon.
    """
    parameter = exp_ceiling(Fraction(-Fraction(epsilon), m), ONE)
    if parameter >= ONE:
        raise InvalidInput(
            "epsilon large enough to leave a trace of the value",
            f"epsilon={float(epsilon):g} over {m + 1} cells",
            "Take fewer cells or a larger epsilon.",
        )
    return parameter


def laplace_table(parameter: int, m: int) -> Floats:
    """Masses at 0 .. m of the law p**|k| (1-p)/(1+p), the last one holding the whole tail."""
    p = parameter / ONE
    gap = (ONE - parameter) / ONE
    # The logarithm of p from whichever of p and 1 - p has the digits.
    log_p = np.log1p(-gap) if gap < 0.5 else np.log(p)
    powers = np.exp(np.arange(m + 1) * log_p)
    table: Floats = powers * gap / (1 + p)
    table[m] = powers[m] / (1 + p)
    table.flags.writeable = False
    return table


def laplace_weights(parameter: int, m: int) -> list[int]:
    """The masses of `laplace_table` as exact integers with the total 2**(62 m) (2**62 + P)."""
    weights = [(ONE - parameter) * parameter**k << 62 * (m - k) for k in range(m)]
    weights.append(parameter**m << 62)
    return weights


def laplace_sampler(parameter: int, m: int, bits: int = 32) -> Inversion:
    """Exact draws of noise + m, the noise gathered at -m and m."""

    @cache
    def enclosure(bits: int) -> tuple[list[int], list[int]]:
        # F(-j) = p**j / (1+p) for j = m .. 1, and F(j-1) = 1 - F(-j). Every step rounds outwards;
        # 64 guard bits keep the enclosures tight over the whole table.
        work = bits + 64
        low = high = (1 << (work + 62)) // (ONE + parameter)
        high += 1
        lower, upper = [], []
        for _ in range(m):
            low = low * parameter >> 62
            high = -(-high * parameter >> 62)
            lower.append(low >> 64)
            upper.append(-(-high >> 64))
        lower_half = lower[::-1] + [(1 << bits) - t for t in upper]
        upper_half = upper[::-1] + [(1 << bits) - t for t in lower]
        return lower_half, upper_half

    return Inversion(enclosure, bits)


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
        Size of a word: 32, or smaller in tests.

    Examples
    --------
    >>> noise = DiscreteLaplace(Fraction(1), 2)
    >>> noise.loss <= 1
    True
    """

    epsilon: Fraction
    sensitivity: int
    bits: int = 32

    def __post_init__(self) -> None:
        number = _checks.positive(epsilon=self.epsilon)
        exact = self.epsilon if isinstance(self.epsilon, Fraction) else Fraction(number)
        object.__setattr__(self, "epsilon", exact)
        whole = _checks.integer(1, sensitivity=self.sensitivity)
        object.__setattr__(self, "sensitivity", whole)
        if self.parameter >= ONE or len(self.digits) > MOST_DIGITS:
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

    def parts(self) -> tuple[Part, ...]:
        """The digits of a geometric draw, and what lies above them."""
        digits = [Part(f"digit {j}", each, enclosure=self._digit(j).enclosure)
                  for j, each in enumerate(self.digits)]  # fmt: skip
        return (*digits, Part("rest", self.above, enclosure=self._rest().enclosure))

    @cached_property
    def digits(self) -> tuple[Inversion, ...]:
        """Samplers of the binary digits of a geometric draw, the lowest first."""
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
        for j, digit in enumerate(self.digits):
            total += digit.draw(entropy, n).astype(np.int64) << j
        shift = len(self.digits)
        left = np.arange(n)
        while left.size:
            # Outcome LEVELS means "at least so many": no memory, so draw again on top of it. That
            # happens with a probability below e**-64 for large words.
            steps = self.above.draw(entropy, left.size)
            total[left] += steps.astype(np.int64) << shift
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
    def above(self) -> Inversion:
        """The sampler of what lies above the digits."""
        return self._rest()

    def _rest(self) -> Inversion:
        shift = len(self.digits)

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


MOST_VARIANCE = 2**92
"""Beyond it, draws and the products in their acceptance would leave 64-bit integers."""
STEPS = 64
CERTAIN, RARE = 6, 24
"""Coins e**-x are stated for x from about 2**-24 to 2**6: beyond, words hardly tell them apart."""
HALF = 28
"""Bits of the lower half of a number that is squared."""
ORDERS = tuple(Fraction(j) * Fraction(2) ** power for power in range(-7, 24) for j in range(16, 32))
"""Orders of the Renyi divergence, less one, that a bound is looked for at."""
CLOSE = tuple(Fraction(1, 2**power) for power in range(20, 3, -1))
"""How much more variance is tried than that of continuous Gaussian noise."""
STEADY = 64
"""(1 + 1/m)**m grows with m and hardly any more beyond this m."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """Noise with P(y) proportional to exp(-y**2 / (2 variance)) on all integers.

    Parameters
    ----------
    variance
        The public parameter, rounded up to a multiple of a power of two about its root.
    bits
        Size of a word: 32, or smaller in tests.

    Examples
    --------
    >>> DiscreteGaussian(10_000).variance
    10112
    """

    variance: int
    bits: int = 32

    def __post_init__(self) -> None:
        variance = _checks.integer(1, variance=self.variance)
        if variance > MOST_VARIANCE:
            raise InvalidInput(
                "epsilon and delta large enough for integer noise",
                "a variance beyond 64-bit integers",
                "Take a larger epsilon.",
            )
        step = 1 << (math.isqrt(2 * variance).bit_length() - 1)
        object.__setattr__(self, "variance", -(-variance // step) * step)

    @property
    def sd(self) -> float:
        """Standard deviation: the root of the parameter, but for less than one part in 10**6."""
        return math.sqrt(self.variance)

    @property
    def _shift(self) -> int:
        """The block size t = 2**shift is the power of two nearest to the deviation."""
        return math.isqrt(2 * self.variance).bit_length() - 1

    def draw(self, entropy: Entropy, n: int) -> Integers:
        """``n`` independent draws, by rejection; about half of all proposals are taken."""
        found = np.zeros(n, dtype=np.int64)
        left = np.arange(n)
        while left.size:
            values, taken = self._propose(entropy, left.size)
            found[left[taken]] = values[taken]
            left = left[~taken]
        return found

    def _propose(self, entropy: Entropy, n: int) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Candidates y = +-(t v + r), and which of them are taken.

        With v geometric of ratio 1/e, r uniform on 0 .. t-1 and both signs alike, taking y with
        probability exp(-r/t) makes |y| geometric of ratio e**(-1/t), and then with probability
        exp(-(|y| - variance/t)**2 / (2 variance)) Gaussian; zero counts once.
        """
        shift, center = self._shift, self.variance >> self._shift
        rest = (entropy.words(n, 64) & np.uint64((1 << shift) - 1)).astype(np.int64)
        size = (self._blocks(entropy, n) << shift) + rest
        negative = (entropy.words(n, 8) & np.uint64(1)).astype(bool)
        taken = ~(negative & (size == 0))
        far = np.abs(size - center)
        high, low = far >> HALF, far & (2**HALF - 1)
        unit = Fraction(1, 2 * self.variance)
        for number, scale in (
            (rest, Fraction(1, 1 << shift)),
            (high * high, unit * 4**HALF),
            (high * low, unit * 2 ** (HALF + 1)),
            (low * low, unit),
        ):
            taken[taken] = self._survive(entropy, number[taken], scale)
        return np.where(negative, -size, size), taken

    def _survive(
        self, entropy: Entropy, numbers: Integers, scale: Fraction
    ) -> npt.NDArray[np.bool_]:
        """Independent events of probability exp(-number scale): one for each binary digit."""
        alive = np.arange(numbers.size)
        digits = int(numbers.max(initial=0)).bit_length()
        coins = self._series.setdefault(scale, [])
        coins += [self.coin(scale * 2**j) for j in range(len(coins), digits)]
        for j in reversed(range(digits)):
            asked = (numbers[alive] >> j & 1).astype(bool)
            failed = np.zeros(alive.size, dtype=bool)
            failed[asked] = coins[j].draw(entropy, int(asked.sum())) == 1
            alive = alive[~failed]
        survived = np.zeros(numbers.size, dtype=bool)
        survived[alive] = True
        return survived

    def parts(self) -> tuple[Part, ...]:
        """The blocks, and the coins that are neither certain nor rarer than a long audit sees."""
        found = [Part("blocks", self.levels, enclosure=_exponential)]
        unit = Fraction(1, 2 * self.variance)
        for scale in (Fraction(1), unit * 2 ** (2 * self.variance).bit_length()):
            for j in range(-CERTAIN, RARE):
                x = scale / Fraction(2) ** j
                found.append(Part(f"coin {x}", self.coin(x), enclosure=_kept(x)))
        return tuple(found)

    def coin(self, x: Fraction) -> Inversion:
        """Outcome 0 with probability e**-x."""
        if x not in self._coins:
            self._coins[x] = Inversion(_kept(x), self.bits)
        return self._coins[x]

    @cached_property
    def _coins(self) -> dict[Fraction, Inversion]:
        return {}

    @cached_property
    def _series(self) -> dict[Fraction, list[Inversion]]:
        """Coins of a scale and of its doubles."""
        return {}

    def _blocks(self, entropy: Entropy, n: int) -> Integers:
        """Draws of (1 - 1/e) e**-v.

        The last outcome means "at least so many": no memory, so draw again on top of it.
        """
        total = np.zeros(n, dtype=np.int64)
        left = np.arange(n)
        while left.size:
            steps = self.levels.draw(entropy, left.size)
            total[left] += steps
            left = left[steps == STEPS]
        return total

    @cached_property
    def levels(self) -> Inversion:
        """The sampler of blocks."""
        return Inversion(_exponential, self.bits)


def _kept(x: Fraction) -> Enclosure:
    @cache
    def enclosure(bits: int) -> tuple[list[int], list[int]]:
        lower, upper = exp_enclosure(-x, bits)
        return [lower], [upper]

    return enclosure


@cache
def _exponential(bits: int) -> tuple[list[int], list[int]]:
    """F(v) = 1 - e**-(v+1)."""
    ends = [exp_enclosure(Fraction(-v), bits) for v in range(1, STEPS + 1)]
    return [(1 << bits) - high for _, high in ends], [(1 << bits) - low for low, _ in ends]


@lru_cache(maxsize=256)
def certified_delta(rho: Fraction, epsilon: Fraction) -> float:
    """A delta for which rho-concentrated privacy is (epsilon, delta)-privacy, rounded up.

    Independent discrete Gaussian noise on integers of squared L2 sensitivity D is concentrated
    with rho = D / (2 variance) (Theorem 14), and then delta is at most, for any order 1 + m,
    exp(m ((1+m) rho - epsilon)) / ((1+m) (1 + 1/m)**m) (Corollary 13). Floats choose m and
    guess the bound; integers decide whether it holds.
    """
    orders = _orders()
    logs = orders * ((1 + orders) * float(rho) - float(epsilon)) - _gain(orders)
    at = int(np.argmin(logs))
    guess = math.exp(min(0.0, float(logs[at])))
    while guess < 1:
        guess *= 1 + 2.0**-30
        if _holds(rho, epsilon, guess, ORDERS[at]):
            return guess
    return 1.0


def _holds(rho: Fraction, epsilon: Fraction, delta: float, m: Fraction) -> bool:
    """The bound of the corollary, to the power of m's denominator, in integers."""
    a, b = m.numerator, m.denominator
    steady = min(m, Fraction(STEADY))
    left = Fraction(delta) ** b * (1 + m) ** b * (1 + 1 / steady) ** (steady * b).numerator
    x = a * ((1 + m) * rho - epsilon)
    bits = 128 + max(0, math.ceil(-2 * x))
    _, upper = exp_enclosure(x, bits)
    return bool(upper <= left * 2**bits)


def _gain(orders: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    steady = np.minimum(orders, STEADY)
    gain: npt.NDArray[np.float64] = np.log1p(orders) + steady * np.log1p(1 / steady)
    return gain


@cache
def _orders() -> npt.NDArray[np.float64]:
    return np.array([float(m) for m in ORDERS])


@lru_cache(maxsize=256)
def most_rho(epsilon: float, delta: float) -> Fraction:
    """The largest rho found whose certified delta is within the one declared."""
    orders = _orders()
    found = (epsilon + (math.log(delta) + _gain(orders)) / orders) / (1 + orders)
    rho = float(found.max())
    while rho > 0:
        rho *= 1 - 2.0**-20
        if certified_delta(Fraction(rho), exact(epsilon)) <= exact(delta):
            return Fraction(rho)
    raise InvalidInput(
        "epsilon and delta large enough for Gaussian noise", f"epsilon={epsilon:g}, delta={delta:g}"
    )


def gaussian_delta(
    changes: Iterable[tuple[DiscreteGaussian, int, int]], epsilon: Fraction
) -> float:
    """A delta that is certified for Gaussian noise at epsilon: the smaller of two bounds.

    Parameters
    ----------
    changes
        For each noise: the noise, the largest sum of squared changes of the integers that it is
        added to, and how many integers these are.
    epsilon
        What is declared.
    """
    rho, shift = Fraction(0), Fraction(0)
    for noise, squared, sums in changes:
        rho += Fraction(squared, 2 * noise.variance)
        # The sum of absolute changes is at most the root of their number times their squares.
        shift += Fraction(math.isqrt(sums * squared) + 1, noise.variance)
    return min(certified_delta(rho, epsilon), coupled_delta(rho, shift, epsilon))


@lru_cache(maxsize=64)
def gaussian(epsilon: float, delta: float, squared: int, sums: int) -> DiscreteGaussian:
    """The least noise certified for a squared L2 sensitivity of so many sums, with its tables."""
    shares = Fraction(squared, 2)
    certain = DiscreteGaussian(math.ceil(shares / most_rho(epsilon, delta)))
    nearest = min(Fraction(largest_rho(epsilon, delta)), shares)
    for rounding in CLOSE:
        # Nearly that of continuous noise, if it can be certified.
        found = DiscreteGaussian(math.ceil(shares / nearest * (1 + rounding)))
        if found.variance >= certain.variance:
            break
        if gaussian_delta([(found, squared, sums)], exact(epsilon)) <= exact(delta):
            return found
    return certain
