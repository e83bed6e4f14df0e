"""Pages that show outputs and pictures: they are what the code gives, in notebooks too."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from docs.run import DOCS, EXAMPLES, PAGES, TUTORIALS, Block, Session, blocks, masked, notebook_text

import confide.displays

ALIKE = 0.8
"""Share of words that outputs have in common: a rare line, such as one about a heap, may differ."""


def alike(told: str, shown: str) -> float:
    """How far two outputs have the same words in the same order, whatever their numbers are."""
    return SequenceMatcher(None, masked(told), masked(shown), autojunk=False).ratio()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_outputs_are_current(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path)
    for block in blocks(page.read_text(encoding="utf-8")):
        if not block.runs:
            continue
        told = session.run(block)
        if block.shown is not None:
            assert block.shown, f"nothing is shown below {block.code}"
            lines = [[line.rstrip() for line in text.strip("\n").splitlines()]
                     for text in (told, block.shown)]  # fmt: skip
            if block.varies:
                assert alike(told, block.shown) > ALIKE, f"{block.code}\n{told}"
            else:
                assert lines[0] == lines[1], block.code
        if block.picture:
            assert (page.parent / block.picture).is_file(), block.picture


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_notebooks_are_the_tutorials(page: Path) -> None:
    """Their cells are the blocks that the test above runs."""
    text = (EXAMPLES / f"{page.stem}.ipynb").read_text(encoding="utf-8")
    assert text == notebook_text(page), "python -m docs.run writes them"
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    runs = [block for block in blocks(page.read_text(encoding="utf-8")) if block.runs]
    found = [Block.of_cell(cell["source"]) for cell in cells]
    assert [(own.kind, own.title, own.code.rstrip("\n")) for own in found] == [
        (block.kind, block.title if block.file else None, block.code.rstrip("\n")) for block in runs
    ]


def test_no_notebook_is_left_over() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == {page.stem for page in TUTORIALS}


def test_a_wrong_output_would_be_found() -> None:
    page = '```python\nprint("mean", 1 + 1)\n```\n\n```text title="Output"\nmean 3\n```\n'
    (block,) = blocks(page)
    told = Session(DOCS).run(block)
    assert told == "mean 2\n" != block.shown
    assert alike(told, str(block.shown)) == 1
    assert alike(told, "median of 3 people") < ALIKE


def test_every_picture_on_a_page_says_what_it_shows() -> None:
    for page in DOCS.rglob("*.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("!["):
                assert len(line[2:].partition("]")[0]) > 3, f"{page.name}: {line}"


def test_colors_are_those_that_can_be_told_apart() -> None:
    okabe_ito = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}
    assert set(confide.displays.CYCLE) == okabe_ito
