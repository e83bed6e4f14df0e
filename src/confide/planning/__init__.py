"""Planning: the expected error of a survey before it runs."""

from __future__ import annotations

from confide.planning.planner import Plan, plan
from confide.planning.populations import Population
from confide.planning.survey_plans import SurveyPlan, plan_survey

__all__ = ["Plan", "Population", "SurveyPlan", "plan", "plan_survey"]
