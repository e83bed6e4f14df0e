"""The service for respondents: the page, the survey as data, and one place to send reports."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from confide.collect import static, wire
from confide.collect.stores.store import Outcome, Unavailable
from confide.collect.writer import Writer

PATIENCE = 10.0
"""Seconds that a device has to send an upload, which has a few hundred bytes."""
LOG = logging.getLogger("confide")
AGAIN = "2"
"""Seconds after which a device should try again when the store is not available."""
ANSWERS = {
    Outcome.STORED: (201, "Stored."),
    Outcome.SAME: (200, "Stored before: this is the same upload."),
    Outcome.USED: (409, "This invitation was used before."),
    Outcome.UNKNOWN: (404, "This invitation is not one of this survey."),
    Outcome.CLOSED: (410, "The survey has ended."),
    Outcome.FULL: (410, "The survey has as many answers as it takes."),
}


@final
@dataclass(frozen=True)
class Desk:
    """The parts of the service that answer a request.

    Parameters
    ----------
    reader
        Reads uploads.
    writer
        Stores them.
    closed
        Whether the survey has ended.
    """

    reader: wire.Reader
    writer: Writer
    closed: Callable[[], bool]

    async def take(self, request: Request) -> Response:
        """``POST /reports``: one upload."""
        try:
            async with asyncio.timeout(PATIENCE):
                data = await _body(request)
            if request.headers.get("content-type", "").partition(";")[0] != "application/json":
                raise wire.Refused(415, "An upload is sent as application/json.")
            entry = self.reader.read(data)
        except TimeoutError:
            return answer(408, "The upload took too long.", close=True)
        except wire.Refused as error:
            return answer(error.status, error.reason, again=error.status == 503)
        except ClientDisconnect:
            return answer(400, "The upload broke off.")
        if self.closed():
            return answer(*ANSWERS[Outcome.CLOSED])
        try:
            return answer(*ANSWERS[await self.writer.put(entry)])
        except Unavailable:
            return answer(503, "The report cannot be stored now. Send it again.", again=True)

    async def survey(self, _: Request) -> Response:
        """``GET /survey.json``: what a device needs to know."""
        described = self._first if self.reader.second() is None else self._both
        return _json(200, {**described, "closed": self.closed()})

    # Make each once, since clients may ask any number of times.
    @cached_property
    def _first(self) -> Mapping[str, Any]:
        return wire.served(self.reader.survey, invited=self.reader.signer is not None)

    @cached_property
    def _both(self) -> Mapping[str, Any]:
        second = self.reader.second()
        return wire.served(self.reader.survey, second, invited=self.reader.signer is not None)


def app(desk: Desk, files: Mapping[str, static.File] | None = None) -> ASGIApp:
    """The respondents' service.

    Parameters
    ----------
    desk
        Takes uploads.
    files
        What is served by path; the page and the device by default.
    """
    if files is None:
        files = static.page("page", "device")
    routes = [
        Route("/reports", desk.take, methods=["POST"]),
        Route("/survey.json", desk.survey, methods=["GET"]),
        Route("/health", _health, methods=["GET"]),
        *(Route(path, served(file), methods=["GET"]) for path, file in files.items()),
    ]
    inline = static.import_map_hash(files["/"].data) if "/" in files else None
    inner = Starlette(routes=routes)
    # A redirect to a path without its slash would go to the host that a request names.
    inner.router.redirect_slashes = False
    return Guarded(inner, static.headers(inline))


@final
class Guarded:
    """A service whose every answer has the same headers, errors included.

    An error inside becomes a plain answer, and a line in the log that says where it was and
    nothing of what was sent.

    Parameters
    ----------
    inner
        The service.
    headers
        The headers.
    """

    def __init__(self, inner: ASGIApp, headers: Mapping[str, str]) -> None:
        self.inner = inner
        self.headers = [(key.encode(), value.encode()) for key, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a request, and add the headers to its answer."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
            await send(message)

        try:
            await self.inner(scope, receive, sent)
        except Exception as error:
            # Starlette has sent its answer already, status 500.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            kind = type(error).__name__
            LOG.error("A request failed: %s in %s, line %s.", kind, frame.name, frame.lineno)


async def _body(request: Request) -> bytes:
    """The body of a request, of which no more is read than an upload may have."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > wire.LARGEST:
            raise wire.Refused(413, f"An upload has at most {wire.LARGEST:,} bytes.")
    return data


def served(file: static.File) -> Callable[[Request], Any]:
    """An endpoint that answers with a file."""

    async def serve(_: Request) -> Response:
        return Response(file.data, media_type=file.kind)

    return serve


async def _health(_: Request) -> Response:
    return _json(200, {"ready": True})


def answer(status: int, reason: str, *, again: bool = False, close: bool = False) -> Response:
    """The answer to an upload: an HTTP status, and a sentence with the reason."""
    response = _json(status, {"reason": reason})
    if again:
        response.headers["retry-after"] = AGAIN
    if close:
        response.headers["connection"] = "close"
    return response


def _json(status: int, fields: Mapping[str, Any]) -> Response:
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status_code=status, media_type="application/json")
