"""The naive sampler: one record at random, under the noise of a mechanism for single values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from confide import _checks, mechanisms
from confide._types import Floats
from confide.accounting import Spend
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.inversion import Part
from confide.lattice import Categories
from confide.ledger.bindings import content
from confide.mechanisms.protocol import NONE, Kinds, Mechanism
from confide.sampling.sampler import Numbers, Sampler


@dataclass(frozen=True, eq=False)
class NaiveSampler(Sampler):
    """A_R of Husain, Balle, Cranko and Nock (2020): draw one record, and randomize it.

    A baseline. It looks at one record only, so that its law is that of the records blurred by the
    mechanism's noise. What is lost for one sample is won for many: the law is linear in the
    records, so that an estimator can undo it for a whole population, as it does for any reports.

    Parameters
    ----------
    mechanism
        The local randomizer R: `Laplace` or `RandomizedResponse`, or a `Joint` of such; its reports
        are again values of the same kind.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy of the whole data set for one sample,
    exactly. The law is a mixture of the mechanism's laws, whichever way the record is chosen.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> sampler = NaiveSampler(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0))
    >>> sampler.privatize([0.2, 0.25, 0.8], k=2).spend
    Spend(epsilon=2)
    """

    name: ClassVar[str] = "naive"
    mechanism: Mechanism
    epsilon: float = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise InvalidInput("a mechanism, such as Laplace(...)", _checks.shown(self.mechanism))
        spend = self.mechanism.spend
        if spend.delta or not math.isfinite(spend.epsilon):
            raise InvalidInput("a mechanism of pure, finite epsilon", repr(spend))
        if self.shape != self.mechanism.law.inputs:
            raise InvalidInput(
                "a mechanism whose reports are values themselves",
                self.mechanism.name,
                "Take Laplace or RandomizedResponse.",
            )
        object.__setattr__(self, "epsilon", spend.epsilon)

    def cost(self, k: int) -> Spend:
        """What k samples cost together: the mechanism leaves no margin, so it is rounded up."""
        spend = self.mechanism.spend
        whole = k * Fraction(spend.epsilon)
        epsilon = float(whole)
        if Fraction(epsilon) < whole:
            epsilon = math.nextafter(epsilon, math.inf)
        return Spend(epsilon, note=spend.note)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(self.mechanism.law.outputs)

    @property
    def outcomes(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def masses(self, records: Any) -> Floats:
        """The law of one sample: probabilities of the cells, for study by the holder."""
        indices = self.mechanism.index(records)
        counts = np.bincount(self._flat(indices), minlength=self.outcomes)
        return self.blurred(counts.reshape(self.shape) / len(indices))

    def blurred(self, shares: npt.ArrayLike) -> Floats:
        """The law of one sample, from the shares of the records in the cells."""
        return self.mechanism.law.forward(np.asarray(shares, dtype=np.float64))

    def locate(self, numbers: Numbers) -> dict[str, npt.NDArray[Any]]:
        """Columns of the sampled records: labels, and centers of lattice cells."""
        at = np.unravel_index(np.asarray(numbers, dtype=np.int64), self.shape)
        return {
            name: (np.array(axis.labels) if isinstance(axis, Categories) else axis.centers)[place]
            for (name, axis), place in zip(self.mechanism.axes.items(), at, strict=True)
        }

    def rows(self, numbers: Numbers) -> list[Any]:
        """One object a sample, by column name."""
        columns = {name: column.tolist() for name, column in self.locate(numbers).items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def inner(self) -> Mapping[str, Mechanism]:
        """The randomizer, whose guarantee is that of the samples."""
        return {"": self.mechanism}

    def odds(self) -> Fraction:
        """That of the randomizer: a mixture of its laws has no larger one."""
        return self.mechanism.law.ratio()

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The randomizer's; which record it gets does not matter."""
        return self.mechanism.parts()

    @classmethod
    def json_keys(cls) -> tuple[str, ...]:
        """The mechanism has another name in JSON, where that is the kind."""
        return ("randomizer",)

    def made_of(self) -> dict[str, Any]:
        """The randomizer."""
        return {"randomizer": self.mechanism.to_dict()}

    def stated(self) -> dict[str, Any]:
        """The cost of a sample."""
        return {"epsilon": self.epsilon}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        return cls(mechanisms.from_dict(made["randomizer"]))

    def __repr__(self) -> str:
        return f"NaiveSampler({self.mechanism!r})"

    def _flat(self, indices: npt.NDArray[Any]) -> Numbers:
        columns = indices[:, None] if indices.ndim == 1 else indices
        numbers: Numbers = np.ravel_multi_index(tuple(columns.T), self.shape).astype(np.int64)
        return numbers

    def prepare(self, records: Any) -> npt.NDArray[np.int32]:
        """Compute everything that needs no draw and may fail. The result is private."""
        indices = self.mechanism.index(records)
        self.mechanism.gate(indices)
        return indices

    def _content(self, records: Any) -> bytes:
        return content(self.mechanism.index(records))

    def draw(self, prepared: npt.NDArray[np.int32], entropy: Entropy, k: int) -> Numbers:
        """Numbers of k independent outcomes."""
        # Any way to choose will do: privacy rests on the mechanism alone.
        chosen = entropy.words(k, 64) % np.uint64(len(prepared))
        return self._flat(self.mechanism.draw(prepared[chosen.astype(np.int64)], entropy))
