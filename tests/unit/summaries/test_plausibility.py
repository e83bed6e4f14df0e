"""Counts that no answers could give are told, and no honest survey ever is."""

import itertools
import math
import warnings

import numpy as np
import pytest

from confide.errors import ConfideWarning, InvalidInput
from confide.estimators import (
    CategoryShares,
    Deconvolution,
    KernelRegression,
    Likelihood,
    LinearRegression,
    LogisticRegression,
    RatioRegression,
)
from confide.foreign.noise_laws import Laplace as LaplaceNoise
from confide.lattice import Lattice
from confide.mechanisms import (
    ForcedResponse,
    Joint,
    Laplace,
    RandomizedResponse,
    SquareWave,
    TwoSidedGamma,
)
from confide.summaries import Counts
from confide.summaries.plausibility import ERROR, _chances, checked, possible

SENTENCE = "Expected reports{} by {} with epsilon = 1, got counts that no answers whatever"


def lattice(size):
    return Lattice(low=0, high=120, size=size)


def mechanisms():
    for epsilon, size in itertools.product((0.1, 1.0, 4.0, 8.0), (2, 7, 120, 1024)):
        yield SquareWave(lattice(size), epsilon=epsilon)
        yield Laplace(lattice(size), epsilon=epsilon)
    for epsilon, size in itertools.product((0.1, 1.0, 4.0), (2, 5, 100)):
        yield RandomizedResponse(list(map(str, range(size))), epsilon=epsilon)
        yield TwoSidedGamma(lattice(size), shape=0.5, scale=120 / epsilon)
    yield ForcedResponse(["no", "yes"], truth=0.8)


