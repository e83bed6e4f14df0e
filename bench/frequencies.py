"""Shares of categories: against other people's randomized response, its time and its error."""

from __future__ import annotations

import numpy as np

import confide as cf
from bench import peers
from bench.clock import Row, against, best
from bench.others import shares


def rows() -> list[Row]:
    labels = [f"c{at}" for at in range(shares.SIZE)]
    mechanism = cf.RandomizedResponse(labels, epsilon=shares.EPSILON)
    answers = [np.array(labels)[one] for one in shares.ANSWERS]

    def estimate(values: np.ndarray) -> np.ndarray:
        counts = cf.Counts.of(mechanism.privatize(values))
        return cf.estimators.CategoryShares().fit(counts).shares

    (ours,) = best(lambda: estimate(answers[0]))
    error = shares.error([estimate(one) for one in answers])
    what = f"{shares.SIZE} shares of {shares.N:,} answers, noise included"
    table = []
    for name in ("pure-ldp", "multi-freq-ldpy"):
        peer = peers.run(name)
        work = "randomized response of the same"
        table.append(against(what, peer, work, ours))
        ratio = None if peer.error is None else error / peer.error
        table.append(Row(f"{what}: the error", f"{peer}, its error", ratio, 1.25, peer=True))
    return table
