"""Estimates: against a kernel density that does not deconvolve, and against one sort."""

from __future__ import annotations

import numpy as np

import confide as cf
from bench import peers
from bench.clock import Row, best

LATTICE = cf.Lattice(low=0, high=1, size=1024)


def huge(mechanism: cf.mechanisms.Mechanism, n: int = 10**8) -> cf.Counts:
    """A summary of n reports, drawn as a whole."""
    masses = np.random.default_rng(1).beta(2, 5, 10**6)
    shares = mechanism.law.forward(np.bincount(LATTICE.index(masses), minlength=1024) / 10**6)
    drawn = np.random.default_rng(2).multinomial(n, shares / shares.sum())
    return cf.Counts(mechanism, drawn.astype(np.int64), simulated=True)


def rows() -> list[Row]:
    laplace, wave = cf.Laplace(LATTICE, epsilon=1.0), cf.SquareWave(LATTICE, epsilon=1.0)
    deconvolution = cf.estimators.Deconvolution()
    table = []

    values = np.random.default_rng(1).beta(2, 5, 10_000_000)
    reports = laplace.simulate(values, seed=1)
    peer, version = peers.run("KDEpy", peers.KDEPY)
    (ours,) = best(lambda: deconvolution.fit(cf.Counts.of(reports)))
    table.append(
        Row("density of 1e7 reports, summary included", f"{version} FFTKDE, 1e7", ours / peer, 1.0)
    )

    floats = np.random.default_rng(3).random(1_000_000)
    sort = "numpy.sort of 1e6 floats"
    jobs = [("deconvolution", deconvolution, laplace, 2.0)]
    for mechanism in (laplace, wave):
        jobs += [
            (f"likelihood, smoothing {s:g}", cf.estimators.Likelihood(smoothing=s), mechanism, 10.0)
            for s in (0.0, 0.1, 1.0)
        ]
        jobs.append(("likelihood, smoothing chosen", cf.estimators.Likelihood(), mechanism, 100.0))
    for name, estimator, mechanism, limit in jobs:
        counts = huge(mechanism)
        ours, yard = best(lambda e=estimator, c=counts: e.fit(c), lambda: np.sort(floats), rounds=3)
        what = f"{name}, {mechanism.name}, 1024 cells, n = 1e8"
        table.append(Row(what, sort, ours / yard, limit))
    return table
