"""Phases of one question: zoomed lattices, their stacked law, counts and estimates of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidInput, Mismatch, Unsupported
from confide.estimators.zooms import LEAST, zoom
from confide.lattice import ZOOM
from confide.mechanisms.stacked import Onto, Stacked
from confide.summaries import Counts, Summaries


def lattice(size: int = 64, ends: tuple[float, float] | None = (0.25, 0.4)) -> cf.Lattice:
    zoomed = {} if ends is None else {"scale": ZOOM, "zoom": ends}
    return cf.Lattice(low=0, high=1, size=size, **zoomed)


@pytest.mark.parametrize("ends", [(0.3, 0.35), (0.0, 0.1), (0.9, 1.0), (1 / 3, 2 / 3)])
@pytest.mark.parametrize("size", [20, 64, 1024])
def test_every_value_is_between_the_edges_of_its_cell(size: int, ends: tuple[float, float]) -> None:
    made = lattice(size, ends)
    edges = made.edges
    assert edges.size == size + 1
    assert (np.diff(edges) > 0).all()
    assert edges[0] == 0
    assert edges[-1] == 1
    inside = (edges >= ends[0] - 1e-12) & (edges <= ends[1] + 1e-12)
    assert inside.sum() - 1 >= 0.8 * size
    values = np.random.default_rng(1).random(5000)
    values = np.append(values, [0, 1, *ends, *(np.nextafter(end, 0) for end in ends if end)])
    at = made.index(values)
    assert (edges[at] <= values + 1e-12).all()
    assert (values <= edges[at + 1] + 1e-12).all()
    assert made.index([-5, 7]).tolist() == [0, size - 1]
    assert cf.Lattice.from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    "keys",
    [
        {"scale": ZOOM},
        {"zoom": (0.2, 0.3)},
        {"scale": ZOOM, "zoom": (0.3, 0.2)},
        {"scale": ZOOM, "zoom": (-0.1, 0.2)},
        {"scale": ZOOM, "zoom": (0.0, 1.0)},
        {"scale": ZOOM, "zoom": (0.2, math.nan)},
        {"scale": ZOOM, "zoom": (0.2, math.inf)},
        {"scale": ZOOM, "zoom": (0.2, "0.3")},
        {"scale": ZOOM, "zoom": "23"},
        {"scale": ZOOM, "zoom": (0.1, 0.2, 0.3)},
        {"scale": ZOOM, "zoom": (0.2, 0.3), "size": 19},
        {"scale": ZOOM, "zoom": (0, 1), "kind": "integer", "high": 100},
    ],
)
def test_zooms_that_are_refused(keys: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        cf.Lattice(**{"low": 0, "high": 1, "size": 64, **keys})  # type: ignore[arg-type]


def test_only_square_waves_are_zoomed() -> None:
    with pytest.raises(InvalidInput, match="a square wave on a zoomed lattice"):
        cf.Laplace(lattice(), epsilon=1.0)


@pytest.mark.parametrize("declining", [False, True])
def test_scores_on_a_zoomed_lattice_are_unbiased(declining: bool) -> None:
    made = cf.SquareWave(lattice(), epsilon=1.0, prefer_not_to_say=declining)
    expected = np.append(made.lattice.centers, np.zeros(int(declining)))
    assert np.allclose(made.law.adjoint(made.unbiased(1)), expected)


def test_masses_move_between_lattices_by_their_overlap() -> None:
    source, target = lattice(), lattice(ends=None)
    rng = np.random.default_rng(2)
    masses, values = rng.random((2, 64)), rng.random((2, 64))
    onto = Onto(source, target)
    slow = np.zeros((64, 64))
    for i in range(64):
        for j in range(64):
            low = max(source.edges[i], target.edges[j])
            high = min(source.edges[i + 1], target.edges[j + 1])
            slow[i, j] = max(0.0, high - low) / source.widths[i]
    assert np.allclose(onto.forward(masses), masses @ slow)
    assert np.allclose(onto.adjoint(values), values @ slow.T)


def phases(declining: bool = False, size: int = 64) -> tuple[cf.SquareWave, cf.SquareWave]:
    wide, close = (
        cf.SquareWave(lattice(size, ends), epsilon=1.0, prefer_not_to_say=declining)
        for ends in (None, (0.25, 0.4))
    )
    return wide, close


@pytest.mark.parametrize("declining", [False, True])
def test_the_stacked_law_is_the_laws_times_their_shares(declining: bool) -> None:
    wide, close = phases(declining)
    channel = Stacked((wide, close), (0.25, 0.75))
    law = channel.law
    cells = wide.lattice.size
    masses = np.random.default_rng(3).random((2, cells + declining))
    masses /= masses.sum(1, keepdims=True)
    own = Onto(close.lattice, wide.lattice).forward(masses[:, :cells])
    first = wide.law.forward(np.hstack([own, masses[:, cells:]]))
    second = close.law.forward(masses)
    parts = channel.together([0.25 * first[0], 0.75 * second[0]])
    assert np.allclose(law.forward(masses)[0], parts)
    assert np.allclose(law.forward(masses).sum(1), 1)
    values = np.random.default_rng(4).random((2, *law.outputs))
    assert np.allclose((law.forward(masses) * values).sum(1), (masses * law.adjoint(values)).sum(1))
    with pytest.raises(Unsupported):
        law.weights(0)
    with pytest.raises(Unsupported):
        channel.unbiased(1)


@pytest.mark.parametrize("declining", [False, True])
def test_counts_of_phases_add_up_and_are_saved(declining: bool, tmp_path: object) -> None:
    parts = [
        Counts.of(one.simulate([0.3] * n, seed=n))
        for one, n in zip(phases(declining), (40, 60), strict=True)
    ]
    both = Counts.stacked(parts)
    assert both.n == 100
    more = both + Counts.stacked(parts)
    assert more.n == 200
    again = Counts.stacked([parts[0] + parts[0], parts[1] + parts[1]])
    assert np.array_equal(more.counts, again.counts)
    path = f"{tmp_path}/counts.json"
    Summaries({"pay": both}).save(path)
    read = cf.read(path)["pay"]
    assert np.array_equal(read.counts, both.counts)
    assert read.mechanism == both.mechanism
    assert Counts.from_bytes(both.to_bytes()).n == 100
    with pytest.raises(Mismatch):
        both + parts[0]
    assert Counts.stacked([parts[0], parts[0]]).mechanism == parts[0].mechanism
    weighted = Counts.stacked([one.weighted(2.0) for one in parts])
    assert weighted.effective_n == pytest.approx(100)


def test_phases_of_different_questions_are_not_stacked() -> None:
    wide, close = phases()
    other = cf.SquareWave(close.lattice, epsilon=2.0)
    with pytest.raises(Mismatch, match="phases of one question"):
        Stacked((wide, other))
    private = Counts.of(wide.privatize([0.3]))
    with pytest.raises(Mismatch, match="all private or all simulated"):
        Counts.stacked([private, Counts.of(close.simulate([0.3], seed=1))])
    with pytest.raises(InvalidInput):
        Stacked((wide,))


def test_two_phases_tell_more_than_one() -> None:
    rng = np.random.default_rng(5)
    values = 0.30 + 0.05 * rng.beta(2, 5, 40_000)
    wide = cf.SquareWave(lattice(256, None), epsilon=2.0)
    pilot = Counts.of(wide.simulate(values[:10_000], seed=1))
    found = zoom(pilot)
    assert not found.declined
    assert found.lattice.zoom is not None
    start, end = found.lattice.zoom
    assert 0.2 < start < 0.31
    assert 0.34 < end < 0.45
    close = cf.SquareWave(found.lattice, epsilon=2.0)
    both = Counts.stacked([pilot, Counts.of(close.simulate(values[10_000:], seed=2))])
    one = cf.density(Counts.of(wide.simulate(values, seed=3)))
    two = cf.density(both)
    at = np.linspace(0, 1, 2001)
    truth = np.searchsorted(np.sort(values), at) / values.size
    gaps = [np.abs(curve.cdf(at) - truth).mean() for curve in (one, two)]
    assert gaps[1] < 0.6 * gaps[0]
    low, high = two.interval("mean")
    assert low < values.mean() < high
    assert low < two.mean() < high
    ends = [np.ptp(curve.interval("quantile", 0.5)) for curve in (one, two)]
    assert ends[1] < ends[0]


def test_a_pilot_declines_where_people_are_spread_out_or_few() -> None:
    wide = cf.SquareWave(lattice(64, None), epsilon=2.0)
    spread = np.random.default_rng(6).random(5_000)
    assert "more than 70 %" in zoom(Counts.of(wide.simulate(spread, seed=1))).reason
    few = zoom(Counts.of(wide.simulate(spread[: LEAST - 1] / 50, seed=1)))
    assert few.declined
    assert few.lattice == wide.lattice
    with pytest.raises(InvalidInput, match="a square wave"):
        zoom(Counts.of(cf.Laplace(lattice(64, None), epsilon=1.0).simulate([0.3], seed=1)))
