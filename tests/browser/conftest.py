"""A browser and a small server for the tests that need them: make test-browser."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser.service import SURVEY, Lines, Service

from confide.questions import Questionnaire

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EMPTY = b"<!doctype html><html lang=en><title>confide</title><link rel=icon href=data:,></html>"


def chromium() -> str:
    """The browser that $CHROMIUM names, or the first of the usual ones."""
    named = os.environ.get("CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(
            f"No browser found as {named or ', '.join(NAMES)}. Install Chromium (on Debian: "
            "apt-get install chromium), or set CHROMIUM to its path.",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, started once."""
    # Chromium refuses to run its sandbox as root.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own profile; a script error or a console error fails the test."""
    context = browser.new_context()
    made = context.new_page()
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield made
    context.close()
    assert not errors, errors


class Site(SimpleHTTPRequestHandler):
    """Files of this repository, and what a test has added."""

    extensions_map: ClassVar[dict[str, str]] = {
        ".js": "text/javascript; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".json": "application/json",
        ".jsonl": "application/json",
        "": "application/octet-stream",
    }
    added: dict[str, bytes]

    def __init__(self, *arguments: Any, added: dict[str, bytes], **others: Any) -> None:
        self.added = added
        super().__init__(*arguments, **others)

    def do_GET(self) -> None:
        content = self.added.get(self.path)
        if content is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(self.path))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@dataclass(frozen=True)
class Served:
    """Where the files are served, and what was added to them by path; an empty page, to start."""

    url: str
    added: dict[str, bytes]

    @property
    def empty(self) -> str:
        """The address of a page without content."""
        return f"{self.url}/empty.html"


@pytest.fixture(scope="session")
def site() -> Iterator[Served]:
    """The repository over http on a free port of this machine."""
    added = {"/empty.html": EMPTY}
    handler = partial(Site, directory=str(ROOT), added=added)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Served(f"http://127.0.0.1:{server.server_address[1]}", added)
        server.shutdown()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts collectors; each keeps what was logged since in its ``log``."""
    running: list[Service] = []
    handlers: list[logging.Handler] = []
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)

    def start(text: str = SURVEY, **settings: Any) -> Service:
        folder = tmp_path / f"service{len(running)}"
        folder.mkdir()
        (folder / "survey.toml").write_text(text, "utf-8")
        service = Service(folder, Questionnaire.read(folder / "survey.toml"), **settings)
        running.append(service)
        handlers.append(Lines(service.log))
        root.addHandler(handlers[-1])
        return service

    yield start
    for service in running:
        service.stop()
    for handler in handlers:
        root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def service(serve: Callable[..., Service]) -> Service:
    """A collector of invited people."""
    return serve()
