import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression

from confide import Laplace, Lattice, Ledger, RandomizedResponse, SquareWave
from confide.errors import BudgetExhausted, InvalidInput, Mismatch
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import Entropy, SeededEntropy
from confide.mechanisms.joint import Joint
from confide.mechanisms.two_sided_gamma import TwoSidedGamma
from confide.sampling import Box, Gaussian, Mollifier
from confide.sampling.boosting import BOUND, Boosting, Round, boost, thetas, training_draws
from confide.sampling.diagnostics import Judge, mode_region
from confide.sampling.fleet import Fleet
from confide.sampling.mbde import MBDE
from confide.sampling.mollification import TOTAL
from confide.sampling.naive import NaiveSampler

EPSILONS = (0.01, 0.1, 1.0, 2.0, 5.0, 10.0, 20.0)
LEARNER = LogisticRegression()


def sampler(**changes):
    return MBDE(**{"reference": Gaussian(), "epsilon": 1.0, "learner": LEARNER, **changes})


def records(n=400, dim=1, seed=1):
    return np.random.default_rng(seed).normal(0.6, 0.4, size=(n, dim))


def constant(value, theta=0.3):
    return Boosting((Round(lambda x: np.full(len(x), value), theta, BOUND, 0.5, 0.5),))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_largest_ratio_is_within_epsilon_in_integers(epsilon):
    ratio = sampler(epsilon=epsilon).odds()
    lower, _ = exp_enclosure(Fraction(epsilon), 200)
    assert ratio * 2**200 <= lower
    # And hardly less, so that epsilon is used.
    assert math.log(ratio) > epsilon * (1 - 1e-9) - 1e-15


def test_the_number_of_proposals_is_the_published_one():
    assert [sampler(epsilon=e).proposals for e in (1, 2, 5, 10)] == [15, 31, 162, 2044]
    for epsilon in EPSILONS:
        count, least = sampler(epsilon=epsilon).proposals, math.exp(-epsilon / 2)
        assert (1 - least) ** count <= 1e-6 < (1 - least) ** (count - 1)


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20),
    st.sampled_from(EPSILONS),
)
@settings(max_examples=200, deadline=None)
def test_chances_stay_in_their_integer_bounds_whatever_the_scores(scores, epsilon):
    one = sampler(epsilon=epsilon)
    for given_scores in (scores, [s * 1e300 for s in scores], [s * 1e-300 for s in scores]):
        odd = Round(lambda _, found=given_scores: np.array(found), 1.0, BOUND, 0.0, 0.0)
        with np.errstate(all="ignore"):
            chances = one.chances(Boosting((odd,)), np.zeros((len(scores), 1)))
        assert chances.dtype == np.int64
        assert one.least <= chances.min() <= chances.max() <= TOTAL


def test_a_score_that_is_not_a_number_counts_as_no_opinion():
    one, nothing = sampler(), constant(0.0)
    odd = constant(math.nan)
    assert one.chances(odd, np.zeros((1, 1))) == one.chances(nothing, np.zeros((1, 1)))


def test_classifiers_that_fail_at_a_proposal_have_no_opinion():
    def fails(points):
        raise RuntimeError("overflow")

    one = sampler()
    broken = Boosting((Round(fails, 0.3, BOUND, 0.5, 0.5),))
    points = np.zeros((2, 1))
    assert (one.chances(broken, points) == one.chances(constant(0.0), points)).all()


class Listed(Entropy):
    """Words as they are listed."""

    def __init__(self, words):
        self.left = list(words)

    def words(self, n, bits):
        found, self.left = self.left[:n], self.left[n:]
        return np.array(found, dtype=np.uint64)


def test_the_first_accepted_proposal_is_released_and_all_words_are_read():
    one, boosting = sampler(), constant(0.0)
    count = one.proposals
    chance = int(one.chances(boosting, np.zeros((1, 1)))[0])
    numbers = [i + 1 for i in range(count + 1)]
    for accepted in range(count + 1):
        # The last coin that still refuses, the first one that accepts, and both after it.
        coins = [chance if i != accepted else chance - 1 for i in range(count)]
        for rest in (0, TOTAL - 1):
            coins[accepted + 1 :] = [rest] * (count - accepted - 1)
            if accepted == count:
                coins = [chance] * count
            source = Listed([n << 11 for n in numbers] + [c << 2 for c in coins])
            assert one.draw(boosting, source, 1).tolist() == [numbers[accepted]]
            assert not source.left


