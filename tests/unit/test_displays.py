"""Pictures: what their axes say."""

from itertools import pairwise

import numpy as np
import pytest

from confide._figures import logarithmic
from confide.curves import (
    CellDensity,
    CellRegression,
    Classification,
    Difference,
    Line,
    Proportions,
)
from confide.curves.copula import Copula, Relation
from confide.curves.density import SimultaneousBand
from confide.displays import CYCLE, DensityDisplay, RegressionDisplay, new_axes
from confide.errors import InvalidInput
from confide.estimators.trends import Point, Trend
from confide.lattice import Lattice


def test_log_lattices_are_known_by_their_edges() -> None:
    assert logarithmic(Lattice(low=0.01, high=1e6, size=1024, scale="log").edges)
    assert logarithmic(Lattice(low=20_000, high=90_000, size=2, scale="log").edges)
    for low in (-1, 0, 1e-9, 1, 1e6):
        assert not logarithmic(Lattice(low=low, high=low + 10, size=64).edges)


def test_log_axis_keeps_areas() -> None:
    edges = Lattice(low=10, high=100_000, size=16, scale="log").edges
    masses = np.random.default_rng(1).dirichlet(np.ones(16))
    band = (masses / np.diff(edges),) * 2
    drawn = DensityDisplay((edges,), masses / np.diff(edges), ("pay",), band, (50, 90), 0.9).plot()
    ax = drawn.ax_
    assert ax.get_xscale() == "log"
    (step,) = (patch for patch in ax.patches if hasattr(patch, "get_data"))
    heights = step.get_data().values
    assert heights * np.diff(np.log10(edges)) == pytest.approx(masses)
    assert "factor of 10" in ax.get_ylabel()
    assert repr(drawn) == "<DensityDisplay of 16 cells, level 0.9>"


def test_large_numbers_have_commas() -> None:
    ax = CellDensity((np.linspace(-1e5, 1e5, 9),), np.full(8, 1 / 8)).plot().ax_
    assert ax.get_xscale() == "linear"
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert {"100,000", "\u2212100,000", "0"} <= set(labels)


def test_maps_have_a_color_bar_and_names_are_not_formulas() -> None:
    edges = (np.linspace(0, 1, 4), np.geomspace(1, 1000, 7))
    display = DensityDisplay(edges, np.ones((3, 6)), ("$a", "b$_")).plot()
    display.ax_.figure.canvas.draw()
    assert len(display.ax_.figure.axes) == 2
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("linear", "log")
    assert repr(display) == "<DensityDisplay of 3 x 6 cells>"


def test_others_have_a_short_name_too() -> None:
    x = np.linspace(0, 1, 5)
    assert repr(RegressionDisplay((x,), x).plot()) == "<RegressionDisplay at 5 points>"
    shares = Proportions(("no", "$yes$"), np.array([0.7, 0.3])).plot(level=None)
    shares.ax_.figure.canvas.draw()
    assert repr(shares) == "<ProportionsDisplay of 2 categories>"


class Ends:
    """Intervals of a density, of a curve and of shares, all of one width."""

    def quantile(self, q, level):
        return np.asarray(q) - 0.1, np.asarray(q) + 0.1

    def pdf(self, x, level):
        return np.zeros(np.shape(x)), np.full(np.shape(x), 2.0)

    def interval(self, x, level):
        return x - 1, x + 1

    def shares(self, level):
        return np.array([0.6, 0.2]), np.array([0.8, 0.4])


def density() -> CellDensity:
    return CellDensity((np.linspace(0, 1, 9),), np.full(8, 1 / 8), intervals=Ends())


def regression() -> CellRegression:
    line = Line(0.0, (1.0,), lambda: np.zeros((2, 2)), low=(0.0,), high=(1.0,))
    edges = (np.linspace(0, 1, 9),)
    return CellRegression(edges, np.arange(8.0), band=Ends(), baseline=line)


def shares() -> Proportions:
    return Proportions(("no", "yes"), np.array([0.7, 0.3]), intervals=Ends())


