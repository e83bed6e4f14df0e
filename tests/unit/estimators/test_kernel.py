from __future__ import annotations

import json
import math

import numpy as np
import pytest
from evidence.oracle import OracleRegression

from confide import Joint, Laplace, Lattice, RandomizedResponse, SquareWave, TwoSidedGamma
from confide.curves import WaveRegression
from confide.curves.regression import CellRegression, Line, Logistic
from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators import regression_bandwidths
from confide.estimators.bandwidths import named
from confide.estimators.inverting import inverses
from confide.estimators.kernel import KernelRegression
from confide.foreign import Spectrum
from confide.foreign import noise_laws as noise
from confide.summaries import Counts

guess = pytest.mark.filterwarnings("ignore:The estimated density")
UNIT = Lattice(low=0, high=1, size=64)
X = np.linspace(0.1, 0.9, 17)


def sample(n=20_000, seed=1, low=0.0, width=1.0):
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 2, n)
    y = np.sin(5 * x) + rng.normal(0, 0.3, n)
    return low + width * x, y


def counts(n=20_000, seed=1, epsilon=6.0, lattice=UNIT, **options):
    x, y = sample(n, seed)
    return Counts.of(
        Laplace(lattice, epsilon=epsilon).simulate(x, seed=seed), response=y, **options
    )


def spectrum(n=2000, seed=1, scale=0.1, **options):
    x, y = sample(n, seed)
    z = x + np.random.default_rng([seed, 1]).laplace(0, scale, n)
    return Spectrum.of(z, noise=noise.Laplace(scale=scale), response=y, **options)


def gaussian(u, ratio):
    """(1 - ratio d2/du2) of the standard normal density, ratio = b**2/h**2."""
    return np.exp(-u * u / 2) / math.sqrt(2 * math.pi) * (1 - ratio * (u * u - 1))


def cauchy(u, ratio):
    """The adjusted Cauchy kernel as Farokhi (2020) prints it."""
    first = 1 / (1 + u**2)
    return (first - ratio * 8 * u**2 / (u**2 + 1) ** 3 + ratio * 2 / (u**2 + 1) ** 2) / math.pi


@guess
@pytest.mark.parametrize(("kernel", "adjusted"), [("gaussian", gaussian), ("cauchy", cauchy)])
def test_spectrum_is_equation_7(kernel, adjusted):
    data, h = spectrum(), 0.08
    z, y = data.values[:, 0], data.response
    weight = adjusted((X[:, None] - z) / h, (0.1 / h) ** 2)
    expected = weight @ y / np.maximum(weight.sum(axis=1), 1e-9)
    curve = KernelRegression(kernel=kernel, bandwidth=h, floor=1e-9, clip=False).fit(data)
    assert isinstance(curve, WaveRegression)
    np.testing.assert_allclose(curve.predict(X), expected, rtol=0, atol=1e-8)


@guess
def test_two_columns_are_the_product_kernel():
    rng = np.random.default_rng(3)
    x = rng.beta(2, 2, (300, 2))
    y = x[:, 0] - x[:, 1] + rng.normal(0, 0.1, 300)
    z = x + rng.laplace(0, 0.1, x.shape)
    data = Spectrum.of(z, noise=noise.Laplace(scale=0.1), response=y)
    points = rng.random((20, 2))
    h = (0.15, 0.2)
    weight = np.ones((20, 300))
    for axis, b in enumerate(h):
        weight *= gaussian((points[:, [axis]] - z[:, axis]) / b, (0.1 / b) ** 2)
    expected = weight @ y / np.maximum(weight.sum(axis=1), 1e-9)
    curve = KernelRegression(bandwidth=h, floor=1e-9, clip=False).fit(data)
    np.testing.assert_allclose(curve.predict(points), expected, rtol=0, atol=1e-7)
    with pytest.raises(InvalidInput, match="points of 2 columns"):
        curve.predict([0.1, 0.2, 0.3])


