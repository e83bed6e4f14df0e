"""Densities and bandwidths of two R packages, on the same numbers.

The files were made with R 4.2.2 on simulated data W = X + U, by calls of this form:

- ``deconvolve_PI``: ``deconvolve::deconvolve(W1 = w, xx = x, errortype = "laplace", sd_U = sd_U)``
  (deconvolve 0.1.0; ``"normal"``, or ``phiU = function(t) (1 + theta^2 t^2)^-2`` for gamma2) at
  the bandwidth h_PI that ``bandwidth(W1 = w, errortype, sd_U, algorithm = "PI")`` returned;
  ``deconvolve_fixed``: the same with ``bw = h_fixed``. Negative values are set to 0.
- ``decon_pdf_fixed``: ``decon::DeconPdf(w, sig, x, error = "laplacian", bw = h_fixed)``
  (decon 1.3-4; ``"normal"`` likewise, there with the fan kernel); ``sig`` is the Laplace scale.
- ``decon_cdf_fixed``: ``decon::DeconCdf(w, sig, x, error, bw = h_fixed)``, cut at 0.
"""

from __future__ import annotations

import csv
import gzip
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from confide.estimators.bandwidths import named
from confide.estimators.deconvolution import Deconvolution
from confide.foreign import noise_laws as noise
from confide.foreign.spectrum import Spectrum

DATA = Path(__file__).parent / "data"
with (DATA / "density_cases.csv").open() as _file:
    CASES = {row["id"]: row for row in csv.DictReader(_file)}


@cache
def numbers(case):
    with gzip.open(DATA / f"{case}.csv.gz", "rt") as file:
        return np.array([float(row["w"]) for row in csv.DictReader(file)])


@cache
def estimates():
    table = {}
    with gzip.open(DATA / "density_estimates.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            pair = float(row["x"]), float(row["value"])
            table.setdefault((row["id"], row["method"]), []).append(pair)
    return {key: np.array(pairs).T for key, pairs in table.items()}


def spectrum(case):
    row = CASES[case]
    sd = float(row["sd_U"])
    if row["error"] == "laplace":
        law = noise.Laplace(scale=sd / math.sqrt(2))
    elif row["error"] == "normal":
        law = noise.Gaussian(scale=sd)
    else:
        theta = float(row["theta_gamma2"])
        law = noise.Custom(characteristic=lambda t: (1 + (theta * t) ** 2) ** -2.0, variance=sd**2)
    return Spectrum.of(numbers(case), noise=law)


@pytest.mark.parametrize(("case", "method"), sorted(estimates()))
def test_estimate_at_the_same_bandwidth(case, method):
    row = CASES[case]
    x, expected = estimates()[case, method]
    bandwidth = float(row["h_PI" if method == "deconvolve_PI" else "h_fixed"])
    gaussian = method.startswith("decon_") and row["error"] == "laplace"
    estimator = Deconvolution(
        kernel="gaussian" if gaussian else "fan", bandwidth=bandwidth, positive=False
    )
    density = estimator.fit(spectrum(case))
    value = density.cdf(x) if "cdf" in method else density.pdf(x)
    np.testing.assert_allclose(np.maximum(value, 0), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("case", sorted(CASES))
def test_plug_in_bandwidth_within_one_step_of_its_grid(case):
    w = numbers(case)
    kernel = named("fan")
    factor = 8 * math.sqrt(math.pi) * kernel.roughness / (3 * kernel.second_moment**2)
    naive = factor**0.2 * w.std(ddof=1) * w.size**-0.2
    step = (np.ptp(w) / 10 - naive / 3) / 100
    fitted = Deconvolution().fit(spectrum(case))
    assert fitted.bandwidth == pytest.approx(float(CASES[case]["h_PI"]), abs=step)


def test_cut_and_scaled_density_keeps_the_shape():
    case = "mixtrunc_laplace_nsr025_n500"
    row = CASES[case]
    x, expected = estimates()[case, "deconvolve_PI"]
    density = Deconvolution(bandwidth=float(row["h_PI"])).fit(spectrum(case))
    # R does not rescale: its mass after the cut is in the table.
    mass = float(row["mass_PI_clipped"])
    np.testing.assert_allclose(density.pdf(x) * mass, expected, rtol=0, atol=0.02)
    assert density.cdf(density.edges[0][-1]) == pytest.approx(1)
