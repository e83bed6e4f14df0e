"""Collect numbers that people would rather not reveal, and learn the population, not the person."""

from confide import datasets, errors, estimators, mechanisms, noise, reports
from confide.accounting import Spend
from confide.curves import Density, Proportions
from confide.lattice import Categories, Lattice
from confide.mechanisms import (
    ForcedResponse,
    Joint,
    Laplace,
    RandomizedResponse,
    Reports,
    SquareWave,
    TwoSidedGamma,
)
from confide.questions import Question
from confide.summaries import Counts, Spectrum
from confide.surveys import Survey

__version__ = "0.1.0"

__all__ = [
    "Categories",
    "Counts",
    "Density",
    "ForcedResponse",
    "Joint",
    "Laplace",
    "Lattice",
    "Proportions",
    "Question",
    "RandomizedResponse",
    "Reports",
    "Spectrum",
    "Spend",
    "SquareWave",
    "Survey",
    "TwoSidedGamma",
    "datasets",
    "errors",
    "estimators",
    "mechanisms",
    "noise",
    "reports",
]
