"""The law of one sample, for study by whoever holds the records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.mechanisms.mollification import finite_scores
from confide.randomness import SeededEntropy

if TYPE_CHECKING:
    from confide.sampling.mollifier import Mollifier
    from confide.sampling.ratios import LogRatio

Floats = npt.NDArray[np.float64]

LEAST = 15
"""A density is averaged over 2**15 atoms at least, in as many sets as they make,"""
SETS = 64
"""but in no more than these."""
TINY = 2.0**-53
KNOTS = 129
DRAWS = 0.1
"""Draws that one set of atoms gives, a share of their number."""


@dataclass(frozen=True, eq=False)
class SampleLaw:
    """The law of one sample, averaged over the public atoms. Private: not to be released.

    Given its atoms a sample has finitely many outcomes. Over fresh atoms it has a density, M times
    the mean weight of an atom at x among M - 1 others, times the reference's density at x. The mean
    is taken over some sets of public atoms, with x added to each; the density is good to a few
    thousandths.

    Parameters
    ----------
    mechanism
        The sampler.
    log_ratio
        The fitted log ratio, a function of points.
    """

    mechanism: Mollifier
    log_ratio: LogRatio

    @property
    def facts(self) -> Mapping[str, Any]:
        """How it came about."""
        sampler = self.mechanism
        return {"method": sampler.name, "epsilon": sampler.epsilon, "atoms": sampler.size}

    def log_pdf(self, x: npt.ArrayLike) -> Floats:
        """Log density at points, one row each."""
        reference = self.mechanism.reference
        points = reference.table(x, "x")
        scores = np.asarray(self.log_ratio(points), dtype=np.float64)
        total = np.zeros(len(points))
        for table in self._tables:
            total += table(scores)
        result: Floats = reference.log_density(points) + np.log(total / len(self._tables))
        return result

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at points, one row each."""
        return np.exp(self.log_pdf(x))

    def sample(self, n: int, *, seed: int) -> Floats:
        """Repeatable draws, one row each, from fresh sets of atoms. Not private."""
        n = _validate.integer(1, n=n)
        entropy = SeededEntropy(_validate.integer(0, seed=seed))
        share = max(1, int(DRAWS * self.mechanism.size))
        parts = []
        for start in range(0, n, share):
            settled = self.mechanism.reseeded(entropy)
            weights = settled.weigh(self.log_ratio)
            numbers = settled._draw(weights, entropy, min(share, n - start))
            parts.append(settled.locate(numbers))
        return np.concatenate(parts)

    @cached_property
    def _tables(self) -> list[_Shares]:
        reference, size = self.mechanism.reference, self.mechanism.size
        others = size - 1
        power = max(LEAST, (3 * others - 1).bit_length())
        # Sets dealt at random from one well spread sequence: each is nearly as uneven as
        # independent draws are, and all of them together far less.
        source = np.random.default_rng(0)
        sets = min(SETS, 2**power // others)
        from scipy.stats.qmc import Sobol  # slow to import, and only studies need it

        spread = Sobol(reference.draws, scramble=False).random_base2(power)[: sets * others]
        spread = (spread + source.random(reference.draws)) % 1.0
        source.shuffle(spread)
        spread = np.clip(spread, TINY, 1 - TINY)
        found = []
        for own in np.split(spread, sets):
            atoms = reference.place(own)
            scores = np.asarray(self.log_ratio(atoms), dtype=np.float64)
            found.append(_Shares.of(scores, self.mechanism.epsilon))
        return found

    def __repr__(self) -> str:
        return f"<SampleLaw of {self.mechanism!r}>"


@dataclass(frozen=True, eq=False)
class _Shares:
    """M times the weight of one more atom, as a function of its log ratio."""

    scores: Floats
    logs: Floats
    bottom: float
    top: float
    margin: float

    @classmethod
    def of(cls, others: Floats, epsilon: float) -> _Shares:
        """The table for one set of M - 1 other atoms."""
        half = epsilon / 2
        *_, bottom, top = extended = finite_scores(np.append(others, [-np.inf, np.inf]), epsilon)
        known = extended[:-2]
        size = len(known) + 1

        def left(c: float) -> float:
            """M times what the other atoms leave at C = e**c; it grows with c."""
            return size - float(np.exp(np.clip(known - c, -half, half)).sum())

        # An atom with log ratio t and share r = left(c) solves r = exp(clip(t - c)): at every c
        # between the two ends of the band, t = c + log r.
        low, high = known.min() - half, known.max() + half
        first = _root(left, math.exp(-half), low, high)
        last = _root(left, math.exp(half), low, high)
        even = np.linspace(first, last, KNOTS)
        # Shares are nearly linear in c, and wanted in equal steps of their logarithm too.
        steps = np.exp(np.linspace(-half, half, 2 * KNOTS))
        grid = np.sort(np.append(even, np.interp(steps, [left(c) for c in even], even)))
        logs = np.log(np.clip([left(c) for c in grid], math.exp(-half), math.exp(half)))
        rising = np.maximum.accumulate(grid + logs)
        return cls(rising, logs, float(bottom), float(top), epsilon + 0.5)

    def __call__(self, scores: Floats) -> Floats:
        """Shares of atoms with these log ratios."""
        # Infinities are beyond every finite score, and finite ones stay clear of them.
        given = np.clip(np.nan_to_num(scores), self.bottom + self.margin, self.top - self.margin)
        given = np.where(np.isneginf(scores), self.bottom, given)
        given = np.where(np.isposinf(scores), self.top, given)
        return np.exp(np.interp(given, self.scores, self.logs))


def _root(rising: Any, target: float, low: float, high: float) -> float:
    """Where a rising function reaches the target, or the end nearest to it."""
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if rising(middle) < target:
            low = middle
        else:
            high = middle
    return high
