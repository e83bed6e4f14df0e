"""Choosing among recipes in private, by how well each would suit the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cache, singledispatch
from itertools import accumulate, combinations
from typing import Any, ClassVar, Self

import numpy as np

from confide import _checks
from confide._types import Floats, Integers
from confide.accounting.spend import exact
from confide.errors import InvalidInput
from confide.exact.enclosures import exp_enclosure, float_ceiling
from confide.exact.entropy import Entropy
from confide.exact.inversion import Inversion, Part, within
from confide.lattice import Axis
from confide.ledger.bindings import content
from confide.mechanisms.protocol import NONE, Kinds
from confide.releases.bernstein import Bernstein, polynomials
from confide.releases.bounded import Bounds, named
from confide.releases.gaussian_process import GaussianProcess, smoother
from confide.releases.histogram import Histogram
from confide.releases.release import Indices, Progress, Recipe, checked
from confide.releases.series import UNIT, Series

HEIGHT = 8
"""A histogram is scored as if cut off at this multiple of the uniform density: `CountScore`."""


class Score(ABC):
    """The score of one candidate for n records, the larger the better."""

    noise: float
    """Integrated squared error that the privacy noise adds, expected and public."""

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """The value of one in units of the integer `total`."""

    @property
    @abstractmethod
    def step(self) -> int:
        """The most that one record can change `total` by, exactly."""

    @abstractmethod
    def total(self, indices: Indices) -> int:
        """The score of the estimate without noise, in whole units."""

    @property
    def sensitivity(self) -> Fraction:
        """The most that one record can change the score by, exactly."""
        return self.step * self.unit

    def apart(self, other: Score) -> Fraction:
        """The most that one record can change the difference of two scores by, or a bound."""
        return self.sensitivity + other.sensitivity

    def value(self, indices: Indices) -> Fraction:
        """The score, exactly. Private."""
        return self.total(indices) * self.unit - Fraction(self.noise)


@dataclass(frozen=True)
class CountScore(Score):
    """The score of a histogram, cut off at ``HEIGHT``.

    With m cells and counts c the score is m / (n**2 (n-1)) times the sum of
    s(c) = 2 n c (c-1) - (n-1) c**2. One record could change that by 2 m (n+1) / n**2, the more
    the finer the cells, and the choice would be lost in that for all but the largest n. So the
    estimate is scored as if cut off at C = ceil(HEIGHT n / m) records a cell,

        s(c) = 2 n c (min(c, C) - 1) - (n-1) min(c, C)**2,

    which is minus an error still: the squared one where the density is below HEIGHT, linear above.
    A record that leaves a cell with p others for one with q changes the sum by
    [s(q+1) - s(q)] - [s(p+1) - s(p)]. These steps are 2 (n+1) c - (n-1) for c < C, ascending, and
    2 n (C-1) from C on; the least is -(n-1), at p = 0, and q may be anything up to n-1 beside it.
    """

    n: int
    shape: tuple[int, ...]
    noise: float

    @property
    def cells(self) -> int:
        """Cells in all."""
        return int(np.prod(self.shape))

    @property
    def cut(self) -> int:
        """The C above."""
        return -(-HEIGHT * self.n // self.cells)

    @property
    def unit(self) -> Fraction:
        """Worth of one."""
        return Fraction(self.cells, self.n**2 * (self.n - 1))

    @property
    def step(self) -> int:
        """Exactly what one record can do."""
        n, cut = self.n, self.cut
        climb = 2 * (n + 1) * (min(n, cut) - 1) - (n - 1)
        return max(climb, 2 * n * (cut - 1) if n > cut else climb) + (n - 1)

    def total(self, indices: Indices) -> int:
        """The sum of s over the cells; an empty one adds nothing."""
        flat = np.ravel_multi_index(tuple(indices.T), self.shape)
        n, found = self.n, 0
        for count, cells in zip(*np.unique(np.bincount(flat), return_counts=True), strict=True):
            c, low = int(count), min(int(count), self.cut)
            found += int(cells) * (2 * n * c * (low - 1) - (n - 1) * low**2)
        return found


@dataclass(frozen=True, eq=False)
class PairScore(Score):
    """The score of a linear estimate on a lattice, from what each pair of records adds.

    ``pairs`` (symmetric) holds what two records in cells a and b add, ``alone`` what one adds with
    itself. A record that goes from a to b changes the total by
    sum_k 2 (pairs[b, x_k] - pairs[a, x_k]) + alone[b] - alone[a] over the n - 1 others, which is
    linear in where they are: it is largest with all of them in one cell c, so the exact bound is
    the largest range, over c, of 2 (n-1) pairs[:, c] + alone.
    """

    n: int
    pairs: Integers
    alone: Integers
    noise: float

    @classmethod
    def of(cls, n: int, responses: Floats, noise: float) -> PairScore:
        """From responses[g, a]: the estimate's height in cell g for a single record in cell a."""
        squares = (1 - 1 / n) * responses.T @ responses / len(responses)
        pairs = responses + responses.T - (squares + squares.T) / 2
        whole = np.rint(UNIT * pairs).astype(np.int64)
        return cls(n, whole, np.rint(-UNIT * np.diag(squares)).astype(np.int64), noise)

    @property
    def unit(self) -> Fraction:
        """Worth of one."""
        return Fraction(1, UNIT * self.n * (self.n - 1))

    @property
    def step(self) -> int:
        """Exactly what one record can do."""
        moved = 2 * (self.n - 1) * self.pairs + self.alone[:, None]
        return int(np.ptp(moved, axis=0).max())

    def apart(self, other: Score) -> Fraction:
        """Exactly: on one lattice the difference of two scores is a score of the same form."""
        if not isinstance(other, PairScore) or len(other.pairs) != len(self.pairs):
            return super().apart(other)
        between = PairScore(self.n, self.pairs - other.pairs, self.alone - other.alone, 0.0)
        return between.sensitivity

    def total(self, indices: Indices) -> int:
        """The sum over pairs of different records, and over records."""
        counts = np.bincount(indices.ravel(), minlength=len(self.pairs))
        sums = self.pairs @ counts - np.diag(self.pairs) + self.alone
        return sum(int(c) * int(s) for c, s in zip(counts, sums, strict=True))


