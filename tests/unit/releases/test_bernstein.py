from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
from evidence.printed import PrintedBernstein
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import Entropy
from confide.exact.integer_noise import ONE, sensitivity
from confide.lattice import Lattice
from confide.releases import Bernstein, Series, release
from confide.releases.bernstein import default_degree, furthest, kernel, polynomials
from confide.releases.series import UNIT, default_terms, shrunk

SMALL = Lattice(low=0, high=1, size=5)
PAIR = {"a": SMALL, "b": SMALL}
CENTERS = (np.arange(5) + 0.5) / 5


class Zero(Entropy):
    """No noise at all."""

    def words(self, n, bits):
        return np.zeros(n, dtype=np.uint64)


def sums(recipe: Bernstein, rows: list[tuple[float, ...]]) -> np.ndarray:
    return np.array(recipe.draw(recipe.index(np.array(rows)), Zero()))


def printed(recipe: Bernstein, record: tuple[float, ...], degree: int, width: float) -> np.ndarray:
    """The kernel estimate of one record at the points of the lattice, as in the paper."""
    points = np.array(list(itertools.product(np.arange(degree + 1) / degree, repeat=len(record))))
    square = ((points - record) ** 2).sum(axis=1)
    return np.exp(-square / (2 * width**2)) / (2 * np.pi * width**2) ** (len(record) / 2)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("width", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("degree", [1, 4])
def test_sensitivity_by_brute_force(columns, width, degree):
    names = dict(itertools.islice(PAIR.items(), columns))
    tight, loose = (
        kind(names, epsilon=1.0, degree=degree, bandwidth=width)
        for kind in (Bernstein, PrintedBernstein)
    )
    places = list(itertools.product(CENTERS, repeat=columns))
    alone = {place: sums(tight, [place]) for place in places}
    worst = max(int(np.abs(alone[a] - alone[b]).sum()) for a in places for b in places)
    if columns == 1:
        assert tight.sensitivity(7) == worst
    else:
        assert worst <= tight.sensitivity(7)
        # Twice the largest sum, found without products.
        assert tight.sensitivity(7) == 2 * max(int(each.sum()) for each in alone.values())
    tallest = max(int(each.max()) for each in alone.values())
    assert loose.sensitivity(7) == (degree + 1) ** columns * tallest >= worst


@pytest.mark.parametrize("columns", [1, 2])
def test_one_record_among_several_moves_the_sums_no_further(columns):
    names = dict(itertools.islice(PAIR.items(), columns))
    recipe = Bernstein(names, epsilon=1.0, degree=3, bandwidth=0.15)
    places = list(itertools.product(CENTERS[::2], repeat=columns))
    for first, old, new in itertools.product(places, repeat=3):
        change = sums(recipe, [first, old]) - sums(recipe, [first, new])
        assert np.abs(change).sum() <= recipe.sensitivity(2)


@pytest.mark.parametrize("columns", [1, 2])
def test_sums_are_the_paper_s_kernel_estimate(columns):
    names = dict(itertools.islice(PAIR.items(), columns))
    recipe = Bernstein(names, epsilon=1.0, degree=3, bandwidth=0.2)
    # Not symmetric, so that swapped columns would show.
    rows = [(0.1, 0.7)[:columns], (0.3, 0.9)[:columns]]
    expected = sum(printed(recipe, row, 3, 0.2) for row in rows)
    assert np.abs(sums(recipe, rows) / UNIT - expected).max() < 2**-7


def test_curve_is_the_paper_s_polynomial():
    recipe = Bernstein(dict.fromkeys("ab", Lattice(low=0, high=1, size=128)), epsilon=1.0, degree=3)
    heights = np.arange(1.0, 17.0).reshape(4, 4)
    noisy = tuple(int(h * 10 * UNIT) for h in heights.ravel())
    curve = recipe.finish(noisy, 10)["curve"]
    x = np.array([[0.2, 0.7], [0.9, 0.4]])

    def basis(j: int, at: np.ndarray) -> np.ndarray:
        return comb(3, j) * at**j * (1 - at) ** (3 - j)

    expected = sum(
        heights[i, j] * basis(i, x[:, 0]) * basis(j, x[:, 1]) for i in range(4) for j in range(4)
    )
    # Each polynomial has mass 1 / (k + 1).
    assert curve.pdf(x) == pytest.approx(expected / (heights.sum() / 16), rel=0.01)
    assert polynomials(3, 8).sum(axis=1) == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("kind", [Bernstein, PrintedBernstein])
@pytest.mark.parametrize("lattice", [SMALL, PAIR], ids=["one", "two"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_loss_is_certified_in_integers(lattice, epsilon, kind):
    recipe = kind(lattice, epsilon=epsilon)
    for n in (10, 10_000):
        noise = recipe.noise(n)
        _, upper = exp_enclosure(-noise.epsilon / noise.sensitivity, 256)
        assert noise.parameter << 256 >= upper * ONE
        assert noise.sensitivity == recipe.sensitivity(n)
        assert 0.999 * epsilon < recipe.loss(n) <= epsilon


def test_half_the_sensitivity_would_be_caught():
    recipe = Bernstein(PAIR, epsilon=1.0, degree=4, bandwidth=0.05)
    places = list(itertools.product(CENTERS, repeat=2))
    alone = [sums(recipe, [place]) for place in places]
    worst = max(int(np.abs(a - b).sum()) for a, b in itertools.combinations(alone, 2))
    assert recipe.sensitivity(1) // 2 < worst


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 12), st.floats(0.004, 10), st.integers(2, 30), st.sampled_from([2**10, 2**20])
)
def test_the_quick_search_looks_at_every_pair_that_matters(degree, width, cells, unit):
    slow = sensitivity(kernel(degree, width, cells, unit))
    assert furthest(degree, width, cells, unit) == slow


@pytest.mark.parametrize(
    ("columns", "width", "times"),
    [(1, 0.02, 9.6), (1, 0.05, 4.2), (1, 0.2, 1.4), (2, 0.02, 186), (2, 0.05, 35), (2, 0.2, 2.2)],
)
def test_the_paper_s_sensitivity_is_larger(columns, width, times):
    wide = dict.fromkeys("ab"[:columns], Lattice(low=0, high=1, size=128))
    tight, loose = (
        kind(wide, epsilon=1.0, degree=20, bandwidth=width)
        for kind in (Bernstein, PrintedBernstein)
    )
    assert loose.sensitivity(1) / tight.sensitivity(1) == pytest.approx(times, rel=0.02)


def test_shift_and_clip():
    def masses(noisy, positive):
        return (
            PrintedBernstein(SMALL, epsilon=1.0, degree=2, positive=positive)
            .finish(noisy, 1)["curve"]
            .masses
        )

    clip, shift = (masses((3 * UNIT, -UNIT, -UNIT), positive) for positive in ("clip", "shift"))
    raw = np.array([3, -1, -1]) @ polynomials(2, 5)
    assert shift == pytest.approx((raw - raw.min()) / (raw - raw.min()).sum())
    assert clip == pytest.approx(np.maximum(raw, 0) / np.maximum(raw, 0).sum())
    assert shift.min() == 0
    # Nothing to make positive: both are the polynomial itself.
    assert masses((1, 2, 3), "clip") == pytest.approx(masses((1, 2, 3), "shift"))
    assert masses((-1, -1, -1), "clip") == pytest.approx(np.full(5, 0.2))


def test_two_columns_by_name():
    generator = np.random.default_rng(1)
    a = generator.beta(2, 6, 4000)
    columns = {"a": a, "b": np.clip(a + generator.normal(0, 0.05, 4000), 0, 1)}
    recipe = Bernstein(dict.fromkeys("ab", Lattice(low=0, high=1, size=64)), epsilon=5.0)
    curve = recipe.simulate(columns, seed=1).curve
    assert curve.names == ("a", "b")
    assert curve.masses.sum() == pytest.approx(1)
    assert abs(curve.marginal("a").mean() - a.mean()) < 0.03
    # Association survives.
    assert curve.pdf([0.2, 0.2]) > 3 * curve.pdf([0.2, 0.5])
    frame = pd.DataFrame({"b": columns["b"], "a": columns["a"]})
    for same in (frame, np.stack([columns["a"], columns["b"]], axis=1)):
        assert np.array_equal(recipe.simulate(same, seed=1).curve.masses, curve.masses)
    document = recipe.release(columns).to_dict()
    assert [each["name"] for each in document["spec"]["columns"]] == ["a", "b"]
    assert all(isinstance(each, int) for each in document["noisy"])
    with pytest.raises(InvalidInput):
        recipe.release({"a": [0.1]})
    with pytest.raises(InvalidInput):
        recipe.release({"a": [0.1], "b": [0.1, 0.2]})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bernstein({}, epsilon=1.0),
        lambda: Bernstein(dict.fromkeys("abc", SMALL), epsilon=1.0),
        lambda: Bernstein({"a": None, "b": SMALL}, epsilon=1.0),
        lambda: Bernstein(SMALL, epsilon=1.0, degree=0),
        lambda: Bernstein(PAIR, epsilon=1.0, degree=500),
        lambda: Bernstein(PAIR, epsilon=1.0, bandwidth=1e-3),
        lambda: Series(PAIR, epsilon=1.0),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize(("columns", "degree"), [(1, 512), (2, 128)])
def test_sums_of_the_most_records_stay_within_64_bits(columns, degree):
    # Odd, so that a cell's centre lies on a point, where the kernel is tallest.
    wide = dict.fromkeys("ab"[:columns], Lattice(low=0, high=1, size=127))
    tallest = int(Bernstein(wide, epsilon=1.0, degree=degree).table(10).max()) ** columns
    assert tallest * release.MOST_RECORDS < 2**63
    assert columns == 1 or tallest * 10**9 > 2**63


def test_more_records_than_sums_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(release, "MOST_RECORDS", 3)
    recipe = Bernstein(SMALL, epsilon=1.0)
    assert len(recipe.release([0.5] * 3).noisy) > 1
    for make in (recipe.release, lambda values: recipe.simulate(values, seed=1)):
        with pytest.raises(InvalidInput, match="at most 3 records"):
            make([0.5] * 4)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 0.8])
