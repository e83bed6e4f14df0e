"""Runs HTTP services until they are stopped, and cuts off slow clients."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from confide.errors import InvalidInput

CONNECTIONS = 1000
"""Connections at a time; requests on more are answered with 503."""
HEAD = 10.0
"""Seconds that a client has for the head of a request, from its first byte or the connection on."""
CROWDED = 1.0
"""The same while more than half of the connections are taken."""
WHOLE = 60.0
"""Seconds from the head of a request to the end of its answer."""
IDLE = 5
"""Seconds that a connection stays without a request."""
LARGEST_HEAD = 32_768
"""Bytes of the head of a request."""
FAREWELL = 10
"""Seconds that requests have to end when the services stop."""
BACKLOG = 2048
"""Connections that wait to be accepted."""
TICK = 0.1
"""Seconds between two looks at all connections."""


@final
@dataclass(frozen=True)
class Service:
    """A service and its address.

    Parameters
    ----------
    app
        An ASGI application.
    host, port
        Where it listens; port 0 takes a free one.
    """

    app: ASGIApp
    host: str
    port: int


def serve(
    services: Sequence[Service],
    *,
    ready: Callable[[Sequence[str]], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or an event; requests that have begun are answered.

    Nothing about requests is logged. There is no encryption: a proxy in front brings it.

    Parameters
    ----------
    services
        What to serve. They share one process and one thread.
    ready
        Called when all of them listen, with their addresses, such as ``http://127.0.0.1:8000/``.
    stop
        Ends the services when it is set. Signals do so in the main thread of a program only.
    """
    stop = stop or threading.Event()
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(_bound(each)) for each in services]
        stack.enter_context(_signals(stop))
        asyncio.run(_serve(services, sockets, ready, stop))


async def _serve(
    services: Sequence[Service],
    sockets: Sequence[socket.socket],
    ready: Callable[[Sequence[str]], None] | None,
    stop: threading.Event,
) -> None:
    servers = [_Server(_config(each.app)) for each in services]
    running = [
        asyncio.create_task(server.serve(sockets=[own]))
        for server, own in zip(servers, sockets, strict=True)
    ]
    while not all(server.started for server in servers):
        await asyncio.sleep(0.01)
    if ready is not None:
        ready([_address(own) for own in sockets])
    while not stop.is_set():
        await asyncio.sleep(TICK)
        for server in servers:
            _reap(server)
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*running)


@final
class _Server(uvicorn.Server):
    """A server that leaves signals to us, since there may be two of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@final
class _Impatient(HttpToolsProtocol):
    """Connections that know since when they have been waiting for their client.

    uvicorn closes a connection on which nothing comes after an answer. It waits without end for
    the first request, for the rest of one that has begun, and for a body that nobody asked for.
    """

    waiting: float | None = None
    """Since when the head of a request is awaited; None while there is nothing to wait for."""
    asked: float | None = None
    """Since when a request is being answered."""
    head = 0
    """Bytes that came while waiting."""

    def connection_made(self, transport: Any) -> None:
        """Wait for a first request."""
        super().connection_made(transport)
        self.waiting = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Wait from the first byte after an answer on, be it of a request or not."""
        if self.waiting is None and self.asked is None:
            self.waiting, self.head = self.loop.time(), 0
        super().data_received(data)
        if self.waiting is not None:
            self.head += len(data)
            if self.head > LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_headers_complete(self) -> None:
        """Stop the timer; the service limits the time of the body itself."""
        self.waiting, self.asked = None, self.loop.time()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Drop the rest of the request, which must end as soon as a head must."""
        self.asked = None
        super().on_response_complete()
        if self.pipeline or (self.cycle is not None and not self.cycle.response_complete):
            self.asked = self.loop.time()
        elif self.cycle is not None and self.cycle.more_body:
            self.waiting, self.head = self.loop.time(), 0

    def late(self, now: float, patience: float) -> bool:
        """Whether the client has used up its time."""
        if self.waiting is not None and now - self.waiting > patience:
            return True
        return self.asked is not None and now - self.asked > WHOLE


def _reap(server: uvicorn.Server) -> None:
    """Close the connections of clients that have had their time."""
    now = asyncio.get_running_loop().time()
    connections = list(server.server_state.connections)
    patience = HEAD if len(connections) < CONNECTIONS / 2 else CROWDED
    for each in connections:
        if isinstance(each, _Impatient) and each.late(now, patience):
            each.transport.abort()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Impatient,
        ws="none",
        lifespan="auto",
        # The service itself logs its errors, without the content of requests.
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=FAREWELL,
    )


@contextlib.contextmanager
def _bound(service: Service) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in service.host else socket.AF_INET
    # With its protocol named: only then does asyncio send small answers at once (TCP_NODELAY).
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as own:
        if os.name == "posix":
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind((service.host, service.port))
            own.listen(BACKLOG)
        except (OSError, OverflowError):
            raise InvalidInput(
                f"a free address for a service at {service.host}, port {service.port}",
                "one that is taken or not of this machine",
                "Name another with --port or --owner-port.",
            ) from None
        yield own


def _address(own: socket.socket) -> str:
    host, port = own.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Stop on SIGTERM and SIGINT, where this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = {kind: signal.signal(kind, lambda *_: stop.set()) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
