"""The default regression before this study, kept as it was to compare with.

The ratio of two deconvolutions by smoothed expectation maximization on about 2 n**(1/3) cells, with
the amount of smoothing that predicts held-out responses best.
"""

from __future__ import annotations

import numpy as np

from confide.curves.regression import CellRegression
from confide.estimators.em import coarse_edges, coarsen, em, smooth
from confide.summaries import Counts

FOLDS, SEED = 5, 20_250_611
TYPICAL, TRUST = 3 / 8, 2.0
STEPS = np.arange(-3, 3)
LEAST = 1e-18


def ratio(counts: Counts) -> CellRegression:
    """The curve of one private number with a public response, without weights."""
    response, total = counts.response, counts.total
    assert response is not None
    lattice = next(iter(counts.mechanism.axes.values()))
    low, span = response.low, response.high - response.low
    sums = np.clip((response.sums - low * total) / span, 0, total)
    squares = (response.squares - 2 * low * response.sums + low**2 * total) / span**2
    detail = 2 * counts.n ** (1 / 3)
    size = round(min(max(detail, 32), 256, lattice.size))
    law, table = coarsen(counts.mechanism.law, np.stack([total, sums, squares], axis=-1), [size])
    total, sums, squares = np.moveaxis(table, -1, 0)
    squares = np.clip(squares, 0, sums)
    parts = np.stack([sums, total - sums])
    binary = bool(np.all(sums - squares <= 1e-9 * (1 + total)))
    if binary:
        parts, squares = np.rint(parts), np.rint(parts)[0]
    within = np.maximum(squares - parts[0] ** 2 / np.maximum(parts.sum(axis=0), LEAST), 0.0)
    typical = min(TYPICAL * (size / detail) ** 2, 1.0)
    smoothing = chosen(law, parts, within, binary, typical)
    masses = masses_of(law, parts, smoothing, tolerance=1e-9, iterations=1000)
    return CellRegression((coarse_edges(lattice, size),), low + span * filled(masses))


def masses_of(law, parts, smoothing, *, tolerance, iterations):  # type: ignore[no-untyped-def]
    total = parts.sum(axis=-1, keepdims=True)
    amount = np.broadcast_to(np.asarray(smoothing)[..., None], parts.shape[:-1])
    full = np.where(total > 0, parts, 1.0)
    return total * em(law, full, smoothing=amount, tolerance=tolerance, iterations=iterations)


def filled(masses: np.ndarray) -> np.ndarray:
    """The ratio in each cell; a cell without mass takes that of its neighbors."""
    mass = masses.sum(axis=0)
    means = masses[0] / np.maximum(mass, np.finfo(float).tiny)
    empty = mass <= 1e-9 * mass.mean()
    spread = np.where(empty, 0.0, masses)
    while empty.any():
        spread = smooth(spread[None], np.ones(1), 1)[0]
        reached = empty & (spread.sum(axis=0) > 0)
        own = spread[0] / np.maximum(spread.sum(axis=0), np.finfo(float).tiny)
        means = np.where(reached, own, means)
        empty &= ~reached
    return means


def chosen(law, parts, within, binary, typical):  # type: ignore[no-untyped-def]
    """The smoothing whose mean response given a report predicts held-out responses best."""
    candidates = np.unique(np.minimum(typical * 4.0**STEPS, 1.0))
    prior = -TRUST * np.log(candidates / typical) ** 2 / np.log(4) ** 2
    total = parts.sum(axis=0)
    many = total >= 2
    pooled = max(float(within[many].sum() / (total[many] - 1).sum()), LEAST)
    spreads = np.where(many, within / np.where(many, total - 1, 1.0), pooled)
    spread = max(float((spreads * total).sum() / total.sum()), LEAST)
    rng = np.random.default_rng(SEED)
    if binary:
        held = thinned(parts, rng)
    else:
        count = thinned(total, rng)
        at_least = np.maximum(total, 1.0)
        noise = rng.normal(size=count.shape) * np.sqrt(spreads * count)
        noise -= count / at_least * noise.sum(axis=0)
        sums = np.clip(count * (parts[0] / at_least) + noise, 0, count)
        held = np.stack([sums, count - sums], axis=1)
    kept = np.maximum(parts - held, 0.0)
    batch = np.broadcast_to(kept[:, None], (FOLDS, candidates.size, *kept.shape[1:]))
    amounts = np.broadcast_to(candidates, batch.shape[:2])
    masses = masses_of(law, batch, amounts, tolerance=1e-4, iterations=400)
    predicted = law.forward(masses[..., 0, :])
    predicted = predicted / np.maximum(law.forward(masses.sum(axis=-2)), LEAST)
    gain = 2 * predicted * held[:, None, 0] - predicted**2 * held.sum(axis=1)[:, None]
    score = gain.sum(axis=(0, 2)) / (2 * spread)
    return float(candidates[np.argmax(score + prior)])


def thinned(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    whole = np.rint(counts).astype(np.int64)
    folds = rng.multinomial(whole, [1 / FOLDS] * FOLDS)
    return np.moveaxis(folds, -1, 0).astype(np.float64)
