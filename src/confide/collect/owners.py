"""The service for the owner of a survey: the dashboard, on a separate port."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from confide.collect import static
from confide.collect.invitations import phase_of, uncell
from confide.collect.live import Live
from confide.collect.respondents import Guarded, answer, served
from confide.collect.stores.store import Status, Unavailable
from confide.collect.wire import Refused
from confide.errors import InvalidInput
from confide.files.paths import load_json
from confide.lattice import Categories
from confide.questions import Questionnaire
from confide.questions.phases import Phases
from confide.questions.question import Question
from confide.results import Results
from confide.results.page import document

SECRET = 32
"""Random bytes of the secret in the dashboard's link."""
LARGEST = 1024
"""Bytes of a request, at most: a confirmation has a few dozen."""
PATIENCE = 10.0
"""Seconds that a page has to send them."""
BEFORE = (
    "The survey has not ended. Two exports, one before and one after a person answered, give away "
    'that person\'s report. To export in spite of that, send {"before_closing": true}.'
)
Answering = Callable[[Request], Awaitable[Response]]


def new_secret() -> str:
    """A random secret for a dashboard's link."""
    return secrets.token_urlsafe(SECRET)


def link(port: int, secret: str) -> str:
    """The link for the owner. The secret comes after the #, so that no request line carries it."""
    return f"http://127.0.0.1:{port}/#{secret}"


def hosts(port: int, name: str | None = None) -> frozenset[str]:
    """Names under which a dashboard may be asked for.

    Parameters
    ----------
    port
        Where it listens.
    name
        Another name, such as that of a proxy with a certificate, with its port if it has one.
    """
    own = {f"{host}:{port}" for host in ("localhost", "127.0.0.1", "[::1]")}
    if name is None:
        return frozenset(own)
    if not name or urlsplit(f"//{name}").netloc != name or "@" in name:
        raise InvalidInput("a host such as survey.example.org or localhost:9000", repr(name)[:80])
    return frozenset({*own, name.lower()})


