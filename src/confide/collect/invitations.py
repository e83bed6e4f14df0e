"""Invitations: signed tokens that admit one report each and say what is asked of whom."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

from confide import _checks
from confide._secrets import SecretFile
from confide.errors import InvalidInput
from confide.files.paths import load_json
from confide.questions import Questionnaire

VERSION = b"\x01"
"""The first byte of a token."""
ID, MAC = 16, 16
"""Bytes of its random name and of its signature, which follow."""
LONGEST = 2000
"""Characters of a token, at most."""
TEXT = re.compile(r"[A-Za-z0-9_-]+")
LABEL = "confide-invitations-1"
"""The first word of a key file."""


@final
@dataclass(frozen=True)
class Invitation:
    """The contents of a token whose signature was checked.

    Parameters
    ----------
    hash
        Names the invitation in a store, which never holds the token itself.
    groups
        The public groups of the person who was invited, one value for each of the survey's groups.
    asked
        Places of the questions that the person is asked, in the order of the survey, or of the one
        pair, which come after all questions; None where everybody is asked all of them.
    phase
        The phase that the person answers in; None where a survey has no phases.
    """

    hash: bytes = field(repr=False)
    groups: tuple[str, ...] = ()
    asked: tuple[int, ...] | None = None
    phase: int | None = None

    @property
    def cell(self) -> str:
        """The groups and the phase as one text, which a store counts by."""
        return cell(self.groups, self.phase)


def cell(groups: Sequence[str], phase: int | None = None) -> str:
    """Values of all groups, and the phase after them, as one text; '' where a survey has none."""
    facts = [*groups, *([] if phase is None else [phase])]
    return json.dumps(facts, ensure_ascii=False) if facts else ""


def question_cell(name: str) -> str:
    """A question as the text under which a store counts how many were invited to it."""
    return json.dumps({"asked": name}, ensure_ascii=False)


def question_of(text: str) -> str | None:
    """The inverse of `question_cell`; None where a text is a cell of groups."""
    return str(json.loads(text)["asked"]) if text.startswith("{") else None


def uncell(text: str) -> tuple[str, ...]:
    """The groups of a `cell`."""
    return tuple(fact for fact in _facts_of(text) if isinstance(fact, str))


def phase_of(text: str) -> int | None:
    """The phase of a `cell`; None where a survey has no phases."""
    return next((fact for fact in _facts_of(text) if isinstance(fact, int)), None)


def _facts_of(text: str) -> list[str | int]:
    return list(json.loads(text)) if text else []


@final
@dataclass(frozen=True)
class Signer:
    """Signs invitations for one survey, and recognizes its own without a look-up.

    Parameters
    ----------
    key
        32 random bytes that only the collector's processes know.
    survey
        The survey. A token is bound to its mechanisms and its wording.

    Notes
    -----
    A token is the URL-safe base64 text of 0x01, 16 random bytes, a signature of 16 bytes, and the
    public facts as UTF-8 JSON where there are any: the person's groups, ``g``, the places of
    the questions, or the place of the pair, that the person is asked, ``q``, and the person's
    phase, ``p``. The signature is the first half of the HMAC-SHA256, under the key, of the survey's
    name and all other bytes. A survey with phases has the name of its first phase.

    Examples
    --------
    >>> survey = Questionnaire.from_dict({
    ...     "groups": ["region"], "questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> signer = Signer(bytes(32), survey)
    >>> signer.read(signer.mint(["north"])).groups
    ('north',)
    >>> signer.read("somebody else's") is None
    True
    """

    key: bytes = field(repr=False)
    survey: Questionnaire

    @cached_property
    def _name(self) -> bytes:
        return f"confide invitation {self.survey.fingerprint} {self.survey.worded} ".encode()

    def mint(
        self,
        groups: Sequence[str] = (),
        *,
        asked: Sequence[int] | None = None,
        phase: int | None = None,
    ) -> str:
        """A new token.

        Parameters
        ----------
        groups
            The public groups of the person.
        asked
            Places of the questions, or the place of the pair, that the person is asked, where the
            survey does not ask everybody all of them: one row of `Questionnaire.assigned`.
        phase
            The person's phase, 1 or 2, where the survey has phases, by `Questionnaire.phase_of`.
        """
        told: dict[str, Any] = {}
        if given := _groups(groups, self.survey):
            told["g"] = given
        if (places := checked_places(asked, self.survey)) is not None:
            told["q"] = places
        if (own := checked_phase(phase, self.survey)) is not None:
            told["p"] = own
        head, facts = VERSION + secrets.token_bytes(ID), b""
        if told:
            facts = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
        token = base64.urlsafe_b64encode(head + self._mac(head, facts) + facts)
        text = token.decode().rstrip("=")
        if len(text) > LONGEST:
            raise InvalidInput(
                "groups whose names fit into a link", f"an invitation of {len(text):,} characters"
            )
        return text

    def read(self, token: str) -> Invitation | None:
        """Read a token; None if this survey has not signed it."""
        raw = decoded(token)
        if raw is None:
            return None
        head, mac, facts = raw[: 1 + ID], raw[1 + ID : 1 + ID + MAC], raw[1 + ID + MAC :]
        if not hmac.compare_digest(mac, self._mac(head, facts)):
            return None
        told = json.loads(facts) if facts else {}
        asked = told.get("q")
        return Invitation(
            hashed(raw),
            tuple(told.get("g", ())),
            None if asked is None else tuple(asked),
            told.get("p"),
        )

    def _mac(self, head: bytes, facts: bytes) -> bytes:
        return hmac.digest(self.key, self._name + head + facts, "sha256")[:MAC]


def decoded(token: Any) -> bytes | None:
    """The bytes of a token's text, or None where it is none; of several texts one is taken."""
    if not isinstance(token, str) or len(token) > LONGEST or not TEXT.fullmatch(token):
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return None
    # The last character may have bits that no byte has: only one spelling is the token.
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != token:
        return None
    return raw if len(raw) >= 1 + ID + MAC and raw[:1] == VERSION else None


def places(token: str | None, survey: Questionnaire) -> tuple[int, ...] | None:
    """Places of the questions or the pair that a token asks; None where everybody is asked all.

    For a device. It has no key, so it cannot check the signature; the collector does. The places
    are checked against the survey, so that a link cannot ask for more than the survey states.
    """
    try:
        return checked_places(_told(token).get("q"), survey)
    except InvalidInput:
        raise InvalidInput(
            "a link that says which of the questions it asks"
            if survey.asking is not None
            else "a link that asks all questions, as the survey does",
            "another",
            "Nothing was drawn. Ask for a new link.",
        ) from None


def phase_in(token: str | None, survey: Questionnaire) -> int | None:
    """The phase in a token, for a device; None for a survey without phases."""
    try:
        return checked_phase(_told(token).get("p"), survey)
    except InvalidInput:
        raise InvalidInput(
            "a link that says in which phase it is answered"
            if survey.phases is not None
            else "a link without a phase, as the survey has none",
            "another",
            "Nothing was drawn. Ask for a new link.",
        ) from None


def _told(token: str | None) -> dict[str, Any]:
    """The facts in a token, without checking its signature."""
    raw = None if token is None else decoded(token)
    told: Any = None
    with contextlib.suppress(InvalidInput):
        facts = b"" if raw is None else raw[1 + ID + MAC :]
        told = load_json(facts, "the link") if facts else None
    return told if isinstance(told, dict) else {}


def checked_phase(given: Any, survey: Questionnaire) -> int | None:
    """The phase of a person, where a survey has phases."""
    if survey.phases is None and given is None:
        return None
    # A bool is an int to Python.
    if survey.phases is None or type(given) is not int or given not in (1, 2):
        raise InvalidInput(
            "no phase, since the survey has none"
            if survey.phases is None
            else "the phase of each person, 1 or 2",
            _checks.shown(given),
        )
    return given


def checked_places(given: Any, survey: Questionnaire) -> tuple[int, ...] | None:
    """Places of questions in the order of a survey, as many as it asks each person, or of a pair.

    Pairs have the places after all questions. A person is asked for at most one pair.
    """
    asking = survey.asking
    if asking is None and given is None:
        return None
    if asking is None:
        raise InvalidInput(
            "no places of questions, since the survey asks everybody all of them",
            _checks.shown(given),
        )
    questions, columns = len(asking.questions), len(asking.columns)
    # A bool is an int to Python.
    listed = isinstance(given, list | tuple) and all(type(at) is int for at in given)
    single = (
        listed
        and len(given) == asking.ask
        and all(0 <= at < questions for at in given)
        and all(first < second for first, second in pairwise(given))
    )
    pair = listed and len(given) == 1 and questions <= given[0] < columns
    if not single and not pair:
        more = f", or the place of one of {columns - questions} pairs" if asking.pairs else ""
        raise InvalidInput(
            f"the places of {asking.ask} of {questions} questions, in order{more}",
            _checks.shown(given),
        )
    return tuple(given)


def hashed(raw: bytes) -> bytes:
    """The name of an invitation in a store."""
    return hashlib.sha256(b"confide invitation" + raw).digest()


def _groups(given: Sequence[str], survey: Questionnaire) -> tuple[str, ...]:
    if len(given) != len(survey.groups):
        raise InvalidInput(
            f"a value for each group of the survey ({', '.join(survey.groups) or 'none'})",
            f"{len(given)}",
        )
    for name, value in zip(survey.groups, given, strict=True):
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"a word for the group {name!r} of every person", "none")
    return tuple(given)


def key_file(path: Path) -> SecretFile:
    """The file of a signing key.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(key_file(Path(folder) / "survey.key").make())
    32
    """
    return SecretFile(
        path,
        label=LABEL,
        what="a signing key",
        advice="The user who invites and serves must be able to read it, and nobody else. "
        "Invitations that were signed with a lost key are no longer accepted.",
    )


def link(url: str, token: str) -> str:
    """The link for a respondent. The token comes after the #, so that no request carries it."""
    return f"{checked_url(url)}#{token}"


def checked_url(url: str) -> str:
    """The address of a survey's page, with a slash at its end.

    Browsers hash the name under which a report is kept only where a page is secure: https, or this
    very machine.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidInput(
            "an address such as https://survey.example.org", repr(url)[:80]
        ) from None
    plain = parts.hostname in ("127.0.0.1", "localhost", "::1") and parts.scheme == "http"
    if not (parts.hostname and (parts.scheme == "https" or plain)):
        raise InvalidInput(
            "an address that begins with https://",
            repr(url)[:80],
            "Only http://localhost and http://127.0.0.1 do without.",
        )
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidInput("an address without ?, # and a user name", repr(url)[:80])
    return url if url.endswith("/") else url + "/"


def split_link(text: str) -> tuple[str, str]:
    """The address and the token of a link."""
    url, _, token = text.partition("#")
    return checked_url(url), token
