"""Releases of integer sums with noise on each, which is all that one record can be hidden by."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from confide._types import Integers
from confide.exact.enclosures import logs_ceiling
from confide.exact.entropy import Entropy
from confide.exact.parts import Part, within
from confide.exact.unbounded import DiscreteLaplace
from confide.releases.release import Noise, Recipe

Totals = Integers | Sequence[int]


class Additive(Recipe):
    """Integer sums over the records, and noise made for the most that one record can change them.

    What that is each kind states for itself. The tests and `audits.exact` find it by running
    ``sums`` on neighbouring data sets.
    """

    @abstractmethod
    def noises(self, n: int) -> tuple[Noise, ...]:
        """The noise of each group of sums, for n records."""

    @abstractmethod
    def sums(self, prepared: Any, entropy: Entropy) -> list[Totals]:
        """The integers before noise, one group for each noise. Private.

        The entropy is for putting records in an order that does not depend on their values.
        """

    def records(self, prepared: Any) -> int:
        """How many records were prepared."""
        return len(prepared)

    def loss(self, n: int) -> float:
        """The certified loss: that of all the integers together."""
        return logs_ceiling(
            noise.power for noise in self.noises(n) if isinstance(noise, DiscreteLaplace)
        )

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The parts of each noise, as many sums as it is added to."""
        noises = self.noises(self.records(prepared))
        return tuple(
            part for at, noise in enumerate(noises) for part in within(f"noise {at}", noise.parts())
        )

    def draw(self, prepared: Any, entropy: Entropy) -> list[int]:
        """What is released: integers and fair words only."""
        groups = self.sums(prepared, entropy)
        noises = self.noises(self.records(prepared))
        found: list[int] = []
        for totals, noise in zip(groups, noises, strict=True):
            found += added(totals, noise.draw(entropy, len(totals)))
        return found


def added(totals: Totals, noise: Integers) -> list[int]:
    """Sums plus noise, in integers that cannot overflow."""
    return [int(total) + int(part) for total, part in zip(totals, noise, strict=True)]
