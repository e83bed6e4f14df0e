"""Surveys that ask some people for a pair of questions, from invitations to exports."""

from __future__ import annotations

import base64
import csv
import json
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.collect import wire
from confide.collect.client import Client
from confide.collect.collector import Collector
from confide.collect.exports import export, parquet
from confide.collect.invitations import Signer, link, places, split_link
from confide.collect.live import _estimate, summarized
from confide.collect.owners import described
from confide.collect.people import People, invite
from confide.collect.stores import opened
from confide.collect.verification import verify
from confide.errors import InvalidInput, Mismatch
from confide.mechanisms import PairResponse
from confide.questions import Questionnaire
from confide.results import estimate
from confide.results.telling import opening

from .running import KEY, invited, running

QUESTIONS = {
    "pay": {"low": 0, "high": 100, "size": 32},
    "sick": {"kind": "integer", "low": 0, "high": 20, "prefer_not_to_say": True},
    "smokes": {"categories": ["no", "some", "yes"], "missing": "no"},
}
RELATIONS = {
    "pairs": [["pay", "sick"], ["pay", "smokes"]],
    "share": 0.5,
    "at": {"pay": 50, "sick": 5},
}
FIELDS: dict[str, Any] = {
    "epsilon": 2.0, "ask": 1, "groups": ["region"],
    "relations": RELATIONS, "questions": QUESTIONS,
}  # fmt: skip
SURVEY = Questionnaire.from_dict(FIELDS)
ALL = Questionnaire.from_dict({k: v for k, v in FIELDS.items() if k not in ("ask", "groups")})
SIGNER = Signer(KEY, ALL)
READER = wire.Reader(ALL, SIGNER)
URL = "https://survey.example.org"


def upload(asked: tuple[int, ...], reports: dict[str, Any]) -> bytes:
    token = SIGNER.mint(asked=asked)
    return wire.body(ALL, token, secrets.token_bytes(wire.RECEIPT), reports)


def test_a_link_asks_single_questions_or_one_pair() -> None:
    signer = Signer(KEY, SURVEY)
    for asked in ((0,), (2,), (3,), (4,)):
        token = signer.mint(["north"], asked=asked)
        found = signer.read(token)
        assert found is not None
        assert found.asked == places(token, SURVEY) == asked
    for asked in ((0, 1, 2), (3,), (4,)):
        assert places(SIGNER.mint(asked=asked), ALL) == asked
    for wrong in (None, (), (0,), (0, 1), (3, 4), (0, 3), (5,), (-1,), (True,), (0, 1, 2, 3)):
        with pytest.raises(InvalidInput, match="of 3 questions, in order, or the place of one of"):
            SIGNER.mint(asked=wrong)
        facts = json.dumps({} if wrong is None else {"q": wrong}).encode()
        token = base64.urlsafe_b64encode(b"\x01" + bytes(32) + facts).decode().rstrip("=")
        with pytest.raises(InvalidInput, match="which of the questions it asks"):
            places(token, ALL)


def test_an_upload_has_single_reports_or_one_about_the_pair() -> None:
    entry = READER.read(upload((3,), {"pay & sick": 2}))
    assert json.loads(entry.reports) == {"pay & sick": 2}
    single = {"pay": 1, "sick": 3, "smokes": 0}
    assert json.loads(READER.read(upload((0, 1, 2), single)).reports) == single
    for asked, reports in (
        ((3,), single),
        ((3,), {"pay & smokes": 1}),
        ((3,), {"pay & sick": 1, "pay": 3}),
        ((3,), {"pay & sick": 1, "pay & smokes": 1}),
        ((0, 1, 2), {"pay & sick": 1}),
        ((0, 1, 2), {**single, "pay & sick": 1}),
    ):
        with pytest.raises(wire.Refused, match="that its invitation asks, and no others") as caught:
            READER.read(upload(asked, reports))
        assert caught.value.status == 422
    for wrong in (3, -1, 1.0, True, "1", None):
        with pytest.raises(wire.Refused, match="whole number from 0 to 2"):
            READER.read(upload((3,), {"pay & sick": wrong}))