@guess
@pytest.mark.parametrize("shape", [None, 0.8])
def test_counts_are_the_dense_inverse_and_a_folded_kernel(shape):
    x, y = sample()
    mechanism = Laplace(UNIT, epsilon=4.0)
    if shape:
        mechanism = TwoSidedGamma(UNIT, shape=shape, scale=0.15)
    summary = Counts.of(mechanism.simulate(x, seed=2), response=y)
    inverse = np.linalg.inv(mechanism.law.matrix())
    masses = inverse @ summary.counts, inverse @ summary.response.sums
    h, places = 0.06, UNIT.centers
    smooth = np.zeros((64, 64))
    for turn in range(-3, 4):
        for mirrored in (places, -places):
            away = places[:, None] - mirrored + 2 * turn
            smooth += np.exp(-((away / h) ** 2) / 2) / (h * math.sqrt(2 * math.pi)) / 64
    density, product = (smooth @ part for part in masses)
    expected = product / np.maximum(density, 1e-6 * summary.n / 64)
    curve = KernelRegression(bandwidth=h, floor=1e-6, clip=False).fit(summary)
    np.testing.assert_allclose(curve.predict(places), expected, rtol=1e-9, atol=1e-8)


@guess
@pytest.mark.parametrize("kernel", ["gaussian", "fan", "cauchy"])
@pytest.mark.parametrize("bandwidth", ["plug-in", "corrected-cv"])
def test_recovers_a_curve(kernel, bandwidth):
    curve = KernelRegression(kernel=kernel, bandwidth=bandwidth).fit(counts(50_000))
    worst = {"cauchy": 0.5}.get(kernel, 0.3)
    assert np.abs(curve.predict(X) - np.sin(5 * X)).max() < worst
    assert curve.facts["floored"] <= 0.02
    assert isinstance(curve.baseline, Line)
    assert json.loads(json.dumps(curve.to_dict()))["curve"] == "cell-regression"


@pytest.mark.parametrize("bandwidth", ["plug-in", "corrected-cv"])
def test_spectrum_and_counts_agree(bandwidth):
    data = spectrum(20_000, low=0.0, high=1.0)
    curve = KernelRegression(bandwidth=bandwidth).fit(data)
    assert np.abs(curve.predict(X) - np.sin(5 * X)).max() < 0.3
    assert json.loads(json.dumps(curve.to_dict()))["curve"] == "wave-regression"
    low, high = curve.interval(X)
    assert ((low <= curve.predict(X)) & (curve.predict(X) <= high)).all()
    # Far outside it stays at the ends of where its sums of waves hold.
    assert curve.predict(1e6) == curve.predict(curve.high[0] + curve.reach[0])


def test_error_falls_with_n():
    errors = []
    for n in (2000, 200_000):
        curve = KernelRegression().fit(counts(n))
        errors.append(np.mean((curve.predict(X) - np.sin(5 * X)) ** 2))
    assert errors[1] < errors[0] / 3


@pytest.mark.parametrize("bandwidth", ["plug-in", "corrected-cv"])
def test_units_do_not_matter(bandwidth):
    estimator = KernelRegression(bandwidth=bandwidth)
    x, y = sample(5000)
    one = Counts.of(Laplace(UNIT, epsilon=6.0).simulate(x, seed=1), response=y)
    wide = Lattice(low=-40, high=60, size=64)
    two = Counts.of(Laplace(wide, epsilon=6.0).simulate(100 * x - 40, seed=1), response=7 + 3 * y)
    expected = 7 + 3 * estimator.fit(one).predict(X)
    np.testing.assert_allclose(estimator.fit(two).predict(100 * X - 40), expected, atol=1e-8)


def test_units_of_noised_numbers_do_not_matter():
    one = spectrum(low=0.0, high=1.0)
    two = Spectrum.of(
        100 * one.values[:, 0] - 40,
        noise=noise.Laplace(scale=10.0),
        response=7 - 3 * one.response,
        low=-40,
        high=60,
    )
    for estimator in (KernelRegression(), KernelRegression(bandwidth="corrected-cv")):
        expected = 7 - 3 * estimator.fit(one).predict(X)
        np.testing.assert_allclose(estimator.fit(two).predict(100 * X - 40), expected, atol=1e-6)


def test_negative_density_is_floored_clipped_and_told():
    summary = counts(2000, epsilon=2.0)
    with pytest.warns(ConfideWarning, match=r"at its floor on \d+%"):
        curve = KernelRegression(bandwidth=0.02).fit(summary)
    assert curve.facts["floored"] > 0.1
    values = curve.predict(UNIT.centers)
    assert np.isfinite(values).all()
    assert values.min() >= summary.response.low
    assert values.max() <= summary.response.high
    low, high = curve.interval(UNIT.centers)
    assert (low <= high).all()
    assert low.min() >= summary.response.low


