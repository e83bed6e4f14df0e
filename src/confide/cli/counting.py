"""From files of reports to counts: every row used, or the bad ones named or dropped."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from confide._types import Floats
from confide.cli import engines
from confide.cli.output import progress
from confide.cli.public import NOTHING, Public, carried
from confide.errors import BadRows, BadType, InvalidInput
from confide.files.parse import rows_of
from confide.mechanisms.protocol import Reports
from confide.reports import Files
from confide.reports.rows import GOOD, KINDS, NO_GROUP, NOT_WHOLE, OUTSIDE, LeftOut
from confide.summaries import Counts, Groups
from confide.tables import counting as tables

LeftOuts = dict[str, dict[str, int]]
"""How many rows were left out of each question, by kind."""
RAW = "Reports are what privatize has written: put raw values through it first."
DROP = "To leave such rows out: --invalid drop."


def tally(
    files: Files, public: Public = NOTHING, invalid: str = "refuse"
) -> tuple[dict[str, Counts], LeftOuts]:
    """Counts of each question, in bounded memory, and the rows that were left out."""
    if engines.countable(files):
        try:
            return _queried(files, public, invalid=invalid)
        except InvalidInput:
            # The stream finds the first bad row, and names it.
            pass
    if invalid == "drop":
        return _kept(files, public)
    return _streamed(files, public), {}


def tally_groups(
    files: Files, public: Public, by: Sequence[str], invalid: str = "refuse"
) -> tuple[dict[str, Groups[Counts]], LeftOuts]:
    """The same group by group."""
    try:
        with carried(by):
            return _queried(files, public, invalid=invalid, by=list(by))
    except BadRows as error:
        row, kind = _first_bad(files, public, by)
        advice = RAW if kind in (NOT_WHOLE, OUTSIDE) else "Mend it."
        got = f"{error.got}: the first is {row}" if kind else error.got
        raise InvalidInput(error.expected, got, f"{advice} {DROP}") from None


def batches(files: Files) -> Iterator[tuple[dict[str, Reports], dict[str, Floats]]]:
    """Reports and public numbers, a batch at a time.

    What is no report may be a raw value: nobody is shown it, and everybody is told what to do.
    """
    try:
        yield from files.batches()
    except (BadRows, BadType) as error:
        if error.column not in files.mechanisms:
            raise
        advice = RAW if isinstance(error, BadType) else f"{RAW} {DROP}"
        raise InvalidInput(error.expected, error.got, advice) from None


def sound(
    files: Files, public: Public, questions: Sequence[str], left: Counter[int]
) -> Iterator[tuple[dict[str, Reports], dict[str, Floats]]]:
    """The same without the rows that cannot be used for some questions together.

    ``left`` counts them, by kind.
    """
    for marked in files.marked(
        weights=public.weights, response=public.response, bounds=public.bounds
    ):
        kinds = marked.kinds(questions)
        good = kinds == GOOD
        left.update(kinds[~good].tolist())
        reports = {
            name: Reports(
                marked.reports[name][0][good], files.mechanisms[name], simulated=files.simulated
            )
            for name in questions
        }
        columns = {"weights": public.weights, "response": public.response}
        numbers = {str(columns[role]): values[good] for role, (values, _) in marked.numbers.items()}
        yield reports, numbers


def tell(left: LeftOuts) -> None:
    """Warn of rows that were left out, question by question."""
    for name, rows in left.items():
        warnings.warn(LeftOut(rows, name), stacklevel=2)


def counted_left(left: Mapping[int, int]) -> dict[str, int]:
    """How many rows were left out, by kind in words."""
    return {KINDS[kind]: left[kind] for kind in sorted(left)}


def _queried(
    files: Files, public: Public, *, invalid: str, by: Sequence[str] | None = None
) -> tuple[dict[str, Any], LeftOuts]:
    """Counts of each question by a query for each, or for each part of many files."""
    counts: dict[str, Any] = {}
    left: LeftOuts = {}
    many = len(files.mechanisms)
    with progress("Counting reports", files.rows and files.rows * many) as advance:
        for paths, rows in engines.parts(files):
            for name, mechanism in files.mechanisms.items():
                own, out = tables.counted(
                    paths,
                    mechanism,
                    column=name,
                    weights=public.weights,
                    response=public.response,
                    bounds=public.bounds,
                    simulated=files.simulated,
                    by=by,
                    invalid=invalid,
                )
                counts[name] = counts[name] + own if name in counts else own
                for kind, n in out.items():
                    found = left.setdefault(name, {})
                    found[kind] = found.get(kind, 0) + n
                advance(rows)
    return counts, left


def _streamed(files: Files, public: Public) -> dict[str, Counts]:
    counts: dict[str, Counts] = {}
    with progress("Counting reports", files.rows) as advance:
        for batch, numbers in batches(files):
            for name, reports in batch.items():
                if len(reports):
                    own = _counted(files, public, reports, numbers)
                    counts[name] = counts[name] + own if name in counts else own
            advance(max(map(len, batch.values())))
    return counts


def _counted(
    files: Files, public: Public, reports: Reports, numbers: Mapping[str, Floats]
) -> Counts:
    try:
        return public.count(reports, numbers)
    except InvalidInput as error:
        row, kind = _first_bad(files, public)
        if not kind:
            raise
        advice = f"{error.advice} {DROP}".strip()
        raise InvalidInput(error.expected, f"{row} {KINDS[kind]}", advice) from None


def _kept(files: Files, public: Public) -> tuple[dict[str, Counts], LeftOuts]:
    """The same without the rows that cannot be used, question by question."""
    counts: dict[str, Counts] = {}
    left: LeftOuts = {}
    total = files.rows and files.rows * len(files.mechanisms)
    with progress("Counting reports", total) as advance:
        for name in files.mechanisms:
            own = replace(files, mechanisms={name: files.mechanisms[name]})
            out: Counter[int] = Counter()
            for batch, numbers in sound(own, public, [name], out):
                if len(batch[name]):
                    part = public.count(batch[name], numbers)
                    counts[name] = counts[name] + part if name in counts else part
                advance(len(batch[name]))
            if name not in counts:
                raise InvalidInput(
                    f"at least one report in column {name!r}", "none among the rows", RAW
                )
            if out:
                left[name] = counted_left(out)
    return counts, left


def _first_bad(files: Files, public: Public, by: Sequence[str] = ()) -> tuple[str, int]:
    """The first row that cannot be used and its kind; GOOD where all can be."""
    own = replace(files, public=tuple(public.columns))
    for marked in own.marked(
        weights=public.weights, response=public.response, bounds=public.bounds
    ):
        kinds = marked.kinds(list(own.mechanisms))
        if kinds.any():
            at = int((kinds != GOOD).argmax())
            return marked.where(at), int(kinds[at])
    for source in files.sources if by else ():
        first = 0
        for batch in source.batches(by):
            missing = np.any([column.is_null() for column in batch.columns], axis=0)
            if missing.any():
                return rows_of(source.where, first)(int(missing.argmax())), NO_GROUP
            first += batch.num_rows
    return "", GOOD
