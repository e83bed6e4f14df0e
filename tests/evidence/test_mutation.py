"""The mutation study: its changes, its rules, its page, and a few that must be noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from evidence.mutation import study as mutation
from evidence.mutation.notes import NOTES
from evidence.mutation.runs import Copy, Tests
from evidence.mutation.sites import Site, sites

SOURCE = '''
"""Words."""
import math
from typing import TYPE_CHECKING

__all__ = ["f"]
Numbers = list[int] | tuple[int, ...]
LIMIT = 3
"""More words."""
if TYPE_CHECKING:
    import numpy

@cache(maxsize=7)
def f(x: int, most: int = 5) -> bool:
    """Words again."""
    if x < most and not x == 2:
        raise InvalidInput("a number above 9", f"{x + 1}")
    total = min(x, most)
    total += pow(x, most)
    for a, b in zip(x, x, strict=True):
        continue
    print(f"spent {x * 2}")
    return -total

def __repr__(self):
    return "4"
'''


@pytest.fixture
def found(tmp_path: Path) -> list[Site]:
    (tmp_path / "module.py").write_text(SOURCE)
    return sites(tmp_path, "module.py")


def test_every_kind_of_mistake_is_made(found: list[Site]) -> None:
    assert [(site.kind, site.text) for site in found] == [
        ("constant", "3 -> 4"),
        ("constant", "3 -> 2"),
        ("constant", "5 -> 6"),
        ("constant", "5 -> 4"),
        ("condition", "x < most and not x == 2 -> (not (x < most and (not x == 2)))"),
        ("logic", "x < most and not x == 2 -> (x < most or not x == 2)"),
        ("boundary", "x < most -> (x <= most)"),
        ("comparison", "x < most -> (x >= most)"),
        ("sign or negation removed", "not x == 2 -> (x == 2)"),
        ("comparison", "x == 2 -> (x != 2)"),
        ("constant", "2 -> 3"),
        ("constant", "2 -> 1"),
        ("raise removed", 'raise InvalidInput("a number above 9", f"{x + 1}") -> pass'),
        ("function", "min(x, most) -> max(x, most)"),
        ("statement removed", "total += pow(x, most) -> pass"),
        ("arithmetic", "total += pow(x, most) -> total -= pow(x, most)"),
        ("arguments swapped", "pow(x, most) -> pow(most, x)"),
        ("loop", "continue -> break"),
        ("statement removed", 'print(f"spent {x * 2}") -> pass'),
        ("constant", "f\"spent {x * 2}\" -> f'XXspent {x * 2}'"),
        ("arithmetic", "f\"spent {x * 2}\" -> f'spent {x // 2}'"),
        ("constant", "f\"spent {x * 2}\" -> f'spent {x * 3}'"),
        ("constant", "f\"spent {x * 2}\" -> f'spent {x * 1}'"),
        ("return nothing", "return -total -> return None"),
        ("sign or negation removed", "-total -> total"),
    ]
    # Each is Python, one change and no more, and has a name of its own.
    for site in found:
        changed = site.applied(SOURCE.encode()).decode()
        assert changed != SOURCE
        assert SOURCE.startswith(changed[: site.start])
        compile(changed, "module.py", "exec")
    assert len({site.key for site in found}) == len(found)
    assert [site.text for site in found if site.imported] == [
        "3 -> 4",
        "3 -> 2",
        "5 -> 6",
        "5 -> 4",
    ]


def test_names_of_changes_do_not_depend_on_lines(found: list[Site], tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("\n\n# A comment.\n" + SOURCE)
    moved = sites(tmp_path, "module.py")
    assert [site.key for site in moved] == [site.key for site in found]
    assert [site.line for site in moved] == [site.line + 3 for site in found]


def test_changes_that_overlap_are_not_made_at_once(found: list[Site]) -> None:
    groups = mutation.apart(found)
    assert sorted(site.start for group in groups for site in group) == [x.start for x in found]
    for group in groups:
        spans = sorted((site.start, site.end) for site in group)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_tests_of_a_line_come_first_and_the_shortest_of_them() -> None:
    site = Site("a.py", 5, 6, 0, 1, "", "", "", "")
    tests = Tests(
        {"t::1": 3.0, "t::2": 1.0, "u::3": 0.1, "u::4": 0.2},
        {"t::1": {"a.py": {6}}, "t::2": {"a.py": {5}}, "u::3": {"a.py": {9}},
         "u::4": {"a.py": {5}}},
        {"u::4"},
    )  # fmt: skip
    assert tests.of(site) == ["t::2", "t::1"]
    assert tests.within(tests.of(site), 2.0) == ["t::2"]
    assert tests.within(["t::1"], 2.0) == ["t::1"]
    # What runs at import, or in no test that is known of, is for all tests of the module.
    for alone in (Site("a.py", 1, 1, 0, 1, "", "", "", ""),
                  Site("a.py", 9, 9, 0, 1, "", "", "", "", imported=True)):  # fmt: skip
        assert tests.of(alone) == ["u::3", "t::2", "t::1"]


def test_the_critical_modules_are_all_there() -> None:
    names = mutation.modules()
    for name in (
        "exact/inversion.py",
        "mechanisms/protocol.py",
        "releases/query.py",
        "ledger/budget.py",
    ):
        assert name in names
    assert not any(name.startswith(("streams", "audits", "estimators")) for name in names)
    every = mutation.population()
    assert len(every) > 5000
    assert len({site.key for site in every}) == len(every)


def test_the_recorded_study_agrees_with_the_page() -> None:
    results = json.loads(mutation.RESULT.read_text())
    page = mutation.PAGE.read_text()
    assert mutation.filled(page, results) == page
    assert len(results["mutants"]) >= 300
    assert f"seed {results['seed']}, {len(results['mutants'])} changes" in page
    assert mutation.unexplained(results) == []
    # What is explained is short and a sentence.
    survived = {row["key"] for row in results["mutants"] if row["verdict"] == mutation.SURVIVED}
    assert survived <= set(NOTES)
    assert all(note.endswith(".") for note in NOTES.values())


FIXED = (
    ("odds", "epsilon < 14 -> (epsilon >= 14)"),
    ("_sum_up", "a + b -> (a - b)"),
    ("checked_epsilon", "raise InvalidInput("),
    ("Spend.weak", "self.epsilon >= WEAK_EPSILON -> (self.epsilon < WEAK_EPSILON)"),
)
"""Changes of the accounting that its own tests must notice."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    made = Copy(tmp_path_factory.mktemp("mutation"))
    yield made
    made.close()


