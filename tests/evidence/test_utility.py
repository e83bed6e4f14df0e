"""A thinned run of the utility study: what must be reached, what must be worse, and the rates."""

from __future__ import annotations

import json

import numpy as np
import pytest
from evidence.printed import PrintedBernstein
from evidence.utility import defaults as utility_defaults
from evidence.utility import rates as utility_rates
from evidence.utility import study as utility
from evidence.utility.page import page
from evidence.utility.rates import on_cells
from evidence.utility.study import METHODS, POPULATIONS, build, divergence, score

from confide.curves import CellDensity
from confide.releases.bernstein import default_degree

RING, MIX = POPULATIONS
SIZES = (31_623, 125_893, 501_187)


def mean(population, name, epsilon, seeds=3, **parameters):
    recipe = build(population, METHODS[name], epsilon, **parameters)
    return float(np.mean([score(population, recipe, 500 + seed) for seed in range(seeds)]))


@pytest.mark.parametrize(
    ("epsilon", "cells", "figure"), [(0.1, 9, 0.274), (1.0, 18, 0.087), (10.0, 25, 0.057)]
)
def test_histograms_of_the_ring_reach_the_figures(epsilon, cells, figure):
    best = mean(RING, "histogram", epsilon, cells=cells)
    assert best < 1.1 * figure
    assert mean(RING, "histogram", epsilon) < 1.7 * best


def test_one_column_reaches_the_figures():
    assert mean(MIX, "histogram", 1.0, cells=60) < 1.15 * 0.010
    assert mean(MIX, "series", 1.0, seeds=6, terms=30) < 1.15 * 0.014
    assert mean(MIX, "series", 1.0, seeds=6) < 1.15 * 0.014
    assert mean(MIX, "KDE + process", 1.0, seeds=8, bandwidth=0.016) < 1.15 * 0.007
    assert mean(MIX, "Bernstein", 1.0) < 1.15 * 0.030


@pytest.mark.parametrize(("epsilon", "figure"), [(0.1, 0.390), (1.0, 0.194), (10.0, 0.171)])
def test_tight_sensitivity_and_clipping_beat_the_paper(epsilon, figure):
    ours = mean(RING, "Bernstein", epsilon)
    assert ours < 1.2 * figure
    widths = {0.1: (4, 0.15), 1.0: (10, 0.1), 10.0: (20, 0.07)}
    degree, bandwidth = widths[epsilon]
    paper = mean(RING, "DPB as in Husain et al.", epsilon, degree=degree, bandwidth=bandwidth)
    assert paper > 1.8 * ours
    assert (
        mean(RING, "DPB as in Husain et al.", epsilon, degree=default_degree(10_000, epsilon, 2))
        > paper
    )


def test_either_choice_alone_is_not_enough():
    def found(rule, positive):
        recipe = PrintedBernstein(
            MIX.lattice["x"],
            epsilon=1.0,
            degree=100,
            bandwidth=0.02,
            sensitivity_rule=rule,
            positive=positive,
        )
        return np.mean([score(MIX, recipe, seed) for seed in range(4)])

    ours, paper = found("tight", "clip"), found("sup", "shift")
    assert ours < found("tight", "shift") < paper
    assert ours < found("sup", "clip") < paper
    assert paper > 2 * ours


@pytest.fixture(scope="module")
def defaults():
    return utility_defaults.study(3, ("Beta(2, 5)", "two normals", "lognormal cut at 10"))


def test_defaults_are_near_the_best_tuning(defaults):
    # A factor for each release: over all rows on average, and for a single row at worst.
    for release, (typical, worst) in {
        "Histogram": (1.5, 3.5),
        "Series": (1.9, 5.0),
        "Bernstein": (1.3, 2.0),
    }.items():
        ratios = [row["default"] / row["best"] for row in defaults if row["release"] == release]
        assert np.exp(np.mean(np.log(ratios))) < typical
        assert max(ratios) < worst


@pytest.fixture(scope="module")
def rates():
    return utility_rates.rates(SIZES, seeds=4)


def test_errors_fall_at_the_minimax_rates(rates):
    for row in utility_rates.slopes(rates):
        assert row["se"] < 0.1
        assert not utility_rates.off(row), row


def test_a_fixed_number_of_cells_has_no_rate(monkeypatch):
    monkeypatch.setattr(
        utility_rates.Rate,
        "recipe",
        lambda rate: utility_rates.Histogram(utility_rates.UNIT, epsilon=10.0, cells=8),
    )
    monkeypatch.setattr(utility_rates, "RATES", utility_rates.RATES[:1])
    (row,) = utility_rates.slopes(utility_rates.rates(SIZES[:3], seeds=2))
    assert utility_rates.off(row)
    assert row["slope"] - row["theory"] > 0.4


def test_noise_fills_empty_cells():
    rows = utility_rates.clusters()
    for row in rows:
        assert 0.2 * row["empty"] < row["filled"] < 0.75 * row["empty"]
    many, few = rows[:2], rows[2:]
    assert many[0]["mass"] > 0.7
    assert many[1]["mass"] > 0.3
    assert all(row["default"] and row["mass"] < 0.15 for row in few)


def test_a_point_mass_is_not_learned():
    rows = utility_rates.point_mass((10**3, 10**5))
    assert rows[0]["cells"] < rows[1]["cells"]
    assert all(row["distance"] >= 0.5 for row in rows)


