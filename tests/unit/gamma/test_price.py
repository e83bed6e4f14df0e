"""The delta that goes with an epsilon: on a lattice in integers, in the continuum by formulas."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import Laplace, Lattice, SquareWave, TwoSidedGamma
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_enclosure
from confide.foreign import noise_laws as noise
from confide.gamma.price import gamma_delta, gamma_epsilon
from confide.mechanisms import laws
from confide.mechanisms.laws import Law


def gamma(size: int, shape: float, scale: float) -> TwoSidedGamma:
    return TwoSidedGamma(Lattice(low=0, high=1, size=size), shape=shape, scale=scale)


class TestLattice:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(2, 12), st.floats(0.05, 3), st.floats(0.01, 10), st.floats(0.01, 5))
    def test_fast_path_is_all_pairs(self, size, shape, scale, epsilon):
        law = gamma(size, shape, scale).law
        assert law.divergence(epsilon) == Law.divergence(law, epsilon)

    def test_all_pairs_is_the_definition_and_never_below_it(self):
        law, epsilon = gamma(7, 0.6, 0.3).law, 1.2
        columns = [law.weights(i) for i in range(7)]
        lower, upper = (Fraction(end, 2**200) for end in exp_enclosure(Fraction(epsilon), 200))
        ends = [
            max(
                sum(max(Fraction(0), a - factor * b) for a, b in zip(one, other, strict=True))
                for one in columns
                for other in columns
            )
            / sum(columns[0])
            for factor in (upper, lower)
        ]
        found = law.divergence(epsilon)
        assert ends[1] <= found <= ends[0] + Fraction(2, 2**64)

    def test_worst_pair_need_not_be_the_ends(self):
        """A mutant that looks at the two ends only is below the truth for shapes above 1."""
        law = gamma(33, 1.5, 1.0).law
        ends = laws.largest([law.weights(0), law.weights(32)], 1.0)
        assert ends < Fraction(9, 10) * law.divergence(1.0)

    def test_zero_from_the_stated_epsilon_on(self):
        mechanism = gamma(64, 0.8, 0.5)
        assert mechanism.delta_at(mechanism.spend.epsilon) == 0
        assert 0 < mechanism.delta_at(0.999 * mechanism.spend.epsilon) < 1e-3
        deltas = [mechanism.delta_at(e) for e in (0.25, 0.5, 1.0, 2.0, 3.0)]
        assert (np.diff(deltas) < 0).all()

    def test_float_is_rounded_up(self):
        mechanism = gamma(16, 0.7, 0.5)
        for epsilon in np.linspace(0.1, 2, 20).tolist():
            assert Fraction(mechanism.delta_at(epsilon)) >= mechanism.law.divergence(epsilon)

    @pytest.mark.parametrize("mechanism", [Laplace, SquareWave])
    def test_pure_mechanisms_have_no_delta_at_their_epsilon(self, mechanism):
        law = mechanism(Lattice(low=0, high=1, size=9), epsilon=1.0).law
        assert law.divergence(1.0) < Fraction(1, 2**60)
        assert law.divergence(0.9) > 1e-3

    @pytest.mark.parametrize("shape", [0.8, 1.0])
    def test_comes_near_the_continuum(self, shape):
        law = noise.TwoSidedGamma(shape=shape, scale=0.5)
        limit = gamma_delta(law, epsilon=1.0, extent=1.0)
        assert gamma(1024, shape, 0.5).delta_at(1.0) == pytest.approx(limit, rel=0.01)

    def test_says_what_kind_of_privacy_it_is(self):
        assert "lattice only" in repr(gamma(9, 0.8, 1.0))
        plain = gamma(9, 1.0, 1.0)
        assert plain.spend.note == ""
        assert "lattice only" not in repr(plain)
        with pytest.raises(InvalidInput, match="4,096 cells"):
            gamma(4097, 0.8, 1.0).delta_at(1.0)


def by_cells(epsilon: float, shape: float, shift: float) -> float:
    """The hockey-stick integral of one shift, from masses of fine cells: from below."""
    law = noise.TwoSidedGamma(shape=shape, scale=1.0)
    fine = np.geomspace(1e-12, 40, 8_000)
    edges = np.unique(np.concatenate([-fine, fine, shift - fine, shift + fine, [0.0, shift]]))
    gap = np.diff(law.cdf(edges)) - math.exp(epsilon) * np.diff(law.cdf(edges - shift))
    return float(np.maximum(gap, 0).sum())


class TestContinuum:
    @pytest.mark.parametrize(
        ("shape", "delta"), [(0.95, 0.03362), (0.9, 0.07183), (0.8, 0.15722), (0.5, 0.46044)]
    )
    def test_known_values(self, shape, delta):
        law = noise.TwoSidedGamma(shape=shape, scale=1.0)
        assert round(gamma_delta(law, epsilon=1.0, extent=1.0), 5) == pytest.approx(delta, abs=1e-8)

    def test_known_values_above_shape_one(self):
        law = noise.TwoSidedGamma(shape=1.5, scale=1.0)
        assert gamma_delta(law, epsilon=1.0, extent=1.0) == pytest.approx(4.14e-3, rel=1e-3)
        law = noise.TwoSidedGamma(shape=1.2, scale=1.0)
        assert gamma_delta(law, epsilon=1.0, extent=1.0) == pytest.approx(5.35e-5, rel=1e-2)

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
    @pytest.mark.parametrize("extent", [0.5, 1.0, 4.0, 9.0])
    @pytest.mark.parametrize("shape", [0.3, 0.8, 0.95, 1.0, 1.2, 1.5, 3.0])
    def test_against_sums_of_cells(self, epsilon, extent, shape):
        law = noise.TwoSidedGamma(shape=shape, scale=2.0)
        found = gamma_delta(law, epsilon=epsilon, extent=2 * extent)
        shifts = [extent] if shape <= 1 else np.geomspace(extent / 50, extent, 25).tolist()
        slow = max(by_cells(epsilon, shape, shift) for shift in shifts)
        assert slow - 1e-6 <= found
        assert found == pytest.approx(slow, rel=0.02, abs=1e-6)

    def test_whole_extent_is_worst_up_to_shape_one(self):
        for shape in (0.4, 0.8, 1.0):
            law = noise.TwoSidedGamma(shape=shape, scale=1.0)
            deltas = [gamma_delta(law, epsilon=0.7, extent=s) for s in np.linspace(0.05, 5, 60)]
            assert (np.diff(deltas) >= 0).all()

    @settings(max_examples=60, deadline=None)
    @given(st.floats(0.02, 8), st.floats(1e-3, 50), st.floats(1e-4, 100))
    def test_any_input_gives_a_probability(self, shape, epsilon, extent):
        law = noise.TwoSidedGamma(shape=shape, scale=1.0)
        assert 0 <= gamma_delta(law, epsilon=epsilon, extent=extent) <= 1 + 1e-12

    def test_epsilon_of_shape_one_alone(self):
        assert gamma_epsilon(noise.TwoSidedGamma(shape=1.0, scale=2.0), extent=3.0) == 1.5
        assert gamma_epsilon(noise.TwoSidedGamma(shape=1.1, scale=2.0), extent=3.0) is None
        law = noise.TwoSidedGamma(shape=1.0, scale=2.0)
        assert gamma_delta(law, epsilon=1.5, extent=3.0) == 0
        assert gamma_delta(law, epsilon=1.4, extent=3.0) > 0
