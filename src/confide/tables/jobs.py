"""Counts files of reports; invalid rows are refused by name, or dropped and counted."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from confide import _checks
from confide._types import Floats
from confide.errors import BadRows, BadType, InvalidInput, Mismatch
from confide.files import arrow
from confide.files.paths import listed
from confide.mechanisms.protocol import Reports
from confide.questions import Question, Questionnaire
from confide.reports.files import Files
from confide.reports.rows import (
    CHOICES,
    GOOD,
    KINDS,
    NO_GROUP,
    NOT_WHOLE,
    OUTSIDE,
    Kinds,
    LeftOut,
    Marked,
    told,
)
from confide.reports.stamps import Unstamped
from confide.summaries import Counts, Groups, Summaries
from confide.summaries.files import Summary
from confide.summaries.groups import Key
from confide.summaries.together import combine
from confide.tables import by_phase, counting, sources
from confide.tables.faults import MAX_CELLS, Grouping
from confide.tables.public import NOTHING, Public, carried

Advance = Callable[[int], None]
Progress = Callable[[int, int | None], None]
"""Called with the number of reports that were counted since the last call, and with how many there
are in all: None where the files do not know it.
"""
Paths = str | Path | Sequence[str | Path]
LeftOuts = dict[str, dict[str, int]]
"""How many rows were left out of each question, by kind."""
RAW = "Reports are what privatize has written: put raw values through it first."
DROP = "To leave such rows out: --invalid drop."


def summarize(
    paths: Paths,
    *,
    survey: Questionnaire | None = None,
    question: str | None = None,
    by: str | Sequence[str] | None = None,
    weights: str | None = None,
    response: str | None = None,
    bounds: tuple[float, float] | None = None,
    invalid: str = "refuse",
    unstamped: bool = False,
    progress: Progress | None = None,
) -> Summaries:
    """Count the reports in files, all questions and all groups in one run.

    Files of very many rows are counted by DuckDB where it is installed, others by a stream; both
    hold only a part of the rows in memory and give the same counts.

    Parameters
    ----------
    paths
        A file, a glob or a folder of reports (.parquet, .csv, .csv.gz), or several of them.
    survey
        The survey that the reports answer: needed for files that do not carry their mechanism,
        such as CSV, and checked against those that do.
    question
        Count one question only.
    by
        Public columns of words, whole numbers or dates: one summary for each of their values. A
        folder such as ``day=2026-01-05`` makes a column ``day`` of text.
    weights
        A public column of survey weights.
    response
        A public column of numbers to regress on the answers.
    bounds
        Public bounds of the response; by default those observed, which merging widens.
    invalid
        What to do about rows that cannot be used, such as a report out of range: ``"refuse"`` the
        files, or ``"drop"`` them and warn with `LeftOut`, which says how many of each kind.
    unstamped
        Whether files that do not say what made them are known to hold reports, because another
        program wrote them again. Otherwise they are refused among files that say so, for they may
        hold raw values, and Parquet is taken with a warning where no file says so.
    progress
        Called with the number of reports that were counted since the last call, and with how many
        there are in all: None where the files do not know it.

    Returns
    -------
    Summaries
        The counts of each question, by group where ``by`` asks for it.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice, reports
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.parquet"
    ...     reports.write(mechanism.privatize([0.2, 0.7]), path, name="pay")
    ...     summarize(path)["pay"].n
    2
    """
    job = Job.open(
        paths,
        survey=survey,
        question=question,
        by=by,
        public=Public(weights, response, bounds),
        invalid=invalid,
        unstamped=unstamped,
    )
    made, left = job.run(progress)
    tell(left, job.files.doubt)
    return made


@dataclass(frozen=True)
class Job:
    """Files of reports that are to be counted, all of them checked but for their rows.

    Parameters
    ----------
    files
        The files.
    public
        Public columns that go along.
    by
        Public columns that make groups; none to count all respondents together.
    invalid
        Whether to ``"refuse"`` rows that cannot be used or to ``"drop"`` them.
    survey
        The survey that the reports answer, where it is known.
    second
        The files of the second phase, where the others are of the first.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice, reports
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.parquet"
    ...     reports.write(mechanism.privatize([0.2, 0.7]), path, name="pay")
    ...     counts, left_out = Job.open(path).run()
    >>> counts["pay"].n
    2
    """

    files: Files
    public: Public = NOTHING
    by: tuple[str, ...] = ()
    invalid: str = "refuse"
    survey: Questionnaire | None = None
    second: Job | None = None

    @classmethod
    def open(
        cls,
        paths: Paths,
        *,
        survey: Questionnaire | None = None,
        question: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        public: Public = NOTHING,
        invalid: str = "refuse",
        unstamped: bool = False,
    ) -> Job:
        """Check files, globs and folders; the arguments are those of `summarize`."""
        given = listed(paths)
        asked: dict[str, Any] = {
            "question": question,
            "by": by,
            "public": public,
            "invalid": invalid,
            "unstamped": unstamped,
        }
        try:
            return cls._opened(given, survey, **asked)
        except Mismatch:
            if (phases := by_phase.split(given, survey)) is None:
                raise
        first, second = (cls._opened(files, own, **asked) for own, files in phases)
        return replace(first, second=second)

    @classmethod
    def _opened(
        cls,
        given: Sequence[str | Path],
        survey: Questionnaire | None,
        *,
        question: str | Sequence[str] | None,
        by: str | Sequence[str] | None,
        public: Public,
        invalid: str,
        unstamped: bool,
    ) -> Job:
        _checks.one_of(CHOICES, invalid=invalid)
        asked = [question] if isinstance(question, str) else question
        if survey is not None:
            for name in asked or ():
                _checks.one_of(tuple(survey.mechanisms), question=name)
        groups = Grouping.of(by).by
        columns = list(dict.fromkeys([*public.columns, *groups]))
        with carried(columns):
            files = Files.open(
                given,
                mechanisms=None if survey is None else survey.mechanisms,
                columns=asked,
                public=columns,
                asking=None if survey is None else survey.asking,
                unstamped=unstamped,
            )
        for source in files.sources:
            source.apart(columns)
        return cls(files, public, groups, invalid, survey)

    @property
    def total(self) -> int | None:
        """Number of reports to count, if the files know it without being read."""
        rows = self.files.rows
        more = 0 if self.second is None else self.second.total
        return None if rows is None or more is None else rows * len(self.files.mechanisms) + more

    def _worded(self, question: str) -> list[Question]:
        """The question as every file and the survey, where there is one, have it."""
        surveys = [Questionnaire.from_dict(fields) for fields in self.files.surveys]
        if self.survey is not None:
            surveys.append(self.survey)
        return [one.questions[question] for one in surveys if question in one.questions]

    def capped(self, question: str) -> str:
        """Which values count as a bound, in a sentence; empty where no bound is open."""
        return next((each.capped for each in reversed(self._worded(question))), "")

    def unit(self, question: str) -> str:
        """The unit that the survey names for a question; empty where none does."""
        return next((each.wording.get("unit") for each in reversed(self._worded(question))), "")

    def missing(self, question: str) -> float | str | None:
        """What stands for a missing answer: the survey and every file must say the same."""
        said = dict.fromkeys(each.missing for each in self._worded(question))
        if len(said) > 1:
            words = " and ".join("refused" if value is None else f"{value}" for value in said)
            raise Mismatch(
                f"missing answers to {question!r} that all count as one value",
                words,
                "The reports belong to another survey, or the survey was changed since.",
            )
        return next(iter(said), None)

    def advance(self, progress: Progress | None) -> Advance:
        """Tell how many reports go by, out of the whole."""
        if progress is None:
            return lambda rows: None
        total = self.total
        return lambda rows: progress(rows, total)

    def run(self, progress: Progress | None = None) -> tuple[Summaries, LeftOuts]:
        """The counts of each question, of both phases if any, and how many rows were left out."""
        advance = self.advance(progress)
        made, left = self._run(advance)
        if self.second is None:
            return made, left
        assert self.second.survey is not None
        more, out = self.second._run(advance)
        for name, kinds in out.items():
            own = left.setdefault(name, {})
            own.update({kind: own.get(kind, 0) + n for kind, n in kinds.items()})
        return combine(self.second.survey, made, more), left

    def _run(self, advance: Advance) -> tuple[Summaries, LeftOuts]:
        made: Mapping[str, Summary] | None = None
        left: LeftOuts = {}
        if sources.countable(self.files, self.by):
            # What a query refuses is left to the stream, which names the first bad row.
            with contextlib.suppress(InvalidInput):
                made, left = _queried(self, advance)
        if made is None and (self.by or self.invalid == "drop" or self.files.asking):
            made, left = _marked(self, advance)
        elif made is None:
            made = _streamed(self, advance)
        return Summaries(made), left


def batches(files: Files) -> Iterator[tuple[dict[str, Reports], dict[str, Floats]]]:
    """Reports and public numbers, a batch at a time.

    A cell that is no report may be a raw value: the message does not quote it, and says what to do.
    """
    try:
        yield from files.batches()
    except (BadRows, BadType) as error:
        if error.column not in files.mechanisms:
            raise
        advice = RAW if isinstance(error, BadType) else f"{RAW} {DROP}"
        raise InvalidInput(error.expected, error.got, advice) from None


def sound(
    job: Job, questions: Sequence[str], left: Counter[int]
) -> Iterator[tuple[dict[str, Reports], dict[str, Floats]]]:
    """Like `batches`, without the rows that cannot be used for some questions together.

    ``left`` counts them, by kind. Where such rows are to be refused the first batch that has one
    is, by name; people who were not asked all of the questions are passed over.
    """
    files, public = job.files, job.public
    for marked in files.marked(
        weights=public.weights, response=public.response, bounds=public.bounds
    ):
        kinds = marked.kinds(questions)
        bad, good = kinds > GOOD, kinds == GOOD
        left.update(kinds[bad].tolist())
        if job.invalid == "refuse" and bad.any():
            at = int(bad.argmax())
            out = counted_left(left)
            raise _refused(files, questions, out, marked.where(at), int(kinds[at]))
        yield (
            {name: _reports(files, marked, name, good) for name in questions},
            _numbers(public, marked, good),
        )


def _reports(files: Files, marked: Marked, name: str, rows: Any) -> Reports:
    return Reports(marked.reports[name][0][rows], files.mechanisms[name], simulated=files.simulated)


def _numbers(public: Public, marked: Marked, rows: Any) -> dict[str, Floats]:
    columns = {"weights": public.weights, "response": public.response}
    return {str(columns[role]): values[rows] for role, (values, _) in marked.numbers.items()}


def tell(left: LeftOuts, doubt: Unstamped | None = None) -> None:
    """Warn of files that do not say what made them, and of rows that were left out."""
    if doubt is not None:
        warnings.warn(doubt, stacklevel=3)
    for name, rows in left.items():
        warnings.warn(LeftOut(rows, name), stacklevel=3)


def counted_left(left: Mapping[int, int]) -> dict[str, int]:
    """Counts of dropped rows, by kind in words."""
    return {KINDS[kind]: left[kind] for kind in sorted(left)}


def _queried(job: Job, advance: Advance) -> tuple[dict[str, Summary], LeftOuts]:
    """Counts of each question by a query for each, or for each part of many files."""
    files, public = job.files, job.public
    counts: dict[str, Any] = {}
    left: LeftOuts = {}
    for paths, rows in sources.parts(files):
        for name, mechanism in files.mechanisms.items():
            own, out = counting.counted(
                paths,
                mechanism,
                column=name,
                weights=public.weights,
                response=public.response,
                bounds=public.bounds,
                simulated=files.simulated,
                by=job.by or None,
                invalid=job.invalid,
                asking=files.asking,
                verified=True,
            )
            counts[name] = counts.get(name, 0) + own
            for kind, n in out.items():
                found = left.setdefault(name, {})
                found[kind] = found.get(kind, 0) + n
            advance(rows)
    if files.asking is not None and job.by:
        every = {name: dict(groups) for name, groups in counts.items()}
        _fill(job, every)
        counts = {name: _by(job, groups) for name, groups in every.items()}
    return counts, left


def _streamed(job: Job, advance: Advance) -> dict[str, Counts]:
    """Counts of each question; the first row that cannot be used is refused."""
    counts: dict[str, Any] = {}
    for batch, numbers in batches(job.files):
        for name, reports in batch.items():
            if len(reports):
                counts[name] = counts.get(name, 0) + _counted(job, reports, numbers)
            advance(len(reports))
    return counts


def _counted(job: Job, reports: Reports, numbers: Mapping[str, Floats]) -> Counts:
    try:
        return job.public.count(reports, numbers)
    except InvalidInput as error:
        row, kind = _first_bad(job)
        if not kind:
            raise
        advice = f"{error.advice} {DROP}".strip()
        raise InvalidInput(error.expected, f"{row} {KINDS[kind]}", advice) from None


def _first_bad(job: Job) -> tuple[str, int]:
    """The first row that cannot be used and its kind; GOOD where all can be."""
    public = job.public
    for marked in job.files.marked(
        weights=public.weights, response=public.response, bounds=public.bounds
    ):
        kinds = marked.kinds(list(job.files.mechanisms))
        if kinds.any():
            at = int((kinds != GOOD).argmax())
            return marked.where(at), int(kinds[at])
    return "", GOOD


def _marked(job: Job, advance: Advance) -> tuple[dict[str, Summary], LeftOuts]:
    """Counts of each question and group, in one pass, of the rows that can be used.

    Where other rows are to be refused, the message says how many there are and names the first.
    """
    files, public = job.files, job.public
    counts: dict[str, dict[Key, Any]] = {name: {} for name in files.mechanisms}
    left: dict[str, Counter[int]] = {name: Counter() for name in files.mechanisms}
    worst: dict[str, tuple[str, int]] = {}
    for marked in files.marked(
        weights=public.weights, response=public.response, bounds=public.bounds, by=job.by
    ):
        keys, codes = _grouped(job, marked)
        groupless: Kinds = np.where(codes < 0, NO_GROUP, GOOD).astype(np.int8)
        for name, found in counts.items():
            kinds = marked.kinds([name], groupless=groupless)
            bad = kinds > GOOD
            left[name].update(kinds[bad].tolist())
            if name not in worst and bad.any():
                at = int(bad.argmax())
                worst[name] = marked.where(at), int(kinds[at])
            for key, rows in zip(keys, _split(codes, kinds != GOOD, len(keys)), strict=True):
                if rows.size:
                    reports = _reports(files, marked, name, rows)
                    own = public.count(reports, _numbers(public, marked, rows))
                    found[key] = found.get(key, 0) + own
            size = math.prod(files.mechanisms[name].law.outputs)
            if len(found) * size > MAX_CELLS:
                raise _too_many(size)
            advance(bad.size)
    for name, out in left.items():
        if out and job.invalid == "refuse":
            raise _refused(files, [name], counted_left(out), *worst[name])
        if not counts[name] and files.asking is None:
            raise _none(name)
    if files.asking is not None:
        _fill(job, counts)
    lefts = {name: counted_left(out) for name, out in left.items() if out}
    if not job.by:
        return {name: found[()] for name, found in counts.items()}, lefts
    return {name: _by(job, found) for name, found in counts.items()}, lefts


def _by(job: Job, found: Mapping[Key, Any]) -> Groups[Counts]:
    return Groups(job.by, {key: found[key] for key in sorted(found)})


def _fill(job: Job, counts: dict[str, dict[Key, Any]]) -> None:
    """Add empty counts where some of the people were asked a question, but nobody another one."""
    keys = {key for found in counts.values() for key in found}
    if not keys:
        raise _none(next(iter(counts)))
    for name, found in counts.items():
        nobody = job.public.nobody(job.files.mechanisms[name], simulated=job.files.simulated)
        if nobody is None and not found:
            raise _none(name)
        if nobody is not None:
            found.update(dict.fromkeys(keys - found.keys(), nobody))
        size = math.prod(job.files.mechanisms[name].law.outputs)
        if len(found) * size > MAX_CELLS:
            raise _too_many(size)


def _none(name: str) -> InvalidInput:
    return InvalidInput(f"at least one report in column {name!r}", "none among the rows", RAW)


def _refused(
    files: Files, questions: Sequence[str], rows: Mapping[str, int], row: str, kind: int
) -> InvalidInput:
    many = len(files.sources)
    where = files.sources[0].where if many == 1 else f"{many:,} files"
    advice = RAW if kind in (NOT_WHOLE, OUTSIDE) else "Mend it."
    return InvalidInput(
        f"valid rows of {', '.join(map(repr, questions))} in {where}",
        f"{told(rows)}: the first is {row}",
        f"{advice} {DROP}",
    )


def _too_many(size: int) -> InvalidInput:
    return InvalidInput(
        f"at most {MAX_CELLS // size:,} groups of {size:,} numbers each",
        "more",
        "Take columns with fewer values in by=.",
    )


def _grouped(job: Job, marked: Marked) -> tuple[list[Key], Any]:
    """The groups in a batch, and the number of the one in each row, negative where there is none.

    Where there are no groups, all rows are in one.
    """
    rows = len(next(iter(marked.reports.values()))[0])
    codes, seen = np.zeros(rows, dtype=np.int64), np.zeros(min(rows, 1), dtype=np.int64)
    gone = np.zeros(rows, dtype=bool)
    columns = []
    for name, column in zip(job.by, marked.groups, strict=True):
        encoded = _words(column, name)
        columns.append(encoded)
        many = len(encoded.dictionary)
        own = encoded.indices.cast("int64").fill_null(many).to_numpy(zero_copy_only=False)
        gone |= own == many
        codes = codes * (many + 1) + own
        # Numbered anew, so that many columns do not overflow.
        _, seen, codes = np.unique(codes, return_index=True, return_inverse=True)
    parts = [encoded.take(seen).to_pylist() for encoded in columns]
    keys: list[Key] = [key if len(key) > 1 else key[0] for key in zip(*parts, strict=True)]
    codes[gone] = -1
    return (keys if job.by else [()]), codes


def _words(column: Any, name: str) -> Any:
    """A column of groups as a dictionary of words, whole numbers or truth values; dates as text."""
    types = arrow.arrow().types
    cells = column.cast(arrow.plain(column.type))
    kind = cells.type
    if types.is_date(kind):
        cells = cells.cast(arrow.arrow().string())
    elif not any(
        test(kind)
        for test in (
            types.is_string,
            types.is_large_string,
            types.is_integer,
            types.is_boolean,
            types.is_null,
        )
    ):
        raise InvalidInput(f"words, whole numbers or dates in column {name!r}", f"the type {kind}")
    return cells.dictionary_encode()


def _split(codes: Any, bad: Any, many: int) -> list[Any]:
    """The rows of each group that can be used, in their order."""
    rows = np.flatnonzero(~bad)
    own = codes[rows]
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(1, many))
    return list(np.split(rows[order], ends))
