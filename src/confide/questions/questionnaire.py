"""Questionnaires: which questions are asked together, and what answering all of them costs."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from confide import _checks, _limits
from confide.accounting import Spend
from confide.errors import InvalidInput, unquoted
from confide.files import arrow, parse
from confide.files.paths import load_json, named, readable
from confide.mechanisms import Mechanism, Reports
from confide.mechanisms.register import affordable
from confide.questions.question import Question
from confide.questions.wording import LANGUAGE, Wording, base
from confide.reports.stamps import Stamp

PARTS = 64
"""Points outside of quotes in a line of TOML, at most."""
TEXTS = ("title", "intro", "contact")
"""Texts of a survey; each may have a language at its end: title_de."""
KEYS = ("language", "groups", "closes", "questions")
"""The other keys of a survey file."""
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


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
        Public columns that results are given by, such as a region.
    closes
        When collecting ends, fixed beforehand; None for no date.

    Notes
    -----
    Formal guarantee: the questions' noises are independent, so a respondent who answers all of them
    spends the sum of their epsilons, which `spend` states.

    Examples
    --------
    >>> pay = {"low": 0, "high": 9, "epsilon": 1.0}
    >>> Questionnaire.from_dict({"questions": {"pay": pay}}).spend
    Spend(epsilon=1)
    """

    questions: Mapping[str, Question]
    wording: Wording = field(default_factory=Wording, kw_only=True)
    language: str = field(default="en", kw_only=True)
    groups: tuple[str, ...] = field(default=(), kw_only=True)
    closes: datetime | None = field(default=None, kw_only=True)

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
        object.__setattr__(self, "groups", _groups(self.groups, self.questions))
        object.__setattr__(self, "closes", _moment(self.closes))
        # Nobody must be asked what nobody could read: files of reports keep to the same bounds.
        affordable((question.to_dict() for question in self.questions.values()), "a survey")
        object.__setattr__(self, "questions", dict(self.questions))

    @property
    def title(self) -> str:
        """The title, in the survey's own language."""
        return self.wording.get("title")

    @property
    def languages(self) -> tuple[str, ...]:
        """The survey's own language, then the others that it has texts in."""
        every = [self.wording, *(question.wording for question in self.questions.values())]
        others = {language for wording in every for language in wording.languages}
        return (self.language, *sorted(others - {self.language}))

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each question."""
        return {name: question.mechanism for name, question in self.questions.items()}

    @property
    def spend(self) -> Spend:
        """What a respondent spends who answers every question."""
        first, *others = (mechanism.spend for mechanism in self.mechanisms.values())
        return sum(others, start=first)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of exactly these questions; their wording does not matter."""
        parts = {
            name: [question.mechanism.fingerprint, question.missing]
            for name, question in self.questions.items()
        }
        return _digest(parts)

    @cached_property
    def worded(self) -> str:
        """A short name of everything that respondents are shown and promised, questions included.

        Two surveys with the same mechanisms and another text have the same `fingerprint` and
        another name here: people who were asked something else must not be counted together.
        """
        return _digest([self.fingerprint, self.to_dict()])

    def privatize(self, table: Any, *, keep: Sequence[str] = (), keep_order: bool = False) -> Any:
        """Private reports of a table's answers, drawn from the operating system's entropy.

        The rows come back in a random order, since order gives answers away: in a table that is
        sorted by pay, the reports around a row tell what its own noise hides. Of 20,000 such
        people, at epsilon 1, order puts 80 % within 10,000 of their pay; the population alone
        puts 42 % there. So a column of the result does not belong beside an array that was not
        shuffled with it: name public columns in ``keep``, and they move with their rows. One that
        tells people apart, such as a name or a row number, undoes the shuffling.

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
            One column of integers a question and the kept ones; its metadata tells what made them.
            Where the rows were shuffled, a pandas table made of it numbers them from n on, not
            from 0, so that pandas does not line them up with the rows of another table.
        """
        made = self.reports(arrow.table_of(table), keep=keep)
        return made if keep_order else arrow.unpaired(arrow.mixed(made))

    def simulate(self, table: Any, *, seed: int, keep: Sequence[str] = ()) -> Any:
        """The same from a seed, in the order of the table: repeatable, stamped, not private."""
        seed = _checks.integer(0, seed=seed)
        return self.reports(arrow.table_of(table), keep=keep, seed=seed)

    def stamp(self, *, simulated: bool = False) -> Stamp:
        """What a table of reports says about itself."""
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
        self.check_keep(keep)
        if Stamp.read(table.schema.metadata, where) is not None:
            raise already(where)
        columns = {}
        rows = parse.rows_of(where, first)
        for name, question in self.questions.items():
            column = arrow.column_of(table, name, where)
            values = question.answers(column, name=name, plain=plain, where=rows)
            columns[name] = _run(question.mechanism, name, values, seed).indices
        for name in keep:
            column = arrow.column_of(table, name, where)
            # A dictionary has the order of the values, and words that are in no row.
            columns[name] = column.cast(arrow.plain(column.type))
        stamp = self.stamp(simulated=seed is not None)
        return arrow.arrow().table(columns).replace_schema_metadata(stamp.metadata())

    def check_keep(self, keep: Sequence[str]) -> None:
        """Refuse to carry private columns along."""
        for name in keep:
            if name in self.questions:
                raise InvalidInput("public columns to keep", f"the question {name!r}")
        arrow.unique(list(keep), "the columns to keep")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields: dict[str, Any] = {"title": self.title, **self.wording.to_dict()}
        if self.language != "en":
            fields["language"] = self.language
        if self.groups:
            fields["groups"] = list(self.groups)
        if self.closes is not None:
            fields["closes"] = self.closes.isoformat()
        questions = {name: question.to_dict() for name, question in self.questions.items()}
        return {**fields, "questions": questions}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The survey that plain values describe; unknown keys are refused."""
        if not isinstance(fields, Mapping):
            raise InvalidInput("a survey", _checks.shown(fields))
        worded = [key for key in fields if isinstance(key, str) and base(key)[0] in TEXTS]
        texts = {key: fields[key] for key in worded}
        plain = {key: value for key, value in fields.items() if key not in texts}
        _checks.known_keys(plain, (*KEYS, *TEXTS), "a survey")
        given = fields.get("questions")
        if not isinstance(given, Mapping) or not given:
            raise InvalidInput("a table [questions.NAME] for at least one question", "none")
        affordable(given.values(), "a survey")
        questions = {}
        for name, keys in given.items():
            try:
                questions[name] = Question.from_dict(keys)
            except InvalidInput as error:
                raise InvalidInput(
                    f"{error.expected} in question {_checks.shown(name)}", error.got, error.advice
                ) from None
        settings = {key: plain[key] for key in KEYS if key in plain and key != "questions"}
        return cls(questions, wording=Wording.read(texts), **settings)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a survey from a .toml or .json file."""
        path = Path(path)
        readable(path)
        if path.suffix not in (".toml", ".json"):
            raise InvalidInput("a survey that ends in .toml or .json", named(path))
        if path.stat().st_size > _limits.MAX_SURVEY:
            raise InvalidInput(
                f"a survey of at most {_limits.MAX_SURVEY:,} bytes",
                f"{path.stat().st_size:,} in {named(path)}",
            )
        data = path.read_bytes()
        if path.suffix == ".json":
            return cls.from_dict(load_json(data, named(path)))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidInput(f"UTF-8 text in {named(path)}", "other bytes") from None
        _no_long_keys(text, named(path))
        try:
            fields = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise InvalidInput(f"TOML in {named(path)}", _fault(error)) from None
        return cls.from_dict(fields)


