"""What an estimate is in the end: densities and proportions, wherever they came from."""

from confide.curves.category_means import CategoryMeans
from confide.curves.cells import CellDensity
from confide.curves.density import Density, Intervals
from confide.curves.differences import Difference, difference
from confide.curves.lines import Line, Logistic
from confide.curves.proportions import Proportions, ShareIntervals
from confide.curves.regression import Band, CellRegression, Classification, Regression
from confide.curves.regression_waves import WaveRegression
from confide.curves.waves import WaveDensity

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
