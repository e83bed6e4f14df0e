"""Kinds have one spelling, in Python, in JSON and on the command line: words with hyphens."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import confide
from confide import Ledger, Spend, curves, mechanisms
from confide.audits.layers import LAYERS
from confide.cli import release as command
from confide.lattice import Lattice
from confide.releases import KolmogorovSmirnov, Release, query, release
from confide.releases import register as releases
from confide.sampling import references
from confide.sampling import register as samplers

SPELT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def named() -> dict[str, str]:
    """The kinds of all classes of ours that have one."""
    found = {}
    for module in pkgutil.walk_packages(confide.__path__, "confide."):
        if module.name == "confide.__main__":
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if not isinstance(kind, type) or not kind.__module__.startswith("confide."):
                continue
            if "ClassVar" in str(vars(kind).get("__annotations__", {}).get("name")):
                found[f"{kind.__module__}.{kind.__name__}"] = vars(kind).get("name", "none")
    return found


def test_every_kind_is_spelt_with_hyphens() -> None:
    classes = named()
    assert len(classes) > 20
    others = [
        *curves.KINDS,
        *mechanisms.KINDS,
        *releases.KINDS,
        *samplers.KINDS,
        *command.KINDS,
        *query.KINDS,
        *references._KEYS,
        *(layer.name for layer in LAYERS),
    ]
    for kind in {*classes.values(), *others}:
        assert SPELT.fullmatch(kind), kind


def test_the_command_line_spells_kinds_as_the_library_does() -> None:
    for kind in command.KINDS:
        assert {**releases.KINDS, **releases.STATED}[kind].name == kind
    assert set(mechanisms.numeric()) <= set(mechanisms.KINDS)


VALUES = [0.1, 0.4, 0.4, 0.9] * 5
RECIPE = KolmogorovSmirnov(Lattice(low=0, high=1), epsilon=0.5, size=10, points=4)


def test_a_charge_under_the_old_spelling_is_still_a_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "old.db", Spend(1.0))
    with monkeypatch.context() as before:
        before.setattr(KolmogorovSmirnov, "name", "kolmogorov_smirnov")
        before.setattr(release, "FORMER", {})
        first = RECIPE.release(VALUES, ledger=ledger, key="a")
        written = json.loads(json.dumps(first.to_dict()))
    assert written["spec"]["release"] == "kolmogorov_smirnov"
    again = RECIPE.release(VALUES, ledger=ledger, key="a")
    assert again.noisy == first.noisy
    assert again.spec["release"] == "kolmogorov-smirnov"
    assert ledger.left == Spend(0.5)
    read: Any = Release.from_dict(written)
    assert read.to_dict() == again.to_dict()
    # And one of today is a retry of itself.
    other = RECIPE.release(VALUES, ledger=ledger, key="b")
    assert RECIPE.release(VALUES, ledger=ledger, key="b").noisy == other.noisy
    assert Release.from_dict(ledger.entry("b").release).to_dict() == other.to_dict()