def app(live: Live, *, secret: str, hosts: Collection[str]) -> ASGIApp:
    """The owner's service.

    Parameters
    ----------
    live
        The survey, its state and its estimates. Stopped when the service ends.
    secret
        What a page must send with every request for data.
    hosts
        Names that requests may be sent to, as `hosts` gives them.
    """
    office = Office(live)
    files = static.page("owner", "pictures")
    routes = [
        Route("/api/state", _with_secret(office.state, secret), methods=["GET"]),
        Route("/api/results", _with_secret(office.results, secret), methods=["GET"]),
        Route("/api/close", _own(_with_secret(office.close, secret)), methods=["POST"]),
        Route("/api/page", _with_secret(office.page, secret), methods=["GET"]),
        Route("/api/export", _own(_with_secret(office.export, secret)), methods=["POST"]),
        *(Route(path, served(file), methods=["GET"]) for path, file in files.items()),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await live.stop()

    handlers: Any = {HTTPException: _refused, Unavailable: _unavailable, Exception: _failed}
    inner = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    inner.router.redirect_slashes = False
    inline = static.import_map_hash(files["/"].data)
    return Guarded(Hosts(inner, frozenset(hosts)), static.headers(inline))


@final
@dataclass(frozen=True)
class Hosts:
    """A service that answers only to its own names.

    A page from elsewhere can point its name at this machine (DNS rebinding); a browser then takes
    the two for one and lets that page read. The name that it asked for gives it away.
    """

    inner: ASGIApp
    names: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request that was sent to another name."""
        if scope["type"] == "http":
            named = [value for key, value in scope["headers"] if key == b"host"]
            if len(named) != 1 or named[0].decode("latin-1").lower() not in self.names:
                refusal = answer(421, "This is not the address of the dashboard.", close=True)
                await refusal(scope, receive, send)
                return
        await self.inner(scope, receive, send)


@final
@dataclass(frozen=True)
class Office:
    """Answers the owner's requests."""

    live: Live

    async def state(self, _: Request) -> Response:
        """``GET /api/state``: the survey, and how far it has come."""
        status = await self.live.status()
        return _json(described(self.live.second or self.live.survey, status))

    async def results(self, request: Request) -> Response:
        """``GET /api/results``: the last finished estimate.

        ``?have=3`` says that the page has the third one; it is not sent again.
        """
        latest = await self.live.latest()
        fields = {
            "number": latest.number,
            "reports": latest.reports,
            "final": latest.final,
            "quick": latest.quick,
            "estimating": latest.estimating,
            "fault": latest.fault,
        }
        text = json.dumps(fields, separators=(",", ":"))
        known = request.query_params.get("have") == str(latest.number)
        # They are JSON already, and may be long.
        own = "null" if known or not latest.results else latest.results
        return Response(f'{text[:-1]},"results":{own}}}', media_type="application/json")

    async def close(self, request: Request) -> Response:
        """``POST /api/close``: end the survey."""
        _keys(await _body(request), {})
        if (await self.live.status()).closed:
            return answer(409, "The survey has ended before.")
        await self.live.close()
        return answer(200, "The survey has ended. No more reports are taken.")

    async def page(self, _: Request) -> Response:
        """``GET /api/page``: the finished results as a page, once the survey has ended."""
        latest = await self.live.latest()
        if not latest.final:
            return answer(409, "The results page is there once the survey has ended.", again=True)
        status = await self.live.status()
        invited = sum(status.invited.values())
        # Drawing takes a moment, in which the service goes on.
        text = await asyncio.to_thread(_page, latest.results, invited or None)
        return Response(
            text,
            media_type="text/html",
            headers={"content-disposition": 'attachment; filename="results.html"'},
        )

    async def export(self, request: Request) -> Response:
        """``POST /api/export``: all reports as a Parquet file, one for each phase."""
        given = _keys(await _body(request), {"before_closing": bool, "second": bool})
        if not (await self.live.status()).closed and not given.get("before_closing", False):
            return answer(409, BEFORE)
        survey = self.live.second if given.get("second", False) else self.live.survey
        if survey is None:
            return answer(409, "The second phase has not begun.")
        return Response(
            await self.live.export(survey),
            media_type="application/vnd.apache.parquet",
            headers={"content-disposition": 'attachment; filename="reports.parquet"'},
        )


def _page(text: str, invited: int | None) -> str:
    results = Results.from_dict(json.loads(text))
    return document(replace(results, invited=invited))


def described(survey: Questionnaire, status: Status) -> dict[str, Any]:
    """A survey and how far it has come, as plain values for JSON.

    Of people who have not answered yet only the number is known.
    """
    invited, answered = sum(status.invited.values()), sum(status.answered.values())
    # A survey without invitations has no invited people.
    by_name = bool(status.invited)
    return {
        "title": survey.title,
        "language": survey.language,
        "epsilon": survey.spend.epsilon,
        "closed": status.closed,
        "provisional": not status.closed,
        "closes": None if survey.closes is None else survey.closes.isoformat(),
        "now": datetime.now(UTC).isoformat(timespec="seconds"),
        "invited": invited if by_name else None,
        "answered": answered,
        "waiting": invited - answered if by_name else None,
        "rate": answered / invited if by_name else None,
        "groups": _by_group(survey, status),
        "phases": None if survey.phases is None else _phases(survey.phases, status),
        "ask": survey.ask,
        "questions": [
            {**_asked(name, one), "invited": status.asked.get(name, 0 if survey.asking else None)}
            for name, one in survey.questions.items()
        ],
        "pairs": [
            {"name": name, "questions": list(pair.sides), "invited": status.asked.get(name, 0)}
            for name, pair in survey.pairs.items()
        ],
    }


def _phases(phases: Phases, status: Status) -> dict[str, Any]:
    """Which phase it is, when the second begins, and how far each has come."""
    sums = [
        {"invited": _of(phase, status.invited), "answered": _of(phase, status.answered)}
        for phase in (1, 2)
    ]
    return {**phases.to_dict(), "of": sums}


def _of(phase: int, cells: Mapping[str, int]) -> int:
    return sum(n for cell, n in cells.items() if phase_of(cell) == phase)


def _by_group(survey: Questionnaire, status: Status) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for at, by in enumerate(survey.groups):
        totals: dict[str, list[int]] = {}
        for place, cells in enumerate((status.invited, status.answered)):
            for cell, n in cells.items():
                if groups := uncell(cell):
                    totals.setdefault(groups[at], [0, 0])[place] += n
        rows = [
            {"group": group, "invited": invited, "answered": answered}
            for group, (invited, answered) in sorted(totals.items())
        ]
        found.append({"by": by, "of": rows})
    return found


def _asked(name: str, question: Question) -> dict[str, Any]:
    wording, axis = question.wording, question.axis
    fields: dict[str, Any] = {"name": name, "text": wording.get("text") or name}
    if isinstance(axis, Categories):
        labels = wording.labels.get("", axis.labels)
        return {
            **fields,
            "kind": "categories",
            "ordered": question.ordered,
            "labels": dict(zip(axis.labels, labels, strict=True)),
        }
    scale = {"low": axis.low, "high": axis.high, "scale": axis.scale}
    words = {"unit": wording.get("unit"), "capped": question.capped}
    return {**fields, "kind": axis.kind, **words, **scale}


def _with_secret(inner: Answering, secret: str) -> Answering:
    """An endpoint that needs the secret."""
    wanted = f"Bearer {secret}".encode()

    async def checked(request: Request) -> Response:
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, wanted):
            refusal = answer(401, "Open the dashboard by the link that the server has printed.")
            refusal.headers["www-authenticate"] = "Bearer"
            return refusal
        return await inner(request)

    return checked


