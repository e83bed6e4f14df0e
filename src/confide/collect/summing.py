"""Turns the tallies of a store into summaries, for both phases of a survey."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from confide.collect.invitations import cell, phase_of, uncell
from confide.collect.stores.store import Tallies
from confide.mechanisms import Mechanism
from confide.questions import Questionnaire
from confide.summaries import Counts, Groups, Summaries
from confide.summaries.groups import Key
from confide.summaries.together import combine


def summarized(
    survey: Questionnaire,
    tallies: Tallies,
    cells: Iterable[str] = (),
    *,
    second: Questionnaire | None = None,
) -> Summaries:
    """Counts of the reports that a store has tallied, by the survey's public groups.

    Parameters
    ----------
    survey
        The survey, of the first phase where it has phases.
    tallies
        As `Store.tallies` gives them.
    cells
        Further cells of the groups, of which no report may have come yet.
    second
        The survey of the second phase, once it has begun: then the counts are those of both phases
        together.

    Examples
    --------
    >>> survey = Questionnaire.from_dict(
    ...     {"questions": {"smokes": {"categories": ["no", "yes"], "epsilon": 1.0}}})
    >>> summarized(survey, {"": {"smokes": {0: 5, 1: 2}}})["smokes"].counts
    array([5, 2])
    """
    if survey.phases is None:
        return _summarized(survey, tallies, {*tallies, *cells})
    # Both phases have the same groups, even where one has no answers.
    every = {cell(uncell(each)) for each in (*tallies, *cells)}
    first = _summarized(survey, _of(tallies, 1), every)
    return (
        first
        if second is None
        else combine(second, first, _summarized(second, _of(tallies, 2), every))
    )


def _of(tallies: Tallies, phase: int) -> Tallies:
    """The tallies of a phase, by the groups alone."""
    return {cell(uncell(each)): own for each, own in tallies.items() if phase_of(each) == phase}


def _summarized(survey: Questionnaire, tallies: Tallies, cells: Collection[str]) -> Summaries:
    """Counts of reports by one lattice for each question."""
    every = sorted(cells)
    keys = {cell: uncell(cell) for cell in every}
    grouped = bool(every) and all(len(key) == len(survey.groups) > 0 for key in keys.values())
    questions: dict[str, Counts | Groups[Counts]] = {}
    for name, mechanism in survey.mechanisms.items():
        found = {cell: _counts(mechanism, tallies.get(cell, {}).get(name, {})) for cell in every}
        if grouped:
            by: dict[Key, Counts] = {
                key if len(key) > 1 else key[0]: found[cell] for cell, key in keys.items()
            }
            questions[name] = Groups(survey.groups, by)
        else:
            questions[name] = sum(found.values(), start=_counts(mechanism, {}))
    return Summaries(questions)


def _counts(mechanism: Mechanism, reports: Mapping[int, int]) -> Counts:
    counts = np.zeros(mechanism.law.outputs, dtype=np.int64)
    counts[list(reports)] = list(reports.values())
    return Counts(mechanism, counts)
