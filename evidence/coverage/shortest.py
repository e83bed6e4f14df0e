"""How narrow an interval can be on average if it is to hold the truth whatever the population is.

An interval that holds a quantile in 93 % of surveys of every population leaves out a place x only
where a test would reject all populations whose quantile is x, at a level of 7 %. By Neyman and
Pearson no test finds the true population unlike the nearest of those more often than the likelihood
ratio of the two does: with a chance of Phi(d - 1.476), where n times the chi-square distance of
their reports is d^2. So x is in the interval with a chance of at least Phi(1.476 - d(x)), and the
sum of these over x is the least mean width. The nearest population is a least-squares problem with
weights that are not negative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtr, ndtri

MOST_PLACES = 256
EXACT = 1e4
"""Weight of the two equations that a population with the quantile at x has to meet."""
SMALL = 0.002


def distance(law: np.ndarray, masses: np.ndarray, edge: int, share: float) -> float:
    """From the reports of a population to those of the nearest that has a share below an edge.

    Parameters
    ----------
    law
        Of reports given a place, as `scaled` has it.
    masses
        Of the population in each place.
    edge
        Number of places below.
    share
        Of people below.
    """
    places = masses.size
    below = (np.arange(places) < edge).astype(float)
    table = np.vstack([law, EXACT * np.ones(places), EXACT * below])
    found, _ = nnls(table, np.append(law @ masses, [EXACT, EXACT * share]), maxiter=20 * places)
    return float(np.linalg.norm(law @ (found - masses)))


def scaled(law: np.ndarray, masses: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The law of reports given few places, in standard deviations of a survey, and the masses.

    Populations that have the true shape inside each of the few places are some of all, so a width
    that holds for them is no larger than one that holds for all. Reports must not be joined: a test
    that sees all of them finds more. They are turned to as many directions as there are places,
    which keeps all distances.
    """
    chances = law @ masses
    together = math.ceil(masses.size / MOST_PLACES)
    parts = masses.reshape(-1, together)
    sums = parts.sum(axis=1)
    inside = np.where(sums[:, None] > 0, parts / np.maximum(sums, 1e-300)[:, None], 1 / together)
    joined = (law.reshape(law.shape[0], -1, together) * inside).sum(axis=2)
    return np.linalg.qr(np.sqrt(n / chances)[:, None] * joined, mode="r"), sums


def width(
    law: np.ndarray, masses: np.ndarray, n: int, *, share: float, at: float, cover: float
) -> float:
    """Least mean width of an interval of one quantile, on [0, 1].

    Parameters
    ----------
    law, masses
        Reports given a cell, and the population.
    n
        People.
    share, at
        The quantile and where it lies.
    cover
        Part of the surveys of every population in which the interval holds it.
    """
    table, sums = scaled(law, masses, n)
    places, z = sums.size, float(ndtri(cover))
    total = 0.0
    for step in (-1, 1):
        last, chance = at * places, 1.0
        edge = math.floor(last) if step < 0 else math.ceil(last)
        while 0 < edge < places and chance > SMALL:
            chance = min(chance, float(ndtr(z - distance(table, sums, edge, share))))
            # Everywhere between two edges the chance is at least that at the farther one.
            total += abs(edge - last) * chance
            last, edge = edge, edge + step
    return total / places


def measured(
    chosen: list[Any], quantile: Any, shares: tuple[float, ...], cover: float
) -> list[Any]:
    """Least widths of each case, by quantile."""
    rows = []
    for case in chosen:
        edges = case.lattice.edges
        masses = np.diff(case.population.below(edges))
        law = case.channel.law.matrix()
        widths = [
            width(law, masses, case.n, share=q, at=quantile(case.population, q), cover=cover)
            for q in shares
        ]
        rows.append(
            {
                "population": case.population.name,
                "n": case.n,
                "epsilon": case.epsilon,
                "size": case.size,
                "cover": cover,
                "widths": [round(one, 6) for one in widths],
            }
        )
    return rows