def test_noise_is_for_epsilon_as_it_is_written(epsilon):
    # The float 0.1 is more than the tenth that a ledger counts.
    for recipe in (Bernstein(PAIR, epsilon=epsilon), Series(SMALL, epsilon=epsilon, terms=2)):
        assert recipe.noise(10).epsilon == exact(epsilon) <= Fraction(str(epsilon))


@pytest.mark.parametrize("columns", [1, 2])
def test_default_degree_grows_with_records_and_epsilon(columns):
    degrees = [default_degree(n, 1.0, columns) for n in (100, 1_000, 10_000)]
    assert degrees == sorted(set(degrees))
    assert default_degree(1_000, 0.1, columns) < degrees[1] < default_degree(1_000, 10.0, columns)
    # Without noise d/k**2 balances k**(d/2)/n.
    if columns == 1:
        ratio = default_degree(5_000, 1e6, 1) / default_degree(500, 1e6, 1)
        assert ratio == pytest.approx(10**0.4, rel=0.05)


def test_blocks_of_noise_are_shrunk():
    generator = np.random.default_rng(2)
    noise = generator.normal(0, 0.1, (400, 30))
    signal = np.where(np.arange(30) < 3, 1.0, 0.0)
    found = np.array([shrunk(signal + each, 0.01) for each in noise])
    assert ((found - signal) ** 2).sum(axis=1).mean() < 0.6 * (noise**2).sum(axis=1).mean()
    assert found[:, :3].mean(axis=0) == pytest.approx(np.ones(3), abs=0.03)
    # Blocks begin at 0, 1, 2, 3, 5, ...; the share kept is 1 - length variance / square sum.
    one = shrunk(np.array([1.0, 1.0, 1.0, 1.0, 2.0, 0.1]), 0.5)
    assert one == pytest.approx([0.5, 0.5, 0.5, 0.8, 1.6, 0.0])
    assert shrunk(np.zeros(4), 0.0) == pytest.approx(np.zeros(4))
    assert default_terms(10**4, 1.0) < default_terms(10**5, 1.0)
