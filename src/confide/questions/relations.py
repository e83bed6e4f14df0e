"""Relations: pairs of questions that some people are asked together, and their thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from confide import _checks
from confide._limits import MAX_COLUMNS
from confide.errors import InvalidInput
from confide.lattice import INTEGER, Categories, Lattice
from confide.mechanisms import PairResponse, Side
from confide.mechanisms.pair_response import MOST
from confide.questions.question import Question

TABLE = "relations"
"""The table of a survey file that asks for pairs."""
KEYS = ("pairs", "share", "at")
THRESHOLDS = MOST // 2 - 1
"""Thresholds of a question, at most: the other one of a pair has two classes or more."""
ALL = "all"
"""In place of a list of pairs: every two questions."""
JOINT = " & "
"""Between two questions in the name of the column that holds the reports about both."""
ADVICE = (
    "Write at = {pay = 40000} in [relations], or take the private medians of people asked earlier: "
    "confide relate SURVEY COUNTS --thresholds -o NEW.toml"
)


@dataclass(frozen=True)
class Relations:
    """Which pairs of questions are asked for, of how many people, and with which thresholds.

    A person gives answers to questions one by one or one report about a pair, never both.

    Parameters
    ----------
    pairs
        Two different questions each.
    share
        The share of people who are asked for a pair, between 0 and 1.
    at
        Thresholds by question, in the units of the data: a number, or several in order. They
        apply to the whole lattice: an answer is cut at the nearest edge of a cell. Categories
        need none: each is a class of its own.

    Examples
    --------
    >>> Relations((("pay", "rent"),), share=0.5, at={"pay": 40_000, "rent": [500, 900]}).columns
    ('pay & rent',)
    """

    pairs: tuple[tuple[str, str], ...]
    share: float = 0.5
    at: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pairs = tuple(_pair(each) for each in self.pairs)
        if not pairs:
            raise InvalidInput("at least one pair of questions in [relations]", "none")
        _few(len(pairs))
        known: set[frozenset[str]] = set()
        for pair in pairs:
            if frozenset(pair) in known:
                raise InvalidInput(
                    "each pair of questions once in [relations]",
                    f"{pair[0]!r} and {pair[1]!r} twice",
                )
            known.add(frozenset(pair))
        share = _checks.finite(share=self.share)
        if not 0 < share < 1:
            raise InvalidInput(
                "a share between 0 and 1 of the people who are asked for a pair",
                f"share = {share:g}",
                "The others answer single questions, which relations are read against.",
            )
        if not isinstance(self.at, Mapping):
            raise InvalidInput("at = {question = threshold} in [relations]", _checks.shown(self.at))
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "share", share)
        at = {name: _numbers(name, given) for name, given in self.at.items()}
        object.__setattr__(self, "at", MappingProxyType(at))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as built: a read-only mapping does not pickle."""
        return type(self), (self.pairs, self.share, dict(self.at))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of reports, one a pair."""
        return tuple(JOINT.join(pair) for pair in self.pairs)

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions that are in some pair."""
        return tuple(dict.fromkeys(name for pair in self.pairs for name in pair))

    def check(self, questions: Mapping[str, Question]) -> None:
        """Refuse pairs and thresholds that do not fit the questions."""
        for name in (*self.questions, *self.at):
            if name not in questions:
                raise InvalidInput(
                    "pairs and thresholds of questions of the survey",
                    f"{name!r} in [relations]",
                    _checks.nearest(name, questions),
                )
        for column in self.columns:
            if column in questions:
                raise InvalidInput(
                    f"a question with another name than the pair {column!r}", "one of that name"
                )
        for name in self.at:
            cuts(name, questions[name].axis, self.at[name])

    def missing(self, questions: Mapping[str, Question]) -> list[str]:
        """Questions of pairs that are numbers and have no threshold yet."""
        return [
            name
            for name in self.questions
            if name not in self.at and isinstance(questions[name].axis, Lattice)
        ]

    def mechanisms(
        self, questions: Mapping[str, Question], epsilon: float
    ) -> dict[str, PairResponse]:
        """The mechanism of each pair, by the name of its column."""
        if missing := self.missing(questions):
            raise InvalidInput(
                "thresholds for the questions of pairs before anybody is asked",
                f"none for {', '.join(map(repr, missing))}",
                ADVICE,
            )
        sides = {name: self._side(name, questions[name]) for name in self.questions}
        return {
            column: PairResponse({name: sides[name] for name in pair}, epsilon=epsilon)
            for column, pair in zip(self.columns, self.pairs, strict=True)
        }

    def _side(self, name: str, question: Question) -> Side:
        given = self.at.get(name)
        at = None if given is None else cuts(name, question.axis, given)
        return Side(question.axis, at, question.mechanism.prefer_not_to_say)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        at = {name: each[0] if len(each) == 1 else list(each) for name, each in self.at.items()}
        fields = {"pairs": [list(pair) for pair in self.pairs], "share": self.share}
        return {**fields, "at": at} if at else fields

    @classmethod
    def read(cls, fields: Any, questions: Mapping[str, Any]) -> Relations:
        """The relations that a table of a survey file describes."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("a table [relations]", _checks.shown(fields))
        _checks.known_keys(fields, KEYS, "[relations]")
        pairs = fields.get("pairs")
        if pairs == ALL:
            # Counted before they are listed: a short file may have very many questions.
            _few(math.comb(len(questions), 2))
            pairs = list(combinations(questions, 2))
        if not isinstance(pairs, list | tuple):
            raise InvalidInput(
                f'pairs = [["pay", "rent"], ...] or pairs = "{ALL}" in [relations]',
                "none" if pairs is None else _checks.shown(pairs),
            )
        return cls(tuple(pairs), **{key: fields[key] for key in ("share", "at") if key in fields})


def cuts(name: str, axis: Lattice | Categories, given: tuple[float, ...]) -> tuple[int, ...]:
    """The indices at which thresholds cut a lattice: those of the nearest edges of cells."""
    if isinstance(axis, Categories):
        raise InvalidInput(
            "thresholds of questions that are numbers",
            f"one of {name!r}, whose answers are words",
            "Leave it out: every category is a class of its own.",
        )
    whole, inner = axis.kind == INTEGER, axis.edges[1:-1]
    for threshold in given:
        if whole and threshold != int(threshold):
            raise InvalidInput(f"whole numbers as thresholds of {name!r}", f"{threshold:g}")
        # A whole number begins the class above it; of other numbers no cell may be all there is.
        if not (axis.low < threshold <= axis.high if whole else axis.low < threshold < axis.high):
            raise InvalidInput(
                f"thresholds of {name!r} inside its bounds, {axis.low:g} and {axis.high:g}",
                f"{threshold:g}",
            )
    at = [int(np.abs(inner - (each - 0.5 * whole)).argmin()) + 1 for each in given]
    if any(a >= b for a, b in pairwise(at)):
        raise InvalidInput(
            f"thresholds of {name!r} in ascending order, at least a cell apart",
            ", ".join(f"{each:g}" for each in given),
        )
    return tuple(at)


def _few(pairs: int) -> None:
    """Refuse more pairs than a table of reports may have columns."""
    if pairs > MAX_COLUMNS:
        raise InvalidInput(
            f"at most {MAX_COLUMNS:,} pairs of questions in [relations], one column of reports "
            "each",
            f"{pairs:,}",
        )


def _pair(given: Any) -> tuple[str, str]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise InvalidInput("two questions in each pair of [relations]", _checks.shown(given))
    one, other = given
    if not isinstance(one, str) or not isinstance(other, str):
        raise InvalidInput("names of questions in each pair of [relations]", _checks.shown(given))
    if one == other:
        raise InvalidInput(
            "pairs of two different questions in [relations]", f"{one!r} with itself"
        )
    return one, other


def _numbers(name: Any, given: Any) -> tuple[float, ...]:
    several = given if isinstance(given, list | tuple) else (given,)
    if not several:
        raise InvalidInput(f"at least one threshold of {name!r}", "none")
    if len(several) > THRESHOLDS:
        raise InvalidInput(f"at most {THRESHOLDS} thresholds of {name!r}", f"{len(several):,}")
    try:
        return tuple(_checks.finite(threshold=each) for each in several)
    except InvalidInput:
        raise InvalidInput(
            f"a finite number, or several, as thresholds of {name!r}", _checks.shown(given)
        ) from None
