"""Boundaries, refusals and fine print of the code that privacy rests on.

The mutation study (docs/evidence/mutation.md) found each of these untested: the smallest
change of the code that the test before did not notice.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
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
from confide.errors import InvalidInput, Unsupported
from confide.exact.enclosures import exp_enclosure, exp_floor, float_ceiling
from confide.exact.entropy import SeededEntropy
from confide.lattice import MAX_SIZE
from confide.ledger import locks
from confide.ledger.bindings import content
from confide.mechanisms import MAX_CELLS, laws
from confide.mechanisms.laws import fast_length, gmres
from confide.mechanisms.register import affordable
from confide.releases import (
    Bernstein,
    Choice,
    GaussianProcess,
    Histogram,
    Holdout,
    KolmogorovSmirnov,
    Query,
    Series,
)
from confide.releases.gaussian_process import kernel_table
from confide.releases.histogram import MOST_CELLS, default_cells
from confide.releases.holdout import UNIT as ANSWER
from confide.releases.kolmogorov_smirnov import default_points
from confide.releases.release import Recipe
from confide.releases.series import default_terms
from confide.sampling.mollification import Mollification

UNIT = Lattice(low=0, high=1, size=8)


# Mechanisms.


@pytest.mark.parametrize(
    ("cells", "levels"),
    [([-2], [0]), ([4], [0]), ([0], [-1]), ([0], [5]), ([0, 4], [0, 0]), ([0, 1], [2, -1]),
     ([0, 1], [-1, 2]), ([1, -2], [0, 0])],
)  # fmt: skip
def test_no_cell_and_no_level_out_of_range_meets_noise(cells: list[int], levels: list[int]) -> None:
    made = Partition(Cells(low=[0], high=[1], shape=[4]), bound=1.0, epsilon=2.0, levels=2)

    def indices(cells: list[int], levels: list[int]) -> Any:
        return np.stack([np.array(cells), np.array(levels) * 2**53], axis=1)

    with pytest.raises(InvalidInput, match="from"):
        made.draw(indices(cells, levels), SeededEntropy(1))
    # A step beyond the ends is refused as well.
    for step in (-1, 4 * 2**53 + 1):
        with pytest.raises(InvalidInput, match="from level 0 to 4"):
            made.draw(np.array([[0, step]]), SeededEntropy(1))
    # The ends themselves are drawn from, and so is "in no cell".
    kept = made.draw(indices([-1, 0, 3], [0, 4, 2]), SeededEntropy(1))
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
        found = laws.clamped(table, tails, 0.25)
        columns = [clamped_column(table, tails, index) for index in range(m + 1)]
        factor = exp_floor(Fraction(0.25), 1 << laws.BITS)
        worst = max(
            sum(max(0, (a << laws.BITS) - b * factor) for a, b in zip(x, y, strict=True))
            for x in columns
            for y in columns
        )
        assert found == Fraction(worst, total << laws.BITS)


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


# Laws, and bounds on files.


def test_a_linear_system_is_solved() -> None:
    generator = np.random.default_rng(3)
    table = np.eye(12) + 0.1 * generator.normal(size=(12, 12))
    right = generator.normal(size=12)
    found = gmres(lambda values: table @ values, right)
    np.testing.assert_allclose(table @ found, right, atol=1e-10)


def test_scores_are_found_without_a_table_where_the_target_has_a_zero() -> None:
    law = Laplace(UNIT, epsilon=1.0).law
    target = np.linspace(0, 1, 8)
    found = law.solve(target)
    assert found is not None
    np.testing.assert_allclose(law.adjoint(found), target, atol=1e-8)


def test_the_law_as_a_table_is_made_of_parts_and_has_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = Laplace(UNIT, epsilon=1.0).law
    whole = law.matrix()
    monkeypatch.setattr(laws, "CHUNK", 1)
    np.testing.assert_array_equal(law.matrix(), whole)
    monkeypatch.setattr(laws, "MAX_ENTRIES", 64)
    assert law.matrix().shape == (8, 8)
    monkeypatch.setattr(laws, "MAX_ENTRIES", 63)
    with pytest.raises(Unsupported, match="a table of 8 by 8 numbers"):
        law.matrix()


@pytest.mark.parametrize("scale", [0.2, 5.0])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_loss_of_few_cells_is_that_of_the_whole_law(size: int, scale: float) -> None:
    # So peaked, and with such tails, that the largest ratio is between two inner cells.
    law = TwoSidedGamma(Lattice(low=0, high=1, size=size), shape=0.05, scale=scale).law
    assert law.ratio() == laws.Law.ratio(law)


def test_the_bound_on_all_cells_of_a_file() -> None:
    def declared(*sizes: int) -> list[dict[str, Any]]:
        return [{"mechanism": "laplace", "lattice": {"size": size}} for size in sizes]

    most = MAX_CELLS // MAX_SIZE
    affordable(declared(*[MAX_SIZE] * most), "a file")
    with pytest.raises(InvalidInput, match=r"at most 4,194,304 cells in a file"):
        affordable(declared(*[MAX_SIZE] * most, 2), "a file")


def test_numbers_beyond_64_bits_are_not_taken_for_others() -> None:
    assert content(np.array([2**63], dtype=np.uint64)) != content(np.array([-(2**63)]))
    assert content(np.array([2**63 - 1], dtype=np.uint64)) == content(np.array([2**63 - 1]))


def test_all_versions_lock_the_same_byte() -> None:
    assert locks.BYTE == 2**62


def test_all_of_the_version_in_the_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path, epsilon=1.0)
    with sqlite3.connect(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {2**24 + version}")
    connection.close()
    with pytest.raises(InvalidInput, match="version"):
        Ledger(path)


# Exact arithmetic.


def test_exponentials_are_enclosed_to_the_last_digit_however_large() -> None:
    for x in (Fraction(1, 3), Fraction(7), Fraction(100), Fraction(901, 2), Fraction(2000)):
        for signed in (x, -x):
            lower, upper = exp_enclosure(signed, 64)
            assert 0 <= upper - lower <= 2


def test_a_loss_of_nothing_is_written_without_a_sign() -> None:
    assert str(float_ceiling(Fraction(0))) == "0.0"
    assert float_ceiling(Fraction(5e-324)) == 5e-324


# Releases: what is refused, and what is public.


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, 1e300, "1", True, None])
@pytest.mark.parametrize(
    "make",
    [
        lambda e: Histogram(UNIT, epsilon=e),
        lambda e: Series(UNIT, epsilon=e),
        lambda e: Bernstein(UNIT, epsilon=e),
        lambda e: GaussianProcess(UNIT, epsilon=e, delta=1e-6),
        lambda e: KolmogorovSmirnov(UNIT, epsilon=e),
        lambda e: Query("mean", UNIT, epsilon=e),
        lambda e: Choice([Series(UNIT, epsilon=0.5, terms=k) for k in (1, 2)], epsilon=e),
    ],
)
def test_no_release_takes_an_epsilon_that_is_none(
    make: Callable[[Any], Recipe], epsilon: Any
) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        make(epsilon)


def test_what_a_bernstein_polynomial_is_stored_as() -> None:
    made = Bernstein(UNIT, epsilon=1, degree=3, bandwidth=0.25)
    assert made.to_dict() == {
        "release": "bernstein",
        "columns": [{"name": "", "low": 0.0, "high": 1.0, "size": 8, "scale": "linear"}],
        "epsilon": 1.0,
        "degree": 3,
        "bandwidth": 0.25,
        "sensitivity_rule": "tight",
        "positive": "clip",
    }


def test_a_list_of_candidates_that_changes_later_changes_no_choice() -> None:
    several = [Series(UNIT, epsilon=0.5, terms=terms) for terms in (1, 2)]
    made = Choice(several, epsilon=1.0)
    declared = made.to_dict()
    several.append(Series(UNIT, epsilon=0.9, terms=3))
    assert made.to_dict() == declared
    assert len(made.candidates) == 2


def test_candidates_that_no_record_can_tell_apart_are_equally_likely() -> None:
    made = Choice([Bernstein(UNIT, epsilon=0.5, degree=2)] * 2, epsilon=1.0)
    first, second = made.exponents(made.index([0.1, 0.4, 0.4, 0.9]))
    assert first == second


def test_points_of_a_process_are_as_far_apart_as_the_kernel_is_wide() -> None:
    for width in (0.05, 0.1, 0.33, 1.0):
        narrow = width / math.sqrt(2)
        points = len(kernel_table(16, width, 2**12))
        # From three widths below the range to three above it.
        apart, wider = (1 + 6 * narrow) / (points - 1), (1 + 6 * narrow) / (points - 2)
        assert apart <= narrow < wider


def test_cells_of_two_columns_are_kept_up_to_their_bound() -> None:
    for size, kept in ((100, 100), (128, 128), (129, 128), (1024, 128)):
        both = dict.fromkeys("ab", Lattice(low=0, high=1, size=size))
        assert Bernstein(both, epsilon=1.0).cells == kept


# Public defaults.


def test_the_largest_default_of_a_histogram() -> None:
    endless = 10**18
    assert default_cells(endless, 1.0, 1) == 2**16
    most = default_cells(endless, 1.0, 2)
    assert most**2 <= MOST_CELLS < (most + 1) ** 2


def test_default_points_grow_with_the_cube_root_of_records_that_count() -> None:
    for n in (500, 1000, 4000):
        # Eight times the records, twice the cells.
        assert default_points(8 * n, 1.0) == pytest.approx(2 * default_points(n, 1.0), abs=2)
        assert default_points(8 * n, 1 / 8) == default_points(n, 1.0)
        assert default_points(n, 5.0) == default_points(n, 1.0)
    assert default_points(1, 1.0) == 8
    assert default_points(10**9, 1.0) == 128


def test_default_terms_are_found_without_a_warning() -> None:
    with np.errstate(all="raise"):
        assert default_terms(10, 0.1) >= 1
        assert default_terms(10**6, 1.0) > default_terms(1000, 1.0)


# Holdouts.


def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds without noise, to see where a limit lies."""
    monkeypatch.setattr(Holdout, "_draw", lambda self, noise: 0)


