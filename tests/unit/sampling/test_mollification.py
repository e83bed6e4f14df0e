import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq, minimize
from scipy.stats import chisquare

from confide import Ledger
from confide.errors import BudgetExhausted, InvalidInput, Mismatch
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import Entropy, SeededEntropy
from confide.lattice import Categories, Lattice
from confide.sampling.mollification import BITS, TOTAL, Mollification, mollify
from confide.sampling.mollifier import FiniteMollifier
from confide.sampling.sampler import Samples

HALF = 2**256


def sparse_cases(n=2000):
    """References and laws with empty cells and masses over up to 40 decades."""
    rng = np.random.default_rng(1)
    for _ in range(n):
        size = int(rng.integers(2, 40))
        reference = rng.dirichlet(np.full(size, 0.5)) + 1e-9
        law = 10.0 ** (-rng.uniform(0, 40, size) * rng.integers(0, 2))
        law[rng.random(size) < rng.choice([0.2, 0.6, 0.9])] = 0
        law[rng.integers(size)] = 1.0
        yield law / law.sum(), reference / reference.sum(), float(10 ** rng.uniform(-2, 1.3))


def log_ratio(law, reference):
    with np.errstate(divide="ignore"):
        return np.log(law) - np.log(reference)


def printed(law, reference, epsilon, c):
    """Equation (8), typed as printed."""
    low, high = np.exp(-epsilon / 2), np.exp(epsilon / 2)
    return np.minimum(np.maximum(reference * low, law / c), high * reference)


def by_running_sums(law, reference, epsilon):
    """Sorting and running sums in floats: what must not be done."""
    low, high = math.exp(-epsilon / 2), math.exp(epsilon / 2)
    order = np.argsort(-law / reference)
    p, q = law[order], reference[order]
    ratio = p / q
    tops = np.concatenate([[0], np.cumsum(p)])
    below = np.concatenate([[0], np.cumsum(q)])
    kinks = np.sort(np.concatenate([ratio / low, ratio / high]))
    for first, last in pairwise(kinks[kinks > 0]):
        c = math.sqrt(first) * math.sqrt(last)
        cut, end = np.count_nonzero(ratio > c * high), np.count_nonzero(ratio > c * low)
        rest = 1 - high * below[cut] - low * (below[-1] - below[end])
        if rest > 0 and first <= (c := (tops[end] - tops[cut]) / rest) <= last:
            return printed(law, reference, epsilon, c)
    return printed(law, reference, epsilon, kinks[kinks > 0][0])


def clipped_and_divided(law, reference, epsilon):
    """The mutant that divides by the sum where no C exists."""
    result = printed(law, reference, epsilon, 1e-300)
    return result / result.sum()


def test_the_sum_is_one_and_the_band_is_kept_in_sparse_cases():
    worst = 0.0
    for law, reference, epsilon in sparse_cases():
        found = mollify(log_ratio(law, reference), reference, epsilon)
        worst = max(worst, abs(found.sum() - 1))
        assert (found >= reference * np.exp(-epsilon / 2)).all()
        assert (found <= reference * np.exp(epsilon / 2)).all()
    assert worst <= 1e-12


def test_a_band_as_narrow_as_rounding_still_sums_to_one():
    rng = np.random.default_rng(9)
    for _ in range(200):
        reference = rng.dirichlet(np.ones(9))
        scores = 1e5 + rng.integers(-2, 3, 9) * 1e-9
        found = mollify(scores, reference, 1e-9)
        assert abs(found.sum() - 1) <= 1e-12
        assert (found >= reference * np.exp(-5e-10)).all()
        assert (found <= reference * np.exp(5e-10)).all()


def test_it_is_the_printed_formula_where_a_constant_exists():
    seen = 0
    for law, reference, epsilon in sparse_cases(300):
        if reference[law > 0].sum() <= 1.01 / (1 + math.exp(epsilon / 2)):
            continue
        seen += 1
        log_c = brentq(
            lambda c, law=law, reference=reference, epsilon=epsilon: (
                printed(law, reference, epsilon, math.exp(c)).sum() - 1
            ),
            -300,
            300,
            xtol=1e-14,
        )
        expected = printed(law, reference, epsilon, math.exp(log_c))
        found = mollify(log_ratio(law, reference), reference, epsilon)
        assert np.abs(found - expected).max() < 1e-11
    assert seen > 100


