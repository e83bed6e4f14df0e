"""Every message that a user can meet: ``python -m tools.messages`` prints them as one table.

Messages are found where errors and warnings are made in src/confide. What is filled in when the
program runs is shown in braces.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "confide"
SENTENCES = {"ConfideError", "Unsupported", "MissingExtra", "Unavailable", "Unacknowledged"}
"""Errors that are given a whole sentence; others are given what was expected and what came."""
WARNINGS = {"warn", "Implausible", "LeftOut", "ConfideWarning", "Together"}


class Message(NamedTuple):
    """A message, and where it is made."""

    place: str
    kind: str
    text: str


def _text(node: ast.expr) -> str | None:
    """A string of the source as a template, or None for what is no string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"  # type: ignore[attr-defined]
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = (_text(node.left), _text(node.right))
        return None if None in parts else "".join(map(str, parts))
    return None


def _shown(node: ast.expr) -> str:
    found = _text(node)
    return f"{{{ast.unparse(node)}}}" if found is None else found


def _errors() -> set[str]:
    tree = ast.parse((SOURCE / "errors.py").read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def messages() -> Iterator[Message]:
    """All messages, by file and line."""
    known = _errors()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name not in known and name not in WARNINGS:
                continue
            parts = [_shown(each) for each in node.args]
            if all(_text(each) is None for each in node.args):
                continue
            if name in SENTENCES | WARNINGS or len(parts) < 2:
                text = parts[0]
            else:
                text = f"Expected {parts[0]}, got {parts[1]}. {' '.join(parts[2:])}".strip()
            place = f"{path.relative_to(SOURCE)}:{node.lineno}"
            yield Message(place, name, " ".join(text.split()))


def main() -> None:
    """Print the table."""
    found = list(messages())
    print("| where | kind | message |\n|---|---|---|")
    for each in found:
        print(f"| {each.place} | {each.kind} | {each.text.replace('|', chr(92) + '|')} |")
    print(f"{len(found)} messages", file=sys.stderr)


if __name__ == "__main__":
    main()
