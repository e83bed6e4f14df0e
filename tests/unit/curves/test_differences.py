"""Two groups compared: the printed formula, and how often the interval covers the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from confide import Counts, Lattice, RandomizedResponse, SquareWave
from confide.curves import CellDensity, Difference, Proportions, difference
from confide.errors import InvalidInput, Unsupported
from confide.estimators import CategoryShares, Likelihood

LATTICE = Lattice(low=0, high=1, size=32)
WAVE = SquareWave(LATTICE, epsilon=2.0)
WORDS = RandomizedResponse(["a", "b", "c"], epsilon=1.0)


def density(values: Any, seed: int) -> Any:
    return Likelihood(smoothing=0.1).fit(Counts.of(WAVE.simulate(values, seed=seed)))


def shares(values: Any, seed: int) -> Proportions:
    return CategoryShares().fit(Counts.of(WORDS.simulate(values, seed=seed)))


def test_the_formula_of_zou_and_donner() -> None:
    generator = np.random.default_rng(1)
    one = shares(generator.choice(["a", "b", "c"], 700, p=[0.6, 0.3, 0.1]), 1)
    two = shares(generator.choice(["a", "b", "c"], 400, p=[0.8, 0.1, 0.1]), 2)
    p1, p2 = one.share("c"), two.share("c")
    (l1, u1), (l2, u2) = one.interval("c", level=0.9), two.interval("c", level=0.9)
    found = difference(one, two, "share", "c", level=0.9)
    # Zou and Donner (2008), p. 1694: L and U of theta1 - theta2.
    assert found.low == pytest.approx(p1 - p2 - math.sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2))
    assert found.high == pytest.approx(p1 - p2 + math.sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2))
    assert found.value == p1 - p2
    back = difference(two, one, "share", "c", level=0.9)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_of_numbers() -> None:
    generator = np.random.default_rng(2)
    one, two = density(generator.beta(2, 5, 4000), 1), density(generator.beta(5, 2, 4000), 2)
    for what, at, truth in (
        ("mean", None, 2 / 7 - 5 / 7),
        ("quantile", 0.5, -0.4711),
        ("cdf", 0.5, 0.78125),
    ):
        found = difference(one, two, what, at)
        assert found.low < truth < found.high
        assert found.low <= found.value <= found.high
        assert found.certain
        wide = difference(one, two, what, at, level=0.99)
        assert wide.low <= found.low < found.high < wide.high
        assert found.to_dict()["what"] == what
    alike = difference(one, density(generator.beta(2, 5, 4000), 3), "mean")
    assert not alike.certain


def test_the_median_has_a_name_of_its_own() -> None:
    generator = np.random.default_rng(4)
    groups = [density(generator.beta(a, 3, 2_000), seed) for seed, a in enumerate((2, 3))]
    found = difference(*groups, "median")
    assert found == difference(*groups, "quantile", 0.5)
    assert "median" in repr(found)
    with pytest.raises(InvalidInput):
        difference(*groups, "median", 0.4)


def test_of_shares_covers() -> None:
    generator = np.random.default_rng(3)
    hits = 0
    laws = ([0.6, 0.35, 0.05], [0.75, 0.2, 0.05])
    for seed in range(300):
        pair = [
            shares(generator.choice(["a", "b", "c"], n, p=law), 2 * seed + at)
            for at, (n, law) in enumerate(zip((300, 200), laws, strict=True))
        ]
        found = difference(*pair, "share", ("a", "b", "c")[seed % 3])
        hits += found.low <= (-0.15, 0.15, 0.0)[seed % 3] <= found.high
    # Three standard errors of 300 draws below 95 % would be 91 %.
    assert hits >= 0.93 * 300


def test_of_means_covers() -> None:
    generator = np.random.default_rng(4)
    hits = 0
    for seed in range(200):
        one = density(generator.beta(2, 5, 300), 2 * seed)
        two = density(generator.beta(3, 4, 200), 2 * seed + 1)
        found = difference(one, two, "mean")
        hits += found.low <= 2 / 7 - 3 / 7 <= found.high
    assert hits >= 0.93 * 200


@pytest.mark.parametrize(
    ("what", "at", "words"),
    [
        ("middle", None, "for 'what', got 'middle'"),
        ("pdf", 0.5, "for 'what', got 'pdf'"),
        ("p90", None, "one of mean, median, quantile, cdf, declined"),
        ("mean", 0.5, "no place for the mean"),
        ("median", 0.5, "no place for the median"),
        ("quantile", None, "at"),
        ("quantile", 1.5, "0 <= q <= 1"),
        ("share", "a", "for 'what', got 'share'"),
    ],
)
def test_refusals(what: str, at: Any, words: str) -> None:
    curve = density(np.linspace(0, 1, 50), 1)
    with pytest.raises(InvalidInput, match=words):
        difference(curve, curve, what, at)


def test_refusals_of_other_things() -> None:
    number, category = density([0.5] * 20, 1), shares(["a"] * 20, 1)
    for one, two, what, at in (
        (number, category, "mean", None),
        (category, category, "mean", None),
        (category, category, "share", None),
        (category, category, "share", "d"),
        (number, 3, "mean", None),
    ):
        with pytest.raises(InvalidInput):
            difference(one, two, what, at)  # type: ignore[arg-type]
    bare = CellDensity((np.array([0.0, 1.0]),), np.array([1.0]))
    with pytest.raises(Unsupported, match="no intervals"):
        difference(bare, bare, "mean")
    with pytest.raises(InvalidInput, match="level"):
        difference(number, number, "mean", level=95)


def test_in_print() -> None:
    found = Difference(
        what="mean",
        at=None,
        first=53_437.0,
        second=43_646.0,
        low=5_577.3,
        high=13_426.2,
        level=0.95,
    )
    assert repr(found) == "<Difference of the mean: 9,791, 95 % interval 5,577 to 13,426>"
