"""Whether the time of a private draw tells two data sets apart."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from confide.exact.entropy import SystemEntropy
from confide.sampling import Gaussian, Mollifier


def draw_times(draws: int = 10_000, *, epsilon: float = 5.0, seed: int = 1) -> dict[str, Any]:
    """Times of single draws for two extreme data sets, taken in random order.

    One data set is a single point repeated, the other looks like the reference itself: all the
    weight that the band allows on few atoms, and even weights. ``auc`` is the share of pairs in
    which a draw of the first took longer (ties count a half): 0.5 where time tells nothing.
    """
    rng = np.random.default_rng(seed)
    sampler = Mollifier(reference=Gaussian(dim=2), epsilon=epsilon, seed=seed)
    data = {"point": np.ones((10_000, 2)), "reference": rng.normal(size=(10_000, 2))}
    weights = [sampler.weigh(sampler.law_of(records).log_ratio) for records in data.values()]
    order = rng.permutation(np.repeat([0, 1], draws))
    entropy, band = SystemEntropy(), sampler.band
    taken = np.empty(order.size)
    # A device holds one data set. Here both take one place in memory and are put there by the same
    # steps, so that what caches hold does not tell them apart.
    base, gap = weights[0], weights[1] - weights[0]
    own = np.empty_like(base)
    for at, which in enumerate(order):
        np.multiply(gap, which, out=own)
        own += base
        start = time.perf_counter_ns()
        band.draw(own, entropy, 1)
        taken[at] = time.perf_counter_ns() - start
    first, second = taken[order == 0], taken[order == 1]
    test = mannwhitneyu(first, second)
    medians = [float(np.median(part)) / 1e3 for part in (first, second)]
    return {
        "draws": draws,
        "atoms": sampler.size,
        "epsilon": epsilon,
        "median_us": dict(zip(data, medians, strict=True)),
        "auc": float(test.statistic / draws**2),
        "auc_sd": float(np.sqrt((2 * draws + 1) / (12 * draws**2))),
        "p": float(test.pvalue),
    }
