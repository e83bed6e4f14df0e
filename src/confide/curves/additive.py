"""Additive regressions and classifiers: a sum of one effect per column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card
from confide._types import Floats
from confide.curves import forms
from confide.errors import InvalidInput, Unsupported
from confide.lattice import Axis, Categories, Lattice, axes_from_list, axis_from_dict, listed_axes

CLASSES = "This model predicts a number: predict gives it, and there are no classes."


@lru_cache(maxsize=64)
def basis(axis: Axis, degree: int) -> Floats:
    """Weights of each coefficient in each cell of a column; each row is a cell and adds up to one.

    For numbers these are the Bernstein polynomials of that degree, with the first cell at 0 and
    the last one at 1; a word adds to its own coefficient alone.
    """
    if isinstance(axis, Categories):
        found: Floats = np.eye(axis.size)
    else:
        u = np.arange(axis.size)[:, None] / (axis.size - 1)
        k = np.arange(degree + 1)
        choose = np.array([math.comb(degree, j) for j in k], dtype=np.float64)
        found = choose * u**k * (1 - u) ** (degree - k)
    found.flags.writeable = False
    return found


@dataclass(frozen=True, eq=False, repr=False)
class AdditiveModel:
    """A number, or the share of each class, as a mean and one effect for each column.

    The effect of a number is a Bernstein polynomial of it, that of a word one number a word.

    Parameters
    ----------
    columns
        The columns that it predicts from, by name: cells of numbers, or categories.
    effects
        Coefficients of each column: one row a polynomial or word, one column for each class, or a
        single one where the target is a number.
    target
        Name of the column that is predicted.
    outcome
        The cells or the categories of the target.
    mean
        What is predicted without any effect: for a number as a share of its range.
    facts
        How it came about.

    Examples
    --------
    >>> model = AdditiveModel(
    ...     {"smokes": Categories(("no", "yes"))}, (np.array([[-0.1], [0.2]]),),
    ...     target="cough", outcome=Lattice(low=0, high=10), mean=np.array([0.5]),
    ... )
    >>> model.predict({"smokes": ["no", "yes"]}).round(2).tolist()
    [4.0, 7.0]
    """

    columns: Mapping[str, Axis]
    effects: tuple[Floats, ...]
    _: KW_ONLY
    target: str
    outcome: Axis
    mean: Floats
    facts: Mapping[str, Any] = field(default_factory=dict)

    def score(self, table: Any) -> Floats:
        """The mean plus all effects for each record, one column a class or a single one.

        Parameters
        ----------
        table
            Columns by name: a mapping, or a table of pandas or polars. Numbers beyond the bounds
            count as the bounds, and words must be among the categories.
        """
        found = []
        for (name, axis), coefficients in zip(self.columns.items(), self.effects, strict=True):
            if name not in table:
                raise InvalidInput(f"a column {name!r}", "none")
            effect = basis(axis, len(coefficients) - 1) @ coefficients
            found.append(effect[axis.index(table[name])])
        sizes = {len(each) for each in found}
        if len(sizes) > 1:
            raise InvalidInput("columns of one length", f"lengths {sorted(sizes)}")
        total: Floats = self.mean + np.sum(found, axis=0)
        return total

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """The number, or the most likely class, for each record of a table."""
        score = self.score(table)
        if isinstance(self.outcome, Categories):
            labels: npt.NDArray[Any] = np.array(self.outcome.labels)[score.argmax(axis=1)]
            return labels
        return _number(self.outcome, score[:, 0])

    def probability(self, table: Any) -> Floats:
        """The share of each class for each record, from 0 to 1 and adding up to one."""
        if not isinstance(self.outcome, Categories):
            raise Unsupported(CLASSES)
        kept = np.clip(self.score(table), 1e-9, 1)
        shares: Floats = kept / kept.sum(axis=1, keepdims=True)
        return shares

    def effect(self, name: str) -> Floats:
        """The effect of each cell or word of a column, one column a class or a single one."""
        at = list(self.columns).index(_checks.one_of(tuple(self.columns), name=name))
        own = self.effects[at]
        found: Floats = basis(self.columns[name], len(own) - 1) @ own
        return found

    def to_frame(self) -> Any:
        """The coefficients as a table of pandas: column, place or word, class, effect."""
        classes = self.outcome.labels if isinstance(self.outcome, Categories) else (self.target,)
        rows = []
        for (name, axis), own in zip(self.columns.items(), self.effects, strict=True):
            if isinstance(axis, Categories):
                places: list[Any] = list(axis.labels)
            else:
                places = axis.position(np.linspace(0, axis.size - 1, len(own))).tolist()
            for place, several in zip(places, own.tolist(), strict=True):
                for label, number in zip(classes, several, strict=True):
                    rows.append({"column": name, "at": place, "of": label, "effect": number})
        return forms.frame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "additive-model",
            "columns": listed_axes(self.columns),
            "effects": [each.tolist() for each in self.effects],
            "target": self.target,
            "outcome": self.outcome.to_dict(),
            "mean": self.mean.tolist(),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        keys = ("columns", "effects", "target", "outcome", "mean", "facts")
        checked = forms.keyed(fields, "additive-model", keys)
        columns = axes_from_list(checked["columns"])
        outcome = axis_from_dict(checked["outcome"])
        if not isinstance(checked["target"], str) or not isinstance(checked["effects"], list):
            raise InvalidInput(
                "an additive-model with a target and a list of effects", "one without them"
            )
        outputs = outcome.size if isinstance(outcome, Categories) else 1
        effects = []
        for axis, own in zip(columns.values(), checked["effects"], strict=False):
            rows = axis.size if isinstance(axis, Categories) else len(own)
            effects.append(forms.numbers({**checked, "effects": own}, "effects", (rows, outputs)))
        if not 1 <= len(columns) == len(effects) == len(checked["effects"]):
            raise InvalidInput(
                "an additive-model with effects for each column", "too few or too many"
            )
        mean = forms.numbers(checked, "mean", (outputs,))
        return cls(
            columns, tuple(effects), target=checked["target"], outcome=outcome, mean=mean,
            facts=dict(checked["facts"]),
        )  # fmt: skip

    def __repr__(self) -> str:
        kind = "classifier" if isinstance(self.outcome, Categories) else "regression"
        about = f"{kind} of {self.target!r} on {len(self.columns)} columns"
        return f"<AdditiveModel {about}, {forms.described(self.facts)}>"

    def _picture(self) -> str:
        """How much each column's effect moves the prediction at most, as bars."""
        ranges = [float(np.ptp(self.effect(name), axis=0).max()) for name in self.columns]
        return bars(ranges, list(self.columns), told="ranges of the effects")

    def _repr_html_(self) -> str:
        """The ranges of the effects, and what it is, for notebooks."""
        kind = "Classifier" if isinstance(self.outcome, Categories) else "Regression"
        about = {"cost": forms.cost(self.facts), "facts": forms.how(self.facts)}
        return card(f"{kind} of {self.target}", self._picture(), **about)


def _number(lattice: Lattice, shares: Floats) -> Floats:
    """Shares of the range in the units of the data, within the bounds."""
    found: Floats = lattice.position(np.clip(shares, 0, 1) * (lattice.size - 1))
    return found
