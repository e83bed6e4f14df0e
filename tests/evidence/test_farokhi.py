"""A thin run of evidence/farokhi: what it promises, from few draws."""

from __future__ import annotations

import json

import numpy as np
import pytest
from evidence.farokhi import study as farokhi

pytestmark = pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")


@pytest.mark.parametrize("design", farokhi.DESIGNS, ids=lambda design: design.name)
def test_a_bandwidth_from_data_beats_the_papers_kernel_with_the_best_one(design):
    errors = {"ours": [], "paper": []}
    for seed in range(6):
        x, spectrum, counts = farokhi.draw(design, "g2", 1000, seed)
        truth = farokhi.CURVES["g2"](x)
        paper = farokhi.OracleRegression(kernel="cauchy", places=x).fit(spectrum)
        ours = farokhi.KernelRegression().fit(counts)
        errors["paper"].append(np.mean((paper.predict(x) - truth) ** 2))
        errors["ours"].append(np.mean((ours.predict(x) - truth) ** 2))
    assert np.mean(errors["ours"]) < 0.8 * np.mean(errors["paper"])


def adult():
    path = farokhi.DATA / "adult.csv"
    if not path.exists():
        pytest.skip(f"there is no file {path}")
    return farokhi.adult(path)


def test_printed_figures_of_adult():
    assert [row["verdict"] for row in farokhi.printed(adult(), draws=2)] == ["reached"] * 4


@pytest.mark.parametrize(("epsilon", "oracle"), [(5.0, 0.4950), (1.0, 0.5202)])
def test_adult_risk_of_the_default_bandwidth(epsilon, oracle):
    table = adult()
    risks = []
    for seed in range(8):
        curve = farokhi.KernelRegression().fit(table.counts(epsilon, seed))
        risks.append(table.risk(curve.predict))
        line = farokhi.LogisticRegression().fit(table.counts(epsilon, seed))
        assert table.risk(line.predict) < {5.0: 0.4918, 1.0: 0.5253}[epsilon]
    error = np.std(risks, ddof=1) / np.sqrt(len(risks))
    assert np.mean(risks) < farokhi.CLOSE * oracle + 2 * error


def test_record_is_of_the_estimates_as_they_are():
    """One row of each kind of input: clamped reports, and two covariates as numbers."""
    found = json.loads((farokhi.ROOT / "evidence" / "farokhi" / "results.json").read_text())
    errors = []
    for seed in range(20):
        x, _, counts = farokhi.draw(farokhi.DESIGNS[0], "g1", 1000, seed)
        fitted = farokhi.KernelRegression().fit(counts).predict(x)
        errors.append(np.mean((fitted - farokhi.CURVES["g1"](x)) ** 2))
    row = found["simulated"][1]
    assert (row["population"], row["curve"], row["n"]) == ("mixture", "g1", 1000)
    assert row["method"] == "KernelRegression(), clamped reports"
    assert row["draws"] == 20
    assert np.mean(errors) == pytest.approx(row["mean"], rel=1e-4)
    case = farokhi.covariates.CASES[0]
    several = [farokhi.covariates.errors(case, seed) for seed in range(10)]
    for row in found["covariates"][: len(several[0])]:
        assert (row["case"], row["draws"]) == (case.name, 10)
        own = np.mean([one[row["method"]] for one in several])
        assert own == pytest.approx(row["mean"], rel=1e-4)
