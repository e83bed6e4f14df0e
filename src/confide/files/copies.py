"""Copies: whether two files or two summaries are of the same reports, which would count twice."""

from __future__ import annotations

import filecmp
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from confide.errors import InvalidInput
from confide.files.source import Source

CHANCE = math.log(1e-9)
"""Logarithm of the chance of equal reports below which two files are taken for copies."""
START = 2**16
"""Bytes at the start of a file that tell nearly all files of one size apart."""


def chance(counts: Iterable[int]) -> float:
    """The logarithm of the chance, at most, that as many other reports have the same counts.

    Reports of people who are drawn from any population have a multinomial law, and no such law
    makes these counts more likely than the one that expects them.

    Parameters
    ----------
    counts
        How often each report came.

    Examples
    --------
    >>> round(math.exp(chance([1, 1])), 6)
    0.5
    >>> chance([700, 300, 800, 900]) < math.log(1e-4)
    True
    """
    there = [count for count in counts if count]
    n = sum(there)
    most = math.lgamma(n + 1)
    return most + sum(c * math.log(c / n) - math.lgamma(c + 1) for c in there)


def refuse(sources: Sequence[Source], columns: Sequence[str]) -> None:
    """Refuse files of reports that are copies of each other, byte by byte.

    Files of a few reports may be equal by chance, and are taken.

    Parameters
    ----------
    sources
        The files.
    columns
        Columns of reports.
    """
    named = {source.path: source for source in sources}
    for one, two in _equal([source.path for source in sources]):
        if min(_rows_chance(named[one], name) for name in columns) < CHANCE:
            raise InvalidInput(
                "each report once",
                f"files with the same bytes: {named[one].where} and {named[two].where}",
                "Remove the copy, whose reports would count twice.",
            )


def _equal(paths: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Pairs of files that are equal: of one size first, then at the start, then all of it."""
    for same in _alike(paths, lambda path: path.stat().st_size):
        for near in _alike(same, _start):
            for one, two in combinations(near, 2):
                if filecmp.cmp(one, two, shallow=False):
                    yield one, two


def _alike(paths: Sequence[Path], key: Any) -> list[list[Path]]:
    found: dict[Any, list[Path]] = {}
    for path in paths:
        found.setdefault(key(path), []).append(path)
    return [several for several in found.values() if len(several) > 1]


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(START)).digest()


def _rows_chance(source: Source, column: str) -> float:
    """The logarithm of the chance, at most, of the first rows of a column; of lists, all numbers.

    Their counts have at most the chance of `chance`, and their order that of the Markov chain which
    expects them: next to none in random order, and no small one where rows are sorted.
    """
    cells = next((batch.column(0) for batch in source.batches([column]) if batch.num_rows), None)
    if cells is None:
        return 0.0
    while hasattr(cells, "flatten") and hasattr(cells, "values"):
        cells = cells.flatten()
    codes = cells.dictionary_encode("encode").indices.to_numpy(zero_copy_only=False)
    steps = np.unique(np.stack([codes[:-1], codes[1:]]), axis=1, return_counts=True)[1]
    starts = np.bincount(codes[:-1])
    order = _sum_of_logs(steps) - _sum_of_logs(starts)
    return min(order, chance(np.bincount(codes).tolist()))


def _sum_of_logs(counts: Any) -> float:
    there = counts[counts > 0]
    return float((there * np.log(there)).sum())
