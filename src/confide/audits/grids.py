"""Draw code on an evenly spaced grid of words: every outcome must come up n p times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats, Integers
from confide.audits.findings import Finding
from confide.audits.losses import large
from confide.audits.neighbors import across
from confide.audits.tapes import Grid, apart
from confide.audits.trials import drawn_as_stated
from confide.errors import InvalidInput
from confide.exact.entropy import Entropy, SeededEntropy, Words
from confide.exact.integer_noise import HALF, ONE, DiscreteGaussian, DiscreteLaplace
from confide.exact.inversion import FEW as FEW_DRAWS
from confide.exact.inversion import Inversion, Part
from confide.mechanisms import Mechanism, PairResponse, Partition
from confide.mechanisms.laws import Law, Product
from confide.mechanisms.partition import BITS as LEVEL
from confide.releases.choice import Choice, exponential
from confide.releases.query import Query
from confide.releases.ranks import distances
from confide.releases.release import Additive, Recipe
from confide.sampling.mollification import TOTAL
from confide.sampling.mollifier import Banded
from confide.sampling.sampler import Sampler

DRAWS = 4096
"""Draws that are put together again of their parts, and must be the same."""
WORDS, LEAST_WORDS = 2**17, 2**10
"""Words of the grids of all cells of a partition together, and at least so many for each cell."""
CERTAIN, RARE = 6, 22
"""Beyond x = 2**6 no word gives an event of probability e**-x; below x = 2**-21 nearly all do."""


def noise_gaps(noise: DiscreteLaplace | DiscreteGaussian, n: int) -> Iterator[tuple[str, float]]:
    """Each part that is made of one word against its law, and draws against their parts.

    The laws are formulas of our own, and those that the parts state must agree with them.
    """
    if isinstance(noise, DiscreteLaplace):
        laws = _laplace(noise)
        again = _geometric_draws(noise, entropy := SeededEntropy(0)) - _geometric_draws(
            noise, entropy
        )
    else:
        laws = _gaussian(noise)
        again = _rejection(noise, SeededEntropy(0))
    stated = {part.name: part for part in noise.parts()}
    for name, pmf in laws.items():
        if name in stated:
            drawn = stated[name].sampler.draw(Grid(), n)
            yield name, max(apart(drawn, pmf), apart(drawn, stated[name].pmf()))
        else:
            yield name, float(n)
    drawn = noise.draw(SeededEntropy(0), DRAWS)
    yield "put together", 0.0 if np.array_equal(drawn, again) else float(n)


def _laplace(noise: DiscreteLaplace) -> dict[str, Floats]:
    """Each binary digit and what lies above them, by the formula of a geometric law."""
    p = noise.parameter / ONE
    gap = (ONE - noise.parameter) / ONE
    log_p = float(np.log1p(-gap)) if gap < 0.5 else float(np.log(p))
    laws = {}
    for j in range(len(noise.digits)):
        q = np.exp(log_p * 2.0**j)
        laws[f"digit {j}"] = np.array([1, q]) / (1 + q)
    levels = len(noise.above.enclosure(64)[0])
    q = np.exp(log_p * 2.0 ** len(noise.digits))
    laws["rest"] = np.append((1 - q) * q ** np.arange(levels), q**levels)
    return laws


def _geometric_draws(noise: DiscreteLaplace, entropy: Entropy) -> Integers:
    """A number whose binary digits, and what lies above them, are the parts."""
    parts = [*noise.digits, noise.above]
    return sum(
        (part.draw(entropy, DRAWS).astype(np.int64) << j for j, part in enumerate(parts)),
        start=np.zeros(DRAWS, dtype=np.int64),
    )


def _gaussian(noise: DiscreteGaussian) -> dict[str, Floats]:
    """Blocks by (1 - 1/e) e**-v, and every coin that words can tell from a certain one."""
    levels = len(noise.levels.enclosure(64)[0])
    blocks = np.append((1 - np.exp(-1.0)) * np.exp(-np.arange(levels)), np.exp(-levels))
    laws = {"blocks": blocks}
    unit = Fraction(1, 2 * noise.variance)
    for scale in (Fraction(1), unit * 2 ** (2 * noise.variance).bit_length()):
        for j in range(-CERTAIN, RARE):
            x = scale / Fraction(2) ** j
            tails = -np.expm1(-float(x))
            laws[f"coin {x}"] = np.array([1 - tails, tails])
    return laws


def _rejection(noise: DiscreteGaussian, entropy: Entropy) -> Integers:
    """Canonne, Kamath and Steinke (2020), algorithm 3, from blocks and coins.

    y = t v + r with a sign is taken with probability e**(-r/t) e**(-(|y| - s/t)**2 / (2 s)), s the
    variance, and zero with one sign only.
    """
    s = noise.variance
    shift = math.isqrt(2 * s).bit_length() - 1
    found, left = np.zeros(DRAWS, dtype=np.int64), np.arange(DRAWS)
    while left.size:
        rest = (entropy.words(left.size, 64) % np.uint64(1 << shift)).astype(np.int64)
        size = (noise.levels.draw(entropy, left.size).astype(np.int64) << shift) + rest
        negative = entropy.words(left.size, 8) % np.uint64(2) == 1
        taken = np.flatnonzero(~negative | (size > 0))
        # The square of a number of more than 31 bits is taken by halves.
        high, low = np.divmod(np.abs(size - (s >> shift)), 2**HALF)
        squares = ((high * high, 4**HALF), (2 * high * low, 2**HALF), (low * low, 1))
        for number, scale in ((rest, Fraction(1, 1 << shift)),
                              *((each, Fraction(by, 2 * s)) for each, by in squares)):  # fmt: skip
            for j in reversed(range(63)):
                asked = number[taken] >> j & 1 == 1
                kept = np.ones(taken.size, dtype=bool)
                if asked.any():
                    kept[asked] = noise.coin(scale * 2**j).draw(entropy, int(asked.sum())) == 0
                taken = taken[kept]
        found[left[taken]] = np.where(negative, -size, size)[taken]
        left = np.delete(left, taken)
    return found


RUNS = 256
"""Draws of a release that is made one word at a time."""
MANY = 400
"""Records whose quantile has an interval inside the bounds."""
FEW_RECORDS = 3
"""Records; with one more a variance needs a fourth moment as well."""


def gaps(recipe: Recipe, n: int) -> Iterator[tuple[str, float]]:
    """Each part of a release, and how far it is from what it should be."""
    for at, noise in enumerate(recipe.noises(1000)):
        yield from ((f"noise {at}, {where}", gap) for where, gap in noise_gaps(noise, n))
    if isinstance(recipe, Additive) and recipe.noises(FEW_RECORDS):
        for few in (FEW_RECORDS, FEW_RECORDS + 1):
            added = drawn_as_stated(recipe, _prepared(recipe, few))
            yield f"what the noise is added to, {few} records", 0.0 if added else float(n)
    elif isinstance(recipe, Choice):
        for name, each in recipe.inner.items():
            yield from ((f"{name}, {where}", gap) for where, gap in gaps(each, n))
        exponents, _ = _prepared(recipe)
        weights = np.exp([float(x - max(exponents)) for x in exponents])
        pmf = weights / weights.sum()
        yield "choice", apart(exponential(exponents).draw(Grid(), n), pmf)
    elif isinstance(recipe, Query):
        yield from _quantile(recipe)


def _prepared(recipe: Recipe, n: int = FEW_RECORDS) -> Any:
    """A few records across the bounds, as the release takes them."""
    columns: dict[str, Any] = {
        name: across(each, n) for name, each in recipe.lattices(n).items()
    } or {"": [0, 1] * n}
    return recipe.prepare(recipe.admitted(columns.get("", columns)), lambda _: None)


def _quantile(recipe: Query) -> Iterator[tuple[str, float]]:
    """The cell of a quantile and of the ends of its interval against e**(-epsilon distance/2)."""
    n, ranks = MANY, recipe.ranks
    prepared = _prepared(recipe, n)
    drawn = np.array([recipe.draw(prepared, Grid(RUNS, at)) for at in range(RUNS)])
    for at, (part, rank) in enumerate(zip(ranks.shares, ranks.targets(n), strict=True)):
        if 0 <= rank <= n:
            weights = np.exp(-float(part) / 2 * distances(prepared, ranks.size, rank))
            yield f"rank {at}", apart(drawn[:, at], weights / weights.sum())


SLACK = 1e-6
SHORT, BITS = 8, 11
"""Bits of a short word, and of the grid that is read in such words."""
FEW = 12
"""Laws of at most so many inputs are run for each of them."""
UNSEEN = (
    "It replaces the source of randomness, so that it cannot see a bad source, and it looks at "
    "one output at a time."
)


def grid(subject: Any, *, n: int = 2**17, indices: Sequence[int] | None = None) -> Finding:
    """Counts of the draw code on a grid of words: each within 1 of n times its probability.

    There is no chance in it: no false alarm is possible, and noise that is a thousandth short is
    caught. Where one word makes one output the output is looked at, else every part that is made
    from one word, and that a release adds these parts to what it releases and nothing else.

    Parameters
    ----------
    subject
        A mechanism, a partition, a sampler, or the recipe of a release.
    n
        How many words, a power of two.
    indices
        Inputs to run; by default the ends and the middle, or all of a few.

    Examples
    --------
    >>> from confide import Laplace, Lattice
    >>> grid(Laplace(Lattice(low=0, high=1, size=64), epsilon=1.0)).holds
    True
    """
    n = _checks.integer(2, n=n)
    worst = {name: float(gap) for name, gap in _gaps(subject, n, indices)}
    most = max(worst.values(), default=0.0)
    return Finding(
        "grid", repr(subject), subject.spend.epsilon,
        holds=most <= 1 + SLACK, looked=bool(worst),
        unseen=UNSEEN if worst else f"Nothing here is made of one word. {UNSEEN}",
        evidence={"words": n, "parts": len(worst), "largest_deviation": most},
    )  # fmt: skip


def deviation(mechanism: Mechanism, index: int, n: int) -> float:
    """Largest |count - n pmf| of the real draw code fed with the grid."""
    reports = mechanism.draw(_indices(mechanism, index, n), Grid())
    return apart(reports, pmf_of(mechanism, (index,)))


def _indices(mechanism: Mechanism, index: int, n: int) -> Any:
    """The same input n times, as the draw code takes it; inputs are numbered row by row."""
    place = np.array(np.unravel_index(index, mechanism.law.inputs), dtype=np.int32)
    return np.repeat(place[None], n, axis=0) if place.size > 1 else np.full(n, place[0])


def pmf_of(stated: Mechanism | Law, place: tuple[int, ...]) -> Floats:
    """Probabilities of all reports of one input, flattened: from the integers that are certified.

    They are never those that estimators use, which are floats of their own.
    """
    law = stated.law if isinstance(stated, Mechanism) else stated
    if large(law):
        return _geometric(law.parameter, law.table.size - 1, *place)
    if isinstance(law, Product):
        return _outer(law.laws, place)
    weights = law.weights(*place)
    total = sum(weights)
    return np.array([weight / total for weight in weights])


def _outer(parts: Sequence[Law], place: tuple[int, ...]) -> Floats:
    """Of independent reports."""
    pmf = np.ones(1)
    for part, at in zip(parts, place, strict=True):
        pmf = np.multiply.outer(pmf, pmf_of(part, (at,))).ravel()
    return pmf


def _geometric(parameter: int, m: int, index: int) -> Floats:
    """(1-p)/(1+p) p**|k - index|, and at either end all that lies beyond it: p**k / (1+p).

    The integers of so large a lattice have very many digits; all of them are made of P.
    """
    p, gap = parameter / ONE, (ONE - parameter) / ONE
    log_p = np.log1p(-gap) if gap < 0.5 else np.log(p)
    pmf: Floats = np.exp(log_p * np.abs(np.arange(m + 1) - index)) / (1 + p)
    pmf[1:-1] *= gap
    return pmf


class Digits(Entropy):
    """The binary digits of one number in [0, 1), a word at a time; zeros after the last.

    Parameters
    ----------
    numerator, bits
        The number is numerator / 2**bits.
    """

    def __init__(self, numerator: int, bits: int) -> None:
        self._rest = Fraction(numerator, 2**bits)

    def words(self, n: int, bits: int) -> Words:
        """The next digits."""
        whole, self._rest = divmod(self._rest * 2**bits, 1)
        return np.full(n, int(whole), dtype=np.uint64)


def few_at_a_time(mechanism: Mechanism, index: int, n: int) -> float:
    """The same deviation in draws so small that they take the path of a respondent's device."""
    reports = [
        mechanism.draw(_indices(mechanism, index, min(FEW_DRAWS, n)), Grid(n, start))
        for start in range(0, n, FEW_DRAWS)
    ]
    return apart(np.concatenate(reports)[:n], pmf_of(mechanism, (index,)))