@singledispatch
def score(recipe: Any, n: int) -> Score:
    """The score of a recipe for n records; register a function for a kind to make it a candidate.

    Parameters
    ----------
    recipe
        The candidate.
    n
        Number of records, at least two.
    """
    raise InvalidInput("a candidate that has a score", _checks.kind(recipe))


@score.register
def _(recipe: Histogram, n: int) -> Score:
    shape = tuple(grid.size for grid in recipe.grids(n))
    return CountScore(n, shape, float(np.prod(shape)) ** 2 * (recipe.noise.sd / n) ** 2)


@score.register
def _(recipe: Series, n: int) -> Score:
    waves = recipe.table(n) / UNIT
    return PairScore.of(n, 1 + waves.T @ waves, _added(waves, recipe.noise(n).sd / (n * UNIT)))


@score.register
def _(recipe: Bernstein, n: int) -> Score:
    _single(recipe.lattice)
    table = recipe.table(n) / UNIT
    basis = recipe.cells * polynomials(len(table) - 1, recipe.cells)
    return PairScore.of(n, basis.T @ table, _added(basis, recipe.noise(n).sd / (n * UNIT)))


@score.register
def _(recipe: GaussianProcess, n: int) -> Score:
    _single(recipe.lattice)
    (table,) = recipe.tables(n)
    basis = len(table.T) * smoother(table).T
    return PairScore.of(n, basis.T @ table, _added(basis, recipe.noise(n).sd / n))


def _single(lattice: Bounds) -> None:
    """Refuse several columns: pairs of their cells would be too many."""
    if len(named(lattice)) > 1:
        raise InvalidInput(
            "candidates of one column", "several", "Use a Histogram for several columns."
        )


def _added(basis: Floats, sd: float) -> float:
    """Expected integrated square of independent noise times each function of the basis."""
    return float((basis**2).mean(axis=1).sum()) * sd**2


MOST_CANDIDATES = 16
"""Every pair of them is compared on every pair of cells."""


