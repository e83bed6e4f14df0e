"""How well a recipe would suit the data: an integer that one record can change by so much only.

A density f on the lattice's own scale, the range being one, has the integrated squared error
``int f**2 - 2 E f(X) + const``. Without the constant, 2 mean_i f_{-i}(x_i) - int f**2 estimates
minus that without bias, f_{-i} being the estimate without record i (Rudemo 1982, Bowman 1984): for
an estimate that is linear in the records it is a sum over pairs of them. What the privacy noise
adds to the error is public and is taken off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.errors import InvalidInput
from confide.releases._columns import Bounds, named
from confide.releases.base import Indices
from confide.releases.bernstein import Bernstein, polynomials
from confide.releases.gaussian_process import GaussianProcess, smoother
from confide.releases.histogram import Histogram
from confide.releases.series import Series
from confide.releases.tables import UNIT

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

HEIGHT = 8
"""A histogram is scored as if cut off at so many times the uniform density: see `CountScore`."""


class Score(ABC):
    """The score of one candidate for n records, the larger the better."""

    noise: float
    """Integrated squared error that the privacy noise adds, expected and public."""

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """What one is worth in the integer of `total`."""

    @property
    @abstractmethod
    def step(self) -> int:
        """The most that one record can change `total` by, exactly."""

    @abstractmethod
    def total(self, indices: Indices) -> int:
        """The score of the estimate without noise, in whole units."""

    @property
    def sensitivity(self) -> Fraction:
        """The most that one record can change the score by, exactly."""
        return self.step * self.unit

    def apart(self, other: Score) -> Fraction:
        """The most that one record can change the difference of two scores by, or a bound."""
        return self.sensitivity + other.sensitivity

    def value(self, indices: Indices) -> Fraction:
        """The score, exactly. Private."""
        return self.total(indices) * self.unit - Fraction(self.noise)


@dataclass(frozen=True)
class CountScore(Score):
    """The score of a histogram, cut off at ``HEIGHT``.

    With m cells and counts c the score is m / (n**2 (n-1)) times the sum of
    s(c) = 2 n c (c-1) - (n-1) c**2. One record could change that by 2 m (n+1) / n**2, the more
    the finer the cells, and the choice would be lost in that for all but the largest n. So the
    estimate is scored as if cut off at C = ceil(HEIGHT n / m) records a cell,

        s(c) = 2 n c (min(c, C) - 1) - (n-1) min(c, C)**2,

    which is minus an error still: the squared one where the density is below HEIGHT, linear above.
    A record that leaves a cell with p others for one with q changes the sum by
    [s(q+1) - s(q)] - [s(p+1) - s(p)]. These steps are 2 (n+1) c - (n-1) for c < C, ascending, and
    2 n (C-1) from C on; the least is -(n-1), at p = 0, and q may be anything up to n-1 beside it.
    """

    n: int
    shape: tuple[int, ...]
    noise: float

    @property
    def cells(self) -> int:
        """Cells in all."""
        return int(np.prod(self.shape))

    @property
    def cut(self) -> int:
        """The C above."""
        return -(-HEIGHT * self.n // self.cells)

    @property
    def unit(self) -> Fraction:
        """Worth of one."""
        return Fraction(self.cells, self.n**2 * (self.n - 1))

    @property
    def step(self) -> int:
        """Exactly what one record can do."""
        n, cut = self.n, self.cut
        climb = 2 * (n + 1) * (min(n, cut) - 1) - (n - 1)
        return max(climb, 2 * n * (cut - 1) if n > cut else climb) + (n - 1)

    def total(self, indices: Indices) -> int:
        """The sum of s over the cells; an empty one adds nothing."""
        flat = np.ravel_multi_index(tuple(indices.T), self.shape)
        n, found = self.n, 0
        for count, cells in zip(*np.unique(np.bincount(flat), return_counts=True), strict=True):
            c, low = int(count), min(int(count), self.cut)
            found += int(cells) * (2 * n * c * (low - 1) - (n - 1) * low**2)
        return found


@dataclass(frozen=True, eq=False)
class PairScore(Score):
    """The score of a linear estimate on a lattice, from what each pair of records adds.

    ``pairs`` (symmetric) holds what two records in cells a and b add, ``alone`` what one adds with
    itself. A record that goes from a to b changes the total by
    sum_k 2 (pairs[b, x_k] - pairs[a, x_k]) + alone[b] - alone[a] over the n - 1 others, which is
    linear in where they are: it is largest with all of them in one cell c, so the exact bound is
    the largest range, over c, of 2 (n-1) pairs[:, c] + alone.
    """

    n: int
    pairs: Integers
    alone: Integers
    noise: float

    @classmethod
    def of(cls, n: int, responses: Floats, noise: float) -> PairScore:
        """From responses[g, a]: the estimate's height in cell g for a single record in cell a."""
        squares = (1 - 1 / n) * responses.T @ responses / len(responses)
        pairs = responses + responses.T - (squares + squares.T) / 2
        whole = np.rint(UNIT * pairs).astype(np.int64)
        return cls(n, whole, np.rint(-UNIT * np.diag(squares)).astype(np.int64), noise)

    @property
    def unit(self) -> Fraction:
        """Worth of one."""
        return Fraction(1, UNIT * self.n * (self.n - 1))

    @property
    def step(self) -> int:
        """Exactly what one record can do."""
        moved = 2 * (self.n - 1) * self.pairs + self.alone[:, None]
        return int(np.ptp(moved, axis=0).max())

    def apart(self, other: Score) -> Fraction:
        """Exactly: on one lattice the difference of two scores is a score of the same form."""
        if not isinstance(other, PairScore) or len(other.pairs) != len(self.pairs):
            return super().apart(other)
        between = PairScore(self.n, self.pairs - other.pairs, self.alone - other.alone, 0.0)
        return between.sensitivity

    def total(self, indices: Indices) -> int:
        """The sum over pairs of different records, and over records."""
        counts = np.bincount(indices.ravel(), minlength=len(self.pairs))
        sums = self.pairs @ counts - np.diag(self.pairs) + self.alone
        return sum(int(c) * int(s) for c, s in zip(counts, sums, strict=True))


