"""Displays: pictures of results, drawn with matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from confide._figures import SHOWN, logarithmic, number, percent
from confide._types import Floats
from confide.errors import InvalidInput, extra

__all__ = [
    "BandDisplay",
    "CorrelationsDisplay",
    "CrossTableDisplay",
    "DensityDisplay",
    "DifferenceDisplay",
    "ProportionsDisplay",
    "RegressionDisplay",
    "TrendDisplay",
    "save",
]

TRUTH, NAIVE, ESTIMATE = "#222222", "#e69f00", "#0072b2"
CYCLE = (ESTIMATE, "#d55e00", "#009e73", "#cc79a7", NAIVE, "#56b4e9")
"""Colors of the first, second, ... curve in axes of ours; axes that are given keep their own.

These are the colors of Okabe and Ito (2008), which people with color blindness can tell apart.
"""
LETTER, MARKS_AT_MOST = 0.62, 9
"""Width of a digit as a share of the font's size, and marks that matplotlib makes on its own."""
FORMATS = (".png", ".svg", ".pdf")
# Marks of a decade on a log axis whose ends have a ratio of at most so much.
MARKS = ((150.0, (1.0, 2.0, 5.0)), (5000.0, (1.0, 3.0)), (np.inf, (1.0,)))


def save(display: Any, path: str | Path) -> None:
    """Write a display's figure; the file name's ending sets the format.

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
    ax = _figure(width, height).add_subplot()
    ax.set_prop_cycle(color=CYCLE)
    return ax


def _figure(width: float, height: float) -> Any:
    extra("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def next_color(ax: Any) -> str:
    """The color that comes next in the axes' own cycle."""
    (line,) = ax.plot([], [])
    color: str = line.get_color()
    line.remove()
    return color


def legend(ax: Any) -> None:
    """A legend of the labels as they are: a dollar sign in a name starts no formula."""
    for text in ax.legend(frameon=False).get_texts():
        text.set_parse_math(False)


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
    elif side == "x":
        _spaced(ax, marks)
    commas(axis)


def _spaced(ax: Any, marks: Floats) -> None:
    """Leave room between the numbers of a linear x axis, which commas make long.

    An axis that was given its own marks keeps them.
    """
    from matplotlib.ticker import AutoLocator, MaxNLocator

    if not isinstance(ax.xaxis.get_major_locator(), AutoLocator):
        return
    letters = max(len(_plain(float(end))) for end in (round(marks[0]), round(marks[-1])))
    size = ax.figure.dpi * ax.xaxis.get_label().get_fontsize() / 72
    most = ax.get_window_extent().width / (LETTER * size * (letters + 2))
    if most < MARKS_AT_MOST:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=max(2, int(most)), steps=[1, 2, 2.5, 5, 10]))


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
    points
        Whether values are points at equal distances, which are drawn as bars too.
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
    points: bool = False
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
        per, unit = self._unit(heights, decades)
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
        if self.whole or self.points:
            ax.stairs(heights, edges, color=color, alpha=0.25, fill=True)
        ax.stairs(heights, edges, color=color, lw=1.8, label=label, baseline=None)
        told = [(value, share) for value, share in self.heaps if share >= SHOWN]
        for value, share in told:
            # Many points, so that the legend keeps away from the line.
            height = np.linspace(0, heights.max(), 50)
            ax.plot(np.full(50, value), height, color=color, lw=1.8, ls=":")
            ax.annotate(
                f"{100 * share:.0f} %",
                (value, heights.max()),
                color=color,
                ha="center",
                va="bottom",
            )
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.1 * heights.max()))
        ax.axhline(0, color="black", lw=0.6)
        ax.set_ylabel(unit)
        shares(ax.yaxis, per)
        legend(ax)
        return self

    def _unit(self, heights: Floats, decades: bool) -> tuple[float, str]:
        """What shares of people are counted by, as a number and in words."""
        edges = self.edges[0]
        if self.points:
            return float(edges[1] - edges[0]), "share of each point"
        if self.whole:
            return 1.0, "share of each whole number"
        if decades:
            return 1.0, "share of people per factor of 10"
        per = round_unit(float(edges[-1] - edges[0]))
        while per * heights.max() > 1:
            # Shares above 100 % would be read as an error.
            per /= 10
        return per, f"share of people per width of {_plain(per)}"

    def _people(self, bar: Any, decades: bool) -> None:
        """Count the people of a map by rectangles of round sides."""
        if decades:
            bar.set_label("density")
            return
        sides = [round_unit(float(edges[-1] - edges[0])) for edges in self.edges]
        bar.set_label(f"share of people per rectangle of {' x '.join(map(_plain, sides))}")
        shares(bar.ax.yaxis, float(np.prod(sides)))

    def __repr__(self) -> str:
        return f"<DensityDisplay of {_cells(self.heights)}{_with(self.level)}>"


