"""A thinned run of the partition study: the rate, the targets, and what must be worse."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from evidence.partition import study as partition
from evidence.partition.study import EPSILONS, METHODS

from confide.lattice import Cells

SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return partition.regression(SIZES, surveys=12, seed=5)


def errors(rows: list[dict], d: int, epsilon: float, method: str) -> np.ndarray:
    return np.array(
        [
            row["error"]
            for row in rows
            if (row["d"], row["epsilon"], row["method"]) == (d, epsilon, method)
        ]
    )


def test_error_falls_at_the_rate_of_the_theorem(rows: list[dict]) -> None:
    found = {(r["d"], r["epsilon"], r["method"]): r["slope"] for r in partition.slopes(rows)}
    for d in (1, 2):
        for epsilon in EPSILONS:
            assert abs(found[d, epsilon, "ours"] + 1 / (d + 1)) < 0.06
            assert abs(found[d, epsilon, "open"] + 2 / (d + 2)) < 0.06


def test_ours_reaches_its_targets_and_the_paper_its_own(rows: list[dict]) -> None:
    ours, paper = (errors(rows, 2, 1.0, method) for method in ("ours", "paper"))
    assert ours[0] < 0.32
    assert ours[-1] < 0.014
    assert 1.0 < paper[0] < 2.2
    assert 0.08 < paper[-1] < 0.2
    zero = partition.smooth_once(2).cells(64)["second"].sum()
    assert zero == pytest.approx(0.16, abs=1e-3)
    assert (ours <= zero).all()
    for d in (1, 2):
        for epsilon in EPSILONS:
            assert (errors(rows, d, epsilon, "ours") < errors(rows, d, epsilon, "paper")).all()
            assert (errors(rows, d, epsilon, "open") < errors(rows, d, epsilon, "ours")).all()
    assert set(METHODS) == {row["method"] for row in rows}


def test_a_wrong_number_of_cells_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        partition,
        "suggest_cells",
        lambda n, low, high, **_: Cells(low=low, high=high, shape=[4] * len(low)),
    )
    rows = partition.regression(SIZES[2:], surveys=4, seed=5, methods=("ours",))
    assert all(abs(row["slope"] + 1 / (row["d"] + 1)) > 0.15 for row in partition.slopes(rows))


def test_classification_approaches_the_least_possible_error() -> None:
    rows = partition.classification((10**4, 10**7), surveys=12, seed=3)
    for early, late in zip(rows[::2], rows[1::2], strict=True):
        assert late["error"] >= late["bayes"] - 1e-9
        assert late["error"] - late["bayes"] < 0.02
        assert late["error"] < early["error"]


def test_risk_where_both_are_private() -> None:
    risks = [partition.risk_private_xy(n, 1.0, 1.0, surveys=10) for n in (10**4, 10**5, 10**6)]
    assert all(a["risk"] > 2 * b["risk"] for a, b in pairwise(risks))
    assert risks[0]["risk"] < risks[0]["zero"]
    assert risks[0]["epsilon"] == 2.0


def test_drawn_surveys_agree_with_respondents_one_by_one() -> None:
    # The same population, respondent by respondent: cell shares and products agree.
    population, n = partition.HUMP, 200_000
    generator = np.random.default_rng(1)
    x = generator.beta(2, 2, n)
    y = np.sin(2 * np.pi * x) + generator.uniform(-1, 1, n)
    parts = population.cells(5)
    cell = np.minimum((5 * x).astype(int), 4)
    for name, values in (
        ("mass", np.ones(n)),
        ("first", y),
        ("above", np.maximum(y, 0)),
        ("below", np.maximum(-y, 0)),
    ):
        sums = np.bincount(cell, values, minlength=5) / n
        assert np.abs(sums - parts[name]).max() < 6 / np.sqrt(n)


def test_thin_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a thin run wrote")

    monkeypatch.setattr(partition, "picture", refused)
    monkeypatch.setattr(partition.Path, "write_text", refused)
    assert partition.main(["--thin"]) == 0


def test_the_page_is_made_of_the_results() -> None:
    results = json.loads((partition.ROOT / "evidence/partition/results.json").read_text())
    page = (partition.ROOT / "docs/evidence/partition.md").read_text()
    assert page == partition.page(results)
