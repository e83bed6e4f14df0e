"""Floating-point Laplace noise: fast, and its low bits give the value away (Mironov, 2012)."""

import numpy as np
from timing import best, tell

generator = np.random.default_rng(1)
values = generator.integers(0, 1024, 1_000_000)
tell("numpy", best(lambda: values + generator.laplace(0, 1023, values.size), rounds=7))
