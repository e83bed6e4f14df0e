"""Partition surveys: their files, their reports, and the curves in their own units."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide import tables
from confide.curves import CellRegression, Classification, ClassShares
from confide.errors import InvalidInput, Mismatch
from confide.estimators import PartitionRegression, partition_curve
from confide.questions import Feature, PartitionSurvey

N = 60_000
AGE, REGION = Feature(low=18, high=80, cells=4), Feature(categories=("north", "south"))
TOML = """
title = "Pay"

[partition]
epsilon = 4.0
response = "pay"
low = 0
high = 100000

[partition.features.age]
low = 18
high = 80
cells = 4

[partition.features.region]
categories = ["north", "south"]
"""


def people() -> dict[str, Any]:
    draw = np.random.default_rng(1)
    age, region = draw.uniform(18, 80, N), draw.choice(["north", "south"], N)
    south = region == "south"
    shares = np.where(south[:, None], [0.1, 0.3, 0.6], [0.6, 0.3, 0.1]).cumsum(axis=1)
    mode = np.array(["bus", "car", "foot"])[(draw.random(N)[:, None] > shares).sum(axis=1)]
    return {
        "age": age,
        "region": region,
        "pay": 20_000 + 600 * (age - 18) + 10_000 * south,
        "owns": np.where(draw.random(N) < (age - 18) / 62, "yes", "no"),
        "mode": mode,
    }


def survey(**other: Any) -> PartitionSurvey:
    given = {"response": "pay", "features": {"age": AGE, "region": REGION}, "epsilon": 4.0}
    bounds = {} if "labels" in other else {"low": 0, "high": 100_000}
    return PartitionSurvey(**{**given, **bounds, **other})


def test_a_file_says_the_same_as_python(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(TOML)
    read = PartitionSurvey.read(tmp_path / "survey.toml")
    assert read == survey(title="Pay")
    (tmp_path / "survey.json").write_text(json.dumps(read.to_dict()))
    assert PartitionSurvey.read(tmp_path / "survey.json") == read
    assert pickle.loads(pickle.dumps(read)) == read
    direct = cf.Partition(
        cf.Cells(low=[18, 0], high=[80, 2], shape=[4, 2]), bound=50_000.0, epsilon=4.0
    )
    assert read.mechanism == direct
    assert read.spend.epsilon <= 4.0


def test_figures_are_those_of_the_mechanism_used_directly() -> None:
    asked, table = survey(), people()
    sums = tables.counts(asked.simulate(table, seed=3), asked.mechanism)
    curve = partition_curve(asked, sums)
    assert isinstance(curve, CellRegression)
    points = np.column_stack([table["age"], np.where(table["region"] == "south", 1.5, 0.5)])
    made = asked.mechanism.simulate(points, table["pay"] - 50_000, seed=3)
    own = PartitionRegression().fit(cf.CellSums.of(made))
    where = asked.cells.centers
    np.testing.assert_allclose(curve.predict(where), own.predict(where) + 50_000)
    for a, b in zip(curve.interval(where), own.interval(where), strict=True):
        np.testing.assert_allclose(a, b + 50_000)
    assert curve.names == ("age", "region")
    assert curve.predict([[200.0, 0.5]]) == 50_000
    low, high = curve.interval(where)
    truth = 20_000 + 600 * (where[:, 0] - 18) + 10_000 * (where[:, 1] > 1)
    assert ((low < truth) & (truth < high)).sum() >= 6
    assert np.abs(curve.predict(where) - truth).mean() < 4_000


def test_two_labels_and_several() -> None:
    table = people()
    two = survey(response="owns", labels=("no", "yes"))
    rule = partition_curve(two, tables.counts(two.simulate(table, seed=1), two.mechanism))
    assert isinstance(rule, Classification)
    assert rule.predict([[25.0, 0.5], [75.0, 1.5]]).tolist() == ["no", "yes"]
    assert rule.score.names == ("age", "region")
    three = survey(response="mode", labels=("bus", "car", "foot"))
    assert three.mechanism.counting
    assert three.mechanism.cells.shape == (4, 2, 3)
    found = partition_curve(three, tables.counts(three.simulate(table, seed=1), three.mechanism))
    assert isinstance(found, ClassShares)
    assert found.predict([[25.0, 0.5], [75.0, 1.5]]).tolist() == ["bus", "foot"]
    shares = found.probability(three.cells.centers)
    np.testing.assert_allclose(shares.sum(axis=-1), 1)
    wanted = np.where(three.cells.centers[:, 1:] > 1, [0.1, 0.3, 0.6], [0.6, 0.3, 0.1])
    assert np.abs(shares - wanted).max() < 0.12
    low, high = found.interval(three.cells.centers)
    assert ((low <= wanted) & (wanted <= high)).mean() > 0.85
    assert (high - low).mean() < 0.2
    # Outside of the cells nothing is known but the overall shares.
    np.testing.assert_array_equal(found.probability([[200.0, 0.5]])[0], found.overall)
    assert abs(found.overall[1] - 0.3) < 0.05


def test_reports_are_shuffled_with_what_is_kept() -> None:
    table = {key: value[:2000] for key, value in people().items()}
    made = survey().privatize({**table, "number": np.arange(2000)}, keep=["number"])
    numbers = made["number"].to_pylist()
    assert sorted(numbers) == list(range(2000)) != numbers
    # No row that pandas would put beside one of the values.
    assert made.to_pandas().index[0] == 2000
    groups = tables.counts(made, survey().mechanism, by="number")
    assert len(groups) == 2000
    for wrong in (["pay"], ["w"]):
        with pytest.raises(InvalidInput):
            survey().privatize({**table, "w": table["pay"]}, keep=wrong)
    with pytest.raises(InvalidInput, match="already"):
        survey().privatize(made)


def test_missing_answers_and_points_outside() -> None:
    table = {"age": [30.0, None, 99.0], "region": ["north", "south", None], "pay": [1.0, 2.0, 3.0]}
    with pytest.raises(InvalidInput, match="an answer to 'age' in every row, got none in row 2"):
        survey().privatize(table)
    lenient = survey(missing="outside")
    points, responses = lenient.values(cf.questions.partitions.arrow.table_of(table))
    assert lenient.cells.index(points).tolist() == [0, -1, -1]
    assert np.isfinite(responses).all()
    assert lenient.privatize(table).num_rows == 3
    several = survey(response="mode", labels=("a", "b", "c"), missing="outside")
    places = several.values(
        cf.questions.partitions.arrow.table_of(
            {"age": [30.0, 30.0], "region": ["north", None], "mode": ["b", "c"]}
        )
    )
    assert several.mechanism.cells.index(places).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"low": 5, "high": 5}, "low < high of the response"),
        ({"labels": ("a",)}, "two or more"),
        ({"labels": ("a", "b"), "low": 0.0}, "either labels"),
        ({"response": "age"}, "a response that is no feature"),
        ({"features": {}}, "at least one feature"),
        ({"epsilon": -1}, "epsilon"),
        ({"missing": "guess"}, "missing"),
        ({"low": None}, "low and high of the response, or labels"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        survey(**change)


def test_files_with_other_keys_are_refused() -> None:
    fields = survey().to_dict()
    for wrong, words in (
        ({}, "table \\[partition\\]"),
        ({**fields, "questions": {}}, "either"),
        ({**fields, "odd": 1}, "odd"),
        ({"partition": {**fields["partition"], "odd": 1}}, "odd"),
        ({"partition": {"epsilon": 1.0, "response": "y"}}, "features"),
        (
            {"partition": {**fields["partition"], "features": {"a": {"low": 0}}}},
            r"low, high and cells of a number, or categories of a word in \[partition.features.a\]",
        ),
    ):
        with pytest.raises(InvalidInput, match=words):
            PartitionSurvey.from_dict(wrong)
    with pytest.raises(InvalidInput, match="a partition survey"):
        cf.Survey.from_dict(fields)


def test_words_that_are_no_category_are_not_quoted() -> None:
    table = {"age": [30.0], "region": ["secret"], "pay": [1.0]}
    with pytest.raises(InvalidInput, match="another word in row 1") as caught:
        survey().privatize(table)
    assert "secret" not in str(caught.value)


def test_sums_of_another_survey_are_refused() -> None:
    asked = survey()
    sums = tables.counts(asked.simulate(people(), seed=1), asked.mechanism)
    with pytest.raises(Mismatch):
        partition_curve(survey(epsilon=3.0), sums)
