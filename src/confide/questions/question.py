"""One question of a survey: its mechanism, and the meaning of a missing answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confide import _checks
from confide.errors import BadRows, InvalidInput, Unsupported
from confide.files import parse
from confide.lattice import INTEGER, Categories, Lattice
from confide.mechanisms import Joint, Mechanism
from confide.mechanisms.register import KINDS, NUMBERS, WORDS
from confide.questions.wording import Wording, base

REFUSE = "refuse"
TEXTS = ("text", "help", "unit")
"""Texts of a question; each may have a language at its end: text_de."""
SHOWN = (*TEXTS, "labels")
"""All keys of a question that respondents read."""
OPEN = ("low_open", "high_open")
"""Keys that say that values beyond a bound count as the bound."""
MEANINGS = (*OPEN, "ordered")
"""Keys that are true or false and say what answers mean; no noise depends on them."""
OFFER = "prefer_not_to_say"


@dataclass(frozen=True)
class Question:
    """One question of a survey.

    Parameters
    ----------
    mechanism
        The mechanism that protects its answers.
    missing
        A public value between the bounds, or a category, that stands for a missing answer; None
        refuses missing answers, unless the mechanism has ``prefer_not_to_say``, which makes
        declining an answer. Whether a person answered is private too, so a report is always sent.
    wording
        What respondents read: ``text``, ``help``, ``unit``, and ``labels`` of categories.
    low_open, high_open
        Whether to show the bound as "300,000 or more". Values beyond a bound always count as the
        bound; this setting tells respondents and readers.
    ordered
        Whether the categories are in an order, such as "never", "sometimes", "often".

    Examples
    --------
    >>> from confide import RandomizedResponse
    >>> question = Question(RandomizedResponse(["no", "yes"], epsilon=1.0), missing="no")
    >>> question.mechanism.spend
    Spend(epsilon=1)
    """

    mechanism: Mechanism
    missing: float | str | None = None
    wording: Wording = field(default_factory=Wording, kw_only=True)
    low_open: bool = field(default=False, kw_only=True)
    high_open: bool = field(default=False, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism) or list(self.mechanism.axes) != [""]:
            raise InvalidInput("a mechanism for one question", _checks.shown(self.mechanism))
        if math.isinf(self.mechanism.spend.epsilon):
            raise Unsupported(
                f"A {self.mechanism.name} mechanism has no finite epsilon: no survey may use it."
            )
        axis = self.axis
        for key in MEANINGS:
            _checks.flag(**{key: getattr(self, key)})
        if isinstance(axis, Categories) and (self.low_open or self.high_open):
            raise InvalidInput(
                "low_open and high_open only where a question has bounds", "a question of words"
            )
        if self.ordered and not isinstance(axis, Categories):
            raise InvalidInput("ordered only where a question has categories", "a number")
        if self.missing is None:
            return
        if self.mechanism.prefer_not_to_say:
            raise InvalidInput(
                f"either missing or {OFFER}",
                "both",
                f"With {OFFER} an answer that is not given is one of its own.",
            )
        if isinstance(axis, Categories):
            _checks.one_of(axis.labels, missing=self.missing)
        else:
            if isinstance(self.missing, str):
                raise InvalidInput(
                    f"missing to be {REFUSE!r} or a number", f"missing={self.missing!r}"
                )
            value = _checks.within(axis.low, axis.high, missing=self.missing)
            if axis.kind == INTEGER and not value.is_integer():
                raise InvalidInput("a whole number for missing", f"missing={value:g}")
            object.__setattr__(self, "missing", value)

    @property
    def axis(self) -> Lattice | Categories:
        """The public lattice or categories of the answers."""
        return self.mechanism.axes[""]

    @property
    def capped(self) -> str:
        """A sentence that says which values count as a bound; empty where no bound is open.

        Examples
        --------
        >>> keys = {"low": 0, "high": 300_000, "high_open": True, "epsilon": 1.0}
        >>> Question.from_dict(keys).capped
        'Values of 300,000 or more count as 300,000.'
        """
        axis = self.axis
        if not isinstance(axis, Lattice):
            return ""
        told = [
            f"{end} count as {bound:,.15g}"
            for key, end, bound in zip(OPEN, self.ends, (axis.low, axis.high), strict=True)
            if getattr(self, key)
        ]
        return f"Values of {', and of '.join(told)}." if told else ""

    @property
    def ends(self) -> tuple[str, str]:
        """The bounds of a number in words: "300,000 or more" where one is open; else empty."""
        axis = self.axis
        if not isinstance(axis, Lattice):
            return "", ""
        low, high = f"{axis.low:,.15g}", f"{axis.high:,.15g}"
        return (
            f"{low} or less" if self.low_open else low,
            f"{high} or more" if self.high_open else high,
        )

    def answers(self, column: Any, *, name: str, plain: bool, where: parse.Where) -> Any:
        """An Arrow column as values for the mechanism, missing answers filled in or refused."""
        if isinstance(self.axis, Categories):
            return self._words(column, name, where)
        values = parse.numbers(
            column,
            name=name,
            plain=plain,
            where=where,
            gap=f"leave the cell empty and give the question {OFFER} = true.",
        )
        gaps = np.isnan(values)
        if self.mechanism.prefer_not_to_say:
            self._whole(np.where(gaps, 0.0, values), name, where)
            return np.ma.MaskedArray(values, mask=gaps)
        if gaps.any():
            self._fill(name, where, int(np.argmax(gaps)))
            values[gaps] = self.missing
        self._whole(values, name, where)
        return values

    def _whole(self, values: Any, name: str, where: parse.Where) -> None:
        """Refuse numbers that are not whole where they must be, by their row."""
        odd = values != np.floor(values)
        if isinstance(self.axis, Lattice) and self.axis.kind == INTEGER and odd.any():
            raise BadRows(
                f"whole numbers in column {name!r}",
                f"another number in {where(int(np.argmax(odd)))}",
                'They are not rounded: round them first, or leave kind = "integer" out.',
                column=name,
            )

    def _words(self, column: Any, name: str, where: parse.Where) -> list[Any]:
        values: list[Any] = parse.words(column, name=name, where=where)
        known = set(self.axis.labels) if isinstance(self.axis, Categories) else set()
        for at, value in enumerate(values):
            if value is None and self.mechanism.prefer_not_to_say:
                continue
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
                f"Let people decline in the survey, {OFFER} = true, or name a public value that "
                "stands for a missing answer, missing = ...",
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields = {"mechanism": self.mechanism.name, **self.mechanism.asking()}
        if self.missing is not None:
            fields["missing"] = self.missing
        fields |= {key: True for key in MEANINGS if getattr(self, key)}
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
        if OFFER in fields and OFFER not in own:
            raise InvalidInput(
                f"{OFFER} with a square wave or with randomized response",
                f"a {make.name} mechanism",
                "Leave the key mechanism out, or name a public value with missing = ...",
            )
        known = (*own, "mechanism", "missing", *SHOWN, *MEANINGS)
        _checks.known_keys(fields, known, f"a {make.name} mechanism")
        for key in make.needed:
            if key not in fields:
                shared = (
                    "Or give the survey one, which its questions share." if key == "epsilon" else ""
                )
                raise InvalidInput(f"the key {key!r}", "none", shared)
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
        meanings = {key: fields[key] for key in MEANINGS if key in fields}
        wording = Wording.read(texts, labels_of(mechanism))
        return cls(mechanism, missing, wording=wording, **meanings)


def labels_of(mechanism: Mechanism) -> tuple[str, ...]:
    """The categories of a question of words; none of a question that is a number."""
    axis = next(iter(mechanism.axes.values()))
    return axis.labels if isinstance(axis, Categories) else ()
