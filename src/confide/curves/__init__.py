"""Result types of estimators and releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confide import _checks
from confide.curves.additive import AdditiveModel
from confide.curves.classes import ClassShares
from confide.curves.copula import Copula, Relation
from confide.curves.density import (
    CellDensity,
    Density,
    Intervals,
    SimultaneousBand,
    WaveDensity,
)
from confide.curves.differences import Difference, difference
from confide.curves.forms import to_frame
from confide.curves.proportions import Proportions, ShareIntervals
from confide.curves.regression import (
    REGRESSIONS,
    Band,
    CategoryMeans,
    CellRegression,
    Classification,
    Line,
    Logistic,
    NodeRegression,
    Regression,
    WaveRegression,
)
from confide.errors import InvalidInput

Curve = Density | Regression | Proportions | Classification | ClassShares | Copula | Difference
"""What an estimate is."""

KINDS: dict[str, Any] = {
    "cell-density": CellDensity,
    "class-shares": ClassShares,
    "classification": Classification,
    "copula": Copula,
    "difference": Difference,
    "proportions": Proportions,
    "wave-density": WaveDensity,
    **REGRESSIONS,
}
"""The class of each kind of curve in JSON."""


def from_dict(fields: Mapping[str, Any]) -> Curve:
    """The curve that a `to_dict` describes, of any kind.

    It gives the same values as the original. Intervals of a line, a logistic curve and a difference
    are included. Intervals of other curves need the summary of the reports: ``facts["summary"]`` is
    its fingerprint, which the error names.

    Parameters
    ----------
    fields
        Plain values, for instance from ``json.load``.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> shares = Proportions(("no", "yes"), np.array([0.7, 0.3]))
    >>> from_dict(json.loads(json.dumps(shares.to_dict())))
    <Proportions no 0.700, yes 0.300>
    """
    if not isinstance(fields, Mapping) or "curve" not in fields:
        raise InvalidInput("a curve that to_dict wrote", "another document")
    kind = _checks.one_of(tuple(KINDS), curve=fields["curve"])
    found: Curve = KINDS[kind].from_dict(fields)
    return found


__all__ = [
    "AdditiveModel",
    "Band",
    "CategoryMeans",
    "CellDensity",
    "CellRegression",
    "ClassShares",
    "Classification",
    "Copula",
    "Density",
    "Difference",
    "Intervals",
    "Line",
    "Logistic",
    "NodeRegression",
    "Proportions",
    "Regression",
    "Relation",
    "ShareIntervals",
    "SimultaneousBand",
    "WaveDensity",
    "WaveRegression",
    "difference",
    "from_dict",
    "to_frame",
]
