"""The page on which people answer, in Chromium, against a real collector."""

from __future__ import annotations

import base64
import json
import os
import re
import string
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance.tapes import drawn
from conformance.vectors import MECHANISMS
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect
from tests.browser.service import SURVEY, Service

from confide.collect import wire
from confide.collect.invitations import Signer
from confide.lattice import Lattice
from confide.mechanisms import Mechanism, RandomizedResponse, SquareWave
from confide.questions import Questionnaire

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = os.environ.get("CONFIDE_SCREENSHOTS")
"""A folder for pictures of every step."""
TELLING = "271828"
"""An answer that is easy to search for: reports are below 2,000."""
TAPE = """
let at = 0;
crypto.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let k = 0; k < bytes.length; k++) bytes[k] = (73 * at++ + 41) % 256;
    return array;
};
"""
BLOCKED = """
const blocked = { get() { throw new DOMException("Blocked.", "SecurityError"); } };
Object.defineProperty(window, "localStorage", blocked);
Object.defineProperty(window, "sessionStorage", blocked);
Object.defineProperty(window, "indexedDB", blocked);
"""
LATER: Any = {"status": 503, "headers": {"retry-after": "60"}, "json": {"reason": "Later."}}
"""A collector that is busy for a minute."""


class Visit:
    """A device with one open page, and what was sent and said on it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.requests: list[Request] = []
        self.said: list[str] = []
        context.on("request", self._note)
        self.page = self.tab()

    def _note(self, request: Request) -> None:
        self.requests.append(request)

    def tab(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(8000)
        page.on("console", lambda line: self.said.append(line.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        return page

    @property
    def uploads(self) -> list[str]:
        """Bodies of all uploads, in their order."""
        return [each.post_data or "" for each in self.requests if each.method == "POST"]


@pytest.fixture
def visit(browser: Browser, serve: Any) -> Iterator[Callable[..., Visit]]:
    """Devices of their own, which share nothing."""
    made: list[BrowserContext] = []

    def start(**options: Any) -> Visit:
        made.append(browser.new_context(**{"locale": "en-US", **options}))
        return Visit(made[-1])

    yield start
    for context in made:
        context.close()


def fill(page: Page, pay: str = "54321") -> None:
    page.fill("#q1", pay)
    page.fill("#q2", "7")
    page.get_by_label("Sometimes").or_(page.get_by_label("Manchmal")).check()


def to_review(page: Page, link: str, pay: str = "54321") -> None:
    page.bring_to_front()
    page.goto(link)
    fill(page, pay)
    page.click("form button.main")
    page.wait_for_selector("dl")


def answer(page: Page, link: str, pay: str = "54321") -> None:
    to_review(page, link, pay)
    page.click("button.main")


def state(page: Page, name: str) -> None:
    """Wait until the page says what became of the upload."""
    expect(page.locator(".panel")).to_have_attribute("data-state", name, timeout=15000)


def kept(page: Page) -> list[Any]:
    return page.evaluate("Object.values(localStorage).map((text) => JSON.parse(text))")


def stopped(visited: Visit, title: str) -> None:
    """The page says why it stops, and nothing was sent."""
    expect(visited.page.locator("h1")).to_have_text(title)
    assert not visited.uploads


# The walk


def test_an_answer_is_sent_once_and_shown_as_it_was_sent(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    page = visited.page
    link = service.link()
    answer(page, link, "54,321.50")
    state(page, "received")
    (body,) = visited.uploads
    sent = json.loads(body)
    assert page.locator("pre").text_content() == body
    assert sent["invitation"] == link.partition("#")[2]
    assert service.reports() == [sent["reports"]]
    assert kept(page) == [{"body": body, "received": True}]
    assert visited.said == []


def test_who_can_see_whose_report_it_is_and_what_a_bound_does(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    page = visited.page
    page.goto(service.link())
    owner = page.get_by_role("row").nth(1).get_by_role("cell")
    expect(page.get_by_role("rowheader").nth(1)).to_have_text("Those who run the survey")
    expect(owner).to_contain_text("While it arrives, they can see whose report it is, by your")
    expect(page.locator("#q1-bounds")).to_have_text(
        "From 0\u00a0EUR to 300,000\u00a0EUR. A smaller number counts as 0\u00a0EUR, "
        "a larger one as 300,000\u00a0EUR."
    )
    if SHOTS:
        page.set_viewport_size({"width": 760, "height": 1000})
        page.screenshot(path=Path(SHOTS) / "who-sees-what.png", full_page=True)
    page.get_by_role("button", name="Deutsch").click()
    expect(owner).to_contain_text("an Ihrer Einladung oder Internetadresse sehen, von wem sie")
    expect(page.locator("#q2-bounds")).to_contain_text(
        "Eine kleinere Zahl zählt als 0\u00a0Tage, eine größere als 60\u00a0Tage oder mehr."
    )


def test_answers_are_echoed_before_anything_is_drawn(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    page = visited.page
    page.goto(service.link())
    fill(page, "412,345.5")
    expect(page.locator(".echo").first).to_have_text("Read as 412,345.5\u00a0EUR")
    page.click("form button.main")
    first = page.locator("dd").first
    expect(first.locator("strong")).to_have_text("412,345.5\u00a0EUR")
    expect(first).to_contain_text("outside the range and counts as 300,000\u00a0EUR")
    assert kept(page) == []
    assert not visited.uploads


def test_numbers_are_read_in_the_language_of_the_page(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit(locale="de-DE")
    page = visited.page
    page.goto(service.link())
    expect(page.locator("h1")).to_have_text("Gehalt und Gesundheit im Betrieb")
    fill(page, "54.321,5")
    page.get_by_role("button", name="English").click()
    expect(page.locator("h1")).to_have_text("Pay and health at work")
    expect(page.locator("#q1")).to_have_value("54321.5")
    expect(page.get_by_label("Sometimes")).to_be_checked()
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("#q1")).to_have_value("54321,5")
    page.click("form button.main")
    expect(page.locator("dd").first).to_have_text("54.321,5\u00a0EUR")
    page.reload()  # nothing that was entered is left
    expect(page.locator("#q1")).to_have_value("")


def test_what_cannot_be_read_is_asked_again(service: Service, visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.goto(service.link())
    page.fill("#q1", "54.321,5")
    page.click("form button.main")
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    assert summary.locator("li").count() == 3
    expect(page.locator("#q1-error")).to_have_text("Please write the number like this: 1,234.5.")
    expect(page.locator("#q1")).to_have_attribute("aria-invalid", "true")
    summary.get_by_role("button").nth(1).click()
    expect(page.locator("#q2")).to_be_focused()
    assert "#" in page.url  # the invitation is still there
    fill(page)
    page.click("form button.main")
    expect(page.locator("h1")).to_have_text("Check your answers")


def test_who_would_rather_not_answer_sends_a_report_as_well(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    page = visited.page
    page.add_init_script("crypto.getRandomValues = (array) => array.fill(0);")
    page.goto(service.link())
    fill(page)
    page.get_by_label("I’d rather not answer").check()
    page.get_by_label("I prefer not to say").check()
    expect(page.locator("#q2")).to_be_disabled()
    expect(page.locator("#q2-card .echo")).to_have_text("")
    assert page.locator("#q1-card .choice").count() == 0  # pay must be answered
    page.click("form button.main")
    answers = ["54,321\u00a0EUR", "I prefer not to say", "I’d rather not answer (counts as No)"]
    expect(page.locator("dd")).to_have_text(answers)
    page.click("button.main")
    state(page, "received")
    (sent,) = service.reports()
    assert sent.keys() == {"pay", "sick", "smokes"}
    # The first slot of whoever declines is the symbol; otherwise it is the first report.
    assert sent == {
        "pay": 185,
        "sick": service.survey.mechanisms["sick"].law.outputs[0] - 1,
        "smokes": 0,
    }


def test_odds_come_from_the_law(service: Service, visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.goto(service.link("south"))
    text = page.locator("form").text_content() or ""
    assert "58 send a number from the third of the scale around it" in text
    assert "21 send a number from there as well" in text
    assert "58 send exactly that answer" in text
    assert "factor of at most 2.72 (epsilon 1)" in text
    assert "3 reports together change the odds by a factor of at most 12.2 (epsilon 2.5)" in text
    assert "region: south" in text
    assert "A whole number from 0\u00a0days to 60\u00a0days or more." in text
    weights = service.survey.mechanisms["sick"].law.weights
    same, other = (round(100 * weights(index)[-1] / sum(weights(index))) for index in (61, 0))
    assert f"of 100 people who choose it, {same} send just that." in text
    assert f"Of 100 people who answer, {other} send it too." in text


def test_odds_of_every_mechanism_are_those_of_its_law(
    service: Service, visit: Callable[..., Visit]
) -> None:
    page = visit().page
    page.goto(service.link())
    page.wait_for_selector("form")
    found = page.evaluate(
        """async (specs) => {
            const { Question } = await import("/questions.js");
            return specs.map((mechanism) =>
                new Question({ name: "x", missing: null, mechanism }, "en", 0).odds);
        }""",
        [mechanism.to_dict() for mechanism in MECHANISMS],
    )
    assert len(found) > 20
    for mechanism, odds in zip(MECHANISMS, found, strict=True):
        fields = mechanism.to_dict()
        size = fields["lattice"]["size"] if "lattice" in fields else len(fields["categories"])
        at, first, last = 0, 0, 2 * fields.get("reach", 0)
        cells = size + last
        if mechanism.name == "laplace":
            at, side = (size - 1) // 2, size // 6
            first, last = at - side, at + side

        def share(index: int, mechanism: Mechanism = mechanism, ends: Any = (first, last)) -> float:
            column = np.zeros(mechanism.law.inputs)
            column[index] = 1
            return 100 * float(mechanism.law.forward(column)[ends[0] : ends[1] + 1].sum())

        expected = [share(at), share(size - 1), 100 * (last - first + 1) / cells]
        assert np.abs(np.array(odds) - expected).max() <= 0.5 + 1e-6, mechanism
        if mechanism.prefer_not_to_say:
            # Those who decline say so as often as others send a report around their answer.
            weights = mechanism.law.weights
            assert round(100 * weights(size)[-1] / sum(weights(size))) == odds[0]
            assert round(100 * weights(0)[-1] / sum(weights(0))) == odds[1]


def test_whole_numbers(service: Service, visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.goto(service.link())
    fill(page)
    expect(page.locator("#q2")).to_have_attribute("inputmode", "numeric")
    for typed in ("3.5", "1.234"):
        page.fill("#q2", typed)
        page.click("form button.main")
        expect(page.locator("#q2-error")).to_have_text("Please enter a whole number, such as 60.")
    page.fill("#q2", "1,234")
    expect(page.locator("#q2-card .echo")).to_have_text("Read as 1,234\u00a0days")
    page.click("form button.main")
    row = page.locator("dd").nth(1)
    expect(row).to_contain_text("1,234\u00a0days")
    expect(row).to_contain_text("counts as 60\u00a0days or more.")


ENGLISH = "Do you mean 1234 or 1.2340? Please write it like that."
GERMAN = "Meinen Sie 1234 oder 1,2340? Bitte schreiben Sie es so."


@pytest.mark.parametrize(
    ("browser_language", "language", "typed"),
    [
        ("en-US", "en", "1.234"),
        ("de-DE", "de", "1,234"),
        ("de-DE", "en", "1,234"),
        ("en-US", "de", "1.234"),
    ],
)
def test_a_number_that_may_be_two_is_asked_back(
    service: Service, visit: Callable[..., Visit], browser_language: str, language: str, typed: str
) -> None:
    page = visit(locale=browser_language).page
    page.goto(service.link())
    page.click(f"header [lang={language}]")
    expect(page.locator("html")).to_have_attribute("lang", language)
    fill(page, typed)
    page.click("form button.main")
    asks = ENGLISH if language == "en" else GERMAN
    expect(page.locator("#q1-error")).to_have_text(asks)
    page.fill("#q1", re.findall(r"[\d.,]+", asks)[1])
    page.click("form button.main")
    meant = "1.234" if language == "en" else "1,234"
    expect(page.locator("dd").first).to_have_text(f"{meant}\u00a0EUR")


def test_a_number_with_two_readings_is_shown_as_people_write_it(
    service: Service, visit: Callable[..., Visit]
) -> None:
    page = visit(locale="en-US").page
    page.goto(service.link())
    fill(page, "4.250")
    page.click("form button.main")
    expect(page.locator("#q1-error")).to_have_text(
        ENGLISH.replace("1234", "4250", 1).replace("1.2340", "4.25")
    )
    page.fill("#q1", "4.25")
    page.click("form button.main")
    expect(page.locator("dd").first).to_have_text("4.25\u00a0EUR")


ASK = SURVEY.replace("groups", "ask = 2\ngroups", 1)


def test_the_questions_that_the_invitation_assigns(
    serve: Callable[..., Service], visit: Callable[..., Visit]
) -> None:
    service = serve(ASK)
    link = service.link(asked=[1, 2])
    visited, second = visit(), visit()
    page, tab = visited.page, visited.tab()
    for each in (page, tab, second.page):
        each.goto(link)
        expect(each.locator("#q1-card h2")).to_have_text("How many days were you ill last year?")
    page.reload()
    expect(page.locator("form .step")).to_have_text(["Question 1 of 2", "Question 2 of 2"])
    expect(page.locator("form h2").nth(1)).to_have_text("Do you smoke?")
    form = page.locator("form")
    expect(form).to_contain_text("your 2 reports together")
    expect(form).to_contain_text("(epsilon 1.5)")
    expect(form).to_contain_text("Which questions you are asked: 2 of 3, chosen by chance.")
    page.fill("#q1", "7")
    page.get_by_label("Every day").check()
    page.click("form button.main")
    page.go_back()
    expect(page.locator("#q1")).to_have_value("7")
    page.click("form button.main")
    page.click("button.main")
    state(page, "received")
    state(tab, "received")
    (sent,) = service.reports()
    assert sent.keys() == {"sick", "smokes"}


def test_invitations_that_ask_something_else_than_the_survey(
    serve: Callable[..., Service], service: Service, visit: Callable[..., Visit]
) -> None:
    asking, visited = serve(ASK), visit()
    every, some = service.token(), asking.token(asked=[0, 1])
    raw = base64.urlsafe_b64decode(some + "=" * (-len(some) % 4))
    places = (
        "[0]",
        "[1,1]",
        '[0,"0"]',
        '["0","1"]',
        "[[0,1]]",
        "[0,9]",
        "[0,1,2]",
        "5",
        '"01"',
        "{}",
    )
    others = (b"", b'{"q":[0,1]}', b'{"g":null,"q":[0]}', b"[]", b"7")
    for facts in (*(f'{{"g":["north"],"q":{each}}}'.encode() for each in places), *others):
        token = base64.urlsafe_b64encode(raw[:33] + facts).decode().rstrip("=")
        visited.page.goto("about:blank")
        visited.page.goto(asking.url + "#" + token)
        stopped(visited, "The link is not complete")
    visited.page.goto(asking.url + "#" + every)
    stopped(visited, "The link is not complete")
    raw = base64.urlsafe_b64decode(every + "=" * (-len(every) % 4))
    token = base64.urlsafe_b64encode(raw[:33] + b'{"g":["north"],"q":[0,1,2]}').decode()
    for other in (some, token.rstrip("=")):
        visited.page.goto("about:blank")
        visited.page.goto(service.url + "#" + other)
        stopped(visited, "The link is not complete")


def test_texts_without_a_translation_say_their_language(
    serve: Callable[..., Service], visit: Callable[..., Visit]
) -> None:
    lines = SURVEY.splitlines()
    gone = ("text_de", "help_de", "labels_de", "unit_de", "intro_de")
    service = serve("\n".join(line for line in lines if not line.startswith(gone)))
    page = visit(locale="de-DE").page
    page.goto(service.link())
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.click("form button.main")
    english = [".intro", "#q1-card label", "#q1-help", "#q2-unit", "#q3-card h2"]
    english += ["#q3-card .choice span >> nth=1", ".summary li span >> nth=0"]
    for place in english:
        expect(page.locator(place).first).to_have_attribute("lang", "en")
    for place in ("h1", "#q1-error", "#q2-card .choice span"):
        assert page.locator(place).first.get_attribute("lang") is None
    page.fill("#q1", "54321")
    page.fill("#q2", "7")
    page.get_by_label("Sometimes").check()
    page.click("form button.main")
    for at, lang in enumerate(["en", "en", "en"]):
        expect(page.locator("dd strong").nth(at)).to_have_attribute("lang", lang)


def test_a_survey_in_a_language_that_the_page_lacks(
    serve: Callable[..., Service], visit: Callable[..., Visit]
) -> None:
    survey = 'title = "Une enquête"\nlanguage = "fr"\n[questions.age]\nlow = -5\nhigh = 99\n'
    service = serve(f"{survey}epsilon = 12\n")
    page = visit(locale="de-DE").page
    page.goto(service.link())
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("h1")).to_have_attribute("lang", "fr")
    expect(page.locator("#q1")).to_have_attribute("inputmode", "text")
    weak = "The noise is so small here that it hides almost nothing."
    expect(page.locator("h1 + .warning")).to_have_text(weak)
    expect(page.locator("form")).to_contain_text(weak)
    page.fill("#q1", "-3")
    page.click("form button.main")
    page.click("button.main")
    state(page, "received")


def test_a_survey_for_anybody(serve: Callable[..., Service], visit: Callable[..., Visit]) -> None:
    service = serve(SURVEY.replace('groups = ["region"]\n', ""), invited=False)
    visited = visit()
    answer(visited.page, service.link())
    state(visited.page, "received")
    assert json.loads(visited.uploads[0])["invitation"] is None
    assert len(service.reports()) == 1


# Once


def lose_the_first_reply(page: Page) -> None:
    lost: list[int] = []

    def lose(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.abort()

    page.route("**/reports", lose)


def test_a_lost_reply(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    lose_the_first_reply(visited.page)
    answer(visited.page, service.link())
    state(visited.page, "received")
    first, second = visited.uploads
    assert first == second
    assert service.reports() == [json.loads(first)["reports"]]


def test_reloading(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    page = visited.page
    page.route("**/reports", lambda route: route.abort())
    answer(page, service.link())
    state(page, "waiting")
    drawn = kept(page)
    assert [each["received"] for each in drawn] == [False]
    page.reload()
    state(page, "waiting")
    assert kept(page) == drawn
    page.unroute("**/reports")
    page.reload()
    state(page, "received")
    sent = len(visited.uploads)
    assert len(set(visited.uploads)) == 1
    page.reload()
    state(page, "received")
    assert len(visited.uploads) == sent
    assert len(service.reports()) == 1


def test_the_way_back(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    page = visited.page
    to_review(page, service.link())
    page.go_back()
    expect(page.locator("#q1")).to_have_value("54321")
    page.go_forward()
    page.get_by_role("button", name="Change answers").click()
    expect(page.locator("#q1")).to_have_value("54321")
    page.click("form button.main")
    page.click("button.main")
    state(page, "received")
    page.go_back()
    state(page, "received")
    page.goto("about:blank")
    page.go_back()
    state(page, "received")
    assert page.locator("input").count() == 0
    assert len(visited.uploads) == 1


KEY = """async (link) => {
    const text64 = link.split("#")[1].replaceAll("-", "+").replaceAll("_", "/");
    const id = Uint8Array.from(atob(text64), (each) => each.charCodeAt(0)).subarray(0, 17);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", id));
    const name = btoa(String.fromCharCode(...hash));
    const text = name.replace(/[+]/g, "-").replace(/[/]/g, "_").replace(/=/g, "");
    return `confide/${text}`;
}"""
"""The name of an upload in the storage."""
HOLD = """() => new Promise((held) => {
    indexedDB.open("confide").onsuccess = ({ target: { result } }) => {
        const uploads = result.transaction("uploads", "readwrite").objectStore("uploads");
        const again = () => { if (!window.free) uploads.count().onsuccess = again; };
        again();
        held();
    };
})"""
"""Begin a transaction that ends when ``free`` is set: others wait for it."""


def test_a_page_that_the_browser_had_put_away(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    link = service.link()
    to_review(visited.page, link)
    body = json.dumps({"reports": {"pay": 1, "sick": 2, "smokes": 0}})
    visited.page.evaluate(
        """([key, upload]) => {
            localStorage.setItem(key, upload);
            dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        }""",
        [visited.page.evaluate(KEY, link), json.dumps({"body": body, "received": True})],
    )
    state(visited.page, "received")
    assert not visited.uploads


@pytest.mark.parametrize("later", ["299000", ""])
def test_the_way_back_while_the_page_looks_whether_the_survey_goes_on(
    later: str, service: Service, visit: Callable[..., Visit]
) -> None:
    """The answers that were reviewed are drawn, not those that are typed meanwhile."""
    visited = visit()
    page = visited.page
    page.add_init_script("crypto.getRandomValues = (array) => array.fill(0);")
    to_review(page, service.link())
    waiting: list[Route] = []

    def wait(route: Route) -> None:
        waiting.append(route)

    page.route("**/survey.json", wait)
    with page.expect_request("**/survey.json"):
        page.click("button.main")
    page.get_by_role("button", name="Change answers").click()
    page.fill("#q1", later)
    page.wait_for_timeout(100)
    assert len(waiting) == 1
    assert not visited.uploads
    waiting[0].continue_()
    state(page, "received")
    assert page.locator("input").count() == 0
    (sent,) = service.reports()
    # A word of zeros stands for the first of the reports around an answer.
    lattice = service.survey.mechanisms["pay"].axes[""]
    assert sent["pay"] == lattice.index([54321.0])[0]


def test_a_double_click(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    to_review(visited.page, service.link())
    visited.page.evaluate(
        "() => { const send = document.querySelector('.main'); send.click(); send.click(); }"
    )
    state(visited.page, "received")
    assert len(visited.uploads) == 1


def test_two_tabs_draw_once(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    link = service.link()
    tabs = [visited.page, visited.tab()]
    for tab, pay in zip(tabs, ("1000", "299000"), strict=True):
        to_review(tab, link, pay)
    # A third tab keeps the database until both want it; another invitation has made it.
    third = visited.tab()
    answer(third, service.link())
    state(third, "received")
    third.evaluate(HOLD)
    for tab in tabs:
        with tab.expect_response("**/survey.json"):
            tab.evaluate("document.querySelector('.main').click()")
    third.wait_for_timeout(300)
    assert len(kept(third)) == len(visited.uploads) == 1
    third.evaluate("window.free = true")
    for tab in tabs:
        state(tab, "received")
    assert len(set(visited.uploads[1:])) == 1
    assert len(service.reports()) == 2
    assert visited.said == []


def test_a_tab_to_which_storage_comes_late_draws_nothing_new(
    service: Service, visit: Callable[..., Visit]
) -> None:
    # Tabs are processes: for a moment one reads what was there before another one wrote.
    visited = visit()
    link = service.link()
    late = visited.tab()
    late.add_init_script("Storage.prototype.getItem = () => null;")
    to_review(late, link, "299000")
    answer(visited.page, link, "1000")
    state(visited.page, "received")
    late.bring_to_front()
    late.click("button.main")
    state(late, "received")
    assert len(visited.uploads) == 2
    assert len(set(visited.uploads)) == 1


def test_a_tab_sees_what_another_one_has_sent(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    link = service.link()
    other = visited.tab()
    to_review(other, link)
    answer(visited.page, link)
    state(visited.page, "received")
    state(other, "received")
    assert len(set(visited.uploads)) == 1


def test_a_second_device(service: Service, visit: Callable[..., Visit]) -> None:
    link = service.link()
    first, second = visit(), visit()
    answer(first.page, link)
    state(first.page, "received")
    answer(second.page, link)
    state(second.page, "used")
    expect(second.page.locator(".panel")).to_contain_text("has seen this one too")
    assert len(service.reports()) == 1


def test_offline(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    page = visited.page
    to_review(page, service.link())
    visited.context.set_offline(True)
    page.click("button.main")
    state(page, "waiting")
    (drawn,) = kept(page)
    assert service.reports() == []
    visited.context.set_offline(False)
    state(page, "received")
    assert service.reports() == [json.loads(drawn["body"])["reports"]]


def test_back_online_it_is_sent_at_once(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    visited.page.route("**/reports", lambda route: route.fulfill(**LATER))
    answer(visited.page, service.link())
    state(visited.page, "waiting")
    visited.page.unroute("**/reports")
    visited.context.set_offline(True)
    visited.context.set_offline(False)
    state(visited.page, "received")


def test_blocked_storage(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    page = visited.page
    page.add_init_script(BLOCKED)
    page.route("**/reports", lambda route: route.fulfill(**LATER))
    to_review(page, service.link())
    expect(page.locator(".warning")).to_contain_text("does not let this page store anything")
    page.click("button.main")
    state(page, "waiting")
    expect(page.locator(".warning")).to_contain_text("would draw another report")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    page.unroute("**/reports")
    page.get_by_role("button", name="Send now").click()
    state(page, "received")
    assert len(set(visited.uploads)) == 1
    assert len(service.reports()) == 1


def test_the_server_says_when_to_come_again(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    page = visited.page
    times: list[float] = []

    def busy(route: Route) -> None:
        times.append(page.evaluate("performance.now()"))
        if len(times) == 1:
            route.fulfill(status=503, headers={"retry-after": "2"}, json={"reason": "Later."})
        elif len(times) == 2:  # not the collector, but some network in between
            route.fulfill(status=200, body="<p>Please log in.</p>", content_type="text/html")
        elif len(times) == 3:
            route.fulfill(status=200, json={"login": "needed"})
        else:
            route.continue_()

    page.route("**/reports", busy)
    answer(page, service.link())
    state(page, "received")
    assert times[1] - times[0] >= 2000
    assert times[2] - times[1] < 2000
    assert len(set(visited.uploads)) == 1
    assert len(service.reports()) == 1


# Nothing to answer


def test_a_survey_that_has_ended(service: Service, visit: Callable[..., Visit]) -> None:
    early, late = visit(), visit()
    to_review(early.page, service.link())
    service.ended = True
    late.page.goto(service.link())
    stopped(late, "The survey has ended")
    early.page.click("button.main")
    stopped(early, "The survey has ended")
    assert kept(early.page) == []


def test_a_survey_that_ends_while_a_report_is_sent(
    service: Service, visit: Callable[..., Visit]
) -> None:
    page = visit().page
    to_review(page, service.link())
    page.route("**/survey.json", lambda route: route.abort())
    service.ended = True
    page.click("button.main")
    state(page, "ended")
    assert service.reports() == []


def test_a_survey_that_was_changed(
    serve: Callable[..., Service], visit: Callable[..., Visit]
) -> None:
    service, changed = serve(), serve(SURVEY.replace("Do you smoke?", "Do you smoke a lot?"))
    soon, late = visit(), visit()
    for visited in (soon, late):
        to_review(visited.page, service.link())
        send_to(visited.page, changed, "**/reports")
    send_to(soon.page, changed, "**/survey.json")
    soon.page.click("button.main")
    stopped(soon, "The survey has changed")
    assert kept(soon.page) == []
    late.page.click("button.main")
    state(late.page, "changed")
    expect(late.page.get_by_role("button", name="Load again")).to_be_visible()
    assert service.reports() == changed.reports() == []


def test_a_collector_that_drops_invitations_gets_no_second_report(
    service: Service, visit: Callable[..., Visit]
) -> None:
    visited = visit()
    link = service.link()
    answer(visited.page, link, "1000")
    state(visited.page, "received")

    def opened(route: Route) -> None:
        fields = route.fetch().json()
        route.fulfill(json=fields | {"invited": False, "wording": "another"})

    visited.page.route("**/survey.json", opened)
    visited.page.reload()
    state(visited.page, "received")
    assert len(visited.uploads) == 1


def test_what_is_no_text_becomes_no_markup(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()

    def hostile(route: Route) -> None:
        fields = route.fetch().json()
        fields["intro"] = {"onclick": "alert(1)", "style": "color: red"}
        fields["title"] = "<img src=x onerror=alert(1)>"
        fields["questions"][0] |= {"text": "", "name_en": "Another question"}
        route.fulfill(json=fields | {"languages": ["en"], "language": "de"})

    visited.page.route("**/survey.json", hostile)
    visited.page.goto(service.link())
    expect(visited.page.locator("h1")).to_have_text("<img src=x onerror=alert(1)>")
    assert visited.page.locator("[onclick], [style], img").count() == 0
    expect(visited.page.locator("#q1-card h2")).to_have_text("pay")
    assert visited.said == []


def send_to(page: Page, service: Service, pattern: str) -> None:
    """Requests that match go to another collector."""
    path = pattern.removeprefix("**/")
    page.route(pattern, lambda route: route.fulfill(response=route.fetch(url=service.url + path)))


def test_invitations_that_are_none(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    visited.page.goto(service.url)
    stopped(visited, "You need an invitation")
    visited.page.get_by_role("button", name="Deutsch").click()
    stopped(visited, "Sie brauchen eine Einladung")
    visited.page.get_by_role("button", name="English").click()
    link = service.link()
    visited.page.goto(link[:-9])  # only what comes after the # changes: the page loads itself
    stopped(visited, "The link is not complete")
    visited.page.goto(link)
    expect(visited.page.locator("h1")).to_have_text("Pay and health at work")


def test_an_invitation_of_somebody_else(service: Service, visit: Callable[..., Visit]) -> None:
    page = visit().page
    answer(page, service.url + "#" + Signer(bytes([1] * 32), service.survey).mint(["north"]))
    state(page, "unknown")
    assert service.reports() == []


def test_a_device_that_refuses(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()

    def weaken(route: Route) -> None:
        survey = route.fetch().json()
        survey["questions"][0]["mechanism"]["epsilon"] = 0.5
        route.fulfill(json=survey)

    visited.page.route("**/survey.json", weaken)
    visited.page.goto(service.link())
    stopped(visited, "This survey cannot be answered safely")
    expect(visited.page.locator("main")).to_contain_text("weaker than the declared epsilon")
    assert visited.page.locator("input").count() == 0


@pytest.mark.parametrize("name", ["smokes", ["smokes"]])
def test_two_questions_of_one_name(
    name: Any, service: Service, visit: Callable[..., Visit]
) -> None:
    """One answer would be drawn for both: where it is none to the other, nothing would be sent."""
    visited = visit()

    def double(route: Route) -> None:
        survey = route.fetch().json()
        survey["questions"][1] = survey["questions"][2] | {
            "name": name,
            "mechanism": RandomizedResponse(["no", "sometimes"], epsilon=0.5).to_dict(),
        }
        route.fulfill(json=survey)

    visited.page.route("**/survey.json", double)
    visited.page.goto(service.link())
    stopped(visited, "This survey cannot be answered safely")
    expect(visited.page.locator("main")).to_contain_text("a name of its own")
    assert visited.page.locator("input").count() == 0


def test_another_version_or_no_survey(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    later = {"confide": "survey", "version": 2}
    visited.page.route("**/survey.json", lambda route: route.fulfill(json=later))
    visited.page.goto(service.link())
    stopped(visited, "This page does not fit the survey")
    visited.page.route("**/survey.json", lambda route: route.abort())
    visited.page.reload()
    stopped(visited, "The survey could not be loaded")
    visited.page.unroute("**/survey.json")
    visited.page.get_by_role("button", name="Load again").click()
    expect(visited.page.locator("h1")).to_have_text("Pay and health at work")


def test_a_connection_that_is_not_secure(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()

    def forward(route: Route) -> None:
        path = route.request.url.removeprefix("http://survey.example/")
        route.fulfill(response=route.fetch(url=service.url + path))

    visited.page.route("http://survey.example/**", forward)
    visited.page.goto("http://survey.example/#" + service.token())
    stopped(visited, "This connection is not secure")


def test_without_scripts(service: Service, visit: Callable[..., Visit]) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(service.link())
    expect(page.get_by_text("This survey needs JavaScript")).to_be_visible(timeout=2000)
    assert page.locator(".late").count() == 2


# What is promised


@pytest.mark.parametrize("name", ["device.js", "views.js", "page.js", "texts/en.json"])
def test_a_changed_file_does_not_run(
    service: Service, visit: Callable[..., Visit], name: str
) -> None:
    visited = visit()

    def change(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.body() + b"\n")

    visited.page.route(f"**/{name}", change)
    visited.page.goto(service.link(), wait_until="networkidle")
    assert any("integrity" in line for line in visited.said)
    assert visited.page.locator("main > *").count() == 3  # as in index.html
    assert "survey.json" not in str([each.url for each in visited.requests])
    if name == "page.js":
        visited.page.get_by_text("If nothing else appears").wait_for(state="visible")


def test_two_answers_on_one_tape_differ_in_the_reports_alone(
    service: Service, visit: Callable[..., Visit]
) -> None:
    link = service.link()
    bodies = []
    for pay in ("20000", "280000"):
        visited = visit()
        visited.page.add_init_script(TAPE)
        visited.page.route(
            "**/reports", lambda route: route.fulfill(status=201, json={"reason": "Stored."})
        )
        answer(visited.page, link, pay)
        state(visited.page, "received")
        bodies.append(json.loads(visited.uploads[0]))
    first, second = (body.pop("reports") for body in bodies)
    assert bodies[0] == bodies[1]
    assert first.pop("pay") != second.pop("pay")
    assert first == second


def test_a_browser_that_translates_the_page_leaves_answers_out(
    service: Service, visit: Callable[..., Visit]
) -> None:
    """Some send the text of a page to their maker for that, but not what is marked."""
    page = visit().page
    told = """(words) => {
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const found = [];
        while (texts.nextNode()) {
            const { data, parentElement } = texts.currentNode;
            if (words.some((each) => data.includes(each)))
                found.push(parentElement.closest("[translate=no]") !== null);
        }
        return found;
    }"""
    page.goto(service.link())
    page.fill("#q1", "1.234")
    page.click("form button.main")
    assert page.locator("input[spellcheck=false]").count() == page.locator("input").count() > 0
    # Beside the question and above all of them.
    assert page.evaluate(told, ["1.234", "1234"]) == [True] * 2
    fill(page, "987654")
    assert page.evaluate(told, ["987,654"]) == [True]
    page.click("form button.main")
    page.wait_for_selector("dl")
    words = ["987,654", "Sometimes", "7\u00a0days", "counts as 300,000"]
    assert page.evaluate(told, words) == [True] * 4


def test_the_answer_is_nowhere(service: Service, visit: Callable[..., Visit]) -> None:
    visited = visit()
    page = visited.page
    lose_the_first_reply(page)
    answer(page, service.link(), TELLING)
    state(page, "received")
    stored = page.evaluate(
        """async () => JSON.stringify([
            Object.entries(localStorage), Object.entries(sessionStorage), document.cookie,
            await new Promise((found) => {
                indexedDB.open("confide").onsuccess = ({ target: { result } }) => {
                    const uploads = result.transaction("uploads").objectStore("uploads");
                    uploads.getAll().onsuccess = (event) => found(event.target.result);
                };
            }),
            await indexedDB.databases(), await caches.keys(), location.href, history.state,
            (await navigator.serviceWorker.getRegistrations()).length,
            document.documentElement.outerHTML, Array.from(document.images, (i) => i.src),
        ])"""
    )
    assert page.evaluate("indexedDB.databases()") == [{"name": "confide", "version": 1}]
    assert set(visited.uploads) <= set(json.loads(stored)[3])
    assert page.evaluate("caches.keys()") == []
    assert visited.context.cookies() == []
    wire = [
        f"{each.method} {each.url} {each.all_headers()} {each.post_data}"
        for each in visited.requests
    ]
    assert all(each.url.startswith(service.url) for each in visited.requests)
    assert len(visited.uploads) == 2
    assert service.log
    places = {"storage": stored, "wire": str(wire), "said": str(visited.said)}
    places["log"] = "\n".join(service.log)
    for path in service.folder.glob("answers.db*"):
        places[path.name] = path.read_bytes().decode("latin-1")
    assert "answers.db" in places
    spelled = re.compile(r"271\D?828")
    assert [place for place, text in places.items() if spelled.search(text)] == []


# For everybody


def shot(page: Page, name: str) -> None:
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(
    ("scheme", "language", "width"),
    [("light", "en", 1100), ("dark", "de", 1100), ("light", "de", 360), ("dark", "en", 360)],
)
def test_accessible_at_every_step(
    service: Service, visit: Callable[..., Visit], scheme: str, language: str, width: int
) -> None:
    page = visit(
        bypass_csp=True,  # axe is run in the page
        color_scheme=scheme,
        locale=language,
        viewport={"width": width, "height": 800},
        reduced_motion="reduce",
    ).page

    def sound(step: str) -> None:
        shot(page, f"page-{step}-{scheme}-{language}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 15
        assert [(step, each["id"], each["nodes"]) for each in found["violations"]] == []

    page.goto(service.url)
    page.wait_for_selector("header button")
    sound("0-uninvited")
    page.goto(service.link())
    page.wait_for_selector("form")
    sound("1-questions")
    for details in page.locator("details").all():
        details.evaluate("(each) => { each.open = true; }")
    page.click("form button.main")
    sound("2-errors")
    fill(page, "412345")
    page.click("form button.main")
    sound("3-review")
    page.route("**/reports", lambda route: route.abort())
    page.click("button.main")
    state(page, "waiting")
    sound("4-waiting")
    page.unroute("**/reports")
    page.evaluate("dispatchEvent(new Event('online'))")
    state(page, "received")
    sound("5-received")


def test_with_the_keyboard_alone(service: Service, visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.goto(service.link())
    page.wait_for_selector("form")

    def tab_to(target: Any) -> None:
        for _ in range(20):
            page.keyboard.press("Tab")
            if target.evaluate("(each) => each === document.activeElement"):
                return
        raise AssertionError("The Tab key does not lead there.")

    tab_to(page.get_by_role("button", name="Deutsch"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Deutsch")).to_be_focused()
    tab_to(page.locator("#q1"))
    page.keyboard.type("54.321,5")
    tab_to(page.locator("#q1-card summary"))
    page.keyboard.press("Enter")
    expect(page.locator("#q1-card .people")).to_be_visible()
    tab_to(page.get_by_label("Das möchte ich nicht sagen"))
    page.keyboard.press("Space")
    tab_to(page.locator("#q3"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Manchmal")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()
    expect(page.locator("h1")).to_have_text("Prüfen Sie Ihre Antworten")
    tab_to(page.get_by_role("button", name="Meldung senden"))
    page.keyboard.press("Enter")
    state(page, "received")
    expect(page.locator("h1")).to_be_focused()
    expect(page.locator("h1")).to_have_text("Danke. Ihre Meldung ist angekommen.")
    assert len(service.reports()) == 1


# Phases

PHASES = """
[phases]
after = 5000
until = 2099-01-31T12:00:00Z
[questions.pay]
text = "What do you earn in a year?"
unit = "EUR"
low = 0
high = 1000000
epsilon = 1.0
"""


def test_people_of_two_phases(serve: Any, visit: Callable[..., Visit]) -> None:
    service = serve(PHASES)
    survey = service.survey
    first, second, early = (service.link(phase=phase) for phase in (1, 2, 2))
    visited = visit(timezone_id="UTC")
    visited.page.goto(early)
    stopped(visited, "Your part of the survey begins later")
    expect(visited.page.locator("main")).to_contain_text(
        "January 31, 2099 at 12:00 PM at the latest"
    )
    assert kept(visited.page) == []
    fields = survey.to_dict()
    fields["questions"]["pay"] |= {"scale": "zoom", "zoom": [31_250.0, 62_500.0]}
    fields["phases"]["now"] = 2
    service.second = Questionnaire.from_dict(fields)
    mechanism = service.second.mechanisms["pay"]
    for link, asked in ((second, service.second), (first, survey)):
        own = visit()
        # A start of its own, so that the receipts differ.
        start = 1000 * asked.phases.now
        own.context.add_init_script(TAPE.replace("let at = 0", f"let at = {start}"))
        page = own.page
        page.goto(link)
        page.fill("#q1", "45000")
        page.click("summary")
        finer = page.get_by_text("The scale is finer from 31,250\u00a0EUR to 62,500\u00a0EUR")
        expect(finer).to_have_count(int(asked is not survey))
        # A third of the cells is about 1 percent of this zoomed scale.
        part = "the third" if asked is survey else "the 34 percent of the steps"
        expect(page.locator("details")).to_contain_text(f"from {part} of the scale around it")
        page.click("form button.main")
        page.click("dl ~ div button.main")
        state(page, "received")
        sent = json.loads(own.uploads[0])
        assert (sent["survey"], sent["wording"]) == (asked.fingerprint, asked.worded)
        # The same bytes give the same report here; the first 16 are the receipt.
        tape = bytes((73 * at + 41) % 256 for at in range(start + 16, start + 80))
        index = int(asked.mechanisms["pay"].index([45_000.0])[0])
        assert sent["reports"]["pay"] == drawn(asked.mechanisms["pay"], index, tape)[0]
        assert own.said == []
    assert mechanism.index([45_000.0]) != survey.mechanisms["pay"].index([45_000.0])
    cells = sorted(cell for cell, _ in service.store.rows())
    assert cells == ["[1]", "[2]"]
    # A link without a phase is damaged.
    torn = visit()
    other = Questionnaire.from_dict({"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    torn.page.goto(f"{service.url}#{Signer(bytes(32), other).mint()}")
    stopped(torn, "The link is not complete")


def test_a_second_phase_that_asks_something_else(serve: Any, visit: Callable[..., Visit]) -> None:
    """Of an epsilon, a number of questions or a pair that the first phase does not have."""
    service = serve(PHASES + PHASES[PHASES.index("[questions.pay]") :].replace("pay", "rent", 1))
    link = service.link(phase=2)
    described = wire.served(service.survey, service.survey)
    paired = Questionnaire.from_dict(
        {
            "epsilon": 9.0,
            "relations": {"pairs": [["pay", "rent"]], "at": {"pay": 40_000, "rent": 9000}},
            "questions": {name: {"low": 0, "high": 1_000_000} for name in ("pay", "rent")},
        }
    )
    pairs = wire.described(paired)["pairs"]
    place = base64.urlsafe_b64decode(service.token(phase=2) + "==")[:33] + b'{"q":[2],"p":2}'
    asked_pair = f"{service.url}#{base64.urlsafe_b64encode(place).decode().rstrip('=')}"
    dear = described["questions"][0] | {
        "mechanism": SquareWave(Lattice(low=0, high=1_000_000), epsilon=9.0).to_dict()
    }
    for first, change, opened in (
        ({}, {"questions": [dear, described["questions"][1]]}, link),
        ({"ask": 1}, {"ask": None}, link),
        ({}, {"pairs": pairs}, asked_pair),
        ({"pairs": pairs}, {}, asked_pair),
        ({"pairs": pairs, "ask": 1}, {}, asked_pair),
    ):
        visited = visit()
        survey = {**described, **first, "next": {**described, **first, **change}}
        visited.page.route("**/survey.json", partial(Route.fulfill, json=survey))
        visited.page.goto(opened)
        stopped(visited, "This survey cannot be answered safely")
        assert visited.page.locator("input").count() == 0


def test_a_link_in_another_spelling_sends_what_the_collector_knows(
    service: Service, visit: Callable[..., Visit]
) -> None:
    """The report is drawn once for all spellings: sent with a wrong one, it would be lost."""
    links = [service.link("east") for _ in range(2)]
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    # The last character has two bits that belong to no byte.
    loose = links[0][:-1] + letters[letters.index(links[0][-1]) + 1]
    for link, other in zip(links, (loose, links[1] + "="), strict=True):
        visited = visit()
        answer(visited.page, other)
        state(visited.page, "received")
        visited.page.goto("about:blank")
        visited.page.goto(link)
        state(visited.page, "received")
        assert [json.loads(body)["invitation"] for body in visited.uploads] == [link.split("#")[1]]
    assert len(service.reports()) == 2
