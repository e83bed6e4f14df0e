"""The layers of an audit: every check of a question, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from confide.audits import attacks, fits, grids, indices, losses
from confide.audits.attacks import attacked
from confide.audits.findings import Finding
from confide.audits.fits import fitted
from confide.audits.grids import grid
from confide.audits.indices import index
from confide.audits.losses import exact
from confide.mechanisms import Mechanism

Check = Callable[[Mechanism, int, float, int | None], Finding]
"""A mechanism, how many reports to draw, alpha and a seed: what was found."""


@dataclass(frozen=True)
class Layer:
    """One check of every question.

    Parameters
    ----------
    name
        The layer of its findings.
    words
        What it looks at, for people.
    unseen
        What it cannot see.
    check
        The check itself.
    carries
        Whether the claim rests on it: where it has nothing to look at, the claim is not carried.
    chance
        Whether it draws reports, so that it may raise a false alarm and needs its part of alpha.
    """

    name: str
    words: str
    unseen: str
    check: Check
    carries: bool = False
    chance: bool = False


LAYERS = (
    Layer(
        "exact",
        "the formulas, worked out without rounding, for all answers and reports",
        losses.UNSEEN,
        lambda mechanism, n, alpha, seed: exact(mechanism),
        carries=True,
    ),
    Layer(
        "grid",
        "the code that makes reports, fed evenly spaced numbers for random ones",
        grids.UNSEEN,
        lambda mechanism, n, alpha, seed: grid(mechanism),
        carries=True,
    ),
    Layer(
        "index",
        "missing, infinite, huge or odd answers: refused, or moved within bounds",
        indices.UNSEEN,
        lambda mechanism, n, alpha, seed: index(mechanism),
        carries=True,
    ),
    Layer(
        "goodness",
        "reports made as respondents' are, counted against the formulas",
        fits.UNSEEN,
        lambda mechanism, n, alpha, seed: fitted(mechanism, alpha=alpha, seed=seed),
        chance=True,
    ),
    Layer(
        "sampled",
        "an attack: tell from real reports which of two answers was given",
        attacks.UNSEEN,
        lambda mechanism, n, alpha, seed: attacked(mechanism, n=n, alpha=alpha, seed=seed),
        chance=True,
    ),
)
"""The checks of a question, in the order in which they run. A new one is one entry."""
JOINT = "the same attack on all reports of one respondent together"
OUTSIDE = (
    "No check can see what happens outside confide: other data about the same people, a device "
    "that sends more than its report, the time or address of sending, answers asked for again in "
    "another survey, or a machine whose source of randomness is broken."
)
