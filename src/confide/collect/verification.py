"""Compares what a collector serves with the package and with the survey's own file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from confide.collect import static, wire
from confide.collect.client import fetch
from confide.collect.invitations import checked_url
from confide.errors import InvalidInput
from confide.files.paths import load_json
from confide.questions import Questionnaire


@final
@dataclass(frozen=True)
class Verification:
    """What was found, file by file.

    Parameters
    ----------
    files
        Each served file, with whether it is byte for byte that of the package.
    mechanisms, wording
        Whether the served survey has the mechanisms, and the wording, of the file.
    """

    files: dict[str, bool]
    mechanisms: bool
    wording: bool

    @property
    def holds(self) -> bool:
        """Whether everything is as it should be."""
        return all(self.files.values()) and self.mechanisms and self.wording

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "holds": self.holds,
            "files": self.files,
            "mechanisms": self.mechanisms,
            "wording": self.wording,
        }


def verify(url: str, survey: Questionnaire) -> Verification:
    """Compare what a collector serves now, to us, with the package and the survey.

    A collector could serve other files to somebody else. So this is a check to repeat, from
    places and at times that the collector cannot tell from a respondent's.
    """
    url = checked_url(url)
    files = {}
    for path, file in static.page("page", "device").items():
        try:
            files[path] = fetch(url + path.removeprefix("/")) == file.data
        except InvalidInput:
            if path == "/":
                raise
            files[path] = False
    try:
        served = wire.survey_of(load_json(fetch(url + "survey.json"), "the served survey"))
        same = served.fingerprint == survey.fingerprint, served.worded == survey.worded
    except InvalidInput:
        same = False, False
    return Verification(files, *same)
