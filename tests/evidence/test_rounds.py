"""A thin run of evidence/rounds: intervals of trends cover, and rotation gains."""

from __future__ import annotations

import json

import pytest
from evidence.rounds import study


def test_trends_are_covered_and_rotation_gains() -> None:
    found = study.measure(4.0, surveys=20)
    for name in ("pay", "smokes"):
        own = found[name]
        # 220 changes, neighbors of which share a round.
        assert own["change"] >= 0.88
        # Fewer than 15 of 20 have a chance of 3e-4 where 95 % are due.
        assert own["slope"] >= 15 / 20
        assert own["error"] < own["everybody"]


def test_both_ways_spend_the_same() -> None:
    for name in study.QUESTIONS:
        one, every = (study.survey(name, 1.0, many).spend.epsilon for many in (1, study.ROUNDS))
        assert one == 1.0
        assert 1 - 1e-12 < every <= 1.0


def test_the_record_and_the_page_say_the_same() -> None:
    results = json.loads(study.RESULTS.read_text())
    assert study.PAGE.read_text() == study.page(results) + "\n"
    assert results["verdict"] == study.verdict(results) == "reached"
    assert all(found["surveys"] >= 1000 for found in results["measured"])


def test_a_thin_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RESULTS", "PAGE"):
        monkeypatch.setattr(study, name, None)
    monkeypatch.setattr(study, "EPSILONS", (4.0,))
    study.main(["--thin"])
