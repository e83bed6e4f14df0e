"""The owner's service: what it tells, and everything that it refuses."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow.parquet as pq
import pytest

from confide.collect import owners, static
from confide.collect.live import Live
from confide.errors import InvalidInput
from confide.questions import Questionnaire
from confide.results import Results

SECRET = "s3cret"
HOST = {"host": "127.0.0.1:8301"}
KNOWN = {**HOST, "authorization": f"Bearer {SECRET}"}
SENT = {**KNOWN, "content-type": "application/json"}
OWN = {**SENT, "origin": "http://127.0.0.1:8301", "sec-fetch-site": "same-origin"}

Ask = Callable[..., Awaitable[Any]]


@pytest.fixture
def stage(collected: Any, asking: Any) -> Callable[[Callable[[Ask], Awaitable[None]]], None]:
    """Runs a play with the service: ``await ask("GET", "/api/state", headers=KNOWN)``."""

    def run(play: Callable[[Ask], Awaitable[None]]) -> None:
        async def playing() -> None:
            live = Live(collected.survey, collected.opened())
            live._pool = ThreadPoolExecutor(1)
            app = owners.app(live, secret=SECRET, hosts=owners.hosts(8301, "survey.example.org"))

            async def ask(method: str, path: str, **given: Any) -> Any:
                return await asking(app, method, path, **given)

            try:
                await play(ask)
            finally:
                await live.stop()

        asyncio.run(playing())

    return run


def test_a_secret_is_random_and_after_the_hash() -> None:
    secrets = {owners.new_secret() for _ in range(9)}
    assert len(secrets) == 9
    assert all(re.fullmatch(r"[\w-]{43}", one) for one in secrets)
    assert owners.link(8301, "abc") == "http://127.0.0.1:8301/#abc"


def test_names_of_the_service() -> None:
    own = {"localhost:1", "127.0.0.1:1", "[::1]:1"}
    assert owners.hosts(1) == own
    assert owners.hosts(1, "Survey.example.org") == {*own, "survey.example.org"}
    for wrong in ("", "a/b", "me@host", "https://host", "a?b"):
        with pytest.raises(InvalidInput, match="a host such as"):
            owners.hosts(1, wrong)


def test_the_page_needs_no_secret_and_has_strict_headers(stage: Any) -> None:
    async def play(ask: Ask) -> None:
        page = await ask("GET", "/", headers=HOST)
        assert page.status == 200
        assert b"<title>Dashboard</title>" in page.body
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert static.import_map_hash(page.body) in policy
        assert page.headers["cache-control"] == "no-store"
        assert "set-cookie" not in page.headers
        script = await ask("GET", "/pictures.js", headers=HOST)
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert (await ask("GET", "/tsconfig.json", headers=HOST)).status == 404

    stage(play)


def test_the_page_has_the_hashes_of_its_files() -> None:
    files = static.page("owner", "pictures")
    html = files["/"].data.decode()
    found = re.search(r'<script type="importmap">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    listed = json.loads(found[1])["integrity"]
    scripts = {f".{path}": file.integrity for path, file in files.items() if path.endswith(".js")}
    # The hash of the script that the page begins with stands in its own tag.
    assert listed == {path: own for path, own in scripts.items() if path != "./owner.js"}
    for path in ("/owner.js", "/owner.css"):
        assert f'"./{path[1:]}" integrity="{files[path].integrity}"' in html


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/state"),
        ("GET", "/api/results"),
        ("GET", "/api/page"),
        ("POST", "/api/close"),
        ("POST", "/api/export"),
    ],
)
@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3cret2", "s3cret", "Basic s3cret"],
)
def test_all_data_need_the_secret(
    stage: Any, collected: Any, method: str, path: str, given: str | None
) -> None:
    async def play(ask: Ask) -> None:
        headers = {**OWN, "authorization": given}
        if given is None:
            del headers["authorization"]
        refused = await ask(method, path, headers=headers, body=b"{}")
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert refused.json == {
            "reason": "Open the dashboard by the link that the server has printed."
        }
        assert "content-security-policy" in refused.headers

    stage(play)
    assert not collected.store.status().closed


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8301.evil.example"],
)
@pytest.mark.parametrize("path", ["/", "/owner.js", "/api/state"])
def test_another_name_is_refused_whoever_asks(stage: Any, path: str, host: str | None) -> None:
    async def play(ask: Ask) -> None:
        headers = {**KNOWN, "host": host}
        if host is None:
            del headers["host"]
        refused = await ask("GET", path, headers=headers)
        assert refused.status == 421
        assert refused.json == {"reason": "This is not the address of the dashboard."}
        assert "content-security-policy" in refused.headers

    stage(play)


@pytest.mark.parametrize(
    "host", ["localhost:8301", "LOCALHOST:8301", "[::1]:8301", "survey.example.org"]
)
def test_its_own_names_are_answered(stage: Any, host: str) -> None:
    async def play(ask: Ask) -> None:
        assert (await ask("GET", "/api/state", headers={**KNOWN, "host": host})).status == 200

    stage(play)


@pytest.mark.parametrize(
    "foreign",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:8301"},
        {"origin": "http://127.0.0.1:8300"},
        {"origin": "http://127.0.0.1:8301/"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": ""},
    ],
)
@pytest.mark.parametrize("path", ["/api/close", "/api/export"])
def test_other_pages_can_neither_close_nor_export(
    stage: Any, collected: Any, path: str, foreign: dict[str, str]
) -> None:
    async def play(ask: Ask) -> None:
        body = b'{"before_closing": true}' if path.endswith("export") else b"{}"
        refused = await ask("POST", path, headers={**OWN, **foreign}, body=body)
        assert (refused.status, refused.json) == (403, {"reason": "Another page may not do this."})

    stage(play)
    assert not collected.store.status().closed


@pytest.mark.parametrize(
    "headers",
    [
        OWN,
        SENT,
        {**SENT, "sec-fetch-site": "none"},
        {**OWN, "host": "survey.example.org", "origin": "https://survey.example.org"},
    ],
)
def test_closing_from_our_page_or_from_a_program(
    stage: Any, collected: Any, headers: dict[str, str]
) -> None:
    collected.add(3)

    async def play(ask: Ask) -> None:
        done = await ask("POST", "/api/close", headers=headers, body=b"{}")
        assert (done.status, done.json["reason"][:21]) == (200, "The survey has ended.")
        state = (await ask("GET", "/api/state", headers=KNOWN)).json
        assert (state["closed"], state["provisional"]) == (True, False)
        again = await ask("POST", "/api/close", headers=headers, body=b"{}")
        assert (again.status, again.json) == (409, {"reason": "The survey has ended before."})

    stage(play)
    assert collected.store.status().closed


@pytest.mark.parametrize(
    ("change", "body", "status", "reason"),
    [
        ({"content-type": "text/plain"}, b"{}", 415, "application/json"),
        ({}, b"", 422, "the request"),
        ({}, b"nonsense", 422, "JSON"),
        ({}, b"[]", 422, "a JSON object"),
        ({}, b'{"sure": true}', 422, "a JSON object"),
        ({}, b'{"before_closing": 1}', 422, "before_closing (true or false)"),
        ({}, b" " * 1025, 413, "1,024 bytes"),
    ],
)
def test_bad_requests_get_a_reason(
    stage: Any, change: dict[str, str], body: bytes, status: int, reason: str
) -> None:
    async def play(ask: Ask) -> None:
        refused = await ask("POST", "/api/export", headers={**OWN, **change}, body=body)
        assert refused.status == status
        assert reason in refused.json["reason"]

    stage(play)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/api/nothing", 404), ("PUT", "/api/state", 405)]
)
def test_what_is_not_there_gets_a_reason(stage: Any, method: str, path: str, status: int) -> None:
    async def play(ask: Ask) -> None:
        refused = await ask(method, path, headers=KNOWN)
        assert refused.status == status
        assert refused.json["reason"]

    stage(play)


def test_an_export_before_the_end_needs_a_word_for_it(stage: Any, collected: Any) -> None:
    collected.add(5)

    async def play(ask: Ask) -> None:
        for body in (b"{}", b'{"before_closing": false}'):
            refused = await ask("POST", "/api/export", headers=OWN, body=body)
            assert refused.status == 409
            assert "one before and one after a person answered" in refused.json["reason"]
            assert '{"before_closing": true}' in refused.json["reason"]
        word = b'{"before_closing": true}'
        early = await ask("POST", "/api/export", headers=OWN, body=word)
        assert early.status == 200
        assert early.headers["content-disposition"] == 'attachment; filename="reports.parquet"'
        assert pq.read_table(io.BytesIO(early.body)).num_rows == 5
        await ask("POST", "/api/close", headers=OWN, body=b"{}")
        assert (await ask("POST", "/api/export", headers=OWN, body=b"{}")).status == 200

    stage(play)


def test_the_state_says_how_far_the_survey_has_come(stage: Any, collected: Any) -> None:
    collected.add(30, more=10)
    collected.add(5, region="south", seed=2, more=55)

    async def play(ask: Ask) -> None:
        state = (await ask("GET", "/api/state", headers=KNOWN)).json
        assert state.pop("now")
        assert state == {
            "title": "Pay & health",
            "language": "en",
            "epsilon": 4.0,
            "closed": False,
            "provisional": True,
            "closes": "2099-01-31T18:00:00+00:00",
            "invited": 100,
            "answered": 35,
            "waiting": 65,
            "rate": 0.35,
            "groups": [
                {
                    "by": "region",
                    "of": [
                        {"group": "north", "invited": 40, "answered": 30},
                        {"group": "south", "invited": 60, "answered": 5},
                    ],
                }
            ],
            "phases": None,
            "ask": None,
            "pairs": [],
            "questions": [
                {
                    "name": "pay",
                    "invited": None,
                    "text": "What do you earn?",
                    "kind": "number",
                    "unit": "EUR",
                    "capped": "",
                    "low": 0.0,
                    "high": 100.0,
                    "scale": "linear",
                },
                {
                    "name": "smokes",
                    "invited": None,
                    "text": "smokes",
                    "kind": "categories",
                    "ordered": False,
                    "labels": {"no": "No", "yes": "Yes"},
                },
            ],
        }

    stage(play)


def test_a_survey_that_takes_anybody_has_no_rate(anybody: Any) -> None:
    anybody.add(4)
    state = owners.described(anybody.survey, anybody.store.status())
    assert (state["answered"], state["invited"], state["rate"], state["waiting"]) == (
        4,
        *[None] * 3,
    )
    assert state["groups"] == [{"by": "region", "of": []}]


def test_a_survey_without_words_is_described_too(collected: Any) -> None:
    plain = Questionnaire.from_dict({"questions": {"x": {"categories": ["a", "b"], "epsilon": 1}}})
    state = owners.described(plain, collected.store.status())
    assert (state["title"], state["closes"]) == ("", None)
    assert state["questions"][0]["labels"] == {"a": "a", "b": "b"}


def test_results_come_once(stage: Any, collected: Any) -> None:
    collected.add(100)

    async def play(ask: Ask) -> None:
        first = (await ask("GET", "/api/results", headers=KNOWN)).json
        assert (first["number"], first["results"], first["estimating"]) == (0, None, True)
        for _ in range(3000):
            latest = (await ask("GET", "/api/results?have=0", headers=KNOWN)).json
            if latest["number"] == 2 and not latest["estimating"]:
                break
            await asyncio.sleep(0.01)
        assert set(latest) == {
            *("number", "reports", "final", "quick", "estimating", "fault", "results")
        }
        assert latest["reports"] == 100
        assert Results.from_dict(latest["results"])["pay"].n == 100
        again = (await ask("GET", "/api/results?have=2", headers=KNOWN)).json
        assert (again["number"], again["results"]) == (2, None)
        early = await ask("GET", "/api/page", headers=KNOWN)
        assert (early.status, early.headers["retry-after"]) == (409, "2")
        await ask("POST", "/api/close", headers=OWN, body=b"{}")
        for _ in range(3000):
            page = await ask("GET", "/api/page", headers=KNOWN)
            if page.status != 409:
                break
            await asyncio.sleep(0.01)
        assert page.headers["content-disposition"] == 'attachment; filename="results.html"'
        assert page.body.startswith(b"<!DOCTYPE html>")
        assert b"100 people answered" in page.body

    stage(play)


def test_a_store_that_goes_away_is_told(stage: Any, collected: Any) -> None:
    async def play(ask: Ask) -> None:
        assert (await ask("GET", "/api/state", headers=KNOWN)).status == 200
        collected.path.rename(collected.path.with_name("gone.db"))
        refused = await ask("POST", "/api/close", headers=OWN, body=b"{}")
        assert refused.status == 503
        assert refused.headers["retry-after"] == "2"
        assert "reason" in refused.json

    stage(play)
