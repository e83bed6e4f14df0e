"""Laws of releases on neighboring data sets, from the code that draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from confide.accounting.spend import exact as written
from confide.audits.findings import Finding
from confide.audits.neighbors import (
    FEW,
    SPOTS,
    Data,
    Spots,
    all_families,
    few_spots,
    like_families,
    near_spots,
    ready,
    remembered,
    spots,
)
from confide.audits.tapes import Silence
from confide.audits.trials import AGAIN, BITS, MANY, Trial, enough, sizes, within
from confide.errors import InvalidInput
from confide.exact.enclosures import float_ceiling, log_ceiling, logs_ceiling
from confide.exact.entropy import Entropy, SeededEntropy
from confide.exact.integer_noise import ONE
from confide.exact.inversion import weighted
from confide.releases.choice import Choice, exponential
from confide.releases.holdout import UNIT, Holdout
from confide.releases.kolmogorov_smirnov import KolmogorovSmirnov
from confide.releases.query import Query
from confide.releases.selection import Selection
from confide.releases.sequences import Layers

FEW_HELD = 3
"""All holdouts of up to this number of records are tried."""
SEEDS = 16
"""Rounds that are made again from the noises that are stated."""
ODD = np.array([0.0, 0.5, 1.0, -5.0, 7.0, math.nan])
"""Answers of a record to a query, some of which are none."""
UNSEEN_ROUND = (
    f"It asks holdouts of up to {FEW_HELD} records one query; that many queries cost no more is "
    "proved, and for the tests."
)


def holdout_loss(subject: Holdout) -> Finding:
    """The largest change that a record makes to a query's sum, and whether the noises hide it."""
    change, sets, stated = 0, 0, True
    for n in range(1, FEW_HELD + 1):
        look = remembered(lambda data: _asked(subject, data))
        for family in all_families(len(ODD), n):
            totals = [look(data) for data in family]
            change, sets = max(change, max(totals) - min(totals)), sets + len(family)
        stated = stated and _rounds(subject, np.arange(n) % len(ODD))
    # A comparison is between two numbers that the record may change: see the proof at `Holdout`.
    costs = list(zip(subject.noises, (change, 2 * change, change), strict=True))
    whole = sum(noise.epsilon for noise in subject.noises) <= written(subject.epsilon)
    return Finding(
        "exact", f"Holdout(epsilon={subject.epsilon:g})", subject.epsilon,
        holds=stated and whole and all(enough(*each) for each in costs),
        certified=logs_ceiling((Fraction(ONE, noise.parameter), k) for noise, k in costs),
        evidence={"data_sets": sets, "records": list(range(1, FEW_HELD + 1)), "changes": [change]},
        unseen=UNSEEN_ROUND,
    )  # fmt: skip


def _asked(subject: Holdout, data: Data, entropy: Entropy | None = None) -> Any:
    """The sum over a small holdout, as it is shown without noise; with entropy, the answer."""
    given = {"epsilon": subject.epsilon, "overfits": 1, "threshold": 0.0}
    small = Holdout.replayed([0.0], ODD[data], entropy=entropy or Silence(), **given)
    answer = small.ask(lambda records: records)
    return answer if entropy else round(answer.value * data.size * UNIT)


def _rounds(subject: Holdout, data: Data) -> bool:
    """Whether rounds are made of draws of the three noises, one of each."""
    total = _asked(subject, data)
    for seed in range(SEEDS):
        entropy = SeededEntropy(seed)
        limit, gap, more = (int(noise.draw(entropy, 1)[0]) for noise in subject.noises)
        shown = min(max((total + more) / (data.size * UNIT), 0.0), 1.0)
        expected = (0.0, "train") if total + gap <= limit else (shown, "holdout")
        answer = _asked(subject, data, SeededEntropy(seed))
        if (answer.value, answer.source) != expected:
            return False
    return True


POINTS, LENGTH = 3, 2
"""Cells and length of the sequences whose law is worked out."""
WHOLE = 1000
"""Records at most whose sequences are drawn again as long as they are."""

