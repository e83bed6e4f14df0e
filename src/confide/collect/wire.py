"""What travels between a device and a collector: the survey as data, and one upload a person."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from confide import _checks
from confide.collect import devices
from confide.collect.invitations import LONGEST, Invitation, Signer
from confide.errors import ConfideError, InvalidInput, Mismatch
from confide.files.paths import load_json
from confide.mechanisms import register
from confide.questions import Question, Questionnaire
from confide.questions.question import MEANINGS, SHOWN, labels_of
from confide.questions.questionnaire import TEXTS
from confide.questions.wording import Wording, base

VERSION = 1
"""Of the protocol; a device and a collector of two versions refuse each other."""
LARGEST = 16_384
"""Bytes of an upload, at most."""
RECEIPT = 16
"""Random bytes of a receipt, made on the device."""
KEYS = ("version", "survey", "wording", "invitation", "receipt", "reports")


class Refused(ConfideError):
    """An upload that cannot be stored.

    Parameters
    ----------
    status
        The HTTP status that says so.
    reason
        One sentence for the person who reads it.

    Examples
    --------
    >>> Refused(409, "This invitation was used.").status
    409
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@final
@dataclass(frozen=True)
class Entry:
    """The part of an upload that a store is given.

    Parameters
    ----------
    invitation
        The hash of the invitation that it spends; None where a survey takes anybody.
    receipt
        The hash of the receipt. It names the upload, and only the device knows what it is made of.
    tie
        A hash of receipt and invitation together, by which an upload that is sent again is
        recognized. It links nothing for a reader of the store, who does not know the receipt.
    cell
        The public groups of the person, as one text.
    reports
        Noisy reports by question, as compact JSON with sorted keys.
    """

    invitation: bytes | None = field(repr=False)
    receipt: bytes = field(repr=False)
    tie: bytes = field(repr=False)
    cell: str
    reports: str = field(repr=False)


def described(survey: Questionnaire, *, invited: bool = True) -> dict[str, Any]:
    """The facts about a survey that a device needs, as plain values for JSON.

    Parameters
    ----------
    survey
        The survey.
    invited
        Whether an invitation is needed.
    """
    return {
        "confide": "survey",
        "version": VERSION,
        "survey": survey.fingerprint,
        "wording": survey.worded,
        "invited": invited,
        "language": survey.language,
        "languages": list(survey.languages),
        "epsilon": survey.spend.epsilon,
        "closes": None if survey.closes is None else survey.closes.isoformat(),
        "groups": list(survey.groups),
        **({} if survey.ask is None else {"ask": survey.ask}),
        **{
            name: each.to_dict()
            for name, each in (("phases", survey.phases), ("rounds", survey.rounds))
            if each is not None
        },
        **survey.wording.to_dict(),
        "questions": [
            {
                "name": name,
                **question.wording.to_dict(),
                **{key: True for key in MEANINGS if getattr(question, key)},
                "missing": question.missing,
                "mechanism": question.mechanism.to_dict(),
            }
            for name, question in survey.questions.items()
        ],
    }


def survey_of(fields: Any) -> Questionnaire:
    """The survey that `described` wrote, checked against the names that it gives itself.

    A device trusts nothing that it is sent: mechanisms whose stated weights are not those of their
    epsilon are refused, and so are names that do not fit the rest.
    """
    if not isinstance(fields, Mapping) or fields.get("confide") != "survey":
        raise InvalidInput("a survey of a confide collector", "other data")
    if fields.get("version") != VERSION:
        raise InvalidInput(
            f"version {VERSION} of the protocol",
            f"version {_checks.shown(fields.get('version'))}",
            "Install the release of confide that the collector runs.",
        )
    questions = {}
    given = fields.get("questions")
    given = given if isinstance(given, list) else []
    devices.light(
        [(each.get("name"), each.get("mechanism")) for each in given if isinstance(each, Mapping)]
    )
    for each in given:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            raise InvalidInput("questions with a name", _checks.shown(each))
        mechanism = register.from_dict(each.get("mechanism"))  # type: ignore[arg-type]
        words = {key: each[key] for key in each if base(key)[0] in SHOWN}
        questions[each["name"]] = Question(
            mechanism,
            each.get("missing"),
            wording=Wording.read(words, labels_of(mechanism)),
            **{key: each[key] for key in MEANINGS if key in each},
        )
    texts = {key: fields[key] for key in fields if base(key)[0] in TEXTS}
    survey = Questionnaire(
        questions,
        wording=Wording.read(texts),
        language=fields.get("language", "en"),
        groups=fields.get("groups", ()),
        closes=fields.get("closes"),
        ask=fields.get("ask"),
        phases=fields.get("phases"),
        rounds=fields.get("rounds"),
    )
    if (survey.fingerprint, survey.worded) != (fields.get("survey"), fields.get("wording")):
        raise Mismatch(
            "a survey that has the names it gives itself",
            "another one",
            "Nothing was drawn. The collector runs another release of confide, or was changed.",
        )
    return survey


