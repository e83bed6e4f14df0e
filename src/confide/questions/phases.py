"""Phases: some people answer first, and their private reports choose the cells of the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _checks
from confide.errors import BadRows, InvalidInput
from confide.exact.entropy import Entropy
from confide.exact.inversion import permutation, weighted
from confide.files import arrow
from confide.questions.assignment import numbered
from confide.questions.moments import moment

TABLE = "phases"
"""The table of a survey file that has phases."""
PHASE = "phase"
"""The public column that says the phase of a person."""
SHARES = (0.25, 0.75)
FINEST = 10_000
"""Shares are multiples of one such part, at the finest."""
LEAST = 1000
"""Reports of a first phase, at least: fewer say too little about where people are."""


@dataclass(frozen=True)
class Phases:
    """Which share of the people answers in the first phase, and which phase it is now.

    Each person belongs to one phase, drawn beforehand, and answers in that one only. So phases
    cost nobody anything: each answers once, on a lattice that was public by then. Tables of
    answers and of people have a column "phase", and rows of another phase than ``now`` are refused.

    Parameters
    ----------
    shares
        Of the people, in the first phase and in the second, with up to four decimals; they add up
        to 1.
    now
        The phase that the survey is in. `Survey.next_phase` makes the survey of the second.
    after
        A collector moves on by itself once this number of people of the first phase have answered.
    until
        It moves on at this moment, with the answers received by then. If both are given, whichever
        comes first counts.

    Examples
    --------
    >>> Phases().shares
    (0.25, 0.75)
    >>> Phases(after=5000).over(5000), Phases(after=5000).over(4999)
    (True, False)
    """

    shares: tuple[float, ...] = SHARES
    now: int = 1
    after: int | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        given = self.shares
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise InvalidInput("the shares of two phases: [0.25, 0.75]", _checks.shown(given))
        shares = tuple(_checks.within(0, 1, shares=share) for share in given)
        parts = [Fraction(repr(share)) for share in shares]
        if FINEST % math.lcm(*(part.denominator for part in parts)):
            raise InvalidInput(
                "shares of the phases with at most four decimals, such as [0.25, 0.75]",
                f"shares = {_checks.shown(given)}",
            )
        if sum(parts) != 1 or not min(shares) > 0:
            raise InvalidInput(
                "shares of the phases above 0 that add up to 1", f"shares = {_checks.shown(given)}"
            )
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "now", _checks.integer(1, 2, now=self.now))
        if self.after is not None:
            self._check_after()
        object.__setattr__(self, "until", moment(self.until, "until"))

    def _check_after(self) -> None:
        given = self.after
        if isinstance(given, bool) or not isinstance(given, int) or given < LEAST:
            raise InvalidInput(
                f"after as a whole number of at least {LEAST:,} people of the first phase",
                f"after = {_checks.shown(given)}",
                "The reports of fewer people never choose cells.",
            )

    @property
    def ends(self) -> bool:
        """Whether the survey says when its first phase ends."""
        return self.after is not None or self.until is not None

    def over(self, answered: int) -> bool:
        """Whether the first phase is over by now.

        Parameters
        ----------
        answered
            How many of its people have answered.
        """
        if self.after is not None and answered >= self.after:
            return True
        return self.until is not None and datetime.now(UTC) >= self.until

    @classmethod
    def read(cls, given: Any) -> Phases:
        """Phases as they are, or from the keys of a survey file."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise InvalidInput("a table [phases] with shares = [0.25, 0.75]", _checks.shown(given))
        _checks.known_keys(given, ("shares", "now", "after", "until"), "[phases]")
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields: dict[str, Any] = {"shares": list(self.shares), "now": self.now}
        if self.after is not None:
            fields["after"] = self.after
        if self.until is not None:
            fields["until"] = self.until.isoformat()
        return fields

    def check(self, table: Any, where: str, *, first: int = 0) -> None:
        """Refuse a table of answers with people of another phase than the survey's.

        Parameters
        ----------
        table
            An Arrow table or batch with the public column "phase".
        where
            Its name, for messages.
        first
            Number of its first row.
        """
        if PHASE not in table.schema.names:
            raise no_phase(where)
        column = arrow.column_of(table, PHASE, where)
        compute = arrow.arrow("pyarrow.compute")
        told = compute.utf8_trim_whitespace(column.cast(arrow.plain(column.type)).cast("string"))
        own = np.asarray(compute.equal(told, str(self.now)).fill_null(False))
        if not own.all():
            raise self._other(where, first + int(own.argmin()) + 1)

    def read_rows(self, phases: Sequence[str], where: str) -> list[int]:
        """The phase of each person of a table, which was drawn beforehand.

        Parameters
        ----------
        phases
            The phase of each person, as text.
        where
            Where they are, for messages.
        """
        for at, phase in enumerate(phases, start=1):
            if phase.strip() not in ("1", "2"):
                raise BadRows(
                    f"1 or 2 in the column {PHASE!r} of {where}",
                    f"something else in row {at}",
                    "Draw it with confide schedule, or leave the column out: then it is drawn.",
                    column=PHASE,
                )
        return [int(phase) for phase in phases]

    def _other(self, where: str, row: int) -> BadRows:
        return BadRows(
            f"people of phase {self.now} alone in {where}, the phase that the survey is in",
            f"another phase, or none, in row {row}",
            "Each person answers in one phase: take the rows of this one.",
            column=PHASE,
        )

    @property
    def _first(self) -> Fraction:
        """The share of the first phase, as it was written."""
        return Fraction(repr(self.shares[0]))

    def least_first(self, n: int) -> int:
        """How many of n people `drawn` puts into the first phase, at least.

        Examples
        --------
        >>> Phases().least_first(1_403)
        350
        """
        return n * self._first.numerator // self._first.denominator

    def drawn(self, entropy: Entropy, cells: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Draw the phase of each person.

        The people of a cell are put in a random order, cell after cell, and every so many of them
        answer first, counted from a random place. So each person is in the first phase with
        exactly its share for a chance, and every cell has its share, but for a difference of one.

        Parameters
        ----------
        entropy
            Source of fair words.
        cells
            For each person the number of a cell: people in the same public groups share it.

        Examples
        --------
        >>> from confide.exact.entropy import SystemEntropy
        >>> np.bincount(Phases().drawn(SystemEntropy(), [0] * 100)).tolist()
        [0, 25, 75]
        """
        own = numbered(cells)
        order = permutation(entropy, own.size)
        order = order[np.argsort(own[order], kind="stable")]
        share = self._first
        part, whole = share.numerator, share.denominator
        start = int(weighted([1] * whole).draw(entropy, 1)[0])
        place = np.arange(start, start + own.size + 1, dtype=np.int64) * part // whole
        phases = np.full(own.size, 2, dtype=np.int64)
        phases[order[np.diff(place) > 0]] = 1
        return phases


def no_phase(where: str) -> InvalidInput:
    """The error for a table without the phase of each person."""
    return InvalidInput(
        f"a column {PHASE!r} in {where}: the survey has phases",
        "none",
        "Draw it beforehand: confide schedule, or survey.phase_of in Python.",
    )