def _cells(heights: Floats) -> str:
    return " x ".join(f"{size:,}" for size in heights.shape) + " cells"


def _with(level: float | None) -> str:
    return "" if level is None else f", level {level:g}"


@dataclass(repr=False)
class BandDisplay(Display):
    """A simultaneous band of a density or of a distribution function.

    Parameters
    ----------
    what
        ``"pdf"`` or ``"cdf"``.
    x
        Places, ascending.
    ends
        Lower and upper ends at the places.
    level
        Confidence level of the whole band.

    Examples
    --------
    >>> x = np.array([0.0, 1.0])
    >>> BandDisplay("cdf", x, (x, x), 0.95).plot().ax_.get_ylabel()
    'share of people up to the value'
    """

    what: str
    x: Floats
    ends: tuple[Floats, Floats]
    level: float
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> BandDisplay:
        """Draw into the given axes, or new ones; see `DensityDisplay.plot`."""
        self.ax_ = ax = new_axes() if ax is None else ax
        color = next_color(ax) if color is None else color
        words = label or f"{percent(self.level)} simultaneous band"
        x, (low, high) = self.x, self.ends
        _axis(ax, "x", x, "value")
        if self.what == "cdf":
            # Between two places a cdf is at least what it was and at most what it will be.
            x, low, high = np.repeat(x, 2)[1:-1], np.repeat(low[:-1], 2), np.repeat(high[1:], 2)
        per = 1.0 if self.what == "cdf" else round_unit(float(x[-1] - x[0]))
        ax.fill_between(x, low, high, color=color, alpha=0.3, lw=0, label=words)
        up_to = "share of people up to the value"
        ax.set_ylabel(
            up_to if self.what == "cdf" else f"share of people per width of {_plain(per)}"
        )
        shares(ax.yaxis, per)
        legend(ax)
        return self

    def __repr__(self) -> str:
        return f"<BandDisplay of the {self.what} at {self.x.size:,} places{_with(self.level)}>"


