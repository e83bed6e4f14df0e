"""Results of each question as plain values, with JSON forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, Self, final

import numpy as np

from confide import _checks
from confide._cards import LEVEL, bars, card, estimates, table, whisker
from confide._figures import number, percent
from confide._markup import Html, join
from confide.accounting.spend import Spend, rounded_up
from confide.curves import CellDensity, Proportions, Relation, SimultaneousBand, forms
from confide.curves.forms import frame
from confide.errors import InvalidInput
from confide.questions import Questionnaire
from confide.summaries.groups import Part, label

VERSION = 1
NUMBER, POINTS, INTEGER, CATEGORIES = "number", "points", "integer", "categories"
KINDS: dict[str, type[CellDensity] | type[Proportions]] = {
    NUMBER: CellDensity,
    POINTS: CellDensity,
    INTEGER: CellDensity,
    CATEGORIES: Proportions,
}
"""Kinds of questions, and the curve of each."""
RESULT = ("question", "kind", "n", "needed", "reason", "plausible", "quantities", "curve", "groups")
RESULTS = ("confide", "version", "survey", "level", "quick", "questions")
OF_RESULT = ("declined", "cumulative", "differences", "slopes", "reader", "band", "effective")
OF_RESULTS = (
    "questionnaire",
    "invited",
    "paired",
    "simulated",
    "weighted",
    "raked",
    "relations",
)
"""Keys of results that are there only where they say something."""
BAND = ("x", "low", "high")
"""Arrays of a band."""


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

    Examples
    --------
    >>> mean = Quantity("mean", 41_000.0, low=40_000.0, high=42_000.0)
    >>> mean.high - mean.low
    2000.0
    """

    name: str
    estimate: float | None
    _: KW_ONLY
    low: float | None
    high: float | None

    def _repr_html_(self) -> str:
        """The number and its interval, for notebooks."""
        name, estimate, ends = _row(self)
        picture = "" if estimate is None or ends is None else whisker(estimate, ends)
        told = ("–" if one is None else number(one) for one in (estimate, self.low, self.high))
        return card(name, picture, table(("estimate", "from", "to"), [tuple(told)]))

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
    """The estimates of one question, for all respondents or for one group.

    Parameters
    ----------
    question
        Its name.
    kind
        ``"number"``, ``"points"``, ``"integer"`` or ``"categories"``.
    n
        How many reports there are: one of each person who was asked and answered. How many were
        asked and did not answer is not known here.
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
    declined
        The share who preferred not to say; None where that was no choice. All other quantities are
        about those who did answer.
    cumulative
        For ordered categories the share of each one and those before it.
    differences
        Of a group: how much larger its mean, or its share of each category, is than that of
        everybody else. The intervals of all differences in the results hold together, with the
        level of the results.
    slopes
        Of a survey with rounds: how much the mean, or the share of each category (the second of
        two), changes per round along a straight line.
    reader
        What one of these people spends, by answering this question, towards a reader of nothing
        but the results; None where that is not known.
    band
        A simultaneous band of a density; None where none was asked for.
    effective
        The effective number of respondents, if they have weights (Kish 1965); None otherwise.

    Examples
    --------
    >>> mean = Quantity("mean", 41.0, low=40.0, high=42.0)
    >>> pay = Result("pay", "number", 900, 20, (mean,))
    >>> pay.mean(), pay["mean"].low
    (41.0, 40.0)
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
    declined: Quantity | None = None
    cumulative: tuple[Quantity, ...] = ()
    differences: tuple[Quantity, ...] = ()
    slopes: tuple[Quantity, ...] = ()
    reader: Spend | None = None
    band: SimultaneousBand | None = None
    effective: float | None = None

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

    def _repr_html_(self) -> str:
        """A small picture, the numbers with their intervals and what it cost, for notebooks."""
        return self._card(LEVEL)

    def _card(self, level: float) -> str:
        shares = self.kind == CATEGORIES
        own = [_row(one) for one in self.quantities]
        numbers = [estimates(own, level=level, shares=shares)]
        if self.declined is not None:
            numbers.append(estimates([_row(self.declined)], level=level, shares=True))
        picture = "" if self.curve is None else self._picture()
        facts = {} if self.curve is None else self.curve.facts
        cost = forms.cost(facts) if self.curve is not None else self.reason
        if self.reader is not None:
            cost += f" To a reader of the results alone: {_figures(self.reader)}."
        title = f"{self.question}: {self.n:,} reports"
        return card(title, picture, join(numbers), cost=cost, facts=forms.how(facts))

    def _picture(self) -> str:
        if isinstance(self.curve, Proportions):
            ends = [[getattr(one, end) for one in self.quantities] for end in ("low", "high")]
            known = None if None in ends[0] + ends[1] else (np.array(ends[0]), np.array(ends[1]))
            values, names = self.curve.shares.tolist(), list(self.curve.categories)
            return bars(values, names, ends=known, told="shares")
        assert self.curve is not None
        return self.curve._picture()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        more: dict[str, Any] = {}
        if self.declined is not None:
            more["declined"] = self.declined.to_dict()
        if self.cumulative:
            more["cumulative"] = [one.to_dict() for one in self.cumulative]
        if self.differences:
            more["differences"] = [one.to_dict() for one in self.differences]
        if self.slopes:
            more["slopes"] = [one.to_dict() for one in self.slopes]
        if self.reader is not None:
            more["reader"] = {"epsilon": self.reader.epsilon, "delta": self.reader.delta}
        if self.band is not None:
            more["band"] = {
                "level": self.band.level,
                **{key: getattr(self.band, key).tolist() for key in BAND},
            }
        if self.effective is not None:
            more["effective"] = self.effective
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
            **more,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; the curve comes back without its intervals."""
        _keyed(fields, RESULT, "a result", OF_RESULT)
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
                    raise InvalidInput(
                        "groups that are words or whole numbers", "a group of another type"
                    )
                own[one["group"]] = cls.from_dict({key: one[key] for key in one if key != "group"})
        declined = fields.get("declined")
        effective = fields.get("effective")
        if effective is not None:
            effective = _checks.within(0, np.inf, effective=effective)
        reader = fields.get("reader")
        if reader is not None:
            _keyed(reader, ("epsilon", "delta"), "what a reader is told")
            reader = Spend(
                _checks.within(0, np.inf, epsilon=reader["epsilon"]),
                _checks.within(0, 1, delta=reader["delta"]),
            )
        return cls(
            fields["question"],
            kind,
            _checks.integer(0, n=fields["n"]),
            _checks.integer(0, needed=fields["needed"]),
            _quantities(fields, "quantities"),
            curve=curve,
            reason=fields["reason"],
            plausible=fields["plausible"],
            groups=groups,
            declined=None if declined is None else Quantity.from_dict(declined),
            cumulative=_quantities(fields, "cumulative"),
            differences=_quantities(fields, "differences"),
            slopes=_quantities(fields, "slopes"),
            reader=reader,
            band=None if fields.get("band") is None else _band(fields["band"]),
            effective=effective,
        )


