"""The summaries of both phases of a survey together."""

from __future__ import annotations

from confide import _checks
from confide.errors import InvalidInput, Mismatch
from confide.questions import Questionnaire
from confide.summaries.counts import Counts
from confide.summaries.files import Summaries, Summary
from confide.summaries.groups import Groups, Key


def combine(survey: Questionnaire, first: Summaries, second: Summaries) -> Summaries:
    """The summaries of both phases together.

    Parameters
    ----------
    survey
        Of the second phase.
    first, second
        Of the two phases, the same questions, by the same groups.
    """
    if survey.phases is None or survey.phases.now != 2:
        raise InvalidInput(
            "the survey of the second phase",
            "another one",
            "Phases come in order: make it with next_phase, or confide phase.",
        )
    belong(survey.pilot, first, "first")
    belong(survey, second, "second")
    if set(first) != set(second):
        one, other = (", ".join(map(repr, each)) for each in (first, second))
        raise Mismatch("summaries of the same questions in both phases", f"{one} and {other}")
    # Questions that keep their lattice have the same mechanism in both phases.
    if all(first.questions[name].to_dict() == second.questions[name].to_dict() for name in first):
        raise Mismatch(
            "the summary of the first phase and that of the second",
            "the same summary twice",
            "Its people would count twice.",
        )
    return Summaries(
        {name: _stacked(first.questions[name], second.questions[name]) for name in first}
    )


def _stacked(first: Summary, second: Summary) -> Summary:
    if isinstance(first, Counts) and isinstance(second, Counts):
        return Counts.stacked([first, second])
    if not (isinstance(first, Groups) and isinstance(second, Groups)) or first.by != second.by:
        raise Mismatch("phases that are summarized by the same columns", "phases by other columns")
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


def belong(survey: Questionnaire, summaries: Summaries, which: str) -> None:
    """Refuse summaries of other questions, or of another phase."""
    if not isinstance(summaries, Summaries):
        raise InvalidInput("Summaries", _checks.shown(type(summaries)))
    for name in summaries:
        if name not in survey.questions:
            raise Mismatch(f"questions of the {which} phase", repr(name))
        if summaries.mechanism(name) != survey.mechanisms[name]:
            raise Mismatch(
                f"reports of {name!r} by the mechanism of the {which} phase",
                "those of another",
                "Phases come in order, and each has summaries of its own.",
            )
