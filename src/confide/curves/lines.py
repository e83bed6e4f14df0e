"""Straight lines and logistic curves: the baselines of every regression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from confide.curves.density import points
from confide.curves.regression import Band, Floats, Regression


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
        return {
            "curve": type(self).__name__.lower(),
            "names": list(self.names),
            "intercept": self.intercept,
            "slope": self.slope[0] if one else list(self.slope),
            "intercept_error": self.intercept_error,
            "slope_error": self.slope_error[0] if one else list(self.slope_error),
            "low": list(self.low),
            "high": list(self.high),
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Line(Straight):
    """Mean response = intercept + slope x.

    Examples
    --------
    >>> line = Line(1.0, (2.0,), lambda: np.diag([0.01, 0.0]), (0.0,), (1.0,))
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
    >>> curve = Logistic(0.0, (2.0,), lambda: np.zeros((2, 2)), (0.0,), (1.0,))
    >>> curve.predict([0.0, 1.0]).round(3)
    array([0.5  , 0.881])
    """

    @staticmethod
    def response(predictor: Floats) -> Floats:
        """The logistic function."""
        result: Floats = special.expit(predictor)
        return result


@dataclass(frozen=True, eq=False)
class _DeltaBand:
    """Normal intervals of the linear predictor, mapped to the response."""

    curve: Straight

    def interval(self, x: Floats, level: float) -> tuple[Floats, Floats]:
        design = self.curve.design(x)
        middle = design @ np.array([self.curve.intercept, *self.curve.slope])
        matrix, variance = self.curve.matrix, np.full(middle.shape, np.inf)
        if np.isfinite(matrix).all():
            variance = np.einsum("...j,jk,...k->...", design, matrix, design)
        half = special.ndtri((1 + level) / 2) * np.sqrt(np.maximum(variance, 0))
        return self.curve.response(middle - half), self.curve.response(middle + half)
