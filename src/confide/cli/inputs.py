"""From arguments to what they mean."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from confide import _checks
from confide.cli import documents
from confide.cli.counting import tally, tell
from confide.cli.public import carried
from confide.errors import InvalidInput, Mismatch
from confide.files import arrow
from confide.files.paths import expand, named, readable
from confide.reports import Files
from confide.reports.rows import CHOICES
from confide.summaries import Counts, Groups
from confide.summaries.groups import label
from confide.survey import Survey

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
            _checks.one_of(tuple(survey.questions), question=question)
    with carried(public):
        return Files.open(
            paths,
            mechanisms=None if survey is None else survey.mechanisms,
            columns=questions,
            public=public,
        )


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
        advice = _checks.nearest(name, [label(key) for key in groups])
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
    return _checks.one_of(CHOICES, invalid=invalid) == "drop"


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
            f"reports ({', '.join(arrow.SUFFIXES)}) or summaries ({', '.join(documents.SUFFIXES)})",
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
        _checks.one_of(tuple(survey.questions), question=name)
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
        return _checks.one_of(tuple(names), question=question)
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