def legend(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("make", [density, regression, shares])
def test_two_curves_in_one_axes_have_two_colors_and_one_legend(make) -> None:
    ax = make().plot(label="north").ax_
    assert make().plot(ax, label="south").ax_ is ax
    texts = legend(ax)
    assert len(texts) == len(set(texts))
    assert {"north", "south"} <= set(texts)
    pairs = zip(*ax.get_legend_handles_labels(), strict=True)
    colors = {label: handle for handle, label in pairs}
    from matplotlib.colors import to_hex

    def color(handle) -> str:
        if hasattr(handle, "patches"):
            return to_hex(handle.patches[0].get_facecolor())
        return to_hex(
            handle.get_edgecolor() if hasattr(handle, "get_edgecolor") else handle.get_color()
        )

    assert (color(colors["north"]), color(colors["south"])) == CYCLE[:2]
    ax.figure.canvas.draw()


def test_axes_of_somebody_else_keep_their_own_cycle_and_a_color_may_be_given() -> None:
    ax = new_axes()
    ax.set_prop_cycle(color=["#111111", "#222222"])
    for label, color, drawn in (
        ("a", None, "#111111"),
        ("b", "#abcdef", "#abcdef"),
        ("c", None, "#222222"),
    ):
        regression().plot(ax, label=label, color=color, level=None)
        assert ax.lines[-1].get_color() == drawn
    assert legend(ax).count("corrected line") == 1


def test_bars_stand_side_by_side_with_their_intervals() -> None:
    ax = shares().plot(label="north").ax_
    shares().plot(ax, label="south")
    shares().plot(ax, label="west")
    bars = [bar for bars in ax.containers if hasattr(bars, "patches") for bar in bars.patches]
    spans = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars)
    assert all(one[1] <= two[0] + 1e-9 for one, two in pairwise(spans))
    assert ax.yaxis_inverted()
    middles = [
        line.get_segments()[0][0][1]
        for bars in ax.containers
        if hasattr(bars, "patches")
        for line in bars.errorbar.lines[2]
    ]
    assert middles == pytest.approx([-0.8 / 3, 0, 0.8 / 3])


def test_differences_are_rows() -> None:
    made = {"first": 2.0, "second": 1.0, "low": 0.5, "high": 1.5, "level": 0.9}
    ax = Difference(what="quantile", at=0.5, **made).plot().ax_
    display = Difference(what="mean", at=None, **made).plot(ax, label="mean pay")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["median", "mean pay"]
    assert repr(display) == "<DifferenceDisplay of the mean, level 0.9>"


def test_plans_and_designs_share_axes() -> None:
    from confide.gamma import optimal_gamma
    from confide.planning import plan

    made = plan(n=500, epsilon=1.0, low=0, high=9, surveys=2, size=16, mechanisms="laplace")
    ax = made.plot(label="now").ax_.figure.axes
    made.plot(ax, label="later", color="#222222")
    assert legend(ax[0]) == ["now: laplace", "later: laplace"]
    values = np.random.default_rng(1).normal(size=100)
    design = optimal_gamma(values, replicates=0)
    ax = design.plot(label="one").ax_
    design.plot(ax, label="two")
    assert sorted(legend(ax)) == sorted(
        {"one", "two", "taken", "no scale protects left of", "floor"}
    )


def test_no_share_of_people_is_above_all_of_them() -> None:
    # Nearly everybody in a hundredth of the bounds: per 100,000 the share would be 990 %.
    edges = np.linspace(0, 1_000_000, 101)
    ax = CellDensity((edges,), np.where(np.arange(100) == 3, 0.99, 0.01 / 99)).plot().ax_
    assert ax.get_ylabel() == "share of people per width of 10,000"
    ax.figure.canvas.draw()
    assert "100 %" in [label.get_text() for label in ax.get_yticklabels()]


def test_points_are_bars_with_the_share_of_each() -> None:
    edges = np.array([-50.0, 50.0, 150.0, 250.0])
    density = CellDensity((edges,), np.array([0.5, 0.2, 0.3]), kinds=("points",))
    ax = density.plot().ax_
    assert ax.get_ylabel() == "share of each point"
    assert ax.yaxis.get_major_formatter()(0.5 / 100) == "50 %"
    assert any(patch.get_fill() for patch in ax.patches)


def test_a_classifier_shows_its_probability_and_threshold() -> None:
    score = CellRegression((np.array([0.0, 1.0, 2.0]),), np.array([0.2, 0.9]))
    ax = Classification(score, labels=("no", "yes")).plot().ax_
    assert ax.get_ylabel() == "probability of yes"
    assert ax.get_ylim() == (0, 1)
    assert "threshold 50 %" in legend(ax)
    ax = Classification(score, labels=("no", "yes"), threshold=0.3).plot().ax_
    assert ax.get_ylabel() == "score of yes"
    edges = (np.array([0.0, 1.0, 2.0]),) * 2
    table = CellRegression(edges, np.array([[0.2, 0.9], [0.1, 0.4]]), names=("a", "b"))
    figure = Classification(table).plot().ax_.figure
    assert figure.axes[-1].get_ylabel() == "probability of 1"


