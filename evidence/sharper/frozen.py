"""The default estimate before this study, kept as it was to compare with.

Maximum likelihood by expectation maximization on about 2 n**(1/3) cells, with an amount of
smoothing that predicts held-out reports best.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from confide.estimators.em import coarsen, em

FOLDS, SEED = 5, 20_200_614
TYPICAL = 1 / 8
STEPS = np.arange(-4, 3)


def masses(law: Any, counts: np.ndarray) -> np.ndarray:
    """Masses of equal cells between the bounds, from counts of one number's reports."""
    n = counts.sum()
    detail = 2 * n ** (1 / 3)
    size = round(min(max(detail, 16), 256, law.inputs[0]))
    coarse, reports = coarsen(law, counts.astype(float), [size])
    smoothing = chosen(coarse, reports, TYPICAL * (size / detail) ** 2)
    return em(coarse, reports, smoothing=smoothing, iterations=1000)


def chosen(law: Any, counts: np.ndarray, typical: float) -> float:
    """The smoothing of the best 5-fold likelihood, climbing from a typical one."""
    candidates = np.unique(np.minimum(typical * 4.0**STEPS, 1.0))
    prior = -((np.log(candidates / typical) / np.log(4)) ** 2) / 2
    whole = np.ceil(counts.round(6)).astype(np.int64)
    thinned = np.random.default_rng(SEED).multinomial(whole, [1 / FOLDS] * FOLDS)
    held = np.moveaxis(thinned, -1, 0) * (counts / np.maximum(whole, 1))
    kept = counts - held
    best = int(np.argmax(prior))
    held, kept = held[:, None], kept[:, None]
    scores: dict[int, float] = {}
    steps = range(candidates.size)
    while around := [at for at in steps[max(best - 1, 0) : best + 2] if at not in scores]:
        smoothing = np.broadcast_to(candidates[around], (len(kept), len(around)))
        fitted = em(law, kept, smoothing=smoothing, tolerance=1e-4, iterations=400)
        predicted = np.log(np.maximum(law.forward(fitted), np.finfo(float).tiny))
        gained = (held * predicted).sum(axis=(0, 2))
        scores |= zip(around, gained + prior[around], strict=True)
        best = max(scores, key=scores.__getitem__)
    return float(candidates[best])
