"""References for tables that are learned from public records."""

from __future__ import annotations

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lattice import Categories, Lattice
from confide.sampling import FiniteMollifier, public_masses

COLUMNS = {"sex": Categories(("f", "m")), "age": Lattice(low=0, high=100, size=20)}


def table(n: int, seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    old = rng.random(n) < 0.7
    # Of the old most are women: the columns hang together.
    sex = np.where(rng.random(n) < np.where(old, 0.9, 0.2), "f", "m")
    return {"sex": sex, "age": np.where(old, rng.normal(70, 8, n), rng.normal(25, 5, n))}


def divergence(truth: np.ndarray, weights: np.ndarray) -> float:
    seen = truth > 0
    return float(truth[seen] @ np.log(truth[seen] / (weights / weights.sum())[seen]))


def test_masses_are_positive_and_those_of_the_public() -> None:
    masses = public_masses(COLUMNS, table(50_000, 1))
    assert masses.sum() == pytest.approx(1)
    assert masses.min() > 0
    counts = np.bincount(
        FiniteMollifier(COLUMNS, epsilon=1.0).index(table(50_000, 2)), minlength=40
    )
    assert np.abs(masses.ravel() - counts / 50_000).max() < 0.01
    # The columns hang together in it.
    alone = np.outer(masses.sum(axis=1), masses.sum(axis=0))
    assert np.abs(masses - alone).max() > 0.02


def test_of_few_records_the_margins_count() -> None:
    few = public_masses(COLUMNS, table(12, 1))
    alone = np.outer(few.sum(axis=1), few.sum(axis=0))
    many = public_masses(COLUMNS, table(50_000, 1))
    # Nearer to the truth than the twelve alone, which leave most cells empty.
    assert few.min() > 0
    assert divergence(many.ravel(), few.ravel()) < 1.5
    assert np.abs(few - alone).sum() < np.abs(many - np.outer(many.sum(1), many.sum(0))).sum()


def test_samples_near_a_public_reference_are_better() -> None:
    private, public = table(2_000, 3), table(2_000, 4)
    found = {}
    for name, masses in (("uniform", None), ("public", public_masses(COLUMNS, public))):
        sampler = FiniteMollifier(COLUMNS, epsilon=1.0, reference=masses)
        truth = np.bincount(sampler.index(private), minlength=40) / 2_000
        found[name] = divergence(truth, sampler.weights(private).astype(float))
        # Whatever the reference, no two data sets tell more than epsilon.
        assert float(sampler.odds()) <= np.exp(1.0)
    assert found["public"] < 0.1 * found["uniform"]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InvalidInput):
        public_masses(COLUMNS, {"sex": ["f"]})
