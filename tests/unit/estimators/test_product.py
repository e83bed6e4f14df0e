"""Regression on several covariates, against the formula summed directly."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from evidence.oracle import OracleRegression

from confide import curves
from confide.curves import NodeRegression
from confide.curves.regression import chebyshev
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators import (
    Deconvolution,
    KernelRegression,
    LinearRegression,
    bandwidths,
    division,
    product,
    regression_bandwidths,
)
from confide.estimators.bandwidths import named
from confide.foreign import Custom, Gaussian, Laplace, NoNoise, Spectrum, TwoSidedGamma

pytestmark = pytest.mark.filterwarnings(
    "ignore:The estimated density", "ignore:The numbers spread so far that the bandwidth"
)
SCALES = (0.1, 0.08, 0.0)
LAWS = (Laplace(scale=SCALES[0]), Gaussian(scale=SCALES[1]), NoNoise())


def surface(x):
    """A wave, a parabola and a line, of as many covariates as there are."""
    parts = (np.sin(4 * x[..., 0]), x[..., 1:2].sum(axis=-1) ** 2, -x[..., 2:].sum(axis=-1))
    return sum(parts)


def data(n, axes=(0, 1, 2), seed=1, **options):
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 2, (n, len(axes)))
    y = surface(x) + rng.normal(0, 0.2, n)
    z = x.copy()
    for at, axis in enumerate(axes):
        if axis == 0:
            z[:, at] += rng.laplace(0, SCALES[0], n)
        elif axis == 1:
            z[:, at] += rng.normal(0, SCALES[1], n)
    laws = [LAWS[axis] for axis in axes]
    return x, Spectrum.of(z, noise=laws, response=y, low=0, high=1, **options)


def phi(u):
    return np.exp(-u * u / 2) / math.sqrt(2 * math.pi)


def adjusted(axis, u, h):
    """The Gaussian kernel with the noise undone, by hand.

    (1 - b**2 d2/du2) for Laplace noise; a narrower Gaussian for Gaussian noise; itself for none.
    """
    if axis == 0:
        return phi(u / h) * (1 - (SCALES[0] / h) ** 2 * ((u / h) ** 2 - 1)) / h
    left = math.sqrt(h**2 - SCALES[axis] ** 2)
    return phi(u / left) / left


def direct(places, spectrum, axes, h, *, skip=False):
    """The two sums of equation (7) of Farokhi (2020), term by term."""
    weight = np.ones((len(places), spectrum.n))
    for at, (axis, b) in enumerate(zip(axes, h, strict=True)):
        weight *= adjusted(axis, places[:, [at]] - spectrum.values[:, at], b)
    if skip:
        np.fill_diagonal(weight, 0)
    return weight.mean(axis=1), (weight * spectrum.response).mean(axis=1), weight


@pytest.mark.parametrize("axes", [(0, 0), (0, 1), (1, 2), (2, 2), (0, 1, 2), (0, 0, 0), (2, 1, 0)])
def test_the_surface_is_the_formula(axes):
    _, spectrum = data(400, axes)
    h = (0.15, 0.2, 0.25)[: len(axes)]
    places = np.random.default_rng(2).random((30, len(axes)))
    density, weighed, _ = direct(places, spectrum, axes, h)
    curve = KernelRegression(bandwidth=h, floor=1e-9, clip=False).fit(spectrum)
    assert isinstance(curve, NodeRegression)
    found = curve.sums(places)
    largest = np.abs(density).max()
    np.testing.assert_allclose(found[0], density, rtol=0, atol=1e-8 * largest)
    np.testing.assert_allclose(found[1], weighed, rtol=0, atol=1e-8 * largest)
    expected = weighed / np.maximum(density, 1e-9)
    np.testing.assert_allclose(curve.predict(places), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "fan", "cauchy"])
def test_other_kernels_and_other_laws(kernel):
    """Two-sided gamma and custom noise: the kernel by numerical integration of its transform."""
    rng = np.random.default_rng(3)
    laws = (
        TwoSidedGamma(shape=0.8, scale=0.1),
        Custom(characteristic=lambda t: 1 / (1 + 0.02 * t * t) ** 0.7, variance=0.028),
    )
    z = rng.normal(0.5, 0.3, (50, 2))
    y = rng.normal(0, 1, 50)
    h, places = (0.2, 0.25), rng.random((5, 2))
    weight = np.ones((5, 50))
    for at, law in enumerate(laws):
        t = np.linspace(0, {"fan": 1, "gaussian": 9, "cauchy": 40}[kernel] / h[at], 40_001)
        factor = named(kernel).transform(h[at] * t) / law.characteristic(t) / math.pi
        away = (places[:, [at]] - z[:, at]).ravel()
        values = [np.trapezoid(factor * np.cos(t * u), t) for u in away]
        weight *= np.reshape(values, (5, 50))
    spectrum = Spectrum.of(z, noise=laws, response=y, low=0, high=1)
    curve = KernelRegression(kernel=kernel, bandwidth=h, clip=False, floor=1e-6).fit(spectrum)
    found = np.stack(curve.sums(places))
    expected = np.stack([weight.mean(axis=1), (weight * y).mean(axis=1)])
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_noise_that_varies_from_number_to_number():
    rng = np.random.default_rng(4)
    n, h = 200, (0.2, 0.2)
    scale = rng.choice([0.02, 0.08], n)
    x = rng.beta(2, 2, (n, 2))
    z = x + np.column_stack([rng.normal(0, 1, n) * scale, rng.laplace(0, 0.1, n)])
    y = x[:, 0]
    spectrum = Spectrum.of(
        z, noise=(Gaussian(scale=scale), Laplace(scale=0.1)), response=y, low=0, high=1
    )
    places = rng.random((7, 2))
    t = np.linspace(0, 9 / h[0], 20_001)
    mean_square = (np.exp(-(np.multiply.outer(t, scale) ** 2))).mean(axis=1)
    terms = np.exp(-((h[0] * t) ** 2) / 2) / mean_square / math.pi
    first = [
        [
            np.trapezoid(terms * np.exp(-((s * t) ** 2) / 2) * np.cos(t * (p - one)), t)
            for one, s in zip(z[:, 0], scale, strict=True)
        ]
        for p in places[:, 0]
    ]
    weight = np.array(first) * adjusted(0, places[:, [1]] - z[:, 1], h[1])
    curve = KernelRegression(bandwidth=h, clip=False).fit(spectrum)
    np.testing.assert_allclose(curve.sums(places)[0], weight.mean(axis=1), atol=1e-7)
    low, high = curve.interval(places)
    assert (low <= high).all()


def test_a_covariate_that_hardly_counts_leaves_the_others_alone():
    """With a very wide bandwidth on the second covariate, its factor is a constant."""
    rng = np.random.default_rng(5)
    x = rng.beta(2, 2, 3000)
    y = np.sin(5 * x) + rng.normal(0, 0.2, x.size)
    z = x + rng.laplace(0, 0.1, x.size)
    one = Spectrum.of(z, noise=Laplace(scale=0.1), response=y, low=0, high=1)
    other = rng.random(x.size)
    two = Spectrum.of(
        np.column_stack([z, other]),
        noise=(Laplace(scale=0.1), NoNoise()),
        response=y,
        low=0,
        high=1,
    )
    alone = KernelRegression(bandwidth=0.1).fit(one)
    beside = KernelRegression(bandwidth=(0.1, 1e5)).fit(two)
    places = np.linspace(0.1, 0.9, 9)
    at = np.column_stack([places, np.full(9, 0.4)])
    # The floor of a density that is spread over a hundred thousand units is another one.
    density, weighed = beside.sums(at)
    expected = alone.sums(places)
    ratio = expected[1] / expected[0]
    np.testing.assert_allclose(weighed / density, ratio, rtol=1e-6, atol=1e-8)


def test_only_public_covariates_are_the_ordinary_kernel():
    x, spectrum = data(500, (2, 2))
    places, h = x[:9], (0.1, 0.15)
    weight = phi((places[:, [0]] - x[:, 0]) / h[0]) * phi((places[:, [1]] - x[:, 1]) / h[1])
    expected = weight @ spectrum.response / weight.sum(axis=1)
    curve = KernelRegression(bandwidth=h).fit(spectrum)
    np.testing.assert_allclose(curve.predict(places), expected, rtol=1e-7)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("bandwidth", ["plug-in", "corrected-cv"])
def test_recovers_a_surface(axes, bandwidth):
    x, spectrum = data(20_000, axes)
    nothing = [NoNoise()] * len(axes)
    naive = Spectrum.of(spectrum.values, noise=nothing, response=spectrum.response)
    truth = surface(x[:2000])
    errors = [
        np.mean((KernelRegression(bandwidth=bandwidth).fit(one).predict(x[:2000]) - truth) ** 2)
        for one in (spectrum, naive)
    ]
    assert errors[0] < 0.7 * errors[1]
    assert errors[0] < 0.1 * truth.var()


def test_intervals_cover_the_smoothed_surface():
    """The mean of both sums over samples is what the intervals are for."""
    places, h = np.array([[0.3, 0.5, 0.5], [0.5, 0.5, 0.4], [0.6, 0.4, 0.5]]), (0.25, 0.25, 0.25)
    rng = np.random.default_rng(6)
    nodes = np.linspace(0.0005, 0.9995, 1000)
    share = 6 * nodes * (1 - nodes) / 1000
    smooth = [phi((places[:, [at]] - nodes) / b) * share for at, b in enumerate(h)]
    total = [part.sum(axis=1) for part in smooth]
    means = [
        (part * value).sum(axis=1) / mass
        for part, value, mass in zip(
            smooth, (np.sin(4 * nodes), nodes**2, -nodes), total, strict=True
        )
    ]
    target = sum(means)
    hits, turns = np.zeros(3), 60
    for _ in range(turns):
        _, spectrum = data(1000, seed=rng.integers(2**31))
        low, high = KernelRegression(bandwidth=h).fit(spectrum).interval(places, level=0.9)
        hits += (low <= target) & (target <= high)
    assert (hits / turns > 0.82).all()
    assert (hits / turns < 0.97).all()


def test_interval_is_fieller_on_the_direct_sums():
    axes, h = (0, 2), (0.2, 0.2)
    _, spectrum = data(1000, axes)
    places = np.array([[0.4, 0.5], [0.6, 0.3]])
    density, _, weight = direct(places, spectrum, axes, h)
    y = spectrum.response - spectrum.response.mean()
    ratio = (weight * y).mean(axis=1) / density
    error = (weight * (y - ratio[:, None])).std(axis=1) / density / math.sqrt(spectrum.n)
    low, high = KernelRegression(bandwidth=h).fit(spectrum).interval(places)
    np.testing.assert_allclose((high - low) / 2, 1.96 * error, rtol=0.05)


def left_out_loss(spectrum, axes, places, loss, h):
    density, weighed, _ = direct(places, spectrum, axes, h, skip=True)
    n, y = spectrum.n, spectrum.response
    density, weighed = density * n / (n - 1), weighed * n / (n - 1)
    least = 0.05
    fitted = y.mean() + (weighed - y.mean() * density) / np.maximum(density, least)
    return loss(y, np.clip(fitted, y.min(), y.max())).sum()


@pytest.mark.parametrize(
    ("loss", "function"),
    [
        ("squared", lambda y, m: (y - m) ** 2),
        ("absolute", lambda y, m: np.abs(y - m)),
        (lambda y, m: (y - m) ** 4, lambda y, m: (y - m) ** 4),
    ],
)
@pytest.mark.parametrize("axes", [(0,), (0, 2), (0, 1, 2)])
def test_cv_at_z_minimizes_the_loss_at_the_noised_numbers(axes, loss, function):
    _, spectrum = data(300, axes)
    curve = KernelRegression(bandwidth="cv-at-z", loss=loss).fit(spectrum)
    h = np.atleast_1d(curve.facts["bandwidth"])
    step = 25 ** (1 / (regression_bandwidths.CANDIDATES[len(axes)] - 1))
    at = [
        left_out_loss(spectrum, axes, spectrum.values, function, h * factor)
        for factor in (1 / step, 1.0, step)
    ]
    # Of three covariates the smallest bandwidth that is within reach may be the best.
    assert at[1] <= min(at[1:] if len(axes) == 3 else at) * (1 + 1e-9)


def test_cv_at_z_is_the_oracle_at_the_noised_numbers():
    x, spectrum = data(300, (0, 2))
    at_z = KernelRegression(bandwidth="cv-at-z").fit(spectrum).facts["bandwidth"]
    places = OracleRegression(places=spectrum.values).fit(spectrum).facts["bandwidth"]
    assert at_z == places
    oracle = OracleRegression(places=x).fit(spectrum).facts["bandwidth"]
    assert oracle[0] < at_z[0]


def test_cv_at_z_of_noise_that_varies():
    rng = np.random.default_rng(7)
    x = rng.beta(2, 2, 400)
    scale = rng.choice([0.05, 0.06], 400)
    z, y = x + scale * rng.normal(size=400), np.sin(5 * x)
    varying = Spectrum.of(z, noise=Gaussian(scale=scale), response=y, low=0, high=1)
    even = Spectrum.of(z, noise=Gaussian(scale=0.055), response=y, low=0, high=1)
    found = [
        KernelRegression(bandwidth="cv-at-z").fit(one).facts["bandwidth"] for one in (varying, even)
    ]
    assert found[0] == pytest.approx(found[1], rel=0.2)


def test_losses_of_a_binary_response():
    rng = np.random.default_rng(8)
    x = rng.beta(2, 2, (3000, 2))
    y = (rng.random(3000) < x[:, 0]).astype(float)
    z = x + rng.laplace(0, 0.1, x.shape)
    spectrum = Spectrum.of(z, noise=Laplace(scale=0.1), response=y, low=0, high=1)
    for bandwidth in ("corrected-cv", "cv-at-z"):
        curve = KernelRegression(bandwidth=bandwidth, loss="log").fit(spectrum)
        assert np.mean((curve.predict(x) - x[:, 0]) ** 2) < 0.02
    # Of a response of 0 and 1, squared error by levels is the squared error by sums.
    by_sums = KernelRegression(bandwidth="corrected-cv").fit(spectrum)
    by_levels = KernelRegression(bandwidth="corrected-cv", loss=lambda y, m: (y - m) ** 2)
    assert by_levels.fit(spectrum).facts["bandwidth"] == by_sums.facts["bandwidth"]


def test_levels_of_a_response_are_nearly_the_response():
    _, spectrum = data(3000, (0, 1))
    by_sums = KernelRegression(bandwidth="corrected-cv").fit(spectrum).facts["bandwidth"]
    squared = KernelRegression(bandwidth="corrected-cv", loss=lambda y, m: (y - m) ** 2)
    np.testing.assert_allclose(squared.fit(spectrum).facts["bandwidth"], by_sums, rtol=0.13)


def test_folds_are_parts_of_the_whole():
    _, spectrum = data(1003, (0, 1))
    limits = (np.zeros(2), np.ones(2))
    folds = regression_bandwidths.number_folds(
        spectrum, named("gaussian"), pilot=(0.2, 0.2), finest=(0.1, 0.1), limits=limits, center=0.0
    )
    side = np.linspace(0, 1, regression_bandwidths.GRID[2])
    places = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    density, weighed, _ = direct(places, spectrum, (0, 1), (0.2, 0.2))
    whole = folds.sums((0.2, 0.2)).sum(axis=0).reshape(2, -1)
    np.testing.assert_allclose(whole, [density, weighed], atol=1e-8)
    levels = folds.levels((0.2, 0.2)).sum(axis=(0, 1)).ravel()
    np.testing.assert_allclose(levels, density, atol=1e-8)
    assert folds.shares.sum() == pytest.approx(1)


def test_units_do_not_matter():
    _, one = data(2000, (0, 2))
    shift, scale = np.array([-40.0, 7.0]), np.array([100.0, 0.01])
    two = Spectrum.of(
        shift + scale * one.values,
        noise=(Laplace(scale=10.0), NoNoise()),
        response=7 - 3 * one.response,
        low=shift,
        high=shift + scale,
    )
    places = np.random.default_rng(9).random((20, 2))
    for bandwidth in ("plug-in", "corrected-cv", "cv-at-z"):
        fits = [KernelRegression(bandwidth=bandwidth).fit(each) for each in (one, two)]
        expected = 7 - 3 * fits[0].predict(places)
        np.testing.assert_allclose(fits[1].predict(shift + scale * places), expected, atol=1e-5)


def test_public_values_at_few_points():
    """A 0/1 column keeps its two groups apart, and whole years do not cost a wave each."""
    rng = np.random.default_rng(10)
    x = rng.beta(2, 2, 20_000)
    group = rng.integers(0, 2, x.size)
    y = np.sin(4 * x) * np.where(group, 1.0, -1.0) + rng.normal(0, 0.2, x.size)
    z = x + rng.laplace(0, 0.05, x.size)
    spectrum = Spectrum.of(
        np.column_stack([z, group]), noise=(Laplace(scale=0.05), NoNoise()), response=y
    )
    curve = KernelRegression().fit(spectrum)
    assert curve.facts["bandwidth"][1] <= 0.4
    found = curve.predict([[0.4, 0], [0.4, 1]])
    np.testing.assert_allclose(found, np.sin(1.6) * np.array([-1, 1]), atol=0.2)


def test_outside_the_bounds_it_is_the_nearest_place_within():
    _, spectrum = data(500, (0, 2))
    curve = KernelRegression(bandwidth=0.2).fit(spectrum)
    assert curve.predict([[5.0, 0.5]]) == curve.predict([[1.0, 0.5]])
    low, high = curve.interval([[5.0, 0.5]])
    assert low <= curve.predict([[1.0, 0.5]]) <= high


def test_json_frames_names_and_pictures():
    _, spectrum = data(500, names=("score", "income", "age"))
    curve = KernelRegression(bandwidth=0.3).fit(spectrum)
    assert curve.names == ("score", "income", "age")
    again = curves.from_dict(json.loads(json.dumps(curve.to_dict())))
    places = np.random.default_rng(1).random((5, 3))
    np.testing.assert_array_equal(again.predict(places), curve.predict(places))
    np.testing.assert_array_equal(curve.predict(places[:, None]).ravel(), curve.predict(places))
    frame = curve.to_frame(places)
    assert list(frame.columns) == ["score", "income", "age", "estimate", "low", "high"]
    display = curve.plot()
    assert len(display.ax_.figure.axes) == 4
    assert display.ax_.get_title() == "age = 0.25"
    assert display.ax_.get_ylabel() == "income"
    with pytest.raises(InvalidInput, match="no axes for a picture of three"):
        curve.plot(ax=display.ax_)
    assert isinstance(curve.baseline, type(LinearRegression().fit(spectrum)))
    spoiled = {**curve.to_dict(), "density": [[1.0]]}
    with pytest.raises(InvalidInput, match="nodes for each of 3 covariates"):
        curves.from_dict(spoiled)


def test_spectra_keep_their_names():
    one = Spectrum.of([0.1, 0.2], noise=Laplace(scale=1.0), names=("score",))
    assert (one + one).names == ("score",)
    assert Spectrum.from_dict(json.loads(json.dumps(one.to_dict()))).names == ("score",)
    other = Spectrum.of([0.1, 0.2], noise=Laplace(scale=1.0))
    assert other.labels == ("",)
    assert one.fingerprint != other.fingerprint
    with pytest.raises(InvalidInput, match="same names"):
        one + other
    with pytest.raises(InvalidInput, match="1 names, one for each axis"):
        Spectrum.of([0.1], noise=Laplace(scale=1.0), names=("a", "b"))
    with pytest.raises(InvalidInput, match="names that differ"):
        Spectrum.of([[0.1, 0.2]], noise=Laplace(scale=1.0), names=("a", "a"))


def test_nodes_are_enough():
    """Interpolation between nodes is as good as it says, for few and for many of them."""
    _, spectrum = data(100, (0, 2))
    powers = np.ones((1, 100))
    places = np.random.default_rng(2).random((40, 2))
    for h in (2.0, 0.3, 0.05):
        kernels = product.ProductKernel.of(spectrum, named("gaussian"), (h, h), (2.0, 2.0))
        nodes = kernels.at_nodes(np.zeros(2), np.ones(2), powers)[0]
        box = {"low": (0.0, 0.0), "high": (1.0, 1.0), "floor": 0.0, "bounds": None}
        found = NodeRegression(nodes, nodes, **box).sums(places)[0]
        expected = direct(places, spectrum, (0, 2), (h, h))[0]
        largest = np.abs(adjusted(0, np.zeros(1), h) * adjusted(2, np.zeros(1), h))[0]
        np.testing.assert_allclose(found, expected, atol=1e-8 * largest)
    assert chebyshev(-1.0, 3.0, 5)[2] == pytest.approx(1.0)


def test_bad_input():
    x, spectrum = data(100, (0, 2))
    with pytest.raises(InvalidInput, match="'corrected-cv' or 'cv-at-z' to go with a loss"):
        KernelRegression(loss="absolute")
    with pytest.raises(InvalidInput, match="for 'loss'"):
        KernelRegression(bandwidth="cv-at-z", loss="hinge")
    with pytest.raises(InvalidInput, match="response of 0 and 1 for loss='log'"):
        KernelRegression(bandwidth="cv-at-z", loss="log").fit(spectrum)
    with pytest.raises(InvalidInput, match="within reach"):
        KernelRegression(bandwidth=(1e-4, 1e-4)).fit(spectrum)
    constant = np.column_stack([spectrum.values[:, 0], np.ones(100)])
    flat = Spectrum.of(constant, noise=spectrum.noise, response=spectrum.response)
    with pytest.raises(InvalidInput, match=r"all the same.*Leave that column out"):
        KernelRegression().fit(flat)
    gamma = (TwoSidedGamma(shape=1.5, scale=0.1), NoNoise())
    lost = Spectrum.of(spectrum.values, noise=gamma, response=spectrum.response)
    with pytest.raises(Unsupported, match="characteristic function has zeros"):
        KernelRegression().fit(lost)
    with pytest.raises(InvalidInput, match="1 to 32 columns"):
        Spectrum.of(np.ones((5, 33)), noise=Laplace(scale=1.0))
    z = np.random.default_rng(1).normal(size=(50, 4))
    four = Spectrum.of(z, noise=NoNoise(), response=np.arange(50.0))
    with pytest.raises(Unsupported, match=r"one to three covariates.*LinearRegression"):
        KernelRegression().fit(four)
    with pytest.raises(Unsupported, match="one to three columns"):
        Deconvolution().fit(four)
    few = Spectrum.of(x[:5], noise=Laplace(scale=0.1), response=x[:5, 0])
    with (
        pytest.raises(InvalidInput, match="10 or more numbers to cross-validate"),
        pytest.warns(ConfideWarning, match="vary no more"),
    ):
        KernelRegression(bandwidth="corrected-cv").fit(few)


def test_an_outlier_costs_neither_memory_nor_the_surface():
    _, spectrum = data(3000, (0, 2))
    wild = spectrum.values.copy()
    wild[0] = 1e6
    with pytest.warns(ConfideWarning, match="spread so far"):
        curve = KernelRegression().fit(
            Spectrum.of(wild, noise=spectrum.noise, response=spectrum.response)
        )
    assert np.isfinite(curve.predict([[0.5, 0.5]])).all()
    with pytest.warns(ConfideWarning, match="1 of 3000 numbers"):
        KernelRegression().fit(
            Spectrum.of(wild, noise=spectrum.noise, response=spectrum.response, low=0, high=1)
        )


@pytest.mark.filterwarnings("error:The numbers spread")
def test_a_bandwidth_that_was_passed_over_is_no_matter():
    # The first guess is below the smallest one in reach, but the density asks for more anyway.
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8000, 3))
    z = x + np.stack([rng.laplace(0, 0.25, 8000), rng.normal(0, 0.27, 8000), np.zeros(8000)], 1)
    y = x @ [-1.6, -0.75, 0.7] + rng.normal(size=8000)
    laws = (Laplace(scale=0.25), Gaussian(scale=0.27), NoNoise())
    spectrum = Spectrum.of(z, noise=laws, response=y)
    kernel, box = named("gaussian"), (z.min(axis=0), z.max(axis=0))
    wanted = bandwidths.plug_in(division.axes_of(spectrum, kernel), kernel)
    window = regression_bandwidths.span(spectrum, box)
    reached = product.affordable(spectrum, kernel, wanted, window, box)
    assert wanted < reached < tuple(KernelRegression().fit(spectrum).facts["bandwidth"])


def test_bandwidths_at_z_grow_together_from_those_of_the_density(monkeypatch):
    monkeypatch.setattr(regression_bandwidths, "MAX_PLACED", 2**12)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 3))
    z = x + np.stack([rng.laplace(0, 0.25, 400), rng.normal(0, 0.5, 400), np.zeros(400)], 1)
    laws = (Laplace(scale=0.25), Gaussian(scale=0.5), NoNoise())
    spectrum = Spectrum.of(z, noise=laws, response=x.sum(axis=1))
    kernel = named("gaussian")
    axes = division.axes_of(spectrum, kernel)
    plug_in, finest = np.array(bandwidths.plug_in(axes, kernel)), [axis.finest for axis in axes]
    # A fifth of it is less than the noise of the second allows, which raised that one alone.
    assert plug_in[1] / 5 < finest[1]
    found = KernelRegression(bandwidth="cv-at-z").fit(spectrum).facts["bandwidth"]
    np.testing.assert_allclose(found, np.maximum(found[0] / plug_in[0] * plug_in, finest))