def test_there_is_no_constant_where_the_reference_has_too_little_on_the_support():
    seen = 0
    for law, reference, epsilon in sparse_cases(300):
        if reference[law > 0].sum() >= 0.99 / (1 + math.exp(epsilon / 2)):
            continue
        seen += 1
        # The sum falls with C: it is below 1 for the smallest already.
        assert printed(law, reference, epsilon, 1e-300).sum() < 1
        found = mollify(log_ratio(law, reference), reference, epsilon)
        here = law > 0
        assert found[here] == pytest.approx(reference[here] * math.exp(epsilon / 2))
        assert found[~here].sum() == pytest.approx(1 - found[here].sum())
    assert seen > 20


def test_a_generic_convex_solver_finds_nothing_better():
    rng = np.random.default_rng(2)
    for _ in range(40):
        size, epsilon = int(rng.integers(3, 9)), float(rng.uniform(0.2, 4))
        reference = rng.dirichlet(np.full(size, 2.0))
        law = rng.dirichlet(np.full(size, 0.7))
        law[rng.random(size) < 0.3] = 0
        law[0] += 0.1
        law /= law.sum()
        found = mollify(log_ratio(law, reference), reference, epsilon)
        low, high = reference * np.exp(-epsilon / 2), reference * np.exp(epsilon / 2)
        solved = minimize(
            lambda r, law=law: -(law * np.log(r)).sum(),
            reference,
            jac=lambda r, law=law: -law / r,
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "eq", "fun": lambda r: r.sum() - 1, "jac": np.ones_like},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        own = -(law * np.log(found)).sum()
        assert abs(solved.x.sum() - 1) < 1e-9
        assert abs(own - solved.fun) < 1e-9


def test_a_point_mass_has_no_constant_and_stays_in_the_band():
    law, reference = np.zeros(1000), np.full(1000, 1e-3)
    law[3] = 1.0
    sums = [printed(law, reference, 1.0, c).sum() for c in 10.0 ** np.arange(-300, 300, 5)]
    assert max(sums) == pytest.approx(0.6076, abs=1e-4)
    found = mollify(log_ratio(law, reference), reference, 1.0)
    assert found[3] == pytest.approx(1e-3 * math.exp(0.5))
    assert np.ptp(np.delete(found, 3)) < 1e-15
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_clip_then_divide_is_caught():
    reference, here, even = np.full(1000, 1e-3), np.zeros(1000), np.full(1000, 1e-9)
    here[0] = 1.0
    even[1:400] = 1.0
    other = mollify(log_ratio(even / even.sum(), reference), reference, 1.0)
    broken = np.log(clipped_and_divided(here, reference, 1.0)[0] / other[0])
    right = np.log(mollify(log_ratio(here, reference), reference, 1.0)[0] / other[0])
    assert broken == pytest.approx(1.498, abs=1e-3)
    assert right <= 1 + 1e-12


def test_running_sums_are_caught():
    wrong = sum(
        abs(by_running_sums(law, reference, epsilon).sum() - 1) > 1e-6
        for law, reference, epsilon in sparse_cases()
        if reference[law > 0].sum() > 1.01 / (1 + math.exp(epsilon / 2))
    )
    assert wrong > 20


