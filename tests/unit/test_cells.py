"""Cells: numbers of points, the box's surface, forms, refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.curves.regression import CellRegression
from confide.errors import InvalidInput
from confide.lattice import Cells

BOX = Cells(low=[0, -1, 10], high=[1, 1, 11], shape=[2, 3, 4])


def test_numbers_run_over_the_last_axis_first() -> None:
    assert BOX.size == 24
    assert BOX.axes == 3
    assert (BOX.index(BOX.centers) == np.arange(24)).all()
    grid = np.arange(24).reshape(2, 3, 4)
    assert BOX.index([[0.6, -0.9, 10.6]])[0] == grid[1, 0, 2]


def test_edges_and_outside() -> None:
    line = Cells(low=[0], high=[1], shape=[4])
    points = [0.0, -0.0, 0.25, np.nextafter(0.25, 0), 1.0, np.nextafter(1, 2), -5e-324, 1e308, -7]
    assert line.index(points).tolist() == [0, 0, 1, 0, 3, -1, -1, -1, -1]
    assert line.index(np.array(points)[:, None]).tolist() == line.index(points).tolist()
    assert Cells(low=[0], high=[1], shape=[1]).index([0.5, 2]).tolist() == [0, -1]


def test_one_axis_outside_is_outside() -> None:
    square = Cells(low=[0, 0], high=[1, 1], shape=[3, 3])
    assert square.index([[0.5, 1.5], [-0.1, 0.5], [0.5, 0.5]]).tolist() == [-1, -1, 4]


@settings(max_examples=60, deadline=None)
@given(
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-3, 1e6),
    size=st.integers(1, 50),
    share=st.floats(-0.5, 1.5),
)
def test_a_curve_on_the_cells_finds_the_same_cell(
    low: float, width: float, size: int, share: float
) -> None:
    # What a device calls cell j is what a prediction calls cell j, to the last bit.
    line = Cells(low=[low], high=[low + width], shape=[size])
    curve = CellRegression(line.edges, np.arange(float(size)), joined=False, outside=-1.0)
    points = np.r_[line.edges[0], np.nextafter(line.edges[0], -np.inf), low + share * width]
    assert (curve.predict(points) == line.index(points)).all()


def test_forms_come_back() -> None:
    assert Cells.from_dict(BOX.to_dict()) == BOX
    assert pickle.loads(pickle.dumps(BOX)) == BOX
    assert hash(Cells.from_dict(BOX.to_dict())) == hash(BOX)
    assert BOX.edges[0][0] == 0
    with pytest.raises(ValueError, match="read-only"):
        BOX.edges[0][0] = 5


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {},
        {"low": [0], "high": [1]},
        {"low": 0, "high": 1, "shape": 4},
        {"low": [0], "high": [1], "shape": [4], "size": 4},
        {"low": [0, 0], "high": [1], "shape": [4]},
        {"low": [], "high": [], "shape": []},
        {"low": [0] * 33, "high": [1] * 33, "shape": [1] * 33},
        {"low": ["0"], "high": [1], "shape": [4]},
        {"low": [True], "high": [2], "shape": [4]},
        {"low": "0", "high": "1", "shape": "4"},
        {"low": [1], "high": [1], "shape": [4]},
        {"low": [2], "high": [1], "shape": [4]},
        {"low": [float("nan")], "high": [1], "shape": [4]},
        {"low": [-1e200], "high": [1], "shape": [4]},
        {"low": [0], "high": [1], "shape": [0]},
        {"low": [0], "high": [1], "shape": [2.0]},
        {"low": [0], "high": [1], "shape": [True]},
        {"low": [0], "high": [1], "shape": [2**21]},
        {"low": [0, 0], "high": [1, 1], "shape": [2**11, 2**11]},
        {"low": [1.0], "high": [1.0 + 4e-16], "shape": [50]},
    ],
    ids=str,
)
def test_hostile_descriptions_get_a_sentence(fields: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        Cells.from_dict(fields)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "points",
    [
        [[0.1, 0.2]],
        np.zeros((2, 2, 2)),
        [[0.1, 0.2, float("nan")]],
        [[0.1, 0.2, "secret"]],
        [[0.1, 0.2, True]],
        np.ma.array(np.zeros((2, 3)), mask=np.eye(2, 3)),
        np.zeros((0, 3)),
        5.0,
        None,
    ],
    ids=str,
)
def test_odd_points_are_refused(points: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        BOX.index(points)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
