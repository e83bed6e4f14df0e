"""What `audits.exact` finds by itself: releases of a wrong sensitivity or too little noise.

Every fault is put into the code that runs, and stated as the code states it: nothing that a release
says about itself tells of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from evidence.audits.study import holdout as small_holdout
from tests.contract import mutants

from confide import Lattice, audits
from confide.audits import trials
from confide.audits.neighbors import all_families, few_spots, near_spots, spots
from confide.audits.subjects import pairs_of
from confide.audits.trials import Trial, largest_change
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_ceiling
from confide.exact.integer_noise import ONE, DiscreteGaussian, DiscreteLaplace
from confide.exact.inversion import Part
from confide.releases import (
    Bernstein,
    Choice,
    GaussianProcess,
    Histogram,
    Holdout,
    KolmogorovSmirnov,
    Query,
    Series,
    gaussian_process,
    histogram,
    holdout,
    kolmogorov_smirnov,
    query,
    ranks,
    series,
)
from confide.releases.choice import CountScore, PairScore
from confide.releases.query import fourth_sensitivity, variance_sensitivity
from confide.releases.release import Recipe

UNIT = Lattice(low=0, high=1, size=16)
LOG = Lattice(low=1, high=1000, size=12, scale="log")
BOTH = {"a": UNIT, "b": LOG}
QUERIES: dict[str, Recipe] = {
    "sum": Query("sum", UNIT, epsilon=1.0),
    "mean": Query("mean", UNIT, epsilon=1.0),
    "variance": Query("variance", UNIT, epsilon=1.0),
}
SUMS: dict[str, tuple[Any, Recipe]] = {
    **{name: (query, recipe) for name, recipe in QUERIES.items()},
    "histogram": (histogram, Histogram(UNIT, epsilon=1.0, cells=5)),
    "histogram, two columns": (histogram, Histogram(BOTH, epsilon=1.0, cells=3)),
    "histogram, three columns": (histogram, Histogram({**BOTH, "c": UNIT}, epsilon=1.0, cells=2)),
    "series": (series, Series(UNIT, epsilon=1.0, terms=4)),
    "bernstein": (series, Bernstein(UNIT, epsilon=1.0, degree=5)),
    "bernstein, two columns": (series, Bernstein(BOTH, epsilon=1.0, degree=3)),
}


@pytest.mark.parametrize("name", SUMS)
def test_noise_for_half_the_sensitivity_is_convicted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, recipe = SUMS[name]
    found = audits.exact(recipe, n=30)
    assert found.holds
    assert found.certified == pytest.approx(recipe.loss(30))
    assert found.evidence["data_sets"] > 100
    honest = module.laplace
    monkeypatch.setattr(module, "laplace", lambda epsilon, most: honest(epsilon, -(-most // 2)))
    # It states the wrong sensitivity with a loss of at most epsilon, and draws as it states.
    assert recipe.loss(30) <= 1.0
    wrong = audits.exact(recipe, n=30)
    assert not wrong.holds
    assert wrong.certified > 1.3


@pytest.mark.parametrize(("what", "at"), [("mean", 1), ("variance", 0), ("variance", 1)])
def test_each_integer_has_noise_of_its_own(
    what: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Query(what, UNIT, epsilon=1.0)
    honest = Query.noises

    def short(self: Query, n: int) -> tuple[DiscreteLaplace, ...]:
        several = list(honest(self, n))
        if at < len(several):
            right = several[at]
            several[at] = DiscreteLaplace(right.epsilon, max(1, right.sensitivity * 99 // 100))
        return tuple(several)

    monkeypatch.setattr(Query, "noises", short)
    assert recipe.loss(30) <= 1.0
    assert not audits.exact(recipe, n=30).holds


def test_the_largest_changes_are_found() -> None:
    assert audits.exact(QUERIES["mean"], n=30).evidence["changes"] == [
        2**20 - 1, variance_sensitivity(30),
    ]  # fmt: skip
    assert audits.exact(QUERIES["variance"], n=30).evidence["changes"] == [
        variance_sensitivity(30), fourth_sensitivity(),
    ]  # fmt: skip
    series = Series(UNIT, epsilon=1.0, terms=4)
    assert audits.exact(series, n=30).evidence["changes"] == [series.sensitivity(30)]
    process = GaussianProcess(UNIT, epsilon=1.0, delta=1e-6, bandwidth=0.3)
    (found,) = audits.exact(process, n=30).evidence["changes"]
    assert 0.99 * process.squared_sensitivity(30) < found <= process.squared_sensitivity(30)


@pytest.mark.parametrize(
    "lattice", [UNIT, dict.fromkeys("ab", replace(UNIT, size=3))], ids=["one column", "two"]
)
def test_a_process_with_noise_for_less_is_convicted(
    lattice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = GaussianProcess(lattice, epsilon=1.0, delta=1e-6, bandwidth=0.6)
    found = audits.exact(recipe, n=5)
    assert found.holds
    assert found.evidence["certified_delta"] <= 1e-6
    honest = gaussian_process.squared_sensitivity
    monkeypatch.setattr(
        gaussian_process, "squared_sensitivity", lambda several: honest(several) * 9 // 10
    )
    assert recipe.slack(10) <= 1e-6
    wrong = audits.exact(recipe, n=10)
    assert not wrong.holds
    assert wrong.evidence["certified_delta"] > 1e-6


def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ranks.distances
    monkeypatch.setattr(ranks, "distances", lambda *given: 2 * honest(*given))


def uneven(monkeypatch: pytest.MonkeyPatch) -> None:
    # The weights of the quantile itself are right: those of the ends are not.
    honest = ranks.Ranks.weights

    def squared(self: ranks.Ranks, indices: Any) -> list[list[int]]:
        middle, *rest = honest(self, indices)
        return [middle, *([weight**3 for weight in each] for each in rest)]

    monkeypatch.setattr(ranks.Ranks, "weights", squared)


def unlike(monkeypatch: pytest.MonkeyPatch) -> None:
    # Right weights are stated, and others drawn from.
    monkeypatch.setattr(ranks.Ranks, "draw", lambda self, indices, entropy: [0, -1, -1])


@pytest.mark.parametrize("fault", [faster, uneven, unlike])
def test_a_quantile_is_tried(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Query("quantile", Lattice(low=0, high=1), epsilon=8.0, q=0.5, level=0.5)
    assert audits.exact(recipe, n=100).holds
    fault(monkeypatch)
    assert recipe.loss(100) <= 8.0
    assert not audits.exact(recipe, n=100).holds


def test_a_synthetic_data_set_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = KolmogorovSmirnov(UNIT, epsilon=1.0)
    found = audits.exact(recipe)
    assert found.holds
    assert found.evidence["records"] == [1, 2, 3, 4, 1000]
    assert "some of 1000 records" in found.unseen
    honest = kolmogorov_smirnov.layers
    monkeypatch.setattr(
        kolmogorov_smirnov,
        "layers",
        lambda sequences, parameter, tell: honest(sequences, parameter**2 >> 62, tell),
    )
    assert recipe.loss(10) <= 1.0
    wrong = audits.exact(recipe)
    assert not wrong.holds
    assert 1.5 < wrong.certified < 2.0


@pytest.mark.parametrize("n", [4, 50])
def test_a_synthetic_data_set_is_nothing_else(n: int) -> None:
    class Raw(KolmogorovSmirnov):
        """Five records as they are, at the end."""

        def prepare(self, indices: Any, tell: Any) -> Any:
            made = super().prepare(indices, tell)
            # A frozen object that has a dictionary all the same.
            made.__dict__["raw"] = indices
            return made

        def draw(self, prepared: Any, entropy: Any) -> list[int]:
            return [*super().draw(prepared, entropy)[:-5], *prepared.raw[:5].tolist()]

    recipe = Raw(UNIT, epsilon=1.0)
    assert recipe.loss(n) <= 1.0
    assert not audits.exact(recipe, n=n).holds


def stretched(kind: Any) -> Any:
    class Stretched(kind):  # type: ignore[misc]
        """Bounds that are those of the data."""

        def index(self, values: Any) -> Any:
            numbers = np.asarray(values, dtype=float)
            return super().index((numbers - numbers.min()) / (np.ptp(numbers) or 1))

    return Stretched


@pytest.mark.parametrize(
    "recipe",
    [
        stretched(KolmogorovSmirnov)(UNIT, epsilon=1.0),
        stretched(Query)("quantile", UNIT, epsilon=1.0, q=0.5),
        stretched(Query)("mean", UNIT, epsilon=1.0),
    ],
    ids=["synthetic", "quantile", "mean"],
)
def test_bounds_of_the_data_are_convicted(recipe: Recipe) -> None:
    assert recipe.loss(50) <= 1.0
    assert not audits.exact(recipe, n=50).holds


def test_a_quantile_of_everybody_twice_is_convicted() -> None:
    class Twice(Query):
        def prepare(self, indices: Any, tell: Any) -> Any:
            return np.sort(np.repeat(indices, 2))

    found = audits.exact(Twice("quantile", UNIT, epsilon=1.0, q=0.5), n=1000)
    assert not found.holds
    assert found.certified > 1.3


@pytest.mark.parametrize("cells", [16, 1024])
def test_a_quantile_crosses_all_its_ranks(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Query("quantile", replace(UNIT, size=cells), epsilon=1.0, q=0.5)
    assert audits.exact(recipe, n=1000).holds
    faster(monkeypatch)
    assert recipe.loss(1000) <= 1.0
    wrong = audits.exact(recipe, n=1000)
    assert not wrong.holds
    assert wrong.certified > 1.7


CHOICES: dict[str, tuple[type, list[Any]]] = {
    "histogram": (CountScore, [Histogram(BOTH, epsilon=0.5, cells=cells) for cells in (2, 4)]),
    "series": (PairScore, [Series(UNIT, epsilon=0.5, terms=terms) for terms in (2, 7)]),
    "bernstein": (PairScore, [Bernstein(UNIT, epsilon=0.5, degree=k) for k in (2, 9)]),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_tried(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, candidates = CHOICES[name]
    recipe = Choice(candidates, epsilon=2.5)
    assert audits.exact(recipe, n=10).holds
    honest = kind.apart  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "apart", lambda self, other: honest(self, other) / 4)
    assert recipe.loss(10) <= 2.5
    wrong = audits.exact(recipe, n=10)
    assert not wrong.holds
    assert wrong.certified > 2.5


SHORT: dict[str, tuple[type, Any, list[Any]]] = {
    "histogram": (
        CountScore, Fraction(1, 2), [Histogram(UNIT, epsilon=0.5, cells=cells) for cells in (4, 16)]
    ),
    "series": (
        PairScore, Fraction(9, 10), [Series(UNIT, epsilon=0.5, terms=terms) for terms in (2, 9)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", SHORT)
def test_a_choice_is_tried_at_neighbouring_cells(
    name: str, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, part, candidates = SHORT[name]
    recipe = Choice(candidates[::-1] if backwards else candidates, epsilon=4.5)
    assert audits.exact(recipe, n=50).holds
    honest = kind.step.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "step", property(lambda score: int(honest(score) * part)))
    assert recipe.loss(50) <= 4.5
    wrong = audits.exact(recipe, n=50)
    assert not wrong.holds
    assert wrong.certified > 4.8


def test_cells_next_to_each_other_are_among_the_spots() -> None:
    for several, most in (((4, 16), 16), ((8, 64), 16)):
        recipe = Choice([Histogram(UNIT, epsilon=1.0, cells=c) for c in several], epsilon=2.0)
        found = np.sort((near_spots(recipe, 50)[:, 0] * several[-1]).astype(int))
        assert len(found) == most
        assert found[[0, 1, -1]].tolist() == [0, 1, several[-1] - 1]
    assert len(near_spots(recipe, 2**20)) == 4
    three = dict.fromkeys("abc", UNIT)
    recipe = Choice([Histogram(three, epsilon=1.0, cells=c) for c in (2, 8)], epsilon=2.0)
    assert near_spots(recipe, 50).shape == (16, 3)


def test_a_choice_that_releases_something_else_is_convicted() -> None:
    class Told(Choice):
        def draw(self, prepared: Any, entropy: Any) -> list[int]:
            chosen, *rest = super().draw(prepared, entropy)
            return [chosen, *(number + 1 for number in rest)]

    assert not audits.exact(Told(CHOICES["series"][1], epsilon=2.5), n=10).holds


def test_a_holdout_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = small_holdout([0.0] * 20)
    found = audits.exact(subject)
    assert found.holds
    assert found.claimed == 1.0
    assert 0.999 < found.certified <= 1.0
    assert found.evidence["changes"] == [holdout.UNIT]
    assert "proved" in found.words()
    honest = holdout.noises

    def short(at: int) -> Any:
        def several(epsilon: Fraction, unit: int = holdout.UNIT) -> holdout.Noises:
            made = list(honest(epsilon, unit))
            made[at] = DiscreteLaplace(made[at].epsilon, made[at].sensitivity // 2)
            return holdout.Noises(*made)

        return several

    for at in range(3):
        monkeypatch.setattr(holdout, "noises", short(at))
        wrong = audits.exact(small_holdout([0.0] * 20))
        assert not wrong.holds
        assert wrong.certified > 1.2
    monkeypatch.setattr(holdout, "noises", honest)
    # A record that is not cut to 0 .. 1 changes more than is paid for.
    monkeypatch.setattr(holdout.np, "clip", lambda numbers, low, high: np.minimum(numbers, 2.0))
    assert not audits.exact(subject).holds


def test_a_holdout_that_draws_less_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = small_holdout([0.0] * 20)
    honest = Holdout._draw
    monkeypatch.setattr(Holdout, "_draw", lambda self, noise: honest(self, noise) // 2)
    assert not audits.exact(subject).holds


@pytest.mark.parametrize("kind", [mutants.Forgetful, mutants.OneNoise, mutants.FiveShort])
def test_what_is_drawn_is_what_is_stated(kind: Any) -> None:
    assert not audits.exact(kind(mutants.LATTICE, epsilon=1.0, cells=4), n=20).holds


def test_a_variance_draws_the_noise_on_its_fourth_moment() -> None:
    class Bare(Query):
        """No noise on the number that is there for the interval."""

        def draw(self, prepared: Any, entropy: Any) -> list[int]:
            drawn = super().draw(prepared, entropy)
            return [drawn[0], *(round(x, -6) for x in drawn[1:])]

    recipe = Bare("variance", UNIT, epsilon=1.0)
    assert not audits.exact(recipe, n=3).holds
    assert not audits.grid(recipe, n=2**10).holds


def test_more_noises_than_sums_are_no_way_out() -> None:
    class Spare(Histogram):
        def noises(self, n: int) -> tuple[DiscreteLaplace, ...]:
            return (self.noise, self.noise)

    recipe = Spare(UNIT, epsilon=1.0, cells=4)
    prepared = recipe.prepare(recipe.index([0.5, 0.5]), lambda _: None)
    assert not trials.drawn_as_stated(recipe, prepared)


def test_parts_that_add_up_to_more_are_convicted() -> None:
    class Twice(Query):
        def _parts(self, n: int) -> tuple[Fraction, Fraction]:
            return Fraction(1), Fraction(1, 2)

    recipe = Twice("mean", UNIT, epsilon=1.0)
    assert recipe.loss(10) > 1.0
    assert not audits.exact(recipe, n=10).holds


def test_a_kind_that_is_not_known_is_not_tried() -> None:
    class Other(Recipe):
        name = "other"
        epsilon = 1.0

        def loss(self, n: int) -> float:
            return 0.5

        def lattices(self, n: int) -> dict[str, Lattice]:
            return {}

        def parts(self, prepared: Any = None) -> tuple[Part, ...]:
            return ()

        def index(self, values: Any) -> Any:
            return np.asarray(values)

        def draw(self, prepared: Any, entropy: Any) -> list[int]:
            return [0]

        def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
            return {"facts": {}}

    found = audits.exact(Other())
    assert found.holds
    assert found.certified == 0.5
    assert found.evidence["data_sets"] == 0
    assert "takes the loss that the release states" in found.unseen


@pytest.mark.parametrize("n", [1, 2, 4, 5, 2000])
def test_releases_of_any_size_are_tried(n: int) -> None:
    found = audits.exact(Query("mean", UNIT, epsilon=0.3), n=n)
    assert found.holds
    assert found.evidence["records"] == sorted({1, 2, 3, 4, n})
    assert str(n) in found.unseen


def test_sizes_without_a_release_are_left_out() -> None:
    # Of many records the variance is taken on coarser cells, and its noise is no larger.
    recipe = Query("variance", UNIT, epsilon=6e-4, spread=0)
    with pytest.raises(InvalidInput):
        recipe.noises(4)
    found = audits.exact(recipe, n=2000)
    assert found.holds
    assert found.evidence["records"] == [1, 2, 3, 2000]


def test_spots_are_cells_and_the_ends_are_among_them() -> None:
    assert spots(Query("count", epsilon=1.0), 5, 9).tolist() == [[0.0], [1.0]]
    (low, high) = spots(Series(UNIT, epsilon=1.0), 5, 2)[:, 0]
    assert UNIT.index([low, high]).tolist() == [0, 15]
    assert len(spots(Series(UNIT, epsilon=1.0), 5, 99)) == 16
    assert len(spots(Histogram(BOTH, epsilon=1.0, cells=3), 5, 99)) == 9
    # A release of many numbers is tried at fewer of them.
    cube = Histogram({**BOTH, "c": UNIT}, epsilon=1.0, cells=3)
    assert len(few_spots(cube, 2)) == 4
    assert len(few_spots(cube, 4, 2**20)) == 2
    families = list(all_families(2, 2))
    assert len(families) == 4
    assert all(abs(one - other).sum() == 1 for one, other in families)


def test_changes_are_counted_as_the_noise_counts_them() -> None:
    totals = ([0, 0], [3, -4], [1, 1])
    for form in (list, np.array):
        several = tuple(form(each) for each in totals)
        assert largest_change(DiscreteLaplace(Fraction(1), 1), several) == 7
        assert largest_change(DiscreteGaussian(10), several) == 29
    huge = ([2**70], [-(2**70)])
    assert largest_change(DiscreteLaplace(Fraction(1), 1), huge) == 2**71


def test_trials_keep_the_worse() -> None:
    one, other = Trial(0.5, 0.1, True, (1, 2), 3, (4,)), Trial(0.7, 0.0, False, (2, 3), 5)
    assert one + other == Trial(0.7, 0.1, False, (1, 2, 3), 8, (4,))


# The loss that is checked before a ledger is charged.


class Charged(AssertionError):
    pass


class Nobody:
    """A ledger that must not be reached."""

    def charge(self, *given: Any, **more: Any) -> Any:
        raise Charged


LOSING: dict[str, Recipe] = {
    "count": Query("count", epsilon=1.0),
    **QUERIES,
    "quantile": Query("quantile", UNIT, epsilon=1.0, q=0.5, level=0.5),
    "histogram": Histogram(UNIT, epsilon=1.0, cells=16),
    "series": Series(UNIT, epsilon=1.0),
    "bernstein": Bernstein(UNIT, epsilon=1.0),
    "synthetic": KolmogorovSmirnov(UNIT, epsilon=1.0),
    "choice": Choice(CHOICES["series"][1], epsilon=0.6),
}


@pytest.mark.parametrize("name", LOSING)
def test_what_costs_more_than_epsilon_is_not_charged(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without what the recipe has worked out before.
    recipe, values = replace(LOSING[name]), [0, 1] * 200  # type: ignore[type-var]
    with pytest.raises(Charged):
        recipe.release(values, ledger=Nobody(), key="a")
    # A public parameter that is a millionth too small.
    monkeypatch.setattr(
        DiscreteLaplace,
        "parameter",
        property(lambda noise: exp_ceiling(-noise.epsilon / noise.sensitivity, ONE) - 2**42),
    )
    monkeypatch.setattr(ranks, "exp_ceiling", lambda x, scale: exp_ceiling(x, scale) - 2**42)
    monkeypatch.setattr(
        KolmogorovSmirnov,
        "parameter",
        property(lambda recipe: exp_ceiling(Fraction(-1, 2), ONE) - 2**42),
    )
    monkeypatch.setattr(ranks, "rank_weights", ranks.rank_weights.__wrapped__)
    for module in (query, histogram, series):
        monkeypatch.setattr(module, "laplace", DiscreteLaplace)
    recipe = replace(recipe)
    assert recipe.loss(400) > recipe.epsilon
    with pytest.raises(InvalidInput, match="got a larger loss"):
        recipe.release(values, ledger=Nobody(), key="a")


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1.0, 1.1, 2.3, 1 / 3, math.pi, 0.01, 20.0])
def test_rounding_refuses_nothing(epsilon: float) -> None:
    recipes = [
        Query("count", epsilon=epsilon),
        *(Query(what, UNIT, epsilon=epsilon, spread=s) for what in QUERIES for s in (0.25, 0.1)),
        Query("quantile", UNIT, epsilon=epsilon, q=0.5),
        Histogram(UNIT, epsilon=epsilon),
        Series(UNIT, epsilon=epsilon),
        Bernstein(UNIT, epsilon=epsilon),
        KolmogorovSmirnov(UNIT, epsilon=epsilon),
        Choice([Histogram(UNIT, epsilon=epsilon, cells=c) for c in (2, 5)], epsilon=epsilon * 1.37),
        Choice([Series(UNIT, epsilon=epsilon, terms=c) for c in (2, 5)], epsilon=epsilon + 0.2),
    ]
    for recipe in recipes:
        for n in (2, 100, 12_345):
            assert 0 < recipe.loss(n) <= recipe.epsilon
            if recipe.name != "query":
                assert recipe.loss(n) > 0.99 * recipe.epsilon
    assert 0.999 * epsilon < holdout.noises(Fraction(repr(epsilon))).loss <= epsilon


def test_a_holdout_that_costs_more_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = holdout.noises
    monkeypatch.setattr(holdout, "noises", lambda epsilon: honest(epsilon * Fraction(1001, 1000)))
    with pytest.raises(InvalidInput, match="got a larger loss"):
        Holdout([0.0], [0.0], epsilon=1.0, overfits=1)


# Pairs that the sampled check takes by default.


def test_default_pairs_are_neighbours_from_end_to_end() -> None:
    assert [[list(data) for data in pair] for pair in pairs_of(Query("count", epsilon=1.0))] == [
        [[0, 0, 0, 0], [1, 0, 0, 0]], [[0, 0, 1, 1], [1, 0, 1, 1]],
    ]  # fmt: skip
    several = pairs_of(Query("mean", UNIT, epsilon=1.0))
    assert len(several) == 3
    for one, other in several:
        changed = np.flatnonzero(np.asarray(one) != np.asarray(other))
        assert changed.tolist() == [0]
        assert len(one) == 4
    grid = Query("mean", UNIT, epsilon=1.0).grid
    assert grid.index([several[0][0][0], several[0][1][0]]).tolist() == [0, 2**20 - 1]
    first, second = pairs_of(Histogram(BOTH, epsilon=1.0))[0]
    assert set(first) == {"a", "b"}
    assert all((first[name] != second[name]).sum() == 1 for name in BOTH)


@pytest.mark.parametrize(
    "recipe",
    [*LOSING.values(), Histogram(BOTH, epsilon=1.0, cells=2),
     GaussianProcess(Lattice(low=0, high=1, size=4), epsilon=1.0, delta=1e-6, bandwidth=0.9)],
    ids=lambda recipe: recipe.name,
)  # fmt: skip
def test_every_release_can_be_attacked_without_being_told_how(recipe: Recipe) -> None:
    found = audits.sampled(recipe, n=100, seed=1)
    assert found.holds
    assert found.evidence["n"] == 100
    assert found.evidence["pairs"] == len(pairs_of(recipe))


def test_an_attack_finds_half_the_noise_on_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Query("sum", UNIT, epsilon=1.0, spread=0)
    honest = query.laplace
    monkeypatch.setattr(query, "laplace", lambda epsilon, most: honest(epsilon, -(-most // 2)))
    found = audits.sampled(recipe, n=1000, seed=1)
    assert not found.holds
    assert found.lower_bound > 1.05


def test_releases_are_run_less_often_than_mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    monkeypatch.setattr(audits.attacks, "attacked", lambda subject, *_, n, **__: runs.append(n))
    audits.sampled(mutants.RIGHT)
    audits.sampled(QUERIES["mean"])
    audits.sampled(QUERIES["mean"], n=7)
    assert runs == [100_000, 4_000, 7]