def _own(inner: Answering) -> Answering:
    """An endpoint that only our own page may use, or a program that is no browser."""

    async def checked(request: Request) -> Response:
        origin, site = (request.headers.get(key) for key in ("origin", "sec-fetch-site"))
        host = request.headers["host"]
        foreign = origin is not None and origin not in (f"http://{host}", f"https://{host}")
        if foreign or site not in (None, "same-origin", "none"):
            return answer(403, "Another page may not do this.")
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return answer(415, "A request is sent as application/json.")
        try:
            return await inner(request)
        except Refused as error:
            return answer(error.status, error.reason, close=error.status in (408, 413))

    return checked


async def _body(request: Request) -> Any:
    try:
        return load_json(await asyncio.wait_for(_read(request), PATIENCE), "the request")
    except TimeoutError:
        raise Refused(408, "The request took too long.") from None
    except InvalidInput as error:
        raise Refused(422, str(error)) from None


async def _read(request: Request) -> bytes:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST:
            raise Refused(413, f"A request has at most {LARGEST:,} bytes.")
    return data


def _keys(given: Any, known: Mapping[str, type]) -> Mapping[str, Any]:
    """The fields of a request, of which none may be misspelt or of another kind."""
    right = isinstance(given, dict) and all(
        key in known and type(value) is known[key] for key, value in given.items()
    )
    if not right:
        told = ", ".join(f"{key} (true or false)" for key in known) or "no keys"
        raise Refused(422, f"Expected a JSON object with {told}, got something else.")
    found: Mapping[str, Any] = given
    return found


async def _refused(_: Request, error: HTTPException) -> Response:
    return answer(error.status_code, f"{error.detail}.")


async def _unavailable(_: Request, error: Unavailable) -> Response:
    return answer(503, str(error), again=True)


async def _failed(_: Request, error: Exception) -> Response:
    return answer(500, f"The dashboard failed ({type(error).__name__}).")


def _json(fields: Mapping[str, Any]) -> Response:
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text, media_type="application/json")
