"""The real code of releases, fed deterministic words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from confide.audits.noise_grids import noise_gaps
from confide.audits.trials import drawn_as_stated, noises_of
from confide.audits.words import Grid, apart
from confide.releases._columns import named
from confide.releases.additive import Additive
from confide.releases.base import Recipe
from confide.releases.choice import Choice, exponential
from confide.releases.query import Query
from confide.releases.ranks import distances

RUNS = 256
"""Draws of a release that is made one word at a time."""
MANY = 400
"""Records whose quantile has an interval inside the bounds."""
FEW = 3
"""Records; with one more a variance needs a fourth moment as well."""


def gaps(recipe: Recipe, n: int) -> Iterator[tuple[str, float]]:
    """Each part of a release, and how far it is from what it should be."""
    for at, noise in enumerate(noises_of(recipe, 1000)):
        yield from ((f"noise {at}, {where}", gap) for where, gap in noise_gaps(noise, n))
    if isinstance(recipe, Additive) and noises_of(recipe, FEW):
        for few in (FEW, FEW + 1):
            added = drawn_as_stated(recipe, _prepared(recipe, few))
            yield f"what the noise is added to, {few} records", 0.0 if added else float(n)
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


def _quantile(recipe: Query) -> Iterator[tuple[str, float]]:
    """The cell of a quantile and of the ends of its interval against e**(-epsilon distance/2)."""
    n, ranks = MANY, recipe._ranks
    prepared = _prepared(recipe, n)
    drawn = np.array([recipe._draw(prepared, Grid(RUNS, at)) for at in range(RUNS)])
    for at, (part, rank) in enumerate(zip(ranks.parts, ranks.targets(n), strict=True)):
        if 0 <= rank <= n:
            weights = np.exp(-float(part) / 2 * distances(prepared, ranks.size, rank))
            yield f"rank {at}", apart(drawn[:, at], weights / weights.sum())