def hostile(size):
    """Log ratios that anybody could hand in."""
    rng = np.random.default_rng(3)
    point = np.full(size, -np.inf)
    point[0] = 0.0
    yield from (np.roll(point, shift) for shift in range(size))
    yield from (-np.roll(point, shift) for shift in range(0, size, 3))
    yield np.full(size, np.nan)
    yield np.full(size, np.inf)
    yield np.full(size, -np.inf)
    yield np.where(np.arange(size) < size // 2, np.nan, -np.inf)
    yield np.where(np.arange(size) < size // 2, np.inf, np.nan)
    yield np.linspace(-1, 1, size) * 40 * math.log(10)
    yield np.linspace(-1, 1, size) * 1e308
    yield np.full(size, 1e308)
    for _ in range(30):
        scores = rng.normal(size=size) * 10 ** rng.uniform(-3, 3)
        scores[rng.random(size) < 0.3] = rng.choice([np.nan, np.inf, -np.inf])
        yield scores


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0, 50.0, 100.0])
@pytest.mark.parametrize("kind", ["even", "decades"])
def test_the_largest_ratio_over_hostile_inputs_is_within_epsilon_in_integers(epsilon, kind):
    size = 24
    reference = np.ones(size) if kind == "even" else 10.0 ** -np.linspace(0, 40, size)
    band = Mollification(reference, epsilon=epsilon)
    rows = np.array([band.weights(scores) for scores in hostile(size)])
    assert {sum(row) for row in rows.tolist()} == {TOTAL}
    least, most = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
    realised = max(Fraction(b, a) for a, b in zip(least, most, strict=True))
    bound = Fraction(exp_enclosure(Fraction(epsilon), 256)[0], HALF)
    assert 1 < realised <= band.ratio() <= bound
    if kind == "even" and epsilon <= 1:
        # Nothing is given away either: the whole of epsilon is used.
        assert math.log(realised) > epsilon * (1 - 1e-6)


@settings(max_examples=100, deadline=None)
@given(
    scores=arrays(np.float64, 12, elements=st.floats(allow_nan=True, allow_infinity=True)),
    reference=arrays(np.float64, 12, elements=st.floats(1e-30, 1.0)),
    epsilon=st.floats(1e-5, 90),
)
def test_any_scores_give_weights_within_their_bounds(scores, reference, epsilon):
    band = Mollification(reference, epsilon=epsilon)
    weights = band.weights(scores)
    assert weights.dtype == np.int64
    assert sum(weights.tolist()) == TOTAL
    assert (band.lower <= weights).all()
    assert (weights <= band.upper).all()


def test_integer_weights_are_the_mollified_law():
    rng = np.random.default_rng(4)
    reference = rng.dirichlet(np.ones(500))
    scores = rng.normal(size=500)
    weights = Mollification(reference, epsilon=1.0).weights(scores)
    assert np.abs(weights / TOTAL - mollify(scores, reference, 1.0)).max() < 1e-11


class Given(Entropy):
    """Words that are told beforehand; counts those that were read."""

    def __init__(self, words):
        self.left, self.read = words, 0

    def words(self, n, bits):
        assert bits == 64
        part, self.left = self.left[:n], self.left[n:]
        self.read += n
        return part


def test_words_in_even_steps_give_every_cell_its_weight():
    band = Mollification(np.ones(7), epsilon=2.0)
    n = 2**10
    words = (np.arange(n, dtype=np.uint64) << np.uint64(54)) + np.uint64(2**53)
    for scores in hostile(7):
        weights = band.weights(scores)
        counts = np.bincount(band.draw(weights, Given(words), n), minlength=7)
        assert np.abs(counts - weights / TOTAL * n).max() <= 1


def test_ends_of_the_running_sums_belong_to_the_right_cells():
    band = Mollification(np.ones(3), epsilon=1.0)
    weights = band.weights(np.array([0.0, 1.0, -1.0]))
    first, second = np.cumsum(weights)[:2].tolist()
    edges = np.array([0, first - 1, first, second - 1, second, TOTAL - 1], dtype=np.uint64)
    words = edges << np.uint64(64 - BITS)
    assert band.draw(weights, Given(words), 6).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_draw_reads_one_word_whatever_the_weights_are():
    band = Mollification(np.ones(50), epsilon=5.0)
    for scores in hostile(50):
        source = Given(np.arange(20, dtype=np.uint64) << np.uint64(59))
        band.draw(band.weights(scores), source, 20)
        assert source.read == 20


