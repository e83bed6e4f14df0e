"""Reads one question from files of reports or of summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.files import formats
from confide.files.paths import listed, named
from confide.questions import Questionnaire
from confide.reports.rows import CHOICES
from confide.summaries import Counts, Summaries
from confide.summaries.files import read
from confide.summaries.forms import ALONE, SUFFIXES
from confide.tables.jobs import Job, Paths, Progress, tell


@dataclass(frozen=True)
class Asked:
    """The counts of one question, with what must be known beside an estimate from them.

    Parameters
    ----------
    question
        Its name, ``""`` where no file names it.
    summaries
        Its counts, by group where there are groups.
    missing
        What stands for a missing answer, or None.
    left_out
        How many rows were left out, by kind; None where none may be.
    capped
        A sentence that says which values count as a bound, where a bound is open.
    unit
        What the survey's values are measured in, ``""`` where it does not say.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice, reports
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.parquet"
    ...     reports.write(mechanism.privatize([0.2, 0.7]), path, name="pay")
    ...     found = asked(path)
    >>> isinstance(found, Asked), found.question
    (True, 'pay')
    """

    question: str
    summaries: Summaries
    missing: float | str | None = None
    left_out: Mapping[str, int] | None = None
    capped: str = ""
    unit: str = ""

    @property
    def counts(self) -> Counts:
        """The counts of all respondents."""
        return self.summaries.only()

    def group(self, name: str) -> Asked:
        """The question for one group of respondents.

        Parameters
        ----------
        name
            The group, as for `Groups.find`.
        """
        return replace(self, summaries=self.summaries.group(name))


def asked(
    paths: Paths,
    *,
    survey: Questionnaire | None = None,
    question: str | None = None,
    by: Sequence[str] = (),
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> Asked:
    """One question of files, which hold reports or summaries.

    Parameters
    ----------
    paths
        A file, a glob or a folder of reports, or several of them; or files of summaries.
    survey
        As for `summarize`; summaries must be of its questions too.
    question
        Which question, by default the only one.
    by
        Count the reports by these public columns. Of summaries by group, groups that differ in
        other columns only are added up.
    invalid, progress
        As for `summarize`; a summary has no rows to drop.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Laplace, Lattice, reports
    >>> mechanism = Laplace(Lattice(low=0, high=1, size=8), epsilon=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.parquet"
    ...     reports.write(mechanism.privatize([0.2, 0.7]), path, name="pay")
    ...     asked(path).counts.n
    2
    """
    given = listed(paths)
    _checks.one_of(CHOICES, invalid=invalid)
    if are_summaries(given):
        if invalid == "drop":
            raise no_reports("a summary")
        found = of_survey(read(given), survey, question, given[0])
        if by:
            groups = found.summaries.groups().coarser(by)
            return replace(found, summaries=Summaries({found.question: groups}))
        return found
    job = Job.open(given, survey=survey, question=question, by=list(by) or None, invalid=invalid)
    name = _checks.only(tuple(job.files.mechanisms), question=None)
    made, left = job.run(progress)
    tell(left, job.files.doubt)
    out = left.get(name, {}) if invalid == "drop" else None
    return Asked(name, made, job.missing(name), out, job.capped(name), job.unit(name))


def of_survey(
    summaries: Summaries, survey: Questionnaire | None, question: str | None, path: str | Path
) -> Asked:
    """One question of some summaries, checked against a survey; the path is for messages."""
    alone = set(summaries) == {ALONE}
    if not alone:
        name = _checks.only(tuple(summaries), question=question)
    elif survey is not None:
        name = _checks.only(tuple(survey.questions), question=question)
    else:
        name = question or ALONE
    own = summaries.questions[ALONE if alone else name]
    if survey is not None and name not in survey.questions:
        _checks.one_of(tuple(survey.questions), question=name)
    result = Summaries({name: own})
    if survey is not None and not survey.knows(name, result.mechanism(name)):
        raise Mismatch(
            f"a summary of question {name!r} of this survey in {named(path)}",
            "one by another mechanism",
            "It belongs to another survey, or the survey was changed since.",
        )
    if survey is None:
        return Asked(name, result)
    worded = survey.questions[name]
    return Asked(
        name, result, worded.missing, capped=worded.capped, unit=worded.wording.get("unit")
    )


def are_summaries(paths: Sequence[str | Path]) -> bool:
    """Whether the files are summaries, by their suffixes; else they are reports."""
    kinds = {Path(path).suffix in SUFFIXES for path in paths}
    if len(kinds) > 1:
        raise InvalidInput("files of reports or files of summaries", "some of each")
    if not paths:
        raise InvalidInput(
            f"reports ({', '.join(formats.written())}) or summaries ({', '.join(SUFFIXES)})", "none"
        )
    return kinds == {True}


def no_reports(got: str) -> InvalidInput:
    """The error that there are no rows to drop."""
    return InvalidInput("reports to go with --invalid drop", got)
