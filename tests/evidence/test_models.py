"""Private models: the record is on its page, and a thinned run where the files are."""

from __future__ import annotations

import json

import pytest
from evidence.models import study

RESULT = json.loads((study.HERE / "results.json").read_text())


def test_the_page_is_that_of_the_record():
    page = (study.ROOT / "docs" / "evidence" / "private-models.md").read_text()
    assert page == study.markdown(RESULT)


def test_at_epsilon_one_little_is_lost():
    (adult,) = [each for each in RESULT["studies"] if each["title"].startswith("Adult")]
    rows = [row for row in adult["rows"] if row["epsilon"] == 1.0]
    assert len(rows) == 4
    assert all(row["gap"] > -study.NEAR for row in rows)


@pytest.mark.skipif(not (study.DATA / "adult.csv").exists(), reason="the file is not there")
def test_a_thinned_run_says_the_same():
    table = study.read(study.DATA / "adult.csv", study.ADULT)
    rows = study.cells(table, study.ADULT, "income_gt_50k", splits=2, releases=1)
    (best,) = [row for row in rows if row["epsilon"] == 3.0 and row["degree"] == 4 and row["delta"]]
    assert best["gap"] > -0.01
    assert best["mean"] > 0.79
