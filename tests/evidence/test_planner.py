"""A thin run of evidence/planner: predicted errors beside surveys held one report at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evidence.planner import study as planner
from evidence.planner import whole
from evidence.planner.study import EPSILONS, SIZES, WITHIN

from confide import Counts, Lattice, SquareWave
from confide.estimators import Adaptive
from confide.planning.planner import plan

N, EPSILON, SURVEYS = 2_000, 1.5, 40
METRICS = ("w1", "ks", "mean")


def held(case: planner.Case) -> dict[str, dict[str, float]]:
    """Measured errors, by metric."""
    measure = planner.Measure(case)
    mechanism = SquareWave(Lattice(low=case.low, high=case.high), epsilon=EPSILON)
    errors = []
    for seed in range(SURVEYS):
        reports = mechanism.simulate(case.draw(N, seed), seed=seed)
        errors.append(measure.density(Adaptive().fit(Counts.of(reports))))
    return {
        metric: planner.measured(metric, np.array([one[metric] for one in errors]))
        for metric in METRICS
    }


@pytest.mark.parametrize("make", planner.CASES, ids=lambda make: make.__name__)
def test_errors_are_as_planned(make):
    case = make()
    found = held(case)
    options = {"n": N, "low": case.low, "high": case.high, "mechanisms": ["square-wave"]}
    planned = plan(epsilon=EPSILON, population=case.guess, **options)
    # A planner that is wrong about the noise must be caught.
    wrong = plan(epsilon=EPSILON / 2, population=case.guess, surveys=20, **options)
    missed = []
    for metric in METRICS:
        measured, error = found[metric]["measured"], found[metric]["measured_error"]
        row = planned.row("square-wave", metric)
        slack = 2 * (error**2 + row.standard_error**2) ** 0.5
        assert abs(measured - row.error) <= WITHIN * row.error + slack, metric
        false = wrong.row("square-wave", metric).error
        missed.append(abs(measured - false) > WITHIN * false)
    assert all(missed)


def test_whole_surveys_are_as_planned(monkeypatch):
    surveys = 40
    monkeypatch.setattr(whole, "DESIGNS", ((4.0, None), (4.0, 1)))
    rows = whole.whole(surveys, n=2_000, simulated=0)
    assert {row["question"] for row in rows} == set(whole.QUESTIONS)
    # Three standard errors of a root mean square beside what is allowed; a share has less.
    slack = 3 / math.sqrt(2 * surveys)
    assert all(abs(row["ratio"] - 1) <= WITHIN + slack for row in rows)
    ratios = [row["ratio"] for row in rows if "difference" not in row["quantity"]]
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
    # A planner that is wrong about the noise must be caught.
    wrong = {
        (row.question, row.quantity): row.error
        for row in whole.planned(whole.surveyed(8.0, None), 2_000, 0).rows
    }
    held = {(row["question"], row["quantity"]): row for row in rows if row["ask"] == 4}
    assert np.mean([held[key]["measured"] / error for key, error in wrong.items()]) > 1.5
    text = "\n".join(whole.section(rows))
    assert text.count("\n| 4 |") == len(rows)
    assert whole.kept({"question": "days", "quantity": "median", "ratio": 0.5})
    assert not whole.kept({"question": "days", "quantity": "mean", "ratio": 0.7})


def test_the_study_is_of_twelve_cases_and_writes_every_one():
    rows = [
        {
            "population": case,
            "told_as": "pilot",
            "n": n,
            "epsilon": epsilon,
            "mechanism": name,
            "metric": "w1",
            "predicted": predicted,
            "predicted_error": 0.1,
            "measured": 1.0,
            "ratio": 1 / predicted,
            "preset": "beta",
            "predicted_for_preset": 2.0,
        }
        for case in ("a", "b", "c")
        for n in SIZES
        for epsilon in EPSILONS
        for name, predicted in (("square-wave", 0.8), ("laplace", 2.0))
    ]
    best = planner.headline(rows)
    assert len(best) == 12
    assert {row["mechanism"] for row in best} == {"square-wave"}
    text = planner.page(rows, 200)
    assert text.count("**1.25**") == 12
    assert "12 of 24 ratios lie within 25 %." in text
    assert text.count("laplace, n = ") == 12
    assert [planner.kept(row) for row in rows] == 12 * [True, False]
