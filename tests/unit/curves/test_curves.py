from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from confide import Laplace, Lattice
from confide.curves import (
    CellDensity,
    CellRegression,
    Line,
    Proportions,
    WaveDensity,
    WaveRegression,
)
from confide.errors import InvalidInput, Unsupported
from confide.estimators import (
    Deconvolution,
    KernelRegression,
    PartitionClassification,
    PartitionRegression,
    RatioRegression,
)
from confide.lattice import Cells
from confide.mechanisms import Partition
from confide.summaries import CellSums, Counts

EDGES = np.linspace(0, 1, 201)
BETA = CellDensity((EDGES,), np.diff(stats.beta(2, 5).cdf(EDGES)))


def joint() -> CellDensity:
    generator = np.random.default_rng(1)
    masses = generator.random((3, 4, 2))
    edges = (np.array([0, 1, 2, 4.0]), np.linspace(0, 1, 5), np.array([-1.0, 0, 3]))
    return CellDensity(edges, masses / masses.sum(), names=("a", "b", "c"))


def test_a_fine_histogram_is_its_distribution() -> None:
    truth = stats.beta(2, 5)
    x = np.linspace(0.003, 0.997, 50)
    np.testing.assert_allclose(BETA.pdf(x), truth.pdf(x), atol=0.08)
    np.testing.assert_allclose(BETA.cdf(x), truth.cdf(x), atol=1e-4)
    np.testing.assert_allclose(
        BETA.quantile([0.1, 0.5, 0.9]), truth.ppf([0.1, 0.5, 0.9]), atol=1e-4
    )
    assert abs(BETA.mean() - truth.mean()) < 1e-4
    assert abs(BETA.std() - truth.std()) < 1e-4
    assert BETA.pdf([-1, 2]).tolist() == [0, 0]
    assert BETA.cdf([-1, 2]).tolist() == [0, pytest.approx(1)]


def curves(columns: int) -> dict[str, Callable[[npt.ArrayLike], object]]:
    """Every curve of so many columns, as the functions that take places."""
    edges = tuple(np.linspace(0, 1, 5 + axis) for axis in range(columns))
    shape = [edge.size - 1 for edge in edges]
    names = ("x", "y", "z")[:columns] if columns > 1 else ("",)
    masses = np.random.default_rng(1).random(shape)
    waves = np.random.default_rng(2).normal(size=(3, columns))
    ones, ends = np.ones((2, 3)), {"low": (0.0,) * columns, "high": (1.0,) * columns}
    cells = Cells(low=[0] * columns, high=[1] * columns, shape=shape)
    x = np.random.default_rng(3).random((400, columns))
    sums = CellSums.simulate(Partition(cells, bound=1.0, epsilon=4.0), x, x[:, 0], seed=4)
    labels = Partition(cells, epsilon=4.0, classify=True)
    signs = CellSums.simulate(labels, x, np.where(x[:, 0] > 0.5, 1, -1), seed=5)
    partition = PartitionRegression().fit(sums)
    classes = PartitionClassification().fit(signs)
    line = Line(0.0, (1.0,) * columns, lambda: np.eye(columns + 1), **ends, names=names)
    wave = WaveRegression(
        waves, ones, ones, **ends, floor=0.1, bounds=None, reach=ends["low"], names=names
    )
    density = CellDensity(edges, masses / masses.sum(), names=names)
    half = np.zeros(columns)
    linear = WaveDensity(
        waves,
        ones[0],
        ones[0],
        low=half,
        high=half + 1,
        moments=(half, half),
        reach=half,
        names=names,
    )
    found: dict[str, Callable[[npt.ArrayLike], object]] = {
        "cell regression": CellRegression(edges, masses, names=names).predict,
        "partition": partition.predict,
        "partition's interval": lambda at: partition.interval(at)[0],
        "classes": classes.predict,
        "line": line.predict,
        "line's interval": lambda at: line.interval(at)[1],
        "wave regression": wave.predict,
        "cell density": density.pdf,
        "cell distribution": density.cdf,
        "wave density": linear.pdf,
    }
    if columns == 1:
        reports = Laplace(Lattice(low=0, high=1, size=32), epsilon=4.0).simulate(x[:, 0], seed=6)
        fitted = Deconvolution().fit(Counts.of(reports))
        fit = KernelRegression().fit(Counts.of(reports, response=x[:, 0]))
        ratio = RatioRegression().fit(Counts.of(reports, response=x[:, 0]))
        found |= {
            "wave distribution": linear.cdf,
            "density's interval": lambda at: fitted.interval("pdf", at)[0],
            "distribution's interval": lambda at: fitted.interval("cdf", at)[0],
            "kernel": fit.predict,
            "kernel's interval": lambda at: fit.interval(at)[0],
            "ratio": ratio.predict,
            "ratio's interval": lambda at: ratio.interval(at)[0],
        }
    return found


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_every_curve_answers_one_row_a_point_with_one_number_a_point(columns: int) -> None:
    rows = np.random.default_rng(1).random((5, columns))
    for name, ask in curves(columns).items():
        answers = np.asarray(ask(rows))
        assert answers.shape == (5,), name
        assert np.shape(ask(rows[:1])) == (1,), name
        assert np.shape(ask(rows.reshape(5, 1, columns))) == (5, 1), name
        for wrong in (np.zeros((5, columns + 1)), np.zeros((columns, 5, columns + 1))):
            with pytest.raises(InvalidInput, match=f"points of {columns} column"):
                ask(wrong)
        if columns == 1:
            # A number or a list of numbers will do where a point is one number.
            np.testing.assert_array_equal(answers, ask(rows[:, 0]), name)
            np.testing.assert_array_equal(answers[0], ask(rows[0, 0]), name)
            assert np.shape(ask(0.5)) == (), name
            assert np.shape(ask([0.5])) == (1,), name