@dataclass(frozen=True, eq=False)
class Estimates(Mapping[str, Result]):
    """The estimates of every question of a survey, as plain values.

    `confide.results.Results` adds the files that they are written into.

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
    questionnaire
        The survey, whose texts tables and pages show; None where only its fingerprint is known.
    invited
        How many people were invited to answer; None where that is not known.
    simulated
        Whether the reports were simulated: nobody's privacy was protected, and none was at stake.
    weighted
        Whether respondents have survey weights.
    raked
        Public columns to whose margins the weights were raked; none where that is not known.
    relations
        How the answers to two questions go together, where the survey asked for pairs.
    paired
        How many people sent a report about a pair, those of pairs without a relation among them.

    Examples
    --------
    >>> mean = Quantity("mean", None, low=None, high=None)
    >>> pay = Result("pay", "number", 9, 20, (mean,), reason="Not enough reports yet.")
    >>> estimates = Estimates("0f", 0.95, {"pay": pay})
    >>> estimates
    <Estimates of 9 respondents: pay>
    >>> Estimates.from_dict(estimates.to_dict())["pay"]["mean"]
    Quantity(name='mean', estimate=None, low=None, high=None)
    """

    survey: str
    level: float
    questions: Mapping[str, Result]
    _: KW_ONLY
    quick: bool = False
    questionnaire: Questionnaire | None = None
    invited: int | None = None
    simulated: bool = False
    weighted: bool = False
    raked: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    paired: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "paired", max(self.paired, sum(one.n for one in self.relations)))
        object.__setattr__(self, "questions", MappingProxyType(dict(self.questions)))
        if self.invited is not None:
            _checks.integer(self.n, invited=self.invited)

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
        """Number of respondents: the most that answered any one question.

        Where each person was asked some of the questions only, all answers over the number of
        questions that a person was asked. People who were asked for a pair come on top.
        """
        survey, pairs = self.questionnaire, self.paired
        if survey is not None and survey.ask is not None and set(self) == set(survey.questions):
            return round(sum(one.n for one in self.values()) / survey.ask) + pairs
        return max((one.n for one in self.values()), default=0) + pairs

    @property
    def by(self) -> tuple[str, ...]:
        """Public columns that there are groups by."""
        return tuple(dict.fromkeys(by for one in self.values() for by in one.groups))

    @property
    def comparisons(self) -> int:
        """Number of differences with simultaneous intervals."""
        return sum(
            len(one.differences)
            for result in self.values()
            for own in result.groups.values()
            for one in own.values()
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.n} respondents: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        """Every question with its picture and numbers, and the groups, for notebooks."""
        told = [Html(one._card(self.level)) for one in self.values()]
        told += [Html(one._repr_html_()) for one in self.relations]
        rows = [
            (f"{by} = {name}", f"{one.n:,}", *_first(one))
            for by, name, one in (each for result in self.values() for each in _flat(result))
            if by
        ]
        groups = table(("by group", "reports", "", "estimate"), rows)
        return card(f"Results of {self.n:,} respondents", *told, groups)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each quantity of each question and group, as plain values.

        The keys are the columns of `to_frame`.
        """
        return [
            {"question": name, "by": by, "group": group, "n": one.n, **row}
            for name, result in self.items()
            for by, group, one in _flat(result)
            for row in _rows(one)
        ]

    def to_frame(self) -> Any:
        """One row for each quantity of each question and group, as a table of pandas.

        ``polars.from_pandas(results.to_frame())`` makes it one of polars.

        Returns
        -------
        pandas.DataFrame
            With the columns ``question``, ``by`` and ``group`` (empty for all respondents), ``n``,
            ``measure`` (mean, quantile, share, cumulative share, declined, or change per round),
            ``quantity``, ``estimate``, ``low``, ``high``, and for groups the ``difference`` from
            everybody else with ``difference_low`` and ``difference_high``. What is not known is
            missing.
        """
        rows = self.rows()
        return frame(
            [
                {key: np.nan if value is None else value for key, value in row.items()}
                for row in rows
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        more: dict[str, Any] = {}
        if self.questionnaire is not None:
            more["questionnaire"] = self.questionnaire.to_dict()
        if self.invited is not None:
            more["invited"] = self.invited
        if self.paired:
            more["paired"] = self.paired
        more |= {key: True for key in ("simulated", "weighted") if getattr(self, key)}
        if self.raked:
            more["raked"] = list(self.raked)
        return {
            "confide": "results",
            "version": VERSION,
            "survey": self.survey,
            "level": self.level,
            "quick": self.quick,
            **more,
            "questions": [one.to_dict() for one in self.values()],
            **({"relations": [one.to_dict() for one in self.relations]} if self.relations else {}),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; anything else is refused."""
        if not isinstance(fields, Mapping) or fields.get("confide") != "results":
            raise InvalidInput("results written by confide", "something else")
        _keyed(fields, RESULTS, "results", OF_RESULTS)
        if fields["version"] != VERSION:
            raise InvalidInput(f"results of version {VERSION}", "another version")
        if not isinstance(fields["survey"], str):
            raise InvalidInput("the fingerprint of a survey", _checks.shown(fields["survey"]))
        flags = {key: fields.get(key, False) for key in ("quick", "simulated", "weighted")}
        for key, value in flags.items():
            if not isinstance(value, bool):
                raise InvalidInput(f"{key} to be true or false", _checks.shown(value))
        raked = _listed({"raked": [], **fields}, "raked")
        if not all(isinstance(name, str) for name in raked) or (raked and not flags["weighted"]):
            raise InvalidInput(
                "the names of raked columns in weighted results", _checks.shown(raked)
            )
        about = fields.get("questionnaire")
        questionnaire = None if about is None else Questionnaire.from_dict(about)
        if questionnaire is not None and questionnaire.fingerprint != fields["survey"]:
            raise InvalidInput("results of the survey that they hold", "those of another")
        found = [Result.from_dict(one) for one in _listed(fields, "questions")]
        level = _checks.level(fields["level"])
        questions = {one.question: one for one in found}
        invited = fields.get("invited")
        return cls(
            fields["survey"],
            level,
            questions,
            questionnaire=questionnaire,
            invited=invited if invited is None else _checks.integer(0, invited=invited),
            paired=_checks.integer(0, paired=fields.get("paired", 0)),
            raked=tuple(raked),
            relations=tuple(
                Relation.from_dict(one) for one in _listed({"relations": [], **fields}, "relations")
            ),
            **flags,
        )


