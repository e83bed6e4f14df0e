"""What must hold of the page's files before any browser sees them."""

from __future__ import annotations

import json
import re

import pytest
from web.integrity import PAGES, stamped

from confide.collect import static

LARGEST = 73 * 1024
"""Bytes of all files that a browser loads, with English texts: it was 60 KiB before the page
asked for pairs of questions, and checked that every answer to them can be drawn."""
PAGE = static.root() / "page"
TEXTS = {path.stem: json.loads(path.read_text("utf-8")) for path in (PAGE / "texts").glob("*.json")}
SCRIPTS = "".join(path.read_text("utf-8") for path in sorted(PAGE.glob("*.js")))


@pytest.mark.parametrize("folder", PAGES)
def test_hashes_are_right(folder: str) -> None:
    html = (static.root() / folder / "index.html").read_text("utf-8")
    assert stamped(html, static.page(*PAGES[folder])) == html, "Run make web."


def test_a_changed_file_changes_its_hash() -> None:
    files = dict(static.page(*PAGES["page"]))
    html = files["/"].data.decode()
    files["/device.js"] = static.File(files["/device.js"].data + b"\n", "text/javascript")
    assert stamped(html, files) != html


def test_everything_has_a_hash() -> None:
    html = (PAGE / "index.html").read_text("utf-8")
    listed = json.loads(static.INLINE.search(html.encode())[1])["integrity"]
    tags = re.findall(r"<(?:script|link)[^>]*(?:src|href)=\"(\./[^\"]*)\"([^>]*)>", html)
    assert {name for name, _ in tags} == {"./page.js", "./page.css"}
    assert all('integrity="sha256-' in rest for _, rest in tags)
    served = {f".{path}" for path in static.page("page", "device")} - {"./"}
    assert set(listed) == served - {name for name, _ in tags}


def test_the_page_is_small() -> None:
    loaded = {
        path: len(file.data)
        for path, file in static.page("page", "device").items()
        if not path.startswith("/texts/") or path == "/texts/en.json"
    }
    assert sum(loaded.values()) <= LARGEST, loaded


@pytest.mark.parametrize("language", TEXTS)
def test_languages_say_the_same(language: str) -> None:
    def places(text: str) -> list[str]:
        return sorted(set(re.findall(r"\{\w+\}", text)))

    assert {"en", "de"} <= set(TEXTS)
    texts, english = TEXTS[language], TEXTS["en"]
    assert list(texts) == list(english)
    assert {key: places(text) for key, text in texts.items()} == {
        key: places(text) for key, text in english.items()
    }


def test_every_sentence_is_used() -> None:
    """A key is written out in a script, or made there of a part and an ending."""
    made = {
        f"{kind}_{end}" for end in ("title", "text") for kind in re.findall(r'"(\w+)"', SCRIPTS)
    }
    made |= {f"{head}_{who}" for head in ("who", "sees") for who in re.findall(r'"(\w+)"', SCRIPTS)}
    made |= {f"part_{word}" for word in re.findall(r"\w+", SCRIPTS)}
    made |= {f"wrong_{reason}" for reason in ("empty", "characters", "separators", "digits")}
    made |= {f"wrong_{reason}" for reason in re.findall(r'wrong\("(\w+)"', SCRIPTS)}
    made |= {"or_low", "or_high"}
    written = set(re.findall(r'"(\w+)"', SCRIPTS))
    assert set(TEXTS["en"]) - written - made == set()


def test_every_sentence_exists() -> None:
    called = set(re.findall(r'\b(?:say|p|card|button|heading|meaning|people)\("(\w+)"', SCRIPTS))
    stops = re.findall(r'stopped(?: =|\()\s*\[?"(\w+)"', SCRIPTS)
    assert len(called) > 30
    assert len(stops) >= 5
    called |= {f"{kind}_{end}" for kind in stops for end in ("title", "text")}
    called |= {f"wrong_{reason}" for reason in re.findall(r'wrong\("(\w+)"', SCRIPTS)}
    assert called - set(TEXTS["en"]) == set()
