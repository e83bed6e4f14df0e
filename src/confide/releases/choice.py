"""A density whose number of cells, terms or degree the data choose, privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations
from typing import Any, ClassVar

import numpy as np

from confide._contents import content
from confide.accounting import exact
from confide.errors import InvalidInput
from confide.randomness import Entropy, Inversion, exp_enclosure, float_ceiling
from confide.releases.base import Indices, Progress, Recipe, checked
from confide.releases.scores import score

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
    epsilon: float

    def __post_init__(self) -> None:
        several = tuple(self.candidates) if isinstance(self.candidates, (list, tuple)) else ()
        if not 2 <= len(several) <= MOST_CANDIDATES:
            raise InvalidInput(
                f"a list of 2 to {MOST_CANDIDATES} candidates",
                f"{len(several)}" if several else f"a {type(self.candidates).__name__}",
            )
        first = several[0]
        if score.dispatch(type(first)) is score.dispatch(object):
            raise InvalidInput("candidates that have a score", f"a {type(first).__name__}")
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

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        several = [{"release": each.name, **each.to_dict()} for each in self.candidates]
        return {"candidates": several, "epsilon": self.epsilon}

    def loss(self, n: int) -> float:
        """The certified loss: all of the choice's part, and the largest of the candidates'."""
        # A loss is a bound as it is written, too, which may be the smaller.
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

    def _index(self, values: Any) -> Indices:
        found = np.stack([each._index(values) for each in self.candidates], axis=1)
        if len(found) < 2:
            raise InvalidInput("at least two records to choose by", str(len(found)))
        return found

    def _content(self, indices: Indices) -> bytes:
        # Each candidate sees cells of its own, and never which record is in two of them.
        return content(*(indices[:, at] for at in range(len(self.candidates))))

    def _prepare(self, indices: Indices, tell: Progress) -> Any:
        parts = [each._prepare(indices[:, at], tell) for at, each in enumerate(self.candidates)]
        return self.exponents(indices), parts

    def _draw(self, prepared: Any, entropy: Entropy) -> list[int]:
        exponents, parts = prepared
        chosen = int(exponential(exponents).draw(entropy, 1)[0])
        return [chosen, *self.candidates[chosen]._draw(parts[chosen], entropy)]

    def _finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        chosen = self.candidates[noisy[0]]
        found = chosen._finish(noisy[1:], n)
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
        # e**-work < 2**-work: no need to work out what is that small.
        ends = [exp_enclosure(x - top, work) if x > top - work else (0, 1) for x in exponents]
        lower = list(accumulate(low for low, _ in ends))
        upper = list(accumulate(high for _, high in ends))
        least, most = lower.pop(), upper.pop()
        return (
            [(low << bits) // most for low in lower],
            [min(1 << bits, -((-high << bits) // least)) for high in upper],
        )

    return Inversion(enclosure)
