"""The ledger: what is charged, what is refused, and what a file can be."""

from __future__ import annotations

import decimal
import json
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from confide.accounting import Spend
from confide.errors import BudgetExhausted, InvalidInput, Mismatch
from confide.ledger.budget import Entry, Ledger
from confide.ledger.costs import placed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "survey.ledger"


DATA = b"what is released"


def never() -> Any:
    raise AssertionError("something was drawn")


def take(ledger: Ledger, key: str, epsilon: float, delta: float = 0.0, **more: Any) -> Any:
    asked = {"data": DATA, **more}
    return ledger.charge(key, {"kind": "test"}, Spend(epsilon, delta), lambda: [key], **asked)


def test_charges_add_up_and_stay(path: Path) -> None:
    ledger = Ledger(path, Spend(1.0, 1e-6))
    assert take(ledger, "a", 0.25) == ["a"]
    assert take(ledger, "b", 0.5, 1e-7) == ["b"]
    for again in (ledger, Ledger(path), Ledger(str(path), epsilon=1.0, delta=1e-6)):
        assert again.spent == Spend(0.75, 1e-7)
        assert again.left == Spend(0.25, 9e-7)
        assert again.budget == Spend(1.0, 1e-6)
        assert [entry.key for entry in again.entries()] == ["a", "b"]
    assert repr(ledger) == f"Ledger({str(path)!r}, epsilon=1, delta=1e-6)"
    assert pickle.loads(pickle.dumps(ledger)).spent == ledger.spent
    entry = ledger.entries()[1]
    assert isinstance(entry, Entry)
    assert (entry.spend, entry.group, entry.release) == (Spend(0.5, 1e-7), None, ["b"])
    with pytest.raises(AttributeError):
        entry.key = "c"  # type: ignore[misc]


def test_ten_tenths_make_one(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    for number in range(10):
        take(ledger, str(number), 0.1)
    assert ledger.left == Spend(0.0)
    with pytest.raises(BudgetExhausted):
        take(ledger, "more", 1e-9)


@settings(deadline=None, max_examples=50)
@given(st.floats(1e-9, 50), st.floats(0, 0.5))
def test_a_charge_is_never_below_its_spend(epsilon: float, delta: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"{folder}/x", epsilon=100, delta=0.9)
        take(ledger, "a", epsilon, delta)
        spent = ledger.spent
        # Numbers count as they are written down.
        written = [Fraction(repr(x)) for x in (epsilon, delta, spent.epsilon, spent.delta)]
        assert written[0] <= written[2] <= written[0] + Fraction(1, 10**6)
        # A delta comes back as the nearest float of a whole number of units.
        assert written[1] * (1 - Fraction(1, 2**52)) <= written[3]
        assert written[3] <= (written[1] + Fraction(1, 10**18)) * (1 + Fraction(1, 2**52))


def test_retry_returns_the_stored_release(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    made = {"z": (1, 2.5), "a": None}
    first = ledger.charge("a", {"x": 1, "y": 2}, Spend(1.0), lambda: made, data=DATA)
    assert first == {"z": [1, 2.5], "a": None}
    again = Ledger(path).charge("a", {"y": 2, "x": 1}, Spend(1.0), never, data=DATA)
    assert again == first
    assert list(again) == list(first) == ["z", "a"]
    assert ledger.spent == Spend(1.0)


@pytest.mark.parametrize(
    ("spec", "spend", "group"),
    [
        ({"kind": "other"}, Spend(0.5), None),
        ({"kind": "test"}, Spend(0.25), None),
        ({"kind": "test"}, Spend(0.5, 1e-9), None),
        ({"kind": "test"}, Spend(0.5), ("region", "north")),
    ],
)
def test_a_key_is_bound_to_its_spec(path: Path, spec: Any, spend: Spend, group: Any) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    take(ledger, "a", 0.5)
    with pytest.raises(Mismatch, match=r"^Expected the settings, group and .* of the release 'a'"):
        ledger.charge("a", spec, spend, never, group=group)
    assert ledger.spent == Spend(0.5)


@pytest.mark.parametrize("spend", [Spend(0.6), Spend(0.1, 1e-6), Spend(0.500001)])
def test_an_exhausted_budget_says_what_is_left(path: Path, spend: Spend) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    take(ledger, "a", 0.5, 4e-7)
    with pytest.raises(BudgetExhausted) as caught:
        ledger.charge("b", {}, spend, never)
    assert "left of the budget (epsilon=0.5, delta=6e-7)" in str(caught.value)
    assert f"epsilon={spend.epsilon}" in caught.value.got
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert len(ledger.entries()) == 1
    take(ledger, "b", 0.5, 6e-7)
    assert ledger.left == Spend(0.0)


def test_groups_of_a_public_attribute_cost_the_maximum(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    take(ledger, "all", 0.25)
    take(ledger, "north", 0.5, 1e-7, group=("region", "north"))
    take(ledger, "south", 0.25, 2e-7, group=("region", "south"))
    assert ledger.spent == Spend(0.75, 2e-7)
    take(ledger, "south again", 0.25, group=("region", "south"))
    assert ledger.spent == Spend(0.75, 2e-7)
    take(ledger, "young", 0.125, group=("age", "young"))
    assert ledger.spent == Spend(0.875, 2e-7)
    with pytest.raises(BudgetExhausted, match=r"\(epsilon=0\.125, delta=8e-7\)"):
        ledger.charge("x", {}, Spend(0.25), never, group=("region", "south"))
    with pytest.raises(BudgetExhausted, match=r"\(epsilon=0\.625, delta=1e-6\)"):
        ledger.charge("x", {}, Spend(0.75), never, group=("region", "west"))
    with pytest.raises(BudgetExhausted, match=r"\(epsilon=0\.125, delta=8e-7\)"):
        ledger.charge("x", {}, Spend(0.25), never)
    take(ledger, "west", 0.625, group=("region", "west"))
    assert ledger.left.epsilon == 0
    assert ledger.entries()[1].group == ("region", "north")


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from("xy"), st.integers(1, 9)),
        max_size=8,
    )
)
def test_total_is_what_the_dearest_record_pays(charges: list[tuple[str, str, int]]) -> None:
    # The oracle: a record has one value an attribute; try every record.
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"{folder}/x", epsilon=100)
        for number, (attribute, member, cost) in enumerate(charges):
            group = (attribute, member) if attribute else None
            take(ledger, str(number), float(cost), group=group)
        most = max(
            sum(c for a, m, c in charges if not a or m == {"a": one, "b": two}[a])
            for one in "xy"
            for two in "xy"
        )
        assert ledger.spent.epsilon == most


