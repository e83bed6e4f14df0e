"""What one record can change, by brute force over all small neighbouring data sets.

The real code is run from raw values to the draw. Noise is caught where it is drawn: what is drawn
from is noted, and zeros are given back, so that the integers before noise are what is released.
Logarithms are those of `decimal`, not ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from evidence.printed import PrintedBernstein

from confide import Categories, Lattice
from confide.accounting.spend import exact
from confide.exact.enclosures import exp_enclosure
from confide.exact.entropy import SeededEntropy
from confide.exact.integer_noise import (
    ONE,
    DiscreteGaussian,
    DiscreteLaplace,
    gaussian_delta,
)
from confide.exact.inversion import Inversion, weighted
from confide.releases import (
    Bernstein,
    Choice,
    CrossTable,
    GaussianProcess,
    Histogram,
    Holdout,
    KolmogorovSmirnov,
    LeastSquares,
    Means,
    Query,
    Selection,
    Series,
    Statistic,
    choice,
    holdout,
    ranks,
    register,
    release_groups,
)
from confide.releases.choice import score
from confide.releases.release import Recipe
from confide.sampling import FiniteMollifier, public_masses

SMALL = Lattice(low=0, high=1, size=6)
FINE = Lattice(low=-5, high=20, size=1000)
LOG = Lattice(low=1, high=100, size=5, scale="log")
WORDS = Categories(("no", "yes"))
EPSILON = 0.7

Noises = list[tuple[Any, int]]


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> Noises:
    """The noises that are drawn from, in order, each with the number of draws."""
    seen: Noises = []

    def draw(noise: Any, entropy: Any, n: int) -> np.ndarray:
        seen.append((noise, n))
        return np.zeros(n, dtype=np.int64)

    for kind in (DiscreteLaplace, DiscreteGaussian):
        monkeypatch.setattr(kind, "draw", draw)
    return seen


def released(recipe: Recipe, rows: tuple[Any, ...], seed: int = 0) -> list[int]:
    """What is released of a data set, from its raw values on."""
    lattice = getattr(recipe, "lattice", getattr(recipe, "columns", None))
    values: Any = list(rows)
    if isinstance(lattice, dict):
        values = dict(zip(lattice, zip(*rows, strict=True), strict=True))
    prepared = recipe.prepare(recipe.admitted(values), lambda _: None)
    return recipe.draw(prepared, SeededEntropy(seed))


def neighbours(places: list[Any], n: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """All pairs of data sets of n records that differ in one, whichever it is."""
    for at in range(n):
        for others in itertools.product(places, repeat=n - 1):
            for a, b in itertools.combinations(places, 2):
                yield (*others[:at], a, *others[at:]), (*others[:at], b, *others[at:])


def minus_log(parameter: int) -> Decimal:
    return -(Decimal(parameter) / Decimal(ONE)).ln()


def largest(recipe: Recipe, places: list[Any], n: int, caught: Noises) -> tuple[Decimal, Fraction]:
    """The largest loss and squared shift over variance of all neighbours, by what was drawn."""
    results: dict[tuple[Any, ...], list[int]] = {}
    noises: Noises = []
    loss, rho = Decimal(0), Fraction(0)
    for pair in neighbours(places, n):
        for data in pair:
            if data not in results:
                caught.clear()
                results[data] = released(recipe, data)
                # Neither the noise nor the number of integers may depend on the data.
                assert not noises or noises == caught
                noises = list(caught)
        one, other = (results[data] for data in pair)
        assert len(one) == len(other) == sum(number for _, number in noises)
        ahead = [abs(a - b) for a, b in zip(one, other, strict=True)]
        total, square = Decimal(0), Fraction(0)
        for noise, number in noises:
            part, ahead = ahead[:number], ahead[number:]
            if isinstance(noise, DiscreteLaplace):
                total += sum(part) * minus_log(noise.parameter)
            else:
                square += Fraction(sum(x * x for x in part), 2 * noise.variance)
        loss, rho = max(loss, total), max(rho, square)
    return loss, rho


def ends(lattice: Lattice, *between: float) -> list[float]:
    """Beyond the bounds, at them, and some values between."""
    width = lattice.high - lattice.low
    inside = [lattice.low + width * share for share in between]
    return [lattice.low - width, *inside, lattice.high]


def rows(*columns: list[Any]) -> list[tuple[Any, ...]]:
    return list(itertools.product(*columns))


LAPLACE: dict[str, tuple[Recipe, list[Any], float]] = {
    "count": (Query("count", epsilon=EPSILON), [0, 1], 1.0),
    "sum": (Query("sum", FINE, epsilon=EPSILON), ends(FINE, 0.3, 0.9), 1.0),
    "mean": (Query("mean", FINE, epsilon=EPSILON), ends(FINE, 1e-6, 0.5), 1.0),
    "mean, no spread": (Query("mean", FINE, epsilon=EPSILON, spread=0), ends(FINE, 0.5), 1.0),
    "mean, much spread": (Query("mean", FINE, epsilon=EPSILON, spread=0.9), ends(FINE, 0.5), 1.0),
    "variance": (Query("variance", FINE, epsilon=EPSILON), ends(FINE, 0.3, 0.5), 1.0),
    "variance, no spread": (
        Query("variance", FINE, epsilon=EPSILON, spread=0), ends(FINE, 0.5), 1.0,
    ),
    "histogram": (Histogram(SMALL, epsilon=EPSILON, cells=4), ends(SMALL, 0.3, 0.6), 1.0),
    "histogram, default cells": (Histogram(SMALL, epsilon=EPSILON), ends(SMALL, 0.3), 1.0),
    "histogram, two columns": (
        Histogram({"a": SMALL, "b": LOG}, epsilon=EPSILON, cells=2),
        rows([0.0, 1.0], [1.0, 50.0]), 1.0,
    ),
    "histogram, three columns": (
        Histogram({"a": SMALL, "b": LOG, "c": FINE}, epsilon=EPSILON, cells=2),
        [(0.0, 1.0, 0.0), (1.0, 50.0, 20.0), (0.0, 50.0, 0.0)], 1.0,
    ),
    "means": (
        Means({"a": SMALL, "b": LOG}, epsilon=EPSILON), rows([-1.0, 0.5, 1.0], [0.5, 100.0]), 1.0,
    ),
    "cross table": (
        CrossTable({"a": SMALL, "w": WORDS}, epsilon=EPSILON), rows([0.0, 0.9], ["no", "yes"]), 1.0,
    ),
    "least squares": (
        LeastSquares({"a": SMALL, "w": WORDS, "b": LOG}, target="w", epsilon=EPSILON, degree=2),
        rows([0.0, 0.5, 1.0], ["no", "yes"], [1.0, 100.0]), 1.0,
    ),
    "least squares of a number": (
        LeastSquares({"a": SMALL, "b": LOG}, target="b", epsilon=EPSILON, degree=1),
        rows([-1.0, 0.3, 1.0], [0.5, 100.0]), 1.0,
    ),
    "statistic": (
        Statistic(
            "sum above a half", lambda x: x[x > 0.5].sum(), SMALL,
            sensitivity=11 / 12, low=0, high=9, epsilon=EPSILON,
        ),
        SMALL.centers.tolist(), 0.99,
    ),
    "series": (Series(SMALL, epsilon=EPSILON, terms=3), SMALL.centers.tolist(), 1.0),
    "series, default terms": (Series(SMALL, epsilon=EPSILON), SMALL.centers.tolist(), 1.0),
    "bernstein": (Bernstein(SMALL, epsilon=EPSILON, degree=3), SMALL.centers.tolist(), 1.0),
    "bernstein, sup": (
        PrintedBernstein(SMALL, epsilon=EPSILON, degree=3),
        SMALL.centers.tolist(), 0.4,
    ),
    "bernstein, two columns": (
        Bernstein({"a": SMALL, "b": LOG}, epsilon=EPSILON, degree=3, bandwidth=0.1),
        rows(SMALL.centers.tolist(), LOG.centers.tolist()), 0.9,
    ),
    "bernstein, two columns, sup": (
        PrintedBernstein({"a": SMALL, "b": LOG}, epsilon=EPSILON, degree=2),
        rows(SMALL.centers[::5].tolist(), LOG.centers[::4].tolist()), 0.1,
    ),
}  # fmt: skip
"""Recipe, values to try, and how much of epsilon neighbours reach at least."""


@pytest.mark.parametrize("name", LAPLACE)
def test_no_record_costs_more_than_epsilon(name: str, caught: Noises) -> None:
    recipe, places, share = LAPLACE[name]
    reached = Decimal(0)
    with localcontext() as context:
        context.prec = 60
        for n in range(1, 5):
            some = places if len(places) ** n <= 300 else [places[0], places[-2], places[-1]]
            loss, _ = largest(recipe, some, n, caught)
            assert loss <= Decimal(EPSILON)
            # What is stated is no less than what is found.
            assert loss <= Decimal(recipe.loss(n)) <= Decimal(EPSILON)
            reached = max(reached, loss)
    # And no noise is wasted: the bound is met.
    assert reached >= Decimal(share) * Decimal(EPSILON) * Decimal("0.999")


@pytest.mark.parametrize("what", ["sum", "mean", "variance"])
@pytest.mark.parametrize("n", [5, 8, 1000, 10**5])
def test_one_record_of_many_costs_no_more_than_epsilon(what: str, n: int, caught: Noises) -> None:
    # All the others lie at one end, which is where one record changes most.
    recipe = Query(what, FINE, epsilon=EPSILON)
    low, high = FINE.low, FINE.high
    found = []
    for other in (low, high):
        caught.clear()
        one, two = (released(recipe, (*[other] * (n - 1), last)) for last in (low, high))
        parameters = [noise.parameter for noise, _ in caught[: len(one)]]
        with localcontext() as context:
            context.prec = 60
            steps = zip(one, two, parameters, strict=True)
            found.append(sum(abs(a - b) * minus_log(p) for a, b, p in steps))
            assert found[-1] <= Decimal(EPSILON)
    assert max(found) >= Decimal(EPSILON) * Decimal("0.99")


@pytest.mark.parametrize(
    ("lattice", "places", "share"),
    [
        (SMALL, SMALL.centers.tolist(), 0.99),
        ({"a": SMALL, "b": LOG}, rows([0.0, 1.0], [1.0, 100.0]), 0.9),
        ({"a": SMALL, "b": LOG, "c": SMALL}, [(0, 1, 0), (1, 100, 1), (0, 100, 0)], 0.9),
    ],
    ids=["one column", "two", "three"],
)
def test_no_record_costs_more_than_delta(
    lattice: Any, places: list[Any], share: float, caught: Noises
) -> None:
    recipe = GaussianProcess(lattice, epsilon=EPSILON, delta=1e-5, bandwidth=0.3)
    for n in (1, 2, 3):
        _, rho = largest(recipe, places, n, caught)
        assert recipe.slack(n) <= 1e-5
        # What is certified is certified for no less than what is found.
        assert rho <= Fraction(recipe.squared_sensitivity(n), 2 * recipe.noise(n).variance)
        assert rho >= Fraction(share) * Fraction(
            recipe.squared_sensitivity(n), 2 * recipe.noise(n).variance
        )


@pytest.mark.parametrize("target", ["a", "w"])
def test_no_record_costs_least_squares_more_than_delta(target: str, caught: Noises) -> None:
    recipe = LeastSquares(
        {"a": SMALL, "w": WORDS}, target=target, epsilon=EPSILON, delta=1e-5, degree=3
    )
    for n in (1, 2, 3):
        _, rho = largest(recipe, rows([0.0, 0.4, 1.0], ["no", "yes"]), n, caught)
        assert rho == Fraction(recipe.squared_sensitivity, 2 * recipe.noise.variance)
        assert recipe.slack(n) <= 1e-5
        assert caught[0][1] == recipe.length


GAUSSIAN: dict[str, tuple[Any, list[Any], float]] = {
    "means": (
        Means({"a": SMALL, "b": LOG}, epsilon=EPSILON, delta=1e-5),
        rows([-1.0, 0.5, 1.0], [0.5, 100.0]), 1.0,
    ),
    "a statistic": (
        Statistic(
            "sum", np.sum, SMALL,
            sensitivity=5 / 6, low=0, high=9, epsilon=EPSILON, delta=1e-5,
        ),
        SMALL.centers.tolist(), 0.98,
    ),
    "two numbers": (
        Statistic(
            "sum and those above a half", lambda x: [x.sum(), (x > 0.5).sum()], SMALL,
            sensitivity=math.sqrt(25 / 36 + 1), names=["sum", "large"],
            low=0, high=9, epsilon=EPSILON, delta=1e-5,
        ),
        SMALL.centers.tolist(), 0.98,
    ),
}  # fmt: skip
"""Recipe, values to try, and how much of its squared sensitivity neighbours reach at least."""


@pytest.mark.parametrize("name", GAUSSIAN)
def test_no_record_costs_gaussian_answers_more_than_delta(name: str, caught: Noises) -> None:
    recipe, places, share = GAUSSIAN[name]
    for n in (1, 2, 3):
        _, rho = largest(recipe, places, n, caught)
        ((noise, count),) = caught
        found = 2 * rho * noise.variance
        # Noise that a delta is certified with for all that neighbours can reach, and hardly more.
        assert gaussian_delta([(noise, math.ceil(found), count)], exact(EPSILON)) <= 1e-5
        assert gaussian_delta([(noise, math.ceil(found / Fraction(share)), count)],
                              exact(EPSILON)) > 0.5e-5  # fmt: skip
        assert recipe.slack(n) <= 1e-5


OTHERS = {
    GaussianProcess.name: "test_no_record_costs_more_than_delta",
    KolmogorovSmirnov.name: "test_no_record_costs_a_synthetic_data_set_more",
    Choice.name: "test_no_record_costs_a_choice_more",
    Selection.name: "tests/unit/releases/test_statements.py",
}
"""Kinds whose brute force is a test of their own."""


def test_every_kind_of_release_is_tried() -> None:
    tried = {recipe.name for recipe, _, _ in (*LAPLACE.values(), *GAUSSIAN.values())}
    assert tried | set(OTHERS) == set(register.KINDS) | set(register.STATED)
    # And with every law of noise that it can have.
    with_delta = {recipe.name for recipe, _, _ in GAUSSIAN.values()} | {LeastSquares.name}
    kinds = {**register.KINDS, **register.STATED}
    can = {name for name, kind in kinds.items() if "delta" in {one.name for one in fields(kind)}}
    assert with_delta | {GaussianProcess.name} == can


def test_no_record_costs_groups_more_than_one_release(caught: Noises) -> None:
    # All groups through the call that users make, each record in its own group throughout.
    recipe, by = Histogram(SMALL, epsilon=EPSILON, cells=3), ["a", "b", "a"]
    results: dict[tuple[float, ...], dict[str, Any]] = {}
    worst = Decimal(0)
    with localcontext() as context:
        context.prec = 60
        for pair in neighbours([0.1, 0.5, 0.9], 3):
            for data in pair:
                if data not in results:
                    caught.clear()
                    made = release_groups(
                        recipe, list(data), by, groups=["a", "b", "none"], attribute="group"
                    )
                    results[data] = {name: one and one.noisy for name, one in made.items()}
                    assert caught == [(recipe.noise, 3)] * 2
            one, other = (results[data] for data in pair)
            assert one["none"] is other["none"] is None
            moved = [
                sum(abs(x - y) for x, y in zip(one[name], other[name], strict=True))
                for name in ("a", "b")
            ]
            assert min(moved) == 0
            worst = max(worst, sum(moved) * minus_log(recipe.noise.parameter))
        assert Decimal("0.999") * Decimal(EPSILON) < worst <= Decimal(EPSILON)


@pytest.mark.parametrize("public", [False, True])
def test_no_data_set_costs_a_sample_of_a_table_more(public: bool) -> None:
    # The law of a sample, of every data set of words and numbers of up to three records.
    columns = {"w": WORDS, "a": Lattice(low=0, high=1, size=3)}
    census = {"w": ["no", "no", "yes"], "a": [0.1, 0.5, 0.9]}
    reference = public_masses(columns, census) if public else None
    sampler = FiniteMollifier(columns, epsilon=EPSILON, reference=reference)
    places = rows(["no", "yes"], [-1.0, 0.5, 0.9])
    laws = []
    for n in (1, 2, 3):
        for data in itertools.combinations_with_replacement(places, n):
            words, numbers = zip(*data, strict=True)
            laws.append(sampler.weights({"w": list(words), "a": list(numbers)}).tolist())
    assert len({sum(law) for law in laws}) == 1
    least, most = (list(map(kind, zip(*laws, strict=True))) for kind in (min, max))
    worst = max(Fraction(b, a) for a, b in zip(least, most, strict=True))
    low, _ = exp_enclosure(Fraction(EPSILON), 128)
    assert worst <= Fraction(low, 2**128)
    assert float(worst) > math.exp(0.9 * EPSILON)


def log_ratio(one: list[Fraction], other: list[Fraction]) -> float:
    """The largest log ratio of two laws, which are given by their weights."""
    ratio = max(a / b for a, b in zip(one, other, strict=True)) * sum(other) / sum(one)
    with localcontext() as context:
        context.prec = 60
        return float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> list[list[Fraction]]:
    """The weights that cells of quantiles are drawn by, in order."""
    seen: list[list[Fraction]] = []

    def drawn(table: list[int], *more: Any) -> Inversion:
        seen.append([Fraction(each) for each in table])
        return weighted(table, *more)

    monkeypatch.setattr(ranks, "weighted", drawn)
    return seen


@pytest.mark.parametrize("q", [0.0, 0.5, 0.8])
@pytest.mark.parametrize(("n", "level"), [(1, 0.5), (3, 0.95), (4, 0.5)])
def test_no_record_costs_a_quantile_more(
    q: float, n: int, level: float, weights: list[list[Fraction]]
) -> None:
    recipe = Query("quantile", Lattice(low=0, high=1, size=4), epsilon=8.0, q=q, level=level)
    laws: dict[tuple[float, ...], list[list[Fraction]]] = {}
    worst = 0.0
    for pair in neighbours([0.1, 0.4, 0.6, 0.9], n):
        for data in pair:
            if data not in laws:
                weights.clear()
                ends = released(recipe, data)
                laws[data] = list(weights)
                # A draw of weights for each end that is not public.
                assert len(weights) == sum(each >= 0 for each in ends)
        for one, other in itertools.permutations([laws[data] for data in pair]):
            assert len(one) == len(other)
            worst = max(worst, sum(map(log_ratio, one, other)))
    assert 0.3 * recipe.loss(n) < worst <= recipe.loss(n) <= 8


def test_the_ends_of_an_interval_are_paid_for(weights: list[list[Fraction]]) -> None:
    recipe = Query("quantile", Lattice(low=0, high=1, size=3), epsilon=20.0, q=0.5, level=0.5)
    n = 60
    targets = recipe.ranks.targets(n)
    assert all(0 <= rank <= n for rank in targets)
    worst = 0.0
    for below in {rank + step for rank in targets for step in (-1, 0)}:
        laws = []
        for last in (0.1, 0.9):
            weights.clear()
            released(recipe, (*[0.1] * below, *[0.9] * (n - 1 - below), last))
            laws.append(list(weights))
        assert len(laws[0]) == 3
        for one, other in itertools.permutations(laws):
            worst = max(worst, sum(map(log_ratio, one, other)))
    assert worst <= recipe.loss(n) <= 20


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_record_costs_a_synthetic_data_set_more(epsilon: float) -> None:
    # The law of every sequence, from the blocks, tables and coins that a draw is made of.
    recipe = KolmogorovSmirnov(Lattice(low=0, high=1, size=3), epsilon=epsilon, size=3, points=3)
    laws: dict[tuple[float, ...], list[Fraction]] = {}
    worst = 0.0
    for n in (1, 2, 4):
        for pair in neighbours([0.1, 0.5, 0.9], n):
            for data in pair:
                if data not in laws:
                    laws[data] = sequence_weights(recipe, data)
            for one, other in itertools.permutations([laws[data] for data in pair]):
                worst = max(worst, log_ratio(one, other))
    assert 0.5 * epsilon < worst <= recipe.loss(1) + 1e-12 <= epsilon + 1e-12


def sequence_weights(recipe: KolmogorovSmirnov, data: tuple[float, ...]) -> list[Fraction]:
    layers = recipe.prepare(recipe.admitted(list(data)), lambda _: None)
    found = []
    for places in itertools.product(range(3), repeat=3):
        counts = np.bincount(places, minlength=3).tolist()
        total = Fraction(0)
        for at, block in enumerate(layers.blocks):
            score = layers.sequences.score(counts)
            if score <= block.last:
                number = layers.sequences.table(block.last)[-1][3]
                (low,), (high,) = layers.keeping(at, score).enclosure(200)
                total += Fraction(layers.weights[at] * (low + high), number)
        found.append(total)
    return found


CANDIDATES: dict[str, Callable[[], list[Any]]] = {
    "histogram": lambda: [Histogram(SMALL, epsilon=0.4, cells=cells) for cells in (2, 3, 6)],
    "series": lambda: [Series(SMALL, epsilon=0.4, terms=terms) for terms in (1, 4)],
    "bernstein": lambda: [Bernstein(SMALL, epsilon=0.4, degree=degree) for degree in (2, 7)],
}


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("n", [2, 3])
def test_no_record_costs_a_choice_more(
    name: str, n: int, caught: Noises, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[Fraction]] = []
    honest = choice.exponential

    def drawn(exponents: list[Fraction]) -> Inversion:
        top = max(exponents)
        seen.append([Fraction(sum(exp_enclosure(x - top, 256)), 2**257) for x in exponents])
        return honest(exponents)

    monkeypatch.setattr(choice, "exponential", drawn)
    recipe = Choice(CANDIDATES[name](), epsilon=2.4)
    laws: dict[tuple[float, ...], list[Fraction]] = {}
    worst = 0.0
    places = SMALL.centers[[0, 3, 5]].tolist()
    for pair in neighbours(places, n):
        for data in pair:
            if data not in laws:
                released(recipe, data)
                laws[data] = seen[-1]
        for one, other in itertools.permutations([laws[data] for data in pair]):
            worst = max(worst, log_ratio(one, other))
    assert 0.2 < worst <= 2.0
    # What is released of the chosen one is its own release, at its own price.
    with localcontext() as context:
        context.prec = 60
        for each in recipe.candidates:
            loss, _ = largest(each, SMALL.centers.tolist(), n, caught)
            assert Decimal("0.39") < loss <= Decimal("0.4")
    assert recipe.loss(n) <= 2.4
    assert score(recipe.candidates[0], n).sensitivity > 0


def test_no_record_costs_a_holdout_more(caught: Noises, monkeypatch: pytest.MonkeyPatch) -> None:
    # Sums of queries, and the three noises of a round, in the order that they are drawn.
    sums: list[int] = []
    honest = holdout._private

    def summed(query: Any, records: Any) -> Any:
        units = honest(query, records)
        sums.append(int(units.sum()))
        return units

    monkeypatch.setattr(holdout, "_private", summed)
    worst = 0
    places = [0.0, 0.3, 1.0, 40.0, -3.0, np.nan]
    for n in (1, 2):
        for pair in neighbours(places, n):
            sums.clear()
            for data in pair:
                caught.clear()
                made = Holdout([0.5], list(data), epsilon=EPSILON, overfits=1, threshold=0.0)
                shown = made.ask(lambda x: x)
                kinds = [noise for noise, _ in caught]
                assert kinds[:2] == [made.noises.threshold, made.noises.comparison]
                assert kinds[2:] == ([made.noises.answer] if shown.source == "holdout" else [])
            worst = max(worst, abs(sums[0] - sums[1]))
    assert worst == holdout.UNIT
    threshold, comparison, answer = (minus_log(each.parameter) for each in made.noises)
    # A comparison is with two numbers that the record may move, one up and one down.
    total = worst * threshold + 2 * worst * comparison + worst * answer
    assert Decimal("0.999") * Decimal(EPSILON) < total <= Decimal(EPSILON)
