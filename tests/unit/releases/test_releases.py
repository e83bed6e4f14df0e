import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from evidence.printed import PrintedBernstein

from confide import Lattice
from confide.accounting import Spend
from confide.errors import ConfideWarning, InvalidInput, Mismatch
from confide.exact.integer_noise import DiscreteLaplace
from confide.releases import Bernstein, Histogram, Query, Series, noise_intervals
from confide.releases.histogram import default_cells
from confide.releases.noise_intervals import reach, share_interval
from confide.releases.series import default_terms

UNIT = Lattice(low=0, high=1, size=64)
RANGE = Lattice(low=0, high=1)
NUMBERS = (
    Query("sum", UNIT, epsilon=1.0),
    Query("mean", UNIT, epsilon=1.0),
    Query("mean", UNIT, spread=0, epsilon=1.0),
    Query("variance", UNIT, epsilon=1.0),
    Query("quantile", UNIT, q=0.5, epsilon=1.0),
    Histogram(RANGE, epsilon=1.0),
    Series(UNIT, epsilon=1.0),
    Bernstein(UNIT, epsilon=1.0),
    PrintedBernstein(UNIT, epsilon=1.0),
)


class Book:
    """The ledger's promise in a few lines: charge first, keep the document, return it again."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[str, dict]] = {}
        self.charged: list[Spend] = []

    def charge(self, key, spec, spend, make, *, data=None, group=None):
        text = json.dumps(spec, sort_keys=True)
        if key in self.kept:
            if self.kept[key][0] != text:
                raise Mismatch("the same release", "another")
        else:
            self.charged.append(spend)
            self.kept[key] = (text, json.loads(json.dumps(make())))
        return self.kept[key][1]


@pytest.mark.parametrize("recipe", NUMBERS, ids=lambda r: f"{r.name} {getattr(r, 'what', '')}")
def test_every_release_gives_one_thing_and_its_cost(recipe):
    values = np.random.default_rng(1).random(500)
    release = recipe.release(values)
    assert (release.answer is None) != (release.curve is None)
    assert release.spend == Spend(recipe.epsilon)
    assert not release.simulated
    assert 0 < recipe.loss(500) <= recipe.epsilon
    again = recipe.simulate(values, seed=3)
    assert again.simulated
    assert again.to_dict() == recipe.simulate(values, seed=3).to_dict()
    assert again.noisy != recipe.simulate(values, seed=4).noisy or recipe.name == "query"
    if release.curve is not None:
        assert release.curve.masses.min() >= 0
        assert release.curve.masses.sum() == pytest.approx(1)
        assert release.curve.sample(10, seed=1).shape == (10,)
    else:
        assert release.answer["low"] <= release.answer["high"]


@pytest.mark.parametrize("recipe", NUMBERS, ids=lambda r: f"{r.name} {getattr(r, 'what', '')}")
def test_no_raw_value_in_the_document(recipe):
    values = np.random.default_rng(2).random(200) * 0.9 + 0.05
    text = json.dumps(recipe.release(values).to_dict())
    assert not any(repr(float(value))[:9] in text for value in values)


@pytest.mark.parametrize("recipe", NUMBERS, ids=lambda r: f"{r.name} {getattr(r, 'what', '')}")
@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.1, math.nan],
        [0.1, math.inf],
        np.ma.masked_array([0.1, 0.2], [0, 1]),
        ["0.1"],
        [[0.1, 0.2]],
        [True, False],
        None,
    ],
    ids=str,
)
def test_hostile_values_are_refused(recipe, values):
    with pytest.raises(InvalidInput):
        recipe.release(values)


@pytest.mark.parametrize("values", [[0, 2], [0.5], [], [math.nan], np.ma.masked_array([1], [1])])
def test_only_zeros_and_ones_are_counted(values):
    with pytest.raises(InvalidInput):
        Query("count", epsilon=1.0).release(values)


def test_a_count_takes_truth_values():
    answer = Query("count", epsilon=50.0).release(np.array([True, False, True])).answer
    assert answer["value"] == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Query("mean", epsilon=1.0),
        lambda: Query("quantile", epsilon=1.0, q=0.5),
        lambda: Histogram(None, epsilon=1.0),
        lambda: Histogram({"a": None}, epsilon=1.0),
        lambda: Series((0, 1), epsilon=1.0),
        lambda: Bernstein(None, epsilon=1.0),
    ],
)
def test_missing_bounds_are_refused_with_how_to_choose_them(make):
    with pytest.raises(InvalidInput, match="common knowledge"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Query("median", UNIT, epsilon=1.0),
        lambda: Query("quantile", UNIT, epsilon=1.0),
        lambda: Query("mean", UNIT, q=0.5, epsilon=1.0),
        lambda: Query("count", UNIT, epsilon=1.0),
        lambda: Query("quantile", UNIT, q=0.5, epsilon=1e-6),
        lambda: Query("mean", UNIT, epsilon=0),
        lambda: Query("mean", UNIT, epsilon=1000),
        lambda: Query("mean", UNIT, level=95, epsilon=1.0),
        lambda: Histogram(UNIT, epsilon=1.0, cells=1),
        lambda: Histogram(dict.fromkeys("abcd", UNIT), epsilon=1.0),
        lambda: Series(UNIT, epsilon=1.0, terms=64),
        lambda: Query("mean", UNIT, epsilon=1e-15).release([0.5]),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize("recipe", NUMBERS, ids=lambda r: f"{r.name} {getattr(r, 'what', '')}")
def test_a_retry_returns_the_stored_release(recipe):
    book, values = Book(), np.random.default_rng(3).random(300)
    first = recipe.release(values, ledger=book, key="pay")
    again = recipe.release(values, ledger=book, key="pay")
    assert again.to_dict() == first.to_dict()
    assert book.charged == [Spend(1.0)]
    with pytest.raises(Mismatch):
        recipe.release(values[:-1], ledger=book, key="pay")


def test_a_ledger_needs_a_key():
    with pytest.raises(InvalidInput, match="key"):
        Query("count", epsilon=1.0).release([0, 1], ledger=Book())


def test_nothing_is_drawn_when_the_ledger_refuses():
    class Empty:
        def charge(self, key, spec, spend, make, *, data=None, group=None):
            raise InvalidInput("budget", "none left")

    with pytest.raises(InvalidInput, match="none left"):
        Query("count", epsilon=1.0).release([0, 1], ledger=Empty(), key="a")


def test_what_cannot_be_drawn_is_not_charged():
    book = Book()
    with pytest.raises(InvalidInput):
        Query("mean", UNIT, epsilon=1e-15).release([0.5], ledger=book, key="a")
    with pytest.raises(InvalidInput):
        Query("mean", UNIT, epsilon=1.0).release([math.nan], ledger=book, key="a")
    assert book.charged == []


def test_a_foreign_document_is_refused():
    class Swapped:
        def charge(self, key, spec, spend, make, *, data=None, group=None):
            return {**make(), "spec": {}}

    with pytest.raises(Mismatch):
        Query("count", epsilon=1.0).release([0, 1], ledger=Swapped(), key="a")


def test_answers_are_right_when_there_is_hardly_any_noise():
    values = np.random.default_rng(4).gamma(2, 10, 4000)
    lattice = Lattice(low=0, high=150, size=4096)

    def ask(what, **more):
        return Query(what, lattice, epsilon=100.0, **more).release(values).answer["value"]

    assert ask("mean") == pytest.approx(values.mean(), rel=1e-3)
    assert ask("sum") == pytest.approx(values.sum(), rel=1e-3)
    assert ask("variance") == pytest.approx(values.var(), rel=1e-2)
    assert ask("quantile", q=0.9) == pytest.approx(np.quantile(values, 0.9), rel=1e-2)


def test_curves_are_right_when_there_is_hardly_any_noise():
    values = np.random.default_rng(5).beta(4, 4, 20_000)
    for recipe in (
        Histogram(UNIT, epsilon=50.0),
        Series(UNIT, epsilon=50.0),
        Bernstein(UNIT, epsilon=50.0, degree=100),
    ):
        curve = recipe.simulate(values, seed=1).curve
        places = np.linspace(0.1, 0.9, 9)
        truth = [np.mean(values <= x) for x in places]
        assert np.abs(curve.cdf(places) - truth).max() < 0.03, recipe.name


def test_histogram_of_several_columns_by_name():
    generator = np.random.default_rng(6)
    columns = {"a": generator.random(2000) / 2, "b": generator.random(2000)}
    recipe = Histogram({"a": UNIT, "b": UNIT}, epsilon=2.0)
    curve = recipe.simulate(columns, seed=1).curve
    assert curve.names == ("a", "b")
    assert curve.marginal("a").cdf(0.5) > 0.8
    same = recipe.simulate(np.stack([columns["a"], columns["b"]], axis=1), seed=1)
    assert np.array_equal(same.curve.masses, curve.masses)
    import pandas as pd

    frame = pd.DataFrame({"b": columns["b"], "a": columns["a"]})
    assert np.array_equal(recipe.simulate(frame, seed=1).curve.masses, curve.masses)
    with pytest.raises(InvalidInput):
        recipe.release({"a": [0.1], "b": [0.1, 0.2]})
    with pytest.raises(InvalidInput):
        recipe.release({"a": [0.1]})
    cube = Histogram(dict.fromkeys("abc", RANGE), epsilon=1.0)
    assert cube.release(generator.random((100, 3))).curve.masses.ndim == 3


def test_a_histogram_with_nothing_left_is_uniform():
    recipe = Histogram(Lattice(low=1, high=16, size=4, scale="log"), epsilon=1.0, cells=4)
    curve = recipe.finish((-1, 0, -3, 0), 10)["curve"]
    assert np.allclose(curve.pdf([1.5, 3.0, 10.0, 15.0]), 1 / 15)


def test_a_series_with_nothing_left_is_uniform():
    recipe = Bernstein(UNIT, epsilon=1.0, degree=3)
    assert np.allclose(recipe.finish((-1, -1, -1, -1), 10)["curve"].masses, 1 / 64)


def test_public_defaults_grow_at_the_minimax_rate():
    for columns in (1, 2, 3):
        few, many = (default_cells(n, 10.0, columns) for n in (10**4, 10**7))
        assert few < many
        assert math.log(many / few) / math.log(1000) == pytest.approx(1 / (2 + columns), abs=0.06)
    assert default_cells(100, 0.1, 1) < default_cells(100, 1.0, 1)
    assert default_terms(100, 1.0) < default_terms(10**4, 1.0) < default_terms(10**6, 1.0)


def test_reach_is_the_quantile_of_normal_plus_laplace():
    generator = np.random.default_rng(7)
    for sd, scale in ((1.0, 0.01), (1.0, 1.0), (0.05, 1.0), (1.0, 0.2)):
        draws = sd * generator.normal(size=400_000) + generator.laplace(0, scale, 400_000)
        assert reach(sd, scale, 0.025) == pytest.approx(np.quantile(draws, 0.975), rel=0.02)


def test_large_noise_on_a_count_moves_in_coarser_steps(monkeypatch):
    noise = DiscreteLaplace(1 / 100, 1)
    for count in (-200, 70, 400, 1100):
        low, high = share_interval(count, 1000, noise, 0.9)
        with monkeypatch.context() as patched:
            patched.setattr(noise_intervals, "FINE", 10)
            coarse = share_interval(count, 1000, noise, 0.9)
        assert low - 0.03 <= coarse[0] <= low
        assert high <= coarse[1] <= high + 0.03
    # Noise far beyond any memory: an interval all the same, and a quick one.
    answer = Query("count", epsilon=1e-12).release([0, 1]).answer
    assert 0 <= answer["low"] <= answer["high"] <= 2


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [(0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), ("1", 1), (True, 1), (1, 0), (1, 2.5), (1, -1)],
)
def test_noise_for_odd_parameters_is_refused(epsilon, sensitivity):
    with pytest.raises(InvalidInput):
        DiscreteLaplace(epsilon, sensitivity)


def test_noise_takes_plain_numbers():
    for epsilon in (0.5, np.float32(0.5), Fraction(1, 2)):
        assert DiscreteLaplace(epsilon, np.int64(3)) == DiscreteLaplace(Fraction(1, 2), 3)


def test_words_say_the_odds_and_the_power():
    release = Query("count", epsilon=0.5).release([0, 1, 1])
    assert "1.65" in release.words()
    assert "8.25 %" in release.words()
    assert "almost no protection" in Query("count", epsilon=5.0).release([0, 1]).words()
    assert "not private" in Query("count", epsilon=1.0).simulate([0, 1], seed=1).words()


def test_several_columns_need_names() -> None:
    """A list of lattices, or of columns, is told to be a dict."""
    axes = {"age": Lattice(low=0, high=100), "cost": Lattice(low=0, high=50_000)}
    for given in (list(axes.values()), tuple(axes.values())):
        with pytest.raises(InvalidInput, match="as a dict of lattices by name"):
            Histogram(given, epsilon=1.0)
    joint = Histogram(axes, epsilon=1.0)
    columns = [[30, 40, 50], [100, 200, 300]]
    for values in (columns, tuple(columns)):
        with pytest.raises(InvalidInput, match=r"Give a dict: {'age': \[...\], 'cost'") as told:
            joint.release(values)
        assert "bounds" not in str(told.value)
    rows = joint.simulate(list(zip(*columns, strict=True)), seed=1)
    named = joint.simulate(dict(zip(axes, columns, strict=True)), seed=1)
    assert rows.noisy == named.noisy


@pytest.mark.parametrize("what", ["mean", "sum", "quantile"])
def test_an_answer_at_a_bound_is_told(what: str) -> None:
    """Costs around 7,800 between bounds of 0 and 100 are all clipped to 100."""
    costs = np.random.default_rng(1).lognormal(9, 0.4, 2_000)
    share = 0.5 if what == "quantile" else None
    narrow = Query(what, Lattice(low=0, high=100), epsilon=1.0, q=share)
    with pytest.warns(ConfideWarning, match=f"The {what} lies at the bound high=100. If many"):
        narrow.release(costs)
    with pytest.warns(ConfideWarning, match="the bound low=0"):
        narrow.release(-costs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Query(what, Lattice(low=0, high=50_000), epsilon=1.0, q=share).release(costs)
        narrow.simulate(costs, seed=1)
        # The noise of a few records reaches the bounds by itself.
        for _ in range(20):
            narrow.release(costs[:5])
