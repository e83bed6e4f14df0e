"""Choosing the noise: against one sort of the values."""

from __future__ import annotations

import numpy as np

import confide as cf
from bench.clock import Row, best, sort
from confide.gamma.designer import optimal_gamma

LIMIT = 25.0


def rows() -> list[Row]:
    generator = np.random.default_rng(1)
    populations = {
        "normal": generator.normal(size=10**6),
        "exponential": generator.exponential(size=10**6),
        "uniform": generator.random(10**6),
        "Student's t, 3 degrees of freedom": generator.standard_t(3, size=10**6),
    }
    table = []
    for name, values in populations.items():
        ours, yard = best(lambda v=values: optimal_gamma(v), lambda v=values: sort(v), rounds=3)
        what = f"optimal_gamma with its bootstrap, 1e6 {name} values"
        table.append(Row(what, "a stable sort of the same", ours / yard, LIMIT))

    mechanism = cf.TwoSidedGamma(cf.Lattice(low=0, high=1, size=1024), shape=0.8, scale=1.0)
    ours, yard = best(
        lambda: mechanism.law.divergence(1.0), lambda: sort(populations["uniform"]), rounds=3
    )
    what = "exact delta of two-sided gamma noise, all pairs of 1,024 cells"
    return [*table, Row(what, "a stable sort of 1e6 floats", ours / yard, LIMIT)]
