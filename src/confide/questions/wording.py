"""The texts of a survey and its questions, in one language or several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confide import _checks
from confide.errors import InvalidInput

LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?")
"""Codes of languages, such as de or pt-BR."""
LONGEST = 4000
"""Characters of one text, at most: it is shown on a page, and sent to every device."""


def base(key: str) -> tuple[str, str]:
    """A key of a survey file as a key and a language: text_de is text in German."""
    name, _, language = key.partition("_")
    return name, language


@dataclass(frozen=True)
class Wording:
    """Texts by key and language; the language '' is the survey's own.

    Parameters
    ----------
    texts
        For each key, such as ``text`` or ``help``, the text in each language.
    labels
        What is shown in place of each category, in each language.

    Examples
    --------
    >>> wording = Wording.read({"text": "What do you earn?", "text_de": "Was verdienen Sie?"})
    >>> wording.get("text", "de"), wording.get("text", "fr")
    ('Was verdienen Sie?', 'What do you earn?')
    """

    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def get(self, key: str, language: str = "") -> str:
        """A text in a language, or else in the survey's own; empty where there is none."""
        own = self.texts.get(key, {})
        return own.get(language, own.get("", ""))

    @property
    def languages(self) -> set[str]:
        """The languages that some text has, beside the survey's own."""
        return {each for own in (*self.texts.values(), self.labels) for each in own} - {""}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the keys of a survey file."""
        fields: dict[str, Any] = {}
        for key, own in self.texts.items():
            fields |= {_key(key, language): text for language, text in own.items()}
        fields |= {_key("labels", language): list(words) for language, words in self.labels.items()}
        return fields

    @classmethod
    def read(cls, fields: Mapping[str, Any], categories: Sequence[str] = ()) -> Wording:
        """The inverse of `to_dict`, of keys that are texts or labels.

        Parameters
        ----------
        fields
            Keys of a survey file.
        categories
            The answers of a question of words, which labels must match one by one.
        """
        texts: dict[str, dict[str, str]] = {}
        labels: dict[str, tuple[str, ...]] = {}
        for given, value in fields.items():
            key, language = base(given)
            if language and not LANGUAGE.fullmatch(language):
                raise InvalidInput(
                    f"a language such as de or pt-BR at the end of {_checks.shown(given)}",
                    _checks.shown(language),
                )
            if key == "labels":
                labels[language] = _labels(given, value, categories)
                continue
            if not isinstance(value, str) or len(value) > LONGEST:
                raise InvalidInput(
                    f"text of at most {LONGEST:,} characters for the key {given!r}",
                    f"{len(value):,} characters"
                    if isinstance(value, str)
                    else _checks.shown(value),
                )
            texts.setdefault(key, {})[language] = value
        spoken = {key: list(own) for key, own in texts.items()} | {"labels": list(labels)}
        for key, languages in spoken.items():
            if languages and "" not in languages:
                raise InvalidInput(
                    f"the key {key!r} beside its translations", f"only {_key(key, languages[0])!r}"
                )
        return cls(texts, labels)


def _key(key: str, language: str) -> str:
    return f"{key}_{language}" if language else key


def _labels(given: str, value: Any, categories: Sequence[str]) -> tuple[str, ...]:
    if not categories:
        raise InvalidInput(f"{given!r} only where a question has categories", "no categories")
    words = isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value)
    if not words or len(value) != len(categories) or len(set(value)) != len(value):
        raise InvalidInput(
            f"one label for each of the {len(categories)} categories, all of them different, "
            f"as {given!r}",
            f"{len(value)}: {_checks.shown(value)}" if words else _checks.shown(value),
        )
    return tuple(value)
