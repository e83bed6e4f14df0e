"""The interface of all stores of reports."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confide.collect.invitations import question_of
from confide.collect.wire import Entry
from confide.errors import ConfideError

Tallies = Mapping[str, Mapping[str, Mapping[int, int]]]
"""Counts of each report: cell -> question -> report -> count."""


class Outcome(enum.Enum):
    """The outcome of an upload."""

    STORED = "stored"
    """It is on disk, and its invitation is spent."""
    SAME = "same"
    """It was on disk already: the identical upload came again."""
    USED = "used"
    """Its invitation or its receipt was used by another upload."""
    UNKNOWN = "unknown"
    """The store knows no such invitation."""
    CLOSED = "closed"
    """The survey takes no reports any more."""
    FULL = "full"
    """The survey takes anybody, and as many as it takes have answered."""


class Unavailable(ConfideError):
    """The store cannot take anything now: the disk is full, or the database does not answer.

    The batch was not stored, or it is unknown whether it was; a device sends the same upload again.

    Examples
    --------
    >>> from confide.errors import ConfideError
    >>> issubclass(Unavailable, ConfideError)  # to try the same again later may work
    True
    """


@dataclass(frozen=True)
class Status:
    """The progress of a survey.

    Parameters
    ----------
    closed
        Whether it has ended.
    invited, answered
        How many invitations there are and how many uploads, by cell of the public groups.
    asked
        How many were invited to each question, where people are asked some of them only.
    """

    closed: bool
    invited: Mapping[str, int]
    answered: Mapping[str, int]
    asked: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Iterable[tuple[str, int, int]], *, closed: bool) -> Status:
        """Make it from the counts of a store: invitations and uploads."""
        groups: list[tuple[str, int, int]] = []
        asked = {}
        for text, invited, answered in cells:
            if (name := question_of(text)) is None:
                groups.append((text, invited, answered))
            else:
                asked[name] = invited
        return cls(
            closed,
            invited={cell: invited for cell, invited, _ in groups if invited},
            answered={cell: answered for cell, _, answered in groups if answered},
            asked=asked,
        )


class Store(ABC):
    """Reports and spent invitations, each in a table of its own and with nothing that joins them.

    Methods of one store object are called from one thread at a time. Several processes may have
    the same store open.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Survey
    >>> from confide.collect import opened
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = opened(f"{folder.name}/answers.db", survey, create=True, cap=10)
    >>> isinstance(store, Store), store.status().closed
    (True, False)
    >>> store.shut()
    >>> folder.cleanup()
    """

    @property
    @abstractmethod
    def cap(self) -> int | None:
        """Limit of answers in a survey without invitations; None if invitations are needed."""

    @abstractmethod
    def document(self) -> str:
        """The survey of the current phase as JSON."""

    @abstractmethod
    def advance(self, before: str, now: str) -> None:
        """Begin the second phase, unless another process was faster or the survey has ended.

        This is one transaction: a store is in one phase or the other, and `document` agrees for all
        processes afterwards.

        Parameters
        ----------
        before
            The document of the first phase, as the store has it.
        now
            That of the second.
        """

    @abstractmethod
    def invite(self, hashes: Sequence[bytes], cells: Mapping[str, int]) -> None:
        """Admit one upload for each hash of an invitation; ``cells`` says how many in each cell.

        A cell of the public groups, or a question, of which it is known how many were invited to
        it. All of them are admitted or none.

        Raises
        ------
        InvalidInput
            If the store does not take invitations anymore; none was admitted.
        Unavailable
            If the store failed. Ask `knows` later whether they were admitted.
        """

    @abstractmethod
    def knows(self, invitation: bytes) -> bool:
        """Whether an invitation with this hash was admitted; waits for a running `invite`."""

    @abstractmethod
    def put(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a batch in one transaction; what it answers is on disk when it returns.

        Raises
        ------
        Unavailable
            If the batch could not be stored.
        """

    @abstractmethod
    def status(self) -> Status:
        """Numbers of people who were invited and who have answered."""

    @abstractmethod
    def tallies(self) -> Tallies:
        """How often each report came: cell -> question -> report -> count.

        Counts are kept beside the reports, and a call adds those that came since the last one, so
        that its cost does not grow with all reports that were ever stored.
        """

    @abstractmethod
    def close(self) -> None:
        """End the survey: no reports any more, receipts dropped, both tables written anew.

        Afterwards neither order nor any other trace says which invitation sent which report.
        """

    @abstractmethod
    def rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Cell and reports of every person, in random order."""

    @abstractmethod
    def tidy(self) -> bool:
        """Wipe what the last uploads left beside the tables. A writer calls it when it has time.

        Returns whether that was possible; while another process reads, it is tried again later.
        """

    @abstractmethod
    def shut(self) -> None:
        """Let go of the file or the connection."""
