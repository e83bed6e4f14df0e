"""How the time grows with the number of reports and with the lattice."""

from __future__ import annotations

import numpy as np

import confide as cf
from bench.clock import Row, best
from bench.density import huge

SMALL, LARGE = 100_000, 10_000_000
FEW, MANY = 256, 4096


def rows() -> list[Row]:
    lattice = cf.Lattice(low=0, high=1, size=1024)
    mechanism = cf.SquareWave(lattice, epsilon=1.0)
    values = np.random.default_rng(1).random(LARGE)
    some, all_ = best(
        lambda: mechanism.privatize(values[:SMALL]), lambda: mechanism.privatize(values), rounds=3
    )
    table = [
        Row("privatize 1e7 values, which is 100 times as many", "1e5 of them", all_ / some, 150.0)
    ]
    reports = mechanism.simulate(values, seed=1)
    few = mechanism.simulate(values[:SMALL], seed=1)
    some, all_ = best(lambda: cf.Counts.of(few), lambda: cf.Counts.of(reports))
    table.append(
        Row("counts of 1e7 reports, which is 100 times as many", "1e5 of them", all_ / some, 200.0)
    )
    jobs = (("deconvolution", cf.estimators.Deconvolution(), cf.Laplace),)
    jobs += tuple(
        ("likelihood, smoothing chosen", cf.estimators.Likelihood(), kind)
        for kind in (cf.Laplace, cf.SquareWave)
    )
    for name, estimator, kind in jobs:
        counts = [
            huge(kind(cf.Lattice(low=0, high=1, size=size), epsilon=1.0)) for size in (FEW, MANY)
        ]
        some, all_ = best(*(lambda c=c, e=estimator: e.fit(c) for c in counts), rounds=3)
        what = f"{name}, {kind.name}, {MANY} cells, which is {MANY // FEW} times as many"
        table.append(Row(what, f"{FEW} cells", all_ / some, 4.0 * MANY / FEW))
    return table
