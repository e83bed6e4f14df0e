"""Inviting people: one link each, in a file that only its owner can read."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from confide import _checks
from confide._secrets import settle
from confide.collect.invitations import (
    Signer,
    cell,
    checked_url,
    decoded,
    hashed,
    link,
    question_cell,
)
from confide.collect.stores.store import Store
from confide.errors import InvalidInput
from confide.files.paths import named, readable
from confide.questions import Questionnaire

LINK = "link"
"""The column of links."""
MOST = 10_000_000
"""Invitations in one go, at most."""
LARGEST = 2**30
"""Bytes of a table of people, at most."""


@final
@dataclass(frozen=True)
class People:
    """Whom to invite, with what is publicly known about each.

    Parameters
    ----------
    columns
        Names of the columns.
    rows
        One row a person. Public groups of the survey are among the columns; all others are copied
        beside the link and go no further.
    """

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, str]]

    @classmethod
    def nameless(cls, n: int) -> People:
        """So many people of whom nothing is known."""
        n = _checks.integer(1, MOST, n=n)
        return cls((), [{}] * n)

    @classmethod
    def read(cls, path: Path, survey: Questionnaire) -> People:
        """A CSV file of people with a column for each of the survey's groups."""
        columns, rows = _table(path)
        _columns(columns, survey, path)
        for at, row in enumerate(rows, start=2):
            for name in survey.groups:
                if not row[name].strip():
                    raise InvalidInput(
                        f"a value for the group {name!r} in line {at} of {named(path)}", "none"
                    )
        if not 1 <= len(rows) <= MOST:
            raise InvalidInput(f"from 1 to {MOST:,} people in {named(path)}", f"{len(rows):,}")
        return cls(columns, rows)


def _table(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """The columns and rows of a CSV file."""
    readable(path)
    if path.stat().st_size > LARGEST:
        raise InvalidInput(f"a table of people of at most {LARGEST:,} bytes", named(path))
    try:
        text = path.read_bytes().decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows, columns = list(reader), tuple(reader.fieldnames or ())
    except UnicodeDecodeError:
        raise InvalidInput(f"UTF-8 text in {named(path)}", "other bytes") from None
    except csv.Error as error:
        raise InvalidInput(f"CSV in {named(path)}", f"something else ({error})") from None
    for at, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InvalidInput(
                f"{len(columns)} cells in line {at} of {named(path)}", "more or fewer"
            )
    return columns, rows


def _columns(columns: Sequence[str], survey: Questionnaire, path: Path) -> None:
    """Refuse a table that lacks a group, or that holds answers."""
    if len(set(columns)) != len(columns):
        raise InvalidInput(f"columns of different names in {named(path)}", "one twice")
    for name in survey.groups:
        if name not in columns:
            raise InvalidInput(
                f"a column {name!r} in {named(path)}, a group of the survey",
                "none",
                _checks.nearest(name, columns),
            )
    if LINK in columns:
        raise InvalidInput(f"a table without a column {LINK!r}", f"one in {named(path)}")
    for name in survey.questions:
        if name in columns:
            raise InvalidInput(
                f"public columns in {named(path)}",
                f"the question {name!r}",
                "Answers are given on the respondents' devices.",
            )


def check(people: People, survey: Questionnaire, *, url: str, to: Path) -> None:
    """Refuse what cannot be carried out, before anything is made."""
    checked_url(url)
    if survey.closes is not None and survey.closes <= datetime.now(UTC):
        raise InvalidInput(
            "a survey that closes in the future", f"one that closed at {survey.closes.isoformat()}"
        )
    if survey.groups and not people.columns:
        raise InvalidInput(
            f"a table of people with the groups {', '.join(survey.groups)}",
            "a number of people alone",
            "Give --people people.csv.",
        )
    if to.exists():
        raise InvalidInput(
            "a new file for the links",
            f"{named(to)}, which is there",
            "Links cannot be made again.",
        )


def invite(
    people: People, survey: Questionnaire, signer: Signer, store: Store, *, url: str, to: Path
) -> int:
    """Make an invitation for every person, and write their links; returns how many.

    Where a survey asks each person some of the questions only, each call asks every question
    equally often in every cell of the groups, but for a difference of one.

    The file is on disk before the store knows the invitations. Where the store fails the file is
    taken away again.
    """
    check(people, survey, url=url, to=to)
    groups = [tuple(row[name] for name in survey.groups) for row in people.rows]
    asked = assigned(groups, survey)
    tokens = [signer.mint(own, asked=places) for own, places in zip(groups, asked, strict=True)]
    _write(to, people, [link(url, token) for token in tokens])
    try:
        raw = [decoded(token) or b"" for token in tokens]
        store.invite([hashed(each) for each in raw], invited(groups, asked, survey))
    except BaseException:
        to.unlink(missing_ok=True)
        raise
    return len(tokens)


def assigned(
    groups: Sequence[tuple[str, ...]], survey: Questionnaire
) -> list[tuple[int, ...] | None]:
    """Which questions each person of some groups is asked, drawn here and now; None for all."""
    if survey.ask is None:
        return [None] * len(groups)
    numbers: dict[tuple[str, ...], int] = {}
    cells = [numbers.setdefault(own, len(numbers)) for own in groups]
    return [tuple(row.nonzero()[0].tolist()) for row in survey.assigned(cells)]


def invited(
    groups: Sequence[tuple[str, ...]],
    asked: Sequence[tuple[int, ...] | None],
    survey: Questionnaire,
) -> Counter[str]:
    """How many people are invited in each cell of the groups, and to each question."""
    names = list(survey.questions)
    counts = Counter(cell(own) for own in groups)
    counts.update(question_cell(names[at]) for places in asked for at in places or ())
    return counts


def _write(to: Path, people: People, links: Sequence[str]) -> None:
    with os.fdopen(
        os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", newline=""
    ) as file:
        try:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*people.columns, LINK])
            for row, own in zip(people.rows, links, strict=True):
                writer.writerow([*(row[name] for name in people.columns), own])
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            to.unlink(missing_ok=True)
            raise
    settle(to.parent)
