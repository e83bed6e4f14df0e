"""Summaries by group: a mapping that adds up, and its JSON form."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

from confide import Cells, CellSums, Counts, Laplace, Lattice, Partition, RandomizedResponse
from confide.curves import Proportions
from confide.errors import InvalidInput, Mismatch
from confide.estimators import CategoryShares
from confide.summaries import Groups
from confide.summaries.groups import label

WORDS = RandomizedResponse(["a", "b"], epsilon=1.0)


def some(n: int, **public: Any) -> Counts:
    return Counts.of(WORDS.simulate(["a", "b"] * n, seed=n), **public)


def groups(**parts: Counts) -> Groups[Counts]:
    return Groups(("region",), parts)


def text(made: Groups[Any]) -> str:
    return json.dumps(made.to_dict(), sort_keys=True)


def test_a_mapping_that_cannot_be_changed() -> None:
    parts = {"north": some(2), "south": some(3)}
    made = groups(**parts)
    parts["east"] = some(1)
    assert list(made) == ["north", "south"]
    assert (len(made), made.n, made["south"].n) == (2, 10, 6)
    assert "east" not in made
    assert repr(made) == "<Groups of 10 reports: 2 by region>"
    with pytest.raises(TypeError):
        made.summaries["east"] = some(1)  # type: ignore[index]
    assert text(pickle.loads(pickle.dumps(made))) == text(made)


def test_groups_add_up() -> None:
    a, b = groups(north=some(2), south=some(3)), groups(south=some(4), east=some(5))
    assert {key: one.n for key, one in (a + b).items()} == {"north": 4, "south": 14, "east": 10}
    np.testing.assert_array_equal((a + b)["south"].counts, a["south"].counts + b["south"].counts)
    np.testing.assert_array_equal((a + b).total().counts, a.total().counts + b.total().counts)
    assert (a + Groups(("region",), {})).n == a.n
    with pytest.raises(Mismatch, match="same columns, got some by region, and some by year"):
        a + Groups(("year",), {"north": some(2)})
    with pytest.raises(InvalidInput, match="at least one group"):
        Groups[Counts](("region",), {}).total()


def test_what_does_not_belong_together() -> None:
    other = Counts.of(RandomizedResponse(["a", "b"], epsilon=2.0).simulate(["a"], seed=1))
    private = Counts.of(WORDS.privatize(["a"]))
    weighted = some(1, weights=[1.0, 2.0])
    for odd in (other, private, weighted):
        with pytest.raises(Mismatch):
            groups(north=some(2), south=odd)
        with pytest.raises(Mismatch):
            groups(north=some(2)) + groups(south=odd)
    partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
    sums = CellSums.of(partition.simulate([0.1], [0.5], seed=1))
    with pytest.raises(InvalidInput, match="all of one kind"):
        Groups(("region",), {"north": some(2), "south": sums})  # type: ignore[type-var]
    for by, key in ((("a",), ("x",)), (("a", "b"), "x"), (("a",), 1.5), (("a",), None), ((), "x")):
        with pytest.raises(InvalidInput):
            Groups(by, {key: some(1)})  # type: ignore[dict-item]


def test_curves_of_all_groups() -> None:
    curves = groups(north=some(200), south=some(300)).map(CategoryShares().fit)
    assert list(curves) == ["north", "south"]
    assert all(isinstance(curve, Proportions) for curve in curves.values())


def test_json_form() -> None:
    made = groups(north=some(2, response=[1.0, 2.0] * 2), south=some(3, response=[0.0, 5.0] * 3))
    again = Groups.from_dict(json.loads(text(made)))
    assert text(again) == text(made)
    assert (again["south"].response.low, again["south"].response.high) == (0, 5)
    assert again["north"].mechanism is again["south"].mechanism
    two = Groups(("region", "year"), {("north", 2026): some(2), ("north", 2027): some(3)})
    assert text(Groups.from_dict(json.loads(text(two)))) == text(two)
    assert list(map(label, two)) == ["north/2026", "north/2027"]
    partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0)
    sums = CellSums.of(partition.simulate([0.1, 0.4], [0.5, 1.0], seed=1))
    cells = Groups(("year",), {2026: sums, 2027: sums})
    assert text(Groups.from_dict(json.loads(text(cells)))) == text(cells)
    empty = Groups[Counts](("year",), {})
    assert text(Groups.from_dict(json.loads(text(empty)))) == text(empty)


def damage(fields: dict[str, Any], how: str) -> Any:
    match how:
        case "list":
            return [fields]
        case "extra" | "kind":
            fields["extra" if how == "extra" else "of"] = "x"
        case "by" | "groups" | "mechanism" | "version":
            del fields[how]
        case "key":
            del fields["groups"][0]["key"]
        case "keys":
            fields["groups"][0]["key"] = ["a", "b"]
        case "nested":
            fields["groups"][0]["key"] = [["a"]]
        case "twice":
            fields["groups"][1]["key"] = fields["groups"][0]["key"]
        case "counts":
            fields["groups"][0]["counts"] = [1]
        case "inside":
            fields["groups"][0]["simulated"] = True
        case "part":
            fields["groups"][0] = 3
    return fields


@pytest.mark.parametrize(
    "how",
    [
        "list",
        "extra",
        "kind",
        "by",
        "groups",
        "mechanism",
        "version",
        "key",
        "keys",
        "nested",
        "twice",
        "counts",
        "inside",
        "part",
    ],
)
def test_damaged_forms(how: str) -> None:
    fields = copy.deepcopy(groups(north=some(2), south=some(3)).to_dict())
    with pytest.raises(InvalidInput):
        Groups.from_dict(damage(fields, how))


def test_many_groups_are_read_in_little_time_a_group() -> None:
    mechanism = Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0)
    one = Counts.of(mechanism.simulate([0.5] * 9, seed=1))
    made = Groups(("who",), dict.fromkeys(range(500), one))
    again = Groups.from_dict(made.to_dict())
    assert len({id(part.mechanism) for part in again.values()}) == 1


@pytest.mark.parametrize("key", [[["a"]], [{"a": 1}], [None], [1.5]])
def test_a_key_that_is_no_word_or_number_is_refused(key: list[object]) -> None:
    fields = {"confide": "groups", "by": ["region"], "of": "counts", "groups": [{"key": key}]}
    with pytest.raises(InvalidInput):
        Groups.from_dict(fields)