@guess
@pytest.mark.filterwarnings("ignore:The noisy values vary")
def test_at_the_floor_the_curve_falls_back_to_the_mean():
    x = np.full(5000, 0.2)
    y = np.full(5000, 3.0) + np.random.default_rng(1).normal(0, 0.1, 5000)
    summary = Counts.of(Laplace(UNIT, epsilon=20.0).simulate(x, seed=1), response=y)
    curve = KernelRegression().fit(summary)
    assert curve.predict(0.2) == pytest.approx(3, abs=0.05)
    assert curve.predict(0.95) == pytest.approx(3, abs=0.4)


def test_constant_response():
    summary = counts(2000)
    flat = Counts.of(
        Laplace(UNIT, epsilon=6.0).simulate(sample(2000)[0], seed=1), response=np.full(2000, 2.5)
    )
    assert summary.n == flat.n
    np.testing.assert_allclose(KernelRegression().fit(flat).predict(X), 2.5)


def test_binary_response_has_a_logistic_baseline():
    x, _ = sample()
    y = (np.random.default_rng(9).random(x.size) < x).astype(float)
    summary = Counts.of(Laplace(UNIT, epsilon=6.0).simulate(x, seed=1), response=y)
    for bandwidth in ("plug-in", "corrected-cv"):
        curve = KernelRegression(bandwidth=bandwidth).fit(summary)
        assert np.abs(curve.predict(X) - X).max() < 0.12
        assert isinstance(curve.baseline, Logistic)


def test_equal_weights_change_nothing():
    x, y = sample(5000)
    reports = Laplace(UNIT, epsilon=6.0).simulate(x, seed=1)
    plain = KernelRegression().fit(Counts.of(reports, response=y))
    weighted = KernelRegression().fit(Counts.of(reports, response=y, weights=np.full(5000, 2.5)))
    np.testing.assert_allclose(weighted.predict(X), plain.predict(X))
    np.testing.assert_allclose(weighted.interval(X), plain.interval(X))


def test_two_private_numbers():
    rng = np.random.default_rng(4)
    x = rng.beta(2, 2, (40_000, 2))
    y = np.sin(3 * x[:, 0]) + x[:, 1] ** 2
    part = Laplace(Lattice(low=0, high=1, size=32), epsilon=8.0)
    both = Joint({"a": part, "b": part})
    summary = Counts.of(both.simulate(x, seed=1), response=y)
    points = np.stack(np.meshgrid([0.3, 0.5, 0.7], [0.3, 0.5, 0.7]), axis=-1)
    truth = np.sin(3 * points[..., 0]) + points[..., 1] ** 2
    for bandwidth in ("plug-in", "corrected-cv"):
        curve = KernelRegression(bandwidth=bandwidth).fit(summary)
        assert np.abs(curve.predict(points) - truth).max() < 0.15
        assert curve.names == ("a", "b")
        assert len(curve.facts["bandwidth"]) == 2
    low, high = curve.interval(points)
    assert low.shape == (3, 3)
    assert (low < high).all()


def test_private_response():
    x, _ = sample(60_000)
    part = Laplace(Lattice(low=0, high=1, size=32), epsilon=6.0)
    both = Joint({"x": part, "rate": SquareWave(Lattice(low=0, high=1, size=32), epsilon=4.0)})
    summary = Counts.of(both.simulate({"x": x, "rate": x**2}, seed=1))
    curve = KernelRegression(response="rate").fit(summary)
    assert np.abs(curve.predict(X) - X**2).max() < 0.12
    assert curve.facts["epsilon"] == pytest.approx(10)
    assert curve.facts["response"] == "private"
    low, high = curve.interval(X)
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_interval_covers_the_smoothed_curve():
    """It is for the ratio of expectations, at every place and level near what it says."""
    mechanism = Laplace(Lattice(low=0, high=1, size=32), epsilon=3.0)
    rng = np.random.default_rng(8)
    values = np.arange(32)
    shares = (values + 1.0) * (33 - values)
    shares /= shares.sum()
    means = np.sin(values / 6)
    law = mechanism.law.matrix()
    kernel, h = named("gaussian"), 0.12
    (inverse,) = inverses(mechanism)
    density = inverse.smooth(kernel, h, shares)
    target = inverse.smooth(kernel, h, shares * means) / density
    estimator = KernelRegression(bandwidth=h)
    hits, turns, n = np.zeros(32), 200, 3000
    for _ in range(turns):
        index = rng.choice(32, n, p=shares)
        cumulative = np.cumsum(law[:, index], axis=0)
        report = (rng.random(n) > cumulative).sum(axis=0).clip(0, 31)
        y = means[index] + rng.normal(0, 0.5, n)
        table = [np.bincount(report, y**k, minlength=32) for k in range(3)]
        summary = Counts.of(mechanism.simulate([0.5], seed=1), response=[0.0])
        response = type(summary.response)(
            table[1], table[2], low=float(y.min()), high=float(y.max())
        )
        summary = Counts(mechanism, table[0].astype(np.int64), True, None, response)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("confide.estimators.kernel.NOTABLE", 1.0)
            low, high = estimator.fit(summary).interval(mechanism.lattice.centers)
        hits += (low <= target) & (target <= high)
    inner = hits[4:-4] / turns
    assert 0.93 < inner.mean() < 0.97
    assert inner.min() > 0.88


