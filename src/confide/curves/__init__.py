"""What an estimate is in the end: densities and proportions, wherever they came from."""

from confide.curves.cells import CellDensity
from confide.curves.density import Density, Intervals
from confide.curves.proportions import Proportions, ShareIntervals
from confide.curves.waves import WaveDensity

__all__ = ["CellDensity", "Density", "Intervals", "Proportions", "ShareIntervals", "WaveDensity"]
