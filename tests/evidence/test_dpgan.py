"""DPGAN: what was recorded is whole and on the page; training where PyTorch is installed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bench.peers import HOME
from evidence.dpgan import study as dpgan
from evidence.sampling import page as sampling_page
from evidence.sampling.targets import mix1d, ring

RESULT = json.loads((dpgan.HERE / "results.json").read_text())
SAMPLING = json.loads((dpgan.ROOT / "evidence" / "sampling" / "results.json").read_text())
ROWS = {(row["target"], row["method"], row["epsilon"]): row for row in RESULT["rows"]}


def test_the_record_is_whole_and_within_its_budget():
    assert RESULT["seeds"] >= 4
    assert RESULT["delta"] < 1 / RESULT["records"]
    for target in ("ring", "mix1d"):
        for epsilon in dpgan.EPSILONS:
            each = [ROWS[target, f"dpgan {steps}", epsilon] for steps in RESULT["steps"]]
            assert all(row["spent"] <= epsilon for row in each)
            # More steps need more noise each.
            assert sorted(row["sigma"] for row in each) == [row["sigma"] for row in each]
            best = ROWS[target, "dpgan", epsilon]["kl"]
            assert 0 < best <= min(row["kl"] for row in each) + 1e-12
        assert (target, "gan", None) in ROWS
    assert all(row["spent"] <= row["epsilon"] for row in RESULT["wgan"])


def test_it_is_judged_as_the_others_are():
    entropy = {
        row["target"]: row["nll"] - row["kl"]
        for row in SAMPLING["boxed"]
        if row["method"] == "dpb tight"
    }
    for row in (*RESULT["rows"], *RESULT["wgan"]):
        assert row["nll"] - row["kl"] == pytest.approx(entropy[row["target"]], abs=1e-9)


def test_the_page_has_all_measures_with_standard_errors():
    page = (dpgan.ROOT / "docs" / "evidence" / "sampling.md").read_text()
    for target in ("ring", "mix1d"):
        row = ROWS[target, "dpgan", 10.0]
        for what, words in sampling_page.MEASURES.items():
            error = row[f"{what}_sd"] / RESULT["seeds"] ** 0.5
            shown = f"{row[what]:.3f} ({error:.3f}) |"
            lines = [line for line in page.splitlines() if f"| {words}: DPGAN, best" in line]
            assert any(line.endswith(shown) for line in lines)


@pytest.mark.parametrize("target", [ring(), mix1d()], ids=lambda target: target.name)
def test_the_target_itself_is_near_and_a_collapsed_law_is_not(target):
    draws = target.sample(dpgan.DRAWS, 5)
    own = dpgan.judged(target, draws)
    assert own["kl"] < 0.02
    assert own["modes"] == len(target.means)
    if target.dim == 2:
        collapsed = dpgan.judged(target, draws[draws[:, 0] > 3])
        assert collapsed["kl"] > 1
        assert collapsed["modes"] < 4


@pytest.mark.skipif(
    not (HOME / "dpgan" / "ready").exists(),
    reason="PyTorch and Opacus are not installed: make evidence NAME=dpgan makes their environment",
)
def test_training_spends_what_it_may_and_follows_its_seed():
    target = mix1d()
    one, none = dpgan.job(target, 1.0, 20, 3), dpgan.job(target, None, 20, 3)
    (first, cost), (again, _), (free, nothing) = dpgan.trained(
        [(target, one), (target, one), (target, none)]
    )
    assert first.shape == (dpgan.DRAWS, 1)
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)
    assert (first != free).any()
    assert 0.99 < cost["spent"] <= 1.0
    assert cost["sigma"] > 0
    assert nothing["sigma"] == 0
