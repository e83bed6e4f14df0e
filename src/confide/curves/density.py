"""Density curves of all kinds, and the interface of their intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import LEVEL, card, estimates, shades, steps
from confide._markup import Html, join
from confide._types import Floats
from confide.curves import forms
from confide.curves.forms import DECLINED, ENDS, frame, size
from confide.displays import BandDisplay, DensityDisplay
from confide.errors import InvalidInput, Unsupported
from confide.lattice import INTEGER, KINDS, NUMBER, POINTS

Bounds = tuple[npt.ArrayLike, npt.ArrayLike]


class Intervals(Protocol):
    """Intervals that an estimator gives to its density, which does not know the reports.

    Each method returns the lower and upper ends of intervals with the given confidence level, and
    raises `Unsupported` where the estimator has none. Where people may decline there is one more,
    ``declined(level)``.

    Examples
    --------
    >>> from confide import Counts, Lattice, SquareWave, density
    >>> mechanism = SquareWave(Lattice(low=0, high=1, size=32), epsilon=3.0)
    >>> found = density(Counts.of(mechanism.simulate(np.linspace(0, 1, 500), seed=1)))
    >>> low, high = found.intervals.mean(0.95)  # found.interval("mean") asks the same
    >>> bool(low < 0.5 < high)
    True
    """

    def mean(self, level: float) -> Bounds:
        """Interval of the mean."""

    def cdf(self, x: npt.ArrayLike, level: float) -> Bounds:
        """Interval of the share of values up to x."""

    def quantile(self, q: npt.ArrayLike, level: float) -> Bounds:
        """Interval of the value below which a share q lies."""

    def pdf(self, x: npt.ArrayLike, level: float) -> Bounds:
        """Interval of the density at x."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SimultaneousBand:
    """A band that holds the whole curve at once with its level.

    Parameters
    ----------
    what
        ``"pdf"``: mean densities over windows around x; ``"cdf"``: shares up to x.
    x
        Places, ascending. The ends of a cdf between two of them are the lower one of the first
        and the upper one of the second, since a cdf never falls.
    low, high
        Ends at the places.
    level
        Confidence level of the whole band.

    Examples
    --------
    >>> x = np.array([0.0, 1.0])
    >>> SimultaneousBand(what="cdf", x=x, low=x, high=x, level=0.95).level
    0.95
    """

    what: str
    x: Floats
    low: Floats
    high: Floats
    level: float

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> BandDisplay:
        """Draw the band.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold other bands already; by default new ones.
        label
            Name in the legend.
        color
            By default the next one of the axes' cycle.
        """
        display = BandDisplay(self.what, self.x, (self.low, self.high), self.level)
        return display.plot(ax, label=label, color=color)


class JointIntervals(Protocol):
    """Intervals of a joint density, one column at a time."""

    def marginal(self, name: str) -> Intervals:
        """Intervals of one column."""


