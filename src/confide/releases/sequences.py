"""Exact draws with weight p**score, from sequences that can be counted up to any score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from confide._types import Floats, Integers
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import ONE
from confide.exact.inversion import Inversion, Part, weighted
from confide.releases.release import Progress

DIGITS = 128
"""Binary digits of a weight, and of the smallest weight relative to the largest."""
SMALL = 12.0
"""A long block is left so if it takes less than 2**-SMALL of the draws."""
REST = 70.0
"""Likewise for everything far from the data."""


class Block(NamedTuple):
    """Levels first .. last, with a bound mantissa 2**-exponent of their weight."""

    first: int
    last: int
    mantissa: int
    exponent: int

    @property
    def log2(self) -> float:
        """Binary logarithm of the bound."""
        return math.log2(self.mantissa) - self.exponent


@dataclass(frozen=True)
class Layers:
    """Draws sequences z with probabilities exactly proportional to p**score(z), p = P / 2**62.

    The weight is a sum over blocks a .. b of levels: p**score is the sum of
    p**max(score, a) - p**(b+1) over those with b >= score, where the last block subtracts nothing.
    A block is drawn in proportion to a bound V of its whole weight, then a uniform sequence among
    those of score at most b, and it is kept with probability N(b) (p**max(score, a) - p**(b+1)) / V
    for the exact number N(b) of those; else all is drawn anew. V cancels, so floats decide how
    often that happens and nothing else: no level is left out and nothing is rounded in the law.

    Parameters
    ----------
    sequences
        What is drawn from.
    parameter
        The public P, below 2**62.
    blocks
        Adjoining blocks from the least score to n.
    bits
        Size of a word: 32, or smaller in tests.
    """

    sequences: Sequences
    parameter: int
    blocks: tuple[Block, ...]
    bits: int = 32

    @cached_property
    def shift(self) -> int:
        """Weights are in units of 2**-shift."""
        return DIGITS - max(block.mantissa.bit_length() - block.exponent for block in self.blocks)

    @cached_property
    def weights(self) -> list[int]:
        """Integer bounds V of the blocks' weights."""
        return [shifted(block.mantissa, self.shift - block.exponent)[1] for block in self.blocks]

    def draw(self, entropy: Entropy) -> list[int]:
        """Counts of one sequence."""
        while True:
            at = int(self._choice.draw(entropy, 1)[0])
            table = self.table(self.blocks[at].last)
            counts = self.sequences.draw(table, entropy, self.bits)
            keep = self.keeping(at, self.sequences.score(counts))
            if int(keep.draw(entropy, 1)[0]) == 0:
                return counts

    @cached_property
    def _choice(self) -> Inversion:
        return weighted(self.weights, self.bits)

    def parts(self) -> tuple[Part, ...]:
        """The choice of a block, and the coin that keeps a sequence of each block's first score."""
        coins = [self.keeping(at, block.first) for at, block in enumerate(self.blocks)]
        return (
            Part("block", self._choice, tuple(self.weights)),
            *(Part(f"kept, block {at}", coin, enclosure=coin.enclosure)
              for at, coin in enumerate(coins)),
        )  # fmt: skip

    @cached_property
    def table(self) -> Callable[[int], list[dict[int, int]]]:
        """Number of sequences of each score, up to a score."""
        return lru_cache(maxsize=16)(self.sequences.table)

    def keeping(self, at: int, score: int) -> Inversion:
        """Outcome 0, with the probability that a sequence drawn from this block is kept."""
        block = self.blocks[at]
        number, weight = self.table(block.last)[-1][self.sequences.size], self.weights[at]
        end = None if block.last == self.sequences.n else block.last + 1

        def enclosure(bits: int) -> tuple[list[int], list[int]]:
            low, high, exponent = drop(self.parameter, max(score, block.first), end, bits)
            shift = self.shift + bits - exponent
            return (
                [shifted(number * low, shift)[0] // weight],
                [-(-shifted(number * high, shift)[1] // weight)],
            )

        return Inversion(enclosure, self.bits)


def layers(sequences: Sequences, parameter: int, tell: Progress) -> Layers:
    """Blocks with bounds of their weights, short where the draws are and long elsewhere.

    Where that is depends on the data, and so does the time; what can be drawn does not.
    """
    fall = -math.log2(parameter / ONE)
    n = sequences.n
    numbers = {n: len(sequences.upto) ** sequences.size}

    def block(first: int, last: int) -> Block:
        _, high, exponent = drop(parameter, first, None if last == n else last + 1, DIGITS)
        product = numbers[last] * high
        excess = product.bit_length() - DIGITS
        return Block(first, last, shifted(product, -excess)[1], exponent - excess)

    short = max(1, int(0.5 / fall)) if fall * n > 0.5 else n
    blocks: list[Block] = []
    peak, length, first = -math.inf, short, sequences.least
    # Longer and longer blocks, until even all the sequences there are would not matter.
    while block(first, n).log2 > peak - REST and (last := first + length - 1) < n:
        tell(0.0)
        (numbers[last],) = sequences.bounds([last])
        blocks.append(block(first, last))
        # A level's own weight is less than the whole: a measure of what is small.
        peak = max(peak, block(last, last).log2)
        first, length = last + 1, 2 * length
    blocks.append(block(first, n))
    # Then the heavy ones are halved; in so many rounds the longest of them is short.
    rounds = (n // short).bit_length() + 1
    for done in range(rounds):
        heavy = [b for b in blocks if b.last - b.first >= short and b.log2 > peak - SMALL]
        middles = [(b.first + b.last) // 2 for b in heavy]
        for start in range(0, len(heavy), BATCH):
            tell((done + start / len(heavy)) / rounds)
            some = middles[start : start + BATCH]
            numbers.update(zip(some, sequences.bounds(some), strict=True))
        for b, middle in zip(heavy, middles, strict=True):
            peak = max(peak, block(middle, middle).log2)
            blocks.remove(b)
            blocks += [block(b.first, middle), block(middle + 1, b.last)]
        blocks.sort()
    tell(1.0)
    return Layers(sequences, parameter, tuple(blocks))


def drop(parameter: int, start: int, end: int | None, bits: int) -> tuple[int, int, int]:
    """Integers (low, high, e) with 2**e (p**start - p**end) between them; without end, p**start.

    About ``bits`` leading digits are right.
    """
    digits = bits + 64 + max(start, end or 0).bit_length()
    low, high, exponent = _power(parameter, start, digits)
    if end is None:
        return low, high, exponent
    # 1 - p is at least 2**-62.
    digits += 64
    below, above, more = _power(parameter, end - start, digits)
    if above.bit_length() - more < -digits:
        below, above, more = 0, 1, digits
    return low * ((1 << more) - above), high * ((1 << more) - below), exponent + more


def _power(parameter: int, times: int, digits: int) -> tuple[int, int, int]:
    """Integers (low, high, e) around 2**e p**times, squared with every step rounded outwards."""
    result, base = (1, 1, 0), (parameter, parameter, 62)
    while times:
        if times & 1:
            result = _product(result, base, digits)
        base = _product(base, base, digits)
        times >>= 1
    return result


def _product(a: tuple[int, int, int], b: tuple[int, int, int], digits: int) -> tuple[int, int, int]:
    low, high, exponent = a[0] * b[0], a[1] * b[1], a[2] + b[2]
    excess = max(0, high.bit_length() - digits)
    return low >> excess, -(-high >> excess), exponent - excess


NONE = -(2**28)
"""Binary exponent of a zero: below every other one, and so is twice it."""
BATCH = 32
"""Levels at once, at most."""
ELEMENTS = 2**18
"""Elements of a temporary array, few enough to stay in the processor's cache."""


@dataclass(frozen=True)
class Sequences:
    """All sequences of ``size`` cell numbers, each with its score against the data.

    The score is the Kolmogorov-Smirnov distance in records, n sup_t |F_x(t) - F_z(t)|, rounded up.
    One record that moves changes every n F_x(t) by at most 1, hence the score by at most 1, and
    rounding up a number and that number plus 1 leaves them 1 apart: the sensitivity is 1 whether
    or not ``size`` divides n.

    Parameters
    ----------
    upto
        For each cell, how many records of the data lie in it or before it; n for the last.
    size
        Length of a sequence.
    """

    upto: tuple[int, ...]
    size: int

    @property
    def n(self) -> int:
        """Number of records, and the largest score there is."""
        return self.upto[-1]

    def score(self, counts: Sequence[int]) -> int:
        """The score of the sequences with these counts in the cells."""
        reached, widest = 0, 0
        for upto, count in zip(self.upto, counts, strict=True):
            reached += count
            widest = max(widest, abs(self.size * upto - self.n * reached))
        return -(-widest // self.size)

    @cached_property
    def least(self) -> int:
        """The smallest score of any sequence: that of the nearest count at every cell."""
        upto = np.array(self.upto, dtype=np.int64)
        below = self.size * upto // self.n
        gaps = [np.abs(self.size * upto - self.n * (below + step)) for step in (0, 1)]
        return int(-(-np.minimum(*gaps).max() // self.size))

    def band(self, levels: Integers) -> tuple[Integers, Integers]:
        """Least and largest cumulative count at each cell of a sequence of at most that score."""
        upto, level = np.array(self.upto, dtype=np.int64), levels[:, None]
        low = np.maximum(0, -(-self.size * (upto - level) // self.n))
        high = np.minimum(self.size, self.size * (upto + level) // self.n)
        low[:, -1] = high[:, -1] = self.size
        return low, high

    def table(self, level: int) -> list[dict[int, int]]:
        """Exact numbers N(t, C) of ways to fill the cells up to t with C places of a sequence.

        Only ways that stay in the band of the level count. N(t, C) is the sum of
        binom(C, c) N(t-1, C-c) over the count c of cell t.
        """
        lows, highs = (ends[0].tolist() for ends in self.band(np.array([level])))
        rows = [dict.fromkeys(range(lows[0], highs[0] + 1), 1)]
        for low, high in zip(lows[1:], highs[1:], strict=True):
            before, row = rows[-1], {}
            for reached in range(low, high + 1):
                row[reached] = sum(ways for _, ways in _last(before, reached))
            rows.append(row)
        return rows

    def draw(self, table: list[dict[int, int]], entropy: Entropy, bits: int) -> list[int]:
        """Counts of a uniform one among the sequences of a table, from the last cell backwards."""
        reached, counts = self.size, []
        for before in reversed(table[:-1]):
            choices = _last(before, reached)
            at = 0
            if len(choices) > 1:
                at = int(weighted([ways for _, ways in choices], bits).draw(entropy, 1)[0])
            counts.append(choices[at][0])
            reached -= counts[-1]
        return [reached, *reversed(counts)]

    def bounds(self, levels: Sequence[int]) -> list[int]:
        """Upper bounds of the numbers of sequences of at most these scores, proved in floats.

        Floats with a binary exponent of their own hold N(t, C) / C!, where the sum is a
        convolution. Only positive numbers are multiplied and added, so what a cell's step of W
        terms loses is at most a factor (1 - 2**-53)**(W+2), in whatever order they are added; the
        last unit is for terms that underflow. All that may be lost is given back at the end: about
        1e-11 of the whole.

        Parameters
        ----------
        levels
            Scores in ascending order, none below ``least``.
        """
        found = []
        start = 0
        while start < len(levels):
            few = np.array(levels[start : start + BATCH], dtype=np.int64)
            lows, highs = (ends[:, self._turns] for ends in self.band(few))
            width = int((highs - lows).max()) + 1
            batch = slice(max(1, ELEMENTS // width**2))
            slack = len(self._turns) * (width + 2)
            for value, exponent in self._floats(lows[batch], highs[batch]):
                whole = int(math.ldexp(value, 53)) * (2**52 + slack) * math.factorial(self.size)
                # A whole number below a bound is below its whole part.
                found.append(shifted(whole, exponent - 105)[0])
            start = len(found)
        return found

    @cached_property
    def _turns(self) -> Integers:
        """Cells at the ends of stretches without records.

        Inside such a stretch the band stays as it is, and cumulative counts that are in it at both
        ends are in it all along.
        """
        filled = np.diff(np.array(self.upto), prepend=0) > 0
        return np.flatnonzero(filled | np.append(filled[1:], True))

    def _floats(self, lows: Integers, highs: Integers) -> list[tuple[float, int]]:
        """The last number of each level, as a float and a binary exponent."""
        steps = np.diff(self._turns, prepend=-1)
        places = np.arange(int((highs - lows).max()) + 1)
        # Where a cell's band is narrower than the table.
        beyond = places > (highs - lows).T[:, :, None]
        parts, powers = _kernel(int(steps[0]), self.size)
        here = np.where(beyond[0], 0, lows[:, :1] + places)
        values = np.where(beyond[0], 0.0, parts[here + self.size])
        exponents = np.where(beyond[0], NONE, powers[here + self.size]).astype(np.int32)
        apart = places[:, None] - places[None, :] + self.size
        for t in range(1, len(steps)):
            parts, powers = _kernel(int(steps[t]), self.size)
            counts = apart + (lows[:, t] - lows[:, t - 1])[:, None, None]
            scales = powers[counts] + exponents[:, None, :]
            top = scales.max(axis=2)
            scales -= top[:, :, None]
            terms = parts[counts] * values[:, None, :]
            values, more = np.frexp(np.ldexp(terms, scales).sum(axis=2))
            values[beyond[t]] = 0.0
            exponents = np.where(values > 0, top + more, NONE).astype(np.int32)
        return list(zip(values[:, 0].tolist(), exponents[:, 0].tolist(), strict=True))


def _last(before: dict[int, int], reached: int) -> list[tuple[int, int]]:
    """Counts of a cell that lead from the row before to ``reached``, with the ways of each."""
    found = []
    ways = None
    for past, number in before.items():
        count = reached - past
        if count < 0:
            break
        # binom(C, c) from binom(C, c+1): rows ascend in C - c.
        ways = math.comb(reached, count) if ways is None else ways * (count + 1) // past
        found.append((count, ways * number))
    return found


@lru_cache(maxsize=64)
def _kernel(cells: int, size: int) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Floats and binary exponents of cells**c / c!, rounded up, at places size + c; 0 for c < 0."""
    values = np.zeros(3 * size + 2)
    exponents = np.full(3 * size + 2, NONE, dtype=np.int32)
    over, under = 1, 1
    for count in range(size + 1):
        if count:
            over, under = over * cells, under * count
        shift = under.bit_length() - over.bit_length() + 52
        # Between 2**51 and 2**53: a whole float.
        whole = -(-(over << max(shift, 0)) // (under << max(-shift, 0)))
        values[size + count], extra = math.frexp(whole)
        exponents[size + count] = extra - shift
    return values, exponents


def shifted(number: int, shift: int) -> tuple[int, int]:
    """Integers around number 2**shift."""
    if shift >= 0:
        return number << shift, number << shift
    return number >> -shift, -(-number >> -shift)
