"""Prefer not to say: weights counted by hand, the draw slot by slot, who counts as declined."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide import Lattice, RandomizedResponse, SquareWave, accounting, mechanisms
from confide.errors import InvalidInput, Unsupported
from confide.exact.entropy import Entropy
from confide.mechanisms import Joint, Laplace
from confide.mechanisms.laws import Band, Declinable
from confide.mechanisms.protocol import several

WAVE = SquareWave(Lattice(low=0, high=10, size=10), epsilon=1.0, prefer_not_to_say=True)
WORDS = RandomizedResponse(["no", "yes"], epsilon=1.0, prefer_not_to_say=True)
LATTICES = [(size, reach) for size in (2, 3, 4, 7, 12) for reach in (0, 1, 2, 5, 20)]


def by_hand(size: int, reach: int, near: int, far: int) -> list[list[int]]:
    """The weights as they are written in the paper's terms, one report at a time."""
    columns = []
    for index in range(size + 1):
        column = []
        for report in range(size + 2 * reach):
            close = index < size and index <= report <= index + 2 * reach
            column.append(near if close else far)
        symbol = near if index == size else far
        columns.append([*column, symbol * (2 * reach + 1)])
    return columns


@pytest.mark.parametrize(("size", "reach"), LATTICES)
def test_weights_are_those_counted_by_hand(size: int, reach: int) -> None:
    for near, far in ((3, 2), (2**41 + 1, 2**40), (7, 1)):
        law = Declinable(size, reach, near, far)
        columns = by_hand(size, reach, near, far)
        assert [list(law.weights(index)) for index in range(size + 1)] == columns
        assert {sum(column) for column in columns} == {law.total}
        # Every pair of inputs, every report, in fractions.
        worst = max(
            Fraction(one[report], other[report])
            for one, other in product(columns, repeat=2)
            for report in range(size + 2 * reach + 1)
        )
        assert worst == Fraction(near, far) == law.ratio()


def test_without_a_reach_it_is_one_more_category() -> None:
    law, band = Declinable(4, 0, 9, 2), Band(5, 0, 9, 2)
    assert [law.weights(i) for i in range(5)] == [band.weights(i) for i in range(5)]


