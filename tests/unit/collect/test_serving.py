"""Serving: clients that are slow, heads that do not end, and how it all stops."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from confide.collect import serving
from confide.collect.serving import Service, serve
from confide.errors import InvalidInput

HOST = "127.0.0.1"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Reads no body; /wait answers after a moment."""
    if scope["path"] == "/wait":
        await asyncio.sleep(0.3)
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    await send(head)
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def running(*apps: Any) -> Iterator[list[int]]:
    stop, ready = threading.Event(), threading.Event()
    ports: list[int] = []

    def listening(addresses: Sequence[str]) -> None:
        ports.extend(int(each.rstrip("/").rpartition(":")[2]) for each in addresses)
        ready.set()

    services = [Service(app, HOST, 0) for app in apps]
    told = {"ready": listening, "stop": stop}
    thread = threading.Thread(target=serve, args=(services,), kwargs=told, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield ports
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def get(port: int, path: str = "/") -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, {key.lower(): value for key, value in answer.getheaders()}


def closed_after(port: int, send: Callable[[socket.socket], None], limit: float = 10) -> bytes:
    """What came until the server closed the connection; fails if it does not."""
    with socket.create_connection((HOST, port), timeout=limit) as line:
        send(line)
        data = b""
        try:
            while part := line.recv(65536):
                data += part
        except ConnectionResetError:
            pass
        return data


def test_several_services_and_headers() -> None:
    async def other(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    with running(hello, other) as (first, second):
        status, body, headers = get(first)
        assert (status, body) == (200, b"ok")
        # Nothing that tells about the server.
        assert set(headers) == {"content-length"}
        assert get(second)[0] == 404


def test_answers_go_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer in two parts does not wait for a delayed acknowledgment of the first."""
    found = []

    def made(self: Any, transport: Any) -> None:
        line = transport.get_extra_info("socket")
        found.append(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        before(self, transport)

    before = serving._Impatient.connection_made
    monkeypatch.setattr(serving._Impatient, "connection_made", made)
    with running(hello) as (port,):
        get(port)
    assert found
    assert all(found)


def trickle(text: bytes) -> Callable[[socket.socket], None]:
    """Send a byte at a time, until the other side has had enough."""

    def send(line: socket.socket) -> None:
        line.setblocking(True)
        try:
            for at in range(len(text)):
                line.sendall(text[at : at + 1])
                time.sleep(0.02)
        except OSError:
            pass

    return send


SLOW = {
    "nothing": lambda line: None,
    "a head that trickles": trickle(b"GET / HTTP/1.1\r\nx: " + b"a" * 1000),
    "a line that trickles": trickle(b"GET /" + b"a" * 1000),
    "empty lines": trickle(b"\r\n" * 500),
    "empty lines after an answer": trickle(b"GET / HTTP/1.1\r\n\r\n" + b"\r\n" * 500),
    "a body that nobody reads": trickle(
        b"GET / HTTP/1.1\r\ncontent-length: 9999999\r\n\r\n" + b"a" * 1000
    ),
}


@pytest.mark.parametrize("kind", SLOW)
def test_slow_clients_are_cut_off(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD", 0.2)
    monkeypatch.setattr(serving, "IDLE", 30)
    with running(hello) as (port,):
        closed_after(port, SLOW[kind])
        assert get(port)[0] == 200


def test_a_client_that_takes_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "WHOLE", 0.3)
    gone = threading.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(10_000):
            await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
            if (await receive_now(receive))["type"] == "http.disconnect":
                break
        gone.set()

    async def receive_now(receive: Any) -> Any:
        try:
            return await asyncio.wait_for(receive(), 0.001)
        except TimeoutError:
            return {"type": "none"}

    with running(endless) as (port,), socket.create_connection((HOST, port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert gone.wait(10)


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000, b"GET /" + b"a" * 10**5]
)
def test_a_head_that_does_not_end_is_refused(head: bytes) -> None:
    def send(line: socket.socket) -> None:
        with suppress(OSError):
            line.sendall(head)

    with running(hello) as (port,):
        assert closed_after(port, send)[:12] in (b"HTTP/1.1 400", b"")
        assert get(port)[0] == 200


@pytest.mark.parametrize("data", [b"\x00\x01\x02\r\n\r\n", b"what\r\n\r\n", b"\x16\x03\x01" * 99])
def test_what_is_not_http_is_refused(data: bytes) -> None:
    with running(hello) as (port,):
        assert closed_after(port, lambda line: line.sendall(data))[:12] == b"HTTP/1.1 400"


def test_when_it_is_crowded_slow_clients_have_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "CONNECTIONS", 10)
    monkeypatch.setattr(serving, "CROWDED", 0.2)
    with running(hello) as (port,):
        lines = [socket.create_connection((HOST, port), timeout=30) for _ in range(12)]
        assert all(line.recv(1) == b"" for line in map(quiet, lines))
        assert get(port)[0] == 200


def quiet(line: socket.socket) -> Any:
    class Quiet:
        def recv(self, n: int) -> bytes:
            try:
                return line.recv(n)
            except ConnectionResetError:
                return b""

    return Quiet()


def test_connections_that_are_used_stay() -> None:
    with running(hello) as (port,):
        connection = http.client.HTTPConnection(HOST, port, timeout=10)
        for _ in range(5):
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"ok"
            line = connection.sock
            time.sleep(0.15)
        assert connection.sock is line
        connection.close()


def test_a_request_that_has_begun_is_answered_when_it_stops() -> None:
    answers: list[tuple[int, bytes, dict[str, str]]] = []
    with running(hello) as (port,):
        asking = threading.Thread(target=lambda: answers.append(get(port, "/wait")))
        asking.start()
        time.sleep(0.1)
    asking.join()
    assert answers[0][:2] == (200, b"ok")
    with pytest.raises(OSError, match="refused"):
        get(port)


def test_a_taken_address_is_told() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        for service in (Service(hello, HOST, port), Service(hello, "192.0.2.1", 80)):
            with pytest.raises(InvalidInput, match=f"port {service.port}"):
                serve([service])
