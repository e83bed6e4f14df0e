"""What error to expect of a survey, before anybody is asked."""

from __future__ import annotations

from confide.planning.planner import Plan, plan
from confide.planning.populations import Population

__all__ = ["Plan", "Population", "plan"]
