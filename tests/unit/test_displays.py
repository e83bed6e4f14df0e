"""Pictures: what their axes say."""

import numpy as np
import pytest

from confide.curves import CellDensity, Proportions
from confide.displays import DensityDisplay, RegressionDisplay, logarithmic
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
