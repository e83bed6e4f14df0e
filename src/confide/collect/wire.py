"""The messages between a device and a collector: the survey, and one upload per person."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from confide import _checks
from confide.collect import devices
from confide.collect.invitations import LONGEST, Invitation, Signer
from confide.errors import ConfideError, InvalidInput, Mismatch
from confide.files.paths import load_json
from confide.lattice import Lattice
from confide.mechanisms import register
from confide.questions import Question, Questionnaire
from confide.questions.question import MEANINGS, SHOWN, labels_of
from confide.questions.questionnaire import TEXTS
from confide.questions.relations import ALL
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
        The hash of the invitation that it spends; None in a survey without invitations.
    receipt
        The hash of the receipt. It names the upload, and only the device knows the receipt itself.
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


def served(
    survey: Questionnaire, second: Questionnaire | None = None, *, invited: bool = True
) -> dict[str, Any]:
    """The document that a collector serves: a survey, with its second phase under ``next``.

    Parameters
    ----------
    survey
        The survey, of the first phase where it has phases.
    second
        That of the second phase; None before it has begun.
    invited
        Whether an invitation is needed.
    """
    fields = described(survey, invited=invited)
    if survey.phases is not None:
        fields["next"] = None if second is None else described(second, invited=invited)
    return fields


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
            for name, each in (
                ("relations", survey.relations),
                ("phases", survey.phases),
                ("rounds", survey.rounds),
            )
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
        **({"pairs": _pairs(survey)} if survey.pairs else {}),
    }


def _pairs(survey: Questionnaire) -> list[dict[str, Any]]:
    """What makes the reports about each pair of questions, for devices that cannot work it out."""
    return [
        {"name": name, "mechanism": mechanism.to_dict()} for name, mechanism in survey.pairs.items()
    ]


def survey_of(fields: Any) -> Questionnaire:
    """The survey that `described` wrote, checked against the names that it gives itself.

    A device does not trust the collector: it refuses mechanisms whose stated weights do not follow
    from their epsilon, and names that do not match the rest.
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
    pairs, relations = fields.get("pairs", []), fields.get("relations")
    named = relations.get("pairs") if isinstance(relations, Mapping) else None
    # All pairs are many more than questions, so they are counted before they are listed.
    every = math.comb(len(given), 2) if named == ALL else 0
    devices.light(
        [(each.get("name"), each.get("mechanism")) for each in given if isinstance(each, Mapping)],
        max(every, *(len(some) if isinstance(some, list) else 0 for some in (pairs, named))),
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
        relations=fields.get("relations"),
        # Where there are pairs, the survey has an epsilon of its own, which a report about one
        # costs; elsewhere that of each question is enough.
        epsilon=fields.get("epsilon") if "relations" in fields else None,
    )
    many = 0 if survey.relations is None else len(survey.relations.pairs)
    # They are built only if there are as few as was checked.
    same = isinstance(pairs, list) and len(pairs) == many and _pairs(survey) == pairs
    names = fields.get("survey"), fields.get("wording")
    if not same or (survey.fingerprint, survey.worded) != names:
        raise Mismatch(
            "a survey that matches its fingerprint",
            "one that does not",
            "Nothing was drawn. The collector runs another release of confide, or was changed.",
        )
    return survey


def second_of(fields: Mapping[str, Any], survey: Questionnaire) -> Questionnaire | None:
    """The survey of the second phase that `served` wrote; None before it has begun.

    Only the zooms of its questions may differ from the first phase: the promise is that of the
    survey that people were invited to.

    Parameters
    ----------
    fields
        What a collector serves.
    survey
        The survey of the first phase in it.
    """
    given = fields.get("next")
    if survey.phases is None or given is None:
        return None
    second = survey_of(given)
    known = second.phases is not None and second.phases.now == 2
    if not known or second.pilot.worded != survey.worded:
        raise Mismatch(
            "a second phase that differs from the first in the cells of its questions only",
            "another survey",
            "Nothing was drawn. The collector runs another release of confide, or was changed.",
        )
    return second


