"""Refuses summaries that count the same reports twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from confide.errors import InvalidInput
from confide.files.copies import CHANCE, chance
from confide.files.paths import counted, named
from confide.summaries.cell_sums import CellSums
from confide.summaries.counts import Counts
from confide.summaries.groups import Groups, label

Part = tuple[str, frozenset[tuple[str, str | int]]]
"""A question and a group: the column and value of each part of its key; none for everybody."""


class Seen:
    """Files of summaries that were read already, and what was counted in each.

    Noise makes the counts of different people differ. Where all groups that two files have in
    common have equal counts, and that has next to no chance, one file is a copy of the other or was
    added to it before.

    Parameters
    ----------
    disjoint
        Whether to refuse every group that two files have, whatever its counts.
    """

    def __init__(self, *, disjoint: bool = False) -> None:
        self.disjoint = disjoint
        self._parts: dict[Path, dict[Part, bytes]] = {}
        self._files: dict[Part, dict[bytes, Path]] = {}

    def add(self, path: Path, questions: Mapping[str, Counts | Groups[Counts]]) -> None:
        """Add the summaries in one more file, or refuse them.

        Parameters
        ----------
        path
            The file.
        questions
            For each question its counts, or its counts by group.
        """
        alone = len(questions) == 1
        counts: dict[Part, Counts] = {}
        words: dict[Part, str] = {}
        for name, one in questions.items():
            if self.disjoint and not isinstance(one, Groups):
                raise InvalidInput(
                    "summaries by group to go with --disjoint, or disjoint=True in Python",
                    f"one of all respondents in {named(path)}",
                )
            for part, (word, own) in _parts("" if alone else name, one).items():
                counts[part], words[part] = own, word
        own_digests = {
            part: hashlib.sha256(one.counts.tobytes()).digest() for part, one in counts.items()
        }
        near: dict[Path, None] = {}
        for part, digest in own_digests.items():
            files = self._files.setdefault(part, {})
            if self.disjoint and files:
                first = named(next(iter(files.values())))
                raise InvalidInput(
                    "each group in one file",
                    f"{words[part]!r} in {first} and {named(path)}",
                    "Its reports may count twice: without --disjoint they are added up.",
                )
            if digest in files:
                near[files[digest]] = None
            files.setdefault(digest, path)
        for other in near:
            self._refuse(other, path, counts, own_digests)
        self._parts[path] = own_digests

    def _refuse(
        self, other: Path, path: Path, counts: Mapping[Part, Counts], own: Mapping[Part, bytes]
    ) -> None:
        theirs = self._parts[other]
        common = [part for part in own if part in theirs]
        for question in {name for name, _ in common}:
            parts = [part for part in common if part[0] == question]
            if any(own[part] != theirs[part] for part in parts):
                continue
            if sum(chance(counts[part].counts.ravel().tolist()) for part in parts) >= CHANCE:
                continue
            groups = f" of {counted(len(parts), 'group')}" if parts[0][1] else ""
            raise _copies(f"equal counts{groups}", other, path)


def different(sums: Iterable[tuple[Path, CellSums]]) -> CellSums:
    """The total of the sums in some files, none of which may be a copy of another.

    Parameters
    ----------
    sums
        The files and their sums of a partition.
    """
    seen: dict[bytes, Path] = {}
    total: CellSums | None = None
    for path, own in sums:
        digest = hashlib.sha256(own.counts.tobytes() + own.tallies.tobytes()).digest()
        if digest in seen:
            # The noise of one cell says nothing about that of another.
            cells = sum(chance(column) for column in own.tallies.T.tolist())
            ones = sum(chance([count, own.n - count]) for count in own.counts.tolist())
            if cells + ones < CHANCE:
                raise _copies("equal sums", seen[digest], path)
        seen[digest] = path
        total = own if total is None else total + own
    if total is None:
        raise InvalidInput("at least one file of sums", "none")
    return total


def _copies(got: str, one: Path, two: Path) -> InvalidInput:
    return InvalidInput(
        "summaries of different reports",
        f"{got} in {named(one)} and {named(two)}",
        "One is a copy of the other, or holds it already: its reports would count twice.",
    )


def _parts(question: str, one: Counts | Groups[Counts]) -> dict[Part, tuple[str, Counts]]:
    """The counts of each group and its name, whatever the order of the columns."""
    if isinstance(one, Counts):
        return {(question, frozenset()): ("", one)}
    found: dict[Part, tuple[str, Counts]] = {}
    for key, own in one.items():
        parts = key if isinstance(key, tuple) else (key,)
        found[question, frozenset(zip(one.by, parts, strict=True))] = (label(key), own)
    return found
