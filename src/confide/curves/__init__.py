"""Result types of estimators and releases."""

from __future__ import annotations

from confide.curves.density import CellDensity, Density, Intervals
from confide.curves.differences import Difference, difference
from confide.curves.proportions import Proportions, ShareIntervals
from confide.curves.regression import (
    Band,
    CategoryMeans,
    CellRegression,
    Classification,
    Line,
    Logistic,
    Regression,
)

__all__ = [
    "Band",
    "CategoryMeans",
    "CellDensity",
    "CellRegression",
    "Classification",
    "Density",
    "Difference",
    "Intervals",
    "Line",
    "Logistic",
    "Proportions",
    "Regression",
    "ShareIntervals",
    "difference",
]
