"""What private samples are compared with: the naive sampler and a curator's density."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from evidence.printed import PrintedBernstein
from evidence.sampling.targets import Mixture, scores

from confide import Laplace, Lattice, RandomizedResponse
from confide.mechanisms.joint import Joint
from confide.releases import Bernstein
from confide.sampling.naive import NaiveSampler

CELLS = (2, 4, 8, 16)
"""Cells along each axis that randomized response may take."""
DEGREES = (4, 8, 16, 32, 64, 120, 250, 500)


def naive(target: Mixture, epsilon: float) -> dict[str, float]:
    """A_R with Laplace noise on a box, epsilon shared equally among the axes."""
    size = len(target.boxed.edges[0]) - 1
    low, high = target.box
    part = Laplace(Lattice(low=low, high=high, size=size), epsilon=epsilon / target.dim)
    mechanism = part if target.dim == 1 else Joint({"x": part, "y": part})
    shares = target.boxed.masses.reshape((size,) * target.dim)
    law = NaiveSampler(mechanism).blurred(shares).ravel()
    return scores(target.boxed, lambda _: np.log(law / target.boxed.volume))


def responded(target: Mixture, epsilon: float) -> dict[str, float]:
    """A_R with randomized response on the best of some numbers of equal cells of the box."""
    judge, found = target.boxed, []
    size = len(judge.edges[0]) - 1
    for count in CELLS:
        cell = np.arange(size) * count // size
        place = cell if target.dim == 1 else (cell[:, None] * count + cell).ravel()
        whole = count**target.dim
        shares = np.bincount(place, judge.masses, minlength=whole)
        mechanism = RandomizedResponse([str(at) for at in range(whole)], epsilon=epsilon)
        law = NaiveSampler(mechanism).blurred(shares) / np.bincount(place)
        heights = np.log(law[place] / judge.volume)
        found.append(scores(judge, lambda _, kept=heights: kept))
    return min(found, key=lambda one: one["kl"])


def bernstein(
    target: Mixture, epsilon: float, n: int, seed: int, *, paper: bool
) -> dict[str, float]:
    """DPB: a curator's release of the whole density, of which samples cost nothing more.

    With the best of some degrees, which favours it: to choose one would cost something.
    """
    return min(
        (scores(target.boxed, law) for law in bernsteins(target, epsilon, n, seed, paper=paper)),
        key=lambda one: one["kl"],
    )


def bernsteins(
    target: Mixture, epsilon: float, n: int, seed: int, *, paper: bool
) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Log densities of releases of some degrees."""
    size = len(target.boxed.edges[0]) - 1
    low, high = target.box
    axis = Lattice(low=low, high=high, size=size)
    records = target.sample(n, seed)
    records = records[((records > low) & (records < high)).all(axis=1)]
    kind = PrintedBernstein if paper else Bernstein
    bounds = axis if target.dim == 1 else {"x": axis, "y": axis}
    values = records[:, 0] if target.dim == 1 else dict(zip("xy", records.T, strict=True))
    for degree in DEGREES[: 8 if target.dim == 1 else 6]:
        made = kind(bounds, epsilon=epsilon, degree=degree).simulate(values, seed=seed)
        points = target.boxed.table[:, 0] if target.dim == 1 else target.boxed.table
        # A floor, so that one empty cell does not make the divergence infinite.
        heights = 0.99 * made.curve.cells.pdf(points) + 0.01 / (high - low) ** target.dim
        logs = np.log(heights)
        yield lambda _, kept=logs: kept
