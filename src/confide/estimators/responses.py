"""Checks that all regressions share: a response, and bounds of the covariates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import InvalidInput, Unsupported
from confide.foreign.spectrum import Spectrum
from confide.lattice import Categories, Lattice
from confide.mechanisms import Joint, Mechanism
from confide.summaries import Counts
from confide.summaries.counts import Response
from confide.summaries.plausibility import checked

LEAST_SPREAD = 0.01
"""Least variance of the values, as a share of that of even spread over the public range."""


@overload
def with_response(summary: Counts, name: str | None) -> Counts: ...


@overload
def with_response(summary: Spectrum, name: str | None) -> Spectrum: ...


@overload
def with_response(summary: Counts | Spectrum, name: str | None) -> Counts | Spectrum: ...


def with_response(summary: Counts | Spectrum, name: str | None) -> Counts | Spectrum:
    """The summary with a response that a fit can use: its own, or a private question's."""
    if not isinstance(summary, (Counts, Spectrum)):
        raise InvalidInput("counts or a spectrum", _checks.shown(summary))
    if summary.n < 2:
        raise InvalidInput("two or more respondents", str(summary.n))
    if isinstance(summary, Counts):
        all_answered(summary)
    if name is not None:
        if isinstance(summary, Spectrum):
            raise Unsupported("Noised numbers have a public response only: leave response out.")
        plain = unbiased_response(summary, name)
        checked(summary)
        return plain
    if summary.response is None:
        raise InvalidInput(
            "a summary with a response", "none", "Give response= when the reports are counted."
        )
    return checked(summary) if isinstance(summary, Counts) else summary


def all_answered(counts: Counts) -> None:
    """Refuse a question that can be declined."""
    if counts.mechanism.prefer_not_to_say:
        raise Unsupported(
            "Regressions do not take a question that can be declined (prefer_not_to_say): those "
            "who declined have no value to regress on, and nobody knows who they are."
        )


def limits(summary: Counts | Spectrum) -> tuple[Floats, Floats]:
    """Public bounds of the covariates; for numbers without them, their range less the noise."""
    if isinstance(summary, Counts):
        axes = list(summary.mechanism.axes.values())
        lattices = [axis for axis in axes if isinstance(axis, Lattice)]
        if len(lattices) < len(axes):
            raise Unsupported("Regression takes numbers as covariates, not categories.")
        return np.array([a.low for a in lattices]), np.array([a.high for a in lattices])
    z = summary.values
    mean, variance = z.mean(axis=0), z.var(axis=0)
    noise = np.array([law.variance for law in summary.noise])
    shrink = np.sqrt(
        np.maximum(variance - noise, LEAST_SPREAD * variance)
        / np.maximum(variance, np.finfo(np.float64).tiny)
    )
    low = mean + (z.min(axis=0) - mean) * shrink
    high = mean + (z.max(axis=0) - mean) * shrink
    same = low >= high
    low, high = low - same * np.sqrt(noise), high + same * np.sqrt(noise)
    if summary.low is not None:
        low = np.array(summary.low)
    if summary.high is not None:
        high = np.array(summary.high)
    return low, np.maximum(high, low + np.sqrt(noise) * (high <= low))


def checked_name(response: str | None) -> None:
    """The name of a private response is text, or None for a public one."""
    if response is not None and not isinstance(response, str):
        raise InvalidInput("the name of a question", _checks.shown(response))


def tabled(counts: Counts) -> Floats:
    """Number, sum and sum of squares of the responses of each report, along the last axis.

    Weighted counts are scaled to their effective number.
    """
    response = counts.response
    assert response is not None
    table = np.stack([counts.total, response.sums, response.squares], axis=-1)
    return np.asarray(table * (counts.effective_n / counts.total.sum()))


def is_binary(summary: Counts | Spectrum) -> bool:
    """Whether the response is 0 or 1 throughout."""
    y = summary.response
    if isinstance(y, np.ndarray):
        return bool(((y == 0) | (y == 1)).all())
    return (
        y is not None
        and (y.low, y.high) == (0.0, 1.0)
        and bool(np.allclose(y.sums, y.squares, rtol=1e-9, atol=1e-9))
        and bool((y.sums >= -1e-9).all())
    )


