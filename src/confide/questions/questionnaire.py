"""Questionnaires: all questions of a survey, who is asked which, and the privacy cost."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide._cards import bars, card, table
from confide._figures import number
from confide._types import Flags
from confide.accounting.spend import Spend, checked_epsilon, exact, rounded_up, told_cost
from confide.errors import InvalidInput, unquoted
from confide.exact.entropy import SeededEntropy, SystemEntropy
from confide.files import arrow, parse
from confide.files.settings import settings_of
from confide.lattice import LINEAR, Categories, Lattice
from confide.mechanisms import Channel, Mechanism, PairResponse, Reports
from confide.mechanisms.register import KINDS, affordable
from confide.mechanisms.stacked import Stacked, phases_of
from confide.questions.assignment import assigned
from confide.questions.moments import moment
from confide.questions.persons import PERSON
from confide.questions.phases import PHASE, Phases, no_phase
from confide.questions.question import Question
from confide.questions.relations import Relations
from confide.questions.rounds import ROUND, Rounds
from confide.questions.wording import LANGUAGE, Wording, base
from confide.reports.rows import Asking
from confide.reports.stamps import Stamp

TEXTS = ("title", "intro", "contact")
"""Texts of a survey; each may have a language at its end: title_de."""
KEYS = (
    "language",
    "groups",
    "closes",
    "epsilon",
    "ask",
    "relations",
    "phases",
    "rounds",
    "questions",
)
"""The other keys of a survey file."""


@dataclass(frozen=True)
class Questionnaire:
    """Named questions and how the answers to each are protected.

    It has what a device, a collector and an audit need of a survey; `confide.Survey` adds the
    verbs of an analyst.

    Parameters
    ----------
    questions
        The questions by name, which is also the name of their column.
    wording
        What respondents read: ``title``, ``intro`` and ``contact``.
    language
        The language of the texts that name none.
    groups
        Public columns by which results are given, such as a region.
    closes
        When collecting ends, fixed beforehand; None for no date.
    ask
        How many of the questions each person is asked; None for all of them.
    epsilon
        The total that one person spends. It is divided evenly among the questions that a person is
        asked, over all rounds. None if every question has its own epsilon.
    phases
        Settings for two phases: the private reports of the first choose the cells of the second.
    rounds
        Settings for a repeated survey: how many rounds, and in how many of them a person is asked.
    relations
        Pairs of questions that some people are asked for in place of single questions; None for
        no pairs. Each of these people sends one report about two answers, at the survey's whole
        epsilon.

    Notes
    -----
    Formal guarantee: the questions' noises are independent, so a respondent spends the sum of the
    epsilons of the questions that they are asked, or the epsilon of the one pair. `spend` states
    the largest of these. The assignment of questions to people is public, and is drawn before any
    answer is read.

    Examples
    --------
    >>> pay = {"low": 0, "high": 9, "epsilon": 1.0}
    >>> Questionnaire.from_dict({"questions": {"pay": pay}}).spend
    Spend(epsilon=1)
    >>> free = {"low": 0, "high": 9}
    >>> one = Questionnaire.from_dict(
    ...     {"epsilon": 2.0, "ask": 1, "questions": {"pay": free, "rent": free}})
    >>> one.spend, one.mechanisms["rent"].spend
    (Spend(epsilon=2), Spend(epsilon=2))
    """

    questions: Mapping[str, Question]
    wording: Wording = field(default_factory=Wording, kw_only=True)
    language: str = field(default="en", kw_only=True)
    groups: tuple[str, ...] = field(default=(), kw_only=True)
    closes: datetime | None = field(default=None, kw_only=True)
    ask: int | None = field(default=None, kw_only=True)
    epsilon: float | None = field(default=None, kw_only=True)
    relations: Relations | None = field(default=None, kw_only=True)
    phases: Phases | None = field(default=None, kw_only=True)
    rounds: Rounds | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.questions, Mapping) or not self.questions:
            raise InvalidInput("at least one question by name", _checks.shown(self.questions))
        for name, question in self.questions.items():
            if not isinstance(name, str) or not name.strip():
                raise InvalidInput("questions that have a name", _checks.shown(name))
            if not isinstance(question, Question):
                raise InvalidInput(f"a Question for {name!r}", _checks.shown(question))
        if not isinstance(self.language, str) or not LANGUAGE.fullmatch(self.language):
            raise InvalidInput("a language such as en or pt-BR", _checks.shown(self.language))
        if self.phases is not None:
            object.__setattr__(self, "phases", Phases.read(self.phases))
        if self.rounds is not None:
            object.__setattr__(self, "rounds", Rounds.read(self.rounds))
        object.__setattr__(self, "groups", _groups(self.groups, self.questions, self.rounds))
        object.__setattr__(self, "closes", moment(self.closes, "closes"))
        object.__setattr__(self, "ask", _ask(self.ask, len(self.questions)))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
            self._check_shares()
        if self.relations is not None:
            object.__setattr__(self, "relations", self._related(self.relations))
        self._check_times()
        # Files of reports have the same limits, so every answer can be read back.
        affordable((question.to_dict() for question in self.questions.values()), "a survey")
        object.__setattr__(self, "questions", dict(self.questions))

    def _check_times(self) -> None:
        """Refuse phases and rounds that do not go with the rest."""
        several = {"relations": self.relations, "phases": self.phases, "rounds": self.rounds}
        given = [name for name, each in several.items() if each is not None]
        if len(given) > 1:
            raise InvalidInput(
                "one of [relations], [phases] and [rounds] in a survey",
                " and ".join(f"[{name}]" for name in given),
                "Make a survey for each, and ask other people in each of them: answers to two "
                "surveys cost the sum of both.",
            )
        # The phase may be a group; a group that names people would be in every link and report.
        if self.rounds is not None and PERSON in (*self.questions, *self.groups):
            raise _public(PERSON, "rounds")
        if self.phases is not None and PHASE in self.questions:
            raise _public(PHASE, "phases")
        if self.phases is not None:
            self._check_until(self.phases.until)
        if self.phases is not None and self.phases.now == 1:
            for name, question in self.questions.items():
                axis = question.axis
                if isinstance(axis, Lattice) and axis.zoom is not None:
                    raise InvalidInput(
                        "questions without a zoom in the first phase",
                        f"one in {name!r}",
                        "The first phase's reports choose it: survey.next_phase.",
                    )

    def _check_until(self, until: datetime | None) -> None:
        """Refuse a first phase that would last longer than the survey."""
        if until is not None and self.closes is not None and until >= self.closes:
            raise InvalidInput(
                f"until in [phases] before the survey closes, at {self.closes.isoformat()}",
                f"until = {until.isoformat()}",
                "The people of the second phase answer in between.",
            )

    @property
    def times(self) -> int:
        """Number of rounds in which each person answers."""
        return 1 if self.rounds is None else self.rounds.per_person

    @property
    def title(self) -> str:
        """The title, in the survey's own language."""
        return self.wording.get("title")

    def _repr_html_(self) -> str:
        """What is asked and what each answer costs, for notebooks."""
        costs = {name: one.mechanism.spend.epsilon for name, one in self.questions.items()}
        if self.relations is not None and self.epsilon is not None:
            # Pairs may still lack thresholds.
            costs |= dict.fromkeys(self.relations.columns, self.epsilon)
        rows = [
            (name, _answers(self.questions.get(name)), rounded_up(cost, 6))
            for name, cost in costs.items()
        ]
        some = f", {self.asks} asked of each person" if self.ask is not None else ""
        return card(
            f"{self.title or 'Survey'}: {len(self.questions):,} questions{some}",
            bars(list(costs.values()), list(costs), told="epsilon of each answer"),
            table(("question", "answers", "epsilon"), rows),
            cost=told_cost(self.spend),
        )

    @property
    def languages(self) -> tuple[str, ...]:
        """The survey's own language, then the others that it has texts in."""
        every = [self.wording, *(question.wording for question in self.questions.values())]
        others = {language for wording in every for language in wording.languages}
        return (self.language, *sorted(others - {self.language}))

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each column of reports: of every question, then of every pair."""
        single = {name: question.mechanism for name, question in self.questions.items()}
        return {**single, **self.pairs}

    @cached_property
    def pairs(self) -> dict[str, PairResponse]:
        """The mechanism of each pair of questions, by the name of its column; none by default."""
        if self.relations is None:
            return {}
        assert self.epsilon is not None
        return self.relations.mechanisms(self.questions, self.epsilon)

    @property
    def asks(self) -> int:
        """Number of questions that each person is asked."""
        return len(self.questions) if self.ask is None else self.ask

    @property
    def asking(self) -> Asking | None:
        """The rule for rows of reports; None where everybody is asked everything."""
        if self.ask is None and self.relations is None:
            return None
        return Asking(tuple(self.questions), self.asks, tuple(self.pairs))

    @property
    def spend(self) -> Spend:
        """The most that a respondent spends, whichever questions or pair they are asked."""
        every = [question.mechanism.spend for question in self.questions.values()]
        dearest = sorted(every, key=lambda spend: spend.epsilon, reverse=True)[: self.asks]
        total = sum(dearest[1:], start=dearest[0])
        # The exact sum, rounded upwards once: a survey's epsilon of which everybody spends a
        # third three times must not come out above itself.
        whole = sum(Fraction(spend.epsilon) for spend in dearest)
        # A report about a pair costs the survey's epsilon.
        pair = Fraction(self.epsilon or 0.0) if self.relations is not None else 0
        most = self.times * max(whole, pair)
        return Spend(_rounded_up(most), self.times * total.delta, total.note)

    def schedule(self, cells: npt.ArrayLike, *, seed: int | None = None) -> Flags:
        """Draw in which rounds each person is asked: a row for each person, a column a round.

        Every round asks equally many people in every cell, but for a difference of one. Draw it
        once, before the first round, and keep it: a person drawn again spends more than `spend`.

        Parameters
        ----------
        cells
            For each person the number of a cell: people in the same public groups share it.
        seed
            For simulations; by default the operating system's entropy decides.
        """
        if self.rounds is None:
            raise InvalidInput("a survey with [rounds]", "one without")
        own = SystemEntropy() if seed is None else SeededEntropy(_seed(f"schedule {seed}"))
        return assigned(own, cells, questions=self.rounds.count, ask=self.rounds.per_person)

    def phase_of(self, cells: npt.ArrayLike, *, seed: int | None = None) -> npt.NDArray[np.int64]:
        """Draw the phase of each person, 1 or 2, before the survey runs.

        Parameters
        ----------
        cells
            For each person the number of a cell: people in the same public groups share it.
        seed
            For simulations; by default the operating system's entropy decides.
        """
        if self.phases is None:
            raise InvalidInput("a survey with [phases]", "one without")
        own = SystemEntropy() if seed is None else SeededEntropy(_seed(f"phases {seed}"))
        return self.phases.drawn(own, cells)

    @property
    def pilot(self) -> Self:
        """The survey of the first phase: the same questions without a zoom."""
        if self.phases is None:
            raise InvalidInput("a survey with [phases]", "one without")
        fields = self.to_dict()
        for keys in fields["questions"].values():
            if keys.pop("zoom", None) is not None:
                keys["scale"] = LINEAR
        return type(self).from_dict({**fields, "phases": replace(self.phases, now=1).to_dict()})

    def joined(self, channels: Mapping[str, Channel]) -> Self:
        """The survey of the second phase, if some reports are of both phases; else this one.

        A collector moves on by itself. So an owner may have the survey of the first phase only;
        that of the second differs in the zooms, and reports of both phases have them.

        Parameters
        ----------
        channels
            What made the reports of each question.
        """
        both = {name: one.lattice for name, one in channels.items() if isinstance(one, Stacked)}
        if self.phases is None or self.phases.now == 2 or not both:
            return self
        fields = self.to_dict()
        fields["phases"] = replace(self.phases, now=2).to_dict()
        for name, lattice in both.items():
            if name in fields["questions"] and lattice.zoom is not None:
                fields["questions"][name] |= {"scale": lattice.scale, "zoom": list(lattice.zoom)}
        return type(self).from_dict(fields)

    def knows(self, name: str, channel: Channel) -> bool:
        """Whether reports of a question may use this channel, in one phase or in both."""
        survey = self.joined({name: channel})
        allowed: list[Channel] = [survey.mechanisms[name]]
        if survey.phases is not None and survey.phases.now == 2:
            allowed = [survey.pilot.mechanisms[name], *allowed]
        parts = phases_of(channel)
        return parts == tuple(allowed) or (len(parts) == 1 and parts[0] == allowed[-1])

    def assigned(self, cells: npt.ArrayLike, *, seed: int | None = None) -> Flags:
        """Draw which questions or pair each person is asked: a row for each, a column a question.

        Pairs have columns of their own, after the questions. Every question, and every pair, is
        asked equally often in every cell, but for a difference of one.

        Parameters
        ----------
        cells
            For each person the number of a cell: people in the same public groups share it.
        seed
            For simulations; by default the operating system's entropy decides.
        """
        own = SystemEntropy() if seed is None else SeededEntropy(_seed(f"assignment {seed}"))
        pairs, share = (0, 0.0)
        if self.relations is not None:
            pairs, share = len(self.pairs), self.relations.share
        return assigned(
            own, cells, questions=len(self.questions), ask=self.asks, pairs=pairs, share=share
        )

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly these questions; their wording does not matter."""
        parts = {
            name: [question.mechanism.fingerprint, question.missing]
            for name, question in self.questions.items()
        }
        # Invitations name the questions that are asked by their places, so the order matters then.
        if self.ask is None and self.relations is None:
            return _digest(parts)
        pairs = [[name, pair.fingerprint] for name, pair in self.pairs.items()]
        return _digest([self.ask, list(parts.items()), *([pairs] if pairs else [])])

    @cached_property
    def worded(self) -> str:
        """A short name of everything that respondents are shown and promised, questions included.

        Two surveys with the same mechanisms and another text have the same `fingerprint` and
        another name here: people who were asked something else must not be counted together.
        """
        return _digest([self.fingerprint, self._spelt()])

    def _check_shares(self) -> None:
        """Refuse a survey whose questions do not share its epsilon evenly."""
        assert self.epsilon is not None
        part = share(self.epsilon, self.asks * self.times)
        for name, question in self.questions.items():
            mechanism = question.mechanism
            if mechanism.spend.epsilon != part:
                raise InvalidInput(
                    f"epsilon = {part!r} for each question of a survey whose epsilon is "
                    f"{self.epsilon:g}, shared by {self.asks}",
                    f"{mechanism.spend.epsilon!r} for {name!r}",
                    "Leave the survey's epsilon out: then every question has its own.",
                )

    def _related(self, given: Any) -> Relations:
        """The pairs of questions, which must fit the survey."""
        found = given if isinstance(given, Relations) else Relations.read(given, self.questions)
        found.check(self.questions)
        groups = set(self.groups)
        for column in found.columns:
            if column in groups:
                raise InvalidInput(f"a group with another name than the pair {column!r}", "one")
        if self.epsilon is None:
            raise InvalidInput(
                "an epsilon of the survey, which a report about a pair costs",
                "an epsilon of every question",
                "Write epsilon above the questions and leave theirs out.",
            )
        return found

    def privatize(self, table: Any, *, keep: Sequence[str] = (), keep_order: bool = False) -> Any:
        """Private reports of a table's answers, drawn from the operating system's entropy.

        The rows come back in a random order, since order gives answers away: in a table that is
        sorted by pay, the reports around a row tell what its own noise hides. Of 20,000 such
        people, at epsilon 1, order puts 80 % within 10,000 of their pay; the population alone
        puts 42 % there. So a column of the result does not belong beside an array that was not
        shuffled with it: name public columns in ``keep``, and they move with their rows. One that
        tells people apart, such as a name or a row number, undoes the shuffling.

        Where a survey asks each person some of the questions only (``ask``), the table has an
        answer to every question, and which of them a person is asked is drawn here, before any
        answer is looked at. The other answers are checked and go no further: their reports are
        null. Every question is asked equally often, in each group of the survey that is kept.

        Where a survey has phases, the table has a column "phase", and people of another phase than
        the survey's are refused. Where it has rounds, the table has the columns "person" and
        "round", and a person who is in it too often is refused; people in other tables are not
        noticed.

        Parameters
        ----------
        table
            Arrow, pandas or polars table, or a dict of columns, one column a question. Nulls are
            missing answers; a NaN is one only to pandas, which has no other word for it.
        keep
            Public columns to carry along, each value with its row; of a dictionary or a pandas
            category the words themselves.
        keep_order
            Leave the rows in the order of the table, for data whose order is public and says
            nothing about the answers.

        Returns
        -------
        pyarrow.Table
            One column of integers a question, null where it was not asked, and the kept ones; its
            metadata tells what made them.
            Where the rows were shuffled, a pandas table made of it numbers them from n on, not
            from 0, so that pandas does not line them up with the rows of another table.
        """
        given = arrow.table_of(table)
        made = self.reports(given, keep=self._timed(given, keep))
        return made if keep_order else arrow.unpaired(arrow.mixed(made))

    def simulate(self, table: Any, *, seed: int, keep: Sequence[str] = ()) -> Any:
        """Draw from a seed, in the order of the table: repeatable, stamped, not private."""
        seed = _checks.integer(0, seed=seed)
        given = arrow.table_of(table)
        return self.reports(given, keep=self._timed(given, keep), seed=seed)

    def _timed(self, table: Any, keep: Sequence[str]) -> list[str]:
        """The columns to keep: where there are rounds, theirs too, once the table is checked."""
        if self.rounds is None:
            return list(keep)
        kept = self.rounds.kept(keep)
        self.rounds.check(table, "the table")
        return kept

    def stamp(self, *, simulated: bool = False) -> Stamp:
        """The metadata of a table of reports."""
        return Stamp(self.mechanisms, simulated, self.to_dict())

    @unquoted("a table of answers")
    def reports(
        self,
        table: Any,
        *,
        keep: Sequence[str] = (),
        seed: int | None = None,
        plain: bool = False,
        where: str = "the table",
        first: int = 0,
    ) -> Any:
        """Reports of an Arrow table or batch, whose rows are numbered from ``first`` in messages.

        Where it is ``plain`` the cells are text from a CSV file.
        """
        if not isinstance(table, arrow.arrow().Table | arrow.arrow().RecordBatch):
            raise InvalidInput(
                "an Arrow table or batch",
                _checks.shown(type(table)),
                "privatize makes reports of a table of any kind, and shuffles its rows.",
            )
        self.check_keep(keep)
        if Stamp.read(table.schema.metadata, where) is not None:
            raise already(where)
        if self.phases is not None:
            self.phases.check(table, where, first=first)
        # Before any answer is looked at: nothing about the answers can be in the assignment.
        asked = None
        if self.asking is not None:
            groups = [arrow.column_of(table, name, where) for name in self.groups if name in keep]
            asked = self.assigned(_cells(groups, table.num_rows), seed=seed)
        columns, answers = {}, {}
        rows = parse.rows_of(where, first)
        for name, question in self.questions.items():
            column = arrow.column_of(table, name, where)
            answers[name] = question.answers(column, name=name, plain=plain, where=rows)
        for at, (name, mechanism) in enumerate(self.mechanisms.items()):
            values = answers[name] if mechanism.single else {k: answers[k] for k in mechanism.axes}
            own = None if asked is None else asked[:, at]
            columns[name] = _reports(mechanism, name, values, seed, own)
        for name in keep:
            column = arrow.column_of(table, name, where)
            # A dictionary has the order of the values, and words that are in no row.
            columns[name] = column.cast(arrow.plain(column.type))
        stamp = self.stamp(simulated=seed is not None)
        return arrow.arrow().table(columns).replace_schema_metadata(stamp.metadata())

    def check_columns(self, names: Sequence[str], where: str) -> None:
        """Refuse a table of answers without the public columns that phases and rounds need."""
        if self.phases is not None and PHASE not in names:
            raise no_phase(where)
        if self.rounds is not None:
            self.rounds.check_columns(names, where)

    @property
    def columns(self) -> list[str]:
        """The columns of a table of values that are read: the answers, and the phase if any."""
        return [*self.questions, *([PHASE] if self.phases is not None else [])]

    @property
    def width(self) -> int:
        """Number of numbers in a report, to estimate memory."""
        return 1

    def types(self, *, packed: bool) -> dict[str, Any]:
        """Arrow types of the columns of reports; in the fewest bytes that hold them if packed."""
        pa = arrow.arrow()
        if not packed:
            return dict.fromkeys(self.mechanisms, pa.int32())
        small = {2**8: pa.uint8(), 2**16: pa.uint16()}
        sizes = {name: mechanism.law.outputs[0] for name, mechanism in self.mechanisms.items()}
        return {
            name: next((kind for most, kind in small.items() if size <= most), pa.int32())
            for name, size in sizes.items()
        }

    def check_keep(self, keep: Sequence[str]) -> None:
        """Refuse to carry private columns along."""
        for name in keep:
            if name in self.questions or name in self.pairs:
                raise InvalidInput("public columns to keep", f"the question {name!r}")
        arrow.unique(list(keep), "the columns to keep")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields = self._spelt()
        if self.epsilon is None:
            return fields
        questions = {
            name: {key: value for key, value in keys.items() if key != "epsilon"}
            for name, keys in fields.pop("questions").items()
        }
        return {**fields, "epsilon": self.epsilon, "questions": questions}

    def _spelt(self) -> dict[str, Any]:
        """Plain values with an epsilon for every question, even if the survey has one epsilon."""
        fields: dict[str, Any] = {"title": self.title, **self.wording.to_dict()}
        if self.language != "en":
            fields["language"] = self.language
        if self.groups:
            fields["groups"] = list(self.groups)
        if self.closes is not None:
            fields["closes"] = self.closes.isoformat()
        if self.ask is not None:
            fields["ask"] = self.ask
        for name in ("relations", "phases", "rounds"):
            if (each := getattr(self, name)) is not None:
                fields[name] = each.to_dict()
        questions = {name: question.to_dict() for name, question in self.questions.items()}
        return {**fields, "questions": questions}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The survey that plain values describe; unknown keys are refused."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("a survey", _checks.shown(fields))
        if "partition" in fields:
            raise InvalidInput(
                "a survey with [questions.NAME]",
                "a partition survey, with [partition]",
                "privatize, summarize, regress, classify, audit take it. Python: PartitionSurvey.",
            )
        worded = [key for key in fields if isinstance(key, str) and base(key)[0] in TEXTS]
        texts = {key: fields[key] for key in worded}
        plain = {key: value for key, value in fields.items() if key not in texts}
        _checks.known_keys(plain, (*KEYS, *TEXTS), "a survey")
        given = fields.get("questions")
        if not isinstance(given, Mapping) or not given:
            raise InvalidInput("a table [questions.NAME] for at least one question", "none")
        affordable(given.values(), "a survey")
        part = None
        if plain.get("epsilon") is not None:
            asks = _ask(plain.get("ask"), len(given)) or len(given)
            times = Rounds.read(plain["rounds"]).per_person if plain.get("rounds") else 1
            part = share(checked_epsilon(plain["epsilon"]), asks * times)
        questions = {}
        for name, keys in given.items():
            try:
                questions[name] = Question.from_dict(keys if part is None else _with(keys, part))
            except InvalidInput as error:
                raise InvalidInput(
                    f"{error.expected} in question {_checks.shown(name)}", error.got, error.advice
                ) from None
        settings = {key: plain[key] for key in KEYS if key in plain and key != "questions"}
        return cls(questions, wording=Wording.read(texts), **settings)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a survey from a .toml or .json file."""
        return cls.from_dict(settings_of(path, "a survey"))


def _answers(question: Question | None) -> str:
    """What can be answered, in a few words; None stands for a pair of questions."""
    if question is None:
        return "two questions together"
    axis = question.axis
    if isinstance(axis, Categories):
        return f"{axis.size:,} categories"
    return f"{number(axis.low)} to {number(axis.high)}"


def share(epsilon: float, asks: int) -> float:
    """The epsilon of each question, so that all together cost at most the survey's epsilon.

    Examples
    --------
    >>> share(2.0, 4), 3 * Fraction(share(1.0, 3)) <= 1
    (0.5, True)
    """
    whole = exact(epsilon)
    part = float(whole / asks)
    while max(Fraction(part), Fraction(repr(part))) * asks > whole:
        part = math.nextafter(part, 0)
    return part


def _rounded_up(whole: Fraction | int) -> float:
    """The smallest float that is not below."""
    nearest = float(whole)
    return nearest if nearest >= whole else math.nextafter(nearest, math.inf)


def _ask(given: Any, questions: int) -> int | None:
    """How many questions each person is asked; None for all of them."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= questions:
        raise InvalidInput(
            f"ask as a whole number from 1 to {questions}, the number of questions",
            f"ask = {_checks.shown(given)}",
            "It says how many of the questions each person is asked; leave it out to ask all.",
        )
    return None if given == questions else int(given)


