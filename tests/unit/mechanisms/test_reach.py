"""A reach of the square wave that a survey gives itself, and when a plan says that it pays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import confide as cf
from confide import Lattice, SquareWave
from confide.errors import InvalidInput
from confide.mechanisms.square_wave import mean_reach, wave_reach
from confide.planning.survey_plans import SurveyPlan, plan_survey


def test_a_reach_of_ones_own() -> None:
    lattice = Lattice(low=0, high=1, size=256)
    usual = SquareWave(lattice, epsilon=4.0)
    wide = SquareWave(lattice, epsilon=4.0, reach=mean_reach(4.0, 256))
    assert usual.reach == wave_reach(4.0, 256) < wide.reach == 17
    assert SquareWave.from_dict(wide.to_dict()) == wide != usual
    assert SquareWave.from_dict({k: v for k, v in usual.to_dict().items() if k != "reach"}) == usual
    # Any reach has the two weights of the same epsilon.
    assert wide.law.ratio() == usual.law.ratio()
    assert "reach" not in usual.asking()
    assert wide.asking()["reach"] == 17
    assert SquareWave.asked(wide.asking()) == wide
    masses = np.full(256, 1 / 256)
    spreads = []
    for each in (usual, wide):
        scores, chances = each.unbiased(1), each.law.forward(masses)
        assert scores @ chances == pytest.approx(0.5)
        spreads.append(math.sqrt(chances @ (scores - 0.5) ** 2))
    assert spreads[1] < 0.9 * spreads[0]
    for wrong in (-1, 257, 1.5, True, None, "3"):
        with pytest.raises(InvalidInput):
            SquareWave.from_dict({**usual.to_dict(), "reach": wrong})
    with pytest.raises(InvalidInput, match="reach"):
        SquareWave(lattice, epsilon=4.0, reach=-1)


def test_plans_offer_a_wider_reach_where_it_pays() -> None:
    def planned(**keys: float) -> SurveyPlan:
        pay = {"low": 0, "high": 100, "size": 256, **keys}
        return plan_survey(cf.Survey.from_dict({"questions": {"pay": pay}}), n=2_000, surveys=0)

    plan = planned(epsilon=4.0)
    (line,) = [line for line in plan.words() if "reach" in line]
    assert "with reach = 17 in the survey file, its error is 0.7" in line
    wide = planned(epsilon=4.0, reach=17)
    assert wide.row("pay", "mean").error < 0.9 * plan.row("pay", "mean").error
    for other in (wide, planned(epsilon=1.0), SurveyPlan.from_dict(plan.to_dict())):
        assert not any("reach" in line for line in other.words())
