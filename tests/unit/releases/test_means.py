"""Means of several columns in one release."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide import Lattice, Ledger, audits
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.integer_noise import DiscreteGaussian, gaussian, gaussian_delta, laplace
from confide.lattice import MAX_SIZE
from confide.releases import Means, Query, from_dict, means

PAY, AGE = Lattice(low=0, high=300_000), Lattice(low=17, high=90)
BOTH = {"pay": PAY, "age": AGE}


def total(recipe: Means, rows: Any) -> Any:
    prepared = recipe.prepare(recipe.admitted(np.array(rows)), lambda _: None)
    (found,) = recipe.sums(prepared, None)  # type: ignore[arg-type]
    return np.array(found, dtype=object)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sensitivity_by_brute_force(n: int) -> None:
    recipe = Means(BOTH, epsilon=1.0)
    places = list(itertools.product([-1e9, 150_000, 1e9], [0, 40, 200]))
    worst = squares = 0
    for others in itertools.product(places, repeat=n - 1):
        found = [total(recipe, [*others, last]) for last in places]
        for one, other in itertools.combinations(found, 2):
            worst = max(worst, abs(one - other).sum())
            squares = max(squares, ((one - other) ** 2).sum())
    assert worst == recipe.noise.sensitivity == 2 * (MAX_SIZE - 1)  # type: ignore[union-attr]
    assert squares == 2 * (MAX_SIZE - 1) ** 2
    process = Means(BOTH, epsilon=1.0, delta=1e-6)
    assert isinstance(process.noise, DiscreteGaussian)
    assert gaussian_delta([(process.noise, squares, 2)], exact(1.0)) == process.slack(n) <= 1e-6


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("columns", [1, 2, 9])
def test_an_audit_finds_noise_for_fewer_columns(
    delta: float, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Means({f"x{at}": AGE for at in range(columns)}, epsilon=1.0, delta=delta)
    found = audits.exact(recipe, n=20)
    assert found.holds
    (change,) = found.evidence["changes"]
    assert change == columns * (MAX_SIZE - 1) ** (2 if delta else 1)
    less = Fraction(9, 10)
    monkeypatch.setattr(means, "laplace", lambda e, most: laplace(e, int(most * less)))
    monkeypatch.setattr(
        means, "gaussian", lambda e, d, most, k: gaussian(e, d, int(most * less), k)
    )
    assert not audits.exact(replace(recipe), n=20).holds


def test_answers_are_near_and_intervals_hold_them() -> None:
    generator = np.random.default_rng(1)
    rows = np.column_stack([generator.uniform(0, 300_000, 4000), generator.integers(17, 91, 4000)])
    for delta in (0.0, 1e-6):
        recipe, held = Means(BOTH, epsilon=1.0, delta=delta), []
        for seed in range(100):
            release = recipe.simulate(rows, seed=seed)
            for (name, answer), truth in zip(
                release.answers.items(), rows.mean(axis=0), strict=True
            ):
                width = BOTH[name].high - BOTH[name].low
                assert abs(answer["value"] - truth) < 0.02 * width
                held.append(answer["low"] <= truth <= answer["high"])
        assert np.mean(held) == 1.0  # the records' own mean: the interval has room for sampling


def test_gaussian_noise_grows_with_the_root_of_the_columns() -> None:
    many = {f"x{at}": AGE for at in range(400)}
    plain, process = (Means(many, epsilon=1.0, delta=delta) for delta in (0.0, 1e-6))
    assert 6.6 < plain.noise.sd / process.noise.sd < 6.8  # as docs/how-to/releases.md has it
    # Laplace noise is what as many queries at a part of epsilon have.
    alone = Query("mean", AGE, epsilon=1.0 / 400, spread=0).noises(10)[0]
    assert plain.noise.sd == pytest.approx(alone.sd, rel=1e-6)


def test_intervals_cover_the_population() -> None:
    generator = np.random.default_rng(2)
    recipes = [Means(BOTH, epsilon=0.5, delta=delta) for delta in (0.0, 1e-6)]
    held = {recipe.delta: 0 for recipe in recipes}
    for seed in range(200):
        pay = 300_000.0 * generator.integers(0, 2, 100)
        rows = np.column_stack([pay, np.full(100, 50.0)])
        for recipe in recipes:
            answer = recipe.simulate(rows, seed=seed).answers["pay"]  # type: ignore[index]
            held[recipe.delta] += answer["low"] <= 150_000 <= answer["high"]
    # 95 % less four standard errors.
    assert min(held.values()) >= 200 * (0.95 - 4 * (0.05 * 0.95 / 200) ** 0.5)


def test_it_is_charged_and_stored(tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0, subject="staff")
    rows = [[30_000, 25], [42_000, 47]] * 50
    first = Means(BOTH, epsilon=0.6).release(rows, ledger, "means")
    again = Means(BOTH, epsilon=0.6).release({"age": [25, 47] * 50, "pay": [30_000, 42_000] * 50},
                                             ledger, "means")  # fmt: skip
    assert again.noisy == first.noisy
    assert ledger.left.epsilon == pytest.approx(0.4)
    table = first.to_frame()
    assert table["quantity"].tolist() == ["pay", "age"]
    recipe = Means(BOTH, epsilon=0.6, delta=1e-5)
    assert from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize(
    "columns", [PAY, {}, {"": PAY}, {1: PAY}, {"pay": 3}, {f"x{at}": AGE for at in range(1001)}]
)
def test_columns_have_names_and_bounds(columns: Any) -> None:
    with pytest.raises(InvalidInput):
        Means(columns, epsilon=1.0)


@pytest.mark.parametrize("delta", [-1, 0.5, True, "x", 1e-13])
def test_delta_is_checked(delta: Any) -> None:
    with pytest.raises(InvalidInput, match="delta"):
        Means(BOTH, epsilon=1.0, delta=delta)
