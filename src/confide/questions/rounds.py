"""Rounds: repeated surveys, and how often they ask the same person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """The number of rounds of a survey, and in how many of them each person is asked.

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

    def words(self) -> str:
        """How often each person answers, in a sentence.

        Examples
        --------
        >>> Rounds(count=12).words()
        'Each person answers in 1 of 12 rounds.'
        """
        return f"Each person answers in {self.per_person:,} of {self.count:,} rounds."

    def kept(self, keep: Sequence[str]) -> list[str]:
        """The public columns to carry along with reports: the round too, and never the person."""
        if PERSON in keep:
            raise InvalidInput(
                f"no column {PERSON!r} beside reports",
                "one to keep",
                "It would undo the shuffling.",
            )
        return list(dict.fromkeys([*keep, ROUND]))

    def check_columns(self, names: Sequence[str], where: str) -> None:
        """Refuse a table of answers without the columns "person" and "round".

        Parameters
        ----------
        names
            Its columns.
        where
            Its name, for messages.
        """
        for name in (PERSON, ROUND):
            if name not in names:
                raise InvalidInput(
                    f"a column {name!r} in {where}: the survey has rounds",
                    "none",
                    "Each row is one person in one round; the column 'person' is not kept.",
                )

    def check(self, table: Any, where: str) -> None:
        """Refuse a table in which a person answers a round twice, or too many rounds.

        It sees one table: people who are in another one too are not noticed.

        Parameters
        ----------
        table
            An Arrow table with the public columns "person" and "round", a row for each answer.
        where
            Its name, for messages.
        """
        Turns(self).add_table(table, where)

    def check_rows(self, people: Iterable[Any], rounds: Iterable[Any], where: str) -> None:
        """Refuse rows of person and round that ask a person too often.

        Parameters
        ----------
        people, rounds
            A person and a number for each row.
        where
            Where they are, for messages.
        """
        Turns(self).add(people, rounds, where)


class Turns:
    """In which rounds each person was seen so far, in the parts of one or more tables.

    Parameters
    ----------
    rounds
        The rounds of the survey.

    Examples
    --------
    >>> turns = Turns(Rounds(count=3, per_person=2))
    >>> turns.add(["Ada", "Ben"], [1, 1], "first.csv")
    >>> turns.add(["ada"], [2], "second.csv")
    """

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._seen: dict[str, tuple[int, ...]] = {}

    def add_table(self, table: Any, where: str, *, first: int = 0, plain: bool = False) -> None:
        """Add an Arrow table or batch, or refuse it.

        Parameters
        ----------
        table
            With the columns "person" and "round".
        where
            Its name, for messages.
        first
            Number of its first row.
        plain
            Whether its cells are text from a CSV file.
        """
        self._rounds.check_columns(table.schema.names, where)
        people, numbers = (
            arrow.column_of(table, name, where).to_pylist() for name in (PERSON, ROUND)
        )
        self.add(people, map(_whole, numbers) if plain else numbers, where, first=first)

    def add(
        self, people: Iterable[Any], rounds: Iterable[Any], where: str, *, first: int = 0
    ) -> None:
        """Add rows, each a person and a round, or refuse them.

        Parameters
        ----------
        people, rounds
            A person and a number for each row.
        where
            Where they are, for messages.
        first
            Number of the first row.
        """
        count, most = self._rounds.count, self._rounds.per_person
        for at, (person, number) in enumerate(zip(people, rounds, strict=True), start=first):
            whole = isinstance(number, int) and not isinstance(number, bool)
            if not whole or not 1 <= number <= count:
                raise BadRows(
                    f"rounds from 1 to {count} in {where}",
                    f"another in row {at + 1}",
                    column=ROUND,
                )
            name = person_of(person, at, where)
            own = self._seen.get(name, ())
            if number in own:
                raise BadRows(
                    f"each person once in a round in {where}",
                    f"a second answer to round {number} in row {at + 1}",
                    "Noise that is drawn twice for one answer costs twice.",
                    column=PERSON,
                )
            if len(own) == most:
                raise BadRows(
                    f"each person in at most {most} of the rounds in {where}",
                    f"one more in row {at + 1}",
                    "Ask the people whom the schedule names: survey.schedule.",
                    column=PERSON,
                )
            self._seen[name] = (*own, number)


def _whole(cell: Any) -> Any:
    """A whole number as it is written in CSV; any other cell as it is."""
    written = isinstance(cell, str) and cell.isascii() and cell.isdecimal()
    return int(cell) if written and str(int(cell)) == cell else cell