def check_survey(survey: Questionnaire) -> None:
    """Refuse a survey that devices could not answer, before anybody is invited."""
    if survey.relations is not None:
        raise InvalidInput(
            "a survey without [relations], since the page asks single questions only",
            f"one that asks for {len(survey.relations.pairs)} pairs",
            "Take the answers of pairs with confide privatize, or Survey.privatize in Python.",
        )
    if survey.times > 1:
        raise InvalidInput(
            "per_person = 1 in [rounds], since the page tells people what one round costs",
            f"per_person = {survey.times}",
            "Take the answers of several rounds with Survey.privatize in Python.",
        )
    mechanisms = survey.mechanisms
    devices.light([(name, mechanism.to_dict()) for name, mechanism in mechanisms.items()])
    asked = sorted(mechanisms, key=lambda name: len(json.dumps(name)))[-(survey.ask or 0) :]
    reports = {name: mechanisms[name].law.outputs[0] for name in asked}
    size = len(body(survey, "-" * LONGEST, bytes(RECEIPT), reports))
    if size > LARGEST:
        raise InvalidInput(
            f"questions whose reports fit into an upload of {LARGEST:,} bytes",
            f"up to {size:,}",
            "Take shorter names, or fewer questions.",
        )


def body(
    survey: Questionnaire, token: str | None, receipt: bytes, reports: Mapping[str, int]
) -> bytes:
    """An upload as a device sends it."""
    fields = {
        "version": VERSION,
        "survey": survey.fingerprint,
        "wording": survey.worded,
        "invitation": token,
        "receipt": text_of(receipt),
        "reports": dict(reports),
    }
    return json.dumps(fields, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Reader:
    """Reads uploads, without a look at any disk.

    Parameters
    ----------
    survey
        The survey that they must answer.
    signer
        Tells which invitations are ours; None where a survey takes anybody.
    """

    survey: Questionnaire
    signer: Signer | None

    def read(self, data: bytes) -> Entry:
        """Read an upload into the part that a store keeps.

        Raises
        ------
        Refused
            With status 413, 422 or 404, if it is not an upload to this survey.
        """
        if len(data) > LARGEST:
            raise Refused(413, f"An upload has at most {LARGEST:,} bytes.")
        try:
            fields = load_json(data, "the upload")
        except InvalidInput as error:
            raise Refused(422, str(error)) from None
        if not isinstance(fields, dict) or set(fields) != set(KEYS):
            raise Refused(422, f"An upload has exactly the keys {', '.join(KEYS)}.")
        # True equals 1 in Python, and 1.0 too.
        if type(fields["version"]) is not int or fields["version"] != VERSION:
            raise Refused(422, f"This collector speaks version {VERSION} of the protocol.")
        if fields["survey"] != self.survey.fingerprint or fields["wording"] != self.survey.worded:
            raise Refused(
                422, "The report answers another survey, or an older version of this one."
            )
        receipt = _receipt(fields["receipt"])
        invitation = self._invitation(fields["invitation"])
        reports = self._reports(fields["reports"], None if invitation is None else invitation.asked)
        token = b"" if invitation is None else invitation.hash
        return Entry(
            invitation=None if invitation is None else invitation.hash,
            receipt=hashlib.sha256(b"confide receipt" + receipt).digest(),
            tie=hashlib.sha256(b"confide tie" + receipt + token).digest(),
            cell="" if invitation is None else invitation.cell,
            reports=reports,
        )

    def _invitation(self, token: Any) -> Invitation | None:
        if self.signer is None:
            if token is not None:
                raise Refused(422, "This survey takes no invitations: the key must be null.")
            return None
        found = self.signer.read(token) if isinstance(token, str) else None
        if found is None:
            raise Refused(404, "This invitation is not one of this survey.")
        return found

    def _reports(self, given: Any, asked: tuple[int, ...] | None) -> str:
        mechanisms = self.survey.mechanisms
        if asked is not None:
            names = list(mechanisms)
            mechanisms = {names[at]: mechanisms[names[at]] for at in asked}
        if not isinstance(given, dict) or set(given) != set(mechanisms):
            raise Refused(
                422,
                "An upload has one report for each question of the survey."
                if asked is None
                else "An upload has one report for each question that its invitation asks, and no "
                "others.",
            )
        for name, mechanism in mechanisms.items():
            report, (outputs,) = given[name], mechanism.law.outputs
            # A bool is an int to Python.
            if type(report) is not int or not 0 <= report < outputs:
                raise Refused(
                    422, f"The report to {name!r} must be a whole number from 0 to {outputs - 1}."
                )
        return json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def text_of(receipt: bytes) -> str:
    """A receipt as text."""
    return base64.urlsafe_b64encode(receipt).decode().rstrip("=")


def _receipt(text: Any) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(text + "==") if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != RECEIPT or text_of(raw) != text:
        raise Refused(422, f"A receipt is the URL-safe base64 text of {RECEIPT} random bytes.")
    return raw
