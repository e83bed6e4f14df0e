"""Compares what a collector serves with this package and with a survey file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any, final

from confide._cards import card, table
from confide.collect import static, wire
from confide.collect.client import fetched
from confide.collect.invitations import checked_url
from confide.errors import ConfideError, InvalidInput
from confide.files.paths import load_json
from confide.questions import Questionnaire

LIKE_A_BROWSER = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "accept-language": "en-US,en;q=0.5",
}
"""What is sent, so that our name is not enough for a collector to serve us something else."""
POLICY = "content-security-policy"
STEERING = ("clear-site-data", "link", "refresh", "set-cookie")
"""Headers by which the very same files do something else: go to another page, take styles that send
off what is chosen, forget what was drawn, or tell who comes back."""


@final
@dataclass(frozen=True)
class Verification:
    """The result of a verification, file by file.

    Parameters
    ----------
    files
        Each served file, with whether it is byte for byte that of the package.
    headers
        Whether they all come with the package's policy, and with nothing that steers a browser.
    mechanisms, wording
        Whether the served survey has the mechanisms of the file; and its wording, and nothing else.

    Examples
    --------
    >>> found = Verification({"/": True}, headers=True, mechanisms=True, wording=False)
    >>> found.holds
    False
    """

    files: dict[str, bool]
    headers: bool
    mechanisms: bool
    wording: bool

    @property
    def holds(self) -> bool:
        """Whether everything agrees."""
        return all(self.files.values()) and self.headers and self.mechanisms and self.wording

    def _repr_html_(self) -> str:
        """The comparisons and whether they agree, for notebooks."""
        checks = {**self.files, "headers": self.headers}
        checks |= {"mechanisms": self.mechanisms, "wording": self.wording}
        # Differences come first.
        rows = sorted(((name, "same" if same else "DIFFERS") for name, same in checks.items()),
                      key=lambda row: row[1])  # fmt: skip
        title = "What is served " + ("is as it should be" if self.holds else "DIFFERS")
        return card(title, table(("", "compared"), rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "holds": self.holds,
            "files": self.files,
            "headers": self.headers,
            "mechanisms": self.mechanisms,
            "wording": self.wording,
        }


def verify(url: str, survey: Questionnaire) -> Verification:
    """Compare what a collector serves now, to us, with the package and the survey.

    A collector could serve other files to other people. So repeat this check, from networks and at
    times that the collector cannot distinguish from a respondent's.

    Examples
    --------
    >>> import queue, tempfile, threading
    >>> from pathlib import Path
    >>> from confide import Survey
    >>> survey = Survey.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> from confide.collect import Collector
    >>> folder, stop, found = tempfile.TemporaryDirectory(), threading.Event(), queue.SimpleQueue()
    >>> collector = Collector(
    ...     survey, f"{folder.name}/answers.db", None, cap=10, port=0, owner_port=None)
    >>> running = threading.Thread(target=collector.run, kwargs={"ready": found.put, "stop": stop})
    >>> running.start()
    >>> page = found.get(timeout=60).page
    >>> verify(page, survey).holds
    True
    >>> stop.set()
    >>> running.join()
    >>> folder.cleanup()
    """
    url = checked_url(url)
    shipped = static.page("page", "device")
    policy = static.headers(static.import_map_hash(shipped["/"].data))[POLICY]
    files, headers = {}, True
    for path, file in shipped.items():
        try:
            data, told = fetched(url + path.removeprefix("/"), LIKE_A_BROWSER)
        except InvalidInput:
            if path == "/":
                raise
            files[path] = False
            continue
        files[path] = data == file.data
        strict = policy in told.get_all(POLICY, []) and told.get("content-type") == file.kind
        headers = headers and strict and _steers_nothing(told)
    try:
        data, told = fetched(url + "survey.json", LIKE_A_BROWSER)
        headers = headers and _steers_nothing(told)
        given = load_json(data, "the served survey")
        served = wire.survey_of(given)
        # The second phase is a public function of reports: it may differ in its cells only.
        wire.second_of(given, served)
        mechanisms = served.fingerprint == survey.fingerprint
        return Verification(files, headers, mechanisms, mechanisms and _same(given, survey))
    except ConfideError:
        return Verification(files, headers, mechanisms=False, wording=False)


def _steers_nothing(told: Message) -> bool:
    return not any(name in told for name in STEERING)


def _same(given: Mapping[str, Any], survey: Questionnaire) -> bool:
    """Whether a device is told all of a survey and nothing else, which a page might show."""
    rest = {key: value for key, value in given.items() if key != "closed"}
    second = wire.second_of(given, survey)
    expected = wire.served(survey, second, invited=given.get("invited") is True)
    return type(given.get("closed")) is bool and rest == json.loads(json.dumps(expected))
