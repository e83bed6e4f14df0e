"""A thin run of evidence/accuracy: the figures promised there, from few seeds."""

from __future__ import annotations

import pytest
from evidence.accuracy import study as accuracy


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_fixed_smoothing_reaches_the_prototype(epsilon):
    rows = list(accuracy.by_epsilon([accuracy.BETA], seeds=8, epsilons=[epsilon]))
    assert [row for row in rows if row.get("verdict") == "missed"] == []


def test_chosen_smoothing_is_as_good_as_the_better_of_em_and_ems():
    rows = list(accuracy.by_n(seeds=6, sizes=(10**4, 10**6), cells=(256, 1024)))
    assert [row for row in rows if row["verdict"] == "missed"] == []


def test_error_falls_with_n():
    rows = accuracy.by_n(seeds=4, sizes=(10**4, 10**7), cells=(1024,))
    beta_few, beta_many, mixture_few, mixture_many = (row["mean"] for row in rows)
    assert beta_many < beta_few / 4
    assert mixture_many < mixture_few / 4