def exact_law(chances, weights, count):
    """Law of the fixed number of proposals on a small domain, by enumeration in fractions."""
    law = [Fraction(0)] * len(weights)
    alone = sum(w * a for w, a in zip(weights, chances, strict=True))
    refused = Fraction(1)
    for _ in range(count):
        for x, (w, a) in enumerate(zip(weights, chances, strict=True)):
            law[x] += refused * w * a
        refused *= 1 - alone
    return [p + refused * w for p, w in zip(law, weights, strict=True)]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("count", [1, 3, 31])
def test_the_law_of_fixed_rejection_is_within_epsilon_for_all_extreme_inputs(epsilon, count):
    one = sampler(epsilon=epsilon)
    least = Fraction(one.least, TOTAL)
    weights = [Fraction(k, 15) for k in (1, 2, 4, 8)]
    corners = list(itertools.product((least, Fraction(1)), repeat=4))
    laws = [exact_law(corner, weights, count) for corner in corners]
    for law in laws:
        assert sum(law) == 1
    worst = max(high / low for a in laws for b in laws for high, low in zip(a, b, strict=True))
    assert worst <= one.odds()
    if count > 3:
        assert worst > math.exp(0.8 * epsilon)


def test_chances_that_hang_on_other_proposals_are_within_epsilon_too():
    # Two proposals and a last one on three points, the chances any function of all of them.
    one = sampler(epsilon=1.0)
    least = Fraction(one.least, TOTAL)
    generator = np.random.default_rng(3)
    low, high = Fraction(1), Fraction(0)
    for trial in range(40):
        law = [Fraction(0)] * 3
        for triple in itertools.product(range(3), repeat=3):
            a, b = ([least, Fraction(1)][int(bit)] for bit in generator.integers(0, 2, size=2))
            if trial == 0:  # the worst case for the point 0
                a, b = (Fraction(1) if x == 0 else least for x in triple[:2])
            for x, chance in zip(triple, (a, (1 - a) * b, (1 - a) * (1 - b)), strict=True):
                law[x] += Fraction(1, 27) * chance
        low, high = min(low, *law), max(high, *law)
    assert high / low <= one.odds()


def test_an_open_number_of_refusals_would_leak():
    # Two users at epsilon = 1 whose proposals are accepted with .622 and .975: the number of
    # proposals that it took tells them apart by far more than epsilon.
    def log_ratio(n):
        return abs((n - 1) * math.log((1 - 0.622) / (1 - 0.975)) + math.log(0.622 / 0.975))

    assert log_ratio(5) == pytest.approx(10.5, abs=0.1)
    assert log_ratio(20) > 50
    # Both are acceptances that MBDE can have.
    assert sampler(epsilon=1.0).least / TOTAL < 0.622


def test_public_proposals_would_leak():
    # Why proposals are secret: which of some known ones is the first to be accepted is not covered
    # by epsilon, because a chance of 1 for one of them rules out all that follow.
    one = sampler(epsilon=1.0)

    def places(chances):
        refused = list(itertools.accumulate((1 - a for a in chances), lambda x, y: x * y))
        before = [Fraction(1), *refused]
        return [b * a for b, a in zip(before, [*chances, Fraction(1)], strict=True)]

    options = (Fraction(one.least, TOTAL), Fraction(1))
    laws = [places(chances) for chances in itertools.product(options, repeat=3)]
    assert all(sum(law) == 1 for law in laws)
    largest = [max(column) for column in zip(*laws, strict=True)]
    least = [min(column) for column in zip(*laws, strict=True)]
    assert largest[0] / least[0] <= one.odds()
    assert min(largest[1:]) > 0
    assert max(least[1:]) == 0


