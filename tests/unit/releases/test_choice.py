import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from confide import Lattice, Ledger
from confide.accounting.spend import Spend, exact
from confide.errors import InvalidInput, Mismatch
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import SeededEntropy
from confide.releases import Bernstein, Choice, GaussianProcess, Histogram, Query, Series, choice
from confide.releases.bernstein import polynomials
from confide.releases.choice import CountScore, PairScore, exponential, score
from confide.releases.release import MOST_RECORDS

UNIT = Lattice(low=0, high=1, size=64)
TINY = Lattice(low=0, high=1, size=6)


def histograms(cells=(4, 8, 16), *, epsilon=0.8, lattice=UNIT):
    return [Histogram(lattice, epsilon=epsilon, cells=c) for c in cells]


def series(terms=(1, 2, 4), *, lattice=TINY):
    return [Series(lattice, epsilon=0.8, terms=m) for m in terms]


def bernsteins(degrees=(2, 5, 9), *, lattice=TINY):
    return [Bernstein(lattice, epsilon=0.8, degree=k) for k in degrees]


def processes(bandwidths=(0.1, 0.2, 0.4), *, lattice=TINY):
    return [GaussianProcess(lattice, epsilon=0.8, delta=1e-6, bandwidth=h) for h in bandwidths]


def neighbours(size, n):
    """All pairs of data sets that differ in one record, the order of the others aside."""
    for others in itertools.combinations_with_replacement(range(size), n - 1):
        for a, b in itertools.combinations(range(size), 2):
            yield np.array([*others, a]), np.array([*others, b])


def by_definition(heights, fitted, indices):
    """2 mean_i f_{-i}(x_i) - int f**2 for fit(indices) -> heights of equal cells."""
    n = len(indices)
    out = [heights(fitted(np.delete(indices, i)))[indices[i]] for i in range(n)]
    whole = heights(fitted(indices))
    return 2 * np.mean(out) - np.mean(whole**2)


def test_the_score_of_a_histogram_is_its_definition():
    generator = np.random.default_rng(1)
    for cells, n in ((3, 7), (5, 20), (8, 40)):
        indices = generator.integers(0, cells, n)
        expected = by_definition(
            lambda c: c,
            lambda part, m=cells: np.bincount(part, minlength=m) * m / len(part),
            indices,
        )
        found = CountScore(n, (cells,), 0.0)
        # No cell is full enough to be cut off.
        assert found.cut >= n
        assert float(found.value(indices[:, None])) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("recipe", [series()[2], bernsteins()[1]], ids=lambda r: r.name)
def test_the_score_of_a_table_is_its_definition(recipe):
    n, size = 9, recipe.cells
    table = recipe.table(n) / 2**20
    if recipe.name == "series":
        waves = math.sqrt(2) * np.cos(
            np.pi * np.arange(1, 5)[:, None] * (np.arange(size) + 0.5) / size
        )

        def heights(averages):
            return 1 + averages @ waves
    else:
        basis = size * polynomials(5, size)

        def heights(averages):
            return averages @ basis

    indices = np.random.default_rng(2).integers(0, size, n)
    expected = by_definition(heights, lambda part: table[:, part].mean(axis=1), indices)
    found = score(recipe, n)
    unscored = float(found.total(indices[:, None]) * found.unit)
    assert unscored == pytest.approx(expected, abs=1e-4)


def test_the_score_is_unbiased_for_the_squared_error():
    population, n = np.array([0.1, 0.6, 0.3]), 4
    error = estimated = 0.0
    for data in itertools.product(range(3), repeat=n):
        weight = np.prod(population[list(data)])
        heights = np.bincount(data, minlength=3) * 3 / n
        error += weight * np.mean((heights - 3 * population) ** 2)
        total = CountScore(n, (3,), 0.0).value(np.array(data)[:, None])
        estimated += weight * float(total)
    assert -estimated == pytest.approx(error - np.mean((3 * population) ** 2))


