"""What Metropolis-Hastings does to training, and to the guarantee of a mollified law."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
from evidence.sampling.targets import Mixture, adam_network, boosted

from confide.sampling import Reference, boosting
from confide.sampling.mollification import mollify

WIDTH = 4.0
SIZE = 161
NEAR = 0.5
CHAINS = 200
"""Chains that training draws come from, side by side."""
BURN, THIN = 200, 10
"""Steps before the first draw of a chain, and between two of them."""


def chain_losses(
    *, epsilon: float = 1.0, steps: Sequence[int] = (1, 5, 20, 100), step_sd: float = 1.0
) -> dict[str, float]:
    """The largest log ratio of two users' released samples after so many steps of a chain.

    Both users' laws are mollified (equation (8)) around a standard normal: all records of one user
    are within half a standard deviation of the middle, and all of the other's are outside. Each
    runs a random walk Metropolis-Hastings chain for its own law on a grid, started at the middle.
    ``target`` is what the loss would be without the chain.
    """
    x = np.linspace(-WIDTH, WIDTH, SIZE)
    base = np.exp(-(x**2) / 2)
    base /= base.sum()
    near = np.abs(x) < NEAR
    laws = [mollify(np.where(chosen, 0.0, -np.inf), base, epsilon) for chosen in (near, ~near)]
    moves = np.exp(-(((x[:, None] - x) / step_sd) ** 2) / 2)
    moves /= moves.sum(axis=1).max()
    found = {"target": _loss(*laws)}
    chains = [_kernel(law, moves) for law in laws]
    start = np.zeros(SIZE)
    start[SIZE // 2] = 1.0
    now = [start, start]
    for at in range(1, max(steps) + 1):
        now = [state @ chain for state, chain in zip(now, chains, strict=True)]
        if at in steps:
            found[str(at)] = _loss(*now)
    return found


def _kernel(law: np.ndarray, moves: np.ndarray) -> np.ndarray:
    accept = np.minimum(1, law[None, :] / law[:, None])
    chain = moves * accept
    np.fill_diagonal(chain, 0)
    np.fill_diagonal(chain, 1 - chain.sum(axis=1))
    return chain


def _loss(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(np.log(a) - np.log(b)).max())


def walked(found: boosting.Boosting, reference: Reference, n: int, *, seed: int) -> np.ndarray:
    """Draws of Q in proportion to Q0 exp(log ratio) by random walk Metropolis-Hastings."""
    generator = np.random.default_rng([seed, 2])
    at = reference.sample(CHAINS, seed=int(generator.integers(2**53)))
    logs = found.log_ratio(at) + reference.log_density(at)
    parts: list[np.ndarray] = []
    for step in range(1, BURN + THIN * (-(-n // CHAINS)) + 1):
        tried = at + reference.scale * generator.normal(size=at.shape)
        found_logs = found.log_ratio(tried) + reference.log_density(tried)
        moved = np.log(generator.random(CHAINS)) < found_logs - logs
        at, logs = np.where(moved[:, None], tried, at), np.where(moved, found_logs, logs)
        if step > BURN and (step - BURN) % THIN == 0:
            parts.append(at)
    return np.concatenate(parts)[:n]


def trained_by_walks(
    target: Mixture, epsilons: Sequence[float], seeds: int, n: int
) -> list[dict[str, float]]:
    """KL of MBDE with training draws by exact rejection, and by random walks as in the paper."""
    rows = []
    for epsilon in epsilons:
        exact, chains = [], []
        for seed in range(seeds):
            exact.append(boosted(target, epsilon, seed, adam_network(), n)["mbde"]["kl"])
            with mock.patch.object(boosting, "training_draws", walked):
                chains.append(boosted(target, epsilon, seed, adam_network(), n)["mbde"]["kl"])
        rows.append(
            {
                "epsilon": epsilon,
                "rejection": float(np.mean(exact)),
                "walks": float(np.mean(chains)),
                "sd": float(np.std(np.subtract(chains, exact), ddof=1)) if seeds > 1 else 0.0,
            }
        )
    return rows