def test_draws_follow_the_law_that_fit_states():
    one = sampler(epsilon=4.0, schedule="full")
    law = one.law_of(records())
    x = np.linspace(-8, 8, 4001)
    heights = law.pdf(x)
    total = np.cumsum((heights[1:] + heights[:-1]) / 2) * (x[1] - x[0])
    assert total[-1] == pytest.approx(1, abs=1e-3)
    draws = law.sample(4000, seed=5)[:, 0]
    found = stats.kstest(draws, lambda at: np.interp(at, x[1:], total))
    assert found.pvalue > 1e-3
    # The reference itself is another law.
    assert stats.kstest(draws, stats.norm.cdf).pvalue < 1e-9
    assert (draws == law.sample(4000, seed=5)[:, 0]).all()


def test_points_of_a_number_never_change():
    # The first words of SplitMix64 for the seed 1234567, as published with its source.
    words = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    wanted = [((word >> 12) + 0.5) * 2.0**-52 for word in words]
    point = sampler(reference=Box(low=[0, 0, 0], high=[1, 1, 1])).locate(np.array([1234567]))
    assert point[0] == pytest.approx(wanted, abs=1e-15)


def test_step_sizes_are_those_printed_and_the_full_budget_is_used():
    for epsilon in EPSILONS:
        found = thetas(epsilon, 3)
        assert found == pytest.approx(
            [(epsilon / (epsilon + 4 * math.log(2))) ** t for t in (1, 2, 3)]
        )
    fitted = sampler(epsilon=10.0).prepare(records())
    used = 4 * fitted.reach / 10
    assert used == pytest.approx(0.520, abs=1e-3)
    full = sampler(epsilon=10.0, schedule="full").scaled(fitted)
    assert 4 * full.reach / 10 == pytest.approx(1, abs=1e-12)
    x = np.linspace(-2, 2, 9)[:, None]
    assert full.log_ratio(x) == pytest.approx(fitted.log_ratio(x) / used)


@pytest.mark.parametrize("schedule", ["printed", "full"])
def test_theorem_4_holds(schedule):
    law = sampler(epsilon=3.0, schedule=schedule).law_of(records())
    facts = law.facts
    assert 0.5 < facts["largest_log_ratio"] <= facts["bound"] == 1.5
    x = np.linspace(-6, 6, 1001)
    gaps = law.log_pdf(x) - Gaussian().log_pdf(x)
    assert np.abs(gaps).max() <= 1.5
    json.dumps(facts)


def test_the_later_rounds_are_trained_on_draws_of_the_earlier_law():
    first = boost(records(2000), Gaussian(), 5.0, 1, LEARNER)
    draws = training_draws(first, Gaussian(), 4000, seed=3)
    x = np.linspace(-8, 8, 4001)
    heights = stats.norm.pdf(x) * np.exp(first.log_ratio(x[:, None]))
    total = np.cumsum(heights) / heights.sum()
    assert stats.kstest(draws[:, 0], lambda at: np.interp(at, x, total)).pvalue > 1e-3
    assert (training_draws(Boosting(()), Gaussian(), 100, seed=3).shape) == (100, 1)


def drops(p, q, c, theta):
    """Exactly what a round takes off KL(P, Q) on a finite domain."""
    return theta * (p @ c) - math.log(q @ np.exp(theta * c))


