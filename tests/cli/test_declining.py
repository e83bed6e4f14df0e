"""Whole numbers and "prefer not to say" on the command line, from values to comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.cli.app import run

TOML = """
[questions.days]
kind = "integer"
low = 0
high = 12
high_open = true
epsilon = 3.0
prefer_not_to_say = true
[questions.smokes]
categories = ["no", "yes"]
epsilon = 3.0
prefer_not_to_say = true
"""
N = 3000


@pytest.fixture
def reports(here: Path) -> Path:
    Path("survey.toml").write_text(TOML)
    generator = np.random.default_rng(1)
    rows = ["days,smokes,region"]
    for at in range(N):
        south = at % 2
        declined = generator.random() < (0.5 if south else 0.1)
        days = "" if declined else str(generator.integers(0, 6 + 8 * south))
        smokes = "" if generator.random() < 0.2 else "yes" if generator.random() < 0.3 else "no"
        rows.append(f"{days},{smokes},{'south' if south else 'north'}")
    Path("values.csv").write_text("\n".join(rows) + "\n")
    command = "privatize survey.toml values.csv -o reports.parquet --keep region"
    assert go(command) == 0
    return here


def go(command: str) -> int:
    return run(command.split())


def told(command: str, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run([*command.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_density(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told("density survey.toml reports.parquet --question days", capsys)
    assert found["n"] == N
    low, high = found["intervals"]["declined"]
    assert low < 0.3 < high
    assert low <= found["declined"] <= high
    assert found["edges"] == [at - 0.5 for at in range(14)]
    assert found["x"] == list(range(13))
    assert sum(found["pdf"]) == pytest.approx(1)
    assert found["cdf"][-1] == pytest.approx(1)
    assert all(value == int(value) for value in found["quantiles"].values())
    assert all(end == int(end) for ends in found["intervals"]["quantiles"].values() for end in ends)
    assert found["capped"] == "Values of 12 or more count as 12."
    assert go("density survey.toml reports.parquet --question days --plot days.png") == 0
    text = capsys.readouterr().out
    assert "preferred not to say" in text
    assert "Values of 12 or more count as 12. The mean counts them so too." in text
    assert Path("days.png").stat().st_size > 5000


def test_shares(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told("shares survey.toml reports.parquet --question smokes", capsys)
    assert sum(found["shares"].values()) == pytest.approx(1)
    low, high = found["intervals"]["declined"]
    assert low < 0.2 < high
    assert go("shares survey.toml reports.parquet --question smokes") == 0
    assert "preferred not to say" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["density survey.toml --question days", "shares survey.toml --question smokes"]
)
def test_groups(reports: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    found = told(f"{command} reports.parquet --by region", capsys)
    assert [0 < group["declined"] < 0.7 for group in found["groups"]] == [True, True]
    assert go(f"{command} reports.parquet --by region") == 0
    assert "declined" in capsys.readouterr().out


def test_compare(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert go("summarize survey.toml reports.parquet --by region -o counts.json") == 0
    command = "compare counts.json --question days --what declined south north"
    found = json.dumps(told(command, capsys))
    assert '"what": "declined"' in found
    assert go(command) == 0
    assert "declined" in capsys.readouterr().out
    assert go("compare counts.json --question smokes --what declined south north") == 0


def test_what_is_refused(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert go("compare counts.json --question days --what declined --at 3 south north") == 2
    Path("plain.toml").write_text("[questions.days]\nlow = 0\nhigh = 12\nepsilon = 3.0\n")
    capsys.readouterr()
    assert go("privatize plain.toml values.csv -o other.parquet") == 2
    assert "prefer_not_to_say = true" in capsys.readouterr().err
    Path("odd.csv").write_text("days,smokes\n1.5,no\n")
    assert go("privatize survey.toml odd.csv -o other.parquet") == 2
    error = capsys.readouterr().err
    assert "whole numbers in column 'days'" in error
    assert "1.5" not in error
    assert not Path("other.parquet").exists()
    Path("rate.csv").write_text("days,smokes,rate\n" + "1,no,2\n" * 50 + "2,yes,3\n" * 50)
    assert go("privatize survey.toml rate.csv -o rate.parquet --keep rate") == 0
    capsys.readouterr()
    assert go("regress rate.parquet --x days --y rate") == 2
    assert "can be declined" in capsys.readouterr().err
