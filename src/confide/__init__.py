"""Collect numbers that people would rather not reveal, and learn the population, not the person."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confide import (
        accounting,
        audits,
        collect,
        curves,
        datasets,
        displays,
        errors,
        estimators,
        foreign,
        gamma,
        mechanisms,
        planning,
        releases,
        reports,
        results,
        sampling,
        sklearn,
        streams,
        tables,
    )
    from confide.accounting import Spend
    from confide.curves.density import Density
    from confide.curves.proportions import Proportions
    from confide.curves.regression import Classification, Regression
    from confide.estimators.adaptive import density
    from confide.estimators.relating import relate
    from confide.foreign.spectrum import Spectrum
    from confide.lattice import Categories, Cells, Lattice
    from confide.ledger.budget import Ledger
    from confide.mechanisms.categories import RandomizedResponse
    from confide.mechanisms.joint import Joint
    from confide.mechanisms.laplace import Laplace
    from confide.mechanisms.partition import Partition
    from confide.mechanisms.protocol import Reports
    from confide.mechanisms.square_wave import SquareWave
    from confide.mechanisms.two_sided_gamma import TwoSidedGamma
    from confide.questions.partitions import Feature, PartitionSurvey
    from confide.questions.question import Question
    from confide.results.synthetic import synthesize
    from confide.sampling.mollifier import FiniteMollifier, Mollifier
    from confide.summaries.cell_sums import CellSums
    from confide.summaries.counts import Counts
    from confide.summaries.files import Summaries, read
    from confide.summaries.groups import Groups
    from confide.survey import Survey
    from confide.tables.jobs import summarize

__version__ = "0.2.0"

# Everything is imported when it is first named: the whole takes a while, few need all of it, a
# device needs numpy alone, and the command line must already run to answer an interrupt meanwhile.
_HOMES = {
    "Categories": "lattice",
    "CellSums": "summaries",
    "Cells": "lattice",
    "Classification": "curves",
    "Counts": "summaries",
    "Density": "curves",
    "Feature": "questions",
    "FiniteMollifier": "sampling",
    "Groups": "summaries",
    "Joint": "mechanisms",
    "Laplace": "mechanisms",
    "Lattice": "lattice",
    "Ledger": "ledger",
    "Mollifier": "sampling",
    "Partition": "mechanisms",
    "PartitionSurvey": "questions",
    "Proportions": "curves",
    "Question": "questions",
    "RandomizedResponse": "mechanisms",
    "Regression": "curves",
    "Reports": "mechanisms",
    "Spectrum": "foreign",
    "Spend": "accounting",
    "SquareWave": "mechanisms",
    "Summaries": "summaries",
    "Survey": "survey",
    "TwoSidedGamma": "mechanisms",
    "density": "estimators",
    "relate": "estimators",
    "synthesize": "results",
    "read": "summaries",
    "summarize": "tables",
}
"""The module of each public name."""
_MODULES = (
    "accounting",
    "audits",
    "collect",
    "curves",
    "datasets",
    "displays",
    "errors",
    "estimators",
    "foreign",
    "gamma",
    "mechanisms",
    "planning",
    "releases",
    "reports",
    "results",
    "sampling",
    "sklearn",
    "streams",
    "tables",
)
"""Public modules."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f"confide.{_HOMES[name]}"), name)
    elif name in _MODULES:
        found = importlib.import_module(f"confide.{name}")
    else:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(
        {*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"}
    )


__all__ = [
    "Categories",
    "CellSums",
    "Cells",
    "Classification",
    "Counts",
    "Density",
    "Feature",
    "FiniteMollifier",
    "Groups",
    "Joint",
    "Laplace",
    "Lattice",
    "Ledger",
    "Mollifier",
    "Partition",
    "PartitionSurvey",
    "Proportions",
    "Question",
    "RandomizedResponse",
    "Regression",
    "Reports",
    "Spectrum",
    "Spend",
    "SquareWave",
    "Summaries",
    "Survey",
    "TwoSidedGamma",
    "accounting",
    "audits",
    "collect",
    "curves",
    "datasets",
    "density",
    "displays",
    "errors",
    "estimators",
    "foreign",
    "gamma",
    "mechanisms",
    "planning",
    "read",
    "relate",
    "releases",
    "reports",
    "results",
    "sampling",
    "sklearn",
    "streams",
    "summarize",
    "synthesize",
    "tables",
]
