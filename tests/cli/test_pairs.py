"""Surveys that ask some people for a pair of questions, from invitations to a correlation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from confide.cli.app import run
from confide.collect import Client
from confide.survey import Survey

from .test_collect import links, served

TOML = """
title = "Staff"
epsilon = 8.0
ask = 1
[relations]
pairs = [["pay", "sick"]]
share = 0.5
at = { pay = 40000, sick = 5 }
[questions.pay]
low = 0
high = 100000
[questions.sick]
kind = "integer"
low = 0
high = 20
prefer_not_to_say = true
"""


@pytest.fixture
def survey(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    (here / "survey.toml").write_text(TOML)
    return here / "survey.toml"


def test_from_invitations_to_a_correlation(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n = 160
    url = ["--url", "https://x.example.org"]
    assert run(["invite", "survey.toml", "-n", str(n), *url, "-o", "links.csv"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Each person is asked 1 of 2 questions" in told
    assert "50 % of the people are asked about a pair of questions instead" in told
    assert "questions that a person is asked are in the link" in told
    asked = Survey.read(survey)
    generator = np.random.default_rng(4)
    paired = 0
    with served("survey.toml", "--no-owner") as found:
        for at, each in enumerate(links(here / "links.csv", found["page"])):
            score = generator.normal()
            answers: dict[str, Any] = {
                "pay": float(np.clip(40_000 + 15_000 * score, 0, 100_000)),
                "sick": int(np.clip(round(5 - 4 * score), 0, 20)),
            }
            client = Client(each, folder=here / "answers")
            if at == 0 or (client.paired and not paired):
                options = [part for name in client.asked
                           for part in ("--set", f"{name}={answers[name]}")]  # fmt: skip
                assert run(["answer", each, *options, "--json"]) == 0
                sent = json.loads(capsys.readouterr().out)["sent"]
                assert tuple(sent) == client.reported
            else:
                client.answer({name: answers[name] for name in client.asked})
            paired += client.paired
    assert paired == n // 2
    assert run(["export", "survey.toml", "-o", "reports.parquet", "--before-closing"]) == 0
    table = pq.read_table("reports.parquet")
    assert table.column_names == list(asked.mechanisms)
    assert table.num_rows - table["pay & sick"].null_count == paired
    capsys.readouterr()
    assert run(["relate", "survey.toml", "reports.parquet", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["relations"]
    assert one["n"] == paired
    assert one["correlation"] < -0.6
    # Now and then so few reports contradict the single questions: nothing is certain then.
    assert one["high"] < 0 or (one["low"], one["high"]) == (-1, 1)
    assert run(["results", "survey.toml", "reports.parquet", "-o", "results.json"]) == 0
    (same,) = json.loads(Path("results.json").read_text())["relations"]
    assert same["correlation"] == pytest.approx(one["correlation"], abs=0.05)


def test_the_terminal_tells_what_one_report_says(
    survey: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = ["--url", "https://x.example.org"]
    assert run(["invite", "survey.toml", "-n", "2", *url, "-o", "links.csv"]) == 0
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    typed = iter(["70000", ""])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(typed))
    with served("survey.toml", "--no-owner") as found:
        every = links(here / "links.csv", found["page"])
        (link,) = (each for each in every if Client(each).paired)
        capsys.readouterr()
        assert run(["answer", link]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert run(["answer", link, "--json"]) == 0
        again = json.loads(capsys.readouterr().out)
    assert "one report about both answers together is sent" in told
    assert "whether exactly one of these two holds, or none or both of them" in told
    assert "pay: 40,039.1 and more" in told
    assert "sick: 5 and more" in told
    assert "Where you prefer not to say in one of them, the report is about that alone." in told
    assert "Of 100 people with your two answers, 100 send just what holds for them." in told
    assert "(epsilon 8)" in told
    assert "prefer not to say" in told
    assert again["drawn_before"]
    assert again["sent"].keys() == {"pay & sick"}


def test_a_survey_that_anybody_may_answer_asks_for_no_pair(
    survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "survey.toml", "--anybody", "5"]) == 2
    assert "one that asks some people for a pair" in capsys.readouterr().err


def test_thresholds_come_before_invitations(
    survey: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey.write_text(TOML.replace("at = { pay = 40000, sick = 5 }", ""))
    command = ["invite", "survey.toml", "-n", "2", "--url", "https://x.example.org"]
    assert run([*command, "-o", "links.csv"]) == 2
    assert "thresholds for the questions of pairs before anybody is asked" in (
        capsys.readouterr().err
    )
    assert not (here / "links.csv").exists()
