"""Surveys that ask each person some of the questions: invitations, uploads, counts and exports."""

from __future__ import annotations

import base64
import csv
import json
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.collect import wire
from confide.collect.client import Client
from confide.collect.collector import Collector
from confide.collect.exports import export, parquet
from confide.collect.invitations import Signer, decoded, link, places, split_link
from confide.collect.live import summarized
from confide.collect.owners import described
from confide.collect.people import People, invite
from confide.collect.stores import opened
from confide.collect.verification import verify
from confide.errors import InvalidInput
from confide.questions import Questionnaire
from confide.results import estimate

from .running import KEY, invited, running

QUESTIONS = {
    "pay": {"low": 0, "high": 9, "size": 8},
    "smokes": {"categories": ["no", "yes"]},
    "age": {"low": 0, "high": 99, "size": 16, "missing": 40},
    "rent": {"low": 0, "high": 9, "size": 8},
}
ONE = Questionnaire.from_dict(
    {"epsilon": 2.0, "ask": 1, "groups": ["region"], "questions": QUESTIONS}
)
TWO = Questionnaire.from_dict({"epsilon": 2.0, "ask": 2, "questions": QUESTIONS})
ALL = Questionnaire.from_dict({"epsilon": 2.0, "questions": QUESTIONS})
SIGNER = Signer(KEY, TWO)
READER = wire.Reader(TWO, SIGNER)
URL = "https://survey.example.org"
ANSWERS = {"pay": 3, "smokes": "no", "age": 30, "rent": 4}


def upload(asked: tuple[int, ...], reports: dict[str, Any]) -> bytes:
    token = SIGNER.mint(asked=asked)
    return wire.body(TWO, token, secrets.token_bytes(wire.RECEIPT), reports)


def test_a_token_carries_what_is_asked() -> None:
    token = SIGNER.mint(asked=(0, 3))
    found = SIGNER.read(token)
    assert found is not None
    assert (found.groups, found.asked) == ((), (0, 3))
    raw = decoded(token)
    assert raw is not None
    assert raw[33:] == b'{"q":[0,3]}'
    assert places(token, TWO) == (0, 3)
    both = Signer(KEY, ONE).mint(["north"], asked=[2])
    raw = decoded(both)
    assert raw is not None
    assert raw[33:] == b'{"g":["north"],"q":[2]}'


@pytest.mark.parametrize(
    "asked", [None, (), (0,), (0, 1, 2), (1, 0), (0, 0), (0, 4), (-1, 0), (0, True), (0, 1.0), "01"]
)
def test_nobody_is_asked_another_number_of_questions(asked: Any) -> None:
    with pytest.raises(InvalidInput, match="the places of 2 of 4 questions, in order"):
        SIGNER.mint(asked=asked)
    facts = json.dumps({} if asked is None else {"q": asked}).encode()
    token = base64.urlsafe_b64encode(b"\x01" + bytes(32) + facts).decode().rstrip("=")
    with pytest.raises(InvalidInput, match="which of the questions it asks"):
        places(token, TWO)


def test_where_all_are_asked_no_link_says_otherwise() -> None:
    with pytest.raises(InvalidInput, match="asks everybody all of them"):
        Signer(KEY, ALL).mint(asked=(0, 1))
    with pytest.raises(InvalidInput, match="as the survey does"):
        places(SIGNER.mint(asked=(0, 1)), ALL)
    assert places(Signer(KEY, ALL).mint(), ALL) is None
    assert places(None, ALL) is None


