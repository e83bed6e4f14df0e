"""Runs the pages that show what their code prints, and makes notebooks of the tutorials.

``python -m docs.run`` runs every page of `PAGES` and writes what its blocks print and draw into the
page; ``python -m docs.run docs/tutorials/lake.md`` runs one. On such a page

- a ``toml`` or ``csv`` block with a title is written to a file of that name;
- ``sh`` blocks are run line by line, ``python`` blocks one after the other in one namespace, and
  the value of a last line is shown as a notebook would;
- a ``text`` block with the title "Output" directly after a block holds what it printed. "Output
  (numbers vary)" is for private reports, which are different each time, and for estimates: tests
  compare the words alone, and let a few of them differ;
- a picture directly after that, ``images/PAGE-NAME.png``, is the file ``NAME.png`` that the block
  wrote, or else the display that its last line is.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
PAGES = [
    DOCS / "start" / "first-picture.md",
    *TUTORIALS,
    DOCS / "explanation" / "local-privacy.md",
    DOCS / "gallery.md",
]
"""Pages whose outputs and pictures are written by running them."""

FENCE = re.compile(
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]*)\")?\n(?P<code>.*?)^```\n"
    r"(?:\n```text title=\"(?P<how>Output(?: \(numbers vary\))?)\"\n(?P<shown>.*?)^```\n)?"
    r"(?:\n!\[[^\]]*\]\((?P<picture>[^)]*images/[^)]*\.png)\)\n)?",
    re.MULTILINE | re.DOTALL,
)
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*\.?(?:e[-+]?\d+)?")
LINES = re.compile(r"[─━═\-]{2,}")
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Block:
    """A block of code on a page, what it shows, and where it stands."""

    kind: str
    code: str
    title: str | None
    shown: str | None
    varies: bool
    picture: str | None
    start: int
    end: int

    @property
    def runs(self) -> bool:
        """Whether there is something to do with the block."""
        return self.kind in ("python", "sh") or self.file

    @property
    def file(self) -> bool:
        """Whether the block is the text of a file."""
        return self.kind in ("toml", "csv") and self.title is not None

    @property
    def cell(self) -> str:
        """The block as the source of a notebook's cell."""
        if self.file:
            return f"%%writefile {self.title}\n{self.code}"
        return f"%%sh\n{self.code}" if self.kind == "sh" else self.code

    @classmethod
    def of_cell(cls, source: str) -> Block:
        """The block of a notebook's cell."""
        first, _, rest = source.partition("\n")
        kind, title, code = "python", None, source
        if first.startswith("%%writefile "):
            title, code = first.partition(" ")[2], rest
            kind = title.rpartition(".")[2]
        elif first == "%%sh":
            kind, code = "sh", rest
        return cls(kind, code, title, None, False, None, 0, 0)


def blocks(text: str) -> list[Block]:
    """The blocks of a page."""
    return [
        Block(
            each["kind"],
            each["code"],
            each["title"],
            each["shown"],
            bool(each["how"] and "vary" in each["how"]),
            each["picture"],
            each.start(),
            each.end(),
        )
        for each in FENCE.finditer(text)
    ]


def masked(text: str) -> list[str]:
    """The words of an output: numbers, and the widths of columns, are different each time."""
    return WORD.findall(LINES.sub("-", NUMBER.sub("0", text)))


class Session:
    """Runs blocks one after the other, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.display: Any = None

    def run(self, block: Block) -> str:
        """Run a block; returns what it printed."""
        self.display = None
        if block.file:
            (self.folder / str(block.title)).write_text(block.code, encoding="utf-8")
            return ""
        told = self._python(block.code) if block.kind == "python" else self._shell(block.code)
        return told.replace(f"{self.folder}/", "")

    def _python(self, code: str) -> str:
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        told = io.StringIO()
        with contextlib.redirect_stdout(told), _inside(self.folder):
            exec(compile(tree, "<page>", "exec"), self.names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<page>", "eval"), self.names)
                self.display = value if hasattr(value, "ax_") else None
                if value is not None and self.display is None:
                    print(repr(value))
        return told.getvalue()

    def _shell(self, code: str) -> str:
        lines = code.replace("\\\n", " ").splitlines()
        return "".join(map(self._command, filter(None, map(str.strip, lines))))

    def _command(self, line: str) -> str:
        if line.startswith("confide ") and not re.search(r"[|><]", line):
            return self._verb(shlex.split(line, comments=True)[1:])
        bin_folder = str(Path(sys.executable).parent)
        paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={
                **os.environ,
                **TERMINAL,
                "PATH": f"{bin_folder}:{os.environ['PATH']}",
                "PYTHONPATH": paths,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}: {done.stdout}"
        return done.stdout

    def _verb(self, words: list[str]) -> str:
        """A command of confide in this process, which saves the time to start one."""
        from confide.cli.app import run

        told = io.StringIO()
        with (
            contextlib.redirect_stdout(told),
            contextlib.redirect_stderr(told),
            _inside(self.folder),
        ):
            code = run(words)
        assert code == 0, f"confide {shlex.join(words)}: {told.getvalue()}"
        return told.getvalue()

    def picture(self, name: str, path: Path) -> None:
        """Save the picture of the last block, which is a file or a display."""
        path.parent.mkdir(parents=True, exist_ok=True)
        written = next(self.folder.rglob(f"{name}.png"), None)
        if written is not None:
            shutil.copy(written, path)
        else:
            assert self.display is not None, f"nothing was drawn for {path.name}"
            self.display.ax_.figure.savefig(path, dpi=150, bbox_inches="tight")


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with a terminal of 100 columns and no colors."""
    before = Path.cwd()
    kept = {name: os.environ.get(name) for name in TERMINAL}
    os.environ.update(TERMINAL)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def written(page: Path) -> str:
    """The text of a page after running it; its pictures are saved on the way."""
    text, result, at = page.read_text(encoding="utf-8"), "", 0
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        for block in blocks(text):
            if not block.runs:
                continue
            told = session.run(block)
            part = text[block.start : block.end]
            if block.shown is not None:
                head, _, rest = part.partition('```text title="Output')
                title, _, _ = rest.partition("\n")
                _, _, tail = rest[len(title) + 1 + len(block.shown) :].partition("```\n")
                part = f'{head}```text title="Output{title}\n{_neat(told)}```\n{tail}'
            if block.picture:
                name = Path(block.picture).stem.removeprefix(f"{page.stem}-")
                session.picture(name, (page.parent / block.picture).resolve())
            result += text[at : block.start] + part
            at = block.end
    return result + text[at:]


def _neat(told: str) -> str:
    lines = [line.rstrip() for line in told.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def notebook(page: Path) -> dict[str, Any]:
    """A tutorial as a notebook, without outputs."""
    text, cells, at = page.read_text(encoding="utf-8"), [], 0

    def prose(words: str) -> None:
        kept = re.sub(
            r"\]\((?!https?:|#)(\.\./|[\w-]+\.md)", r"](../docs/tutorials/\1", words
        ).strip()
        if kept:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": kept})

    for block in blocks(text):
        if block.runs:
            prose(text[at : block.start])
            code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
            cells.append({**code, "source": block.cell.rstrip("\n")})
            at = block.end
    prose(text[at:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(page: Path) -> str:
    """What the file of a tutorial's notebook holds."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Run the pages that are named, or all of them, and write their notebooks."""
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        page.write_text(written(page), encoding="utf-8")
        if page in TUTORIALS:
            EXAMPLES.mkdir(exist_ok=True)
            (EXAMPLES / f"{page.stem}.ipynb").write_text(notebook_text(page), encoding="utf-8")
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
