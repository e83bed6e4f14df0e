"""Finds the respondents or the epsilon that a target error needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confide._figures import number
from confide.accounting.spend import rounded_up
from confide.errors import InvalidInput


@dataclass(frozen=True)
class Answer:
    """The number of respondents, or the epsilon, that a target error needs.

    Attributes
    ----------
    metric, target
        The error that was asked for.
    mechanism, estimator
        What reaches it.
    n, epsilon
        The number of respondents and the epsilon; one of the two is the answer.
    """

    metric: str
    target: float
    mechanism: str
    estimator: str
    n: int
    epsilon: float

    @property
    def about(self) -> int:
        """The respondents in two digits, all that a simulation knows; rounded up, to be enough."""
        step: int = 10 ** max(len(str(self.n)) - 2, 0)
        return -(-self.n // step) * step


@dataclass(frozen=True)
class Answers:
    """Both ways to a target error: by more respondents and by a larger epsilon.

    Attributes
    ----------
    by_n, by_epsilon
        The answers; None where that way does not lead there.
    limits
        For each way that does not, a sentence that says how far it leads.
    """

    by_n: Answer | None
    by_epsilon: Answer | None
    limits: tuple[str, ...] = ()

    @property
    def one(self) -> Answer | None:
        """One of the answers, which name the target."""
        return self.by_epsilon if self.by_n is None else self.by_n

    def words(self) -> list[str]:
        """The answers in sentences."""
        found = []
        if (one := self.by_n) is not None:
            found.append(
                f"For {one.metric} = {number(one.target)} at epsilon={one.epsilon:g}: about "
                f"{one.about:,} respondents, by {one.mechanism}."
            )
        if (other := self.by_epsilon) is not None:
            found.append(
                f"For {other.metric} = {number(other.target)} with {other.n:,} respondents: "
                f"epsilon about {rounded_up(other.epsilon, 2)}, by {other.mechanism}."
            )
        return [*self.limits, *found] if self.by_n is None else [*found, *self.limits]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a way that does not lead there is null."""
        ways = {"by_n": self.by_n, "by_epsilon": self.by_epsilon}
        return {way: None if one is None else vars(one).copy() for way, one in ways.items()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Answers:
        """The inverse of `to_dict`; limits may be beside the ways."""
        ways = [fields["by_n"], fields["by_epsilon"]]
        by_n, by_epsilon = (None if one is None else Answer(**one) for one in ways)
        return cls(by_n, by_epsilon, tuple(map(str, fields.get("limits", ()))))


def unreachable(metric: str, target: float, where: str, least: float) -> InvalidInput:
    """The error for a target out of reach, with the smallest reachable error.

    Parameters
    ----------
    metric, target
        What was wanted.
    where
        The beginning of a sentence: with what even the least error is larger.
    least
        That error.
    """
    return InvalidInput(
        "a target that can be reached",
        f"{metric}={target:g}",
        f"{where}, the least error of {metric} is {least:.3g}.",
    )
