"""Releases that draw by weights: their laws on neighbouring data sets, from the code that draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from confide.accounting import exact as written
from confide.audits.certificates import BITS, within
from confide.audits.neighbours import (
    FEW,
    Data,
    Spots,
    all_families,
    few_spots,
    like_families,
    ready,
    remembered,
)
from confide.audits.trials import AGAIN, Trial, sizes
from confide.errors import InvalidInput
from confide.randomness import SeededEntropy, log_ceiling, weighted
from confide.releases._layers import Layers
from confide.releases.choice import Choice, exponential
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.query import Query

POINTS, LENGTH = 3, 2
"""Cells and length of the sequences whose law is worked out."""

Law = list[list[tuple[int, int]]]
"""Integers around the weight of each outcome, for each independent draw."""


def quantile_tried(recipe: Query, n: int) -> Trial:
    """A quantile and the ends of its interval, on a few cells."""
    small = replace(recipe, lattice=_coarse(recipe.lattice, FEW))
    ranks = small._ranks
    found = Trial()

    def law(data: Data) -> Law:
        return [[(w, w) for w in weights] for weights in ranks.weights(data) if weights]

    for size in sizes(n):
        if size <= FEW:
            families = all_families(ranks.size, size)
        else:
            families = _about(ranks.targets(size), ranks.size, size)
        found += _compared(law, families, size, written(recipe.epsilon))
        found += Trial(holds=_ranked(small, np.arange(size) % ranks.size))
    return found


def _about(ranks: tuple[int, ...], cells: int, n: int) -> Iterator[list[Data]]:
    """Data sets of two cells, one of which holds about as many records as a rank asked for."""
    near = {min(max(rank + step, 0), n - 1) for rank in ranks for step in (-1, 0, 1)}
    for low, high in combinations(range(cells), 2):
        for below in sorted({0, *near, n - 1}):
            others = np.repeat([low, high], [below, n - 1 - below])
            yield [np.append(others, cell) for cell in range(cells)]


def _ranked(recipe: Query, data: Data) -> bool:
    """Whether cells are drawn by the weights that are stated."""
    one, other = SeededEntropy(0), SeededEntropy(0)
    for _ in range(AGAIN):
        expected = [
            int(weighted(weights).draw(one, 1)[0]) if weights else -1
            for weights in recipe._ranks.weights(data)
        ]
        if recipe._draw(data, other) != expected:
            return False
    return True


def sequences_tried(recipe: KolmogorovSmirnov) -> Trial:
    """Short sequences of a few cells, with the weights that all of them are drawn by."""
    small = replace(recipe, size=LENGTH, points=POINTS)

    def law(data: Data) -> Law:
        return [_layers(small._prepare(data, lambda _: None))]

    found = Trial()
    for size in range(1, FEW + 1):
        found += _compared(law, all_families(POINTS, size), size, written(recipe.epsilon))
    return found


def _layers(layers: Layers) -> list[tuple[int, int]]:
    """Weights of all sequences: a block is drawn, then a sequence of it, which a coin keeps."""
    sequences = layers.sequences
    law = []
    for places in product(range(POINTS), repeat=LENGTH):
        counts = np.bincount(places, minlength=POINTS).tolist()
        score, ends = sequences.score(counts), [Fraction(0), Fraction(0)]
        for at, block in enumerate(layers.blocks):
            if score > block.last:
                continue
            number = layers._table(block.last)[-1][sequences.size]
            coin = layers.keeping(at, score).enclosure(BITS)
            for side in (0, 1):
                ends[side] += Fraction(layers.weights[at] * coin[side][0], number)
        law.append((math.floor(ends[0]), math.ceil(ends[1])))
    return law


def choice_tried(recipe: Choice, n: int, released: Trial) -> Trial:
    """The choice itself, on a coarse lattice: no record may move two candidates far apart.

    Its proof needs no more: see `Choice`.

    Parameters
    ----------
    recipe
        The choice.
    n
        Number of records.
    released
        What was found of the candidates.
    """
    small, found = _coarsest(recipe), released
    for size in sizes(n, least=2):
        places = few_spots(small, size)

        def exponents(data: Data, places: Spots = places) -> list[Fraction]:
            found: list[Fraction] = ready(small, places, data)[0]
            return found

        some = list(range(len(places)))
        families = (
            all_families(len(some), size) if size <= FEW else like_families(len(some), some, size)
        )
        look, worst, sets = remembered(exponents), Fraction(0), 0
        for family in families:
            for one, other in combinations([look(data) for data in family], 2):
                moved = [a - b for a, b in zip(one, other, strict=True)]
                worst = max(worst, max(moved) - min(moved))
            sets += len(family)
        holds = worst <= recipe.choosing and _chosen(small, places, size)
        found += Trial(released.loss + float(worst), released.slack, holds, (size,), sets)
    return found


def _chosen(recipe: Choice, places: Spots, n: int) -> bool:
    """Whether the first number is the choice, and the others the release of what was chosen."""
    prepared = ready(recipe, places, np.arange(n) % len(places))
    exponents, parts = prepared
    one, other = SeededEntropy(0), SeededEntropy(0)
    for _ in range(AGAIN):
        at = int(exponential(exponents).draw(one, 1)[0])
        expected = [at, *recipe.candidates[at]._draw(parts[at], one)]
        if recipe._draw(prepared, other) != expected:
            return False
    return True


def _coarsest(recipe: Choice) -> Choice:
    """The same choice with as few cells as its candidates take."""
    several: tuple[Any, ...] = tuple(recipe.candidates)
    cells = FEW
    while True:
        try:
            coarse = [replace(each, lattice=_coarse(each.lattice, cells)) for each in several]
            return replace(recipe, candidates=coarse)
        except InvalidInput:
            cells *= 2


def _coarse(lattice: Any, size: int) -> Any:
    """The same bounds with so many cells, or fewer."""
    if isinstance(lattice, Mapping):
        return {name: _coarse(each, size) for name, each in lattice.items()}
    return replace(lattice, size=min(size, lattice.size))


def _compared(
    law: Callable[[Data], Law], families: Iterable[list[Data]], n: int, epsilon: Fraction
) -> Trial:
    """The largest ratio of probabilities of neighbours, rounded down where weights are enclosed."""
    look, worst, sets = remembered(law), Fraction(1), 0
    for family in families:
        for one, other in permutations([look(data) for data in family], 2):
            worst = max(worst, math.prod(map(_ratio, one, other), start=Fraction(1)))
        sets += len(family)
    return Trial(log_ceiling(worst), 0.0, within(worst, epsilon), (n,), sets)


def _ratio(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> Fraction:
    """The largest ratio of an outcome's probabilities in two laws, at least."""
    totals = Fraction(sum(low for low, _ in other), sum(high for _, high in one))
    return totals * max(Fraction(low, high) for (low, _), (_, high) in zip(one, other, strict=True))
