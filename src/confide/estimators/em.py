"""Expectation maximization under the law of the reports, on grids coarse enough for the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, wraps
from threading import Lock
from typing import ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from confide import _checks
from confide._types import Flags, Floats
from confide.lattice import Lattice
from confide.mechanisms.laws import Declinable, Law, Product
from confide.mechanisms.stacked import StackedLaw

FINENESS = 4
"""Bins of reports for each coarse cell, at most: so narrow that binning adds next to no blur."""
STRETCH = 2**21
"""Numbers that a law is applied to at a time."""


def checked_grid(smoothing: float | str, size: int | str) -> tuple[float | str, int | str]:
    """A smoothing from 0 to 1 and a number of cells, each of which may be "auto"."""
    if isinstance(smoothing, str):
        smoothing = _checks.one_of(("auto",), smoothing=smoothing)
    else:
        smoothing = _checks.within(0, 1, smoothing=smoothing)
    if isinstance(size, str):
        return smoothing, _checks.one_of(("auto",), size=size)
    return smoothing, _checks.integer(1, size=size)


@dataclass(frozen=True, eq=False)
class Reduced:
    """A law between coarse cells, each uniform inside, and bins of reports: a matrix an axis."""

    matrices: tuple[Floats, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Numbers of coarse cells."""
        return tuple(matrix.shape[1] for matrix in self.matrices)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Numbers of bins."""
        return tuple(matrix.shape[0] for matrix in self.matrices)

    def forward(self, masses: Floats) -> Floats:
        """Masses of bins from masses of coarse cells; leading axes are a batch."""
        return self._each(masses, [matrix.T for matrix in self.matrices])

    def adjoint(self, values: Floats) -> Floats:
        """E[values(bin) | coarse cell]; leading axes are a batch."""
        return self._each(values, self.matrices)

    def _each(self, values: Floats, matrices: Sequence[Floats]) -> Floats:
        for axis, matrix in enumerate(matrices, start=-len(matrices)):
            values = (values.swapaxes(axis, -1) @ matrix).swapaxes(axis, -1)
        return values


def apart(law: Law) -> int:
    """Inputs and reports at the end of a law's one axis that are no cells: those who declined."""
    return int(isinstance(law, Declinable) or (isinstance(law, StackedLaw) and law.declinable))


def stacks(law: Law) -> int:
    """Number of phases in a law; each needs separate bins."""
    return len(law.laws) if isinstance(law, StackedLaw) else 1


