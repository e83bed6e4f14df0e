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
UNSEEN = ("Cc", "Cf")
"""Unicode's kinds of characters that steer others, such as a hyphen that shows at line ends."""
WHOLE = re.compile(r"\A(-?)0*([0-9]+)(?:\.0*)?\Z")
"""A whole number, maybe with zeros before or after it, which a spreadsheet drops or adds."""


def plain(value: str) -> str:
    """A name without differences in case, blanks, composed letters and what nobody sees.

    Examples
    --------
    >>> plain(" Ada  LOVE\u200bLACE")
    'ada lovelace'
    """
    letters = unicodedata.normalize("NFKC", value)
    seen = (c for c in letters if c.isspace() or unicodedata.category(c) not in UNSEEN)
    return " ".join("".join(seen).casefold().split())


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
    >>> [person_of(each, 0, "the table") for each in (" P07 ", 7.0, "007")]
    ['p07', '7', '7']
    """
    # The same people may be whole numbers in one file, and floats, decimals or bytes in the next.
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    found = "" if value is None else WHOLE.sub(r"\1\2", plain(str(value)))
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
