"""Exact draws with weight p**score, from sequences that can be counted up to any score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from confide.discrete import ONE
from confide.randomness import Entropy, Inversion, weighted
from confide.releases._sequences import BATCH, Sequences, shifted
from confide.releases.base import Progress

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
        Size of a word: 64, or smaller in tests.
    """

    sequences: Sequences
    parameter: int
    blocks: tuple[Block, ...]
    bits: int = 64

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
            table = self._table(self.blocks[at].last)
            counts = self.sequences.draw(table, entropy, self.bits)
            keep = self.keeping(at, self.sequences.score(counts))
            if int(keep.draw(entropy, 1)[0]) == 0:
                return counts

    @cached_property
    def _choice(self) -> Inversion:
        return weighted(self.weights, self.bits)

    @cached_property
    def _table(self) -> Callable[[int], list[dict[int, int]]]:
        return lru_cache(maxsize=16)(self.sequences.table)

    def keeping(self, at: int, score: int) -> Inversion:
        """Outcome 0, with the probability that a sequence drawn from this block is kept."""
        block = self.blocks[at]
        number, weight = self._table(block.last)[-1][self.sequences.size], self.weights[at]
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
