"""The planner: exact where it can be, falling in n and epsilon, and the inverse of itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from confide import Laplace, Lattice, SquareWave, TwoSidedGamma
from confide.errors import BadSetting, InvalidInput
from confide.estimators import Adaptive, calibration
from confide.planning import metrics as planned
from confide.planning.answers import Answer
from confide.planning.metrics import Metric, Truth, metrics
from confide.planning.planner import Plan, plan
from confide.planning.populations import NAMES, Population, guess
from confide.planning.scenario import ErrorCurve, Unreachable, best_bounds, crossing
from confide.planning.simulation import (
    ResponseCurve,
    density_draws,
    exact_mean,
    partition_draw,
    regression_draw,
    risks,
)
from confide.summaries import Counts

UNIT = {"low": 0, "high": 1, "size": 64}


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(n=4000, epsilon=1.0, population="beta", response="wave", surveys=16, **UNIT)


@pytest.mark.parametrize("name", NAMES)
def test_named_populations_fill_their_bounds(name):
    population = Population.named(name, low=-10, high=30)
    assert population.points.min() >= -10
    assert population.points.max() <= 30
    assert population.weights.sum() == pytest.approx(1)
    assert population.outside(low=-10, high=30) == 0
    lattice = Lattice(low=-10, high=30, size=40)
    below = [population.weights[population.points < edge].sum() for edge in lattice.edges[1:-1]]
    assert population.masses(lattice).cumsum()[:-1] == pytest.approx(below)


def test_populations_agree_however_they_are_told():
    law = stats.beta(2, 5, scale=10)
    values = law.rvs(20_000, random_state=np.random.default_rng(1))
    told = [guess(what, low=0, high=10) for what in (law, law.pdf, values)]
    lattice = Lattice(low=0, high=10, size=20)
    truth = np.diff(law.cdf(lattice.edges))
    for population, tolerance in zip(told, (1e-4, 1e-4, 0.012), strict=True):
        assert population.masses(lattice) == pytest.approx(truth, abs=tolerance)
        assert population.mean == pytest.approx(law.mean(), abs=10 * tolerance)
        assert population.quantile(0.3) == pytest.approx(law.ppf(0.3), abs=10 * tolerance)


def test_pilots_put_nobody_into_gaps():
    generator = np.random.default_rng(3)
    groups = [
        generator.normal(middle, 1, size) for middle, size in ((20, 300), (50, 90), (80, 300))
    ]
    population = Population.of_values(np.concatenate(groups))
    empty = population.outside(low=24, high=46) + population.outside(low=54, high=76) - 1
    assert population.weights.sum() == pytest.approx(1)
    assert 1 - empty < 0.003
    # Each group keeps its people, and is not much wider than it was.
    for middle, size in ((20, 300), (50, 90), (80, 300)):
        own = np.abs(population.points - middle) < 10
        share = population.weights[own]
        assert share.sum() == pytest.approx(size / 690)
        spread = np.sqrt(share @ (population.points[own] - middle) ** 2 / share.sum())
        assert 0.9 < spread < 1.25


def test_pilot_values_that_repeat_stay_and_others_spread():
    values = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 4.0])
    population = Population.of_values(values)
    assert population.weights[population.points == 0].sum() == pytest.approx(0.5)
    # The value 2 stands for 1 .. 3 and the value 1 for 0 .. 2.
    inside = (population.points > 1) & (population.points < 3)
    assert population.weights[inside].sum() == pytest.approx(1 / 6 + 1 / 12)
    assert population.mean == pytest.approx(values.mean())
    assert (population.points.min(), population.points.max()) == (0, 4)


def test_clipping_moves_the_mean_and_the_mass():
    population = Population("four", np.array([-1.0, 0.0, 1.0, 4.0]), np.ones(4))
    shift, distance = population.clipped(low=0, high=2)
    assert shift == pytest.approx(abs((1 - 2) / 4))
    assert distance == pytest.approx((1 + 2) / 4)
    assert population.outside(low=0, high=2) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", [SquareWave, Laplace])
def test_mean_is_exact(kind):
    lattice = Lattice(low=0, high=1, size=16)
    truth = Truth(Population.named("beta", low=0, high=1), lattice, (0.5,))
    mechanism = kind(lattice, epsilon=1.0)
    risk = exact_mean(truth, mechanism, 400, 0.95)
    assert risk.standard_error == 0
    # The law, entry by entry.
    scores, variance = mechanism.unbiased(1), 0.0
    center = truth.masses @ lattice.centers
    for cell, mass in enumerate(truth.masses):
        for report, chance in enumerate(mechanism.law.matrix()[:, cell]):
            variance += mass * chance * (scores[report] - center) ** 2
    assert risk.error == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(variance / 400))
    # And surveys held: 600 of 400 respondents.
    values = np.random.default_rng(1).beta(2, 5, (600, 400))
    means = [
        Counts.of(mechanism.simulate(row, seed=k)).counts @ scores / 400
        for k, row in enumerate(values)
    ]
    held = stats.norm.ppf(0.975) * np.std(means)
    assert held == pytest.approx(risk.error, rel=4 / math.sqrt(2 * 600))


def test_distances_against_their_definitions(made):
    truth = made.scenario.truth

    class Uniform:
        def cdf(self, x):
            return np.clip(x, 0, 1)

        def quantile(self, q):
            return np.asarray(q)

    errors = {
        name: metric.error(truth, Uniform()) for name, metric in metrics().items() if metric.error
    }
    x = np.linspace(0, 1, 100_001)
    gaps = np.abs(stats.beta(2, 5).cdf(x) - x)
    assert errors["w1"] == pytest.approx(gaps.mean(), rel=2e-3)
    assert errors["ks"] == pytest.approx(gaps.max(), rel=2e-3)
    assert errors["median"] == pytest.approx(0.5 - stats.beta(2, 5).median(), abs=1e-3)


def test_w1_holds_what_is_clipped():
    population = Population.of_quantiles(stats.expon.ppf)
    truth = Truth(population, Lattice(low=0, high=2, size=64), (0.5,))
    risk = exact_mean(truth, SquareWave(truth.lattice, epsilon=1.0), 10**9, 0.95)
    # E (X - 2)+ = e**-2 is what both lose however many answer.
    assert risk.error == pytest.approx(math.exp(-2), rel=1e-2)
    asked = metrics(quantiles=truth.quantiles)
    draw = density_draws(
        truth, SquareWave(truth.lattice, epsilon=4.0), 10**7, tuple(asked.values())
    )
    found = risks(draw, metrics=asked, surveys=2, precision=1, level=0.95)
    assert found["adaptive", "w1"].error == pytest.approx(math.exp(-2), rel=3e-2)


def test_a_metric_is_one_entry(monkeypatch):
    def error(truth, density):
        return float(density.std()) - truth.population.deviation

    spread = Metric("std", "the error of the standard deviation", "density", error, distance=False)
    monkeypatch.setattr(planned, "DENSITY", (*planned.DENSITY, spread))
    own = plan(n=2000, epsilon=2.0, **UNIT, population="beta", surveys=8)
    assert "std" in own.metrics
    assert own.best("std").error > 0
    assert own.n_for(own.best("std").error / 3, metric="std").n > 2000


def test_rows_have_every_mechanism_and_metric(made):
    metrics = ("w1", "ks", "q10", "median", "q90", "mean", "mse")
    assert made.metrics == metrics
    pairs = [(row.metric, row.mechanism) for row in made.rows]
    own = [(metric, name) for metric in metrics for name in ("square-wave", "laplace")]
    assert sorted(pairs) == sorted([*own, ("mse", "partition")])
    assert all(row.error > 0 for row in made.rows)
    assert all((row.standard_error == 0) == (row.metric == "mean") for row in made.rows)
    assert json.loads(json.dumps(made.to_dict()))["rows"][0]["mechanism"] == "square-wave"
    assert made.best().mechanism == "square-wave"


def test_plans_can_be_repeated(made):
    one, two = (plan(n=500, epsilon=1.0, response="step", surveys=3, **UNIT) for _ in range(2))
    assert one.rows == two.rows
    assert one.rows != made.rows


@pytest.mark.parametrize("metric", ["w1", "ks", "median", "mean", "mse"])
def test_errors_fall_with_n_and_with_epsilon(made, metric):
    by_n = made.curve("n", metric=metric, at=[400, 4000, 40_000])
    by_epsilon = made.curve("epsilon", metric=metric, at=[0.3, 1.0, 3.0])
    assert (np.diff(by_n.error) < 0).all()
    assert (np.diff(by_epsilon.error) < 0).all()
    assert by_n.at(4000) == pytest.approx(made.best(metric).error)


def test_price_of_privacy(made):
    price = made.price
    assert price.non_private == pytest.approx(1 / math.sqrt(4000))
    assert price.privacy == pytest.approx(1 / 4000)
    assert price.sampling == pytest.approx(stats.beta(2, 5).std() / math.sqrt(4000), rel=1e-3)
    row = made.best("mean")
    assert price.reports == pytest.approx(row.error / stats.norm.ppf(0.975))
    assert price.reports > price.sampling
    # d/n + d^3/(n epsilon)^2 for d = 1, as standard errors, for values in [-10, 30].
    wide = plan(n=500, epsilon=0.5, surveys=2, low=-10, high=30, size=16)
    assert wide.price.non_private == pytest.approx(40 / math.sqrt(500))
    assert wide.price.privacy == pytest.approx(40 / (500 * 0.5))
    words = " ".join(wide.words("mean"))
    assert f"that of their reports {wide.price.reports:.4g}; a curator" in words
    assert "would add about 0.16 (range / (n epsilon))" in words


@pytest.mark.parametrize("metric", ["w1", "median", "mean", "mse"])
def test_a_plan_answers_itself(made, metric):
    row = made.best(metric)
    assert made.n_for(row.error, metric=metric).n == made.n
    assert made.epsilon_for(row.error, metric=metric).epsilon == pytest.approx(made.epsilon)


def test_inverse_of_the_mean_is_exact(made):
    answer = made.n_for(0.01, metric="mean")
    scenario = made.scenario
    reached = scenario.best(answer.mechanism, "mean", answer.n, 1.0).error
    missed = scenario.best(answer.mechanism, "mean", answer.n - 2, 1.0).error
    assert reached <= 0.01 * (1 + 1e-9) < missed * (1 + 1e-9)


def test_answers_are_rounded_up_to_two_digits():
    # Rounded to the nearest, they would fall short of their own target.
    asked = (7, 42, 101, 1358, 8400, 123_456_789)
    found = [Answer("w1", 0.1, "laplace", "likelihood", n, 1.0).about for n in asked]
    assert found == [7, 42, 110, 1400, 8400, 130_000_000]


def test_both_ways_to_a_target(made):
    target = made.best("mean").error / 2
    found = made.reach(target, metric="mean")
    assert found.by_n == made.n_for(target, metric="mean")
    assert found.by_epsilon == made.epsilon_for(target, metric="mean")
    assert found.limits == ()
    assert len(found.words()) == 2
    # An epsilon cannot make up for too few respondents, and then more of these are needed.
    far = made.reach(made.best("mean").error / 40, metric="mean")
    assert far.by_epsilon is None
    assert far.to_dict()["by_epsilon"] is None
    assert far.to_dict()["by_n"]["n"] == far.by_n.n
    assert "With 4,000 respondents, even at" in far.words()[-1]
    with pytest.raises(InvalidInput, match="even with 1,000,000,000 respondents"):
        made.reach(1e-12, metric="mean")


def test_a_plan_in_words(made):
    words = " ".join(made.words("mean"))
    assert f"Least mean: {made.best('mean').error:.4g}" in words
    assert "w1: how far" in words
    assert "Barber and Duchi 2014" in words
    again = Plan.from_dict(made.to_dict())
    assert again.words("mean") == made.words("mean")


def test_settings_that_do_not_go_together():
    asked = UNIT | {"n": 100, "epsilon": 1.0, "surveys": 2}
    with pytest.raises(BadSetting, match="mechanisms=two-sided-gamma to go with shape"):
        plan(**asked, shape=0.9)
    with pytest.raises(BadSetting, match="response to go with the metric mse"):
        plan(**asked, metric="mse")
    with pytest.raises(InvalidInput, match=r"one of .* for 'metric', got 'w2'"):
        plan(**asked, metric="w2")
    assert planned.told_apart("median") == "w1"
    assert planned.told_apart("mean") == "mean"


def test_inverse_reaches_its_target(made):
    target = made.best("w1").error / 2
    for answer in (made.n_for(target), made.epsilon_for(target)):
        asked = {"n": answer.n, "epsilon": answer.epsilon, "mechanisms": [answer.mechanism]}
        row = plan(**asked, population="beta", surveys=30, **UNIT).best("w1")
        assert row.error == pytest.approx(target, abs=0.15 * target + 2 * row.standard_error)


def test_crossing_of_a_power_law():
    for power in (-0.3, -0.5, -1.0):
        found = crossing(
            lambda x, rough, power=power: 5 * x**power, start=100, least=1, most=1e12, target=0.5
        )
        assert found == pytest.approx(10 ** (-1 / power), rel=0.05)
    with pytest.raises(Unreachable) as error:
        crossing(lambda x, rough: 1 + 1 / x, start=10, least=1, most=1e6, target=0.9)
    assert error.value.least == pytest.approx(1, abs=1e-4)
    assert crossing(lambda x, rough: 1 / x, start=10, least=1, most=1e6, target=3) == 1


def test_error_curve_interpolates_and_does_not_rise():
    x, error = np.array([10.0, 100, 1000, 10_000]), np.array([1.0, 0.1, 0.2, 0.01])
    curve = ErrorCurve("laplace", "w1", "n", x, error, np.zeros(4))
    assert curve.at([10, 10**1.5, 100]) == pytest.approx([1, 10**-0.5, 0.1])
    assert curve.at(300) == pytest.approx(0.1)
    assert curve.at(100_000) == pytest.approx(0.001)


def test_bounds_weigh_clipping_against_noise():
    pay = stats.lognorm(s=0.6, scale=40_000)
    planned = plan(n=20_000, epsilon=1.0, low=0, high=300_000, population=pay, size=128, surveys=9)
    ranges = [(0, high) for high in (60_000, 150_000, 300_000, 1_200_000)]
    for metric in ("w1", "mean"):  # the rows of the mean are looked at below
        rows = planned.bounds(ranges, metric=metric)
        assert [row.clip for row in rows] == sorted((row.clip for row in rows), reverse=True)
        assert [row.noise for row in rows] == sorted(row.noise for row in rows)
        assert best_bounds(rows).high in (150_000, 300_000)
    above = np.array([x for _, x in ranges])
    # E (X - c)+ of a lognormal, in closed form.
    z = np.log(40_000 / above) / 0.6
    lost = 40_000 * math.exp(0.18) * stats.norm.cdf(z + 0.6) - above * stats.norm.cdf(z)
    assert [row.clip for row in rows] == pytest.approx(lost, rel=0.03, abs=1)
    own = [(row.low, row.high) for row in planned.bounds(metric="mean")]
    assert (0, 300_000) in own
    assert min(own)[1] < 300_000 < max(own)[1]


def test_gamma_spends_what_is_asked():
    lattice = Lattice(low=0, high=1, size=64)
    mechanism = TwoSidedGamma.costing(lattice, epsilon=1.5, shape=0.9)
    assert isinstance(mechanism, TwoSidedGamma)
    assert mechanism.spend.epsilon == pytest.approx(1.5, rel=1e-6)
    assert mechanism.spend.epsilon <= 1.5
    with pytest.raises(InvalidInput, match=r"Expected epsilon >= .* got epsilon=0.1"):
        TwoSidedGamma.costing(lattice, epsilon=0.1, shape=0.8)
    asked = plan(n=2000, epsilon=1.5, mechanisms=["two-sided-gamma"], surveys=4, **UNIT)
    assert {row.mechanism for row in asked.rows} == {"two-sided-gamma"}


def test_regression_surveys_have_the_right_responses():
    lattice = Lattice(low=0, high=1, size=64)
    truth = Truth(Population.named("normal", low=0, high=1), lattice, (0.5,))
    curve = ResponseCurve.of("line", low=0, high=1, deviation=0.1)
    draw = regression_draw(truth, SquareWave(lattice, epsilon=4.0), 10**6, curve)
    errors = draw(np.random.default_rng(1))
    assert errors["linear", "mse"] < 1e-4
    assert errors["adaptive", "mse"] < 1e-4
    private = partition_draw(truth, 4.0, 10**8, curve)(np.random.default_rng(1))
    # A line over k cells leaves 1/(12 k**2) at best; noise is small at this n.
    assert 1e-5 < min(private.values()) < 2e-3


def test_printed_intervals_are_wider_than_the_spread_of_estimates(monkeypatch):
    # Fewer simulated surveys behind each interval, in the plan and in the surveys held.
    monkeypatch.setattr(calibration, "DRAWS", 25)
    options = UNIT | {"population": "normal", "mechanisms": ["square-wave"], "quantiles": [0.5]}
    planned = plan(n=3000, epsilon=2.0, surveys=8, intervals=True, **options)
    assert planned.metrics == ("w1", "ks", "median", "median-interval", "mean")
    estimates, printed = planned.best("median"), planned.best("median-interval")
    assert estimates.error < printed.error < 4 * estimates.error
    # Surveys held, one interval printed by each.
    mechanism = SquareWave(Lattice(**UNIT), epsilon=2.0)
    halves = []
    for seed in range(8):
        values = np.random.default_rng([5, seed]).normal(0.5, 1 / 6, 3000)
        density = Adaptive().fit(Counts.of(mechanism.simulate(values, seed=seed)))
        low, high = density.interval("quantile", 0.5)
        halves.append((high - low) / 2)
    doubt = math.hypot(printed.standard_error, np.std(halves, ddof=1) / math.sqrt(8))
    assert np.mean(halves) == pytest.approx(printed.error, abs=3 * doubt)
    assert doubt < 0.2 * printed.error


def test_progress_is_told_up_to_the_end():
    shares: list[float] = []
    plan(n=100, epsilon=1.0, surveys=3, told=shares.append, **UNIT)
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"low": 1, "high": 0}, "Expected low < high, got low=1, high=0."),
        ({"n": 0}, "Expected a whole number n from 1 to 1,000,000,000, got n=0."),
        ({"n": 2.5}, "Expected a whole number n from 1 to 1,000,000,000, got n=2.5."),
        ({"epsilon": 0}, "Expected epsilon > 0, got epsilon=0."),
        ({"epsilon": float("nan")}, "Expected epsilon > 0, got epsilon=nan."),
        ({"population": "lognorml"}, "Did you mean 'lognormal'?"),
        ({"population": [1.0]}, "Expected two or more pilot values, got 1."),
        ({"population": [1.0, float("nan")]}, "Expected finite numbers in values"),
        ({"population": lambda x: -x}, "Expected a density that is finite"),
        ({"population": "beta", "reach": (0, 2)}, "to go with reach"),
        ({"size": 5000}, "Expected a whole number size from 2 to 4,096, got size=5000."),
        ({"mechanisms": ["laplce"]}, "Did you mean 'laplace'?"),
        ({"mechanisms": []}, "Expected at least one mechanism, got none."),
        ({"response": "wav"}, "Did you mean 'wave'?"),
        ({"deviation": 1.0}, "Expected a response to go with deviation, got none."),
        ({"quantiles": [0.0]}, "Expected 0 < quantile < 1, got quantile=0."),
        ({"level": 95}, "For 95 % write level=0.95."),
    ],
)
def test_bad_input(wrong, sentence):
    with pytest.raises(InvalidInput) as error:
        plan(**({"n": 100, "epsilon": 1.0, "surveys": 2} | UNIT | wrong))
    assert sentence in str(error.value)


def test_targets_out_of_reach(made):
    with pytest.raises(InvalidInput, match=r"even with 1,000,000,000 respondents, the least error"):
        made.n_for(1e-9, metric="mean")
    with pytest.raises(InvalidInput, match=r"even at epsilon=16, the least error of mean is 0\.00"):
        made.epsilon_for(1e-9, metric="mean")
    with pytest.raises(InvalidInput, match="Expected target > 0"):
        made.n_for(0)
    with pytest.raises(InvalidInput, match=r"Expected one of w1, .* for 'metric'"):
        made.n_for(1, metric="sharpe")
    clipped = plan(n=100, epsilon=1.0, population=stats.expon, surveys=2, **UNIT)
    with pytest.raises(InvalidInput, match=r"clipped to 0 \.\. 1, the least error of w1 is 0\.368"):
        clipped.n_for(0.3)


def test_display(made, tmp_path):
    pytest.importorskip("matplotlib")
    display = made.plot(metric="mean")
    display.ax_.figure.savefig(tmp_path / "plan.png")
    left, right = display.ax_.figure.axes
    assert left.get_xlabel() == "respondents"
    assert right.get_xlabel() == "epsilon"
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["square-wave", "laplace"]
    assert repr(display) == "<PlanDisplay of 4 curves>"
