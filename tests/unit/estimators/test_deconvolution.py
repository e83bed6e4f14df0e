from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import integrate, stats

from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.estimators import bandwidths, division
from confide.estimators.bands import WaveBand, search, stretch
from confide.estimators.bandwidths import KERNELS, named
from confide.estimators.deconvolution import Deconvolution
from confide.estimators.inverting import inverses
from confide.foreign import Spectrum, quadrature
from confide.foreign import noise_laws as noise
from confide.lattice import Lattice
from confide.mechanisms import Joint, Laplace, RandomizedResponse, SquareWave, TwoSidedGamma
from confide.summaries import Counts

LAWS = {
    "laplace": noise.Laplace(scale=0.4),
    "gaussian": noise.Gaussian(scale=0.3),
    "gamma": noise.TwoSidedGamma(shape=0.8, scale=0.4),
}


def noised(law, n=300, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(2.0, 1.0, n)
    if isinstance(law, noise.Gaussian):
        return x + law.scale * rng.standard_normal(n)
    shape = getattr(law, "shape", 1.0)
    return x + rng.choice([-1, 1], n) * rng.gamma(shape, law.scale, n)


def simulated(mechanism, masses, n, rng):
    """Counts of n reports, drawn from the law at once."""
    share = mechanism.law.forward(masses)
    share = np.maximum(share, 0)
    drawn = rng.multinomial(n, (share / share.sum()).ravel())
    return Counts(mechanism, drawn.reshape(mechanism.law.outputs), simulated=True)


def beta_masses(size, a=2, b=5):
    return np.diff(stats.beta(a, b).cdf(np.linspace(0, 1, size + 1)))


def test_intervals_leave_out_smoothing_bias():
    """What docs/explanation/intervals.md warns of: they miss an outer quantile most of the time."""
    rng = np.random.default_rng(5)
    law, true = noise.Laplace(scale=8_000), stats.lognorm(0.45, scale=math.exp(10.5)).ppf(0.1)
    held = 0
    for _ in range(10):
        z = rng.lognormal(10.5, 0.45, 8_000) + rng.laplace(0, 8_000, 8_000)
        low, high = Deconvolution().fit(Spectrum.of(z, noise=law)).interval("quantile", 0.1)
        held += bool(low <= true <= high)
    assert held <= 5


class TestKernels:
    @pytest.mark.parametrize("name", KERNELS)
    def test_moments_follow_from_the_transform(self, name):
        kernel = named(name)
        roughness = integrate.quad(
            lambda t: float(kernel.transform(np.float64(t)) ** 2) / math.pi, 0, kernel.reach
        )[0]
        assert kernel.roughness == pytest.approx(roughness, rel=1e-7)
        t = 1e-3
        leading = (1 - float(kernel.transform(np.float64(t)))) / t**kernel.order
        assert kernel.coefficient == pytest.approx(leading, rel=1e-3)
        if kernel.order == 2:
            assert kernel.second_moment == 2 * kernel.coefficient
        else:
            assert math.isinf(kernel.second_moment)

    def test_an_unknown_name_is_refused_with_the_nearest(self):
        with pytest.raises(InvalidInput, match="Did you mean 'gaussian'"):
            Deconvolution(kernel="gausian")


class TestSpectrum:
    @pytest.mark.parametrize(
        ("kernel", "law"),
        # The Cauchy kernel's transform outlives no Gaussian noise: that integral does not exist.
        [(k, law) for k in KERNELS for law in LAWS if (k, law) != ("cauchy", "gaussian")],
    )
    def test_the_formula_as_printed(self, kernel, law):
        """f(x) = 1/(2 pi) int e^(-itx) phi_K(ht) ecf(t)/phi_U(t) dt on a dense grid."""
        z, h = noised(LAWS[law]), 0.5
        x = np.linspace(-2, 6, 41)
        density = Deconvolution(kernel=kernel, bandwidth=h, positive=False).fit(
            Spectrum.of(z, noise=LAWS[law])
        )
        t = np.linspace(0, named(kernel).reach / h * (1.3 if kernel == "gaussian" else 1), 40_001)
        ecf = np.zeros(t.size, dtype=complex)
        for value in z:
            ecf += np.exp(1j * t * value) / z.size
        ratio = named(kernel).transform(h * t) * ecf / LAWS[law].characteristic(t)
        expected = [integrate.trapezoid((np.exp(-1j * t * at) * ratio).real, t) for at in x]
        np.testing.assert_allclose(density.pdf(x), np.array(expected) / math.pi, atol=2e-6)

    def test_laplace_noise_and_gaussian_kernel_in_closed_form(self):
        law, h = noise.Laplace(scale=0.7), 0.4
        z, x = noised(law), np.linspace(-4, 8, 50)
        y = (x[:, None] - z) / h
        kernel = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
        expected = (kernel * (1 + (law.scale / h) ** 2 * (1 - y**2))).mean(axis=1) / h
        estimator = Deconvolution(kernel="gaussian", bandwidth=h, positive=False)
        value = estimator.fit(Spectrum.of(z, noise=law)).pdf(x)
        np.testing.assert_allclose(value, expected, atol=1e-12)

    def test_cdf_is_the_integral_of_the_density(self):
        law = LAWS["laplace"]
        density = Deconvolution(positive=False).fit(Spectrum.of(noised(law), noise=law))
        x = np.linspace(-1, 5, 2001)
        steps = integrate.cumulative_simpson(density.pdf(x), x=x, initial=0)
        np.testing.assert_allclose(density.cdf(x) - density.cdf(x[0]), steps, atol=1e-8)
        assert density.cdf(-12.0) == pytest.approx(0, abs=1e-3)
        assert density.cdf(16.0) == pytest.approx(1, abs=1e-3)

    def test_one_standard_deviation_for_each_number(self):
        """Delaigle and Meister (2008): e^(itz_j) phi_j/sum_k phi_k^2, as printed."""
        rng = np.random.default_rng(3)
        sd = rng.uniform(0.1, 0.8, 200)
        z = rng.normal(0, 1, 200) + sd * rng.standard_normal(200)
        h, x = 0.35, np.linspace(-3, 3, 31)
        t = np.linspace(0, 1 / h, 20_001)
        top, bottom = np.zeros(t.size, dtype=complex), np.zeros(t.size)
        for value, own in zip(z, sd, strict=True):
            phi = np.exp(-((own * t) ** 2) / 2)
            top += phi * np.exp(1j * t * value)
            bottom += phi**2
        ratio = (1 - (h * t) ** 2) ** 3 * top / bottom
        expected = [integrate.trapezoid((np.exp(-1j * t * at) * ratio).real, t) for at in x]
        spectrum = Spectrum.of(z, noise=noise.Gaussian(scale=sd))
        density = Deconvolution(bandwidth=h, positive=False).fit(spectrum)
        np.testing.assert_allclose(density.pdf(x), np.array(expected) / math.pi, atol=1e-7)
        same = Spectrum.of(z, noise=noise.Gaussian(scale=np.full(200, 0.3)))
        equal = Spectrum.of(z, noise=noise.Gaussian(scale=0.3))
        pair = [Deconvolution(positive=False).fit(one) for one in (same, equal)]
        assert pair[0].bandwidth == pytest.approx(pair[1].bandwidth, rel=1e-4)
        low, high = density.interval("pdf", x)
        assert np.all((low < density.pdf(x)) & (density.pdf(x) < high))

    @pytest.mark.parametrize("method", ["plug-in", "normal-reference", "cv"])
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_translation_and_scale(self, kernel, method):
        law = noise.Laplace(scale=0.4)
        z, x = noised(law), np.linspace(0, 4, 9)
        estimator = Deconvolution(kernel=kernel, bandwidth=method, positive=False)
        one = estimator.fit(Spectrum.of(z, noise=law))
        moved = estimator.fit(Spectrum.of(10 * z - 70, noise=noise.Laplace(scale=4.0)))
        assert moved.bandwidth == pytest.approx(10 * one.bandwidth, rel=1e-5)
        np.testing.assert_allclose(10 * moved.pdf(10 * x - 70), one.pdf(x), rtol=1e-4, atol=1e-6)

    def test_mean_error_is_the_exact_one(self):
        """N(0, 1), Laplace noise of a quarter of its variance, n=500, h=.1684: MISE .00315."""
        law, rng, h = noise.Laplace(scale=math.sqrt(0.125)), np.random.default_rng(5), 0.1684
        x = np.linspace(-6, 6, 601)
        errors = []
        for _ in range(80):
            z = rng.normal(size=500) + rng.laplace(0, law.scale, 500)
            density = Deconvolution(bandwidth=h, positive=False).fit(Spectrum.of(z, noise=law))
            errors.append(integrate.simpson((density.pdf(x) - stats.norm.pdf(x)) ** 2, x=x))
        assert abs(np.mean(errors) - 0.00315) < 3 * np.std(errors) / math.sqrt(80)

    @pytest.mark.parametrize("axes", [2, 3])
    def test_several_axes_as_printed_and_as_cells(self, axes):
        law, rng, h = noise.Laplace(scale=0.2), np.random.default_rng(6), (0.4, 0.5, 0.45)[:axes]
        z = rng.normal(size=(60, axes)) + rng.laplace(0, 0.2, (60, axes))
        spectrum = Spectrum.of(z, noise=law)
        at = np.array([[0.1, -0.3, 0.2], [1.0, 0.5, -1.0]])[:, :axes]
        # A product kernel and product noise: the mean over numbers of products of one-axis terms.
        terms = np.ones((2, 60))
        for axis in range(axes):
            t = np.linspace(0, 1 / h[axis], 4001)
            ratio = (1 - (h[axis] * t) ** 2) ** 3 / law.characteristic(t)
            gap = at[:, axis, None, None] - z[None, :, axis, None]
            terms *= integrate.trapezoid(np.cos(gap * t) * ratio, t, axis=-1) / math.pi
        linear = Deconvolution(bandwidth=h, positive=False).fit(spectrum)
        np.testing.assert_allclose(linear.pdf(at), terms.mean(axis=1), atol=1e-6)
        cells = Deconvolution(bandwidth=h).fit(spectrum)
        assert tuple(cells.bandwidth) == h
        assert cells.masses.min() >= 0
        assert cells.masses.sum() == pytest.approx(1)

    @pytest.mark.parametrize(("axes", "n"), [(2, 20_000), (3, 20_000)])
    def test_several_axes_recover_a_product(self, axes, n):
        law, rng = noise.Laplace(scale=0.15), np.random.default_rng(7)
        z = rng.normal(size=(n, axes)) + rng.laplace(0, 0.15, (n, axes))
        density = Deconvolution().fit(Spectrum.of(z, noise=[law] * axes))
        at = rng.uniform(-1, 1, (20, axes))
        expected = stats.norm.pdf(at).prod(axis=1)
        assert np.abs(density.pdf(at) / expected - 1).max() < 0.35
        assert np.abs(density.pdf(at) / expected - 1).mean() < 0.12

    def test_known_bounds_hold_the_density(self):
        law = LAWS["laplace"]
        spectrum = Spectrum.of(noised(law), noise=law, low=0.0, high=4.0)
        density = Deconvolution().fit(spectrum)
        assert density.pdf([-0.1, 4.1]).tolist() == [0, 0]
        assert density.cdf(4.0) == pytest.approx(1)


class TestCounts:
    def test_stencil_is_the_inverse_of_the_law(self):
        mechanism = Laplace(Lattice(low=0, high=1, size=40), epsilon=1.5)
        (inverse,) = inverses(mechanism)
        dense = np.linalg.inv(mechanism.law.matrix())
        np.testing.assert_allclose(inverse.masses(np.eye(40)).T, dense, atol=1e-6)
        np.testing.assert_allclose(inverse.scores(np.eye(40)), dense, atol=1e-6)

    def test_variance_of_the_characteristic_function(self):
        """1/phi^2 inside and 1/phi at the ends, against the score's own squared modulus."""
        mechanism = Laplace(Lattice(low=0, high=1, size=32), epsilon=2.0)
        (inverse,) = inverses(mechanism)
        shares = mechanism.law.forward(beta_masses(32))
        axis = inverse.axis(shares, 1000, named("fan"))
        t = np.linspace(0, 90, 7)
        waves = np.exp(1j * np.multiply.outer(t, inverse.places))
        scores = np.linalg.solve(mechanism.law.matrix().T, waves.T)
        np.testing.assert_allclose(axis.gain(t), shares @ np.abs(scores) ** 2, rtol=1e-8)

    @pytest.mark.parametrize(
        "mechanism",
        [
            Laplace(Lattice(low=-1, high=3, size=50), epsilon=2.0),
            TwoSidedGamma(Lattice(low=-1, high=3, size=50), shape=0.8, scale=1.0),
        ],
    )
    def test_the_estimate_as_a_sum_over_mirror_images(self, mechanism):
        rng, h = np.random.default_rng(8), 0.3
        counts = simulated(mechanism, beta_masses(50), 5000, rng)
        raw = np.linalg.solve(mechanism.law.matrix(), counts.counts / 5000)
        centers, step = mechanism.lattice.centers, 4 / 50
        smoother = np.zeros((50, 50))
        for image in range(-3, 4):
            for mirrored in (centers + 8 * image, -2 - centers + 8 * image):
                smoother += step * stats.norm.pdf(centers[:, None], mirrored, h)
        density = Deconvolution(kernel="gaussian", bandwidth=h, positive=False).fit(counts)
        np.testing.assert_allclose(density.masses, smoother @ raw, atol=1e-9)
        assert density.masses.sum() == pytest.approx(1)
        cut = Deconvolution(kernel="gaussian", bandwidth=h).fit(counts)
        kept = np.maximum(density.masses, 0)
        np.testing.assert_allclose(cut.masses, kept / kept.sum())

    def test_expected_counts_give_the_population(self):
        lattice = Lattice(low=0, high=1, size=64)
        for mechanism in (
            Laplace(lattice, epsilon=0.7),
            TwoSidedGamma(lattice, shape=0.6, scale=0.3),
        ):
            truth = beta_masses(64)
            expected = mechanism.law.forward(truth)
            counts = Counts(mechanism, np.round(expected * 1e15).astype(np.int64))
            density = Deconvolution(bandwidth=1e-7, positive=False).fit(counts)
            np.testing.assert_allclose(density.masses, truth, atol=1e-6)

    def test_units_of_the_lattice(self):
        rng, pair = np.random.default_rng(9), []
        masses = beta_masses(100)
        for lattice in (
            Lattice(low=0, high=1, size=100),
            Lattice(low=-70, high=-60, size=100),
            Lattice(low=1, high=math.e, size=100, scale="log"),
        ):
            mechanism = Laplace(lattice, epsilon=3.0)
            if not pair:
                drawn = simulated(mechanism, masses, 10_000, rng).counts
            pair.append(Deconvolution().fit(Counts(mechanism, drawn)))
        linear, moved, logged = pair
        assert moved.bandwidth == pytest.approx(10 * linear.bandwidth, rel=1e-5)
        # On a log lattice the same smoothing acts on the logarithm.
        assert logged.bandwidth == pytest.approx(linear.bandwidth, rel=1e-5)
        np.testing.assert_allclose(moved.masses, linear.masses, atol=1e-9)
        np.testing.assert_allclose(logged.masses, linear.masses, atol=1e-9)

    def test_cost_depends_on_cells_alone(self):
        mechanism = Laplace(Lattice(low=0, high=1, size=64), epsilon=2.0)
        counts = simulated(mechanism, beta_masses(64), 10_000, np.random.default_rng(10))
        many = Counts(mechanism, counts.counts * 10**10)
        few, lots = (Deconvolution(bandwidth=0.05).fit(one) for one in (counts, many))
        np.testing.assert_allclose(few.masses, lots.masses, rtol=1e-12)
        assert Deconvolution().fit(many).bandwidth < Deconvolution().fit(counts).bandwidth

    def test_equal_weights_change_nothing(self):
        mechanism = Laplace(Lattice(low=0, high=1, size=32), epsilon=2.0)
        reports = mechanism.simulate(np.random.default_rng(1).beta(2, 5, 2000), seed=1)
        plain = Deconvolution().fit(Counts.of(reports))
        weighted = Deconvolution().fit(Counts.of(reports, weights=np.full(2000, 3.0)))
        np.testing.assert_allclose(plain.masses, weighted.masses, atol=1e-12)
        np.testing.assert_allclose(plain.interval("pdf", 0.3), weighted.interval("pdf", 0.3))

    @pytest.mark.parametrize(("axes", "size"), [(2, 48), (3, 20)])
    def test_several_questions_recover_a_product(self, axes, size):
        parts = [Laplace(Lattice(low=0, high=1, size=size), epsilon=6.0) for _ in range(axes)]
        joint = Joint({"abc"[axis]: part for axis, part in enumerate(parts)})
        truth = np.ones(())
        for a in (2, 3, 4)[:axes]:
            truth = np.multiply.outer(truth, beta_masses(size, a, 3))
        counts = simulated(joint, truth, 400_000, np.random.default_rng(11))
        density = Deconvolution().fit(counts)
        assert len(density.bandwidth) == axes
        assert density.masses.sum() == pytest.approx(1)
        assert np.abs(density.masses - truth).sum() < (0.12, 0.25)[axes - 2]
        at = np.full(axes, 0.45)
        low, high = density.interval("pdf", at)
        assert low < density.pdf(at) < high

    def test_accuracy_of_the_table(self):
        """Wasserstein-1 at most 1.1 x .0181 (Beta(2,5), epsilon 2, n=1e5, 256 cells)."""
        mechanism, truth = Laplace(Lattice(low=0, high=1, size=256), epsilon=2.0), beta_masses(256)
        rng, errors = np.random.default_rng(12), []
        for _ in range(20):
            density = Deconvolution().fit(simulated(mechanism, truth, 100_000, rng))
            errors.append(np.abs(np.cumsum(density.masses - truth)).sum() / 256)
        assert np.mean(errors) < 1.1 * 0.0181


class TestRefusals:
    @pytest.mark.parametrize(
        ("mechanism", "message"),
        [
            (SquareWave(Lattice(low=0, high=1, size=8), epsilon=1.0), "square-wave"),
            (
                TwoSidedGamma(Lattice(low=0, high=1, size=8), shape=1.5, scale=1.0),
                "shape 1.5 > 1",
            ),
        ],
    )
    def test_mechanisms_that_cannot_be_undone(self, mechanism, message):
        counts = Counts(mechanism, np.full(mechanism.law.outputs, 5))
        with pytest.raises(Unsupported, match=f"{message}.*estimators.Likelihood"):
            Deconvolution().fit(counts)

    def test_categories(self):
        answers = RandomizedResponse(["a", "b"], epsilon=1.0)
        number = Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0)
        with pytest.raises(Unsupported, match=r"for numbers.*estimators\.CategoryShares"):
            Deconvolution().fit(Counts(answers, np.full(2, 5)))
        both = Counts(Joint({"pay": number, "vote": answers}), np.full((8, 2), 2))
        with pytest.raises(Unsupported, match=r"'vote' has categories \(marginal\(question\)"):
            Deconvolution().fit(both)
        assert Deconvolution(bandwidth=0.2).fit(both.marginal("pay")).masses.size == 8

    def test_gamma_noise_on_a_long_lattice(self):
        mechanism = TwoSidedGamma(Lattice(low=0, high=1, size=2**14), shape=0.8, scale=1.0)
        with pytest.raises(Unsupported, match=r"16384 cells.*estimators\.Likelihood"):
            inverses(mechanism)

    def test_noise_with_zeros(self):
        law = noise.TwoSidedGamma(shape=2.0, scale=1.0)
        with pytest.raises(Unsupported, match="Likelihood"):
            Deconvolution().fit(Spectrum.of([0.0, 1.0, 2.0], noise=law))
        uniform = noise.Custom(characteristic=lambda t: np.sinc(t / math.pi), variance=1 / 3)
        with pytest.raises(Unsupported, match="zeros"):
            Deconvolution(bandwidth=0.1).fit(Spectrum.of([0.0, 1.0, 2.0], noise=uniform))

    def test_binned_foreign_numbers(self):
        counts = Counts.of_noised([0.1, 0.9], noise=LAWS["laplace"], low=0, high=1)
        with pytest.raises(Unsupported, match=r"Spectrum\.of"):
            Deconvolution().fit(counts)

    @pytest.mark.parametrize(("kernel", "bandwidth"), [("fan", 0.02), ("gaussian", 0.29)])
    def test_bandwidths_at_which_gaussian_noise_wins(self, kernel, bandwidth):
        spectrum = Spectrum.of(noised(LAWS["gaussian"]), noise=LAWS["gaussian"])
        with pytest.raises(InvalidInput, match="larger bandwidth"):
            Deconvolution(kernel=kernel, bandwidth=bandwidth).fit(spectrum)

    @pytest.mark.parametrize("bandwidth", ["plug-in", 1.0, 100.0])
    def test_the_cauchy_kernel_and_gaussian_noise(self, bandwidth):
        spectrum = Spectrum.of(noised(LAWS["gaussian"]), noise=LAWS["gaussian"])
        with pytest.raises(Unsupported, match="kernel='fan'"):
            Deconvolution(kernel="cauchy", bandwidth=bandwidth).fit(spectrum)

    def test_numbers_all_alike(self):
        spectrum = Spectrum.of(np.full(50, 3.0), noise=noise.Laplace(scale=0.1))
        with pytest.warns(ConfideWarning, match="no more than the noise"):
            density = Deconvolution().fit(spectrum)
        assert density.quantile(0.5) == pytest.approx(3.0, abs=1e-6)

    @pytest.mark.parametrize("method", ["plug-in", "normal-reference", "cv"])
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("size", [2, 3, 64])
    @pytest.mark.parametrize("epsilon", [1e-3, 50.0])
    def test_odd_counts_give_a_density_all_the_same(self, epsilon, size, kernel, method):
        mechanism = Laplace(Lattice(low=0, high=1, size=size), epsilon=epsilon)
        ends = np.zeros(size, dtype=np.int64)
        ends[[0, -1]] = 1
        for counts in (ends, 10 * (np.arange(size) == size // 2), np.full(size, 1000)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConfideWarning)
                density = Deconvolution(kernel=kernel, bandwidth=method).fit(
                    Counts(mechanism, counts)
                )
            assert density.masses.min() >= 0
            assert density.masses.sum() == pytest.approx(1)

    @pytest.mark.parametrize("bandwidth", [0, -1.0, math.nan, "plugin", [0.1, 0.0]])
    def test_bandwidths(self, bandwidth):
        with pytest.raises(InvalidInput):
            Deconvolution(bandwidth=bandwidth)

    def test_other_things(self):
        with pytest.raises(InvalidInput, match="Expected Counts"):
            Deconvolution().fit([1, 2, 3])
        law = LAWS["laplace"]
        with pytest.raises(InvalidInput, match="1 bandwidths, one for each axis"):
            Deconvolution(bandwidth=[0.1, 0.2]).fit(Spectrum.of([0.0, 1.0], noise=law))
        two = Spectrum.of([[0.0, 1.0], [1.0, 5.0], [2.0, 0.1]], noise=noise.Laplace(scale=0.1))
        with pytest.raises(Unsupported, match="one dimension"):
            Deconvolution(bandwidth="cv").fit(two)


class TestWideRanges:
    """One outlier must cost neither memory nor hours; 4 GB were 23 to 106 before."""

    LAW = noise.Laplace(scale=0.5)

    def numbers(self, outlier, n=1000):
        rng = np.random.default_rng(20)
        z = rng.normal(size=n) + rng.laplace(0, 0.5, n)
        z[0] = outlier
        return z

    def test_a_bandwidth_out_of_reach(self):
        for outlier in (1e5, 1e9, 1e300):
            with pytest.raises(InvalidInput, match=r"larger one, or remove outliers.*low="):
                Deconvolution(bandwidth=0.2).fit(Spectrum.of(self.numbers(outlier), noise=self.LAW))

    @pytest.mark.parametrize("bandwidth", ["plug-in", "normal-reference", "cv", 0.2])
    def test_bounds_leave_the_impossible_out(self, bandwidth):
        estimator = Deconvolution(bandwidth=bandwidth)
        z = self.numbers(1e9)
        with pytest.warns(ConfideWarning, match="1 of 1000 numbers"):
            density = estimator.fit(Spectrum.of(z, noise=self.LAW, low=-5, high=5))
        without = estimator.fit(Spectrum.of(z[1:], noise=self.LAW, low=-5, high=5))
        np.testing.assert_array_equal(density.masses, without.masses)
        assert density.interval("mean") == without.interval("mean")

    def test_each_number_has_its_own_reach(self):
        law = noise.Gaussian(scale=[1.0, 1.0, 0.01, 1.0])
        spectrum = Spectrum.of(
            [0.5, 3.0, 3.0, 0.1], noise=law, low=0, high=1, response=[1.0, 2.0, 3.0, 4.0]
        )
        with pytest.warns(ConfideWarning, match="1 of 4"):
            kept = division.plausible(spectrum)
        assert kept.values[:, 0].tolist() == [0.5, 3.0, 0.1]
        assert kept.noise[0].scale.tolist() == [1.0, 1.0, 1.0]
        assert kept.response.tolist() == [1.0, 2.0, 4.0]

    def test_cells_wider_than_the_bandwidth_are_said_so(self):
        spectrum = Spectrum.of(self.numbers(6e3), noise=self.LAW)
        with pytest.warns(ConfideWarning, match="wider than its bandwidth"):
            Deconvolution(bandwidth=0.2).fit(spectrum)

    def test_chosen_bandwidths_are_raised(self, monkeypatch):
        rng = np.random.default_rng(21)
        z = rng.standard_t(2, size=(500, 3)) + rng.laplace(0, 0.2, (500, 3))
        spectrum = Spectrum.of(z, noise=noise.Laplace(scale=0.2))
        monkeypatch.setattr(division, "MAX_WAVES", 2**17)
        with pytest.warns(ConfideWarning, match=r"cannot be below .*, where .* was wanted"):
            density = Deconvolution().fit(spectrum)
        assert density.masses.sum() == pytest.approx(1)
        with pytest.raises(InvalidInput, match="within reach"):
            Deconvolution(bandwidth=0.1).fit(spectrum)

    def test_sizes_are_known_before_they_are_allocated(self):
        for top, window in ((3.0, 10.0), (7.0, 1234.5), (1e-9, 0.0)):
            assert quadrature.count(top, window) == quadrature.nodes(top, window)[0].size
        for window in (1e12, math.inf):
            with pytest.raises(InvalidInput, match="remove outliers"):
                quadrature.nodes(1.0, window)

    def test_cross_validation_on_a_long_grid(self):
        axis = bandwidths.Axis(1e9, 1.0, 1e9, np.ones_like, np.ones_like)
        with pytest.raises(InvalidInput, match="bandwidth='plug-in'"):
            bandwidths.cross_validation([axis], named("fan"))

    def test_bins_of_the_band_are_finer_than_the_bandwidth(self):
        z = self.numbers(3e3, n=100_000)
        spectrum = Spectrum.of(z, noise=self.LAW)
        t, w = np.linspace(0.01, 5, 400), np.full(400, 0.01)
        band = WaveBand(spectrum, t, w, -10.0, 3e3, positive=False)
        places, shares = band._numbers
        assert places.size < 10_000
        assert shares.sum() == pytest.approx(1)
        ordered = np.sort(z)
        right = np.searchsorted(places, ordered).clip(1, places.size - 1)
        gap = np.minimum(np.abs(ordered - places[right]), np.abs(ordered - places[right - 1]))
        assert gap.max() < 1 / 5 / 8


class TestBandwidth:
    def axis(self, law, z):
        spectrum = Spectrum.of(z, noise=law)
        sd = math.sqrt(z.var(ddof=1) - law.variance)
        return bandwidths.Axis(
            z.size,
            sd,
            float(np.ptp(z)),
            lambda t: np.abs(spectrum.deconvolved(t)) ** 2,
            lambda t: 1 / law.mean_square(t),
        )

    def test_normal_reference_minimises_the_error_as_printed(self):
        law = LAWS["laplace"]
        axis = self.axis(law, noised(law))
        (h,) = bandwidths.normal_reference([axis], named("fan"))
        theta = 3 / (8 * math.sqrt(math.pi) * axis.sd**5)

        def error(b):
            variance = integrate.quad(
                lambda u: (1 - u * u) ** 6 / law.characteristic(u / b) ** 2, 0, 1
            )[0] / (math.pi * axis.n * b)
            return b**4 * 36 * theta / 4 + variance

        assert error(h) < min(error(0.99 * h), error(1.01 * h))

    def test_cross_validation_as_a_double_sum(self):
        """int f^2 - 2/n sum_j f_{-j}, with the closed form of Laplace noise, Gaussian kernel."""
        law = noise.Laplace(scale=0.4)
        z = noised(law, n=80)
        axis = self.axis(law, z)
        (h,) = bandwidths.cross_validation([axis], named("gaussian"))
        x = np.linspace(-8, 12, 2001)

        def adjusted(y, b):
            y = y / b
            kernel = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
            return kernel * (1 + (law.scale / b) ** 2 * (1 - y**2)) / b

        def twice(y, b):
            """The kernel with both differences taken: (1 - s^2 d2/dx2)^2 of a Gaussian."""
            s = (law.scale / b) ** 2
            y = y / b
            fourth = y**4 - 6 * y**2 + 3
            kernel = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
            return kernel * (1 - 2 * s * (y**2 - 1) + s * s * fourth) / b

        def criterion(b):
            f = adjusted(x[:, None] - z, b).mean(axis=1)
            pairs = twice(z[:, None] - z, b)
            np.fill_diagonal(pairs, 0)
            return integrate.simpson(f * f, x=x) - 2 * pairs.sum() / (z.size * (z.size - 1))

        assert criterion(h) < min(criterion(0.97 * h), criterion(1.03 * h))

    def test_variance_that_cannot_be_told_from_the_noise(self):
        rng = np.random.default_rng(14)
        z = rng.laplace(0, 1, 200) * 0.9
        spectrum = Spectrum.of(z, noise=noise.Laplace(scale=1.0))
        with pytest.warns(ConfideWarning, match="too few values"):
            density = Deconvolution().fit(spectrum)
        assert density.bandwidth > 0.1

    @pytest.mark.parametrize("z", [[0, 0, 1, 1], [3, 3, 3], [3, 4], [0, 5, 5, 5, 9]])
    def test_units_of_few_or_tied_numbers(self, z):
        found = []
        for unit in (1.0, 1e-6, 1e6):
            spectrum = Spectrum.of(unit * np.array(z), noise=noise.Laplace(scale=unit))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConfideWarning)
                found.append(Deconvolution().fit(spectrum).bandwidth / unit)
        assert found == pytest.approx([found[0]] * 3, rel=1e-6)
        assert 0.1 < found[0] < 10

    def test_no_spread_is_a_number_of_its_own(self):
        with pytest.warns(ConfideWarning):
            assert bandwidths.spread(0.0, 0.0, largest=7.0) == 7.0
        with pytest.raises(InvalidInput, match="unit"):
            bandwidths.spread(0.0, 0.0)

    @pytest.mark.parametrize("rare", [0.02, 0.0005])
    def test_gain_of_a_few_numbers_with_hardly_any_noise(self, rare):
        rng = np.random.default_rng(22)
        sd = np.where(rng.random(20_000) < rare, 1e-3, rng.uniform(0.9, 1.1, 20_000))
        law, t = noise.Gaussian(scale=sd), np.array([0.0, 0.1, 1.0, 2.0, 3.0, 4.0, 5.0, 300.0])
        np.testing.assert_allclose(division._gain(law)(t), 1 / law.mean_square(t), rtol=1e-3)

    def test_cross_validation_of_one_effective_report(self):
        mechanism = Laplace(Lattice(low=0, high=1, size=64), epsilon=5.0)
        axis = inverses(mechanism)[0].axis(np.full(64, 1 / 64), 1.0, named("fan"))
        with pytest.raises(InvalidInput, match="one effective report"):
            bandwidths.cross_validation([axis], named("fan"))

    @pytest.mark.parametrize("size", [2, 4, 8, 16])
    def test_few_cells_are_consistent(self, size):
        """At least one cell of smoothing would leave errors of .45, .19, .13 and .05 for ever."""
        mechanism = Laplace(Lattice(low=0, high=1, size=size), epsilon=20.0)
        truth = beta_masses(size)
        for method in bandwidths.METHODS:
            rng = np.random.default_rng(23)
            density = Deconvolution(bandwidth=method).fit(
                simulated(mechanism, truth, 1_000_000, rng)
            )
            assert np.abs(density.masses - truth).sum() < 0.01
        # The interval for an edge then holds the truth.
        low, high = density.interval("cdf", 0.5, level=0.999)
        assert low < stats.beta(2, 5).cdf(0.5) < high

    def test_few_cells_and_much_noise_are_still_smoothed(self):
        mechanism, truth = Laplace(Lattice(low=0, high=1, size=8), epsilon=4.0), beta_masses(8)
        rng, errors = np.random.default_rng(24), []
        for _ in range(20):
            counts = simulated(mechanism, truth, 1000, rng)
            fits = [Deconvolution(bandwidth=b).fit(counts) for b in ("plug-in", 1e-9)]
            errors.append([np.abs(fit.masses - truth).sum() for fit in fits])
        smoothed, raw = np.mean(errors, axis=0)
        assert smoothed < 0.7 * raw

    def test_much_gaussian_noise_overflows_nothing(self):
        rng = np.random.default_rng(15)
        z = rng.normal(size=500) + 3 * rng.standard_normal(500)
        for method in ("plug-in", "normal-reference"):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                warnings.simplefilter("ignore", ConfideWarning)
                density = Deconvolution(bandwidth=method).fit(
                    Spectrum.of(z, noise=noise.Gaussian(scale=3.0))
                )
            assert 0.3 < density.bandwidth < 10

    def test_bandwidth_falls_with_n_at_the_right_rate(self):
        """n^(-1/9) for Laplace noise, not n^(-1/5)."""
        mechanism, found = Laplace(Lattice(low=0, high=1, size=256), epsilon=2.0), []
        for n in (10**4, 10**7):
            expected = np.round(mechanism.law.forward(beta_masses(256)) * n).astype(np.int64)
            found.append(Deconvolution().fit(Counts(mechanism, expected)).bandwidth)
        rate = math.log(found[0] / found[1]) / math.log(10**3)
        assert 0.08 < rate < 0.16


class TestBands:
    def test_coverage_on_a_lattice(self):
        mechanism, truth = Laplace(Lattice(low=0, high=1, size=64), epsilon=3.0), beta_masses(64)
        estimator = Deconvolution(bandwidth=0.06, positive=False)
        (inverse,) = inverses(mechanism)
        smoothed = inverse.smooth(named("fan"), 0.06, truth)
        at = mechanism.lattice.centers[[1, 12, 20, 40]]
        rng, hits = np.random.default_rng(16), []
        for _ in range(400):
            density = estimator.fit(simulated(mechanism, truth, 5000, rng))
            low, high = density.interval("pdf", at, level=0.9)
            below, above = density.interval("cdf", at, level=0.9)
            mean = density.interval("mean", level=0.9)
            cdf = np.cumsum(smoothed)[[1, 12, 20, 40]] - smoothed[[1, 12, 20, 40]] / 2
            hits.append(
                [
                    *(
                        (low <= 64 * smoothed[[1, 12, 20, 40]])
                        & (64 * smoothed[[1, 12, 20, 40]] <= high)
                    ),
                    *((below <= cdf) & (cdf <= above)),
                    mean[0] <= truth @ mechanism.lattice.centers <= mean[1],
                ]
            )
        # Four standard errors of a share of 400.
        assert np.abs(np.mean(hits, axis=0) - 0.9).max() < 4 * math.sqrt(0.09 / 400)
        low, high = density.interval("quantile", 0.5)
        assert low < density.quantile(0.5) < high

    def test_coverage_from_foreign_numbers(self):
        """E of the estimate from N(0,1) is the normal density smoothed by the kernel."""
        law, h, at = noise.Laplace(scale=0.5), 0.3, np.array([-1.0, 0.0, 0.7, 2.5])
        t = np.linspace(0, 1 / h, 2001)
        smooth = (1 - (h * t) ** 2) ** 3 * np.exp(-(t**2) / 2)
        expected = integrate.trapezoid(np.cos(np.multiply.outer(at, t)) * smooth, t) / math.pi
        rng, hits = np.random.default_rng(17), []
        for n in (200, 2000):
            for _ in range(150):
                z = rng.normal(size=n) + rng.laplace(0, 0.5, n)
                density = Deconvolution(bandwidth=h, positive=False).fit(Spectrum.of(z, noise=law))
                low, high = density.interval("pdf", at, level=0.9)
                hits.append((low <= expected) & (expected <= high))
        assert np.abs(np.mean(hits, axis=0) - 0.9).max() < 4 * math.sqrt(0.09 / 300)

    @pytest.mark.parametrize("positive", [True, False])
    def test_no_ghosts_outside_the_window(self, positive):
        law, rng = noise.Laplace(scale=0.5), np.random.default_rng(19)
        z = rng.normal(size=2000) + rng.laplace(0, 0.5, 2000)
        density = Deconvolution(positive=positive).fit(Spectrum.of(z, noise=law))
        far = np.array([-1e4, -200.0, 36.9, 200.0, 1e4])
        assert np.array(density.interval("pdf", far)).tolist() == [[0.0] * 5] * 2
        for end in density.interval("cdf", far):
            assert end == pytest.approx([0, 0, 1, 1, 1], abs=1e-6)
        # Near the window the linear estimate goes on, and its band with it.
        beyond = z.max() + 0.1
        low, high = density.interval("pdf", beyond)
        assert (low < high) is not positive

    def test_one_place_at_a_time_equals_the_whole_operator(self):
        mechanism, h = Laplace(Lattice(low=0, high=1, size=40), epsilon=3.0), 0.08
        counts = simulated(mechanism, beta_masses(40), 3000, np.random.default_rng(25))
        density = Deconvolution(bandwidth=h, positive=False).fit(counts)
        (inverse,) = inverses(mechanism)
        operator = inverse.operator(named("fan"), h)
        shares = counts.counts / 3000
        for rows, at, what in (
            (40 * operator, mechanism.lattice.centers, "pdf"),
            (np.cumsum(operator, axis=0)[:-1], mechanism.lattice.edges[1:-1], "cdf"),
        ):
            mean = rows @ shares
            error = np.sqrt(((rows - mean[:, None]) ** 2) @ shares / 3000)
            low, high = density.interval(what, at)
            inside = (
                slice(None) if what == "pdf" else (mean - 3 * error > 0) & (mean + 3 * error < 1)
            )
            np.testing.assert_allclose((low + high)[inside] / 2, mean[inside], atol=1e-9)
            np.testing.assert_allclose((high - low)[inside], 3.919928 * error[inside], rtol=1e-6)

    def test_several_questions_place_by_place(self):
        part = Laplace(Lattice(low=0, high=1, size=12), epsilon=3.0)
        joint = Joint({"a": part, "b": part})
        truth = np.multiply.outer(beta_masses(12), beta_masses(12, 3, 3))
        counts = simulated(joint, truth, 5000, np.random.default_rng(26))
        density = Deconvolution(bandwidth=0.1, positive=False).fit(counts)
        operator = inverses(part)[0].operator(named("fan"), 0.1)
        at = np.array([[0.2, 0.7], [0.9, 0.1], [0.2, 0.1], [1.2, 0.1]])
        low, high = density.interval("pdf", at)
        for k, (i, j) in enumerate([(2, 8), (10, 1), (2, 1)]):
            coefficient = 144 * np.multiply.outer(operator[i], operator[j])
            mean = (coefficient * counts.counts).sum() / 5000
            error = math.sqrt(((coefficient - mean) ** 2 * counts.counts).sum()) / 5000
            assert high[k] - low[k] == pytest.approx(3.919928 * error, rel=1e-6)
        assert low[3] == high[3] == 0

    def test_very_many_cells(self):
        """The operator would have 2**36 numbers."""
        mechanism = Laplace(Lattice(low=0, high=1, size=2**18), epsilon=4.0)
        values = np.random.default_rng(27).beta(2, 5, 20_000)
        density = Deconvolution().fit(Counts.of(mechanism.simulate(values, seed=1)))
        for x in (0.2, 0.4):
            low, high = density.interval("cdf", x, level=0.999)
            assert low < (values <= x).mean() < high
            low, high = density.interval("pdf", x, level=0.999)
            assert low < high

    def test_long_lattices_agree_with_short_ones(self):
        """The same reports on cells sixteen times as fine: the signal does not cancel away."""
        short = Laplace(Lattice(low=0, high=1, size=2**12), epsilon=2.0)
        counts = simulated(short, beta_masses(2**12), 10_000, np.random.default_rng(28)).counts
        fine = np.zeros(2**16, dtype=np.int64)
        fine[8::16] = counts
        fine[[0, -1]] = counts[[0, -1]]
        fine[[8, -8]] = 0
        long = Laplace(Lattice(low=0, high=1, size=2**16), epsilon=2.0)
        pair = [Deconvolution().fit(one) for one in (Counts(short, counts), Counts(long, fine))]
        assert pair[1].bandwidth == pytest.approx(pair[0].bandwidth, rel=1e-2)
        ends = [one.interval("quantile", [0.1, 0.5, 0.9]) for one in pair]
        np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)

    def test_search_is_as_good_as_a_look_everywhere(self):
        rng = np.random.default_rng(29)
        middle = np.sort(rng.random(5001))
        lower, upper = middle - 0.02, middle + 0.03
        shares = np.array([0.0, 0.013, 0.4, 0.5, 0.987, 1.0])
        everywhere = stretch(shares, np.arange(5001), lower, upper)
        for coarse, fine in ((256, 16), (16, 2), (5000, 2)):
            found = search(
                shares, 5000, lambda at: (lower[at], upper[at]), coarse=coarse, fine=fine
            )
            np.testing.assert_array_equal(found, everywhere)
        # Bands narrower than a step still have two ends, next to each other.
        sharp = search(shares, 5000, lambda at: (middle[at], middle[at]), coarse=16, fine=4)
        np.testing.assert_array_equal(sharp, stretch(shares, np.arange(5001), middle, middle))

    def test_quantiles_of_many_numbers(self):
        """Among a few hundred edges the interval could not be narrower than one of them."""
        law, rng = noise.Laplace(scale=0.05), np.random.default_rng(30)
        z = rng.normal(size=1_000_000) + rng.laplace(0, 0.05, 1_000_000)
        density = Deconvolution(bandwidth=0.1).fit(Spectrum.of(z, noise=law))
        low, high = density.interval("quantile", 0.5)
        assert low < 0 < high
        # Twice 1.96 standard errors of a median, sqrt(pi/2)/1000.
        assert high - low == pytest.approx(2 * 1.96 * 1.2533e-3, rel=0.1)

    def test_mean_keeps_within_the_bounds(self):
        mechanism = Laplace(Lattice(low=0, high=1, size=16), epsilon=0.1)
        density = Deconvolution(bandwidth=0.2).fit(Counts.of(mechanism.simulate([0.1] * 5, seed=1)))
        low, high = density.interval("mean")
        assert 0 <= low <= high <= 1
        law = noise.Laplace(scale=1.0)
        z = [0.3, 0.3, 0.3]
        wide = Deconvolution(bandwidth=1.0).fit(Spectrum.of(z, noise=law)).interval("mean")
        half = stats.t.ppf(0.975, 2) * math.sqrt(2 / 3)
        assert wide == pytest.approx((0.3 - half, 0.3 + half))
        spectrum = Spectrum.of(z, noise=law, low=0.0, high=1.0)
        assert Deconvolution(bandwidth=1.0).fit(spectrum).interval("mean") == (0.0, 1.0)

    def test_binned_band_equals_the_plain_one(self):
        law, rng = noise.Laplace(scale=0.5), np.random.default_rng(18)
        z = rng.normal(size=4000) + rng.laplace(0, 0.5, 4000)
        density = Deconvolution(bandwidth=0.4, positive=False).fit(Spectrum.of(z, noise=law))
        low, high = density.interval("pdf", 0.3)
        t, w = density.intervals.frequencies, density.intervals.weights
        own = np.cos(np.multiply.outer(0.3 - z, t)) @ w
        assert own.mean() == pytest.approx(float(density.pdf(0.3)), rel=1e-9)
        half = 1.959964 * own.std() / math.sqrt(4000)
        assert high - low == pytest.approx(2 * half, rel=1e-2)
        assert (low + high) / 2 == pytest.approx(own.mean(), rel=1e-2)
