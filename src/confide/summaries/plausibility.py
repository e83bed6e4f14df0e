"""Tests whether any values could have produced given counts of reports."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.errors import Implausible, InvalidInput, Unsupported
from confide.foreign.noised import Noised
from confide.mechanisms import Joint, Mechanism, PairResponse
from confide.summaries.counts import Counts, expected

PIECES = 32
WORK = 2**20
"""Chances that a check computes: lattices of very many cells get fewer pieces."""
ERROR = 1e-6
"""Chance of a false alarm, at most, whatever the population."""
ROUNDING = 1e-12


def checked(summary: Any, *, question: str = "", where: str = "", pairs: bool = False) -> Counts:
    """The counts; with a warning where no population could have given them.

    Numbers that somebody else noised come with a law that is nearly right only, so they are held
    to less: they are refused if some lie further out than the stated noise can have taken them,
    and get a warning if fewer lie outside the bounds than it takes there at least.

    Parameters
    ----------
    summary
        Counts, of one question or of several together.
    question
        Its name for the message, where it is known.
    where
        The files for the message, where they are known.
    pairs
        Whether reports about a pair of questions are taken too, which most estimators cannot use.

    Raises
    ------
    InvalidInput
        If they are no counts, or if noise from elsewhere cannot have the law that was stated.
    """
    counts = expected(summary)
    mechanism = counts.mechanism
    if isinstance(mechanism, PairResponse) and not pairs:
        raise Unsupported(
            "Reports about a pair of questions tell how the two relate, not how one is "
            "distributed: take cf.relate, or confide relate."
        )
    if isinstance(mechanism, Noised) and (lost := mechanism.unreachable(counts.counts)):
        sd = math.sqrt(mechanism.noise.variance)
        raise InvalidInput(
            f"numbers that noise with a standard deviation of {sd:g} can make of true values from "
            f"{mechanism.lattice.low:g} to {mechanism.lattice.high:g}",
            f"{lost:,} of {counts.n:,} that lie too far out",
            "Give bounds that hold the true values and the scale that the noise really had, and "
            "leave out codes such as -999 that stand for no answer.",
        )
    if isinstance(mechanism, Noised) and not mechanism.moved(counts.counts):
        sd = math.sqrt(mechanism.noise.variance)
        warnings.warn(
            f"Expected numbers that noise with a standard deviation of {sd:g} has carried out of "
            f"{mechanism.lattice.low:g} to {mechanism.lattice.high:g}, got fewer than there must "
            "be. The noise is smaller than stated, or the numbers were cut to the bounds: do not "
            "rely on an estimate from these.",
            Implausible,
            stacklevel=3,
        )
    parts = mechanism.mechanisms if isinstance(mechanism, Joint) else {question: mechanism}
    if isinstance(mechanism, PairResponse):
        # The law of such a report depends on its outcome alone.
        parts = {question: mechanism.response}
    for axis, (name, part) in enumerate(parts.items()):
        others = tuple(other for other in range(len(parts)) if other != axis)
        if isinstance(part, Mechanism) and not possible(part, counts.counts.sum(others)):
            about = (f" of {name!r}" if name else "") + (f" in {where}" if where else "")
            warnings.warn(
                f"Expected reports{about} by {_told(part)}, got counts that no answers whatever "
                "would give. They may be raw values, reports of another survey, or forged: "
                "privatize raw values first, read reports with the survey that made them, and do "
                "not rely on an estimate from these.",
                Implausible,
                stacklevel=3,
            )
    return counts


def _told(mechanism: Mechanism) -> str:
    epsilon = mechanism.spend.epsilon
    return mechanism.name + (f" with epsilon = {epsilon:g}" if math.isfinite(epsilon) else "")


def possible(mechanism: Mechanism, counts: npt.NDArray[np.int64]) -> bool:
    """Whether some values could have given the counts of one question's reports.

    Parameters
    ----------
    mechanism
        What is said to have made the reports.
    counts
        Respondents by report; never weighted, for the noises are independent whoever is asked.

    Notes
    -----
    The share of reports in any stretch has an expectation between the least and the largest chance
    of it, over all values. All stretches of a few dozen pieces are held against that by Hoeffding's
    (1963, theorem 1) bound on their tails, which needs independent reports only, not equal values,
    and together they alarm falsely with a chance of at most one in a million. Passing proves
    nothing: a third of "yes" may be a third of the answers or of the reports.

    Examples
    --------
    >>> from confide import Lattice, SquareWave
    >>> ages = np.random.default_rng(1).integers(18, 91, 500)
    >>> mechanism = SquareWave(Lattice(low=0, high=120, size=120), epsilon=1.0)
    >>> size = mechanism.law.outputs[0]
    >>> possible(mechanism, np.bincount(mechanism.simulate(ages, seed=1).indices, minlength=size))
    True
    >>> possible(mechanism, np.bincount(ages, minlength=size))
    False
    """
    edges, least, most = _chances(mechanism)
    n = int(counts.sum())
    if not n:
        return True
    below = np.append(0, counts.cumsum())[edges]
    first, last = np.triu_indices(edges.size, 1)
    share = (below[last] - below[first]) / n
    # Inside its range a share is its own bound, and has the distance 0.
    bound = np.clip(share, least, most)
    distance = _term(share, bound) + _term(1 - share, 1 - bound)
    return bool(n * distance.max() <= math.log(2 * share.size / ERROR))


@lru_cache(maxsize=16)
def _chances(mechanism: Mechanism) -> tuple[npt.NDArray[np.intp], Floats, Floats]:
    """Edges of the pieces, and the least and largest chance of every stretch between two edges."""
    law = mechanism.law
    (outputs,) = law.outputs
    pieces = min(PIECES, max(WORK // law.inputs[0], 3))
    # The end cells alone too: clamped noise gathers there.
    inner = np.linspace(1, outputs - 1, pieces - 1).round().astype(np.intp)
    edges = np.unique([0, *inner, outputs])
    reports = np.arange(outputs)
    below = np.stack([law.adjoint((reports < edge).astype(np.float64)) for edge in edges])
    least, most = [], []
    for at in range(edges.size - 1):
        chances = below[at + 1 :] - below[at]
        least.append(chances.min(axis=1))
        most.append(chances.max(axis=1))
    return (
        edges,
        np.maximum(np.concatenate(least) - ROUNDING, 0.0),
        np.minimum(np.concatenate(most) + ROUNDING, 1.0),
    )


def _term(x: Floats, y: Floats) -> Floats:
    """X log(x / y), which is 0 where x is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, x * np.log(x / y), 0.0)
