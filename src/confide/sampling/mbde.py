"""Mollified boosted density estimation: the sampler of Husain, Balle, Cranko and Nock (2020).

Built for reproduction and comparison: `Mollifier` is nearer to the records at every epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import checked_epsilon
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling
from confide.exact.entropy import Entropy
from confide.exact.inversion import Part, weighted
from confide.lattice import CHUNK
from confide.ledger.bindings import content
from confide.mechanisms.protocol import NONE, Kinds
from confide.sampling.boosting import BOUND, Boosting, boost, thetas
from confide.sampling.densities import BoostedLaw
from confide.sampling.mollification import BITS, MARGIN, TOTAL, Weights
from confide.sampling.ratios import opinions, tried
from confide.sampling.references import Reference, reference_from_dict
from confide.sampling.sampler import Elsewhere, Numbers, Sampler

FAILURE = 1e-6
"""Most of the times that no proposal is accepted, as a share."""
MOST_EPSILON = 22
"""Beyond it a sample takes a million proposals."""
MOST_ROUNDS = 100
NETWORK = "network"
"""The learner unless one is given."""
SEED_BITS = 53
"""So that a number passes unharmed through any reader of JSON."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MBDE(Sampler):
    """Samples of a boosted density, by exact rejection with a fixed number of proposals.

    Parameters
    ----------
    reference
        The public Q0 that boosting starts from and that proposals are drawn from.
    epsilon
        The largest privacy loss of one sample.
    learner
        The weak learner: any scikit-learn classifier with ``predict_proba`` or
        ``decision_function`` (read as log odds); by default the paper's tanh network, by Adam.
    rounds
        T, the number of classifiers.
    schedule
        ``"printed"`` for the paper's step sizes, which at T = 3 and epsilon = 10 use half of
        epsilon; ``"full"`` for the same classifiers with all step sizes scaled up to use all of it.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the whole data set for one sample,
    k epsilon for k, exactly. An outcome is a number of 53 bits, from which anybody makes the point
    (by SplitMix64 and the reference). K + 1 secret numbers are drawn at random, and the first K of
    them are each accepted with probability a/2**62, a an integer in A .. 2**62 where
    A = ceil(2**62 e**(-epsilon/2)); the first that is accepted is released, or the last one of all.
    Whatever the a are: a number s is the first proposal with probability 2**-53 and then accepted
    with A/2**62 at least; and it is released in place i only if the i - 1 before it were refused,
    so with at most the sum of 2**-53 (1 - A/2**62)**(i - 1) over i. So its probability is between
    2**-53 A/2**62 and 2**-53 2**62/A, for any two data sets a ratio of at most e**epsilon. Floats
    choose the a and make points of numbers, and enter nowhere else.

    The proposals and which of them was accepted must stay secret, and all K are always evaluated:
    the number of refusals, or the time they take, would tell what epsilon does not cover. (How long
    a learner of one's own takes for K points depends on what it has learned: send at a fixed time.)
    A learner that fails at the proposals has no opinion of them, and nothing is drawn again.

    The law is a mixture of Q_T and Q0, with less than 1e-6 of Q0. Metropolis-Hastings, by which the
    paper draws what it trains on, would not keep epsilon: no finite chain is known to be near its
    limit.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from confide.sampling.references import Gaussian
    >>> sampler = MBDE(reference=Gaussian(), epsilon=1.0, learner=LogisticRegression())
    >>> records = np.random.default_rng(1).normal(1.0, 0.5, size=500)
    >>> samples = sampler.privatize(records, k=3)
    >>> samples.points.shape, samples.spend, sampler.proposals
    ((3, 1), Spend(epsilon=3), 15)
    >>> sampler.law_of(records).facts["rounds"][0]["regime"]
    'high'
    """

    name: ClassVar[str] = "mbde"
    reference: Reference
    epsilon: float
    learner: Any = None
    rounds: int = 3
    schedule: str = "printed"

    def __post_init__(self) -> None:
        if not isinstance(self.reference, Reference):
            raise InvalidInput(
                "a public reference, such as Gaussian(dim=2)", _checks.shown(self.reference)
            )
        if self.learner is not None and not hasattr(self.learner, "fit"):
            raise InvalidInput("a scikit-learn classifier", _checks.shown(self.learner))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        rounds = _checks.integer(1, MOST_ROUNDS, rounds=self.rounds)
        object.__setattr__(self, "rounds", rounds)
        _checks.one_of(("printed", "full"), schedule=self.schedule)
        if not self.least < TOTAL:
            raise InvalidInput(
                "epsilon large enough to leave a trace of the records", f"epsilon={self.epsilon:g}"
            )
        if self.epsilon > MOST_EPSILON:
            raise InvalidInput(
                f"epsilon <= {MOST_EPSILON} for rejection",
                f"epsilon={self.epsilon:g}",
                "Take a Mollifier.",
            )

    @property
    def outcomes(self) -> int:
        """Number of points that a proposal can be."""
        return 1 << SEED_BITS

    @property
    def proposals(self) -> int:
        """K, a public rule: none of them is accepted with a probability below 1e-6."""
        refused = math.log(-math.expm1(-self.epsilon / 2))
        return math.ceil(math.log(FAILURE) / refused)

    @cached_property
    def least(self) -> int:
        """A, the least chance of a proposal, of 2**62."""
        return exp_ceiling(-Fraction(self.epsilon) * (1 - MARGIN) / 2, TOTAL)

    def odds(self) -> Fraction:
        """The largest ratio of two probabilities of a sample, over all inputs whatsoever."""
        return Fraction(TOTAL, self.least) ** 2

    @_checks.steady
    def law_of(self, records: Any) -> BoostedLaw:
        """The law of one sample of these records, for study by their holder. Private."""
        return BoostedLaw(self, self.prepare(records))

    def chances(self, boosting: Boosting, points: Floats) -> Weights:
        """The chance of each point as a proposal, of 2**62: an integer within public bounds."""
        exponents = opinions(boosting.log_ratio, points) - boosting.reach
        exponents[np.isnan(exponents)] = -boosting.reach
        # The floats above are good for accuracy only. Privacy rests on the next line.
        wanted = np.floor(np.exp(np.clip(exponents, -self.epsilon, 0)) * TOTAL).astype(np.int64)
        chances: Weights = np.clip(wanted, self.least, TOTAL)
        return chances

    def locate(self, numbers: Numbers) -> Floats:
        """The points that are made from these numbers, one row each."""
        return self.reference.place(_uniforms(numbers, self.reference.draws))

    def rows(self, numbers: Numbers) -> list[Any]:
        """Like `locate`, as lists."""
        rows: list[Any] = self.locate(numbers).tolist()
        return rows

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The coin that accepts a proposal, at its least chance; no other is below it."""
        weights = (self.least, TOTAL - self.least)
        return (Part("acceptance", weighted(weights), weights),)

    def made_of(self) -> dict[str, Any]:
        """The fields; a learner of one's own by its name only."""
        return {
            "reference": self.reference.to_dict(),
            "epsilon": self.epsilon,
            "learner": NETWORK if self.learner is None else _name(self.learner),
            "rounds": self.rounds,
            "schedule": self.schedule,
        }

    def stated(self) -> dict[str, Any]:
        """The public number of proposals."""
        return {"proposals": self.proposals}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`; a learner of one's own is named and not held."""
        name = made["learner"]
        learner = None if name == NETWORK else Elsewhere(str(name))
        others = {key: made[key] for key in ("epsilon", "rounds", "schedule")}
        reference = reference_from_dict(made["reference"])
        return cls(reference=reference, learner=learner, **others)

    def __repr__(self) -> str:
        return f"MBDE({self.reference!r}, epsilon={self.epsilon:g}, schedule={self.schedule!r})"

    def prepare(self, records: Any) -> Boosting:
        """Compute everything that needs no draw and may fail. The result is private."""
        table = self.reference.held(records)
        fitted = boost(table, self.reference, self.epsilon, self.rounds, self.learner)
        found = self.scaled(fitted)
        # Theorem 4: Q_T is within e**(+-epsilon/2) of Q0 if the log ratio is within +-epsilon/4.
        if not found.reach <= self.epsilon / 4 * (1 + 1e-12):
            raise InvalidInput("log ratios within epsilon/4", f"{found.reach:g}")
        tried(found.log_ratio, self.reference)
        return found

    def _content(self, records: Any) -> bytes:
        return content(self.reference.held(records))

    def scaled(self, fitted: Boosting) -> Boosting:
        """The same classifiers with the step sizes of this sampler's schedule."""
        whole = float(thetas(self.epsilon, len(fitted.rounds)).sum())
        limit = self.epsilon / (4 * BOUND)
        return Boosting(fitted.rounds, limit / whole if self.schedule == "full" else 1.0)

    def draw(self, prepared: Boosting, entropy: Entropy, k: int) -> Numbers:
        """Numbers of k independent outcomes."""
        count = self.proposals
        step = max(1, CHUNK // (count + 1))
        parts = []
        for start in range(0, k, step):
            rows = min(step, k - start)
            words = entropy.words(rows * (count + 1), 64) >> np.uint64(64 - SEED_BITS)
            numbers = words.astype(np.int64).reshape(rows, count + 1)
            tried = numbers[:, :count]
            chances = self.chances(prepared, self.locate(tried.ravel())).reshape(tried.shape)
            coins = (entropy.words(tried.size, 64) >> np.uint64(64 - BITS)).astype(np.int64)
            refused = np.cumsum(coins.reshape(tried.shape) < chances, axis=1) == 0
            place = refused.sum(axis=1, keepdims=True)
            # Every number is read: which proposal it was must not show.
            parts.append((numbers * (np.arange(count + 1) == place)).sum(axis=1))
        return np.concatenate(parts)


def _name(learner: Any) -> str:
    return str(getattr(learner, "name", None) or type(learner).__name__)


def _uniforms(numbers: Numbers, draws: int) -> Floats:
    """Uniform numbers in (0, 1), a row for each seed: SplitMix64 (Steele, Lea and Flood 2014)."""
    seeds = np.asarray(numbers, dtype=np.int64).astype(np.uint64)[:, None]
    z = seeds + np.arange(1, draws + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    uniforms: Floats = ((z >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return uniforms
