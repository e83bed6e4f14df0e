"""Invitations: signed tokens that admit one report each and say what is asked of whom."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

from confide._secrets import SecretFile
from confide.errors import InvalidInput
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
    """What a token says, once its signature was checked.

    Parameters
    ----------
    hash
        Names the invitation in a store, which never holds the token itself.
    groups
        The public groups of the person who was invited, one value for each of the survey's groups.
    """

    hash: bytes = field(repr=False)
    groups: tuple[str, ...] = ()

    @property
    def cell(self) -> str:
        """The groups as one text, which a store counts by."""
        return cell(self.groups)


def cell(groups: Sequence[str]) -> str:
    """Values of all groups as one text; '' where a survey has no groups."""
    return json.dumps(list(groups), ensure_ascii=False) if groups else ""


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
    public facts as UTF-8 JSON where there are any. The signature is the first half of the
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

    def mint(self, groups: Sequence[str] = ()) -> str:
        """A new token, for a person in these groups."""
        groups = _groups(groups, self.survey)
        head, facts = VERSION + secrets.token_bytes(ID), b""
        if groups:
            facts = json.dumps({"g": groups}, ensure_ascii=False, separators=(",", ":")).encode()
        token = base64.urlsafe_b64encode(head + self._mac(head, facts) + facts)
        text = token.decode().rstrip("=")
        if len(text) > LONGEST:
            raise InvalidInput(
                "groups whose names fit into a link", f"an invitation of {len(text):,} characters"
            )
        return text

    def read(self, token: str) -> Invitation | None:
        """What a token says, or None where this survey has not signed it."""
        raw = decoded(token)
        if raw is None:
            return None
        head, mac, facts = raw[: 1 + ID], raw[1 + ID : 1 + ID + MAC], raw[1 + ID + MAC :]
        if not hmac.compare_digest(mac, self._mac(head, facts)):
            return None
        groups = json.loads(facts)["g"] if facts else []
        return Invitation(hashed(raw), tuple(groups))

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
    """The file of a signing key."""
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

    Browsers do the drawing under a lock that they only have where a page is secure: https, or this
    very machine.
    """
    parts = urlsplit(url)
    plain = parts.hostname in ("127.0.0.1", "localhost", "::1") and parts.scheme == "http"
    if not (parts.hostname and (parts.scheme == "https" or plain)):
        raise InvalidInput(
            "an address that begins with https://",
            repr(url)[:80],
            "Only http://localhost and http://127.0.0.1 do without.",
        )
    if parts.query or parts.fragment or parts.username:
        raise InvalidInput("an address without ?, # and a user name", repr(url)[:80])
    return url if url.endswith("/") else url + "/"


def split_link(text: str) -> tuple[str, str]:
    """The address and the token of a link."""
    url, _, token = text.partition("#")
    return checked_url(url), token
