"""Coarser grids for estimates, and laws between coarse cells and binned reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.lattice import Lattice
from confide.mechanisms.laws import Law, Product

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


def coarsen(law: Law, counts: Floats, sizes: Sequence[int]) -> tuple[Law | Reduced, Floats]:
    """The law on ``sizes`` equal coarse cells an axis, and the counts binned to match.

    A cell of the law that lies across the edge of two coarse ones belongs to both by its parts, so
    that coarse cells are equal whatever the sizes.
    """
    if tuple(sizes) == tuple(law.inputs):
        return law, counts
    matrices = []
    for axis, size in enumerate(sizes):
        part = law.laws[axis] if isinstance(law, Product) else law
        cells, reports = part.inputs[0], part.outputs[0]
        bins = np.arange(0, reports, -(-reports // (FINENESS * size)))
        columns = np.empty((bins.size, size))
        # One stretch of columns at a time: on a fine lattice all of them would be gigabytes.
        some = max(1, min(32, STRETCH // reports))
        for first in range(0, size, some):
            edges = np.arange(first, min(first + some, size) + 1) * (cells / size)
            below = np.clip(edges[:, None] - np.arange(cells), 0, 1)
            spread = part.forward(np.diff(below, axis=0) * (size / cells))
            columns[:, first : first + some] = np.add.reduceat(spread, bins, axis=1).T
        matrices.append(columns)
        counts = np.add.reduceat(counts, bins, axis=axis)
    return Reduced(tuple(matrices)), counts


def coarse_edges(lattice: Lattice, size: int) -> Floats:
    """Edges of ``size`` coarse cells: equal on the lattice's own scale."""
    if size == lattice.size:
        return lattice.edges
    edges = lattice.position(np.arange(size + 1) * (lattice.size / size) - 0.5, exact=True)
    edges[[0, -1]] = lattice.edges[[0, -1]]
    return edges
