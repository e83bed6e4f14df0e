"""The privatised partition: exact loss, exact draws, unbiased scores, mutants, hostile input."""

from __future__ import annotations

import itertools
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from confide import audits, mechanisms
from confide.audits.fits import chi_square, fitted
from confide.audits.grids import vector_deviation
from confide.audits.tapes import Grid
from confide.errors import ConfideError, InvalidInput, Unsupported
from confide.exact.enclosures import exp_ceiling
from confide.exact.entropy import Entropy, SeededEntropy, SystemEntropy
from confide.exact.integer_noise import ONE
from confide.lattice import Cells
from confide.mechanisms import Joint, Mechanism, Reports
from confide.mechanisms.partition import BATCH, BITS, Partition, VectorLaw
from confide.questions import Question
from confide.summaries.cell_sums import CellSums

from .test_mechanisms import exactly_within

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 10.0)


def cells(size: int) -> Cells:
    return Cells(low=[0], high=[1], shape=[size])


def partition(size: int, epsilon: float, levels: int = 1, **more: object) -> Partition:
    return Partition(cells(size), bound=2.5, epsilon=epsilon, levels=levels, **more)  # type: ignore[arg-type]


def labels(size: int, epsilon: float) -> Partition:
    return Partition(cells(size), epsilon=epsilon, classify=True)