def _with(keys: Any, epsilon: float) -> Any:
    """The keys of a question with its part of the survey's epsilon."""
    if not isinstance(keys, Mapping):
        return keys
    if "epsilon" in keys:
        raise InvalidInput(
            "an epsilon of the survey or one of every question, not both",
            "both",
            "The survey's is what one person spends in all, and is divided among the questions "
            "that a person is asked.",
        )
    name = keys.get("mechanism")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is not None and "epsilon" not in (*kind.needed, *kind.optional):
        raise InvalidInput(
            "a mechanism that takes an epsilon, since the survey has one",
            f"mechanism={kind.name!r}",
            "Give every question an epsilon of its own instead.",
        )
    return {**keys, "epsilon": epsilon}


def _digest(parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _groups(
    given: Any, questions: Mapping[str, Question], rounds: Rounds | None
) -> tuple[str, ...]:
    """Names of public columns, each once and none of them a question; the round is one."""
    names = tuple(given) if isinstance(given, list | tuple) else None
    if names is None or not all(isinstance(name, str) and name.strip() for name in names):
        raise InvalidInput('groups as a list of columns: ["region"]', _checks.shown(given))
    if rounds is not None and ROUND not in names:
        names = (*names, ROUND)
    for name in names:
        if name in questions:
            raise InvalidInput(
                "groups that are public columns",
                f"the question {name!r}",
                "Answers are private: results cannot be grouped by them.",
            )
    arrow.unique(list(names), "the groups")
    return names


def _public(name: str, kind: str) -> InvalidInput:
    """The error that a question or group has the name of a column that tables need."""
    return InvalidInput(
        f"no question or group {name!r} in a survey with [{kind}]",
        "one",
        "Its tables have a public column of that name.",
    )


def already(where: str) -> InvalidInput:
    """The error that values are reports."""
    return InvalidInput(f"values in {where}", "reports that confide has made already")


def _cells(groups: Sequence[Any], rows: int) -> npt.NDArray[np.int64]:
    """The number of a cell for each row of some public columns; no value is a value of its own."""
    codes = np.zeros(rows, dtype=np.int64)
    for column in groups:
        whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        encoded = whole.cast(arrow.plain(whole.type)).dictionary_encode()
        many = len(encoded.dictionary)
        own = encoded.indices.cast("int64").fill_null(many).to_numpy(zero_copy_only=False)
        # Numbered anew, so that many columns do not overflow.
        codes = np.unique(codes * (many + 1) + own, return_inverse=True)[1]
    return codes


def _reports(
    mechanism: Mechanism, name: str, values: Any, seed: int | None, asked: Flags | None
) -> Any:
    """Reports of the people who are asked a question; null for the others."""
    if asked is None:
        return _run(mechanism, name, values, seed).indices
    reports = np.zeros(asked.size, dtype=np.int32)
    if asked.any():
        pair = isinstance(values, dict)
        own = {key: _of(values[key], asked) for key in values} if pair else _of(values, asked)
        reports[asked] = _run(mechanism, name, own, seed).indices
    return arrow.arrow().array(reports, mask=~asked)


def _of(values: Any, asked: Flags) -> Any:
    """The answers of some people."""
    if isinstance(values, np.ndarray):
        return values[asked]
    return list(compress(values, asked.tolist()))


def _run(mechanism: Mechanism, name: str, values: Any, seed: int | None) -> Reports:
    if seed is None:
        return mechanism.privatize(values)
    # Questions of one seed must not share their noise.
    return mechanism.simulate(values, seed=_seed(f"{seed}/{name}"))


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
