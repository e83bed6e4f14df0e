"""Words, words per sentence and Flesch-Kincaid grade of the prose of Markdown pages.

``python -m tools.readability`` measures README.md and all pages of docs but those that studies
write; ``python -m tools.readability docs/index.md`` measures one. Code blocks, tables, headings
and pictures are left out. A name in backquotes and a number count as a word of one syllable, and an
item of a list ends a sentence.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"^\s*(?:#|\||!\[|:::|<!--|---|!!!).*$", re.MULTILINE)
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])[\"')*_]*\s+|\n\s*\n|\0")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'’.,-]*")
VOWELS = re.compile(r"[aeiouy]+")
GRADES = {"start": 8, "tutorials": 8, "how-to": 9, "explanation": 9}
"""The highest grade that the pages of a section should have."""


@dataclass(frozen=True)
class Score:
    """What was counted on a page."""

    words: int
    sentences: int
    syllables: int

    @property
    def length(self) -> float:
        """Words per sentence."""
        return self.words / max(self.sentences, 1)

    @property
    def grade(self) -> float:
        """The Flesch-Kincaid grade: years of school needed to follow the text."""
        if not self.words:
            return 0.0
        return 0.39 * self.length + 11.8 * self.syllables / self.words - 15.59


def prose(text: str) -> str:
    """The sentences of a page, without what is no prose."""
    text = LEFT_OUT.sub("\n", BLOCK.sub("\n\n", text))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]+`", "name", text)
    return ITEM.sub("\0", text)


def syllables(word: str) -> int:
    """About how many syllables a word has."""
    word = word.lower().strip("'’.,-")
    if not word or word[0].isdigit():
        return 1
    count = sum(_part(part) for part in re.split(r"[-'’.,]", word) if part)
    return max(count, 1)


def _part(word: str) -> int:
    silent = re.search(r"(?<![tdsx])(?<!ch)e[sd]$|(?<!l)e$", word) is not None
    return max(len(VOWELS.findall(word)) - silent, 1)


def measure(text: str) -> Score:
    """Count the prose of a page."""
    sentences = [WORD.findall(part) for part in SENTENCE.split(prose(text))]
    sentences = [words for words in sentences if words]
    words = [word for part in sentences for word in part]
    return Score(len(words), len(sentences), sum(map(syllables, words)))


def pages() -> list[Path]:
    """Pages that are written by hand."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(page for page in found if "evidence" not in page.parts)]


def main() -> None:
    """Print a line for each page."""
    print(f"{'page':42} {'words':>6} {'a sentence':>10} {'grade':>6} {'at most':>8}")
    for page in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        score = measure(page.read_text(encoding="utf-8"))
        limit = GRADES.get(page.parent.name)
        late = " *" if limit and score.grade > limit else ""
        print(
            f"{page.relative_to(ROOT)!s:42} {score.words:>6,} {score.length:>10.1f} "
            f"{score.grade:>6.1f} {limit or '':>8}{late}"
        )


if __name__ == "__main__":
    main()
