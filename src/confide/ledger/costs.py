"""Costs in whole units, as a ledger counts them: no float is ever added up."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from confide import _checks
from confide.accounting.spend import Spend, checked_epsilon
from confide.errors import InvalidInput

MICRO, ATTO = 6, 18
"""Digits after the point that are kept of an epsilon and of a delta."""


class Cost(NamedTuple):
    """A cost in whole units: millionths of an epsilon, 10**-18 of a delta."""

    epsilon: int
    delta: int

    @classmethod
    def of(cls, spend: Spend, rounded: Callable[[Fraction], int]) -> Cost:
        """A spend in whole units, rounded by ``math.ceil`` or ``math.floor``."""
        # A number counts as it is written down: 0.1 is a tenth, ten of which make 1. Fractions,
        # because decimals round by the caller's settings.
        return cls(
            *(
                rounded(Fraction(repr(float(x))) * 10**digits)
                for x, digits in ((spend.epsilon, MICRO), (spend.delta, ATTO))
            )
        )

    def spend(self, note: str = "") -> Spend:
        """The cost as floats."""
        return Spend(self.epsilon / 10**MICRO, self.delta / 10**ATTO, note)

    def within(self, cap: Cost) -> bool:
        """Whether neither part is above the cap's."""
        return self.epsilon <= cap.epsilon and self.delta <= cap.delta

    def plus(self, other: Cost, sign: int = 1) -> Cost:
        """The sum, or with sign -1 the difference."""
        return Cost(self.epsilon + sign * other.epsilon, self.delta + sign * other.delta)

    def __str__(self) -> str:
        whole, part = divmod(self.epsilon, 10**MICRO)
        epsilon = f"epsilon={whole}.{part:0{MICRO}d}".rstrip("0").rstrip(".")
        delta = f"{self.delta / 10**ATTO:g}".replace("e-0", "e-")
        return epsilon + (f", delta={delta}" if self.delta else "")


class Charges(Protocol):
    """The interface of a release or a sampler that a ledger charges."""

    def charge(
        self,
        key: str,
        spec: dict[str, Any],
        spend: Spend,
        make: Callable[[], dict[str, Any]],
        *,
        data: bytes | None = None,
        group: tuple[str, str] | None = None,
    ) -> dict[str, Any]:
        """Charge, then make; for a key already charged, return what was made then."""


NOTHING = Cost(0, 0)
Group = tuple[str, str]
UNSEEN = frozenset("\u034f\u115f\u1160\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))
"""Marks and letters without a shape."""


def word(expected: str, given: Any) -> str:
    """A text that is not blank."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(expected, _checks.shown(given))
    try:
        given.encode()
    except UnicodeEncodeError:
        raise InvalidInput(expected, _checks.shown(given), "It is not valid Unicode.") from None
    return str(given)


def placed(group: tuple[str, str] | None) -> Group:
    """A group as it is stored: without one, an empty attribute and an empty member."""
    if group is None:
        return "", ""
    if not isinstance(group, tuple) or len(group) != 2:
        raise InvalidInput(
            "a group as (attribute, value)", _checks.shown(group), 'Like ("region", "north").'
        )
    member = word("a non-empty text as the value of a group", group[1])
    return word("a non-empty text as the attribute of a group", group[0]), _folded(member)


def _folded(member: str) -> str:
    """One text for all spellings of a value: taking them for two groups would count a person once.

    Each step can undo another, so they are repeated until nothing changes.
    """
    seen = "".join(
        c
        for c in member
        if c.isspace() or (unicodedata.category(c) not in ("Cf", "Cc") and c not in UNSEEN)
    )
    folded = " ".join(unicodedata.normalize("NFKC", seen).casefold().split())
    return folded if folded == member else _folded(folded)


def total(sums: dict[Group, Cost]) -> Cost:
    """Costs add up, but over the groups of one public attribute count once, at their maximum."""
    most: dict[str, Cost] = {}
    for (attribute, _), cost in sums.items():
        known = most.get(attribute, NOTHING)
        most[attribute] = Cost(*map(max, known, cost))
    return Cost(sum(c.epsilon for c in most.values()), sum(c.delta for c in most.values()))


def budgeted(budget: Spend | None, epsilon: float | None, delta: float) -> Cost | None:
    """A budget given in one of its forms, rounded down; None where none is given."""
    if budget is None and epsilon is None:
        if delta:
            raise InvalidInput("epsilon with delta", f"delta={_checks.shown(delta)} alone")
        return None
    if budget is not None and (epsilon is not None or delta):
        raise InvalidInput("a budget or epsilon and delta", "both")
    if budget is not None and not isinstance(budget, Spend):
        raise InvalidInput("a Spend as budget", _checks.shown(budget))
    given = budget if budget is not None else Spend(0.0 if epsilon is None else epsilon, delta)
    asked = Spend(checked_epsilon(given.epsilon), _delta(given.delta))
    cap = Cost.of(asked, math.floor)
    if not cap.epsilon:
        raise InvalidInput("a budget of epsilon >= 0.000001", f"epsilon={asked.epsilon:g}")
    return cap


def _delta(delta: float) -> float:
    delta = _checks.within(0, 1, delta=delta)
    if delta == 1:
        raise InvalidInput("delta < 1", "delta=1", "A delta of 1 protects nobody.")
    return delta


def charged(spend: Spend) -> Cost:
    """The cost of a spend, rounded up; refuses a spend too large for any budget."""
    if not isinstance(spend, Spend):
        raise InvalidInput("a Spend", _checks.shown(spend))
    if spend.epsilon == math.inf:
        raise InvalidInput(
            "a spend with a bound", "epsilon=inf", "What has no bound fits into no budget."
        )
    epsilon = _checks.finite(epsilon=spend.epsilon)
    delta = _delta(spend.delta)
    if epsilon < 0 or epsilon + delta == 0:
        raise InvalidInput("a spend above 0", f"epsilon={epsilon:g}")
    if not isinstance(spend.note, str) or not spend.note.isprintable():
        raise InvalidInput("a note in plain text", "a value of another type")
    return Cost.of(spend, math.ceil)
