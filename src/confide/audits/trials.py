"""Trials of releases on neighboring data sets: does the noise hide the change of one record?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.accounting.spend import exact as written
from confide.audits.neighbors import (
    FEW,
    Data,
    Spots,
    all_families,
    few_spots,
    like_families,
    ready,
    remembered,
    spots,
)
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_enclosure, logs_ceiling
from confide.exact.entropy import SeededEntropy
from confide.exact.integer_noise import ONE, DiscreteGaussian, DiscreteLaplace, gaussian_delta
from confide.releases.release import Additive, Noise, Totals

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
    """Whether the noise hides this change at its epsilon: (2**62 / P)**change <= e**epsilon.

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


MANY = 1024
"""Cells that the last of many records is moved between, at most."""
WORK = 2**25
"""Numbers that are compared in one family, at most."""
RECORDS = 2**20
"""Data sets of more records are not tried."""
AGAIN = 8
"""Draws of a data set that are made again from the parts that are stated, at most."""
NUMBERS = 2**13
"""Numbers in these draws, at most."""


@dataclass(frozen=True)
class Trial:
    """The result of trying a release on neighboring data sets.

    Parameters
    ----------
    loss
        The largest loss that was found.
    slack
        The delta that goes with it.
    holds
        Whether it keeps to what is declared, and what is drawn is what is stated.
    sizes
        Sizes of the data sets.
    sets
        How many were tried.
    changes
        For the largest size, the most that one record changed each group of sums by: a sum of
        absolute values, or of squares under Gaussian noise.
    """

    loss: float = 0.0
    slack: float = 0.0
    holds: bool = True
    sizes: tuple[int, ...] = ()
    sets: int = 0
    changes: tuple[int, ...] = ()

    def __add__(self, other: Trial) -> Trial:
        """Both of them: the worse of each figure."""
        return Trial(
            max(self.loss, other.loss),
            max(self.slack, other.slack),
            self.holds and other.holds,
            (*self.sizes, *(size for size in other.sizes if size not in self.sizes)),
            self.sets + other.sets,
            other.changes or self.changes,
        )


def sizes(n: int, least: int = 1) -> list[int]:
    """Sizes of the data sets that are tried for n records: all that are small, and n."""
    return sorted({*range(least, FEW + 1), max(least, min(n, RECORDS))})


def sums_tried(recipe: Additive, n: int) -> Trial:
    """A release of sums and noise, of a few records and of n."""
    found = Trial()
    for size in sizes(n):
        try:
            noises = recipe.noises(size)
        except InvalidInput:
            # There is no such release: its noise would not fit into integers.
            continue
        found += _of_size(recipe, size, noises)
    return found


def _of_size(recipe: Additive, n: int, noises: tuple[Noise, ...]) -> Trial:
    def look(places: Spots) -> Callable[[Data], list[Totals]]:
        return remembered(lambda data: recipe.sums(ready(recipe, places, data), SeededEntropy(0)))

    lengths = [len(each) for each in look(spots(recipe, n, 2))(np.zeros(n, dtype=np.int64))]
    length = sum(lengths)
    few = few_spots(recipe, n, length)
    if n <= FEW:
        tries = [(look(few), all_families(len(few), n))]
    else:
        most = min(MANY, math.isqrt(WORK // length), 2**24 // n)
        wide = spots(recipe, n, max(2, int(most ** (1 / few.shape[1]))))
        tries = [
            (look(wide), like_families(len(wide), [0], n)),
            (look(few), like_families(len(few), list(range(len(few))), n)),
        ]
    changes, sets = [0] * len(noises), 0
    for sums, families in tries:
        for family in families:
            groups = zip(*map(sums, family), strict=True)
            for at, (noise, totals) in enumerate(zip(noises, groups, strict=True)):
                changes[at] = max(changes[at], largest_change(noise, totals))
            sets += len(family)
    again = max(1, min(AGAIN, NUMBERS // length))
    stated = all(
        drawn_as_stated(recipe, ready(recipe, few, data), again)
        for data in (np.zeros(n, dtype=np.int64), np.arange(n) % len(few))
    )
    loss, slack, holds = _cost(recipe, noises, changes, lengths)
    return Trial(loss, slack, holds and stated, (n,), sets, tuple(changes))


def _cost(
    recipe: Additive, noises: tuple[Noise, ...], changes: list[int], lengths: list[int]
) -> tuple[float, float, bool]:
    """Loss and delta of the noises for such changes, and whether that is what is declared."""
    whole, pairs = written(recipe.epsilon), list(zip(noises, changes, strict=True))
    plain = [(noise, most) for noise, most in pairs if isinstance(noise, DiscreteLaplace)]
    parts = sum(noise.epsilon for noise, _ in plain)
    holds = parts <= whole and all(enough(noise, most) for noise, most in plain)
    normal = [
        (noise, most, length)
        for (noise, most), length in zip(pairs, lengths, strict=True)
        if isinstance(noise, DiscreteGaussian) and most
    ]
    if not normal:
        loss = logs_ceiling((Fraction(ONE, noise.parameter), most) for noise, most in plain)
        return loss, 0.0, holds
    slack = gaussian_delta(normal, whole)
    return recipe.epsilon, slack, holds and slack <= recipe.delta


def largest_change(noise: Noise, totals: tuple[Totals, ...]) -> int:
    """The most that two data sets of a family differ by, as the noise counts it.

    Laplace noise hides a sum of absolute changes, Gaussian noise a sum of squares.
    """
    table = np.array(totals, dtype=np.int64 if isinstance(totals[0], np.ndarray) else object)
    size = np.abs if isinstance(noise, DiscreteLaplace) else np.square
    return max(int(size(table - row).sum(axis=1).max()) for row in table)


def drawn_as_stated(recipe: Additive, prepared: Any, times: int = AGAIN) -> bool:
    """Whether what is released is the sums plus draws of the noises that are stated."""
    one, other = SeededEntropy(0), SeededEntropy(0)
    noises = recipe.noises(recipe.records(prepared))
    for _ in range(times):
        groups = recipe.sums(prepared, one)
        if len(groups) != len(noises):
            return False
        expected = [
            int(total) + int(part)
            for totals, noise in zip(groups, noises, strict=True)
            for total, part in zip(totals, noise.draw(one, len(totals)), strict=True)
        ]
        if recipe.draw(prepared, other) != expected:
            return False
    return True
