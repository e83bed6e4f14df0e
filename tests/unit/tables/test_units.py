"""The unit of a question, which pictures write on their axis."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

import confide as cf
from confide import tables
from confide.cli.estimates import Subject

SURVEY = cf.Survey.from_dict(
    {
        "questions": {
            "pay": {"unit": "EUR", "low": 0, "high": 100, "size": 16, "epsilon": 2.0},
            "age": {"low": 0, "high": 100, "size": 16, "epsilon": 2.0},
        }
    }
)


def test_the_unit_comes_with_reports_and_with_summaries(tmp_path: Path) -> None:
    file = tmp_path / "reports.parquet"
    pq.write_table(SURVEY.privatize({"pay": [10.0, 20.0], "age": [30.0, 40.0]}), file)
    SURVEY.summarize(file).save(tmp_path / "counts.json")
    for path in (file, tmp_path / "counts.json"):
        pay = tables.asked(path, survey=SURVEY, question="pay")
        age = tables.asked(path, survey=SURVEY, question="age")
        assert (pay.unit, age.unit) == ("EUR", "")
        assert (Subject.of(pay).axis, Subject.of(age).axis) == ("pay, EUR", "age")
    assert tables.asked(tmp_path / "counts.json", question="pay").unit == ""