@dataclass(repr=False)
class RegressionDisplay(Display):
    """A regression curve, its band and the corrected baseline; maps for two and three covariates.

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
        if self.heights.ndim == 3:
            return self._slices(ax)
        self.ax_ = ax = new_axes() if ax is None else ax
        _axis(ax, "x", self.axes[0], self.names[0] or "value")
        if self.heights.ndim == 2:
            mesh = ax.pcolormesh(*self.axes, self.heights.T, cmap="viridis", rasterized=True)
            commas(ax.figure.colorbar(mesh, ax=ax, label="mean response").ax.yaxis)
            _axis(ax, "y", self.axes[1], self.names[1])
            return self
        (x,) = self.axes
        color = next_color(ax) if color is None else color
        if self.band is not None:
            words = once(ax, f"{percent(self.level or 0)} pointwise band")
            ax.fill_between(x, *self.band, color=color, alpha=0.2, lw=0, label=words)
        if self.baseline is not None:
            # Beside another curve, a line needs its curve's color.
            words = once(ax, "corrected line")
            own = NAIVE if words == "corrected line" else color
            ax.plot(x, self.baseline, color=own, lw=1.4, ls="--", label=words)
        ax.plot(x, self.heights, color=color, lw=1.8, label=label)
        ax.set_ylabel("mean response")
        commas(ax.yaxis)
        legend(ax)
        return self

    def _slices(self, ax: Any) -> RegressionDisplay:
        """Maps of the first two covariates side by side, each at one value of the third."""
        if ax is not None:
            raise InvalidInput("no axes for a picture of three covariates", "some")
        figure = _figure(10.0, 3.6)
        panels = list(figure.subplots(1, self.axes[2].size, sharey=True))
        self.ax_ = panels[0]
        ends = (float(self.heights.min()), float(self.heights.max()))
        for at, panel in enumerate(panels):
            mesh = panel.pcolormesh(
                *self.axes[:2],
                self.heights[..., at].T,
                cmap="viridis",
                vmin=ends[0],
                vmax=ends[1],
                rasterized=True,
            )
            _axis(panel, "x", self.axes[0], self.names[0])
            panel.set_title(f"{self.names[2]} = {number(self.axes[2][at])}", parse_math=False)
        _axis(panels[0], "y", self.axes[1], self.names[1])
        commas(figure.colorbar(mesh, ax=panels, label="mean response").ax.yaxis)
        return self

    def name_response(self, name: str, threshold: float, *, is_share: bool) -> None:
        """Name what the curve is about, and draw where a classifier changes sides."""
        if self.heights.ndim > 1:
            # The last axes of the figure are those of the color bar.
            side = self.ax_.figure.axes[-1]
            if self.heights.ndim == 2:
                self.ax_.contour(*self.axes, self.heights.T, levels=[threshold], colors="white")
        else:
            side = self.ax_
            limit = f"{100 * threshold:g} %" if is_share else _plain(threshold)
            words = once(self.ax_, f"threshold {limit}")
            self.ax_.axhline(threshold, color=TRUTH, lw=1.0, ls=":", label=words)
            if is_share:
                side.set_ylim(0, 1)
            legend(side)
        side.set_ylabel(name, parse_math=False)
        if is_share:
            shares(side.yaxis)

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
            legend(ax)
        shown = f", with {percent(self.level or 0)} intervals" if errors is not None else ""
        ax.set_xlabel(f"share of people{shown}")
        shares(ax.xaxis)
        return self

    def __repr__(self) -> str:
        return f"<ProportionsDisplay of {len(self.categories):,} categories{_with(self.level)}>"


def _side_by_side(sets: Sequence[Any], places: Floats) -> None:
    """Give every set of horizontal bars, with its error bars, an equal part of each place."""
    height = 0.8 / len(sets)
    for at, bars in enumerate(sets):
        lows = places - 0.4 + at * height
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


@dataclass(repr=False)
class CorrelationsDisplay(Display):
    """Correlations of pairs of questions with their intervals, from -1 to 1.

    Parameters
    ----------
    names
        The pairs.
    values
        Their correlations.
    ends
        Lower and upper ends of the intervals.
    level
        Confidence level.

    Examples
    --------
    >>> ends = np.array([0.2]), np.array([0.4])
    >>> CorrelationsDisplay(("pay & age",), np.array([0.3]), ends, 0.95).plot().ax_.get_xlabel()
    'correlation, 95 % interval'
    """

    names: Sequence[str]
    values: Floats
    ends: tuple[Floats, Floats]
    level: float
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str | None = None, color: str | None = None
    ) -> CorrelationsDisplay:
        """Draw one row for each pair into the given axes, or new ones."""
        self.ax_ = ax = new_axes(6.5, 1.0 + 0.45 * len(self.names)) if ax is None else ax
        rows = np.arange(len(self.names))
        away = np.maximum([self.values - self.ends[0], self.ends[1] - self.values], 0)
        color = next_color(ax) if color is None else color
        ax.axvline(0, color="black", lw=0.8)
        ax.errorbar(
            self.values, rows, xerr=away, fmt="o", color=color, lw=2, capsize=4, label=label
        )
        ax.set_yticks(rows, list(self.names), parse_math=False)
        ax.set(xlim=(-1.0, 1.0), ylim=(len(self.names) - 0.5, -0.5))
        ax.set_xlabel(f"correlation, {percent(self.level)} interval")
        commas(ax.xaxis)
        if label is not None:
            legend(ax)
        return self

    def __repr__(self) -> str:
        return f"<CorrelationsDisplay of {len(self.names):,} pairs{_with(self.level)}>"


@dataclass(repr=False)
class CrossTableDisplay(Display):
    """The cross table of two questions: darker cells hold more people.

    Parameters
    ----------
    names
        The two questions; the first has the rows.
    labels
        Classes of each question.
    shares
        Share of the people in each cell.
    ends
        Lower and upper ends of the intervals of the shares.

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> labels = ("below 40", "40 and more"), ("no", "yes")
    >>> CrossTableDisplay(("pay", "smokes"), labels, half, (half, half)).plot().ax_.get_xlabel()
    'smokes'
    """

    names: tuple[str, str]
    labels: tuple[Sequence[str], Sequence[str]]
    shares: Floats
    ends: tuple[Floats, Floats]
    ax_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> CrossTableDisplay:
        """Draw into the given axes, or new ones; each cell has its share and its interval."""
        rows, columns = (len(each) for each in self.labels)
        self.ax_ = ax = new_axes(2.0 + 1.5 * columns, 1.2 + 0.7 * rows) if ax is None else ax
        most = max(float(self.shares.max()), np.finfo(np.float64).tiny)
        ax.imshow(self.shares, cmap="Blues", vmin=0, vmax=most, aspect="auto")
        for at, share in np.ndenumerate(self.shares):
            low, high = (100 * float(end[at]) for end in self.ends)
            words = f"{100 * share:.1f} %\n{low:.1f} to {high:.1f} %"
            dark = share > 0.6 * most
            ax.text(at[1], at[0], words, ha="center", va="center", color="white" if dark else TRUTH)
        ax.set_yticks(range(rows), list(self.labels[0]), parse_math=False)
        ax.set_xticks(range(columns), list(self.labels[1]), parse_math=False)
        ax.set_ylabel(self.names[0], parse_math=False)
        ax.set_xlabel(self.names[1], parse_math=False)
        return self

    def __repr__(self) -> str:
        return f"<CrossTableDisplay of {' by '.join(self.names)}: {_cells(self.shares)}>"


@dataclass(repr=False)
class TrendDisplay(Display):
    """A quantity in each round with its interval, and the straight line through all rounds.

    Parameters
    ----------
    name
        The quantity.
    rounds
        Numbers of the rounds.
    values
        The quantity in each round.
    ends
        Lower and upper ends of the intervals.
    line
        The fitted line at each round.
    level
        Confidence level.
    is_share
        Whether the quantity is a share of people, written in percent.

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> TrendDisplay("mean", x, x, (x - 1, x + 1), x, 0.95).plot().ax_.get_ylabel()
    'mean, 95 % interval'
    """

    name: str
    rounds: Floats
    values: Floats
    ends: tuple[Floats, Floats]
    line: Floats
    level: float
    is_share: bool = False
    ax_: Any = field(default=None, init=False)

    def plot(
        self, ax: Any = None, *, label: str = "estimate", color: str | None = None
    ) -> TrendDisplay:
        """Draw into the given axes, or new ones; see `DensityDisplay.plot`."""
        from matplotlib.ticker import MaxNLocator

        self.ax_ = ax = new_axes() if ax is None else ax
        color = next_color(ax) if color is None else color
        away = np.maximum([self.values - self.ends[0], self.ends[1] - self.values], 0)
        marks = {"fmt": "o", "color": color, "lw": 2, "capsize": 4, "label": label}
        ax.errorbar(self.rounds, self.values, yerr=away, **marks)
        ax.plot(self.rounds, self.line, color=color, lw=1.4, ls="--", label=once(ax, "fitted line"))
        ax.set_xlabel("round")
        ax.set_ylabel(f"{self.name}, {percent(self.level)} interval", parse_math=False)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if self.is_share:
            shares(ax.yaxis)
        else:
            commas(ax.yaxis)
        legend(ax)
        return self

    def __repr__(self) -> str:
        return f"<TrendDisplay of the {self.name}, {self.rounds.size:,} rounds{_with(self.level)}>"
