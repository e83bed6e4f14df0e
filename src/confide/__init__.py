"""Collect numbers that people would rather not reveal, and learn the population, not the person."""

from confide import datasets, errors, estimators, mechanisms, noise, releases, reports
from confide.accounting import Spend
from confide.cells import Cells
from confide.curves import Classification, Density, Proportions, Regression
from confide.lattice import Categories, Lattice
from confide.ledgers import Ledger
from confide.mechanisms import (
    ForcedResponse,
    Joint,
    Laplace,
    Partition,
    RandomizedResponse,
    Reports,
    SquareWave,
    TwoSidedGamma,
)
from confide.questions import Question
from confide.summaries import CellSums, Counts, Spectrum
from confide.surveys import Survey

__version__ = "0.1.0"

__all__ = [
    "Categories",
    "CellSums",
    "Cells",
    "Classification",
    "Counts",
    "Density",
    "ForcedResponse",
    "Joint",
    "Laplace",
    "Lattice",
    "Ledger",
    "Partition",
    "Proportions",
    "Question",
    "RandomizedResponse",
    "Regression",
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
    "releases",
    "reports",
]
