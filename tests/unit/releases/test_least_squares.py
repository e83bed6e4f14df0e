"""Regressions and classifiers of a curator's table."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Categories, Lattice, Ledger, audits
from confide.curves import AdditiveModel
from confide.errors import InvalidInput, Unsupported
from confide.exact.entropy import SeededEntropy
from confide.exact.integer_noise import laplace
from confide.releases import LeastSquares, Release, least_squares
from confide.releases.least_squares import UNIT, entries, squared

AGE = Lattice(low=0, high=100, size=101)
SEX = Categories(("f", "m"))
COLOR = Categories(("red", "green", "blue"))


def people(n: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age, sex = rng.uniform(0, 100, n), rng.integers(0, 2, n)
    # A bend in age, and a step for sex.
    level = 1 - ((age - 50) / 50) ** 2 + 0.4 * sex
    pay = 10 * level + rng.normal(0, 1, n)
    color = np.array(COLOR.labels)[np.searchsorted([0.4, 1.0], level + rng.normal(0, 0.1, n))]
    return {"age": age, "sex": np.array(SEX.labels)[sex], "pay": pay, "color": color}


BOTH = {"age": AGE, "sex": SEX}


def test_entries_are_whole_and_add_up() -> None:
    for axis, degree, unit in [(AGE, 4, UNIT), (AGE, 16, UNIT**2), (COLOR, 4, UNIT), (AGE, 1, 7)]:
        table = entries(axis, degree, unit)
        assert table.dtype == np.int64
        assert table.min() >= 0
        assert (table.sum(axis=1) == unit).all()
    # Numbers at the bounds have the first and the last polynomial to themselves.
    assert entries(AGE, 4, UNIT)[[0, -1]].tolist() == [[UNIT, 0, 0, 0, 0], [0, 0, 0, 0, UNIT]]


def test_products_of_polynomials_are_polynomials() -> None:
    one, two = (least_squares.basis(AGE, degree) for degree in (3, 6))
    for i, j in product(range(4), repeat=2):
        np.testing.assert_allclose(one[:, i] * one[:, j], squared(3)[i, j] * two[:, i + j])


def test_sums_are_those_of_a_loop() -> None:
    recipe = LeastSquares({**BOTH, "color": COLOR}, target="sex", epsilon=1.0, degree=2)
    table = {name: values[:50] for name, values in people(50).items()}
    (found,) = recipe.sums(recipe.admitted(table), SeededEntropy(0))
    assert list(recipe.axes) == ["age", "color", "sex"]
    expected: list[Any] = []
    tables = [entries(axis, 2, UNIT) for axis in (AGE, COLOR, SEX)]
    places = [axis.index(table[name]) for name, axis in recipe.axes.items()]
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        pairs = zip(places[a], places[b], strict=True)
        expected += sum(np.outer(tables[a][x], tables[b][y]) for x, y in pairs).ravel().tolist()
    expected += sum(entries(AGE, 4, UNIT**2)[x] for x in places[0]).tolist()
    assert list(found) == expected


def test_it_is_least_squares_where_there_is_hardly_noise() -> None:
    table = people(40_000)
    recipe = LeastSquares(
        {**BOTH, "pay": Lattice(low=-5, high=20)}, target="pay", epsilon=100.0, degree=2
    )
    model = recipe.simulate(table, seed=1).model
    assert model is not None
    design = np.concatenate([
        least_squares.basis(AGE, 2)[AGE.index(table["age"])], np.eye(2)[SEX.index(table["sex"])],
    ], axis=1)  # fmt: skip
    share = (np.clip(table["pay"], -5, 20) + 5) / 25
    wanted = design @ np.linalg.lstsq(design, share, rcond=None)[0] * 25 - 5
    assert np.abs(model.predict(table) - wanted).max() < 0.1


def test_a_private_classifier_predicts_nearly_as_well() -> None:
    train, test = people(20_000, 1), people(20_000, 2)
    right = {}
    for epsilon in (1.0, 100.0):
        recipe = LeastSquares({**BOTH, "color": COLOR}, target="color", epsilon=epsilon)
        model = recipe.simulate(train, seed=3).model
        assert model is not None
        right[epsilon] = (model.predict(test) == test["color"]).mean()
        shares = model.probability(test)
        assert shares.shape == (20_000, 3)
        assert shares.sum(axis=1) == pytest.approx(1)
        assert shares.min() > 0
    assert right[100.0] > 0.65
    assert right[1.0] > right[100.0] - 0.02


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_audits_pass_and_convict_half_the_noise(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = LeastSquares(
        {"a": Lattice(low=0, high=1, size=4), "sex": SEX}, target="sex", epsilon=1.0, delta=delta,
        degree=1,
    )  # fmt: skip
    found = audits.exact(recipe, n=10)
    assert found.holds
    most = recipe.squared_sensitivity if delta else recipe.sensitivity
    assert found.evidence["changes"] == [most]
    if not delta:
        monkeypatch.setattr(least_squares, "laplace", lambda e, most: laplace(e, most // 2))
        assert not audits.exact(recipe, n=10).holds


def test_it_is_charged_once_and_comes_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0, subject="people")
    recipe = LeastSquares({**BOTH, "color": COLOR}, target="color", epsilon=0.6)
    table = people(300)
    first = recipe.release(table, ledger, "color")
    again = recipe.release({name: values[::-1] for name, values in table.items()}, ledger, "color")
    assert again.noisy == first.noisy
    assert ledger.left.epsilon == pytest.approx(0.4)
    stored = Release.from_dict(ledger.entry("color").release)
    assert stored.model is not None
    assert first.model is not None
    assert (stored.model.predict(table) == first.model.predict(table)).all()
    assert set(stored.to_frame()["column"]) == {"age", "sex"}
    assert "sex" in first._repr_html_()


def test_what_a_model_says() -> None:
    recipe = LeastSquares({**BOTH, "pay": Lattice(low=-5, high=20)}, target="pay", epsilon=1.0)
    model = recipe.simulate(people(500), seed=1).model
    assert model is not None
    assert model.effect("sex").shape == (2, 1)
    assert model.predict({"age": [1e9], "sex": ["m"]})[0] <= 20
    with pytest.raises(Unsupported):
        model.probability(people(5))
    with pytest.raises(InvalidInput, match="a column 'sex'"):
        model.predict({"age": [1.0]})
    with pytest.raises(InvalidInput, match="one length"):
        model.predict({"age": [1.0, 2.0], "sex": ["m"]})
    with pytest.raises(InvalidInput, match="answers among"):
        model.predict({"age": [1.0], "sex": ["x"]})
    fields = model.to_dict()
    assert AdditiveModel.from_dict(fields).to_dict() == fields
    for broken in ({"effects": []}, {"target": 1}, {"mean": [1.0, 2.0]}, {"columns": [{}]}):
        with pytest.raises(InvalidInput):
            AdditiveModel.from_dict({**fields, **broken})


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": {"age": AGE}, "target": "age"},
        {"columns": [AGE, SEX], "target": "age"},
        {"columns": {**BOTH, "": AGE}, "target": "age"},
        {"columns": {**BOTH, "x": (0, 1)}, "target": "age"},
        {"columns": BOTH, "target": "pay"},
        {"columns": BOTH, "target": "sex", "degree": 0},
        {"columns": BOTH, "target": "sex", "delta": 0.5},
        {"columns": BOTH, "target": "sex", "epsilon": 0.0},
        {"columns": {**BOTH, "x": Categories([str(j) for j in range(600)])}, "target": "sex"},
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        LeastSquares(**{"epsilon": 1.0, **fields})
