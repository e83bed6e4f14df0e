"""The real code of releases, fed deterministic words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.audits.losses import noises_of
from confide.discrete import ONE
from confide.randomness import Entropy, SeededEntropy, Words
from confide.releases._columns import named
from confide.releases.base import Recipe
from confide.releases.choice import Choice, exponential
from confide.releases.noise import DiscreteLaplace
from confide.releases.query import Query
from confide.releases.ranks import distances

Floats = npt.NDArray[np.float64]

RUNS = 256
"""Draws of a release that is made one word at a time."""
AGAIN = 64
"""Draws that are compared number by number."""
MANY = 400
"""Records whose quantile has an interval inside the bounds."""
FEW = 3
"""Records, so that a variance needs no fourth moment, which takes words of its own."""


class Grid(Entropy):
    """Deterministic words: the midpoints of n equal parts of [0, 1), one for each draw.

    Parameters
    ----------
    n
        How many parts; by default as many as words are asked for at a time.
    start
        Number of the first.
    """

    def __init__(self, n: int | None = None, start: int = 0) -> None:
        self._n, self._start = n, start

    def words(self, n: int, bits: int) -> Words:
        """The same n words at every call."""
        step = 2**bits // (self._n or n)
        at = np.arange(self._start, self._start + n, dtype=np.uint64)
        return at * np.uint64(step) + np.uint64(step // 2)


class Silence(Entropy):
    """Words that are all zero: noise made of them is zero."""

    def words(self, n: int, bits: int) -> Words:
        """Zeros."""
        return np.zeros(n, dtype=np.uint64)


def apart(outcomes: npt.NDArray[Any], pmf: Floats) -> float:
    """Largest |count - n pmf|."""
    n = outcomes.size
    if outcomes.dtype.kind not in "iu" or outcomes.min() < 0 or outcomes.max() >= pmf.size:
        return float(n)
    return float(np.abs(np.bincount(outcomes, minlength=pmf.size) - n * pmf).max())


def gaps(recipe: Recipe, n: int) -> Iterator[tuple[str, float]]:
    """Each part of a release, and how far it is from what it should be."""
    for at, noise in enumerate(noises_of(recipe, 1000)):
        if isinstance(noise, DiscreteLaplace):
            yield from ((f"noise {at}, {where}", gap) for where, gap in _laplace(noise, n))
    if noises_of(recipe, FEW):
        yield "what the noise is added to", 0.0 if _additive(recipe) else float(n)
    elif isinstance(recipe, Choice):
        for at, each in enumerate(recipe.candidates):
            yield from ((f"candidate {at}, {where}", gap) for where, gap in gaps(each, n))
        exponents, _ = _prepared(recipe)
        weights = np.exp([float(x - max(exponents)) for x in exponents])
        pmf = weights / weights.sum()
        yield "choice", apart(exponential(exponents).draw(Grid(), n), pmf)
    elif isinstance(recipe, Query):
        yield from _quantile(recipe)


def _prepared(recipe: Any, n: int = FEW) -> Any:
    """A few records across the bounds, as the release takes them."""
    first: Any = recipe.candidates[0] if isinstance(recipe, Choice) else recipe
    lattice = first.lattice
    columns: dict[str, Any] = {"": [0, 1] * n} if lattice is None else {
        name: np.linspace(each.low, each.high, n) for name, each in named(lattice).items()
    }  # fmt: skip
    return recipe._prepare(recipe._records(columns.get("", columns)), lambda _: None)


def _additive(recipe: Recipe) -> bool:
    """Whether what is released is the same without noise plus the noise that is stated."""
    prepared, noises = _prepared(recipe), noises_of(recipe, FEW)
    without = np.array(recipe._draw(prepared, Silence()))
    each = without.size // len(noises)
    one, other = SeededEntropy(0), SeededEntropy(0)
    for _ in range(AGAIN):
        noise = np.concatenate([noise.draw(one, each) for noise in noises])
        if not np.array_equal(recipe._draw(prepared, other), without + noise):
            return False
    return True


def _quantile(recipe: Query) -> Iterator[tuple[str, float]]:
    """The cell of a quantile and of the ends of its interval against e**(-epsilon distance/2)."""
    n, ranks = MANY, recipe._ranks
    prepared = _prepared(recipe, n)
    drawn = np.array([recipe._draw(prepared, Grid(RUNS, at)) for at in range(RUNS)])
    for at, (part, rank) in enumerate(zip(ranks.parts, ranks.targets(n), strict=True)):
        if 0 <= rank <= n:
            weights = np.exp(-float(part) / 2 * distances(prepared, ranks.size, rank))
            yield f"rank {at}", apart(drawn[:, at], weights / weights.sum())


def _laplace(noise: DiscreteLaplace, n: int) -> Iterator[tuple[str, float]]:
    """Each binary digit and what lies above them, against the formula of a geometric law."""
    p = noise.parameter / ONE
    gap = (ONE - noise.parameter) / ONE
    log_p = float(np.log1p(-gap)) if gap < 0.5 else float(np.log(p))
    for j, digit in enumerate(noise._samplers):
        q = np.exp(log_p * 2.0**j)
        yield f"digit {j}", apart(digit.draw(Grid(), n), np.array([1, q]) / (1 + q))
    sampler = noise._above
    levels = len(sampler.enclosure(64)[0])
    q = np.exp(log_p * 2.0 ** len(noise._samplers))
    rest = (1 - q) * q ** np.arange(levels)
    yield "rest", apart(sampler.draw(Grid(), n), np.append(rest, q**levels))
