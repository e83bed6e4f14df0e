"""One question of a survey: how its answers are protected, and what a missing one means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide import _checks
from confide.errors import InvalidInput, Unsupported
from confide.files import parse
from confide.lattice import Categories, Lattice
from confide.mechanisms import Joint, Mechanism
from confide.mechanisms.register import KINDS, NUMBERS, WORDS
from confide.questions.wording import Wording, base

REFUSE = "refuse"
TEXTS = ("text", "help", "unit")
"""Texts of a question; each may have a language at its end: text_de."""
SHOWN = (*TEXTS, "labels")
"""All keys of a question that respondents read."""


@dataclass(frozen=True)
class Question:
    """One question of a survey.

    Parameters
    ----------
    mechanism
        How its answers are protected.
    missing
        A public value between the bounds, or a category, that stands for a missing answer; None
        refuses missing answers. That somebody did not answer is private too, so a report is sent
        in any case.
    wording
        What respondents read: ``text``, ``help``, ``unit``, and ``labels`` of categories.
    """

    mechanism: Mechanism
    missing: float | str | None = None
    wording: Wording = field(default_factory=Wording, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism) or list(self.mechanism.axes) != [""]:
            raise InvalidInput("a mechanism for one question", _checks.shown(self.mechanism))
        if math.isinf(self.mechanism.spend.epsilon):
            raise Unsupported(
                f"A {self.mechanism.name} mechanism has no finite epsilon: no survey may use it."
            )
        if self.missing is None:
            return
        axis = self.axis
        if isinstance(axis, Categories):
            _checks.one_of(axis.labels, missing=self.missing)
        else:
            if isinstance(self.missing, str):
                raise InvalidInput(
                    f"missing to be {REFUSE!r} or a number", f"missing={self.missing!r}"
                )
            value = _checks.within(axis.low, axis.high, missing=self.missing)
            object.__setattr__(self, "missing", value)

    @property
    def axis(self) -> Lattice | Categories:
        """The public lattice or categories of the answers."""
        return self.mechanism.axes[""]

    def answers(self, column: Any, *, name: str, plain: bool, where: parse.Where) -> Any:
        """An Arrow column as values for the mechanism, missing answers filled in or refused."""
        if isinstance(self.axis, Categories):
            return self._words(column, name, where)
        values = parse.numbers(
            column,
            name=name,
            plain=plain,
            where=where,
            gap="leave the cell empty and give the question missing = ...",
        )
        gaps = np.isnan(values)
        if gaps.any():
            self._fill(name, where, int(np.argmax(gaps)))
            values[gaps] = self.missing
        return values

    def _words(self, column: Any, name: str, where: parse.Where) -> list[Any]:
        values: list[Any] = parse.words(column, name=name, where=where)
        known = set(self.axis.labels) if isinstance(self.axis, Categories) else set()
        for at, value in enumerate(values):
            if value is None:
                self._fill(name, where, at)
                values[at] = self.missing
            elif value not in known:
                labels = _checks.shown(sorted(known))
                raise InvalidInput(
                    f"answers among {labels} in column {name!r}", f"another word in {where(at)}"
                )
        return values

    def _fill(self, name: str, where: parse.Where, at: int) -> None:
        if self.missing is None:
            raise InvalidInput(
                f"an answer to {name!r} in every row",
                f"none in {where(at)}",
                "Name in the survey a public value that stands for a missing answer: missing = ...",
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields = {"mechanism": self.mechanism.name, **self.mechanism.asking()}
        if self.missing is not None:
            fields["missing"] = self.missing
        return fields | self.wording.to_dict()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Question:
        """The question that some keys of a survey file describe."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("a table of keys", _checks.shown(fields))
        worded = [key for key in fields if isinstance(key, str) and base(key)[0] in SHOWN]
        texts = {key: fields[key] for key in worded}
        fields = {key: value for key, value in fields.items() if key not in texts}
        usual = WORDS if "categories" in fields else NUMBERS
        kind = fields.get("mechanism", usual)
        if kind == Joint.name:
            raise InvalidInput(
                "a mechanism for one question",
                f"mechanism={kind!r}",
                "Joint questions are asked in Python: cf.Joint.",
            )
        asked = {name: each for name, each in KINDS.items() if each.needed}
        make = asked[_checks.one_of(tuple(asked), mechanism=kind)]
        own = (*make.needed, *make.optional)
        known = (*own, "mechanism", "missing", *SHOWN)
        _checks.known_keys(fields, known, f"a {make.name} mechanism")
        for key in make.needed:
            if key not in fields:
                raise InvalidInput(f"the key {key!r}", "none")
        for key in own:
            if key not in make.words and isinstance(fields.get(key), str):
                raise InvalidInput(
                    f"a number for the key {key!r}",
                    f"text, {_checks.shown(fields[key])}",
                    "Write it without quotes.",
                )
        missing = fields.get("missing", REFUSE)
        if missing == REFUSE:
            named = fields.get("categories")
            if isinstance(named, list | tuple) and REFUSE in named and "missing" in fields:
                raise InvalidInput(
                    f"a clear meaning of missing = {REFUSE!r}",
                    "a category of that name",
                    "Give the category another name.",
                )
            missing = None
        mechanism = make.asked({key: fields[key] for key in own if key in fields})
        return cls(mechanism, missing, wording=Wording.read(texts, labels_of(mechanism)))


def labels_of(mechanism: Mechanism) -> tuple[str, ...]:
    """The categories of a question of words; none of a question that is a number."""
    axis = next(iter(mechanism.axes.values()))
    return axis.labels if isinstance(axis, Categories) else ()
