"""Boosted density ratios: algorithm 1 of Husain, Balle, Cranko and Nock (2020).

Round t trains a classifier c_t to tell the records from draws of Q_{t-1} (the algorithm's line 4
prints Q_t), and sets Q_t in proportion to Q_{t-1} exp(theta_t c_t). The paper bounds c by log 2 and
does not say how a network's output in (0, 1) gets there: here c is its log odds, cut at +-log 2,
and 0 where it is not a number.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Floats
from confide.errors import extra
from confide.sampling.ratios import some
from confide.sampling.references import Reference

BOUND = math.log(2)
"""The most that a classifier may say about a point."""
HIGH = 1 / 3
"""The least gamma_Q of the high boosting regime."""
MOST_DRAWS = 2**17
"""Proposals for training draws that are worked on at a time."""


def thetas(epsilon: float, rounds: int) -> Floats:
    """Step sizes (epsilon/(epsilon + 4 log 2))**t; 4 log 2 times their sum is below epsilon."""
    return np.array((epsilon / (epsilon + 4 * BOUND)) ** np.arange(1, rounds + 1))


def network(*, seed: int = 0) -> Any:
    """The paper's classifier: three layers of 25 tanh, and a sigmoid; by Adam, not Nesterov.

    On the paper's targets Adam is both faster and nearer to the best that this class can do.
    """
    neural = extra("sklearn.neural_network", "sklearn")
    return neural.MLPClassifier(
        (25, 25, 25),
        activation="tanh",
        solver="adam",
        alpha=0.0,
        batch_size=1000,
        learning_rate_init=0.01,
        max_iter=60,
        tol=0.0,
        n_iter_no_change=60,
        random_state=seed,
    )


@dataclass(frozen=True, eq=False)
class Round:
    """One classifier, and how well it separates the records from its training draws.

    Parameters
    ----------
    classify
        Log odds at points, within +-log 2.
    theta
        Its step size as printed.
    largest
        c*, the largest size of the log odds that was seen.
    gamma_p, gamma_q
        Mean log odds of the records, and minus those of the draws, in units of c*: the advantages
        that the paper's weak learning assumption is about.
    """

    classify: Callable[[Floats], Floats]
    theta: float
    largest: float
    gamma_p: float
    gamma_q: float

    @property
    def regime(self) -> str:
        """``"high"`` or ``"low"`` boosting, or ``"none"`` where there is no advantage."""
        if min(self.gamma_p, self.gamma_q) <= 0:
            return "none"
        return "high" if self.gamma_q >= HIGH else "low"

    @property
    def least_gain(self) -> float:
        """Theorem 5: what the round takes off KL(P, Q), at least.

        As printed it needs two corrections. For the high regime Gamma(z) = log(4/(5 - 3 z)) holds
        for c* = log 2 only; on the chord of exp over [-c*, c*] it is -log(cosh c* - z sinh c*),
        the same for c* = log 2. For the low regime Hoeffding's lemma gives a factor c* that is
        missing in front: c* (gamma_P + gamma_Q - c* theta/2).
        """
        c, p, q = self.largest, self.gamma_p, self.gamma_q
        if q >= HIGH:
            return self.theta * (c * p - math.log(math.cosh(c) - q * math.sinh(c)))
        return self.theta * c * (p + q - c * self.theta / 2)

    @property
    def most_gain(self) -> float:
        """What the round takes off KL(P, Q), at most, by Jensen's inequality."""
        return self.theta * self.largest * (self.gamma_p + self.gamma_q)


@dataclass(frozen=True, eq=False)
class Boosting:
    """A fitted log ratio, the sum of theta_t c_t(x).

    Parameters
    ----------
    rounds
        The classifiers.
    factor
        What every theta is multiplied with: 1 as printed.
    """

    rounds: tuple[Round, ...]
    factor: float = 1.0

    @property
    def reach(self) -> float:
        """The largest size that the log ratio can have."""
        return self.factor * BOUND * sum(part.theta for part in self.rounds)

    def log_ratio(self, points: Floats) -> Floats:
        """The sum at points, one row each."""
        total = np.zeros(len(points))
        for part in self.rounds:
            total += self.factor * part.theta * part.classify(points)
        return total


def boost(
    records: Floats, reference: Reference, epsilon: float, rounds: int, learner: Any
) -> Boosting:
    """Train one classifier a round, with the step sizes as printed."""
    base = extra("sklearn.base", "sklearn")
    table, scale = some(records), reference.scale
    found = Boosting(())
    for at, theta in enumerate(thetas(epsilon, rounds).tolist()):
        draws = training_draws(found, reference, max(len(table), 100), seed=at)
        labels = np.repeat([1, 0], [len(table), len(draws)])
        model = base.clone(network() if learner is None else learner)
        with warnings.catch_warnings():
            # A network that would gain from more steps is a good enough weak learner.
            warnings.simplefilter("ignore")
            model.fit(np.concatenate([table, draws]) / scale, labels)
        classify = _classifier(model, scale)
        inside, outside = classify(table), classify(draws)
        largest = max(float(np.abs(inside).max()), float(np.abs(outside).max()))
        unit = largest or 1.0
        gammas = float(inside.mean()) / unit, -float(outside.mean()) / unit
        found = Boosting((*found.rounds, Round(classify, theta, largest, *gammas)))
    return found


def training_draws(found: Boosting, reference: Reference, n: int, *, seed: int) -> Floats:
    """Draws of Q in proportion to Q0 exp(log ratio), by rejection; they stay on the device."""
    generator = np.random.default_rng([seed, 1])
    parts: list[Floats] = []
    have, size = 0, n
    while have < n:
        points = reference.sample(size, seed=int(generator.integers(2**53)))
        share = np.exp(found.log_ratio(points) - found.reach)
        parts.append(points[generator.random(size) < share])
        have += len(parts[-1])
        size = min(2 * size, MOST_DRAWS)
    return np.concatenate(parts)[:n]


def _classifier(model: Any, scale: Floats) -> Callable[[Floats], Floats]:
    def classify(points: Floats) -> Floats:
        scaled = points / scale
        with np.errstate(all="ignore"):
            if hasattr(model, "predict_proba"):
                shares = np.asarray(model.predict_proba(scaled), dtype=np.float64)
                odds = np.log(shares[:, 1]) - np.log(shares[:, 0])
            else:
                odds = np.asarray(model.decision_function(scaled), dtype=np.float64)
        odds[np.isnan(odds)] = 0.0
        result: Floats = np.clip(odds, -BOUND, BOUND)
        return result

    return classify
