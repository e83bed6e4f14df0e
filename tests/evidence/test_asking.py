"""A thin run of evidence/asking: one question a person halves the error, and intervals cover."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evidence.asking import study


def test_one_question_each_halves_the_error() -> None:
    found = study.compared(2.0, surveys=3)
    assert found["ratio"] - 2 * found["standard_error"] <= study.LIMITS[2.0]
    assert found["ratio"] < 0.6
    assert len(found["populations"]) == 6


def test_both_ways_spend_the_same() -> None:
    for epsilon in study.LIMITS:
        one, every = study.survey(epsilon, 1), study.survey(epsilon, None)
        assert one.spend.epsilon == epsilon
        assert epsilon * (1 - 1e-12) < every.spend.epsilon <= epsilon


def test_the_mean_of_a_group_with_weights_is_covered() -> None:
    found = study.coverage(range(40))
    # Fewer than 33 of 40 have a chance of 1e-3 where 95 % are due.
    assert found["covered"] >= 33 / 40
    # Without the weights it would be the mean of other people.
    assert study.coverage(range(10), weights=None)["covered"] <= 0.5


def test_the_record_and_the_page_say_the_same() -> None:
    results = json.loads(Path(study.__file__).with_name("results.json").read_text())
    assert (study.ROOT / "docs" / "evidence" / "asking.md").read_text() == study.page(
        results
    ) + "\n"
    assert [each["verdict"] for each in results["compared"]] == ["reached"] * 3
    assert all(each["surveys"] >= 20 for each in results["compared"])


def test_thin_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a thin run wrote")

    monkeypatch.setattr(study.Path, "write_text", refused)
    monkeypatch.setattr(study, "compared", lambda epsilon, _: _missed(epsilon))
    monkeypatch.setattr(study, "coverage", lambda _: {"covered": 1.0, "surveys": 1})
    assert study.main(["--thin"]) == 1


def _missed(epsilon: float) -> dict[str, object]:
    return {
        "epsilon": epsilon, "surveys": 1, "populations": [], "one": 1.0, "all": 1.0, "ratio": 1.0,
        "standard_error": 0.0, "limit": 0.5, "verdict": "missed",
    }  # fmt: skip