class Density(ABC):
    """The distribution of a number (or of two or three) in the population.

    If people could decline, it is the distribution among those who did not.

    Attributes
    ----------
    names
        Names of the columns; ``("",)`` for a single number.
    facts
        How it was estimated: method, n, epsilon, smoothing or bandwidth.
    declined
        Share of the population that preferred not to say; None if that was not an answer.

    Examples
    --------
    >>> from confide import Counts, Lattice, SquareWave, density
    >>> mechanism = SquareWave(Lattice(low=0, high=1, size=32), epsilon=3.0)
    >>> found = density(Counts.of(mechanism.simulate(np.linspace(0, 1, 2000), seed=1)))
    >>> low, high = found.interval("mean")
    >>> isinstance(found, Density), bool(low < 0.5 < high)
    (True, True)
    """

    names: tuple[str, ...]
    facts: Mapping[str, Any]
    intervals: Intervals | JointIntervals | None
    declined: float | None = None

    @property
    @abstractmethod
    def cells(self) -> CellDensity:
        """The distribution as a non-negative histogram."""

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
            raise InvalidInput("0 <= q <= 1", f"q={_checks.shown(q)}")
        edges, cumulative = self.cells._line()
        # Empty cells drop out: at 0 the last edge with nothing below it, at 1 the first with all.
        rising = np.diff(cumulative) > 0
        keep = np.append(rising, False) | np.append(False, rising)
        result = np.interp(shares, cumulative[keep], edges[keep])
        if self.cells.whole:
            # The least whole number k with F(k) >= q; F(k) is reached halfway to the next one.
            least = np.ceil(edges[keep][0])
            result = np.maximum(np.ceil(result - 0.5 - CLOSE), least) + 0.0
        elif self.cells.kinds == (POINTS,):
            # The least point with F >= q and with people.
            held, sums = self.cells.at_points(0)[rising], cumulative[1:][rising]
            result = held[np.minimum(np.searchsorted(sums + CLOSE, shares), held.size - 1)]
        return float(result) if shares.ndim == 0 else result

    def median(self) -> float:
        """The value below which half of the population lies."""
        return float(self.quantile(0.5))

    def interval(
        self,
        what: str,
        at: npt.ArrayLike | None = None,
        *,
        level: float = 0.95,
        smooth: bool = False,
    ) -> tuple[Any, Any]:
        """A confidence interval for a quantity of the population.

        Parameters
        ----------
        what
            ``"mean"``, ``"median"``, ``"cdf"`` (at a value), ``"quantile"`` (at a share),
            ``"pdf"`` (at a value, where the estimator has a band for it) or ``"declined"``.
        at
            Where; not for the mean, the median and the share that declined.
        level
            Confidence level.
        smooth
            Whether to assume, for the cdf and quantiles, that nobody is at a round number more
            often than near it. Intervals are then shorter, and refused where the reports speak for
            such heaps. By default they allow for heaps that the noise may hide.

        Returns
        -------
        tuple
            Lower and upper end: two floats, or arrays where ``at`` is one. For a quantile of whole
            numbers they are the smallest and the largest possible one.
        """
        known = ("mean", "median", "cdf", "quantile", "pdf", DECLINED)
        what = _checks.one_of(known, what=what)
        level = _checks.level(level)
        if what in ("mean", "median", DECLINED) and at is not None:
            raise InvalidInput(f"no place for the {what}", _checks.shown(at))
        if what == "median":
            return self.interval("quantile", 0.5, level=level, smooth=smooth)
        if what == DECLINED and self.declined is None:
            raise forms.not_offered()
        if self.intervals is None:
            raise forms.without_intervals(self.facts)
        if not hasattr(self.intervals, what):
            raise Unsupported(f"A joint density has no single {what}: take marginal(name) first.")
        if what == DECLINED:
            return ends(*getattr(self.intervals, what)(level))
        if what == "mean":
            # A mean that is not the unbiased one may lie outside: it is held in any case.
            low, high = getattr(self.intervals, what)(level)
            return ends(np.minimum(low, self.mean()), np.maximum(high, self.mean()))
        if at is None:
            raise InvalidInput(
                f"a place for the interval of the {what}",
                "none",
                "Name the place, such as at=0.5 for the median.",
            )
        places = np.asarray(at, dtype=np.float64)
        source = self._smooth(what) if smooth else self.intervals
        interval = getattr(source, what)
        if what == "quantile":
            low, high = interval(places, level)
        else:
            low, high = asked(interval, at, len(self.names), level)
        if what == "pdf":
            return ends(low, high)
        # The interval smooths less than the estimate, or not: it holds the estimate in any case.
        estimate = getattr(self, what)(places)
        return ends(np.minimum(low, estimate), np.maximum(high, estimate))

    def _smooth(self, what: str) -> Any:
        found = getattr(self.intervals, "smooth", None)
        if found is None or what not in ("cdf", "quantile"):
            raise Unsupported(
                "Intervals with smooth=True are those of the cdf and of quantiles of the default "
                "estimate of one number: leave smooth=True out."
            )
        return found()

    def band(self, what: str = "pdf", *, level: float = 0.95) -> SimultaneousBand:
        """A simultaneous band: with the given level it holds the whole curve of the population.

        Parameters
        ----------
        what
            ``"pdf"`` for mean densities over windows, each a sixteenth of the lattice, or
            ``"cdf"`` for the distribution function.
        level
            Confidence level of the band as a whole.

        Examples
        --------
        >>> import confide as cf
        >>> mechanism = cf.SquareWave(cf.Lattice(low=0, high=1, size=64), epsilon=4.0)
        >>> values = np.random.default_rng(1).beta(2, 5, 5_000)
        >>> density = cf.density(cf.Counts.of(mechanism.simulate(values, seed=1)))
        >>> band = density.band("cdf")
        >>> shares = (values[:, None] <= band.x).mean(axis=0)
        >>> bool(((band.low <= shares) & (shares <= band.high)).all())
        True
        """
        what = _checks.one_of(("pdf", "cdf"), what=what)
        if self.intervals is None:
            raise forms.without_intervals(self.facts)
        found = getattr(self.intervals, "band", None)
        if found is None:
            raise Unsupported(
                "A simultaneous band is one of the default estimate, or of a likelihood, of one "
                "number: take interval(what, at), which holds at each place by itself."
            )
        band: SimultaneousBand = found(what, _checks.level(level))
        return band

    def sample(self, n: int, *, seed: int | None = None) -> npt.NDArray[Any]:
        """Synthetic values from the estimated distribution; they cost no further privacy.

        Of a question of whole numbers they are whole numbers. Nobody among them declined.
        """
        n = _checks.integer(1, n=n)
        return self.cells._draw(n, np.random.default_rng(seed))

    def plot(
        self,
        ax: Any = None,
        *,
        level: float | None = 0.95,
        label: str = "estimate",
        color: str | None = None,
    ) -> DensityDisplay:
        """Draw the density, with the interval of its median and, where there is one, its band.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold other densities already; by default new ones.
        level
            Confidence level; None for the density alone.
        label
            Name in the legend.
        color
            By default the next one of the axes' cycle.
        """
        return self.cells._display(self, level).plot(ax, label=label, color=color)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {forms.described(forms.with_declined(self))}>"

    def _repr_html_(self) -> str:
        """A small picture, mean and quartiles, what it cost and the facts, for notebooks."""
        named = ", ".join(filter(None, self.names))
        title = f"Density of {named}" if named else "Density"
        about = {"cost": forms.cost(self.facts), "facts": forms.how(self.facts)}
        return card(title, self._picture(), self._numbers(), **about)

    def _picture(self) -> Html:
        """A small picture; none of three columns."""
        cells, told = self.cells, "density"
        if cells.masses.ndim == 1:
            heaps = () if cells.whole else cells.heaps
            middle = _attempt(self, "quantile", 0.5, LEVEL)
            return steps(cells.edges[0], cells.leveled(), told=told, middle=middle, heaps=heaps)
        return shades(cells.leveled(), told=told) if cells.masses.ndim == 2 else Html()

    def _numbers(self) -> Html:
        """Mean and quartiles with their intervals, or the mean of each column."""
        rows: list[tuple[str, float | None, Any]] = []
        if len(self.names) > 1:
            pairs = zip(self.names, self.mean(), strict=True)
            rows += [(f"mean of {name}", mean, None) for name, mean in pairs]
        else:
            rows.append(("mean", self.mean(), _attempt(self, "mean", None, LEVEL)))
            for name, q in QUARTILES.items():
                rows.append((name, self.quantile(q), _attempt(self, "quantile", q, LEVEL)))
        found = estimates(rows, level=LEVEL)
        if self.declined is None:
            return found
        ends = _attempt(self, DECLINED, None, LEVEL)
        return join([found, estimates([(DECLINED, self.declined, ends)], level=LEVEL, shares=True)])

    def to_frame(self, *, level: float = 0.95) -> Any:
        """The mean and the quartiles with their intervals, as a table of pandas.

        Parameters
        ----------
        level
            Confidence level. Intervals that the density does not have are missing.

        Returns
        -------
        pandas.DataFrame
            With the columns ``quantity``, ``estimate``, ``low`` and ``high``; the share that
            declined is the last row, where people could.
        """
        rows: list[tuple[str, Any, str, float | None]] = [("mean", self.mean(), "mean", None)]
        for name, q in QUARTILES.items():
            rows.append((name, self.quantile(q), "quantile", q))
        if self.declined is not None:
            rows.append((DECLINED, self.declined, DECLINED, None))
        table = []
        for name, value, what, at in rows:
            found = _attempt(self, what, at, level) or (np.nan, np.nan)
            table.append({"quantity": name, **dict(zip(ENDS, (value, *found), strict=True))})
        return frame(table)


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


