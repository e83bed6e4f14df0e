"""From one phase of a survey to the next, and both together."""

from __future__ import annotations

from typing import Any

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.estimators.zooms import eligible, zoom
from confide.questions import Questionnaire
from confide.summaries import Counts, Groups, Summaries
from confide.summaries.files import Summary
from confide.summaries.groups import Key


def next_phase(survey: Questionnaire, summaries: Summaries) -> dict[str, Any]:
    """The survey of the second phase as plain values: a function of its arguments alone.

    Parameters
    ----------
    survey
        Of the first phase.
    summaries
        Of its reports, all questions.
    """
    if survey.phases is None:
        raise InvalidInput("a survey with [phases]", "one without")
    if survey.phases.now != 1:
        raise InvalidInput(
            "the survey of the first phase", "that of the second", "There is no phase after it."
        )
    _belong(survey, summaries, "first")
    fields = survey.to_dict()
    fields["phases"] = {**fields["phases"], "now": 2}
    for name, keys in fields["questions"].items():
        if eligible(survey.mechanisms[name]):
            found = zoom(summaries[name])
            if found.lattice.zoom is not None:
                keys |= {"scale": found.lattice.scale, "zoom": list(found.lattice.zoom)}
    return fields


def combine(survey: Questionnaire, first: Summaries, second: Summaries) -> Summaries:
    """The summaries of both phases together.

    Parameters
    ----------
    survey
        Of the second phase.
    first, second
        Of the two phases, all questions, by the same groups.
    """
    if survey.phases is None or survey.phases.now != 2:
        raise InvalidInput(
            "the survey of the second phase",
            "another one",
            "Phases come in order: make it with next_phase, or confide phase.",
        )
    _belong(survey.pilot, first, "first")
    _belong(survey, second, "second")
    return Summaries(
        {name: _stacked(first.questions[name], second.questions[name]) for name in survey.questions}
    )


def _stacked(first: Summary, second: Summary) -> Summary:
    if isinstance(first, Counts) and isinstance(second, Counts):
        return Counts.stacked([first, second])
    if not (isinstance(first, Groups) and isinstance(second, Groups)) or first.by != second.by:
        raise Mismatch("phases that are summarized by the same groups", "others")
    empty = [_none(each) for each in (first, second)]
    found: dict[Key, Counts] = {}
    for key in dict.fromkeys([*first, *second]):
        # A group may have answered in one phase only.
        parts = [each.get(key, none) for each, none in zip((first, second), empty, strict=True)]
        found[key] = Counts.stacked(parts)
    return Groups(first.by, found)


def _none(groups: Groups[Counts]) -> Counts:
    """Counts of nobody, by the mechanism of some groups."""
    one = next(iter(groups.values()))
    weights = None if one.weights is None else (0 * one.weights[0], 0 * one.weights[1])
    return Counts(one.mechanism, 0 * one.counts, one.simulated, weights)


def _belong(survey: Questionnaire, summaries: Summaries, which: str) -> None:
    """Refuse summaries of other questions, or of another phase."""
    if not isinstance(summaries, Summaries):
        raise InvalidInput("Summaries", _checks.shown(type(summaries)))
    if set(summaries) != set(survey.questions):
        raise Mismatch(
            f"a summary of every question of the {which} phase", ", ".join(map(repr, summaries))
        )
    for name in summaries:
        if summaries.mechanism(name) != survey.mechanisms[name]:
            raise Mismatch(
                f"reports of {name!r} by the mechanism of the {which} phase",
                "those of another",
                "Phases come in order, and each has summaries of its own.",
            )
