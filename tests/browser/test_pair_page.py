"""The page where a person is asked for a pair of questions, in Chromium, and what comes of it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conformance.tapes import Tape
from conformance.vectors import PAIRS
from playwright.sync_api import Page, Route, expect
from tests.browser.service import SURVEY, Service
from tests.browser.test_page import AXE, TAPE, Visit, shot, state, stopped, visit  # noqa: F401

from confide.collect import wire
from confide.collect.exports import export, parquet
from confide.survey import Survey

PAIRED = (
    (
        SURVEY.replace('groups = ["region"]', "epsilon = 2.0\nask = 1")
        .replace("epsilon = 1.0\n", "")
        .replace("epsilon = 0.5\n", "")
    )
    + """
[relations]
pairs = [["pay", "sick"], ["sick", "smokes"]]
at = { pay = 40000, sick = 5 }
"""
)
BIT, TABLE = (3,), (4,)


@pytest.fixture
def paired(serve: Callable[..., Service]) -> Service:
    """A collector that asks some people for a pair."""
    return serve(PAIRED)


def to_review(page: Page, link: str, pay: str = "54321", days: str = "7") -> None:
    page.bring_to_front()
    page.goto(link)
    page.fill("#q1", pay)
    page.fill("#q2", days)
    page.click("form button.main")
    page.wait_for_selector("dl")


def answer(page: Page, link: str, pay: str = "54321", days: str = "7") -> None:
    to_review(page, link, pay, days)
    page.click("button.main")


def test_one_report_about_both_answers(paired: Service, visit: Callable[..., Visit]) -> None:  # noqa: F811
    visited = visit()
    page, link = visited.page, paired.link(asked=BIT)
    page.goto(link)
    expect(page.locator("form .step")).to_have_text(["Question 1 of 2", "Question 2 of 2"])
    answer(page, link)
    state(page, "received")
    (body,) = visited.uploads
    sent = json.loads(body)
    assert page.locator("pre").text_content() == body
    assert sent["reports"].keys() == {"pay & sick"}
    assert sent["reports"]["pay & sick"] in (0, 1, 2)
    assert paired.reports() == [sent["reports"]]
    assert visited.said == []


def test_what_is_sent_is_told_with_the_odds_of_the_law(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    page = visit().page
    page.goto(paired.link(asked=BIT))
    page.wait_for_selector("form")
    assert page.locator("details").count() == 0
    text = page.locator("form").inner_text()
    law = paired.survey.pairs["pay & sick"].response.law
    same, other = (round(100 * weight / law.total) for weight in (law.near, law.far))
    assert (same, other) == (79, 11)
    assert "one sign only: “exactly one”, or “none or both”" in text
    assert "before tax? – 40,136.7\u00a0EUR or more" in text
    assert "ill last year? – 5\u00a0days or more" in text
    assert f"{same} send just that. Of 100 others, {other} send it as well." in text
    assert "If you prefer not to say in one of the two questions" in text
    assert "this report changes the odds by a factor of at most 7.39 (epsilon 2)" in text
    assert "reports together" not in text
    assert "asked for one report about two questions" in text
    expect(page.locator("main")).to_contain_text("makes one report of your two answers together")
    page.get_by_role("button", name="Deutsch").click()
    german = page.locator("form")
    expect(german).to_contain_text("Keine der Antworten wird gesendet.")
    expect(german).to_contain_text("vor Steuern? – 40.136,7\u00a0EUR oder mehr")
    expect(german).to_contain_text(f"senden {same} genau das. Von 100 anderen senden {other} es")
    expect(german).to_contain_text("höchstens um den Faktor 7,39 (Epsilon 2)")


def test_a_table_tells_its_classes(paired: Service, visit: Callable[..., Visit]) -> None:  # noqa: F811
    visited = visit()
    page = visited.page
    page.add_init_script("crypto.getRandomValues = (array) => array.fill(0);")
    page.goto(paired.link(asked=TABLE))
    form = page.locator("form")
    expect(form).to_contain_text("last year? – below 5\u00a0days; 5\u00a0days or more")
    expect(form).to_contain_text("Do you smoke? – No; Sometimes; Every day")
    expect(form).to_contain_text("one number only, which stands for the two classes")
    law = paired.survey.pairs["sick & smokes"].response.law
    same, other = (round(100 * weight / law.total) for weight in (law.near, law.far))
    expect(form).to_contain_text(f"{same} send just that. Of 100 others, {other} send it as well.")
    page.fill("#q1", "5")
    page.get_by_label("Sometimes").check()
    page.click("form button.main")
    expect(page.locator("dd")).to_have_text(["5\u00a0days", "Sometimes"])
    expect(page.locator("main")).to_contain_text("one randomly changed report about both answers")
    page.click("button.main")
    state(page, "received")
    assert paired.reports() == [{"sick & smokes": 4}]


def test_declining_one_of_both(paired: Service, visit: Callable[..., Visit]) -> None:  # noqa: F811
    page = visit().page
    page.add_init_script("crypto.getRandomValues = (array) => array.fill(0);")
    page.goto(paired.link(asked=BIT))
    page.fill("#q1", "54321")
    page.get_by_label("I prefer not to say").check()
    assert page.locator("#q1-card .choice").count() == 0  # pay must be answered
    page.click("form button.main")
    expect(page.locator("dd")).to_have_text(["54,321\u00a0EUR", "I prefer not to say"])
    page.click("button.main")
    state(page, "received")
    assert paired.reports() == [{"pay & sick": 2}]


def test_what_cannot_be_read_is_asked_again(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    visited = visit()
    page = visited.page
    page.goto(paired.link(asked=BIT))
    page.fill("#q2", "3.5")
    page.click("form button.main")
    assert page.get_by_role("alert").locator("li").count() == 2
    expect(page.locator("#q2-error")).to_have_text("Please enter a whole number, such as 60.")
    assert not visited.uploads


def test_the_reports_of_the_page_are_those_of_python(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    """The same bytes and answers give the same report, after the 16 bytes of the receipt."""
    tape = bytes((73 * at + 41) % 256 for at in range(64))[16:]
    pair = paired.survey.pairs["pay & sick"]
    link = paired.link(asked=BIT)
    bodies = []
    for pay, days in ((20_000, 7), (280_000, 7), (40_136, 5), (40_137, 4)):
        visited = visit()
        visited.page.add_init_script(TAPE)
        visited.page.route(
            "**/reports", lambda route: route.fulfill(status=201, json={"reason": "Stored."})
        )
        answer(visited.page, link, str(pay), str(days))
        state(visited.page, "received")
        bodies.append(json.loads(visited.uploads[0]))
        rows = pair.index({"pay": [pay], "sick": [days]})
        expected = int(pair.draw(rows, Tape(tape))[0])
        assert bodies[-1].pop("reports") == {"pay & sick": expected}
    # Nothing but the report depends on the answers.
    assert all(body == bodies[0] for body in bodies)


def test_two_tabs_and_a_lost_reply_send_one_report(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    visited = visit()
    page, tab = visited.page, visited.tab()
    link = paired.link(asked=BIT)
    lost: list[int] = []

    def lose(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(1)
        route.fetch()  # the collector has it, and nobody hears of it
        route.abort()

    visited.context.route("**/reports", lose)
    to_review(page, link, "20000", "30")
    to_review(tab, link, "280000", "1")
    for each in (tab, page):  # none waits for the other
        each.evaluate("document.querySelector('.buttons .main')?.click()")
    state(page, "received")
    state(tab, "received")
    assert len(set(visited.uploads)) == 1
    assert len(visited.uploads) >= 2
    assert len(paired.reports()) == 1
    page.reload()
    state(page, "received")
    assert len(paired.reports()) == 1


def test_links_that_ask_for_something_else(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    visited = visit()
    token = paired.token(asked=BIT)
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    for places in ("[3,4]", "[0,3]", "[5]", '["3"]', "[[3]]", "[0,1]", "3.5", "[]", "{}"):
        facts = f'{{"q":{places}}}'.encode()
        forged = base64.urlsafe_b64encode(raw[:33] + facts).decode().rstrip("=")
        visited.page.goto("about:blank")
        visited.page.goto(paired.url + "#" + forged)
        stopped(visited, "The link is not complete")


def test_a_device_that_refuses(paired: Service, visit: Callable[..., Visit]) -> None:  # noqa: F811
    for change in (
        {"epsilon": 1.0},
        {"weights": ["9", "1"]},
        {"parts": []},
        {"mechanism": "square-wave"},
    ):
        visited = visit()

        survey = json.loads(json.dumps(wire.described(paired.survey)))
        survey["pairs"][0]["mechanism"] |= change
        visited.page.route("**/survey.json", partial(Route.fulfill, json=survey))
        visited.page.goto(paired.link(asked=BIT))
        stopped(visited, "This survey cannot be answered safely")
        assert visited.page.locator("input").count() == 0


def test_no_answer_makes_the_device_fall_silent(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    """A survey of which some answers could not be drawn: that nothing comes would tell them."""
    described = wire.described(paired.survey)
    pair, question = ("pairs", 1, "mechanism", "parts"), ("questions", 2)
    for asked, path, change in (
        (TABLE, (*pair, 1), {"categories": ["no", "sometimes", "never"]}),
        (TABLE, (*pair, 0), {"lattice": {"low": 0, "high": 61, "size": 62, "scale": "linear"}}),
        (TABLE, (*pair, 0), {"prefer_not_to_say": False}),
        ((2,), question, {"missing": "never"}),
        (TABLE, question, {"missing": "never"}),
        ((1,), ("questions", 1), {"missing": 0}),
    ):
        visited = visit()
        survey = json.loads(json.dumps(described))
        part = survey
        for key in path:
            part = part[key]
        part |= change
        visited.page.route("**/survey.json", partial(Route.fulfill, json=survey))
        visited.page.goto(paired.link(asked=asked))
        stopped(visited, "This survey cannot be answered safely")
        assert visited.page.locator("input").count() == 0


def test_odds_of_every_pair_are_those_of_its_law(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
) -> None:
    page = visit().page
    page.goto(paired.link(asked=BIT))
    page.wait_for_selector("form")
    found = page.evaluate(
        """async (specs) => {
            const { Pair } = await import("/pairs.js");
            return specs.map((mechanism) => {
                const questions = mechanism.parts.map((part) => ({ fields: { mechanism: part } }));
                return new Pair({ name: "x", mechanism }, questions).odds;
            });
        }""",
        [pair.to_dict() for pair in PAIRS],
    )
    for pair, odds in zip(PAIRS, found, strict=True):
        weights = np.array(pair.law.weights(0), dtype=float)
        expected = 100 * weights[:2] / weights.sum()
        assert np.abs(np.array(odds) - expected).max() <= 0.5 + 1e-6, pair


def test_from_the_page_to_a_correlation(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
    tmp_path: Path,
) -> None:
    """A person answers a pair on the page; the export with everybody else's gives a correlation."""
    answer(visit().page, paired.link(asked=BIT), "20000", "30")
    survey = Survey.from_dict(paired.survey.to_dict())
    page = visit().page
    answer(page, paired.link(asked=BIT), "90000", "0")
    state(page, "received")
    table = export(paired.store, survey)
    assert table["pay & sick"].null_count == 0
    generator, n = np.random.default_rng(3), 4_000
    score = generator.normal(size=n)
    others = {
        "pay": 40_000 * np.exp(0.4 * score),
        "sick": generator.poisson(5 * np.exp(-0.6 * score)).clip(0, 60).tolist(),
        "smokes": ["no"] * n,
    }
    import pyarrow as pa

    own = survey.privatize(others).replace_schema_metadata(table.schema.metadata)
    everybody = pa.concat_tables([table, own.select(table.column_names)])
    (tmp_path / "reports.parquet").write_bytes(parquet(everybody))
    command = [sys.executable, "-m", "confide", "relate", str(paired.folder / "survey.toml")]
    done = subprocess.run(
        [*command, str(tmp_path / "reports.parquet"), "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (one,) = (each for each in told["relations"] if each["questions"] == ["pay", "sick"])
    assert one["n"] > 900
    assert one["high"] < 0


@pytest.mark.parametrize(
    ("scheme", "language", "width"), [("light", "en", 1100), ("dark", "de", 360)]
)
def test_accessible_at_every_step(
    paired: Service,
    visit: Callable[..., Visit],  # noqa: F811
    scheme: str,
    language: str,
    width: int,
) -> None:
    page = visit(
        bypass_csp=True,  # axe is run in the page
        color_scheme=scheme,
        locale=language,
        viewport={"width": width, "height": 800},
    ).page

    def sound(step: str) -> None:
        shot(page, f"pair-{step}-{scheme}-{language}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("axe.run()")
        assert [(step, each["id"], each["nodes"]) for each in found["violations"]] == []

    for asked, name in ((BIT, "bit"), (TABLE, "table")):
        page.goto("about:blank")
        page.goto(paired.link(asked=asked))
        page.wait_for_selector("form")
        sound(f"{name}-1-questions")
    to_review(page, paired.link(asked=BIT))
    sound("2-review")
    page.click("button.main")
    state(page, "received")
    sound("3-received")
