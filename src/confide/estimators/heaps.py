"""Heaps: single values that many people share, such as a bound, zero or a round number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from confide._types import Floats
from confide.estimators.log_density import SCALES, SHARE, SPREAD, Mode, Problem, mode, moved
from confide.lattice import POINTS, Lattice

BOUND, ROUND, ANY = 0.1, 0.3, 0.3
"""Expected heaps before any report is seen: at each bound, at the round numbers of each step, and
at all other values together."""
STEPS = (3, 130)
"""Fewest and most multiples between the bounds that make a step a round one."""
MOST = 40
"""Heaps of an estimate at most."""


def chances(lattice: Lattice, edges: Floats) -> Floats:
    """Prior chance of a heap in each of the cells between edges.

    Round numbers are the multiples of 1 and 5 times a power of ten; on a log scale 1, 2 and 5 times
    one. Where several steps agree on a number their chances add up.
    """
    cells = edges.size - 1
    prior = np.full(cells, ANY / cells)
    prior[[0, -1]] += BOUND
    for numbers in _round(lattice.low, lattice.high, lattice.scale):
        at = np.unique(_places(edges, numbers))
        prior[at] += ROUND / at.size
    kept: Floats = np.minimum(prior, 0.5)
    return kept


def values(lattice: Lattice, edges: Floats) -> Floats:
    """The value that names a heap in each cell: a bound, the roundest number in it, or the middle.

    A cell that holds one point is called by it.
    """
    if lattice.kind == POINTS and edges.size - 1 == lattice.size:
        return lattice.centers
    named: Floats = (edges[:-1] + edges[1:]) / 2
    for numbers in _round(lattice.low, lattice.high, lattice.scale):
        named[_places(edges, numbers)] = numbers
    named[[0, -1]] = lattice.low, lattice.high
    return named


def _places(edges: Floats, numbers: Floats) -> npt.NDArray[np.int64]:
    # A number on an edge belongs to the upper cell, even if the edge was rounded.
    slack = 1e-9 * np.diff(edges).min()
    found = np.searchsorted(edges, numbers + slack, side="right") - 1
    return np.asarray(np.clip(found, 0, edges.size - 2), dtype=np.int64)


def _round(low: float, high: float, scale: str) -> Iterator[Floats]:
    if scale == "log":
        powers = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factors in ((1.0, 2.0, 5.0), (1.0,)):
            numbers = np.unique(np.multiply.outer(powers, factors))
            inside = numbers[(numbers >= low) & (numbers <= high)]
            if inside.size:
                yield inside
        return
    least, most = STEPS
    first = math.floor(math.log10((high - low) / most)) - 1
    for power in range(first, first + 6):
        for factor in (1, 5):
            step = factor * 10.0**power
            numbers = np.arange(math.ceil(low / step), math.floor(high / step) + 1)
            if least <= numbers.size <= most:
                yield np.asarray(numbers * step, dtype=np.float64)


def multiples(lattice: Lattice, edges: Floats) -> Iterator[npt.NDArray[np.int64]]:
    """The cells between edges that hold multiples of a round step, for each step; no bounds."""
    for numbers in _round(lattice.low, lattice.high, lattice.scale):
        at = np.unique(_places(edges, numbers))
        at = at[(at > 0) & (at < edges.size - 2)]
        if at.size:
            yield at


@dataclass(frozen=True, eq=False)
class Found:
    """A problem with the heaps that were found, their places, and its mode."""

    problem: Problem
    mode: Mode
    places: tuple[int, ...]


def search(
    problem: Problem,
    start: Mode,
    law: Floats,
    squares: Floats,
    *,
    odds: Floats,
    places: tuple[int, ...],
) -> Found:
    """Add heaps one by one as long as the evidence, with their prior, rises.

    Parameters
    ----------
    problem
        With the heaps that are there already.
    start
        Its mode, under the prior to go by.
    law
        Bins of reports by places of heaps.
    squares
        Of the law.
    odds
        Logarithm of the prior odds of a heap at each place.
    places
        Of the heaps that are there.
    """
    while len(places) < MOST:
        gain, share = promise(problem, start, law, squares)
        worth = gain + odds
        worth[list(places)] = -math.inf
        place = int(worth.argmax())
        if not worth[place] > 0:
            break
        added = problem.added(law[:, place])
        part = min(max(share[place], 1e-4), 0.5)
        first = math.log(part / (1 - part) / SHARE) / SPREAD
        trial = mode(added, start.order, start.tau, np.append(start.theta, first))
        if not trial.evidence + odds[place] > start.evidence:
            break
        problem, start, places = added, _smoother(added, trial), (*places, place)
    return Found(problem, start, places)


def _smoother(problem: Problem, start: Mode) -> Mode:
    """The mode under smoother priors of the same order, as long as their evidence rises.

    With a heap more the rest need not be as rough, and what is less rough is found in fewer steps.
    """
    scales = SCALES[start.order]
    while (at := int(np.searchsorted(scales, start.tau))) > 0:
        tau = float(scales[at - 1])
        trial = moved(problem, start, start.order, tau)
        if not trial.evidence > start.evidence:
            break
        start = trial
    return start


def promise(problem: Problem, fit: Mode, law: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Log-likelihood that a heap at each place would gain, and its share, to second order.

    Of the information on the heap only what the other parameters cannot mimic counts: a small
    difference, for which the information that modes keep from their neighbors is not exact enough.
    """
    n, weight = problem.n, problem.n / fit.fitted
    # Chances sum to one and slopes to zero, so what is fitted need not be taken off the law.
    score = (problem.counts / fit.fitted) @ law - n
    gain, share = np.zeros(score.size), np.zeros(score.size)
    some = np.flatnonzero(score > 0)
    if not some.size:
        return gain, share
    score = score[some]
    root_weight = np.sqrt(weight)[:, None]
    half = problem.columns @ fit.slope
    half *= root_weight
    precision = half.T @ half
    precision.flat[:: precision.shape[0] + 1] += 1
    root, _ = dpotrf(precision, lower=1)
    half *= root_weight
    shared = law.take(some, axis=1).T @ half
    mimicked = dtrsm(1.0, root, shared.T, lower=1)
    own = (weight @ squares)[some] - n
    information = own - np.einsum("ij,ij->j", mimicked, mimicked)
    np.maximum(information, 1e-9 * own + 1e-12, out=information)
    share[some] = score / information
    gain[some] = score * share[some] / 2
    return gain, share
