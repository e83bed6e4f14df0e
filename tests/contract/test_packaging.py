"""What the package declares: its types, and the releases of others that it runs on."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SOURCES = sorted((ROOT / "src" / "confide").rglob("*.py"))
# Where the name to import is not the name to install.
PACKAGES = {"ibis": "ibis-framework", "sklearn": "scikit-learn"}
# Tables that users bring: nothing here imports them unless they are there.
BROUGHT = {"pandas", "polars", "pyspark"}
LATER = ("extra", "ibis", "arrow")
"""Functions that import what they are given."""


def requirements() -> list[str]:
    own = PROJECT["project"]
    extras = own["optional-dependencies"].values()
    every = [*own["dependencies"], *(one for extra in extras for one in extra)]
    frames = PROJECT["dependency-groups"]["frames"]
    return [one for one in [*every, *frames] if not one.startswith("confide")]


def imported() -> set[str]:
    """Packages that the library imports, by name or through `extra`."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module or "")
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in LATER:
                found |= {one.value for one in node.args[:1] if isinstance(one, ast.Constant)}
    names = {str(name).partition(".")[0] for name in found}
    return {name for name in names if name not in sys.stdlib_module_names} - {"confide", ""}


def test_types_are_shipped() -> None:
    assert (files("confide") / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


@pytest.mark.parametrize("requirement", requirements())
def test_every_requirement_has_a_lowest_release(requirement: str) -> None:
    assert re.fullmatch(r"[a-z-]+(\[[a-z]+\])?>=[0-9.]+", requirement)


def test_whatever_is_imported_is_required() -> None:
    declared = {re.split(r"[\[>]", one)[0] for one in requirements()}
    needed = {PACKAGES.get(name, name) for name in imported() - BROUGHT}
    assert needed <= declared
    assert {"duckdb", "numpy", "threadpoolctl"} <= needed


def test_the_lowest_releases_and_the_newest_python_can_be_tested() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "--resolution lowest-direct" in makefile
    for target in ("test-lowest", "test-newest"):
        assert re.search(rf"^{target}: .venv-{target[5:]}/ready", makefile, re.MULTILINE)
        assert f".venv-{target[5:]}/" in (ROOT / ".gitignore").read_text()
        assert f".venv-{target[5:]}" in makefile.partition("clean:\n")[2]
