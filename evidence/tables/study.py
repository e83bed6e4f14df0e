"""Private samples of tables with words: uniform and public references.

python -m evidence tables [--adult PATH] [--seeds 20]

A respondent holds some records of Adult (https://archive.ics.uci.edu, data set 2). What one sample
reveals of them is known exactly, so that divergences are computed from the weights and not from
draws; they are from the shares of all other records of the file, which nobody but us has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from confide.lattice import Axis, Lattice
from confide.sampling import FiniteMollifier, public_masses
from evidence.models.study import ADULT, DATA, read

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "evidence" / "tables.md"
EPSILONS = (0.5, 1.0, 2.0, 5.0)
RECORDS = 2000
PUBLIC = (100, 1000, 10_000)
COLUMNS: dict[str, Axis] = {
    **{name: ADULT[name] for name in ("sex", "race", "income_gt_50k")},
    "age": Lattice(low=17, high=91, size=10),
    "hours_per_week": Lattice(low=0, high=100, size=10),
}

PREFACE = """# Samples of tables with words

Written by `make evidence NAME=tables`; `evidence/tables/results.json` has every number. A
respondent holds {records:,} records of Adult with five columns: sex, race, income above 50,000,
age and hours. They have {cells:,} cells in all. A sample of them is drawn near a [public
reference](../how-to/sample-tables.md). The reference is uniform, or learned from other records of
the file that count as public. The tables show the Kullback-Leibler divergence of the law of one
sample from the shares among the remaining records. Figures are means over {seeds} seeds, with
standard errors in brackets. A sample of epsilon 0 would have the divergence of the reference.

"""


TAIL = """
The reference matters more than epsilon: 100 public records are worth more than epsilon 5 with a
uniform reference. With a good reference, a larger epsilon makes samples worse. They then follow the
respondent's own records, one per cell on average, and not the population.
"""


def divergence(truth: Any, weights: Any) -> float:
    """How far a law is from the shares that are true."""
    seen = truth > 0
    law = np.asarray(weights, dtype=np.float64)
    return float(truth[seen] @ np.log(truth[seen] / (law / law.sum())[seen]))


def cells(table: dict[str, Any], seed: int) -> dict[str, list[float]]:
    """Divergences by reference: that of the reference, and one for each epsilon."""
    order = np.random.default_rng(seed).permutation(len(table["age"]))
    plain = FiniteMollifier(COLUMNS, epsilon=1.0)
    others = _picked(table, order[RECORDS + max(PUBLIC) :])
    truth = np.bincount(plain.index(others), minlength=plain.outcomes) / len(others["age"])
    private = _picked(table, order[:RECORDS])
    found = {}
    for known in (0, *PUBLIC):
        masses = None
        if known:
            public = _picked(table, order[RECORDS : RECORDS + known])
            masses = public_masses(COLUMNS, public)
        samplers = [FiniteMollifier(COLUMNS, epsilon=each, reference=masses) for each in EPSILONS]
        found[str(known)] = [
            divergence(truth, samplers[0].band.reference),
            *(divergence(truth, sampler.weights(private)) for sampler in samplers),
        ]
    return found


def _picked(table: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: column[rows] for name, column in table.items()}


def markdown(result: dict[str, Any]) -> str:
    """The page."""
    text = PREFACE.format(**result)
    heads = ["the reference", *(f"epsilon {each:g}" for each in EPSILONS)]
    text += f"| reference | {' | '.join(heads)} |\n|---{'|---:' * len(heads)}|\n"
    for known, row in result["rows"].items():
        name = f"{int(known):,} public records" if int(known) else "all cells alike"
        shown = (f"{mean:.3f} ({error:.3f})" for mean, error in row)
        text += f"| {name} | {' | '.join(shown)} |\n"
    return text + TAIL


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and write its record and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, default=DATA / "adult.csv")
    parser.add_argument("--seeds", type=int, default=20)
    chosen = parser.parse_args(arguments)
    if not chosen.adult.exists():
        print(f"{chosen.adult} is not there: nothing was run.")
        return 0
    table = read(chosen.adult, COLUMNS)
    several = [cells(table, seed) for seed in range(chosen.seeds)]
    rows = {}
    for known in several[0]:
        own = np.array([each[known] for each in several])
        errors = own.std(axis=0, ddof=1) / np.sqrt(len(own))
        rows[known] = list(zip(own.mean(axis=0).tolist(), errors.tolist(), strict=True))
    outcomes = FiniteMollifier(COLUMNS, epsilon=1.0).outcomes
    result = {"seeds": chosen.seeds, "records": RECORDS, "cells": outcomes, "rows": rows}
    (HERE / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    PAGE.write_text(markdown(result))
    return 0
