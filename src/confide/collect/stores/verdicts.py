"""Decides for each upload of a batch whether it is stored; all stores share these rules."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from confide.collect.stores.store import Outcome
from confide.collect.wire import Entry

Row = tuple[bytes, str, str]
"""Tie, cell and reports of a stored upload."""


@final
@dataclass(frozen=True)
class Known:
    """The facts of a store that matter to a batch, read under its lock.

    Parameters
    ----------
    closed
        Whether the survey has ended.
    cap
        How many a survey takes that takes anybody; None where invitations are needed.
    answered
        How many have answered.
    used
        Of the invitations in the batch that the store has: whether they are spent.
    stored
        Of the receipts in the batch that the store has: what was uploaded with them.
    """

    closed: bool
    cap: int | None
    answered: int
    used: Mapping[bytes, bool]
    stored: Mapping[bytes, Row]


def judged(entries: Sequence[Entry], known: Known) -> list[Outcome]:
    """The outcome of each upload, as if they came one after the other."""
    if known.closed:
        return [Outcome.CLOSED] * len(entries)
    used, stored = dict(known.used), dict(known.stored)
    room = None if known.cap is None else known.cap - known.answered
    outcomes = []
    for entry in entries:
        row = (entry.tie, entry.cell, entry.reports)
        if stored.get(entry.receipt) == row:
            outcome = Outcome.SAME
        elif room is not None:
            outcome = _anybody(entry, stored, room)
        else:
            outcome = _invited(entry, used, stored)
        if outcome is Outcome.STORED:
            stored[entry.receipt] = row
            if room is not None:
                room -= 1
            elif entry.invitation is not None:
                used[entry.invitation] = True
        outcomes.append(outcome)
    return outcomes


def _invited(entry: Entry, used: Mapping[bytes, bool], stored: Mapping[bytes, Row]) -> Outcome:
    if entry.invitation is None or entry.invitation not in used:
        return Outcome.UNKNOWN
    if used[entry.invitation] or entry.receipt in stored:
        return Outcome.USED
    return Outcome.STORED


def _anybody(entry: Entry, stored: Mapping[bytes, Row], room: int) -> Outcome:
    if entry.invitation is not None:
        return Outcome.UNKNOWN
    if entry.receipt in stored:
        return Outcome.USED
    return Outcome.STORED if room > 0 else Outcome.FULL


def counted(rows: Sequence[tuple[str, str]]) -> Counter[tuple[str, str, int]]:
    """How often each report came to each question in each cell, of cells and reports."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for cell, reports in rows:
        for question, report in json.loads(reports).items():
            counts[cell, question, report] += 1
    return counts
