"""Regressions: against one sort, and against the formula of a paper summed directly."""

from __future__ import annotations

import warnings

import numpy as np

import confide as cf
from bench.clock import Row, best, sort
from confide.errors import ConfideWarning
from confide.estimators.kernel import KernelRegression
from confide.estimators.ratio import RatioRegression
from confide.foreign import Spectrum
from confide.foreign.noise_laws import Laplace


def direct(z: np.ndarray, y: np.ndarray, x: np.ndarray, b: float, h: float) -> np.ndarray:
    """Farokhi (2020), eq. (7), with the adjusted Cauchy kernel as printed."""
    u = (x[:, None] - z) / h
    ratio = (b / h) ** 2
    weight = 1 / (1 + u**2) - ratio * 8 * u**2 / (u**2 + 1) ** 3 + ratio * 2 / (u**2 + 1) ** 2
    return (weight @ y) / weight.sum(axis=1)


def rows() -> list[Row]:
    warnings.simplefilter("ignore", ConfideWarning)
    rng = np.random.default_rng(1)
    x = rng.beta(2, 5, 1_000_000)
    y = np.sin(6 * x) + rng.normal(0, 0.3, x.size)
    lattice = cf.Lattice(low=0, high=1, size=1024)
    unit, floats = "a stable sort of 1e6 floats", rng.random(1_000_000)
    laplace, wave = cf.Laplace(lattice, epsilon=2.0), cf.SquareWave(lattice, epsilon=2.0)
    reports = {m: cf.Counts.of(m.simulate(x, seed=1), response=y) for m in (laplace, wave)}
    jobs = [
        ("ratio regression, smoothing .1", RatioRegression(smoothing=0.1), wave, 20.0),
        ("ratio regression, smoothing .1", RatioRegression(smoothing=0.1), laplace, 20.0),
        ("kernel regression, plug-in", KernelRegression(bandwidth="plug-in"), laplace, 30.0),
        (
            "kernel regression, corrected cross-validation",
            KernelRegression(bandwidth="corrected-cv"),
            laplace,
            30.0,
        ),
    ]
    table = []
    for name, estimator, mechanism, limit in jobs:
        counts = reports[mechanism]
        ours, yard = best(lambda e=estimator, c=counts: e.fit(c), lambda: sort(floats), rounds=3)
        what = f"{name}, {mechanism.name}, 1024 cells, n = 1e6"
        table.append(Row(what, unit, ours / yard, limit))

    z, few = x[:10_000] + rng.laplace(0, 0.1, 10_000), y[:10_000]
    spectrum = Spectrum.of(z, noise=Laplace(scale=0.1), response=few, low=0, high=1)
    places = np.linspace(0, 1, 512)
    estimator = KernelRegression(kernel="cauchy", bandwidth=0.05, clip=False)
    ours, yard = best(
        lambda: estimator.fit(spectrum).predict(places), lambda: direct(z, few, places, 0.1, 0.05)
    )
    what = "kernel regression of 1e4 floats at 512 places, fit included"
    table.append(Row(what, "eq. (7) summed directly", ours / yard, 1.0, peer=True))
    return table
