"""Pictures: what their axes say."""

from itertools import pairwise

import numpy as np
import pytest

from confide._figures import logarithmic
from confide.curves import CellDensity, CellRegression, Difference, Line, Proportions
from confide.displays import CYCLE, DensityDisplay, RegressionDisplay, new_axes
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


def test_maps_have_a_colour_bar_and_names_are_not_formulas() -> None:
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
