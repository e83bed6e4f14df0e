"""The pages keep their word: their code runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from evidence.__main__ import STUDIES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_code_runs(page: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)
    assert "cf" in names


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"


@pytest.mark.parametrize("name", ["papers.md", "proofs.md"])
def test_named_tests_exist(name: str) -> None:
    named = re.findall(
        r"(tests/[\w/]+\.py)(?:::(\w+)| -k (\w+))?", (ROOT / "docs" / name).read_text()
    )
    assert len(named) > 20
    for file, test, word in named:
        known = re.findall(r"^ *def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE)
        assert not test or test in known, f"{name}: {file}::{test}"
        assert any(word in one for one in known), f"{name}: {file} -k {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_studies_exist(page: Path) -> None:
    for study in re.findall(r"make evidence NAME=(\w+)", page.read_text()):
        assert study in STUDIES, f"{page.name}: {study}"