def _flat(result: Result) -> Iterator[tuple[str, str, Result]]:
    """A result and those of its groups, each with its column and the name of the group."""
    yield "", "", result
    for by, own in result.groups.items():
        for key, one in own.items():
            yield by, label(key), one


def _row(one: Quantity) -> tuple[str, float | None, tuple[float, float] | None]:
    """A quantity for a table of estimates."""
    known = one.low is not None and one.high is not None
    return one.name, one.estimate, (one.low, one.high) if known else None  # type: ignore[return-value]


def _first(result: Result) -> tuple[str, str]:
    """The name and the estimate of the first quantity of a result, as words."""
    one = result.quantities[0]
    told = percent if result.kind == CATEGORIES else number
    return f"{result.question}: {one.name}", "–" if one.estimate is None else told(one.estimate)


def _figures(spend: Spend) -> str:
    return f"epsilon = {rounded_up(spend.epsilon, 4)}, delta = {spend.delta:.2g}"


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    """A row for each quantity of a result."""
    apart = {one.name: one for one in result.differences}
    names = [one.name for one in result.quantities]
    words = result.kind == CATEGORIES
    measures = ["share" if words else "mean" if name == "mean" else "quantile" for name in names]
    table = [*zip(measures, result.quantities, strict=True)]
    table += [("cumulative share", one) for one in result.cumulative]
    if result.declined is not None:
        table.append(("declined", result.declined))
    table += [("change per round", one) for one in result.slopes]
    for measure, one in table:
        # A share and a cumulative one have the name of the same category.
        known = apart.get(one.name) if measure in ("share", "mean") else None
        yield {
            "measure": measure,
            "quantity": one.name,
            "estimate": one.estimate,
            "low": one.low,
            "high": one.high,
            "difference": None if known is None else known.estimate,
            "difference_low": None if known is None else known.low,
            "difference_high": None if known is None else known.high,
        }