BAND_POINTS = 33
ROUNDING = 1e-12
CLOSE = 1e-9
"""Cells by which the rounding of sums may put a quantile beyond a whole number."""
QUARTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}


@dataclass(frozen=True, eq=False, repr=False)
class CellDensity(Density):
    """A density that is constant inside cells, in one to three dimensions.

    Parameters
    ----------
    edges
        Cell edges, one ascending array per column.
    masses
        Probability of each cell, one axis per column. Linear estimates may have negative ones.
    names
        Names of the columns; ``("",)`` for a single number.
    facts
        How it came about.
    intervals
        The intervals behind `interval`.
    kinds
        ``"number"``, ``"points"`` or ``"integer"`` for each column, by default numbers. Edges of
        points and of whole numbers lie halfway between them; the mass of a cell of points is at its
        middle.
    declined
        Share of the population that preferred not to say; None if that was not an answer.
    means
        Unbiased means of the columns, if the estimator has them; `mean` returns these. By default
        the mean of the cells, which smoothing and the width of cells bias.

    Examples
    --------
    >>> density = CellDensity((np.array([0.0, 1.0, 3.0]),), np.array([0.5, 0.5]))
    >>> density.pdf(2.0), density.cdf(2.0), density.quantile(0.75)
    (np.float64(0.25), np.float64(0.75), 2.0)
    >>> edges = (np.array([-0.5, 0.5, 1.5, 2.5]),)
    >>> children = CellDensity(edges, np.array([0.5, 0.3, 0.2]), kinds=("integer",))
    >>> children.median(), children.cdf(1), children.sample(4, seed=1)
    (0.0, np.float64(0.8), array([1, 2, 0, 2]))
    """

    edges: tuple[Floats, ...]
    masses: Floats
    _: KW_ONLY
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    intervals: Intervals | JointIntervals | None = None
    kinds: tuple[str, ...] = ()
    declined: float | None = None
    means: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(_checks.frozen(edge) for edge in self.edges))
        object.__setattr__(self, "masses", _checks.frozen(self.masses))
        object.__setattr__(self, "kinds", self.kinds or (NUMBER,) * len(self.edges))

    @property
    def whole(self) -> bool:
        """Whether it is the distribution of a single whole number."""
        return self.kinds == (INTEGER,)

    def at_points(self, axis: int) -> Floats:
        """The points of a column of points."""
        edges = self.edges[axis]
        return np.linspace(edges[0] + edges[1], edges[-2] + edges[-1], edges.size - 1) / 2

    @property
    def cells(self) -> CellDensity:
        """Itself, with any negative mass cut off and the rest scaled to one."""
        if self.masses.min() >= 0:
            return self
        kept = np.maximum(self.masses, 0)
        return replace(self, masses=kept / kept.sum())

    def _line(self) -> tuple[Floats, Floats]:
        self._single("quantile")
        return self.edges[0], np.append(0.0, self.masses.cumsum()) / self.masses.sum()

    def _single(self, what: str) -> None:
        if self.masses.ndim != 1:
            raise Unsupported(
                f"A joint density has no single {what}: take marginal(name) of "
                f"{', '.join(self.names)} first."
            )

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at x, zero outside the cells; of whole numbers the share of each."""
        at, volume = self.locate(x)
        heights: Floats = self.masses[at] / volume
        places = points(x, self.masses.ndim)
        for axis, kind in enumerate(self.kinds):
            if kind == INTEGER:
                column = places[..., axis]
                heights = np.where(column == np.floor(column), heights, 0.0)
        return heights[()]

    def locate(self, x: npt.ArrayLike) -> tuple[tuple[npt.NDArray[np.int64], ...], Floats]:
        """Numbers of the cells that hold x, one array a column, and their volumes.

        Outside the cells the number is that of the nearest, and the volume infinite.
        """
        places = points(x, self.masses.ndim)
        volume = np.ones(places.shape[:-1])
        at = []
        for axis, edges in enumerate(self.edges):
            column = places[..., axis]
            cell = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, edges.size - 2)
            inside = (column >= edges[0]) & (column <= edges[-1])
            volume = volume * np.where(inside, edges[cell + 1] - edges[cell], np.inf)
            at.append(cell)
        return tuple(at), volume

    @cached_property
    def _cumulative(self) -> Floats:
        total = self.masses
        for axis in range(self.masses.ndim):
            total = np.cumsum(total, axis=axis)
        # Rounding must not take a share above one, nor leave the share of all below it.
        kept = np.where(total > 1 - ROUNDING, 1.0, total)
        return np.pad(kept, [(1, 0)] * self.masses.ndim)

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """P(value <= x), linear between the edges; of points and whole numbers a step at each."""
        places = points(x, self.masses.ndim)
        for axis, kind in enumerate(self.kinds):
            # Sums up to a point or a whole number are reached at the edge after it.
            if kind == INTEGER:
                places = places.copy()
                places[..., axis] = np.floor(places[..., axis]) + 0.5
            elif kind == POINTS:
                places = places.copy()
                slack = CLOSE * (self.edges[axis][1] - self.edges[axis][0])
                below = np.searchsorted(self.at_points(axis), places[..., axis] + slack, "right")
                places[..., axis] = self.edges[axis][below]
        if self.masses.ndim == 1:
            return np.interp(places[..., 0], self.edges[0], self._cumulative)[()]
        # Multilinear: interpolate the corner sums along one column after another.
        result = np.zeros(places.shape[:-1])
        cells, parts = [], []
        for axis, edges in enumerate(self.edges):
            column = np.clip(places[..., axis], edges[0], edges[-1])
            cell = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, edges.size - 2)
            cells.append(cell)
            parts.append((column - edges[cell]) / (edges[cell + 1] - edges[cell]))
        for corner in np.ndindex(*(2,) * len(cells)):
            weight = np.ones(places.shape[:-1])
            for step, part in zip(corner, parts, strict=True):
                weight = weight * (part if step else 1 - part)
            at = tuple(cell + step for cell, step in zip(cells, corner, strict=True))
            result += weight * self._cumulative[at]
        return result

    def _moments(self) -> tuple[Floats, Floats]:
        means, deviations = [], []
        for axis, edges in enumerate(self.edges):
            masses = self.masses.sum(tuple(a for a in range(self.masses.ndim) if a != axis))
            masses = masses / masses.sum()
            centers, widths = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
            within = (widths**2 - (self.kinds[axis] == INTEGER)) / 12
            if self.kinds[axis] == POINTS:
                centers, within = self.at_points(axis), np.zeros(masses.size)
            mean = masses @ centers
            means.append(mean)
            deviations.append(np.sqrt(masses @ ((centers - mean) ** 2 + within)))
        return np.array(means), np.array(deviations)

    def mean(self) -> Any:
        """Mean: a float, or one float a column; the unbiased one, where it is known."""
        means = np.array(self.means) if self.means else self._moments()[0]
        return float(means[0]) if means.size == 1 else means

    def curve_mean(self) -> Any:
        """Mean of the curve itself: a float, or one float a column.

        In small groups it is often nearer to the truth than `mean`. But it is biased and has no
        interval, and the means of groups do not average to the mean of all.
        """
        means = self._moments()[0]
        return float(means[0]) if means.size == 1 else means

    def std(self) -> Any:
        """Standard deviation of the cells: a float, or one float a column."""
        deviations = self._moments()[1]
        return float(deviations[0]) if deviations.size == 1 else deviations

    def marginal(self, name: str) -> CellDensity:
        """The density of one column."""
        if name not in self.names:
            advice = _checks.nearest(name, self.names)
            raise InvalidInput("a known column", _checks.shown(name), advice)
        at = self.names.index(name)
        others = tuple(axis for axis in range(self.masses.ndim) if axis != at)
        marginal = getattr(self.intervals, "marginal", None)
        intervals = None if marginal is None else marginal(name)
        return CellDensity(
            (self.edges[at],),
            self.masses.sum(others),
            facts=self.facts,
            intervals=intervals,
            kinds=(self.kinds[at],),
            means=self.means[at : at + 1],
        )

    def _draw(self, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        flat = generator.choice(self.masses.size, size=n, p=self.masses.ravel())
        at = np.unravel_index(flat, self.masses.shape)
        columns: list[npt.NDArray[Any]] = []
        for axis, (cell, edges, kind) in enumerate(zip(at, self.edges, self.kinds, strict=True)):
            low, high = edges[cell], edges[cell + 1]
            if kind == INTEGER:
                whole = np.ceil(low).astype(np.int64), np.ceil(high).astype(np.int64)
                columns.append(generator.integers(whole[0], whole[1]))
            elif kind == POINTS:
                columns.append(self.at_points(axis)[cell])
            else:
                columns.append(generator.uniform(low, high))
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    @property
    def heaps(self) -> tuple[tuple[float, float], ...]:
        """Single values that many people share, each with its share, where the estimate has any."""
        pairs = zip(self.facts.get("heaps", ()), self.facts.get("heap_shares", ()), strict=False)
        return tuple((float(value), float(share)) for value, share in pairs)

    def leveled(self) -> Floats:
        """Heights for pictures: where a heap of numbers would tower, those of the cells beside it.

        Whole numbers have no heaps to level: their bars are shares.
        """
        volumes = np.ones(())
        for edges in self.edges:
            volumes = np.multiply.outer(volumes, np.diff(edges))
        heights: Floats = self.masses / volumes
        if self.masses.ndim != 1 or self.whole or not self.heaps:
            return heights
        (at,), _ = self.locate(np.array([value for value, _ in self.heaps]))
        rest = np.setdiff1d(np.arange(heights.size), at)
        return np.interp(np.arange(heights.size), rest, heights[rest]) if rest.size else heights

    def _display(self, source: Density, level: float | None) -> DensityDisplay:
        if self.masses.ndim == 3:
            raise Unsupported(
                "Three dimensions do not fit on paper: plot marginal(name) of "
                f"{', '.join(self.names)}."
            )
        band = median = None
        together = True
        if level is not None and source.intervals is not None and self.masses.ndim == 1:
            x = (self.edges[0][:-1] + self.edges[0][1:]) / 2
            # An interval may take a while: ask for a few, and join them up.
            try:
                whole = source.band("pdf", level=level)
                few, found = whole.x, (whole.low, whole.high)
            except Unsupported:
                together = False
                places = np.linspace(0, self.masses.size, BAND_POINTS)
                few = np.interp(places, np.arange(self.masses.size + 1), self.edges[0])
                if self.whole:
                    few = np.unique(np.clip(np.rint(few), np.ceil(few[0]), np.floor(few[-1])))
                found = _attempt(source, "pdf", few, level)
            if found is not None:
                band = (np.interp(x, few, found[0]), np.interp(x, few, found[1]))
            median = _attempt(source, "quantile", 0.5, level)
        heaps = () if self.whole else self.heaps
        return DensityDisplay(
            self.edges,
            self.leveled(),
            self.names,
            band,
            median,
            level,
            self.whole,
            heaps,
            simultaneous=together,
            points=self.kinds == (POINTS,),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fields = {
            "curve": "cell-density",
            "names": list(self.names),
            "edges": [edges.tolist() for edges in self.edges],
            "masses": self.masses.tolist(),
            "facts": dict(self.facts),
        }
        if set(self.kinds) != {NUMBER}:
            fields["kinds"] = list(self.kinds)
        if self.means:
            fields["means"] = list(self.means)
        return fields | forms.declined_to(self.declined)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the intervals."""
        keys = ("names", "edges", "masses", "facts")
        checked = forms.keyed(fields, "cell-density", keys, optional=("kinds", "means", DECLINED))
        edges = forms.edges(checked)
        masses = forms.numbers(checked, "masses", tuple(edge.size - 1 for edge in edges))
        names = forms.names(checked, len(edges))
        kinds: tuple[str, ...] = ()
        if "kinds" in checked:
            kinds = forms.words(checked, "kinds", len(edges))
            for kind, edge in zip(kinds, edges, strict=True):
                _checks.one_of(KINDS, kind=kind)
                if kind == POINTS and not np.allclose(np.diff(edge), edge[1] - edge[0]):
                    raise InvalidInput("edges at equal distances between points", "uneven ones")
                if kind == INTEGER and not (edge + 0.5 == np.floor(edge + 0.5)).all():
                    raise InvalidInput("edges halfway between whole numbers", "edges elsewhere")
        means: tuple[float, ...] = ()
        if "means" in checked:
            means = tuple(forms.numbers(checked, "means", (len(edges),)).tolist())
        return cls(
            edges,
            masses,
            names=names,
            facts=dict(checked["facts"]),
            kinds=kinds,
            declined=forms.declined_from(checked),
            means=means,
        )


