"""Shares of several classes, given private numbers or words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card, table
from confide._figures import percent
from confide._types import Floats
from confide.curves import forms
from confide.curves.density import points
from confide.curves.forms import ENDS
from confide.curves.regression import FRAME_POINTS, Band
from confide.errors import InvalidInput


@dataclass(frozen=True, eq=False, repr=False)
class ClassShares:
    """The probability of each class in each cell.

    Parameters
    ----------
    edges
        Cell edges, one ascending array a covariate.
    shares
        Shares of the classes in each cell: one axis a covariate, the last for the classes.
    labels
        The classes.
    overall
        Shares of the classes in all cells together, which hold where nothing else is known.
    names, facts
        Names of the covariates, and how it came about.
    band
        The intervals behind `interval`, or None.

    Examples
    --------
    >>> rule = ClassShares((np.array([0.0, 1.0, 2.0]),), np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]),
    ...                    labels=("bus", "car", "foot"), overall=np.array([0.4, 0.15, 0.45]))
    >>> rule.predict([0.5, 1.5]).tolist()
    ['bus', 'foot']
    """  # noqa: E501

    edges: tuple[Floats, ...]
    shares: Floats
    _: KW_ONLY
    labels: tuple[Any, ...]
    overall: Floats
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None

    def probability(self, x: npt.ArrayLike) -> Floats:
        """Probability of each class at x, the classes on the last axis."""
        places = points(x, len(self.edges))
        inside = np.ones(places.shape[:-1], dtype=bool)
        at = []
        for axis, edges in enumerate(self.edges):
            column = places[..., axis]
            inside &= (column >= edges[0]) & (column <= edges[-1])
            cell = np.searchsorted(edges, column, side="right") - 1
            at.append(np.clip(cell, 0, edges.size - 2))
        found: Floats = np.where(inside[..., None], self.shares[tuple(at)], self.overall)
        return found

    def predict(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """The most likely class at x."""
        labels: npt.NDArray[Any] = np.asarray(self.labels)[self.probability(x).argmax(axis=-1)]
        return labels

    def interval(self, x: npt.ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
        """Pointwise confidence intervals of the shares at x, the classes on the last axis."""
        level = _checks.level(level)
        if self.band is None:
            raise forms.without_intervals(self.facts)
        return self.band.interval(points(x, len(self.edges)), level)

    def to_frame(self, x: npt.ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """The share of each class at some places with its interval, as a table of pandas."""
        if x is None:
            if len(self.edges) > 1:
                raise InvalidInput(
                    "places for several covariates", "none", "Name the places with x=."
                )
            x = np.linspace(self.edges[0][0], self.edges[0][-1], FRAME_POINTS)
        places = points(x, len(self.edges)).reshape(-1, len(self.edges))
        found = self.probability(places)
        low, high = self.interval(places, level=level)
        columns = [name or "x" for name in self.names]
        rows = []
        for place, *shown in zip(places.tolist(), found, low, high, strict=True):
            for label, *numbers in zip(self.labels, *shown, strict=True):
                ends = zip(ENDS, map(float, numbers), strict=True)
                rows.append(
                    {**dict(zip(columns, place, strict=True)), "class": label, **dict(ends)}
                )
        return forms.frame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "class-shares",
            "names": list(self.names),
            "edges": [edge.tolist() for edge in self.edges],
            "shares": self.shares.tolist(),
            "labels": list(self.labels),
            "overall": self.overall.tolist(),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the band."""
        keys = ("names", "edges", "shares", "labels", "overall", "facts")
        checked = forms.keyed(fields, "class-shares", keys)
        edges, labels = forms.edges(checked), checked["labels"]
        if not isinstance(labels, list) or len(labels) < 2:
            raise InvalidInput("at least two labels in class-shares", "fewer")
        if not all(isinstance(label, (str, int, float)) for label in labels):
            raise InvalidInput("labels that are words or numbers", "a label of another type")
        shape = (*(edge.size - 1 for edge in edges), len(labels))
        return cls(
            edges,
            forms.numbers(checked, "shares", shape),
            labels=tuple(labels),
            overall=forms.numbers(checked, "overall", (len(labels),)),
            names=forms.names(checked, len(edges)),
            facts=dict(checked["facts"]),
        )

    def __repr__(self) -> str:
        return f"<ClassShares of {len(self.labels)} classes, {forms.described(self.facts)}>"

    def _repr_html_(self) -> str:
        """The overall shares as bars and numbers, and the facts, for notebooks."""
        names, shares = list(map(str, self.labels)), self.overall.tolist()
        rows = [(name, percent(share)) for name, share in zip(names, shares, strict=True)]
        where = ", ".join(name or "x" for name in self.names)
        about = {"cost": forms.cost(self.facts), "facts": forms.how(self.facts)}
        picture = bars(shares, names, told="shares of the classes")
        return card(f"Classes given {where}", picture, table(("", "overall share"), rows), **about)
