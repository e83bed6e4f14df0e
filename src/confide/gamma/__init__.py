"""The designer of two-sided gamma noise: what it protects, and what it costs."""

from __future__ import annotations

from confide.gamma.designer import CurvesDisplay, GammaDesign, Pair, PairsDisplay, optimal_gamma
from confide.gamma.exact import Reference, exact_error
from confide.gamma.price import ExpectedError, expected_error, gamma_delta, gamma_epsilon
from confide.gamma.protection import (
    closeness,
    criterion_scale,
    empirical_protection,
    gamma_scale,
    match_rate,
    normal_protection,
    protection,
    reidentification,
    shared_variance,
)

__all__ = [
    "CurvesDisplay",
    "ExpectedError",
    "GammaDesign",
    "Pair",
    "PairsDisplay",
    "Reference",
    "closeness",
    "criterion_scale",
    "empirical_protection",
    "exact_error",
    "expected_error",
    "gamma_delta",
    "gamma_epsilon",
    "gamma_scale",
    "match_rate",
    "normal_protection",
    "optimal_gamma",
    "protection",
    "reidentification",
    "shared_variance",
]
