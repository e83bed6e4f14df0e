"""A density from a synthetic data set whose cdf is close to that of the records."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide.accounting.spend import exact
from confide.curves import CellDensity
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling, logs_ceiling
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import ONE
from confide.exact.inversion import Part
from confide.lattice import Lattice
from confide.releases.bounded import resized
from confide.releases.release import Indices, Progress, Recipe, bounded, checked
from confide.releases.sequences import Layers, Sequences, layers

MOST_WORK = 2**25
"""Largest points * size**2: about the terms of the sums that a draw far from the data needs."""
LEAST_EPSILON = 1e-3
"""Below it a draw would hardly depend on the data and still take its time."""


@dataclass(frozen=True)
class KolmogorovSmirnov(Recipe):
    """A synthetic data set with a cdf close to that of the records, by the exponential mechanism.

    A data set z, a sequence of ``size`` cells of a public grid, is drawn with probability
    proportional to p**score. The score is the Kolmogorov-Smirnov distance n sup |F_x - F_z|
    rounded up to a whole number, and p = P / 2**62 is the smallest such fraction that is at least
    e**(-epsilon/2) (McSherry and Talwar 2007; Wasserman and Zhou 2010). One record that moves
    changes every score by at most 1, so each weight and the sum of all of them by a factor of at
    most 1/p, and every probability by at most 1/p**2 <= e**epsilon. The draw has exactly that law,
    in integers, so epsilon is pure: there is no delta.

    How long it takes depends on the records: publish the release, never its running time. With a
    ``size`` much above its default, records that lie close together are badly rendered: few of all
    the sequences do.

    Parameters
    ----------
    lattice
        Public bounds; its own cells are not used.
    epsilon
        What the release costs.
    size
        Values of the synthetic data set; by default a public rule from n and epsilon.
    points
        Cells of equal width, on the lattice's scale, that the values lie in; by default a public
        rule from n and epsilon.

    Examples
    --------
    >>> pay = Lattice(low=0, high=300_000)
    >>> recipe = KolmogorovSmirnov(pay, epsilon=1.0, size=20, points=16)
    >>> release = recipe.release([30_000.0, 42_000.0] * 500)
    >>> sum(release.noisy)
    20
    """

    name: ClassVar[str] = "kolmogorov-smirnov"

    lattice: Lattice
    _: KW_ONLY
    epsilon: float
    size: int | None = None
    points: int | None = None

    def __post_init__(self) -> None:
        bounded(self.lattice)
        checked(self)
        if self.epsilon < LEAST_EPSILON:
            raise InvalidInput(f"epsilon >= {LEAST_EPSILON:g}", f"epsilon={self.epsilon:g}")
        for name, least in (("size", 1), ("points", 2)):
            if (given := getattr(self, name)) is not None:
                whole = _checks.integer(least, MOST_WORK, **{name: given})
                object.__setattr__(self, name, whole)
        if self.size is not None and self.points is not None:
            _feasible(self.size, self.points)

    def shape(self, n: int) -> tuple[int, int]:
        """Size of the synthetic data set and number of cells for n records."""
        points = self.points or default_points(n, self.epsilon)
        size = self.size or default_size(n, self.epsilon, points)
        _feasible(size, points)
        return size, points

    def grid(self, n: int) -> Lattice:
        """The lattice that records are put on."""
        return resized(self.lattice, self.shape(n)[1])

    @cached_property
    def parameter(self) -> int:
        """The public P."""
        return exp_ceiling(-exact(self.epsilon) / 2, ONE)

    def loss(self, n: int) -> float:
        """The certified loss: twice ln(1/p)."""
        return logs_ceiling([(Fraction(ONE, self.parameter), 2)])

    def lattices(self, n: int) -> dict[str, Lattice]:
        """The lattice that records are put on."""
        return {"": self.grid(n)}

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """Blocks of sequences, and whether one that is drawn is kept."""
        return prepared.parts()  # type: ignore[no-any-return]

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values."""
        grid = self.grid(len(_checks.vector(values=values)))
        return grid.index(values).astype(np.int64)

    def prepare(self, indices: Indices, tell: Progress) -> Layers:
        """Compute everything that needs no draw."""
        size, points = self.shape(len(indices))
        upto = np.bincount(indices, minlength=points).cumsum()
        return layers(Sequences(tuple(upto.tolist()), size), self.parameter, tell)

    def draw(self, prepared: Layers, entropy: Entropy) -> list[int]:
        """Draw the release, from integers and fair words only."""
        return prepared.draw(entropy)

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""
        size, points = self.shape(n)
        facts = {"size": size, "points": points}
        curve = CellDensity(
            (self.grid(n).edges,),
            np.array(noisy, dtype=np.float64) / size,
            facts={"method": self.name, "n": n, "epsilon": self.epsilon, **facts},
        )
        return {"facts": facts, "curve": curve}


def default_points(n: int, epsilon: float) -> int:
    """Cells as the cube root of n min(1, epsilon), the rate of a histogram."""
    return int(min(max(8.0, 3 * (n * min(1.0, epsilon)) ** (1 / 3)), 128.0))


def default_size(n: int, epsilon: float, points: int) -> int:
    """Half of (n min(1, epsilon))**(2/3).

    The rate is that of Wasserman and Zhou (2010). Half of it serves a smooth population as well as
    the whole, and a concentrated one, which fewer data sets resemble, better.
    """
    most = int((MOST_WORK / points) ** 0.5)
    return max(1, min(int((n * min(1.0, epsilon)) ** (2 / 3) / 2), most))


def _feasible(size: int, points: int) -> None:
    if points * size**2 > MOST_WORK:
        raise InvalidInput(
            f"points * size**2 <= {MOST_WORK}",
            f"points={points}, size={size}",
            "Take a smaller synthetic data set or fewer points.",
        )
