"""Whole numbers and "prefer not to say" pass every audit, and mutants of them are caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from confide import Lattice, RandomizedResponse, SquareWave, Survey, audits
from confide.audits import Finding
from confide.exact.entropy import Entropy
from confide.exact.inversion import Inversion, weighted
from confide.mechanisms import Laplace, Mechanism
from confide.mechanisms.laws import Declinable
from confide.mechanisms.protocol import with_declined

LATTICE = Lattice(low=0, high=100, size=40)
DAYS = Lattice(low=0, high=60, kind="integer")
UNEVEN = Lattice(low=-7, high=1993, size=300, kind="integer")
DECLINE: dict[str, Any] = {"epsilon": 1.0, "prefer_not_to_say": True}


def layers(subject: Mechanism) -> dict[str, Finding]:
    return {
        "exact": audits.exact(subject),
        "grid": audits.grid(subject, n=2**18),
        "index": audits.index(subject),
        "goodness": audits.goodness(subject, n=20_000, seed=1),
        "sampled": audits.sampled(subject, n=20_000, seed=1),
        "joint": audits.joint(subject, n=4000, seed=1),
    }


@pytest.mark.parametrize(
    "subject",
    [
        SquareWave(LATTICE, **DECLINE),
        SquareWave(DAYS, **DECLINE),
        SquareWave(DAYS, epsilon=1.0),
        SquareWave(UNEVEN, **DECLINE),
        SquareWave(Lattice(low=0, high=1, size=2), **DECLINE),
        SquareWave(Lattice(low=1, high=1000, size=41, scale="log"), **DECLINE),
        SquareWave(Lattice(low=0, high=1, size=41, scale="zoom", zoom=(0.2, 0.3)), **DECLINE),
        Laplace(UNEVEN, epsilon=1.0),
        RandomizedResponse(["no", "yes"], **DECLINE),
        RandomizedResponse(list("abcdefg"), **DECLINE),
    ],
    ids=str,
)
def test_every_layer_passes(subject: Mechanism) -> None:
    found = layers(subject)
    assert {name: finding.holds for name, finding in found.items()} == dict.fromkeys(found, True)
    assert found["exact"].certified <= 1.0
    assert all(finding.looked for finding in found.values())


def test_the_attack_tries_those_who_decline() -> None:
    tried = audits.subjects.pairs_of(SquareWave(LATTICE, **DECLINE))
    assert any(None in pair for pair in tried)
    both = Survey.from_dict(
        {
            "questions": {
                "pay": {"low": 0, "high": 9, "size": 12, "epsilon": 0.5, "prefer_not_to_say": True},
                "smokes": {"categories": ["no", "yes"], "epsilon": 0.5},
                "days": {"kind": "integer", "low": 0, "high": 9, "epsilon": 0.5},
            }
        }
    )
    assert audits.survey(both, n=4000, seed=2).holds


@dataclass(frozen=True)
class LightSymbol(Declinable):
    """The symbol counts as one cell where somebody answers, as 2 w + 1 where somebody declines."""

    def weights(self, index: int) -> Any:
        found = list(super().weights(index))
        return found if index == self.size else [*found[:-1], self.far]


class Light(SquareWave):
    @cached_property
    def law(self) -> Declinable:
        right = super().law
        return LightSymbol(right.size, right.reach, right.near, right.far)


class Heavier(SquareWave):
    """Twice the weight near to a value, stated."""

    @cached_property
    def law(self) -> Declinable:
        right = super().law
        return Declinable(right.size, right.reach, 2 * right.near, right.far)


class Certain(SquareWave):
    """Whoever declines says so, without noise."""

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        symbol = self.law.outputs[0] - 1
        return np.where(indices == self.law.size, symbol, super().draw(indices, entropy))


class NotMoved(SquareWave):
    """Those who decline are drawn for as if they were one more cell."""

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        slots = self.sampler.draw(entropy, indices.size)
        return np.minimum(self._placed(slots, indices), self.law.outputs[0] - 1).astype(np.int32)


class ShortTable(SquareWave):
    """The table of a square wave that nobody can decline."""

    @cached_property
    def sampler(self) -> Inversion:
        law = self.law
        return weighted([law.near] * (2 * law.reach + 1) + [law.far] * (law.size - 1))


class OneSlotShort(SquareWave):
    @cached_property
    def sampler(self) -> Inversion:
        return weighted(self._slots[:-1])


class NoneIsLow(SquareWave):
    """None counts as the lower bound."""

    def index(self, values: Any) -> Any:
        found = with_declined(self.lattice, values)
        return np.where(found == self.lattice.size, 0, found).astype(np.int32)


class HighIsNone(SquareWave):
    """The upper bound counts as declined."""

    def index(self, values: Any) -> Any:
        found = with_declined(self.lattice, values)
        return np.where(found == self.lattice.size - 1, self.lattice.size, found).astype(np.int32)


class NaNIsNone(SquareWave):
    """A NaN, which may be a mistake, counts as declined."""

    def index(self, values: Any) -> Any:
        if type(values) is np.ndarray and values.dtype == float:
            values = [None if np.isnan(value) else value for value in values]
        return with_declined(self.lattice, values)


class Circle(RandomizedResponse):
    """Steps round the circle of answers without the last place."""

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        steps = self.sampler.draw(entropy, indices.size)
        return ((indices + steps) % self.categories.size).astype(np.int32)


class Silent(RandomizedResponse):
    """Whoever declines says so, without noise."""

    def draw(self, indices: Any, entropy: Entropy) -> Any:
        size = self.categories.size
        return np.where(indices == size, size, super().draw(indices, entropy)).astype(np.int32)


class Rounded(Lattice):
    """Rounds numbers that are not whole."""

    def index(self, values: Any) -> Any:
        return super().index(np.rint(np.asarray(values, dtype=float)))


@pytest.mark.parametrize(
    ("kind", "caught"),
    [
        (Light, {"exact"}),
        (Heavier, {"exact"}),
        (Certain, {"grid", "goodness", "sampled"}),
        (NotMoved, {"grid", "goodness"}),
        (ShortTable, {"grid", "goodness"}),
        (OneSlotShort, {"grid"}),
        (NoneIsLow, {"index"}),
        (HighIsNone, {"index"}),
        (NaNIsNone, {"index"}),
    ],
)
def test_mutants_of_numbers_are_caught(kind: type[SquareWave], caught: set[str]) -> None:
    found = layers(kind(LATTICE, **DECLINE))
    assert caught <= {name for name, finding in found.items() if not finding.holds}


@pytest.mark.parametrize("kind", [Circle, Silent])
def test_mutants_of_words_are_caught(kind: type[RandomizedResponse]) -> None:
    found = layers(kind(["a", "b", "c"], **DECLINE))
    assert {"grid", "goodness"} <= {name for name, finding in found.items() if not finding.holds}


def test_rounding_is_caught() -> None:
    rounded = Rounded(low=0, high=60, kind="integer")
    assert not audits.index(SquareWave(rounded, epsilon=1.0)).holds
