"""A density as a cosine series with noise on its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.lattice import Lattice
from confide.releases.base import bounded, checked
from confide.releases.tables import UNIT, Floats, TableRelease

MOST_TERMS = 256
ROUGHNESS = 1000.0
"""Public guess of sum_j j**4 beta_j**2, for the default number of terms."""


@dataclass(frozen=True)
class Series(TableRelease):
    """A density by its first cosine coefficients.

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
            most = min(MOST_TERMS, self.grid.size - 1)
            object.__setattr__(self, "terms", _validate.integer(1, most, terms=self.terms))

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        return {"lattice": self.lattice.to_dict(), "epsilon": self.epsilon, "terms": self.terms}

    def size(self, n: int) -> int:
        """Number of coefficients released for n records."""
        return self.terms or min(default_terms(n, self.epsilon), self.grid.size - 1)

    def table(self, n: int) -> npt.NDArray[np.int64]:
        """Integer cosines of each cell."""
        orders = np.arange(1, self.size(n) + 1)[:, None]
        waves = np.sqrt(2) * np.cos(np.pi * orders * self._places)
        table: npt.NDArray[np.int64] = np.rint(UNIT * waves).astype(np.int64)
        return table

    def _masses(self, coefficients: Floats) -> Floats:
        size = self.grid.size
        orders = np.arange(1, coefficients.size + 1)
        # The mean of a cosine over a cell is its value at the centre times a sinc.
        damped = coefficients * np.sinc(orders / (2 * size))
        waves = np.sqrt(2) * np.cos(np.pi * orders[:, None] * self._places)
        masses: Floats = (1 + damped @ waves) / size
        return masses


def default_terms(n: int, epsilon: float) -> int:
    """The number of terms with the least expected squared error for a guessed roughness."""
    m = np.arange(1, MOST_TERMS + 1)
    # About 1.8 m in units of 1/n is the L1 sensitivity of m cosines.
    error = ROUGHNESS / m**4.0 + m / n + 2 * m * (1.8 * m / (n * epsilon)) ** 2
    return int(m[np.argmin(error)])
