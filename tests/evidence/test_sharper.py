"""The split of the study of sharper estimates, its recorded figures, and a thin run of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from evidence.sharper import inside, points, populations, study


def test_the_split_is_the_recorded_one() -> None:
    assert json.loads(populations.SPLIT.read_text()) == populations.record()
    halves = {half: {one.name for one in found} for half, found in populations.split().items()}
    assert [len(halves[half]) for half in ("tuning", "reporting", "apart")] == [6, 6, 3]
    assert not halves["tuning"] & halves["reporting"]


@pytest.mark.parametrize("half", ["tuning", "reporting", "apart"])
def test_populations_are_distributions(half: str) -> None:
    for one in populations.split()[half]:
        shares = np.diff(one.below(np.linspace(0, 1, 1025)))
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)


def test_the_page_is_that_of_the_record() -> None:
    results = json.loads(study.RESULTS.read_text())
    assert study.PAGE.read_text() == study.page(results) + "\n"
    assert {row["population"] for row in results["reporting"]} == {
        one.name for one in populations.split()["reporting"]
    }


def test_a_thin_run_is_ahead_of_ems_and_of_what_was() -> None:
    """A population at a bound, of the half for tuning: it is not to be looked at in the other."""
    names = ("default", "before", "square wave + EMS")
    row = study.measure("tuning", 3, epsilon=2.0, n=10_000, surveys=3, methods=names)
    for other in names[1:]:
        times, _ = study.ratio(row, "w1", "default", other)
        assert times < 0.8


def test_estimates_are_inside_their_intervals() -> None:
    found = inside.check(41)
    assert found == {"fits": 41, "means": 82, "quantiles_and_shares": 12, "outside": 0}


def test_means_of_points_are_covered_and_those_of_cells_are_not() -> None:
    """Two thousand surveys: the binomial standard error is .005."""
    cells, found = (points.means(kind, 64, 4.0, 20_000, 2_000) for kind in ("number", "points"))
    assert 0.935 <= found["coverage"] <= 0.965
    assert cells["coverage"] < 0.9
    assert points.medians(64, 4.0, 2_000, 2)["coverage"] == 1
