"""The law of one sample of MBDE, for study by whoever holds the records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.randomness import SeededEntropy
from confide.sampling.references import Floats

if TYPE_CHECKING:
    from confide.sampling.boosting import Boosting
    from confide.sampling.mbde import MBDE

POWER = 15
"""Normalising constants are averages over 2**15 well spread points."""
TINY = 2.0**-53


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
        n = _validate.integer(1, n=n)
        entropy = SeededEntropy(_validate.integer(0, seed=seed))
        return self.mechanism.locate(self.mechanism._draw(self.boosting, entropy, n))

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
        mass = _validate.within(0, 1, mass=mass)
        divergence = _validate.finite(divergence=divergence)
        alpha = _validate.within(0, 1, alpha=alpha)
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
