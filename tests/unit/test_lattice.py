from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import InvalidInput
from confide.lattice import Categories, Lattice


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
    with pytest.raises(InvalidInput, match="another str at position 1"):
        Categories(("no", "yes")).index(["no", "maybe"])
    with pytest.raises(InvalidInput):
        Categories(("no", "yes")).index([None])