Law = list[list[tuple[int, int]]]
"""Integers around the weight of each outcome, for each independent draw."""


def quantile_tried(recipe: Query, n: int) -> Trial:
    """A quantile and the ends of its interval: on a few cells, and of n records on its own."""
    found = Trial()
    for size in sizes(n):
        cells = FEW if size <= FEW else MANY
        small = replace(recipe, lattice=_coarse(recipe.lattice, cells))
        ranks, places = small.ranks, spots(small, size, cells)

        def law(data: Data, small: Query = small, places: Spots = places) -> Law:
            several = small.ranks.weights(ready(small, places, data))
            return [[(w, w) for w in weights] for weights in several if weights]

        if size <= FEW:
            families = all_families(len(places), size)
        else:
            families = _across(ranks.targets(size), len(places), size)
        found += _compared(law, families, size, written(recipe.epsilon))
        prepared = ready(small, places, np.arange(size) % len(places))
        found += Trial(holds=_ranked(small, prepared))
    return found


def _across(ranks: tuple[int, ...], cells: int, n: int) -> Iterator[list[Data]]:
    """Data sets of a few cells with wide gaps between, about as many records below as some ranks.

    The last record goes from end to end, across all ranks that are asked for: each of the draws
    loses as much as it can.
    """
    middle, low, high = ranks
    places = np.linspace(0, cells - 1, 6).astype(np.int64)
    for step in range(-2, 3):
        asked = [low // 2, low + step, middle + step, high + step, (high + n) // 2]
        below = np.maximum.accumulate(np.clip(asked, 0, n - 1))
        others = np.repeat(places, np.diff(below, prepend=0, append=n - 1))
        yield [np.append(others, cell) for cell in np.unique(places)]


def _ranked(recipe: Query, prepared: Any) -> bool:
    """Whether cells are drawn by the weights that are stated."""
    one, other = SeededEntropy(0), SeededEntropy(0)
    for _ in range(AGAIN):
        expected = [
            int(weighted(weights).draw(one, 1)[0]) if weights else -1
            for weights in recipe.ranks.weights(prepared)
        ]
        if recipe.draw(prepared, other) != expected:
            return False
    return True


def sequences_tried(recipe: KolmogorovSmirnov, n: int) -> Trial:
    """Short sequences of a few cells, with the weights that all of them are drawn by."""
    small = replace(recipe, size=LENGTH, points=POINTS)
    found = Trial(holds=_laid(recipe, min(n, WHOLE)))
    for size in sizes(n):
        places = spots(small, size, POINTS)

        def law(data: Data, places: Spots = places) -> Law:
            return [_layers(ready(small, places, data))]

        if size <= FEW:
            families = all_families(POINTS, size)
        else:
            families = like_families(POINTS, list(range(POINTS)), size)
        found += _compared(law, families, size, written(recipe.epsilon))
        found += Trial(holds=_laid(small, size))
    return found


def _laid(recipe: KolmogorovSmirnov, n: int) -> bool:
    """Whether sequences are drawn from the layers that are stated, and nothing else is released."""
    places = spots(recipe, n, FEW)
    prepared = ready(recipe, places, np.arange(n) % len(places))
    one, other = SeededEntropy(0), SeededEntropy(0)
    return all(recipe.draw(prepared, other) == Layers.draw(prepared, one) for _ in range(AGAIN))


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
            number = layers.table(block.last)[-1][sequences.size]
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
        places = near_spots(small, size)

        def exponents(data: Data, places: Spots = places) -> list[Fraction]:
            found: list[Fraction] = ready(small, places, data)[0]
            return found

        look, worst, sets = remembered(exponents), Fraction(0), 0
        for family in _choices(len(places), size, n):
            for one, other in combinations([look(data) for data in family], 2):
                moved = [a - b for a, b in zip(one, other, strict=True)]
                worst = max(worst, max(moved) - min(moved))
            sets += len(family)
        holds = worst <= recipe.choosing and _chosen(small, places, size)
        found += Trial(released.loss + float(worst), released.slack, holds, (size,), sets)
    return found


def _choices(places: int, size: int, n: int) -> Iterator[list[Data]]:
    """All data sets of a few records at a few spots; of n records at all of them, all but one."""
    few = np.unique([0, min(1, places - 1), places // 2, places - 1])
    if size <= FEW:
        for family in all_families(len(few), size):
            yield [few[data] for data in family]
    if size >= min(n, FEW):
        yield from like_families(places, list(range(places)), size)


def _chosen(recipe: Choice, places: Spots, n: int) -> bool:
    """Whether the first number is the choice, and the others the release of what was chosen."""
    prepared = ready(recipe, places, np.arange(n) % len(places))
    exponents, parts = prepared
    one, other = SeededEntropy(0), SeededEntropy(0)
    for _ in range(AGAIN):
        at = int(exponential(exponents).draw(one, 1)[0])
        expected = [at, *recipe.candidates[at].draw(parts[at], one)]
        if recipe.draw(prepared, other) != expected:
            return False
    return True


def selection_tried(recipe: Selection, n: int) -> Trial:
    """The choice among words: what a record does to the ratio of any two weights.

    Parameters
    ----------
    recipe
        The selection.
    n
        Number of records.
    """
    found = Trial()
    for size in sizes(n, least=recipe.least):
        places = few_spots(recipe, size)

        def exponents(data: Data, places: Spots = places) -> list[Fraction]:
            found: list[Fraction] = ready(recipe, places, data)
            return found

        look, worst, sets = remembered(exponents), Fraction(0), 0
        few = size <= FEW
        families = (
            all_families(len(places), size)
            if few
            else like_families(len(places), list(range(len(places))), size)
        )
        for family in families:
            for one, other in combinations([look(data) for data in family], 2):
                moved = [a - b for a, b in zip(one, other, strict=True)]
                worst = max(worst, max(moved) - min(moved))
            sets += len(family)
        prepared = ready(recipe, places, np.arange(size) % len(places))
        holds = worst <= written(recipe.epsilon) and _selected(recipe, prepared)
        found += Trial(float_ceiling(worst), 0.0, holds, (size,), sets)
    return found


def _selected(recipe: Selection, prepared: Any) -> bool:
    """Whether outcomes are drawn by the weights that are stated."""
    one, other = SeededEntropy(0), SeededEntropy(0)
    return all(
        recipe.draw(prepared, other) == [int(exponential(prepared).draw(one, 1)[0])]
        for _ in range(AGAIN)
    )


def _coarsest(recipe: Choice) -> Choice:
    """The same choice with as few cells as its candidates take."""
    several: tuple[Any, ...] = tuple(recipe.candidates)
    cells = SPOTS
    while True:
        try:
            coarse = [replace(each, lattice=_coarse(each.lattice, cells)) for each in several]
            return replace(recipe, candidates=coarse)
        except InvalidInput:
            cells *= 2


def _coarse(lattice: Any, size: int) -> Any:
    """A lattice with the same bounds and at most this number of cells."""
    if isinstance(lattice, Mapping):
        return {name: _coarse(each, size) for name, each in lattice.items()}
    return replace(lattice, size=min(size, lattice.size))


def _compared(
    law: Callable[[Data], Law], families: Iterable[list[Data]], n: int, epsilon: Fraction
) -> Trial:
    """The largest ratio of probabilities of neighbors, rounded down where weights are enclosed."""
    look, worst, sets = remembered(law), Fraction(1), 0
    for family in families:
        for one, other in permutations([look(data) for data in family], 2):
            worst = max(worst, math.prod(map(_ratio, one, other), start=Fraction(1)))
        sets += len(family)
    return Trial(log_ceiling(worst), 0.0, within(worst, epsilon), (n,), sets)


def _ratio(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> Fraction:
    """The largest ratio of an outcome's probabilities in two laws, at least."""
    totals = Fraction(sum(low for low, _ in other), sum(high for _, high in one))
    pairs = set(zip(one, other, strict=True))
    return totals * max(Fraction(low, high) for (low, _), (_, high) in pairs)
