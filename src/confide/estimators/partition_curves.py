"""The curve of a partition survey, in the units and words of the survey."""

from __future__ import annotations

from dataclasses import replace

from confide.curves.classes import ClassShares
from confide.curves.regression import CellRegression, Classification, Regression
from confide.errors import Mismatch
from confide.estimators.partition_regression import (
    PartitionClassification,
    PartitionRegression,
    shifted,
)
from confide.questions.partitions import PartitionSurvey
from confide.summaries.cell_sums import CellSums


def partition_curve(
    survey: PartitionSurvey, sums: CellSums
) -> CellRegression | Classification | ClassShares:
    """The mean response or the most likely label, cell by cell, from the sums of the reports.

    It is `PartitionRegression` or `PartitionClassification` with the survey's names, labels and
    units: the mechanism takes the middle of the response's range for zero.

    Parameters
    ----------
    survey
        What was asked.
    sums
        Sums of its reports.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import Feature, PartitionSurvey, tables
    >>> survey = PartitionSurvey("pay", {"age": Feature(low=18, high=80, cells=4)},
    ...                          epsilon=4.0, low=0, high=100_000)
    >>> age = np.random.default_rng(1).uniform(18, 80, 50_000)
    >>> made = survey.simulate({"age": age, "pay": 1_000 * age}, seed=1)
    >>> curve = partition_curve(survey, tables.counts(made, survey.mechanism))
    >>> bool(abs(curve.predict(60.0) - 57_000) < 15_000)
    True
    """
    if sums.mechanism != survey.mechanism:
        raise Mismatch(
            "sums of this survey's reports",
            "those of another partition",
            "The survey was changed since, or the sums belong to another.",
        )
    names = tuple(survey.features)
    if survey.labels is None:
        return replace(shifted(PartitionRegression().fit(sums), survey.middle), names=names)
    found = PartitionClassification(labels=tuple(survey.labels)).fit(sums)
    if isinstance(found, ClassShares):
        return replace(found, names=names)
    score, chance = _named(found.score, names), found.chance
    return replace(found, score=score, chance=None if chance is None else _named(chance, names))


def _named(curve: Regression, names: tuple[str, ...]) -> Regression:
    assert isinstance(curve, CellRegression)
    return replace(curve, names=names)
