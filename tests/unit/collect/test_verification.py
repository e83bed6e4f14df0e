"""Collectors that serve the very files of the package, and yet something else."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from confide.collect import static, wire
from confide.collect.verification import verify
from confide.questions import Questionnaire

SURVEY = Questionnaire.from_dict(
    {"title": "Staff", "questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}}
)
FILES = static.page("page", "device")
STRICT = static.headers(static.import_map_hash(FILES["/"].data))


@contextlib.contextmanager
def serving(
    headers: dict[str, str] | None = None, agents: list[str] | None = None, **fields: Any
) -> Iterator[str]:
    """The page with other headers, and a survey with other fields."""
    survey = wire.described(SURVEY) | {"closed": False} | fields

    class Hostile(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if agents is not None:
                agents.append(self.headers["user-agent"])
            file = FILES.get(self.path)
            data = json.dumps(survey).encode() if file is None else file.data
            self.send_response(200)
            told = STRICT | {"content-type": file.kind if file else "application/json"}
            for name, value in (told | (headers or {})).items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hostile) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_an_honest_collector_learns_nothing_of_who_verifies() -> None:
    agents: list[str] = []
    with serving({"strict-transport-security": "max-age=9", "via": "1.1 proxy"}, agents) as url:
        assert verify(url, SURVEY).holds
    assert len(agents) == len(FILES) + 1
    assert all(agent.startswith("Mozilla/") for agent in agents)


@pytest.mark.parametrize(
    "header",
    [
        {"refresh": "0; url=/other.html"},
        {"link": "</other.css>; rel=stylesheet"},
        {"clear-site-data": '"storage"'},
        {"set-cookie": "who=you"},
        {"content-security-policy": "default-src *"},
        {"content-security-policy": ""},
        {"content-type": "text/html; charset=utf-16"},
    ],
)
def test_headers_that_make_something_else_of_the_same_files(header: dict[str, str]) -> None:
    with serving(header) as url:
        found = verify(url, SURVEY)
    assert all(found.files.values())
    assert found.mechanisms
    assert found.wording
    assert not found.headers
    assert not found.holds


@pytest.mark.parametrize(
    "fields",
    [
        {"languages": ["en", "de"]},
        {"epsilon": 0.1},
        {"invited": "yes"},
        {"closed": 0},
        {"text_de": "Anything"},
        {"questions": [{**wire.described(SURVEY)["questions"][0], "name_de": "Something else"}]},
    ],
)
def test_a_survey_that_says_more_than_its_file(fields: dict[str, Any]) -> None:
    with serving(**fields) as url:
        found = verify(url, SURVEY)
    assert found.mechanisms
    assert found.headers
    assert not found.wording
    assert not found.holds
