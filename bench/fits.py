"""The default estimate of a density, against one sort and against the default before it.

And its intervals against a sort.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from evidence.sharper import frozen

import confide as cf
from bench.clock import Row, best, sort
from bench.density import LATTICE, huge
from confide.estimators import Adaptive

UNIT = "a stable sort of 1e6 floats"
FORMER = "the former default: EM with a smoothing chosen by cross-validation"
QUARTER = 17.5
"""Sorts in a quarter of the 5 s that these intervals took at least, for any number of respondents,
before they were made faster."""


def heaped(n: int) -> cf.Counts:
    """A summary in which half of the answers are multiples of .05."""
    mechanism = cf.SquareWave(LATTICE, epsilon=4.0)
    values = np.random.default_rng(1).beta(3, 5, 10**6)
    values[::2] = np.round(values[::2] * 20) / 20
    cells = np.bincount(LATTICE.index(values), minlength=LATTICE.size)
    shares = mechanism.law.forward(cells / 10**6)
    drawn = np.random.default_rng(2).multinomial(n, shares / shares.sum())
    return cf.Counts(mechanism, drawn.astype(np.int64), simulated=True)


def intervals(density: cf.curves.CellDensity) -> None:
    """What a careful reader asks of a density, with nothing kept from before."""
    fresh = replace(density, intervals=replace(density.intervals))
    fresh.interval("mean")
    fresh.interval("quantile", [0.1, 0.25, 0.5, 0.75, 0.9])
    fresh.band()


def rows() -> list[Row]:
    floats = np.random.default_rng(3).random(1_000_000)
    jobs = []
    for kind in (cf.SquareWave, cf.Laplace):
        mechanism = kind(LATTICE, epsilon=1.0)
        for n, limit, times in ((10**3, 0.5, 5.0), (10**5, 0.5, 3.0), (10**8, 2.0, 1.0)):
            jobs.append(
                (f"{mechanism.name}, n = 1e{len(str(n)) - 1}", huge(mechanism, n), limit, times)
            )
    jobs.append(
        ("square-wave at epsilon 4, half of the answers round, n = 1e6", heaped(10**6), 10.0, 8.0)
    )
    table = []
    for name, counts, limit, times in jobs:
        ours, former, yard = best(
            lambda c=counts: Adaptive().fit(c),
            lambda c=counts: frozen.masses(c.mechanism.law, c.total),
            lambda: sort(floats),
            rounds=9,
            clock=time.process_time,
        )
        what = f"the default estimate, {name}, 1024 cells"
        table.append(Row(what, UNIT, ours / yard, limit))
        table.append(Row(what, FORMER, ours / former, times))
    wave = cf.SquareWave(LATTICE, epsilon=1.0)
    for n in (10**3, 10**5, 10**8):
        density = cf.density(huge(wave, n))
        ours, yard = best(
            lambda d=density: intervals(d),
            lambda: sort(floats),
            rounds=3,
            clock=time.process_time,
        )
        power = f"1e{len(str(n)) - 1}"
        what = (
            f"its intervals of the mean and five quantiles and its band, square-wave, n = {power}"
        )
        table.append(Row(f"{what}, 1024 cells", UNIT, ours / yard, QUARTER))
    return table
