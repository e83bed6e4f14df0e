"""A thin run of evidence/paper_f: what it promises, from few draws."""

from __future__ import annotations

import numpy as np
import pytest
from evidence.paper_f import study as paper_f

pytestmark = pytest.mark.filterwarnings("ignore::confide.errors.ConfideWarning")


@pytest.mark.parametrize("design", paper_f.DESIGNS, ids=lambda design: design.name)
def test_a_bandwidth_from_data_beats_the_papers_kernel_with_the_best_one(design):
    errors = {"ours": [], "paper": []}
    for seed in range(6):
        x, spectrum, counts = paper_f.draw(design, "g2", 1000, seed)
        truth = paper_f.CURVES["g2"](x)
        paper = paper_f.OracleRegression(kernel="cauchy", places=x).fit(spectrum)
        ours = paper_f.KernelRegression().fit(counts)
        errors["paper"].append(np.mean((paper.predict(x) - truth) ** 2))
        errors["ours"].append(np.mean((ours.predict(x) - truth) ** 2))
    assert np.mean(errors["ours"]) < 0.8 * np.mean(errors["paper"])


def adult():
    path = paper_f.DATA / "adult.csv"
    if not path.exists():
        pytest.skip(f"there is no file {path}")
    return paper_f.adult(path)


def test_printed_figures_of_adult():
    assert [row["verdict"] for row in paper_f.printed(adult(), draws=2)] == ["reached"] * 4


@pytest.mark.parametrize(("epsilon", "oracle"), [(5.0, 0.4950), (1.0, 0.5202)])
def test_adult_risk_of_the_default_bandwidth(epsilon, oracle):
    table = adult()
    risks = []
    for seed in range(8):
        curve = paper_f.KernelRegression().fit(table.counts(epsilon, seed))
        risks.append(table.risk(curve.predict))
        line = paper_f.LogisticRegression().fit(table.counts(epsilon, seed))
        assert table.risk(line.predict) < {5.0: 0.4918, 1.0: 0.5253}[epsilon]
    error = np.std(risks, ddof=1) / np.sqrt(len(risks))
    assert np.mean(risks) < paper_f.CLOSE * oracle + 2 * error