def test_a_difference_of_the_threshold_itself_is_agreement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quiet(monkeypatch)
    # As floats, three tenths are a little less than that.
    assert Fraction(0.3) < Fraction(3, 10)
    train = np.zeros(10)
    for ones, source in ((3, "train"), (4, "holdout")):
        fresh = np.repeat([1.0, 0.0], [ones, 10 - ones])
        made = Holdout(train, fresh, epsilon=1.0, overfits=1, threshold=0.3)
        assert made.ask(lambda x: x).source == source


@pytest.mark.parametrize(("units", "refused"), [(1, False), (2, True)])
def test_a_query_has_a_unit_of_room(units: int, refused: bool) -> None:
    train = np.linspace(0, 1, 50)
    made = Holdout.simulate(train, train, seed=1, epsilon=1.0, overfits=1)

    def query(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.full(len(x), 0.5 + (units / ANSWER if len(x) < 50 else 0))

    if refused:
        with pytest.raises(InvalidInput, match="each record alone"):
            made.ask(query)
    else:
        assert made.ask(query).value == pytest.approx(0.5, abs=0.2)


def test_what_a_ledger_knows_of_a_round() -> None:
    class Book:
        """Keeps what it is told."""

        def charge(self, key: str, spec: Any, spend: Any, make: Any, **more: Any) -> Any:
            self.told = (key, spec, spend.epsilon)
            return make()

    book = Book()
    made = Holdout(np.zeros(7), np.zeros(5), epsilon=0.5, overfits=3, ledger=book, key="study")
    made.ask(lambda x: x)
    assert book.told == (
        "study/1",
        {
            "release": "holdout",
            "n": 5,
            "train": 7,
            "epsilon": 0.5,
            "overfits": 3,
            "threshold": 0.04,
            "round": 1,
        },
        0.5,
    )