def test_the_noise_that_is_taken_off_is_what_the_noise_adds():
    n = 50
    for recipe in (histograms()[1], series(lattice=UNIT)[2], bernsteins(lattice=UNIT)[1]):
        if recipe.name == "histogram":
            basis, sd = 8 * np.eye(8), recipe.noise.sd / n
        elif recipe.name == "series":
            basis, sd = recipe.table(n) / 2**20, recipe.noise(n).sd / n / 2**20
        else:
            basis, sd = 64 * polynomials(5, 64), recipe.noise(n).sd / n / 2**20
        noise = sd * np.random.default_rng(3).normal(size=(20_000, len(basis)))
        squares = np.mean((noise @ basis) ** 2, axis=1)
        error = squares.std() / math.sqrt(len(squares))
        assert abs(squares.mean() - score(recipe, n).noise) < 5 * error, recipe.name


def test_noise_counts_against_a_candidate():
    # Even data have the same fit in any number of cells but for noise of either kind.
    values = (np.arange(1024) + 0.5) / 1024
    gaps = []
    for epsilon in (0.01, 50.0):
        choice = Choice(histograms((4, 256), epsilon=epsilon), epsilon=epsilon + 0.5)
        few, many = choice.exponents(choice.index(values))
        gaps.append(few - many)
    assert gaps[0] > 2 * gaps[1] > 0


@pytest.mark.parametrize("height", [1, 2, 8])
@pytest.mark.parametrize(("cells", "n"), [(2, 2), (2, 5), (3, 4), (4, 6), (5, 3), (6, 5)])
def test_the_bound_of_a_histogram_is_exact(monkeypatch, height, cells, n):
    monkeypatch.setattr(choice, "HEIGHT", height)
    found = CountScore(n, (cells,), 0.0)
    changes = [
        abs(found.total(a[:, None]) - found.total(b[:, None])) for a, b in neighbours(cells, n)
    ]
    assert max(changes) == found.step


def test_the_bound_of_pairs_is_exact():
    generator = np.random.default_rng(4)
    for size, n in ((3, 2), (4, 3), (3, 5)):
        for _ in range(20):
            matrix = generator.integers(-50, 50, (size, size))
            first = PairScore(n, matrix + matrix.T, generator.integers(-200, 200, size), 0.0)
            matrix = generator.integers(-50, 50, (size, size))
            second = PairScore(n, matrix + matrix.T, generator.integers(-200, 200, size), 0.0)
            steps, apart = [], []
            for a, b in neighbours(size, n):
                one, other = (s.value(a[:, None]) - s.value(b[:, None]) for s in (first, second))
                steps.append(abs(one))
                apart.append(abs(one - other))
            assert max(steps) == first.sensitivity
            assert max(apart) == first.apart(second)


def test_scores_of_the_most_records_stay_within_64_bits():
    # A narrow kernel at one of few points, with a cell beside it: the tallest there is.
    fine = Lattice(low=0, high=1)
    tallest = score(Bernstein(fine, epsilon=1.0, degree=1, bandwidth=1 / 256), MOST_RECORDS)
    largest = int(np.abs(tallest.pairs).max())
    assert largest > 3000 * 2**20
    assert 4 * MOST_RECORDS * largest + 2 * int(np.abs(tallest.alone).max()) < 2**63


def test_histograms_of_several_columns_have_the_bound_of_all_their_cells():
    columns = {"a": UNIT, "b": UNIT}
    recipe = Histogram(columns, epsilon=1.0, cells=3)
    flat = CountScore(5, (9,), score(recipe, 5).noise)
    assert score(recipe, 5).sensitivity == flat.sensitivity
    pairs = np.array([[0, 1], [2, 2], [2, 2], [1, 0], [0, 1]])
    assert score(recipe, 5).total(pairs) == flat.total(pairs @ [[3], [1]])


BITS = 200


def laws(choice, n):
    """Integers around each candidate's weight, the heaviest being one, for every data set."""
    found = {}
    for data in itertools.combinations_with_replacement(range(TINY.size), n):
        exponents = choice.exponents(choice.index(TINY.centers[list(data)]))
        found[data] = [exp_enclosure(x - max(exponents), BITS) for x in exponents]
    return found


