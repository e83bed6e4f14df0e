"""The page about survey files has every key, and its example is a survey."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import confide as cf
from confide.mechanisms import KINDS
from confide.questions import question, questionnaire

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "survey-file.md").read_text()


def keys(section: str) -> set[str]:
    part = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    first = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {key for cell in first for key in re.findall(r"`(\w+)`", cell)}


def test_every_key_of_a_survey_is_there() -> None:
    assert keys("Keys of the survey") == {*questionnaire.KEYS, *questionnaire.TEXTS}


def test_every_key_of_a_question_is_there() -> None:
    known = {"mechanism", "missing", *question.SHOWN, *question.MEANINGS}
    for kind in KINDS.values():
        known |= {*kind.needed, *kind.optional}
    assert keys("Keys of a question") == known


def test_the_example_is_a_survey() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    survey = cf.Survey.from_dict(tomllib.loads(text))
    assert survey.spend.epsilon == 2.0
    assert survey.questions["pay"].ends[1] == "300,000 or more"
    assert survey.questions["stress"].ordered
