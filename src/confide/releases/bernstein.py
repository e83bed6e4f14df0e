"""A density as a Bernstein polynomial with noise on its coefficients (Alda and Rubinstein 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from confide import _validate
from confide.lattice import Lattice
from confide.releases.base import bounded, checked
from confide.releases.tables import UNIT, Floats, TableRelease

MOST_DEGREE = 256


@dataclass(frozen=True)
class Bernstein(TableRelease):
    """A kernel estimate at the points 0, 1/k .. 1 of the lattice's scale, noised and joined up.

    Noisy heights below 0 become 0 before they are joined.

    Parameters
    ----------
    lattice
        Public bounds and cells.
    epsilon
        What the release costs.
    degree
        The k above; by default a public rule from n and epsilon.
    bandwidth
        Standard deviation of the Gaussian kernel as a share of the range; by default from n.
    sensitivity_rule
        ``"tight"`` for the exact L1 sensitivity, or ``"sup"`` for the paper's (k + 1) times the
        kernel's height, which is two to four times as large.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> release = Bernstein(pay, epsilon=1.0).release([30_000.0, 42_000.0] * 500)
    >>> round(float(release.curve.cdf(300_000)), 9)
    1.0
    """

    name: ClassVar[str] = "bernstein"

    lattice: Lattice
    epsilon: float
    degree: int | None = None
    bandwidth: float | None = None
    sensitivity_rule: str = "tight"

    def __post_init__(self) -> None:
        bounded(self.lattice)
        checked(self)
        _validate.one_of(("tight", "sup"), sensitivity_rule=self.sensitivity_rule)
        if self.degree is not None:
            degree = _validate.integer(1, MOST_DEGREE, degree=self.degree)
            object.__setattr__(self, "degree", degree)
        if self.bandwidth is not None:
            width = _validate.within(1e-3, 10, bandwidth=self.bandwidth)
            object.__setattr__(self, "bandwidth", width)

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        return {
            "lattice": self.lattice.to_dict(),
            "epsilon": self.epsilon,
            "degree": self.degree,
            "bandwidth": self.bandwidth,
            "sensitivity_rule": self.sensitivity_rule,
        }

    def table(self, n: int) -> npt.NDArray[np.int64]:
        """Integer kernel heights at the points, for a record in each cell."""
        degree = self.degree or default_degree(n, self.epsilon)
        width = self.bandwidth or 0.15 * n**-0.2
        points = np.arange(degree + 1)[:, None] / degree
        heights = np.exp(-(((points - self._places) / width) ** 2) / 2) / (
            np.sqrt(2 * np.pi) * width
        )
        table: npt.NDArray[np.int64] = np.rint(UNIT * heights).astype(np.int64)
        return table

    def sensitivity(self, n: int) -> int:
        """The exact one, or the paper's bound on it."""
        if self.sensitivity_rule == "tight":
            return super().sensitivity(n)
        table = self.table(n)
        return len(table) * int(table.max())

    def _masses(self, coefficients: Floats) -> Floats:
        heights = np.maximum(coefficients, 0)
        k = heights.size - 1
        edges = np.arange(self.grid.size + 1) / self.grid.size
        orders = np.arange(k + 1)[:, None]
        steps = np.diff(betainc(orders + 1, k - orders + 1, edges), axis=1) / (k + 1)
        masses: Floats = heights @ steps
        return masses


def default_degree(n: int, epsilon: float) -> int:
    """A public degree: bias falls as 1/k, noise grows with k."""
    k = np.arange(4, MOST_DEGREE + 1, dtype=np.float64)
    error = (20 / k) ** 2 + k / n + 8 * (k / (n * epsilon)) ** 2
    return int(k[np.argmin(error)])