def coarsen(law: Law, counts: Floats, sizes: Sequence[int]) -> tuple[Law | Reduced, Floats]:
    """The law on ``sizes`` equal coarse cells an axis, and the counts binned to match.

    A cell of the law that lies across the edge of two coarse ones belongs to both by its parts, so
    that coarse cells are equal whatever the sizes. Those who declined, and their report, are kept
    apart from the cells, after the last one.
    """
    if tuple(sizes) == tuple(inputs - apart(law) for inputs in law.inputs):
        return law, counts
    matrices = []
    for axis, size in enumerate(sizes):
        part = law.laws[axis] if isinstance(law, Product) else law
        extra = apart(part)
        cells, reports = part.inputs[0] - extra, part.outputs[0] - extra
        bins = np.arange(0, reports, -(-reports // (FINENESS * size)))
        bins = np.append(bins, np.full(extra, reports))
        columns = np.empty((bins.size, size + extra))
        # One stretch of columns at a time: on a fine lattice all of them would be gigabytes.
        some = max(1, min(32, STRETCH // reports))
        for first in range(0, size, some):
            last = min(first + some, size)
            even = shared_out(np.arange(first, last + 1, dtype=np.float64) * (cells / size), cells)
            spread = part.forward(np.pad(even, ((0, 0), (0, extra))))
            columns[:, first:last] = np.add.reduceat(spread, bins, axis=1).T
        if extra:
            none = part.forward(np.eye(1, cells + extra, cells))
            columns[:, -1] = np.add.reduceat(none[0], bins)
        matrices.append(columns)
        counts = np.add.reduceat(counts, bins, axis=axis)
    return Reduced(tuple(matrices)), counts


def shared_out(edges: Floats, cells: int) -> Floats:
    """Even masses on the cells of a lattice, one row for each coarse cell between given edges.

    Parameters
    ----------
    edges
        Counted in cells; a cell across an edge belongs to both sides by its parts.
    cells
        Of the lattice.
    """
    below = np.clip(edges[:, None] - np.arange(cells), 0, 1)
    shares: Floats = np.diff(below, axis=0) / np.diff(edges)[:, None]
    return shares


def coarse_edges(lattice: Lattice, size: int) -> Floats:
    """Edges of ``size`` coarse cells: equal on the lattice's own scale."""
    if size == lattice.size:
        return lattice.edges
    edges = lattice.position(np.arange(size + 1) * (lattice.size / size) - 0.5, exact=True)
    edges[[0, -1]] = lattice.edges[[0, -1]]
    return edges


P = ParamSpec("P")
R = TypeVar("R")


def one_thread(solve: Callable[P, R]) -> Callable[P, R]:
    """Keep a solver's linear algebra on the calling thread.

    A fit makes thousands of small products. To wake another thread for each takes many times as
    long as the product, the more so on a busy machine.
    """

    @wraps(solve)
    def solved(*args: P.args, **kwargs: P.kwargs) -> R:
        with LIMIT:
            return solve(*args, **kwargs)

    return solved


class _Limit:
    """BLAS counts threads for the whole process, so the first solver sets and the last resets."""

    def __init__(self) -> None:
        self.lock, self.inside, self.held = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.held.enter_context(_libraries().limit(limits=1, user_api="blas"))
            self.inside += 1

    def __exit__(self, *what: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.held.close()


LIMIT = _Limit()


@cache
def _libraries() -> ThreadpoolController:
    # To look for them takes as long as many a problem, and solvers use those of numpy only.
    return ThreadpoolController()


Rows = npt.NDArray[np.int64]
Project = Callable[[Floats, Rows], Floats]

DEPTH = 10
"""Past steps that an extrapolation combines."""
FLOOR = 1e-14
"""Least mass of a cell, as a share of the uniform one: zero could never grow again."""
LEAST = 1e-18
"""Least probability of a report, below what a law computed by Fourier transform can tell from 0."""


class Channel(Protocol):
    """The parts of a law that the engine needs: two shapes and a linear map with its adjoint."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """Shape of the masses."""

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the reports' probabilities."""

    def forward(self, f: Floats, /) -> Floats:
        """Probabilities of the reports, given masses."""

    def adjoint(self, g: Floats, /) -> Floats:
        """Mean of a function of the report, given each index."""


def smooth(masses: Floats, amount: Floats, axes: int) -> Floats:
    """(1 - amount) f + amount S f along each of the last ``axes`` axes, one amount a row.

    S takes 1/4, 1/2, 1/4 of a cell and its neighbors, with reflecting ends.
    """
    quarter = amount.reshape(amount.shape + (1,) * axes) / 4
    for axis in range(-axes, 0):
        f = masses.swapaxes(axis, -1).copy()
        flow = quarter * (f[..., 1:] - f[..., :-1])
        f[..., :-1] += flow
        f[..., 1:] -= flow
        masses = f.swapaxes(axis, -1)
    return masses


def log_likelihood(law: Channel, counts: Floats, masses: Floats) -> Floats:
    """Log-likelihood of each row of masses, minus that of fitting every share of the counts."""
    axes = tuple(range(-len(law.outputs), 0))
    total = counts.sum(axis=axes, keepdims=True)
    observed = counts > 0
    shares = np.where(observed, counts / total, 1.0)
    fitted = np.maximum(law.forward(masses), LEAST)
    gain: Floats = (counts * np.log(np.where(observed, fitted / shares, 1.0))).sum(axis=axes)
    return gain


@one_thread
def em(
    law: Channel,
    counts: Floats,
    *,
    start: Floats | None = None,
    smoothing: float | Floats = 0.0,
    project: Project | None = None,
    apart: int = 0,
    tolerance: float = 1e-6,
    iterations: int = 2000,
) -> Floats:
    """Maximize the likelihood of counts over masses on the law's inputs, smoothing after each step.

    One step is f <- (1-s) f' + s S f', f' = f * adjoint(shares / forward(f)): Richardson-Lucy for
    s = 0 and EMS (Silverman et al. 1990) for s = 1. Steps are extrapolated by Anderson mixing of
    log-masses, so no mass turns negative. An extrapolated point is kept only if the likelihood did
    not fall or, where s > 0, the next step is no longer than the last; otherwise the plain step is
    taken and the past forgotten. For s = 0 the likelihood therefore never falls.

    Parameters
    ----------
    law
        Anything with ``inputs``, ``outputs``, ``forward`` and ``adjoint``.
    counts
        Reports, of shape (..., *outputs); leading axes are a batch. Their total sets the unit of
        the tolerance (for weighted ones, scale it to the effective number).
    start
        Positive masses (..., *inputs) that sum to one and obey ``project``; by default uniform.
    smoothing
        s in [0, 1], one for each row of the batch.
    project
        Called as ``project(masses, rows)`` after each step and each extrapolation, with masses of
        shape (len(rows), *inputs) and ``rows`` their places in the flattened batch; it returns
        masses that sum to one. The likelihood never falls either if this is the constrained M-step,
        such as rescaling groups of cells to given totals.
    apart
        So many of the last cells of a single axis are nobody's neighbors, and are not smoothed.
    tolerance
        A row is done when total * sum f (log f' - log f)**2 is below this: about twice what the
        step gains in log-likelihood. What is left to gain may be 10,000 times that.
    iterations
        Largest number of evaluations of the law and its adjoint.

    Returns
    -------
    array
        Masses (..., *inputs), each row summing to one.
    """
    counts = np.asarray(counts, dtype=np.float64)
    inputs, outputs = tuple(law.inputs), tuple(law.outputs)
    batch = np.broadcast_shapes(counts.shape[: counts.ndim - len(outputs)], np.shape(smoothing))
    if start is not None:
        batch = np.broadcast_shapes(batch, start.shape[: start.ndim - len(inputs)])
    size, cells = int(np.prod(batch)), int(np.prod(inputs))
    reports = np.broadcast_to(counts, batch + outputs).reshape(size, -1)
    total = reports.sum(axis=1)
    amount = np.broadcast_to(np.asarray(smoothing, dtype=np.float64), batch).reshape(size)
    rows = _Batch(law, reports / total[:, None], total, amount, project, np.arange(size), apart)
    first = np.full((size, cells), 1 / cells)
    if start is not None:
        first = np.maximum(np.broadcast_to(start, batch + inputs).reshape(size, -1), FLOOR / cells)
    point = rows.evaluate(first)
    result = point.after.copy()
    past = np.zeros((2, size, DEPTH, cells))
    plain = np.ones(size, dtype=bool)
    for turn in range(iterations):
        open_ = point.length > tolerance
        if not open_.any():
            break
        if not open_.all():
            rows, point = rows.only(open_), point.only(open_)
            past, plain = past[:, open_], plain[open_]
        trial = rows.evaluate(rows.feasible(_exp(_mix(point, past))))
        better = (trial.value >= point.value) | ((rows.amount > 0) & (trial.length <= point.length))
        taken = plain | better
        past[0, :, turn % DEPTH] = trial.log - point.log
        past[1, :, turn % DEPTH] = trial.move - point.move
        plain = ~taken
        if plain.any():
            # Without a history the next trial is the plain step, which is always taken.
            past[:, plain] = 0.0
            trial = trial.where(taken, point)
        point = trial
        result[rows.places] = point.after
    return result.reshape(batch + inputs)


@dataclass(frozen=True)
class _Point:
    """Log-masses of each row, and what one step from there does."""

    log: Floats
    after: Floats
    move: Floats
    value: Floats
    length: Floats

    def only(self, keep: Flags) -> _Point:
        """Some of the rows."""
        return _Point(*(part[keep] for part in self._parts()))

    def where(self, taken: Flags, other: _Point) -> _Point:
        """These rows where ``taken``, else the other's."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return _Point(*(np.where(taken if a.ndim == 1 else taken[:, None], a, b) for a, b in pairs))

    def _parts(self) -> tuple[Floats, ...]:
        return self.log, self.after, self.move, self.value, self.length


@dataclass(frozen=True)
class _Batch:
    """Rows still being fitted; ``places`` are their positions in the whole batch."""

    law: Channel
    shares: Floats
    total: Floats
    amount: Floats
    project: Project | None
    places: Rows
    apart: int = 0

    def only(self, keep: Flags) -> _Batch:
        """Some of the rows."""
        parts = (self.shares[keep], self.total[keep], self.amount[keep])
        return _Batch(self.law, *parts, self.project, self.places[keep], self.apart)

    def feasible(self, masses: Floats) -> Floats:
        """Positive masses that sum to one and obey the projection."""
        masses = np.maximum(masses, FLOOR / masses.shape[1])
        if self.project is None:
            scaled: Floats = masses / masses.sum(axis=1, keepdims=True)
            return scaled
        return self.project(masses.reshape(-1, *self.law.inputs), self.places).reshape(masses.shape)

    def evaluate(self, masses: Floats) -> _Point:
        """One step from given masses."""
        inputs, outputs = self.law.inputs, self.law.outputs
        fitted = self.law.forward(masses.reshape(-1, *inputs)).reshape(self.shares.shape)
        ratio = self.shares / np.maximum(fitted, LEAST)
        value = -np.einsum("ij,ij->i", self.shares, np.log(np.where(ratio > 0, ratio, 1.0)))
        after = masses * self.law.adjoint(ratio.reshape(-1, *outputs)).reshape(masses.shape)
        if self.amount.any():
            cells = after.shape[1] - self.apart
            if self.apart:
                after[:, :cells] = smooth(after[:, :cells], self.amount, 1)
            else:
                after = smooth(after.reshape(-1, *inputs), self.amount, len(inputs))
        after = self.feasible(after.reshape(masses.shape))
        log = np.log(masses)
        move = np.log(after) - log
        return _Point(log, after, move, value, self.total * np.einsum("ij,ij->i", after, move**2))


def _mix(point: _Point, past: Floats) -> Floats:
    """Log-masses by Anderson's combination of past steps (Walker and Ni 2011, unconstrained form).

    Least squares weighted by the masses: log-masses of empty cells drift without end.
    """
    shifts, moves = past
    weighted = moves * point.after[:, None, :]
    gram = weighted @ moves.swapaxes(1, 2)
    ridge = 1e-10 * np.trace(gram, axis1=1, axis2=2) + np.finfo(np.float64).tiny
    gram += ridge[:, None, None] * np.eye(DEPTH)
    right = weighted @ point.move[:, :, None]
    share = np.linalg.solve(gram, right).swapaxes(1, 2)
    combined: Floats = point.log + point.move - (share @ (shifts + moves))[:, 0]
    return combined


def _exp(logs: Floats) -> Floats:
    masses = np.exp(logs - logs.max(axis=1, keepdims=True))
    scaled: Floats = masses / masses.sum(axis=1, keepdims=True)
    return scaled
