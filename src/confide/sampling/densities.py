"""The law of one sample, for study by the holder of the records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._types import Floats
from confide.exact.entropy import SeededEntropy
from confide.sampling.mollification import finite_scores

if TYPE_CHECKING:
    from confide.sampling.boosting import Boosting
    from confide.sampling.mbde import MBDE
    from confide.sampling.mollifier import Mollifier
    from confide.sampling.ratios import LogRatio

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

    Examples
    --------
    >>> from confide import Mollifier
    >>> from confide.sampling import Gaussian
    >>> sampler = Mollifier(reference=Gaussian(), epsilon=1.0)
    >>> records = np.random.default_rng(1).normal(size=50)
    >>> law = sampler.law_of(records)
    >>> isinstance(law, SampleLaw), law.pdf([[0.0], [5.0]]).shape
    (True, (2,))
    """

    mechanism: Mollifier
    log_ratio: LogRatio

    @property
    def facts(self) -> Mapping[str, Any]:
        """How the result was obtained: method, settings and privacy cost."""
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
        n = _checks.integer(1, n=n)
        entropy = SeededEntropy(_checks.integer(0, seed=seed))
        share = max(1, int(DRAWS * self.mechanism.size))
        parts = []
        for start in range(0, n, share):
            settled = self.mechanism.reseeded(entropy)
            weights = settled.weigh(self.log_ratio)
            numbers = settled.draw(weights, entropy, min(share, n - start))
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


POWER = 15
"""Normalizing constants are averages over 2**15 well spread points."""


@dataclass(frozen=True, eq=False)
class BoostedLaw:
    """The law of one sample of `MBDE`. Private: not to be released.

    Parameters
    ----------
    mechanism
        The sampler.
    boosting
        The classifiers that were fitted.
    """

    mechanism: MBDE
    boosting: Boosting

    @cached_property
    def _spread(self) -> Floats:
        from scipy.stats.qmc import Sobol  # slow to import, and only studies need it

        reference = self.mechanism.reference
        spread = Sobol(reference.draws, scramble=False).random_base2(POWER)
        shift = np.random.default_rng(0).random(reference.draws)
        inside = np.clip((spread + shift) % 1.0, TINY, 1 - TINY)
        return self.boosting.log_ratio(reference.place(inside))

    @cached_property
    def log_normalizer(self) -> float:
        """Log of the mean of exp(log ratio) over the reference: phi of the paper."""
        return float(np.log(np.exp(self._spread).mean()))

    @property
    def acceptance(self) -> float:
        """Share of proposals that are accepted."""
        return math.exp(self.log_normalizer - self.boosting.reach)

    def log_pdf(self, x: npt.ArrayLike) -> Floats:
        """Log density at points, one row each."""
        points = self.mechanism.reference.table(x, "x")
        missed = (1 - self.acceptance) ** self.mechanism.proposals
        tilt = np.exp(self.boosting.log_ratio(points) - self.log_normalizer)
        result: Floats = self.mechanism.reference.log_density(points)
        return result + np.log((1 - missed) * tilt + missed)

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at points, one row each."""
        return np.exp(self.log_pdf(x))

    def sample(self, n: int, *, seed: int) -> Floats:
        """Repeatable draws, one row each. Not private."""
        n = _checks.integer(1, n=n)
        entropy = SeededEntropy(_checks.integer(0, seed=seed))
        return self.mechanism.locate(self.mechanism.draw(self.boosting, entropy, n))

    @property
    def facts(self) -> Mapping[str, Any]:
        """How it came about, and what the paper's theorems say of it.

        ``largest_log_ratio`` is that of Q_T to Q0, which theorem 4 bounds by ``bound``. For the
        schedule as printed ``least_gain`` is what boosting took off KL(P, Q0), at least (theorem 5,
        corrected), ``most_gain`` what it can have taken off by Jensen's inequality, and
        ``theorem_6`` what equation (13) prints as a lower bound, with the least gammas: at equal
        gammas it is the upper one.
        """
        sampler, rounds = self.mechanism, self.boosting.rounds
        facts: dict[str, Any] = {
            "method": sampler.name,
            "schedule": sampler.schedule,
            "epsilon": sampler.epsilon,
            "proposals": sampler.proposals,
            "acceptance": self.acceptance,
            "budget_used": 4 * self.boosting.reach / sampler.epsilon,
            "bound": sampler.epsilon / 2,
            "largest_log_ratio": float(np.abs(self._spread - self.log_normalizer).max()),
            "rounds": [
                {
                    "theta": self.boosting.factor * part.theta,
                    "gamma_p": part.gamma_p,
                    "gamma_q": part.gamma_q,
                    "regime": part.regime,
                }
                for part in rounds
            ],
        }
        if sampler.schedule == "printed":
            low = min(part.gamma_p for part in rounds) + min(part.gamma_q for part in rounds)
            rest = 1 - rounds[-1].theta
            facts["least_gain"] = sum(part.least_gain for part in rounds)
            facts["most_gain"] = sum(part.most_gain for part in rounds)
            facts["theorem_6"] = sampler.epsilon / 4 * low * rest
        return facts

    def mode_bound(self, mass: float, divergence: float, *, alpha: float) -> float | None:
        """Theorem 7 as printed: the least mass that Q_T gives to a region.

        None where its condition (14) is not met, or a round was not in the high regime. It is
        proved for the printed schedule, without equation (13), which is not a lower bound in
        general; with ``schedule="full"`` it is a rule of thumb.

        Parameters
        ----------
        mass, divergence
            P's mass of the region, and the integral of P log(P/Q0) over it.
        alpha
            Share of the mass that may be lost.
        """
        mass = _checks.within(0, 1, mass=mass)
        divergence = _checks.finite(divergence=divergence)
        alpha = _checks.within(0, 1, alpha=alpha)
        rounds, epsilon = self.boosting.rounds, self.mechanism.epsilon
        low = min(part.gamma_p for part in rounds) + min(part.gamma_q for part in rounds)
        count = len(rounds)
        needed = epsilon * (epsilon + 2 * (2 - low) * count)
        needed /= (epsilon + 2 * alpha) * (epsilon + 2 * count)
        if mass < needed or any(part.regime != "high" for part in rounds):
            return None
        return (1 - alpha) * mass - divergence

    def __repr__(self) -> str:
        return f"<BoostedLaw of {self.mechanism!r}>"
