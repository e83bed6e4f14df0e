"""Columns of raw numbers and words in files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confide.errors import InvalidInput
from confide.files import arrow, formats, parse
from confide.files.paths import expand
from confide.files.source import Source

Progress = Callable[[int, int | None], None]
"""Called with the number of rows that were read since the last call, and with how many there are in
all: None where the files do not know it.
"""


@dataclass(frozen=True)
class Columns:
    """Columns of one or more files, which are there before any of them is read.

    Parameters
    ----------
    sources
        The files.
    names
        The columns.
    words
        Those of them that hold words; all others hold numbers.
    known
        All words that a column may hold, where that is stated.
    """

    sources: tuple[Source, ...]
    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    known: Mapping[str, Collection[str]] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        path: str | Path,
        columns: str | Sequence[str] | None = None,
        *,
        words: Collection[str] | Mapping[str, Collection[str]] = (),
    ) -> Columns:
        """Find columns in a file, a glob or a folder.

        Parameters
        ----------
        path
            What to read.
        columns
            Their names; by default the only column there is.
        words
            Names of the columns that hold words; or all words that they may hold, by name.
        """
        sources = tuple(formats.source(found) for found in expand([path], formats.readable()))
        for source in sources:
            _headed(source)
        given = (columns,) if isinstance(columns, str) else tuple(columns or ())
        names = given or (_only(sources[0]),)
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput("each column once", f"{name!r} twice")
        for source in sources:
            source.require(names)
        known = dict(words) if isinstance(words, Mapping) else {}
        return cls(sources, names, tuple(name for name in names if name in words), known)

    @property
    def integers(self) -> list[str]:
        """Columns that all files declare to hold whole numbers; CSV declares nothing.

        The type that a Parquet file declares is as public as the name of the column. Whether the
        cells of a CSV file happen to be whole is private, and is not looked at.
        """
        if any(source.text for source in self.sources):
            return []
        test = arrow.arrow().types.is_integer
        return [
            name for name in self.names if all(test(source.kind(name)) for source in self.sources)
        ]

    @property
    def rows(self) -> int | None:
        """Number of rows, where every file knows its own."""
        known = [source.rows for source in self.sources]
        return None if None in known else sum(rows or 0 for rows in known)

    def batches(self) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """The columns, a batch at a time; no cell may be missing, and no file empty."""
        for source in self.sources:
            first = 0
            for batch in source.batches(self.names):
                where = parse.rows_of(source.where, first)
                yield {
                    name: parse.spelled(
                        batch.column(at), name=name, where=where, known=self.known.get(name)
                    )
                    if name in self.words
                    else parse.present(batch.column(at), name=name, plain=source.text, where=where)
                    for at, name in enumerate(self.names)
                }
                first += batch.num_rows
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")

    def usable(self) -> Iterator[tuple[dict[str, npt.NDArray[Any]], int]]:
        """Like `batches`, for numbers only: complete rows, and the count of other rows."""
        for source in self.sources:
            first = 0
            for batch in source.batches(self.names):
                where = parse.rows_of(source.where, first)
                found = {
                    name: parse.numbers_where(
                        batch.column(at), name=name, plain=source.text, where=where
                    )[0]
                    for at, name in enumerate(self.names)
                }
                good = np.isfinite(np.stack(list(found.values()))).all(axis=0)
                yield {name: values[good] for name, values in found.items()}, int((~good).sum())
                first += batch.num_rows

    def read(self, progress: Progress | None = None) -> dict[str, npt.NDArray[Any]]:
        """The whole columns, as `numpy` arrays."""
        parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in self.names}
        total = self.rows
        for batch in self.batches():
            for name, found in batch.items():
                parts[name].append(found)
            if progress is not None:
                progress(len(found), total)
        return {name: np.concatenate(found) for name, found in parts.items()}


def _headed(source: Source) -> None:
    """Refuse a CSV file with a number among its names: it has no names on top.

    The first record would be taken for names, left out, and published as one.
    """
    if source.text and any(map(_number, source.names)):
        raise InvalidInput(
            f"the names of the columns in the first line of {source.where}",
            "a number",
            "Put names on top; one that is a number, such as a year, needs a letter.",
        )


def _number(name: str) -> bool:
    """Whether a name may be a value: digits without letters, or what Python reads as a number."""
    try:
        float(name)
    except ValueError:
        return any(map(str.isdigit, name)) and not any(map(str.isalpha, name))
    return True


def _only(source: Source) -> str:
    """The only column; the names of several are not said, since a first line may be values."""
    if len(source.names) != 1:
        raise InvalidInput(
            f"the name of one of the {len(source.names)} columns of {source.where}",
            "none",
            "Name it with --column, or column= in Python.",
        )
    return source.names[0]