def worst_ratio(choice, n):
    """The largest ratio of a candidate's probabilities for neighbours, in integers, rounded up."""
    law, worst = laws(choice, n), Fraction(1)
    for pair in neighbours(TINY.size, n):
        both = [law[tuple(sorted(data.tolist()))] for data in pair]
        for one, other in itertools.permutations(both):
            least, most = sum(low for low, _ in one), sum(high for _, high in other)
            ratios = (
                Fraction(high * most, least * low)
                for (_, high), (low, _) in zip(one, other, strict=True)
            )
            worst = max(worst, *ratios)
    return worst


def allowed(choice):
    """e**a, rounded up, with room for the enclosures."""
    return Fraction(exp_enclosure(choice.choosing, BITS)[1], 2**BITS) * (1 + Fraction(1, 2**150))


@pytest.mark.parametrize(
    "candidates",
    [histograms((2, 3, 6), lattice=TINY), series(), bernsteins(), processes()],
    ids=lambda each: each[0].name,
)
@pytest.mark.parametrize("n", [2, 4])
def test_no_record_changes_the_law_of_the_choice_by_more(candidates, n):
    choice = Choice(candidates, epsilon=2.8)
    worst = worst_ratio(choice, n)
    assert worst <= allowed(choice)
    # The bound is for the worst of all data sets, and these get near it.
    assert math.log(worst) > 0.4 * float(choice.choosing)


@pytest.mark.parametrize("candidates", [series(), bernsteins()], ids=lambda each: each[0].name)
def test_a_smaller_bound_would_be_caught(monkeypatch, candidates):
    honest = PairScore.apart
    monkeypatch.setattr(PairScore, "apart", lambda self, other: honest(self, other) / 3)
    choice = Choice(candidates, epsilon=2.8)
    assert worst_ratio(choice, 4) > allowed(choice)


def test_the_sampler_encloses_the_law():
    exponents = [Fraction(1, 3), Fraction(-2), Fraction(5, 7), Fraction(-(10**6)), Fraction(0)]
    weights = np.exp([float(x) for x in exponents])
    law = np.cumsum(weights / weights.sum())
    for bits in (16, 64, 128):
        lower, upper = exponential(exponents).enclosure(bits)
        assert all(0 <= b - a <= 2 for a, b in zip(lower, upper, strict=True))
        assert [x / 2**bits for x in lower] == pytest.approx(law[:-1], abs=2**-14)
    draws = exponential(exponents).draw(SeededEntropy(1), 20_000)
    counts = np.bincount(draws, minlength=5)
    expected = 20_000 * np.diff(law, prepend=0)
    assert counts[3] == 0
    kept = expected > 0
    assert np.sum((counts - expected)[kept] ** 2 / expected[kept]) < 25


def test_the_least_likely_candidate_first_does_not_stop_the_sampler():
    assert set(exponential([Fraction(-(10**9)), Fraction(0)]).draw(SeededEntropy(1), 100)) == {1}


@pytest.mark.parametrize(
    "candidates",
    [histograms(), series(lattice=UNIT), bernsteins(lattice=UNIT), processes(lattice=UNIT)],
    ids=lambda each: each[0].name,
)
def test_one_charge_pays_for_choice_and_release(tmp_path, candidates):
    choice = Choice(candidates, epsilon=1.0)
    values = np.random.default_rng(5).random(400)
    ledger = Ledger(tmp_path / "ledger", epsilon=1.0, delta=1e-6)
    release = choice.release(values, ledger=ledger, key="density")
    assert ledger.spent == release.spend == Spend(1.0, candidates[0].delta)
    assert len(ledger.entries()) == 1
    again = choice.release(values, ledger=ledger, key="density")
    assert again.to_dict() == release.to_dict() == json.loads(json.dumps(release.to_dict()))
    facts = release.facts
    assert facts["chosen"] == release.noisy[0] in range(3)
    assert facts["chosen_method"] == candidates[0].name
    assert facts["epsilon_of_choice"] + facts["epsilon_of_release"] == pytest.approx(1.0)
    assert release.curve.facts["epsilon"] == 1.0
    assert choice.loss(400) <= 1.0
    assert choice.slack(400) <= candidates[0].delta
    fixed = candidates[facts["chosen"]].finish(release.noisy[1:], 400)
    assert np.array_equal(release.curve.masses, fixed["curve"].masses)
    with pytest.raises(Mismatch):
        Choice(candidates[:2], epsilon=1.0).release(values, ledger=ledger, key="density")


