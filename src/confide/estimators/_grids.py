"""Coarser grids for estimates, and laws between coarse cells and binned reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.estimators._em import Floats
from confide.mechanisms.laws import Law, Product

FINENESS = 4
"""Bins of reports for each coarse cell, at most: so narrow that binning adds next to no blur."""


def block_length(size: int, target: float) -> int:
    """How many cells of ``size`` to join for about ``target``: a divisor where one is near."""
    ideal = size / target
    if ideal <= 1:
        return 1
    near = range(max(1, math.ceil(ideal / 1.5)), math.floor(ideal * 1.5) + 1)
    divisors = [k for k in near if size % k == 0]
    return min(divisors, key=lambda k: abs(math.log(k / ideal)), default=round(ideal))


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
            values = np.moveaxis(np.moveaxis(values, axis, -1) @ matrix, -1, axis)
        return values


def reduce(law: Law, counts: Floats, blocks: Sequence[int]) -> tuple[Law | Reduced, Floats]:
    """The law on cells joined by ``blocks`` along each axis, and the counts binned to match."""
    if all(block == 1 for block in blocks):
        return law, counts
    matrices = []
    for axis, block in enumerate(blocks):
        part = law.laws[axis] if isinstance(law, Product) else law
        cells, reports = part.inputs[0], part.outputs[0]
        starts = np.arange(0, cells, block)
        width = -(-reports // (FINENESS * starts.size))
        bins = np.arange(0, reports, width)
        columns = np.empty((bins.size, starts.size))
        # One stretch of columns at a time: on a fine lattice all of them would be gigabytes.
        for first in range(0, starts.size, 32):
            some = starts[first : first + 32]
            inside = (np.arange(cells) // block)[None, :] == (some // block)[:, None]
            spread = part.forward(inside / inside.sum(axis=1, keepdims=True))
            columns[:, first : first + 32] = np.add.reduceat(spread, bins, axis=1).T
        matrices.append(columns)
        counts = np.add.reduceat(counts, bins, axis=axis)
    return Reduced(tuple(matrices)), counts
