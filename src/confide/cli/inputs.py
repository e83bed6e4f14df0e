"""Read the surveys and files that command arguments name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from confide.cli.output import counter
from confide.errors import InvalidInput
from confide.files.paths import named, readable
from confide.summaries import Summaries, raking
from confide.summaries.plausibility import checked
from confide.survey import Survey
from confide.tables.asked import Asked, are_summaries, asked


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


def where_of(files: Sequence[Path]) -> str:
    """The files of a command, for a message."""
    return named(files[0]) if len(files) == 1 else f"{len(files):,} files, from {named(files[0])}"


def needed(survey: Survey | None) -> Survey:
    """The survey, for a command that cannot do without."""
    if survey is None:
        raise InvalidInput("a survey, a file that ends in .toml", "none")
    return survey


def question_of(
    files: Sequence[Path],
    question: str | None,
    *,
    group: str | None = None,
    by: Sequence[str] = (),
    invalid: str = "refuse",
    rake: Path | None = None,
) -> Asked:
    """One question of the files of a command: of all respondents, of one group, or of each.

    With both a group and columns, the group is named by these columns alone.
    """
    survey, _, rest = split(files)
    margins = None if rake is None else raking.read(rake)
    if margins is not None and group is not None:
        raise InvalidInput("either --group or --rake", "both", "Margins are of all groups.")
    if group is not None and not by and not are_summaries(rest):
        raise InvalidInput(
            "a summary by group to go with --group",
            "reports",
            "Name the column of the group, too: --by COLUMN.",
        )
    columns = list(dict.fromkeys([*by, *(margins or ())]))
    with counter("Counting reports") as tell:
        found = asked(
            rest, survey=survey, question=question, by=columns, invalid=invalid, progress=tell
        )
    checked(found.counts, question=found.question, where=where_of(rest))
    if margins is not None:
        groups = found.summaries.groups().rake(margins)
        found = replace(found, summaries=Summaries({found.question: groups.coarser(by or columns)}))
    return found if group is None else found.group(group)
