"""Many connections that send prepared requests, with little work of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Load:
    """What became of some requests.

    Parameters
    ----------
    requests
        What is sent, in this order, by whichever connection is free.
    """

    requests: Sequence[bytes]
    statuses: list[int] = field(default_factory=list)
    """Of each request: its HTTP status, or 0 where no answer came."""
    times: list[float] = field(default_factory=list)
    """Of each request: seconds until its answer."""
    seconds: float = 0.0
    """From the first request to the last answer."""
    answered: int = 0
    """How many answers have come so far."""

    def __post_init__(self) -> None:
        self.statuses = [0] * len(self.requests)
        self.times = [0.0] * len(self.requests)
        self._next = 0

    def run(
        self, ports: Sequence[int], connections: int, *, at: int = 0, then: Callable[[], None] = int
    ) -> Load:
        """Send all of them over so many connections, which take turns among the ports.

        Parameters
        ----------
        ports
            Of servers on this machine.
        connections
            How many requests are under way at a time.
        at, then
            Something to do when so many answers have come.
        """
        self._at, self._then = at, then
        asyncio.run(self._run(ports, connections))
        return self

    async def _run(self, ports: Sequence[int], connections: int) -> None:
        loop = asyncio.get_running_loop()
        lines = []
        for number in range(min(connections, len(self.requests))):
            port = ports[number % len(ports)]
            _, line = await loop.create_connection(lambda: _Line(self), "127.0.0.1", port)
            lines.append(line)
        start = time.perf_counter()
        for line in lines:
            line.send()
        await asyncio.gather(*(line.ended for line in lines))
        self.seconds = time.perf_counter() - start

    def take(self) -> int | None:
        """The number of the next request."""
        if self._next == len(self.requests):
            return None
        self._next += 1
        return self._next - 1

    def told(self, number: int, status: int, seconds: float) -> None:
        """Note an answer."""
        self.statuses[number] = status
        self.times[number] = seconds
        self.answered += 1
        if self.answered == self._at:
            self._then()


class _Line(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.ended = asyncio.get_running_loop().create_future()
        self.number: int | None = None
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def send(self) -> None:
        self.number = self.load.take()
        if self.number is None:
            self.transport.close()
        else:
            self.data, self.start = b"", time.perf_counter()
            self.transport.write(self.load.requests[self.number])

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, mark, body = self.data.partition(b"\r\n\r\n")
        if not mark:
            return
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if len(body) < int(length):
            return
        self.load.told(self.number, int(head[9:12]), time.perf_counter() - self.start)
        self.send()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
