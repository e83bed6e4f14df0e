"""Quantiles by the exponential mechanism on ranks, in integers."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from confide.exact.enclosures import exp_ceiling, logs_ceiling
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import ONE
from confide.exact.inversion import weighted
from confide.lattice import Lattice
from confide.releases.noise_intervals import rank_ends
from confide.releases.release import Indices

TOP = 2**128
"""Weight of a cell that holds the rank asked for."""
RANK_RISK = 0.2
"""Part of the interval's risk that goes to the mechanism's own error in rank."""


@lru_cache(maxsize=64)
def rank_weights(epsilon: Fraction) -> tuple[int, ...]:
    """Weights W(d) of rank distances d, about e**(-epsilon d/2), the last one for all beyond.

    Each is the one before times P / 2**62 >= e**(-epsilon/2), rounded up, so that a step in
    distance changes a weight by a factor of at most e**(epsilon/2), exactly. One record moves every
    distance by at most 1 and so every probability by at most e**epsilon.
    """
    parameter = exp_ceiling(-epsilon / 2, ONE)
    weights = [TOP]
    while (following := -(-weights[-1] * parameter >> 62)) < weights[-1]:
        weights.append(following)
    return tuple(weights)


def distances(indices: Indices, size: int, rank: int) -> Indices:
    """Number of records between each cell and the wanted rank; 0 for the cell that holds it."""
    counts = np.bincount(indices, minlength=size)
    upto = np.cumsum(counts)
    below = upto - counts
    found: Indices = np.maximum(0, np.maximum(below - rank, rank - upto))
    return found


@dataclass(frozen=True)
class Ranks:
    """A quantile and the two ends of its interval: three draws on a public split of epsilon."""

    epsilon: Fraction
    size: int
    q: float
    level: float

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Half for the quantile, a quarter for each end."""
        return (self.epsilon / 2, self.epsilon / 4, self.epsilon / 4)

    def reach(self, epsilon: Fraction) -> int:
        """A rank distance that a draw exceeds with no more than its part of the risk."""
        weights = rank_weights(epsilon)
        most = int(Fraction(RANK_RISK * (1 - self.level) / 2) * TOP / self.size)
        found = bisect_left(weights, -most, 1, key=operator.neg)
        return found - 1 if found < len(weights) else found

    def targets(self, n: int) -> tuple[int, int, int]:
        """Ranks asked for, some perhaps beyond 0 .. n, where the public bound is the answer."""
        tail = (1 - RANK_RISK) * (1 - self.level) / 2
        low, high = rank_ends(n, self.q, tail)
        margin = self.reach(self.shares[1])
        return round(self.q * n), low - margin, high + margin

    def loss(self, n: int) -> float:
        """The exact loss of the three draws: two times the largest step of the weights, each."""
        drawn = zip(self.shares, self.targets(n), strict=True)
        return logs_ceiling(
            (largest_step(rank_weights(part)[: n + 1]), 2) for part, rank in drawn if 0 <= rank <= n
        )

    def weights(self, indices: Indices) -> list[list[int]]:
        """Each cell's weight, for the quantile and the two ends; none where a bound is public."""
        n = len(indices)
        found: list[list[int]] = []
        for part, rank in zip(self.shares, self.targets(n), strict=True):
            if not 0 <= rank <= n:
                found.append([])
                continue
            table = rank_weights(part)
            far = np.minimum(distances(indices, self.size, rank), len(table) - 1)
            found.append([table[d] for d in far.tolist()])
        return found

    def draw(self, indices: Indices, entropy: Entropy) -> list[int]:
        """Cells of the quantile, the lower and the upper end; -1 stands for a public bound."""
        return [
            int(weighted(weights).draw(entropy, 1)[0]) if weights else -1
            for weights in self.weights(indices)
        ]

    def answer(
        self, cells: tuple[int, ...], n: int, lattice: Lattice
    ) -> tuple[float, float, float]:
        """The middle of the quantile's cell and the outer edges of the ends' cells."""
        middle, low, high = cells
        value = float(lattice.centers[middle])
        lower = float(lattice.edges[low]) if low >= 0 else lattice.low
        upper = float(lattice.edges[high + 1]) if high >= 0 else lattice.high
        return value, min(lower, value), max(upper, value)


def largest_step(weights: Sequence[int]) -> Fraction:
    """The largest ratio of neighboring weights."""
    return max((Fraction(a, b) for a, b in pairwise(weights)), default=Fraction(1))
