import copy
import itertools
import math
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from confide import Ledger
from confide.accounting import Spend
from confide.errors import BudgetExhausted, InvalidInput, Mismatch
from confide.releases import Holdout
from confide.releases.holdout import UNIT, _private, noises

STEP = 2
"""What one record can change a sum by in the laws below, where a sum over all noise is short."""
SMALL = noises(Fraction(1), STEP)
SPAN = np.arange(-600, 601)
"""Values of a threshold's noise; what is beyond has a mass far below TAIL."""
TAIL = 1e-30
BELOW, ABOVE = "train", "holdout"


def mass(noise, k):
    p = noise.parameter / 2**62
    return (1 - p) / (1 + p) * p ** np.abs(k)


def exceeds(noise, k):
    """P(noise > k)."""
    p = noise.parameter / 2**62
    return np.where(k >= 0, p ** (np.maximum(k, 0) + 1.0), 1 + p - p ** -np.minimum(k, 0)) / (1 + p)


def shows(gap, limit, noise):
    return exceeds(noise, limit - gap)


def sequence_mass(below, above, *, limit=4, test=SMALL.comparison, threshold=SMALL.threshold):
    """P(so many times "train", then "holdout") for (gap, times) each, at one noisy threshold."""
    chances = mass(threshold, SPAN)
    chances = chances * (1 - shows(below[0], limit + SPAN, test)) ** below[1]
    chances = chances * shows(above[0], limit + SPAN, test) ** above[1]
    return float(chances.sum())


def worst_loss(k, *, shown=1, **variant):
    """The largest log ratio over neighbours for k queries, the last ``shown`` of them above."""
    steps = (-STEP, 0, STEP)
    worst = 0.0
    for first, last in itertools.product((0, 2, 4, 6, 12), (2, 4, 8, 14)):
        for down, up in itertools.product(steps, steps):
            if min(first + down, last + up) < 0:
                continue
            here = sequence_mass((first, k - shown), (last, shown), **variant)
            there = sequence_mass((first + down, k - shown), (last + up, shown), **variant)
            # The number that is shown: for some value its ratio is as large as it can be.
            number = shown * abs(up) * math.log(2**62 / SMALL.answer.parameter)
            worst = max(worst, math.log((here + TAIL) / there) + number)
    return worst


def test_masses_are_those_of_the_noise():
    k = np.arange(-2000, 2001)
    for noise in SMALL:
        assert mass(noise, k).sum() == pytest.approx(1)
        assert noise.sd**2 == pytest.approx(float(mass(noise, k) @ k**2))
        for at in (-7, -1, 0, 3):
            assert float(exceeds(noise, np.array(at))) == pytest.approx(
                mass(noise, k)[k > at].sum()
            )
    assert 2 * exceeds(SMALL.threshold, SPAN.max()) < TAIL


@pytest.mark.parametrize("k", [1, 2, 3, 10, 100])
def test_a_round_costs_no_more_than_it_says(k):
    assert SMALL.loss <= 1 + 1e-15
    assert worst_loss(k) <= 1 + 1e-9


def test_a_round_of_many_queries_gets_near_its_price():
    assert worst_loss(100) > 0.99


def test_answers_of_the_training_set_alone_cost_no_more_than_the_threshold():
    for first, up in itertools.product((0, 2, 4, 6), (0, 2)):
        here, there = (sequence_mass((gap, 50), (0, 0)) for gap in (first, first + up))
        assert abs(math.log(here / there)) <= SMALL.threshold.loss + 1e-9


def test_half_the_noise_on_comparisons_is_caught():
    assert worst_loss(100, test=SMALL.threshold) > 1.2


def test_a_round_that_goes_on_after_it_showed_the_holdout_is_caught():
    # A quarter for the threshold once, three quarters for each time the holdout is shown.
    assert 1.7 < worst_loss(20, shown=2) <= 1.75 + 1e-9


def test_a_threshold_without_noise_is_caught():
    still = noises(Fraction(400), STEP).threshold
    assert mass(still, np.array(0)) > 1 - 1e-15
    assert worst_loss(100, threshold=still) > 5


