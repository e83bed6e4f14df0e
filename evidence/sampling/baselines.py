"""What private samples are compared with: the naive sampler and a curator's density."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from evidence.printed import PrintedBernstein
from evidence.sampling.targets import Mixture, inside, scores
from scipy.ndimage import gaussian_filter

from confide import Laplace, Lattice, RandomizedResponse
from confide.mechanisms.joint import Joint
from confide.releases import Bernstein
from confide.sampling.naive import NaiveSampler

CELLS = (2, 4, 8, 16)
"""Cells along each axis that randomized response may take."""
DEGREES = (4, 8, 16, 32, 64, 120, 250, 500)
DPB = ("dpb cv", "dpb tight")
FOLDS = 10
WIDTHS = np.geomspace(1 / 256, 0.2, 24)
"""Bandwidths among which cross-validation chooses, as shares of the range."""
TINY = 1e-12
"""A floor for the count of records near to a held-out one, so that its logarithm exists."""
MOST = 100.0
"""The largest epsilon that a recipe takes."""


@dataclass(frozen=True)
class LargeBernstein(PrintedBernstein):
    """DPB at an epsilon above the largest that a recipe takes; for simulations only.

    The noise is that of ``times`` the epsilon that the recipe states, so its statement is wrong.
    """

    times: int = field(default=1, kw_only=True)

    def sensitivity(self, n: int) -> int:
        """A part of the real one, rounded up."""
        return -(-super().sensitivity(n) // self.times)


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


def bernstein(target: Mixture, epsilon: float, n: int, seed: int, *, kind: str) -> dict[str, float]:
    """DPB: a curator's release of the whole density, of which samples cost nothing more.

    With the best of some degrees, which favors it: to choose one would cost something.
    """
    return min(bernsteins(target, epsilon, n, seed, kind=kind), key=lambda one: one["kl"])


def bernsteins(
    target: Mixture, epsilon: float, n: int, seed: int, *, kind: str
) -> Iterator[dict[str, float]]:
    """Scores of releases of some degrees, each with its ``degree``."""
    for degree in degrees(target):
        logs = released(target, epsilon, n, seed, kind=kind, degree=degree)
        yield {"degree": degree, **scores(target.boxed, lambda _, kept=logs: kept)}


def degrees(target: Mixture) -> tuple[int, ...]:
    """Those that are tried: in two dimensions the largest take too long."""
    return DEGREES[: 8 if target.dim == 1 else 6]


def released(
    target: Mixture, epsilon: float, n: int, seed: int, *, kind: str, degree: int
) -> np.ndarray:
    """Log density of one release at the points of the judge of the box.

    Kinds are ``"dpb cv"``, as in the paper: sup sensitivity, shifted, and the bandwidth by
    cross-validation on the records, which nobody pays for; and ``"dpb tight"``, `Bernstein`. An
    epsilon above 100, a multiple of it, is for the former alone.
    """
    low, high = target.box
    axis = Lattice(low=low, high=high, size=target.boxed.points)
    records = inside(target, n, seed)
    bounds = axis if target.dim == 1 else {"x": axis, "y": axis}
    values = records[:, 0] if target.dim == 1 else dict(zip("xy", records.T, strict=True))
    recipe: Bernstein
    if kind == "dpb tight":
        recipe = Bernstein(bounds, epsilon=epsilon, degree=degree)
    else:
        own = {"degree": degree, "bandwidth": cross_validated(target, n, seed)}
        times = max(1, round(epsilon / MOST))
        recipe = LargeBernstein(bounds, epsilon=epsilon / times, times=times, **own)
    made = recipe.simulate(values, seed=seed)
    points = target.boxed.table[:, 0] if target.dim == 1 else target.boxed.table
    # A floor, so that one empty cell does not make the divergence infinite.
    return np.log(0.99 * made.curve.cells.pdf(points) + 0.01 / (high - low) ** target.dim)


@cache
def cross_validated(target: Mixture, n: int, seed: int) -> float:
    """The kernel's bandwidth, as a share of the range: ten folds, held-out log likelihood.

    Records are counted on the judge's cells, which are narrower than the bandwidths that win.
    """
    judge = target.boxed
    records = inside(target, n, seed)
    fold = np.random.default_rng([seed, 10]).permutation(len(records)) % FOLDS
    each = [np.histogramdd(records[fold == at], judge.edges)[0] for at in range(FOLDS)]
    whole = np.sum(each, axis=0)
    losses = []
    for width in WIDTHS:
        sigma, loss = width * judge.points, 0.0
        for held in each:
            known = gaussian_filter(whole - held, sigma, mode="constant", truncate=8)
            loss -= float((held * np.log(np.maximum(known, TINY))).sum())
        losses.append(loss)
    return float(WIDTHS[int(np.argmin(losses))])
