"""Separates files of both phases of a survey by their metadata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from confide.files import formats
from confide.files.paths import expand
from confide.questions import Questionnaire
from confide.reports.stamps import Stamp

Phase = tuple[Questionnaire, list[Path]]
"""The survey of a phase, and the files of its reports."""


def split(paths: Sequence[str | Path], survey: Questionnaire | None) -> tuple[Phase, Phase] | None:
    """The files of the first phase and of the second; None where they are not just that.

    Parameters
    ----------
    paths
        Files, globs and folders of reports.
    survey
        The survey that they answer, in either phase, where it is given.
    """
    found: dict[int, list[Path]] = {1: [], 2: []}
    surveys: dict[str, Questionnaire] = {}
    for path in expand(paths, formats.readable()):
        source = formats.source(path)
        stamp = Stamp.of_answers(source.metadata, source.where)
        if stamp is None or stamp.survey is None:
            return None
        own = Questionnaire.from_dict(stamp.survey)
        if own.phases is None:
            return None
        surveys[own.worded] = own
        found[own.phases.now].append(path)
    if not (found[1] and found[2]) or len(surveys) != 2:
        return None
    first, second = sorted(surveys.values(), key=lambda one: one.phases.now)  # type: ignore[union-attr]
    pilots = {second.pilot.worded, *([] if survey is None else [_pilot(survey)])}
    return ((first, found[1]), (second, found[2])) if pilots == {first.worded} else None


def _pilot(survey: Questionnaire) -> str:
    return survey.worded if survey.phases is None else survey.pilot.worded
