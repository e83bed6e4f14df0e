"""Numbers as people read them: in print, and along axes."""

from __future__ import annotations

import numpy as np

from confide._types import Floats

SHOWN = 0.005
"""Share of people from which on a heap is shown."""


def number(value: float) -> str:
    """A number alone, at reading precision."""
    value = float(value)
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def percent(level: float) -> str:
    """A share or a confidence level as people write it."""
    return f"{100 * level:.4g} %"


def logarithmic(marks: Floats) -> bool:
    """Whether neighboring edges or points have a constant ratio, as on a log lattice."""
    if marks.size < 3 or not marks[0] > 0:
        return False
    steps = np.diff(np.log(marks))
    return bool(np.ptp(steps) < 1e-6 * steps.mean() and steps.sum() > 1e-3)