def test_a_release_that_fails_is_not_charged(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)

    def broken() -> Any:
        raise sqlite3.DatabaseError("the caller's own database")

    with pytest.raises(sqlite3.DatabaseError, match="the caller's own"):
        ledger.charge("a", {}, Spend(0.5), broken)
    loop: list[Any] = []
    loop.append(loop)
    for odd in (float("nan"), np.zeros(3), {1, 2}, loop):
        with pytest.raises(InvalidInput, match="plain JSON values"):
            ledger.charge("a", {}, Spend(0.5), lambda odd=odd: odd)
        with pytest.raises(InvalidInput, match="plain JSON values"):
            ledger.charge("a", odd, Spend(0.5), never)
    assert ledger.spent == Spend(0.0)
    assert take(ledger, "a", 0.5) == ["a"]


def test_the_release_is_charged_before_it_is_seen(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    during: list[Spend] = []

    def make() -> int:
        during.append(Ledger(path).spent)
        return 1

    ledger.charge("a", {}, Spend(0.5), make)
    assert during == [Spend(0.0)]
    assert ledger.spent == Spend(0.5)


@pytest.mark.parametrize("key", ["", "  ", None, 3, b"a", "\ud800"])
def test_keys_are_words(path: Path, key: Any) -> None:
    ledger = Ledger(path, epsilon=1.0)
    with pytest.raises(InvalidInput, match="non-empty text as key"):
        ledger.charge(key, {}, Spend(0.5), never)
    for group in (("region", key), (key, "north")):
        with pytest.raises(InvalidInput, match="non-empty text as the"):
            ledger.charge("a", {}, Spend(0.5), never, group=group)


@pytest.mark.parametrize("group", ["region", ("region",), ["region", "north"], 3])
def test_groups_are_pairs(path: Path, group: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a group as \(attribute, value\)"):
        Ledger(path, epsilon=1.0).charge("a", {}, Spend(0.5), never, group=group)


@pytest.mark.parametrize(
    "spend",
    [
        Spend(float("inf")),
        Spend(float("nan")),
        Spend(-0.5),
        Spend(0.0),
        Spend(0.5, -1e-9),
        Spend(0.5, 1.0),
        Spend(0.5, float("nan")),
        0.5,
        None,
    ],
)
def test_odd_spends_are_refused(path: Path, spend: Any) -> None:
    ledger = Ledger(path, epsilon=100.0, delta=0.5)
    with pytest.raises(InvalidInput):
        ledger.charge("a", {}, spend, never)
    assert ledger.entries() == ()


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("inf")},
        {"epsilon": 1e-9},
        {"epsilon": "1"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
        {"delta": 1e-6},
        {"budget": 1.0},
        {"budget": Spend(1.0), "epsilon": 1.0},
        {"budget": Spend(1.0), "delta": 1e-6},
        {"epsilon": 1, "timeout": 0},
        {},
    ],
)
def test_odd_budgets_are_refused_and_nothing_is_written(path: Path, budget: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^Expected .*, got .*\."):
        Ledger(path, **budget)
    assert not path.exists()


def test_a_ledger_keeps_its_budget(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    for epsilon, delta in ((2.0, 0.0), (0.5, 0.0), (1.0, 1e-6)):
        with pytest.raises(Mismatch, match=r"made with \(epsilon=1\)"):
            Ledger(path, epsilon=epsilon, delta=delta)
    path.unlink()
    with pytest.raises(InvalidInput, match=r"a ledger at .* got none"):
        ledger.charge("a", {}, Spend(0.5), never)
    assert not path.exists()
    Ledger(path, epsilon=2.0)
    with pytest.raises(Mismatch, match="was replaced"):
        ledger.charge("a", {}, Spend(0.5), never)


def test_places_where_no_ledger_can_be(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"a folder '.*nowhere' for the ledger"):
        Ledger(tmp_path / "nowhere" / "a.ledger", epsilon=1.0)
    with pytest.raises(InvalidInput, match="a folder or a device"):
        Ledger(tmp_path, epsilon=1.0)
    odd = tmp_path / "50% of? #1.ledger"
    take(Ledger(odd, epsilon=1.0), "a", 0.5)
    assert Ledger(odd).spent == Spend(0.5)
    assert {file.name for file in tmp_path.iterdir()} == {odd.name, f"{odd.name}.secret"}


def test_other_files_are_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"key,epsilon\n" * 200)
    with pytest.raises(InvalidInput, match="not SQLite"):
        Ledger(path, epsilon=1.0)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for budget in (None, Spend(1.0)):
        with pytest.raises(InvalidInput, match="SQLite file of something else"):
            Ledger(path, budget)
    assert path.read_bytes() == before


def test_what_is_left_of_a_ledger_is_not_made_anew(path: Path) -> None:
    path.touch()
    for asked in ({}, {"epsilon": 1.0}):
        with pytest.raises(InvalidInput):
            Ledger(path, **asked)
    path.unlink()
    for ending in ("-wal", "-journal"):
        path.with_name(f"{path.name}{ending}").write_bytes(b"x")
        with pytest.raises(InvalidInput, match="Do not start afresh"):
            Ledger(path, epsilon=1.0)
        path.with_name(f"{path.name}{ending}").unlink()


def test_the_callers_decimals_do_not_matter(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    with decimal.localcontext(decimal.Context(prec=1, rounding=decimal.ROUND_DOWN)):
        for at in range(5):
            ledger.charge(str(at), {}, Spend(0.19), lambda: 1)
        with pytest.raises(BudgetExhausted):
            ledger.charge("more", {}, Spend(0.19), lambda: 1)
        assert repr(ledger.spent) == "Spend(epsilon=0.95)"
    assert ledger.spent == Spend(0.95)


OTHER = """
import sys
from confide.accounting import Spend
from confide.errors import InvalidInput
from confide.ledger import Ledger
try:
    print(Ledger(sys.argv[1], timeout=0.2).charge("k", {}, Spend(1.0), lambda: "B"))
except InvalidInput as error:
    print("refused", error)
"""


def test_reading_the_file_meanwhile_does_not_undo_the_lock(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    said = []

    def make() -> str:
        path.read_bytes()
        for file in list(path.parent.iterdir()):
            file.read_bytes()
        run = [sys.executable, "-c", OTHER, str(path)]
        said.append(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        return "A"

    assert ledger.charge("k", {}, Spend(1.0), make) == "A"
    assert said[0].startswith("refused")
    assert [entry.release for entry in Ledger(path).entries()] == ["A"]


def test_a_second_name_for_the_file_is_refused(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    os.link(path, path.with_name("second"))
    with pytest.raises(InvalidInput, match="hard links"):
        ledger.charge("k", {}, Spend(0.1), lambda: 1)


def test_moving_about_does_not_change_the_ledger(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    ledger = Ledger(path.name, epsilon=1.0)
    ledger.charge("k", {}, Spend(1.0), lambda: "A", data=DATA)
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    Ledger(path.name, epsilon=1.0)
    assert ledger.charge("k", {}, Spend(1.0), lambda: "B", data=DATA) == "A"


def test_spellings_of_a_group_are_one_group(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    for at, member in enumerate(("north", "North", " north ", "north\u200b")):
        ledger.charge(str(at), {}, Spend(0.2), lambda: 1, group=("region", member))
    assert ledger.spent == Spend(0.8)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("north", "\u200b north"),
        ("north", "north\ufe0f"),
        ("new york", "New\t York"),
        ("\u00e9", "e\u200b\u0301"),
        ("fin", "\ufb01n"),
    ],
)
def test_odd_spellings_of_a_group_are_one_group(path: Path, one: str, two: str) -> None:
    ledger = Ledger(path, epsilon=1.0)
    take(ledger, "a", 0.25, group=("region", one))
    take(ledger, "b", 0.25, group=("region", two))
    assert ledger.spent == Spend(0.5)
    assert ledger.entries()[0].group == ledger.entries()[1].group


@given(st.text(min_size=1))
def test_a_folded_group_stays_as_it_is(member: str) -> None:
    assume(member.strip())
    _, folded = placed(("region", member))
    assert not folded.strip() or placed(("region", folded)) == ("region", folded)


def test_odd_notes_and_keys_are_refused_before_anything_is_drawn(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    drawn = []
    for note in ("\ud800", None, b"x", "a\nb"):
        with pytest.raises(InvalidInput):
            ledger.charge("k", {}, Spend(0.1, note=note), lambda: drawn.append(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ledger.charge("k", {1: "a", "1": "b"}, Spend(0.1), lambda: drawn.append(1))
    assert drawn == []
    with pytest.raises(InvalidInput, match="plain JSON"):
        ledger.charge("k", {}, Spend(0.1), lambda: {1: "a", "1": "b"})
    assert ledger.spent.epsilon == 0


def test_a_damaged_ledger_is_refused(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    for number in range(40):
        ledger.charge(str(number), {}, Spend(0.001), lambda: "x" * 500)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:100] + b"\xff" * 4000 + whole[4100:]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match="an intact ledger"):
            Ledger(path)
    path.write_bytes(whole)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM budget")
    connection.close()
    with pytest.raises(InvalidInput, match="an intact ledger"):
        ledger.charge("a", {}, Spend(0.1), never)


@pytest.mark.parametrize(("version", "advice"), [(4, "update this one"), (1, "An older confide")])
def test_a_ledger_of_another_version_is_refused(path: Path, version: int, advice: str) -> None:
    ledger = Ledger(path, epsilon=1.0)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(InvalidInput, match=rf"version 3 .* got version {version}\. .*{advice}"):
        Ledger(path, epsilon=1.0)
    with pytest.raises(InvalidInput, match=advice):
        ledger.charge("a", {}, Spend(0.1), never)


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE TRIGGER t AFTER INSERT ON charges BEGIN UPDATE charges SET epsilon = 0; END",
        "CREATE TABLE more (x)",
        "CREATE VIEW v AS SELECT * FROM charges",
        "ALTER TABLE charges ADD COLUMN raw TEXT",
    ],
)
def test_a_planted_schema_is_refused(path: Path, planted: str) -> None:
    ledger = Ledger(path, epsilon=1.0)
    connection = sqlite3.connect(path)
    connection.execute(planted)
    connection.commit()
    connection.close()
    with pytest.raises(InvalidInput, match="nothing but the tables of a ledger"):
        Ledger(path, epsilon=1.0)
    with pytest.raises(InvalidInput, match="nothing but the tables of a ledger"):
        ledger.charge("a", {}, Spend(0.1), never)


def test_a_replaced_ledger_is_noticed(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    take(ledger, "a", 1.0)
    path.unlink()
    Ledger(path, epsilon=1.0)
    for use in (
        lambda: take(ledger, "a", 1.0),
        lambda: take(ledger, "b", 1.0),
        lambda: ledger.left,
        lambda: ledger.spent,
        ledger.entries,
        lambda: pickle.loads(pickle.dumps(ledger)).left,
    ):
        with pytest.raises(Mismatch, match="was replaced"):
            use()
    assert Ledger(path).spent == Spend(0.0)


def test_a_ledger_replaced_during_a_charge_hands_nothing_out(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    other = path.with_name("other")
    Ledger(other, epsilon=1.0)
    with pytest.raises(Mismatch, match="stay where it is"):
        ledger.charge("a", {}, Spend(0.5), lambda: os.replace(other, path))


def test_the_subject_of_a_ledger_is_kept(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0, subject="staff-2024")
    for again in (ledger, Ledger(path), Ledger(path, subject="staff-2024")):
        assert again.subject == "staff-2024"
    assert repr(ledger) == f"Ledger({str(path)!r}, epsilon=1, subject='staff-2024')"
    with pytest.raises(Mismatch, match=r"made for \('staff-2024'\), got 'staff-2025'"):
        Ledger(path, epsilon=1.0, subject="staff-2025")
    plain = path.with_name("plain")
    assert Ledger(plain, epsilon=1.0).subject == ""
    with pytest.raises(Mismatch, match=r"made for \(none\), got 'staff-2024'"):
        Ledger(plain, subject="staff-2024")
    for odd in ("", " ", 3, "\ud800"):
        with pytest.raises(InvalidInput, match="non-empty text as subject"):
            Ledger(path.with_name("odd"), epsilon=1.0, subject=odd)  # type: ignore[arg-type]
    assert not path.with_name("odd").exists()


def test_a_charge_within_a_charge_is_refused_at_once(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    other = Ledger(path.with_name("other"), epsilon=1.0)
    with pytest.raises(InvalidInput, match="a use within another"):
        ledger.charge("a", {}, Spend(0.1), lambda: take(Ledger(path, epsilon=1.0), "b", 0.1))
    assert ledger.entries() == ()
    assert ledger.charge("a", {}, Spend(0.1), lambda: take(other, "b", 0.1)) == ["b"]
    assert take(ledger, "b", 0.1) == ["b"]


def test_integers_that_others_could_not_read_are_refused(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        for huge in (10**5000, {"a": [-(10**5000)]}):
            with pytest.raises(InvalidInput, match="plain JSON values"):
                ledger.charge("a", {}, Spend(0.1), lambda huge=huge: huge)
            with pytest.raises(InvalidInput, match="plain JSON values"):
                ledger.charge("a", huge, Spend(0.1), never)
    finally:
        sys.set_int_max_str_digits(before)
    assert ledger.entries() == ()
    assert ledger.charge("a", {}, Spend(0.1), lambda: 2**2047) == 2**2047


def test_a_stored_release_that_cannot_be_read_is_told(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    take(ledger, "a", 0.1)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE charges SET release = '[' || release")
    connection.close()
    with pytest.raises(InvalidInput, match="an intact ledger"):
        take(ledger, "a", 0.1)


def test_a_locked_ledger_is_waited_for_and_then_refused(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0, timeout=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(InvalidInput, match=r"free within 0.05 seconds, got one .* locked"):
        ledger.charge("a", {}, Spend(0.1), never)
    assert ledger.spent == Spend(0.0)
    other.execute("ROLLBACK")
    other.close()
    assert take(ledger, "a", 0.1) == ["a"]


READ_ONLY = """
import os, sys, warnings
from confide.accounting import Spend
from confide.ledger import Ledger
path, user = sys.argv[1:]
if user != "0":
    os.setgid(int(user)); os.setuid(int(user))
ledger = Ledger(path)
print(ledger.spent.epsilon)
try:
    ledger.charge("b", {}, Spend(0.1), lambda: print("drawn"))
except Exception as error:
    print(type(error).__name__, error)
print(len(ledger.entries()))
print(ledger.entry("a").release)
warnings.simplefilter("always")
warnings.showwarning = lambda message, *more: print(message)
again = ledger.charge("a", {"kind": "test"}, Spend(0.5), lambda: print("drawn"), data=b"same")
print(again)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("closed", ["file", "folder"])
def test_a_read_only_ledger_can_be_looked_at(closed: str) -> None:
    # Root may write everywhere, so as root the look is taken by somebody else.
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "survey.ledger"
        take(Ledger(path, epsilon=1.0), "a", 0.5, data=b"same")
        path.chmod(0o444)
        folder.chmod(0o555 if closed == "folder" else 0o777)
        user = "65534" if os.getuid() == 0 else "0"
        command = [sys.executable, "-c", READ_ONLY, str(path), user]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        spent, error, entries, stored, *told, again = done.stdout.splitlines()
        assert (spent, entries, stored, again) == ("0.5", "1", "['a']", "['a']")
        # Only the owner can read the secret, so somebody else cannot check the data.
        ends = [line.endswith("survey.ledger.secret' cannot be used.") for line in told]
        assert ends == ([] if user == "0" else [True])
        assert error.startswith("InvalidInput Expected a ledger that can be written to")
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


@pytest.mark.parametrize("mode", [0o444, 0o400])
def test_a_copy_made_read_only_is_never_charged(path: Path, mode: int) -> None:
    # Root may write to it all the same, so the system does not refuse it.
    take(Ledger(path, epsilon=1.0), "a", 0.5)
    path.chmod(mode)
    ledger, drawn = Ledger(path), []
    with pytest.raises(InvalidInput, match=r"^Expected a ledger that can be written to at .*"):
        ledger.charge("b", {}, Spend(0.1), lambda: drawn.append(1))
    assert not drawn
    assert ledger.spent == Spend(0.5)
    assert ledger.entry("a").release == ["a"]
    path.chmod(0o600)
    take(ledger, "b", 0.1)
    assert ledger.spent == Spend(0.6)


def test_many_threads_share_one_budget(path: Path) -> None:
    refused: list[str] = []

    def work(number: int) -> None:
        ledger = Ledger(path, epsilon=1.0)
        for key in range(8):
            try:
                take(ledger, f"{key}", 0.2)
            except BudgetExhausted:
                refused.append(f"{number}-{key}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Ledger(path).left == Spend(0.0)
    assert len(Ledger(path).entries()) == 5
    assert len(refused) == 6 * 3


def test_the_file_holds_neither_specs_nor_values(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0)
    ledger.charge("a", {"secret": "in the spec"}, Spend(0.5, note="said"), lambda: {"answer": 7})
    assert b"in the spec" not in path.read_bytes()
    connection = sqlite3.connect(path)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(charges)")]
    connection.close()
    assert (
        " ".join(columns) == "number key fingerprint epsilon delta note attribute member at release"
    )
    assert ledger.entries()[0].spend.note == "said"
    assert json.loads(ledger.entries()[0].text) == {"answer": 7}


def test_show(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typer = pytest.importorskip("typer")
    from confide.cli.ledger import ledger as verb

    ledger = Ledger(path, epsilon=1.0, delta=1e-6, subject="staff-2024")
    take(ledger, "count\x1b[2J", 0.5, 1e-7, group=("region\x1b", "north"))
    app = typer.Typer()
    app.add_typer(verb, name="ledger")
    command = typer.main.get_command(app)
    command.main(["ledger", "show", str(path), "--json"], standalone_mode=False)
    shown = json.loads(capsys.readouterr().out)
    assert shown["left"] == {"epsilon": 0.5, "delta": 9e-7, "note": ""}
    assert shown["subject"] == "staff-2024"
    assert shown["entries"][0]["group"] == ["region\x1b", "north"]
    command.main(["ledger", "show", str(path)], standalone_mode=False)
    text = " ".join(capsys.readouterr().out.split())
    assert "1 release in" in text
    assert ", about staff-2024" in text
    assert "\x1b" not in text
    assert "count\\x1b[2J" in text
    assert "region\\x1b = north" in text
    assert "Spent epsilon = 0.500000 of 1.000000, 0.500000 left." in text
    assert "by a factor of at most 1.65" in text
    with pytest.raises(InvalidInput, match="a file at"):
        command.main(["ledger", "show", str(path) + "x"], standalone_mode=False)