def test_bounds_of_theorem_5_hold_as_corrected_and_not_as_printed():
    generator = np.random.default_rng(5)
    printed_fails, at_log_2 = {"high": 0, "low": 0}, 0
    for _ in range(3000):
        p, q = generator.dirichlet(np.ones(4) * 0.3, size=2)
        bound = BOUND if generator.random() < 0.5 else generator.uniform(0.05, BOUND)
        c = bound * np.clip(generator.normal(np.sign(p - q), 0.5), -1, 1)
        theta = generator.uniform(0.05, 1)
        largest = float(np.abs(c).max())
        one = Round(lambda x: x, theta, largest, p @ c / largest, -(q @ c) / largest)
        if one.regime == "none":
            continue
        drop = drops(p, q, c, theta)
        assert one.least_gain <= drop + 1e-12
        assert drop <= one.most_gain + 1e-12
        if one.regime == "high":
            printed = largest * one.gamma_p + math.log(4 / (5 - 3 * one.gamma_q))
        else:
            printed = one.gamma_p + one.gamma_q - largest * theta / 2
        if one.regime == "high" and largest == BOUND:
            # Gamma is right for c* = log 2.
            at_log_2 += 1
            assert theta * printed == pytest.approx(one.least_gain, abs=1e-12)
        elif theta * printed > drop + 1e-9:
            printed_fails[one.regime] += 1
        if one.regime == "low":
            # The factor c* is all that is missing.
            assert largest * theta * printed == pytest.approx(one.least_gain, abs=1e-12)
    assert min(*printed_fails.values(), at_log_2) > 10


def test_equation_13_is_an_upper_bound_at_equal_gammas():
    # P and Q on two points, c = +-log 2: one round, gammas exact.
    epsilon, p, q = 2.0, np.array([0.9, 0.1]), np.array([0.2, 0.8])
    c = np.array([BOUND, -BOUND])
    (theta,) = thetas(epsilon, 1).tolist()
    gamma_p, gamma_q = p @ c / BOUND, -(q @ c) / BOUND
    assert gamma_q >= 1 / 3
    printed = epsilon / 2 * (gamma_p + gamma_q) / 2 * (1 - theta)
    drop = drops(p, q, c, theta)
    assert drop < printed - 0.01
    assert (printed, drop) == pytest.approx((0.407, 0.377), abs=6e-4)
    assert Round(lambda x: x, theta, BOUND, gamma_p, gamma_q).most_gain == pytest.approx(printed)


