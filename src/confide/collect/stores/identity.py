"""The identity of a store's survey; a store is refused for another survey."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from confide.errors import InvalidInput, Mismatch
from confide.questions import Questionnaire

SURROGATE = re.compile("[\ud800-\udfff]")
"""Halves of characters, which are no text."""
LISTED = 4
"""Differences between two surveys that a message names."""
SHOWN = 40
"""Characters that a message shows of a value."""


@final
@dataclass(frozen=True)
class Identity:
    """The facts about its survey that a store keeps.

    Parameters
    ----------
    document
        The survey as JSON; that of its second phase once it has begun.
    fingerprint, worded
        Short names of its mechanisms, and of everything that respondents are shown, in its first
        phase where it has phases.
    cap
        Limit of answers without invitations; None if invitations are needed, or if the caller that
        opens a store does not know.
    """

    document: str
    fingerprint: str
    worded: str
    cap: int | None = None

    @classmethod
    def of(cls, survey: Questionnaire, cap: int | None = None) -> Identity:
        """The identity of a survey."""
        for name in survey.questions:
            if "\x00" in name or SURROGATE.search(name):
                raise InvalidInput(
                    "names of questions that a store can hold", f"{name!r}", "Name it otherwise."
                )
        return cls(document_of(survey), survey.fingerprint, survey.worded, cap)

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
                f"one with other questions or mechanisms{self._differs(stored)}",
                "Their reports cannot be counted together: undo the change, or name another "
                "store and invite anew.",
            )
        if self.worded != stored.worded:
            raise Mismatch(
                expected,
                f"one with the same mechanisms and another wording{self._differs(stored)}",
                "What people were told must stay as it is: undo the change, or name another store "
                "and invite anew.",
            )
        if self.cap is not None and self.cap != stored.cap:
            raise Mismatch(
                expected,
                f"one that takes {self.cap:,} people without invitations"
                if stored.cap is None
                else f"one for {self.cap:,} people, not {stored.cap:,}",
                "A store keeps what it was made with.",
            )

    def _differs(self, stored: Identity) -> str:
        """The first few differences, as the end of a sentence."""
        before = json.loads(stored.document)
        if before.get("phases"):
            before = Questionnaire.from_dict(before).pilot.to_dict()
        found = list(_changes(before, json.loads(self.document)))
        more = f"; and {len(found) - LISTED} more" if found[LISTED:] else ""
        return f": {'; '.join(found[:LISTED])}{more}" if found else ""


def document_of(survey: Questionnaire) -> str:
    """A survey as the text that a store keeps."""
    return json.dumps(survey.to_dict(), separators=(",", ":"))


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What is not the same in two surveys, as plain values."""
    for key in _keys(before, now, but="questions"):
        yield f"{key} ({_shown(before, key)} in the store, {_shown(now, key)} now)"
    old, new = before.get("questions", {}), now.get("questions", {})
    if list(old) != list(new) and old.keys() == new.keys():
        yield "another order of the questions"
    for name in {**old, **new}:
        if name not in old:
            yield f"a new question {name!r}"
        elif name not in new:
            yield f"no question {name!r}"
        else:
            for key in _keys(old[name], new[name]):
                was, is_now = _shown(old[name], key), _shown(new[name], key)
                yield f"{key} of {name!r} ({was} in the store, {is_now} now)"


def _keys(before: Mapping[str, Any], now: Mapping[str, Any], but: str = "") -> Iterator[str]:
    for key in {**before, **now}:
        if key != but and before.get(key) != now.get(key):
            yield key


def _shown(fields: Mapping[str, Any], key: str) -> str:
    if fields.get(key) in (None, ""):
        return "none"
    text = json.dumps(fields[key], ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