def _attempt(source: Density, what: str, at: npt.ArrayLike | None, level: float) -> Any:
    try:
        return source.interval(what, at, level=level)
    except Unsupported:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class WaveDensity(Density):
    """A finite sum of waves: the linear deconvolution estimate itself, negative where it is.

    Parameters
    ----------
    frequencies
        One row a wave, one column a dimension; in radians per unit of the values.
    cosines, sines
        Coefficients: pdf(x) = sum of cosines cos(t x) + sines sin(t x).
    low, high
        The window, one number a column, in which it is drawn and sampled.
    moments
        Means and standard deviations, one for each column.
    reach
        How far outside the window the sum is still the estimate, one number a column. Beyond it
        waves come back in phase, and the density is taken to be zero.
    facts, intervals
        As for `CellDensity`.

    Examples
    --------
    >>> one = np.array([[1.0]])
    >>> wave = WaveDensity(one, np.array([0.05]), np.zeros(1), low=np.zeros(1),
    ...                    high=np.array([6.0]), moments=(np.array([3.0]), np.ones(1)),
    ...                    reach=np.zeros(1))
    >>> wave.mean(), bool(wave.pdf(3.0) < 0), bool(wave.cells.pdf(3.0) == 0)
    (3.0, True, True)
    """

    frequencies: Floats
    cosines: Floats
    sines: Floats
    _: KW_ONLY
    low: Floats
    high: Floats
    moments: tuple[Floats, Floats]
    reach: Floats
    names: tuple[str, ...] = ("",)
    facts: Mapping[str, Any] = field(default_factory=dict)
    intervals: Intervals | None = None

    def _sum(self, points: Floats, cosines: Floats, sines: Floats) -> Floats:
        flat = points.reshape(-1, points.shape[-1])
        result = np.empty(len(flat))
        # Bounded memory: about 4 million waves times points at once.
        step = max(1, 2**22 // len(self.frequencies))
        for start in range(0, len(flat), step):
            phase = flat[start : start + step] @ self.frequencies.T
            result[start : start + step] = np.cos(phase) @ cosines + np.sin(phase) @ sines
        return result.reshape(points.shape[:-1])

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Density at any x, zero beyond the reach."""
        places = points(x, self.frequencies.shape[1])
        near = ((places >= self.low - self.reach) & (places <= self.high + self.reach)).all(-1)
        heights: Floats = np.where(near, self._sum(places, self.cosines, self.sines), 0.0)
        return heights[()]

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """1/2 plus the sine integral; one dimension only."""
        if self.frequencies.shape[1] != 1:
            raise Unsupported("The linear estimate has a cdf in one dimension only: use cells.cdf.")
        t = self.frequencies[:, 0]
        places = points(x, self.frequencies.shape[1])
        inside = 0.5 + self._sum(places, -self.sines / t, self.cosines / t)
        column = places[..., 0]
        inside = np.where(column < self.low[0] - self.reach[0], 0.0, inside)
        shares: Floats = np.where(column > self.high[0] + self.reach[0], 1.0, inside)
        return shares[()]

    @cached_property
    def cells(self) -> CellDensity:
        """Cut at zero and scaled to one, on cells of the window."""
        d = self.frequencies.shape[1]
        size = {1: 1024, 2: 128, 3: 48}[d]
        edges = tuple(np.linspace(a, b, size + 1) for a, b in zip(self.low, self.high, strict=True))
        centers = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
        grid = np.stack(np.meshgrid(*centers, indexing="ij"), axis=-1)
        kept = np.maximum(self.pdf(grid[..., 0] if d == 1 else grid), 0)
        return CellDensity(
            edges,
            kept / kept.sum(),
            names=self.names,
            facts=self.facts,
            intervals=self.intervals,
        )

    def mean(self) -> Any:
        """Mean of the noised values, which the noise leaves unbiased."""
        means = self.moments[0]
        return float(means[0]) if means.size == 1 else means

    def std(self) -> Any:
        """Standard deviation, the noise's variance taken off."""
        deviations = self.moments[1]
        return float(deviations[0]) if deviations.size == 1 else deviations

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "curve": "wave-density",
            "names": list(self.names),
            "frequencies": self.frequencies.tolist(),
            "cosines": self.cosines.tolist(),
            "sines": self.sines.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "reach": self.reach.tolist(),
            "moments": [part.tolist() for part in self.moments],
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the intervals."""
        keys = ("names", "frequencies", "cosines", "sines", "low", "high", "reach", "moments")
        checked = forms.keyed(fields, "wave-density", (*keys, "facts"))
        waves, d = size(checked, "cosines"), size(checked, "low")
        means, deviations = forms.numbers(checked, "moments", (2, d))
        return cls(
            forms.numbers(checked, "frequencies", (waves, d)),
            forms.numbers(checked, "cosines", (waves,)),
            forms.numbers(checked, "sines", (waves,)),
            low=forms.numbers(checked, "low", (d,)),
            high=forms.numbers(checked, "high", (d,)),
            moments=(means, deviations),
            reach=forms.numbers(checked, "reach", (d,)),
            names=forms.names(checked, d),
            facts=dict(checked["facts"]),
        )
