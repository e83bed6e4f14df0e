"""Shares of all combinations of several columns, of numbers and words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise, product
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import DiscreteLaplace, laplace
from confide.lattice import Axis, Categories, Lattice, axes_from_list, listed_axes
from confide.mechanisms.protocol import NONE, Kinds
from confide.releases.bounded import counted, indexed, split
from confide.releases.noise_intervals import share_interval
from confide.releases.release import (
    BOUNDS,
    Additive,
    Indices,
    Noise,
    Release,
    Totals,
    bounded,
    checked,
)

MOST_CELLS = 10_000


@dataclass(frozen=True)
class CrossTable(Additive):
    """The share of people with each combination of words and cells of numbers.

    Parameters
    ----------
    columns
        Categories, or a lattice with as many cells as the table should have, by column name.
    epsilon
        What the release costs.
    level
        Confidence level of each share's interval, which holds sampling and privacy noise.

    Notes
    -----
    **Formal guarantee.** One record that changes moves one count down and another up, so the
    counts have sensitivity 2, and the noise is exact: epsilon-differential privacy.

    Examples
    --------
    >>> from confide import Categories, Lattice
    >>> columns = {
    ...     "smokes": Categories(("no", "yes")), "age": Lattice(low=0, high=100, size=2)
    ... }
    >>> table = {"smokes": ["no", "no", "no", "yes"] * 50, "age": [20, 30, 60, 70] * 50}
    >>> release = CrossTable(columns, epsilon=1.0).release(table)
    >>> list(release.answers)[:2]
    ['smokes no, age 0 to 50', 'smokes no, age 50 to 100']
    """

    name: ClassVar[str] = "cross-table"

    columns: Mapping[str, Axis]
    _: KW_ONLY
    epsilon: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise InvalidInput(
                "categories or lattices by column name", _checks.kind(self.columns), BOUNDS
            )
        kept: dict[str, Axis] = {}
        for name, axis in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput("names of columns", _checks.shown(name))
            kept[name] = axis if isinstance(axis, Categories) else bounded(axis)
        object.__setattr__(self, "columns", kept)
        if math.prod(self.shape) > MOST_CELLS:
            raise InvalidInput(
                f"at most {MOST_CELLS:,} cells",
                f"{math.prod(self.shape):,}",
                "Take fewer columns, or lattices with fewer cells.",
            )
        if len(set(self.names)) < math.prod(self.shape):
            raise InvalidInput("cells with names of their own", "two of one name")
        checked(self)
        object.__setattr__(self, "level", _checks.level(self.level))

    def made_of(self) -> dict[str, Any]:
        """The fields, with the columns as a list."""
        columns = listed_axes(self.columns)
        return {"columns": columns, "epsilon": self.epsilon, "level": self.level}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        make: Callable[..., Self] = cls
        return make(**{**made, "columns": axes_from_list(made["columns"])})

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(axis.size for axis in self.columns.values())

    @property
    def names(self) -> list[str]:
        """The name of each cell: of all columns, and its word or bounds in each."""
        return [", ".join(cell) for cell in product(*map(_named, self.columns.items()))]

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each count."""
        return laplace(exact(self.epsilon), 2)

    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of all counts."""
        return (self.noise,)

    def lattices(self, n: int) -> dict[str, Axis]:
        """The columns."""
        return dict(self.columns)

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values, one row a record."""
        return indexed(list(self.columns.values()), split(self.columns, values))

    def sums(self, prepared: Indices, entropy: Entropy) -> list[Totals]:
        """The counts."""
        return [counted(list(self.columns.values()), prepared).ravel()]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Shares with intervals from what was released alone."""
        answers = {}
        for name, count in zip(self.names, noisy, strict=True):
            low, high = share_interval(count, n, self.noise, self.level)
            value = min(max(count / n, 0.0), 1.0)
            answers[name] = {"value": value, "low": low, "high": high, "level": self.level}
        return {
            "answers": answers,
            "facts": {"cells": list(self.shape), "noise_sd": self.noise.sd / n},
        }


def _named(column: tuple[str, Axis]) -> list[str]:
    """The name of each cell of a column."""
    name, axis = column
    if isinstance(axis, Categories):
        return [f"{name} {label}" for label in axis.labels]
    return [f"{name} {a:.12g} to {b:.12g}" for a, b in pairwise(axis.edges.tolist())]


def rows_of(
    release: Release, n: int, *, integers: Sequence[str] = (), seed: int | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Synthetic rows of a released cross table; they cost no further privacy.

    Counts below 0 become 0. A number lies anywhere in its cell.

    Parameters
    ----------
    release
        What `CrossTable.release` gave.
    n
        How many rows.
    integers
        Columns of whole numbers.
    seed
        For rows that can be drawn again.

    Examples
    --------
    >>> from confide import Categories
    >>> made = CrossTable({"sex": Categories(("f", "m"))}, epsilon=1.0).release({"sex": ["f"] * 99})
    >>> rows_of(made, 3, seed=1)["sex"].tolist()
    ['f', 'f', 'f']
    """
    if not isinstance(release, Release) or release.spec.get("release") != CrossTable.name:
        raise InvalidInput("the release of a CrossTable", _checks.shown(type(release)))
    columns = axes_from_list(release.spec["columns"])
    numbers = tuple(name for name, axis in columns.items() if not isinstance(axis, Categories))
    for name in integers:
        _checks.one_of(numbers, integers=name)
    kept = np.maximum(np.array(release.noisy, dtype=np.float64), 0)
    shares = kept / kept.sum() if kept.sum() > 0 else np.full(kept.size, 1 / kept.size)
    rng = np.random.default_rng(seed)
    shape = tuple(axis.size for axis in columns.values())
    places = np.unravel_index(rng.choice(kept.size, _checks.integer(1, n=n), p=shares), shape)
    rows: dict[str, npt.NDArray[Any]] = {}
    for (name, axis), at in zip(columns.items(), places, strict=True):
        if isinstance(axis, Categories):
            rows[name] = np.array(axis.labels)[at]
        else:
            inside = rng.random(at.size)
            if name in integers:
                rows[name] = _whole(axis, at, inside)
                continue
            low, high = axis.edges[at], axis.edges[at + 1]
            rows[name] = low + (high - low) * inside
    return rows


def _whole(axis: Lattice, at: Indices, inside: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Whole numbers of some cells, each as likely as the others of its cell.

    One on the edge between two cells is counted in the upper one. A cell without any has the
    nearest.
    """
    first = np.ceil(axis.edges)
    last = np.append(first[1:-1] - 1, math.floor(axis.high))
    first = first[:-1]
    drawn = first[at] + np.floor(inside * np.maximum(last - first + 1, 1)[at])
    middle = np.clip(np.rint(axis.centers), math.ceil(axis.low), math.floor(axis.high))
    found = np.where((last >= first)[at], drawn, middle[at])
    return found.astype(np.int64)
