"""The device in Python: it draws once, whatever happens between it and the collector."""

import contextlib
import json
import os
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from confide.collect import client, wire
from confide.collect.client import Client, Unacknowledged
from confide.collect.collector import Collector
from confide.collect.invitations import Signer, link, split_link
from confide.collect.people import People, invite
from confide.collect.stores import opened
from confide.errors import InvalidInput
from confide.questions import Questionnaire

from .running import KEY, invited, running

SURVEY = Questionnaire.from_dict(
    {
        "title": "Staff",
        "questions": {
            "pay": {"low": 0, "high": 300_000, "epsilon": 1.0},
            "smokes": {"categories": ["no", "yes"], "epsilon": 1.0, "missing": "no"},
        },
    }
)


def test_one_answer_is_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    token, other = invited(SURVEY, path, tmp_path, 2)
    with running(SURVEY, path) as found:
        client = Client(link(found.page, token), folder=tmp_path / "state")
        assert client.survey == SURVEY
        receipt = client.answer({"pay": 52_000, "smokes": "yes"})
        # Another answer, by mistake or not, sends what was drawn before.
        assert client.answer({"pay": 1, "smokes": "no"}) == receipt
        assert Client(client.link, folder=tmp_path / "state").answer({}) == receipt
        # A second device draws anew, and is refused.
        with pytest.raises(wire.Refused, match=r"used before.*did not count it") as caught:
            Client(client.link, folder=tmp_path / "else").answer({"pay": 5})
        assert caught.value.status == 409
        assert Client(link(found.page, other), folder=tmp_path / "state").answer({"pay": 5})
    store = opened(path, SURVEY, create=False)
    rows = list(store.rows())
    assert len(rows) == 2
    sent = json.loads(client.drawn() or b"")
    assert sent["reports"] in [reports for _, reports in rows]


@pytest.mark.parametrize(
    "more", [{"rounds": {"count": 3}}, {"phases": {"after": 1000, "until": "2099-01-01T00:00:00Z"}}]
)
def test_surveys_with_rounds_or_phases_are_answered(more: dict[str, Any], tmp_path: Path) -> None:
    fields = {"epsilon": 1.0, "questions": {"pay": {"low": 0, "high": 9}}, **more}
    survey, path, to = Questionnaire.from_dict(fields), tmp_path / "s.reports", tmp_path / "l.csv"
    store = opened(path, survey, create=True)
    people = People(("person", "round", "phase"), [{"person": "a", "round": "1", "phase": "1"}])
    twice = People(people.columns, [*people.rows, {"person": "A ", "round": "2", "phase": "1"}])
    make = {"url": "http://127.0.0.1:1", "to": to}
    with pytest.raises(InvalidInput, match="each person in"):
        invite(twice, survey, Signer(KEY, survey), store, **make)  # type: ignore[arg-type]
    invite(people, survey, Signer(KEY, survey), store, **make)  # type: ignore[arg-type]
    store.shut()
    token = split_link(to.read_text().split(",")[-1].strip())[1]
    with running(survey, path) as found:
        client = Client(link(found.page, token), folder=tmp_path / "state")
        assert client.survey.spend == survey.spend
        assert client.answer({"pay": 5})
    (row,) = opened(path, survey, create=False).rows()
    assert set(row[1]) == {"pay"}
    with pytest.raises(InvalidInput, match="where anybody may answer"):
        Collector(survey, "s.reports", None, cap=3)


def test_what_is_kept_holds_no_answer_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    with running(SURVEY, path) as found:
        client = Client(link(found.page, token), folder=tmp_path / "state")
        client.answer({"pay": 123_456.75, "smokes": "yes"})
    (kept,) = (tmp_path / "state").iterdir()
    assert "123456" not in kept.read_text()
    assert set(json.loads(kept.read_text())) == set(wire.KEYS)
    if os.name == "posix":
        assert kept.stat().st_mode & 0o777 == 0o600
        assert kept.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({}, "an answer to 'pay'"),
        ({"pay": None}, "an answer to 'pay'"),
        ({"pay": "many"}, "numbers in values"),
        ({"pay": float("nan")}, "finite numbers"),
        ({"pay": 1, "smokes": "sometimes"}, "answers among"),
        ({"pay": 1, "shoes": 3}, "known keys in the answers"),
    ],
)
def test_answers_that_are_none_draw_and_send_nothing(
    tmp_path: Path, answers: dict[str, object], sentence: str
) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    with running(SURVEY, path) as found:
        client = Client(link(found.page, token), folder=tmp_path / "state")
        with pytest.raises(InvalidInput, match=sentence):
            client.answer(answers)
        assert client.drawn() is None
    assert list(opened(path, SURVEY, create=False).rows()) == []


