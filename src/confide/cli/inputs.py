"""From arguments to what they mean."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confide import _arrow, _validate
from confide._cells import rows_of
from confide._files import expand, named, readable
from confide.cli import documents, engines
from confide.cli.output import progress
from confide.cli.public import NOTHING, Public, carried
from confide.errors import InvalidInput, Mismatch
from confide.reports import Files, Reports
from confide.reports.rows import CHOICES, GOOD, KINDS, NO_GROUP, NOT_WHOLE, OUTSIDE, LeftOut
from confide.summaries import Counts, Groups
from confide.summaries.groups import label
from confide.surveys import Survey
from confide.tables import _counts as tables

Floats = npt.NDArray[np.float64]

LeftOuts = dict[str, dict[str, int]]
"""How many rows were left out of each question, by kind."""
RAW = "Reports are what privatize has written: put raw values through it first."
DROP = "To leave such rows out: --invalid drop."
BY_ADVICE = "Summarize with --by COLUMN."
LISTED = 20
"""Names in a message, at most."""


def split(files: Sequence[Path]) -> tuple[Survey | None, Path | None, list[Path]]:
    """The survey, its path, and the other files: what ends in .toml is the survey."""
    surveys = [path for path in files if path.suffix == ".toml"]
    others = [path for path in files if path.suffix != ".toml"]
    if len(surveys) > 1:
        raise InvalidInput("one survey", f"{len(surveys)} files that end in .toml")
    if not surveys:
        return None, None, others
    readable(surveys[0])
    return Survey.read(surveys[0]), surveys[0], others


def needed(survey: Survey | None) -> Survey:
    """The survey, where there is no doing without."""
    if survey is None:
        raise InvalidInput("a survey, a file that ends in .toml", "none")
    return survey


def open_reports(
    survey: Survey | None,
    paths: Sequence[Path],
    questions: Sequence[str] | None,
    public: Sequence[str] = (),
) -> Files:
    """Files of reports, all checked; of some questions or of all."""
    if survey is not None:
        for question in questions or ():
            _validate.one_of(tuple(survey.questions), question=question)
    with carried(public):
        return Files.open(
            paths,
            mechanisms=None if survey is None else survey.mechanisms,
            columns=questions,
            public=public,
        )


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
    except InvalidInput as error:
        if "invalid=" not in error.advice:
            raise
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
    except InvalidInput as error:
        whole = [f"whole numbers in column {name!r}" for name in files.mechanisms]
        if error.expected.startswith("reports from ") or error.expected in whole:
            advice = RAW if " the type " in f" {error.got}" else f"{RAW} {DROP}"
            raise InvalidInput(error.expected, error.got, advice) from None
        raise


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


def load_summaries(paths: Sequence[Path], group: str | None = None) -> dict[str, Counts]:
    """Summaries in files, merged: of a group, or of everybody."""
    found = documents.gather(expand(paths, documents.SUFFIXES))
    return {name: chosen(summary, group) for name, summary in found.items()}


def chosen(summary: documents.Summary, group: str | None) -> Counts:
    """The counts of a group, or of everybody where none is named."""
    if isinstance(summary, Groups):
        return summary.total() if group is None else group_of(summary, group)
    if group is not None:
        raise InvalidInput("a summary by group to go with a group", "one of everybody", BY_ADVICE)
    return summary


def group_of(groups: Groups[Counts], name: str) -> Counts:
    """The counts of a group by its name, slashes between the columns where there are several."""
    found = [key for key in groups if label(key) == name]
    # Slashes inside of a name need no backslash as long as one group can be meant only.
    found = found or [key for key in groups if label(key, plain=True) == name]
    if not found:
        advice = _validate.nearest(name, [label(key) for key in groups])
        raise InvalidInput(f"a group by {', '.join(groups.by)}", repr(name), advice)
    if len(found) > 1:
        several = list(dict.fromkeys(map(label, found)))
        advice = f"Write one of {', '.join(several)}." if several[1:] else "Take groups[key]."
        raise InvalidInput(
            f"the name of one group by {', '.join(groups.by)}",
            f"{name!r}, which {len(found)} groups have",
            advice,
        )
    return groups[found[0]]


def counts_of(
    survey: Survey | None,
    paths: Sequence[Path],
    question: str | None,
    group: str | None = None,
    invalid: str = "refuse",
) -> tuple[str, Counts, float | str | None, dict[str, int] | None]:
    """One question from reports or from summaries: its name, '' where nobody named it, its counts,
    what stands for a missing answer, and how many rows were left out, None where none may be.
    """
    dropping = one_choice(invalid)
    if are_summaries(paths):
        if dropping:
            raise no_reports("a summary")
        return *summary_of(survey, load_summaries(paths, group), question, paths[0]), None
    if group is not None:
        raise InvalidInput("a summary by group to go with --group", "reports", BY_ADVICE)
    files = open_reports(survey, paths, None if question is None else [question])
    name = only(tuple(files.mechanisms), None)
    counts, left = tally(files, invalid=invalid)
    tell(left)
    out = left.get(name, {}) if dropping else None
    return name, counts[name], missing_of(survey, files, name), out


def one_choice(invalid: str) -> bool:
    """Whether rows that cannot be used are dropped; else they are refused."""
    return _validate.one_of(CHOICES, invalid=invalid) == "drop"


def no_reports(got: str) -> InvalidInput:
    """The error that there are no rows to drop."""
    return InvalidInput("reports to go with --invalid drop", got)


def are_summaries(paths: Sequence[Path]) -> bool:
    """Whether the files are summaries; else they are reports."""
    kinds = {path.suffix in documents.SUFFIXES for path in paths}
    if len(kinds) > 1:
        raise InvalidInput("files of reports or files of summaries", "some of each")
    if not paths:
        raise InvalidInput(
            f"reports ({', '.join(_arrow.SUFFIXES)}) or summaries "
            f"({', '.join(documents.SUFFIXES)})",
            "none",
        )
    return kinds == {True}


def summary_of(
    survey: Survey | None, summaries: Mapping[str, Counts], question: str | None, path: Path
) -> tuple[str, Counts, float | str | None]:
    """One question of some summaries, as `counts_of`."""
    if set(summaries) == {documents.ALONE}:
        counts = summaries[documents.ALONE]
        name = question or ""
        if survey is not None:
            name = only(tuple(survey.questions), question)
    else:
        name = only(tuple(summaries), question)
        counts = summaries[name]
    if survey is not None and name not in survey.questions:
        _validate.one_of(tuple(survey.questions), question=name)
    if survey is not None and survey.mechanisms[name] != counts.mechanism:
        raise Mismatch(
            f"a summary of question {name!r} of this survey in {named(path)}",
            "one by another mechanism",
            "It belongs to another survey, or the survey was changed since.",
        )
    return name, counts, None if survey is None else survey.questions[name].missing


def missing_of(survey: Survey | None, files: Files, name: str) -> float | str | None:
    """What stands for a missing answer: the survey and every file must say the same."""
    surveys = [Survey.from_dict(fields) for fields in files.surveys]
    if survey is not None:
        surveys.append(survey)
    said = dict.fromkeys(one.questions[name].missing for one in surveys if name in one.questions)
    if len(said) > 1:
        words = " and ".join("refused" if value is None else f"{value}" for value in said)
        raise Mismatch(
            f"missing answers to {name!r} that all count as one value",
            words,
            "The reports belong to another survey, or the survey was changed since.",
        )
    return next(iter(said), None)


def only(names: Sequence[str], question: str | None, option: str = "--question") -> str:
    """The question that is meant: the one that an option names, or the only one there is."""
    if question is not None:
        return _validate.one_of(tuple(names), question=question)
    if not names:
        raise InvalidInput(f"a question or column for {option}", "none")
    if len(names) > 1:
        listed = ", ".join(map(repr, names[:LISTED])) + (", ..." if names[LISTED:] else "")
        raise InvalidInput(
            f"{option} to name one of {listed}",
            f"no {option}",
            f"For example: {option} {shlex.quote(names[0])}.",
        )
    return names[0]