def _keyed(fields: Any, keys: tuple[str, ...], where: str, more: Sequence[str] = ()) -> None:
    """Refuse what has not exactly these keys; some more may be there."""
    if not isinstance(fields, Mapping):
        raise InvalidInput(f"{where} as a JSON object", _checks.shown(fields))
    _checks.known_keys(fields, (*keys, *more), where)
    for key in keys:
        if key not in fields:
            raise InvalidInput(f"the key {key!r} in {where}", "none")


def _listed(fields: Mapping[str, Any], key: str) -> list[Any]:
    found = fields[key]
    if not isinstance(found, list):
        raise InvalidInput(f"a list for {key!r} in results", _checks.shown(found))
    return found


def _band(fields: Any) -> SimultaneousBand:
    """A band of a density: as many ends as there are places, which ascend."""
    _keyed(fields, ("level", *BAND), "a band")
    level = _checks.level(fields["level"])
    x, low, high = (_checks.vector(**{key: _listed(fields, key)}) for key in BAND)
    if not x.size == low.size == high.size > 1 or not (np.diff(x) > 0).all():
        raise InvalidInput(
            "a band at two or more ascending places", "other places, or lists of unequal length"
        )
    return SimultaneousBand(what="pdf", x=x, low=low, high=high, level=level)


def _quantities(fields: Mapping[str, Any], key: str) -> tuple[Quantity, ...]:
    found = _listed(fields, key) if key in fields else []
    return tuple(Quantity.from_dict(one) for one in found)