def test_interval_of_noised_numbers_is_that_of_the_sums():
    """Binning the numbers changes next to nothing, and a narrower level nests."""
    data = spectrum(3000, low=0.0, high=1.0)
    curve = KernelRegression(bandwidth=0.1).fit(data)
    z, y = data.values[:, 0], data.response - data.response.mean()
    terms = gaussian((X[:, None] - z) / 0.1, 1.0) / 0.1
    density, product = terms.mean(axis=1), (terms * y).mean(axis=1)
    ratio = product / density
    error = ((terms * (y - ratio[:, None])).std(axis=1) / density) / math.sqrt(z.size)
    low, high = curve.interval(X, level=0.95)
    np.testing.assert_allclose((high - low) / 2, 1.96 * error, rtol=0.1)
    inner = curve.interval(X, level=0.5)
    assert (inner[0] > low).all()
    assert (inner[1] < high).all()


def test_folds_are_parts_of_the_whole():
    summary = counts(3000)
    kernel = named("gaussian")
    folds = regression_bandwidths.cell_folds(summary, inverses(summary.mechanism), kernel, 0.0)
    (inverse,) = inverses(summary.mechanism)
    whole = np.stack([summary.counts, summary.response.sums]) / summary.n
    expected = inverse.smooth(kernel, 0.1, inverse.masses(whole))
    np.testing.assert_allclose(folds.sums([0.1]).sum(axis=0), expected, atol=1e-10)
    assert folds.shares.sum() == pytest.approx(1)


def test_corrected_cv_takes_more_smoothing_for_a_flat_curve():
    x, _ = sample()
    rng = np.random.default_rng(2)
    reports = Laplace(UNIT, epsilon=8.0).simulate(x, seed=1)
    chosen = []
    for mean in (0 * x, np.sin(15 * x)):
        summary = Counts.of(reports, response=mean + rng.normal(0, 0.5, x.size))
        chosen.append(KernelRegression(bandwidth="corrected-cv").fit(summary).facts["bandwidth"])
    assert chosen[1] < chosen[0]


def test_oracle_is_equation_8():
    data, (x, y) = spectrum(200), sample(200)
    z = data.values[:, 0]
    curve = OracleRegression(places=x, floor=0.05).fit(data)

    def loss(h):
        weight = gaussian((x[:, None] - z) / h, (0.1 / h) ** 2) / h
        np.fill_diagonal(weight, 0)
        density, product = weight.sum(axis=1) / 199, weight @ (y - y.mean()) / 199
        fitted = y.mean() + product / np.maximum(density, 0.05)
        return ((y - np.clip(fitted, y.min(), y.max())) ** 2).sum()

    chosen = curve.facts["bandwidth"]
    assert loss(chosen) <= min(loss(chosen * 0.85), loss(chosen * 1.18))


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (SquareWave(UNIT, epsilon=1.0), "cannot undo square-wave.*RatioRegression"),
        (RandomizedResponse(["a", "b"], epsilon=1.0), "RatioRegression"),
        (TwoSidedGamma(UNIT, shape=1.5, scale=0.1), "shape 1.5 > 1.*RatioRegression"),
    ],
)
def test_what_cannot_be_undone_goes_to_the_ratio(mechanism, words):
    values = ["a", "b"] if isinstance(mechanism, RandomizedResponse) else [0.1, 0.9]
    summary = Counts.of(mechanism.simulate(values, seed=1), response=[0.0, 1.0])
    with pytest.raises(Unsupported, match=words):
        KernelRegression().fit(summary)


