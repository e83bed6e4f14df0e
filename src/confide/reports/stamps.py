"""What a table says about its columns of reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confide import _validate, mechanisms
from confide._files import load_json
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import Joint, Mechanism

KEY = b"confide"
VERSION = 1


@dataclass(frozen=True)
class Stamp:
    """What made each column of reports, kept in the metadata of an Arrow schema.

    Parameters
    ----------
    mechanisms
        What made each column, by name.
    simulated
        Whether the reports were drawn from a seed.
    survey
        The survey they answer, as plain values, where there is one.
    """

    mechanisms: Mapping[str, Mechanism]
    simulated: bool = False
    survey: Mapping[str, Any] | None = None

    def metadata(self) -> dict[bytes, bytes]:
        """The schema metadata that says so."""
        text = {
            "version": VERSION,
            "simulated": self.simulated,
            "columns": {
                name: {"fingerprint": mechanism.fingerprint, "mechanism": mechanism.to_dict()}
                for name, mechanism in self.mechanisms.items()
            },
            "survey": self.survey,
        }
        return {KEY: json.dumps(text, separators=(",", ":")).encode()}

    @classmethod
    def read(cls, metadata: Mapping[bytes, bytes] | None, where: str) -> Stamp | None:
        """The stamp in some metadata, None where there is none; a damaged one is refused."""
        if not metadata or KEY not in metadata:
            return None
        fields = load_json(metadata[KEY], f"the metadata of {where}")
        if not isinstance(fields, Mapping) or fields.get("version") != VERSION:
            raise InvalidInput(
                f"metadata of version {VERSION} in {where}",
                "another version",
                "Read it with the release of confide that wrote it.",
            )
        damaged = InvalidInput(f"the whole metadata of confide in {where}", "parts of it")
        try:
            simulated, survey = fields["simulated"], fields["survey"]
            made = {
                name: (mechanisms.from_dict(entry["mechanism"]), entry["fingerprint"])
                for name, entry in fields["columns"].items()
            }
        except (KeyError, TypeError, AttributeError):
            raise damaged from None
        if not isinstance(simulated, bool) or not isinstance(survey, (Mapping, type(None))):
            raise damaged
        for name, (mechanism, fingerprint) in made.items():
            if mechanism.fingerprint != fingerprint:
                raise Mismatch(
                    f"the fingerprint {mechanism.fingerprint} of column {name!r} in {where}",
                    _validate.shown(fingerprint),
                    "The metadata was changed after it was written.",
                )
        return cls({name: mechanism for name, (mechanism, _) in made.items()}, simulated, survey)

    def made(self, names: Sequence[str], where: str) -> Mechanism:
        """What made one column, or jointly several."""
        for name in names:
            if name not in self.mechanisms:
                raise Mismatch(
                    f"reports in column {name!r} of {where}",
                    "a column that its metadata does not name",
                    _validate.nearest(name, self.mechanisms),
                )
        if len(names) == 1:
            return self.mechanisms[names[0]]
        return Joint({name: self.mechanisms[name] for name in names})


def unknown(where: str) -> InvalidInput:
    """The error that nobody says what made the reports."""
    return InvalidInput(
        f"a mechanism in the metadata of {where}",
        "none",
        "Give the survey: a file that holds the integers only cannot say what made them.",
    )


def differs(names: Sequence[str], where: str) -> Mismatch:
    """The error that reports were made by something else than was asked for."""
    return Mismatch(
        f"reports of {', '.join(map(repr, names))} in {where} by the mechanism that was asked for",
        "those of another",
        "The reports belong to another survey, or the survey was changed since.",
    )
