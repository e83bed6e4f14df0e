"""The real code of releases, fed deterministic words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from confide.audits.losses import noises_of
from confide.audits.noise_grids import noise_gaps
from confide.audits.words import Grid, Silence, apart
from confide.randomness import SeededEntropy
from confide.releases._columns import named
from confide.releases.base import Recipe
from confide.releases.choice import Choice, exponential
from confide.releases.query import Query
from confide.releases.ranks import distances

RUNS = 256
"""Draws of a release that is made one word at a time."""
AGAIN = 64
"""Draws that are compared number by number."""
MANY = 400
"""Records whose quantile has an interval inside the bounds."""
FEW = 3
"""Records, so that a variance needs no fourth moment, which takes words of its own."""


def gaps(recipe: Recipe, n: int) -> Iterator[tuple[str, float]]:
    """Each part of a release, and how far it is from what it should be."""
    for at, noise in enumerate(noises_of(recipe, 1000)):
        yield from ((f"noise {at}, {where}", gap) for where, gap in noise_gaps(noise, n))
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