def test_a_band_of_a_cdf_never_falls_between_places() -> None:
    x = np.array([0.0, 1.0, 2.0])
    band = SimultaneousBand(what="cdf", x=x, low=x / 4, high=x / 2, level=0.9)
    (drawn,) = band.plot().ax_.collections
    corners = drawn.get_paths()[0].vertices
    # Between 0 and 1: from the lower end at 0 to the upper end at 1.
    inside = corners[(corners[:, 0] == 0.0), 1]
    assert (inside.min(), inside.max()) == (0.0, 0.5)
    pdf = SimultaneousBand(what="pdf", x=x, low=x, high=x + 1, level=0.9).plot()
    assert pdf.ax_.get_ylabel() == "share of people per width of 0.1"
    assert repr(pdf) == "<BandDisplay of the pdf at 3 places, level 0.9>"


def relation(correlation: float) -> Relation:
    shares = np.array([[0.4, 0.1], [0.1, 0.4]])
    return Relation(
        ("$pay", "smokes"), 500, correlation=correlation, low=0.2, high=0.6, error=0.1,
        labels=(("below 40", "40 and more"), ("no", "yes")),
        shares=shares, ends=(shares - 0.05, shares + 0.05), bit=True,
    )  # fmt: skip


def test_relations_are_rows_and_a_table() -> None:
    margin = Proportions(("no", "yes"), np.array([0.5, 0.5]))
    model = Copula({"$pay": margin, "smokes": margin}, (relation(0.4),))
    display = model.plot(label="staff")
    display.ax_.figure.canvas.draw()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["$pay & smokes"]
    assert display.ax_.get_xlabel() == "correlation, 95 % interval"
    assert repr(display) == "<CorrelationsDisplay of 1 pairs, level 0.95>"
    table = relation(0.4).plot()
    table.ax_.figure.canvas.draw()
    assert table.ax_.texts[0].get_text() == "40.0 %\n35.0 to 45.0 %"
    assert repr(table) == "<CrossTableDisplay of $pay by smokes: 2 x 2 cells>"
    with pytest.raises(InvalidInput, match="No pair was asked for"):
        Copula({"smokes": margin}, ()).plot()


def test_a_trend_has_a_point_for_each_round_and_its_line() -> None:
    rounds = {number: Point(10.0 * number, 10.0 * number - 1, 10.0 * number + 1)
              for number in (1, 2, 4)}  # fmt: skip
    found = Trend("mean", 0.95, rounds, {}, Point(10.0, 9.0, 11.0))
    display = found.plot(label="staff")
    assert display.line == pytest.approx(display.values)
    assert set(legend(display.ax_)) == {"staff", "fitted line"}
    assert display.ax_.get_ylabel() == "mean, 95 % interval"
    shares = {1: Point(0.5, 0.4, 0.6), 2: Point(0.6, 0.5, 0.7)}
    ax = Trend("yes", 0.9, shares, {}, Point(0.1, 0.0, 0.2)).plot().ax_
    assert ax.get_ylabel() == "share of yes, 90 % interval"
    assert ax.yaxis.get_major_formatter()(0.5) == "50 %"


def test_long_numbers_below_narrow_axes_do_not_touch() -> None:
    from matplotlib.figure import Figure

    edges = np.linspace(0.0, 300_000.0, 11)
    for panels, width in ((1, 6.4), (3, 12.0), (4, 9.0)):
        figure = Figure(figsize=(width, 3.0))
        for ax in np.ravel(figure.subplots(1, panels)):
            DensityDisplay((edges,), np.ones(10) / 3e5).plot(ax)
            figure.canvas.draw()
            ends = [label.get_window_extent() for label in ax.get_xticklabels()]
            shown = [end for end in ends if ax.bbox.x0 <= (end.x0 + end.x1) / 2 <= ax.bbox.x1]
            assert len(shown) >= 2
            assert all(a.x1 < b.x0 for a, b in pairwise(shown))
    ax.set_xticks([0, 10_000, 20_000])
    assert DensityDisplay((edges,), np.ones(10) / 3e5).plot(ax).ax_.get_xticks().size == 3
