"""The work of the frequency oracles: 32 categories, epsilon 1, 20,000 respondents, five times."""

import numpy as np

SIZE, EPSILON, N, TIMES = 32, 1.0, 20_000, 5
SHARES = np.arange(1, SIZE + 1) / (SIZE * (SIZE + 1) / 2)
ANSWERS = [np.random.default_rng(seed).choice(SIZE, N, p=SHARES) for seed in range(TIMES)]


def error(estimates):
    """Root mean squared error of shares against those that were really answered."""
    true = [np.bincount(answers, minlength=SIZE) / N for answers in ANSWERS]
    return float(np.sqrt(np.mean((np.array(estimates) - true) ** 2)))
