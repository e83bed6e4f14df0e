"""Pictures: arrays in, matplotlib out."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from confide._figures import SHOWN, logarithmic, percent
from confide._types import Floats
from confide.errors import InvalidInput, extra

__all__ = [
    "DensityDisplay",
    "DifferenceDisplay",
    "ProportionsDisplay",
    "RegressionDisplay",
    "save",
]

TRUTH, NAIVE, ESTIMATE = "#222222", "#e69f00", "#0072b2"
CYCLE = (ESTIMATE, "#d55e00", "#009e73", "#cc79a7", NAIVE, "#56b4e9")
"""Colors of the first, second, ... curve in axes of ours; axes that are given keep their own.

These are the colors of Okabe and Ito (2008), which people with color blindness can tell apart.
"""
FORMATS = (".png", ".svg", ".pdf")
# Marks of a decade on a log axis whose ends have a ratio of at most so much.
MARKS = ((150.0, (1.0, 2.0, 5.0)), (5000.0, (1.0, 3.0)), (np.inf, (1.0,)))


def save(display: Any, path: str | Path) -> None:
    """Write a display's figure; the ending says the format.

    Examples
    --------
    >>> import tempfile
    >>> import confide as cf
    >>> density = cf.curves.CellDensity((np.array([0.0, 1.0, 3.0]),), np.array([0.5, 0.5]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(density.plot(), f"{folder}/density.svg")
    ...     Path(f"{folder}/density.svg").stat().st_size > 1000
    True
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(f"a plot file that ends in {', '.join(FORMATS)}", repr(path.name))
    display.ax_.figure.savefig(path, dpi=150, bbox_inches="tight")


def new_axes(width: float = 7.0, height: float = 4.0) -> Any:
    """Axes of a new figure that no window will show."""
    extra("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    ax.set_prop_cycle(color=CYCLE)
    return ax


def next_color(ax: Any) -> str:
    """The color that comes next in the axes' own cycle."""
    (line,) = ax.plot([], [])
    color: str = line.get_color()
    line.remove()
    return color


def once(ax: Any, label: str) -> str:
    """A label for the legend, or none where an artist of the axes has it already."""
    return "_nolegend_" if label in ax.get_legend_handles_labels()[1] else label


def _axis(ax: Any, side: str, marks: Floats, name: str) -> None:
    """Name an axis, make it as its lattice is, and write large numbers with commas."""
    getattr(ax, f"set_{side}label")(name, parse_math=False)
    axis = getattr(ax, f"{side}axis")
    if logarithmic(marks):
        from matplotlib.ticker import LogLocator, NullFormatter

        getattr(ax, f"set_{side}scale")("log")
        ratio = marks[-1] / marks[0]
        subs = next(subs for most, subs in MARKS if ratio <= most)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
        axis.set_minor_formatter(NullFormatter())
    commas(axis)


def commas(axis: Any) -> None:
    """Write an axis's numbers plainly, from 1,000 with commas."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(_plain))


def _plain(value: float, _: Any = None) -> str:
    text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:g}"
    return text.replace("-", "\u2212")


def shares(axis: Any, unit: float = 1.0) -> None:
    """Write the numbers of an axis, times a unit, as percentages."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * unit * value:.4g} %"))


def round_unit(span: float) -> float:
    """A power of ten that is a tenth of a range or a little less, to count people by."""
    return float(10.0 ** np.floor(np.log10(span / 5)))


def _per_decade(edges: Floats) -> Floats:
    """What turns a density per unit into one per factor of ten, so that areas remain shares."""
    return np.asarray(np.diff(edges) / np.diff(np.log10(edges)))


class Display:
    """Base of displays: notebooks show the figure, unless pyplot does so itself."""

    ax_: Any

    def _repr_png_(self) -> bytes | None:
        if self.ax_ is None or self.ax_.figure.canvas.manager is not None:
            return None
        png = io.BytesIO()
        self.ax_.figure.savefig(png, format="png", dpi=110, bbox_inches="tight")
        return png.getvalue()


@dataclass(repr=False)
class DensityDisplay(Display):
    """A density, its band and the interval of its median.

    Parameters
    ----------
    edges
        Cell edges, one array a column. Edges of one ratio are drawn on a log axis.
    heights
        Density in each cell, one axis a column.
    names
        Names of the columns.
    band
        Lower and upper heights, or None.
    median
        Ends of the interval of the median, or None.
    level
        Confidence level of both.
    whole
        Whether values are whole numbers, which are drawn as bars.
    heaps
        Values that many people share, each with its share: lines with a figure, since no height
        would fit them.
    simultaneous
        Whether the band holds the whole curve with its level, or each place by itself.

    Examples
    --------
    >>> display = DensityDisplay((np.array([0.0, 1.0, 3.0]),), np.array([0.5, 0.25]), ("pay",))
    >>> display.plot().ax_.get_xlabel()
    'pay'
    """

    edges: tuple[Floats, ...]
    heights: Floats
    names: Sequence[str] = ("",)
    band: tuple[Floats, Floats] | None = None
    median: tuple[float, float] | None = None
    level: float | None = None
    whole: bool = False
    heaps: Sequence[tuple[float, float]] = ()
    simultaneous: bool = False
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str = "estimate", color: str | None = None
    ) -> DensityDisplay:
        """Draw into the given axes, or new ones.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold other curves already.
        label
            Name of the curve in the legend.
        color
            Of the curve, its band and its median; by default the next one of the axes' cycle.
            Neither has a meaning for the map of two columns.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        scale = np.ones(())
        for edges in self.edges:
            own = _per_decade(edges) if logarithmic(edges) else np.ones(edges.size - 1)
            scale = np.multiply.outer(scale, own)
        heights, edges = self.heights * scale, self.edges[0]
        decades = any(map(logarithmic, self.edges))
        per = 1.0 if decades or self.whole else round_unit(float(edges[-1] - edges[0]))
        unit = "factor of 10" if decades else _plain(per)
        unit = "share of each whole number" if self.whole else f"share of people per {unit}"
        _axis(ax, "x", edges, self.names[0] or "value")
        if heights.ndim == 2:
            mesh = ax.pcolormesh(edges, self.edges[1], heights.T, cmap="Blues", rasterized=True)
            self._people(ax.figure.colorbar(mesh, ax=ax), decades)
            _axis(ax, "y", self.edges[1], self.names[1])
            return self
        color = next_color(ax) if color is None else color
        if self.band is not None:
            kind = "simultaneous" if self.simultaneous else "pointwise"
            low, high = (np.append(end, end[-1]) for end in np.multiply(self.band, scale))
            ax.fill_between(
                edges,
                low,
                high,
                step="post",
                color=color,
                alpha=0.2,
                lw=0,
                label=once(ax, f"{percent(self.level or 0)} {kind} band"),
            )
        if self.median is not None:
            ax.plot(
                self.median,
                (0, 0),
                color=color,
                alpha=0.6,
                lw=6,
                solid_capstyle="butt",
                label=once(ax, f"median, {percent(self.level or 0)} interval"),
            )
        if self.whole:
            ax.stairs(heights, edges, color=color, alpha=0.25, fill=True)
        ax.stairs(heights, edges, color=color, lw=1.8, label=label, baseline=None)
        told = [(value, share) for value, share in self.heaps if share >= SHOWN]
        for value, share in told:
            ax.plot((value, value), (0, heights.max()), color=color, lw=1.8, ls=":")
            ax.annotate(
                f"{100 * share:.0f} %",
                (value, heights.max()),
                color=color,
                ha="center",
                va="bottom",
            )
        ax.axhline(0, color="black", lw=0.6)
        ax.set_ylabel(unit)
        shares(ax.yaxis, per)
        ax.legend(frameon=False)
        return self

    def _people(self, bar: Any, decades: bool) -> None:
        """Count the people of a map by rectangles of round sides."""
        if decades:
            bar.set_label("density")
            return
        sides = [round_unit(float(edges[-1] - edges[0])) for edges in self.edges]
        bar.set_label(f"share of people per {' x '.join(map(_plain, sides))}")
        shares(bar.ax.yaxis, float(np.prod(sides)))

    def __repr__(self) -> str:
        return f"<DensityDisplay of {_cells(self.heights)}{_with(self.level)}>"


def _cells(heights: Floats) -> str:
    return " x ".join(f"{size:,}" for size in heights.shape) + " cells"


def _with(level: float | None) -> str:
    return "" if level is None else f", level {level:g}"


@dataclass(repr=False)
class RegressionDisplay(Display):
    """A regression curve, its band and the corrected baseline; a map for two covariates.

    Examples
    --------
    >>> x = np.linspace(0, 1, 5)
    >>> display = RegressionDisplay((x,), 2 * x, ("age",), band=(x, 3 * x), level=0.95)
    >>> display.plot().ax_.get_xlabel()
    'age'
    """

    axes: tuple[Floats, ...]
    heights: Floats
    names: Sequence[str] = ("",)
    band: tuple[Floats, Floats] | None = None
    level: float | None = None
    baseline: Floats | None = None
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str = "estimate", color: str | None = None
    ) -> RegressionDisplay:
        """Draw into the given axes, or new ones; see `DensityDisplay.plot`."""
        self.ax_ = ax = new_axes() if ax is None else ax
        _axis(ax, "x", self.axes[0], self.names[0] or "value")
        if self.heights.ndim == 2:
            mesh = ax.pcolormesh(*self.axes, self.heights.T, cmap="viridis", rasterized=True)
            ax.figure.colorbar(mesh, ax=ax, label="mean response")
            _axis(ax, "y", self.axes[1], self.names[1])
            return self
        (x,) = self.axes
        color = next_color(ax) if color is None else color
        if self.band is not None:
            words = once(ax, f"{percent(self.level or 0)} pointwise band")
            ax.fill_between(x, *self.band, color=color, alpha=0.2, lw=0, label=words)
        if self.baseline is not None:
            # Beside another curve a line needs the color of its own one.
            words = once(ax, "corrected line")
            own = NAIVE if words == "corrected line" else color
            ax.plot(x, self.baseline, color=own, lw=1.4, ls="--", label=words)
        ax.plot(x, self.heights, color=color, lw=1.8, label=label)
        ax.set_ylabel("mean response")
        commas(ax.yaxis)
        ax.legend(frameon=False)
        return self

    def __repr__(self) -> str:
        points = " x ".join(f"{size:,}" for size in self.heights.shape)
        return f"<RegressionDisplay at {points} points{_with(self.level)}>"


@dataclass(repr=False)
class ProportionsDisplay(Display):
    """Shares of categories with their intervals.

    Examples
    --------
    >>> ProportionsDisplay(("no", "yes"), np.array([0.7, 0.3])).plot().ax_.get_xlabel()
    'share of people'
    """

    categories: Sequence[str]
    shares: Floats
    ends: tuple[Floats, Floats] | None = None
    level: float | None = None
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> ProportionsDisplay:
        """Draw into the given axes, or new ones; bars that are there already make room.

        Parameters
        ----------
        ax
            Axes of matplotlib, which may hold shares of the same categories already.
        label
            Name of these shares in the legend.
        color
            Of the bars; by default the next one of the axes' cycle.
        """
        self.ax_ = ax = new_axes(6.0, 0.6 + 0.45 * len(self.categories)) if ax is None else ax
        places = np.arange(float(len(self.categories)))
        errors = None
        if self.ends is not None:
            errors = np.maximum([self.shares - self.ends[0], self.ends[1] - self.shares], 0)
        color = next_color(ax) if color is None else color
        ax.barh(
            places, self.shares, xerr=errors, color=color, alpha=0.7, capsize=3, label=label or ""
        )
        _side_by_side([bars for bars in ax.containers if hasattr(bars, "patches")], places)
        ax.set_yticks(places, list(self.categories), parse_math=False)
        if not ax.yaxis_inverted():
            ax.invert_yaxis()
        if label is not None:
            ax.legend(frameon=False)
        shown = f", with {percent(self.level or 0)} intervals" if errors is not None else ""
        ax.set_xlabel(f"share of people{shown}")
        shares(ax.xaxis)
        return self

    def __repr__(self) -> str:
        return f"<ProportionsDisplay of {len(self.categories):,} categories{_with(self.level)}>"


def _side_by_side(sets: Sequence[Any], places: Floats) -> None:
    """Give every set of horizontal bars, with its error bars, an equal part of each place."""
    height = 0.8 / len(sets)
    for number, bars in enumerate(sets):
        lows = places - 0.4 + number * height
        for low, bar in zip(lows, bars.patches, strict=True):
            bar.set(y=low, height=height)
        if bars.errorbar is None:
            continue
        _, caps, lines = bars.errorbar.lines
        for cap in caps:
            cap.set_ydata(lows + height / 2)
        for line in lines:
            ends = [segment[:, 0] for segment in line.get_segments()]
            rows = zip(ends, lows + height / 2, strict=True)
            line.set_segments([[(a, y), (b, y)] for (a, b), y in rows])


@dataclass(repr=False)
class DifferenceDisplay(Display):
    """A difference between two groups and its interval, beside zero.

    Parameters
    ----------
    name
        The quantity.
    value
        First minus second.
    ends
        Of the interval.
    level
        Confidence level.

    Examples
    --------
    >>> DifferenceDisplay("mean", 2.0, (0.5, 3.5), 0.95).plot().ax_.get_xlabel()
    'first minus second, 95 % interval'
    """

    name: str
    value: float
    ends: tuple[float, float]
    level: float
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> DifferenceDisplay:
        """Draw a row into the given axes, below those that are there, or into new ones."""
        self.ax_ = ax = new_axes(6.0, 1.8) if ax is None else ax
        labels = [text.get_text() for text in ax.get_yticklabels()] if ax.containers else []
        if not ax.containers:
            ax.axvline(0, color="black", lw=0.8)
        row, color = len(labels), next_color(ax) if color is None else color
        away = [[self.value - self.ends[0]], [self.ends[1] - self.value]]
        ax.errorbar(self.value, row, xerr=away, fmt="o", color=color, lw=2, capsize=4)
        labels.append(label or self.name)
        ax.set_yticks(range(row + 1), labels, parse_math=False)
        ax.set_ylim(row + 0.5, -0.5)
        ax.set_xlabel(f"first minus second, {percent(self.level)} interval")
        commas(ax.xaxis)
        return self

    def __repr__(self) -> str:
        return f"<DifferenceDisplay of the {self.name}{_with(self.level)}>"
