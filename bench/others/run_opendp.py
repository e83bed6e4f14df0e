"""Exact integer Laplace noise of scale 1023, by the vector."""

import numpy as np
import opendp.prelude as dp
from timing import best, tell

dp.enable_features("contrib")
domain = dp.vector_domain(dp.atom_domain(T="i64"))
laplace = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=1023.0)
values = np.random.default_rng(1).integers(0, 1024, 100_000)
tell("opendp", 10 * best(lambda: laplace(values)))
