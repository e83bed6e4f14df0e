"""The exact error against quadrature, simulation and its limit, and designs by it."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from confide.errors import InvalidInput, Unsupported
from confide.foreign.noise_laws import Gaussian, Laplace, TwoSidedGamma
from confide.gamma import GammaDesign, Reference, exact_error, expected_error, optimal_gamma

NORMAL = Reference.normal(sd=1.0)
NOISE = TwoSidedGamma(shape=0.8, scale=0.5247)
HUMPS = np.concatenate(
    [np.random.default_rng(seed).normal(at, 0.6, 500) for seed, at in ((1, -2.0), (2, 2.0))]
)


def kernel(t):
    return np.maximum(1 - t * t, 0) ** 3


class TestExactError:
    @pytest.mark.parametrize("b", [0.05, 0.2, 0.7, 3.0])
    def test_is_the_integral(self, b):
        n, sd = 200, 1.7

        def inside(t):
            s, f = math.exp(-((sd * t) ** 2)), float(NOISE.characteristic(t))
            k = float(kernel(t * b))
            return k**2 * (1 / f**2 - s) / n + (1 - k) ** 2 * s

        ends = (0, 1 / b, max(1 / b, 8 / sd))
        whole = sum(integrate.quad(inside, low, high, limit=200)[0] for low, high in pairwise(ends))
        found = exact_error(NOISE, n=n, reference=Reference.normal(sd=sd), bandwidth=b)
        assert found.error == pytest.approx(whole / math.pi, rel=1e-8)
        assert 0 < found.variance < found.error

    def test_is_the_mean_error_of_simulated_estimates(self):
        """The estimate from its definition, 30 values at a time."""
        n, b, draws = 30, 0.35, 2500
        noise = TwoSidedGamma(shape=0.8, scale=1.2)
        generator = np.random.default_rng(4)
        signs = generator.choice([-1.0, 1.0], (draws, n))
        z = generator.normal(size=(draws, n)) + signs * generator.gamma(
            noise.shape, noise.scale, (draws, n)
        )
        u, w = np.polynomial.legendre.leggauss(60)
        t, w = (u + 1) / (2 * b), w / (2 * b)
        waves = np.exp(1j * z[:, :, None] * t).mean(axis=1)
        x = np.linspace(-15, 15, 601)
        lift = w * kernel(t * b) / noise.characteristic(t) / math.pi
        curves = ((waves * lift) @ np.exp(-1j * t[:, None] * x)).real
        normal = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        errors = ((curves - normal) ** 2).sum(axis=1) * (x[1] - x[0])
        mean, spread = errors.mean(), errors.std(ddof=1) / math.sqrt(draws)
        found = exact_error(noise, n=n, reference=NORMAL, bandwidth=b)
        assert spread < 0.03 * mean
        assert found.error == pytest.approx(mean, abs=4 * spread)
        # Close enough to tell it from the limit and from a variance of (1 - s)/f**2.
        rough = 9 * b**4 * 0.375 / math.sqrt(math.pi)
        inverse = w * kernel(t * b) ** 2 / noise.characteristic(t) ** 2 / (math.pi * n)
        s = np.exp(-(t**2))
        assert abs(inverse.sum() + rough - mean) > 5 * spread
        bias = found.error - found.variance
        assert abs((inverse * (1 - s)).sum() + bias - mean) > 5 * spread

    @pytest.mark.parametrize("noise", [NOISE, Laplace(scale=0.4177)])
    def test_tends_to_the_asymptotic_error(self, noise):
        gaps = []
        for n in (10**3, 10**5, 10**7, 10**9):
            limit = expected_error(noise, n=n, sd=1.0)
            found = exact_error(noise, n=n, reference=NORMAL)
            assert found.error < limit.error
            assert found.bandwidth > limit.bandwidth
            gaps.append(limit.error / found.error - 1)
        assert (np.diff(gaps) < 0).all()
        assert gaps[-1] < 0.05

    def test_best_bandwidth(self):
        found = exact_error(NOISE, n=500, reference=NORMAL)
        for factor in (0.95, 1.05):
            other = found.bandwidth * factor
            at = exact_error(NOISE, n=500, reference=NORMAL, bandwidth=other)
            assert at.bandwidth == other
            assert at.error > found.error

    def test_refusals(self):
        with pytest.raises(Unsupported, match="zeros"):
            exact_error(TwoSidedGamma(shape=1.2, scale=1.0), n=10, reference=NORMAL)
        with pytest.raises(Unsupported, match="same for all"):
            exact_error(Gaussian(scale=[1.0, 2.0]), n=10, reference=NORMAL)
        with pytest.raises(InvalidInput, match="bandwidth > 0"):
            exact_error(NOISE, n=10, reference=NORMAL, bandwidth=0.0)


class TestReference:
    def test_normal_values_are_nearly_normal(self):
        x = np.random.default_rng(1).normal(5.0, 1.0, 100_000)
        smoothed = exact_error(NOISE, n=1000, reference=Reference.of(x))
        known = exact_error(NOISE, n=1000, reference=NORMAL)
        assert smoothed.error == pytest.approx(known.error, rel=0.02)
        assert smoothed.bandwidth == pytest.approx(known.bandwidth, rel=0.02)

    def test_is_the_smoothed_distribution(self):
        """Roughness and transform of the sum of normal kernels, each pair by hand."""
        x = np.random.default_rng(2).exponential(size=60)
        found = Reference.of(x)
        sd = x.std(ddof=1)
        low, high = np.quantile(x, [0.25, 0.75])
        width = 0.9 * min(sd, (high - low) / 1.34) * 60**-0.2
        shrunk = math.hypot(1, width / sd)
        t = np.linspace(0, 4, 9)
        wave = np.exp(1j * t[:, None] * x / shrunk).mean(axis=1)
        by_hand = np.abs(wave) ** 2 * np.exp(-((width * t / shrunk) ** 2))
        np.testing.assert_allclose(found.square(t), by_hand, atol=0.01)
        gaps = (x[:, None] - x) / (2 * width)
        rough = np.exp(-(gaps**2)).mean() * shrunk / (2 * math.sqrt(math.pi) * width)
        assert found.roughness == pytest.approx(rough, rel=0.03)

    def test_units_and_ties_do_no_harm(self):
        one, other = (
            exact_error(
                TwoSidedGamma(shape=0.9, scale=scale), n=1000, reference=Reference.of(scale * HUMPS)
            )
            for scale in (1.0, 1e6)
        )
        assert other.bandwidth == pytest.approx(1e6 * one.bandwidth, rel=1e-6)
        assert other.error == pytest.approx(1e-6 * one.error, rel=1e-6)
        heaped = np.append(np.zeros(900), np.random.default_rng(1).normal(size=100))
        tied = exact_error(NOISE, n=1000, reference=Reference.of(heaped))
        assert math.isfinite(tied.error)
        assert tied.error > 0


class TestDesigns:
    def test_by_the_exact_error(self):
        limit = optimal_gamma(HUMPS, replicates=0, criterion="aimse")
        exact = optimal_gamma(HUMPS, replicates=0)
        assert (limit.criterion, exact.criterion) == ("aimse", "mise")
        assert exact.error <= min(pair.error for pair in exact.eligible if pair.shape >= 0.8)
        reference = Reference.of(HUMPS)
        again = exact_error(exact.noise, n=1000, reference=reference)
        assert again.error == pytest.approx(exact.error, rel=1e-2)
        wide = exact_error(limit.noise, n=1000, reference=reference, bandwidth=limit.bandwidth)
        assert wide.error > 1.3 * exact.error
        assert "exact for as many values" in " ".join(exact.words())
        assert "limit for many normal values" in " ".join(limit.words())

    def test_documents(self):
        first = optimal_gamma(HUMPS, replicates=0, criterion="mise")
        fields = json.loads(json.dumps(first.to_dict()))
        assert GammaDesign.from_dict(fields) == first
        # Earlier documents have no criterion.
        del fields["criterion"]
        assert GammaDesign.from_dict(fields).criterion == "aimse"
        with pytest.raises(InvalidInput, match="a design"):
            GammaDesign.from_dict({**fields, "criterion": "mse"})

    def test_unknown_criterion(self):
        with pytest.raises(InvalidInput, match=r"one of .* for 'criterion', got 'mse'.*mise"):
            optimal_gamma(HUMPS, criterion="mse")
