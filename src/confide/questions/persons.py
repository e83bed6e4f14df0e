"""Compares names of people, to find one person listed twice."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from confide.errors import BadRows

PERSON = "person"
"""The public column that says who it is."""
WHOLE = re.compile(r"\A(-?[0-9]+)\.0*\Z")
"""A whole number that is written as a fraction."""


def plain(value: str) -> str:
    """A name without differences in case, blanks and composed letters.

    Examples
    --------
    >>> plain(" Ada  LOVELACE")
    'ada lovelace'
    """
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())


def person_of(value: Any, at: int, where: str) -> str:
    """The person whom a cell names, alike for all spellings of the name; refuses an empty cell.

    Parameters
    ----------
    value
        A name or a number.
    at
        Its row, counted from 0.
    where
        Its table, for messages.

    Examples
    --------
    >>> person_of(" P7 ", 0, "the table"), person_of(7.0, 1, "the table")
    ('p7', '7')
    """
    # The same people may be whole numbers in one file, and floats, decimals or bytes in the next.
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    found = "" if value is None else WHOLE.sub(r"\1", plain(str(value)))
    if not found or (isinstance(value, float) and math.isnan(value)):
        raise BadRows(f"a person in every row of {where}", f"none in row {at + 1}", column=PERSON)
    return found


def once(people: Sequence[Any], where: str) -> None:
    """Refuse a table with a missing or repeated name.

    Parameters
    ----------
    people
        A name or a number for each row.
    where
        The table, for messages.
    """
    rows: dict[str, int] = {}
    for at, value in enumerate(people):
        first = rows.setdefault(person_of(value, at, where), at)
        if first != at:
            raise BadRows(
                f"each person in one row of {where}",
                f"the same one in rows {first + 1} and {at + 1}",
                "People who are asked twice spend twice what the survey says.",
                column=PERSON,
            )
