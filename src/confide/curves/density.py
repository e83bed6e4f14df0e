"""What every density can do, and what it asks of the estimator that made it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from confide import _validate
from confide.displays import DensityDisplay, sketch
from confide.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from confide.curves.cells import CellDensity

Floats = npt.NDArray[np.float64]
Bounds = tuple[npt.ArrayLike, npt.ArrayLike]


class Intervals(Protocol):
    """What an estimator hands to its density, so that the density need not know the reports.

    Each method returns the lower and upper ends of intervals with the given confidence level, and
    raises `Unsupported` where the estimator has none.
    """

    def mean(self, level: float) -> Bounds:
        """Interval of the mean."""

    def cdf(self, x: npt.ArrayLike, level: float) -> Bounds:
        """Interval of the share of values up to x."""

    def quantile(self, q: npt.ArrayLike, level: float) -> Bounds:
        """Interval of the value below which a share q lies."""

    def pdf(self, x: npt.ArrayLike, level: float) -> Bounds:
        """Interval of the density at x."""


class JointIntervals(Protocol):
    """The same for a joint density, whose columns have intervals one by one."""

    def marginal(self, name: str) -> Intervals:
        """Intervals of one column."""


class Density(ABC):
    """The distribution of a number (or of two or three) in the population.

    Attributes
    ----------
    names
        Names of the columns; ``("",)`` for a single number.
    facts
        How it came about: method, n, epsilon, smoothing or bandwidth.
    """

    names: tuple[str, ...]
    facts: Mapping[str, Any]
    intervals: Intervals | JointIntervals | None

    @property
    @abstractmethod
    def cells(self) -> CellDensity:
        """The same distribution as a non-negative histogram."""

    @abstractmethod
    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at x: one row a point; for one column a number or a list will do."""

    @abstractmethod
    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(value <= x), in every column."""

    @abstractmethod
    def mean(self) -> Any:
        """Mean: a float, or one float a column."""

    @abstractmethod
    def std(self) -> Any:
        """Standard deviation: a float, or one float a column."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    @property
    def bandwidth(self) -> Any:
        """The bandwidth that was used, where the method has one."""
        return self.facts.get("bandwidth")

    @property
    def smoothing(self) -> Any:
        """The smoothing that was used, where the method has one."""
        return self.facts.get("smoothing")

    def quantile(self, q: npt.ArrayLike) -> Any:
        """The value below which a share q of the population lies."""
        shares = np.asarray(q, dtype=np.float64)
        if not np.all((shares >= 0) & (shares <= 1)):
            raise InvalidInput("0 <= q <= 1", f"q={_validate.shown(q)}")
        edges, cumulative = self.cells._line()
        # Empty cells drop out: at 0 the last edge with nothing below it, at 1 the first with all.
        rising = np.diff(cumulative) > 0
        keep = np.append(rising, False) | np.append(False, rising)
        result = np.interp(shares, cumulative[keep], edges[keep])
        return float(result) if shares.ndim == 0 else result

    def interval(
        self, what: str, at: npt.ArrayLike | None = None, *, level: float = 0.95
    ) -> tuple[Any, Any]:
        """A confidence interval for a quantity of the population.

        Parameters
        ----------
        what
            ``"mean"``, ``"cdf"`` (at a value), ``"quantile"`` (at a share) or ``"pdf"`` (at a
            value, where the estimator has a band for it).
        at
            Where; not for the mean.
        level
            Confidence level.

        Returns
        -------
        tuple
            Lower and upper end: two floats, or arrays where ``at`` is one.
        """
        if what == "median":
            raise InvalidInput("a known what", "what='median'", 'Ask for "quantile" at 0.5.')
        what = _validate.one_of(("mean", "cdf", "quantile", "pdf"), what=what)
        level = _validate.level(level)
        if self.intervals is None:
            raise Unsupported("This density came without the reports' noise: it has no intervals.")
        if not hasattr(self.intervals, what):
            raise Unsupported(f"A joint density has no single {what}: take marginal(name) first.")
        if what == "mean":
            return ends(*getattr(self.intervals, what)(level))
        if at is None:
            raise InvalidInput(f"a place for the interval of the {what}", "none", "Give at=.")
        places = np.asarray(at, dtype=np.float64)
        interval = getattr(self.intervals, what)
        if what == "quantile":
            low, high = interval(places, level)
        else:
            low, high = asked(interval, at, len(self.names), level)
        if what == "pdf":
            return ends(low, high)
        # The interval knows no smoothing and the estimate does: it holds the estimate in any case.
        estimate = getattr(self, what)(places)
        return ends(np.minimum(low, estimate), np.maximum(high, estimate))

    def sample(self, n: int, *, seed: int | None = None) -> Floats:
        """Synthetic values from the estimated distribution; they cost no further privacy."""
        n = _validate.integer(1, n=n)
        return self.cells._draw(n, np.random.default_rng(seed))

    def plot(self, ax: Any = None, *, level: float | None = 0.95) -> DensityDisplay:
        """Draw the density, with the interval of its median and, where there is one, its band."""
        return self.cells._display(self, level).plot(ax)

    def __repr__(self) -> str:
        facts = ", ".join(f"{key}={short(value)}" for key, value in self.facts.items())
        return f"<{type(self).__name__} {facts}>"

    def _repr_html_(self) -> str:
        """A small picture and the facts, for notebooks."""
        cells = self.cells
        picture = sketch(cells.masses / np.diff(cells.edges[0])) if cells.masses.ndim == 1 else ""
        return f"<div>{picture}<br><code>{_escape(repr(self))}</code></div>"


def keyed(fields: Any, curve: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """The fields of a curve's JSON form, all there and none besides."""
    if not isinstance(fields, Mapping) or fields.get("curve") != curve:
        raise InvalidInput(f"a {curve} as a JSON object", "something else")
    _validate.known_keys(fields, ("curve", *keys), f"a {curve}")
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} in a {curve}", "none")
    return fields


def points(x: npt.ArrayLike, columns: int) -> Floats:
    """Places where a curve is asked, with their coordinates along the last axis.

    One rule for all curves: x has one row a point, with a number for each column, and the answer
    has one number a point. For a curve of one column a number or a list of numbers will do.

    Examples
    --------
    >>> points([0.5, 0.7], 1).shape, points([[0.5], [0.7]], 1).shape
    ((2, 1), (2, 1))
    """
    places = np.asarray(x, dtype=np.float64)
    if columns == 1 and places.ndim < 2:
        return places[..., None]
    if places.shape[-1:] != (columns,):
        wanted = f"points of {columns} column{'s' if columns > 1 else ''}"
        raise InvalidInput(wanted, f"shape {places.shape}")
    return places


def asked(
    interval: Callable[[Floats, float], Any], x: npt.ArrayLike, columns: int, level: float
) -> tuple[Floats, Floats]:
    """Ends of intervals at places: bands take a list of them, numbers where there is one column."""
    places = points(x, columns)
    flat = places.reshape(-1, columns)
    low, high = interval(flat[:, 0] if columns == 1 else flat, level)
    shape = places.shape[:-1]
    return np.reshape(low, shape), np.reshape(high, shape)


def ends(low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of intervals: plain floats where there is one, which print as numbers do."""
    return low if np.ndim(low) else float(low), high if np.ndim(high) else float(high)


def short(value: Any) -> str:
    """A fact in print."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