def test_quantiles_skip_empty_cells() -> None:
    density = CellDensity((np.arange(5.0),), np.array([0, 0.5, 0.5, 0]))
    assert density.quantile([0, 0.5, 1]).tolist() == [1, 2, 3]
    with pytest.raises(InvalidInput, match="0 <= q <= 1"):
        density.quantile(1.5)


def test_samples_follow_the_density() -> None:
    sample = BETA.sample(20_000, seed=1)
    assert stats.kstest(sample, stats.beta(2, 5).cdf).pvalue > 1e-4
    assert (BETA.sample(5, seed=1) == BETA.sample(5, seed=1)).all()
    assert (BETA.sample(5) != BETA.sample(5)).any()


def test_joint_cdf_and_marginals() -> None:
    density = joint()
    sample = density.sample(200_000, seed=2)
    assert sample.shape == (200_000, 3)
    for point in ([1.5, 0.3, 1.0], [3.0, 0.9, -0.5], [9, 9, 9]):
        share = (sample <= point).all(axis=1).mean()
        assert abs(density.cdf(point) - share) < 0.005
    np.testing.assert_allclose(sample.mean(0), density.mean(), atol=0.02)
    np.testing.assert_allclose(sample.std(0), density.std(), atol=0.02)
    alone = density.marginal("a")
    assert abs(alone.cdf(1.5) - (sample[:, 0] <= 1.5).mean()) < 0.005
    assert density.pdf([[0.5, 0.1, 1.0], [9, 9, 9]])[1] == 0
    with pytest.raises(Unsupported, match="marginal"):
        density.quantile(0.5)
    with pytest.raises(InvalidInput, match="column"):
        density.marginal("z")
    with pytest.raises(InvalidInput, match="3 columns"):
        density.pdf([1.0, 2.0])


def test_negative_masses_stay_until_cells_are_asked_for() -> None:
    linear = CellDensity((np.arange(4.0),), np.array([-0.2, 0.7, 0.5]))
    assert linear.pdf(0.5) < 0
    assert linear.cells.masses.tolist() == [0, pytest.approx(7 / 12), pytest.approx(5 / 12)]
    assert linear.sample(100, seed=1).min() >= 1


def wave() -> WaveDensity:
    # The normal law as a sum of waves: (1/pi) int_0^T e^(-t^2/2) cos(t (x - 1)) dt.
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t = (nodes + 1) * 4.5
    size = weights * 4.5 * np.exp(-t * t / 2) / np.pi
    return WaveDensity(
        t[:, None],
        size * np.cos(t),
        size * np.sin(t),
        low=np.array([-5.0]),
        high=np.array([7.0]),
        moments=(np.array([1.0]), np.array([1.0])),
        reach=np.array([10.0]),
    )


def test_waves() -> None:
    density, truth = wave(), stats.norm(1, 1)
    x = np.linspace(-3, 5, 41)
    np.testing.assert_allclose(density.pdf(x), truth.pdf(x), atol=1e-8)
    np.testing.assert_allclose(density.cdf(x), truth.cdf(x), atol=1e-6)
    assert abs(density.quantile(0.5) - 1) < 1e-3
    assert density.mean() == 1
    assert density.pdf([-100, 100]).tolist() == [0, 0]
    assert density.cdf([-100, 100]).tolist() == [0, 1]
    assert stats.kstest(density.sample(5000, seed=3), truth.cdf).pvalue > 1e-4
    json.dumps(density.to_dict())


def test_json_form() -> None:
    for density in (BETA, joint()):
        again = CellDensity.from_dict(json.loads(json.dumps(density.to_dict())))
        assert (again.masses == density.masses).all()
        assert again.names == density.names
    for bad in (
        {**BETA.to_dict(), "masses": [1.0]},
        {**BETA.to_dict(), "curve": "proportions"},
        {**BETA.to_dict(), "names": ["a", "b"]},
        {**BETA.to_dict(), "edges": [list(reversed(BETA.to_dict()["edges"][0]))]},
        {**BETA.to_dict(), "masses": [float("nan")] * 200},
        {**BETA.to_dict(), "edges": 3},
        [],
    ):
        with pytest.raises(InvalidInput):
            CellDensity.from_dict(bad)
    again = WaveDensity.from_dict(json.loads(json.dumps(wave().to_dict())))
    assert again.pdf(0.3) == wave().pdf(0.3)
    shares = Proportions(("a", "b"), np.array([0.4, 0.6]))
    assert Proportions.from_dict(json.loads(json.dumps(shares.to_dict()))).share("b") == 0.6
    with pytest.raises(ValueError, match="read-only"):
        BETA.masses[0] = 1


