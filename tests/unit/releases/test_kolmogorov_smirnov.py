import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from confide import Lattice
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling, exp_enclosure
from confide.exact.entropy import SeededEntropy
from confide.releases import KolmogorovSmirnov
from confide.releases.sequences import Block, Layers, Sequences, layers

ONE = 2**62
UNIT = Lattice(low=0, high=1)
# (counts of the data, size): sizes that divide n and sizes that do not, gaps, point masses, n = 1.
SMALL = (
    ((1, 4, 3, 2), 4),
    ((1, 4, 3, 2), 5),
    ((0, 10, 0, 0), 4),
    ((7, 0, 0, 0), 3),
    ((0, 0, 0, 7), 6),
    ((3, 0, 0, 4, 0), 3),
    ((0, 1), 2),
    ((1, 0, 0), 5),
)


@cache
def data_sets(size, cells):
    """All count vectors."""
    return [
        tuple((np.diff([-1, *bars, size + cells - 1]) - 1).tolist())
        for bars in itertools.combinations(range(size + cells - 1), cells - 1)
    ]


def multinomial(counts):
    """Sequences with these counts, k! / prod c_j!."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(c) for c in counts)


def distance(x, z):
    """The oracle: n sup_t |F_x(t) - F_z(t)| as printed, rounded up to a whole number."""
    n, k = int(sum(x)), int(sum(z))
    gaps = [
        abs(Fraction(int(sum(x[: t + 1])), n) - Fraction(int(sum(z[: t + 1])), k))
        for t in range(len(x))
    ]
    return math.ceil(n * max(gaps))


def sequences(counts, size):
    return Sequences(tuple(int(c) for c in np.cumsum(counts)), size)


def parameter(epsilon):
    return exp_ceiling(-Fraction(epsilon) / 2, ONE)


def silent(_):
    pass


def brute(counts, size, p):
    """Exact probabilities of all the count vectors."""
    weights = {z: multinomial(z) * p ** distance(counts, z) for z in data_sets(size, len(counts))}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def stated(sampler, bits=400):
    """The sampler's own law, from its blocks, tables and chances of keeping a draw."""
    law = Counter()
    seen = sampler.sequences
    for at, (block, weight) in enumerate(zip(sampler.blocks, sampler.weights, strict=True)):
        number = seen.table(block.last)[-1][seen.size]
        for z in data_sets(seen.size, len(seen.upto)):
            if (score := seen.score(z)) <= block.last:
                (low,), (high,) = sampler.keeping(at, score).enclosure(bits)
                assert 0 < low <= high <= 2**bits
                assert high - low <= 2 ** (bits // 4)
                law[z] += Fraction(weight * multinomial(z) * low, number << bits)
    total = sum(law.values())
    return {z: weight / total for z, weight in law.items()}


def far(first, second):
    """Largest relative difference of two laws."""
    return max(abs(first[z] / second[z] - 1) if z in first else 1 for z in second)


@pytest.mark.parametrize(("counts", "size"), SMALL)
def test_numbers_of_sequences_are_those_of_brute_force(counts, size):
    seen = sequences(counts, size)
    scores = Counter()
    for z in data_sets(size, len(counts)):
        assert seen.score(z) == distance(counts, z)
        scores[seen.score(z)] += multinomial(z)
    assert seen.least == min(scores)
    levels = range(seen.least, seen.n + 1)
    for level, bound in zip(levels, seen.bounds(levels), strict=True):
        number = sum(many for score, many in scores.items() if score <= level)
        assert seen.table(level)[-1][size] == number
        assert number <= bound <= number * (1 + 1e-12)


@pytest.mark.parametrize("where", ["first", "spike", "smooth"])
def test_float_bounds_hold_on_a_larger_grid(where):
    rng = np.random.default_rng(2)
    values = {
        "first": np.zeros(1000),
        "spike": np.where(rng.random(1000) < 0.9, 0.5, rng.random(1000)),
        "smooth": rng.beta(2, 5, 1000),
    }[where]
    seen = sequences(np.bincount((values * 60).astype(int), minlength=60), 70)
    levels = [seen.least, seen.least + 1, 90, 300, 1000]
    for level, bound in zip(levels, seen.bounds(levels), strict=True):
        number = seen.table(level)[-1][70]
        assert number <= bound <= number + number // 10**10
    assert bound == pytest.approx(60**70, rel=1e-9)


@pytest.mark.parametrize(("counts", "size"), SMALL)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_law_and_normaliser_are_exact(counts, size, epsilon):
    p = Fraction(parameter(epsilon), ONE)
    sampler = layers(sequences(counts, size), parameter(epsilon), silent)
    exact = brute(counts, size, p)
    assert far(stated(sampler), exact) < Fraction(1, 2**280)
    # With blocks of one level, the bounds add up to the normaliser.
    seen = sampler.sequences
    levels = range(seen.least, seen.n + 1)
    total = sum(
        bound * (p**level - (p ** (level + 1) if level < seen.n else 0))
        for level, bound in zip(levels, seen.bounds(levels), strict=True)
    )
    whole = sum(multinomial(z) * p ** distance(counts, z) for z in exact)
    assert math.isclose(math.log(total), math.log(whole), abs_tol=1e-9)


def test_law_is_that_of_any_blocks_and_any_bounds():
    counts, size, p = (1, 4, 3, 2), 4, parameter(1.0)
    exact = brute(counts, size, Fraction(p, ONE))
    sampler = layers(sequences(counts, size), p, silent)
    coarse = [b._replace(mantissa=b.mantissa * 3 + 7 * at) for at, b in enumerate(sampler.blocks)]
    assert far(stated(replace(sampler, blocks=tuple(coarse))), exact) < Fraction(1, 2**280)
    single = Block(sampler.sequences.least, 10, 4**size, 0)
    assert far(stated(replace(sampler, blocks=(single,))), exact) < Fraction(1, 2**280)


def test_cut_tails_and_wrong_bands_are_caught():
    counts, size, p = (1, 4, 3, 2), 4, parameter(1.0)
    exact = brute(counts, size, Fraction(p, ONE))
    sampler = layers(sequences(counts, size), p, silent)
    assert far(stated(replace(sampler, blocks=sampler.blocks[:-1])), exact) > 1e-3

    class Narrower(Sequences):
        def band(self, levels):
            low, high = super().band(levels)
            return low, np.maximum(low, high - (np.arange(len(self.upto)) == 1))

    wrong = replace(sampler, sequences=Narrower(sampler.sequences.upto, size))
    entropy = SeededEntropy(1)
    drawn = Counter(tuple(wrong.draw(entropy)) for _ in range(1000))
    assert misfit(drawn, exact) > 8


@pytest.mark.parametrize(("n", "cells", "size"), [(4, 3, 2), (3, 3, 4), (5, 2, 3), (2, 4, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_loss_over_all_neighbours_is_at_most_epsilon(n, cells, size, epsilon):
    assert largest_ratio(n, cells, size, parameter(epsilon)) <= bound(epsilon)
    # Without the factor 2 in the exponent it is not.
    assert largest_ratio(n, cells, size, parameter(2 * epsilon)) > bound(epsilon)


def bound(epsilon):
    """A number just below e**epsilon."""
    return Fraction(exp_enclosure(Fraction(epsilon), 200)[0], 2**200)


def largest_ratio(n, cells, size, p):
    laws = {x: brute(x, size, Fraction(p, ONE)) for x in data_sets(n, cells)}
    ratios = []
    for x, first in laws.items():
        for origin, target in itertools.permutations(range(cells), 2):
            if x[origin]:
                y = list(x)
                y[origin], y[target] = y[origin] - 1, y[target] + 1
                ratios.append(max(first[z] / laws[tuple(y)][z] for z in first))
    return max(ratios)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=40), st.integers(1, 60), st.data())
def test_one_record_moves_the_score_by_at_most_one(records, size, data):
    z = np.bincount(
        data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), minlength=10
    )
    moved = [data.draw(st.integers(0, 9)), *records[1:]]
    scores = [
        sequences(np.bincount(x, minlength=10), size).score(z.tolist()) for x in (records, moved)
    ]
    assert abs(scores[0] - scores[1]) <= 1
    assert scores[0] == distance(np.bincount(records, minlength=10), z)


def misfit(drawn, law):
    """Chi-square of the counts, in standard deviations from its mean; rare outcomes pooled."""
    total = sum(drawn.values())
    common = [z for z in law if law[z] * total >= 5]
    observed = [drawn[z] for z in common]
    expected = [float(law[z] * total) for z in common]
    observed.append(total - sum(observed))
    expected.append(total - sum(expected))
    chi = sum((a - b) ** 2 / b for a, b in zip(observed, expected, strict=True))
    freedom = len(common)
    return (chi - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize(
    ("draws", "bits", "slack"), [(15_000, 64, 1), (4_000, 8, 1), (2_000, 64, 3), (2_000, 8, 3)]
)
def test_draws_fit_the_law(draws, bits, slack):
    counts, size, p = (1, 4, 3, 2), 4, parameter(1.0)
    sampler = layers(sequences(counts, size), p, silent)
    blocks = tuple(b._replace(mantissa=b.mantissa * slack) for b in sampler.blocks)
    if slack > 1:
        # Bounds three times too large, and a single block beyond the first.
        first = blocks[1].first
        rest = math.ceil(3 * 4**size * Fraction(p, ONE) ** first * 2**20)
        blocks = (blocks[0], Block(first, 10, rest, 20))
    sampler = Layers(sampler.sequences, p, blocks, bits)
    entropy = SeededEntropy(7)
    drawn = Counter(tuple(sampler.draw(entropy)) for _ in range(draws))
    exact = brute(counts, size, Fraction(p, ONE))
    assert misfit(drawn, exact) < 3.5
    if draws == 15_000:
        # The same draws do not fit the law with half or twice the exponent.
        assert misfit(drawn, brute(counts, size, Fraction(parameter(2.0), ONE))) > 100
        assert misfit(drawn, brute(counts, size, Fraction(parameter(0.5), ONE))) > 100


@pytest.mark.parametrize("n", [1, 2, 13, 97])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 100.0])
@pytest.mark.parametrize("where", ["first", "last", "middle", "spread"])
def test_works_for_any_data(n, epsilon, where):
    values = {
        "first": np.zeros(n),
        "last": np.ones(n),
        "middle": np.full(n, 0.5),
        "spread": (np.arange(n) + 0.5) / n,
    }[where]
    recipe = KolmogorovSmirnov(UNIT, epsilon=epsilon)
    release = recipe.release(values)
    size, points = recipe.shape(n)
    assert len(release.noisy) == points
    assert sum(release.noisy) == size
    assert release.curve.masses.sum() == pytest.approx(1)
    assert 0 < recipe.loss(n) <= epsilon
    if epsilon == 100.0:
        counts = np.bincount(recipe.index(values), minlength=points)
        seen = sequences(counts, size)
        assert seen.score(release.noisy) == seen.least


