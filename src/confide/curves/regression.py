"""Regression curves of all kinds, and classifications: a response given a private number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import LEVEL, bars, card, curve, estimates, shades
from confide._figures import number
from confide._markup import Html
from confide._types import Floats
from confide.curves import forms
from confide.curves.density import asked, ends, points
from confide.curves.forms import ENDS, frame, size
from confide.displays import RegressionDisplay
from confide.errors import InvalidInput, Unsupported
from confide.lattice import Categories

PLOT_POINTS = 201
SLICES = (0.25, 0.5, 0.75)
"""Where maps cut the range of a third covariate."""
FRAME_POINTS = 21
CARD_POINTS = 81


class Band(Protocol):
    """Pointwise intervals that an estimator gives to its curve.

    Examples
    --------
    >>> line = Line(1.0, (2.0,), lambda: np.diag([0.01, 0.0]), low=(0.0,), high=(1.0,))
    >>> low, high = line.band.interval(np.array([0.5]), 0.95)  # line.interval(0.5) asks the same
    >>> bool(low[0] < 2.0 < high[0])
    True
    """

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends at each x."""


class Regression(ABC):
    """The mean of a response as a function of one to three private numbers.

    Attributes
    ----------
    names
        Names of the covariates; ``("",)`` for a single one.
    low, high
        Public bounds of the covariates, one number each.
    facts
        How it was estimated: method, n, epsilon, smoothing or bandwidth, what was private.
    band
        The intervals behind `interval`, or None.
    baseline
        The corrected straight line (or logistic curve) that belongs beside it, or None.

    Examples
    --------
    >>> line = Line(1.0, (2.0,), lambda: np.diag([0.01, 0.0]), low=(0.0,), high=(1.0,))
    >>> isinstance(line, Regression), float(line.predict(0.5))
    (True, 2.0)
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    facts: Mapping[str, Any]
    band: Band | None
    baseline: Regression | None

    @abstractmethod
    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response at x: one row a point; for one covariate a number or a list will do."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    def on_grid(self, axes: Sequence[Floats]) -> Floats:
        """Mean response at all combinations of values of the covariates, one axis each.

        Parameters
        ----------
        axes
            Values of each covariate.
        """
        return self.predict(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))

    def interval(self, x: npt.ArrayLike, *, level: float = 0.95) -> tuple[Any, Any]:
        """Pointwise confidence intervals of the mean response at x: two floats, or arrays.

        They always hold the estimate: where it was kept away from dividing by nearly nothing, or
        shrunk, they reach from there to where the band ends.
        """
        level = _checks.level(level)
        if self.band is None:
            raise forms.without_intervals(self.facts)
        low, high = asked(self.band.interval, x, len(self.low), level)
        estimate = self.predict(x)
        return ends(np.minimum(low, estimate), np.maximum(high, estimate))

    def plot(
        self,
        ax: Any = None,
        *,
        level: float | None = 0.95,
        label: str = "estimate",
        color: str | None = None,
    ) -> RegressionDisplay:
        """Draw the curve, its band and the corrected baseline.

        For two covariates it is a map, and for three a map of the first two at three values of the
        third.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold other curves already; by default new ones. Three
            covariates take none.
        level
            Confidence level; None for the curve without its band.
        label
            Name in the legend.
        color
            By default the next one of the axes' cycle.
        """
        axes = [np.linspace(a, b, PLOT_POINTS) for a, b in zip(self.low, self.high, strict=True)]
        if len(axes) > 3:
            raise Unsupported(f"A picture shows up to three covariates, not {len(axes)}.")
        if len(axes) == 3:
            axes[2] = self.low[2] + np.array(SLICES) * (self.high[2] - self.low[2])
        if len(axes) == 1:
            x = axes[0]
            band = None if level is None or self.band is None else self.interval(x, level=level)
            line = None if self.baseline is None else self.baseline.predict(x)
            drawn = RegressionDisplay((x,), self.predict(x), self.names, band, level, line)
            return drawn.plot(ax, label=label, color=color)
        return RegressionDisplay(tuple(axes), self.on_grid(axes), self.names).plot(ax)

    def to_frame(self, x: npt.ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """The curve at some places with its intervals, as a table of pandas.

        Parameters
        ----------
        x
            Places, one row a point; by default 21 along the range of a single covariate.
        level
            Confidence level. Intervals that the curve does not have are missing.

        Returns
        -------
        pandas.DataFrame
            With a column for each covariate (``x`` where it has no name), and ``estimate``,
            ``low`` and ``high``.
        """
        if x is None:
            if len(self.low) > 1:
                raise InvalidInput(
                    "places for a curve of several covariates",
                    "none",
                    f"Give to_frame a list of places, each with {len(self.low)} numbers.",
                )
            x = np.linspace(self.low[0], self.high[0], FRAME_POINTS)
        places = points(x, len(self.low)).reshape(-1, len(self.low))
        columns = [name or "x" for name in self.names]
        return self._frame(columns, places.tolist(), places, level)

    def _frame(
        self, columns: list[str], names: list[list[Any]], x: npt.ArrayLike, level: float
    ) -> Any:
        values = np.asarray(self.predict(x))
        low = high = np.full(values.shape, np.nan)
        if self.band is not None:
            low, high = self.interval(x, level=level)
        rows = zip(names, values, low, high, strict=True)
        return frame(
            [
                dict(zip((*columns, *ENDS), (*name, *map(float, found)), strict=True))
                for name, *found in rows
            ]
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {forms.described(self.facts)}>"

    def _repr_html_(self) -> str:
        """A small picture, the curve at a few places and what it cost, for notebooks."""
        where = ", ".join(name or "x" for name in self.names)
        about = {"cost": forms.cost(self.facts), "facts": forms.how(self.facts)}
        return card(f"Mean response given {where}", self._picture(), self._numbers(), **about)

    def _picture(self) -> Html:
        """A small picture; none of three covariates."""
        if len(self.low) == 1:
            x = np.linspace(self.low[0], self.high[0], CARD_POINTS)
            band = None if self.band is None else self.interval(x, level=LEVEL)
            return curve(x, self.predict(x), band=band, told="regression")
        if len(self.low) > 2:
            return Html()
        sides = [np.linspace(a, b, 24) for a, b in zip(self.low, self.high, strict=True)]
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
        return shades(self.predict(grid), told="regression")

    def _numbers(self) -> Html:
        """The curve at a few places with its intervals; none for several covariates."""
        if len(self.low) > 1:
            return Html()
        x = np.linspace(self.low[0], self.high[0], 5)
        names = [f"at {number(place)}" for place in x]
        return self._estimates(names, x)

    def _estimates(self, names: list[str], x: npt.ArrayLike) -> Html:
        values = np.asarray(self.predict(x)).tolist()
        pairs: Any = [None] * len(names)
        if self.band is not None:
            pairs = zip(
                *(np.asarray(end).tolist() for end in self.interval(x, level=LEVEL)), strict=True
            )
        return estimates(list(zip(names, values, pairs, strict=True)), level=LEVEL)


@dataclass(frozen=True, eq=False, repr=False)
class CellRegression(Regression):
    """A regression curve known on cells, in one to three dimensions.

    Parameters
    ----------
    edges
        Cell edges, one ascending array a covariate.
    values
        Mean response in each cell, one axis a covariate.
    names, facts, band, baseline
        As for `Regression`.
    joined
        Whether values are joined by straight lines between cell centers, or constant in a cell.
    outside
        Response outside the cells; None for that of the nearest cell.

    Examples
    --------
    >>> curve = CellRegression((np.array([0.0, 1.0, 2.0]),), np.array([1.0, 3.0]))
    >>> curve.predict([0.5, 1.0, 5.0])
    array([1., 2., 3.])
    """

    edges: tuple[Floats, ...]
    values: Floats
    _: KW_ONLY
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None
    baseline: Regression | None = None
    joined: bool = True
    outside: float | None = None

    @cached_property
    def low(self) -> tuple[float, ...]:  # type: ignore[override]
        """Lowest edge of each covariate."""
        return tuple(float(edge[0]) for edge in self.edges)

    @cached_property
    def high(self) -> tuple[float, ...]:  # type: ignore[override]
        """Highest edge of each covariate."""
        return tuple(float(edge[-1]) for edge in self.edges)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response at x."""
        d = self.values.ndim
        places = points(x, d)
        cells, parts = [], []
        inside = np.ones(places.shape[:-1], dtype=bool)
        for axis, edges in enumerate(self.edges):
            column = places[..., axis]
            inside &= (column >= edges[0]) & (column <= edges[-1])
            if self.joined and edges.size > 2:
                knots = (edges[:-1] + edges[1:]) / 2
                column = np.clip(column, knots[0], knots[-1])
                cell = np.clip(np.searchsorted(knots, column, side="right") - 1, 0, knots.size - 2)
                parts.append((column - knots[cell]) / (knots[cell + 1] - knots[cell]))
            else:
                cell = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, edges.size - 2)
                parts.append(np.zeros(column.shape))
            cells.append(cell)
        result = np.zeros(places.shape[:-1])
        if not self.joined:
            result = self.values[tuple(cells)].astype(np.float64)
        for corner in np.ndindex(*(2,) * d) if self.joined else ():
            weight = np.ones(places.shape[:-1])
            for step, part in zip(corner, parts, strict=True):
                weight = weight * (part if step else 1 - part)
            last = [size - 1 for size in self.values.shape]
            at = tuple(
                np.minimum(cell + step, end)
                for cell, step, end in zip(cells, corner, last, strict=True)
            )
            result += np.where(weight > 0, weight * self.values[at], 0.0)
        if self.outside is not None:
            result = np.where(inside, result, self.outside)
        return result[()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "cell-regression",
            "names": list(self.names),
            "edges": [edge.tolist() for edge in self.edges],
            "values": self.values.tolist(),
            "joined": self.joined,
            "outside": self.outside,
            "facts": dict(self.facts),
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the band."""
        keys = ("names", "edges", "values", "joined", "outside", "facts", "baseline")
        checked = forms.keyed(fields, "cell-regression", keys)
        edges = forms.edges(checked)
        return cls(
            edges,
            forms.numbers(checked, "values", tuple(edge.size - 1 for edge in edges)),
            names=forms.names(checked, len(edges)),
            facts=dict(checked["facts"]),
            baseline=regression_or_none(checked, "baseline"),
            joined=forms.flag(checked, "joined"),
            outside=None if checked["outside"] is None else forms.finite(checked, "outside"),
        )


def regression_or_none(fields: Mapping[str, Any], key: str) -> Regression | None:
    """A regression curve inside the JSON of another curve, or None where there is none."""
    inside = fields[key]
    if inside is None:
        return None
    kind = REGRESSIONS.get(str(inside.get("curve"))) if isinstance(inside, Mapping) else None
    if kind is None:
        raise InvalidInput(
            f"a regression curve as the {key} of a {fields['curve']}", "another value"
        )
    found: Regression = kind.from_dict(inside)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Classification:
    """Predicts the more likely of two classes, given private numbers.

    Parameters
    ----------
    score
        The curve that decides: the second class where it is above the threshold.
    labels
        The two classes.
    threshold
        Where the score changes sides.
    chance
        The probability of the second class, where the score is not that itself; None where the
        score is the probability if its threshold is one half, and none is known otherwise.

    Examples
    --------
    >>> score = CellRegression((np.array([0.0, 1.0, 2.0]),), np.array([0.2, 0.9]), joined=False)
    >>> Classification(score, labels=("no", "yes")).predict([0.5, 1.5]).tolist()
    ['no', 'yes']
    """

    score: Regression
    _: KW_ONLY
    labels: tuple[Any, Any] = (0, 1)
    threshold: float = 0.5
    chance: Regression | None = None

    def predict(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """The more likely class at x."""
        second = np.asarray(self.score.predict(x)) > self.threshold
        labels: npt.NDArray[Any] = np.asarray(self.labels)[second.astype(int)]
        return labels

    def probability(self, x: npt.ArrayLike) -> Floats:
        """Probability of the second class at x: above one half where that class is predicted."""
        if self.chance is None and self.threshold != 0.5:
            raise Unsupported(
                "This score is no probability: take a Partition with classify=True, or one feature."
            )
        chances: Floats = np.clip((self.chance or self.score).predict(x), 0.0, 1.0)
        return chances

    @property
    def facts(self) -> Mapping[str, Any]:
        """How the result was obtained: method, settings and privacy cost."""
        return self.score.facts

    def plot(
        self,
        ax: Any = None,
        *,
        level: float | None = 0.95,
        label: str = "estimate",
        color: str | None = None,
    ) -> RegressionDisplay:
        """Draw the score and the threshold that decides; see `Regression.plot`."""
        display = self.score.plot(ax, level=level, label=label, color=color)
        probable = self.chance is None and self.threshold == 0.5
        words = f"probability of {self.labels[1]}" if probable else f"score of {self.labels[1]}"
        display.name_response(words, self.threshold, is_share=probable)
        return display

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "classification",
            "labels": list(self.labels),
            "threshold": self.threshold,
            "score": self.score.to_dict(),
            "chance": None if self.chance is None else self.chance.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the bands."""
        checked = forms.keyed(fields, "classification", ("labels", "threshold", "score", "chance"))
        labels, score = checked["labels"], regression_or_none(checked, "score")
        if not isinstance(labels, list) or len(labels) != 2 or score is None:
            raise InvalidInput(
                "two labels and a score in a classification", "a document without them"
            )
        if not all(isinstance(label, (str, int, float)) for label in labels):
            raise InvalidInput("labels that are words or numbers", "a label of another type")
        return cls(
            score,
            labels=(labels[0], labels[1]),
            threshold=forms.finite(checked, "threshold"),
            chance=regression_or_none(checked, "chance"),
        )

    def __repr__(self) -> str:
        return f"<Classification into {self.labels[0]!r} and {self.labels[1]!r} by {self.score!r}>"

    def _repr_html_(self) -> str:
        """A small picture of the score, its numbers and what it cost, for notebooks."""
        first, second = map(str, self.labels)
        rule = f"{second} where the score is above {number(self.threshold)}, otherwise {first}."
        about = {"cost": forms.cost(self.facts), "facts": f"{rule} {forms.how(self.facts)}"}
        parts = (self.score._picture(), self.score._numbers())
        return card(f"Classification into {first} and {second}", *parts, **about)

    def to_frame(self, x: npt.ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """The score at some places with its intervals, and the class; see `Regression.to_frame`."""
        found = self.score.to_frame(x, level=level)
        found["class"] = [self.labels[int(above)] for above in found["estimate"] > self.threshold]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Straight(Regression):
    """A curve that depends on intercept + slope x alone.

    Parameters
    ----------
    intercept
        Linear predictor at x = 0.
    slope
        Change of the linear predictor for one unit of each covariate.
    covariance
        Returns the covariance of intercept and slopes; asked once, when first needed.
    low, high, names, facts
        As for `Regression`.
    """

    intercept: float
    slope: tuple[float, ...]
    covariance: Callable[[], Floats]
    _: KW_ONLY
    low: tuple[float, ...]
    high: tuple[float, ...]
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    baseline: Regression | None = field(default=None, init=False)

    @staticmethod
    @abstractmethod
    def response(predictor: Floats) -> Floats:
        """Mean response for a linear predictor."""

    @property
    def band(self) -> Band:  # type: ignore[override]
        """Answers `interval`."""
        return _DeltaBand(self)

    @cached_property
    def matrix(self) -> Floats:
        """Covariance of intercept and slopes."""
        return self.covariance()

    @property
    def intercept_error(self) -> float:
        """Standard error of the intercept."""
        return float(np.sqrt(self.matrix[0, 0]))

    @property
    def slope_error(self) -> tuple[float, ...]:
        """Standard error of each slope."""
        return tuple(np.sqrt(np.diag(self.matrix)[1:]).tolist())

    def coefficients(self, *, level: float = 0.95) -> Any:
        """The intercept and the slopes with their errors, as a table of pandas.

        Parameters
        ----------
        level
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            With the columns ``term``, ``estimate``, ``error`` (the standard error), ``low`` and
            ``high``.
        """
        terms = self._terms(_checks.level(level))
        errors = (self.intercept_error, *self.slope_error)
        return frame(
            [
                {"term": name, "estimate": value, "error": error, "low": low, "high": high}
                for (name, value, (low, high)), error in zip(terms, errors, strict=True)
            ]
        )

    def _terms(self, level: float) -> list[tuple[str, float, tuple[float, float]]]:
        from scipy import special

        values = (self.intercept, *self.slope)
        halves = special.ndtri((1 + level) / 2) * np.sqrt(np.diag(self.matrix))
        names = ("intercept", *(name or "x" for name in self.names))
        return [
            (name, float(value), (float(value - half), float(value + half)))
            for name, value, half in zip(names, values, halves, strict=True)
        ]

    def __repr__(self) -> str:
        slopes = zip(self.names, self.slope, strict=True)
        terms = [number(self.intercept), *(f"{number(b)} {name or 'x'}" for name, b in slopes)]
        what = " + ".join(terms).replace("+ -", "- ")
        return f"<{type(self).__name__} {what}, {forms.described(self.facts)}>"

    def _numbers(self) -> Html:
        """A curve of one covariate at a few places, and the coefficients."""
        told = [
            (name if at == 0 else f"slope of {name}", value, ends)
            for at, (name, value, ends) in enumerate(self._terms(LEVEL))
        ]
        return Html(super()._numbers() + estimates(told, level=LEVEL))

    def design(self, x: npt.ArrayLike) -> Floats:
        """One and the covariates, along a new last axis."""
        places = points(x, len(self.slope))
        return np.concatenate([np.ones((*places.shape[:-1], 1)), places], axis=-1)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response at x."""
        return self.response(self.design(x) @ np.array([self.intercept, *self.slope]))[()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; with two covariates the slope and its error are lists."""
        one = len(self.slope) == 1
        errors = [forms.plain(error) for error in self.slope_error]
        return {
            "curve": type(self).__name__.lower(),
            "names": list(self.names),
            "intercept": self.intercept,
            "slope": self.slope[0] if one else list(self.slope),
            "intercept_error": forms.plain(self.intercept_error),
            "slope_error": errors[0] if one else errors,
            "covariance": self.matrix.tolist() if np.isfinite(self.matrix).all() else None,
            "low": list(self.low),
            "high": list(self.high),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, with the intervals: they need the covariance alone."""
        errors = ("intercept_error", "slope_error")
        keys = ("names", "intercept", "slope", *errors, "covariance", "low", "high", "facts")
        checked = forms.keyed(fields, cls.__name__.lower(), keys)
        slope = checked["slope"] if isinstance(checked["slope"], list) else [checked["slope"]]
        d = len(slope)
        matrix = np.full((d + 1, d + 1), np.inf)
        if checked["covariance"] is not None:
            matrix = forms.numbers(checked, "covariance", matrix.shape)
        slopes = forms.numbers({**checked, "slope": slope}, "slope", (d,))
        return cls(
            forms.finite(checked, "intercept"),
            tuple(slopes.tolist()),
            partial(np.asarray, matrix),
            low=tuple(forms.numbers(checked, "low", (d,)).tolist()),
            high=tuple(forms.numbers(checked, "high", (d,)).tolist()),
            names=forms.names(checked, d),
            facts=dict(checked["facts"]),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Line(Straight):
    """Mean response = intercept + slope x.

    Examples
    --------
    >>> line = Line(1.0, (2.0,), lambda: np.diag([0.01, 0.0]), low=(0.0,), high=(1.0,))
    >>> line.predict([0.0, 0.5])
    array([1., 2.])
    >>> low, high = line.interval([0.5])
    >>> print(np.round(high - low, 3))
    [0.392]
    """

    @staticmethod
    def response(predictor: Floats) -> Floats:
        """The predictor itself."""
        return predictor


@dataclass(frozen=True, eq=False, repr=False)
class Logistic(Straight):
    """Probability of a 1 = 1/(1 + e**-(intercept + slope x)).

    Examples
    --------
    >>> curve = Logistic(0.0, (2.0,), lambda: np.zeros((2, 2)), low=(0.0,), high=(1.0,))
    >>> curve.predict([0.0, 1.0]).round(3)
    array([0.5  , 0.881])
    """

    @staticmethod
    def response(predictor: Floats) -> Floats:
        """The logistic function."""
        from scipy import special

        result: Floats = special.expit(predictor)
        return result


@dataclass(frozen=True, eq=False)
class _DeltaBand:
    """Normal intervals of the linear predictor, mapped to the response."""

    curve: Straight

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        from scipy import special

        design = self.curve.design(x)
        middle = design @ np.array([self.curve.intercept, *self.curve.slope])
        matrix, variance = self.curve.matrix, np.full(middle.shape, np.inf)
        if np.isfinite(matrix).all():
            variance = np.einsum("...j,jk,...k->...", design, matrix, design)
        half = special.ndtri((1 + level) / 2) * np.sqrt(np.maximum(variance, 0))
        return self.curve.response(middle - half), self.curve.response(middle + half)


@dataclass(frozen=True, eq=False, repr=False)
class CategoryMeans(Regression):
    """Mean response in each category of a private answer.

    Parameters
    ----------
    categories
        The possible answers.
    values
        Mean response in each.
    names, facts, band
        As for `Regression`; the band goes by the categories' numbers.

    Examples
    --------
    >>> curve = CategoryMeans(Categories(("no", "yes")), np.array([1.0, 3.0]))
    >>> curve.predict(["yes", "no", "yes"])
    array([3., 1., 3.])
    """

    categories: Categories
    values: Floats
    _: KW_ONLY
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None
    baseline: Regression | None = None

    @property
    def low(self) -> tuple[float, ...]:  # type: ignore[override]
        """Number of the first category."""
        return (0.0,)

    @property
    def high(self) -> tuple[float, ...]:  # type: ignore[override]
        """Number of the last category."""
        return (self.categories.size - 1.0,)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response in categories given by their labels."""
        return self.values[self.categories.index(x)]

    def interval(self, x: npt.ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
        """Confidence intervals of the mean response in categories given by their labels."""
        level = _checks.level(level)
        if self.band is None:
            raise forms.without_intervals(self.facts)
        return self.band.interval(self.categories.index(x).astype(np.float64), level)

    def plot(
        self,
        ax: Any = None,
        *,
        level: float | None = 0.95,
        label: str = "estimate",
        color: str | None = None,
    ) -> RegressionDisplay:
        """Draw the means and their band over the categories; see `Regression.plot`."""
        labels = list(self.categories.labels)
        band = None if level is None or self.band is None else self.interval(labels, level=level)
        numbers = np.arange(len(labels), dtype=np.float64)
        display = RegressionDisplay((numbers,), self.values, self.names, band, level)
        display.plot(ax, label=label, color=color)
        display.ax_.set_xticks(numbers, labels)
        return display

    def to_frame(self, x: npt.ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """The mean of each category with its interval, as a table of pandas.

        Parameters
        ----------
        x
            Some of the categories; by default all.
        level
            Confidence level. Intervals that the curve does not have are missing.
        """
        labels = list(self.categories.labels) if x is None else np.asarray(x).tolist()
        return self._frame([self.names[0] or "category"], [[one] for one in labels], labels, level)

    def _picture(self) -> Html:
        labels = list(self.categories.labels)
        ends = None if self.band is None else self.interval(labels, level=LEVEL)
        return bars(self.values.tolist(), labels, ends=ends, told="means")

    def _numbers(self) -> Html:
        labels = list(self.categories.labels)
        return self._estimates(labels, labels)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "category-means",
            "names": list(self.names),
            "categories": list(self.categories.labels),
            "values": self.values.tolist(),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the band."""
        keys = ("names", "categories", "values", "facts")
        checked = forms.keyed(fields, "category-means", keys)
        values = checked["values"]
        count = len(values) if isinstance(values, list) else 0
        return cls(
            Categories(forms.words(checked, "categories", count)),
            forms.numbers(checked, "values", (count,)),
            names=forms.names(checked, 1),
            facts=dict(checked["facts"]),
        )


CHUNK = 2**22
"""Waves times points held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class WaveRegression(Regression):
    """The deconvolution estimate of a regression itself: one sum of waves over another.

    Parameters
    ----------
    frequencies
        One row a wave, one column a covariate; in radians per unit of the values.
    density, product
        Coefficients of the two sums, a row of cosines and one of sines each: the density of the
        values, and density times mean response less `center`.
    low, high
        Bounds of the covariates, between which the curve is drawn.
    floor
        Least density to divide by.
    center
        Response that was taken off first, and that the curve falls back to at the floor.
    bounds
        Responses that the curve is cut to, or None.
    reach
        How far outside the bounds the sums are still the estimate; beyond, that of the nearest
        point within.
    names, facts, band, baseline
        As for `Regression`.

    Examples
    --------
    >>> flat = np.array([[1.0], [0.0]])
    >>> waves = {"low": (0.0,), "high": (1.0,), "floor": 0.1, "bounds": None}
    >>> curve = WaveRegression(np.zeros((1, 1)), flat, 3 * flat, **waves)
    >>> curve.predict([0.2, 0.8])
    array([3., 3.])
    """

    frequencies: Floats
    density: Floats
    product: Floats
    _: KW_ONLY
    low: tuple[float, ...]
    high: tuple[float, ...]
    floor: float
    center: float = 0.0
    bounds: tuple[float, float] | None
    reach: tuple[float, ...] = (0.0,)
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None
    baseline: Regression | None = None

    def sums(self, x: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The two sums at x: density, and density times response less `center`."""
        d = self.frequencies.shape[1]
        reach = np.array(self.reach)
        places = np.clip(points(x, d), self.low - reach, self.high + reach)
        flat = places.reshape(-1, d)
        result = np.empty((2, len(flat)))
        step = max(1, CHUNK // len(self.frequencies))
        for start in range(0, len(flat), step):
            phase = flat[start : start + step] @ self.frequencies.T
            both = np.stack([self.density, self.product])
            part = both[:, 0] @ np.cos(phase).T + both[:, 1] @ np.sin(phase).T
            result[:, start : start + step] = part
        shape = places.shape[:-1]
        return result[0].reshape(shape), result[1].reshape(shape)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response at x."""
        density, product = self.sums(x)
        response: Floats = self.center + product / np.maximum(density, self.floor)
        if self.bounds is not None:
            response = np.clip(response, *self.bounds)
        return response[()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "wave-regression",
            "names": list(self.names),
            "frequencies": self.frequencies.tolist(),
            "density": self.density.tolist(),
            "product": self.product.tolist(),
            "low": list(self.low),
            "high": list(self.high),
            "floor": self.floor,
            "center": self.center,
            "bounds": None if self.bounds is None else list(self.bounds),
            "reach": list(self.reach),
            "facts": dict(self.facts),
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the band."""
        keys = ("names", "frequencies", "density", "product", "low", "high", "floor", "center")
        more = ("bounds", "reach", "facts", "baseline")
        checked = forms.keyed(fields, "wave-regression", (*keys, *more))
        waves, d = size(checked, "frequencies"), size(checked, "low")
        bounds = checked["bounds"]
        if bounds is not None:
            low, high = forms.numbers(checked, "bounds", (2,)).tolist()
            bounds = (low, high)
        return cls(
            forms.numbers(checked, "frequencies", (waves, d)),
            forms.numbers(checked, "density", (2, waves)),
            forms.numbers(checked, "product", (2, waves)),
            low=tuple(forms.numbers(checked, "low", (d,)).tolist()),
            high=tuple(forms.numbers(checked, "high", (d,)).tolist()),
            floor=forms.finite(checked, "floor"),
            center=forms.finite(checked, "center"),
            bounds=bounds,
            reach=tuple(forms.numbers(checked, "reach", (d,)).tolist()),
            names=forms.names(checked, d),
            facts=dict(checked["facts"]),
            baseline=regression_or_none(checked, "baseline"),
        )


def chebyshev(low: float, high: float, size: int) -> Floats:
    """Chebyshev nodes from low to high, both included, in ascending order.

    Examples
    --------
    >>> chebyshev(0.0, 2.0, 3)
    array([0., 1., 2.])
    """
    angles = np.pi * np.arange(size - 1, -1, -1) / (size - 1)
    return (low + high) / 2 + (high - low) / 2 * np.cos(angles)


def _barycentric(nodes: Floats, x: Floats) -> Floats:
    """Weights of the nodes' values in the interpolating polynomial, one row an x."""
    signs = np.where(np.arange(nodes.size) % 2, -1.0, 1.0)
    signs[[0, -1]] /= 2
    away = np.subtract.outer(x, nodes)
    hits = away == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = signs / away
        weights: Floats = terms / terms.sum(axis=1, keepdims=True)
    on_node = hits.any(axis=1)
    weights[on_node] = hits[on_node]
    return weights


@dataclass(frozen=True, eq=False, repr=False)
class NodeRegression(Regression):
    """The deconvolution estimate of a regression on several covariates: a ratio of two sums.

    Both sums are known at Chebyshev nodes, as many as determine them in between.

    Parameters
    ----------
    density, product
        The sums at all combinations of nodes, one axis a covariate: the density of the values, and
        density times mean response less `center`.
    low, high
        Bounds of the covariates: the first and last node of each. Beyond, the curve is that of the
        nearest point within.
    floor
        Least density to divide by.
    center
        Response that was taken off first, and that the curve falls back to at the floor.
    bounds
        Responses that the curve is cut to, or None.
    names, facts, band, baseline
        As for `Regression`.

    Examples
    --------
    >>> one = np.ones((2, 2))
    >>> box = {"low": (0.0, 0.0), "high": (1.0, 1.0), "floor": 0.1, "bounds": None}
    >>> surface = NodeRegression(one, np.array([[0.0, 1.0], [2.0, 3.0]]), **box)
    >>> surface.predict([[0.5, 0.0], [0.5, 0.5]])
    array([1. , 1.5])
    """

    density: Floats
    product: Floats
    _: KW_ONLY
    low: tuple[float, ...]
    high: tuple[float, ...]
    floor: float
    center: float = 0.0
    bounds: tuple[float, float] | None
    names: tuple[str, ...] = ("x", "y")
    facts: Mapping[str, Any] = field(default_factory=dict)
    band: Band | None = None
    baseline: Regression | None = None

    def sums(self, x: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The two sums at x: density, and density times response less `center`."""
        d = len(self.low)
        places = np.clip(points(x, d), self.low, self.high)
        flat = places.reshape(-1, d)
        both = np.stack([self.density, self.product])
        sides = [
            chebyshev(a, b, size)
            for a, b, size in zip(self.low, self.high, self.density.shape, strict=True)
        ]
        result = np.empty((2, len(flat)))
        step = max(1, CHUNK * both.shape[-1] // both.size)
        for start in range(0, len(flat), step):
            part = flat[start : start + step]
            found = both @ _barycentric(sides[-1], part[:, -1]).T
            for axis in range(d - 2, -1, -1):
                weights = _barycentric(sides[axis], part[:, axis])
                found = np.einsum("...kp,pk->...p", found, weights)
            result[:, start : start + step] = found
        shape = places.shape[:-1]
        return result[0].reshape(shape), result[1].reshape(shape)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Mean response at x."""
        return self._ratio(*self.sums(x))

    def grid_sums(self, axes: Sequence[Floats]) -> Floats:
        """Both sums at all combinations of values of the covariates, one axis at a time."""
        found = np.stack([self.density, self.product])
        ends = zip(axes, self.low, self.high, self.density.shape, strict=True)
        for at, (x, low, high, count) in enumerate(ends, start=1):
            weights = _barycentric(chebyshev(low, high, count), np.clip(x, low, high))
            found = np.moveaxis(np.tensordot(weights, found, axes=(1, at)), 0, at)
        return found

    def on_grid(self, axes: Sequence[Floats]) -> Floats:
        """Mean response at all combinations of values of the covariates, one axis each."""
        density, product = self.grid_sums(axes)
        return self._ratio(density, product)

    def _ratio(self, density: Floats, product: Floats) -> Floats:
        response: Floats = self.center + product / np.maximum(density, self.floor)
        if self.bounds is not None:
            response = np.clip(response, *self.bounds)
        return response[()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "node-regression",
            "names": list(self.names),
            "density": self.density.tolist(),
            "product": self.product.tolist(),
            "low": list(self.low),
            "high": list(self.high),
            "floor": self.floor,
            "center": self.center,
            "bounds": None if self.bounds is None else list(self.bounds),
            "facts": dict(self.facts),
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the band."""
        keys = ("names", "density", "product", "low", "high", "floor", "center", "bounds")
        checked = forms.keyed(fields, "node-regression", (*keys, "facts", "baseline"))
        d = size(checked, "low")
        bounds = checked["bounds"]
        if bounds is not None:
            low, high = forms.numbers(checked, "bounds", (2,)).tolist()
            bounds = (low, high)
        shape = _checks.array(density=checked["density"]).shape
        if len(shape) != d or min(shape) < 2:
            raise InvalidInput(f"two or more nodes for each of {d} covariates", f"shape {shape}")
        return cls(
            forms.numbers(checked, "density", shape),
            forms.numbers(checked, "product", shape),
            low=tuple(forms.numbers(checked, "low", (d,)).tolist()),
            high=tuple(forms.numbers(checked, "high", (d,)).tolist()),
            floor=forms.finite(checked, "floor"),
            center=forms.finite(checked, "center"),
            bounds=bounds,
            names=forms.names(checked, d),
            facts=dict(checked["facts"]),
            baseline=regression_or_none(checked, "baseline"),
        )


REGRESSIONS: dict[str, Any] = {
    "category-means": CategoryMeans,
    "cell-regression": CellRegression,
    "line": Line,
    "logistic": Logistic,
    "node-regression": NodeRegression,
    "wave-regression": WaveRegression,
}
"""The class of each kind of regression curve in JSON."""
