"""A survey, people who were invited to it, and what their devices send."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from dataclasses import dataclass, field

from confide.collect import wire
from confide.collect.invitations import Signer
from confide.collect.stores import Store
from confide.questions import Questionnaire

SURVEY = {
    "groups": ["region"],
    "questions": {
        "pay": {"low": 0, "high": 300_000, "epsilon": 1.0},
        "smokes": {"categories": ["no", "yes"], "epsilon": 0.5},
    },
}
REGIONS = ("north", "south")
HEAD = (
    "POST /reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    "content-length: {}\r\n\r\n"
)


@dataclass
class People:
    """Invitations of one survey, and uploads of those who have them."""

    survey: Questionnaire = field(default_factory=lambda: Questionnaire.from_dict(SURVEY))
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def __post_init__(self) -> None:
        self.signer = Signer(self.key, self.survey)
        self.reader = wire.Reader(self.survey, self.signer)

    def invite(self, store: Store, n: int) -> list[str]:
        """Mint tokens and admit them to a store."""
        tokens = [self.signer.mint([REGIONS[number % len(REGIONS)]]) for number in range(n)]
        found = [self.signer.read(token) for token in tokens]
        known = [invitation for invitation in found if invitation is not None]
        cells = Counter(invitation.cell for invitation in known)
        store.invite([invitation.hash for invitation in known], cells)
        return tokens

    def upload(self, token: str | None) -> bytes:
        """The body that a device sends, with reports that are drawn here."""
        outputs = {name: each.law.outputs[0] for name, each in self.survey.mechanisms.items()}
        reports = {name: random.randrange(most) for name, most in outputs.items()}
        return wire.body(self.survey, token, secrets.token_bytes(wire.RECEIPT), reports)

    def entry(self, body: bytes) -> wire.Entry:
        """What a store is given of an upload."""
        return self.reader.read(body)


def request(body: bytes) -> bytes:
    """An upload as it goes over the wire."""
    return HEAD.format(len(body)).encode() + body
