"""Straight lines and logistic curves from noisy reports, corrected for attenuation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from confide._types import Floats
from confide.curves.regression import Line, Logistic, Regression
from confide.errors import ConfideError, ConfideWarning, InvalidInput, Unsupported
from confide.estimators.division import told_apart
from confide.estimators.em import Channel, coarse_edges, coarsen, em
from confide.estimators.responses import (
    LEAST_SPREAD,
    facts,
    is_binary,
    limits,
    names,
    with_response,
)
from confide.foreign.noise_laws import Gaussian
from confide.foreign.noised import Noised
from confide.foreign.spectrum import Spectrum
from confide.lattice import Lattice
from confide.summaries import Counts

LITTLE = (
    "The reports hardly vary more than their noise, so the values' variance was taken at its floor "
    "and the slope is a guess without standard errors: there are too few reports for this much "
    "noise."
)
STATED = f"{LITTLE[:-1]}, or the stated noise is larger than the real one."
"""A note for noise added elsewhere, whose stated law may be wrong."""
MUCH = (
    "The values seem to vary more than their bounds allow, so the slope is a guess without "
    "standard errors: the noise is larger than stated, or the bounds are too narrow."
)


@dataclass(frozen=True, kw_only=True)
class LinearRegression:
    """A straight line through private values and a response.

    A line through noisy reports is too flat, because noise spreads them out (attenuation). Here
    the noise's part is taken off both moments that a slope needs, exactly, by scores of the
    reports that are unbiased for the value and for its square. For every mechanism for numbers,
    for numbers noised elsewhere, and for several covariates.

    Parameters
    ----------
    response
        Name of the private question that is the response; by default the public response of the
        summary.

    Notes
    -----
    slope = (mean(y g1) - mean(g1) mean(y))/(mean(g2) - mean(g1)**2). The denominator is an
    estimate of the values' variance and can come out near zero or negative by chance; it is not
    let below two of its own standard errors, nor below 1 % of the variance of even spread over
    the range. It cannot be above a quarter of the squared range either. Where it would be, the
    slope is a guess: a warning and ``facts["floored_variance"]`` say so, and the standard errors
    are infinite. Else they are of the sandwich kind, from the variance of the estimating
    equations; nothing is assumed of the response. A variance that is really about its own standard
    error passes the floor in one of seven surveys, by being too large: then the slope is too small,
    and its interval is too short.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> from confide.summaries import Counts
    >>> x = np.random.default_rng(1).beta(2, 2, 50_000)
    >>> reports = SquareWave(Lattice(low=0, high=1, size=64), epsilon=2.0).simulate(x, seed=1)
    >>> line = LinearRegression().fit(Counts.of(reports, response=1 + 2 * x))
    >>> bool(abs(line.slope[0] - 2) < 3 * line.slope_error[0])
    True
    """

    response: str | None = None

    def fit(self, summary: Counts | Spectrum) -> Line:
        """Estimate the line behind a summary with a response."""
        given = summary
        summary = with_response(given, self.response)
        if isinstance(summary, Spectrum):
            for column, noise in zip(summary.values.T, summary.noise, strict=True):
                told_apart(column, noise)
        rows = _rows(summary)
        low, high = limits(summary)
        weight = rows.weight.sum()
        products = rows.products
        matrix = products @ rows.weight / weight
        mean = matrix[0, 1:]
        covariance, doubt = _floored(rows, mean, LEAST_SPREAD * (high - low) ** 2 / 12)
        if doubt:
            said = STATED if doubt == LITTLE and _elsewhere(summary) else doubt
            warnings.warn(said, ConfideWarning, stacklevel=2)
        right = rows.scores @ rows.sums / weight
        slope = np.linalg.solve(covariance, right[1:] - mean * right[0])
        estimate = np.array([right[0] - slope @ mean, *slope])
        # The equations: mean of score y - products estimate = 0; their variance, respondent by
        # respondent, is a sum over reports because they are linear in y.
        constant = np.einsum("jkr,k->jr", products, estimate)
        scale = rows.squared_weight / rows.weight
        cross = np.einsum("jr,kr->jk", rows.scores, constant * (scale * rows.sums))
        meat = (
            np.einsum("jr,kr->jk", rows.scores, rows.scores * (scale * rows.squares))
            - cross
            - cross.T
            + np.einsum("jr,kr->jk", constant, constant * (scale * rows.weight))
        ) / weight**2
        matrix[1:, 1:] = covariance + np.outer(mean, mean)
        bread = np.linalg.inv(matrix)
        errors: Floats = bread @ meat @ bread
        if doubt:
            errors = np.full_like(errors, np.inf)
        return Line(
            float(estimate[0]),
            tuple(slope.tolist()),
            partial(np.asarray, errors),
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            names=names(summary),
            facts=facts("linear regression", given, self.response)
            | {"floored_variance": bool(doubt)},
        )


def _elsewhere(summary: Counts | Spectrum) -> bool:
    """Whether the noise was added elsewhere."""
    return isinstance(summary, Spectrum) or isinstance(summary.mechanism, Noised)


def baseline(summary: Counts | Spectrum) -> Regression | None:
    """The corrected curve to show beside a fit: logistic for a 0/1 response, else a line.

    None where there is neither. It warns of nothing: its facts say what was floored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfideWarning)
        kinds: list[Callable[[Any], Regression]] = [LinearRegression().fit]
        if is_binary(summary):
            kinds.insert(0, LogisticRegression().fit)
        for fit in kinds:
            try:
                return fit(summary)
            except ConfideError:
                continue
    return None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Respondents of the same report: scores of it, and sums over them.

    Parameters
    ----------
    scores
        One and the score of each covariate, a column a report.
    seconds
        Score of the square of each covariate.
    weight, sums, squares, squared_weight
        Sums of w, w y, w y**2 and w**2.
    """

    scores: Floats
    seconds: Floats
    weight: Floats
    sums: Floats
    squares: Floats
    squared_weight: Floats

    @property
    def products(self) -> Floats:
        """Scores unbiased for the products of one and the covariates; noises are independent."""
        result = self.scores[:, None] * self.scores[None]
        for axis, second in enumerate(self.seconds, start=1):
            result[axis, axis] = second
        return result


def _rows(summary: Counts | Spectrum) -> _Rows:
    if isinstance(summary, Spectrum):
        z, y = summary.values.T, summary.response
        assert y is not None
        noise = [
            np.square(law.scale) if isinstance(law, Gaussian) else law.variance
            for law in summary.noise
        ]
        squares = np.stack([column**2 - v for column, v in zip(z, noise, strict=True)])
        one = np.ones(y.size)
        return _Rows(np.concatenate([one[None], z]), squares, one, y, y * y, one)
    limits(summary)
    mechanism, response = summary.mechanism, summary.response
    assert response is not None
    parts = list(mechanism.marginals.values())
    seen = np.nonzero(summary.counts)
    total = summary.total[seen]
    scores = [np.ones(total.size)]
    seconds: list[Floats] = []
    for part, index in zip(parts, seen, strict=True):
        scores.append(part.unbiased(1)[index])
        seconds.append(part.unbiased(2)[index])
    return _Rows(
        np.stack(scores),
        np.stack(seconds),
        total,
        response.sums[seen],
        response.squares[seen],
        total if summary.weights is None else summary.weights[1][seen],
    )


def _floored(rows: _Rows, mean: Floats, least: Floats) -> tuple[Floats, str]:
    """Covariance of the covariates, no direction of which varies less than can be told from zero.

    Nor more than the range allows. Directions are the principal ones in units of the least variance
    that is allowed. With a sentence where that made a difference.
    """
    weight, unit = rows.weight.sum(), np.sqrt(least)
    moments = rows.products[1:, 1:]
    covariance = moments @ rows.weight / weight - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    across = vectors / unit[:, None]
    influence = np.einsum("jp,kp,jkr->pr", across, across, moments)
    influence -= 2 * (across.T @ mean)[:, None] * (across.T @ rows.scores[1:])
    influence -= (influence @ rows.weight / weight)[:, None]
    errors = np.sqrt(influence**2 @ rows.squared_weight) / weight
    lowest = np.maximum(2 * errors, 1)
    # No variance is above a quarter of the squared range, and even spread has a twelfth of it.
    highest = 3 / LEAST_SPREAD * len(values)
    doubt = "" if (values >= lowest).all() and (lowest <= highest).all() else LITTLE
    if (values - 2 * errors > highest).any():
        doubt = MUCH
    if not doubt:
        return covariance, ""
    possible = np.minimum(np.maximum(values, lowest), highest)
    kept: Floats = (vectors * possible) @ vectors.T * np.outer(unit, unit)
    return kept, doubt


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
                "Use LinearRegression (--method linear).",
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
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            names=names(summary),
            facts=facts("logistic regression", given, self.response),
        )


def _counted(summary: Counts | Spectrum, low: Floats, high: Floats) -> Counts:
    if isinstance(summary, Counts):
        return summary
    (noise, *others) = summary.noise
    if others or (isinstance(noise, Gaussian) and noise.varies):
        raise Unsupported(
            "of noised numbers takes one covariate of equal noise",
            method="LogisticRegression",
            instead="estimators.LinearRegression",
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
