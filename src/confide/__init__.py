"""Collect numbers that people would rather not reveal, and learn the population, not the person."""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confide import (
        audits,
        datasets,
        design,
        errors,
        estimators,
        mechanisms,
        noise,
        reference,
        releases,
        reports,
        sampling,
        tables,
    )
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
    from confide.sampling import FiniteMollifier, Mollifier
    from confide.summaries import CellSums, Counts, Groups, Spectrum
    from confide.surveys import Survey

__version__ = "0.1.0"
# Everything is imported when it is first named: the whole takes a while, few need all of it, and
# the command line must be there to answer whoever stops it meanwhile.
_NAMES = {
    "Categories": "lattice",
    "CellSums": "summaries",
    "Cells": "cells",
    "Classification": "curves",
    "Counts": "summaries",
    "Density": "curves",
    "FiniteMollifier": "sampling",
    "ForcedResponse": "mechanisms",
    "Groups": "summaries",
    "Joint": "mechanisms",
    "Laplace": "mechanisms",
    "Lattice": "lattice",
    "Ledger": "ledgers",
    "Mollifier": "sampling",
    "Partition": "mechanisms",
    "Proportions": "curves",
    "Question": "questions",
    "RandomizedResponse": "mechanisms",
    "Regression": "curves",
    "Reports": "mechanisms",
    "Spectrum": "summaries",
    "Spend": "accounting",
    "SquareWave": "mechanisms",
    "Survey": "surveys",
    "TwoSidedGamma": "mechanisms",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        found = getattr(importlib.import_module(f"confide.{_NAMES[name]}"), name)
        globals()[name] = found
        return found
    if not name.startswith("_") and importlib.util.find_spec(f"confide.{name}") is not None:
        return importlib.import_module(f"confide.{name}")
    raise AttributeError(f"module 'confide' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
