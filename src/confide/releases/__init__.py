"""Releases: statistics about raw data, published by a curator under a budget."""

from __future__ import annotations

from confide.releases.bernstein import Bernstein
from confide.releases.choice import Choice
from confide.releases.cross_table import CrossTable
from confide.releases.gaussian_process import GaussianProcess
from confide.releases.histogram import Histogram, shares
from confide.releases.histogram_numbers import histogram_mean, histogram_quantile
from confide.releases.holdout import Holdout
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.least_squares import LeastSquares
from confide.releases.means import Means
from confide.releases.query import Query
from confide.releases.register import from_dict, from_settings
from confide.releases.release import Recipe, Release
from confide.releases.selection import Selection
from confide.releases.series import Series
from confide.releases.several import quantiles, release_all, release_groups, synthesize
from confide.releases.statements import Check, check
from confide.releases.statistic import Statistic

__all__ = [
    "Bernstein",
    "Check",
    "Choice",
    "CrossTable",
    "GaussianProcess",
    "Histogram",
    "Holdout",
    "KolmogorovSmirnov",
    "LeastSquares",
    "Means",
    "Query",
    "Recipe",
    "Release",
    "Selection",
    "Series",
    "Statistic",
    "check",
    "from_dict",
    "from_settings",
    "histogram_mean",
    "histogram_quantile",
    "quantiles",
    "release_all",
    "release_groups",
    "shares",
    "synthesize",
]
