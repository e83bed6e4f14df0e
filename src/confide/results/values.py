"""Results: what is known about each question, as plain values that travel as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, Self, final

import numpy as np

from confide import _checks
from confide.curves import CellDensity, Proportions
from confide.curves.forms import frame
from confide.errors import InvalidInput
from confide.summaries.groups import Part, label

VERSION = 1
NUMBER, CATEGORIES = "number", "categories"
KINDS: dict[str, type[CellDensity] | type[Proportions]] = {
    NUMBER: CellDensity,
    CATEGORIES: Proportions,
}
"""Kinds of questions, and the curve of each."""
RESULT = ("question", "kind", "n", "needed", "reason", "plausible", "quantities", "curve", "groups")
RESULTS = ("confide", "version", "survey", "level", "quick", "questions")


@final
@dataclass(frozen=True)
class Quantity:
    """One number about the population, with its interval.

    Parameters
    ----------
    name
        ``"mean"``, ``"lower quartile"``, ``"median"``, ``"upper quartile"``, or a category, whose
        share it is.
    estimate
        None where there are too few reports.
    low, high
        Ends of its confidence interval; None where none was asked for.
    """

    name: str
    estimate: float | None
    _: KW_ONLY
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"name": self.name, "estimate": self.estimate, "low": self.low, "high": self.high}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        _keyed(fields, ("name", "estimate", "low", "high"), "a quantity")
        if not isinstance(fields["name"], str):
            raise InvalidInput("the name of a quantity", _checks.shown(fields["name"]))
        numbers = {key: fields[key] for key in ("estimate", "low", "high")}
        known = {key: x if x is None else _checks.finite(**{key: x}) for key, x in numbers.items()}
        return cls(fields["name"], **known)


@final
@dataclass(frozen=True, eq=False)
class Result:
    """What is known about one question, of all respondents or of one group.

    Parameters
    ----------
    question
        Its name.
    kind
        ``"number"`` or ``"categories"``.
    n
        How many reports there are.
    needed
        How many an estimate needs.
    quantities
        Mean, median and quartiles of a number; the share of each category.
    curve
        The density, or the shares; None where there are too few reports.
    reason
        Why there is no estimate; empty where there is one.
    plausible
        Whether any answers at all could have given these reports. Where not, they may be forged,
        or belong to another survey.
    groups
        For each public column the result of each of its groups.
    """

    question: str
    kind: str
    n: int
    needed: int
    quantities: tuple[Quantity, ...]
    _: KW_ONLY
    curve: CellDensity | Proportions | None = None
    reason: str = ""
    plausible: bool = True
    groups: Mapping[str, Mapping[Part, Result]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Quantity:
        """The quantity of that name."""
        names = [one.name for one in self.quantities]
        return self.quantities[names.index(_checks.one_of(names, quantity=name))]

    def mean(self) -> float:
        """The mean of a number."""
        return self._known("mean")

    def median(self) -> float:
        """The value below which half of the population lies."""
        return self._known("median")

    def share(self, category: str) -> float:
        """The share of a category."""
        return self._known(category)

    def _known(self, name: str) -> float:
        found = self[name].estimate
        if found is None:
            raise InvalidInput(f"at least {self.needed} reports", f"{self.n}")
        return found

    def __repr__(self) -> str:
        told = [
            f"{one.name} {one.estimate:.4g}" for one in self.quantities if one.estimate is not None
        ]
        return f"<Result {self.question!r}, n={self.n}: {', '.join(told) or self.reason}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "question": self.question,
            "kind": self.kind,
            "n": self.n,
            "needed": self.needed,
            "reason": self.reason,
            "plausible": self.plausible,
            "quantities": [one.to_dict() for one in self.quantities],
            "curve": None if self.curve is None else self.curve.to_dict(),
            "groups": [
                {"by": by, "of": [{"group": key, **one.to_dict()} for key, one in own.items()]}
                for by, own in self.groups.items()
            ],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; the curve comes back without its intervals."""
        _keyed(fields, RESULT, "a result")
        kind = _checks.one_of(tuple(KINDS), kind=fields["kind"])
        curve = None if fields["curve"] is None else KINDS[kind].from_dict(fields["curve"])
        for key in ("question", "reason"):
            if not isinstance(fields[key], str):
                raise InvalidInput(f"text for {key!r} in a result", _checks.shown(fields[key]))
        if not isinstance(fields["plausible"], bool):
            raise InvalidInput("plausible to be true or false", _checks.shown(fields["plausible"]))
        groups: dict[str, dict[Part, Any]] = {}
        for column in _listed(fields, "groups"):
            _keyed(column, ("by", "of"), "a result by group")
            own = groups.setdefault(column["by"], {})
            for one in _listed(column, "of"):
                if not isinstance(one, Mapping) or not isinstance(one.get("group"), str | int):
                    raise InvalidInput("groups that are words or whole numbers", "others")
                own[one["group"]] = cls.from_dict({key: one[key] for key in one if key != "group"})
        return cls(
            fields["question"],
            kind,
            _checks.integer(0, n=fields["n"]),
            _checks.integer(0, needed=fields["needed"]),
            tuple(Quantity.from_dict(one) for one in _listed(fields, "quantities")),
            curve=curve,
            reason=fields["reason"],
            plausible=fields["plausible"],
            groups=groups,
        )


