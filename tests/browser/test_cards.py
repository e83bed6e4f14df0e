"""The cards of all results in Chromium, as notebooks show them: on white and on black."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Served
from tests.cards import HOSTILE, RESULTS, shown

SHOTS = os.environ.get("CONFIDE_SCREENSHOTS")
LOOKS = {"light": ("#ffffff", "#111111"), "dark": ("#111111", "#eeeeee")}


@pytest.mark.parametrize("look", LOOKS)
def test_every_card_is_drawn(page: Page, site: Served, look: str) -> None:
    ground, ink = LOOKS[look]
    cards = "".join(f'<section id="{i}">{shown(name)}</section>' for i, name in enumerate(RESULTS))
    style = f"body{{background:{ground};color:{ink};font:14px sans-serif;columns:3;margin:8px}}"
    style += "section{break-inside:avoid;padding:8px}"
    whole = f"<!doctype html><title>cards</title><link rel=icon href=data:,><style>{style}</style>"
    site.added["/cards.html"] = f"{whole}<meta charset=utf-8>{cards}".encode()
    page.set_viewport_size({"width": 1500, "height": 900})
    page.goto(f"{site.url}/cards.html")
    assert page.title() == "cards"
    assert page.locator("script").count() == 0
    assert page.get_by_text(HOSTILE).count() > 5
    for number, name in enumerate(RESULTS):
        section = page.locator(f"section[id='{number}']")
        box = section.bounding_box()
        assert box is not None, name
        assert box["height"] > 20, name
        for picture in section.locator("svg").all():
            drawn = picture.evaluate(
                "one => { const b = one.getBBox(); return b.width * b.height }"
            )
            assert drawn > 0, name
            # What is drawn lies inside the picture's frame; a few letters may stick out.
            ends = picture.evaluate(
                "one => { const b = one.getBBox(), v = one.viewBox.baseVal;"
                " return [b.x, b.y, b.x + b.width - v.width, b.y + b.height - v.height] }"
            )
            assert min(ends[:2]) > -12, name
            assert max(ends[2:]) < 12, name
        # Letters are those of the page around them.
        colors = section.locator("svg text").evaluate_all(
            "all => [...new Set(all.map(one => getComputedStyle(one).fill))]"
        )
        own = section.evaluate("one => getComputedStyle(one).color")
        assert set(colors) <= {own}, name
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"cards-{look}.png", full_page=True)
