"""The estimate from which intervals simulate surveys, to see how large a statistic may get."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide._types import Floats
from confide.estimators.declining import Answerers
from confide.estimators.em import apart, coarsen, em
from confide.summaries import Counts

CELLS = 64


@dataclass(frozen=True, eq=False)
class Pilot:
    """Masses of equal places among those who answered, and the places at which people heap.

    Parameters
    ----------
    masses : array (places,)
        Even inside each place.
    heaps
        Numbers of the places that hold a heap.
    """

    masses: Floats
    heaps: tuple[int, ...] = ()

    @classmethod
    def of(cls, counts: Counts, n: float) -> Pilot:
        """A smooth one for estimators that have none to give: EMS on at most 64 cells."""
        law = counts.mechanism.law
        extra = apart(law)
        cells = min(law.inputs[0] - extra, CELLS)
        if not n > 0:
            return cls(np.full(cells, 1 / cells))
        total = counts.total * (n / counts.total.sum())
        coarse, reports = coarsen(law, total, [cells])
        found = em(coarse, reports, smoothing=1.0, apart=extra, tolerance=1e-2, iterations=200)
        masses = found[:cells]
        return cls(masses / masses.sum())

    @property
    def heaps_between(self) -> int:
        """Number of heaps that do not lie at a bound."""
        return len(set(self.heaps) - {0, self.masses.size - 1})

    def between(self, edges: Floats) -> Floats:
        """Masses between edges, given as parts of the whole lattice."""
        line = np.append(0.0, self.masses.cumsum()) / self.masses.sum()
        places = np.asarray(edges) * self.masses.size
        found: Floats = np.diff(np.interp(places, np.arange(line.size), line))
        return found

    def everybody(self, edges: Floats, counts: Counts) -> Floats:
        """Masses between edges, and of those who declined where people may."""
        own = self.between(edges)
        if not counts.mechanism.prefer_not_to_say:
            return own
        declined = Answerers(counts).declined
        return np.append(own * (1 - declined), declined)
