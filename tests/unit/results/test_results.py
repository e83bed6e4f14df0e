"""Results of whole surveys: what they say, when they say nothing, and their JSON."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from confide.errors import Implausible, InvalidInput, Mismatch
from confide.estimators import Adaptive, CategoryShares, Likelihood
from confide.lattice import Lattice
from confide.mechanisms import Laplace, Mechanism, RandomizedResponse, SquareWave
from confide.questions import Questionnaire
from confide.results import Results, estimate, needed
from confide.summaries import Counts, Groups, Summaries
from confide.survey import Survey

SURVEY = Questionnaire.from_dict(
    {
        "groups": ["region", "sex"],
        "questions": {
            "pay": {"low": 0, "high": 100, "size": 32, "epsilon": 2.0},
            "smokes": {"categories": ["no", "yes"], "epsilon": 2.0},
        },
    }
)
N = 400


def counts(name: str, values: Any, seed: int) -> Counts:
    return Counts.of(SURVEY.mechanisms[name].simulate(values, seed=seed))


def summaries(n: int = N) -> Summaries:
    """Two regions of two sexes; pay of 20 to 40 in the north, 50 to 90 in the south."""
    draw = np.random.default_rng(1)
    pay, smokes = {}, {}
    for seed, key in enumerate([("n", "f"), ("n", "m"), ("s", "f"), ("s", "m")]):
        low, high = (20, 40) if key[0] == "n" else (50, 90)
        pay[key] = counts("pay", draw.uniform(low, high, n), seed)
        answers = np.where(draw.random(n) < 0.3, "yes", "no").tolist()
        smokes[key] = counts("smokes", answers, seed)
    by = SURVEY.groups
    return Summaries({"pay": Groups(by, pay), "smokes": Groups(by, smokes)})


@pytest.fixture(scope="module")
def results() -> Results:
    return estimate(SURVEY, summaries())


def test_every_question_has_what_its_curve_says(results: Results) -> None:
    given = summaries()
    density = Adaptive().fit(given["pay"])
    pay = results["pay"]
    assert (pay.kind, pay.n, pay.reason, pay.plausible) == ("number", 4 * N, "", True)
    assert pay.mean() == density.mean()
    assert pay.median() == density.median()
    for q, name in ((0.25, "lower quartile"), (0.5, "median"), (0.75, "upper quartile")):
        one = pay[name]
        assert one.estimate == density.quantile(q)
        assert (one.low, one.high) == pytest.approx(density.interval("quantile", q))
    assert (pay["mean"].low, pay["mean"].high) == density.interval("mean")
    band = density.band()
    assert pay.band is not None
    assert pay.band.level == band.level
    for key in ("x", "low", "high"):
        assert getattr(pay.band, key) == pytest.approx(getattr(band, key))
    assert all(one.band is None for own in pay.groups.values() for one in own.values())
    assert results["smokes"].band is None
    shares = CategoryShares().fit(given["smokes"])
    smokes = results["smokes"]
    assert smokes.kind == "categories"
    assert smokes.share("yes") == shares.share("yes")
    assert (smokes["yes"].low, smokes["yes"].high) == shares.interval("yes")


def test_a_survey_has_the_verb(results: Results) -> None:
    survey = Survey.from_dict(SURVEY.to_dict())
    assert survey.estimate(summaries()).to_dict() == results.to_dict()


def test_every_public_column_has_its_groups_with_the_others_added_up(results: Results) -> None:
    groups = results["pay"].groups
    assert {by: list(own) for by, own in groups.items()} == {
        "region": ["n", "s"],
        "sex": ["f", "m"],
    }
    assert [one.n for one in groups["region"].values()] == [2 * N, 2 * N]
    north = summaries().groups("pay").coarser(["region"])["n"]
    assert groups["region"]["n"].mean() == Adaptive().fit(north).mean()
    assert groups["region"]["n"].mean() < 45 < groups["region"]["s"].mean()


def test_json_says_all_of_it(results: Results) -> None:
    fields = results.to_dict()
    again = Results.from_dict(json.loads(json.dumps(fields)))
    assert again.to_dict() == fields
    assert repr(again) == repr(results) == f"<Results of {4 * N} respondents: pay, smokes>"
    assert again["pay"].quantities == results["pay"].quantities
    curve = again["pay"].curve
    assert curve is not None
    assert curve.to_dict() == fields["questions"][0]["curve"]
    assert fields["questions"][0]["band"]["level"] == 0.95
    assert again["pay"].band is not None
    assert pickle.loads(pickle.dumps(results)).to_dict() == fields


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confide": "counts"}, "results written by confide"),
        ({"version": 2}, "results of version 1"),
        ({"level": 1}, "0 < level < 1"),
        ({"survey": 3}, "the fingerprint of a survey"),
        ({"quick": 1}, "quick to be true or false"),
        ({"questions": {}}, "a list for 'questions'"),
        ({"extra": 1}, "known keys in results"),
    ],
)
def test_json_of_something_else_is_refused(
    results: Results, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Results.from_dict({**results.to_dict(), **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "words"}, "for 'kind', got 'words'"),
        ({"kind": "categories"}, "proportions as a JSON object"),
        ({"n": -1}, "whole number n"),
        ({"plausible": "yes"}, "plausible to be"),
        ({"reason": None}, "text for 'reason'"),
        ({"quantities": [{"name": "mean"}]}, "the key 'estimate'"),
        ({"quantities": [{"name": 1, "estimate": 1, "low": 1, "high": 1}]}, "name of a quantity"),
        ({"groups": [{"by": "region", "of": [{"n": 1}]}]}, "groups that are words"),
        ({"groups": ["region"]}, "a result by group as a JSON object"),
        ({"band": {"x": [1, 2]}}, "the key 'level' in a band"),
        ({"band": {"level": 0.9, "x": [1, 2], "low": [0, 0], "high": [1]}}, "two or more"),
        ({"band": {"level": 0.9, "x": [2, 1], "low": [0, 0], "high": [1, 1]}}, "ascending places"),
        ({"band": {"level": 0.9, "x": [1, 2], "low": "no", "high": [1, 1]}}, "a list for 'low'"),
    ],
)
def test_json_of_a_damaged_question_is_refused(
    results: Results, change: dict[str, Any], message: str
) -> None:
    fields = results.to_dict()
    fields["questions"] = [{**fields["questions"][0], **change}]
    with pytest.raises(InvalidInput, match=message):
        Results.from_dict(fields)


def test_a_table_has_a_row_for_each_quantity_of_each_group(results: Results) -> None:
    table = results.to_frame()
    assert list(table.columns) == [
        *("question", "by", "group", "n", "measure", "quantity", "estimate", "low", "high"),
        *("difference", "difference_low", "difference_high"),
    ]
    assert len(table) == 5 * 4 + 5 * 2
    (row,) = table[
        (table.question == "pay") & (table.group == "s") & (table.quantity == "median")
    ].to_dict("records")
    assert row["estimate"] == results["pay"].groups["region"]["s"].median()
    assert row["n"] == 2 * N


def test_too_few_reports_give_a_reason_and_no_number() -> None:
    few = estimate(SURVEY, summaries(4))
    pay = few["pay"]
    assert (pay.n, pay.needed) == (16, needed(SURVEY.mechanisms["pay"]))
    assert pay.curve is None
    assert [one.estimate for one in pay.quantities] == [None] * 4
    assert pay.reason.startswith(f"Not enough reports yet: 16 of {pay.needed}.")
    assert pay.reason in repr(pay)
    with pytest.raises(InvalidInput, match=f"at least {pay.needed} reports, got 16"):
        pay.median()
    assert few.to_frame().estimate.isna().all()
    assert Results.from_dict(few.to_dict()).to_dict() == few.to_dict()
    # The rule can be overruled.
    assert 0 < estimate(SURVEY, summaries(4), least=1, intervals=())["pay"].mean() < 100


def test_no_reports_at_all_are_a_result_too() -> None:
    size = SURVEY.mechanisms["pay"].law.outputs[0]
    nobody = Counts(SURVEY.mechanisms["pay"], np.zeros(size, dtype=np.int64))
    result = estimate(SURVEY, Summaries({"pay": nobody}))["pay"]
    assert (result.n, result.reason) == (0, "No reports yet.")


LINE = Lattice(low=0, high=1)


@pytest.mark.parametrize(
    "mechanism",
    [
        SquareWave(LINE, epsilon=1.0),
        Laplace(LINE, epsilon=1.0),
        SquareWave(LINE, epsilon=0.5),
        RandomizedResponse(["a", "b", "c"], epsilon=1.0),
    ],
    ids=repr,
)
def test_the_rule_holds_a_tenth_whatever_the_answers(mechanism: Mechanism) -> None:
    """Surveys of exactly as many people, all of one answer, have the promised spread."""
    n, draws = needed(mechanism), 400
    words = isinstance(mechanism, RandomizedResponse)
    spreads = []
    for answer in ("a", "b") if words else (0.0, 0.3, 1.0):
        reports = mechanism.simulate([answer] * (n * draws), seed=5).indices.reshape(draws, n)
        if words:
            # The share of the answer itself, from the chance of its report.
            matrix = mechanism.law.matrix()
            at = mechanism.index([answer])[0]
            estimates = ((reports == at).mean(1) - matrix[at, at - 1]) / (
                matrix[at, at] - matrix[at, at - 1]
            )
        else:
            estimates = mechanism.unbiased(1)[reports].mean(1)
        spreads.append(estimates.std())
    # 400 draws know a standard deviation within 4 %, one in twenty above 7 %.
    assert max(spreads) == pytest.approx(0.1, rel=0.15)


def test_the_rule_counts_logarithms_on_a_log_scale() -> None:
    logs = SquareWave(Lattice(low=1, high=1e6, scale="log"), epsilon=1.0)
    assert needed(logs) == needed(SquareWave(LINE, epsilon=1.0))


def test_the_rule_never_goes_below_twenty() -> None:
    assert needed(RandomizedResponse(["a", "b"], epsilon=8.0)) == 20


def test_only_asked_intervals_are_made() -> None:
    results = estimate(SURVEY, summaries(), intervals=("mean",))
    ends = {one.name: one.low is not None for one in results["pay"].quantities}
    assert ends == {
        "mean": True,
        "lower quartile": False,
        "median": False,
        "upper quartile": False,
    }
    north = estimate(SURVEY, summaries(), group_intervals=("mean",))["pay"].groups["region"]["n"]
    assert north["mean"].low is not None
    assert north["median"].low is None
    for wrong in ({"intervals": ("mode",)}, {"group_intervals": ("mode",)}):
        with pytest.raises(InvalidInput, match="for 'intervals'"):
            estimate(SURVEY, summaries(), **wrong)  # type: ignore[arg-type]


def test_quick_intervals_are_those_of_fewer_bins_and_say_so() -> None:
    # Where people may decline, intervals are those of tests, which have quick ones.
    pay = {"low": 0, "high": 1, "epsilon": 4.0, "prefer_not_to_say": True}
    survey = Questionnaire.from_dict({"questions": {"pay": pay}})
    values = np.random.default_rng(1).beta(2, 5, 20_000)
    given = Summaries({"pay": Counts.of(survey.mechanisms["pay"].simulate(values, seed=1))})
    full = estimate(survey, given, intervals=("median",))
    quick = estimate(survey, given, intervals=("median",), quick=True)
    assert (full.quick, quick.quick) == (False, True)
    assert quick["pay"].median() == full["pay"].median()
    one, two = full["pay"]["median"], quick["pay"]["median"]
    fewer = Adaptive().fit(given["pay"]).intervals.quick()  # type: ignore[union-attr]
    assert fewer.bins == 48
    assert (two.low, two.high) == pytest.approx(fewer.quantile(0.5))
    assert None not in (one.low, one.high, two.low, two.high)
    assert two.high - two.low > 1.1 * (one.high - one.low)  # type: ignore[operator]


def test_the_interval_of_a_mean_holds_it() -> None:
    """Near a bound the mean of the cells leaves the interval; the one that is printed does not."""
    outside = 0
    for seed in range(20):
        given = counts("pay", [0.0] * 190 + [90.0] * 10, seed)
        density = Likelihood().fit(given)
        low, high = density.interval("mean")
        assert low <= density.mean() <= high
        cells = float(density.masses @ (density.edges[0][:-1] + density.edges[0][1:]) / 2)
        outside += not low <= cells <= high
        mean = estimate(SURVEY, Summaries({"pay": given}), intervals=("mean",))["pay"]["mean"]
        assert (mean.estimate, mean.low, mean.high) == (density.mean(), low, high)
        told = replace(density, means=()).interval("mean")
        assert told == (min(low, cells), max(high, cells))
    assert outside


def test_reports_that_nobody_can_have_sent_are_marked() -> None:
    mechanism = SURVEY.mechanisms["pay"]
    forged = np.zeros(mechanism.law.outputs[0], dtype=np.int64)
    forged[3] = 2000
    with pytest.warns(Implausible):
        results = estimate(SURVEY, Summaries({"pay": Counts(mechanism, forged)}), intervals=())
    assert not results["pay"].plausible


def test_summaries_of_something_else_are_refused() -> None:
    other = Counts.of(SquareWave(LINE, epsilon=1.0).simulate([0.5] * 9, seed=1))
    with pytest.raises(Mismatch, match="by the survey's mechanism"):
        estimate(SURVEY, Summaries({"pay": other}))
    with pytest.raises(Mismatch, match="Did you mean 'pay'"):
        estimate(SURVEY, Summaries({"pays": other}))
    with pytest.raises(InvalidInput, match="Summaries"):
        estimate(SURVEY, other)  # type: ignore[arg-type]


def test_a_table_of_reports_is_told_to_be_counted_first() -> None:
    with pytest.raises(InvalidInput, match=r"Expected Summaries, got a dict\. Count the reports"):
        estimate(SURVEY, {"pay": [1, 2]})  # type: ignore[arg-type]
