"""Histograms of whole numbers: cells that hold equally many of them."""

import warnings

import numpy as np
import pytest

from confide import Lattice
from confide.errors import ConfideWarning, InvalidInput
from confide.releases import Histogram
from confide.releases.histogram import WholeCells, default_cells, default_width, width_for

AGE = Lattice(low=17, high=90)


def held(recipe: Histogram, n: int, first: int, last: int) -> np.ndarray:
    """How many whole numbers each cell of a single column holds."""
    (grid,) = recipe.grids(n)
    return np.bincount(grid.index(np.arange(first, last + 1)), minlength=grid.size)


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 1.0, 5.0])
@pytest.mark.parametrize("n", [50, 2000, 20_000, 10**6])
@pytest.mark.parametrize("bounds", [(17, 90), (0, 1), (1, 5), (0, 60), (-40, 45), (0, 100_002)])
def test_cells_hold_equally_many_whole_numbers(
    bounds: tuple[int, int], n: int, epsilon: float
) -> None:
    recipe = Histogram(Lattice(low=bounds[0], high=bounds[1]), epsilon=epsilon, integers=True)
    each = held(recipe, n, *bounds)
    (whole,) = recipe.whole(n)
    assert whole is not None
    assert (each[:-1] == whole.width).all()
    assert 1 <= each[-1] <= whole.width
    # Edges lie halfway, and the last cell is as wide as it holds whole numbers.
    assert np.diff(whole.edges).tolist() == each.tolist()
    assert (whole.edges[0], whole.edges[-1]) == (bounds[0] - 0.5, bounds[1] + 0.5)
    found = recipe.simulate(np.resize(np.arange(bounds[0], bounds[1] + 1), n), seed=1)
    assert found.facts["integers_per_cell"] == [whole.width]
    assert found.facts["cells"] == [each.size]
    assert found.curve.edges[0].tolist() == whole.edges.tolist()


def test_ages_are_no_comb() -> None:
    ages = np.repeat(np.arange(17, 91), 2000)
    plain = Histogram(AGE, epsilon=2.0).simulate(ages, seed=1).curve
    heights = plain.masses / np.diff(plain.edges[0])
    assert heights.min() < heights.mean() / 5
    curve = Histogram(AGE, epsilon=2.0, integers=True).simulate(ages, seed=1).curve
    np.testing.assert_allclose(curve.pdf(np.arange(17, 91)), 1 / 74, rtol=0.05)
    assert abs(curve.mean() - ages.mean()) < 0.1


def test_the_last_cell_has_no_dip() -> None:
    # 73 is a prime number: with few people a cell holds several ages, and the last one fewer.
    lattice = Lattice(low=18, high=90)
    recipe = Histogram(lattice, epsilon=50.0, cells=25, integers=True)
    assert held(recipe, 100, 18, 90).tolist() == [3] * 24 + [1]
    curve = recipe.simulate(np.repeat(np.arange(18, 91), 100), seed=1).curve
    np.testing.assert_allclose(curve.pdf(np.arange(18, 91)), 1 / 73, rtol=0.01)


def test_bounds_between_whole_numbers_and_values_with_fractions() -> None:
    recipe = Histogram(Lattice(low=16.5, high=90.9), epsilon=1.0, cells=74, integers=True)
    assert held(recipe, 10, 17, 90).tolist() == [1] * 74
    assert recipe.grids(10)[0].index([-5, 17.4, 17.6, 90.4, 1e9]).tolist() == [0, 0, 1, 73, 73]


@pytest.mark.parametrize("count", [2, 3, 10, 37, 74, 97])
def test_numbers_of_cells_that_were_asked_for(count: int) -> None:
    possible = {-(-count // width) for width in range(1, count)}
    for cells in range(2, count + 5):
        if cells in possible:
            whole = WholeCells(1, count, width_for(count, cells))
            assert whole.grid.size == cells
            continue
        with pytest.raises(InvalidInput, match="equally many") as caught:
            width_for(count, cells)
        nearest = str(caught.value).partition("Nearest: ")[2].rstrip(".").split(" or ")
        assert {int(each) for each in nearest} <= possible
        with pytest.raises(InvalidInput, match="equally many"):
            Histogram(Lattice(low=1, high=count), epsilon=1.0, cells=cells, integers=True)


def test_several_columns_some_of_whole_numbers() -> None:
    columns = {"age": AGE, "pay": Lattice(low=0, high=300_000)}
    recipe = Histogram(columns, epsilon=2.0, integers=["age"])
    values = {"age": np.resize(np.arange(17, 91), 5000), "pay": np.linspace(0, 3e5, 5000)}
    found = recipe.simulate(values, seed=1)
    width, other = found.facts["integers_per_cell"]
    assert other is None
    assert np.diff(found.curve.edges[0])[:-1].tolist() == [width] * (found.facts["cells"][0] - 1)
    assert found.curve.edges[1][[0, -1]].tolist() == [0, 300_000]
    assert found.spec["integers"] == ["age"]
    everything = Histogram({"a": AGE, "b": AGE, "c": AGE}, epsilon=1.0, integers=True)
    assert all(everything.whole(1000))


def test_what_was_stored_before_stays_what_it_is() -> None:
    assert set(Histogram(AGE, epsilon=1.0).to_dict()) == {"release", "columns", "epsilon", "cells"}
    assert Histogram(AGE, epsilon=1.0, integers=True).to_dict()["integers"] is True


def test_a_width_that_divides_is_taken_if_it_costs_little() -> None:
    rule = {"others": 1, "most": 2**16, "rough": 20.0}
    for n in (1000, 10_000):
        assert 74 % default_width(74, n, 1.0, **rule) == 0
    assert 74 % default_width(74, 100, 1.0, **rule) != 0
    # Of a large prime number nothing but one divides it.
    cells = 100_003 / default_width(100_003, 10_000, 1.0, **rule)
    assert cells == pytest.approx(default_cells(10_000, 1.0, 1), rel=0.05)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Histogram(Lattice(low=1, high=90, scale="log"), epsilon=1.0, integers=True),
        lambda: Histogram(Lattice(low=0.2, high=1.5), epsilon=1.0, integers=True),
        lambda: Histogram(Lattice(low=0, high=2.0**41), epsilon=1.0, integers=True),
        lambda: Histogram(AGE, epsilon=1.0, integers="age"),
        lambda: Histogram(AGE, epsilon=1.0, integers=3),
        lambda: Histogram({"a": AGE, "b": AGE}, epsilon=1.0, integers=["c"]),
    ],
)
def test_bad_parameters_get_a_sentence(bad) -> None:
    with pytest.raises(InvalidInput):
        bad()


def test_a_size_that_is_not_used_is_told() -> None:
    ages = np.resize(np.arange(17, 91), 3000)
    sized = Lattice(low=17, high=91, size=73)
    with pytest.warns(ConfideWarning, match="not the 73 of its lattice.*cells=73"):
        Histogram(sized, epsilon=1.0).release(ages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Histogram(sized, epsilon=1.0, cells=73).release(ages)
        Histogram(AGE, epsilon=1.0).release(ages)
        Histogram(Lattice(low=17, high=90, size=37), epsilon=1.0, integers=True).release(ages)
