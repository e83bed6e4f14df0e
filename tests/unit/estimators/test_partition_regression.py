"""Partitioning estimates: the printed formulas, intervals, choices of cells and bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evidence.partition.study import paper_cells, paper_threshold, partitioning

from confide import Laplace, Lattice
from confide.errors import InvalidInput, Unsupported
from confide.estimators.partition_regression import (
    PartitionClassification,
    PartitionRegression,
    suggest_cells,
    truncation,
)
from confide.lattice import Cells
from confide.mechanisms.partition import Partition
from confide.summaries import Counts
from confide.summaries.cell_sums import CellSums

N = 200_000
SQUARE = Cells(low=[0, 0], high=[1, 2], shape=[3, 4])


def truth(x: np.ndarray) -> np.ndarray:
    return 0.8 * np.sin(2 * np.pi * x[:, 0]) * (x[:, 1] - 1)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    x = generator.random((N, 2)) * [1.0, 2.0]
    return x, truth(x) + generator.uniform(-0.2, 0.2, N)


@pytest.fixture(scope="module")
def sums(data: tuple[np.ndarray, np.ndarray]) -> CellSums:
    return CellSums.simulate(Partition(SQUARE, bound=1.0, epsilon=4.0), *data, seed=3)


def test_threshold_estimate_is_the_printed_one(
    data: tuple[np.ndarray, np.ndarray], sums: CellSums
) -> None:
    few = CellSums.simulate(
        Partition(SQUARE, bound=1.0, epsilon=1.0), *(part[:2000] for part in data), seed=3
    )
    own = 1 / math.sqrt(math.log(N))
    assert paper_threshold(N) == pytest.approx(own)
    for found, c, empty, beyond in ((sums, own, 0, 0), (sums, 1.0, 6, 0), (few, 0.3, 4, 1)):
        curve = PartitionRegression(threshold=c).fit(found)
        printed = np.array(
            [nu / mu if mu >= c / 12 else 0.0 for nu, mu in zip(found.nu, found.mu, strict=True)]
        )
        assert (printed == 0).sum() == curve.facts["empty"] == empty
        assert (np.abs(printed) > 1).sum() == beyond
        # What is beyond the bound of the responses is cut to it, which the paper does not do.
        np.testing.assert_allclose(curve.predict(SQUARE.centers), np.clip(printed, -1, 1))
        assert curve.facts["threshold"] == pytest.approx(c)
    assert (PartitionRegression(threshold=3).fit(sums).predict(SQUARE.centers) == 0).all()


def test_default_is_close_to_the_estimate_without_noise(
    data: tuple[np.ndarray, np.ndarray], sums: CellSums
) -> None:
    free = partitioning(*data, cells=SQUARE)
    curve = PartitionRegression().fit(sums)
    assert np.abs(curve.values.ravel() - free).max() < 0.1
    assert curve.predict([[5.0, 1.0]]) == 0
    assert curve.facts["n"] == N
    assert curve.facts["epsilon"] == 4.0
    assert curve.to_dict()["outside"] == 0.0
    cell = SQUARE.index(data[0])
    for at in (0, 7):
        assert free[at] == pytest.approx(data[1][cell == at].mean())


def test_shrinks_what_cannot_be_told_from_noise() -> None:
    x = np.full(2000, 0.1)
    partition = Partition(Cells(low=[0], high=[1], shape=[50]), bound=1.0, epsilon=0.5)
    sums = CellSums.simulate(partition, x, np.zeros(2000), seed=1)
    shrunk = PartitionRegression().fit(sums).values
    cut = PartitionRegression(threshold=0).fit(sums).values
    assert (np.abs(shrunk) <= np.abs(cut) + 1e-12).all()
    assert np.abs(shrunk).mean() < 0.5 * np.abs(cut).mean()


def test_intervals_cover_the_means_of_the_cells(data: tuple[np.ndarray, np.ndarray]) -> None:
    free = partitioning(*data, cells=SQUARE)
    for epsilon, levels in ((0.5, 1), (4.0, 1), (4.0, 4)):
        partition = Partition(SQUARE, bound=1.0, epsilon=epsilon, levels=levels)
        hits = []
        for seed in range(60):
            curve = PartitionRegression().fit(CellSums.simulate(partition, *data, seed=seed))
            low, high = curve.interval(SQUARE.centers)
            assert (low >= -1).all()
            assert (high <= 1).all()
            assert ((low <= curve.values.ravel()) & (curve.values.ravel() <= high)).all()
            hits += ((low <= free) & (free <= high)).tolist()
        # Sampling is in the intervals and not in this target: they may cover a little more.
        assert 0.92 < np.mean(hits) < 0.99
    low, high = curve.interval([[9.0, 9.0]])
    assert (low[0], high[0]) == (-1.0, 1.0)


def test_classification_is_the_sign() -> None:
    generator = np.random.default_rng(2)
    x = generator.random((N, 2)) * [1.0, 2.0]
    y = np.where(generator.random(N) < 0.5 + 0.4 * np.sign(x[:, 0] - 0.34), 1, -1)
    partition = Partition(SQUARE, epsilon=2.0, classify=True)
    sums = CellSums.simulate(partition, x, y, seed=1)
    rule = PartitionClassification().fit(sums)
    assert (rule.predict(SQUARE.centers) == np.where(sums.nu > 0, 1, -1)).all()
    assert rule.predict([[0.9, 0.5], [0.1, 0.5], [7, 7]]).tolist() == [1, -1, -1]
    named = PartitionClassification(labels=("no", "yes")).fit(sums)
    assert named.predict([[0.9, 0.5]])[0] == "yes"
    low, high = rule.score.interval(SQUARE.centers)
    assert (low < sums.nu).all()
    assert (sums.nu < high).all()
    with pytest.raises(Unsupported, match="PartitionClassification"):
        PartitionRegression().fit(sums)
    # Labels cost half as much noise as a response with the same budget.
    both = CellSums.simulate(Partition(SQUARE, bound=1.0, epsilon=2.0), x, y, seed=1)
    assert (PartitionClassification().fit(both).predict([[0.9, 0.5]])) == 1
    assert (sums.variances()[1] < 0.5 * both.variances()[1]).all()


@pytest.mark.parametrize("n", [2, 4, 8, 16, 30])
def test_few_reports_seldom_decide_between_labels_that_are_equally_likely(n: int) -> None:
    """Over all that n reports can be, by their law: half of the people have either label."""
    partition = Partition(Cells(low=[0], high=[1], shape=[1]), epsilon=2.0, classify=True)
    law = partition.law.values.matrix()
    no, nothing, yes = law[:, [0, 2]].mean(axis=1)
    wrong = 0.0
    for ones in range(n + 1):
        for zeros in range(n + 1 - ones):
            tallies = np.array([[n - ones - zeros], [zeros], [ones]])
            sums = CellSums(partition, n, np.zeros(1, dtype=np.int64), tallies)
            rule = PartitionClassification().fit(sums)
            low, high = rule.score.interval([[0.5]])
            assert low[0] <= sums.nu[0] <= high[0]
            if low[0] > 0 or high[0] < 0:
                ways = math.comb(n, ones) * math.comb(n - ones, zeros)
                wrong += ways * no ** (n - ones - zeros) * nothing**zeros * yes**ones
    assert wrong < 0.08


def test_cells_from_n() -> None:
    for d in (1, 2, 3):
        box = {"low": [0] * d, "high": [1] * d}
        for n in (10, 10_000, 10**8):
            for epsilon in (0.5, 4.0):
                shape = suggest_cells(n, epsilon=epsilon, **box).shape
                effective = n / (1 + 32 / epsilon**2)
                assert shape == (max(1, round(effective ** (1 / (2 * (d + 1))))),) * d
                labels = suggest_cells(n, epsilon=epsilon, classify=True, **box).shape
                assert labels[0] == max(1, round((n / (1 + 4 / epsilon**2)) ** (0.5 / (d + 1))))
                paper = paper_cells(n, **box).shape
                assert paper == (max(1, round(n ** (1 / (2 * (d + 1))))),) * d
    # However many respondents: a partition takes what is suggested.
    for d in (1, 2, 3):
        most = suggest_cells(10**40, epsilon=1.0, low=[0] * d, high=[1] * d)
        assert 4000 < Partition(most, bound=1.0, epsilon=1.0).cells.size <= 4096
    for wrong in ({"n": 0}, {"epsilon": 0}, {"low": [1]}):
        with pytest.raises(InvalidInput):
            suggest_cells(**{"n": 10, "epsilon": 1.0, "low": [0], "high": [1]} | wrong)


def test_truncation_grows_and_meets_the_papers_condition() -> None:
    values = [truncation(10**k, scale=2.0) for k in range(1, 9)]
    assert (np.diff(values) > 0).all()
    assert values[5] == pytest.approx(2 * math.sqrt(2 * math.log(10**6)))
    # (ln n)^3 M^2 / (n c^2 h^(2d)) with the paper's h and c, far out.
    ns = 10.0 ** np.array([40, 60, 80])
    condition = np.log(ns) ** 4 * 2 * np.log(ns) / ns ** (1 / 3)
    assert (np.diff(condition) < 0).all()
    for wrong in ({"n": 1, "scale": 1.0}, {"n": 10, "scale": 0.0}):
        with pytest.raises(InvalidInput):
            truncation(**wrong)


def test_what_is_not_sums_is_refused(sums: CellSums) -> None:
    counts = Counts.of(Laplace(Lattice(low=0, high=1, size=4), epsilon=1.0).simulate([0.5], seed=1))
    for recipe in (PartitionRegression(), PartitionClassification()):
        with pytest.raises(InvalidInput):
            recipe.fit(counts)  # type: ignore[arg-type]
    empty = CellSums(sums.mechanism, 0, np.zeros(12, int), np.zeros((3, 12), int), True)
    with pytest.raises(InvalidInput, match="at least one report"):
        PartitionRegression().fit(empty)
    with pytest.raises(InvalidInput):
        PartitionRegression(threshold=-1)
    with pytest.raises(InvalidInput):
        PartitionClassification(labels=("a",))
    with pytest.raises(InvalidInput, match="two labels for these sums"):
        PartitionClassification(labels=("a", "b", "c")).fit(sums)


def test_error_falls_with_n() -> None:
    errors = []
    for n in (10_000, 160_000, 2_560_000):
        generator = np.random.default_rng(n)
        x = generator.random(n)
        y = np.sin(2 * np.pi * x)
        cells = suggest_cells(n, epsilon=2.0, low=[0], high=[1])
        at = np.linspace(0, 1, 2000, endpoint=False)
        squares = []
        for seed in range(5):
            sums = CellSums.simulate(Partition(cells, bound=1.0, epsilon=2.0), x, y, seed=seed)
            fit = PartitionRegression().fit(sums).predict(at)
            squares.append(np.mean((fit - np.sin(2 * np.pi * at)) ** 2))
        errors.append(np.mean(squares))
    # At the rate n**(-1/2) each step is a quarter.
    assert errors[1] < 0.45 * errors[0]
    assert errors[2] < 0.45 * errors[1]
