"""A density as a cosine series with noise on its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from confide import _validate
from confide.lattice import Lattice
from confide.releases.base import bounded, checked
from confide.releases.tables import Floats, Integers, TableRelease

MOST_TERMS = 256
ROUGHNESS = 3000.0
"""Public guess of the squared bias of a single term, for the default number of terms."""


@dataclass(frozen=True)
class Series(TableRelease):
    """A density by its first cosine coefficients.

    Blocks of coefficients that cannot be told from noise are shrunk towards 0 (James and Stein).

    Parameters
    ----------
    lattice
        Public bounds and cells; the series lives on the lattice's own scale.
    epsilon
        What the release costs.
    terms
        Number of coefficients; by default a public rule from n and epsilon.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = Series(pay, epsilon=1.0).release([30_000.0, 42_000.0] * 500)
    >>> release.curve.sample(3).shape
    (3,)
    """

    name: ClassVar[str] = "series"

    lattice: Lattice
    epsilon: float
    terms: int | None = None

    def __post_init__(self) -> None:
        bounded(self.lattice)
        checked(self)
        if self.terms is not None:
            most = min(MOST_TERMS, self.cells - 1)
            object.__setattr__(self, "terms", _validate.integer(1, most, terms=self.terms))

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        return {"lattice": self.lattice.to_dict(), "epsilon": self.epsilon, "terms": self.terms}

    def size(self, n: int) -> int:
        """Number of coefficients released for n records."""
        return self.terms or min(default_terms(n, self.epsilon), self.cells - 1)

    def table(self, n: int) -> Integers:
        """Integer cosines of each cell."""
        return integer_waves(self.size(n), self.cells, self.unit)

    def _masses(self, coefficients: Floats, n: int) -> Floats:
        orders = np.arange(1, coefficients.size + 1)
        # The mean of a cosine over a cell is its value at the centre times a sinc.
        damped = shrunk(coefficients, self._noise_sd(n) ** 2 + 1 / n)
        damped *= np.sinc(orders / (2 * self.cells))
        masses: Floats = (1 + damped @ waves(coefficients.size, self.cells)) / self.cells
        return masses


def waves(terms: int, cells: int) -> Floats:
    """Cosines of the first orders at the centres of equal cells of the unit interval."""
    orders = np.arange(1, terms + 1)[:, None]
    found: Floats = np.sqrt(2) * np.cos(np.pi * orders * (np.arange(cells) + 0.5) / cells)
    return found


@lru_cache(maxsize=16)
def integer_waves(terms: int, cells: int, unit: int) -> Integers:
    """The same in whole units."""
    table: Integers = np.rint(unit * waves(terms, cells)).astype(np.int64)
    table.flags.writeable = False
    return table


def shrunk(coefficients: Floats, variance: float) -> Floats:
    """Noisy coefficients times the share of each block's size that is not noise.

    Blocks grow with the order, as in Efromovich (1985) and Cai (1999).
    """
    result = coefficients.copy()
    start = 0
    while start < result.size:
        block = result[start : start + 1 + start // 3]
        size = float(block @ block)
        block *= max(0.0, 1 - block.size * variance / size) if size > 0 else 0.0
        start += block.size
    return result


def default_terms(n: int, epsilon: float) -> int:
    """The number of terms with the least expected squared error for a guessed roughness."""
    m = np.arange(1, MOST_TERMS + 1)
    # About 1.8 m in units of 1/n is the L1 sensitivity of m cosines.
    error = ROUGHNESS / m**4.0 + m / n + 2 * m * (1.8 * m / (n * epsilon)) ** 2
    return int(m[np.argmin(error)])
