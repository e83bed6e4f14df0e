"""What an estimate is in the end: densities and proportions, wherever they came from."""

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
from confide.foreign.waves import WaveDensity, WaveRegression

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
    "WaveDensity",
    "WaveRegression",
    "difference",
]
