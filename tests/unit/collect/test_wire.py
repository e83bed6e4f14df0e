"""Uploads: what is accepted, and that everything else is refused before any disk is touched."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.collect import devices, static, wire
from confide.collect.collector import Collector
from confide.collect.invitations import Signer
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import PairResponse
from confide.questions import Questionnaire

SURVEY = Questionnaire.from_dict(
    {
        "title": "Staff",
        "title_de": "Personal",
        "groups": ["region"],
        "closes": "2027-01-31T18:00:00Z",
        "questions": {
            "pay": {"text": "Pay?", "unit": "EUR", "low": 0, "high": 9, "size": 8, "epsilon": 1.0},
            "smokes": {"categories": ["no", "yes"], "labels": ["No", "Yes"], "epsilon": 0.5},
            "age": {"mechanism": "laplace", "low": 0, "high": 99, "epsilon": 1.0, "missing": 40},
        },
    }
)
SIGNER = Signer(bytes(32), SURVEY)
READER = wire.Reader(SURVEY, SIGNER)
OPEN = wire.Reader(SURVEY, None)
REPORTS = {"pay": 3, "smokes": 1, "age": 17}
RECEIPT = bytes(range(16))


def upload(**change: Any) -> bytes:
    token = SIGNER.mint(["north"])
    fields = json.loads(wire.body(SURVEY, token, RECEIPT, REPORTS))
    return json.dumps(fields | change).encode()


def test_an_upload_is_read() -> None:
    token = SIGNER.mint(["north"])
    entry = READER.read(wire.body(SURVEY, token, RECEIPT, REPORTS))
    found = SIGNER.read(token)
    assert found is not None
    assert entry.invitation == found.hash
    assert entry.cell == '["north"]'
    assert json.loads(entry.reports) == REPORTS
    # Neither the token nor the receipt is in what a store is given.
    text = repr((entry.invitation, entry.receipt, entry.tie, entry.cell, entry.reports))
    assert token not in text
    assert repr(RECEIPT)[2:-1] not in text


def test_the_same_upload_makes_the_same_entry_whatever_its_spelling() -> None:
    data = wire.body(SURVEY, SIGNER.mint(["north"]), RECEIPT, REPORTS)
    spaced = json.dumps(dict(reversed(json.loads(data).items())), indent=2).encode()
    assert READER.read(data) == READER.read(spaced)


def test_receipt_and_invitation_make_the_tie() -> None:
    one, other = SIGNER.mint(["north"]), SIGNER.mint(["north"])
    first = READER.read(wire.body(SURVEY, one, RECEIPT, REPORTS))
    for token, receipt in ((other, RECEIPT), (one, bytes(16))):
        second = READER.read(wire.body(SURVEY, token, receipt, REPORTS))
        assert second.tie != first.tie


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"version": 2}, 422, "version 1"),
        ({"version": True}, 422, "version 1"),
        ({"version": 1.0}, 422, "version 1"),
        ({"survey": "0" * 32}, 422, "another survey"),
        ({"wording": "0" * 32}, 422, "another survey"),
        ({"survey": None}, 422, "another survey"),
        ({"invitation": None}, 404, "not one of this survey"),
        ({"invitation": "A" * 44}, 404, "not one of this survey"),
        ({"invitation": 7}, 404, "not one of this survey"),
        ({"invitation": ["x"]}, 404, "not one of this survey"),
        ({"receipt": "AA"}, 422, "A receipt is"),
        ({"receipt": "A" * 23}, 422, "A receipt is"),
        ({"receipt": "AAAAAAAAAAAAAAAAAAAAAB"}, 422, "A receipt is"),
        ({"receipt": 3}, 422, "A receipt is"),
        ({"receipt": "ä" * 22}, 422, "A receipt is"),
        ({"reports": {}}, 422, "one report for each question"),
        ({"reports": []}, 422, "one report for each question"),
        ({"reports": REPORTS | {"x": 1}}, 422, "one report for each question"),
        ({"reports": REPORTS | {"pay": True}}, 422, "report to 'pay'"),
        ({"reports": REPORTS | {"pay": 1.0}}, 422, "report to 'pay'"),
        ({"reports": REPORTS | {"pay": "1"}}, 422, "report to 'pay'"),
        ({"reports": REPORTS | {"pay": None}}, 422, "report to 'pay'"),
        ({"reports": REPORTS | {"pay": -1}}, 422, "report to 'pay'"),
        ({"reports": REPORTS | {"smokes": 2}}, 422, "from 0 to 1"),
        ({"reports": REPORTS | {"age": 1024}}, 422, "from 0 to 1023"),
        ({"reports": REPORTS | {"age": 10**400}}, 422, ""),
        ({"more": 1}, 422, "exactly the keys"),
    ],
)
def test_what_is_no_upload(change: dict[str, Any], status: int, reason: str) -> None:
    with pytest.raises(wire.Refused) as caught:
        READER.read(upload(**change))
    assert caught.value.status == status
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"version":1,"version":1}', b"[" * 10_000, b"NaN"],
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(wire.Refused) as caught:
        READER.read(data)
    assert caught.value.status == 422


def test_a_large_upload_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(wire.Refused) as caught:
        READER.read(b"[" * (wire.LARGEST + 1))
    assert caught.value.status == 413


def test_a_survey_that_takes_anybody_takes_no_invitation() -> None:
    data = wire.body(SURVEY, None, RECEIPT, REPORTS)
    entry = OPEN.read(data)
    assert (entry.invitation, entry.cell) == (None, "")
    with pytest.raises(wire.Refused, match="takes no invitations"):
        OPEN.read(upload())


def test_the_survey_comes_back() -> None:
    text = json.dumps(wire.described(SURVEY))
    assert wire.survey_of(json.loads(text)) == SURVEY


def test_what_answers_mean_comes_back() -> None:
    days = {"kind": "integer", "low": 0, "high": 60, "high_open": True, "prefer_not_to_say": True}
    rating = {"categories": ["bad", "good"], "ordered": True}
    survey = Questionnaire.from_dict({"epsilon": 1.0, "questions": {"days": days, "how": rating}})
    found = wire.survey_of(json.loads(json.dumps(wire.described(survey))))
    assert found.worded == survey.worded
    assert found.questions == survey.questions
    assert found.questions["days"].high_open
    assert found.questions["how"].ordered


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"title": "Another"}, Mismatch),
        ({"survey": "0" * 32}, Mismatch),
        ({"wording": "0" * 32}, Mismatch),
        ({"version": 2}, InvalidInput),
        ({"confide": "counts"}, InvalidInput),
        ({"questions": []}, InvalidInput),
        ({"questions": [3]}, InvalidInput),
    ],
)
def test_a_served_survey_that_was_changed_is_refused(
    change: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        wire.survey_of(wire.described(SURVEY) | change)


def test_weaker_noise_than_declared_is_refused() -> None:
    served = wire.described(SURVEY)
    near, far = served["questions"][0]["mechanism"]["weights"]
    served["questions"][0]["mechanism"]["weights"] = [str(2 * int(near)), far]
    with pytest.raises(InvalidInput, match="cannot be vouched for"):
        wire.survey_of(served)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(wire.KEYS), inner, max_size=6)
    ),
    max_leaves=12,
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(fields=JSON)
def test_whatever_comes_it_is_an_entry_or_a_reason(fields: Any) -> None:
    for data in (json.dumps(fields).encode(), upload(reports=fields), upload(receipt=fields)):
        refused = None
        try:
            READER.read(data)
        except wire.Refused as error:
            refused = error
        if refused is not None:
            assert refused.status in (404, 413, 422)
            assert refused.reason.endswith(".")


WORDS = [f"w{at}" for at in range(devices.MOST_CELLS + 1)]


@pytest.mark.parametrize(
    ("questions", "sentence"),
    [
        ([("q", {"lattice": {"size": 2**17}})] * 3, "at most 262,144 cells"),
        ([("q", {"mechanism": "randomized-response", "categories": WORDS})], "at most 262,144"),
        ([("q", {})] * 501, "at most 500 questions"),
        ([("pay", {"mechanism": "two-sided-gamma"})], "for the question 'pay', got 'two-sided"),
        ([("pay", {"mechanism": ["laplace"]})], "for the question 'pay'"),
        ([("pay", None)], "for the question 'pay'"),
    ],
)
def test_a_survey_that_would_keep_a_device_busy_is_refused_before_it_is_built(
    questions: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = wire.described(SURVEY)
    fields["questions"] = [
        {"name": name, "mechanism": own and {"mechanism": "square-wave", **own}}
        for name, own in questions
    ]
    monkeypatch.setattr(wire.register, "from_dict", lambda _: pytest.fail("It was built."))
    with pytest.raises(InvalidInput, match=sentence):
        wire.survey_of(fields)


def test_surveys_that_devices_cannot_answer_are_not_served() -> None:
    gamma = {"low": 0, "high": 9, "shape": 1.0, "noise_scale": 20.0, "mechanism": "two-sided-gamma"}
    pay = {"low": 0, "high": 9, "epsilon": 1.0}
    wire.check_survey(SURVEY)
    for questions, sentence in (
        ({"pay": gamma}, r"\(square-wave, laplace, randomized-response\) for .* 'pay'"),
        ({"pay": {**pay, "size": 2**19}}, "at most 262,144 cells"),
        ({f"{at}{'x' * 100}": pay for at in range(200)}, "fit into an upload"),
    ):
        survey = Questionnaire.from_dict({"questions": questions})
        with pytest.raises(InvalidInput, match=sentence):
            wire.check_survey(survey)
        with pytest.raises(InvalidInput, match=sentence):
            Collector(survey, "s.reports", bytes(32))


def test_devices_have_these_mechanisms() -> None:
    source = (static.root() / "device" / "device.js").read_text()
    table = source[source.index("export const KINDS") :].partition("\n};")[0]
    found = re.findall(r"^  \"?([a-z-]+)\"?\(spec\) \{$", table, re.MULTILINE)
    assert sorted(found) == sorted([*devices.MECHANISMS, PairResponse.name])


def test_a_deadline_in_no_year_is_refused() -> None:
    fields = wire.described(SURVEY)
    with pytest.raises(InvalidInput, match="the years 1 to 9999"):
        wire.survey_of(fields | {"closes": "0001-01-01T00:00:00+14:00"})


def test_phases_and_rounds_are_told_to_devices() -> None:
    fields = {"epsilon": 1.0, "questions": {"pay": {"low": 0, "high": 9}}}
    for more in ({"rounds": {"count": 3}}, {"phases": {"until": "2099-01-31T18:00:00+01:00"}}):
        survey = Questionnaire.from_dict({**fields, **more})
        wire.check_survey(survey)
        found = wire.survey_of(wire.described(survey))
        assert (found.rounds, found.phases) == (survey.rounds, survey.phases)
        assert found.spend == survey.spend
