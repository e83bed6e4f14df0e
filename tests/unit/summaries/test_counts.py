"""The monoid laws of summaries, their files, and what they refuse."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide import mechanisms
from confide.errors import InvalidInput, Mismatch, Unsupported
from confide.foreign import Noised
from confide.foreign import noise_laws as noise
from confide.lattice import Lattice
from confide.mechanisms import Joint, Laplace, RandomizedResponse, Reports, SquareWave
from confide.summaries import Counts

LATTICE = Lattice(low=0, high=1, size=12)
SIZE = SquareWave(LATTICE, epsilon=1.0).law.outputs[0]
MECHANISMS = [
    Laplace(LATTICE, epsilon=1.0),
    SquareWave(LATTICE, epsilon=1.0),
    RandomizedResponse(["a", "b", "c"], epsilon=1.0),
    Joint({"a": Laplace(LATTICE, epsilon=1.0), "b": SquareWave(LATTICE, epsilon=0.5)}),
]


def make(mechanism: mechanisms.Mechanism, n: int, seed: int, extras: bool) -> Counts:
    generator = np.random.default_rng(seed)
    outputs = mechanism.law.outputs
    rows = np.stack([generator.integers(0, size, n) for size in outputs], axis=1)
    reports = Reports(rows[:, 0] if len(outputs) == 1 else rows, mechanism, simulated=False)
    if not extras:
        return Counts.of(reports)
    y, w = generator.integers(0, 9, n).astype(float), generator.integers(1, 4, n).astype(float)
    return Counts.of(reports, response=y, weights=w)


def same(a: Counts, b: Counts) -> bool:
    return json.dumps(a.to_dict()) == json.dumps(b.to_dict())


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("extras", [False, True])
def test_merging_is_commutative_and_associative(
    mechanism: mechanisms.Mechanism, extras: bool
) -> None:
    a, b, c = (make(mechanism, n, n, extras) for n in (5, 8, 13))
    assert same(a + b, b + a)
    assert same((a + b) + c, a + (b + c))
    assert (a + b + c).n == 26


@settings(max_examples=20)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 10**6))
def test_merged_parts_equal_one_pass(n: int, k: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    mechanism = MECHANISMS[1]
    rows = generator.integers(0, mechanism.law.outputs[0], n + k)
    y, w = generator.random(n + k), generator.random(n + k) + 0.1
    whole = Counts.of(Reports(rows, mechanism, simulated=False), response=y, weights=w)
    first = Counts.of(Reports(rows[:n], mechanism, simulated=False), response=y[:n], weights=w[:n])
    second = Counts.of(Reports(rows[n:], mechanism, simulated=False), response=y[n:], weights=w[n:])
    merged = first + second
    assert (merged.counts == whole.counts).all()
    assert merged.response.low == whole.response.low
    for ours, theirs in zip(merged._arrays().values(), whole._arrays().values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_tallies_are_the_sums_they_say() -> None:
    mechanism = MECHANISMS[0]
    rows = np.array([3, 3, 5])
    counts = Counts.of(
        Reports(rows, mechanism, simulated=False),
        response=[1.0, 2.0, 4.0],
        weights=[1.0, 3.0, 2.0],
        bounds=(0, 5),
    )
    assert counts.counts[3] == 2
    assert counts.total[3] == 4
    assert counts.weights[1][3] == 10
    assert counts.response.sums[3] == 7
    assert counts.response.squares[3] == 13
    assert (counts.response.low, counts.response.high) == (0, 5)
    assert math.isclose(counts.effective_n, 36 / 14)


def test_large_input_is_tallied_in_chunks() -> None:
    mechanism = MECHANISMS[3]
    generator = np.random.default_rng(3)
    rows = np.stack([generator.integers(0, size, 700_000) for size in mechanism.law.outputs], 1)
    counts = Counts.of(Reports(rows, mechanism, simulated=False))
    assert counts.n == 700_000
    assert counts.counts[2, 3] == ((rows[:, 0] == 2) & (rows[:, 1] == 3)).sum()
    assert (
        counts.marginal("b").counts
        == np.bincount(rows[:, 1], minlength=19)[: mechanism.law.outputs[1]]
    ).all()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("extras", [False, True])
def test_json_and_binary_forms(mechanism: mechanisms.Mechanism, extras: bool) -> None:
    counts = make(mechanism, 50, 1, extras)
    assert same(Counts.from_dict(json.loads(json.dumps(counts.to_dict()))), counts)
    assert same(Counts.from_bytes(counts.to_bytes()), counts)


def test_noised_values() -> None:
    generator = np.random.default_rng(2)
    z = generator.beta(2, 5, 5000) + generator.laplace(0, 0.1, 5000)
    law = noise.Laplace(scale=0.1)
    counts = Counts.of_noised(z, noise=law, low=0, high=1, size=64)
    assert counts.n == 5000
    matrix = counts.mechanism.law.matrix()
    np.testing.assert_allclose(matrix.sum(0), 1, atol=1e-12)
    # One column against a sum over many values spread over the cell.
    edges = counts.mechanism.wide.edges
    x = (20 + (np.arange(2000) + 0.5) / 2000) / 64
    cdf = law.cdf(edges[None, 1:-1] - x[:, None]).mean(0)
    np.testing.assert_allclose(matrix[:, 20], np.diff(np.r_[0, cdf, 1]), atol=1e-7)
    scores = generator.random(counts.mechanism.law.outputs)
    np.testing.assert_allclose(counts.mechanism.law.adjoint(scores), scores @ matrix, atol=1e-12)
    assert same(Counts.from_dict(json.loads(json.dumps(counts.to_dict()))), counts)
    second = Counts.of_noised(z[:9], noise=law, low=0, high=1, size=64)
    assert (counts + second).n == 5009


def test_noised_scores_undo_the_noise() -> None:
    for scale in (0.01, 2.0, 30.0):
        channel = Counts.of_noised([0.5], noise=noise.Laplace(scale=scale), low=0, high=1, size=32)
        for power in (1, 2):
            centers = channel.mechanism.lattice.centers**power
            reached = channel.mechanism.law.adjoint(channel.mechanism.unbiased(power))
            np.testing.assert_allclose(reached, centers, atol=1e-6)
    narrow = Noised(Lattice(low=0, high=1, size=64), noise.Gaussian(scale=0.01), margin=0)
    with pytest.raises(Unsupported, match="no score"):
        narrow.unbiased(1)


def test_one_sd_per_value_and_custom_noise_can_be_binned() -> None:
    spread = noise.Gaussian(scale=[0.1, 0.2, 0.3])
    counts = Counts.of_noised([0.1, 0.2, 0.3], noise=spread, low=0, high=1, size=16)
    one = [
        Counts.of_noised([0.1], noise=noise.Gaussian(scale=s), low=0, high=1, size=16)
        for s in (0.1, 0.2, 0.3)
    ]
    margin = counts.mechanism.margin
    mean = np.mean(
        [Noised(c.mechanism.lattice, c.mechanism.noise, margin=margin).law.matrix() for c in one],
        axis=0,
    )
    np.testing.assert_allclose(counts.mechanism.law.matrix(), mean, atol=1e-12)
    custom = noise.Custom(
        characteristic=lambda t: 1 / (1 + t * t), variance=2.0, cdf=noise.Laplace(scale=1.0).cdf
    )
    both = [Counts.of_noised([0.1], noise=custom, low=0, high=1, size=8) for _ in range(2)]
    assert (both[0] + both[1]).n == 2


def test_large_responses_and_weights_keep_their_forms() -> None:
    reports = MECHANISMS[0].privatize([0.1, 0.5])
    counts = Counts.of(reports, response=[3e9, 2e9], weights=[1e10, 2e10])
    assert same(Counts.from_bytes(counts.to_bytes()), counts)
    with pytest.raises(InvalidInput, match="ordinary"):
        Counts.of(reports, weights=[1e170, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        counts.counts[0] = 1


def test_what_does_not_add_up() -> None:
    values = [0.1, 0.5]
    a, b = MECHANISMS[0], Laplace(LATTICE, epsilon=1.1)
    private, simulated = a.privatize(values), a.simulate(values, seed=1)
    with pytest.raises(Mismatch, match="one mechanism"):
        Counts.of(private) + Counts.of(b.privatize(values))
    with pytest.raises(Mismatch, match="private or all simulated"):
        Counts.of(private) + Counts.of(simulated)
    with pytest.raises(Mismatch, match="weights"):
        Counts.of(private) + Counts.of(private, weights=[1, 2])
    with pytest.raises(Mismatch, match="response"):
        Counts.of(private) + Counts.of(private, response=[1, 2])
    with pytest.raises(TypeError):
        Counts.of(private) + 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"response": [1.0]},
        {"response": [1.0, np.nan]},
        {"response": ["a", "b"]},
        {"response": [1.0, 9.0], "bounds": (0, 5)},
        {"bounds": (0, 5)},
        {"weights": [1.0]},
        {"weights": [1.0, 0.0]},
        {"weights": [1.0, -1.0]},
    ],
)
def test_bad_columns_are_refused(arguments: dict) -> None:
    reports = MECHANISMS[0].privatize([0.1, 0.5])
    with pytest.raises(InvalidInput):
        Counts.of(reports, **arguments)


def damaged() -> dict[str, dict]:
    good = make(MECHANISMS[0], 20, 1, True).to_dict()

    def without(key: str) -> dict:
        return {k: v for k, v in good.items() if k != key}

    return {
        "another kind": {**good, "confide": "survey"},
        "another version": {**good, "version": 99},
        "an unknown key": {**good, "extra": 1},
        "no counts": without("counts"),
        "no mechanism": without("mechanism"),
        "no stamp": without("simulated"),
        "a word as stamp": {**good, "simulated": "no"},
        "half the weights": without("weights"),
        "no bounds": without("bounds"),
        "a short table": {**good, "counts": good["counts"][:-1]},
        "negative counts": {**good, "counts": [-1, *good["counts"][1:]]},
        "broken counts": {**good, "counts": [0.5, *good["counts"][1:]]},
        "other total": {**good, "n": 3},
        "words as counts": {**good, "counts": ["a"] * 12},
        "nan": {**good, "response": [math.nan, *good["response"][1:]]},
        "huge": {**good, "counts": [10**400, *good["counts"][1:]]},
        "another noise": {**good, "mechanism": {**good["mechanism"], "p": "1/2"}},
        "a list": [1, 2],  # type: ignore[dict-item]
    }


@pytest.mark.parametrize("name", damaged())
def test_damaged_summaries_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        Counts.from_dict(damaged()[name])


def test_a_truth_value_is_no_number_of_respondents() -> None:
    fields = Counts.of(MECHANISMS[0].simulate([0.5], seed=1)).to_dict()
    assert Counts.from_dict(fields).n == 1
    with pytest.raises(InvalidInput, match="n=True respondents"):
        Counts.from_dict({**fields, "n": True})


@pytest.mark.parametrize("cut", [0, 1, 10, 100, -1])
def test_truncated_bytes_are_refused(cut: int) -> None:
    data = make(MECHANISMS[0], 20, 1, True).to_bytes()
    with pytest.raises(InvalidInput):
        Counts.from_bytes(data[:cut])


@pytest.mark.parametrize("indices", [[-1], [12], [0.5], ["a"], [[0, 1]], [True]])
def test_reports_outside_the_range_are_refused(indices: list) -> None:
    with pytest.raises(InvalidInput):
        Reports(np.array(indices), MECHANISMS[0], simulated=False)


def test_counts_of_another_program() -> None:
    reports = [0, 3, 3, 5]
    own = np.bincount([0, 3, 5], [1, 2, 1], minlength=SIZE)
    wave = SquareWave(LATTICE, epsilon=1.0)
    expected = np.bincount(reports, minlength=SIZE).tolist()
    for given_counts in (own, own.tolist(), own.astype(np.uint32)):
        made = Counts(wave, given_counts)
        assert made.counts.dtype == np.int64
        assert made.counts.tolist() == expected


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.ones(5, dtype=np.int64), "with 0 for those that nobody sent, got an array of shape"),
        (np.full(SIZE, 0.5), "whole numbers from 0 on"),
        (np.full(SIZE, np.nan), "whole numbers from 0 on"),
        (np.full(SIZE, -1), "whole numbers from 0 on"),
        (np.full(SIZE, "3"), "whole numbers from 0 on"),
        (np.full(SIZE, 2**63, dtype=np.uint64), "respondents"),
    ],
)
def test_counts_that_no_reports_have(counts: np.ndarray, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Counts(SquareWave(LATTICE, epsilon=1.0), counts)
