"""Private samples of records whose columns have finitely many values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide._contents import content
from confide.errors import InvalidInput
from confide.lattice import MAX_SIZE, Categories, Lattice
from confide.mechanisms.mollification import Mollification, Weights
from confide.mechanisms.samples import Numbers, Sampler
from confide.randomness import Entropy

Axis = Categories | Lattice


@dataclass(frozen=True, eq=False)
class FiniteMollifier(Sampler):
    """Samples of categorical or mixed records: one cell of a product of categories and lattices.

    The shares of the respondent's records in the cells are mollified (equation (8) of Husain,
    Balle, Cranko and Nock, 2020) and a cell is drawn.

    Parameters
    ----------
    columns
        Categories or a lattice for each column, by name; up to 2**20 cells in all.
    epsilon
        Privacy loss of one sample, at most.
    reference
        Positive public masses of the cells, one axis a column; uniform by default. The nearer it
        is to what respondents hold, the better the samples; it must never come from the records.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the whole data set for one sample,
    k epsilon for k, exactly: see `Mollification`.

    Examples
    --------
    >>> columns = {"smokes": Categories(("no", "yes")), "age": Lattice(low=0, high=100, size=10)}
    >>> sampler = FiniteMollifier(columns, epsilon=1.0)
    >>> records = {"smokes": ["no", "no", "yes"], "age": [31, 44, 60]}
    >>> samples = sampler.privatize(records, k=2)
    >>> samples.spend
    Spend(epsilon=2)
    >>> sorted(samples.points)
    ['age', 'smokes']
    """

    name: ClassVar[str] = "finite-mollifier"
    columns: Mapping[str, Axis]
    epsilon: float = field(kw_only=True)
    reference: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise InvalidInput(
                "categories or lattices by column name", _validate.shown(self.columns)
            )
        for name, axis in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput("names that are words", _validate.shown(name))
            if not isinstance(axis, Categories | Lattice):
                raise InvalidInput(f"Categories or a Lattice for {name!r}", _validate.shown(axis))
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        if self.outcomes > MAX_SIZE:
            raise InvalidInput(
                f"at most {MAX_SIZE} cells", str(self.outcomes), "Take fewer or coarser columns."
            )
        if self.reference is not None:
            given = _validate.array(reference=self.reference)
            if given.dtype.kind not in "iuf" or given.shape != self.shape:
                raise InvalidInput(f"masses of shape {self.shape}", f"shape {given.shape}")
            object.__setattr__(self, "reference", _validate.frozen(given.astype(np.float64)))
        object.__setattr__(self, "epsilon", self.band.epsilon)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return _rebuilt, (dict(self.columns), self.epsilon, self.reference)

    def __repr__(self) -> str:
        return f"FiniteMollifier({list(self.columns)}, epsilon={self.epsilon:g})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(axis.size for axis in self.columns.values())

    @property
    def outcomes(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @cached_property
    def band(self) -> Mollification:
        """The bounds of every cell's weight."""
        masses = np.ones(self.outcomes) if self.reference is None else np.ravel(self.reference)
        return Mollification(masses, epsilon=self.epsilon)

    def weights(self, records: Any) -> Weights:
        """The exact law of one sample: integer weights of the cells, for study by the holder."""
        counts = np.bincount(self.index(records), minlength=self.outcomes)
        with np.errstate(divide="ignore"):
            return self.band.weights(np.log(counts) - np.log(self.band.reference))

    def index(self, records: Any) -> Numbers:
        """Cell number of each record."""
        found = []
        for name, axis in self.columns.items():
            try:
                column = records[name]
            except Exception:  # each kind of table has its own error for this
                known = ", ".join(self.columns)
                raise InvalidInput(f"columns {known}", f"no column {name!r}") from None
            found.append(axis.index(column))
        if len({column.size for column in found}) != 1:
            sizes = ", ".join(str(column.size) for column in found)
            raise InvalidInput("columns of the same length", f"lengths {sizes}")
        return np.ravel_multi_index(tuple(found), self.shape).astype(np.int64)

    def locate(self, numbers: Numbers) -> dict[str, npt.NDArray[Any]]:
        """Columns of the sampled records: labels, and centres of lattice cells."""
        at = np.unravel_index(np.asarray(numbers, dtype=np.int64), self.shape)
        return {
            name: (np.array(axis.labels) if isinstance(axis, Categories) else axis.centers)[place]
            for (name, axis), place in zip(self.columns.items(), at, strict=True)
        }

    def rows(self, numbers: Numbers) -> list[Any]:
        """One object a sample, by column name."""
        columns = {name: column.tolist() for name, column in self.locate(numbers).items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        masses = None if self.reference is None else np.asarray(self.reference).tolist()
        return {
            "mechanism": self.name,
            "columns": [{"name": name, **axis.to_dict()} for name, axis in self.columns.items()],
            "epsilon": self.epsilon,
            "reference": masses,
        }

    def _prepare(self, records: Any) -> Weights:
        return self.weights(records)

    def _content(self, records: Any) -> bytes:
        return content(self.index(records))

    def _draw(self, prepared: Weights, entropy: Entropy, k: int) -> Numbers:
        return self.band.draw(prepared, entropy, k)


def _rebuilt(columns: Mapping[str, Axis], epsilon: float, reference: Any) -> FiniteMollifier:
    return FiniteMollifier(columns, epsilon=epsilon, reference=reference)