@final
@dataclass(frozen=True, eq=False)
class Results(Mapping[str, Result]):
    """What is known about every question of a survey.

    ``results["pay"]`` is the result of a question.

    Parameters
    ----------
    survey
        The fingerprint of the survey.
    level
        Confidence level of all intervals, one by one.
    questions
        The result of each question.
    quick
        Whether intervals are the quick ones of a live view: they cover as the others do, and are
        wider where there are very many reports.

    Examples
    --------
    >>> mean = Quantity("mean", None, low=None, high=None)
    >>> pay = Result("pay", "number", 9, 20, (mean,), reason="Not enough reports yet.")
    >>> results = Results("0f", 0.95, {"pay": pay})
    >>> results
    <Results of 9 respondents: pay>
    >>> Results.from_dict(results.to_dict())["pay"]["mean"]
    Quantity(name='mean', estimate=None, low=None, high=None)
    """

    survey: str
    level: float
    questions: Mapping[str, Result]
    _: KW_ONLY
    quick: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", MappingProxyType(dict(self.questions)))

    def __reduce__(self) -> Any:
        """Pickle as plain values: a read-only mapping does not pickle, nor do intervals travel."""
        return type(self).from_dict, (self.to_dict(),)

    def __getitem__(self, question: str) -> Result:
        return self.questions[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def n(self) -> int:
        """Number of respondents: the most that answered any one question."""
        return max((one.n for one in self.values()), default=0)

    def __repr__(self) -> str:
        return f"<Results of {self.n} respondents: {', '.join(self)}>"

    def to_frame(self) -> Any:
        """One row for each quantity of each question and group, as a table of pandas.

        Returns
        -------
        pandas.DataFrame
            With the columns ``question``, ``by`` and ``group`` (empty for all respondents), ``n``,
            ``quantity``, ``estimate``, ``low`` and ``high``. What is not known is missing.
        """
        rows = []
        for name, result in self.items():
            for by, group, one in _flat(result):
                for quantity in one.quantities:
                    numbers = (quantity.estimate, quantity.low, quantity.high)
                    known = [np.nan if number is None else number for number in numbers]
                    ends = dict(zip(("estimate", "low", "high"), known, strict=True))
                    place = {"question": name, "by": by, "group": group, "n": one.n}
                    rows.append({**place, "quantity": quantity.name, **ends})
        return frame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "confide": "results",
            "version": VERSION,
            "survey": self.survey,
            "level": self.level,
            "quick": self.quick,
            "questions": [one.to_dict() for one in self.values()],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping) or fields.get("confide") != "results":
            raise InvalidInput("results written by confide", "something else")
        _keyed(fields, RESULTS, "results")
        if fields["version"] != VERSION:
            raise InvalidInput(f"results of version {VERSION}", "another version")
        if not isinstance(fields["survey"], str):
            raise InvalidInput("the fingerprint of a survey", _checks.shown(fields["survey"]))
        if not isinstance(fields["quick"], bool):
            raise InvalidInput("quick to be true or false", _checks.shown(fields["quick"]))
        found = [Result.from_dict(one) for one in _listed(fields, "questions")]
        level = _checks.level(fields["level"])
        questions = {one.question: one for one in found}
        return cls(fields["survey"], level, questions, quick=fields["quick"])


def _flat(result: Result) -> Iterator[tuple[str, str, Result]]:
    """A result and those of its groups, each with its column and the name of the group."""
    yield "", "", result
    for by, own in result.groups.items():
        for key, one in own.items():
            yield by, label(key), one


def _keyed(fields: Any, keys: tuple[str, ...], where: str) -> None:
    """Refuse what has not exactly these keys."""
    if not isinstance(fields, Mapping):
        raise InvalidInput(f"{where} as a JSON object", _checks.shown(fields))
    _checks.known_keys(fields, keys, where)
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} in {where}", "none")


def _listed(fields: Mapping[str, Any], key: str) -> list[Any]:
    found = fields[key]
    if not isinstance(found, list):
        raise InvalidInput(f"a list for {key!r} in results", _checks.shown(found))
    return found
