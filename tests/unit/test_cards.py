"""What notebooks show: every result has a card, and nobody's name becomes markup."""

from __future__ import annotations

import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.cards import HOSTILE, RESULTS, density, made, shown
from tests.contract.test_signatures import public

import confide as cf
from confide import _cards
from confide.displays import DensityDisplay

VOID = {"br", "hr", "meta", "line", "path", "rect"}


class Tags(HTMLParser):
    """Counts what is open, and collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert not tags.open
    return tags


KNOWN = {"div", "strong", "svg", "path", "rect", "line", "text"}
KNOWN |= {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("name", RESULTS)
def test_a_card_is_whole_and_escaped(name: str) -> None:
    page = shown(name)
    tags = read(page)
    assert tags.seen <= KNOWN
    assert "<script" not in page
    # No color of the page is assumed: letters take that of the text around them.
    assert not re.search(r'(?:fill|color|stroke)[=:]"?(?:black|white|#000|#fff)', page)
    assert page.count("aria-label=") == page.count("<svg")
    assert "nan" not in tags.text.lower().split()


def test_names_are_shown_as_they_are() -> None:
    for name in (
        "proportions",
        "results",
        "groups",
        "summaries",
        "ledger",
        "audit",
        "joint density",
    ):
        assert HOSTILE in read(shown(name)).text, name


@pytest.mark.parametrize("name", RESULTS)
def test_a_card_says_what_it_cost(name: str) -> None:
    text = read(shown(name)).text
    if name in (
        "check",
        "difference",
        "verification",
        "quantity",
        "expected error",
        "relation",
        "synthetic",
        "trend",
    ):
        return
    assert re.search(r"epsilon|not private", text), text


def test_numbers_and_intervals_are_those_of_the_result() -> None:
    text = read(shown("density")).text
    low, high = density().interval("median")
    assert f"{density().median():,.0f}" in text
    assert f"{low:,.0f} to {high:,.0f}" in text
    assert "95 % interval" in text


def test_whatever_has_a_table_has_a_card() -> None:
    missing = {
        name
        for name, value in public().values()
        if inspect.isclass(value)
        and hasattr(value, "to_frame")
        and not hasattr(value, "_repr_html_")
    }
    assert not missing
    shown_kinds = {type(made(name)) for name in RESULTS}
    wanted = (cf.Counts, cf.Groups, cf.Summaries, cf.CellSums, cf.Spend, cf.Spectrum, cf.Ledger)
    assert set(wanted) <= shown_kinds


def test_pictures_of_odd_numbers() -> None:
    one = np.array([1.0])
    for picture in (
        _cards.steps(np.array([0.0, 1.0]), np.zeros(1)),
        _cards.steps(np.geomspace(1, 100, 9), np.ones(8), middle=(0.5, 200.0), heaps=[(1.0, 0.4)]),
        _cards.curve(np.array([0.0, 1.0]), np.array([np.nan, np.nan])),
        _cards.curve(np.arange(3.0), np.ones(3), band=(np.zeros(3), np.full(3, np.inf))),
        _cards.bars(
            [-1.0, np.inf], ["a", "b"], ends=(np.array([-2.0, 0]), np.array([0.0, np.inf]))
        ),
        _cards.whisker(0.0, (0.0, 0.0)),
        _cards.shades(np.zeros((30, 2))),
        _cards.dots(one),
    ):
        assert "nan" not in picture
        assert "inf" not in picture
        read(picture)
    assert _cards.bars([], []) == _cards.table(("",), []) == ""


def test_long_tables_and_names_are_cut() -> None:
    rows = [(f"row {at}", "1") for at in range(40)]
    assert "and 28 more" in _cards.table(("", ""), rows)
    assert "row 12" not in _cards.table(("", ""), rows)
    assert "a" * 24 not in _cards.bars([1.0], ["a" * 60])


def test_a_picture_of_ours_is_shown_and_one_of_pyplot_is_not_shown_twice() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    display = density().plot()
    assert isinstance(display, DensityDisplay)
    png = display._repr_png_()
    assert png is not None
    assert png.startswith(b"\x89PNG")
    figure, ax = pyplot.subplots()
    assert density().plot(ax)._repr_png_() is None
    pyplot.close(figure)
    assert DensityDisplay((np.array([0.0, 1.0]),), np.ones(1))._repr_png_() is None
