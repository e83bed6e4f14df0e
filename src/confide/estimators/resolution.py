"""Resolution: the finest waves of a density that reports can show."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from confide._types import Floats

TOLD = 20.0
"""Respondents times Fisher information from which on a wave of the density counts as told."""


@lru_cache(maxsize=8)
def waves(places: int, most: int) -> Floats:
    """Cosines of 1, 2, ... half periods between the bounds, as masses of places."""
    numbers = np.arange(1, min(most, places - 1) + 1)
    x = (np.arange(places) + 0.5) / places
    table: Floats = math.sqrt(2) * np.cos(math.pi * np.multiply.outer(x, numbers)) / places
    table.flags.writeable = False
    return table


def wave_information(law: Floats, waved: Floats) -> Floats:
    """Information of one report about each wave of a density that is even.

    Parameters
    ----------
    law
        Bins of reports by places.
    waved
        Bins of reports by waves: what each wave does to them.
    """
    even = np.maximum(law.mean(axis=1), 1e-300)
    found: Floats = (waved**2 / even[:, None]).sum(axis=0)
    found.flags.writeable = False
    return found


def told(law: Floats, waved: Floats, n: float) -> int:
    """How many waves of a density the reports of n people can tell from none."""
    return count(wave_information(law, waved), n)


def count(information: Floats, n: float) -> int:
    """Number of waves that n reports can tell, from the information of one report about each."""
    return int(np.count_nonzero(n * information > TOLD))
