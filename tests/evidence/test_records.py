"""Records of studies belong to the code as it is: a few surveys give the same figures again."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from evidence.phases import study as phases
from evidence.raking import study as raking
from evidence.relations import study as relations
from evidence.rounds import study as rounds

from evidence import record

STUDIES = (phases, raking, relations, rounds)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.__name__.split(".")[1])
def test_the_record_is_of_the_code_as_it_is(study: ModuleType) -> None:
    changed = record.estimates_changed(study)
    name = study.__name__.split(".")[1]
    assert not changed, f"the record is old, run make evidence NAME={name}: {changed}"


def test_an_old_record_is_noticed(tmp_path: Any) -> None:
    class Study:
        RESULTS = tmp_path / "results.json"

        @staticmethod
        def sample() -> dict[str, float]:
            return {"low": 0.5, "high": 0.7, "none": 0.0}

    for sample, changed in (
        ({"low": 0.5, "high": 0.7, "none": 0.0}, []),
        ({"low": 0.5 + 1e-9, "high": 0.7, "none": 1e-9}, []),
        ({"low": 0.5, "high": 0.701, "none": 0.0}, ["high"]),
        ({"low": 0.5, "high": 0.7, "none": 0.01}, ["none"]),
        ({"low": 0.5, "high": 0.7}, ["none"]),
    ):
        Study.RESULTS.write_text(json.dumps({"sample": sample}))
        assert record.estimates_changed(Study) == changed
