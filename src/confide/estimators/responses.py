"""Private responses: from the report of a response to its mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from confide.errors import InvalidInput, Unsupported
from confide.estimators._em import Floats
from confide.lattice import Categories
from confide.mechanisms import Joint, Mechanism
from confide.summaries import Counts
from confide.summaries.tallies import Response


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
        scores lie beyond them.

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
        response=Response(sums, squares, low, high),
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
    parts = dict(mechanism.parts)
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
