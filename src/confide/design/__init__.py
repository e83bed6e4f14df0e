"""Choosing the noise before collecting: what it protects, what it costs."""

from confide.design.confidentiality import (
    closeness,
    criterion_scale,
    empirical_protection,
    match_rate,
    normal_protection,
    protection,
    reidentification,
    shared_variance,
)
from confide.design.displays import CurvesDisplay, PairsDisplay
from confide.design.divergence import gamma_delta, gamma_epsilon
from confide.design.error import ExpectedError, expected_error
from confide.design.gamma import optimal_gamma
from confide.design.guesses import Population
from confide.design.planner import plan
from confide.design.plans import Plan
from confide.design.results import GammaDesign, Pair
from confide.design.scales import gamma_scale

__all__ = [
    "CurvesDisplay",
    "ExpectedError",
    "GammaDesign",
    "Pair",
    "PairsDisplay",
    "Plan",
    "Population",
    "closeness",
    "criterion_scale",
    "empirical_protection",
    "expected_error",
    "gamma_delta",
    "gamma_epsilon",
    "gamma_scale",
    "match_rate",
    "normal_protection",
    "optimal_gamma",
    "plan",
    "protection",
    "reidentification",
    "shared_variance",
]
