"""A thin run of evidence/relations: correlations are found, and copulas are what they should be."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from evidence.relations import study, words
from scipy import stats

from confide.curves import Copula
from confide.estimators.relating import margin_of
from confide.mechanisms import PairResponse
from confide.mechanisms.pair_response import Side


def test_correlations_of_one_survey_are_found() -> None:
    (row,) = study.measured(2.0, 2, classes=2)
    assert row["rmse"] < 2 * study.LIMITS[2.0]
    # Fewer than 24 of 30 have a chance of 1e-3 where 95 % are due.
    assert row["covered"] >= 24 / 30
    assert row["seen"] == pytest.approx(0.4, abs=1e-6)


@pytest.mark.parametrize("declining", [False, True])
def test_drawn_counts_are_those_of_people_who_answer(declining: bool) -> None:
    n, draw = 20_000, np.random.default_rng(3)
    people = study.population(n, draw)
    one, other = study.NAMES[:2]
    lattice = study.survey(2.0, declining=declining)[0].questions[one].axis
    sides = {name: Side(lattice, (400,), declining) for name in (one, other)}
    pair = PairResponse(sides, epsilon=2.0)
    answers = {name: people[name].tolist() for name in sides}
    if declining:
        for column in answers.values():
            for at in np.flatnonzero(draw.random(n) < study.SKIPPED):
                column[at] = None
    found = np.bincount(pair.simulate(answers, seed=4).indices, minlength=pair.law.outputs[0])
    expected = n * study.chances(pair, study.divided(pair, study.normal))
    assert stats.chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize("name", study.COPULAS)
def test_copulas_are_distributions_with_even_margins(name: str) -> None:
    copula = study.COPULAS[name]
    u = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(copula(u, np.full(3, 1 - 1e-9)), u, atol=2e-3)
    np.testing.assert_allclose(copula(np.full(3, 1 - 1e-9), u), u, atol=2e-3)


def test_the_symmetric_population_has_a_relation_that_no_correlation_shows() -> None:
    half = np.array([0.5])
    assert study.symmetric(half, half)[0] == pytest.approx(0.25, abs=1e-3)
    # Of the middle half of the first answers more than half are low in the second.
    middle = study.symmetric(np.array([0.75]), half) - study.symmetric(np.array([0.25]), half)
    assert middle[0] > 0.3
    assert study.truth_of("symmetric") == pytest.approx(0, abs=1e-3)


def test_claytons_rank_correlation_is_that_of_the_normal_copula() -> None:
    tau = study.THETA / (study.THETA + 2)
    assert tau == pytest.approx(2 / np.pi * np.arcsin(study.RHO))
    x = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], 4000)
    assert stats.kendalltau(*x.T)[0] == pytest.approx(tau, abs=0.04)


def test_rows_with_margins_of_their_own_are_noticed() -> None:
    draw = np.random.default_rng(5)
    asked = study.survey(4.0, declining=False)[0]
    margins = {
        name: margin_of(each) for name, each in study.singles(asked, study.SINGLE, draw).items()
    }
    model = Copula(margins, ())
    made = model.sample(study.ROWS, seed=1)
    assert study.inside_intervals(model, made) >= 0.95
    assert min(study.likeness(model, made)) > 1e-4
    ours, theirs = study.from_truth(model, made)
    assert theirs < 1.5 * ours
    # Rows a little too far to the right, by two percent of the bounds.
    moved = {name: column + 0.02 for name, column in made.items()}
    assert max(study.likeness(model, moved)) < 1e-4
    # And columns that changed places.
    names = list(made)
    mixed = dict(zip(names, [made[name] for name in (*names[1:], names[0])], strict=True))
    assert study.inside_intervals(model, mixed) < 0.5
    assert study.from_truth(model, mixed)[1] > 5 * ours


@pytest.mark.parametrize("declining", [False, True])
def test_drawn_reports_of_words_are_those_of_people_who_answer(declining: bool) -> None:
    n, draw = 20_000, np.random.default_rng(6)
    asked = words.survey(2.0, declining=declining)
    cov = np.full((4, 4), words.RHO) + (1 - words.RHO) * np.eye(4)
    places = stats.norm.cdf(draw.multivariate_normal(np.zeros(4), cov, n)).T
    people: dict[str, list[object]] = {"hours": places[0].tolist()}
    for place, (name, below) in zip(places[1:], list(words.BELOW.items())[1:], strict=True):
        labels = words.QUESTIONS[name]["categories"]
        people[name] = [labels[at] for at in np.searchsorted(below, place)]
    if declining:
        for column in people.values():
            for at in np.flatnonzero(draw.random(n) < words.SKIPPED):
                column[at] = None
    for name, question in asked.questions.items():
        expected = n * words.single_chances(asked, name)
        found = np.bincount(
            question.mechanism.simulate(people[name], seed=7).indices, minlength=expected.size
        )
        assert stats.chisquare(found, expected).pvalue > 1e-4
    for pair in asked.pairs.values():
        expected = n * words.pair_chances(pair)
        answers = {name: people[name] for name in pair.sides}
        found = np.bincount(pair.simulate(answers, seed=7).indices, minlength=expected.size)
        assert stats.chisquare(found, expected).pvalue > 1e-4


def test_relations_of_words_are_found() -> None:
    for row in words.measured(4.0, 3):
        assert row["rmse"] < 0.05
        assert row["covered"] >= 0.75
        assert row["cells"] >= 0.85


def test_the_record_and_the_page_say_the_same() -> None:
    results = json.loads(Path(study.__file__).with_name("results.json").read_text())
    text = (study.ROOT / "docs" / "evidence" / "relations.md").read_text()
    assert text == study.page(results) + "\n"
    chosen = [
        row for row in results["rows"]
        if row["copula"] == "normal" and not row["declining"] and row["classes"] is None
    ]  # fmt: skip
    assert [row["epsilon"] for row in chosen] == list(study.LIMITS)
    assert all(row["rmse"] <= study.LIMITS[row["epsilon"]] for row in chosen)
    skipping = [row for row in results["rows"] if row["declining"]]
    assert [row["epsilon"] for row in skipping] == list(study.LIMITS)
    for row in (*chosen, *skipping):
        assert row["surveys"] >= 40
        assert 0.93 <= round(row["covered"], 3) <= 0.97
    assert [row["epsilon"] for row in results["words"] if row["declining"]] == [1, 1, 2, 2, 4, 4]
    for row in results["words"]:
        assert row["surveys"] >= 100
        low, high = words.LIMITS
        assert low <= round(row["covered"], 3) <= high
        assert row["cells"] >= low
    for row in results["synthetic"]:
        assert row["surveys"] >= 20
        assert row["inside"] >= 0.95
        # Of 120 columns more than 15 are told apart by chance once in a thousand times.
        assert row["unlike"] * row["columns"] <= 15
        # 10,000 rows are themselves .002 to .003 from the distribution that they are drawn from.
        assert row["synthetic_distance"] <= 1.1 * math.hypot(row["estimate_distance"], 0.0025)
        assert row["apart"] <= 0.05
