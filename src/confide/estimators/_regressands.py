"""What every regression asks of a summary: a response, and bounds of the covariates."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.errors import InvalidInput, Unsupported
from confide.estimators.plausibility import checked
from confide.estimators.responses import unbiased_response
from confide.lattice import Lattice
from confide.summaries import Counts, Spectrum

Floats = npt.NDArray[np.float64]

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
        raise InvalidInput("counts or a spectrum", _validate.shown(summary))
    if summary.n < 2:
        raise InvalidInput("two or more respondents", str(summary.n))
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
    return ("",) if summary.axes == 1 else ("x", "y", "z")[: summary.axes]


def facts(method: str, summary: Counts | Spectrum, response: str | None) -> dict[str, Any]:
    """How a fit came about; ``summary`` is the one that was handed in."""
    source = summary.facts if isinstance(summary, Counts) else {"n": summary.n}
    kind = "public" if response is None else "private"
    return {"method": method, **source, "response": kind}
