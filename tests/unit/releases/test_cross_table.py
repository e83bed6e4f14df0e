"""Cross tables of numbers and words."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from confide import Categories, Lattice, audits
from confide.errors import InvalidInput
from confide.exact.entropy import SeededEntropy
from confide.exact.integer_noise import laplace
from confide.releases import CrossTable, Query, Release, cross_table, from_dict, synthesize
from confide.releases.cross_table import rows_of

COLUMNS = {"sex": Categories(("f", "m")), "age": Lattice(low=0, high=90, size=3)}
ROWS = [("f", 10.0), ("f", 80.0), ("m", 50.0), ("m", -9.0)]


def table(rows):
    return dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))


def counts(rows):
    recipe = CrossTable(COLUMNS, epsilon=1.0)
    (found,) = recipe.sums(recipe.admitted(table(rows)), SeededEntropy(0))
    return np.array(found)


def test_counts_are_those_of_a_loop():
    assert counts(ROWS).tolist() == [1, 0, 1, 1, 1, 0]


def test_one_record_changes_two_counts_by_one():
    worst = 0
    for others in product(ROWS, repeat=2):
        several = [counts([*others, last]) for last in ROWS]
        worst = max(worst, *(int(np.abs(a - b).sum()) for a, b in combinations(several, 2)))
    assert worst == 2 == CrossTable(COLUMNS, epsilon=1.0).noise.sensitivity


def test_audits_convict_half_the_noise(monkeypatch):
    recipe = CrossTable(COLUMNS, epsilon=1.0)
    found = audits.exact(recipe, n=9)
    assert found.holds
    assert found.evidence["changes"] == [2]
    monkeypatch.setattr(cross_table, "laplace", lambda epsilon, most: laplace(epsilon, most // 2))
    assert not audits.exact(recipe, n=9).holds


def test_shares_with_intervals_and_synthetic_rows():
    rng = np.random.default_rng(1)
    n, held = 2000, 0
    recipe = CrossTable(COLUMNS, epsilon=1.0)
    for seed in range(30):
        sex = rng.choice(["f", "m"], n, p=[0.7, 0.3])
        found = recipe.simulate({"sex": sex, "age": rng.uniform(0, 90, n)}, seed=seed)
        for at, each in enumerate(found.answers.values()):
            truth = (0.7, 0.3)[at // 3] / 3
            held += each["low"] <= truth <= each["high"]
    # 180 intervals of 95 %: 4 standard errors are 12.
    assert held >= 159
    rows = rows_of(found, 4000, seed=2)
    assert (rows["sex"] == "f").mean() == pytest.approx(0.7, abs=0.05)
    assert rows["age"].min() >= 0
    assert synthesize(found, 5, columns=["sex", "age"], seed=3)["sex"].size == 5
    again = Release.from_dict(found.to_dict())
    assert again.answers == found.answers
    assert from_dict(recipe.to_dict()) == recipe
    assert "sex f, age 0 to 30" in found.to_frame()["quantity"].tolist()


@pytest.mark.parametrize(
    "columns",
    [{}, [1], {"": COLUMNS["sex"]}, {"x": (0, 1)}, {"x": Lattice(low=0, high=1, size=20_000)},
     {"x": Categories(("no", "no, y a")), "y": Categories(("a, y a", "a", "b"))}],
)  # fmt: skip
def test_what_cannot_work_is_refused(columns):
    with pytest.raises(InvalidInput):
        CrossTable(columns, epsilon=1.0)


def test_only_a_cross_table_gives_rows_of_words():
    count = Query("count", epsilon=1.0).simulate([0, 1], seed=1)
    with pytest.raises(InvalidInput):
        rows_of(count, 3)
    with pytest.raises(InvalidInput):
        synthesize(count, 3, columns=["x"])


def test_synthetic_whole_numbers_are_whole():
    columns = {"sex": Categories(("f", "m")), "age": Lattice(low=0, high=100, size=3)}
    table = {"sex": ["f", "m"] * 3_000, "age": [20, 40, 90] * 2_000}
    made = CrossTable(columns, epsilon=8.0).release(table)
    ages = synthesize(made, 60_000, columns=["sex", "age"], integers=["age"], seed=1)["age"]
    assert ages.dtype == np.int64
    assert (ages.min(), ages.max()) == (0, 100)
    # 0 to 33, 34 to 66 and 67 to 100, each as likely as the others of its cell.
    assert np.abs(np.bincount(ages)[:34] - 60_000 / 3 / 34).max() < 5 * (60_000 / 3 / 34) ** 0.5
    # A cell between two whole numbers has the nearest.
    narrow = CrossTable({"x": Lattice(low=0, high=2, size=8)}, epsilon=8.0)
    drawn = synthesize(narrow.release({"x": [0.3, 1.7] * 99}), 500, columns=["x"], integers=["x"])
    assert set(drawn["x"].tolist()) <= {0, 1, 2}
    for wrong in ("sex", "agee"):
        with pytest.raises(InvalidInput, match="integers"):
            synthesize(made, 5, columns=["sex", "age"], integers=[wrong])