def check_survey(survey: Questionnaire) -> None:
    """Refuse a survey that devices could not answer."""
    if survey.phases is not None and survey.phases.now != 1:
        raise InvalidInput(
            "the survey of the first phase, now = 1 in [phases]",
            f"now = {survey.phases.now}",
            "The collector moves on to the second phase by itself.",
        )
    if survey.phases is not None and not survey.phases.ends:
        raise InvalidInput(
            "after or until in [phases]: when a collector moves on to the second phase",
            "neither",
            "Write after = 5000 for so many reports of the first phase, until = a date and a time, "
            "or both.",
        )
    pairs = () if survey.relations is None else survey.relations.pairs
    for name in sorted({name for pair in pairs for name in pair}):
        axis = survey.questions[name].axis
        if isinstance(axis, Lattice) and axis.zoom is not None:
            raise InvalidInput(
                f"no zoom for the question {_checks.shown(name)}, which is in a pair",
                'scale = "zoom"',
                "Take a linear scale: a report about a pair says on which side of a threshold an "
                "answer lies, and the cells between do not matter.",
            )
    if survey.times > 1:
        raise InvalidInput(
            "per_person = 1 in [rounds], since the page tells people what one round costs",
            f"per_person = {survey.times}",
            "Make the reports of several rounds from files: confide privatize.",
        )
    mechanisms = survey.mechanisms
    single = [(name, mechanisms[name].to_dict()) for name in survey.questions]
    devices.light(single, len(pairs))
    longest = sorted(survey.questions, key=lambda name: len(json.dumps(name)))[-survey.asks :]
    size = max(
        len(body(survey, "-" * LONGEST, bytes(RECEIPT), reports))
        for reports in (
            {name: mechanisms[name].law.outputs[0] for name in asked}
            for asked in (longest, *([name] for name in survey.pairs))
        )
    )
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
        Recognizes our invitations; None in a survey without invitations.
    second
        Gives the survey of the second phase, once it has begun.
    """

    survey: Questionnaire
    signer: Signer | None
    second: Callable[[], Questionnaire | None] = lambda: None

    def read(self, data: bytes) -> Entry:
        """Read an upload into the part that a store keeps.

        Raises
        ------
        Refused
            With status 413, 422 or 404, if it is not an upload to this survey; with 503, if it may
            answer a phase that this process does not know yet.
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
        survey = self._survey(fields)
        receipt = _receipt(fields["receipt"])
        invitation = self._invitation(fields["invitation"])
        phase = None if survey.phases is None else survey.phases.now
        if invitation is not None and invitation.phase != phase:
            raise Refused(422, "The report answers another phase than that of its invitation.")
        asked = None if invitation is None else invitation.asked
        reports = _reports(fields["reports"], asked, survey)
        token = b"" if invitation is None else invitation.hash
        return Entry(
            invitation=None if invitation is None else invitation.hash,
            receipt=hashlib.sha256(b"confide receipt" + receipt).digest(),
            tie=hashlib.sha256(b"confide tie" + receipt + token).digest(),
            cell="" if invitation is None else invitation.cell,
            reports=reports,
        )

    def _survey(self, fields: Mapping[str, Any]) -> Questionnaire:
        """The survey that an upload answers: that of the first phase or of the second."""
        names, second = (fields["survey"], fields["wording"]), self.second()
        for each in (self.survey, second):
            if each is not None and names == (each.fingerprint, each.worded):
                return each
        if self.survey.phases is not None and second is None:
            # Another process may have moved on to the second phase a moment ago.
            invitation = self._invitation(fields["invitation"])
            if invitation is not None and invitation.phase == 2:
                raise Refused(503, "The second phase has not begun here. Send it again.")
        raise Refused(422, "The report answers another survey, or an older version of this one.")

    def _invitation(self, token: Any) -> Invitation | None:
        if self.signer is None:
            if token is not None:
                raise Refused(422, "This survey takes no invitations: the key must be null.")
            return None
        found = self.signer.read(token) if isinstance(token, str) else None
        if found is None:
            raise Refused(404, "This invitation is not one of this survey.")
        return found


def _reports(given: Any, asked: tuple[int, ...] | None, survey: Questionnaire) -> str:
    """Reports of an upload as a store keeps them."""
    mechanisms = survey.mechanisms
    if asked is not None:
        names = list(mechanisms)
        mechanisms = {names[at]: mechanisms[names[at]] for at in asked}
    if not isinstance(given, dict) or set(given) != set(mechanisms):
        raise Refused(
            422,
            "An upload has one report for each question of the survey."
            if asked is None
            else "An upload has one report for each question, or about the pair, that its "
            "invitation asks, and no others.",
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
