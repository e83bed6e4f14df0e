"""Boundaries, refusals and fine print of the code that privacy rests on.

The mutation study (docs/mutation.md) found each of these untested: the smallest change of the code
that the test before did not notice.
"""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import (
    Cells,
    Joint,
    Laplace,
    Lattice,
    Ledger,
    Partition,
    RandomizedResponse,
    TwoSidedGamma,
)
from confide._sqlite import File
from confide.errors import InvalidInput
from confide.mechanisms import divergence
from confide.mechanisms.laws import fast_length
from confide.mechanisms.mollification import Mollification
from confide.randomness import SeededEntropy

UNIT = Lattice(low=0, high=1, size=8)


# Mechanisms.


@pytest.mark.parametrize(
    ("cells", "levels"),
    [([-2], [0]), ([4], [0]), ([0], [-1]), ([0], [5]), ([0, 4], [0, 0]), ([0, 1], [2, -1]),
     ([0, 1], [-1, 2]), ([1, -2], [0, 0])],
)  # fmt: skip
def test_no_cell_and_no_level_out_of_range_meets_noise(cells: list[int], levels: list[int]) -> None:
    made = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0, levels=2)
    with pytest.raises(InvalidInput, match="from"):
        made.draw(np.array(cells), np.array(levels), SeededEntropy(1))
    # The ends themselves are drawn from, and so is "in no cell".
    kept = made.draw(np.array([-1, 0, 3]), np.array([0, 4, 2]), SeededEntropy(1))
    assert kept.shape == (3, 2, 4)


def test_columns_of_a_joint_question_have_one_length() -> None:
    both = Joint({"a": Laplace(UNIT, epsilon=1.0), "b": RandomizedResponse(["x", "y"], epsilon=1)})
    with pytest.raises(InvalidInput, match="same length"):
        both.privatize({"a": [0.1, 0.2], "b": ["x"]})


def test_gamma_noise_is_for_linear_lattices() -> None:
    with pytest.raises(InvalidInput, match="linear"):
        TwoSidedGamma(Lattice(low=1, high=9, scale="log"), shape=1.0, scale=1.0)


def test_names_of_tables_and_partitions_are_32_hexadecimal_digits() -> None:
    gamma = TwoSidedGamma(UNIT, shape=1.0, scale=1.0)
    partition = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0, levels=2)
    for name in (gamma.to_dict()["table"], gamma.fingerprint, partition.fingerprint):
        assert len(name) == 32
        assert set(name) <= set("0123456789abcdef")


def test_lengths_of_transforms_are_the_smallest_there_are() -> None:
    known = sorted(base << power for base in (1, 3, 5) for power in range(20))
    for n in range(1, 3000):
        assert fast_length(n) == next(length for length in known if length >= n)


def test_the_divergence_of_shifts_that_floats_cannot_tell_apart_is_exact() -> None:
    generator, m = np.random.default_rng(1), 17
    for _ in range(40):
        # Noise that hardly ever leaves the middle: long shifts differ in their last digits only.
        inner = generator.integers(2**60, 2**62, 3).tolist()
        table = [*inner, *generator.integers(1, 1000, m - 2).tolist()]
        tails = [sum(table[k:]) for k in range(m + 1)]
        total = tails[0] + tails[1]
        found = divergence.clamped(table, tails, 0.25)
        columns = [clamped_column(table, tails, index) for index in range(m + 1)]
        factor = divergence.exp_floor(Fraction(0.25), 1 << divergence.BITS)
        worst = max(
            sum(max(0, (a << divergence.BITS) - b * factor) for a, b in zip(x, y, strict=True))
            for x in columns
            for y in columns
        )
        assert found == Fraction(worst, total << divergence.BITS)


def clamped_column(table: list[int], tails: list[int], index: int) -> list[int]:
    """Weights of the reports 0 .. m of an index, by definition."""
    m = len(table) - 1
    inner = [table[abs(report - index)] for report in range(1, m)]
    return [tails[index], *inner, tails[m - index]]


def test_masses_as_large_as_floats_go_are_a_reference() -> None:
    huge = Mollification(np.full(4, 1e308), epsilon=1.0)
    assert huge.reference.tolist() == [0.25] * 4


# Ledgers.


def test_delta_alone_is_no_budget(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="epsilon with delta"):
        Ledger(tmp_path / "ledger", delta=1e-6)


class Busy:
    """A connection that is busy so many times."""

    def __init__(self, times: int, code: int = sqlite3.SQLITE_BUSY) -> None:
        self.left, self.code = times, code

    def __call__(self, *given: Any) -> None:
        if self.left:
            self.left -= 1
            cause = sqlite3.OperationalError("busy")
            cause.sqlite_errorcode = self.code
            raise InvalidInput("a file", "a busy one") from cause


def test_write_ahead_mode_waits_for_others_and_not_for_ever(tmp_path: Path) -> None:
    file = File(tmp_path / "ledger", "ledger", 1, 1, (), timeout=30.0)
    patient = Busy(3)
    file._write_ahead(patient)
    assert patient.left == 0
    other = Busy(3, sqlite3.SQLITE_READONLY)
    with pytest.raises(InvalidInput):
        file._write_ahead(other)
    assert other.left == 2
    hasty = File(tmp_path / "ledger", "ledger", 1, 1, (), timeout=0.02)
    with pytest.raises(InvalidInput):
        hasty._write_ahead(Busy(10**9))