def _digest(parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _groups(given: Any, questions: Mapping[str, Question]) -> tuple[str, ...]:
    """Names of public columns, each once and none of them a question."""
    names = tuple(given) if isinstance(given, list | tuple) else None
    if names is None or not all(isinstance(name, str) and name.strip() for name in names):
        raise InvalidInput('groups as a list of columns: ["region"]', _checks.shown(given))
    for name in names:
        if name in questions:
            raise InvalidInput(
                "groups that are public columns",
                f"the question {name!r}",
                "Answers are private: results cannot be grouped by them.",
            )
    arrow.unique(list(names), "the groups")
    return names


def _moment(given: Any) -> datetime | None:
    """A date and time with its offset, in universal time."""
    if given is None:
        return None
    example = "Write it as 2027-01-31T18:00:00Z."
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise InvalidInput("closes as a date and a time", repr(given)[:60], example) from None
    if not isinstance(given, datetime):
        raise InvalidInput("closes as a date and a time", _checks.shown(given), example)
    if given.tzinfo is None:
        raise InvalidInput(
            "closes with an offset from universal time", f"{given.isoformat()} without", example
        )
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("closes in the years 1 to 9999", "another year", example) from None


def _no_long_keys(text: str, where: str) -> None:
    """Refuse keys of very many parts, over which Python's parser takes time by their square."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > PARTS and QUOTED.sub("", line).count(".") > PARTS:
            raise InvalidInput(
                f"keys of at most {PARTS} parts in {where}", f"a longer one in line {number}"
            )


def _fault(error: Exception) -> str:
    """What the parser says, which quotes keys and single characters at most."""
    words = re.fullmatch(r"(.+) \((at .+)\)", str(error))
    return (
        f"a mistake {words[2]} ({words[1][0].lower()}{words[1][1:]})" if words else "something else"
    )


def already(where: str) -> InvalidInput:
    """The error that values are reports."""
    return InvalidInput(f"values in {where}", "reports that confide has made already")


def _run(mechanism: Mechanism, name: str, values: Any, seed: int | None) -> Reports:
    if seed is None:
        return mechanism.privatize(values)
    # Questions of one seed must not share their noise.
    own = int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8])
    return mechanism.simulate(values, seed=own)
