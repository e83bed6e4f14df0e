"""A respondent's device in Python: for scripts, and for people who distrust the page."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import secrets
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

from confide import _checks
from confide._secrets import settle
from confide.accounting.spend import WEAK_EPSILON, rounded_up
from confide.collect import wire
from confide.collect.invitations import ID, decoded, phase_in, split_link
from confide.collect.invitations import places as places_of
from confide.errors import BadSetting, ConfideError, InvalidInput
from confide.files.paths import load_json
from confide.questions import Questionnaire

LONGEST = 4 * 2**20
"""Bytes of an answer that a client reads, at most."""
PART = 2**16
"""Bytes that are read at a time."""
TIMEOUT = 20.0
"""Seconds to wait for each part of an answer, and for all of its body."""
PATIENCE = 60.0
"""Seconds that a client goes on sending, by default."""
AGAIN = (408, 429, 500, 502, 503, 504)
"""What a collector, or a proxy in front of it, answers when the upload should be sent again."""
EARLY = 425
"""The status of a link whose phase has not begun."""
PAUSES = (0.5, 1, 2, 4, 8)
"""Seconds between attempts; the last one over and over."""


class Unacknowledged(ConfideError):
    """The collector has not said that it has the report.

    It is kept on this machine: to answer again sends the same one and draws nothing.

    Examples
    --------
    >>> from confide.errors import ConfideError
    >>> issubclass(Unacknowledged, ConfideError)  # so it can be told from a link that is wrong
    True
    """


@final
@dataclass(frozen=True)
class Client:
    """Answers a survey: draws each report once, and sends it until the collector has it.

    Parameters
    ----------
    link
        The link of an invitation, or the plain address of a survey without invitations.
    folder
        Where the upload is kept, so that a second run sends the same one. It holds the noisy
        reports and the invitation, never an answer. By default a folder of the user's own.
    patience
        Seconds to go on trying while the collector does not answer.
    most
        The largest epsilon that all answers together may cost. The collector says what its survey
        costs; one that costs more is refused before anything is drawn.

    Notes
    -----
    Formal guarantee: as stated by the survey's mechanisms. The collector's survey is checked
    first: a mechanism whose noise is weaker than its epsilon is refused. Each run for one link on
    one machine sends the same reports, so that nothing is spent twice.

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
    >>> receipt = Client(page, folder=Path(folder.name)).answer({"pay": 3.0})
    >>> bool(receipt)
    True
    >>> stop.set()
    >>> running.join()
    >>> folder.cleanup()
    """

    link: str
    folder: Path | None = field(default=None, kw_only=True)
    patience: float = field(default=PATIENCE, kw_only=True)
    most: float = field(default=WEAK_EPSILON, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", _checks.positive(most=self.most))

    @cached_property
    def _parts(self) -> tuple[str, str | None]:
        url, token = split_link(self.link.strip())
        if token and decoded(token) is None:
            raise InvalidInput(
                "a complete link of an invitation", "a link whose end is missing or damaged"
            )
        return url, token or None

    @cached_property
    def _served(self) -> Mapping[str, Any]:
        url, _ = self._parts
        fields = load_json(fetch(url + "survey.json"), "the survey of the collector")
        if not isinstance(fields, Mapping):
            raise InvalidInput("a survey of a confide collector", "other data")
        return fields

    @cached_property
    def survey(self) -> Questionnaire:
        """The survey as the collector describes it, in the phase of this link.

        Raises
        ------
        Refused
            If that is the second phase, and it has not begun. A new client asks again.
        """
        first = wire.survey_of(self._served)
        if phase_in(self._parts[1], first) != 2:
            return first
        second = wire.second_of(self._served, first)
        if second is None:
            until = first.phases.until if first.phases is not None else None
            when = "later" if until is None else f"after {until.isoformat()}"
            raise wire.Refused(
                EARLY,
                "Your part of the survey has not begun yet: others answer first. Please come back "
                f"{when}, with the same link. Nothing was drawn or sent.",
            )
        return second

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The questions that this link asks: all of the survey's, some of them, or a pair."""
        return tuple(self.survey.pairs[self.reported[0]].sides) if self.paired else self.reported

    @cached_property
    def reported(self) -> tuple[str, ...]:
        """The question or the pair that each sent report is about."""
        places = places_of(self._parts[1], self.survey)
        if places is None:
            return tuple(self.survey.questions)
        names = tuple(self.survey.mechanisms)
        return tuple(names[at] for at in places)

    @property
    def paired(self) -> bool:
        """Whether this link asks for one report about two questions together."""
        return self.reported[0] in self.survey.pairs

    def answer(self, answers: Mapping[str, Any]) -> str:
        """Draw a report of each answer, or one of both answers to a pair; send; get the receipt.

        Parameters
        ----------
        answers
            A number or a word for each question that the link asks (`asked`). A question that is
            left out, or None, is declined where the survey offers that; else it gets the public
            value that the survey names for missing answers, where it names one. Where this machine
            has answered the link before (`drawn`), they are not used: the same report is sent.

        Returns
        -------
        str
            The receipt: it names the upload, and no one but this machine knows it.

        Raises
        ------
        Refused
            If the collector does not take the report: the invitation was used, the survey has
            ended, or the phase of this link has not begun.
        Unacknowledged
            If the collector did not answer in time; the same call sends the same report again.
        """
        upload = self.drawn() or self._draw(answers)
        self._send(upload)
        return str(json.loads(upload)["receipt"])

    def check(self) -> None:
        """Refuse a survey that this link cannot answer, or that costs too much.

        `answer` does so too, before it draws. Call it to check before asking the questions.

        Raises
        ------
        Refused
            If the survey has ended, or the phase of this link has not begun.
        InvalidInput
            If it costs more than ``most``, or needs an invitation that the link does not have.
        """
        url, token = self._parts
        if self._served.get("closed"):
            raise wire.Refused(410, "The survey has ended. Nothing was drawn or sent.")
        if token is None and self._served.get("invited"):
            raise InvalidInput(
                "the link of an invitation", f"the address {url!r} alone", "Nothing was drawn."
            )
        epsilon = self.survey.spend.epsilon
        if epsilon > self.most:
            told = rounded_up(epsilon, 4)
            raise BadSetting(
                f"a survey that costs at most epsilon {self.most:g}",
                f"one that costs {told}",
                f"Nothing was drawn. Answer it with {{most {told}}} if you accept that.",
            )

    def drawn(self) -> bytes | None:
        """The upload that was drawn on this machine for this link, or None."""
        with contextlib.suppress(FileNotFoundError):
            return self._path.read_bytes()
        return None

    def _draw(self, answers: Mapping[str, Any]) -> bytes:
        self.check()
        _, token = self._parts
        survey = self.survey
        _checks.known_keys(answers, tuple(survey.questions), "the answers")
        check_asked(answers, self.asked)
        values = {}
        for name in self.asked:
            question = survey.questions[name]
            value = answers.get(name)
            values[name] = question.missing if value is None else value
            if values[name] is None and not question.mechanism.prefer_not_to_say:
                raise InvalidInput(f"an answer to {name!r}", "none", "Nothing was drawn.")
        reports = {}
        for name in self.reported:
            mechanism = survey.mechanisms[name]
            own = values[name] if mechanism.single else {key: [values[key]] for key in values}
            try:
                reports[name] = int(mechanism.privatize(own).indices[0])
            except InvalidInput as error:
                expected = f"{error.expected} as the answer to {name!r}"
                got = error.got.removesuffix(" in row 1")
                raise InvalidInput(expected, got, "Nothing was sent.") from None
        return self._keep(wire.body(survey, token, secrets.token_bytes(wire.RECEIPT), reports))

    @cached_property
    def _path(self) -> Path:
        # By the random bytes of the invitation alone, wherever the link leads: nothing is drawn
        # again for a survey that changed meanwhile, nor for a link that is spelled in another way,
        # with another name of the same server or with other facts. Without one by the address.
        url, token = self._parts
        raw = None if token is None else decoded(token)
        if raw is not None:
            place = raw[: 1 + ID].hex()
        else:
            parts = urlsplit(url)
            port = parts.port or {"http": 80, "https": 443}[parts.scheme]
            place = f"{parts.scheme}://{parts.hostname}:{port}{parts.path}"
        name = hashlib.sha256(place.encode()).hexdigest()[:32]
        return (self.folder or _folder()) / f"{name}.json"

    def _keep(self, upload: bytes) -> bytes:
        """Put an upload on disk before it is sent; of two that are drawn at once one is sent."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, draft = tempfile.mkstemp(dir=self._path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(upload)
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename this fails where another process was faster.
            with contextlib.suppress(FileExistsError):
                os.link(draft, self._path)
            # The name too: a machine that loses power after sending must not draw again.
            settle(self._path.parent)
        finally:
            os.unlink(draft)
        return self._path.read_bytes()

    def _send(self, upload: bytes) -> None:
        url, _ = self._parts
        until, attempt = time.monotonic() + self.patience, 0
        while True:
            status, reason, wait = _post(url + "reports", upload)
            if status in (200, 201):
                return
            if status == 409:
                reason += " The collector has seen this machine's report, and did not count it."
            if status is not None and status not in AGAIN:
                raise wire.Refused(status, reason)
            pause = max(PAUSES[min(attempt, len(PAUSES) - 1)], wait)
            if time.monotonic() + pause > until:
                raise Unacknowledged(
                    "The collector has not acknowledged the report. It is kept on this machine: "
                    "answer again, and the same report is sent."
                )
            time.sleep(pause)
            attempt += 1


def check_asked(answers: Iterable[str], asked: Sequence[str]) -> None:
    """Refuse answers to questions that a link does not ask."""
    for name in answers:
        if name not in asked:
            raise InvalidInput(
                f"answers to what this link asks: {', '.join(map(repr, asked))}",
                f"an answer to {name!r}",
                "Each person is asked some of the questions only. Nothing was drawn.",
            )


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: what is sent is for one address."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay)


def fetch(url: str) -> bytes:
    """A file of a collector."""
    return fetched(url)[0]


def fetched(url: str, headers: Mapping[str, str] | None = None) -> tuple[bytes, Message]:
    """A file of a collector, and the headers that came with it."""
    request = urllib.request.Request(url, headers=dict(headers or {}))
    try:
        with _OPENER.open(request, timeout=TIMEOUT) as response:
            data, told = _body(response), response.headers
    except urllib.error.HTTPError as error:
        raise InvalidInput(f"a confide collector at {url!r}", f"status {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise InvalidInput(f"an answer from {url!r}", f"none ({reason})") from None
    except ValueError:
        # A host or a path that cannot be written into a request.
        raise InvalidInput("an address of a server", f"{url!r}") from None
    if len(data) > LONGEST:
        raise InvalidInput(f"at most {LONGEST:,} bytes from {url!r}", "more")
    return data, told


def _post(url: str, data: bytes) -> tuple[int | None, str, float]:
    """Status, reason and seconds to wait; the status is None where nobody answered."""
    request = urllib.request.Request(
        url, data=data, headers={"content-type": "application/json"}, method="POST"
    )
    try:
        with _OPENER.open(request, timeout=TIMEOUT) as response:
            _body(response)
            return response.status, "", 0.0
    except urllib.error.HTTPError as error:
        reason = f"The collector answered with status {error.code}."
        with contextlib.suppress(InvalidInput, OSError, TypeError, KeyError):
            reason = str(load_json(_body(error), "an answer")["reason"])
        wait = error.headers.get("retry-after", "")
        # Digits of other scripts are digits to Python, and no number.
        known = wait.isascii() and wait.isdigit()
        return error.code, reason, float(wait) if known else 0.0
    except (OSError, http.client.HTTPException):
        return None, "", 0.0


def _body(response: Any) -> bytes:
    """What was answered, a little more than the longest at most, unless it comes too slowly."""
    until, data = time.monotonic() + TIMEOUT, b""
    while len(data) <= LONGEST and (part := response.read1(PART)):
        data += part
        if time.monotonic() > until:
            raise TimeoutError("it comes too slowly")
    return data


def _folder() -> Path:
    """Where a user's programs keep what they must remember."""
    own = Path(os.environ.get("XDG_STATE_HOME", ""))
    # A relative path is none, says the XDG standard: from elsewhere a link would be drawn again.
    base = own if own.is_absolute() else Path.home() / ".local" / "state"
    return base / "confide" / "answers"
