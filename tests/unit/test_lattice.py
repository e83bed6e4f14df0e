from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import InvalidInput
from confide.lattice import LN2, SQRT2, Categories, Lattice, portable_log


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 3000), st.floats(-2e6, 2e6))
def test_a_value_falls_into_its_cell(low: float, width: float, size: int, value: float) -> None:
    lattice = Lattice(low=low, high=low + width, size=size)
    index = int(lattice.index([value])[0])
    clipped = min(max(value, lattice.low), lattice.high)
    slack = 1e-9 * (abs(low) + width)
    assert lattice.edges[index] - slack <= clipped <= lattice.edges[index + 1] + slack


def test_log_cells_have_equal_ratios() -> None:
    lattice = Lattice(low=1, high=1000, size=3, scale="log")
    np.testing.assert_allclose(lattice.edges, [1, 10, 100, 1000])
    np.testing.assert_allclose(lattice.centers, [5.5, 55, 550])
    np.testing.assert_allclose(lattice.position([0, 1, 2]), lattice.centers)
    assert lattice.index([5, 50, 500]).tolist() == [0, 1, 2]


def plain_log(number: float) -> float:
    """The steps of docs/tutorials/porting.md, one number at a time."""
    exponent = 0
    while number >= SQRT2:
        number /= 2
        exponent += 1
    s = (number - 1) / (number + 1)
    series = 0.0
    for odd in range(23, 0, -2):
        series = series * (s * s) + 1 / odd
    return exponent * LN2 + 2 * s * series


@pytest.mark.parametrize("most", [1e-9, 0.3, 0.7, 12, 690])
def test_the_portable_logarithm(most: float) -> None:
    numbers = np.exp(np.random.default_rng(1).uniform(0, most, 2000))
    found = portable_log(numbers)
    right = np.array([math.log(number) for number in numbers])
    assert (np.abs(found - right) <= 4 * np.spacing(right)).all()
    assert found.tolist() == [plain_log(number) for number in numbers.tolist()]


@pytest.mark.parametrize(
    ("low", "high", "size"), [(1, 1000, 3), (0.01, 1e6, 1024), (1e-149, 1e149, 64), (3, 3.1, 4096)]
)
def test_log_cells_are_those_of_the_portable_logarithm(low: float, high: float, size: int) -> None:
    lattice = Lattice(low=low, high=high, size=size, scale="log")
    edges = lattice.edges
    random = np.exp(np.random.default_rng(1).uniform(math.log(low), math.log(high), 5000))
    beside = [np.nextafter(edges, way) for way in (-np.inf, np.inf)]
    values = np.clip(np.concatenate([edges, *beside, random]), low, high)
    whole = plain_log(high / low)
    cells = [math.trunc(min(plain_log(v / low) / whole * size, size - 1)) for v in values.tolist()]
    assert lattice.index(values).tolist() == cells


def test_index_does_not_depend_on_the_batch() -> None:
    lattice = Lattice(low=0, high=1, size=1000)
    values = np.random.default_rng(1).random(600_000)
    whole = lattice.index(values)
    assert (whole[-10:] == lattice.index(values[-10:])).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"low": 1, "high": 1}, "low < high"),
        ({"low": 2, "high": 1}, "low < high"),
        ({"low": float("nan"), "high": 1}, "finite low"),
        ({"low": 0, "high": float("inf")}, "finite high"),
        ({"low": -1.7e308, "high": 1.7e308}, "bounds within"),
        ({"low": "0", "high": 1}, "finite low"),
        ({"low": 0, "high": 1, "size": 1}, "size"),
        ({"low": 0, "high": 1, "size": 2.5}, "size"),
        ({"low": 0, "high": 1, "size": True}, "size"),
        ({"low": 0, "high": 1, "size": 2**30}, "size"),
        ({"low": 0, "high": 1, "scale": "log"}, "low > 0"),
        ({"low": 0, "high": 1, "scale": "lgo"}, "Did you mean 'log'"),
        ({"low": 1, "high": 1 + 1e-14, "size": 1024}, "tell apart"),
    ],
)
def test_bad_lattices_get_a_sentence(arguments: dict, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Lattice(**arguments)


def test_json_form() -> None:
    lattice = Lattice(low=1, high=9, size=5, scale="log")
    assert Lattice.from_dict(lattice.to_dict()) == lattice
    with pytest.raises(InvalidInput, match="Did you mean 'high'"):
        Lattice.from_dict({"low": 0, "hihg": 1})
    with pytest.raises(InvalidInput, match="'high'"):
        Lattice.from_dict({"low": 0})


@pytest.mark.parametrize("labels", [["a"], ["a", "a"], ["a", ""], ["a", 1], "ab", 3, []])
def test_bad_categories_get_a_sentence(labels: object) -> None:
    with pytest.raises(InvalidInput):
        Categories(labels)  # type: ignore[arg-type]


def test_unknown_answers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="another word in row 2"):
        Categories(("no", "yes")).index(["no", "maybe"])
    with pytest.raises(InvalidInput):
        Categories(("no", "yes")).index([None])