@singledispatch
def score(recipe: Any, n: int) -> Score:
    """The score of a recipe for n records; register a function for a kind to make it a candidate.

    Parameters
    ----------
    recipe
        The candidate.
    n
        Number of records, at least two.
    """
    raise InvalidInput("a candidate that has a score", f"a {type(recipe).__name__}")


@score.register
def _(recipe: Histogram, n: int) -> Score:
    shape = tuple(grid.size for grid in recipe.grids(n))
    return CountScore(n, shape, float(np.prod(shape)) ** 2 * (recipe.noise.sd / n) ** 2)


@score.register
def _(recipe: Series, n: int) -> Score:
    waves = recipe.table(n) / UNIT
    return PairScore.of(n, 1 + waves.T @ waves, _added(waves, recipe.noise(n).sd / (n * UNIT)))


@score.register
def _(recipe: Bernstein, n: int) -> Score:
    _single(recipe.lattice)
    table = recipe.table(n) / UNIT
    basis = recipe.cells * polynomials(len(table) - 1, recipe.cells)
    return PairScore.of(n, basis.T @ table, _added(basis, recipe.noise(n).sd / (n * UNIT)))


@score.register
def _(recipe: GaussianProcess, n: int) -> Score:
    _single(recipe.lattice)
    (table,) = recipe.tables(n)
    basis = len(table.T) * smoother(table).T
    return PairScore.of(n, basis.T @ table, _added(basis, recipe.noise(n).sd / n))


def _single(lattice: Bounds) -> None:
    """Refuse several columns: pairs of their cells would be too many."""
    if len(named(lattice)) > 1:
        raise InvalidInput("candidates of one column", "more", "Histograms may have several.")


def _added(basis: Floats, sd: float) -> float:
    """Expected integrated square of independent noise times each function of the basis."""
    return float((basis**2).mean(axis=1).sum()) * sd**2
