"""Raw columns of numbers, for those who hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from confide._types import Floats
from confide.cli.output import progress
from confide.errors import InvalidInput
from confide.files import arrow, formats, parse
from confide.files.paths import expand


def _opened(path: Path, columns: Sequence[str] | None) -> tuple[list[formats.Source], list[str]]:
    """The files, and names of columns that they all have; without names the only one there is."""
    sources = [formats.source(found) for found in expand([path], formats.readable())]
    for source in sources:
        headed(source)
    names = list(columns or [_only(sources[0])])
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("each column once", f"{name!r} twice")
    for source in sources:
        source.require(names)
    return sources, names


def headed(source: formats.Source) -> None:
    """Refuse a CSV file with a number among its names: nobody has written names on top.

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


def _only(source: formats.Source) -> str:
    """The only column; the names of several are not said, since a first line may be values."""
    if len(source.names) != 1:
        raise InvalidInput(
            f"--column to name one of the {len(source.names)} columns of {source.where}",
            "no --column",
        )
    return source.names[0]


def whole(path: Path, columns: Sequence[str] | None, *, stated: bool) -> list[str]:
    """Columns that hold whole numbers: all, if so stated, or those that all files declare to.

    CSV declares nothing.
    """
    sources, names = _opened(path, columns)
    if stated:
        return names
    if any(source.text for source in sources):
        return []
    test = arrow.arrow().types.is_integer
    return [name for name in names if all(test(source.kind(name)) for source in sources)]


def read(path: Path, columns: Sequence[str] | None) -> tuple[dict[str, Floats], list[Path]]:
    """Columns of one or more files, every cell a number; and the files.

    Without names it is the only column there is.
    """
    sources, names = _opened(path, columns)
    parts: dict[str, list[Floats]] = {name: [] for name in names}
    known = [source.rows for source in sources]
    total = None if None in known else sum(rows or 0 for rows in known)
    with progress("Reading", total) as advance:
        for source in sources:
            first = 0
            for batch in source.batches(names):
                where = parse.rows_of(source.where, first)
                for at, name in enumerate(names):
                    found = parse.present(
                        batch.column(at), name=name, plain=source.text, where=where
                    )
                    parts[name].append(found)
                first += batch.num_rows
                advance(batch.num_rows)
            if not first:
                raise InvalidInput(f"rows in {source.where}", "none")
    whole = {name: np.concatenate(found) for name, found in parts.items()}
    return whole, [source.path for source in sources]