@dataclass(frozen=True)
class Choice(Recipe):
    """The release of whichever candidate suits the data best, by the exponential mechanism.

    The score of a candidate estimates its squared error: see `releases.scores`. The choice takes
    what the candidates leave of epsilon; a fifth of it is a good start. It is worth its price where
    the public default is far from the truth and n is large: with n times that part below some 200
    for histograms and 2000 for the others, a choice is hardly better than a guess.

    Parameters
    ----------
    candidates
        Recipes of one kind, lattice and cost: histograms with several numbers of cells, series
        with several numbers of terms, Bernstein polynomials of several degrees or Gaussian
        processes of several bandwidths. The list is public.
    epsilon
        What choice and release cost together. A delta of the candidates stays as it is.

    Notes
    -----
    **Formal guarantee.** Candidate t is chosen with probability e**(a q_t / D) / sum_s, with a =
    epsilon less the candidates' epsilon, q_t the scores, and D the most that one record can change
    the difference q_s - q_t of any two by, a rational. The probability is 1 / sum_s e**(a (q_s -
    q_t) / D): a record changes every term of that sum, and so the sum, by a factor of at most e**a,
    and the choice is a-differentially private. (With D = 2 max_t D_t it is the usual exponential
    mechanism.) The release that follows costs what it costs for a fixed t. The law is drawn
    exactly, by refining enclosures of the exponentials.

    Examples
    --------
    >>> from confide import Lattice
    >>> from confide.releases import Histogram
    >>> pay = Lattice(low=0, high=300_000)
    >>> several = [Histogram(pay, epsilon=0.8, cells=cells) for cells in (8, 16, 32, 64)]
    >>> release = Choice(several, epsilon=1.0).release([30_000.0, 42_000.0] * 5000)
    >>> release.spend, release.facts["epsilon_of_release"]
    (Spend(epsilon=1), 0.8)
    """

    name: ClassVar[str] = "choice"

    candidates: Sequence[Recipe]
    _: KW_ONLY
    epsilon: float

    def __post_init__(self) -> None:
        several = tuple(self.candidates) if isinstance(self.candidates, (list, tuple)) else ()
        if not 2 <= len(several) <= MOST_CANDIDATES:
            raise InvalidInput(
                f"a list of 2 to {MOST_CANDIDATES} candidates",
                f"{len(several)}" if several else _checks.kind(self.candidates),
            )
        first = several[0]
        if score.dispatch(type(first)) is score.dispatch(object):
            raise InvalidInput("candidates that have a score", _checks.kind(first))
        for each in several[1:]:
            if type(each) is not type(first):
                raise InvalidInput("candidates of one kind", "several kinds")
            # The columns count in their order: equal mappings may differ in it.
            if _domain(each) != _domain(first):
                raise InvalidInput("candidates with the same lattice", "several")
            if each.spend != first.spend:
                raise InvalidInput("candidates of the same cost", "several")
        object.__setattr__(self, "candidates", several)
        object.__setattr__(self, "delta", first.delta)
        checked(self)
        if self.choosing <= 0:
            raise InvalidInput(
                f"epsilon above the candidates' {first.epsilon:g}",
                f"epsilon={self.epsilon:g}",
                "It pays for the choice and the release.",
            )

    @property
    def choosing(self) -> Fraction:
        """The part of epsilon that pays for the choice."""
        return exact(self.epsilon) - exact(self.candidates[0].epsilon)

    @property
    def inner(self) -> Mapping[str, Recipe]:
        """The candidates, by their numbers."""
        return {f"candidate {at}": each for at, each in enumerate(self.candidates)}

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The choice, and the parts of each candidate."""
        exponents, several = prepared
        chosen = exponential(exponents)
        candidates = zip(self.inner.items(), several, strict=True)
        return (
            Part("choice", chosen, enclosure=chosen.enclosure),
            *(part for (name, each), ready in candidates
              for part in within(name, each.parts(ready))),
        )  # fmt: skip

    def lattices(self, n: int) -> Mapping[str, Axis]:
        """The lattices of the first candidate; all candidates have the same bounds."""
        return self.candidates[0].lattices(n)

    def made_of(self) -> dict[str, Any]:
        """The candidates and what they cost with the choice."""
        several = [each.to_dict() for each in self.candidates]
        return {"candidates": several, "epsilon": self.epsilon}

    @classmethod
    def read(cls, made: Mapping[str, Any], kinds: Kinds = NONE) -> Self:
        """The inverse of `made_of`."""
        if not kinds:
            raise InvalidInput(
                "the kinds that may be inside", "none", "Use confide.releases.from_dict."
            )
        if not isinstance(made["candidates"], list):
            raise InvalidInput("a list of candidates", _checks.shown(made["candidates"]))
        for each in made["candidates"]:
            if not isinstance(each, Mapping) or each.get(cls.role) == cls.name:
                raise InvalidInput("single releases as candidates", _checks.shown(each))
        several = [
            kinds[_checks.one_of(tuple(kinds), release=each.get(cls.role))].from_dict(each, kinds)
            for each in made["candidates"]
        ]
        make: Callable[..., Self] = cls
        return make(candidates=several, epsilon=made["epsilon"])

    def loss(self, n: int) -> float:
        """The certified loss: all of the choice's part, and the largest of the candidates'."""
        # The written loss is a bound too, and may be smaller.
        return float_ceiling(self.choosing + max(exact(each.loss(n)) for each in self.candidates))

    def slack(self, n: int) -> float:
        """The certified delta, the largest of the candidates'."""
        return max(each.slack(n) for each in self.candidates)

    def exponents(self, indices: Indices) -> list[Fraction]:
        """The logarithm of each candidate's weight, exactly.

        Parameters
        ----------
        indices
            Private cell numbers of the records for each candidate, along the second axis.
        """
        scores = [score(each, len(indices)) for each in self.candidates]
        most = max(one.apart(other) for one, other in combinations(scores, 2))
        values = [each.value(indices[:, at]) for at, each in enumerate(scores)]
        # Candidates that no record can tell apart differ in their public noise alone.
        return [self.choosing * value / (most or 1) for value in values]

    def index(self, values: Any) -> Indices:
        """Cell numbers of the values."""
        found = np.stack([each.index(values) for each in self.candidates], axis=1)
        if len(found) < 2:
            raise InvalidInput("at least two records to choose by", str(len(found)))
        return found

    def _content(self, indices: Indices) -> bytes:
        # Each candidate sees its own cells, and not which record is in two of them.
        return content(*(indices[:, at] for at in range(len(self.candidates))))

    def prepare(self, indices: Indices, tell: Progress) -> Any:
        """Compute everything that needs no draw."""
        parts = [each.prepare(indices[:, at], tell) for at, each in enumerate(self.candidates)]
        return self.exponents(indices), parts

    def draw(self, prepared: Any, entropy: Entropy) -> list[int]:
        """Draw the release, from integers and fair words only."""
        exponents, parts = prepared
        chosen = int(exponential(exponents).draw(entropy, 1)[0])
        return [chosen, *self.candidates[chosen].draw(parts[chosen], entropy)]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """Answer or curve, and facts, from what was released alone."""
        chosen = self.candidates[noisy[0]]
        found = chosen.finish(noisy[1:], n)
        facts = {
            **found["facts"],
            "chosen": noisy[0],
            "candidates": len(self.candidates),
            "chosen_method": chosen.name,
            "epsilon_of_choice": float(self.choosing),
            "epsilon_of_release": chosen.epsilon,
        }
        curve = replace(found["curve"], facts={**self._facts(n), **facts})
        return {**found, "facts": facts, "curve": curve}


def _domain(recipe: Any) -> Any:
    lattice = recipe.lattice
    return list(lattice.items()) if isinstance(lattice, dict) else lattice


def exponential(exponents: Sequence[Fraction]) -> Inversion:
    """An exact sampler with probabilities proportional to e**x, for rational x."""
    top = max(exponents)

    @cache
    def enclosure(bits: int) -> tuple[list[int], list[int]]:
        work = bits + 64
        # e**-work < 2**-work: too small to compute.
        ends = [exp_enclosure(x - top, work) if x > top - work else (0, 1) for x in exponents]
        lower = list(accumulate(low for low, _ in ends))
        upper = list(accumulate(high for _, high in ends))
        least, most = lower.pop(), upper.pop()
        return (
            [(low << bits) // most for low in lower],
            [min(1 << bits, -((-high << bits) // least)) for high in upper],
        )

    return Inversion(enclosure)