def whole(low: int, high: int, size: int = 1024) -> Lattice:
    return Lattice(low=low, high=high, size=size, kind="integer")


@pytest.mark.parametrize(
    ("low", "high", "size", "cells", "each"),
    [
        (0, 60, 1024, 61, 1),
        (0, 60, 61, 61, 1),
        (0, 60, 60, 31, 2),
        (0, 60, 30, 21, 3),
        (-5, 4, 5, 5, 2),
        (0, 1023, 1024, 1024, 1),
        (0, 1024, 1024, 513, 2),
        (0, 300_000, 1024, 1024, 293),
        (0, 1, 2, 2, 1),
        (0, 2, 2, 2, 2),
    ],
)
def test_whole_numbers_are_shared_out(
    low: int, high: int, size: int, cells: int, each: int
) -> None:
    lattice = whole(low, high, size)
    assert (lattice.size, lattice.step) == (cells, each)
    numbers = np.arange(low, high + 1)
    indices = lattice.index(numbers)
    # By counting: equally many a cell, and what is left in the last.
    np.testing.assert_array_equal(indices, np.arange(numbers.size) // each)
    held = np.bincount(indices, minlength=cells)
    assert (held[:-1] == each).all()
    assert 0 < held[-1] <= each
    assert lattice.uneven == (held[-1] < each)
    np.testing.assert_array_equal(lattice.widths, held)
    means = [numbers[indices == cell].mean() for cell in (0, cells // 2, cells - 1)]
    np.testing.assert_allclose(lattice.centers[[0, cells // 2, cells - 1]], means)
    spread = [numbers[indices == cell].var() for cell in (0, cells - 1)]
    np.testing.assert_allclose(lattice.spreads[[0, -1]], spread, atol=1e-12)
    assert lattice.edges[0] == low - 0.5
    assert lattice.edges[-1] == high + 0.5
    # Whoever reads it again gets the same cells.
    assert Lattice.from_dict(lattice.to_dict()) == lattice


def test_whole_numbers_beyond_the_bounds_count_as_the_bounds() -> None:
    lattice = whole(0, 60)
    assert lattice.index([-1, -1e300, 61, 1e300, 2**62]).tolist() == [0, 0, 60, 60, 60]
    assert lattice.index(np.array([3], dtype=np.uint8)).tolist() == [3]


@pytest.mark.parametrize("odd", [0.5, -0.1, 60.5, 1e-300, 60.00000000000001])
def test_nothing_is_rounded(odd: float) -> None:
    with pytest.raises(InvalidInput, match="position 1") as caught:
        whole(0, 60).index([1.0, odd])
    assert str(odd) not in str(caught.value)


def test_far_whole_numbers_have_exact_cells() -> None:
    lattice = whole(-(2**50), 2**50, 1000)
    step = int(lattice.step)
    first = -(2**50)
    for cell in (1, 333, 999):
        start = first + cell * step
        assert lattice.index([start - 1, start]).tolist() == [cell - 1, cell]


def test_numbers_are_as_they_were() -> None:
    lattice = Lattice(low=0, high=300_000)
    assert lattice.to_dict() == {"low": 0.0, "high": 300_000.0, "size": 1024, "scale": "linear"}
    assert not lattice.uneven
    np.testing.assert_array_equal(lattice.spreads, lattice.widths**2 / 12)


@pytest.mark.parametrize(
    "fields",
    [
        {"low": 0.5, "high": 9},
        {"low": 0, "high": 2.0**51},
        {"low": 1, "high": 9, "scale": "log"},
        {"low": 0, "high": 9, "kind": "whole"},
        {"low": 0, "high": 9, "kind": None},
    ],
)
def test_bounds_of_whole_numbers_are_whole(fields: dict) -> None:
    with pytest.raises(InvalidInput):
        Lattice.from_dict({"kind": "integer", **fields})