def test_parts_add_up_exactly():
    choice = Choice(histograms(epsilon=0.9), epsilon=1.0)
    assert choice.choosing + exact(0.9) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Choice(histograms()[:1], epsilon=1.0),
        lambda: Choice(None, epsilon=1.0),
        lambda: Choice(histograms(), epsilon=0.8),
        lambda: Choice(histograms(), epsilon=math.nan),
        lambda: Choice([*histograms(), *series(lattice=UNIT)], epsilon=1.0),
        lambda: Choice([*histograms(), *histograms(epsilon=0.7)], epsilon=1.0),
        lambda: Choice([*histograms(), *histograms(lattice=TINY)], epsilon=1.0),
        lambda: Choice([Query("count", epsilon=0.5)] * 2, epsilon=1.0),
        lambda: Choice([Choice(histograms(), epsilon=1.0)] * 2, epsilon=2.0),
        lambda: Choice(["histogram", "series"], epsilon=1.0),
        lambda: Choice(histograms(), epsilon=1.0).release([0.5]),
        lambda: Choice(histograms(), epsilon=1.0).release([0.5, math.nan]),
        lambda: Choice(
            [Bernstein({"a": UNIT, "b": UNIT}, epsilon=0.5, degree=k) for k in (3, 4)], epsilon=1.0
        ).release(np.zeros((4, 2))),
        lambda: score(Query("count", epsilon=1.0), 10),
    ],
)
def test_bad_candidates_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_values_in_the_place_of_candidates_are_not_quoted():
    for values in (np.array([31_415.0] * 3), [31_415.0] * 40):
        with pytest.raises(InvalidInput) as caught:
            Choice(values, epsilon=1.0)
        assert "31" not in str(caught.value)


def spiky(generator, n):
    narrow = generator.normal(0.3, 0.006, n)
    return np.where(generator.random(n) < 0.6, narrow, generator.random(n))


def mean_error(recipe, population, repetitions):
    """Mean integrated squared error against a large sample in 512 cells."""
    truth = np.histogram(population(np.random.default_rng(99), 10**6), 512, (0, 1))[0] / 10**6 * 512
    places = (np.arange(512) + 0.5) / 512
    errors = []
    for seed in range(repetitions):
        values = population(np.random.default_rng(seed), 10_000)
        curve = recipe.simulate(values, seed=seed).curve
        errors.append(np.mean((curve.pdf(places) - truth) ** 2))
    return np.mean(errors)


def test_a_choice_is_near_the_best_where_the_public_rule_is_poor():
    cells = (4, 8, 16, 32, 64, 128)
    every = {c: mean_error(Histogram(UNIT, epsilon=1.0, cells=c), spiky, 4) for c in cells}
    chosen = mean_error(Choice(histograms(cells), epsilon=1.0), spiky, 4)
    public = mean_error(Histogram(UNIT, epsilon=1.0), spiky, 4)
    assert chosen < 1.2 * min(every.values())
    assert chosen < 0.6 * public
    smooth = mean_error(Choice(histograms(cells), epsilon=1.0), lambda g, n: g.beta(2, 5, n), 6)
    coarse = mean_error(Histogram(UNIT, epsilon=1.0, cells=4), lambda g, n: g.beta(2, 5, n), 6)
    assert smooth < 0.3 * coarse
