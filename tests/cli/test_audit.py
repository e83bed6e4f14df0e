"""confide audit: a table and plain words for people, one object for machines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confide import audits
from confide.audits import layers, surveys
from confide.audits.attacks import ALPHA
from confide.audits.findings import Finding
from confide.cli.app import run

SURVEY = """
title = "Staff"
[questions.pay]
low = 0
high = 300000
epsilon = 1.0
size = 64
[questions.smokes]
categories = ["no", "yes"]
epsilon = 0.5
"""
COMMAND = ["audit", "survey.toml", "--n", "2000"]


@pytest.fixture(autouse=True)
def folder(here: Path) -> None:
    Path("survey.toml").write_text(SURVEY)


def test_machines_get_four_figures_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {
        "questions", "holds", "epsilon", "lower_bound", "faults", "untested", "unseen",
        "findings",
    }  # fmt: skip
    assert audits.SurveyAudit.from_dict(found).holds
    assert found["holds"] is True
    assert found["epsilon"] == 1.5
    assert found["faults"] == found["untested"] == []
    assert "outside confide" in found["unseen"]["outside"]
    assert set(found["questions"]) == {"pay", "smokes"}
    for row in found["questions"].values():
        assert set(row) == {"claimed", "certified", "lower_bound", "holds"}
        assert row["holds"] is True
        assert 0 <= row["lower_bound"] < row["certified"] <= row["claimed"]


def test_people_get_words_and_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--plot", "audit.svg"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("claimed", "certified", "found, at least", "No check can see", "a factor of"):
        assert words in said
    # What a reader of the README does not know is not in it.
    for words in ("law", "log ratio", "index of", "entropy"):
        assert words not in said
    assert "FAULT" not in said
    assert "Staff" in Path("audit.svg").read_text()


def test_a_fault_is_told_and_shows_in_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = audits.survey

    def broken(*given: object, **more: object) -> audits.SurveyAudit:
        found = right(*given, **more)  # type: ignore[arg-type]
        pay = list(found.questions["pay"])
        pay[0] = replace(pay[0], holds=False, certified=float("inf"))
        together = replace(found.together, holds=False)
        return audits.SurveyAudit({**found.questions, "pay": tuple(pay)}, together)

    monkeypatch.setattr(audits, "survey", broken)
    assert run(COMMAND) == 1
    said = capsys.readouterr().out
    assert "FAULT pay: exact" in said
    assert "FAULT all questions: joint" in said
    assert "Do not collect" in said
    assert run([*COMMAND, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["questions"]["pay"]["certified"] is None
    assert not told["holds"]
    assert len(told["faults"]) == 2


def test_an_attack_that_could_find_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text(SURVEY.replace("1.0", "12.0"))
    assert run(COMMAND) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "NOTE pay: sampled: the claim of epsilon = 12 was not tested" in said


@pytest.mark.parametrize(
    "arguments",
    [["audit"], ["audit", "none.toml"], ["audit", "survey.toml", "--n", "5"],
     ["audit", "survey.toml", "--plot", "a.txt"]],
)  # fmt: skip
def test_bad_input_gets_a_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1


def test_a_layer_is_one_entry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[float] = []

    def check(mechanism: Any, n: int, alpha: float, seed: int | None) -> Finding:
        asked.append(alpha)
        return Finding("size", repr(mechanism), 1.0, holds=False, unseen="")

    layer = layers.Layer("size", "how many cells there are", "everything", check, chance=True)
    monkeypatch.setattr(surveys, "LAYERS", (*layers.LAYERS, layer))
    assert run(["audit", "survey.toml", "--n", "1000"]) == 1
    said = capsys.readouterr().out
    assert "size: how many cells there are" in said
    assert "FAULT" in said
    assert asked[0] == pytest.approx(ALPHA / (3 * len(asked) + 1))
