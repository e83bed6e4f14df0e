"""Surveys that ask each person some of the questions, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.collect import Client
from confide.survey import Survey

from .test_collect import links, said, served

TOML = """
title = "Staff"
epsilon = 2.0
ask = 1
groups = ["region"]
[questions.pay]
low = 0
high = 300000
[questions.smokes]
categories = ["no", "yes"]
[questions.age]
low = 0
high = 99
"""
ANSWERS = {"pay": "52000", "smokes": "no", "age": "30"}


@pytest.fixture
def survey(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    (here / "survey.toml").write_text(TOML)
    rows = "".join(f"{at}@x.org,{'north' if at % 2 else 'south'}\n" for at in range(6))
    (here / "people.csv").write_text("mail,region\n" + rows)
    return here / "survey.toml"


def test_from_invitations_to_results(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invite = ["invite", "survey.toml", "--people", "people.csv", "--url", "https://x.example.org"]
    assert run([*invite, "-o", "links.csv"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Each person is asked 1 of 3 questions" in told
    assert "questions that a person is asked are in the link" in told
    with served("survey.toml", "--no-owner") as found:
        seen = []
        for each in links(here / "links.csv", found["page"]):
            (name,) = Client(each).asked
            seen.append(name)
            other = next(one for one in ANSWERS if one != name)
            assert run(["answer", each, "--set", f"{other}={ANSWERS[other]}"]) == 2
            error = capsys.readouterr().err
            assert f"answers to what this link asks: '{name}', got an answer to '{other}'" in error
            assert ANSWERS[other] not in error
            assert run(["answer", each, "--set", f"{name}={ANSWERS[name]}", "--json"]) == 0
            assert list(said(capsys)["sent"]) == [name]
        assert sorted(seen) == ["age", "age", "pay", "pay", "smokes", "smokes"]
        assert run(["export", "survey.toml", "-o", "reports.parquet", "--close"]) == 0
    capsys.readouterr()
    assert (
        run(["summarize", "survey.toml", "reports.parquet", "-o", "c.json", "--by", "region"]) == 0
    )
    table = pq.read_table("reports.parquet")
    assert [table[name].null_count for name in ANSWERS] == [4, 4, 4]
    capsys.readouterr()
    assert run(["shares", "survey.toml", "c.json", "--question", "smokes", "--json"]) == 0
    assert said(capsys)["n"] == 2


def test_nobody_without_an_invitation(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey.write_text(TOML.replace('groups = ["region"]', ""))
    assert run(["serve", "survey.toml", "--anybody", "5"]) == 2
    assert "asks each person 1 of 3" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_privatize_and_summarize(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    rows = "".join(f"{100 * at},{'no' if at % 3 else 'yes'},{at % 90},north\n" for at in range(60))
    (here / "values.csv").write_text("pay,smokes,age,region\n" + rows)
    make = ["privatize", "survey.toml", "values.csv", "-o", f"r.{suffix}", "--keep", "region"]
    assert run(make) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Each person is asked 1 of 3 questions" in told
    assert "epsilon = 2: whatever anybody believes about a respondent, one report" in told
    assert run(["summarize", "survey.toml", f"r.{suffix}", "-o", "counts.json", "--json"]) == 0
    found = said(capsys)
    assert found["n"] == 20
    assert found["questions"] == ["age", "pay", "smokes"]
    assert found["reports"] == [20, 20, 20]
    if suffix == "csv":
        lines = (here / "r.csv").read_text().splitlines()
        (here / "r.csv").write_text("\n".join([lines[0], '1,1,,"north"', *lines[2:]]) + "\n")
        assert run(["summarize", "survey.toml", "r.csv", "-o", "other.json"]) == 2
        error = capsys.readouterr().err
        assert "1 row with more or fewer reports than each person is asked for" in error
        assert "row 1 of" in error
        assert not (here / "other.json").exists()


def test_an_audit_of_a_survey_sees_who_is_asked(
    survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "survey.toml", "--n", "4000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is True
    assert told["epsilon"] == Survey.read(survey).spend.epsilon == 2.0
