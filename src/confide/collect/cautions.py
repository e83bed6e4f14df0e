"""Warnings for the owner of a survey before it starts."""

from __future__ import annotations

from collections.abc import Iterator

from confide.accounting.spend import odds, rounded_up
from confide.lattice import Categories
from confide.questions import Question, Questionnaire

SYMBOL = 3
"""Letters of a unit that is the same in every language, at most: EUR, km, %."""
LISTED = 6
"""Missing translations that a sentence names."""


def cautions(survey: Questionnaire) -> list[str]:
    """Sentences about what is allowed, and perhaps not meant.

    Examples
    --------
    >>> survey = Questionnaire.from_dict({"title": "Pay", "title_de": "Lohn", "questions": {
    ...     "pay": {"text": "What do you earn?", "low": 0, "high": 9, "epsilon": 1.0}}})
    >>> cautions(survey)
    ["These texts have no translation into 'de' and are shown in 'en': text of 'pay'."]
    """
    return [*_weak(survey), *_foreign(survey)]


def _weak(survey: Questionnaire) -> Iterator[str]:
    epsilon = survey.spend.epsilon
    if survey.spend.weak:
        yield (
            f"One person spends epsilon {rounded_up(epsilon, 4)} in this survey, which changes "
            f"odds by a factor of up to {odds(epsilon)}: that is hardly any protection."
        )


def _foreign(survey: Questionnaire) -> Iterator[str]:
    for language in survey.languages[1:]:
        missing = list(_missing(survey, language))
        if missing:
            more = f" and {len(missing) - LISTED} more" if missing[LISTED:] else ""
            yield (
                f"These texts have no translation into {language!r} and are shown in "
                f"{survey.language!r}: {', '.join(missing[:LISTED])}{more}."
            )


def _missing(survey: Questionnaire, language: str) -> Iterator[str]:
    for key, own in survey.wording.texts.items():
        # An address is the same in every language.
        if key != "contact" and own.get("") and language not in own:
            yield key
    for name, question in survey.questions.items():
        for key, own in question.wording.texts.items():
            symbol = key == "unit" and len(own.get("", "")) <= SYMBOL
            if own.get("") and language not in own and not symbol:
                yield f"{key} of {name!r}"
        if _words(question) and language not in question.wording.labels:
            yield f"labels of {name!r}"


def _words(question: Question) -> bool:
    """Whether people choose among words, rather than numbers that are read everywhere."""
    axis = question.axis
    return isinstance(axis, Categories) and any(
        letter.isalpha() for label in axis.labels for letter in label
    )
