"""One contract for every mechanism: its law, its loss, its draws, its scores, its JSON form."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from confide import mechanisms
from confide.audits.fits import chi_square
from confide.audits.grids import deviation
from confide.errors import Unsupported
from confide.exact.enclosures import log_ceiling
from confide.exact.entropy import SeededEntropy
from confide.lattice import Lattice
from confide.mechanisms import (
    ForcedResponse,
    Joint,
    Laplace,
    Mechanism,
    PairResponse,
    RandomizedResponse,
    Side,
    SquareWave,
    TwoSidedGamma,
)
from confide.mechanisms.laws import Law, largest_ratio

EPSILONS = (0.01, 0.5, 1.0, 4.0, 10.0)
SIZES = (2, 3, 17, 64)


def numeric(epsilon: float, size: int) -> list[Mechanism]:
    linear = Lattice(low=-2, high=5, size=size)
    log = Lattice(low=1, high=500, size=size, scale="log")
    whole = Lattice(low=-3, high=size - 4, kind="integer")
    # Two to a cell, and one in the last.
    uneven = Lattice(low=0, high=2 * size - 2, size=size, kind="integer")
    zoomed = []
    if size >= 20:
        zoomed = [Lattice(low=-2, high=5, size=size, scale="zoom", zoom=(-1, 0.5))]
    return [
        *(SquareWave(each, epsilon=epsilon) for each in zoomed),
        *(SquareWave(each, epsilon=epsilon, prefer_not_to_say=True) for each in zoomed),
        Laplace(linear, epsilon=epsilon),
        Laplace(log, epsilon=epsilon),
        SquareWave(linear, epsilon=epsilon),
        SquareWave(log, epsilon=epsilon),
        SquareWave(whole, epsilon=epsilon),
        SquareWave(uneven, epsilon=epsilon),
        Laplace(uneven, epsilon=epsilon),
        SquareWave(linear, epsilon=epsilon, prefer_not_to_say=True),
        SquareWave(log, epsilon=epsilon, prefer_not_to_say=True),
        SquareWave(uneven, epsilon=epsilon, prefer_not_to_say=True),
        TwoSidedGamma(linear, shape=0.8, scale=7 / epsilon),
        TwoSidedGamma(linear, shape=1.0, scale=7 / epsilon),
        TwoSidedGamma(linear, shape=1.7, scale=7 / epsilon),
    ]


def others(epsilon: float, size: int) -> list[Mechanism]:
    small = Lattice(low=0, high=1, size=min(size, 4))
    labels = [str(k) for k in range(size)]
    response = RandomizedResponse(labels, epsilon=epsilon)
    return [
        response,
        RandomizedResponse(labels, epsilon=epsilon, prefer_not_to_say=True),
        Joint({"a": Laplace(small, epsilon=epsilon), "b": SquareWave(small, epsilon=epsilon)}),
        Joint(
            {
                "a": SquareWave(small, epsilon=epsilon),
                "b": RandomizedResponse(["x", "y"], epsilon=epsilon),
                "c": Laplace(Lattice(low=0, high=1, size=3), epsilon=epsilon),
            }
        ),
        PairResponse({"a": Side(small, (1,)), "b": Side(response.categories)}, epsilon=epsilon),
    ]


ALL = [m for e in EPSILONS for s in SIZES for m in numeric(e, s) + others(e, s)]


def exactly_within(ratio: Fraction, epsilon: float | str) -> bool:
    """ratio <= e**epsilon, by integers and 400 decimal digits: no float takes part.

    The digits come from the decimal module and not from the code under test; their last one is
    given away.
    """
    with localcontext() as context:
        context.prec = 400
        power = Decimal(epsilon).exp()
    bound = Fraction(power) * (1 - Fraction(1, 10**390))
    return ratio <= bound


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_exact_loss_is_at_most_the_declared_epsilon(mechanism: Mechanism) -> None:
    law = mechanism.law
    # Over all pairs of inputs and all reports, from the integer weights.
    brute = Law.ratio(law)
    assert exactly_within(brute, mechanism.spend.epsilon)
    assert law.ratio() == brute


@pytest.mark.parametrize("written", ["0.1", "0.2", "1.1", "3.6"])
def test_exact_loss_is_at_most_what_is_written(written: str) -> None:
    # These floats lie above the decimals that are written for them, which a ledger counts.
    epsilon = float(written)
    lattice = Lattice(low=0, high=1, size=64)
    kinds = [Laplace(lattice, epsilon=epsilon), SquareWave(lattice, epsilon=epsilon)]
    for mechanism in (*kinds, RandomizedResponse(["no", "yes"], epsilon=epsilon)):
        assert exactly_within(mechanism.law.ratio(), written)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1024, 4096])
def test_exact_loss_on_large_lattices(epsilon: float, size: int) -> None:
    lattice = Lattice(low=0, high=1, size=size)
    wave = SquareWave(lattice, epsilon=epsilon)
    ends = [wave.law.weights(i) for i in (0, 1, size // 2, size - 1)]
    assert len({sum(column) for column in ends}) == 1
    assert {w for column in ends for w in column} == {wave.law.near, wave.law.far}
    assert exactly_within(Fraction(wave.law.near, wave.law.far), epsilon)
    law = SquareWave(lattice, epsilon=epsilon, prefer_not_to_say=True).law
    columns = [law.weights(i) for i in (0, 1, size // 2, size - 1, size)]
    assert len({sum(column) for column in columns}) == 1
    assert largest_ratio((max(row), min(row)) for row in zip(*columns, strict=True)) == law.ratio()
    assert law.ratio() == Fraction(wave.law.near, wave.law.far)
    if size < 2000:
        assert exactly_within(Laplace(lattice, epsilon=epsilon).law.ratio(), epsilon)
    gamma = TwoSidedGamma(lattice, shape=0.8, scale=1 / epsilon)
    assert exactly_within(gamma.law.ratio(), gamma.spend.epsilon)


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_weights_have_one_total_and_make_the_matrix(mechanism: Mechanism) -> None:
    law = mechanism.law
    columns = [law.weights(i) for i in range(int(np.prod(law.inputs)))]
    totals = {sum(column) for column in columns}
    assert len(totals) == 1
    (total,) = totals
    exact = np.array([[float(Fraction(w, total)) for w in column] for column in columns]).T
    matrix = law.matrix()
    assert matrix.shape == (np.prod(law.outputs), np.prod(law.inputs))
    np.testing.assert_allclose(matrix, exact, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_forward_and_adjoint_are_the_matrix(mechanism: Mechanism) -> None:
    law, generator = mechanism.law, np.random.default_rng(1)
    matrix = law.matrix()
    masses = generator.random((2, 3, *law.inputs))
    scores = generator.random((2, 3, *law.outputs))
    forward = masses.reshape(6, -1) @ matrix.T
    adjoint = scores.reshape(6, -1) @ matrix
    np.testing.assert_allclose(law.forward(masses).reshape(6, -1), forward, atol=1e-12)
    np.testing.assert_allclose(law.adjoint(scores).reshape(6, -1), adjoint, atol=1e-12)


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize(
    "mechanism", [m for e in EPSILONS for s in SIZES for m in numeric(e, s)], ids=str
)
def test_scores_are_unbiased(mechanism: Mechanism, power: int) -> None:
    target = mechanism.lattice.centers**power
    if mechanism.prefer_not_to_say:
        target = np.append(target, 0.0)
    scores = mechanism.unbiased(power)
    # Scores grow as epsilon falls: the error is relative to them.
    scale = np.abs(scores).max()
    np.testing.assert_allclose(mechanism.law.adjoint(scores), target, atol=1e-9 * scale)


def test_laplace_scores_are_the_printed_ones() -> None:
    # On cells at 0 .. m: g1(r) = r inside, -p/(1-p) at 0 and m + p/(1-p) at m; g2 inside r^2 - v.
    m = 20
    mechanism = Laplace(Lattice(low=-0.5, high=m + 0.5, size=m + 1), epsilon=1.3)
    p = mechanism.p
    over = p / (1 - p)
    v = 2 * p / (1 - p) ** 2
    g1, g2 = mechanism.unbiased(1), mechanism.unbiased(2)
    np.testing.assert_allclose(g1[1:-1], np.arange(1, m), atol=1e-9)
    np.testing.assert_allclose(g1[[0, -1]], [-over, m + over], atol=1e-9)
    np.testing.assert_allclose(g2[1:-1], np.arange(1, m) ** 2 - v, atol=1e-8)
    # At the ends the overshoot K has P(K = k) = (1-p) p^k: E[K] = over, E[K^2] = p(1+p)/(1-p)^2.
    square = p * (1 + p) / (1 - p) ** 2
    np.testing.assert_allclose(g2[0], square - v, atol=1e-8)
    np.testing.assert_allclose(g2[-1], m * m + 2 * m * over + square - v, atol=1e-8)


ONE_WORD = [m for e in EPSILONS for s in (2, 17, 256) for m in [*numeric(e, s), *others(e, s)[:2]]]


@pytest.mark.parametrize("mechanism", ONE_WORD, ids=str)
def test_draw_code_on_a_grid_of_words(mechanism: Mechanism) -> None:
    n = 2**17
    for index in (0, mechanism.law.inputs[0] // 2, mechanism.law.inputs[0] - 1):
        # A clamped report gathers a stretch of the grid: at most 1 off at each of its two ends.
        assert deviation(mechanism, index, n) <= 1.0 + 1e-6


@pytest.mark.parametrize("mechanism", [*numeric(1.0, 17), *others(1.0, 5)], ids=str)
@pytest.mark.parametrize("bits", [8, 32])
def test_draws_fit_the_law(mechanism: Mechanism, bits: int) -> None:
    # Eight-bit words leave about a third of the draws undecided: the refinement does the work.
    parts = mechanism.mechanisms.values() if isinstance(mechanism, Joint) else [mechanism]
    for part in parts:
        part = part.response if isinstance(part, PairResponse) else part  # noqa: PLW2901
        small = type(part.sampler)(part.sampler.enclosure, bits)
        object.__setattr__(part, "sampler", small)
    law, n = mechanism.law, 60_000
    index = tuple(size // 2 for size in law.inputs)
    rows = np.tile(np.array(index, dtype=np.int32), (n, 1))
    rows = rows[:, 0] if len(index) == 1 else rows
    reports = mechanism.draw(rows, SeededEntropy(5))
    flat = reports if reports.ndim == 1 else np.ravel_multi_index(tuple(reports.T), law.outputs)
    masses = np.zeros(law.inputs)
    masses[index] = 1
    expected = n * law.forward(masses).ravel()
    assert chi_square(np.bincount(flat, minlength=expected.size), expected) > 1e-6


@pytest.mark.parametrize("mechanism", [*numeric(1.0, 17), *others(1.0, 5)], ids=str)
def test_json_form_and_fingerprint(mechanism: Mechanism) -> None:
    again = mechanisms.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert again.fingerprint == mechanism.fingerprint
    assert repr(again) == repr(mechanism)


def test_fingerprints_tell_mechanisms_apart() -> None:
    every = [*numeric(1.0, 17), *numeric(1.1, 17), *numeric(1.0, 18), *others(1.0, 5)]
    assert len({m.fingerprint for m in every}) == len(every)


def test_wave_needs_its_extension() -> None:
    # Without the extra cells totals differ between inputs, and the loss is 4.46 at a declared 4.
    law = SquareWave(Lattice(low=0, high=1, size=512), epsilon=4.0).law
    cut = [law.weights(i)[law.reach : law.reach + law.size] for i in (0, 256)]
    worst = max(
        Fraction(a * sum(cut[j]), b * sum(cut[i]))
        for i, j in ((0, 1), (1, 0))
        for a, b in zip(cut[i], cut[j], strict=True)
    )
    assert 4.46 < log_ceiling(worst) < 4.47
    assert exactly_within(Law.ratio(law), 4.0)


def test_forced_response_has_no_epsilon() -> None:
    forced = ForcedResponse(["no", "yes"], truth=0.5)
    assert forced.spend.epsilon == np.inf
    with pytest.raises(Unsupported, match="no finite epsilon"):
        forced.privatize(["no"])
    with pytest.raises(ZeroDivisionError):
        forced.law.ratio()
    reports = forced.simulate(["no"] * 10_000 + ["yes"] * 10_000, seed=1)
    assert (reports.indices[10_000:] == 1).all()
    assert abs(reports.indices[:10_000].mean() - 0.5) < 0.02


def test_gamma_says_what_it_is() -> None:
    for shape in (0.8, 1.5):
        coarse, fine = (
            TwoSidedGamma(Lattice(low=0, high=1, size=size), shape=shape, scale=1.0)
            for size in (65, 1025)
        )
        assert fine.spend.epsilon > coarse.spend.epsilon + 0.5
        assert "lattice only" in fine.spend.note
        assert "lattice only" in repr(fine)
    assert TwoSidedGamma(coarse.lattice, shape=1.0, scale=1.0).spend.epsilon < 1.0
