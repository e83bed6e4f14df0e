"""Lattices of points: bounds and round numbers are exact from the index to the interval."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import confide as cf
from confide.audits import index
from confide.curves import CellDensity
from confide.errors import InvalidInput, Unsupported
from confide.estimators import Adaptive, Deconvolution, Likelihood
from confide.lattice import Lattice
from confide.planning.survey_plans import plan_survey
from confide.summaries import Counts

RENT = Lattice(low=0, high=2_000, size=41, kind="points")
SURVEY = """
[questions.rent]
low = 0
high = 2000
size = 41
kind = "points"
epsilon = 4.0
"""


@given(
    low=st.integers(-1000, 1000),
    span=st.integers(1, 1000),
    size=st.integers(2, 200),
    part=st.fractions(-0.5, 1.5, max_denominator=997),
)
@settings(max_examples=200, deadline=None)
def test_a_value_becomes_its_nearest_point(low: int, span: int, size: int, part: Fraction) -> None:
    lattice = Lattice(low=low, high=low + span, size=size, kind="points")
    exact = min(max(part, Fraction(0)), Fraction(1)) * (size - 1)
    found = int(lattice.index([float(low + part * span)])[0])
    # Floats may put a value that is all but halfway on the other side.
    assert abs(exact - found) <= Fraction(1, 2) + Fraction(1, 10**9)
    assert lattice.centers[0] == low
    assert lattice.centers[-1] == low + span
    assert np.array_equal(lattice.index(lattice.centers), np.arange(size))


def test_geometry() -> None:
    assert RENT.centers[[0, 1, 20, 40]].tolist() == [0, 50, 1000, 2000]
    assert RENT.edges[[0, 1, -1]].tolist() == [-25, 25, 2025]
    assert RENT.step == 50
    assert not RENT.spreads.any()
    assert RENT.index([24.9, 25, -1e9, 1e9]).tolist() == [0, 1, 0, 40]
    assert Lattice.from_dict(json.loads(json.dumps(RENT.to_dict()))) == RENT
    assert Lattice(low=0, high=1, size=11, kind="points").centers[3] == 0.3
    with pytest.raises(InvalidInput, match="linear"):
        Lattice(low=1, high=10, kind="points", scale="log")


def test_curves_have_steps_at_points() -> None:
    edges = np.array([-25.0, 25, 75, 125])
    curve = CellDensity((edges,), np.array([0.3, 0.0, 0.7]), kinds=("points",))
    assert curve.cdf([-1.0, 0, 49, 50, 99.9, 100]).tolist() == [0, 0.3, 0.3, 0.3, 0.3, 1]
    assert [curve.quantile(q) for q in (0, 0.1, 0.3, 0.31, 1)] == [0, 0, 0, 100, 100]
    assert curve.mean() == pytest.approx(70)
    assert curve.std() == pytest.approx(np.sqrt(0.21) * 100)
    assert set(curve.sample(50, seed=1).tolist()) == {0.0, 100.0}
    read = CellDensity.from_dict(json.loads(json.dumps(curve.to_dict())))
    assert read.kinds == ("points",)
    assert read.median() == 100
    wrong = {**curve.to_dict(), "edges": [[-25.0, 25, 70, 125]]}
    with pytest.raises(InvalidInput, match="equal distances"):
        CellDensity.from_dict(wrong)


@pytest.mark.parametrize(
    ("estimator", "size"), [(Adaptive(), 41), (Likelihood(), 41), (Adaptive(), 401)]
)
def test_quantiles_are_exact_at_a_bound_and_at_a_round_number(estimator, size: int) -> None:
    generator = np.random.default_rng(2)
    values = np.where(generator.random(20_000) < 0.3, 0.0, 50 * generator.integers(4, 30, 20_000))
    lattice = Lattice(low=0, high=2_000, size=size, kind="points")
    mechanism = cf.SquareWave(lattice, epsilon=4.0)
    density = estimator.fit(Counts.of(mechanism.simulate(values, seed=1)))
    assert density.masses.size == size
    low, high = density.interval("quantile", 0.1)
    assert low == 0 == density.quantile(0.1)
    assert high < 25 or size == 41
    assert np.isin(density.quantile([0.2, 0.5, 0.9]), lattice.centers).all()
    lows, highs = density.interval("quantile", [0.5, 0.9])
    assert np.isin([*lows, *highs], lattice.centers).all()
    assert (lows <= np.quantile(values, [0.5, 0.9])).all()
    assert (highs >= np.quantile(values, [0.5, 0.9])).all()
    first, last = density.interval("cdf", 0.0)
    assert first < 0.3 < last


def test_the_mean_is_not_off_by_half_a_cell() -> None:
    """With 30 % zeros, means from cells lie 15 % of a cell too high; those from points do not."""
    generator = np.random.default_rng(5)
    zero = generator.random(4_000) < 0.3
    values = np.where(zero, 0.0, generator.beta(2, 5, 4_000))
    off = {}
    for kind in ("number", "points"):
        mechanism = cf.SquareWave(Lattice(low=0, high=1, size=16, kind=kind), epsilon=8.0)
        score, law = mechanism.unbiased(1), mechanism.law
        shares = np.bincount(mechanism.lattice.index(values), minlength=16) / values.size
        off[kind] = score @ law.forward(shares) - values.mean()
    assert abs(off["points"]) < 0.1 / 16
    assert off["number"] == pytest.approx(0.15 / 16, rel=0.2)


def test_surveys_plans_audits_and_what_does_not_apply() -> None:
    survey = cf.Survey.from_dict(tomllib.loads(SURVEY))
    again = cf.Survey.from_dict(json.loads(json.dumps(survey.to_dict())))
    assert again.questions["rent"].axis == RENT
    planned = plan_survey(survey, n=2_000, surveys=4)
    assert planned.row("rent", "median").kind == "points"
    mechanism = survey.questions["rent"].mechanism
    assert index(mechanism).holds
    with pytest.raises(Unsupported, match="points"):
        Deconvolution().fit(Counts.of(mechanism.simulate([0.0] * 99, seed=1)))


def test_files_and_results_of_points_are_read_again(tmp_path: Path) -> None:
    survey = cf.Survey.from_dict(tomllib.loads(SURVEY))
    values = np.random.default_rng(1).choice([0.0, 500, 2000], 4_000)
    parquet.write_table(survey.simulate({"rent": values}, seed=1), tmp_path / "reports.parquet")
    results = survey.estimate(survey.summarize(tmp_path / "reports.parquet"))
    assert results["rent"].kind == "points"
    assert results["rent"].curve.median() == 500
    read = type(results).from_dict(json.loads(json.dumps(results.to_dict())))
    assert read["rent"].curve.quantile(0.9) == 2000
