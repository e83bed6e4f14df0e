"""What Metropolis-Hastings does to the guarantee of a mollified law, computed exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from confide.sampling.mollification import mollify

WIDTH = 4.0
SIZE = 161
NEAR = 0.5


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