def test_showing_the_number_that_was_compared_is_caught():
    # The number w = g + v is shown, so the noise r of the threshold was below w - T and cannot be
    # shifted any more (algorithm 3 of Lyu, Su and Li 2017).
    def law(gap, k, w=10, limit=4):
        r = SPAN[w - limit > SPAN]
        below = 1 - shows(gap, limit + r, SMALL.comparison)
        return float((mass(SMALL.threshold, r) * below**k).sum())

    losses = [math.log(law(4, k) / law(4 + STEP, k)) for k in (1, 100, 1000)]
    assert losses[0] < SMALL.threshold.loss
    assert losses[2] > 1 > losses[0]


def answers(gap, times):
    """What one holdout says to the same query again and again."""
    train, fresh = np.full(100, 0.4), np.full(100, 0.4 + gap)
    parameters = {"epsilon": 1.0, "overfits": times, "threshold": 0.1}
    holdout = Holdout.simulate(train, fresh, seed=1, **parameters)
    return [holdout.ask(lambda x: x) for _ in range(times)]


@pytest.mark.parametrize("gap", [0.12, 0.3])
def test_rounds_have_the_law_that_was_proved(gap):
    sources = [each.source for each in answers(gap, 1000)]
    ends = np.flatnonzero([source == ABOVE for source in sources])
    lengths = np.diff(ends, prepend=-1) - 1
    found = np.bincount(np.minimum(lengths, 2), minlength=3)
    # With so many units in a record, continuous Laplace laws are as good here.
    law, unit = noises(Fraction(1)), 100 * UNIT
    limit = np.random.default_rng(7).laplace(0.1, law.threshold.scale / unit, 400_000)
    tail = 0.5 * np.exp(-np.abs(limit - gap) / (law.comparison.scale / unit))
    up = np.where(limit > gap, tail, 1 - tail)
    shares = [up.mean(), (up * (1 - up)).mean()]
    expected = len(lengths) * np.array([*shares, 1 - sum(shares)])
    assert ((found - expected) ** 2 / expected).sum() < 14


def test_every_round_has_a_threshold_of_its_own():
    train, fresh = np.full(100, 0.5), np.full(100, 0.6)
    holdout = Holdout.simulate(train, fresh, seed=2, epsilon=1.0, overfits=2000, threshold=0.1)
    limits = []
    while len(limits) < 150:
        shown = holdout.ask(lambda x: x).source == ABOVE
        if not shown and (not limits or limits[-1] != holdout._limit):
            limits.append(holdout._limit)
    assert len(set(limits)) == 150
    # Rounds that begin with agreement have the higher thresholds, but not by much.
    assert np.std(limits) == pytest.approx(holdout.noises.threshold.sd, rel=0.25)


def test_numbers_have_the_noise_that_was_proved():
    found = [each.value - 0.7 for each in answers(0.3, 500) if each.source == ABOVE]
    sd = noises(Fraction(1)).answer.sd / (100 * UNIT)
    # The mean size of Laplace noise is sd / sqrt(2), and so is the deviation of that size.
    size = sd / math.sqrt(2)
    assert abs(np.abs(found).mean() - size) < 4 * size / math.sqrt(len(found))
    assert abs(np.mean(found)) < 4 * sd / math.sqrt(len(found))


def test_agreement_gives_the_training_set_exactly():
    train, fresh = np.random.default_rng(1).random((2, 4000))
    holdout = Holdout(train, fresh, epsilon=1.0, overfits=2, threshold=0.5)
    answer = holdout.ask(lambda x: x)
    assert answer.source == BELOW
    assert answer.value == pytest.approx(train.mean(), abs=1e-6)
    assert answer.left == holdout.left == 2
    assert holdout.spend == Spend(1.0)


def overfitting(ledger=None, **more):
    train, fresh = np.ones(500), np.zeros(500)
    parameters = {"epsilon": 1.0, "overfits": 3, "ledger": ledger, "key": "h", **more}
    return Holdout(train, fresh, **parameters)


def test_the_holdout_is_shown_so_often_and_no_more(tmp_path):
    ledger = Ledger(tmp_path / "ledger", epsilon=10.0)
    holdout = overfitting(ledger)
    assert ledger.spent == Spend(0.0)
    for left in (2, 1, 0):
        answer = holdout.ask(lambda x: x)
        assert (answer.source, answer.left) == (ABOVE, left)
        assert answer.value < 0.2
        assert ledger.spent == Spend(float(3 - left))
    with pytest.raises(BudgetExhausted):
        holdout.ask(lambda x: x)
    assert ledger.spent == Spend(3.0)


