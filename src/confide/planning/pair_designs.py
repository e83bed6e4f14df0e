"""Chooses the report about a pair of questions that gives the most precise correlation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import checked_epsilon
from confide.estimators.relating import Cut, table_of
from confide.lattice import Lattice
from confide.mechanisms import PairResponse, Side, SquareWave

CLASSES = (2, 3, 4, 6, 8)
"""Classes of each question that are tried; two make one bit."""
CELLS = 128
"""Cells of the lattices on which two reports are compared."""
STEP = 1e-4
WORTH = 0.85
"""A table must leave at most this part of the bit's error: it leans on the distributions of both
questions, whose own errors the information leaves out. The bit at the medians hardly does."""


@dataclass(frozen=True)
class PairDesign:
    """The precision of a correlation under one way of asking for a pair.

    Parameters
    ----------
    name
        The bit, a table of so many classes, or two reports at half of epsilon each.
    classes
        Classes of each question; None for two reports.
    error
        Standard error of the correlation, from the exact information of the reports, where both
        questions' distributions are known and thresholds are at their quantiles.
    """

    name: str
    classes: int | None
    error: float


def pair_designs(
    epsilon: float, *, n: int, correlation: float = 0.4, declined: float = 0.0
) -> list[PairDesign]:
    """The ways of asking n people for a pair, the best one first.

    Parameters
    ----------
    epsilon
        What a person spends.
    n
        People who are asked for this pair.
    correlation
        A guess of the correlation of the normal scores.
    declined
        Share of the people who decline either question.

    Examples
    --------
    >>> [(one.name, round(one.error, 3)) for one in pair_designs(1.0, n=6_667)[:2]]
    [('one bit', 0.038), ('table of 3 x 3', 0.089)]
    """
    epsilon, n = checked_epsilon(epsilon), _checks.integer(1, n=n)
    correlation = _checks.within(-0.99, 0.99, correlation=correlation)
    declined = _checks.within(0, 0.9, declined=declined)
    made = list(_tried(epsilon, correlation, declined))
    found = [
        PairDesign(name, classes, 1 / math.sqrt(n * (1 - declined * (classes is None)) * told))
        for name, classes, told in made
    ]
    return sorted(found, key=lambda one: one.error)


def chosen(designs: Sequence[PairDesign]) -> PairDesign:
    """The design that a survey gets: one bit, unless a table has a clearly smaller error.

    Two reports are there to compare with, and are never chosen.

    Parameters
    ----------
    designs
        Those of `pair_designs`.

    Examples
    --------
    >>> [chosen(pair_designs(epsilon, n=1000)).name for epsilon in (1.0, 4.0, 8.0)]
    ['one bit', 'one bit', 'table of 8 x 8']
    """
    several = [one for one in designs if one.classes]
    bit = next(one for one in several if one.classes == 2)
    best = min(several, key=lambda one: one.error)
    return best if best.error < WORTH * bit.error else bit


def best_classes(epsilon: float, *, n: int, declined: float = 0.0) -> int:
    """How many classes each question should have: two, for one bit, unless more tell clearly more.

    Examples
    --------
    >>> best_classes(1.0, n=1000), best_classes(8.0, n=1000)
    (2, 8)
    """
    found = chosen(pair_designs(epsilon, n=n, declined=declined)).classes
    assert found is not None
    return found


def _tried(
    epsilon: float, correlation: float, declined: float
) -> Iterator[tuple[str, int | None, float]]:
    """Each design with the information about the correlation in one person's report."""
    for classes in CLASSES:
        side = Side(Lattice(low=0, high=1, size=classes), tuple(range(1, classes)), declined > 0)
        law = PairResponse({"x": side, "y": side}, epsilon=epsilon).law
        parts = []
        for at in (correlation - STEP, correlation + STEP):
            cells = np.zeros(law.inputs)
            cells[:classes, :classes] = (1 - declined) * _cells(classes, at)
            if declined:
                cells[classes, classes] = declined
            parts.append(law.forward(cells))
        name = "one bit" if classes == 2 else f"table of {classes} x {classes}"
        yield name, classes, _information(*parts)
    wave = SquareWave(Lattice(low=0, high=1, size=CELLS), epsilon=epsilon / 2).law.matrix()
    parts = [
        (wave @ _cells(CELLS, at) @ wave.T).ravel()
        for at in (correlation - STEP, correlation + STEP)
    ]
    yield "two reports at half of epsilon each", None, _information(*parts)


def _cells(classes: int, correlation: float) -> Floats:
    """Shares of the cells of a table whose cuts are at the quantiles."""
    below = np.arange(1, classes) / classes
    cut = Cut(below, np.zeros_like(below))
    return table_of(cut, cut, correlation)


def _information(before: Floats, after: Floats) -> float:
    """Fisher information, from the chances of reports at two correlations next to each other."""
    middle, slope = (before + after) / 2, (after - before) / (2 * STEP)
    return float((slope**2 / middle).sum())
