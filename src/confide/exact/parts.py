"""What is drawn from: a sampler, and the exact law that is stated for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from confide._types import Floats
from confide.exact.entropy import Entropy
from confide.exact.inversion import Enclosure

BITS = 192
"""Precision of the probabilities that are taken of an enclosure."""


class Source(Protocol):
    """Anything that makes outcomes 0, 1, ... of fair words."""

    def draw(self, entropy: Entropy, n: int) -> npt.NDArray[Any]:
        """``n`` independent outcomes."""


@dataclass(frozen=True)
class Part:
    """One sampler that something private draws from, and the law that it states for it.

    The law is stated on its own and not read off the sampler, so that the two can be compared.

    Parameters
    ----------
    name
        What is drawn.
    sampler
        What draws it.
    weights
        Exact integer weights of the outcomes; None where only an enclosure of them is known.
    enclosure
        Integer bounds of the cumulative probabilities at any precision, where there are no weights.

    Examples
    --------
    >>> from confide.exact.inversion import weighted
    >>> Part("coin", weighted([3, 1]), (3, 1)).pmf().tolist()
    [0.75, 0.25]
    """

    name: str
    sampler: Source
    weights: Sequence[int] | None = None
    enclosure: Enclosure | None = None

    def pmf(self) -> Floats:
        """The probabilities that are stated, as floats."""
        weights = self.weights
        if weights is None:
            if self.enclosure is None:
                raise ValueError("a part states its weights or an enclosure of them")
            lower, upper = self.enclosure(BITS)
            # Twice the middle of each enclosure, from 0 to certainty.
            sums = [0, *(low + high for low, high in zip(lower, upper, strict=True)), 2 << BITS]
            weights = [after - before for before, after in pairwise(sums)]
        total = sum(weights)
        return np.array([weight / total for weight in weights])


def within(name: str, parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of something that is itself a part, with its name before theirs."""
    return tuple(replace(part, name=f"{name}, {part.name}") if name else part for part in parts)