def test_binned_noised_numbers_are_refused():
    law = noise.Laplace(scale=0.1)
    summary = Counts.of_noised([0.1, 0.5], noise=law, low=0, high=1, response=[0.0, 1.0])
    with pytest.raises(
        Unsupported, match=r"\(Spectrum\.of\), not on their bins: take estimators\.RatioRegression"
    ):
        KernelRegression().fit(summary)


def test_bad_input():
    with pytest.raises(InvalidInput, match="for 'kernel'"):
        KernelRegression(kernel="fann")
    with pytest.raises(InvalidInput, match="for 'bandwidth'"):
        KernelRegression(bandwidth="cv-at-x")
    with pytest.raises(InvalidInput, match="floor > 0"):
        KernelRegression(floor=0.0)
    with pytest.raises(InvalidInput, match="bandwidth > 0"):
        KernelRegression(bandwidth=[0.1, -1.0])
    with pytest.raises(InvalidInput, match="counts or a spectrum"):
        KernelRegression().fit([1, 2])
    reports = Laplace(UNIT, epsilon=1.0).simulate([0.1, 0.2], seed=1)
    with pytest.raises(InvalidInput, match="a summary with a response"):
        KernelRegression().fit(Counts.of(reports))
    with pytest.raises(InvalidInput, match="joint mechanism"):
        KernelRegression(response="rate").fit(Counts.of(reports, response=[1.0, 2.0]))
    with pytest.raises(InvalidInput, match="one for each covariate"):
        KernelRegression(bandwidth=[0.1, 0.1]).fit(Counts.of(reports, response=[1.0, 2.0]))
    single = Laplace(UNIT, epsilon=1.0).simulate([0.1], seed=1)
    with pytest.raises(InvalidInput, match="two or more"):
        KernelRegression().fit(Counts.of(single, response=[1.0]))
    data = spectrum(100)
    with pytest.raises(InvalidInput, match="100 places"):
        OracleRegression(places=[0.1]).fit(data)
    with pytest.raises(Unsupported, match="public response"):
        KernelRegression(response="rate").fit(data)


@guess
@pytest.mark.filterwarnings("ignore:The numbers spread so far", "ignore:1 of 5000 numbers")
@pytest.mark.parametrize("bandwidth", ["plug-in", "corrected-cv"])
def test_an_outlier_costs_neither_memory_nor_the_curve(bandwidth):
    x, y = sample(5000)
    z = x + np.random.default_rng(3).laplace(0, 0.1, x.size)
    z[0] = 1e6
    law = noise.Laplace(scale=0.1)
    wild = Spectrum.of(z, noise=law, response=y)
    assert np.isfinite(KernelRegression(bandwidth=bandwidth).fit(wild).predict(X)).all()
    known = Spectrum.of(z, noise=law, response=y, low=0, high=1)
    curve = KernelRegression(bandwidth=bandwidth).fit(known)
    assert np.abs(curve.predict(X) - np.sin(5 * X)).max() < 0.4


def test_same_summary_same_curve():
    one, two = (KernelRegression(bandwidth="corrected-cv").fit(counts(3000)) for _ in range(2))
    assert isinstance(one, CellRegression)
    np.testing.assert_array_equal(one.values, two.values)


@pytest.mark.parametrize("few", [True, False])
def test_the_default_bandwidth_cross_validates_where_values_sit_at_few_points(few):
    """At six points the plug-in bandwidth of the density leaves holes to divide by."""
    rng = np.random.default_rng(1)
    x = rng.choice([0.1, 0.25, 0.4, 0.55, 0.7, 0.9], 40_000) if few else rng.beta(2, 2, 40_000)
    reports = Laplace(Lattice(low=0, high=1, size=256), epsilon=16.0).simulate(x, seed=1)
    counts = Counts.of(reports, response=(rng.random(x.size) < x) * 1.0)
    found = {
        bandwidth: KernelRegression(bandwidth=bandwidth).fit(counts).facts["bandwidth"]
        for bandwidth in ("auto", "plug-in", "corrected-cv")
    }
    assert found["plug-in"] != found["corrected-cv"]
    assert found["auto"] == found["corrected-cv" if few else "plug-in"]