def test_the_wire_tells_the_pairs_and_what_draws_them() -> None:
    told = json.loads(json.dumps(wire.described(SURVEY)))
    assert told["relations"] == SURVEY.relations.to_dict()  # type: ignore[union-attr]
    assert [one["name"] for one in told["pairs"]] == ["pay & sick", "pay & smokes"]
    assert told["pairs"][0]["mechanism"] == SURVEY.pairs["pay & sick"].to_dict()
    assert told["epsilon"] == 2.0
    found = wire.survey_of(told)
    assert (found.fingerprint, found.worded) == (SURVEY.fingerprint, SURVEY.worded)
    assert found.pairs == SURVEY.pairs
    assert found.relations == SURVEY.relations
    assert "pairs" not in wire.described(Questionnaire.from_dict({**FIELDS, "relations": None}))


def test_a_device_draws_nothing_where_pairs_are_not_those_of_the_survey() -> None:
    told = json.loads(json.dumps(wire.described(SURVEY)))
    first, second = told["pairs"]
    weak = {**first, "mechanism": {**first["mechanism"], "weights": ["9", "1"]}}
    moved = [
        {**told["relations"], "at": {"pay": 60, "sick": 5}},
        {**told["relations"], "share": 0.9},
    ]
    for changed in (
        {"pairs": [weak, second]},
        {"pairs": [second, first]},
        {"pairs": [first]},
        {"pairs": []},
        {"pairs": None},
        {"pairs": "all"},
        *({"relations": each} for each in moved),
    ):
        with pytest.raises(Mismatch, match="Nothing was drawn"):
            wire.survey_of({**told, **changed})
    for without in ("pairs", "relations"):
        with pytest.raises(InvalidInput):
            wire.survey_of({key: told[key] for key in told if key != without})
    with pytest.raises(InvalidInput, match="at most 500 pairs"):
        wire.survey_of({**told, "pairs": [first] * 501})
    for epsilon in (1.0, 4.0, None, "2"):
        with pytest.raises(InvalidInput):
            wire.survey_of({**told, "epsilon": epsilon})


def test_what_cannot_be_served_is_refused_before_anybody_is_invited() -> None:
    wire.check_survey(SURVEY)
    without = {**FIELDS, "relations": {"pairs": [["pay", "sick"]]}}
    with pytest.raises(InvalidInput, match="thresholds for the questions of pairs"):
        wire.check_survey(Questionnaire.from_dict(without))
    words = {"categories": ["no", "yes"]}
    for names, match in (
        ([f"q{at}" for at in range(33)], "at most 500 pairs of questions"),
        (["a" * 9_000, "b" * 9_000], "fit into an upload"),
    ):
        fields = {"epsilon": 1.0, "ask": 1, "relations": {"pairs": "all"}}
        made = Questionnaire.from_dict({**fields, "questions": dict.fromkeys(names, words)})
        with pytest.raises(InvalidInput, match=match):
            wire.check_survey(made)
    with pytest.raises(InvalidInput, match=r"asks some people for a pair.*take \[relations\] out"):
        Collector(ALL, "s.reports", None, cap=100)


def test_invitations_deal_pairs_within_groups(tmp_path: Path) -> None:
    regions = ["north"] * 24 + ["south"] * 12
    people = tmp_path / "people.csv"
    people.write_text("region\n" + "".join(f"{region}\n" for region in regions))
    store, signer = opened(tmp_path / "s.reports", SURVEY, create=True), Signer(KEY, SURVEY)
    to = tmp_path / "links.csv"
    assert invite(People.read(people, SURVEY), SURVEY, signer, store, url=URL, to=to) == 36
    names, often = list(SURVEY.mechanisms), {region: Counter[str]() for region in regions}
    for row in csv.DictReader(to.open()):
        found = signer.read(split_link(row["link"])[1])
        assert found is not None
        assert found.asked is not None
        (at,) = found.asked
        often[row["region"]][names[at]] += 1
    for region, counts in often.items():
        half = regions.count(region) // 2
        assert abs(counts["pay & sick"] + counts["pay & smokes"] - half) <= 1
        assert abs(counts["pay & sick"] - counts["pay & smokes"]) <= 1
    asked = sum(often.values(), Counter[str]())
    status = store.status()
    assert status.asked == asked
    assert sum(status.invited.values()) == 36
    told = described(SURVEY, status)
    assert {one["name"]: one["invited"] for one in told["questions"] + told["pairs"]} == asked
    assert told["pairs"][0]["questions"] == ["pay", "sick"]
    json.dumps(told)
    (tmp_path / "pairs.csv").write_text("region,pay & sick\nnorth,1\n")
    with pytest.raises(InvalidInput, match="the question 'pay & sick'"):
        People.read(tmp_path / "pairs.csv", SURVEY)


