"""The gamma designer against the paper's formulas, typed as printed, and its exact figures."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from evidence.ghatak.study import printed_error, printed_pair
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import gammainc

from confide.errors import ConfideWarning, InvalidInput, Unsupported
from confide.foreign.noise_laws import Gaussian, Laplace, TwoSidedGamma
from confide.gamma.designer import optimal_gamma
from confide.gamma.price import expected_error
from confide.gamma.protection import (
    Feasible,
    closeness,
    criterion_scale,
    empirical_protection,
    gamma_scale,
    match_rate,
    normal_protection,
    protection,
    reidentification,
    shared_variance,
    widest,
)
from confide.gamma.surface import Surface

POPULATIONS = {
    "exponential": stats.expon(),
    "normal": stats.norm(),
    "laplace": stats.laplace(scale=10),
    "uniform": stats.uniform(0, 10),
}
NORMAL = np.random.default_rng(1).normal(size=1000)


def printed_closeness(z: np.ndarray, x: np.ndarray, noise: TwoSidedGamma, within: float):
    """M-hat of the paper: sums over the data, equation (7)."""
    f = noise.pdf(z[:, None] - x)
    return (f * (np.abs(z[:, None] - x) <= within)).sum(axis=1) / f.sum(axis=1)


class TestKnownPopulations:
    def test_figure_one(self):
        scale = criterion_scale(1.0, within=1.0, probability=0.1)
        assert scale == pytest.approx(1 / math.log(10))
        near = closeness(0.0, stats.norm(), Laplace(scale=scale), within=1.0)
        assert 1 - float(near) == pytest.approx(0.044971, abs=5e-7)

    @pytest.mark.parametrize(
        ("name", "shape", "scale"),
        [
            ("exponential", 1.0, 1.158),
            ("normal", 1.0, 0.4177),
            ("laplace", 1.0, 8.540),
            ("uniform", 1.0, 1.2773),
            ("normal", 0.8, 0.5247),
            ("uniform", 0.95, 1.3387),
        ],
    )
    def test_exact_scales(self, name, shape, scale):
        found = gamma_scale(POPULATIONS[name], shape=shape)
        assert found == pytest.approx(scale, rel=2e-4)
        # The smallest scale that protects is the one whose mu is what was asked for.
        mu = protection(POPULATIONS[name], TwoSidedGamma(shape=shape, scale=found))
        assert mu == pytest.approx(0.75, abs=1e-4)

    @pytest.mark.parametrize("shape", [0.4, 0.8, 1.0, 1.6])
    def test_closeness_is_the_ratio_of_integrals(self, shape):
        noise, z, within = TwoSidedGamma(shape=shape, scale=0.7), 0.4, 0.6
        near, every = (
            sum(
                integrate.quad(lambda y, s=s: stats.norm.pdf(z - s * y) * noise.pdf(y), a, b)[0]
                for s in (-1, 1)
                for a, b in ((0, within), *rest)
            )
            for rest in ((), ((within, 30.0),))
        )
        found = float(closeness(z, stats.norm(), noise, within=within))
        assert found == pytest.approx(near / every, rel=1e-6)

    def test_a_density_does_as_well_as_a_distribution(self):
        z = np.linspace(-2, 14, 9)
        noise = TwoSidedGamma(shape=0.9, scale=1.2)
        known = closeness(z, stats.uniform(0, 10), noise, within=2.0)
        by_hand = closeness(z, np.ones_like, noise, within=2.0, support=(0, 10))
        np.testing.assert_allclose(by_hand, known, atol=1e-9)

    def test_normal_values_with_normal_noise(self):
        assert normal_protection(2.0, 1.0) == pytest.approx(0.7356, abs=5e-5)
        for noise_sd in (0.5, 3.0):
            mu = protection(stats.norm(scale=2), Gaussian(scale=noise_sd), certainty=0.8)
            exact = normal_protection(2.0, noise_sd, certainty=0.8)
            assert mu == pytest.approx(exact, abs=1e-5)

    def test_refusals(self):
        with pytest.raises(InvalidInput, match="larger shape, less protection"):
            gamma_scale(stats.norm(), shape=0.1)
        with pytest.raises(InvalidInput, match="support"):
            closeness(0.0, np.exp, Laplace(scale=1.0), within=1.0)
        with pytest.raises(InvalidInput, match="standard deviation"):
            closeness(0.0, stats.cauchy(), Laplace(scale=1.0), within=1.0)
        with pytest.raises(InvalidInput, match="0 < certainty < 1"):
            protection(stats.norm(), Laplace(scale=1.0), certainty=1.0)


class TestData:
    def test_normal_values_with_normal_noise(self):
        x = np.random.default_rng(2).normal(3.0, 2.0, 1_000_000)
        for noise_sd in (1.0, 2.0):
            found = empirical_protection(x, Gaussian(scale=noise_sd))
            assert found == pytest.approx(normal_protection(2.0, noise_sd), rel=2e-3)

    @pytest.mark.parametrize("seed", range(3))
    def test_largest_closeness_is_that_of_the_printed_sums(self, seed):
        """Shape 1 has no pole, so that the supremum of the sums is what the cells must find."""
        x = np.random.default_rng(seed).normal(size=300)
        sd = x.std(ddof=1)
        within = 0.75 * sd
        # Where a value enters or leaves the window, where one has its peak, and between these.
        z = np.sort(np.concatenate([x, x - within * (1 - 1e-9), x + within * (1 - 1e-9)]))
        z = np.concatenate([z, (z[1:] + z[:-1]) / 2])
        for scale in (0.2, 0.5, 2.0):
            slow = printed_closeness(z, x, TwoSidedGamma(shape=1.0, scale=scale), within).max()
            errors = []
            for cells in (64, 1024):
                surface = Surface.of(x, width=0.75 / cells)
                feasible = Feasible(surface, 0.75 * surface.sd, 0.9)
                errors.append(abs(feasible.largest(1.0, scale) - slow))
            # One value in 300 on the edge of the window makes a jump of a few thousandths.
            assert errors[0] < 6e-3
            assert errors[1] < 2.5e-3

    @pytest.mark.parametrize("scale", [0.5, 0.92, 1e3])
    def test_below_shape_one_the_printed_supremum_is_one(self, scale):
        noise = TwoSidedGamma(shape=0.5, scale=scale)
        z = NORMAL[:1] + np.array([1e-2, 1e-6, 1e-12])
        near = printed_closeness(z, NORMAL, noise, 0.75 * NORMAL.std(ddof=1))
        assert (np.diff(near) > 0).all()
        at_last = printed_closeness(np.array([1e-200]), np.append(NORMAL, 0.0), noise, 0.75)
        assert at_last[0] > 1 - 1e-12

    def test_cells_on_a_lattice_are_exact(self):
        """Values at cell centres: cell masses of the noise, summed by hand."""
        x = np.repeat(np.arange(8.0), [5, 1, 0, 2, 9, 0, 0, 3])
        surface = Surface.of(x, width=1 / x.std(ddof=1))
        shape, scale, within = 0.7, 1.3, 2.2
        share = np.bincount(x.astype(int)) / x.size

        def mass(k: int, cut: float = math.inf) -> float:
            ends = [min(max(abs(k) - 0.5, 0), cut), min(abs(k) + 0.5, cut)]
            below = gammainc(shape, np.array(ends) / scale)
            return float(below[1] - below[0]) / (1 if k == 0 else 2)

        ratios = [
            sum(share[i] * mass(z - i, within) for i in range(8))
            / sum(share[i] * mass(z - i) for i in range(8))
            for z in range(8)
        ]
        found = surface.largest(lambda y: gammainc(shape, y / scale), within)
        assert found == pytest.approx(max(ratios), rel=1e-9)

    def test_linear_binning_keeps_mean_and_total(self):
        surface = Surface.of(NORMAL, width=0.01)
        place = NORMAL.min() + surface.step * np.arange(surface.shares.size)
        assert surface.shares.sum() == pytest.approx(1)
        assert surface.shares @ place == pytest.approx(NORMAL.mean())

    @settings(max_examples=20, deadline=None)
    @given(
        st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=40),
        st.floats(0.05, 1.0),
        st.floats(1e-3, 1e3),
    )
    def test_larger_scales_protect_more(self, values, shape, scale):
        if np.ptp(values) < 1e-3:
            return
        surface = Surface.of(values, width=0.75 / 16)
        feasible = Feasible(surface, 0.75 * surface.sd, 0.9)
        tight, loose = (feasible.largest(shape, surface.sd * scale * by) for by in (1.0, 2.0))
        # Far from the values a transform has few digits left.
        assert 0 <= loose <= tight + 1e-4
        assert tight <= 1
        assert feasible.limit(shape) <= loose + 1e-4

    @pytest.mark.parametrize("shape", [1.0, 0.6])
    def test_mu_is_the_largest_multiplier(self, shape):
        """P(|X - Z| > e sd given z) is at least 1 - delta at every z up to mu, not beyond."""
        z, mus = np.linspace(-6, 6, 241), []
        for scale in (0.5, 1.0, 2.0):
            noise = TwoSidedGamma(shape=shape, scale=scale)
            mus.append(protection(stats.norm(), noise))
            for share, holds in ((0.01, True), (0.5, True), (0.99, True), (1.01, False)):
                near = closeness(z, stats.norm(), noise, within=share * mus[-1])
                assert (near.max() <= 0.9) == holds
        assert np.all(np.diff(mus) > 0.05)


class TestOtherMeasures:
    def test_expected_matches_are_what_is_observed(self):
        noise = TwoSidedGamma(shape=0.6, scale=0.1)
        x = np.round(NORMAL[:200], 2)  # some are equal
        generator = np.random.default_rng(4)
        rates = []
        for _ in range(400):
            y = generator.gamma(0.6, 0.1, x.size) * generator.choice([-1, 1], x.size)
            rates.append(match_rate(x, x + y))
        error = np.std(rates, ddof=1) / math.sqrt(len(rates))
        assert np.mean(rates) == pytest.approx(reidentification(x, noise), abs=4 * error)

    def test_smaller_shapes_give_more_away_at_equal_mu(self):
        """Exact expectations at n = 1000; simulated single draws were .8, 2.2, 5.7 and 13.7 %."""
        rates = []
        for shape, seen in ((1.0, 0.008), (0.8, 0.022), (0.5, 0.057), (0.3, 0.137)):
            noise = TwoSidedGamma(shape=shape, scale=gamma_scale(stats.norm(), shape=shape))
            rates.append(reidentification(NORMAL, noise))
            one_draw = math.sqrt(rates[-1] / NORMAL.size)
            assert rates[-1] == pytest.approx(seen, abs=2 * one_draw)
        assert np.all(np.diff(rates) > 0.005)
        assert rates == pytest.approx([0.0091, 0.0166, 0.0521, 0.1225], rel=0.01)

    def test_tendick(self):
        assert shared_variance(2.0, Gaussian(scale=1.0)) == pytest.approx(0.8)

    @pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
    def test_ghatak_and_roy(self, shape):
        scale = criterion_scale(shape, within=1.5, probability=0.2)
        law = TwoSidedGamma(shape=shape, scale=scale)
        assert float(law.cdf(1.5) - law.cdf(-1.5)) == pytest.approx(0.8)


class TestError:
    @pytest.mark.parametrize(("shape", "scale"), [(1.0, 0.42), (0.8, 0.52), (0.3, 2.5)])
    def test_is_the_printed_formula_but_for_the_constant(self, shape, scale):
        """AIMSE(b) with the integral over theta up to arctan(eta/b), as printed."""
        noise, n, sd = TwoSidedGamma(shape=shape, scale=scale), 1000, 1.3

        def printed(b: float, constant: float) -> float:
            def inside(theta: float) -> float:
                kernel = (1 - (b / scale * math.tan(theta)) ** 2) ** 6
                return kernel / (math.cos(theta) ** (shape + 1) * math.cos(shape * theta)) ** 2

            integral = integrate.quad(inside, 0, math.atan(scale / b))[0]
            rough = 0.375 * sd**-5 / math.sqrt(math.pi)
            return integral / (math.pi * n * scale) + constant * b**4 / 4 * rough

        for constant, error in ((36.0, expected_error), (11520.0, printed_error)):
            found = error(noise, n=n, sd=sd)
            assert found.error == pytest.approx(printed(found.bandwidth, constant), rel=1e-7)
            for away in (0.97, 1.03):
                assert printed(away * found.bandwidth, constant) > found.error

    def test_second_moment_of_the_kernel(self):
        """-K''(0) of (1 - t**2)**3 is 6, so that the constant is 36 and not 11520."""
        t = 1e-3
        assert (2 - 2 * (1 - t * t) ** 3) / t**2 == pytest.approx(6, rel=1e-5)

    def test_refuses_noise_that_wipes_out_a_frequency(self):
        with pytest.raises(Unsupported, match="zeros"):
            expected_error(TwoSidedGamma(shape=1.2, scale=1.0), n=10, sd=1.0)


class TestDesigner:
    def test_protects_at_least_cost(self):
        design = optimal_gamma(NORMAL)
        assert design.shape == 0.8
        assert design.bounded_by == "floor"
        feasible = Feasible(Surface.of(NORMAL, width=0.75 / 64), 0.75 * NORMAL.std(ddof=1), 0.9)
        assert feasible.largest(design.shape, design.scale) == pytest.approx(0.9, abs=1e-5)
        assert feasible.largest(design.shape, 0.99 * design.scale) > 0.9
        low, high = design.interval
        assert low < design.scale < high
        assert low < gamma_scale(stats.norm(), shape=0.8) < high
        assert 1 < design.gain < 1.2

    @pytest.mark.parametrize("name", POPULATIONS)
    @pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")
    def test_optimum_without_a_floor(self, name):
        x = POPULATIONS[name].rvs(1000, random_state=1)
        found = optimal_gamma(x, floor=0.0, replicates=0)
        assert found.bounded_by == ""
        assert found.shape < 1
        assert found.error <= min(pair.error for pair in found.eligible)
        for shape in (found.shape - 0.02, found.shape + 0.02):
            assert optimal_gamma(x, shape=shape, floor=0, replicates=0).error > found.error

    def test_large_samples_reach_the_exact_scale(self):
        x = np.random.default_rng(3).normal(size=1_000_000)
        assert optimal_gamma(x, replicates=0).scale == pytest.approx(0.5247, rel=0.01)
        x = np.random.default_rng(3).uniform(0, 10, 1_000_000)
        found = optimal_gamma(x, shape=0.95, replicates=0)
        assert found.scale == pytest.approx(1.3387, rel=0.01)
        assert found.smallest_feasible_shape == pytest.approx(0.156, abs=0.01)

    def test_units_do_not_matter(self):
        one, other = optimal_gamma(NORMAL), optimal_gamma(1e6 + 3e4 * NORMAL)
        assert other.shape == one.shape
        assert other.scale == pytest.approx(3e4 * one.scale, rel=1e-5)

    def test_following_the_paper(self):
        found = optimal_gamma(NORMAL, replicates=0, criterion="aimse")
        best = printed_pair(found)
        assert best.shape * 20 == pytest.approx(round(best.shape * 20))
        assert best.variance <= min(pair.variance for pair in found.eligible)
        printed = printed_error(found.noise, n=found.n, sd=found.sd)
        assert printed.bandwidth < 0.7 * found.bandwidth

    def test_laplace_has_an_epsilon_and_no_other_shape_has(self):
        laplace = optimal_gamma(NORMAL, shape=1.0, bounds=(-3, 3))
        assert laplace.epsilon == pytest.approx(6 / laplace.scale)
        assert "epsilon =" in " ".join(laplace.words())
        other = optimal_gamma(NORMAL, bounds=(-3, 3))
        assert other.epsilon is None
        assert "No pure epsilon" in " ".join(other.words())
        deltas = np.array(other.delta_at)[:, 1]
        assert (np.diff(deltas) < 0).all()

    def test_a_shape_found_by_the_search_is_a_plain_float(self):
        # The best shape of these values lies between two of the grid.
        design = optimal_gamma(np.random.default_rng(1).exponential(size=400), replicates=0)
        assert (type(design.shape), type(design.scale)) == (float, float)
        assert 0.8 < design.shape < 0.85
        assert "shape 0.80" in " ".join(design.words())
        assert json.loads(json.dumps(design.to_dict()))["shape"] == design.shape

    def test_words_say_what_it_is_not(self):
        text = " ".join(optimal_gamma(NORMAL).words())
        for phrase in ("not give differential privacy", "nearest to their own", "fitted to the"):
            assert phrase in text
        assert "not differential privacy" in repr(optimal_gamma(NORMAL))

    def test_caps(self):
        near = optimal_gamma(NORMAL, floor=0.3, near_cap=0.04)
        assert near.bounded_by == "cap"
        assert 0.039 < near.near <= 0.04
        delta = optimal_gamma(NORMAL, delta_cap=(10.0, 1e-5), bounds=(-2, 2))
        assert delta.shape > 0.8
        assert delta.bounded_by == "cap"
        with pytest.raises(InvalidInput, match=r"near_cap >= 0\.02"):
            optimal_gamma(NORMAL, near_cap=0.001)
        with pytest.raises(InvalidInput, match=r"delta >= .* at epsilon 1"):
            optimal_gamma(NORMAL, delta_cap=(1.0, 0.01))

    def test_below_the_floor(self):
        with pytest.raises(InvalidInput, match=r"shape >= 0.8.* % of the noised values"):
            optimal_gamma(NORMAL, shape=0.5)
        with pytest.warns(ConfideWarning, match=r"mu does not see small noise.*against"):
            found = optimal_gamma(NORMAL, shape=0.5, floor=0.4)
        assert found.reidentification > 4 * found.laplace_reidentification

    def test_plain_values(self):
        fields = json.loads(json.dumps(optimal_gamma(NORMAL).to_dict(), allow_nan=False))
        assert fields["epsilon"] is None
        assert all(len(pair) == 2 for pair in fields["delta_at"])
        assert fields["mu"] == 0.75
        shapes, scales, _ = zip(*fields["eligible"], strict=True)
        assert max(shapes) == 1
        assert min(shapes) > fields["smallest_feasible_shape"]
        assert (np.diff(scales) > 0).all()  # smaller shapes need larger scales

    def test_pictures(self):
        design = optimal_gamma(NORMAL)
        pairs = design.plot()
        assert pairs.ax_.get_xlabel() == "shape"
        assert repr(pairs) == f"<PairsDisplay of {len(design.eligible)} pairs>"
        curves = design.plot_distribution(NORMAL, seed=1)
        assert repr(curves) == "<CurvesDisplay of values, recovered>"
        gap = np.abs(curves.curves["values"] - curves.curves["recovered"])
        assert gap.max() < 0.1


class TestBadInput:
    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [
            (np.ones(50), {}, "values that differ, got constant ones"),
            (np.arange(9.0), {}, "at least 10 values, got 9"),
            (NORMAL, {"protection": 3.0}, r"protection below 1\.6.* with certainty 0\.9"),
            (NORMAL, {"certainty": 0.3}, r"certainty above 0\.5.* with protection 0\.75"),
            (NORMAL, {"certainty": 1.0}, "certainty <= 0.9999"),
            (NORMAL, {"protection": -1.0}, "protection > 0"),
            (NORMAL, {"shape": 0.05}, r"a shape from 0\.\d+ to 1"),
            (NORMAL, {"shape": 1.5}, "shape <= 1"),
            (NORMAL, {"bounds": (1.0, 0.0)}, "low < high"),
            (np.append(NORMAL, np.nan), {}, "finite numbers"),
            (1e-300 * NORMAL, {}, "other units"),
            (
                np.append(np.zeros(95), np.ones(5)),
                {},
                r"certainty above 0\.95 with protection 0\.75,",
            ),
            (np.append(np.zeros(10**6), 1.0), {"protection": 1e-3}, "protection >= .*Outliers"),
            (["1"] * 20, {}, "numbers in values"),
        ],
    )
    def test_one_clear_sentence(self, values, options, message):
        with pytest.raises(InvalidInput, match=message):
            optimal_gamma(values, **options)

    def test_heavy_tails_say_what_is_feasible(self):
        x = np.random.default_rng(5).lognormal(sigma=1.3, size=5000)
        with pytest.raises(InvalidInput, match="protection below") as told:
            optimal_gamma(x)
        most = widest(x, 0.9)
        assert f"protection below {most:.3g}" in str(told.value)
        optimal_gamma(x, protection=0.98 * most, replicates=0)

    def test_an_outlier_does_not_exhaust_memory(self):
        found = optimal_gamma(np.append(NORMAL, 1e9), certainty=0.9995, replicates=0)
        assert found.scale > 1e6
