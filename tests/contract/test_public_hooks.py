"""Audits look at mechanisms, samplers and releases from outside: through public names only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import confide

AUDITS = sorted((Path(confide.__file__).parent / "audits").glob("*.py"))


def underscored(source: str) -> list[str]:
    """Attributes with an underscore of anything but the object itself, and probes of attributes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            # Python's own names are public, and of a named tuple this one is.
            public = node.attr.startswith("__") or node.attr == "_replace"
            if node.attr.startswith("_") and not own and not public:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Name) and node.id in ("hasattr", "getattr"):
            found.append(f"line {node.lineno}: {node.id}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("confide."):
            found += [
                f"line {node.lineno}: {each.name}"
                for each in node.names
                if each.name.startswith("_") and each.name != "_checks"
            ]
    return found


@pytest.mark.parametrize("path", AUDITS, ids=lambda path: path.stem)
def test_audits_use_no_underscore_of_another_package(path: Path) -> None:
    assert underscored(path.read_text()) == []


def test_the_reader_sees_underscores() -> None:
    assert underscored("noise._samplers") == ["line 1: noise._samplers"]
    assert underscored("super()._draw(x)")
    assert underscored("hasattr(subject, 'band')")
    assert underscored("from confide.exact.unbounded import _hidden")
    assert underscored("self._rest; entry._replace(name='')") == []