@pytest.mark.parametrize("symbol", [1, 2, 4, 7])
def test_another_weight_of_the_symbol_costs_more(symbol: int) -> None:
    # Only 2 w + 1 cells balance the totals; with fewer or more the loss exceeds the declared one.
    size, reach, near, far = 12, 1, 27, 10
    columns = [[*column[:-1], column[-1] // 3 * symbol] for column in by_hand(12, 1, near, far)]
    totals = [sum(column) for column in columns]
    worst = max(
        Fraction(columns[i][r] * totals[j], columns[j][r] * totals[i])
        for i, j in product(range(size + 1), repeat=2)
        for r in range(size + 2 * reach + 1)
    )
    assert worst > Fraction(near, far)


class Slots(Entropy):
    """Makes the sampler return slots in their order, whatever words it asks for."""

    def words(self, n: int, bits: int) -> Any:
        raise AssertionError("no word is needed")


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("size", [2, 3, 10, 61])
def test_one_table_of_slots_serves_every_input(size: int, epsilon: float) -> None:
    lattice = Lattice(low=0, high=1, size=size)
    wave = SquareWave(lattice, epsilon=epsilon, prefer_not_to_say=True)
    law, (part,) = wave.law, wave.parts()
    near = 2 * law.reach + 1
    assert part.weights == [law.near] * near + [law.far] * (size - 1 + near)
    slots = np.arange(len(part.weights), dtype=np.int32)

    class Given:
        def draw(self, entropy: Entropy, n: int) -> Any:
            return slots.copy()

    object.__setattr__(wave, "sampler", Given())
    for index in range(size + 1):
        indices = np.full(slots.size, index, dtype=np.int32)
        reports = wave.draw(indices, Slots())
        found: Counter[int] = Counter()
        for report, weight in zip(reports.tolist(), part.weights, strict=True):
            found[report] += weight
        assert [found[r] for r in range(law.outputs[0])] == list(law.weights(index))
        assert (indices == index).all()
    # The order that devices in other languages keep to.
    last = np.full(slots.size, size, dtype=np.int32)
    assert wave.draw(last, Slots()).tolist() == [size + near - 1] * near + list(
        range(size - 1 + near)
    )
    first = wave.draw(np.zeros(slots.size, dtype=np.int32), Slots()).tolist()
    assert first == [*range(near), *range(near, near + size - 1), *[size + near - 1] * near]


class Counting(Entropy):
    """Counts the words that are read."""

    def __init__(self) -> None:
        self.read: list[tuple[int, int]] = []

    def words(self, n: int, bits: int) -> Any:
        self.read.append((n, bits))
        return np.full(n, 1_234_567_891, dtype=np.uint32)


@pytest.mark.parametrize("mechanism", [WAVE, WORDS], ids=["numbers", "words"])
def test_words_read_do_not_depend_on_who_declines(mechanism: Any) -> None:
    read = []
    for index in range(mechanism.law.inputs[0]):
        entropy = Counting()
        mechanism.draw(np.array([index], dtype=np.int32), entropy)
        read.append(entropy.read)
    assert read == [[(1, 32)]] * len(read)


@pytest.mark.parametrize(
    "values",
    [
        [2.5, None, 9.0],
        (2.5, None, 9.0),
        np.array([2.5, None, 9.0], dtype=object),
        np.ma.array([2.5, 0.0, 9.0], mask=[False, True, False]),
        np.ma.array([2, 7, 9], mask=[False, True, False]),
        pd.Series([2.5, None, 9.0]),
        pd.Series([2, None, 9], dtype="Int64"),
        pa.array([2.5, None, 9.0]),
        pa.chunked_array([[2.5], [None, 9.0]]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_none_is_declined(values: Any) -> None:
    assert WAVE.index(values).tolist() == [2, 10, 9]
    assert WAVE.index(values).dtype == np.int32
    assert len(WAVE.privatize(values)) == 3


def test_one_person_may_decline() -> None:
    assert several(None) == [None]
    assert WAVE.index([None]).tolist() == [10]
    assert len(WAVE.privatize(None)) == 1
    assert len(WORDS.privatize(None)) == 1


@pytest.mark.parametrize(
    "values",
    [
        ["no", None, "yes"],
        np.array(["no", None, "yes"], dtype=object),
        pd.Series(["no", None, "yes"]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_words_may_be_declined(values: Any) -> None:
    assert WORDS.index(values).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    "values",
    [
        [float("nan")],
        [1.0, float("nan")],
        np.array([1.0, np.nan]),
        [None, "secret"],
        [None, True],
        [None, float("inf")],
        np.array([None, "secret"], dtype=object),
        [],
        [[None]],
        "declined",
        pa.array([1.0, float("nan")]),
    ],
    ids=str,
)
def test_nothing_else_is(values: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        WAVE.privatize(values)
    assert "secret" not in str(caught.value)


def test_who_was_not_offered_it_cannot_decline() -> None:
    for mechanism in (SquareWave(WAVE.lattice, epsilon=1.0), Laplace(WAVE.lattice, epsilon=1.0)):
        with pytest.raises(InvalidInput):
            mechanism.privatize([1.0, None])
    with pytest.raises(InvalidInput):
        RandomizedResponse(["no", "yes"], epsilon=1.0).privatize(["no", None])


def test_the_offer_is_part_of_the_mechanism() -> None:
    plain = SquareWave(WAVE.lattice, epsilon=1.0)
    assert "prefer_not_to_say" not in plain.to_dict()
    assert WAVE.to_dict()["prefer_not_to_say"] is True
    assert plain.fingerprint != WAVE.fingerprint
    assert mechanisms.from_dict(WAVE.to_dict()) == WAVE
    assert mechanisms.from_dict(WORDS.to_dict()) == WORDS
    for wrong in (1, "yes", None):
        with pytest.raises(InvalidInput, match="prefer_not_to_say"):
            SquareWave(WAVE.lattice, epsilon=1.0, prefer_not_to_say=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="prefer_not_to_say"):
            mechanisms.from_dict({**WORDS.to_dict(), "prefer_not_to_say": wrong})


def test_fingerprints_of_others_are_as_they_were() -> None:
    # Surveys that run already must not change: these were written before anybody could decline.
    plain = SquareWave(Lattice(low=0, high=300_000), epsilon=1.0)
    words = RandomizedResponse(["no", "yes"], epsilon=1.0)
    assert set(plain.to_dict()) == {"mechanism", "lattice", "epsilon", "reach", "weights"}
    assert set(plain.to_dict()["lattice"]) == {"low", "high", "size", "scale"}
    assert set(words.to_dict()) == {"mechanism", "categories", "epsilon", "weights"}
    assert plain.fingerprint == "8650056bb830b25dbe404a6fdeea39e2"
    assert words.fingerprint == "adf59e66d455fd79a8f3771b1bac3e7d"


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="'declined'"):
        RandomizedResponse(["yes", "declined"], epsilon=1.0, prefer_not_to_say=True)
    RandomizedResponse(["yes", "declined"], epsilon=1.0)
    with pytest.raises(InvalidInput, match="one column of answers"):
        WAVE.privatize(pytest.importorskip("pandas").DataFrame({"a": [1.0, None]}))
    with pytest.raises(Unsupported, match="prefer_not_to_say"):
        Joint({"a": WAVE, "b": SquareWave(WAVE.lattice, epsilon=1.0)})


@pytest.mark.parametrize("mechanism", [WAVE, WORDS], ids=["numbers", "words"])
def test_shuffling_knows_the_law(mechanism: Any) -> None:
    spend = accounting.shuffled(mechanism, n=10_000, delta=1e-6)
    assert 0 < spend.epsilon < 0.2
    ratio, least = accounting.shuffling.parameters(mechanism.law)
    assert ratio == Fraction(mechanism.law.near, mechanism.law.far)
    columns = [mechanism.law.weights(i) for i in range(mechanism.law.inputs[0])]
    rows = [sorted(row) for row in zip(*columns, strict=True)]
    assert least == min(Fraction(row[0], row[-1] + row[-2]) for row in rows)