def calm(x):
    return np.full(len(x), 0.5)


def test_a_new_process_cannot_go_on_with_a_round(tmp_path):
    ledger = Ledger(tmp_path / "ledger", epsilon=10.0)
    first = overfitting(ledger, threshold=1.0)
    assert [first.ask(calm).source for _ in range(5)] == [BELOW] * 5
    assert ledger.spent == Spend(1.0)
    overfitting(ledger, threshold=1.0).ask(calm)
    assert ledger.spent == Spend(2.0)
    first.ask(calm)
    assert ledger.spent == Spend(2.0)
    overfitting(ledger, threshold=1.0).ask(calm)
    with pytest.raises(BudgetExhausted):
        overfitting(ledger, threshold=1.0).ask(calm)
    assert ledger.spent == Spend(3.0)
    with pytest.raises(Mismatch):
        overfitting(ledger, threshold=0.9).ask(calm)


def test_a_fork_begins_a_round_of_its_own(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger", epsilon=10.0)
    shared, alone = overfitting(ledger, threshold=1.0), overfitting(threshold=1.0)
    for holdout in (shared, alone):
        holdout.ask(calm)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    shared.ask(calm)
    assert ledger.spent == Spend(2.0)
    with pytest.raises(InvalidInput, match="process"):
        alone.ask(calm)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_parent_and_child_of_a_real_fork_share_no_round(tmp_path):
    ledger = Ledger(tmp_path / "ledger", epsilon=10.0)
    shared, alone = overfitting(ledger, threshold=1.0), overfitting(threshold=1.0)
    for holdout in (shared, alone):
        holdout.ask(calm)
    limit = shared._limit
    child = os.fork()
    if not child:
        try:
            shared.ask(calm)
            try:
                alone.ask(calm)
            except InvalidInput:
                os._exit(0 if shared._limit != limit else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.spent == Spend(2.0)
    shared.ask(calm)
    assert shared._limit == limit
    assert ledger.spent == Spend(2.0)


def test_nothing_is_answered_that_the_ledger_cannot_pay(tmp_path):
    ledger = Ledger(tmp_path / "ledger", epsilon=1.5)
    holdout = overfitting(ledger)
    holdout.ask(lambda x: x)
    for _ in range(2):
        with pytest.raises(BudgetExhausted):
            holdout.ask(lambda x: x)
    assert ledger.spent == Spend(1.0)


def test_threads_share_the_rounds():
    holdout = overfitting(overfits=8)

    def ask(_):
        try:
            return holdout.ask(lambda x: x).source
        except BudgetExhausted:
            return "none"

    with ThreadPoolExecutor(8) as pool:
        sources = list(pool.map(ask, range(40)))
    assert sources.count(ABOVE) == 8
    assert sources.count("none") == 32


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_holdout_is_not_copied(how):
    with pytest.raises(TypeError, match="cannot be copied"):
        how(overfitting())


def test_odd_numbers_of_private_records_do_not_show():
    train = np.full(400, 0.5)
    fresh = np.array([math.nan, math.inf, -math.inf, 7.0] * 100)
    holdout = Holdout(train, fresh, epsilon=50.0, overfits=1, threshold=0.2)
    assert holdout.ask(lambda x: x).source == BELOW


def raised(x):
    if (x == 0).any():
        raise KeyError(x[x == 0])
    return x


@pytest.mark.parametrize(
    "query",
    [
        raised,
        lambda x: x[x > 0],
        lambda x: [None if value == 0 else value for value in x.tolist()],
        lambda x: x + 0j if (x == 0).any() else x,
    ],
)
def test_a_record_that_a_query_fails_for_answers_zero_and_no_more(query):
    fresh = np.where(np.arange(50) < 3, 0.0, 0.5)
    units = _private(query, fresh)
    assert units.tolist() == [0] * 3 + [UNIT // 2] * 47
    # Neighbours: one that fails or not changes its own answer only.
    other = _private(query, np.where(np.arange(50) < 2, 0.0, 0.5))
    assert np.flatnonzero(units != other).tolist() == [2]
    holdout = Holdout(np.full(50, 0.5), fresh, epsilon=50.0, overfits=1, threshold=0.2)
    assert holdout.ask(query).source == BELOW


def test_no_warning_tells_of_a_private_record():
    holdout = Holdout(np.ones(50), np.arange(50.0), epsilon=1.0, overfits=1)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        holdout.ask(lambda x: 1 / x)
    assert not caught


def test_a_vote_that_ties_is_not_refused():
    # Sums of floats that cancel are above or below 0 by where they are in a matrix.
    train = fresh = np.arange(200) / 200
    holdout = Holdout(train, fresh, epsilon=1.0, overfits=1, threshold=1.0)
    assert holdout.ask(lambda x: np.where(x == 0.5, len(x) < 200, x > 0.5)).source == BELOW


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "query", [lambda x: x > x.mean(), lambda x: x > np.median(x), lambda x: x / x.max()]
)
def test_queries_that_centre_or_scale_are_found_whatever_the_first_record_is(query, seed):
    train, fresh = np.random.default_rng(seed).random((2, 200))
    with pytest.raises(InvalidInput, match="each record alone"):
        Holdout(train, fresh, epsilon=1.0, overfits=1).ask(query)


@pytest.mark.parametrize(
    "query",
    [
        lambda x: x.mean(),
        lambda x: x - x.mean() + 0.5,
        lambda x: np.argsort(x) / len(x),
        lambda x: ["a"] * len(x),
        lambda x: np.stack([x, x]),
        lambda x: None,
    ],
)
def test_queries_that_are_not_of_one_record_are_refused_before_anything_is_paid(tmp_path, query):
    ledger = Ledger(tmp_path / "ledger", epsilon=1.0)
    train, fresh = np.random.default_rng(1).random((2, 50))
    holdout = Holdout(train, fresh, epsilon=1.0, overfits=1, ledger=ledger, key="h")
    with pytest.raises(InvalidInput):
        holdout.ask(query)
    assert ledger.spent == Spend(0.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Holdout([], [1.0], epsilon=1.0, overfits=1),
        lambda: Holdout([1.0], 3, epsilon=1.0, overfits=1),
        lambda: Holdout([1.0], [[1.0]], epsilon=1.0, overfits=1),
        lambda: overfitting(epsilon=0.0),
        lambda: overfitting(overfits=0),
        lambda: overfitting(overfits=1.5),
        lambda: overfitting(threshold=-0.1),
        lambda: overfitting(threshold=math.nan),
        lambda: overfitting(object(), key=""),
        lambda: Holdout.simulate([1.0], [1.0], seed=1, epsilon=1.0, overfits=1, ledger=object()),
        lambda: Holdout.simulate([1.0], [1.0], seed=-1, epsilon=1.0, overfits=1),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_a_simulation_says_so_and_repeats():
    assert Holdout.simulate([1.0], [0.0], seed=1, epsilon=1.0, overfits=1).simulated
    assert not overfitting().simulated
    assert answers(0.12, 20) == answers(0.12, 20)


def vote(signs):
    """Share of records whose label the signed features vote for."""
    return lambda x: (x[:, 1:] @ signs > 0) == (x[:, 0] > 0)


def test_labels_at_random_stay_at_random():
    # The experiment of the paper, smaller: features are chosen by how they go with labels that
    # are drawn by a coin, on the training set and checked on the holdout.
    n, d = 1000, 600
    train, fresh, new = np.random.default_rng(5).choice([-1, 1], (3, n, d + 1))
    holdout = Holdout.simulate(train, fresh, seed=1, epsilon=1.0, overfits=10, threshold=0.1)
    known = (train[:, :1] == train[:, 1:]).mean(axis=0) - 0.5
    exact = (fresh[:, :1] == fresh[:, 1:]).mean(axis=0) - 0.5
    checked = [holdout.ask(lambda x, j=j: x[:, 0] == x[:, j]).value - 0.5 for j in range(1, d + 1)]
    cut = 0.5 / math.sqrt(n)

    def chosen(check):
        return np.sign(known) * (np.abs(known) > cut) * (np.asarray(check) * np.sign(known) > cut)

    naive, careful = chosen(exact), chosen(checked)
    assert vote(naive)(train).mean() > 0.57
    assert vote(naive)(fresh).mean() > 0.57
    assert abs(vote(naive)(new).mean() - 0.5) < 0.05
    assert vote(careful)(train).mean() > 0.6
    answer = holdout.ask(vote(careful))
    assert answer.source == ABOVE
    assert abs(answer.value - 0.5) < 0.05
