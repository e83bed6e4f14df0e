"""Private reports: against the entropy that they need, and against other people's noise."""

from __future__ import annotations

import os

import numpy as np

import confide as cf
from bench import peers
from bench.clock import Row, against, best

# By whom, what they do, and how much of their time ours may take.
PEERS = (
    ("opendp", "exact integer Laplace by the vector", 0.01),
    ("diffprivlib", "geometric noise, one at a time", 0.05),
    ("python-dp", "secure Laplace, one at a time", 0.1),
    ("numpy", "float Laplace, which is not private", 10.0),
)


def rows() -> list[Row]:
    lattice = cf.Lattice(low=0, high=1, size=1024)
    values = np.random.default_rng(1).random(1_000_000)
    table = []
    for mechanism in (cf.Laplace(lattice, epsilon=1.0), cf.SquareWave(lattice, epsilon=1.0)):
        mechanism.privatize(values[:10])
        ours, entropy = best(lambda m=mechanism: m.privatize(values), lambda: os.urandom(8_000_000))
        what = f"privatize 1e6 values, {mechanism.name}"
        table.append(Row(what, "reading 8e6 bytes of OS entropy", ours / entropy, 1.25))
        for name, work, limit in PEERS:
            table.append(against(what, peers.run(name), f"{work}, 1e6", ours, limit))
    return table