class Fixed:
    def mean(self, level: float) -> tuple[float, float]:
        return 0.2, 0.3

    def quantile(self, q: float, level: float) -> tuple[float, float]:
        return q - level / 10, q + level / 10

    def cdf(self, x: float, level: float) -> tuple[float, float]:
        return x, x

    def pdf(self, x: float, level: float) -> tuple[float, float]:
        raise Unsupported("no band")


def test_intervals_come_from_the_estimator() -> None:
    density = CellDensity(BETA.edges, BETA.masses, intervals=Fixed())
    assert density.interval("mean") == (0.2, 0.3)
    # The fixed interval lies above the estimate, which it is made to hold.
    low, high = density.interval("quantile", 0.5, level=0.5)
    assert (low, high) == (density.quantile(0.5), 0.55)
    for what, at in (("mean", None), ("quantile", 0.5), ("cdf", np.float64(0.5))):
        assert [type(end) for end in density.interval(what, at)] == [float, float]
    assert density.interval("quantile", [0.5])[0].shape == (1,)
    assert density.interval("median", level=0.5) == (density.median(), 0.55)
    for what in ("mean", "median"):
        with pytest.raises(InvalidInput, match="no place"):
            density.interval(what, 0.5)
    with pytest.raises(InvalidInput, match="place"):
        density.interval("cdf")
    with pytest.raises(InvalidInput, match="level"):
        density.interval("mean", level=95)
    with pytest.raises(InvalidInput, match="for 'what', got 'mode'"):
        density.interval("mode")
    with pytest.raises(Unsupported):
        BETA.interval("mean")


def test_pictures() -> None:
    pytest.importorskip("matplotlib")
    density = CellDensity(BETA.edges, BETA.masses, facts={"n": 3}, intervals=Fixed())
    display = density.plot()
    assert len(display.ax_.lines) >= 2
    assert wave().plot().ax_.get_ylabel().startswith("share of people per ")
    flat = joint()
    two = CellDensity(flat.edges[:2], flat.masses.sum(2), names=("a", "b"))
    assert two.plot().ax_.get_ylabel() == "b"
    with pytest.raises(Unsupported, match="marginal"):
        flat.plot()
    assert "<svg" in density._repr_html_()
    assert "n=3" in repr(density)
    shares = Proportions(("a", "b"), np.array([0.4, 0.6]))
    assert shares.plot().ax_.get_xlabel() == "share of people"


def test_proportions() -> None:
    shares = Proportions(("a", "b"), np.array([0.4, 0.6]))
    assert shares.share("b") == 0.6
    assert abs((shares.sample(10_000, seed=1) == "a").mean() - 0.4) < 0.03
    with pytest.raises(InvalidInput, match="category"):
        shares.share("c")
    with pytest.raises(Unsupported):
        shares.interval("a")
    assert json.loads(json.dumps(shares.to_dict()))["shares"] == [0.4, 0.6]


def test_coefficients_as_a_table() -> None:
    matrix = np.diag([4.0, 0.01, 0.04])
    line = Line(
        1.0, (2.0, -3.0), lambda: matrix, low=(0, 0), high=(1, 1), names=("pay", "age")
    )  # fmt: skip
    table = line.coefficients()
    assert table.term.tolist() == ["intercept", "pay", "age"]
    assert table.estimate.tolist() == [1.0, 2.0, -3.0]
    np.testing.assert_allclose(table.error, [2.0, 0.1, 0.2])
    np.testing.assert_allclose(table.high - table.estimate, 1.959964 * table.error)
    np.testing.assert_allclose(table.estimate - table.low, 1.959964 * table.error)
    wide = line.coefficients(level=0.99)
    assert (wide.high > table.high).all()
    assert "slope of pay" in line._repr_html_()
    one = Line(1.0, (2.0,), lambda: matrix[:2, :2], low=(0,), high=(1,))
    assert one.coefficients().term.tolist() == ["intercept", "x"]
    assert repr(line).startswith("<Line 1 + 2 pay - 3 age, ")
    assert repr(one).startswith("<Line 1 + 2 x, ")


def test_an_interval_holds_its_estimate_where_the_density_is_at_its_floor() -> None:
    class Far:
        def interval(self, x: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
            return np.full(x.shape, 5.0), np.full(x.shape, 6.0)

    flat = np.array([[0.1], [0.0]])
    waves = {"low": (0.0,), "high": (1.0,), "floor": 1.0, "bounds": None}
    curve = WaveRegression(np.zeros((1, 1)), flat, 5.5 * flat, **waves, band=Far())
    assert curve.predict(0.5) == pytest.approx(0.55)
    assert curve.interval(0.5) == pytest.approx((0.55, 6.0))
    low, high = curve.interval([0.2, 0.8])
    assert low.tolist() == pytest.approx([0.55, 0.55])
    assert high.tolist() == [6.0, 6.0]
