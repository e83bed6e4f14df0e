"""Dates of a survey: the end of collecting, and the end of the first phase."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from confide import _checks
from confide.errors import InvalidInput

EXAMPLE = "Write it as 2027-01-31T18:00:00Z."


def moment(given: Any, name: str) -> datetime | None:
    """A date and time with its offset, in universal time; None stays None.

    Parameters
    ----------
    given
        A datetime, or text in the form of ISO 8601.
    name
        The key of the survey file, for messages.

    Examples
    --------
    >>> moment("2027-01-31T19:00:00+01:00", "closes").isoformat()
    '2027-01-31T18:00:00+00:00'
    """
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise InvalidInput(f"{name} as a date and a time", repr(given)[:60], EXAMPLE) from None
    if not isinstance(given, datetime):
        raise InvalidInput(f"{name} as a date and a time", _checks.shown(given), EXAMPLE)
    if given.tzinfo is None:
        raise InvalidInput(
            f"{name} with an offset from universal time", f"{given.isoformat()} without", EXAMPLE
        )
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} in the years 1 to 9999", "another year", EXAMPLE) from None
