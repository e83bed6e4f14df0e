from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.exact.enclosures import (
    exp_ceiling,
    exp_enclosure,
    exp_floor,
    float_ceiling,
    log_ceiling,
    log_enclosure,
    logs_ceiling,
)
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.integer_noise import ONE, laplace_parameter, laplace_sampler, laplace_weights
from confide.exact.inversion import Inversion, weighted
from confide.mechanisms.two_sided_gamma import _table


class Tape(Entropy):
    """Words from a list, to plant a tie where one is wanted."""

    def __init__(self, words: list[int]) -> None:
        self.left = list(words)

    def words(self, n: int, bits: int) -> np.ndarray:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more words were read than the draw needs"
        return np.array(taken, dtype=np.uint64)


def oracle(weights: list[int], words: list[int], bits: int) -> tuple[int, int]:
    """The outcome and the number of words read, by exact fractions."""
    total, value, read = sum(weights), 0, 0
    thresholds = [Fraction(sum(weights[: k + 1]), total) for k in range(len(weights) - 1)]
    for word in words:
        value, read = value * 2**bits + word, read + 1
        low = Fraction(value, 2 ** (bits * read))
        high = Fraction(value + 1, 2 ** (bits * read))
        outcomes = {sum(t <= low for t in thresholds), sum(t < high for t in thresholds)}
        if len(outcomes) == 1:
            return outcomes.pop(), read
    raise AssertionError("the tape is too short")


@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=12),
    st.lists(st.integers(0, 255), min_size=40, max_size=40),
)
def test_every_tape_gives_the_exact_outcome(weights: list[int], words: list[int]) -> None:
    tape = Tape(words)
    outcome = weighted(weights, bits=8).draw(tape, 1)[0]
    expected, read = oracle(weights, words, 8)
    assert outcome == expected
    # The largest word may be refined without need, never decided wrongly.
    assert 40 - len(tape.left) >= read


def test_ties_are_planted_and_decided() -> None:
    sampler = weighted([1, 1, 1])
    third = 2**32 // 3
    # 2**32/3 is a third of a word above `third`, which is therefore undecided.
    assert sampler.draw(Tape([third - 1]), 1)[0] == 0
    assert sampler.draw(Tape([third + 1]), 1)[0] == 1
    assert sampler.draw(Tape([third, 0]), 1)[0] == 0
    assert sampler.draw(Tape([third, 2**32 - 1]), 1)[0] == 1
    assert sampler.draw(Tape([third, third, 0]), 1)[0] == 0
    assert sampler.draw(Tape([2**32 - 1]), 1)[0] == 2


def test_rare_outcomes_at_the_top_are_reached() -> None:
    sampler = weighted([2**40 - 1, 1])
    assert sampler.draw(Tape([2**32 - 1, 0]), 1)[0] == 0
    assert sampler.draw(Tape([2**32 - 1, 2**32 - 1]), 1)[0] == 1


@pytest.mark.parametrize(("epsilon", "m"), [(0.01, 3), (1.0, 20), (10.0, 7)])
def test_laplace_enclosures_hold_the_exact_thresholds(epsilon: float, m: int) -> None:
    parameter = laplace_parameter(epsilon, m)
    half = laplace_weights(parameter, m)
    weights = half[:0:-1] + half
    total = sum(weights)
    assert total == (ONE**m) * (ONE + parameter)
    sampler = laplace_sampler(parameter, m)
    for bits in (8, 32, 128):
        lower, upper = sampler.enclosure(bits)
        for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
            exact = Fraction(sum(weights[: k + 1]), total) * 2**bits
            assert low <= exact <= high
            assert high - low <= 2


@given(st.fractions(min_value=-60, max_value=60, max_denominator=10**6), st.integers(1, 300))
@settings(max_examples=200)
def test_exp_enclosure_is_tight_and_right(x: Fraction, bits: int) -> None:
    lower, upper = exp_enclosure(x, bits)
    finer_lower, finer_upper = exp_enclosure(x, bits + 64)
    # A finer enclosure lies inside the coarse one.
    assert lower << 64 <= finer_upper
    assert finer_lower <= upper << 64
    assert upper - lower <= 2


@given(st.fractions(min_value=-90, max_value=90, max_denominator=10**6), st.integers(1, 300))
@settings(max_examples=200)
def test_exp_enclosure_against_decimal(x: Fraction, bits: int) -> None:
    # Another implementation, to 400 digits: its error is far below one unit of 2**-300.
    with localcontext() as context:
        context.prec = 400
        value = (Decimal(x.numerator) / Decimal(x.denominator)).exp() * Decimal(2) ** bits
        lower, upper = exp_enclosure(x, bits)
        slack = value.scaleb(-350)
        assert Decimal(lower) <= value + slack
        assert value - slack <= Decimal(upper)


