"""A regression or a classifier on numbers and words: the quadratic risk of all records, noised."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from confide import _checks
from confide._types import Floats, Integers
from confide.accounting.spend import exact
from confide.curves.additive import AdditiveModel, basis
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, gaussian, gaussian_delta, laplace
from confide.lattice import Axis, Categories, axes_from_list, listed_axes
from confide.mechanisms.protocol import NONE, Kinds
from confide.releases.bounded import indexed, resized, split
from confide.releases.means import checked_delta
from confide.releases.release import (
    BOUNDS,
    Additive,
    Indices,
    Noise,
    Totals,
    bounded,
    checked,
)

UNIT = 2**10
"""What a record adds to the coefficients of one column, in all."""
CELLS = 1024
"""Cells of a column of numbers, at most."""
MOST_COEFFICIENTS = 512
"""Of all columns together."""
PART = 2**16
"""Records whose products are held at a time."""


@dataclass(frozen=True)
class LeastSquares(Additive):
    """A classifier or a regression, from numbers and words, whose training data stay private.

    The model is a sum of effects, one for each column: a Bernstein polynomial of a number, one number for
    each word. A column of words as the target makes it a classifier, one of numbers a regression.
    The squared loss of all records is a quadratic form in the coefficients, and its entries are
    sums over the records: these are released with noise, and fitting models to them costs nothing
    more.

    Parameters
    ----------
    columns
        Public bounds or categories of every column, by name, the target among them.
    target
        Name of the column to predict.
    epsilon
        What the release costs.
    delta
        0 for Laplace noise and pure epsilon; else the delta of Gaussian noise, far below 1 / n.
    degree
        Degree of the polynomials of numbers; 1 is a straight line.

    Notes
    -----
    **Formal guarantee.** A record's entries in one column are whole numbers from 0 on that add up
    to UNIT, so its products in a pair of columns add up to UNIT**2, and so do its entries in the
    polynomials of twice the degree that hold the squares of a column of numbers. No entry is
    negative: of two records the absolute differences add up to at most 2 UNIT**2 in each of these
    b blocks, and their squares to at most 2 UNIT**4, which two records at opposite ends reach.
    Exact noise for 2 b UNIT**2, or for the squares 2 b UNIT**4, gives epsilon-differential privacy,
    or (epsilon, delta) where there is a delta.

    That the loss is squared for classes too is no approximation of another one: any loss that is
    quadratic in the score (Taylor or Bernstein polynomials of degree two of the logistic loss among
    them) leads to the same boundary between two classes. Zhang et al. (2012) add noise to such
    coefficients, and Alda and Rubinstein (2017) to those of Bernstein polynomials.

    Examples
    --------
    >>> from confide import Categories, Lattice
    >>> columns = {
    ...     "age": Lattice(low=17, high=90),
    ...     "sex": Categories(("female", "male")),
    ...     "smokes": Categories(("no", "yes")),
    ... }
    >>> table = {"age": [30, 60] * 500, "sex": ["male", "female"] * 500, "smokes": ["no", "yes"] * 500}
    >>> release = LeastSquares(columns, target="smokes", epsilon=1.0).release(table)
    >>> release.model.predict({"age": [25, 62], "sex": ["male", "female"]}).tolist()
    ['no', 'yes']
    """  # noqa: E501

    name: ClassVar[str] = "least-squares"

    columns: Mapping[str, Axis]
    _: KW_ONLY
    target: str
    epsilon: float
    delta: float = 0.0
    degree: int = 4

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or len(self.columns) < 2:
            raise InvalidInput(
                "public bounds or categories of two or more columns, by name",
                _checks.kind(self.columns),
                BOUNDS,
            )
        kept: dict[str, Axis] = {}
        for name, axis in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput("names of columns", _checks.shown(name))
            kept[name] = axis if isinstance(axis, Categories) else bounded(axis)
        object.__setattr__(self, "columns", kept)
        _checks.one_of(tuple(kept), target=self.target)
        checked(self)
        object.__setattr__(self, "delta", checked_delta(self.delta))
        object.__setattr__(self, "degree", _checks.integer(1, 16, degree=self.degree))
        if sum(self.sizes) > MOST_COEFFICIENTS:
            raise InvalidInput(
                f"at most {MOST_COEFFICIENTS} coefficients",
                str(sum(self.sizes)),
                "Take a lower degree, or fewer columns or words.",
            )

    def made_of(self) -> dict[str, Any]:
        """The fields, with names and bounds or categories of the columns as a list."""
        fields = {key: getattr(self, key) for key in self.json_keys()}
        return {**fields, "columns": listed_axes(self.columns)}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        make: Callable[..., Self] = cls
        return make(**{**made, "columns": axes_from_list(made["columns"])})

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The cells and categories that records are put on, the target last."""
        order = [*(name for name in self.columns if name != self.target), self.target]
        return {
            name: axis if isinstance(axis, Categories) else resized(axis, min(axis.size, CELLS))
            for name, axis in ((name, self.columns[name]) for name in order)
        }

    def _degree(self, name: str) -> int:
        """A number that is predicted is on a straight line."""
        return 1 if name == self.target else self.degree

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of coefficients of each column."""
        return tuple(
            axis.size if isinstance(axis, Categories) else self._degree(name) + 1
            for name, axis in self.axes.items()
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of columns whose products are summed."""
        return [(a, b) for b in range(len(self.axes)) for a in range(b)]

    @property
    def squares(self) -> list[int]:
        """Columns of numbers to predict from, whose squares are summed as well.

        Those of words are the words themselves, which every pair has.
        """
        several = enumerate(list(self.axes.values())[:-1])
        return [at for at, axis in several if not isinstance(axis, Categories)]

    @property
    def blocks(self) -> int:
        """Number of times that a record adds UNIT**2."""
        return len(self.pairs) + len(self.squares)

    @property
    def length(self) -> int:
        """Number of sums."""
        products = sum(self.sizes[a] * self.sizes[b] for a, b in self.pairs)
        return products + len(self.squares) * (2 * self.degree + 1)

    @property
    def noise(self) -> Noise:
        """The noise on each sum."""
        if self.delta:
            return gaussian(self.epsilon, self.delta, self.squared_sensitivity, self.length)
        return laplace(exact(self.epsilon), self.sensitivity)

    @property
    def sensitivity(self) -> int:
        """The sum of absolute changes that one record can cause."""
        return 2 * self.blocks * UNIT**2

    @property
    def squared_sensitivity(self) -> int:
        """The sum of squared changes that one record can cause."""
        return 2 * self.blocks * UNIT**4

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all sums."""
        return (self.noise,)

    def loss(self, n: int) -> float:
        """The certified loss; of Gaussian noise epsilon itself, at which `slack` is certified."""
        return self.epsilon if self.delta else super().loss(n)

    def slack(self, n: int) -> float:
        """The certified delta of Gaussian noise."""
        if isinstance(self.noise, DiscreteLaplace):
            return 0.0
        change = (self.noise, self.squared_sensitivity, self.length)
        return gaussian_delta([change], exact(self.epsilon))

    def lattices(self, n: int) -> dict[str, Axis]:
        """Cells and categories by column, the target last."""
        return dict(self.axes)

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values, one row a record, the target last."""
        found = indexed(list(self._given.values()), split(self._given, values))
        return found[:, [list(self._given).index(name) for name in self.axes]]

    @cached_property
    def _given(self) -> dict[str, Axis]:
        """The axes in the order that the columns were given in, which rows of numbers have."""
        return {name: self.axes[name] for name in self.columns}

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The products of each pair of columns, and the squares, summed over the records."""
        several = self.axes.items()
        tables = [entries(axis, self._degree(name), UNIT) for name, axis in several]
        axes = list(self.axes.values())
        doubled = [entries(axes[at], 2 * self.degree, UNIT**2) for at in self.squares]
        products = [np.zeros((self.sizes[a], self.sizes[b]), np.int64) for a, b in self.pairs]
        for start in range(0, len(prepared), PART):
            rows = prepared[start : start + PART]
            own = [table[rows[:, at]] for at, table in enumerate(tables)]
            for at, (a, b) in enumerate(self.pairs):
                products[at] += own[a].T @ own[b]
        found = [total.ravel() for total in products]
        for at, table in zip(self.squares, doubled, strict=True):
            found.append(np.bincount(prepared[:, at], minlength=len(table)) @ table)
        return [np.concatenate(found)]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """The model that fits what was released, and nothing else."""
        sd = self.noise.sd / UNIT**2
        gram, right, mean = self._risk([total / UNIT**2 for total in noisy], n)
        # About the size of the noise in the matrix: what it cannot tell from 0 is shrunk to it.
        ridge = 1 + sd * math.sqrt(len(gram))
        values, vectors = np.linalg.eigh(gram)
        solved = vectors @ ((vectors.T @ right) / (np.maximum(values, 0) + ridge)[:, None])
        ends = np.cumsum(self.sizes[:-1])[:-1]
        axes = dict(self.axes)
        outcome = axes.pop(self.target)
        facts = {"blocks": self.blocks, "sums": len(noisy), "noise_sd": sd, "ridge": ridge}
        model = AdditiveModel(
            axes, tuple(np.split(solved, ends)), target=self.target, outcome=outcome, mean=mean,
            facts={**self._facts(n), **facts},
        )  # fmt: skip
        return {"facts": facts, "model": model}

    def _risk(self, sums: list[float], n: int) -> tuple[Floats, Floats, Floats]:
        """The quadratic form, its linear part, and the mean of the target."""
        sizes, rest, last = self.sizes, np.array(sums), len(self.sizes) - 1
        blocks: dict[tuple[int, int], Floats] = {}
        for a, b in self.pairs:
            own, rest = np.split(rest, [sizes[a] * sizes[b]])
            blocks[a, b] = own.reshape(sizes[a], sizes[b])
        alone = [self._marginal(at, blocks) for at in range(len(sizes))]
        for at in self.squares:
            own, rest = np.split(rest, [2 * self.degree + 1])
            blocks[at, at] = squared(self.degree) * own[np.add.outer(*[np.arange(sizes[at])] * 2)]
        for at in set(range(last)) - set(self.squares):
            blocks[at, at] = np.diag(np.maximum(alone[at], 0))
        gram = np.block(
            [[blocks[a, b] if a <= b else blocks[b, a].T for b in range(last)] for a in range(last)]
        )
        words = isinstance(self.axes[self.target], Categories)
        shown = slice(None) if words else slice(1, 2)
        # In a straight line from 0 to 1 the second polynomial is the number itself.
        mean = np.clip(alone[last] / n, 0, 1)[shown]
        right = np.concatenate([
            blocks[at, last][:, shown] - np.outer(alone[at], mean) for at in range(last)
        ])  # fmt: skip
        return gram, right, mean

    def _marginal(self, at: int, blocks: Mapping[tuple[int, int], Floats]) -> Floats:
        """The sums of a column alone: the other one of each pair adds up to one."""
        total, weight = np.zeros(self.sizes[at]), 0.0
        for (a, b), own in blocks.items():
            if at in (a, b):
                # The noise of as many sums as the other column has coefficients.
                other = 1 / self.sizes[b if at == a else a]
                total += other * own.sum(axis=1 if at == a else 0)
                weight += other
        return total / weight


@lru_cache(maxsize=64)
def entries(axis: Axis, degree: int, unit: int) -> Integers:
    """Whole-number weights of each coefficient in each cell; all rows have one sum."""
    exactly = basis(axis, degree) * unit
    table: Integers = np.floor(exactly).astype(np.int64)
    # Whole units that rounding down has left go to the largest remainders.
    order = np.argsort(-(exactly - table), axis=1, kind="stable")
    missing = unit - table.sum(axis=1)
    np.put_along_axis(
        table, order,
        np.take_along_axis(table, order, axis=1) + (np.arange(table.shape[1]) < missing[:, None]),
        axis=1,
    )  # fmt: skip
    assert (table >= 0).all()
    assert (table.sum(axis=1) == unit).all()
    table.flags.writeable = False
    return table


@lru_cache(maxsize=16)
def squared(degree: int) -> Floats:
    """How many times a product of two polynomials is the one of twice the degree at their sum."""
    one = [math.comb(degree, j) for j in range(degree + 1)]
    both = [math.comb(2 * degree, j) for j in range(2 * degree + 1)]
    return np.array([[a * b / both[i + j] for j, b in enumerate(one)] for i, a in enumerate(one)])
