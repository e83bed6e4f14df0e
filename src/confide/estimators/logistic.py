"""Logistic curves from noisy reports, corrected for attenuation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from confide.curves.lines import Logistic
from confide.errors import InvalidInput, Unsupported
from confide.estimators._em import Channel, em
from confide.estimators._grids import coarse_edges, coarsen
from confide.estimators._regressands import facts, is_binary, limits, names, with_response
from confide.lattice import Lattice
from confide.noise import Gaussian
from confide.summaries import Counts, Spectrum

Floats = npt.NDArray[np.float64]

CELLS = {1: 64, 2: 24}
SMOOTHING = 0.02
"""Of the density, 64 cells: without any it collapses to a few points in one noisy sample of many,
and the slope with it explodes."""
RESAMPLES = 100
SEED = 20_200_813
RIDGE = 1e-3
"""Weight of a prior that keeps a slope finite where the data would let it run away."""


@dataclass(frozen=True, kw_only=True)
class LogisticRegression:
    """A logistic curve through private values and a 0/1 response.

    The density of the values comes from the likelihood of all reports; given it, each report has
    a known mixture of values behind it, and the curve is fitted to the shares of ones by its mean
    over that mixture. So it is corrected for attenuation, for every mechanism for numbers. One or
    two covariates.

    Parameters
    ----------
    response
        Name of the private question that is the response; by default the public response of the
        summary.

    Notes
    -----
    Standard errors come from 100 resamples of the counts with a fixed seed, each with a density
    of its own; they are computed when first asked for.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> from confide.summaries import Counts
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(0, 1, 50_000).clip(-4, 4)
    >>> y = (rng.random(x.size) < 1 / (1 + np.exp(-x))).astype(float)
    >>> reports = SquareWave(Lattice(low=-4, high=4, size=64), epsilon=3.0).simulate(x, seed=1)
    >>> curve = LogisticRegression().fit(Counts.of(reports, response=y))
    >>> bool(abs(curve.slope[0] - 1) < 0.1)
    True
    """

    response: str | None = None

    def fit(self, summary: Counts | Spectrum) -> Logistic:
        """Estimate the logistic curve behind a summary with a 0/1 response."""
        given = summary
        summary = with_response(given, self.response)
        low, high = limits(summary)
        y = summary.response
        ends = (float(y.min()), float(y.max())) if isinstance(y, np.ndarray) else (y.low, y.high)  # type: ignore[union-attr]
        if not (ends[0] >= 0 and ends[1] <= 1 and (self.response or is_binary(summary))):
            raise InvalidInput(
                "a response of 0 and 1",
                f"one from {ends[0]:g} to {ends[1]:g}",
                "Take LinearRegression.",
            )
        counts = _counted(summary, low, high)
        lattices = [axis for axis in counts.mechanism.axes.values() if isinstance(axis, Lattice)]
        if len(lattices) < len(counts.mechanism.axes) or len(lattices) > 2:
            raise Unsupported("Logistic regression takes one or two numbers as covariates.")
        sizes = [min(lattice.size, CELLS[len(lattices)]) for lattice in lattices]
        total = counts.total
        scale = counts.effective_n / total.sum()
        assert counts.response is not None
        parts = []
        for part in (total, counts.response.sums, counts.response.squares):
            law, reduced = coarsen(counts.mechanism.law, part * scale, sizes)
            parts.append(reduced)
        # Cells in units of half the range, counted from its middle: the fit is equivariant.
        centers = []
        for lattice, size in zip(lattices, sizes, strict=True):
            edges = coarse_edges(lattice, size)
            centers.append((edges[:-1] + edges[1:]) / 2)
        middle, half = (low + high) / 2, (high - low) / 2
        grid = np.meshgrid(*centers, indexing="ij")
        design = np.stack(
            [np.ones(grid[0].shape)]
            + [(x - a) / b for x, a, b in zip(grid, middle, half, strict=True)]
        )
        masses = em(law, parts[0], smoothing=SMOOTHING, iterations=500)
        estimate = _solve(law, masses, parts[0], parts[1], design)
        # From scaled units back to those of the values.
        back = np.diag(np.append(1.0, 1 / half))
        back[0, 1:] = -middle / half
        final = back @ estimate
        return Logistic(
            float(final[0]),
            tuple(final[1:].tolist()),
            _Resamples(law, masses, np.stack(parts), design, estimate, back),
            tuple(low.tolist()),
            tuple(high.tolist()),
            names(summary),
            facts("logistic regression", given, self.response),
        )


def _counted(summary: Counts | Spectrum, low: Floats, high: Floats) -> Counts:
    if isinstance(summary, Counts):
        return summary
    (noise, *others) = summary.noise
    if others or (isinstance(noise, Gaussian) and noise.varies):
        raise Unsupported(
            "Logistic regression of noised numbers takes one covariate of equal noise: take "
            "LinearRegression."
        )
    return Counts.of_noised(
        summary.values[:, 0],
        noise=noise,
        low=float(low[0]),
        high=float(high[0]),
        response=summary.response,
    )


def _solve(law: Channel, masses: Floats, total: Floats, sums: Floats, design: Floats) -> Floats:
    """Intercept and slopes of a logistic curve by its mean behind each report.

    Fisher scoring of the binomial quasi-likelihood, halving steps that do not raise it.
    """
    reports = np.maximum(law.forward(masses), np.finfo(np.float64).tiny)

    def mean(theta: Floats) -> tuple[Floats, Floats]:
        p = special.expit(np.tensordot(theta, design, axes=1))
        behind = law.forward(np.concatenate([(masses * p)[None], masses * p * (1 - p) * design]))
        share = np.clip(behind[0] / reports, 1e-12, 1 - 1e-12)
        return share, behind[1:] / reports

    def value(theta: Floats, share: Floats) -> float:
        fit = special.xlogy(sums, share) + special.xlogy(total - sums, 1 - share)
        return float(fit.sum()) - RIDGE * float(theta[1:] @ theta[1:]) / 2

    prior = RIDGE * np.diag(np.append(0.0, np.ones(len(design) - 1)))
    start = np.clip(sums.sum() / total.sum(), 1e-6, 1 - 1e-6)
    theta = np.append(special.logit(start), np.zeros(len(design) - 1))
    share, slopes = mean(theta)
    best = value(theta, share)
    for _ in range(50):
        weighted = slopes / (share * (1 - share))
        flat = slopes.reshape(len(design), -1)
        score = weighted.reshape(flat.shape) @ (sums - total * share).ravel() - prior @ theta
        information = (weighted * total).reshape(flat.shape) @ flat.T + prior
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        for _ in range(30):
            after = theta + step
            share_after, slopes_after = mean(after)
            reached = value(after, share_after)
            if reached >= best:
                break
            step = step / 2
        else:
            break
        gain, best = reached - best, reached
        theta, share, slopes = after, share_after, slopes_after
        if gain < 1e-9 * max(1.0, abs(best)):
            break
    return theta


@dataclass(frozen=True, eq=False)
class _Resamples:
    """Covariance of the coefficients over resamples of the counts, computed when called.

    Parameters
    ----------
    law, masses, design, estimate
        What was fitted, to what.
    parts
        Counts, sums and sums of squares of the response, by report.
    back
        From the units of the design to those of the values.
    """

    law: Channel
    masses: Floats
    parts: Floats
    design: Floats
    estimate: Floats
    back: Floats

    def __call__(self) -> Floats:
        total, sums, squares = self.parts
        rng = np.random.default_rng(SEED)
        n = max(round(total.sum()), 1)
        flat = total.ravel()
        seen = np.maximum(flat, np.finfo(np.float64).tiny)
        mean = sums.ravel() / seen
        deviation = np.sqrt(np.maximum(squares.ravel() / seen - mean**2, 0))
        drawn = rng.multinomial(n, flat / flat.sum(), size=RESAMPLES).astype(np.float64)
        responses = drawn * mean + np.sqrt(drawn) * deviation * rng.standard_normal(drawn.shape)
        shape = (RESAMPLES, *total.shape)
        start = np.broadcast_to(self.masses, (RESAMPLES, *self.masses.shape))
        densities = em(
            self.law,
            drawn.reshape(shape),
            start=start,
            smoothing=SMOOTHING,
            tolerance=1e-4,
            iterations=300,
        )
        fitted = [
            _solve(self.law, density, one, two, self.design)
            for density, one, two in zip(
                densities, drawn.reshape(shape), responses.reshape(shape), strict=True
            )
        ]
        away = (np.array(fitted) - self.estimate) @ self.back.T
        covariance: Floats = away.T @ away / RESAMPLES
        return covariance
