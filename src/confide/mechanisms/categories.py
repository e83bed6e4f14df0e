"""Randomized response: answers that are one of a few categories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.accounting.spend import Spend, checked_epsilon
from confide.errors import InvalidInput, Unsupported
from confide.exact.entropy import Entropy
from confide.exact.inversion import Inversion, Part, weighted
from confide.lattice import Categories, Lattice
from confide.mechanisms.laws import Band, Dense
from confide.mechanisms.protocol import DECLINED, Indices, Mechanism, with_declined
from confide.mechanisms.square_wave import FAR, near_weight


class Categorical(Mechanism):
    """A mechanism for an answer that is one of a few categories; its other fields are numbers.

    Examples
    --------
    >>> mechanism = RandomizedResponse(["no", "yes"], epsilon=1.0)
    >>> isinstance(mechanism, Categorical), mechanism.index(["yes", "no"]).tolist()
    (True, [1, 0])
    """

    needed: ClassVar[tuple[str, ...]] = ("categories", "epsilon")
    words: ClassVar[tuple[str, ...]] = ("categories",)
    categories: Categories

    @classmethod
    def asked(cls, keys: Mapping[str, Any]) -> Mechanism:
        """The mechanism that the keys of a question in a survey file describe."""
        return cls.read(keys)

    def asking(self) -> dict[str, Any]:
        """The keys of a question in a survey file: the inverse of `asked`."""
        return self.made_of()

    @property
    def axes(self) -> Mapping[str, Lattice | Categories]:
        """The one list of categories."""
        return {"": self.categories}

    def index(self, values: Any) -> Indices:
        """Numbers of the answers' categories; one more for who declined, where that is offered."""
        if self.prefer_not_to_say:
            return with_declined(self.categories, values)
        return self.categories.index(values)

    def unbiased(self, power: int) -> Floats:
        """Categories have no centers to take powers of."""
        raise Unsupported(
            "The mean of categories is not defined: estimate their shares with CategoryShares."
        )


@dataclass(frozen=True, eq=False)
class RandomizedResponse(Categorical):
    """Reports the true category with a high probability, and each other one with a low one.

    Parameters
    ----------
    categories
        The possible answers.
    epsilon
        The largest privacy loss of one report.
    prefer_not_to_say
        Whether None is an answer, "prefer not to say", as private as the others: one category
        more, after the others.

    Notes
    -----
    Formal guarantee: pure epsilon-local differential privacy, exactly: the true category has
    weight U = floor(L e**epsilon), the others L, drawn in integers from the operating system's
    entropy.

    Examples
    --------
    >>> mechanism = RandomizedResponse(["no", "yes"], epsilon=1.0)
    >>> len(mechanism.privatize(["no", "no", "yes"]))
    3
    """

    name: ClassVar[str] = "randomized-response"
    optional: ClassVar[tuple[str, ...]] = ("prefer_not_to_say",)
    categories: Categories
    epsilon: float = field(kw_only=True)
    prefer_not_to_say: bool = field(default=False, kw_only=True)

    def __init__(
        self,
        categories: Categories | Sequence[str],
        *,
        epsilon: float,
        prefer_not_to_say: bool = False,
    ) -> None:
        if not isinstance(categories, Categories):
            categories = Categories(categories)  # type: ignore[arg-type]
        object.__setattr__(self, "categories", categories)
        object.__setattr__(self, "epsilon", checked_epsilon(epsilon))
        object.__setattr__(
            self, "prefer_not_to_say", _checks.flag(prefer_not_to_say=prefer_not_to_say)
        )
        if prefer_not_to_say and DECLINED in categories.labels:
            raise InvalidInput(
                f"categories other than {DECLINED!r} where people may decline",
                f"the category {DECLINED!r}",
                "Leave it out: people who decline are counted without it.",
            )
        near_weight(self.epsilon)

    @property
    def _answers(self) -> int:
        """Categories, and one more where people may decline."""
        return self.categories.size + self.prefer_not_to_say

    @cached_property
    def law(self) -> Band:
        """Distribution of a report given a category."""
        return Band(self._answers, 0, near_weight(self.epsilon), FAR)

    @property
    def spend(self) -> Spend:
        """The declared epsilon, which bounds the exact loss."""
        return Spend(self.epsilon)

    @cached_property
    def sampler(self) -> Inversion:
        """Exact draws of a step from the true category round the circle of all."""
        return weighted(self._steps)

    @property
    def _steps(self) -> list[int]:
        return [self.law.near] + [FAR] * (self._answers - 1)

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The step from the true category round the circle of all."""
        return (Part("step", self.sampler, self._steps),)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """Step round the circle of categories."""
        steps = self.sampler.draw(entropy, indices.size)
        return ((indices + steps) % self._answers).astype(np.int32)

    def stated(self) -> dict[str, Any]:
        """The public weights that the noise really has."""
        return {"weights": [str(self.law.near), str(FAR)]}


@dataclass(frozen=True, eq=False)
class ForcedResponse(Categorical):
    """Heads: tell the truth; tails: say the last category. For estimation only.

    Old surveys used it. A person who reports the first category has told the truth, so one
    report can give everything away and no epsilon bounds it: `privatize` refuses.

    Parameters
    ----------
    categories
        Two answers, the second one being what is said on tails.
    truth
        Probability of telling the truth.

    Notes
    -----
    Formal guarantee: none. The loss is infinite.

    Examples
    --------
    >>> ForcedResponse(["no", "yes"], truth=0.5).spend.epsilon
    inf
    """

    name: ClassVar[str] = "forced-response"
    needed: ClassVar[tuple[str, ...]] = ()
    categories: Categories
    truth: float = 0.5

    def __init__(self, categories: Categories | Sequence[str], *, truth: float = 0.5) -> None:
        if not isinstance(categories, Categories):
            categories = Categories(categories)  # type: ignore[arg-type]
        if categories.size != 2:
            raise InvalidInput("two categories", f"{categories.size}")
        truth = _checks.within(0, 1, truth=truth)
        if truth in (0, 1):
            raise InvalidInput("0 < truth < 1", f"truth={truth:g}")
        object.__setattr__(self, "categories", categories)
        object.__setattr__(self, "truth", truth)

    def __repr__(self) -> str:
        labels = list(self.categories.labels)
        return f"ForcedResponse({labels!r}, truth={self.truth:g}; no finite epsilon)"

    @cached_property
    def law(self) -> Dense:
        """Distribution of a report given a category."""
        truth = Fraction(self.truth)
        heads, total = truth.numerator, truth.denominator
        return Dense(((heads, total - heads), (0, total)))

    @property
    def spend(self) -> Spend:
        """No bound at all."""
        return Spend(
            math.inf, note=f"A report of {self.categories.labels[0]!r} is certainly the truth."
        )

    @cached_property
    def sampler(self) -> Inversion:
        """Exact draws: 0 for the truth, 1 for the forced answer."""
        return weighted(self.law.columns[0])

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The coin: the truth, or the forced answer."""
        return (Part("coin", self.sampler, self.law.columns[0]),)

    def draw(self, indices: Indices, entropy: Entropy) -> Indices:
        """The truth on heads, the second category on tails."""
        tails = self.sampler.draw(entropy, indices.size)
        return np.maximum(indices, tails).astype(np.int32)
