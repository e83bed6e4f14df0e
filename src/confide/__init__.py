"""Collect numbers that people would rather not reveal, and learn the population, not the person."""

import importlib
from typing import TYPE_CHECKING, Any

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
from confide.summaries import CellSums, Counts, Groups, Spectrum
from confide.surveys import Survey

if TYPE_CHECKING:
    from confide import audits, design, reference, sampling, tables
    from confide.sampling import FiniteMollifier, Mollifier

__version__ = "0.1.0"
# Not everybody needs these, and they take a while: they are imported when they are first named.
_LATER = ("audits", "design", "reference", "sampling", "tables")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"confide.{name}")
    if name in ("FiniteMollifier", "Mollifier"):
        return getattr(importlib.import_module("confide.sampling"), name)
    raise AttributeError(f"module 'confide' has no attribute {name!r}")


__all__ = [
    "Categories",
    "CellSums",
    "Cells",
    "Classification",
    "Counts",
    "Density",
    "FiniteMollifier",
    "ForcedResponse",
    "Groups",
    "Joint",
    "Laplace",
    "Lattice",
    "Ledger",
    "Mollifier",
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
    "audits",
    "datasets",
    "design",
    "errors",
    "estimators",
    "mechanisms",
    "noise",
    "reference",
    "releases",
    "reports",
    "sampling",
    "tables",
]
