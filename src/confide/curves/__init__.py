"""What an estimate is in the end: densities and proportions, wherever they came from."""

from confide.curves.cells import CellDensity
from confide.curves.density import Density, Intervals
from confide.curves.proportions import Proportions, ShareIntervals
from confide.curves.regression import Band, CellRegression, Classification, Regression
from confide.curves.waves import WaveDensity

__all__ = [
    "Band",
    "CellDensity",
    "CellRegression",
    "Classification",
    "Density",
    "Intervals",
    "Proportions",
    "Regression",
    "ShareIntervals",
    "WaveDensity",
]
