"""`confide release query --by`: one query for every group of a public column, in one charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confide.accounting import Spend
from confide.cli import output
from confide.cli.parsing import harmless
from confide.errors import InvalidInput
from confide.files.paths import counted
from confide.ledger.budget import Ledger
from confide.releases import Query, Recipe, Release, release_groups


@dataclass(frozen=True)
class Stated:
    """A public column, and all groups that there can be in it.

    Parameters
    ----------
    attribute
        The column.
    groups
        All words that it can have, from public knowledge.
    """

    attribute: str
    groups: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Stated:
        """Groups as they are typed: COLUMN=GROUP,GROUP."""
        attribute, _, rest = text.partition("=")
        groups = tuple(rest.split(","))
        if not attribute or "" in groups:
            raise InvalidInput(
                "--by COLUMN=GROUP,GROUP with all groups that there can be",
                repr(text),
                "State them from public knowledge, such as --by region=north,south.",
            )
        for group in groups:
            if groups.count(group) > 1:
                raise InvalidInput("each group of --by once", f"{group!r} twice")
        return cls(attribute, groups)

    @property
    def words(self) -> dict[str, list[str]]:
        """The column as one of words, of which any other is refused."""
        return {self.attribute: list(self.groups)}


def stated(
    text: str | None,
    made: Recipe,
    column: Sequence[str] | None,
    group: tuple[str, str] | None,
    q: Sequence[float] | None,
) -> Stated | None:
    """The groups of --by, which goes with one query of one column; None without it."""
    if text is None:
        return None
    found = Stated.read(text)
    if not isinstance(made, Query):
        raise InvalidInput(
            "a query to go with --by",
            f"a {made.name}",
            "For other kinds: releases.release_groups in Python, or a cross-table that has the "
            "groups as a column.",
        )
    if group is not None:
        raise InvalidInput("either --by or --group", "both")
    if len(q or ()) > 1:
        raise InvalidInput("one --q to go with --by", f"{len(q or ())}")
    if column is None or len(column) != 1 or found.attribute in column:
        given = "none" if column is None else " and ".join(map(repr, column))
        raise InvalidInput("one --column of numbers, another than that of --by", given)
    return found


def release(
    query: Query,
    raw: Mapping[str, Any],
    groups: Stated,
    book: Ledger | None,
    key: str | None,
    *,
    as_json: bool,
) -> None:
    """Release the query for every group, all of them for the cost of one, and print the answers."""
    (column,) = [name for name in raw if name != groups.attribute]
    with output.shares("Preparing") as tell:
        found = release_groups(
            query,
            raw[column],
            raw[groups.attribute],
            groups=groups.groups,
            attribute=groups.attribute,
            ledger=book,
            key=key,
            progress=tell,
        )
    own = frozenset[str]() if book is None else book.charged
    had = {
        name: book is not None and one is not None and f"{key}/{name}" not in own
        for name, one in found.items()
    }
    if as_json:
        output.machine(_fields(query, column, groups, found, had=had, book=book, key=key))
        return
    answers = {name: one.answer or {} for name, one in found.items() if one is not None}
    number = output.format_of([each["value"] for each in answers.values()])
    rows = []
    for name, one in found.items():
        ends = [number(answers[name][part]) for part in ("value", "low", "high")] if one else []
        n = f"{one.spec['n']:,}" if one else "0"
        rows.append((harmless(name), n, *(ends or ["-"] * 3)))
    what = query.what if query.q is None else f"{100 * query.q:g} % quantile"
    title = (
        f"{what} of {harmless(column)}, by {harmless(groups.attribute)}, "
        f"epsilon = {output.costs([query.epsilon])[0]} for all groups together"
    )
    head = (harmless(groups.attribute), "values", "answer", f"{output.percent(query.level)} from")
    output.table(title, (*head, "to"), rows)
    output.say(_charged(book, had, answers), *_words(found))


def _charged(book: Ledger | None, had: Mapping[str, bool], made: Mapping[str, Any]) -> str:
    """Whether something was charged, and what is left."""
    if book is None:
        return "Without --ledger nothing was recorded: another release costs as much again."
    stored = sum(had[name] for name in made)
    many = counted(len(made), "group")
    told = f"The releases of {many} were charged as one"
    if stored == len(made):
        told = f"The releases of {many} were in the ledger already, and cost nothing"
    elif stored:
        told += f"; the ledger had {stored} of them already"
    return f"{told}; epsilon = {book.left.epsilon:.6f} is left in {book.path}."


def _words(found: Mapping[str, Release | None]) -> list[str]:
    """What the releases mean for a person, who is in one group."""
    return [next(one.words() for one in found.values() if one is not None)]


def _fields(
    query: Query,
    column: str,
    stated: Stated,
    found: Mapping[str, Release | None],
    *,
    had: Mapping[str, bool],
    book: Ledger | None,
    key: str | None,
) -> dict[str, Any]:
    """Plain values for JSON."""
    groups = []
    for name, one in found.items():
        answer = dict.fromkeys(("value", "low", "high", "level")) if one is None else one.answer
        groups.append(
            {
                "group": name,
                "n": 0 if one is None else one.spec["n"],
                **(answer or {}),
                "key": None if book is None or one is None else f"{key}/{name}",
                "stored": had[name],
            }
        )
    return {
        "release": "query",
        "columns": [column],
        "by": stated.attribute,
        "n": sum(each["n"] for each in groups),
        "left": None if book is None else book.left.to_dict(),
        "spend": Spend(query.epsilon).to_dict(),
        "words": _words(found)[0],
        "groups": groups,
    }
