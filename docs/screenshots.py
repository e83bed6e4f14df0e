"""Takes the pictures of the pages: ``make screenshots`` runs the demo and photographs it.

The results page is that of the reports which the demo has collected.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from confide.collect import demo, stores
from confide.collect.collector import Addresses
from confide.collect.exports import export, parquet
from confide.survey import Survey

HERE = Path(__file__).parent / "images"
WIDE, NARROW, TALL = 1280, 760, 960
PORT, OWNER = 8310, 8311


def photographed(browser: Browser, found: Addresses, show: demo.Show) -> None:
    """Pictures of the dashboard, of the questions, and of what was sent."""
    wide = {"width": WIDE, "height": TALL}
    context = browser.new_context(viewport=wide, locale="en-US")
    page = context.new_page()
    page.goto(found.dashboard)
    page.wait_for_selector("svg")
    # Groups are estimated after everybody.
    page.wait_for_timeout(15_000)
    page.screenshot(path=HERE / "dashboard.png")
    page.set_viewport_size({"width": NARROW, "height": TALL})
    page.goto(show.link(found.page))
    page.fill("input >> nth=0", "52,000")
    page.click("summary >> nth=0")
    # From the head of the first question on, so that nothing is cut.
    page.get_by_text("Question 1 of").evaluate(
        "each => scrollTo(0, each.getBoundingClientRect().top + scrollY - 48)"
    )
    page.screenshot(path=HERE / "page.png")
    context.close()


def finished(browser: Browser, folder: Path, invited: int) -> None:
    """A picture of the results page of those who answered."""
    survey = Survey.from_dict(demo.SURVEY)
    store = stores.opened(folder / "demo.reports", survey, create=False)
    (folder / "reports.parquet").write_bytes(parquet(export(store, survey)))
    store.shut()
    counts = survey.summarize(folder / "reports.parquet", by="region")
    survey.estimate(counts, invited=invited).save(folder / "results.html")
    page = browser.new_page(viewport={"width": WIDE, "height": TALL})
    page.goto((folder / "results.html").as_uri())
    # To the end of the first question's table by region.
    height = page.locator("table >> nth=2").evaluate("each => each.getBoundingClientRect().bottom")
    page.set_viewport_size({"width": WIDE, "height": int(height) + 32})
    page.screenshot(path=HERE / "results.png")


def main() -> None:
    """Run the demo in a folder of its own, and photograph it."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    ready, stop, places = threading.Event(), threading.Event(), []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        show = demo.Show.prepared(Path(folder), port=PORT, owner_port=OWNER)

        def told(found: Addresses) -> None:
            places.append(found)
            ready.set()

        serving = threading.Thread(target=show.collector.run, kwargs={"ready": told, "stop": stop})
        serving.start()
        ready.wait()
        show.answer(places[0].page, stop, rate=1e4)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        photographed(browser, places[0], show)
        stop.set()
        serving.join()
        finished(browser, Path(folder), len(show.invited) + 1)
        browser.close()


if __name__ == "__main__":
    main()
