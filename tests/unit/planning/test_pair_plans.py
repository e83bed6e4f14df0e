"""The plan of a survey with pairs tells how well correlations will be known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import confide as cf
from confide import tables
from confide.planning import SurveyPlan
from confide.summaries import Summaries

GUESSES: dict[str, Any] = {
    "hours": "normal",
    "stress": {"never": 0.3, "sometimes": 0.5, "often": 0.2},
    "smokes": {"no": 0.78, "yes": 0.22},
    "hours.declined": 0.1,
}


def survey(**relations: Any) -> cf.Survey:
    questions = {
        "hours": {"low": 0, "high": 100, "size": 64, "prefer_not_to_say": True},
        "stress": {"categories": ["never", "sometimes", "often"]},
        "smokes": {"categories": ["no", "yes"]},
    }
    fields = {"pairs": "all", **relations}
    return cf.Survey.from_dict(
        {"epsilon": 2.0, "ask": 1, "questions": questions, "relations": fields}
    )


def test_people_who_are_asked_about_pairs_answer_no_single_question() -> None:
    made = survey(share=0.25, at={"hours": 40}).plan(n=24_000, guesses=GUESSES)
    assert {row.n for row in made.rows} == {6_000}
    assert [(one.pair, one.n, one.report) for one in made.pairs] == [
        ("hours & stress", 2_000, "table of 2 x 3"),
        ("hours & smokes", 2_000, "one bit"),
        ("stress & smokes", 2_000, "table of 3 x 2"),
    ]
    told = " ".join(made.words())
    assert "each asked 1 of 3 questions or about one pair" in told
    assert "2,000 people are asked about each pair. A correlation of 0.4 will be" in told
    again = SurveyPlan.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again.pairs == made.pairs
    assert again.words() == made.words()
    # Who asks for nothing but single questions needs fewer people for the same error.
    alone = cf.Survey.from_dict({**survey().to_dict(), "relations": None})
    target = {"smokes.yes": 0.02}
    shares = [each.plan(target=target, guesses=GUESSES).n for each in (alone, survey(share=0.25))]
    assert shares[1] == pytest.approx(shares[0] / 0.75, rel=0.01)


def test_questions_without_a_threshold_are_cut_where_the_guess_has_its_median() -> None:
    given, found = (
        one.plan(n=24_000, guesses=GUESSES).pairs for one in (survey(at={"hours": 50}), survey())
    )
    assert [one.report for one in found] == [one.report for one in given]
    assert [one.error for one in found] == pytest.approx([one.error for one in given], rel=0.1)


def test_too_few_people_for_pairs_know_nothing_of_correlations() -> None:
    assert {one.error for one in survey().plan(n=20, guesses=GUESSES).pairs} == {1.0}


def test_planned_errors_are_those_of_simulated_surveys() -> None:
    asked, n = survey(at={"hours": 40}), 12_000
    planned = {one.pair: one.error / 1.96 for one in asked.plan(n=n, guesses=GUESSES).pairs}
    matrix = np.full((3, 3), 0.4) + 0.6 * np.eye(3)
    off: dict[str, list[float]] = {name: [] for name in planned}
    for seed in range(25):
        draw = np.random.default_rng(seed)
        scores = draw.multivariate_normal(np.zeros(3), matrix, n)
        hours = (50 + 100 / 6 * scores[:, 0]).clip(0, 100).astype(object)
        hours[draw.random(n) < 0.1] = None
        words = np.array(["never", "sometimes", "often"])
        made = asked.simulate(
            {
                "hours": hours.tolist(),
                "stress": words[np.digitize(ndtr(scores[:, 1]), [0.3, 0.8])].tolist(),
                "smokes": np.where(ndtr(scores[:, 2]) > 0.78, "yes", "no").tolist(),
            },
            seed=seed,
        )
        parts = {
            name: tables.counts(made, one, column=name, simulated=True)
            for name, one in asked.mechanisms.items()
        }
        for relation in asked.relate(Summaries(parts)).relations:
            off[relation.name].append(relation.correlation - 0.4)
    for name, planned_error in planned.items():
        seen = float(np.sqrt(np.mean(np.square(off[name]))))
        # 25 surveys know their own spread to a seventh.
        assert 0.6 < seen / planned_error < 1.5, name
