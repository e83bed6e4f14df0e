"""Surveys: their file form, what they cost, and what they do with tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import InvalidInput, Unsupported
from confide.lattice import Lattice
from confide.mechanisms import ForcedResponse, Joint, Laplace, SquareWave, TwoSidedGamma
from confide.questions import Question
from confide.questions.wording import Wording
from confide.reports import from_table
from confide.reports.stamps import Stamp
from confide.survey import Survey

PAY = {"low": 0, "high": 10, "size": 16, "epsilon": 1.0}
SMOKES = {"mechanism": "randomized-response", "categories": ["no", "yes", "?"], "epsilon": 0.5}


def survey(**questions: dict[str, Any]) -> Survey:
    return Survey.from_dict({"questions": questions})


names = st.text(min_size=1, max_size=8).filter(str.strip)
epsilons = st.floats(0.01, 50)


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["square-wave", "laplace", "two-sided-gamma", "words"]))
    if kind == "words":
        words = draw(st.lists(names, min_size=2, max_size=5, unique=True))
        fields = {"mechanism": "randomized-response", "categories": words}
        fields["epsilon"] = draw(epsilons)
        missing: Any = st.sampled_from(words).filter(lambda word: word != "refuse")
    else:
        low = draw(st.floats(-1e6, 1e6))
        fields = {"mechanism": kind, "low": low, "high": low + draw(st.floats(1, 1e6))}
        fields["size"] = draw(st.integers(2, 64))
        if kind == "two-sided-gamma":
            fields["shape"] = draw(st.floats(0.5, 2))
            fields["noise_scale"] = draw(st.floats(0.1, 2)) * (fields["high"] - low)
        else:
            fields["epsilon"] = draw(epsilons)
        missing = st.just((fields["low"] + fields["high"]) / 2)
    if draw(st.booleans()):
        fields["missing"] = draw(missing)
    return fields


@given(st.dictionaries(names, questions(), min_size=1, max_size=3), st.text(max_size=9))
@settings(max_examples=50, deadline=None)
def test_round_trip(asked: dict[str, Any], title: str) -> None:
    one = Survey.from_dict({"title": title, "questions": asked})
    again = Survey.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    assert again.fingerprint == one.fingerprint
    stamp = Stamp.read(one.stamp().metadata(), "here")
    assert stamp is not None
    assert stamp.mechanisms == one.mechanisms
    assert stamp.survey is not None
    assert Survey.from_dict(stamp.survey).fingerprint == one.fingerprint


TOML = """
title = "Staff pay"
[questions.pay]
low = 0
high = 300000
epsilon = 1.0
[questions.age]
low = 15
high = 75
mechanism = "laplace"
epsilon = 0.5
size = 60
missing = 40
[questions.debt]
low = 1
high = 1e6
scale = "log"
epsilon = 1
[questions.height]
low = 100
high = 220
size = 60
mechanism = "two-sided-gamma"
shape = 1
noise_scale = 60
missing = "refuse"
"""


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(TOML)
    one = Survey.read(path)
    assert one.title == "Staff pay"
    assert one.mechanisms["pay"] == SquareWave(Lattice(low=0, high=300_000), epsilon=1.0)
    assert one.mechanisms["age"] == Laplace(Lattice(low=15, high=75, size=60), epsilon=0.5)
    assert one.mechanisms["height"] == TwoSidedGamma(
        Lattice(low=100, high=220, size=60), shape=1, scale=60
    )
    assert one.questions["age"].missing == 40
    assert one.questions["pay"].missing is None
    path.write_text("\ufeff" + TOML)
    assert Survey.read(path) == one
    again = tmp_path / "survey.json"
    again.write_text(json.dumps(one.to_dict()))
    assert Survey.read(again) == one


def test_spend_adds_up() -> None:
    both = survey(pay=PAY, smokes=SMOKES)
    assert both.spend.epsilon == 1.5


def test_fingerprint_ignores_the_title_only() -> None:
    base = survey(pay=PAY)
    titled = Survey(base.questions, wording=Wording.read({"title": "x"}))
    assert titled.fingerprint == base.fingerprint
    assert titled.worded != base.worded
    for change in ({"epsilon": 2.0}, {"size": 8}, {"high": 11}, {"missing": 3}):
        assert survey(pay={**PAY, **change}).fingerprint != base.fingerprint


def test_order_of_questions_does_not_matter() -> None:
    assert survey(a=PAY, b=SMOKES).fingerprint == survey(b=SMOKES, a=PAY).fingerprint


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_every_kind(kind: Any) -> None:
    one = survey(pay=PAY, smokes=SMOKES)
    data = {"pay": [1.0, 9.0], "smokes": ["no", "yes"], "rate": [0.1, 0.2], "secret": [1, 2]}
    made = one.privatize(kind(data), keep=["rate"])
    assert made.schema.names == ["pay", "smokes", "rate"]
    assert made.schema.types == [pa.int32(), pa.int32(), pa.float64()]
    assert sorted(made.column("rate").to_pylist()) == [0.1, 0.2]
    assert set(made.schema.metadata) == {b"confide", b"pandas"}
    ordered = one.privatize(kind(data), keep=["rate"], keep_order=True)
    assert ordered.column("rate").to_pylist() == [0.1, 0.2]
    assert set(ordered.schema.metadata) == {b"confide"}
    reports = from_table(made, column="pay", mechanism=one.mechanisms["pay"])
    assert not reports.simulated


def test_simulation_repeats_is_stamped_and_shares_no_noise() -> None:
    one = survey(a=PAY, b=PAY)
    values = np.full(200, 5.0)
    made = one.simulate({"a": values, "b": values}, seed=3)
    assert made == one.simulate({"a": values, "b": values}, seed=3)
    assert made != one.simulate({"a": values, "b": values}, seed=4)
    assert from_table(made, column="a").simulated
    assert made.column("a") != made.column("b")
    assert made.column("a") == survey(a=PAY).simulate({"a": values}, seed=3).column("a")


def test_privatize_never_repeats() -> None:
    values = np.full(200, 5.0)
    one = survey(pay=PAY)
    assert one.privatize({"pay": values}) != one.privatize({"pay": values})


@pytest.mark.parametrize(
    "table",
    [
        {"pay": [1.0, None]},
        pd.DataFrame({"pay": [1.0, np.nan]}),
        pd.DataFrame({"pay": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"pay": [1.0, None]}),
        pa.table({"pay": [1, None]}),
        {"pay": pa.nulls(2)},
    ],
    ids=["dict", "pandas-nan", "pandas-na", "polars", "arrow", "all"],
)
def test_missing_answers_are_refused_or_reported(table: Any) -> None:
    with pytest.raises(InvalidInput, match="an answer to 'pay'"):
        survey(pay=PAY).privatize(table)
    # At an epsilon of 100 the report is the value.
    sure = survey(pay={**PAY, "epsilon": 100.0, "missing": 9.9})
    assert sure.privatize(table, keep_order=True).column("pay").to_pylist()[1] == 15
    assert sure.privatize(table).num_rows == 2


def test_missing_category() -> None:
    table = {"smokes": ["no", None]}
    with pytest.raises(InvalidInput, match="an answer to 'smokes'"):
        survey(smokes=SMOKES).privatize(table)
    sure = survey(smokes={**SMOKES, "epsilon": 100.0, "missing": "?"})
    assert sorted(sure.privatize(table).column("smokes").to_pylist()) == [0, 2]


def test_pandas_categories() -> None:
    frame = pd.DataFrame({"smokes": pd.Categorical(["no", "yes", None])})
    sure = survey(smokes={**SMOKES, "epsilon": 100.0, "missing": "?"})
    assert sorted(sure.privatize(frame).column("smokes").to_pylist()) == [0, 1, 2]


BAD: dict[str, Any] = {
    "nan": {"pay": np.array([np.nan])},
    "polars-nan": pl.DataFrame({"pay": [float("nan")]}),
    "infinite": {"pay": [float("inf")]},
    "text": {"pay": ["1"]},
    "bool": {"pay": [True]},
    "mixed": {"pay": [1, "x"]},
    "complex": {"pay": np.array([1j])},
    "two-dimensional": {"pay": np.ones((2, 2))},
    "lengths": {"pay": [1.0], "other": [1.0, 2.0]},
    "no-column": {"wage": [1.0]},
    "columns-twice": pd.DataFrame([[1, 2]], columns=["pay", "pay"]),
    "empty": {"pay": []},
    "array": np.ones(3),
    "none": None,
    "string": "values.csv",
}


@pytest.mark.parametrize("table", BAD.values(), ids=BAD)
def test_bad_tables(table: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^Expected .*, got "):
        survey(pay=PAY).privatize(table)


def test_reports_are_not_privatized_again() -> None:
    one = survey(pay=PAY)
    with pytest.raises(InvalidInput, match="already"):
        one.privatize(one.privatize({"pay": [1.0]}))


def test_questions_are_not_kept() -> None:
    with pytest.raises(InvalidInput, match="public columns"):
        survey(pay=PAY).privatize({"pay": [1.0]}, keep=["pay"])


def test_mechanisms_that_no_survey_may_use() -> None:
    with pytest.raises(Unsupported, match="no finite epsilon"):
        Question(ForcedResponse(["no", "yes"]))
    one = SquareWave(Lattice(low=0, high=1, size=4), epsilon=1.0)
    with pytest.raises(InvalidInput, match="one question"):
        Question(Joint({"a": one, "b": one}))
    with pytest.raises(InvalidInput, match="at least one question"):
        Survey({})


def test_categories_need_no_mechanism() -> None:
    fields = {key: value for key, value in SMOKES.items() if key != "mechanism"}
    assert survey(smokes=fields) == survey(smokes=SMOKES)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": "1.0"}, "Expected a number for the key 'epsilon' in question 'pay'"),
        ({"low": "0"}, "without quotes"),
        ({"mechanism": "joint"}, "Joint questions are asked in Python: cf.Joint."),
    ],
    ids=["epsilon", "low", "joint"],
)
def test_what_a_survey_cannot_say(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        survey(pay={**PAY, **change})


@pytest.mark.parametrize("keep_order", [False, True])
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_a_kept_dictionary_tells_neither_order_nor_absent_words(
    kind: str, keep_order: bool
) -> None:
    words = ["c", "a", "d"] * 10
    coded = pa.DictionaryArray.from_arrays([2, 0, 3] * 10, ["a", "ABSENT", "c", "d"])
    table: Any = pa.table({"pay": np.linspace(0, 10, 30), "firm": coded})
    if kind == "pandas":
        table = table.to_pandas()
        assert table["firm"].dtype == "category"
    elif kind == "polars":
        table = pl.from_arrow(table)
    made = survey(pay=PAY).privatize(table, keep=["firm"], keep_order=keep_order)
    assert made["firm"].type in (pa.string(), pa.large_string())
    assert sorted(made["firm"].to_pylist()) == sorted(words)
    assert b"ABSENT" not in b"".join(
        bytes(buffer)
        for chunk in made["firm"].chunks
        for buffer in chunk.buffers()
        if buffer is not None
    )


def test_kept_dictionaries_within_others_are_plain_too() -> None:
    coded = pa.DictionaryArray.from_arrays([1, 0], ["a", "b", "ABSENT"])
    offsets = pa.array([0, 1, 2], pa.int32())
    nested = {
        "list": pa.ListArray.from_arrays(offsets, coded),
        "large": pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), coded),
        "fixed": pa.FixedSizeListArray.from_arrays(coded, 1),
        "struct": pa.StructArray.from_arrays([coded], ["word"]),
    }
    table = pa.table({"pay": [1.0, 2.0], **nested})
    made = survey(pay=PAY).privatize(table, keep=list(nested), keep_order=True)
    for name in nested:
        assert "dictionary" not in str(made[name].type)
        assert made[name].to_pylist() == table[name].to_pylist()
