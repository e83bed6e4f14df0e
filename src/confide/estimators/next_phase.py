"""Makes the survey of the second phase from the summary of the first."""

from __future__ import annotations

from typing import Any

from confide.errors import InvalidInput, Mismatch
from confide.estimators.zooms import eligible, zoom
from confide.questions import Questionnaire
from confide.summaries import Summaries
from confide.summaries.together import belong


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
    belong(survey, summaries, "first")
    if set(summaries) != set(survey.questions):
        raise Mismatch(
            "a summary of every question of the first phase", ", ".join(map(repr, summaries))
        )
    fields = survey.to_dict()
    fields["phases"] = {**fields["phases"], "now": 2}
    for name, keys in fields["questions"].items():
        if eligible(survey.mechanisms[name]):
            found = zoom(summaries[name])
            if found.lattice.zoom is not None:
                keys |= {"scale": found.lattice.scale, "zoom": list(found.lattice.zoom)}
    return fields
