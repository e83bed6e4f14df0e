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
        Places of the questions that the person is asked, in the order of the survey; None where
        everybody is asked all of them.
    """

    hash: bytes = field(repr=False)
    groups: tuple[str, ...] = ()
    asked: tuple[int, ...] | None = None

    @property
    def cell(self) -> str:
        """The groups as one text, which a store counts by."""
        return cell(self.groups)


def cell(groups: Sequence[str]) -> str:
    """Values of all groups as one text; '' where a survey has no groups."""
    return json.dumps(list(groups), ensure_ascii=False) if groups else ""


def question_cell(name: str) -> str:
    """A question as the text under which a store counts how many were invited to it."""
    return json.dumps({"asked": name}, ensure_ascii=False)


def question_of(text: str) -> str | None:
    """The inverse of `question_cell`; None where a text is a cell of groups."""
    return str(json.loads(text)["asked"]) if text.startswith("{") else None


def uncell(text: str) -> tuple[str, ...]:
    """The inverse of `cell`."""
    return tuple(json.loads(text)) if text else ()


@final
@dataclass(frozen=True)
class Signer:
    """Mints invitations for one survey, and tells its own from others without a look-up.

    Parameters
    ----------
    key
        32 random bytes that only the collector's processes know.
    survey
        The survey. A token is bound to its mechanisms and its wording.

    Notes
    -----
    A token is the URL-safe base64 text of 0x01, 16 random bytes, a signature of 16 bytes, and the
    public facts as UTF-8 JSON where there are any: the person's groups, ``g``, and the places of
    the questions that the person is asked, ``q``. The signature is the first half of the
    HMAC-SHA256, under the key, of the survey's name and all other bytes.

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

    def mint(self, groups: Sequence[str] = (), *, asked: Sequence[int] | None = None) -> str:
        """A new token.

        Parameters
        ----------
        groups
            The public groups of the person.
        asked
            Places of the questions that the person is asked, where the survey asks each person some
            of them only: one row of `Questionnaire.assigned`.
        """
        told: dict[str, Any] = {}
        if given := _groups(groups, self.survey):
            told["g"] = given
        if (places := checked_places(asked, self.survey)) is not None:
            told["q"] = places
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
            hashed(raw), tuple(told.get("g", ())), None if asked is None else tuple(asked)
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
    """Places of the questions that a token asks; None where a survey asks everybody all of them.

    For a device, which has no key and cannot check the signature: the collector does. What it
    says is checked against the survey, so that nobody is made to answer more than they are told.
    """
    raw = None if token is None else decoded(token)
    told: Any = None
    with contextlib.suppress(InvalidInput):
        facts = b"" if raw is None else raw[1 + ID + MAC :]
        told = load_json(facts, "the link") if facts else None
    given = told.get("q") if isinstance(told, dict) else None
    try:
        return checked_places(given, survey)
    except InvalidInput:
        raise InvalidInput(
            "a link that says which of the questions it asks"
            if survey.ask is not None
            else "a link that asks all questions, as the survey does",
            "another",
            "Nothing was drawn. Ask for a new link.",
        ) from None


def checked_places(given: Any, survey: Questionnaire) -> tuple[int, ...] | None:
    """Places of questions in the order of a survey, as many as it asks each person."""
    if survey.ask is None and given is None:
        return None
    right = (
        survey.ask is not None
        and isinstance(given, list | tuple)
        and len(given) == survey.ask
        # A bool is an int to Python.
        and all(type(at) is int and 0 <= at < len(survey.questions) for at in given)
        and all(first < second for first, second in pairwise(given))
    )
    if not right:
        raise InvalidInput(
            "no places of questions, since the survey asks everybody all of them"
            if survey.ask is None
            else f"the places of {survey.ask} of {len(survey.questions)} questions, in order",
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
    """What a respondent opens. The token comes after the #, so that no request carries it."""
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
