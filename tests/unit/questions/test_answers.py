"""Questions as people ask them: whole numbers, declining, capped bounds, ordered choices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import Lattice, Question, SquareWave, Survey, foreign, releases, streams
from confide.errors import BadRows, InvalidInput
from confide.foreign.noised import Noised
from confide.questions.question import MEANINGS

PAY = {"low": 0, "high": 300_000, "epsilon": 1.0}
DAYS = {"kind": "integer", "low": 0, "high": 60, "epsilon": 1.0}
SMOKES = {"categories": ["no", "yes"], "epsilon": 1.0}
OFFER = {"prefer_not_to_say": True}


def survey(**questions: Any) -> Survey:
    return Survey.from_dict({"questions": questions})


def test_whole_numbers_have_cells_of_their_own() -> None:
    question = Question.from_dict(DAYS)
    axis = question.axis
    assert isinstance(axis, Lattice)
    assert (axis.size, axis.kind) == (61, "integer")
    assert Question.from_dict(question.to_dict()) == question
    assert question.to_dict()["kind"] == "integer"
    assert "kind" not in Question.from_dict(PAY).to_dict()
    same = Question.from_dict({**PAY, "kind": "number"})
    assert same.mechanism.fingerprint == Question.from_dict(PAY).mechanism.fingerprint


@pytest.mark.parametrize(
    "table",
    [
        {"days": [0, 61, 3]},
        pd.DataFrame({"days": [0.0, 75.0, 3.0]}),
        pl.DataFrame({"days": [0, 61, 3]}),
        pa.table({"days": pa.array([0, 10**12, 3], pa.int64())}),
    ],
    ids=["dict", "pandas", "polars", "arrow"],
)
def test_tables_of_whole_numbers(table: Any) -> None:
    reports = survey(days=DAYS).privatize(table, keep_order=True)
    assert reports.num_rows == 3


def test_other_numbers_are_refused_by_their_row() -> None:
    secret = 3.1415
    with pytest.raises(BadRows, match="row 2 of the table") as caught:
        survey(days=DAYS).privatize({"days": [1.0, secret]})
    assert "3.14" not in str(caught.value)
    with pytest.raises(InvalidInput, match="position 1"):
        Question.from_dict(DAYS).mechanism.privatize([1.0, secret])
    with pytest.raises(InvalidInput, match="whole number for missing"):
        Question.from_dict({**DAYS, "missing": 1.5})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({**DAYS, "scale": "log", "low": 1}, "linear scale"),
        ({**DAYS, "high": 60.5}, "whole numbers"),
        ({**DAYS, "high": 2.0**60}, "whole numbers"),
        ({**DAYS, "kind": "whole"}, "kind"),
        ({**SMOKES, "kind": "integer"}, "kind"),
        ({**PAY, **OFFER, "missing": 0}, "either missing or prefer_not_to_say"),
        ({**SMOKES, **OFFER, "missing": "no"}, "either missing or prefer_not_to_say"),
        ({**PAY, **OFFER, "mechanism": "laplace"}, "square wave"),
        ({**PAY, "prefer_not_to_say": "yes"}, "prefer_not_to_say"),
        ({**PAY, "prefer_not_to_say": 1}, "prefer_not_to_say"),
        ({**PAY, "high_open": "yes"}, "high_open"),
        ({**SMOKES, "low_open": True}, "bounds"),
        ({**PAY, "ordered": True}, "categories"),
        ({"categories": ["yes", "declined"], "epsilon": 1.0, **OFFER}, "'declined'"),
    ],
)
def test_what_does_not_fit_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        survey(asked=keys)
    assert words in str(caught.value)


def test_gamma_noise_cannot_be_declined() -> None:
    gamma = {"mechanism": "two-sided-gamma", "low": 0, "high": 9, "size": 9, "shape": 0.8}
    with pytest.raises(InvalidInput, match="square wave"):
        survey(pay={**gamma, "noise_scale": 9.0, **OFFER})


@pytest.mark.parametrize(
    "table",
    [
        {"pay": [1.0, None], "days": [None, 3], "smokes": ["no", None]},
        pd.DataFrame({"pay": [1.0, np.nan], "days": [np.nan, 3], "smokes": ["no", None]}),
        pl.DataFrame({"pay": [1.0, None], "days": [None, 3], "smokes": ["no", None]}),
        pa.table({"pay": [1.0, None], "days": [None, 3], "smokes": ["no", None]}),
        {"pay": [None, None], "days": [None, None], "smokes": [None, None]},
    ],
    ids=["dict", "pandas", "polars", "arrow", "nobody"],
)
def test_tables_of_people_who_declined(table: Any) -> None:
    asked = survey(pay={**PAY, **OFFER}, days={**DAYS, **OFFER}, smokes={**SMOKES, **OFFER})
    reports = asked.privatize(table, keep_order=True)
    assert reports.num_rows == 2
    assert all(reports[name].null_count == 0 for name in asked.questions)
    assert asked.simulate(table, seed=1).num_rows == 2


def test_indices_of_a_table() -> None:
    question = Question.from_dict({**DAYS, **OFFER})
    column = pa.array([0, None, 60, 99])
    values = question.answers(column, name="days", plain=False, where=str)
    assert question.mechanism.index(values).tolist() == [0, 61, 60, 60]
    words = Question.from_dict({**SMOKES, **OFFER})
    values = words.answers(pa.array(["yes", None]), name="smokes", plain=False, where=str)
    assert words.mechanism.index(values).tolist() == [1, 2]


def test_csv_files_of_people_who_declined(tmp_path: Path) -> None:
    asked = survey(pay={**PAY, **OFFER}, days={**DAYS, **OFFER}, smokes={**SMOKES, **OFFER})
    rows = ["pay,days,smokes", "1.5,3,no", ",,", "2,,yes"]
    (tmp_path / "answers.csv").write_text("\n".join(rows) + "\n")
    made = tmp_path / "reports.parquet"
    assert streams.privatize(streams.Job(asked, [tmp_path / "answers.csv"]), made) == (3, 0)
    counts = asked.summarize(made)
    assert all(counts[name].n == 3 for name in asked.questions)


def test_a_word_for_nothing_is_not_read_as_declined(tmp_path: Path) -> None:
    asked = survey(pay={**PAY, **OFFER})
    (tmp_path / "answers.csv").write_text("pay\n1\nNA\n")
    job = streams.Job(asked, [tmp_path / "answers.csv"])
    with pytest.raises(InvalidInput, match="prefer_not_to_say"):
        streams.privatize(job, tmp_path / "reports.parquet")
    assert not (tmp_path / "reports.parquet").exists()


def test_the_offer_changes_the_fingerprint_and_meanings_the_wording() -> None:
    plain, offered = survey(pay=PAY), survey(pay={**PAY, **OFFER})
    assert plain.fingerprint != offered.fingerprint
    assert survey(pay={**PAY, "prefer_not_to_say": False}).fingerprint == plain.fingerprint
    assert survey(pay={**PAY, "prefer_not_to_say": False}).worded == plain.worded
    capped = survey(pay={**PAY, "high_open": True})
    assert capped.fingerprint == plain.fingerprint
    assert capped.worded != plain.worded
    ordered = survey(smokes={**SMOKES, "ordered": True})
    assert ordered.fingerprint == survey(smokes=SMOKES).fingerprint
    assert ordered.worded != survey(smokes=SMOKES).worded
    for one in (offered, capped, ordered):
        assert Survey.from_dict(one.to_dict()).worded == one.worded


def test_capped_bounds_in_words() -> None:
    asked = Question.from_dict({**PAY, "low_open": True, "high_open": True, "low": 1000})
    assert asked.ends == ("1,000 or less", "300,000 or more")
    assert asked.capped == (
        "Values of 1,000 or less count as 1,000, and of 300,000 or more count as 300,000."
    )
    assert Question.from_dict(PAY).ends == ("0", "300,000")
    assert Question.from_dict(PAY).capped == ""
    assert Question.from_dict(SMOKES).capped == ""
    assert Question.from_dict({**PAY, "high": 1_234_567.5}).ends[1] == "1,234,567.5"


def test_meanings_are_true_or_false_in_python_too() -> None:
    mechanism = SquareWave(Lattice(low=0, high=1, size=8), epsilon=1.0)
    assert MEANINGS == ("low_open", "high_open", "ordered")
    with pytest.raises(InvalidInput, match="low_open"):
        Question(mechanism, low_open=1)  # type: ignore[arg-type]


def test_missing_stays_for_those_who_want_it() -> None:
    asked = survey(pay={**PAY, "missing": 0}, days={**DAYS, "missing": 7})
    assert asked.privatize({"pay": [None, 1], "days": [None, 2]}).num_rows == 2
    with pytest.raises(InvalidInput, match="prefer_not_to_say = true"):
        survey(pay=PAY).privatize({"pay": [None, 1.0]})


def test_releases_take_numbers_only() -> None:
    whole = Lattice(low=0, high=9, kind="integer")
    makers: list[Callable[[], Any]] = [
        lambda: releases.Histogram(whole, epsilon=1.0),
        lambda: releases.Query("mean", whole, epsilon=1.0),
        lambda: releases.Series(whole, epsilon=1.0, terms=3),
    ]
    for make in makers:
        with pytest.raises(InvalidInput, match="lattice of numbers"):
            make()
    with pytest.raises(InvalidInput, match="lattice of numbers"):
        Noised(whole, foreign.Laplace(scale=1.0), margin=3)


def test_reports_are_made_of_arrow_and_others_are_sent_to_privatize() -> None:
    with pytest.raises(InvalidInput, match=r"Arrow table or batch, got .*DataFrame.* privatize"):
        survey(pay=PAY).reports(pd.DataFrame({"pay": [1.0]}))
