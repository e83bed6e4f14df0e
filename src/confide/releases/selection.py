"""Chooses one of several words by the exponential mechanism, with the user's own score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar

from confide.accounting.spend import exact
from confide.exact.entropy import Entropy
from confide.exact.inversion import Part
from confide.releases.bounded import Bounds
from confide.releases.choice import exponential
from confide.releases.release import Indices, Progress
from confide.releases.statements import FINE, Answers, Stated, Values, words_of


@dataclass(frozen=True)
class Selection(Stated):
    """The outcome with the best score, nearly: the exponential mechanism with a score of yours.

    What one record can change a score by is your statement, as for a `Statistic`: data sets that
    are made up can refute it, and nothing here proves it. The release says so.

    Parameters
    ----------
    what
        A name for the score, which JSON shows beside a fingerprint of its code. JSON cannot
        hold the function itself, so a recipe of this kind cannot be read back.
    function
        The score: takes the values, one row a record (a flat array for a single column), and an
        outcome, and gives a number, the larger the better. It is code that runs on the records.
    outcomes
        The public list to choose from: at least two words.
    lattice
        Public bounds: a lattice, or a mapping of column names to lattices. The function sees values
        clipped to them and rounded to their cells.
    sensitivity
        The most that replacing one record by any other between the bounds can change the score of
        any one outcome by.
    low, high
        Public bounds of the scores, which are clipped to them. Where the function fails or gives
        no number for an outcome, all scores are ``low``; your statement must hold of that too.
    epsilon
        What the release costs.
    step
        Scores are rounded down to multiples of it; by default a small part of the sensitivity.
    divided_by_n
        Whether the sensitivity is ``sensitivity / n`` for n records, as that of a mean.
    least
        The least number of records for which the statement holds.

    Notes
    -----
    **Formal guarantee.** Scores in whole steps are integers, and if no record changes a score by
    more than the stated D and one step s, it changes none of these by more than k = ceil(D/s) + 1:
    see `Statistic`. Outcome t is drawn with a probability proportional to e**(epsilon q_t / (2 k)),
    exactly, from the system's entropy. A record changes the weight of every outcome by a factor of
    at most e**(epsilon / 2), and their sum by no more, so that the choice is epsilon-differentially
    private.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import Lattice
    >>> hours = Lattice(low=0, high=24)
    >>> busiest = Selection(
    ...     "visits in a part of the day",
    ...     lambda x, part: np.sum(np.floor(x / 8) == ["night", "day", "evening"].index(part)),
    ...     ["night", "day", "evening"], hours,
    ...     sensitivity=1, low=0, high=1_000_000, epsilon=1.0,
    ... )
    >>> busiest.release([9.5, 10.0, 13.0] * 100).chosen
    'day'
    """

    name: ClassVar[str] = "selection"

    what: str
    function: Callable[..., Any]
    outcomes: Sequence[str]
    lattice: Bounds
    _: KW_ONLY
    sensitivity: float
    low: float
    high: float
    epsilon: float
    step: float | None = None
    divided_by_n: bool = False
    least: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", words_of(self.outcomes, "outcomes", least=2))
        self._check_statement()

    @property
    def size(self) -> int:
        """Number of scores."""
        return len(self.outcomes)

    def asked(self, values: Values) -> Any:
        """The score of each outcome."""
        return [self.function(values, outcome) for outcome in self.outcomes]

    def unit(self, n: int) -> Fraction:
        """The step for n records, however many outcomes there are: each score is bounded alone."""
        return Fraction(self.step) if self.step is not None else self.change(n) / FINE

    def distance(self, one: Answers, other: Answers) -> Fraction:
        """The largest change of a score."""
        return max(abs(a - b) for a, b in zip(one, other, strict=True))

    def reached(self, limit: Fraction) -> Fraction:
        """The same."""
        return limit

    def integer_sensitivity(self, n: int) -> int:
        """The largest change of a score by one record, in whole steps."""
        return math.ceil(self.change(n) / self.unit(n)) + 1

    def loss(self, n: int) -> float:
        """All of epsilon; fewer records than the statement is made for are refused."""
        self.change(n)
        return self.epsilon

    def exponents(self, scores: list[int], n: int) -> list[Fraction]:
        """The logarithm of each outcome's weight, exactly. Private.

        Parameters
        ----------
        scores
            Scores in whole steps.
        n
            Number of records.
        """
        most = 2 * self.integer_sensitivity(n)
        return [exact(self.epsilon) * score / most for score in scores]

    def prepare(self, indices: Indices, tell: Progress) -> list[Fraction]:
        """The logarithms of the weights."""
        return self.exponents(self.whole(indices), len(indices))

    def parts(self, prepared: Any = None) -> tuple[Part, ...]:
        """The choice."""
        chosen = exponential(prepared)
        return (Part("choice", chosen, enclosure=chosen.enclosure),)

    def draw(self, prepared: list[Fraction], entropy: Entropy) -> list[int]:
        """The number of the outcome: integers and fair words only."""
        return [int(exponential(prepared).draw(entropy, 1)[0])]

    def finish(self, noisy: tuple[int, ...], n: int) -> dict[str, Any]:
        """The outcome, with the assumption of its guarantee."""
        return {"chosen": self.outcomes[noisy[0]], "facts": self._statement(n)}
