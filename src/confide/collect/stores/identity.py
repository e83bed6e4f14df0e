"""The survey that a store is for; opening it with another one is refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import final

from confide.errors import InvalidInput, Mismatch
from confide.questions import Questionnaire

SURROGATE = re.compile("[\ud800-\udfff]")
"""Halves of characters, which are no text."""


@final
@dataclass(frozen=True)
class Identity:
    """What a store keeps of its survey.

    Parameters
    ----------
    document
        The survey as JSON.
    fingerprint, worded
        Short names of its mechanisms, and of everything that respondents are shown.
    cap
        How many it takes if it takes anybody; None where invitations are needed, or where whoever
        opens a store does not know.
    """

    document: str
    fingerprint: str
    worded: str
    cap: int | None = None

    @classmethod
    def of(cls, survey: Questionnaire, cap: int | None = None) -> Identity:
        """That of a survey."""
        for name in survey.questions:
            if "\x00" in name or SURROGATE.search(name):
                raise InvalidInput(
                    "names of questions that a store can hold", f"{name!r}", "Name it otherwise."
                )
        document = json.dumps(survey.to_dict(), separators=(",", ":"))
        return cls(document, survey.fingerprint, survey.worded, cap)

    def check(self, stored: Identity, name: str) -> None:
        """Refuse to use the store of another survey.

        Parameters
        ----------
        stored
            What the store was made with.
        name
            Of the store, for a message.
        """
        expected = f"the survey that the store {name} was made for"
        if self.fingerprint != stored.fingerprint:
            raise Mismatch(
                expected,
                "one with other questions or mechanisms",
                "Their reports cannot be counted together: another survey needs another store.",
            )
        if self.worded != stored.worded:
            raise Mismatch(
                expected,
                "one with the same mechanisms and another wording",
                "People who read something else must not be counted together: another wording "
                "needs another store.",
            )
        if self.cap is not None and self.cap != stored.cap:
            raise Mismatch(
                expected,
                f"one that takes {self.cap:,} people without invitations"
                if stored.cap is None
                else f"one for {self.cap:,} people, not {stored.cap:,}",
                "A store keeps what it was made with.",
            )
