"""Private reports: against the entropy that they need, and against OpenDP."""

from __future__ import annotations

import os

import numpy as np

import confide as cf
from bench import peers
from bench.clock import Row, best


def rows() -> list[Row]:
    lattice = cf.Lattice(low=0, high=1, size=1024)
    values = np.random.default_rng(1).random(1_000_000)
    peer, version = peers.run("opendp", peers.OPENDP)
    table = []
    for mechanism in (cf.Laplace(lattice, epsilon=1.0), cf.SquareWave(lattice, epsilon=1.0)):
        mechanism.privatize(values[:10])
        ours, entropy = best(lambda m=mechanism: m.privatize(values), lambda: os.urandom(8_000_000))
        what = f"privatize 1e6 values, {mechanism.name}"
        table.append(Row(what, "reading 8e6 bytes of OS entropy", ours / entropy, 4.0))
        table.append(Row(what, f"{version}, integer vector Laplace, 1e6", ours / peer, 0.01))
    return table
