"""The respondents' service: codes, headers, and everything that a hostile client may send."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from evidence.collector.people import People, request
from evidence.collector.server import Wrapped

from confide.collect import respondents, serving, static, wire
from confide.collect.stores import opened
from confide.collect.stores.store import Outcome, Store, Unavailable
from confide.collect.writer import Writer

HOST = "127.0.0.1"
PAGE = b'<!doctype html><script type="importmap">{"imports": {}}</script>'
JSON = {"content-type": "application/json"}


class Failing(Wrapped):
    """A store that fails as long as it is told to."""

    error: Exception | None = None

    def put(self, entries: Sequence[wire.Entry]) -> list[Outcome]:
        if self.error is not None:
            raise self.error
        return super().put(entries)


@dataclass
class Service:
    people: People
    store: Failing
    port: int
    closed: threading.Event

    def send(
        self, body: bytes, headers: Any = None, *, method: str = "POST", path: str = "/reports"
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=20)
        connection.request(method, path, body, JSON if headers is None else headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        found = {key.lower(): value for key, value in answer.getheaders()}
        told = json.loads(data) if found.get("content-type") == "application/json" else {}
        return answer.status, told, found

    def raw(self, data: bytes) -> int:
        """The status of an answer to these bytes."""
        with socket.create_connection((HOST, self.port), timeout=20) as line:
            line.sendall(data)
            answer = b""
            while b"\r\n" not in answer:
                part = line.recv(1000)
                if not part:
                    break
                answer += part
            return int(answer[9:12])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    people = People()
    path = tmp_path_factory.mktemp("store") / "a.db"
    store = Failing(opened(path, people.survey, create=True))
    closed, stop, ready = threading.Event(), threading.Event(), threading.Event()
    writer = Writer(store)
    desk = respondents.Desk(people.reader, writer, closed.is_set)
    files = {"/": static.File(PAGE, "text/html; charset=utf-8")}
    ports: list[int] = []

    def listening(addresses: Sequence[str]) -> None:
        ports.append(int(addresses[0].rstrip("/").rpartition(":")[2]))
        ready.set()

    told = {"ready": listening, "stop": stop}
    services = [serving.Service(respondents.app(desk, files), HOST, 0)]
    thread = threading.Thread(target=serving.serve, args=(services,), kwargs=told, daemon=True)
    thread.start()
    assert ready.wait(20)
    yield Service(people, store, ports[0], closed)
    stop.set()
    thread.join(20)
    writer.stop()
    store.shut()


@pytest.fixture
def service(running: Service) -> Iterator[Service]:
    yield running
    running.store.error = None
    running.closed.clear()


def invited(service: Service, n: int = 1) -> list[str]:
    other: Store = opened(service.store.inner._path, service.people.survey, create=False)
    tokens = service.people.invite(other, n)
    other.shut()
    return tokens


def answered(service: Service) -> int:
    return sum(service.store.status().answered.values())


def test_codes(service: Service) -> None:
    token, second = invited(service, 2)
    body = service.people.upload(token)
    assert service.send(body)[:2] == (201, {"reason": "Stored."})
    assert service.send(body)[0] == 200
    status, told, _ = service.send(service.people.upload(token))
    assert (status, told) == (409, {"reason": "This invitation was used before."})
    unknown = service.people.upload(service.people.signer.mint(["north"]))
    assert service.send(unknown)[0] == 404
    late = service.people.upload(second)
    service.closed.set()
    assert service.send(late)[:2] == (410, {"reason": "The survey has ended."})
    service.closed.clear()
    assert service.send(late, {"content-type": "application/json; charset=utf-8"})[0] == 201


def test_every_answer_has_the_same_strict_headers(service: Service) -> None:
    expected = static.headers(static.import_map_hash(PAGE))
    assert "default-src 'none'" in expected["content-security-policy"]
    for method, path in (
        ("GET", "/"),
        ("GET", "/survey.json"),
        ("GET", "/health"),
        ("GET", "/nothing"),
        ("PUT", "/reports"),
        ("POST", "/reports"),
    ):
        _, _, found = service.send(b"", method=method, path=path)
        assert expected.items() <= found.items()
        assert not {"server", "date", "set-cookie", "access-control-allow-origin"} & set(found)


def test_the_survey_as_data(service: Service) -> None:
    status, told, _ = service.send(b"", method="GET", path="/survey.json")
    assert status == 200
    assert told["survey"] == service.people.survey.fingerprint
    assert told["closed"] is False


@pytest.mark.parametrize("error", [Unavailable("full"), KeyError("report 77"), ValueError("77")])
def test_a_store_that_fails_gives_503_and_no_word_about_why(
    service: Service, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    body = service.people.upload(*invited(service))
    service.store.error = error
    with caplog.at_level(logging.DEBUG):
        status, told, headers = service.send(body)
    assert status == 503
    assert headers["retry-after"] == respondents.AGAIN
    assert told == {"reason": "The report cannot be stored now. Send it again."}
    assert "77" not in caplog.text
    service.store.error = None
    assert service.send(body)[0] == 201


def test_an_error_inside_is_told_without_what_was_sent(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("report 77")

    monkeypatch.setattr(wire.Reader, "read", fail)
    with caplog.at_level(logging.DEBUG):
        status, _, headers = service.send(b"{}")
        while not caplog.records:
            time.sleep(0.01)
    assert status == 500
    assert headers["cache-control"] == "no-store"
    assert "77" not in caplog.text
    assert "RuntimeError in fail" in caplog.text


def changed(**fields: Any) -> Any:
    def change(good: dict[str, Any]) -> bytes:
        return json.dumps({**good, **fields}).encode()

    return change


def with_report(report: Any) -> Any:
    def change(good: dict[str, Any]) -> bytes:
        return json.dumps({**good, "reports": {**good["reports"], "pay": report}}).encode()

    return change


def without(key: str) -> Any:
    return lambda good: json.dumps({k: v for k, v in good.items() if k != key}).encode()


def twice(good: dict[str, Any]) -> bytes:
    return json.dumps(good)[:-1].encode() + b', "version": 1}'


def report_twice(good: dict[str, Any]) -> bytes:
    return json.dumps(good).replace('"pay": ', '"pay": 1, "pay": ').encode()


HOSTILE: dict[str, tuple[Any, int]] = {
    "nothing": (lambda good: b"", 422),
    "no JSON": (lambda good: b"{", 422),
    "a list": (lambda good: b"[]", 422),
    "a number": (lambda good: b"1", 422),
    "other bytes": (lambda good: b"\xff\xfe\x00", 422),
    "UTF-16": (lambda good: json.dumps(good).encode("utf-16"), 422),
    "deep": (lambda good: b"[" * 8000 + b"]" * 8000, 422),
    "a long number": (with_report(10**4000), 422),
    "NaN": (with_report(float("nan")), 422),
    "a key twice": (twice, 422),
    "a report twice": (report_twice, 422),
    "another key": (changed(more=1), 422),
    "a key less": (without("receipt"), 422),
    "no reports": (changed(reports={}), 422),
    "reports as a list": (changed(reports=[1, 2]), 422),
    "a question more": (lambda g: changed(reports={**g["reports"], "x": 1})(g), 422),
    "a report below": (with_report(-1), 422),
    "a report above": (with_report(10**6), 422),
    "a report that is true": (with_report(True), 422),
    "a report that is a float": (with_report(1.0), 422),
    "a report that is text": (with_report("1"), 422),
    "a report that is null": (with_report(None), 422),
    "another version": (changed(version=2), 422),
    "a version that is true": (changed(version=True), 422),
    "another fingerprint": (changed(survey="0" * 32), 422),
    "another wording": (changed(wording="0" * 32), 422),
    "no receipt": (changed(receipt=""), 422),
    "a short receipt": (changed(receipt="AAAA"), 422),
    "a receipt of two spellings": (changed(receipt="A" * 21 + "B"), 422),
    "a receipt with a line": (changed(receipt="A" * 22 + "\n"), 422),
    "a receipt that is a number": (changed(receipt=5), 422),
    "no invitation": (changed(invitation=None), 404),
    "an invitation that is a number": (changed(invitation=5), 404),
    "an invitation of nobody": (changed(invitation="A" * 44), 404),
    "a changed invitation": (lambda g: changed(invitation=g["invitation"][:-2] + "AA")(g), 404),
    "a padded invitation": (lambda g: changed(invitation=g["invitation"] + "=")(g), 404),
    "a long invitation": (changed(invitation="A" * 9000), 404),
    "a large body": (lambda good: json.dumps(good).encode() + b" " * wire.LARGEST, 413),
    "a huge body": (lambda good: b" " * 10**6, 413),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_uploads_are_refused_and_spend_nothing(service: Service, kind: str) -> None:
    (token,) = invited(service)
    before = answered(service)
    change, expected = HOSTILE[kind]
    good = service.people.upload(token)
    status, told, _ = service.send(change(json.loads(good)))
    assert status == expected
    assert told["reason"].endswith(".")
    assert len(told["reason"]) < 300
    assert answered(service) == before
    assert service.send(good)[0] == 201


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "json"])
def test_a_wrong_content_type_is_refused(service: Service, kind: str) -> None:
    body = service.people.upload(*invited(service))
    assert service.send(body, {"content-type": kind} if kind else {})[0] == 415
    assert service.send(body)[0] == 201


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_a_wrong_method_is_refused(service: Service, method: str) -> None:
    body = service.people.upload(*invited(service))
    assert service.send(body, method=method)[0] == 405
    assert service.send(body)[0] == 201


def test_no_redirect_to_the_host_that_a_request_names(service: Service) -> None:
    for path in ("/reports/", "/survey.json/", "/health/"):
        status, _, found = service.send(b"", {"host": "evil.example"}, method="GET", path=path)
        assert (status, found.get("location")) == (404, None)


def chunked(body: bytes, size: int = 7) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    head = b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    coded = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    return head + b"transfer-encoding: chunked\r\n\r\n" + coded


def test_bodies_in_chunks(service: Service) -> None:
    body = service.people.upload(*invited(service))
    assert service.raw(chunked(b" " * (wire.LARGEST + 1), 999)) == 413
    assert service.raw(chunked(body)[:-5] + b"zz\r\n\r\n") == 400
    assert service.raw(chunked(body)) == 201


def test_an_upload_that_breaks_off_is_forgotten(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    body = service.people.upload(*invited(service))
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            with socket.create_connection((HOST, service.port)) as line:
                line.sendall(request(body)[:-10])
        assert service.send(body)[0] == 201
    assert not caplog.records


def test_a_body_that_trickles_is_given_up(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(respondents, "PATIENCE", 0.2)
    body = service.people.upload(*invited(service))
    assert service.raw(request(body)[:-10]) == 408
    assert service.send(body)[0] == 201


def test_no_answer_quotes_a_report_or_an_invitation(service: Service) -> None:
    (token,) = invited(service)
    good = json.loads(service.people.upload(token))
    for change in (with_report(987654), with_report("987654"), changed(version=987654)):
        _, told, _ = service.send(change(good))
        assert "987654" not in str(told)
        assert token[:20] not in str(told)
