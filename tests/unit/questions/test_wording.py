"""What people read: texts, translations and labels in survey files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from confide.errors import InvalidInput
from confide.questions import Questionnaire
from confide.questions.wording import Wording
from confide.survey import Survey

TOML = """
title = "Staff survey"
title_de = "Mitarbeiterbefragung"
intro = "Ten minutes."
contact = "survey@example.org"
language = "en"
groups = ["region"]
closes = 2027-01-31T18:00:00+01:00

[questions.pay]
text = "What do you earn in a year?"
text_de = "Was verdienen Sie im Jahr?"
unit = "EUR"
help = "Before tax."
low = 0
high = 300000
epsilon = 1.0

[questions.smokes]
text = "Do you smoke?"
categories = ["no", "yes"]
labels = ["No", "Yes"]
labels_de = ["Nein", "Ja"]
epsilon = 1.0
"""


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    path = tmp_path / "survey.toml"
    path.write_text(TOML)
    return Survey.read(path)


def test_texts_are_read_and_come_back(survey: Survey) -> None:
    assert survey.title == "Staff survey"
    assert survey.wording.get("title", "de") == "Mitarbeiterbefragung"
    assert survey.languages == ("en", "de")
    assert survey.groups == ("region",)
    assert survey.closes == datetime(2027, 1, 31, 17, tzinfo=UTC)
    pay, smokes = survey.questions.values()
    assert pay.wording.get("unit", "de") == "EUR"
    assert smokes.wording.labels == {"": ("No", "Yes"), "de": ("Nein", "Ja")}
    again = Survey.from_dict(survey.to_dict())
    assert again == survey
    assert (again.fingerprint, again.worded) == (survey.fingerprint, survey.worded)


def test_every_text_is_in_the_name_of_the_wording_and_none_in_that_of_the_mechanisms(
    survey: Survey,
) -> None:
    fields = survey.to_dict()
    names = {survey.worded}
    for change in (
        {"title": "Another"},
        {"title_de": "Andere"},
        {"contact": "b@example.org"},
        {"groups": []},
        {"language": "fr"},
        {"closes": "2027-02-01T00:00:00Z"},
    ):
        other = Questionnaire.from_dict(fields | change)
        assert other.fingerprint == survey.fingerprint
        names.add(other.worded)
    for name, change in (
        ("pay", {"text": "x"}),
        ("pay", {"unit": "USD"}),
        ("smokes", {"labels": ["Never", "Yes"]}),
    ):
        questions = fields["questions"] | {name: fields["questions"][name] | change}
        other = Questionnaire.from_dict(fields | {"questions": questions})
        assert other.fingerprint == survey.fingerprint
        names.add(other.worded)
    assert len(names) == 10


def test_a_survey_without_texts_has_the_fingerprint_it_always_had() -> None:
    bare = Questionnaire.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    assert bare.to_dict() == {
        "title": "",
        "questions": {
            "pay": {
                "mechanism": "square-wave",
                "low": 0.0,
                "high": 9.0,
                "size": 1024,
                "scale": "linear",
                "epsilon": 1.0,
            }
        },
    }
    assert bare.fingerprint == "2e5511adcf139376f7cb6a6295e74391"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labels": ["No"]}, "one label for each of the 2 categories"),
        ({"labels": ["No", "No"]}, "all of them different"),
        ({"labels": "No, Yes"}, "one label for each"),
        ({"text": 3}, "text of at most 4,000 characters for the key 'text'"),
        ({"text": "x" * 4001}, "got 4,001 characters"),
        ({"text_german": "x"}, "a language such as de or pt-BR"),
        ({"help_de": "x"}, "the key 'help' beside its translations"),
        ({"txet": "x"}, "Did you mean 'text'"),
    ],
)
def test_bad_texts_of_a_question(change: dict[str, Any], sentence: str) -> None:
    keys = {"categories": ["no", "yes"], "epsilon": 1.0} | change
    with pytest.raises(InvalidInput, match=sentence) as caught:
        Questionnaire.from_dict({"questions": {"smokes": keys}})
    assert "in question 'smokes'" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"groups": "region"}, r"groups as a list of columns"),
        ({"groups": ["pay"]}, "got the question 'pay'"),
        ({"groups": ["a", "a"]}, "each column once"),
        ({"closes": datetime(2027, 1, 1)}, "with an offset"),
        ({"closes": "soon"}, "closes as a date and a time"),
        ({"closes": 3}, "closes as a date and a time"),
        ({"language": "English"}, "a language such as en"),
        ({"title": 5}, "text of at most"),
        ({"titel": "x"}, "Did you mean 'title'"),
    ],
)
def test_bad_keys_of_a_survey(change: dict[str, Any], sentence: str) -> None:
    asked = {"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}}
    with pytest.raises(InvalidInput, match=sentence):
        Questionnaire.from_dict(asked | change)


def test_labels_need_categories() -> None:
    with pytest.raises(InvalidInput, match="only where a question has categories"):
        Wording.read({"labels": ["a", "b"]})