def brute(law: VectorLaw) -> Fraction:
    """Largest ratio over every vector report and every pair of inputs, all written out."""
    levels = range(2 * law.levels + 1) if law.value_parameter else (law.levels,)
    inputs = [None, *itertools.product(range(law.size), levels)]
    columns = []
    for given in inputs:
        coordinates = []
        for cell in range(law.size):
            inside = given is not None and given[0] == cell
            if law.count_parameter:
                coordinates.append(law.counts.weights(int(inside)))
            if law.value_parameter:
                coordinates.append(law.values.weights(given[1] if inside else law.levels))
        columns.append([math.prod(report) for report in itertools.product(*coordinates)])
    assert len({sum(column) for column in columns}) == 1
    rows = list(zip(*columns, strict=True))
    return max(Fraction(max(row), min(row)) for row in rows)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("size", "levels"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 4), (3, 1), (3, 2)]
)
def test_exact_loss_of_the_vector_by_brute_force(size: int, levels: int, epsilon: float) -> None:
    for split in (None, 0.1, 0.8):
        mechanism = partition(size, epsilon, levels, split=split)
        worst = brute(mechanism.law)
        assert worst == mechanism.law.ratio()
        assert exactly_within(worst, epsilon)
        assert exactly_within(worst, mechanism.spend.epsilon)
        assert mechanism.spend.epsilon <= epsilon
        # Nothing is wasted where a respondent may be in one of several cells.
        assert (math.log(worst) > epsilon * (1 - 1e-9)) == (size > 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_exact_loss_of_labels_by_brute_force(size: int, epsilon: float) -> None:
    mechanism = labels(size, epsilon)
    worst = brute(mechanism.law)
    assert worst == mechanism.law.ratio()
    assert exactly_within(worst, epsilon)
    # Nothing is wasted: the loss is the whole budget, to what 2**-62 leaves.
    assert mechanism.spend.epsilon > epsilon * (1 - 1e-9)


def tally(size: int, epsilon: float) -> Partition:
    return Partition(cells(size), epsilon=epsilon, counting=True)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_exact_loss_of_counts_by_brute_force(size: int, epsilon: float) -> None:
    mechanism = tally(size, epsilon)
    worst = brute(mechanism.law)
    assert worst == mechanism.law.ratio()
    assert exactly_within(worst, epsilon)
    if size > 1:
        assert mechanism.spend.epsilon > epsilon * (1 - 1e-9)
    else:
        assert exactly_within(worst, epsilon / 2)


def test_counts_have_the_law_that_they_state() -> None:
    mechanism = tally(3, 1.0)
    for cell in (-1, 0, 2):
        assert vector_deviation(mechanism, cell, 1, 2**12) <= 1
    for check in (audits.exact, audits.grid, audits.index):
        assert check(mechanism).holds
    assert fitted(mechanism, n=20_000, alpha=1e-6, seed=1).holds
    # One bit a cell, unbiased: 60 %, 40 % and nobody, and a tenth outside.
    points = np.repeat([0.1, 0.5, 2.0], [54_000, 36_000, 10_000])
    for made in (
        CellSums.of(mechanism.simulate(points, seed=1)),
        CellSums.simulate(mechanism, points, seed=2),
    ):
        error = np.sqrt(made.variances()[0])
        assert (np.abs(made.mu - [0.54, 0.36, 0.0]) < 4 * error).all()
        assert (error < 0.01).all()
        with pytest.raises(Unsupported, match="does not send responses"):
            _ = made.nu
        assert type(made).from_bytes(made.to_bytes()).to_dict() == made.to_dict()


def test_counting_is_told_apart() -> None:
    mechanism = tally(3, 1.0)
    assert mechanism.to_dict()["counting"] is True
    assert Partition.from_dict(mechanism.to_dict()) == mechanism
    # Files from before there was any stay as they are.
    assert "counting" not in partition(3, 1.0).to_dict()
    assert mechanism != labels(3, 1.0)
    for wrong in ({"classify": True}, {"bound": 2.0}, {"levels": 2}, {"split": 0.5}):
        with pytest.raises(InvalidInput):
            Partition(cells(3), epsilon=1.0, counting=True, **wrong)
    with pytest.raises(InvalidInput, match="points without responses"):
        mechanism.privatize([0.1, 0.2], [1.0, 1.0])


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("levels", [1, 7, 32, 127])
@pytest.mark.parametrize("size", [2, 4096])
def test_exact_loss_of_large_partitions(size: int, levels: int, epsilon: float) -> None:
    mechanism = partition(size, epsilon, levels)
    law = mechanism.law
    p_w, p_z = Fraction(law.count_parameter, ONE), Fraction(law.value_parameter, ONE)
    # The printed loss: two coordinates of W by one, two of Z by J each.
    assert law.ratio() == 1 / (p_w**2 * p_z ** (2 * levels))
    assert exactly_within(law.ratio(), epsilon)
    assert mechanism.spend.epsilon <= epsilon


def parameter(exponent: float) -> int:
    return exp_ceiling(-Fraction(exponent), ONE)


W, Z = 0.4, 0.6


@pytest.mark.parametrize(
    ("name", "p_w", "p_z"),
    [
        ("half the noise", parameter(W), parameter(Z / 2)),
        ("1 % short", parameter(W / 2 * 1.01), parameter(Z / 4 * 1.01)),
        ("W as if one coordinate changed", parameter(W), parameter(Z / 4)),
        ("Z as if one coordinate changed, by J", parameter(W / 2), parameter(Z / 2)),
        ("the whole budget for each", parameter(0.5), parameter(0.25)),
        ("rounded down", parameter(Fraction(2, 5) / 2) - 1, parameter(Fraction(3, 5) / 4) - 1),
    ],
)
def test_exact_check_catches_wrong_parameters(name: str, p_w: int, p_z: int) -> None:
    right = VectorLaw(2, 2, parameter(Fraction(2, 5) / 2), parameter(Fraction(3, 5) / 4))
    assert exactly_within(brute(right), 1.0)
    assert not exactly_within(brute(VectorLaw(2, 2, p_w, p_z)), 1.0), name


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_scores_are_unbiased_exactly(levels: int, epsilon: float) -> None:
    law = partition(3, epsilon, levels).law
    p = Fraction(law.value_parameter, ONE)
    scores = [Fraction(r) for r in range(-levels, levels + 1)]
    scores[0] -= p / (1 - p)
    scores[-1] += p / (1 - p)
    for index in range(2 * levels + 1):
        weights = law.values.weights(index)
        mean = sum(w * g for w, g in zip(weights, scores, strict=True)) / sum(weights)
        assert mean == index - levels
    np.testing.assert_allclose(law.value_scores, [float(g) for g in scores], rtol=1e-12)
    q = Fraction(law.count_parameter, ONE)
    ends = [-q / (1 - q), 1 / (1 - q)]
    for index in (0, 1):
        weights = law.counts.weights(index)
        mean, square = (
            sum(w * g**k for w, g in zip(weights, ends, strict=True)) / sum(weights) for k in (1, 2)
        )
        assert mean == index
        # Exactly half the variance of the noise before it is clamped.
        assert square - mean**2 == q / (1 - q) ** 2
    np.testing.assert_allclose(law.count_scores, [float(g) for g in ends], rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n", [512, 2**15])
def test_draw_code_on_a_grid_of_words(epsilon: float, n: int) -> None:
    # Every coordinate sees a grid of its own: words are dealt in turn to the cells. Small n takes
    # the search, large n the guide table.
    for mechanism in (partition(4, epsilon), partition(4, epsilon, 3), labels(4, epsilon)):
        for cell in (-1, 0, 3):
            for level in {0, mechanism.levels, 2 * mechanism.levels}:
                assert vector_deviation(mechanism, cell, level, n) <= 1 + 1e-6


class HalfNoise(Partition):
    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        wrong = Partition(
            self.cells, bound=self.bound, epsilon=2 * self.epsilon, levels=self.levels
        )
        return wrong.draw(indices, entropy)


class ThousandthShort(Partition):
    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        wrong = Partition(
            self.cells, bound=self.bound, epsilon=1.001 * self.epsilon, levels=self.levels
        )
        return wrong.draw(indices, entropy)


class NoNoiseOutside(Partition):
    """Noise on the respondent's own cell only."""

    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        reports = super().draw(indices, entropy)
        elsewhere = np.arange(self.cells.size) != indices[:, :1]
        return np.where(elsewhere[:, None], 0, reports)


@pytest.mark.parametrize("mutant", [HalfNoise, ThousandthShort, NoNoiseOutside])
def test_grid_catches_wrong_draws(mutant: type[Partition]) -> None:
    wrong = mutant(cells(4), bound=2.5, epsilon=1.0)
    assert max(vector_deviation(wrong, cell, 2, 2**15) for cell in (-1, 0)) > 2


def dependence(mechanism: Partition, n: int = 20_000) -> float:
    """Largest correlation between two coordinates of respondents in no cell, in its own sd."""
    values = mechanism.privatize(np.full(n, 5.0), np.zeros(n)).indices.reshape(n, -1)
    table = np.corrcoef(values.T.astype(float)) - np.eye(values.shape[1])
    return float(np.abs(table).max() * math.sqrt(n))


class Repeated(Entropy):
    """The same words again at every call."""

    def words(self, n: int, bits: int) -> np.ndarray:
        return SeededEntropy(7).words(n, bits)


class SharedByCells(Partition):
    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        reports = super().draw(indices, entropy)
        return np.repeat(reports[:, :, :1], self.cells.size, axis=2)


class SharedByParts(Partition):
    """W and Z drawn from the same words."""

    def draw(self, indices: np.ndarray, entropy: Entropy) -> np.ndarray:
        return super().draw(indices, Repeated())


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_joint_outputs_catch_reused_noise(epsilon: float) -> None:
    right, shared, parts = (
        kind(cells(3), bound=1.0, epsilon=epsilon)
        for kind in (Partition, SharedByCells, SharedByParts)
    )
    assert dependence(right) < 5.5
    assert dependence(shared) > 20
    assert dependence(parts) > 20


def sampled_loss(mechanism: Partition, n: int = 200_000) -> tuple[float, float]:
    """Bounds of the loss seen on real reports, all but certain (Clopper-Pearson)."""

    def share(x: float, low: float, high: float) -> tuple[float, float]:
        values = mechanism.privatize(np.full(n, x), np.full(n, 2.5)).indices
        w, z = values[:, 0], values[:, 1]
        # The reports that speak most for the first cell and against the second.
        hits = int(((w[:, 0] == 1) & (w[:, 1] == 0) & (z[:, 0] > 0) & (z[:, 1] <= 0)).sum())
        return stats.beta.ppf(low, hits, n - hits + 1), stats.beta.ppf(high, hits + 1, n - hits)

    first, second = share(0.1, 1e-8, 1 - 1e-8), share(0.9, 1e-8, 1 - 1e-8)
    return math.log(first[0] / second[1]), math.log(first[1] / second[0])


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_loss_seen_on_reports(epsilon: float) -> None:
    right = Partition(cells(2), bound=2.5, epsilon=epsilon)
    low, high = sampled_loss(right)
    # That event has the whole loss, so that it lies between the two.
    assert low < epsilon < high
    assert sampled_loss(HalfNoise(cells(2), bound=2.5, epsilon=epsilon))[0] > epsilon


def test_no_two_runs_share_their_noise() -> None:
    mechanism = partition(200, 1.0)
    x, y = np.full(50, 0.5), np.zeros(50)
    first, second = (mechanism.privatize(x, y).indices.ravel().astype(float) for _ in range(2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2


@pytest.mark.parametrize("levels", [1, 2, 7])
@pytest.mark.parametrize("y", [-9.0, -2.5, -1.1, 0.0, 1e-9, 0.7, 2.4999, 2.5, 1e300])
def test_rounding_is_unbiased_and_stays_in_range(levels: int, y: float) -> None:
    mechanism, n = partition(2, 1.0, levels), 2**14
    level = mechanism.levels_of(mechanism.index((np.full(n, 0.1), np.full(n, y))), Grid())
    assert level.min() >= 0
    assert level.max() <= 2 * levels
    assert np.ptp(level) <= 1
    mean = (level.mean() - levels) * 2.5 / levels
    assert abs(mean - np.clip(y, -2.5, 2.5)) <= 2.5 / levels / n


def exact_sum(columns: list[np.ndarray]) -> np.ndarray:
    total = np.ones(1)
    for column in columns:
        total = np.convolve(total, column)
    return total


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("way", ["reports", "sums"])
def test_sums_have_the_same_law_as_adding_reports(levels: int, way: str) -> None:
    mechanism = partition(2, 3.0, levels)
    # Two in the first cell, one of them between two levels, one in the second, one in none.
    x, y = [0.1, 0.2, 0.9, 7.0], [0.625, -2.5, 2.5, 1.0]
    runs = 3000
    drawn = []
    for seed in range(runs):
        if way == "sums":
            sums = CellSums.simulate(mechanism, x, y, seed=seed)
        else:
            sums = CellSums.of(mechanism.simulate(x, y, seed=seed))
        assert sums.simulated
        drawn.append([sums.counts, sums.values])
    table = np.array(drawn)
    ones, z = mechanism.law.counts.matrix().T, mechanism.law.values.matrix().T
    steps = np.array(y) / 2.5 * levels + levels
    below = np.floor(steps).astype(int)
    above = np.minimum(below + 1, 2 * levels)
    mixed = [
        (1 - s + b) * z[b] + (s - b) * z[a] for s, b, a in zip(steps, below, above, strict=True)
    ]
    for cell, members in enumerate([{0, 1}, {2}]):
        for row, law in (
            (0, exact_sum([ones[int(i in members)] for i in range(4)])),
            (1, exact_sum([mixed[i] if i in members else z[levels] for i in range(4)])),
        ):
            outcomes = table[:, row, cell] + (4 * levels if row else 0)
            seen = np.bincount(outcomes, minlength=law.size)
            assert chi_square(seen, runs * law) > 1e-5
            # A law that is one unit off half of the time is told from it.
            assert chi_square(seen, runs * (law + np.roll(law, 1)) / 2) < 1e-5
    # Moments of the unbiased estimates, and no dependence between W and Z of other cells.
    flat = table.reshape(runs, -1).astype(float)
    truth = np.array([2, 1])
    mu = mechanism.law.count_scores @ np.stack([4 - table[:, 0].mean(0), table[:, 0].mean(0)])
    spread = table[:, 0].std(0) * np.ptp(mechanism.law.count_scores) / math.sqrt(runs)
    assert (np.abs(mu - truth) < 5 * spread).all()
    assert abs(np.corrcoef(flat.T)[0, 3]) < 5.5 / math.sqrt(runs)
    assert abs(np.corrcoef(flat.T)[0, 1]) < 5.5 / math.sqrt(runs)


def test_sums_match_exact_moments_at_scale() -> None:
    mechanism, n = partition(3, 1.0, 2), 40_000
    truth = np.array([[500, 0, 0], [0, 900, 0], [0, 0, 3000], [700, 0, 0], [0, 2000, 0]])
    runs = [CellSums.simulate_tallies(mechanism, n, truth, seed=s) for s in range(300)]
    mu, nu = (np.array([getattr(run, name) for run in runs]) for name in ("mu", "nu"))
    of_mu, of_nu, _ = (np.mean([run.variances()[k] for run in runs], axis=0) for k in range(3))
    levels = np.arange(-2, 3) * 1.25
    for estimate, right in ((mu, truth.sum(0) / n), (nu, levels @ truth / n)):
        error = (estimate.mean(0) - right) / (estimate.std(0) / math.sqrt(300))
        assert np.abs(error).max() < 5
    # The stated variance holds sampling too, which fixed counts do not have: a little below it.
    for estimate, stated in ((mu, of_mu), (nu, of_nu)):
        assert (np.abs(estimate.var(0) / stated - 1) < 0.35).all()


def test_reports_are_made_of_the_operating_systems_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, n, size = partition(5, 1.0, 2), 40, 5
    # Rounding takes words of 64 bits, noise takes words of 32.
    sizes = (8 * n, 4 * n * size, 4 * n * size)
    tapes = [np.random.default_rng(k).bytes(m) for k, m in enumerate(sizes)]
    given = iter(tapes)

    def forbidden(*_: object) -> None:
        raise AssertionError("a seeded source on the private path")

    monkeypatch.setattr(os, "urandom", lambda asked: next(given)[:asked])
    monkeypatch.setattr(SeededEntropy, "__init__", forbidden)
    monkeypatch.setattr(np.random, "default_rng", forbidden)
    x, y = np.linspace(-0.2, 1.2, n), np.linspace(-3, 3, n)
    reports = mechanism.privatize(x, y)
    assert reports.simulated is False

    class Tape(Entropy):
        def __init__(self) -> None:
            self.left = iter(tapes)

        def words(self, n: int, bits: int) -> np.ndarray:
            return np.frombuffer(next(self.left), dtype=f"<u{bits // 8}")

    tape = Tape()
    assert (reports.indices == mechanism.draw(mechanism.index((x, y)), tape)).all()


def test_noise_reaches_past_the_first_batch() -> None:
    mechanism = partition(64, 1.0)
    rows = BATCH // 128
    n = 2 * rows + 700
    values = mechanism.privatize(np.full(n, 0.5), np.full(n, 2.5)).indices
    assert values.shape == (n, 2, 64)
    assert values.dtype == np.int8
    flip = mechanism.law.counts.matrix()[1, 0]
    for part in (values[:rows], values[rows : 2 * rows], values[2 * rows :]):
        others = np.delete(part[:, 0], 32, axis=1)
        assert abs(others.mean() - flip) < 6 * math.sqrt(flip * (1 - flip) / others.size)


def test_streaming_adds_up_what_batches_hold() -> None:
    mechanism, n = partition(64, 4.0), 20_000
    x, y = np.linspace(0, 1, n), np.full(n, 2.5)
    with pytest.raises(InvalidInput):
        mechanism.stream(x, y[1:])
    batches = list(mechanism.stream(x, y))
    assert len(batches) > 1
    assert sum(len(batch) for batch in batches) == n
    sums = CellSums.of(iter(batches))
    assert sums.n == n
    error = (sums.mu - 1 / 64) / np.sqrt(sums.variances()[0])
    assert np.abs(error).max() < 5.5
    error = (sums.nu - 2.5 / 64) / np.sqrt(sums.variances()[1])
    assert np.abs(error).max() < 5.5


BAD_POINTS = {
    "masked": np.ma.array([0.1, 0.5], mask=[0, 1]),
    "ragged": [[0.1], [0.2, 0.3]],
    "bool": [True, 0.5],
    "nested bool": [[True], [0.5]],
    "none": [0.5, None],
    "word": ["secret", "0.5"],
    "huge": [10**5000, 1],
    "nan": [0.5, float("nan")],
    "infinite": [0.5, float("inf")],
    "scalar": np.array(0.5),
    "table": np.zeros((2, 2)),
    "empty": [],
    "complex": [1j, 0.5],
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
}


@pytest.mark.parametrize("name", BAD_POINTS)
def test_odd_values_get_a_sentence_that_does_not_quote_them(name: str) -> None:
    mechanism, good = partition(4, 1.0), [0.5, 0.25]
    for x, y in ((BAD_POINTS[name], good), (good, BAD_POINTS[name])):
        if name == "nested bool" and y is not good:
            continue
        for run in (mechanism.privatize, lambda x, y: CellSums.simulate(mechanism, x, y, seed=1)):
            with pytest.raises(ConfideError) as caught:
                run(x, y)
            assert "secret" not in str(caught.value)


def test_lengths_and_labels_are_checked() -> None:
    with pytest.raises(InvalidInput, match="for each point"):
        partition(4, 1.0).privatize([0.1, 0.2], [0.5])
    with pytest.raises(InvalidInput, match=r"labels -1 and 1.*position 1") as caught:
        labels(4, 1.0).privatize([0.1, 0.2], [1, 0.125])
    assert "0.125" not in str(caught.value)


def test_what_is_out_of_range_never_meets_noise() -> None:
    mechanism = partition(4, 1.0)
    top = 2 << BITS
    mechanism.draw(np.array([[-1, 0], [3, top]]), SystemEntropy())
    for cell, response in ((4, 0), (-2, 0), (0, top + 1), (0, -1)):
        with pytest.raises(InvalidInput):
            mechanism.draw(np.array([[cell, response]]), SystemEntropy())
    for other in (np.zeros((1, 2)), np.zeros(2, dtype=np.int64), np.zeros((1, 3), dtype=np.int64)):
        with pytest.raises(InvalidInput):
            mechanism.draw(other, SystemEntropy())


def test_indices_are_integers_alone() -> None:
    mechanism = partition(4, 1.0, 3)
    indices = mechanism.index(([0.1, 0.7, 5.0], [2.5, -9.0, 0.1]))
    assert indices.dtype == np.int64
    assert indices[:, 0].tolist() == [0, 2, -1]
    assert indices[:2, 1].tolist() == [6 << BITS, 0]
    assert 3 < indices[2, 1] / 2**BITS < 4


def test_a_partition_is_a_mechanism() -> None:
    mechanism = partition(4, 1.0)
    assert isinstance(mechanism, Mechanism)
    assert mechanisms.from_dict(mechanism.to_dict()) == mechanism
    assert len(mechanism.privatize(0.3, 1.5)) == 1
    assert len(mechanism.privatize(([0.3, 0.4], [1.5, 2.0]))) == 2
    again = mechanism.simulate(([0.3], [1.5]), seed=2).indices
    assert (mechanism.simulate(0.3, 1.5, seed=2).indices == again).all()
    for wrong in ([0.3, 0.4], 0.3, ([0.3], [1.5], [2.0])):
        with pytest.raises(InvalidInput, match="points and responses"):
            mechanism.privatize(wrong)
    for refused in (lambda: mechanism.law.outputs, lambda: mechanism.unbiased(1)):
        with pytest.raises(Unsupported, match="CellSums"):
            refused()
    with pytest.raises(InvalidInput):
        Joint({"a": mechanism, "b": mechanism})
    with pytest.raises(InvalidInput):
        Question(mechanism)


def test_one_respondent_never_takes_the_short_cut() -> None:
    mechanism = partition(4096, 1.0)
    mechanism.privatize([0.5], [1.0])
    for sampler in (mechanism.count_sampler, mechanism.value_sampler):
        assert "_guide" not in vars(sampler)
    with pytest.raises(InvalidInput, match="at most 4096 cells"):
        partition(4097, 1.0)


def test_constructor_refuses_what_it_cannot_use() -> None:
    grid = cells(4)
    for wrong in (
        {"bound": 0.0},
        {"bound": None},
        {"bound": float("nan")},
        {"bound": "1"},
        {"bound": 1e200},
        {"bound": 1.0, "levels": 0},
        {"bound": 1.0, "levels": 128},
        {"bound": 1.0, "levels": 1.0},
        {"bound": 1.0, "split": 0.0},
        {"bound": 1.0, "split": 1.0},
        {"bound": 1.0, "split": "half"},
        {"bound": 1.0, "classify": 1},
        {"bound": 2.0, "classify": True},
        {"bound": np.ones(3), "classify": True},
        {"levels": 2, "classify": True},
        {"split": 0.5, "classify": True},
    ):
        with pytest.raises(InvalidInput):
            Partition(grid, epsilon=1.0, **wrong)  # type: ignore[arg-type]
    for epsilon in (0, -1, None, "1", True, 101, float("nan"), 10**5000, 1e-18):
        with pytest.raises(InvalidInput):
            Partition(grid, bound=1.0, epsilon=epsilon)  # type: ignore[arg-type]
    assert Partition(grid, bound=1, split=0, epsilon=1, classify=True) == labels(4, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Cells"):
        Partition([4], bound=1.0, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(Unsupported):
        _ = labels(4, 1.0).law.counts


def hostile() -> dict[str, object]:
    good = partition(4, 1.0).to_dict()
    return {
        "none": None,
        "list": [],
        "another kind": {**good, "mechanism": "laplace"},
        **{f"cells {v!r}": {**good, "cells": v} for v in (None, 5, [], {}, {"low": [0]})},
        **{f"epsilon {v!r}": {**good, "epsilon": v} for v in (None, "1", True, 0, -1, 1e400, [])},
        **{f"bound {v!r}": {**good, "bound": v} for v in (None, "1", True, 0, -1, 1e400, [])},
        **{f"levels {v!r}": {**good, "levels": v} for v in (None, "1", True, 0, 1.0, 10**9)},
        **{f"split {v!r}": {**good, "split": v} for v in ("1", True, 0, 1, 1e400, [])},
        **{f"classify {v!r}": {**good, "classify": v} for v in (None, "yes", 1, True)},
        "less noise": {**good, "p": ["1/2", "1/2"]},
        "p as word": {**good, "p": "1/2"},
        "p as arrays": {**good, "p": [np.zeros(3), np.zeros(3)]},
        "extra": {**good, "sigma": 1},
        **{f"without {key}": {k: good[k] for k in good if k != key} for key in good if key != "p"},
    }  # fmt: skip


@pytest.mark.parametrize("name", hostile())
def test_hostile_descriptions_get_a_sentence(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Partition.from_dict(hostile()[name])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("mechanism", [partition(4, 1.0, 3), labels(4, 1.0)], ids=["y", "labels"])
def test_forms_come_back(mechanism: Partition) -> None:
    again = Partition.from_dict(mechanism.to_dict())
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.fingerprint == mechanism.fingerprint
    reports = mechanism.privatize([0.5, 0.1], [1, -1])
    other = pickle.loads(pickle.dumps(reports))
    assert other.mechanism == mechanism
    assert (other.indices == reports.indices).all()
    assert partition(4, 1.0, 3, split=0.5) != partition(4, 1.0, 3)


def test_reports_are_checked_and_kept() -> None:
    mechanism = partition(2, 1.0)
    good = np.array([[[0, 1], [-1, 1]]])
    with pytest.raises(TypeError):
        Reports(good, mechanism)  # type: ignore[call-arg]
    for wrong in (good * 1.0, good[0], good * 2, good - 1, good[:, :1], good.astype(bool)):
        with pytest.raises(InvalidInput):
            Reports(wrong, mechanism, simulated=False)
    with pytest.raises(InvalidInput):
        Reports(good, mechanism, simulated="no")  # type: ignore[arg-type]
    kept = Reports(good, mechanism, simulated=False)
    good[0, 0, 0] = 1
    assert kept.indices[0, 0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        kept.indices[0] = 0