def test_exp_against_a_slow_rational_series() -> None:
    x = Fraction(7, 10)
    exact = sum(Fraction(x**k, math.factorial(k)) for k in range(60))
    lower, upper = exp_enclosure(x, 150)
    assert lower <= exact * 2**150 <= upper
    assert exp_floor(x, 10**20) == math.floor(exact * 10**20)
    assert exp_ceiling(x, 10**20) == math.ceil(exact * 10**20)
    assert exp_floor(Fraction(0), 5) == exp_ceiling(Fraction(0), 5) == 5


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 10.0, 99.0])
def test_laplace_parameter_is_the_smallest(epsilon: float) -> None:
    for m in (1, 63, 1023):
        parameter = laplace_parameter(epsilon, m)
        lower, upper = exp_enclosure(Fraction(-Fraction(epsilon), m), 200)
        assert parameter << 200 >= lower * ONE
        assert (parameter - 1) << 200 < upper * ONE


@given(st.fractions(min_value=1, max_value=10**12))
def test_log_ceiling(ratio: Fraction) -> None:
    def enough(value: float) -> bool:
        # A ledger counts what is written: the decimal, not the float.
        for exact in (Fraction(value), Fraction(repr(value))):
            lower, _ = exp_enclosure(exact, 300)
            if lower * ratio.denominator < ratio.numerator << 300:
                return False
        return True

    value = log_ceiling(ratio)
    assert enough(value) or ratio == 1
    if ratio > 1:
        assert not enough(math.nextafter(value, 0))


@given(
    st.lists(
        st.tuples(st.fractions(min_value=1, max_value=10**9), st.integers(1, 2**44)),
        min_size=1,
        max_size=3,
    )
)
def test_logs_ceiling_is_the_smallest_float(powers: list[tuple[Fraction, int]]) -> None:
    with localcontext() as context:
        context.prec = 90
        logs = ((Decimal(r.numerator) / Decimal(r.denominator)).ln() * k for r, k in powers)
        total = Fraction(sum(logs, start=Decimal(0)))
    found = logs_ceiling(powers)

    def as_written(value: float) -> Fraction:
        return min(Fraction(value), Fraction(repr(value)))

    slack = Fraction(1, 10**60) * max(total, 1)
    assert as_written(found) >= total - slack
    if found:
        assert as_written(math.nextafter(found, 0)) < total + slack


@given(st.fractions(min_value=1, max_value=10**30), st.sampled_from([8, 64, 300]))
def test_log_enclosure_holds_the_logarithm(ratio: Fraction, bits: int) -> None:
    with localcontext() as context:
        context.prec = 150
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        lower, upper = log_enclosure(ratio, bits)
        assert lower - Decimal("1e-40") <= log * 2**bits <= upper + Decimal("1e-40")
        assert upper - lower <= 2


@pytest.mark.parametrize("x", [0.1, 0.3, 1.0, 1e-300, 2.0**60, 1 / 3])
def test_float_ceiling_counts_what_is_written(x: float) -> None:
    for exact in (Fraction(x), Fraction(repr(x))):
        found = float_ceiling(exact)
        assert min(Fraction(found), Fraction(repr(found))) >= exact
        assert found <= math.nextafter(x, math.inf)
    assert float_ceiling(min(Fraction(x), Fraction(repr(x)))) == x
    assert float_ceiling(Fraction(0)) == 0


def test_gamma_table_is_symmetric_mass() -> None:
    weights = _table(1.0, 10.0, 50)
    total = 2 * sum(weights) - weights[0]
    assert abs(total / 2**62 - 1) < 1e-9
    # Shape 1 is Laplace: inner cells fall by e**(-1/10) a step.
    assert math.isclose(weights[5] / weights[6], math.exp(0.1), rel_tol=1e-9)
    assert min(_table(0.5, 0.01, 100)) == 1


def test_system_entropy_is_fresh_and_fair() -> None:
    a, b = SystemEntropy().words(1000, 64), SystemEntropy().words(1000, 64)
    assert len(np.intersect1d(a, b)) == 0
    ones = np.unpackbits(SystemEntropy().words(20_000, 64).view(np.uint8)).mean()
    assert abs(ones - 0.5) < 0.003
    assert SystemEntropy().words(1000, 8).max() <= 255


def test_seeded_noise_is_not_the_stream_that_values_are_made_of() -> None:
    mine = np.random.default_rng(1).integers(0, 2**64, size=2000, dtype=np.uint64)
    noise = SeededEntropy(1).words(2000, 64)
    assert not np.intersect1d(mine, noise).size
    assert abs(np.corrcoef(mine.astype(float), noise.astype(float))[0, 1]) < 0.1


def test_seeded_entropy_repeats() -> None:
    assert (SeededEntropy(3).words(9, 64) == SeededEntropy(3).words(9, 64)).all()
    assert (SeededEntropy(3).words(9, 64) != SeededEntropy(4).words(9, 64)).any()


def test_guide_agrees_with_a_plain_search() -> None:
    weights = [1, 10**9, 3, 10**12, 7, 7, 7]
    sampler = weighted(weights)
    words = SeededEntropy(1).words(50_000, 32)

    class Given(Entropy):
        def words(self, n: int, bits: int) -> np.ndarray:
            return words

    drawn = Inversion(sampler.enclosure).draw(Given(), words.size)
    upper = np.array(sampler.enclosure(32)[1], dtype=np.uint64)
    assert (drawn == np.searchsorted(upper, words, side="right")).all()
