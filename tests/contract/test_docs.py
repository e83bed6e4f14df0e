"""The pages keep their word: their code runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.run import PAGES as SHOWN
from evidence.__main__ import STUDIES
from tools.messages import messages
from tools.readability import GRADES, measure

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
PAGES = [*(ROOT / name for name in TOP), *sorted(DOCS.rglob("*.md"))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p) and p not in SHOWN], ids=name)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)
    assert "cf" in names


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{name(page)} links to {target}"


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{name(page)}: make {target}"


@pytest.mark.parametrize("path", ["evidence/papers.md", "explanation/proofs.md"])
def test_named_tests_exist(path: str) -> None:
    named = re.findall(r"(tests/[\w/]+\.py)(?:::(\w+)| -k (\w+))?", (DOCS / path).read_text())
    assert len(named) > 20
    for file, test, word in named:
        known = re.findall(r"^ *def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE)
        assert not test or test in known, f"{path}: {file}::{test}"
        assert any(word in one for one in known), f"{path}: {file} -k {word}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_studies_exist(page: Path) -> None:
    for study in re.findall(r"make evidence NAME=(\w+)", page.read_text()):
        assert study in STUDIES, f"{name(page)}: {study}"


VERDICTS = ("reproduced", "in part", "not reproduced", "wrong", "open")


def claims() -> list[list[str]]:
    """The rows of the page about the papers: claim, verdict, what was found, shown by."""
    _, below = (DOCS / "evidence" / "papers.md").read_text().split("\n## How to read the rows\n")
    lines = below.splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("| ") and not line.startswith("| claim |")
    ]
    return [[cell.strip("| ") for cell in row] for row in rows]


def test_every_claim_has_one_of_the_verdicts_and_a_command() -> None:
    page = (DOCS / "evidence" / "papers.md").read_text()
    for verdict in VERDICTS:
        assert f"- **{verdict}**: " in page, "each is said on the page"
    rows = claims()
    assert len(rows) > 90
    for row in rows:
        assert len(row) == 4 or (len(row) == 3 and row[1] == "open"), row
        assert row[1] in VERDICTS, row
        shown = row[3] if len(row) == 4 else ""
        assert row[1] == "open" or "`pytest tests/" in shown or "`make evidence NAME=" in shown, row
        assert re.search(r"\d", row[2]) or (row[2] and row[1] == "open"), f"no figure: {row}"
    counts = {verdict: sum(row[1] == verdict for row in rows) for verdict in VERDICTS}
    summed = "Of {} claims {} are reproduced, {} in part, {} not; {} are wrong and {} open."
    assert summed.format(len(rows), *counts.values()) in page


def test_pages_speak_of_papers_by_their_authors() -> None:
    for page in PAGES:
        assert not re.search(r"\b[Pp]aper [FGBHN]\b|^## [FGBHN]:", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=name)
def test_a_how_to_is_not_a_study(page: Path) -> None:
    assert "Written by" not in page.read_text()


@pytest.mark.parametrize("page", sorted((DOCS / "evidence").glob("*.md")), ids=name)
def test_an_evidence_page_has_no_code_to_copy(page: Path) -> None:
    assert not blocks(page)


@pytest.mark.parametrize("section", GRADES)
def test_pages_are_easy_to_read(section: str) -> None:
    found = {name(page): measure(page.read_text()).grade for page in (DOCS / section).glob("*.md")}
    assert found
    assert {page: grade for page, grade in found.items() if grade > GRADES[section]} == {}


BRITISH = re.compile(
    r"\b\w*(?:neighbour|colour|behaviour|favour|labelled|programme\b|artefact|catalogue"
    r"|(?:minim|maxim|random|normal|privat|summar|general|optim|recogn)is(?:e|es|ed|ing|ation)\b)\w*"
)
PRINTED = {"privatised"}
"""Words in the title of a paper."""


def test_english_is_american() -> None:
    """In pages and in the source; names of tests and of other programs are left out."""
    found = []
    for path in [*PAGES, *sorted((ROOT / "src" / "confide").rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"`[^`\n]*`", "", text) if path.suffix == ".md" else text
        found += [f"{name(path)}: {word}" for word in BRITISH.findall(text) if word not in PRINTED]
    assert not found


def without_fillings(text: str) -> str:
    """A message with dots in place of what is filled in, which may have braces of its own."""
    kept, depth = "", 0
    for letter in text:
        kept += "…" if letter == "{" and not depth else letter * (not depth and letter != "}")
        depth += (letter == "{") - (letter == "}")
    return kept.strip()


def test_messages_that_were_mended_are_as_the_page_says() -> None:
    lines = (DOCS / "evidence" / "messages.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    assert len(rows) == 50
    known = {without_fillings(each.text) for each in messages()}
    assert [now for before, now in rows if now not in known or before in known] == []