def test_an_upload_answers_exactly_what_was_asked() -> None:
    entry = READER.read(upload((0, 2), {"pay": 1, "age": 3}))
    assert json.loads(entry.reports) == {"age": 3, "pay": 1}
    for reports in (
        {"pay": 1, "smokes": 1},
        {"pay": 1},
        {"pay": 1, "age": 3, "smokes": 0},
        {"pay": 1, "smokes": 1, "age": 3, "rent": 2},
        {"pay": 1, "age": 3, "rent": None},
        {},
    ):
        with pytest.raises(wire.Refused, match="that its invitation asks, and no others") as caught:
            READER.read(upload((0, 2), reports))
        assert caught.value.status == 422
    with pytest.raises(wire.Refused, match="report to 'age'") as caught:
        READER.read(upload((0, 2), {"pay": 1, "age": None}))
    assert caught.value.status == 422


def test_a_forged_assignment_is_no_invitation() -> None:
    raw = decoded(SIGNER.mint(asked=(0, 2)))
    assert raw is not None
    for facts in (b'{"q":[0,1]}', b'{"q":[0,1,2,3]}', b"", b'{"q":[0,2],"g":[]}', b'{"q":[0,2] }'):
        forged = base64.urlsafe_b64encode(raw[:33] + facts).decode().rstrip("=")
        reports = {"pay": 1, "smokes": 1}
        data = wire.body(TWO, forged, bytes(wire.RECEIPT), reports)
        with pytest.raises(wire.Refused) as caught:
            READER.read(data)
        assert caught.value.status == 404


def test_a_survey_that_asks_more_is_another_one() -> None:
    token = Signer(KEY, TWO).mint(asked=(0, 1))
    three = Questionnaire.from_dict(
        {"ask": 3, "questions": {name: {**one, "epsilon": 1.0} for name, one in QUESTIONS.items()}}
    )
    assert Signer(KEY, three).read(token) is None
    turned = Questionnaire.from_dict(
        {"epsilon": 2.0, "ask": 2, "questions": dict(reversed(QUESTIONS.items()))}
    )
    assert Signer(KEY, turned).read(token) is None


def test_the_wire_tells_how_many_are_asked() -> None:
    told = wire.described(TWO)
    assert told["ask"] == 2
    assert told["epsilon"] == 2.0
    assert "ask" not in wire.described(ALL)
    found = wire.survey_of(json.loads(json.dumps(told)))
    assert found.ask == 2
    assert (found.fingerprint, found.worded) == (TWO.fingerprint, TWO.worded)
    for ask in (None, 1, 3):
        with pytest.raises(InvalidInput):
            wire.survey_of({**told, "ask": ask})


def test_invitations_are_balanced_within_groups(tmp_path: Path) -> None:
    regions = ["north"] * 10 + ["south"] * 7 + ["west"] * 3
    people = tmp_path / "people.csv"
    people.write_text("name,region\n" + "".join(f"p{i},{r}\n" for i, r in enumerate(regions)))
    store, signer = opened(tmp_path / "s.reports", ONE, create=True), Signer(KEY, ONE)
    names = list(QUESTIONS)
    total: Counter[str] = Counter()
    for call in range(2):
        to = tmp_path / f"links{call}.csv"
        assert invite(People.read(people, ONE), ONE, signer, store, url=URL, to=to) == 20
        often: dict[str, Counter[str]] = {region: Counter() for region in regions}
        for row in csv.DictReader(to.open()):
            found = signer.read(split_link(row["link"])[1])
            assert found is not None
            assert found.asked is not None
            assert found.groups == (row["region"],)
            often[row["region"]].update(names[at] for at in found.asked)
        for counts in often.values():
            every = [counts[name] for name in names]
            assert max(every) - min(every) <= 1
        asked = sum(often.values(), Counter())
        assert set(asked.values()) == {5}
        total += asked
    status = store.status()
    assert status.asked == total
    assert sum(status.invited.values()) == 40
    assert set(status.invited) == {'["north"]', '["south"]', '["west"]'}


