"""Rounds: a survey that comes back, and how often it asks the same person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confide import _checks
from confide.errors import BadRows, InvalidInput
from confide.files import arrow
from confide.questions.persons import PERSON, person_of

TABLE = "rounds"
"""The table of a survey file that has rounds."""
ROUND = "round"
"""The public column that says the round of a row."""
MOST = 1000
"""Rounds at most."""


@dataclass(frozen=True)
class Rounds:
    """How often a survey comes back, and in how many rounds each person is asked.

    Each person answers in ``per_person`` rounds, drawn beforehand, and in no other. The noise of
    every round is drawn anew and is independent, so a person spends ``per_person`` times what one
    round costs, whatever their answers do in the meantime.

    A table in which somebody is asked too often is refused. That holds in one table: nobody
    remembers who was in another. So the schedule, drawn once before the first round, is what
    carries the cap from table to table.

    Parameters
    ----------
    count
        Number of rounds.
    per_person
        Rounds in which each person is asked.

    Examples
    --------
    >>> Rounds(count=12)
    Rounds(count=12, per_person=1)
    """

    count: int
    per_person: int = 1

    def __post_init__(self) -> None:
        count = _checks.integer(2, MOST, count=self.count)
        per_person = _checks.integer(1, per_person=self.per_person)
        if per_person > count:
            raise InvalidInput(
                f"per_person of at most {count}, the number of rounds", f"per_person={per_person}"
            )
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "per_person", per_person)

    @classmethod
    def read(cls, given: Any) -> Rounds:
        """Rounds as they are, or from the keys of a survey file."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise InvalidInput("a table [rounds] with count = 12", _checks.shown(given))
        _checks.known_keys(given, ("count", "per_person"), "[rounds]")
        if "count" not in given:
            raise InvalidInput("the key 'count' in [rounds]", "none")
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        return {"count": self.count, "per_person": self.per_person}

    def check(self, table: Any, where: str) -> None:
        """Refuse a table in which somebody answers a round twice, or more rounds than they may.

        It sees one table: people who are in another one too are not noticed.

        Parameters
        ----------
        table
            An Arrow table with the public columns "person" and "round", a row for each answer.
        where
            Its name, for messages.
        """
        for name in (PERSON, ROUND):
            if name not in table.schema.names:
                raise InvalidInput(
                    f"a column {name!r} in {where}: the survey has rounds",
                    "none",
                    "Each row is one person in one round; the column 'person' is not kept.",
                )
        rounds = arrow.column_of(table, ROUND, where).to_pylist()
        self.check_rows(arrow.column_of(table, PERSON, where).to_pylist(), rounds, where)

    def check_rows(self, people: Sequence[Any], rounds: Sequence[Any], where: str) -> None:
        """Refuse rows, each a person and a round, in which somebody is asked too often.

        Parameters
        ----------
        people, rounds
            A person and a number for each row.
        where
            Where they are, for messages.
        """
        seen: dict[str, set[int]] = {}
        for at, (person, number) in enumerate(zip(people, rounds, strict=True)):
            whole = isinstance(number, int) and not isinstance(number, bool)
            if not whole or not 1 <= number <= self.count:
                raise BadRows(
                    f"rounds from 1 to {self.count} in {where}",
                    f"another in row {at + 1}",
                    column=ROUND,
                )
            own = seen.setdefault(person_of(person, at, where), set())
            if number in own:
                raise BadRows(
                    f"each person once in a round in {where}",
                    f"a second answer to round {number} in row {at + 1}",
                    "Noise that is drawn twice for one answer costs twice.",
                    column=PERSON,
                )
            own.add(number)
            if len(own) > self.per_person:
                raise BadRows(
                    f"each person in at most {self.per_person} of the rounds in {where}",
                    f"one more in row {at + 1}",
                    "Ask the people whom the schedule names: survey.schedule.",
                    column=PERSON,
                )