def refined(sampler: Inversion, pmf: Floats, bits: int) -> float:
    """The same deviation with words so short that many draws need a second one, or a third."""
    short = replace(sampler, bits=SHORT)
    outcomes = [short.draw(Digits(2 * at + 1, bits + 1), 1) for at in range(2**bits)]
    return apart(np.concatenate(outcomes), pmf)


def part_gaps(parts: Iterable[Part], n: int) -> Iterator[tuple[str, float]]:
    """Each sampler against the law that is stated for it, in long words and in short ones."""
    for part in parts:
        pmf = part.pmf()
        yield part.name, apart(part.sampler.draw(Grid(), n), pmf)
        # For a sampler of another library only the long words can be checked.
        if isinstance(part.sampler, Inversion):
            yield f"{part.name}, refined", refined(part.sampler, pmf, BITS)


def _gaps(
    subject: Any, n: int, indices: Sequence[int] | None = None
) -> Iterator[tuple[str, float]]:
    if isinstance(subject, Partition):
        yield from _partition(subject, n)
    elif isinstance(subject, Mechanism | Sampler) and subject.inner:
        # A sampler's randomizer makes the sample; which record it gets does not matter.
        for name, part in subject.inner.items():
            yield from ((f"{name} {where}", gap) for where, gap in _gaps(part, n, indices))
        if isinstance(subject, Mechanism):
            yield from _together(subject, n)
    elif isinstance(subject, Mechanism):
        some = places_of(subject)
        for at in some if indices is None else indices:
            yield f"input {at}", deviation(subject, at, n)
        if n > FEW_DRAWS:
            yield "few at a time", few_at_a_time(subject, some[len(some) // 2], n)
        yield from part_gaps(subject.parts(), n)
    elif isinstance(subject, Recipe):
        yield from gaps(subject, n)
    elif isinstance(subject, Banded):
        yield from _banded(subject, n)
    elif not isinstance(subject, Sampler):
        raise InvalidInput(
            "a mechanism, a sampler or the recipe of a release", _checks.shown(subject)
        )


def _together(subject: Mechanism, n: int) -> Iterator[tuple[str, float]]:
    """The draw of a mechanism that is made of others: every report against its own law."""
    parts = [part for part in subject.inner.values() if isinstance(part, Mechanism)]
    middle = np.array([part.law.inputs[0] // 2 for part in parts], dtype=np.int32)
    indices = np.repeat(middle[None], n, axis=0)
    drawn = np.asarray(subject.draw(indices if len(parts) > 1 else indices[:, 0], Grid()))
    columns = drawn.reshape(n, -1).T
    for name, part, at, column in zip(subject.inner, parts, middle, columns, strict=True):
        yield f"{name} drawn together", apart(column, pmf_of(part, (int(at),)))


def _banded(subject: Banded, n: int) -> Iterator[tuple[str, float]]:
    for at, scores in enumerate(_opinions(subject.band.reference.size)):
        weights = subject.band.weights(scores)
        pmf = weights.astype(np.float64) / TOTAL
        yield f"weights {at}", apart(subject.draw(weights, Grid(), n), pmf)
        for name, gap in part_gaps(subject.parts(weights), n):
            yield f"weights {at}, {name}", gap
    yield "weights beyond the bounds", 0.0 if _refuses(subject) else float(n)


def _refuses(subject: Banded) -> bool:
    """Whether weights are refused that would tell which cell is held."""
    sure = np.zeros_like(subject.band.lower)
    sure[0] = TOTAL
    try:
        subject.draw(sure, Grid(), 2)
    except InvalidInput:
        return True
    return False


def places_of(mechanism: Mechanism) -> list[int]:
    """Inputs worth running; those of a pair of questions lie around every cut, row by row."""
    if not isinstance(mechanism, PairResponse):
        return inputs_of(mechanism.law.inputs[0])
    sides = mechanism.sides.values()
    around = [
        sorted({at for cut in side.starts[1:] for at in (cut - 1, cut)} | {len(side.classes) - 1})
        for side in sides
    ]
    rows, columns = np.meshgrid(*around, indexing="ij")
    places = np.ravel_multi_index((rows.ravel(), columns.ravel()), mechanism.law.inputs)
    return [int(place) for place in inputs_within(places.tolist())]


def inputs_within(places: list[int]) -> list[int]:
    """All of a few places; else some of them, evenly spread."""
    return places if len(places) <= FEW else places[:: len(places) // FEW]


def inputs_of(size: int) -> list[int]:
    """All inputs of a few; else both ends, their neighbors and the middle."""
    return list(range(size)) if size <= FEW else [0, 1, size // 2, size - 2, size - 1]


def _opinions(size: int) -> list[Floats]:
    """Log ratios of nobody, of one who holds a single cell, and of one with many."""
    single = np.full(size, -np.inf)
    single[0] = 0.0
    return [np.zeros(size), single, np.linspace(-3.0, 3.0, size)]


def _partition(subject: Partition, n: int) -> Iterator[tuple[str, float]]:
    # Every cell needs a separate grid, which is slow with many cells.
    n = min(n, max(LEAST_WORDS, WORDS // subject.cells.size))
    for cell in (-1, 0, subject.cells.size - 1):
        for level in (0, subject.levels, 2 * subject.levels):
            yield f"cell {cell}, level {level}", vector_deviation(subject, cell, level, n)
    yield from part_gaps(subject.parts(), n)


def vector_deviation(partition: Partition, cell: int, level: int, n: int) -> float:
    """Largest |count - n pmf| over the coordinates of a vector report.

    Every coordinate sees a grid of its own: words are dealt in turn to the cells.
    """
    law, size = partition.law, partition.cells.size
    places = np.stack([np.full(n, cell), np.full(n, level << LEVEL)], axis=1)
    reports = partition.draw(places, Grid()).astype(np.int64)
    worst = 0.0
    for at in range(size):
        inside = at == cell
        if law.value_parameter:
            pmf = pmf_of(law.values, (level if inside else law.levels,))
            worst = max(worst, apart(reports[:, -1, at] + law.levels, pmf))
        if law.count_parameter:
            worst = max(worst, apart(reports[:, 0, at], pmf_of(law.counts, (int(inside),))))
    return worst
