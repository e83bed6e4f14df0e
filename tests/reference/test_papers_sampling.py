"""Theorems of the paper on private sampling, on finite domains. See docs/evidence/papers.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from evidence.sampling.targets import ring
from sklearn.linear_model import LogisticRegression

from confide import Lattice
from confide.releases import Bernstein
from confide.sampling import MBDE, Gaussian
from confide.sampling.boosting import BOUND, thetas

Floats = np.ndarray


@dataclass(frozen=True)
class Run:
    """T rounds of boosting from Q0 towards P with given classifiers: algorithm 1, exactly."""

    epsilon: float
    p: Floats
    q0: Floats
    classifiers: Floats

    @property
    def laws(self) -> list[Floats]:
        laws = [self.q0]
        for theta, c in zip(self.thetas, self.classifiers, strict=True):
            raised = laws[-1] * np.exp(theta * c)
            laws.append(raised / raised.sum())
        return laws

    @property
    def thetas(self) -> Floats:
        return thetas(self.epsilon, len(self.classifiers))

    @property
    def advantages(self) -> tuple[float, float]:
        """The least gamma_P and gamma_Q of all rounds."""
        most = np.abs(self.classifiers).max(axis=1)
        before = np.array(self.laws[:-1])
        return (
            float((self.classifiers @ self.p / most).min()),
            float((-(self.classifiers * before).sum(axis=1) / most).min()),
        )

    @property
    def gain(self) -> float:
        """KL(P, Q0) - KL(P, Q_T)."""
        return float(self.p @ np.log(self.laws[-1] / self.q0))


def runs(count: int, seed: int) -> list[Run]:
    """Runs that stay in the high boosting regime: many advantages, sizes and budgets."""
    generator = np.random.default_rng(seed)
    found: list[Run] = []
    while len(found) < count:
        size, rounds = generator.integers(2, 7), generator.integers(1, 5)
        p, q0 = generator.dirichlet(np.full(size, 0.3), size=2) + 1e-9
        p, q0 = p / p.sum(), q0 / q0.sum()
        bound = BOUND * generator.uniform(0.1, 1, size=(rounds, 1))
        noise = generator.normal(0, generator.uniform(0, 1), size=(rounds, size))
        classifiers = bound * np.clip(np.sign(p - q0) + noise, -1, 1)
        run = Run(float(10 ** generator.uniform(-1, 1.5)), p, q0, classifiers)
        gamma_p, gamma_q = run.advantages
        if gamma_p > 0 and gamma_q >= 1 / 3:
            found.append(run)
    return found


RUNS = runs(1500, seed=1)


def test_theorem_7_holds() -> None:
    """(14) implies that modes are captured, for every region, whatever becomes of (13)."""
    tried = without = 0
    for run in RUNS:
        size, rounds = run.p.size, len(run.classifiers)
        gamma_p, gamma_q = run.advantages

        def h(x: float, epsilon: float = run.epsilon) -> float:
            return epsilon + 2 * x

        for subset in range(1, 2**size):
            inside = np.array([subset >> at & 1 for at in range(size)], dtype=bool)
            mass = run.p[inside].sum()
            divergence = run.p[inside] @ np.log(run.p[inside] / run.q0[inside])
            # The least alpha for which (14) holds: the strongest promise.
            wanted = run.epsilon * h((2 - gamma_p - gamma_q) * rounds) / (mass * h(rounds))
            alpha = max(0.0, (wanted - run.epsilon) / 2)
            if alpha <= 1:
                tried += 1
                kept = run.laws[-1][inside].sum()
                assert kept >= (1 - alpha) * mass - divergence - 1e-9
                without += kept < (1 - alpha) * mass
    assert tried > 3000
    # Without the divergence on the region it would be another matter.
    assert without > 1000


def test_theorem_7_promises_nothing_on_the_ring() -> None:
    """What it subtracts, in shares of a mode's mass, if Q0 is a standard normal."""
    target = ring()
    draws = target.sample(200_000, 1)
    gain = target.log_pdf(draws) - target.reference.log_density(draws)
    # Modes are alike, so that each has an eighth of the divergence and an eighth of the mass.
    assert gain.mean() == pytest.approx(6.2, abs=0.03)


def test_normalisers_of_the_high_regime_are_at_most_one() -> None:
    """The step of theorem 7's proof: cosh x - sinh(x)/3 <= 1 up to x = log 2, with equality."""
    assert math.cosh(BOUND) - math.sinh(BOUND) / 3 == pytest.approx(1, abs=1e-15)
    for run in RUNS[:300]:
        for theta, c, before in zip(run.thetas, run.classifiers, run.laws[:-1], strict=True):
            assert before @ np.exp(theta * c) <= 1 + 1e-12


def test_no_law_in_the_mollifier_gains_more_than_half_of_epsilon() -> None:
    """Theorem 6, first part; and (13), printed as a lower bound, is an upper one here."""
    above = 0
    for run in RUNS:
        assert run.gain <= run.epsilon / 2 + 1e-12
        gamma_p, gamma_q = run.advantages
        printed = run.epsilon / 2 * (gamma_p + gamma_q) / 2 * (1 - run.thetas[-1])
        above += run.gain < printed - 1e-9
    assert above > 10


def test_the_limit_is_reached_only_where_the_laws_have_nothing_in_common() -> None:
    """As both advantages tend to 1 the gain tends to epsilon/2 (1 - theta_T), and not before."""
    epsilon, rounds = 2.0, 3
    shares = []
    for common in (0.2, 0.05, 1e-9):
        p = np.array([1 - common, common])
        run = Run(epsilon, p, p[::-1], np.tile([BOUND, -BOUND], (rounds, 1)))
        shares.append(run.gain / (epsilon / 2 * (1 - run.thetas[-1])))
    assert shares[0] < 0.7 < shares[1] < 0.95
    assert shares[2] == pytest.approx(1, abs=1e-6)


def test_group_privacy_equates_the_budgets_of_the_contenders() -> None:
    """k samples cost MBDE k epsilon. DPB protects one record: all k of a data set cost it k times.

    The bound of group privacy is met: k records that all move the farthest change the sums by
    exactly k times what one can.
    """
    recipe = Bernstein(Lattice(low=0, high=1), epsilon=1.0, degree=6)
    table = recipe.table(1000)
    one = recipe.sensitivity(1000)
    for k in (1, 7, 1000):
        moved = max(
            int(np.abs(k * table[:, a] - k * table[:, b]).sum())
            for a in range(0, table.shape[1], 16)
            for b in (0, table.shape[1] - 1)
        )
        every = k * max(
            int(np.abs(table - table[:, [b]]).sum(axis=0).max()) for b in range(table.shape[1])
        )
        assert moved <= every == k * one
    sampler = MBDE(reference=Gaussian(), epsilon=1.0, learner=LogisticRegression())
    records = np.random.default_rng(1).normal(size=100)
    assert sampler.simulate(records, k=7, seed=1).spend.epsilon == 7.0
