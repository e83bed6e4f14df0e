"""The dashboard in Chromium: what it shows while reports arrive, and what its buttons do."""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect

from confide.collect import owners, static, stores
from confide.collect.invitations import cell, question_cell
from confide.collect.live import Live
from confide.collect.wire import Entry
from confide.questions import Questionnaire
from confide.results import needed
from confide.results.telling import ROUGH

SHOTS = os.environ.get("CONFIDE_SCREENSHOTS")
"""A folder for pictures."""
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
TITLE = "Pay & health <b>at</b> work"
SURVEY = {
    "title": TITLE,
    "groups": ["region"],
    "closes": "2099-01-31T18:00:00Z",
    "questions": {
        "pay": {
            "text": "What do you <i>earn</i> in a year?",
            "unit": "EUR",
            "low": 0,
            "high": 200_000,
            "size": 128,
            "epsilon": 2.0,
        },
        "smokes": {
            "text": "Do you smoke?",
            "categories": ["no", "yes"],
            "labels": ["No, never", "Yes"],
            "epsilon": 2.0,
        },
    },
}
WAIT = 30_000


@dataclass
class Dashboard:
    """The owner's service with a SQLite store, on a free port of this machine."""

    path: Path
    survey: Questionnaire = field(default_factory=lambda: Questionnaire.from_dict(SURVEY))
    port: int = 0

    def __post_init__(self) -> None:
        self.store = stores.opened(self.path, self.survey, create=True)
        self.secret = owners.new_secret()
        self.start()

    def start(self) -> None:
        """Serve, on the same port as before."""
        listener = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
        self.port = listener.getsockname()[1]
        live = Live(self.survey, stores.opened(self.path, self.survey, create=False))
        app = owners.app(live, secret=self.secret, hosts=owners.hosts(self.port))
        self.server = uvicorn.Server(uvicorn.Config(app, log_config=None))
        run = {"sockets": [listener]}
        self.thread = threading.Thread(target=self.server.run, kwargs=run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server."""
        self.server.should_exit = True
        self.thread.join()

    @property
    def link(self) -> str:
        return owners.link(self.port, self.secret)

    def add(self, n: int, *, seed: int, more: int = 0) -> None:
        """Reports of people in the north, who earn about 40,000, and the south, about 80,000."""
        draw = np.random.default_rng(seed)
        south = draw.random(n) < 0.5
        values = draw.normal(np.where(south, 80_000, 40_000), 5_000)
        pay = self.survey.mechanisms["pay"].simulate(values, seed=seed).indices
        words = np.where(draw.random(n) < 0.3, "yes", "no").tolist()
        smokes = self.survey.mechanisms["smokes"].simulate(words, seed=seed).indices
        entries = [
            Entry(
                *(secrets.token_bytes(32) for _ in range(3)),
                cell=cell(["south" if there else "north"]),
                reports=json.dumps({"pay": int(one), "smokes": int(two)}, separators=(",", ":")),
            )
            for one, two, there in zip(pay, smokes, south, strict=True)
        ]
        hashes = [entry.invitation or b"" for entry in entries]
        hashes += [secrets.token_bytes(32) for _ in range(more)]
        cells = Counter(entry.cell for entry in entries)
        cells[cell(["north"])] += more
        self.store.invite(hashes, cells)
        for start in range(0, n, 400):
            self.store.put(entries[start : start + 400])


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    made = Dashboard(tmp_path / "reports.db")
    yield made
    made.stop()
    made.store.shut()


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens pages of profiles of their own; what they complain about fails the test."""
    contexts, errors = [], []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        # A refused request is the browser's complaint, not the page's.
        page.on(
            "console",
            lambda line: (
                errors.append(line.text)
                if line.type in ("error", "warning") and "Failed to load resource" not in line.text
                else None
            ),
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def sound(page: Page, step: str) -> None:
    """Nothing is cut off, and axe finds nothing."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
    if page.viewport_size and page.viewport_size["width"] >= 1280:
        assert page.evaluate(
            "Array.from(document.querySelectorAll('.table'),"
            " (each) => each.scrollWidth - each.clientWidth).every((cut) => cut <= 0)"
        ), step
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 15
    assert [(step, each["id"], each["nodes"]) for each in found["violations"]] == []
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        width = (page.viewport_size or {})["width"]
        page.screenshot(path=Path(SHOTS) / f"owner-{step}-{width}.png", full_page=True)


def cards(page: Page) -> Any:
    return page.locator("section.question")


def median(page: Page) -> float:
    text = cards(page).first.locator("tr:has-text('Median') td").first.inner_text()
    return float(text.replace(",", ""))


def test_numbers_move_while_reports_arrive(dashboard: Dashboard, visit: Visit) -> None:
    page = visit()
    page.goto(dashboard.link)
    expect(page.locator("#title")).to_have_text(TITLE, timeout=WAIT)
    expect(page.locator("#answered")).to_have_text("0")
    expect(page.locator("#badge")).to_have_text("Provisional")
    expect(cards(page)).to_have_count(2)
    expect(cards(page).first).to_contain_text("No reports yet.", timeout=WAIT)
    dashboard.add(20, seed=1, more=1000)
    expect(page.locator("#answered")).to_have_text("20", timeout=WAIT)
    expect(page.locator("#of")).to_have_text("of 1,020 invited have answered")
    expect(page.locator("#bar")).to_have_attribute("aria-valuenow", "2")
    # Of 1,020 people 1.96 %: rounded down wherever it is told.
    expect(page.locator("#bar")).to_have_attribute("aria-valuetext", "1.9%")
    expect(page.locator("#deadline")).to_contain_text("1.9% response rate")
    expect(page.locator("#deadline")).to_contain_text("1,000 have not answered yet")
    expect(page.locator("#deadline")).to_contain_text("closes in ")
    expect(cards(page).first).to_contain_text("Not enough reports yet: 20 of", timeout=WAIT)
    dashboard.add(300, seed=2)
    expect(cards(page).first.locator("svg.picture path.curve")).to_have_count(1, timeout=WAIT)
    before = cards(page).first.locator("path.curve").get_attribute("d")
    told = cards(page).first.locator("svg.picture").get_attribute("aria-label")
    assert told is not None
    assert re.match(r"Estimated distribution\. Median [\d,]+ EUR, 95% interval [\d,]+ to", told)
    assert 30_000 < median(page) < 90_000
    # Enough reports to say anything, and hardly any to see the shape of a curve.
    least = needed(dashboard.survey.mechanisms["pay"])
    assert least < 320 < ROUGH * least < 2320
    rough = cards(page).first.get_by_text("do not read peaks or dips from it")
    expect(rough).to_be_visible()
    expect(cards(page).nth(1).get_by_text("do not read peaks")).to_be_hidden()
    dashboard.add(2000, seed=3)
    expect(page.locator("#answered")).to_have_text("2,320", timeout=WAIT)
    expect(page.locator("#pulse")).to_have_text("Estimated from all 2,320 reports", timeout=WAIT)
    assert cards(page).first.locator("path.curve").get_attribute("d") != before
    expect(rough).to_be_hidden(timeout=WAIT)
    share = cards(page).nth(1).locator("tr:has-text('Yes') td").first.inner_text()
    assert 24 < float(share.removesuffix("%")) < 36


def test_groups_are_compared(dashboard: Dashboard, visit: Visit) -> None:
    dashboard.add(1500, seed=1)
    page = visit()
    page.goto(dashboard.link)
    page.locator("#switch button").nth(1).wait_for(timeout=WAIT)
    page.focus("#switch button:nth-child(2)")
    page.keyboard.press("Enter")
    expect(page.locator("#switch button").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(cards(page).first.locator("path.curve")).to_have_count(2, timeout=WAIT)
    expect(cards(page).first.locator(".legend li")).to_have_text(["north", "south"])
    rows = cards(page).first.locator("tbody tr")
    numbers = [
        float(rows.nth(at).locator("td").nth(1).inner_text().split()[0].replace(",", ""))
        for at in range(2)
    ]
    assert 30_000 < numbers[0] < 50_000
    assert 70_000 < numbers[1] < 90_000
    expect(cards(page).nth(1).locator("rect.bar")).to_have_count(4)


def test_texts_are_text(dashboard: Dashboard, visit: Visit) -> None:
    page = visit()
    page.goto(dashboard.link)
    expect(cards(page).first.locator("h2")).to_have_text(
        "What do you <i>earn</i> in a year?", timeout=WAIT
    )
    assert page.locator("h1 b, h2 i").count() == 0


def test_the_secret_leaves_the_address_and_outlives_a_reload(
    dashboard: Dashboard, visit: Visit
) -> None:
    page = visit()
    page.goto(dashboard.link)
    expect(page.locator("#dashboard")).to_be_visible(timeout=WAIT)
    assert page.url == f"http://127.0.0.1:{dashboard.port}/"
    page.reload()
    expect(page.locator("#dashboard")).to_be_visible(timeout=WAIT)
    assert page.context.cookies() == []


@pytest.mark.parametrize("wrong", ["#nonsense", ""])
def test_a_wrong_secret_gets_one_sentence(dashboard: Dashboard, visit: Visit, wrong: str) -> None:
    page = visit()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"http://127.0.0.1:{dashboard.port}/{wrong}")
    expect(page.locator("#notice")).to_have_text(
        "Open the dashboard by the link that the server has printed.", timeout=WAIT
    )
    expect(page.locator("#dashboard")).to_be_hidden()
    seen = len(asked)
    page.wait_for_timeout(5000)
    assert len(asked) == seen
    # The right link in the same tab does.
    page.goto(dashboard.link)
    expect(page.locator("#dashboard")).to_be_visible(timeout=WAIT)
    expect(page.locator("#notice")).to_be_hidden()


def test_closing_needs_the_title(dashboard: Dashboard, visit: Visit) -> None:
    dashboard.add(300, seed=1)
    page = visit()
    page.goto(dashboard.link)
    expect(page.locator("#answered")).to_have_text("300", timeout=WAIT)
    page.click("#close")
    expect(page.locator("dialog")).to_contain_text("cannot be opened again")
    page.fill("#dialog-word", "Pay & health")
    expect(page.locator("#dialog-yes")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    assert not dashboard.store.status().closed
    page.click("#close")
    expect(page.locator("#dialog-word")).to_be_focused()
    expect(page.locator("#dialog-yes")).to_be_disabled()
    page.fill("#dialog-word", TITLE)
    page.click("#dialog-yes")
    expect(page.locator("#said")).to_contain_text("The survey has ended.", timeout=WAIT)
    expect(page.locator("#badge")).to_have_text("Final", timeout=WAIT)
    expect(page.locator("#close")).to_be_hidden()
    expect(page.locator("#deadline")).to_contain_text("the survey has ended")
    assert dashboard.store.status().closed


def test_exporting_before_the_end_and_after_it(dashboard: Dashboard, visit: Visit) -> None:
    dashboard.add(50, seed=1)
    page = visit()
    page.goto(dashboard.link)
    expect(page.locator("#answered")).to_have_text("50", timeout=WAIT)
    expect(page.locator("#export-told")).to_contain_text("two exports, one before and one after")
    page.click("#export")
    expect(page.locator("dialog")).to_contain_text("those who answered in between")
    page.click("#dialog-no")
    expect(page.locator("dialog")).to_be_hidden()

    def exported(press: Callable[[], None]) -> Any:
        with page.expect_download(timeout=WAIT) as download:
            press()
        assert download.value.suggested_filename == "reports.parquet"
        return pq.read_table(io.BytesIO(Path(download.value.path()).read_bytes()))

    def early() -> None:
        page.click("#export")
        page.fill("#dialog-word", "export")
        page.keyboard.press("Enter")

    table = exported(early)
    assert (table.num_rows, table.schema.names) == (50, ["pay", "smokes", "region"])
    expect(page.locator("#said")).to_contain_text("as reports.parquet")
    dashboard.store.close()
    expect(page.locator("#export")).to_have_text("Export as Parquet", timeout=WAIT)
    assert exported(lambda: page.click("#export")).num_rows == 50


def test_a_server_that_is_gone_is_told_and_waited_for(dashboard: Dashboard, visit: Visit) -> None:
    dashboard.add(25, seed=1)
    page = visit()
    page.goto(dashboard.link)
    expect(page.locator("#answered")).to_have_text("25", timeout=WAIT)
    dashboard.stop()
    expect(page.locator("#notice")).to_contain_text("The server does not answer.", timeout=WAIT)
    expect(page.locator("#answered")).to_have_text("25")
    dashboard.start()
    dashboard.add(5, seed=2)
    expect(page.locator("#notice")).to_be_hidden(timeout=WAIT)
    expect(page.locator("#answered")).to_have_text("30", timeout=WAIT)


def test_a_changed_script_does_not_run(dashboard: Dashboard, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    changed = static.page("owner", "pictures")["/pictures.js"].data + b"\n// changed"
    page.route(
        "**/pictures.js",
        lambda route: route.fulfill(body=changed, content_type="text/javascript"),
    )
    page.goto(dashboard.link)
    page.wait_for_timeout(1500)
    expect(page.locator("#dashboard")).to_be_hidden()
    assert any("integrity" in line for line in said)
    context.close()


def test_pictures_move_unless_the_reader_wants_none_of_it(
    dashboard: Dashboard, visit: Visit
) -> None:
    """Counts how many different curves are drawn on the way to a new estimate."""
    watch = """() => {
        const seen = window.seen = new Set();
        const step = () => {
            const curve = document.querySelector("path.curve");
            if (curve) seen.add(curve.getAttribute("d"));
            requestAnimationFrame(step);
        };
        step();
    }"""
    still, lively = visit(), visit(reduced_motion="no-preference")
    for page in (still, lively):
        page.goto(dashboard.link)
        expect(page.locator("#dashboard")).to_be_visible(timeout=WAIT)
        page.evaluate(watch)
    dashboard.add(300, seed=1)
    for page in (still, lively):
        page.bring_to_front()
        page.locator("path.curve").wait_for(timeout=WAIT, state="attached")
        page.wait_for_timeout(1500)
    # The quick estimate and at most one more of the same reports.
    assert still.evaluate("seen.size") <= 2
    assert lively.evaluate("seen.size") > 5


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_whatever_is_shown(
    dashboard: Dashboard, visit: Visit, scheme: str, width: int
) -> None:
    page = visit(
        bypass_csp=True,  # axe is run in the page
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
    )

    page.goto(dashboard.link)
    expect(cards(page).first).to_contain_text("No reports yet.", timeout=WAIT)
    sound(page, "nobody")
    dashboard.add(800, seed=1, more=200)
    expect(page.locator("#pulse")).to_have_text("Estimated from all 800 reports", timeout=WAIT)
    expect(cards(page).first.locator("path.curve")).to_have_count(1, timeout=WAIT)
    sound(page, "everyone")
    page.locator("#switch button").nth(1).click()
    expect(cards(page).first.locator("path.curve")).to_have_count(2, timeout=WAIT)
    sound(page, "by-region")
    page.click("#close")
    sound(page, "dialog")


WHOLE = {
    "title": "Work and health",
    "groups": ["region"],
    "epsilon": 12.0,
    "ask": 2,
    "questions": {
        "sick": {
            "text": "How many days were you ill?",
            "unit": "days",
            "kind": "integer",
            "low": 0,
            "high": 20,
            "high_open": True,
            "prefer_not_to_say": True,
        },
        "tired": {
            "text": "How often are you tired?",
            "categories": ["never", "sometimes", "often"],
            "ordered": True,
            "prefer_not_to_say": True,
        },
        "smokes": {"text": "Do you smoke?", "categories": ["no", "yes"]},
    },
}
REGIONS = [f"Region of the number {at}" for at in range(8)]


def test_whole_numbers_declining_and_some_of_the_questions(tmp_path: Path, visit: Visit) -> None:
    survey = Questionnaire.from_dict(WHOLE)
    dashboard = Dashboard(tmp_path / "reports.db", survey)
    n, draw = 1200, np.random.default_rng(5)
    answers = {
        "sick": draw.choice([0, 1, 2, 3, 25, None], n, p=[0.2, 0.3, 0.1, 0.1, 0.1, 0.2]).tolist(),
        "tired": draw.choice(["never", "sometimes", "often"], n, p=[0.2, 0.5, 0.3]).tolist(),
        "smokes": draw.choice(["no", "yes"], n).tolist(),
    }
    reports = {
        name: mechanism.simulate(answers[name], seed=at).indices.tolist()
        for at, (name, mechanism) in enumerate(survey.mechanisms.items())
    }
    entries, cells = [], Counter()
    for row, asked in enumerate(survey.assigned([0] * n).tolist()):
        names = [name for name, here in zip(reports, asked, strict=True) if here]
        own = cell([REGIONS[row % 8]])
        cells.update([own, *map(question_cell, names)])
        text = json.dumps({name: reports[name][row] for name in sorted(names)})
        entries.append(Entry(*(secrets.token_bytes(32) for _ in range(3)), own, text))
    waiting = secrets.token_bytes(32)
    cells.update([cell(REGIONS[:1]), question_cell("sick"), question_cell("tired")])
    dashboard.store.invite([*(each.invitation or b"" for each in entries), waiting], cells)
    for start in range(0, n, 400):
        dashboard.store.put(entries[start : start + 400])
    pages = [visit(bypass_csp=True, viewport={"width": w, "height": 800}) for w in (1280, 400)]
    for page in pages:
        page.goto(dashboard.link)
        sick, tired, smokes = (cards(page).nth(at) for at in range(3))
        expect(sick.locator("path.bars")).to_have_count(1, timeout=WAIT)
        expect(sick).to_contain_text("800 reports of 801 people who were asked, in days.")
        expect(sick).to_contain_text("Values of 20 or more count as 20.")
        told = sick.get_by_text("preferred not to say").inner_text()
        assert 14 < float(told.partition("%")[0]) < 26
        assert "All other figures are about those who answered." in told
        assert sick.locator("tr:has-text('Median') td").first.inner_text() == "1"
        expect(smokes.get_by_text("preferred not to say")).to_be_hidden()
        # Never or sometimes: 70 %.
        upto = tired.locator("tr:has-text('sometimes') td").nth(1).inner_text()
        assert 64 < float(upto.partition("%")[0]) < 76
        sound(page, "whole")
        page.locator("#switch button").nth(1).click()
        expect(sick.locator("path.curve")).to_have_count(6, timeout=WAIT)
        expect(sick.locator("thead")).to_contain_text("Preferred not to say")
        sound(page, "whole-by-region")
    dashboard.stop()
    dashboard.store.shut()


PAIRED = {
    "title": "Work and health",
    "epsilon": 6.0,
    "ask": 1,
    "relations": {"pairs": [["pay", "sick"], ["sick", "smokes"]], "at": {"pay": 50, "sick": 5}},
    "questions": {
        "pay": {"text": "What do you <i>earn</i>?", "low": 0, "high": 100, "size": 64},
        "sick": {"text": "How many days were you ill?", "kind": "integer", "low": 0, "high": 20},
        "smokes": {"text": "Do you smoke?", "categories": ["no", "yes"]},
    },
}


def test_relations_beside_the_questions(tmp_path: Path, visit: Visit) -> None:
    survey = Questionnaire.from_dict(PAIRED)
    dashboard = Dashboard(tmp_path / "reports.db", survey)
    n, draw = 1500, np.random.default_rng(5)
    score = draw.normal(size=n)
    answers = {
        "pay": np.clip(50 + 15 * score, 0, 100),
        "sick": draw.poisson(5 * np.exp(-0.7 * score)).clip(0, 20),
        "smokes": ["no"] * n,
    }
    rows = survey.simulate(answers, seed=1).to_pylist()
    entries, cells = [], Counter()
    for row in rows:
        own = {name: report for name, report in row.items() if report is not None}
        if "sick & smokes" in own:  # nobody of these has answered yet
            cells.update([question_cell("sick & smokes")])
            continue
        cells.update(["", *map(question_cell, own)])
        entries.append(Entry(*(secrets.token_bytes(32) for _ in range(3)), "", json.dumps(own)))
    dashboard.store.invite([each.invitation or b"" for each in entries], cells)
    for start in range(0, len(entries), 400):
        dashboard.store.put(entries[start : start + 400])
    for width in (1280, 390):
        page = visit(bypass_csp=True, viewport={"width": width, "height": 800})
        page.goto(dashboard.link)
        found = page.locator("section.relations")
        expect(found.locator("svg.strip")).to_have_count(1, timeout=2 * WAIT)
        expect(cards(page)).to_have_count(4)
        first, second = found.locator("tbody tr").all()
        expect(first.locator("th")).to_have_text(
            "What do you <i>earn</i>? & How many days were you ill?"
        )
        estimate, interval = first.locator("td").first.inner_text().split("\n")
        assert -1 < float(estimate) < -0.5
        low, high = map(float, interval.split(" to "))
        assert -1 <= low < high < -0.3
        expect(first.locator("td").last).to_have_text("375 of 375")
        expect(second).to_contain_text("not enough reports yet")
        expect(second.locator("td").last).to_have_text("0 of 375")
        sound(page, "relations")
    dashboard.stop()
    dashboard.store.shut()
