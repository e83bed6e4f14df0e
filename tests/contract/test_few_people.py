"""What the first pages say that few people lead to is what plans and results say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from confide.cli.app import run
from confide.results import needed
from confide.survey import Survey

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text("utf-8").split())
TUTORIAL = (ROOT / "docs" / "tutorials" / "staff-survey.md").read_text("utf-8")
PAY = "[questions.pay]\nlow = 0\nhigh = 300000\n"
DAYS = '[questions.days]\nkind = "integer"\nlow = 0\nhigh = 60\n'


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, pattern
    return float(found[1].replace(",", ""))


@pytest.fixture
def planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.chdir(tmp_path)

    def error_of_pay(survey: str, n: int) -> float:
        Path("survey.toml").write_text(survey, "utf-8")
        words = ["plan", "survey.toml", "--n", str(n), "--surveys", "4", "--json"]
        assert run(words) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        (error,) = [
            row["error"] for row in rows if (row["question"], row["quantity"]) == ("pay", "mean")
        ]
        return float(error)

    return error_of_pay


def test_the_limits_are_those_of_the_plan(planned: Any) -> None:
    one = number(r"known to about ± ([\d,]+) if it is the only question", README)
    two = number(r"and to ± ([\d,]+) if each person is asked one of two", README)
    assert planned(f"epsilon = 2.0\n{PAY}", 300) == pytest.approx(one, rel=0.03)
    assert planned(f"epsilon = 2.0\nask = 1\n{PAY}{DAYS}", 300) == pytest.approx(two, rel=0.03)
    least = number(r"no estimate of its mean pay from fewer than (\d+) reports", README)
    survey = Survey.from_dict({"epsilon": 2.0, "questions": {"pay": {"low": 0, "high": 300_000}}})
    assert needed(survey.mechanisms["pay"]) == least


def test_the_tutorial_begins_with_them(planned: Any, tmp_path: Path) -> None:
    (text,) = re.findall(r'```toml title="survey.toml"\n(.*?)```', TUTORIAL, re.DOTALL)
    told = " ".join(TUTORIAL.split())
    few = number(r"With 300 people .*? is known to about ± ([\d,]+),", told)
    many = number(r"With 8,000 people it is ± ([\d,]+)\.", told)
    assert planned(text, 300) == pytest.approx(few, rel=0.03)
    assert planned(text, 8000) == pytest.approx(many, rel=0.03)
    survey = Survey.read(tmp_path / "survey.toml")
    words = r"(\d+) for pay, (\d+) for sick days, and (\d+) for overtime"
    found = re.search(words, told)
    assert found is not None
    assert tuple(map(int, found.groups())) == tuple(map(needed, survey.mechanisms.values()))


def test_the_how_to_page_has_the_minimum_of_its_survey() -> None:
    text = (ROOT / "docs" / "how-to" / "collect.md").read_text("utf-8")
    found = re.search(r"this takes (\d+) answers about pay and (\d+) about smoking", text)
    assert found is not None
    questions = {"pay": {"low": 0, "high": 300_000}, "smokes": {"categories": ["no", "yes"]}}
    survey = Survey.from_dict(
        {"questions": {name: {**one, "epsilon": 1.0} for name, one in questions.items()}}
    )
    assert tuple(map(int, found.groups())) == tuple(map(needed, survey.mechanisms.values()))