def populations(size, generator):
    yield from np.eye(size)[[0, size // 2, -1]]
    yield (np.eye(size)[0] + np.eye(size)[-1]) / 2
    yield np.full(size, 1 / size)
    yield generator.dirichlet(np.full(size, 0.2))


def ages(n, seed=1):
    return np.clip(np.random.default_rng(seed).normal(45, 16, n).round(), 18, 90).astype(np.int64)


def raw(mechanism, n, response=None):
    """Whole-number answers counted as if they were reports."""
    table = np.bincount(ages(n), minlength=mechanism.law.outputs[0])
    return Counts(mechanism, table, response=response)


def test_no_honest_survey_is_ever_doubted():
    generator = np.random.default_rng(7)
    surveys = 0
    for mechanism in mechanisms():
        for masses in populations(mechanism.law.inputs[0], generator):
            chances = np.maximum(mechanism.law.forward(masses), 0)
            for n in (1, 10, 1000, 10**5, 10**8, 10**11):
                surveys += 1
                assert possible(mechanism, generator.multinomial(n, chances / chances.sum()))
    assert surveys > 1800


@pytest.mark.parametrize("make", [SquareWave, Laplace])
@pytest.mark.parametrize("size", [73, 120, 1024])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_raw_ages_are_found_out(make, size, epsilon):
    mechanism = make(lattice(size), epsilon=epsilon)
    answers = ages(500)
    table = np.bincount(np.minimum(answers, size - 1), minlength=mechanism.law.outputs[0])
    assert not possible(mechanism, table)


@pytest.mark.parametrize("make", [SquareWave, Laplace])
@pytest.mark.parametrize("stated", [0.5, 2.0])
def test_an_epsilon_off_by_a_factor_of_two_is_found_out(make, stated):
    real, said = (make(lattice(256), epsilon=epsilon) for epsilon in (1.0, stated))
    reports = real.simulate(120 * np.random.default_rng(3).beta(2, 5, 20_000), seed=3).indices
    size = said.law.outputs[0]
    assert not possible(said, np.bincount(np.minimum(reports, size - 1), minlength=size))


@pytest.mark.parametrize(
    "mechanism",
    [
        SquareWave(lattice(40), epsilon=1.0),
        Laplace(lattice(300), epsilon=2.0),
        RandomizedResponse(["a", "b", "c"], epsilon=1.0),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_bounds_are_those_of_the_matrix(mechanism):
    edges, least, most = _chances(mechanism)
    outputs = mechanism.law.outputs[0]
    assert {0, 1, outputs - 1, outputs} <= set(edges.tolist())
    matrix = mechanism.law.matrix()
    stretches = [matrix[a:b].sum(axis=0) for a, b in itertools.combinations(edges, 2)]
    np.testing.assert_allclose(least, [row.min() for row in stretches], atol=3e-12)
    np.testing.assert_allclose(most, [row.max() for row in stretches], atol=3e-12)


def test_it_alarms_where_hoeffding_says_so():
    """Two categories: the share of one has chances 1/(1+e) to e/(1+e), and nothing else counts."""
    mechanism = RandomizedResponse(["no", "yes"], epsilon=1.0)
    high, n = math.e / (1 + math.e), 10_000
    stretches = 3
    level = math.log(2 * stretches / ERROR)
    for k in range(n + 1):
        q = k / n
        far = max(q, 1 - q)
        distance = 0.0
        if far > high:
            distance = far * math.log(far / high)
            distance += (1 - far) * math.log((1 - far) / (1 - high)) if far < 1 else 0.0
        assert possible(mechanism, np.array([n - k, k])) == (n * distance <= level)


def test_of_very_many_cells_it_looks_at_fewer_pieces():
    mechanism = SquareWave(lattice(2**18), epsilon=1.0)
    assert _chances(mechanism)[0].size < 10
    assert not possible(mechanism, np.bincount(ages(100), minlength=mechanism.law.outputs[0]))


def test_nothing_is_possible():
    mechanism = SquareWave(lattice(16), epsilon=1.0)
    assert possible(mechanism, np.zeros(mechanism.law.outputs, dtype=np.int64))


def fits():
    wave, laplace = (make(lattice(120), epsilon=1.0) for make in (SquareWave, Laplace))
    yield Likelihood(), raw(wave, 500)
    yield Deconvolution(), raw(laplace, 500)
    words = RandomizedResponse(["no", "yes"], epsilon=1.0)
    yield CategoryShares(), Counts(words, np.array([980, 20]))
    both = Joint({"age": laplace, "smokes": words})
    answers = np.stack([ages(500), np.arange(500) % 2], axis=1)
    table = np.zeros(both.law.outputs, dtype=np.int64)
    np.add.at(table, tuple(answers.T), 1)
    for kind in (RatioRegression, LinearRegression, LogisticRegression, KernelRegression):
        yield kind(response="smokes"), Counts(both, table)


@pytest.mark.parametrize(
    ("estimator", "counts"),
    list(fits()),
    ids=lambda each: type(each).__name__.removesuffix("Counts"),
)
def test_every_estimator_says_so_once(estimator, counts):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConfideWarning)
        estimator.fit(counts)
    told = [str(warning.message) for warning in caught if "got counts" in str(warning.message)]
    name, mechanism = "", counts.mechanism
    if isinstance(mechanism, Joint):
        name, mechanism = " of 'age'", mechanism.mechanisms["age"]
    assert len(told) == 1
    assert told[0].startswith(SENTENCE.format(name, mechanism.name))
    assert "privatize raw values first" in told[0]


def test_weights_do_not_matter():
    """Whoever is asked, the noise is the same: a survey may weigh one report above all others."""
    mechanism = SquareWave(lattice(120), epsilon=1.0)
    reports = mechanism.simulate(ages(2000), seed=1)
    weights = np.where(reports.indices < 60, 1.0, 1e-3)
    assert checked(Counts.of(reports, weights=weights)).n == 2000
    with pytest.warns(ConfideWarning, match="Expected reports of 'age'"):
        checked(raw(mechanism, 500), question="age")


def test_numbers_noised_elsewhere_are_left_alone():
    # Even if the scale that is stated is not quite the one that they have.
    z = 0.5 + np.random.default_rng(1).laplace(0, 1.0, 1000)
    for scale in (0.9, 1.0, 1.1):
        counts = Counts.of_noised(z, noise=LaplaceNoise(scale=scale), low=0, high=1)
        assert checked(counts) is counts


def test_refusals():
    with pytest.raises(InvalidInput, match="Expected Counts, got Reports"):
        checked(SquareWave(lattice(16), epsilon=1.0).simulate([1.0], seed=1))
