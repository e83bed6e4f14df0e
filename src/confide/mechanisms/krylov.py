"""Linear systems that are known by what they do to a vector only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 30
"""Steps of an iteration at most; each keeps a vector."""
PRECISION = 1e-13


def gmres(run: Callable[[Floats], Floats], right: Floats) -> Floats:
    """The best solution of ``run(x) = right`` in a Krylov space of at most `STEPS` dimensions."""
    length = float(np.linalg.norm(right))
    basis = [right / length]
    columns = np.zeros((STEPS + 1, STEPS))
    goal = np.zeros(STEPS + 1)
    goal[0] = length
    for step in range(STEPS):
        new = run(basis[-1])
        # Twice, for what rounding left of the directions that are there already.
        for _ in range(2):
            for at, one in enumerate(basis):
                part = one @ new
                columns[at, step] += part
                new = new - part * one
        columns[step + 1, step] = np.linalg.norm(new)
        seen = slice(None, step + 2), slice(None, step + 1)
        weights = np.linalg.lstsq(columns[seen], goal[: step + 2], rcond=None)[0]
        missed = np.linalg.norm(columns[seen] @ weights - goal[: step + 2])
        if missed <= PRECISION * length or not columns[step + 1, step] > 0:
            break
        basis.append(new / columns[step + 1, step])
    result: Floats = np.sum(
        [weight * one for weight, one in zip(weights, basis, strict=False)], axis=0
    )
    return result
