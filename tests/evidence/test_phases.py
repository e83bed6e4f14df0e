"""A thin run of evidence/phases: a second phase gains much where bounds are too wide."""

from __future__ import annotations

import json

import pytest
from evidence.phases import study


def test_two_phases_gain_where_bounds_are_too_wide() -> None:
    name, population = next(iter(study.NARROW.items()))
    found = study.measure(name, population, surveys=4)
    assert found["ratio"] < study.LIMIT
    assert found["declined"] == 0


def test_a_pilot_declines_where_bounds_are_right() -> None:
    one, two, declined = study.errors(study.WIDE["Beta(2, 5)"], [1])
    assert declined
    assert one == two


def test_the_record_and_the_page_say_the_same() -> None:
    results = json.loads(study.RESULTS.read_text())
    assert study.PAGE.read_text() == study.page(results) + "\n"
    assert results["verdicts"] == study.verdicts(results)
    assert set(results["verdicts"].values()) == {"reached"}
    assert all(row["surveys"] >= 45 for row in results["narrow"])
    assert all(row["surveys"] >= 200 for row in results["wide"])


def test_a_thin_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RESULTS", "PAGE"):
        monkeypatch.setattr(study, name, None)
    for name in ("NARROW", "WIDE"):
        own = getattr(study, name)
        monkeypatch.setattr(study, name, {key: own[key] for key in list(own)[:1]})
    study.main(["--thin"])