def test_the_score_itself():
    for population in POPULATIONS:
        exact = CellDensity((population.edges,) * population.columns, population.masses())
        # Mixing 1 % in costs at most -log(.99).
        assert 0 <= divergence(population, exact) < 0.0101
    uniform = CellDensity((np.array([MIX.low, MIX.high]),), np.ones(1))
    truth = MIX.masses()
    plain = np.sum(truth * np.log(truth * truth.size, where=truth > 0, out=0 * truth))
    assert divergence(MIX, uniform) == pytest.approx(plain)
    one = CellDensity((np.array([0.0, 0.3, 1.0]),), np.array([0.6, 0.4]))
    two = CellDensity(one.edges * 2, np.outer(one.masses, [0.1, 0.9]), names=("a", "b"))
    edges = np.linspace(0, 1, 8)
    assert on_cells(two, edges).sum(axis=1) == pytest.approx(on_cells(one, edges))
    assert on_cells(two, edges)[:2].sum(axis=0)[:2] == pytest.approx(
        2 / 7 / 0.3 * 0.6 * np.full(2, 0.1 / 7 / 0.3)
    )


def test_synthetic_data_sets_are_nearer_at_the_rate_of_the_notes():
    rows = utility_rates.synthetic(6, (300, 1200, 6000))
    slopes = utility_rates.synthetic_slopes(rows)
    for rule in ("0.5 n^0.67", "0.5 n^0.67, 512 cells"):
        slope, error = slopes[rule]
        assert slope + 3 * error < -1 / 3


def test_other_powers_are_as_good_as_that_of_the_notes():
    rows = utility_rates.synthetic(12, (300, 1200, 6000), (None,))
    # All fall like n^(-1/2), so that no power is better in the long run.
    for slope, error in utility_rates.synthetic_slopes(rows).values():
        assert slope == pytest.approx(-1 / 2, abs=0.05 + 3 * error)
    last = {utility_rates.rule_of(row): row for row in rows if row["n"] == 6000}
    own = last["0.5 n^0.67"]
    for rule in ("2 n^0.50", "0.125 n^0.83"):
        assert last[rule]["distance"] < own["distance"] + 3 * np.hypot(last[rule]["se"], own["se"])
    # With the same factor in front the middle power is the least of three.
    assert own["distance"] == min(last[f"0.5 n^{p}"]["distance"] for p in ("0.50", "0.67", "0.83"))


def test_a_gaussian_process_costs_nothing_of_the_rate():
    slopes = utility_rates.process_slopes(utility_rates.processes(6, (1_000, 10_000, 100_000)))
    (plain, a), (private, b) = slopes["open"], slopes["released"]
    assert plain == pytest.approx(-0.8, abs=0.08 + 3 * a)
    assert private < plain + 3 * np.hypot(a, b)


def test_the_page_is_made_of_the_results():
    result = json.loads((utility.ROOT / "evidence" / "utility" / "results.json").read_text())
    assert page(result) == (utility.ROOT / "docs" / "evidence" / "utility.md").read_text()


def test_the_record_is_of_the_releases_as_they_are():
    """A new noise or another order of draws makes it old: run the parts that differ again."""
    record = json.loads((utility.ROOT / "evidence" / "utility" / "results.json").read_text())
    seeds = record["seeds"]
    (process,) = utility_rates.processes(3 * seeds, (1000,))
    assert process == pytest.approx(record["processes"][0], rel=1e-6)
    synthetic = utility_rates.synthetic(3 * seeds, (300,))
    assert [one["distance"] for one in synthetic] == pytest.approx(
        [one["distance"] for one in record["synthetic"] if one["n"] == 300], rel=1e-6
    )
    for row in record["divergence"]:
        if (row["population"], row["epsilon"]) == ("mix1d", 1.0):
            population, method = utility.POPULATIONS[1], utility.METHODS[row["method"]]
            recipe = utility.build(population, method, row["epsilon"])
            found = [utility.score(population, recipe, seed) for seed in range(seeds)]
            assert np.mean(found) == pytest.approx(row["default"], rel=1e-6), row["method"]


def test_thin_run_writes_nothing(monkeypatch, rates, defaults):
    def refused(*_: object) -> None:
        raise AssertionError("a thin run wrote")

    monkeypatch.setattr(utility_rates, "pictures", refused)
    monkeypatch.setattr(utility.Path, "write_text", refused)
    monkeypatch.setattr(utility_rates, "rates", lambda *_: rates)
    found = []
    monkeypatch.setattr("builtins.print", found.append)
    assert utility.main(["--thin"]) == 0
    row = next(each for each in found if "parameters" in each)
    synthetic, processes = utility_rates.synthetic(2, (300, 600)), utility_rates.processes(2)
    text = page(
        {
            "n": 10_000,
            "seeds": 2,
            "divergence": [row],
            "defaults": defaults,
            "slopes": utility_rates.slopes(rates),
            "clusters": utility_rates.clusters(),
            "point": utility_rates.point_mass((10**3,)),
            "synthetic": synthetic,
            "synthetic_slopes": utility_rates.synthetic_slopes(synthetic),
            "processes": processes,
            "process_slopes": utility_rates.process_slopes(processes),
        }
    )
    assert f"{row['default']:.3f}" in text
    assert "never below one half" in text
