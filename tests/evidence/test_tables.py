"""Samples of tables: the record is on its page, and a thinned run where the file is."""

from __future__ import annotations

import json

import pytest
from evidence.models.study import read
from evidence.tables import study

RESULT = json.loads((study.HERE / "results.json").read_text())


def test_the_page_is_that_of_the_record():
    assert study.PAGE.read_text() == study.markdown(RESULT)


@pytest.mark.skipif(not (study.DATA / "adult.csv").exists(), reason="the file is not there")
def test_a_public_reference_is_worth_more_than_epsilon():
    found = study.cells(read(study.DATA / "adult.csv", study.COLUMNS), seed=99)
    one = 1 + study.EPSILONS.index(1.0)
    assert found["100"][one] < 0.2 * found["0"][one]
    assert found["1000"][one] < found["100"][one]
    for known, row in found.items():
        for measured, (mean, error) in zip(row, RESULT["rows"][known], strict=True):
            assert measured == pytest.approx(mean, abs=6 * error * RESULT["seeds"] ** 0.5 + 0.01)
