"""Gaussian kernel densities in any number of dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide._types import Floats

BLOCK = 2**20
"""Pairs of points worked on at a time: what a processor's cache holds."""
JUDGES = 300
"""Points that judge a bandwidth; more hardly change the choice."""
COARSE = 2.0 ** np.arange(1, -9, -1)
"""Bandwidths tried, as multiples of the normal reference: modes make the best one smaller."""
FINE = 2.0 ** np.array([-0.5, 0.5])
TINY = 1e-9
"""A ridge in units of the variance, for columns that are equal or dependent."""
OUTLIERS = 0.02
"""Share of judges that are not heard: those far from all others want any bandwidth but a small."""


@dataclass(frozen=True, eq=False)
class Kernels:
    """The average of equal Gaussian kernels at given points.

    Parameters
    ----------
    center
        Subtracted from all points before they are transformed.
    transform
        Rows times this have kernels of unit covariance.
    points
        Where the kernels are, transformed, one row each.
    """

    center: Floats
    transform: Floats
    points: Floats

    @classmethod
    def of(cls, points: Floats, floor: Floats, bandwidth: float | None = None) -> Kernels:
        """Kernels with the shape of the points' own covariance.

        Parameters
        ----------
        points
            One row each.
        floor
            The least spread of each axis, so that points that coincide have one too.
        bandwidth
            In units of the points' spread; by default the one of the largest leave-one-out
            likelihood, as judged by some of the points.
        """
        center = points.mean(axis=0)
        scale = np.sqrt(points.var(axis=0) + floor**2)
        scaled = (points - center) / scale
        covariance = scaled.T @ scaled / len(points) + np.diag((floor / scale) ** 2 + TINY)
        white = np.linalg.inv(np.linalg.cholesky(covariance)).T / scale[:, None]
        whitened = (points - center) @ white
        h = _likeliest(whitened) if bandwidth is None else bandwidth
        return cls(center, white / h, whitened / h)

    def log_pdf(self, x: Floats) -> Floats:
        """Log density at points, one row each; far from all kernels too."""
        z = (x - self.center) @ self.transform
        half = (self.points**2).sum(axis=1) / 2
        result = np.empty(len(z))
        step = max(1, BLOCK // len(half))
        for start in range(0, len(z), step):
            part = z[start : start + step]
            result[start : start + step] = _log_sums(part @ self.points.T - half)
        result -= (z**2).sum(axis=1) / 2 + math.log(len(half))
        _, log_volume = np.linalg.slogdet(self.transform)
        result += log_volume - z.shape[1] * math.log(2 * math.pi) / 2
        return result

    @property
    def covariance(self) -> Floats:
        """Covariance of one kernel."""
        inverse = np.linalg.inv(self.transform)
        result: Floats = inverse.T @ inverse
        return result


def _log_sums(exponents: Floats) -> Floats:
    """Log of the sum of exponentials of each row; the exponents are used up."""
    top = exponents.max(axis=1)
    exponents -= top[:, None]
    np.exp(exponents, out=exponents)
    result: Floats = top + np.log(exponents.sum(axis=1))
    return result


def _likeliest(points: Floats) -> float:
    """The bandwidth with the largest leave-one-out likelihood, for points of unit spread."""
    n, dim = points.shape
    normal = float((4 / ((dim + 2) * n)) ** (1 / (dim + 4)))
    if n < 2:
        return normal
    # Points in a fixed random order: those that judge are no first part of a sorted table.
    judges = np.random.default_rng(0).permutation(n)[:JUDGES]
    norms = (points**2).sum(axis=1)
    squares = norms[judges, None] + norms - 2 * points[judges] @ points.T
    np.maximum(squares, 0, out=squares)
    squares[np.arange(len(judges)), judges] = np.inf
    heard = slice(int(OUTLIERS * len(judges)), None)

    def likelihood(h: float) -> float:
        logs = np.sort(_log_sums(squares * (-0.5 / h**2)))[heard]
        score: float = logs.mean() - dim * math.log(h)
        return score

    coarse: float = max((normal * COARSE).tolist(), key=likelihood)
    best: float = max([coarse, *(coarse * FINE).tolist()], key=likelihood)
    return best
