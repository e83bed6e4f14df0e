"""The privacy cost of an answer for the person who gives it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from confide import _checks
from confide._cards import card
from confide.errors import InvalidInput

__all__ = ["Spend"]

MAX_EPSILON = 100.0
WEAK_EPSILON = 10.0
"""From here on odds may change by a factor of twenty thousand and more."""


@dataclass(frozen=True)
class Spend:
    """An upper bound on the privacy loss of a report.

    Parameters
    ----------
    epsilon
        Bound on the log ratio of the probabilities that any two values give to any output;
        infinite where there is none.
    delta
        Probability mass left out of that bound; 0 for pure differential privacy.
    note
        What must be said about it, where it is not plain epsilon-differential privacy.

    Examples
    --------
    >>> Spend(0.5) + Spend(1.0)
    Spend(epsilon=1.5)
    """

    epsilon: float
    delta: float = 0.0
    note: str = ""

    def __add__(self, other: Spend) -> Spend:
        """Sequential composition: costs add up, rounded upwards."""
        if not isinstance(other, Spend):
            return NotImplemented
        notes = [part for part in dict.fromkeys((self.note, other.note)) if part]
        return Spend(
            _sum_up(self.epsilon, other.epsilon), _sum_up(self.delta, other.delta), " ".join(notes)
        )

    @property
    def weak(self) -> bool:
        """Whether epsilon is so large that it gives almost no protection."""
        return self.epsilon >= WEAK_EPSILON

    def words(self, *, answers: int = 1) -> str:
        """The meaning of this cost for a person who answers one question, or several."""
        several = answers > 1
        what = "all the answers of one respondent" if several else "one report"
        if math.isinf(self.epsilon):
            text = f"There is no bound on what {what} can give away."
        else:
            text = (
                f"epsilon = {rounded_up(self.epsilon, 4)}: whatever anybody believes about a "
                f"respondent, {what} {'change' if several else 'changes'} the odds by a factor of "
                f"at most {odds(self.epsilon)}."
            )
            if self.weak:
                text += " That is hardly any protection."
        if self.delta:
            text += f" This holds except with a probability of {self.delta:.2g} (delta)."
        return f"{text} {self.note}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite epsilon is null."""
        return {
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "delta": self.delta,
            "note": self.note,
        }

    def __repr__(self) -> str:
        parts = [f"epsilon={rounded_up(self.epsilon, 6)}"]
        if self.delta:
            parts.append(f"delta={self.delta:.3g}")
        if self.note:
            parts.append(f"note={self.note!r}")
        return f"Spend({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """The cost and its meaning, for notebooks."""
        return card(repr(Spend(self.epsilon, self.delta)), cost=self.words())


def told_cost(spend: Spend | None, *, simulated: bool = False) -> str:
    """A sentence for notebooks that states what a result cost each person in it.

    Parameters
    ----------
    spend
        What each person spent; None where that is not known, and nothing is said.
    simulated
        Whether the noise came from a seed.

    Examples
    --------
    >>> told_cost(Spend(0.5, 1e-6))
    'Cost to each person: epsilon = 0.5, delta = 1e-06.'
    """
    if simulated:
        return "Simulated from a seed, for study: not private."
    if spend is None:
        return ""
    if math.isinf(spend.epsilon):
        return f"Cost to each person: no epsilon bounds it. {spend.note}".rstrip()
    more = f", delta = {spend.delta:.3g}" if spend.delta else ""
    return f"Cost to each person: epsilon = {rounded_up(spend.epsilon, 6)}{more}."


def odds(epsilon: float) -> str:
    """The factor e**epsilon, readable."""
    if epsilon < 14:
        factor = math.nextafter(math.exp(epsilon), math.inf)
        return f"{Decimal(rounded_up(factor, 3 if factor > 1.1 else 6)):,f}"
    return f"e^{rounded_up(epsilon, 3)}"


def rounded_up(x: float, digits: int) -> str:
    """A bound in print: never below what it stands for, as it is written down."""
    if x == 0 or math.isinf(x):
        return f"{x:g}"
    # A decimal context of our own: the caller may have set another one.
    own = Context(prec=40, rounding=ROUND_CEILING)
    exact = Decimal(repr(float(x)))
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1, context=own)
    return f"{exact.quantize(unit, context=own).normalize(own):f}"


def _sum_up(a: float, b: float) -> float:
    total = a + b
    # An exact sum needs no step up; a rounded one takes the next float, which is never below it.
    exact = (total - a == b) and (total - b == a)
    return total if exact or math.isinf(total) else math.nextafter(total, math.inf)


def checked_epsilon(epsilon: float) -> float:
    """A usable epsilon: above 0, and not so large that nothing is protected."""
    epsilon = _checks.positive(epsilon=epsilon)
    if epsilon > MAX_EPSILON:
        raise InvalidInput(
            f"epsilon <= {MAX_EPSILON:g}",
            f"epsilon={epsilon:g}",
            "An epsilon that large protects nobody.",
        )
    return epsilon


def exact(epsilon: float) -> Fraction:
    """The exact epsilon that noise may cost: the smaller of the float and its decimal form.

    The float 0.1 lies above a tenth, and a ledger counts a tenth.
    """
    return min(Fraction(epsilon), Fraction(repr(float(epsilon))))
