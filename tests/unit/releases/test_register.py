"""Releases that are made of plain settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.cli.app import _option
from confide.errors import BadSetting, InvalidInput
from confide.lattice import Categories, Lattice
from confide.releases import (
    Bernstein,
    CrossTable,
    GaussianProcess,
    Histogram,
    KolmogorovSmirnov,
    LeastSquares,
    Means,
    Query,
    Recipe,
    Selection,
    Series,
    Statistic,
    from_settings,
)
from confide.releases.register import KINDS, STATED, of_settings

UNIT = {"low": 0, "high": 1, "epsilon": 1.0}
LATTICE = Lattice(low=0, high=1)
TWO = {"column": ["a", "b"], "low": [0, 0], "high": [1, 1], "epsilon": 1.0}
WORDS = Categories(("no", "yes"))
MADE: list[tuple[str, dict[str, Any], Recipe]] = [
    ("query", {"what": "count", "epsilon": 1.0}, Query("count", epsilon=1.0)),
    (
        "query",
        {**UNIT, "what": "quantile", "q": 0.5, "level": 0.9},
        Query("quantile", LATTICE, epsilon=1.0, q=0.5, level=0.9),
    ),
    ("histogram", {**UNIT, "cells": 4}, Histogram(LATTICE, epsilon=1.0, cells=4)),
    ("series", {**UNIT, "low": [0], "high": (1,), "terms": None}, Series(LATTICE, epsilon=1.0)),
    (
        "gaussian-process",
        {**UNIT, "delta": 1e-6},
        GaussianProcess(LATTICE, epsilon=1.0, delta=1e-6),
    ),
    (
        "bernstein",
        {"column": ["a", "b"], "low": [0, 0], "high": [1, 1], "epsilon": 1.0, "degree": 3},
        Bernstein({"a": LATTICE, "b": LATTICE}, epsilon=1.0, degree=3),
    ),
    (
        "kolmogorov-smirnov",
        {"low": 1, "high": 9, "scale": "log", "epsilon": 2.0},
        KolmogorovSmirnov(Lattice(low=1, high=9, scale="log"), epsilon=2.0),
    ),
    (
        "means",
        {"column": ["a", "b"], "low": [0, 0], "high": [1, 1], "epsilon": 1.0, "delta": 1e-6},
        Means({"a": LATTICE, "b": LATTICE}, epsilon=1.0, delta=1e-6),
    ),
    (
        "least-squares",
        {"column": ["a", "b"], "words": {"b": ["no", "yes"]}, "low": [0], "high": [1],
         "target": "b", "epsilon": 1.0, "degree": 2},
        LeastSquares({"a": LATTICE, "b": WORDS}, target="b", epsilon=1.0, degree=2),
    ),
    (
        "cross-table",
        {"column": ["a", "b"], "words": {"b": ["no", "yes"]}, "low": [0], "high": [1],
         "cells": 8, "epsilon": 1.0},
        CrossTable({"a": Lattice(low=0, high=1, size=8), "b": WORDS}, epsilon=1.0),
    ),
    (
        "statistic",
        {**UNIT, "what": "mean", "function": np.mean, "sensitivity": 1, "divided_by_n": True,
         "answer_low": 0, "answer_high": 1},
        Statistic("mean", np.mean, LATTICE, sensitivity=1, divided_by_n=True, low=0, high=1,
                  epsilon=1.0),
    ),
    (
        "selection",
        {**TWO, "what": "first", "function": max, "outcomes": ["x", "y"], "sensitivity": 1,
         "answer_low": 0, "answer_high": 9},
        Selection("first", max, ["x", "y"], {"a": LATTICE, "b": LATTICE}, sensitivity=1, low=0,
                  high=9, epsilon=1.0),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "expected"), MADE, ids=[kind for kind, *_ in MADE])
def test_settings_make_what_the_class_makes(
    kind: str, settings: dict[str, Any], expected: Recipe
) -> None:
    made = from_settings(kind, settings)
    assert made == expected
    assert made.to_dict() == expected.to_dict()


def test_every_kind_with_bounds_is_made_of_settings() -> None:
    assert {kind for kind, *_ in MADE} == set(of_settings())
    assert set(of_settings()) == {*KINDS, *STATED} - {"choice"}


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("series", {**UNIT, "cells": 5}, "no cells for series, got cells=5", "no --cells for"),
    ("query", UNIT, "what, the number to release, got none. Such as what=mean", "--what mean."),
    ("query", {**UNIT, "what": "quantile"}, "q, the share of people below", "--q, the share"),
    ("gaussian-process", UNIT, "delta, which is part", "--delta 1e-6: far below"),
    ("query", {**UNIT, "what": "count"}, "no low or high for a count, got low and high", "--low"),
    ("series", {"epsilon": 1.0}, "low, a public bound, got none", "--low, a public bound"),
    ("histogram", {**TWO, "high": [1]}, "high, a public bound for each of 2 columns, got 1", ""),
    ("series", TWO, "one column for series, got 2. Several take histogram or", "one --column"),
    ("series", {"low": 0, "high": 1}, "epsilon, what the release costs", "--epsilon"),
    ("histogram", {**UNIT, "integers": True, "terms": 3}, "no terms for histogram", "--terms 3"),
    ("series", {**UNIT, "integers": True}, "no integers for series", "no --integer for series"),
]


@pytest.mark.parametrize(("kind", "settings", "words", "options"), BAD)
def test_settings_that_do_not_go_together(
    kind: str, settings: dict[str, Any], words: str, options: str
) -> None:
    with pytest.raises(BadSetting) as caught:
        from_settings(kind, settings)
    assert words in str(caught.value)
    # The command line spells settings as it takes them.
    assert options in caught.value.words(_option)


def test_unknown_words_are_told_with_the_nearest_known() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'cells'"):
        from_settings("histogram", {**UNIT, "cell": 5})
    with pytest.raises(InvalidInput, match="Did you mean 'histogram'"):
        from_settings("histogarm", UNIT)
    with pytest.raises(InvalidInput, match=r"one of .* for 'kind', got 'choice'"):
        from_settings("choice", UNIT)
