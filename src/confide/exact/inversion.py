"""Exact draws by inversion: a word decides the outcome, and more words where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.exact.entropy import KINDS, Entropy, Words

Outcomes = npt.NDArray[np.int32]

FEW = 4096
"""Up to this number of draws at once take the same path."""

Enclosure = Callable[[int], tuple[Sequence[int], Sequence[int]]]
"""bits -> (lower, upper): integers with lower[k] <= 2**bits F(k) <= upper[k], k = 0 .. K-2."""


@dataclass(frozen=True)
class Inversion:
    """An exact sampler of outcomes 0 .. K-1 by inversion with lazy refinement.

    Parameters
    ----------
    enclosure
        Integer bounds of the cumulative probabilities F(0) .. F(K-2) at any precision.
    bits
        Size of a word: 32, or smaller in tests, where small words make refinement frequent.
    """

    enclosure: Enclosure
    bits: int = field(default=32)

    def draw(self, entropy: Entropy, n: int) -> Outcomes:
        """``n`` independent outcomes.

        What is read never depends on what they are added to. A device draws few at a time, and
        then every word takes the same search, so that the time taken hardly tells which outcome
        it was (some nanoseconds of caches and branches remain). In long batches a guide table
        decides most words at once. (A word is undecided with a probability of about K 2**-32 for K
        outcomes. Then another word is read, which takes some microseconds longer.)
        """
        words = entropy.words(n, self.bits)
        if n <= FEW:
            # What a second word is compared with is made beforehand: making it takes long enough
            # to be seen from outside.
            _ = self._ready
            return self._search(words, entropy)
        if words.dtype == np.uint32:
            # The upper half of each word.
            bucket = words.view(np.uint16)[1 if _LITTLE else 0 :: 2]
        else:
            bucket = (words >> np.uint64(max(self.bits - 16, 0))).astype(np.uint16)
        outcomes = self._guide[bucket]
        unsure = np.flatnonzero(outcomes < 0)
        if unsure.size:
            outcomes[unsure] = self._search(words[unsure], entropy)
        return outcomes

    @cached_property
    def _ready(self) -> bool:
        self.enclosure(2 * self.bits)
        return True

    @cached_property
    def _thresholds(self) -> tuple[Words, Words]:
        lower, upper = self.enclosure(self.bits)
        # An upper bound of 2**bits does not fit into a word: it becomes the largest word, which is
        # then always refined.
        top = 2**self.bits - 1
        return (
            np.array([min(t, top) for t in lower], dtype=KINDS[self.bits]),
            np.array([min(t, top) for t in upper], dtype=KINDS[self.bits]),
        )

    @cached_property
    def _guide(self) -> Outcomes:
        """Outcome of every word with the same top 16 bits, or -1 where they do not share one."""
        lower, upper = self._thresholds
        shift = max(self.bits - 16, 0)
        first = np.arange(2 ** min(self.bits, 16), dtype=np.uint64) << np.uint64(shift)
        last = first + np.uint64(2**shift - 1)
        # Thresholds certainly at or below the first word, and not certainly above the last one.
        below = np.searchsorted(upper, first, side="right")
        reached = np.searchsorted(lower, last, side="right")
        guide = np.where(below == reached, below, -1).astype(np.int32)
        # The largest word may stand for a bound that did not fit.
        guide[-1] = -1
        guide.flags.writeable = False
        return guide

    def _search(self, words: Words, entropy: Entropy) -> Outcomes:
        # Methods of the arrays: a device draws few at a time, and numpy's functions cost more than
        # the search itself then.
        lower, upper = self._thresholds
        below = upper.searchsorted(words, "right")
        outcomes = below.astype(np.int32)
        undecided = below != lower.searchsorted(words, "right")
        if self._capped:
            undecided |= words == 2**self.bits - 1
        for at in undecided.nonzero()[0]:
            outcomes[at] = self._refine(int(words[at]), entropy)
        return outcomes

    @cached_property
    def _capped(self) -> bool:
        """Whether the largest word stands for an upper bound that did not fit."""
        upper = self._thresholds[1]
        return bool(upper.size) and int(upper[-1]) == 2**self.bits - 1

    def _refine(self, word: int, entropy: Entropy) -> int:
        bits = self.bits
        while True:
            word = (word << self.bits) | int(entropy.words(1, self.bits)[0])
            bits += self.bits
            lower, upper = self.enclosure(bits)
            below = _count(upper, word)
            if below == _count(lower, word):
                return below


def _count(thresholds: Sequence[int], word: int) -> int:
    """How many of the sorted thresholds are <= word."""
    low, high = 0, len(thresholds)
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] <= word:
            low = middle + 1
        else:
            high = middle
    return low


_LITTLE = np.little_endian


def weighted(weights: Sequence[int], bits: int = 32) -> Inversion:
    """An exact sampler with probabilities proportional to positive integer weights."""
    if not weights or min(weights) < 0 or sum(weights) == 0:
        raise ValueError("weights must be non-negative integers, not all zero")
    cumulative = list(accumulate(weights))
    total = cumulative.pop()

    @cache
    def enclosure(bits: int) -> tuple[list[int], list[int]]:
        return (
            [(c << bits) // total for c in cumulative],
            [-((-c << bits) // total) for c in cumulative],
        )

    return Inversion(enclosure, bits)


def permutation(entropy: Entropy, n: int) -> npt.NDArray[np.int64]:
    """A uniformly random order of the numbers 0 .. n-1.

    Each number draws a key of fair bits, and the numbers are sorted by key, digit by digit, in
    linear time. There are so many keys that few are equal; numbers whose keys are equal are put in
    order by fresh keys, until no two are equal. All keys have the same law, so each of the n!
    orders is equally likely.
    """
    digits = [_digits(entropy, n, np.uint8)]
    while 2 ** (16 * len(digits) - 8) < SPARE * n:
        digits.append(_digits(entropy, n, np.uint16))
    order = np.argsort(digits[0], kind="stable")
    for digit in digits[1:]:
        order = order[np.argsort(digit[order], kind="stable")]
    equal = np.ones(max(n - 1, 0), dtype=bool)
    for digit in digits:
        ordered = digit[order]
        equal &= ordered[1:] == ordered[:-1]
    first = ~np.append(False, equal)
    tied = np.flatnonzero(np.append(equal, False) | ~first)
    if tied.size > 1:
        again = permutation(entropy, tied.size)
        group = np.cumsum(first[tied])[again]
        order[tied] = order[tied[again[np.argsort(group, kind="stable")]]]
    return order


SPARE = 16
"""Least number of keys for each number to order: about one number in this many shares its key."""


def _digits(entropy: Entropy, n: int, kind: type[np.uint8 | np.uint16]) -> npt.NDArray[Any]:
    """Short fair words, which a radix sort takes, cut from long ones."""
    size = np.dtype(kind).itemsize
    return entropy.words(-(-n * size // 8), 64).view(kind)[:n]


BITS = 192
"""Precision of the probabilities that are taken of an enclosure."""


class Source(Protocol):
    """Anything that makes outcomes 0, 1, ... of fair words."""

    def draw(self, entropy: Entropy, n: int) -> npt.NDArray[Any]:
        """``n`` independent outcomes."""


@dataclass(frozen=True)
class Part:
    """One sampler that something private draws from, and the law that it states for it.

    The law is stated on its own and not read off the sampler, so that the two can be compared.

    Parameters
    ----------
    name
        What is drawn.
    sampler
        What draws it.
    weights
        Exact integer weights of the outcomes; None where only an enclosure of them is known.
    enclosure
        Integer bounds of the cumulative probabilities at any precision, where there are no weights.

    Examples
    --------
    >>> from confide.exact.inversion import weighted
    >>> Part("coin", weighted([3, 1]), (3, 1)).pmf().tolist()
    [0.75, 0.25]
    """

    name: str
    sampler: Source
    weights: Sequence[int] | None = None
    enclosure: Enclosure | None = None

    def pmf(self) -> Floats:
        """The probabilities that are stated, as floats."""
        weights = self.weights
        if weights is None:
            if self.enclosure is None:
                raise ValueError("a part states its weights or an enclosure of them")
            lower, upper = self.enclosure(BITS)
            # Twice the middle of each enclosure, from 0 to certainty.
            sums = [0, *(low + high for low, high in zip(lower, upper, strict=True)), 2 << BITS]
            weights = [after - before for before, after in pairwise(sums)]
        total = sum(weights)
        return np.array([weight / total for weight in weights])


def within(name: str, parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of something that is itself a part, with its name before theirs."""
    return tuple(replace(part, name=f"{name}, {part.name}") if name else part for part in parts)
