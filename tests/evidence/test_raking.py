"""A thin run of evidence/raking: raking removes a bias, and intervals know the weights."""

from __future__ import annotations

import json

import pytest
from evidence.raking import study


def test_raking_removes_the_bias() -> None:
    found = study.measure(4.0, surveys=40)["rows"]
    for what in ("mean", "share"):
        raked, plain = found[f"{what}, raked"], found[f"{what}, not raked"]
        assert abs(raked["bias"]) < 4 * raked["bias_error"] < abs(plain["bias"])
        # Fewer than 33 of 40 have a chance of 1e-3 where 95 % are due.
        assert raked["covered"] >= 33 / 40 > 0.1 > plain["covered"]


def test_the_record_and_the_page_say_the_same() -> None:
    results = json.loads(study.RESULTS.read_text())
    assert study.PAGE.read_text() == study.page(results) + "\n"
    assert results["verdict"] == study.verdict(results) == "reached"
    for found in results["measured"]:
        assert all(found["rows"][f"{what}, raked"]["surveys"] >= 1000 for what in ("mean", "share"))
    assert all(found["rows"]["mean, raked"]["surveys"] >= 200 for found in results["elsewhere"])


def test_a_thin_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "RESULTS", None)
    monkeypatch.setattr(study, "EPSILONS", (4.0,))
    monkeypatch.setattr(study, "OTHERS", {})
    study.main(["--thin"])