def test_links_that_are_none(tmp_path: Path) -> None:
    for bad in ("http://example.org/#x", "not a link", "https://a.example/#AAAA"):
        with pytest.raises(InvalidInput):
            Client(bad, folder=tmp_path).answer({"pay": 1})
    path = tmp_path / "s.reports"
    invited(SURVEY, path, tmp_path, 1)
    with (
        running(SURVEY, path) as found,
        pytest.raises(InvalidInput, match="the link of an invitation"),
    ):
        Client(found.page, folder=tmp_path / "state").answer({"pay": 1})
    # Nobody listens there any more.
    with pytest.raises(InvalidInput, match="an answer from"):
        Client(found.page, folder=tmp_path / "state").answer({"pay": 1})


def test_a_closed_survey_draws_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    opened(path, SURVEY, create=False).close()
    with running(SURVEY, path) as found:
        client = Client(link(found.page, token), folder=tmp_path / "state")
        with pytest.raises(wire.Refused, match="ended") as caught:
            client.answer({"pay": 1})
        assert caught.value.status == 410
        assert client.drawn() is None


class Flaky(BaseHTTPRequestHandler):
    """Loses the first replies: it takes an upload and hangs up, or asks to come again."""

    taken: list[bytes]
    survey: bytes

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.survey)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        self.taken.append(data)
        if len(self.taken) == 1:
            return
        self.send_response(503 if len(self.taken) == 2 else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def flaky() -> Iterator[HTTPServer]:
    Flaky.taken = []
    Flaky.survey = json.dumps(wire.described(SURVEY, invited=False)).encode()
    server = HTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_lost_replies_send_the_same_bytes(
    tmp_path: Path, flaky: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.collect.client.PAUSES", (0.01,))
    client = Client(f"http://127.0.0.1:{flaky.server_port}", folder=tmp_path)
    client.answer({"pay": 7})
    assert len(Flaky.taken) == 3
    assert len(set(Flaky.taken)) == 1


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be synced")
def test_the_disk_has_the_upload_and_its_name_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses power after sending must not draw again."""
    done: list[str] = []
    sync = os.fsync

    def synced(handle: int) -> None:
        found = os.fstat(handle)
        folder = stat.S_ISDIR(found.st_mode)
        named = any((tmp_path / "state").glob("*.json"))
        done.append("name" if folder and named else "folder" if folder else "file")
        sync(handle)

    def sent(*_: object) -> tuple[int, str, float]:
        done.append("sent")
        return 201, "", 0.0

    (token,) = invited(SURVEY, tmp_path / "s.reports", tmp_path, 1)
    with running(SURVEY, tmp_path / "s.reports") as found:
        asked = Client(link(found.page, token), folder=tmp_path / "state")
        asked.check()
    monkeypatch.setattr(client, "_post", sent)
    monkeypatch.setattr(os, "fsync", synced)
    asked.answer({"pay": 5})
    assert done == ["file", "name", "sent"]


def test_a_report_is_kept_in_one_place_wherever_the_program_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    client = Client("https://survey.example.org/#")
    for own, folder in (("state", "home/.local/state"), ("", "home/.local/state"), ("/s", "/s")):
        monkeypatch.setenv("XDG_STATE_HOME", own)
        found = Client(client.link)._path
        assert found.parent == tmp_path / folder / "confide" / "answers"


def test_impatience_keeps_the_report_for_the_next_run(
    tmp_path: Path, flaky: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.collect.client.PAUSES", (0.01,))
    url = f"http://127.0.0.1:{flaky.server_port}"
    with pytest.raises(Unacknowledged, match="the same report is sent"):
        Client(url, folder=tmp_path, patience=0.0).answer({"pay": 7})
    assert Client(url, folder=tmp_path).answer({})
    assert len(set(Flaky.taken)) == 1


def test_two_programs_at_once_send_one_report(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    receipts: list[str] = []
    with running(SURVEY, path) as found:

        def answer() -> None:
            client = Client(link(found.page, token), folder=tmp_path / "state")
            receipts.append(client.answer({"pay": 9}))

        threads = [threading.Thread(target=answer) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(receipts) == 8
    assert len(set(receipts)) == 1
    assert len(list(opened(path, SURVEY, create=False).rows())) == 1


def test_one_link_in_several_spellings_draws_once(
    tmp_path: Path, flaky: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.collect.client.PAUSES", (0.01,))
    port = flaky.server_port
    links = [f"http://localhost:{port}", f"http://LOCALHOST:{port}/", f"HTTP://localhost:{port}/#"]
    assert len({Client(each, folder=tmp_path).answer({"pay": 7}) for each in links}) == 1
    assert len(set(Flaky.taken)) == 1


def test_one_invitation_draws_once_under_every_name_of_its_server(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    with running(SURVEY, path) as found:
        names = (found.page, found.page.replace("127.0.0.1", "localhost"))
        links = [link(each, token) for each in names]
        receipts = [Client(each, folder=tmp_path / "state").answer({"pay": 9}) for each in links]
    assert links[0] != links[1]
    assert len(set(receipts)) == len(list((tmp_path / "state").iterdir())) == 1


def test_a_wait_that_is_no_number(
    tmp_path: Path, flaky: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.collect.client.PAUSES", (0.01,))

    def busy(self: Flaky) -> None:
        self.taken.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(503)
        self.send_header("retry-after", "\u00b2")
        self.end_headers()

    monkeypatch.setattr(Flaky, "do_POST", busy)
    with pytest.raises(Unacknowledged):
        Client(f"http://127.0.0.1:{flaky.server_port}", folder=tmp_path, patience=0.1).answer(
            {"pay": 7}
        )
    assert len(set(Flaky.taken)) == 1


def test_a_survey_that_costs_more_than_allowed_draws_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.reports"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    answers = {"pay": 5, "smokes": "no"}
    with running(SURVEY, path) as found:
        own = link(found.page, token)
        for most in (0.5, 1.999):
            client = Client(own, folder=tmp_path / "state", most=most)
            with pytest.raises(InvalidInput, match=rf"at most epsilon {most}, got .* costs 2\."):
                client.check()
            with pytest.raises(InvalidInput, match="Answer it with most=2 if"):
                client.answer(answers)
            assert client.drawn() is None
        assert not (tmp_path / "state").exists()
        client = Client(own, folder=tmp_path / "state", most=2)
        client.check()
        assert client.answer(answers)
        # What was drawn once costs nothing to send again.
        assert Client(own, folder=tmp_path / "state", most=0.5).answer(answers)
    for most in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="most"):
            Client(own, most=most)


def test_without_a_limit_of_ones_own_weak_surveys_are_refused(tmp_path: Path) -> None:
    weak = Questionnaire.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 12.0}}})
    path = tmp_path / "s.reports"
    (token,) = invited(weak, path, tmp_path, 1)
    sentence = "at most epsilon 10, got one that costs 12"
    with running(weak, path) as found, pytest.raises(InvalidInput, match=sentence):
        Client(link(found.page, token), folder=tmp_path / "state").answer({"pay": 5})


@pytest.mark.parametrize("address", ["https://{}.org/", "https://x.org/\u00fc\u4e2d/"])
def test_addresses_that_no_request_can_be_sent_to(address: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"address of a server|an answer from"):
        Client(address.format("a" * 70), folder=tmp_path).check()


def test_an_answer_that_trickles_or_does_not_end_is_given_up(
    flaky: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    over = threading.Event()

    def trickle(handler: Flaky) -> None:
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not over.wait(0.02):
                handler.wfile.write(b" " * handler.server.piece)  # type: ignore[attr-defined]

    monkeypatch.setattr(Flaky, "do_GET", trickle)
    page = f"http://127.0.0.1:{flaky.server_port}/"
    try:
        flaky.piece = 1  # type: ignore[attr-defined]
        monkeypatch.setattr(client, "TIMEOUT", 0.3)
        with pytest.raises(InvalidInput, match="too slowly"):
            Client(page, folder=tmp_path).check()
        flaky.piece = 1000  # type: ignore[attr-defined]
        monkeypatch.setattr(client, "TIMEOUT", 20.0)
        monkeypatch.setattr(client, "LONGEST", 5000)
        with pytest.raises(InvalidInput, match="at most 5,000 bytes"):
            Client(page, folder=tmp_path).check()
    finally:
        over.set()
