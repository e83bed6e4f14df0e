"""Estimates: against kernel densities that do not deconvolve, a sum, and one sort."""

from __future__ import annotations

import numpy as np

import confide as cf
from bench import peers
from bench.clock import Row, against, best, sort

LATTICE = cf.Lattice(low=0, high=1, size=1024)


def huge(mechanism: cf.mechanisms.Mechanism, n: int = 10**8) -> cf.Counts:
    """A summary of n reports, drawn as a whole."""
    masses = np.random.default_rng(1).beta(2, 5, 10**6)
    (lattice,) = mechanism.axes.values()
    cells = np.bincount(lattice.index(masses), minlength=lattice.size)
    shares = mechanism.law.forward(cells / 10**6)
    drawn = np.random.default_rng(2).multinomial(n, shares / shares.sum())
    return cf.Counts(mechanism, drawn.astype(np.int64), simulated=True)


def direct(z: np.ndarray, places: np.ndarray, noise: float, bandwidth: float) -> np.ndarray:
    """The deconvolving Gaussian kernel for Laplace noise, summed over the reports (Fan, 1991)."""
    total = np.zeros(places.size)
    for part in np.array_split(z, 100):
        u = (places[:, None] - part) / bandwidth
        kernel = np.exp(-(u**2) / 2) * (1 + (noise / bandwidth) ** 2 * (1 - u**2))
        total += kernel.sum(axis=1)
    return total / (np.sqrt(2 * np.pi) * bandwidth * z.size)


def rows() -> list[Row]:
    laplace, wave = cf.Laplace(LATTICE, epsilon=1.0), cf.SquareWave(LATTICE, epsilon=1.0)
    deconvolution = cf.estimators.Deconvolution()
    table = []

    values = np.random.default_rng(1).beta(2, 5, 10_000_000)
    reports = laplace.simulate(values, seed=1)
    peer = peers.run("KDEpy")
    (ours,) = best(lambda: deconvolution.fit(cf.Counts.of(reports)))
    what = "density of 1e7 reports, summary included"
    table.append(against(what, peer, "FFTKDE of 1e7 values without noise", ours))

    few, places = laplace.simulate(values[:100_000], seed=1), np.linspace(0, 1, 1024)
    noised = values[:100_000] + np.random.default_rng(1).laplace(0, 1, 100_000)
    ours, summed = best(
        lambda: deconvolution.fit(cf.Counts.of(few)).pdf(places),
        lambda: direct(noised, places, 1.0, 0.4),
        rounds=3,
    )
    what = "density of 1e5 reports at 1,024 places, summary included"
    table.append(Row(what, "the formula summed directly", ours / summed, 1.0, peer=True))
    for name, work in (("scipy", "gaussian_kde"), ("scikit-learn", "KernelDensity")):
        table.append(against(what, peers.run(name), f"{work} of values without noise", ours))

    floats = np.random.default_rng(3).random(1_000_000)
    unit = "a stable sort of 1e6 floats"
    jobs = [("deconvolution", deconvolution, laplace, 2.0)]
    for mechanism in (laplace, wave):
        jobs += [
            (f"likelihood, smoothing {s:g}", cf.estimators.Likelihood(smoothing=s), mechanism, 10.0)
            for s in (0.0, 0.1, 1.0)
        ]
        jobs.append(("likelihood, smoothing chosen", cf.estimators.Likelihood(), mechanism, 15.0))
    for name, estimator, mechanism, limit in jobs:
        counts = huge(mechanism)
        ours, yard = best(lambda e=estimator, c=counts: e.fit(c), lambda: sort(floats), rounds=3)
        what = f"{name}, {mechanism.name}, 1024 cells, n = 1e8"
        table.append(Row(what, unit, ours / yard, limit))
    return table