@pytest.mark.parametrize(
    ("n", "size", "limit"), [(10_000, 500, 0.014), (1_000, 100, 0.09), (9_973, 463, 0.016)]
)
def test_distance_to_the_data_is_small(n, size, limit):
    values = np.random.default_rng(3).beta(2, 5, n)
    recipe = KolmogorovSmirnov(UNIT, epsilon=1.0, size=size, points=100)
    shares = []
    prepared = recipe.prepare(recipe.index(values), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) > 5
    entropy = SeededEntropy(1)
    data = recipe.grid(n).edges
    found = []
    for _ in range(6):
        curve = recipe.finish(tuple(recipe.draw(prepared, entropy)), n)["curve"]
        below = np.searchsorted(np.sort(values), data) / n
        found.append(np.abs(curve.cdf(data) - below).max())
    assert np.mean(found) <= limit


def test_defaults_are_public_and_accurate():
    values = stats.beta(2, 5).rvs(3000, random_state=1)
    recipe = KolmogorovSmirnov(UNIT, epsilon=1.0)
    release = recipe.simulate(values, seed=1)
    assert (
        recipe.shape(3000)
        == recipe.shape(len(values))
        == (
            release.facts["size"],
            release.facts["points"],
        )
    )
    x = np.linspace(0, 1, 301)
    assert np.abs(release.curve.cdf(x) - stats.beta(2, 5).cdf(x)).max() < 0.06


def test_refusals_depend_on_public_parameters_only():
    with pytest.raises(InvalidInput, match=r"points \* size"):
        KolmogorovSmirnov(UNIT, epsilon=1.0, size=10_000, points=100)
    with pytest.raises(InvalidInput, match=r"epsilon >= 0\.001"):
        KolmogorovSmirnov(UNIT, epsilon=1e-4)
    with pytest.raises(InvalidInput, match="size"):
        KolmogorovSmirnov(UNIT, epsilon=1.0, size=0)
    with pytest.raises(InvalidInput, match="public bounds"):
        KolmogorovSmirnov((0, 1), epsilon=1.0)
    for n in (1, 10, 10**4, 10**6, 10**9):
        for epsilon in (0.001, 1.0, 100.0):
            for recipe in (
                KolmogorovSmirnov(UNIT, epsilon=epsilon),
                KolmogorovSmirnov(UNIT, epsilon=epsilon, points=1000),
            ):
                size, points = recipe.shape(n)
                assert size >= 1
                assert points >= 2
    with pytest.raises(InvalidInput, match=r"points \* size"):
        KolmogorovSmirnov(UNIT, epsilon=1.0, size=5000).release(np.zeros(10))