def client_of(page: str, token: str, folder: Path) -> Client:
    return Client(link(page, token), folder=folder)


def test_from_invitations_to_counts_and_exports(tmp_path: Path) -> None:
    survey = cf.Survey.from_dict({**FIELDS, "groups": []})
    path = tmp_path / "s.reports"
    tokens = invited(survey, path, tmp_path, 12)
    told: Counter[str] = Counter()
    with running(survey, path) as found:
        assert verify(found.page, survey).holds
        for token in tokens:
            client = client_of(found.page, token, tmp_path / "state")
            answers = {"pay": 30.0, "sick": 9, "smokes": "some"}
            client.answer({name: answers[name] for name in client.asked})
            sent = json.loads(client.drawn() or b"")["reports"]
            assert tuple(sent) == client.reported
            assert len(client.asked) == (2 if client.paired else 1)
            told.update(tuple(sent))
            # The same link sends the same report.
            again = client_of(found.page, token, tmp_path / "state")
            again.answer({name: answers[name] for name in client.asked})
            assert again.drawn() == client.drawn()
    assert told["pay & sick"] == told["pay & smokes"] == 3
    assert sum(told.values()) == 12
    store = opened(path, survey, create=False)
    summaries = summarized(survey, store.tallies())
    assert {name: summaries[name].n for name in summaries} == told
    table = export(store, survey)
    assert table.column_names == list(survey.mechanisms)
    assert {name: table.num_rows - table[name].null_count for name in told} == told
    (tmp_path / "reports.parquet").write_bytes(parquet(table))
    assert pq.read_schema(tmp_path / "reports.parquet").names == list(survey.mechanisms)
    again = cf.summarize(tmp_path / "reports.parquet")
    for name in told:
        assert (again[name].counts == summaries[name].counts).all()


def pair_tokens(survey: Questionnaire, at: int, n: int, path: Path) -> list[str]:
    """So many invitations to one pair, or to one question."""
    signer = Signer(KEY, survey)
    tokens = [signer.mint(asked=(at,)) for _ in range(n)]
    found = [signer.read(token) for token in tokens]
    store = opened(path, survey, create=True)
    store.invite([each.hash for each in found if each is not None], {"": n})
    store.shut()
    return tokens


def test_missing_declined_and_wrong_answers_of_a_pair(tmp_path: Path) -> None:
    survey = Questionnaire.from_dict({**FIELDS, "groups": [], "epsilon": 60.0})
    path = tmp_path / "s.reports"
    tokens = pair_tokens(survey, 3, 3, path) + pair_tokens(survey, 4, 3, path)
    with running(survey, path) as found:
        for wrong, match in (
            ({"pay": 3, "smokes": "no"}, "answers to what this link asks: 'pay', 'sick'"),
            ({"sick": 3}, "an answer to 'pay'"),
            ({"pay": None, "sick": 3}, "an answer to 'pay'"),
            ({"pay": "a lot", "sick": 3}, "numbers"),
            ({"pay": 3, "sick": 3.5}, "whole"),
            ({"pay": 3, "shoes": 3}, "known keys in the answers"),
        ):
            client = Client(link(found.page, tokens[0]), folder=tmp_path, most=100)
            with pytest.raises(InvalidInput, match=match):
                client.answer(wrong)
            assert client.drawn() is None

        def sent(token: str, answers: dict[str, Any]) -> dict[str, int]:
            client = Client(link(found.page, token), folder=tmp_path, most=100)
            client.answer(answers)
            reports: dict[str, int] = json.loads(client.drawn() or b"")["reports"]
            return reports

        # At epsilon 60 a report is what holds.
        assert sent(tokens[0], {"pay": 70, "sick": 3}) == {"pay & sick": 1}
        assert sent(tokens[1], {"pay": 70, "sick": 5}) == {"pay & sick": 0}
        assert sent(tokens[2], {"pay": 70}) == {"pay & sick": 2}
        assert sent(tokens[3], {"pay": 70}) == {"pay & smokes": 3}
        assert sent(tokens[4], {"pay": 7, "smokes": "yes"}) == {"pay & smokes": 2}
        assert sent(tokens[5], {"pay": 70, "smokes": "some"}) == {"pay & smokes": 4}


