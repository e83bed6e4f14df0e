"""Enclosures of the normal distribution, and the delta that they certify."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from confide.exact.integer_noise import (
    DiscreteGaussian,
    certified_delta,
    gaussian,
    gaussian_delta,
    most_rho,
)
from confide.exact.normal import coupled_delta, largest_rho, normal_enclosure, pi_enclosure

PI = 314159265358979323846264338327950288419716939937510582097494459230781640628620899


def test_pi_is_known_to_eighty_digits():
    for bits in (16, 100, 260):
        low, high = pi_enclosure(bits)
        assert low * 10**80 <= PI << bits <= high * 10**80
        assert high - low <= 2


@pytest.mark.parametrize("x", [0, 0.1, -0.1, 1, -3.25, 7.5, -12, -20.5])
def test_the_enclosure_is_that_of_scipy(x):
    low, high = normal_enclosure(Fraction(x), 512)
    assert high - low <= 2
    assert low / 2**512 == pytest.approx(norm.cdf(x), rel=1e-12)
    # Coarser enclosures hold finer ones.
    wide = normal_enclosure(Fraction(x), 64)
    assert wide[0] << 448 <= low <= high <= wide[1] << 448


def test_far_out_it_is_nothing_or_everything():
    assert normal_enclosure(Fraction(100), 64)[1] == 1 << 64
    assert normal_enclosure(Fraction(-100), 64)[0] == 0


def law(variance):
    at = np.arange(-80, 81)
    weights = np.exp(-(at**2) / (2 * variance))
    return at, weights / weights.sum()


@pytest.mark.parametrize("variance", [1, 2, 5, 30])
def test_discrete_and_continuous_noise_are_within_one(variance):
    # F_Y(j) <= F_X(j) <= F_Y(j + 1), in tails that keep their digits.
    at, mass = law(variance)
    upper = np.cumsum(mass[::-1])[::-1]
    sd = math.sqrt(variance)
    for j in range(-8 * math.isqrt(variance), 8 * math.isqrt(variance)):
        above = upper[at == j + 1][0]
        assert norm.sf((j + 1) / sd) <= above * (1 + 1e-12) <= norm.sf(j / sd) * (1 + 2e-12)


def exact_delta(variance, change, epsilon):
    """The hockey-stick divergence of discrete Gaussian noise and itself moved, by enumeration."""
    at, mass = law(variance)
    joint, losses = np.ones(()), np.zeros(())
    for each in change:
        joint = np.multiply.outer(joint, mass)
        losses = np.add.outer(losses, (2 * at * each + each**2) / (2 * variance))
    return float((joint * np.maximum(1 - np.exp(epsilon - losses), 0)).sum())


@pytest.mark.parametrize("change", [(1,), (3,), (7,), (1, 1), (3, -2), (0, 5)])
@pytest.mark.parametrize("variance", [4, 16, 90])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_no_change_has_more_than_the_certified_delta(variance, change, epsilon):
    squared = sum(each**2 for each in change)
    rho = Fraction(squared, 2 * variance)
    shift = Fraction(sum(map(abs, change)), variance)
    found = coupled_delta(rho, shift, Fraction(epsilon))
    true = exact_delta(variance, change, epsilon)
    assert true <= found + 1e-15
    noise = DiscreteGaussian(variance)
    if noise.variance == variance:
        assert true <= gaussian_delta([(noise, squared, len(change))], Fraction(epsilon)) + 1e-15


def test_without_the_shift_it_would_be_short():
    # In one dimension discrete noise can have more delta than continuous noise of its parameter.
    short = [
        (variance, each, epsilon)
        for variance in (1, 2, 4)
        for each in (1, 2, 3)
        for epsilon in (0.2, 0.5, 1.0, 2.0)
        if exact_delta(variance, (each,), epsilon)
        > coupled_delta(Fraction(each**2, 2 * variance), Fraction(0), Fraction(epsilon))
    ]
    assert short


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (10.0, 1e-5), (1.0, 1e-12)]
)
def test_noise_is_that_of_the_analytic_mechanism(epsilon, delta):
    squared, sums = 10**12, 1000
    found = gaussian(epsilon, delta, squared, sums)
    assert gaussian_delta([(found, squared, sums)], Fraction(epsilon)) <= delta
    analytic = squared / (2 * largest_rho(epsilon, delta))
    assert analytic < found.variance < 1.001 * analytic
    renyi = DiscreteGaussian(math.ceil(squared / (2 * most_rho(epsilon, delta))))
    assert certified_delta(Fraction(squared, 2 * renyi.variance), Fraction(epsilon)) <= delta
    # The noise of before, in standard deviations.
    assert 0.9 < found.sd / renyi.sd < 0.97
    less = DiscreteGaussian(found.variance * 98 // 100)
    assert gaussian_delta([(less, squared, sums)], Fraction(epsilon)) > delta


def test_where_the_shift_is_large_the_other_bound_is_taken():
    noise = gaussian(1.0, 1e-6, 4, 10**6)
    assert noise == DiscreteGaussian(math.ceil(4 / (2 * most_rho(1.0, 1e-6))))
    assert gaussian_delta([(noise, 4, 10**6)], Fraction(1)) <= 1e-6
    assert coupled_delta(Fraction(1, 50), Fraction(2), Fraction(1)) == 1.0