def test_draws_fit_the_weights():
    band = Mollification(np.random.default_rng(5).dirichlet(np.ones(30)), epsilon=1.5)
    weights = band.weights(np.linspace(-2, 2, 30))
    counts = np.bincount(band.draw(weights, SeededEntropy(6), 40_000), minlength=30)
    assert chisquare(counts, weights / TOTAL * 40_000).pvalue > 1e-3


def test_weights_outside_the_band_are_not_drawn_from():
    band = Mollification(np.ones(4), epsilon=1.0)
    weights = band.weights(np.zeros(4))
    moved = weights + np.array([1, -1, 0, 0]) * (band.upper[0] - weights[0] + 1)
    for bad in (moved, weights + 1, weights[:3], weights.astype(np.float64)):
        with pytest.raises(InvalidInput):
            band.draw(bad, SeededEntropy(1), 1)


def test_an_epsilon_that_leaves_no_choice_is_refused():
    with pytest.raises(InvalidInput, match="epsilon large enough to leave a trace"):
        Mollification(np.ones(100), epsilon=1e-17)


@pytest.mark.parametrize("bad", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_bad_references_are_refused(bad):
    with pytest.raises(InvalidInput):
        Mollification(np.array(bad), epsilon=1.0)


COLUMNS = {"smokes": Categories(("no", "yes")), "age": Lattice(low=0, high=100, size=5)}
RECORDS = {"smokes": ["no", "no", "yes", "no"], "age": [10.0, 30.0, 70.0, 35.0]}


def test_mixed_records_follow_their_exact_law():
    sampler = FiniteMollifier(COLUMNS, epsilon=2.0)
    weights = sampler.weights(RECORDS)
    samples = sampler.simulate(RECORDS, 20_000, seed=7)
    counts = np.bincount(samples.numbers, minlength=10)
    assert chisquare(counts, weights / TOTAL * 20_000).pvalue > 1e-3
    assert set(samples.points["smokes"]) <= {"no", "yes"}
    assert set(samples.points["age"]) <= set(COLUMNS["age"].centers)
    back = sampler.index(samples.points)
    assert (back == samples.numbers).all()
    assert samples.to_dict()["samples"][0] == {
        "smokes": str(samples.points["smokes"][0]),
        "age": float(samples.points["age"][0]),
    }


def test_a_reference_moves_what_the_records_leave_open():
    masses = np.ones((2, 5))
    masses[1] = 9.0
    plain = FiniteMollifier(COLUMNS, epsilon=0.1).weights(RECORDS).reshape(2, 5)
    moved = FiniteMollifier(COLUMNS, epsilon=0.1, reference=masses).weights(RECORDS).reshape(2, 5)
    assert moved[1].sum() > 1.7 * plain[1].sum()


def test_a_million_cells():
    columns = {"a": Lattice(low=0, high=1, size=1000), "b": Lattice(low=0, high=1, size=1000)}
    sampler = FiniteMollifier(columns, epsilon=1.0)
    rng = np.random.default_rng(8)
    records = {"a": rng.random(500), "b": rng.random(500)}
    weights = sampler.weights(records)
    assert int(weights.sum()) == TOTAL
    assert sampler.band.ratio() <= Fraction(exp_enclosure(Fraction(1), 256)[0], HALF)
    assert len(sampler.privatize(records, k=3)) == 3


def test_samples_are_charged_all_at_once_and_kept(tmp_path):
    ledger = Ledger(tmp_path / "own.ledger", epsilon=1.0)
    sampler = FiniteMollifier(COLUMNS, epsilon=0.1)
    samples = sampler.privatize(RECORDS, k=3, ledger=ledger, key="first")
    assert ledger.spent.epsilon == 0.3
    assert samples.spend.epsilon == 0.3
    again = sampler.privatize(RECORDS, k=3, ledger=ledger, key="first")
    assert again.numbers.tolist() == samples.numbers.tolist()
    assert ledger.spent.epsilon == 0.3
    with pytest.raises(Mismatch):
        sampler.privatize(RECORDS, k=4, ledger=ledger, key="first")
    with pytest.raises(BudgetExhausted, match="Nothing was charged"):
        sampler.privatize(RECORDS, k=8, ledger=ledger, key="second")
    with pytest.raises(InvalidInput, match="a key for the ledger"):
        sampler.privatize(RECORDS, ledger=ledger)
    assert [entry.key for entry in ledger.entries()] == ["first"]


def test_k_samples_cost_no_less_than_their_exact_loss():
    for epsilon in (0.1, 0.3, 0.7, 1.1, 2.3):
        sampler = FiniteMollifier({"a": Categories(("x", "y"))}, epsilon=epsilon)
        for k in (1, 3, 7, 10, 1000):
            spent = Fraction(sampler.cost(k).epsilon)
            # log(ratio) <= spent/k, checked through an enclosure of the exponential.
            assert sampler.band.ratio() * HALF <= exp_enclosure(spent / k, 256)[0]


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ({"smokes": ["no"]}, "no column 'age'"),
        ({"smokes": ["no"], "age": [1.0, 2.0]}, "columns of the same length"),
        ({"smokes": ["perhaps"], "age": [1.0]}, "answers among"),
        ({"smokes": ["no"], "age": [float("nan")]}, "finite numbers"),
        ({"smokes": [], "age": []}, "at least one answer"),
    ],
)
def test_bad_records_are_refused_before_anything_is_charged(tmp_path, records, words):
    ledger = Ledger(tmp_path / "own.ledger", epsilon=1.0)
    with pytest.raises(InvalidInput, match=words):
        FiniteMollifier(COLUMNS, epsilon=0.5).privatize(records, ledger=ledger, key="a")
    assert ledger.spent.epsilon == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": {}},
        {"columns": {"a": "b"}},
        {"columns": {"": COLUMNS["age"]}},
        {"columns": {"a": Lattice(low=0, high=1, size=2**20), "b": COLUMNS["age"]}},
        {"columns": COLUMNS, "reference": np.ones(10)},
        {"columns": COLUMNS, "epsilon": 0.0},
    ],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InvalidInput):
        FiniteMollifier(**{"epsilon": 1.0, **arguments})


