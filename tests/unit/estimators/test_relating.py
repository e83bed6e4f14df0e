"""Correlations from reports about pairs: against slow oracles, and in truth."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, multivariate_normal

import confide as cf
from confide import curves, tables
from confide.curves.copula import ASKED, completed, possible
from confide.errors import ConfideWarning, InvalidInput, Mismatch
from confide.estimators.relating import Cut, Pair, both_below, relate, table_of, thresholds
from confide.mechanisms import PairResponse, Side
from confide.planning.pair_designs import best_classes, pair_designs
from confide.summaries import Counts, Summaries

FREE = {"low": 0, "high": 1, "size": 64}
N = 30_000


@pytest.mark.parametrize("correlation", [-0.999, -0.4, 0.0, 0.7, 0.99])
def test_the_normal_integral_is_that_of_scipy(correlation: float) -> None:
    x, y = np.array([0.3, -1.0, 2.0, 0.0]), np.array([0.1, 1.5, -0.5, 0.0])
    covariance = [[1, correlation], [correlation, 1]]
    slow = [multivariate_normal.cdf(each, cov=covariance) for each in zip(x, y, strict=True)]
    np.testing.assert_allclose(both_below(x, y, correlation), slow, atol=1e-7)


def test_at_the_medians_the_bit_has_a_formula() -> None:
    # P(xor) = 1/2 - arcsin(rho)/pi (Sheppard 1899).
    half = Cut(np.array([0.5]), np.zeros(1))
    cells = table_of(half, half, 0.4)
    assert cells[0, 1] + cells[1, 0] == pytest.approx(0.5 - np.arcsin(0.4) / np.pi, abs=1e-9)


def survey(epsilon: float = 4.0, **changes: Any) -> cf.Survey:
    questions = {
        "x": FREE,
        "y": {**FREE, "prefer_not_to_say": True},
        "w": {"categories": ["a", "b", "c"]},
        "v": {"categories": ["no", "yes"]},
    }
    return cf.Survey.from_dict(
        {
            "epsilon": epsilon,
            "ask": 1,
            "questions": questions,
            "relations": {"pairs": "all", "share": 0.5, "at": {"x": 0.5, "y": 0.4}},
            **changes,
        }
    )


def people(n: int = N, correlation: float = 0.5) -> dict[str, Any]:
    generator = np.random.default_rng(5)
    cov = np.full((4, 4), correlation) + (1 - correlation) * np.eye(4)
    u = ndtr(generator.multivariate_normal(np.zeros(4), cov, n)).T
    y = [
        None if gone else value
        for value, gone in zip(u[1].tolist(), generator.random(n) < 0.1, strict=True)
    ]
    words = np.array(["a", "b", "c"])[np.searchsorted([0.3, 0.8], u[2])]
    return {"x": u[0], "y": y, "w": words.tolist(),
            "v": np.where(u[3] > 0.6, "yes", "no").tolist()}  # fmt: skip


def summaries(asked: cf.Survey, n: int = N) -> Summaries:
    made = asked.simulate(people(n), seed=2)
    return Summaries(
        {name: tables.counts(made, one, column=name) for name, one in asked.mechanisms.items()}
    )


@pytest.fixture(scope="module")
def model() -> curves.Copula:
    return survey().relate(summaries(survey()))


def test_correlations_of_all_kinds_of_questions_are_found(model: curves.Copula) -> None:
    assert len(model.relations) == 6
    for one in model.relations:
        # Six intervals of 95 %: four standard errors, so that the seed does not matter.
        assert abs(one.correlation - 0.5) < 4 * one.error
        assert one.low <= one.correlation <= one.high
        assert one.shares.sum() == pytest.approx(1, abs=1e-9)
    assert model["y", "x"].declined == pytest.approx(0.1, abs=0.04)
    assert model["x", "w"].labels == (("below 0.5", "0.5 and more"), ("a", "b", "c"))
    truth = np.array([[0.5, 0.1], [0.1, 0.3]])
    assert model["x", "v"].shares[0, 0] == pytest.approx(truth[0, 0] - 0.1, abs=0.1)


def test_reports_without_error_give_the_correlation_itself() -> None:
    cut = Cut(ndtr(np.array([0.3])), np.zeros(1))
    other = Cut(ndtr(np.array([-0.2])), np.zeros(1))
    side = Side(cf.Lattice(low=0, high=1, size=4), (2,), True)
    mechanism = PairResponse({"x": side, "y": side}, epsilon=2.0)
    cells = np.zeros((5, 5))
    cells[np.ix_([0, 2], [0, 2])] = 0.8 * table_of(cut, other, -0.3)
    cells[4, 0], cells[4, 4] = 0.15, 0.05
    counts = np.round(1e12 * mechanism.law.forward(cells)).astype(np.int64)
    pair = Pair(Counts(mechanism, counts, simulated=True), (cut, other))
    found = pair.relation(0.95)
    assert found.correlation == pytest.approx(-0.3, abs=1e-5)
    assert found.declined == pytest.approx(0.2, abs=1e-6)
    np.testing.assert_allclose(found.shares, table_of(cut, other, -0.3), atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_error_is_that_of_the_information(classes: int) -> None:
    below = np.arange(1, classes) / classes
    cut = Cut(below, np.zeros_like(below))
    side = Side(cf.Lattice(low=0, high=1, size=classes), tuple(range(1, classes)))
    mechanism = PairResponse({"x": side, "y": side}, epsilon=1.0)
    shares = mechanism.law.forward(table_of(cut, cut, 0.4))
    counts = Counts(mechanism, np.round(1e9 * shares).astype(np.int64), simulated=True)
    wanted = next(one for one in pair_designs(1.0, n=counts.n) if one.classes == classes)
    assert Pair(counts, (cut, cut)).relation(0.95).error == pytest.approx(wanted.error, rel=0.01)


def test_the_figures_of_the_designs_are_those_known() -> None:
    # Standard errors at a correlation of 0.4, 6,667 people, epsilon 1, 2, 4.
    known = {"one bit": (0.038, 0.023, 0.018), "table of 4 x 4": (0.132, 0.045, 0.016),
             "two reports at half of epsilon each": (0.448, 0.116, 0.036)}  # fmt: skip
    for at, epsilon in enumerate((1.0, 2.0, 4.0)):
        found = {one.name: one.error for one in pair_designs(epsilon, n=6667)}
        for name, errors in known.items():
            # Two reports depend on the distributions too, which were others.
            near = 0.15 if name.startswith("two") else 0.03
            assert found[name] == pytest.approx(errors[at], rel=near)
    assert best_classes(1.0, n=1000) == 2
    assert best_classes(8.0, n=1000) > 2


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0, 16.0])
@pytest.mark.parametrize("declined", [0.0, 0.1])
def test_two_reports_never_tell_more_than_one(epsilon: float, declined: float) -> None:
    best, *others = pair_designs(epsilon, n=1000, declined=declined)
    assert best.classes is not None
    assert any(one.classes is None for one in others)


@pytest.mark.parametrize("below", [0.0, 1.0])
def test_a_threshold_with_nobody_beyond_tells_nothing(below: float) -> None:
    cut, half = Cut(np.array([below]), np.zeros(1)), Cut(np.array([0.5]), np.zeros(1))
    side = Side(cf.Lattice(low=0, high=1, size=2), (1,))
    mechanism = PairResponse({"x": side, "y": side}, epsilon=1.0)
    counts = Counts(mechanism, np.array([500, 500]), simulated=True)
    found = Pair(counts, (cut, half)).relation(0.95)
    assert (found.low, found.high) == (-1, 1)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_intervals_from_few_reports_cover(epsilon: float, n: int) -> None:
    half = Cut(np.array([0.5]), np.zeros(1))
    side = Side(cf.Lattice(low=0, high=1, size=2), (1,))
    mechanism = PairResponse({"x": side, "y": side}, epsilon=epsilon)
    all_counts = [Counts(mechanism, np.array([n - k, k]), simulated=True) for k in range(n + 1)]
    found = [Pair(counts, (half, half)).relation(0.95) for counts in all_counts]
    assert all(one.low <= one.correlation <= one.high for one in found)
    if n == 1:
        assert [(one.low, one.high) for one in found] == [(-1, 1)] * 2
    for correlation in (-0.9, -0.4, 0.0, 0.4, 0.9):
        held = [one.low <= correlation <= one.high for one in found]
        (_, differ) = mechanism.law.forward(table_of(half, half, correlation))
        chances = binom.pmf(np.arange(n + 1), n, differ)
        assert chances[held].sum() > 0.93


def test_reports_that_no_correlation_explains_tell_nothing() -> None:
    # All answers lie below both thresholds, and all reports say that the answers differ.
    cut = Cut(np.array([0.99]), np.zeros(1))
    side = Side(cf.Lattice(low=0, high=1, size=2), (1,))
    mechanism = PairResponse({"x": side, "y": side}, epsilon=4.0)
    found = Pair(Counts(mechanism, np.array([0, 50]), simulated=True), (cut, cut)).relation(0.95)
    assert (found.low, found.high) == (-1, 1)


def test_impossible_matrices_become_possible() -> None:
    matrix = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    found = possible(matrix)
    assert np.linalg.eigvalsh(found).min() > 0
    np.testing.assert_allclose(np.diag(found), 1)
    good = np.array([[1, 0.5], [0.5, 1]])
    assert possible(good) is good


def test_pairs_that_were_not_asked_follow_from_the_others() -> None:
    matrix, known = np.eye(3), np.eye(3, dtype=bool)
    for a, b, value in ((0, 1, 0.8), (1, 2, 0.5)):
        matrix[a, b] = matrix[b, a] = value
        known[a, b] = known[b, a] = True
    # Independent given the middle one: the product.
    assert completed(matrix, known)[0, 2] == pytest.approx(0.4, abs=1e-6)


def test_thresholds_are_private_medians() -> None:
    earlier = cf.Survey.from_dict({"epsilon": 4.0, "questions": {
        "x": FREE, "k": {"kind": "integer", "low": 0, "high": 20}}})  # fmt: skip
    generator = np.random.default_rng(1)
    table = {"x": generator.beta(2, 5, N), "k": generator.poisson(4, N).clip(0, 20)}
    made = earlier.simulate(table, seed=1)
    counts = Summaries(
        {name: tables.counts(made, one, column=name) for name, one in earlier.mechanisms.items()}
    )
    found = thresholds(counts, ["x", "k"])
    assert found["x"][0] == pytest.approx(np.median(table["x"]), abs=0.03)
    assert found["k"] in ((4.0,), (5.0,))
    assert len(thresholds(counts, ["x"], classes=4)["x"]) == 3
    with pytest.raises(InvalidInput, match="earlier reports of 'rent'"):
        thresholds(counts, ["rent"])
    asked = cf.Survey.from_dict({"epsilon": 1.0, "relations": {"pairs": "all"}, "questions": {
        "x": FREE, "k": {"kind": "integer", "low": 0, "high": 20}}})  # fmt: skip
    ready = asked.with_thresholds(counts)
    assert ready.relations is not None
    assert ready.relations.at == found
    assert ready.pairs["x & k"].bit
    with pytest.raises(InvalidInput, match="to give thresholds to"):
        earlier.with_thresholds(counts)
    with pytest.raises(InvalidInput, match="Summaries"):
        asked.with_thresholds(None)  # type: ignore[arg-type]
    few = Summaries({name: Counts.of(earlier.mechanisms[name].privatize([3.0])) for name in found})
    with pytest.warns(ConfideWarning) as told:
        asked.with_thresholds(few)
    said = [str(one.message) for one in told]
    assert len(said) == 2
    assert said[0].startswith("Few earlier reports of 'x': 1, where an estimate needs ")


def test_relations_need_the_single_questions() -> None:
    given = summaries(survey(), 2000)
    with pytest.raises(Mismatch, match="single question 'x'"):
        relate(Summaries({"x & y": given["x & y"], "y": given["y"]}))
    with pytest.raises(Mismatch, match="survey's mechanism"):
        survey(2.0).relate(given)
    with pytest.raises(InvalidInput, match="Summaries"):
        relate(given["x"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="asked for"):
        relate(given)["x", "rent"]


def test_the_model_comes_back_from_json(model: curves.Copula) -> None:
    again = curves.from_dict(json.loads(json.dumps(model.to_dict())))
    assert isinstance(again, curves.Copula)
    np.testing.assert_array_equal(again.correlations, model.correlations)
    assert again["x", "w"].to_dict() == model["x", "w"].to_dict()
    with pytest.raises(InvalidInput, match="a relation"):
        curves.from_dict({**model.to_dict(), "relations": [{"n": 3}]})


def test_synthetic_people_are_like_the_model(model: curves.Copula) -> None:
    made = cf.synthesize(model, 40_000, seed=1)
    assert set(made) == {"x", "y", "w", "v"}
    assert made["x"].mean() == pytest.approx(model.margins["x"].mean(), abs=0.01)
    declined = np.array([each is None for each in made["y"]])
    assert declined.mean() == pytest.approx(model.margins["y"].declined, abs=0.01)
    x, y = (made[name][~declined].astype(float) for name in ("x", "y"))
    scores = [ndtri((each.argsort().argsort() + 0.5) / each.size) for each in (x, y)]
    fitted = model.correlations[0, 1]
    assert np.corrcoef(*scores)[0, 1] == pytest.approx(fitted, abs=0.02)
    assert np.mean(made["w"] == "a") == pytest.approx(model.margins["w"].share("a"), abs=0.01)
    again = cf.synthesize(model, 40_000, seed=1)
    assert (again["x"] == made["x"]).all()


def test_synthetic_people_say_how_far_correlations_were_moved(model: curves.Copula) -> None:
    made = cf.synthesize(model, 10, seed=1)
    assert model.moved < 0.005
    (kept,) = (row for row in made.preserved if row[0] == ASKED)
    far = max(max(one.high - one.correlation, one.correlation - one.low) for one in model.relations)
    assert kept[1:] == (
        "yes",
        f"as fitted, within their intervals, which reach up to {far:.2f} away",
    )
    signs = {("x", "y"): 0.9, ("y", "w"): 0.9, ("x", "w"): -0.9}
    asked = [
        replace(one, correlation=signs[one.questions])
        for one in model.relations
        if one.questions in signs
    ]
    far = replace(model, relations=asked)
    assert far.moved == pytest.approx(0.4, abs=0.01)
    kept = [row for row in cf.synthesize(far, 10, seed=1).preserved if "moved" in row[2]]
    assert [row[1] for row in kept] == ["partly"]
    assert "moved by up to 0.40" in kept[0][2]
    # Without pairs nothing joins the columns.
    alone = cf.synthesize(curves.Copula(model.margins, []), 10, seed=1).preserved
    assert [row[:2] for row in alone] == [
        ("the distribution of every single question", "yes"),
        ("relations between questions", "no"),
        ("who declines, and whether one person declines twice", "no"),
        ("single people", "no"),
    ]


def test_rows_from_few_reports_are_warned_about() -> None:
    asked = survey()
    with pytest.warns(ConfideWarning) as told:
        cf.synthesize(summaries(asked, 60), 5, seed=1)
    said = [str(one.message).split(":")[0] for one in told]
    assert said == [f"Few reports of {name!r}" for name in asked.questions]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfideWarning)
        cf.synthesize(summaries(asked, 4000), 5, seed=1)


def test_results_have_relations_and_can_be_synthesized(tmp_path: Any) -> None:
    asked = survey()
    results = asked.estimate(summaries(asked, 12_000))
    assert len(results.relations) == 6
    assert results.n == 12_000
    results.save(tmp_path / "r.json")
    again = cf.results.Results.read(tmp_path / "r.json")
    assert again.relations[0].to_dict() == results.relations[0].to_dict()
    rows = cf.synthesize(again, 50, seed=1)
    rows.save(tmp_path / "rows.csv")
    rows.save(tmp_path / "rows.parquet")
    assert rows.to_frame().shape == (50, 4)
    results.save(tmp_path / "r.md")
    results.save(tmp_path / "r.html")
    for name in ("r.md", "r.html"):
        assert "Relations" in (tmp_path / name).read_text()
    with pytest.raises(InvalidInput, match="to draw from"):
        cf.synthesize(3, 5)


def test_readers_of_relations_are_told_what_a_pair_costs() -> None:
    from confide.results.readers import DELTA, of_person

    asked = survey()
    table = people(3000)
    made = asked.privatize(table)
    counts = Summaries(
        {name: tables.counts(made, one, column=name) for name, one in asked.mechanisms.items()}
    )
    results = asked.estimate(counts, least=1)
    fewest = min(one.n for one in results.relations)
    pair = cf.accounting.shuffled(asked.pairs["x & y"].response, n=fewest, delta=DELTA)
    found = of_person(results)
    assert found is not None
    assert found.epsilon >= min(pair.epsilon, asked.spend.epsilon)