def test_from_invitations_to_counts_and_exports(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    tokens = invited(TWO, path, tmp_path, 12)
    with running(TWO, path) as found:
        for number, token in enumerate(tokens[:10]):
            client = Client(link(found.page, token), folder=tmp_path / "state")
            asked = client.asked
            assert len(asked) == 2
            client.answer({name: ANSWERS[name] for name in asked})
            sent = json.loads(client.drawn() or b"")["reports"]
            assert tuple(sorted(sent)) == tuple(sorted(asked))
            # A second look at the link asks the same.
            assert Client(client.link, folder=tmp_path / str(number)).asked == asked
        client = Client(link(found.page, tokens[10]), folder=tmp_path / "state")
        with pytest.raises(InvalidInput, match="answers to what this link asks") as caught:
            client.answer(ANSWERS)
        assert "Nothing was drawn" in str(caught.value)
        assert client.drawn() is None
        with pytest.raises(InvalidInput, match="known keys in the answers"):
            client.answer({"shoes": 3})
        assert verify(found.page, TWO).wording
        assert not verify(found.page, ALL).mechanisms
    store = opened(path, TWO, create=False)
    status = store.status()
    assert sum(status.answered.values()) == 10
    assert set(status.asked.values()) == {6}
    summaries = summarized(TWO, store.tallies())
    counts = {name: summaries[name].n for name in summaries}
    assert sum(counts.values()) == 20
    table = export(store, TWO)
    assert {name: table.num_rows - table[name].null_count for name in QUESTIONS} == counts
    (tmp_path / "reports.parquet").write_bytes(parquet(table))
    assert pq.read_schema(tmp_path / "reports.parquet").names == list(QUESTIONS)
    again = cf.summarize(tmp_path / "reports.parquet")
    for name in QUESTIONS:
        assert (again[name].counts == summaries[name].counts).all()
    state = described(TWO, status)
    assert state["ask"] == 2
    assert [one["invited"] for one in state["questions"]] == [6] * 4
    assert state["answered"] == 10
    json.dumps(state)
    store.close()
    assert opened(path, TWO, create=False).status().asked == status.asked


def test_estimates_while_reports_arrive() -> None:
    tallies = {'["north"]': {"pay": {0: 3, 1: 2}}, '["south"]': {"smokes": {1: 4}}}
    summaries = summarized(ONE, tallies, cells=['["west"]'])
    found = estimate(ONE, summaries)
    assert {name: found[name].n for name in ONE.questions} == {
        "pay": 5, "smokes": 4, "age": 0, "rent": 0,
    }  # fmt: skip
    assert found["age"].reason == "No reports yet."
    assert {key: one.n for key, one in found["pay"].groups["region"].items()} == {
        "north": 5, "south": 0, "west": 0,
    }  # fmt: skip
    json.dumps(found.to_dict())


def test_hostile_uploads_over_http(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(TWO, path, tmp_path, 1)
    mine = places(token, TWO)
    assert mine is not None
    names = list(QUESTIONS)
    right = {names[at]: 0 for at in mine}
    other = {name: 0 for name in names if name not in right}
    forged = base64.urlsafe_b64encode(
        (decoded(token) or b"")[:33] + json.dumps({"q": [0, 1]}).encode() + b" "
    )
    with running(TWO, path) as found:
        from confide.collect.client import _post

        def sent(own: str, reports: dict[str, int]) -> int | None:
            data = wire.body(TWO, own, secrets.token_bytes(wire.RECEIPT), reports)
            return _post(found.page + "reports", data)[0]

        assert sent(token, other) == 422
        assert sent(token, right | other) == 422
        assert sent(token, dict(list(right.items())[:1])) == 422
        assert sent(forged.decode().rstrip("="), {"pay": 0, "smokes": 0}) == 404
        assert sent(token, right) == 201
        assert sent(token, right) == 409


def test_without_invitations_nobody_can_be_asked_a_part() -> None:
    with pytest.raises(InvalidInput, match=r"asks each person 2 of 4.*invite people"):
        Collector(TWO, "s.reports", None, cap=100)
    Collector(ALL, "s.reports", None, cap=100)
