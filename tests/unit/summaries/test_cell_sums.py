"""Sums of a partition's reports: a monoid, forms that come back, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from confide.errors import InvalidInput, Mismatch
from confide.lattice import Cells
from confide.mechanisms.partition import Partition
from confide.summaries.cell_sums import CellSums

GRID = Cells(low=[0, 0], high=[1, 1], shape=[2, 3])
PARTITION = Partition(GRID, bound=2.0, epsilon=3.0, levels=2)
LABELS = Partition(GRID, epsilon=3.0, classify=True)


def sums(seed: int, mechanism: Partition = PARTITION, n: int = 50) -> CellSums:
    generator = np.random.default_rng(seed)
    y = np.where(generator.random(n) < 0.5, -1, 1)
    return CellSums.of(mechanism.simulate(generator.random((n, 2)), y, seed=seed))


def same(a: CellSums, b: CellSums) -> bool:
    return (
        a.mechanism == b.mechanism
        and a.n == b.n
        and a.simulated == b.simulated
        and (a.counts == b.counts).all()
        and (a.tallies == b.tallies).all()
    )


@pytest.mark.parametrize("mechanism", [PARTITION, LABELS], ids=["y", "labels"])
def test_sums_are_a_commutative_monoid(mechanism: Partition) -> None:
    a, b, c = (sums(k, mechanism) for k in range(3))
    assert same(a + b, b + a)
    assert same((a + b) + c, a + (b + c))
    levels = 2 * mechanism.levels + 1
    zeros = np.zeros((levels, GRID.size), dtype=int)
    nothing = CellSums(mechanism, 0, zeros[0], zeros, True)
    assert same(a + nothing, a)
    assert (a + b).n == 100


def test_sums_are_the_reports_added_up() -> None:
    generator = np.random.default_rng(3)
    reports = PARTITION.simulate(generator.random((70, 2)), generator.normal(size=70), seed=1)
    total = CellSums.of(reports)
    assert (total.counts == reports.indices[:, 0].sum(0)).all()
    assert (total.values == reports.indices[:, 1].sum(0)).all()
    for level in range(-2, 3):
        assert (total.tallies[level + 2] == (reports.indices[:, 1] == level).sum(0)).all()
    assert total.counts.dtype == np.int64
    scores = PARTITION.value_scores[reports.indices[:, 1] + 2]
    np.testing.assert_allclose(total.nu, scores.mean(0))
    np.testing.assert_allclose(total.variances()[1], scores.var(0) / 70)
    ones = PARTITION.law.count_scores[reports.indices[:, 0]]
    np.testing.assert_allclose(total.mu, ones.mean(0))
    np.testing.assert_allclose(total.variances()[0], ones.var(0) / 70)


def test_mixing_is_refused() -> None:
    a = sums(1)
    other = Partition(GRID, bound=2.0, epsilon=2.0, levels=2)
    with pytest.raises(Mismatch, match="one partition"):
        a + sums(1, other)
    private = CellSums.of(PARTITION.privatize([[0.1, 0.1]], [0.5]))
    assert private.simulated is False
    with pytest.raises(Mismatch, match="simulated"):
        a + private
    with pytest.raises(TypeError):
        a + 1  # type: ignore[operator]
    with pytest.raises(InvalidInput):
        CellSums.of([1, 2])  # type: ignore[list-item]
    with pytest.raises(InvalidInput):
        CellSums.of([])


@pytest.mark.parametrize("mechanism", [PARTITION, LABELS], ids=["y", "labels"])
def test_forms_come_back(mechanism: Partition) -> None:
    a = sums(5, mechanism)
    assert same(CellSums.from_dict(json.loads(json.dumps(a.to_dict()))), a)
    assert same(CellSums.from_bytes(a.to_bytes()), a)
    with pytest.raises(ValueError, match="read-only"):
        a.tallies[0, 0] = 5


def hostile() -> dict[str, object]:
    good = sums(1).to_dict()
    shifted = [row[:] for row in good["tallies"]]
    shifted[0][0] += 1
    return {
        "none": None,
        "list": [],
        "empty": {},
        "other": {**good, "confide": "counts"},
        "version": {**good, "version": 2},
        **{f"n {v!r}": {**good, "n": v} for v in (None, "50", 49, 51, -1, True, 50.0, 2**60)},
        **{f"simulated {v!r}": {**good, "simulated": v} for v in (None, 1, "no")},
        "mechanism": {**good, "mechanism": {"mechanism": "laplace"}},
        "too many": {**good, "counts": [51, *good["counts"][1:]]},
        "negative": {**good, "counts": [-1, *good["counts"][1:]]},
        "floats": {**good, "counts": [0.5] * 6},
        "words": {**good, "counts": ["a"] * 6},
        "huge": {**good, "counts": [10**30] * 6},
        "short": {**good, "counts": good["counts"][1:]},
        "tallies of other totals": {**good, "tallies": shifted},
        "tallies missing": {k: v for k, v in good.items() if k != "tallies"},
        "ragged": {**good, "tallies": [[1], [1, 2]]},
        "extra": {**good, "weights": [1] * 6},
        "counts of labels": {**sums(1, LABELS).to_dict(), "counts": [1] * 6},
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_forms_get_a_sentence(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        CellSums.from_dict(hostile()[name])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


def test_hostile_bytes_get_a_sentence() -> None:
    good = sums(1).to_bytes()
    for data in (b"", b"PK", good[:-40], good[: len(good) // 2], b"x" * 500):
        with pytest.raises(InvalidInput):
            CellSums.from_bytes(data)


def test_truth_is_checked_before_it_is_drawn_from() -> None:
    truth = np.zeros((5, 6), dtype=int)
    truth[0, 0] = 11
    for wrong in (truth, truth - 1, truth[:4], truth * 0.5):
        with pytest.raises(InvalidInput):
            CellSums.simulate_tallies(PARTITION, 10, wrong, seed=1)
    assert CellSums.simulate_tallies(PARTITION, 11, truth, seed=1).n == 11
    with pytest.raises(InvalidInput):
        CellSums.simulate(PARTITION, [[0.1, 0.1]], [0.5], seed=-1)
