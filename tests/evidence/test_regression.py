"""A thin run of evidence/regression: the figures promised there, from few draws."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from evidence.regression import bands, curves, frozen, related, sharper
from evidence.regression import study as regression

from confide import Laplace, Lattice, SquareWave
from confide.errors import ConfideWarning
from confide.estimators import RatioRegression
from confide.summaries import Counts


@pytest.mark.parametrize("mechanism", [Laplace, SquareWave])
def test_error_falls_with_n(mechanism):
    channel = mechanism(Lattice(low=0, high=1, size=128), epsilon=4.0)
    errors = []
    for n in (10**3, 10**4, 10**5):
        distances = []
        for seed in range(4):
            rng = np.random.default_rng([5, seed, n])
            x = rng.beta(2, 2, n)
            y = regression.wave(x) + rng.normal(0, 0.2, n)
            counts = Counts.of(channel.simulate(x, seed=seed), response=y)
            curve = RatioRegression().fit(counts)
            at = regression.GRID
            distances.append(np.mean((curve.predict(at) - regression.wave(at)) ** 2))
        errors.append(np.mean(distances))
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2


def test_error_falls_with_n_and_epsilon_when_both_are_private():
    rows = [
        row
        for row in regression.both_private(2, sizes=(10**3, 10**4), epsilons=(2.0, 8.0))
        if row["method"].startswith("joint")
    ]
    low_few, low_many, high_few, high_many = (row["mean"] for row in rows)
    assert low_many < low_few
    assert high_many < high_few
    assert high_many < low_many


def test_bands_hold_the_truth_as_often_as_they_say():
    rows = list(regression.coverage(surveys=8, epsilons=[4.0]))
    assert np.mean([row["covered"] for row in rows]) > 0.92
    assert [row for row in rows if row["covered"] < 0.85] == []


def test_a_band_that_does_not_hold_a_jump_says_so_and_holds_what_is_far_from_it():
    for row in regression.coverage(surveys=6, epsilons=[1.0]):
        if row["truth"] == bands.STEP:
            assert row["jumps"] < 0.5
            assert row["least"] < 0.5
            assert row["far"] > 0.9


def test_the_split_of_curves_is_the_recorded_one():
    assert json.loads(curves.SPLIT.read_text()) == curves.record()
    halves = [{one.name for one in half.values()} for half in curves.split().values()]
    assert not set.intersection(*halves)


def test_what_was_is_kept_as_it_was():
    """The frozen copy against the estimator, which has not changed since."""
    mechanism = Laplace(Lattice(low=0, high=1, size=64), epsilon=3.0)
    for truth in curves.split()["tuning"].values():
        (counts,) = truth.surveys(mechanism, 2_000, [5], 1)
        now = RatioRegression().fit(counts).values
        np.testing.assert_allclose(frozen.ratio(counts).values, now, atol=1e-9)


def test_a_thin_run_is_ahead_of_what_was():
    """Curves of the half for tuning: the other is not to be looked at."""
    thin = {"sizes": [10**4], "epsilons": [2.0]}
    rows = sharper.compare("tuning", 4, kinds=["wave", "flat"], **thin)
    assert [row["kind"] for row in rows if row["verdict"] == "missed"] == []


@pytest.mark.parametrize("read", [regression.lending, regression.adult])
def test_risk_on_real_data_is_near_the_prototype(read):
    path = (
        regression.DATA
        / {
            regression.lending: "lending_club_2007_2010.csv",
            regression.adult: "adult.csv",
        }[read]
    )
    if not path.exists():
        pytest.skip(f"there is no file {path}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfideWarning)
        rows = list(regression.real([read(path)], 6, only=regression.PROMISED))
    # Six draws: grant a further standard error.
    missed = [
        row
        for row in rows
        if row["prototype"] and row["mean"] > 1.01 * row["prototype"] + 3 * row["standard_error"]
    ]
    assert missed == []


def test_the_page_is_that_of_the_record():
    results = json.loads((regression.ROOT / "evidence/regression/results.json").read_text())
    page = (regression.ROOT / "docs/evidence/regression.md").read_text()
    assert page == regression.page(results) + "\n"
    assert {row["curve"] for row in results["sharper"]} == {
        one.name for one in curves.split()["reporting"].values()
    }


def test_a_part_is_measured_anew_and_the_rest_kept(capsys):
    before = regression.RESULTS.read_text()
    regression.main(["--thin", "--part", "later"])
    lines = capsys.readouterr().out.splitlines()
    kept = regression.page(json.loads(before)).splitlines()
    changed = [line for line, old in zip(lines, kept, strict=True) if line != old]
    names = tuple(f"| {truth.name} |" for truth in curves.split()["later"].values())
    assert changed
    assert all(line.startswith(names) for line in changed)
    assert regression.RESULTS.read_text() == before


def test_a_thin_run_of_correlations():
    (row,) = related.related(4, [(0.2, 0.6875)], [20_000])
    assert row["truth"] == pytest.approx(0.686, abs=1e-3)
    assert row["rmse"]["estimate"] < row["rmse"]["likelihood"]
