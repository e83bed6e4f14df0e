"""Small built-in populations, made from formulas, without downloads and without real people."""

from __future__ import annotations

import numpy as np

from confide import _checks
from confide._types import Floats

PAY_LOW, PAY_HIGH = 0.0, 300_000.0
"""Public bounds that suit `pay`."""


def pay(n: int = 20_000, *, seed: int = 7) -> Floats:
    """Yearly pay of a made-up company: many clerks, fewer managers, a long upper tail.

    Parameters
    ----------
    n
        Number of people.
    seed
        Seed of the made-up company: each gives another one.

    Examples
    --------
    >>> pay(3).round()
    array([...])
    """
    n = _checks.integer(1, n=n)
    generator = np.random.default_rng(_checks.integer(0, seed=seed))
    manager = generator.random(n) < 0.3
    clerks = 42_000 * np.exp(0.30 * generator.standard_normal(n))
    managers = 125_000 * np.exp(0.22 * generator.standard_normal(n))
    return np.where(manager, managers, clerks)
