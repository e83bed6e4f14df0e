"""Maximum likelihood of masses under one linear constraint, many surveys at once.

An interior-point method takes about 15 Newton steps to a certified gap, where expectation
maximisation creeps for thousands of steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from confide.estimators._threads import one_thread

Floats = npt.NDArray[np.float64]

CHUNK = 2**20
EVEN = 1e-12


@one_thread
def maximize(
    law: Floats, shares: Floats, contrast: Floats | None = None, *, gap: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Masses f >= 0 with sum 1 and contrast . f = 0 that maximise sum shares log(law f).

    A primal-dual interior-point method. With the log-likelihood's scale the sum needs no
    constraint of its own: the minimum of sum f - sum shares log(law f) has sum f = 1, and still
    has it under contrast . f = 0. Each Newton system is solved in the space of reports
    (Woodbury) or of cells, whichever is smaller: identity plus a Gram matrix in both, and well
    conditioned.

    Parameters
    ----------
    law : array (reports, cells)
    shares : array (batch, reports)
        Of the reports; each row sums to one.
    contrast : array (batch, cells), optional
        With entries of both signs in each row.
    gap : float or array (batch,)
        A row is done when its value is certainly within ``gap`` of the maximum: for every
        multiplier mu with 1 + mu contrast > 0 Jensen's inequality bounds what is missing by
        log max_k (law' (shares / law f))_k / (1 + mu contrast_k).

    Returns
    -------
    masses : array (batch, cells)
    values : array (batch,)
        sum shares log(law f).
    """
    rows, cells = shares.shape[0], law.shape[1]
    masses, values = np.empty((rows, cells)), np.empty(rows)
    gaps = np.broadcast_to(np.asarray(gap, dtype=np.float64), (rows,))
    step = max(1, CHUNK // law.size)
    for start in range(0, rows, step):
        part = slice(start, start + step)
        masses[part], values[part] = _maximize(
            law, shares[part], None if contrast is None else contrast[part], gaps[part]
        )
    return masses, values


def _maximize(
    law: Floats, shares: Floats, contrast: Floats | None, gap: Floats, iterations: int = 100
) -> tuple[Floats, Floats]:
    (rows, reports), cells = shares.shape, law.shape[1]
    law = (1 - EVEN) * law + EVEN / reports  # a report that no cell explains must not stop the rest
    tied = contrast is not None
    h = np.zeros((rows, cells)) if contrast is None else contrast
    up, down = np.maximum(h, 0).sum(1, keepdims=True), np.maximum(-h, 0).sum(1, keepdims=True)
    f = np.where(h > 0, down, np.where(h < 0, up, (up + down) / 2)) if tied else np.ones(h.shape)
    f = f / f.sum(1, keepdims=True)
    z, mu = np.ones((rows, cells)), np.zeros((rows, 1))
    masses, values = np.empty((rows, cells)), np.empty(rows)
    live = np.arange(rows)
    for turn in range(iterations):
        fitted = f @ law.T
        gradient = (shares / fitted) @ law
        slack = 1 + mu * h
        total = f.sum(1)
        worst = np.where(slack > 0, gradient / np.where(slack > 0, slack, 1.0), np.inf).max(1)
        done = np.log(worst * total) < gap
        if turn == iterations - 1:
            done[:] = True
        if done.any():
            at, scale = live[done], total[done, None]
            masses[at] = f[done] / scale
            values[at] = (shares[done] * np.log(fitted[done] / scale)).sum(1)
            keep = ~done
            if not keep.any():
                break
            live, shares, gap, h, f, z = (a[keep] for a in (live, shares, gap, h, f, z))
            mu, fitted, gradient, slack = mu[keep], fitted[keep], gradient[keep], slack[keep]
        target = 0.1 * (f * z).mean(1, keepdims=True)
        right = gradient - slack + target / f
        scale = np.sqrt(f / z)[:, :, None]
        sides = scale * np.stack([right, h], axis=-1)
        half = (np.sqrt(shares) / fitted)[:, :, None] * (law * scale[:, None, :, 0])
        if cells < reports:
            moves = scale * np.linalg.solve(_plus_one(half.swapaxes(1, 2)), sides)
        else:
            inner = np.linalg.solve(_plus_one(half), half @ sides)
            moves = scale * (sides - half.swapaxes(1, 2) @ inner)
        change = np.zeros_like(mu)
        if tied:
            along = (h[:, :, None] * moves).sum(1)
            change = (along[:, :1] + (h * f).sum(1, keepdims=True)) / along[:, 1:]
        df = moves[..., 0] - change * moves[..., 1]
        dz = (target - z * df) / f - z
        # Stay a hundredth of the way off the walls.
        near = 0.99 / np.maximum((-df / f).max(1, keepdims=True), 0.99)
        far = 0.99 / np.maximum((-dz / z).max(1, keepdims=True), 0.99)
        f, z, mu = f + near * df, z + far * dz, mu + far * change
    return masses, values


def _plus_one(half: Floats) -> Floats:
    """Identity plus half half', for each matrix of a batch."""
    system = half @ half.swapaxes(1, 2)
    diagonal = np.arange(half.shape[1])
    system[:, diagonal, diagonal] += 1
    return system