def test_facts_report_the_theorems():
    law = sampler(epsilon=2.0).law_of(records(2000))
    facts = law.facts
    assert facts["rounds"][0]["regime"] == "low"
    judge = Judge(lambda x: stats.norm(0.6, 0.4).logpdf(x[:, 0]), low=-6, high=6)
    gain = judge.kl(Gaussian().log_pdf) - judge.kl(law.log_pdf)
    assert facts["least_gain"] - 0.03 < gain < facts["most_gain"] + 0.03
    assert gain <= 1.0
    assert "least_gain" not in sampler(schedule="full").law_of(records()).facts
    inside = np.abs(judge.table[:, 0] - 0.6) < 0.8
    mass, divergence = mode_region(judge, Gaussian(), inside)
    assert mass == pytest.approx(0.954, abs=2e-3)
    strong = replace(law, boosting=Boosting((Round(lambda x: x, 0.4, BOUND, 0.99, 0.99),)))
    assert strong.mode_bound(mass, divergence, alpha=0.9) == pytest.approx(0.1 * mass - divergence)
    assert strong.mode_bound(0.1, 0.0, alpha=0.9) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 1e-19}, "leave a trace"),
        ({"epsilon": 23}, "Take a Mollifier"),
        ({"reference": "gaussian"}, "a public reference"),
        ({"learner": 3}, "scikit-learn"),
        ({"schedule": "half"}, "printed"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_parameters_are_refused(changes, words):
    with pytest.raises(InvalidInput, match=words):
        sampler(**changes)


def test_metropolis_hastings_breaks_epsilon():
    # A random walk on a grid with the law of two data sets as its target, both within e**(eps/2)
    # of the reference: the exact law after a few steps exceeds epsilon = 1, the targets do not.
    from evidence.sampling.claims import chain_losses

    found = chain_losses(epsilon=1.0, steps=(1, 2, 400))
    assert found["target"] == pytest.approx(1.0)
    assert min(found["1"], found["2"]) > 1.5
    assert found["400"] == pytest.approx(found["target"], abs=0.05)


NAIVE = NaiveSampler(Laplace(Lattice(low=0, high=1, size=8), epsilon=1.0))


def test_the_naive_sampler_has_the_law_of_the_records_under_noise():
    values = [0.05, 0.05, 0.9]
    law = NAIVE.masses(values)
    weights = [
        np.array(NAIVE.mechanism.law.weights(int(i)), dtype=float)
        for i in NAIVE.mechanism.index(values)
    ]
    assert law == pytest.approx(np.mean([w / w.sum() for w in weights], axis=0))
    numbers = NAIVE.simulate(values, 20_000, seed=3).numbers
    counts = np.bincount(numbers, minlength=8)
    assert stats.chisquare(counts, 20_000 * law).pvalue > 1e-3
    alone = [NAIVE.masses([a]) for a in (0.0, 0.5, 1.0)]
    mixed = [NAIVE.masses(each) for each in (values, [0.0, 1.0], [0.0, 0.0, 0.5], [0.5, 1.0])]
    worst = max((a / b).max() for a, b in itertools.permutations(alone, 2))
    assert 0.99 < math.log(worst) <= 1 + 1e-9
    # Mixtures are no farther from each other, nor from the laws that they mix.
    assert max((a / b).max() for a, b in itertools.permutations(alone + mixed, 2)) <= worst + 1e-9
    assert NAIVE.privatize(values, 2).to_dict()["spend"]["epsilon"] == 2.0


def test_the_naive_sampler_takes_several_columns_and_refuses_others():
    both = NaiveSampler(
        Joint({"x": NAIVE.mechanism, "y": RandomizedResponse(("no", "yes"), epsilon=0.5)})
    )
    samples = both.simulate({"x": [0.1, 0.2], "y": ["no", "yes"]}, 3, seed=1)
    assert both.epsilon == 1.5
    assert set(samples.points["y"].tolist()) <= {"no", "yes"}
    assert len(samples.to_dict()["samples"]) == 3
    with pytest.raises(InvalidInput, match="values themselves"):
        NaiveSampler(SquareWave(Lattice(low=0, high=1), epsilon=1.0))
    with pytest.raises(InvalidInput, match="a mechanism"):
        NaiveSampler(None)


def test_a_fleet_collects_what_belongs_together():
    one = Mollifier(reference=Gaussian(), epsilon=2.0, atoms=100)
    samples = [one.simulate(records(seed=at), seed=at) for at in range(40)]
    fleet = Fleet.of(samples)
    assert (fleet.n, fleet.points.shape, fleet.simulated) == (40, (40, 1), True)
    x = np.linspace(-10, 10, 2001)
    assert np.trapezoid(fleet.pdf(x), x) == pytest.approx(1, abs=1e-3)
    with pytest.raises(Mismatch, match="one mechanism"):
        Fleet.of([*samples, replace(one, epsilon=1.0).simulate(records(), seed=1)])
    with pytest.raises(Mismatch, match="both"):
        Fleet.of([*samples, one.privatize(records())])
    with pytest.raises(InvalidInput, match="none"):
        Fleet.of([])
    with pytest.raises(InvalidInput, match="Mollifier or MBDE"):
        Fleet.of([NAIVE.simulate([0.1], seed=1)])


def test_the_judge_agrees_with_closed_forms():
    judge = Judge(lambda x: stats.norm(1, 0.5).logpdf(x[:, 0]), low=-4, high=6)
    kl = math.log(2) + (0.25 + 1) / 2 - 0.5
    assert judge.kl(Gaussian().log_pdf) == pytest.approx(kl, abs=1e-6)
    entropy = stats.norm(1, 0.5).entropy()
    assert judge.nll(Gaussian().log_pdf) == pytest.approx(kl + entropy, abs=1e-6)
    assert judge.coverage(judge.target) == pytest.approx(0.95, abs=2e-3)
    # One-sided: too wide a law scores more, one that misses the mode little.
    assert judge.coverage(Gaussian(mean=1, sd=3).log_pdf) > 0.999
    assert judge.coverage(Gaussian(mean=-2, sd=0.5).log_pdf) < 0.02
    # The limit stays in the band and beats whatever else does, such as MBDE.
    limit = judge.limit(Gaussian(), 1.0)(judge.table)
    gaps = limit - Gaussian().log_density(judge.table)
    assert np.abs(gaps).max() <= 0.5 + 1e-4
    assert judge.kl(judge.limit(Gaussian(), 1.0)) < judge.kl(sampler().law_of(records()).log_pdf)
    with pytest.raises(InvalidInput, match="own points"):
        judge.limit(Gaussian(), 1.0)(np.zeros((2, 1)))
    with pytest.raises(InvalidInput, match="low < high"):
        Judge(judge.target, low=1, high=0)


def test_pictures_have_what_they_compare():
    pytest.importorskip("matplotlib")
    judge = Judge(Gaussian(sd=0.5).log_pdf, low=-3, high=3, points=60)
    names = [line.get_label() for line in judge.plot(Gaussian().log_pdf, Gaussian()).ax_.lines]
    assert names == ["target", "reference", "sample"]
    flat = Judge(Gaussian(2, sd=0.5).log_pdf, low=[-3, -3], high=[3, 3], points=20)
    maps = flat.plot(Gaussian(2).log_pdf, Gaussian(2)).ax_.child_axes
    assert [part.get_title() for part in maps] == ["target", "reference", "sample"]
    solid = Judge(Gaussian(3).log_pdf, low=[-3] * 3, high=[3] * 3, points=5)
    with pytest.raises(InvalidInput, match="one or two axes"):
        solid.plot(Gaussian(3).log_pdf, Gaussian(3))


def test_seeded_draws_repeat_and_private_ones_do_not():
    one = sampler()
    assert (
        one.simulate(records(), 5, seed=1).numbers == one.simulate(records(), 5, seed=1).numbers
    ).all()
    private = one.privatize(records(), 5)
    assert (private.numbers != one.privatize(records(), 5).numbers).any()
    assert private.numbers.max() < 2**53
    again = json.loads(json.dumps(private.to_dict()))
    assert np.array(again["samples"]) == pytest.approx(private.points)


def test_a_ledger_pays_once_and_only_for_what_can_be_released(tmp_path):
    book, one = Ledger(tmp_path / "book.db", epsilon=3.0), sampler()
    first = one.privatize(records(), 2, ledger=book, key="a")
    again = one.privatize(records()[::-1], 2, ledger=book, key="a")
    assert (first.numbers == again.numbers).all()
    assert book.left.epsilon == 1.0
    with pytest.raises(BudgetExhausted):
        one.privatize(records(), 2, ledger=book, key="b")
    with pytest.raises(InvalidInput, match="1 columns"):
        one.privatize(records(dim=2), 1, ledger=book, key="c")
    boxed = sampler(reference=Box(low=0, high=0.1))
    with pytest.raises(InvalidInput, match="where the reference has mass"):
        boxed.privatize(records(), 1, ledger=book, key="d")
    assert book.left.epsilon == 1.0


def test_proposals_at_which_a_learner_fails_are_not_drawn_again():
    chosen = sampler()

    def fails_on_the_left(x):
        if (x < 0).any():
            raise FloatingPointError
        return np.full(len(x), BOUND)

    moody = Boosting((Round(fails_on_the_left, 0.3, BOUND, 0.5, 0.5),))
    left, right = np.array([[-1.0], [1.0]]), np.array([[1.0], [2.0]])
    assert (chosen.chances(moody, left) == chosen.chances(constant(0.0), left)).all()
    assert (chosen.chances(moody, right) == TOTAL).all()
    found = chosen.draw(moody, SeededEntropy(1), 200)
    assert (chosen.locate(found) < 0).any()


def test_the_cost_of_naive_samples_is_rounded_up_and_keeps_its_note():
    for size in (5, 9, 17):
        noise = TwoSidedGamma(Lattice(low=0, high=1, size=size), shape=0.8, scale=1.0)
        one = NaiveSampler(noise)
        assert one.spend == noise.spend
        for k in range(1, 40):
            cost = one.cost(k)
            assert cost.epsilon >= k * Fraction(noise.spend.epsilon)
            assert cost.note == noise.spend.note != ""
    assert NaiveSampler(Laplace(Lattice(low=0, high=1), epsilon=0.1)).cost(3).epsilon > 0.3
