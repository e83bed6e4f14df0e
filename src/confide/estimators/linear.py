"""Straight lines from noisy reports, corrected for attenuation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.curves.lines import Line
from confide.curves.regression import Regression
from confide.errors import ConfideError, ConfideWarning
from confide.estimators._regressands import (
    LEAST_SPREAD,
    facts,
    is_binary,
    limits,
    names,
    with_response,
)
from confide.estimators.logistic import LogisticRegression
from confide.mechanisms import Joint
from confide.noise import Gaussian
from confide.summaries import Counts, Spectrum

Floats = npt.NDArray[np.float64]

LITTLE = (
    "The reports hardly vary more than their noise, so the values' variance was taken at its floor "
    "and the slope is a guess without standard errors: there are too few reports for this much "
    "noise."
)
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
    for numbers noised elsewhere, and for up to three covariates.

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
        rows = _rows(summary)
        low, high = limits(summary)
        weight = rows.weight.sum()
        products = rows.products
        matrix = products @ rows.weight / weight
        mean = matrix[0, 1:]
        covariance, doubt = _floored(rows, mean, LEAST_SPREAD * (high - low) ** 2 / 12)
        if doubt:
            warnings.warn(doubt, ConfideWarning, stacklevel=2)
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
            tuple(low.tolist()),
            tuple(high.tolist()),
            names(summary),
            facts("linear regression", given, self.response) | {"floored_variance": bool(doubt)},
        )


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
    parts = list(mechanism.parts.values()) if isinstance(mechanism, Joint) else [mechanism]
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
