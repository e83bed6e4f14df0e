"""Releases by group for the price of one, and the cells of a histogram with their intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

from confide import Lattice, Ledger
from confide.errors import BudgetExhausted, InvalidInput
from confide.releases import Histogram, Query, release_groups, shares

UNIT = Lattice(low=0, high=1)
VALUES = np.random.default_rng(1).beta(2, 5, 900)
REGIONS = ["north", "south", "west"]
GROUPS = np.repeat(REGIONS, 300)
STATED = {"groups": REGIONS, "attribute": "region"}


def test_groups_cost_one_release(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    recipe = Query("mean", UNIT, epsilon=0.6)
    made = release_groups(recipe, VALUES, GROUPS, **STATED, ledger=ledger, key="pay")
    assert list(made) == ["north", "south", "west"]
    assert {each.spec["n"] for each in made.values()} == {300}
    assert ledger.left.epsilon == pytest.approx(0.4)
    # Asked again, nothing is drawn and nothing charged; more than is left is refused whole.
    again = release_groups(recipe, VALUES, GROUPS, **STATED, ledger=ledger, key="pay")
    assert {name: one.noisy for name, one in again.items()} == {
        name: one.noisy for name, one in made.items()
    }
    before = len(list(ledger.entries()))
    with pytest.raises(BudgetExhausted, match="Nothing was charged"):
        release_groups(recipe, VALUES, GROUPS, **STATED, ledger=ledger, key="other")
    assert len(list(ledger.entries())) == before


def test_one_record_moves_the_sums_of_its_own_group_alone() -> None:
    """Parallel composition, by brute force: all neighbors of a small data set."""
    recipe = Histogram(UNIT, epsilon=1.0, cells=4)
    values, groups = np.array([0.1, 0.4, 0.6, 0.9]), ["a", "a", "b", "b"]
    cells = (0.1, 0.3, 0.6, 0.9)

    def sums(given: np.ndarray) -> dict[str, np.ndarray]:
        found = {}
        for name in ("a", "b"):
            own = recipe.admitted(given[[group == name for group in groups]])
            found[name] = np.bincount(own.ravel(), minlength=4)
        return found

    first = sums(values)
    for at in range(4):
        for other in cells:
            changed = values.copy()
            changed[at] = other
            moved = {name: int(np.abs(sums(changed)[name] - first[name]).sum()) for name in first}
            assert moved["ab".replace(groups[at], "")] == 0
            assert moved[groups[at]] <= recipe.noise.sensitivity == 2


def test_columns_are_split_too() -> None:
    recipe = Histogram({"x": UNIT, "y": UNIT}, epsilon=1.0, cells=3)
    made = release_groups(recipe, {"x": VALUES, "y": VALUES[::-1]}, GROUPS, **STATED)
    assert made["south"].curve.cells.masses.shape == (3, 3)


def test_what_does_not_fit_is_refused() -> None:
    recipe = Query("mean", UNIT, epsilon=0.6)
    with pytest.raises(InvalidInput, match="a group for each record"):
        release_groups(recipe, VALUES, GROUPS[:5], **STATED)
    with pytest.raises(InvalidInput, match="public attribute"):
        release_groups(recipe, VALUES, GROUPS, groups=REGIONS, attribute="")
    with pytest.raises(InvalidInput, match="Histogram"):
        shares(recipe.simulate(VALUES, seed=1))


@pytest.mark.parametrize("odd", ["nroth", "", "North", None, float("nan"), 3, True, np.nan])
def test_a_group_that_was_not_stated_is_refused_before_a_charge(
    odd: object, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    groups = [*GROUPS.tolist()]
    groups[3] = odd
    recipe = Query("mean", UNIT, epsilon=0.6)
    with pytest.raises(InvalidInput, match="got another in row 4") as told:
        release_groups(recipe, VALUES, groups, **STATED, ledger=ledger, key="pay")
    assert "groups among" in told.value.expected
    assert "nroth" not in str(told.value)
    groups[8] = odd
    with pytest.raises(InvalidInput, match="row 4 and in 1 more"):
        release_groups(recipe, VALUES, groups, **STATED, ledger=ledger, key="pay")
    assert ledger.entries() == ()


def test_groups_do_not_depend_on_the_data(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    recipe, stated = Query("mean", UNIT, epsilon=0.6), ["south", "east", "west", "north"]
    made = release_groups(
        recipe, VALUES, GROUPS, groups=stated, attribute="region", ledger=ledger, key="pay"
    )
    assert list(made) == stated
    assert made["east"] is None
    assert [entry.key for entry in ledger.entries()] == ["pay/south", "pay/west", "pay/north"]


def test_groups_may_be_whole_numbers() -> None:
    """A column of numbers with a missing one holds floats, which are the same groups."""
    recipe = Query("mean", UNIT, epsilon=0.6)
    groups = np.repeat([1.0, 2.0], 450)
    made = release_groups(recipe, VALUES, groups, groups=[1, 2], attribute="ward")
    assert {name: one.spec["n"] for name, one in made.items() if one} == {"1": 450, "2": 450}
    groups[5] = np.nan
    with pytest.raises(InvalidInput, match="another in row 6"):
        release_groups(recipe, VALUES, groups, groups=[1, 2], attribute="ward")


@pytest.mark.parametrize("stated", ["north", [], None, [""], [1.5], [True], {"north": 1}])
def test_groups_are_stated_in_a_list(stated: object) -> None:
    recipe = Query("mean", UNIT, epsilon=0.6)
    with pytest.raises(InvalidInput, match="all groups that there can be"):
        release_groups(recipe, VALUES, GROUPS, groups=stated, attribute="region")
    for twice in (["north", "north"], [1, "1"]):
        with pytest.raises(InvalidInput, match="each group once"):
            release_groups(recipe, VALUES, GROUPS, groups=twice, attribute="region")


def test_intervals_of_cells_hold_their_shares() -> None:
    recipe = Histogram(UNIT, epsilon=1.0, cells=8)
    truth = np.diff(beta(2, 5).cdf(np.linspace(0, 1, 9)))
    draw, held, runs = np.random.default_rng(2), np.zeros(8), 300
    for seed in range(runs):
        release = recipe.simulate(draw.beta(2, 5, 1000), seed=seed)
        estimate, low, high = shares(release)
        assert ((low <= estimate + 1e-9) & (estimate <= high + 1e-9)).all()
        held += (low <= truth) & (truth <= high)
    assert 0.935 < held.mean() / runs < 0.975
    narrow, wide = (shares(release, level=level) for level in (0.5, 0.99))
    assert (wide[2] - wide[1] > narrow[2] - narrow[1]).all()
    # From its JSON it is the same.
    again = shares(type(release).from_dict(release.to_dict()))
    np.testing.assert_array_equal(again, shares(release))


def test_shares_of_two_columns_have_their_shape() -> None:
    recipe = Histogram({"x": UNIT, "y": UNIT}, epsilon=1.0, cells=3)
    release = recipe.simulate({"x": VALUES, "y": VALUES[::-1]}, seed=1)
    assert [part.shape for part in shares(release)] == [(3, 3)] * 3