def test_samples_are_values():
    sampler = FiniteMollifier(COLUMNS, epsilon=1.0, reference=np.ones((2, 5)))
    copy = pickle.loads(pickle.dumps(sampler))
    assert copy.to_dict() == sampler.to_dict()
    assert (copy.weights(RECORDS) == sampler.weights(RECORDS)).all()
    samples = sampler.simulate(RECORDS, 3, seed=1)
    assert samples.simulated
    assert samples.numbers.tolist() == sampler.simulate(RECORDS, 3, seed=1).numbers.tolist()
    assert not sampler.privatize(RECORDS).simulated
    for bad in ([10], [-1], [0.5], [], [[1]]):
        with pytest.raises(InvalidInput):
            Samples(np.array(bad), sampler, simulated=True)


def test_weights_whose_sum_overflows_are_not_drawn_from():
    band = Mollification(np.ones(5), epsilon=100.0)
    weights = np.full(5, TOTAL, dtype=np.int64)
    assert (weights <= band.upper).all()
    assert int(weights.sum()) == TOTAL  # 5 * 2**62 in 64 bits
    with pytest.raises(InvalidInput, match="sum to"):
        band.draw(weights, SeededEntropy(1), 1)


def test_what_numpy_is_told_to_raise_changes_nothing():
    band = Mollification(np.logspace(-300, 0, 40), epsilon=80.0)
    scores = np.where(np.arange(40) == 0, 0, -np.inf)
    expected = band.weights(scores)
    with np.errstate(all="raise"):
        assert (band.weights(scores) == expected).all()


def test_a_key_without_a_ledger_is_refused():
    sampler = FiniteMollifier({"a": Categories(("no", "yes"))}, epsilon=1.0)
    with pytest.raises(InvalidInput, match="a ledger with a key"):
        sampler.privatize({"a": ["no"]}, key="first")
