"""The page in Firefox, where there is one: a walk, and a changed module that is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.browser.marionette import Firefox, firefox
from tests.browser.service import Service

from confide.collect import static

program = firefox()
pytestmark = pytest.mark.skipif(program is None, reason="There is no Firefox.")


@pytest.fixture
def browser_de(tmp_path: Path) -> Iterator[Firefox]:
    """Firefox in German."""
    folder = tmp_path / "profile"
    folder.mkdir()
    started = Firefox(program or "", folder, languages="de,en")
    yield started
    started.stop()


def test_a_walk(service: Service, browser_de: Firefox) -> None:
    page = browser_de
    page("WebDriver:Navigate", url=service.link())
    page.type("#q1", "54.321,5")
    page.type("#q2", "7")
    page.click("#q3")
    page.click("form button.main")
    assert page.text("dd") == "Sie haben 54.321,5 EUR eingegeben"
    page.click("div.buttons button.main")
    assert page.text("[data-state=received] h1") == "Danke. Ihre Meldung ist angekommen."
    sent = json.loads(page.text("pre"))
    assert service.reports() == [sent["reports"]]
    assert page.run("return Object.values(localStorage).length") == 1
    page("WebDriver:Refresh")
    assert page.text("[data-state=received] h1")
    assert len(service.reports()) == 1


def test_a_changed_module_does_not_run(
    serve: Callable[..., Service], browser_de: Firefox, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = dict(static.page("page", "device"))
    device = files["/device.js"]
    files["/device.js"] = static.File(device.data + b"\n", device.kind)
    monkeypatch.setattr(static, "page", lambda *_: files)
    service = serve()
    browser_de("WebDriver:Navigate", url=service.link())
    time.sleep(1)
    assert browser_de.run("return document.querySelectorAll('main > *').length") == 4
    assert browser_de.run("return document.querySelector('form')") is None
