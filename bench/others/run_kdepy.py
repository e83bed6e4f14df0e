"""Kernel density of ten million values that are not noised."""

import numpy as np
from KDEpy import FFTKDE
from timing import best, tell

values = np.random.default_rng(1).beta(2, 5, 10_000_000)
tell("KDEpy", best(lambda: FFTKDE(kernel="gaussian", bw=0.01).fit(values).evaluate()))