def run(copy: Copy, changes: list[Site]) -> dict[str, object]:
    with copy.changed(changes):
        return copy.order(
            files=["tests/unit/accounting/test_spend.py"], limits=None, first=True, seconds=120
        )


def test_fixed_changes_are_noticed(copy: Copy) -> None:
    assert run(copy, [])["code"] == 0
    for inside, text in FIXED:
        chosen = next(
            site for site in sites(copy.package, "accounting/spend.py")
            if site.inside == inside and text in site.text
        )  # fmt: skip
        found = run(copy, [chosen])
        row = mutation.verdict(chosen, found, "lines")
        assert row["verdict"] == mutation.KILLED, chosen
        assert row["by"].startswith("tests/unit/accounting/test_spend.py")
    # Everything is as it was.
    assert run(copy, [])["code"] == 0


def test_what_never_ends_is_ended(copy: Copy, tmp_path: Path) -> None:
    slow = copy.tree / "tests" / "unit" / "test_slow.py"
    slow.write_text("def test_slow():\n    while True:\n        pass\n")
    name = "tests/unit/test_slow.py::test_slow"
    found = copy.order(
        files=["tests/unit/test_slow.py"], limits={name: 0.5}, first=True, seconds=60
    )
    slow.unlink()
    assert found["failed"] == [name]
    site = Site("a.py", 1, 1, 0, 1, "", "", "", "")
    assert mutation.verdict(site, found, "lines")["verdict"] == mutation.OVERTIME