def test_many_answers_through_the_client_recover_a_correlation(tmp_path: Path) -> None:
    """The device of each of these people draws with the system's entropy."""
    questions = {name: {"low": -4, "high": 4, "size": 64} for name in ("x", "y")}
    survey = cf.Survey.from_dict(
        {"epsilon": 6.0, "ask": 1, "questions": questions,
         "relations": {"pairs": [["x", "y"]], "share": 0.6, "at": {"x": 0, "y": 0}}}
    )  # fmt: skip
    generator, n, rho = np.random.default_rng(5), 500, 0.8
    x = generator.normal(size=n)
    y = rho * x + np.sqrt(1 - rho**2) * generator.normal(size=n)
    path = tmp_path / "s.reports"
    tokens = invited(survey, path, tmp_path, n)
    with running(survey, path) as found:
        described = wire.survey_of(json.loads(json.dumps(wire.described(survey))))
        for token, *both in zip(tokens, x.tolist(), y.tolist(), strict=True):
            client = client_of(found.page, token, tmp_path / "state")
            # Fetched once, not by each of them.
            client.__dict__.update(survey=described, _served={"closed": False})
            answers = dict(zip(("x", "y"), both, strict=True))
            client.answer({name: answers[name] for name in client.asked})
    store = opened(path, survey, create=False)
    summaries = summarized(survey, store.tallies())
    assert summaries["x & y"].n == 300
    (one,) = survey.relate(summaries).relations
    assert one.low < rho < one.high
    assert abs(one.correlation - rho) < 0.2
    (tmp_path / "reports.parquet").write_bytes(parquet(export(store, survey)))
    again = survey.relate(cf.summarize(tmp_path / "reports.parquet"))
    assert again["x", "y"].correlation == one.correlation
    # The dashboard has it while reports come in.
    live = json.loads(_estimate(survey, summaries, 0.95, True, ""))
    assert live["quick"]
    (told,) = live["relations"]
    assert told["questions"] == ["x", "y"]
    assert told["low"] < rho < told["high"]


def test_relations_while_the_first_reports_arrive() -> None:
    pair = SURVEY.pairs["pay & sick"]
    assert isinstance(pair, PairResponse)
    few = {'["north"]': {"pay & sick": {0: 1}, "pay": {3: 2}}}
    live = json.loads(_estimate(SURVEY, summarized(SURVEY, few), 0.95, True, ""))
    assert "relations" not in live
    # People who were asked for a pair count, and the page says that the pair is missing.
    results = estimate(SURVEY, summarized(SURVEY, few))
    assert (results.n, results.paired) == (3, 1)
    assert type(results).from_dict(results.to_dict()).n == 3
    assert any("1 person sent a report about a pair" in text for text in opening(results))
    single = {
        name: Counter(SURVEY.mechanisms[name].simulate([each] * 400, seed=1).indices.tolist())
        for name, each in (("pay", 40), ("sick", 5))
    }
    many = {'["north"]': {"pay & sick": {2: 1}, **single}}
    live = json.loads(_estimate(SURVEY, summarized(SURVEY, many), 0.95, True, ""))
    (one,) = live["relations"]
    assert one["n"] == 1
    assert (one["low"], one["high"]) == (-1, 1)
