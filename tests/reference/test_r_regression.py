"""Nadaraya-Watson estimates of an R package, on the same numbers.

The files were made with R 4.2.2 and deconvolve 0.1.0 on simulated data W = X + U, Y = g(X) + noise:
``deconvolve::reg_deconvolve(Y = y, W1 = w, xx = x, errortype = "laplace", sd_U = sd_U,
bw = h_fixed, rho = rho_fixed)`` (``"normal"`` likewise): product/max(density, rho) with the kernel
whose transform is (1 - t**2)**3.
"""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from confide.estimators.kernel import KernelRegression
from confide.foreign import Spectrum
from confide.foreign import noise_laws as noise

DATA = Path(__file__).parent / "data"
with (DATA / "regression_cases.csv").open() as _file:
    CASES = {row["id"]: row for row in csv.DictReader(_file)}


def columns(name, *keys):
    with gzip.open(DATA / name, "rt") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in keys}


def estimates(case):
    with gzip.open(DATA / "regression_estimates.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["id"] == case]
    assert {row["method"] for row in rows} == {"nw_fixed"}
    return np.array([[float(row["x"]), float(row["value"])] for row in rows]).T


@pytest.mark.filterwarnings("ignore:The estimated density")
@pytest.mark.parametrize("case", sorted(CASES))
def test_estimate_at_the_same_bandwidth_and_floor(case):
    row = CASES[case]
    sd = float(row["sd_U"])
    law = noise.Gaussian(scale=sd)
    if row["error"] == "laplace":
        law = noise.Laplace(scale=sd / math.sqrt(2))
    numbers = columns(f"{case}.csv.gz", "w", "y")
    spectrum = Spectrum.of(numbers["w"], noise=law, response=numbers["y"])
    estimator = KernelRegression(
        kernel="fan",
        bandwidth=float(row["h_fixed"]),
        floor=float(row["rho_fixed"]),
        clip=False,
    )
    x, expected = estimates(case)
    assert x.size > 50
    np.testing.assert_allclose(estimator.fit(spectrum).predict(x), expected, rtol=0, atol=1e-8)