def names(summary: Counts | Spectrum) -> tuple[str, ...]:
    """Names of the covariates."""
    if isinstance(summary, Counts):
        return tuple(summary.mechanism.axes)
    return summary.labels


def facts(method: str, summary: Counts | Spectrum, response: str | None) -> dict[str, Any]:
    """Facts about a fit; ``summary`` is the one that was given."""
    kind = "public" if response is None else "private"
    return {"method": method, **summary.facts, "response": kind}


def unbiased_response(counts: Counts, name: str) -> Counts:
    """Counts of the covariates with the mean of a private response as their response.

    Each report of the response is replaced by a score g with E[g | y] = y, so that sums and means
    of g are unbiased for those of y. Its squares give the variance that includes the noise.

    Parameters
    ----------
    counts
        Summary of a joint mechanism.
    name
        The question that is the response: a number, or one of two categories that count as 0
        and 1.

    Returns
    -------
    Counts
        Of the other questions' mechanism. The bounds of the response are those of its lattice;
        scores may lie beyond them.

    Examples
    --------
    >>> from confide import Joint, Lattice, SquareWave
    >>> part = SquareWave(Lattice(low=0, high=1, size=32), epsilon=4.0)
    >>> x = np.random.default_rng(1).random(10_000)
    >>> reports = Joint({"x": part, "y": part}).simulate({"x": x, "y": x / 2}, seed=3)
    >>> response = unbiased_response(Counts.of(reports), "y").response
    >>> bool(abs(response.sums.sum() / 10_000 - 0.25) < 0.02)
    True
    """
    covariates, answer, at = split(joint(counts, name), name)
    scores = response_scores(answer)
    total = counts.total
    sums = np.tensordot(total, scores, axes=(at, 0))
    squares = np.tensordot(total, scores**2, axes=(at, 0))
    axis = answer.axes[""]
    low, high = (0.0, 1.0) if isinstance(axis, Categories) else (axis.low, axis.high)
    weights = counts.weights
    return replace(
        counts,
        mechanism=covariates,
        counts=counts.counts.sum(axis=at),
        weights=None if weights is None else (weights[0].sum(at), weights[1].sum(at)),
        response=Response(sums, squares, low=low, high=high),
    )


def joint(counts: Counts, name: str) -> Joint:
    """The mechanism of counts, if it is a joint one."""
    if not isinstance(counts.mechanism, Joint):
        raise InvalidInput(
            f"counts of a joint mechanism, with {name!r} as one of its questions",
            f"counts of {counts.mechanism.name}",
            "Leave response out if the response is public.",
        )
    return counts.mechanism


def split(mechanism: Joint, name: str) -> tuple[Mechanism, Mechanism, int]:
    """The mechanism of the covariates, that of the response, and the response's axis."""
    parts = dict(mechanism.mechanisms)
    if name not in parts:
        raise InvalidInput(f"a response among {', '.join(parts)}", repr(name))
    at = list(parts).index(name)
    answer = parts.pop(name)
    if len(parts) > 1:
        return Joint(parts), answer, at
    return next(iter(parts.values())), answer, at


def response_scores(mechanism: Mechanism) -> Floats:
    """Scores g of the reports with E[g | y] = y; two categories count as 0 and 1."""
    axis = mechanism.axes[""]
    if not isinstance(axis, Categories):
        return mechanism.unbiased(1)
    if axis.size != 2:
        raise Unsupported(
            f"A response of {axis.size} categories has no mean: take two, or count one category "
            "against the others."
        )
    scores: Floats = np.linalg.solve(mechanism.law.matrix().T, np.array([0.0, 1.0]))
    return scores


def reliability(mechanism: Mechanism) -> float:
    """Share of the scores' variance that is the response's own, were its answers even."""
    scores = response_scores(mechanism)
    means, squares = mechanism.law.adjoint(np.stack([scores, scores**2]))
    return float(means.var() / (squares.mean() - means.mean() ** 2))
