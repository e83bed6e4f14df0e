"""From arguments to what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from confide import _arrow, _validate
from confide._files import expand, named, readable
from confide.cli import documents
from confide.cli.output import progress
from confide.errors import InvalidInput, Mismatch
from confide.reports import Files
from confide.summaries import Counts
from confide.surveys import Survey


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


def open_reports(survey: Survey | None, paths: Sequence[Path], question: str | None) -> Files:
    """Files of reports, all checked."""
    if survey is not None and question is not None:
        _validate.one_of(tuple(survey.questions), question=question)
    return Files.open(
        paths,
        mechanisms=None if survey is None else survey.mechanisms,
        columns=None if question is None else [question],
    )


def tally(files: Files) -> dict[str, Counts]:
    """Counts of each question, in bounded memory."""
    counts: dict[str, Counts] = {}
    with progress("Counting reports", files.rows) as advance:
        for batch in files.batches():
            for name, reports in batch.items():
                if len(reports):
                    own = Counts.of(reports)
                    counts[name] = counts[name] + own if name in counts else own
            advance(max(map(len, batch.values())))
    return counts


def load_summaries(paths: Sequence[Path]) -> dict[str, Counts]:
    """Summaries in files, merged."""
    found = expand(paths, documents.SUFFIXES)
    return reduce(documents.merge, (documents.load(path) for path in found))


def counts_of(
    survey: Survey | None, paths: Sequence[Path], question: str | None
) -> tuple[str, Counts]:
    """The counts of one question, from reports or from summaries, and its name if known."""
    kinds = {path.suffix in documents.SUFFIXES for path in paths}
    if len(kinds) > 1:
        raise InvalidInput("files of reports or files of summaries", "some of each")
    if kinds != {True}:
        if not paths:
            raise InvalidInput(
                f"reports ({', '.join(_arrow.SUFFIXES)}) or summaries "
                f"({', '.join(documents.SUFFIXES)})",
                "none",
            )
        files = open_reports(survey, paths, question)
        name = only(tuple(files.mechanisms), None)
        return name, tally(files)[name]
    summaries = load_summaries(paths)
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
            f"a summary of question {name!r} of this survey in {named(paths[0])}",
            "one by another mechanism",
            "It belongs to another survey, or the survey was changed since.",
        )
    return name, counts


def only(names: Sequence[str], question: str | None, option: str = "--question") -> str:
    """The question that is meant: the one that an option names, or the only one there is."""
    if question is not None:
        return _validate.one_of(tuple(names), question=question)
    if len(names) != 1:
        raise InvalidInput(f"{option} to name one", "several", f"Known: {', '.join(names)}.")
    return names[0]
