"""Several releases at once, and synthetic rows of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide import Lattice, Ledger
from confide.errors import BudgetExhausted, InvalidInput
from confide.releases import Histogram, Query, Series, quantiles, release_all, synthesize

AGES = Lattice(low=17, high=90)
VALUES = np.random.default_rng(1).integers(17, 91, 2000)


def test_quantiles_divide_one_epsilon() -> None:
    one = Query("quantile", AGES, epsilon=1.0, q=0.5)
    parts = quantiles(one, [0.25, 0.5, 0.75])
    assert [each.q for each in parts] == [0.25, 0.5, 0.75]
    assert sum(each.epsilon for each in parts) <= 1.0
    assert parts[0].epsilon == 0.333333
    with pytest.raises(InvalidInput, match="each quantile once"):
        quantiles(one, [0.5, 0.5])


def test_a_ledger_pays_for_all_or_none(tmp_path: Path) -> None:
    recipes = {
        f"q{each.q}": each
        for each in quantiles(Query("quantile", AGES, epsilon=1.0, q=0.5), [0.25, 0.75])
    }
    book = Ledger(tmp_path / "l.db", epsilon=0.9)
    with pytest.raises(BudgetExhausted, match="left for 2 releases"):
        release_all(recipes, VALUES, book)
    assert not book.entries()
    book = Ledger(tmp_path / "m.db", epsilon=1.0)
    made = release_all(recipes, VALUES, book)
    assert list(made) == list(recipes)
    assert release_all(recipes, VALUES, book) == made
    assert len(release_all(recipes, VALUES)) == 2


def test_synthetic_rows_keep_to_the_bounds() -> None:
    made = Histogram(AGES, epsilon=5.0, integers=True).release(VALUES)
    rows = synthesize(made, 500, columns=["age"], integers=["age"], seed=1)["age"]
    assert rows.dtype == np.int64
    assert rows.min() >= 17
    assert rows.max() <= 90
    again = synthesize(made, 500, columns=["age"], integers=["age"], seed=1)["age"]
    np.testing.assert_array_equal(rows, again)
    other = synthesize(Series(AGES, epsilon=5.0).release(VALUES), 5, columns=["age"])
    assert other["age"].shape == (5,)
    with pytest.raises(InvalidInput, match="a density"):
        synthesize(Query("mean", AGES, epsilon=1.0).release(VALUES), 5, columns=["age"])


def test_cells_of_whole_numbers_by_public_rule() -> None:
    made = Histogram(AGES, epsilon=1.0).aligned(2000)
    assert made.integers is True
    assert Histogram(Lattice(low=0, high=1), epsilon=1.0).aligned(2000).integers is False
    assert Histogram(AGES, epsilon=1.0, cells=5).aligned(2000).integers is False
