"""The plan of a survey says for which questions two phases pay."""

from __future__ import annotations

import re

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidInput
from confide.planning import SurveyPlan


def survey(**keys: object) -> cf.Survey:
    questions = {"pay": {"low": 0, "high": 1000, "size": 64}, "smokes": {"categories": ["n", "y"]}}
    return cf.Survey.from_dict({"epsilon": 2.0, "questions": questions, **keys})


def planned(n: int, values: np.ndarray) -> SurveyPlan:
    from confide.planning import plan_survey

    return plan_survey(survey(), n=n, guesses={"pay": values}, surveys=0)


def test_phases_pay_where_bounds_are_wide_and_people_are_many() -> None:
    narrow = np.random.default_rng(1).normal(300, 10, 4000)
    made = planned(10_000, narrow)
    assert set(made.zooms) == {"pay"}
    assert 0.04 < made.zooms["pay"] < 0.1
    (said,) = (line for line in made.words() if line.startswith("Two phases pay"))
    # Two figures: where people are is a guess.
    assert re.search(r"pay in [4-9](\.\d)? % of the bounds\.$", said)
    again = SurveyPlan.from_dict(made.to_dict())
    assert again.zooms == made.zooms
    # Where people are in two thirds of the bounds a zoom is tried, and gains nothing for sure.
    assert not planned(10_000, np.random.default_rng(1).normal(500, 100, 4000)).zooms
    # Too few for a pilot, and bounds that are right.
    assert not planned(2_000, narrow).zooms
    assert not planned(10_000, np.random.default_rng(1).random(4000) * 1000).zooms


def test_a_survey_with_phases_is_told_where_they_gain_nothing() -> None:
    narrow = np.random.default_rng(1).normal(300, 10, 4000)
    for keys, n, said in (
        ({"phases": {}}, 2_000, True),
        ({"phases": {}}, 10_000, False),
        ({}, 2_000, False),
    ):
        made = survey(**keys).plan(n=n, guesses={"pay": narrow})
        assert made.phases == bool(keys)
        pay = [line for line in made.words() if "pay if people are" in line]
        assert [line.startswith("The two phases") for line in pay] == [True] * bool(made.zooms)
        assert any("hardly gain" in line for line in made.words()) == said
        assert SurveyPlan.from_dict(made.to_dict()).words() == made.words()


def test_a_survey_with_rounds_is_planned_a_round_at_a_time() -> None:
    with pytest.raises(InvalidInput, match="one of its rounds"):
        survey(rounds={"count": 4}).plan(n=1000)


def test_the_second_phase_is_not_planned() -> None:
    zoomed = {"pay": {"low": 0, "high": 9, "scale": "zoom", "zoom": [1, 2]}}
    with pytest.raises(InvalidInput, match="first phase"):
        survey(questions=zoomed).plan(n=1000)
