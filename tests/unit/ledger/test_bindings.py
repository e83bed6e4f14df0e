"""A key of a ledger belongs to the data that it was released from."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.unit.ledger.writers import charge_all, open_and_charge

from confide import Lattice, Ledger
from confide.accounting import Spend
from confide.errors import ConfideWarning, InvalidInput, Mismatch
from confide.lattice import Categories
from confide.ledger import bindings, database
from confide.ledger.bindings import Bindings, Secret, content
from confide.releases import (
    Bernstein,
    Choice,
    GaussianProcess,
    Histogram,
    Holdout,
    KolmogorovSmirnov,
    Query,
    Release,
    Series,
)
from confide.sampling import Gaussian, Mollifier
from confide.sampling.mollifier import FiniteMollifier

UNIT = Lattice(low=0, high=1)
BOTH = {"x": UNIT, "y": UNIT}
MAY = np.random.default_rng(5).beta(2, 5, 300)
JUNE = np.random.default_rng(6).beta(5, 2, 300)
RECIPES: dict[str, Any] = {
    "count": Query("count", epsilon=0.5),
    **{what: Query(what, UNIT, epsilon=0.5) for what in ("sum", "mean", "variance")},
    "quantile": Query("quantile", UNIT, q=0.5, epsilon=0.5),
    "histogram": Histogram(UNIT, epsilon=0.5, cells=8),
    "joint": Histogram(BOTH, epsilon=0.5, cells=4),
    "series": Series(UNIT, epsilon=0.5, terms=4),
    "bernstein": Bernstein(UNIT, epsilon=0.5, degree=6),
    "gaussian-process": GaussianProcess(UNIT, epsilon=0.5, delta=1e-6),
    "kolmogorov-smirnov": KolmogorovSmirnov(UNIT, epsilon=0.5, size=20, points=8),
    "choice": Choice([Histogram(UNIT, epsilon=0.4, cells=c) for c in (4, 8)], epsilon=0.5),
    "joint choice": Choice([Histogram(BOTH, epsilon=0.4, cells=c) for c in (3, 4)], epsilon=0.5),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "staff.db", epsilon=2.0, delta=1e-5)


def values_of(recipe: Any, month: Any) -> Any:
    if getattr(recipe, "what", None) == "count":
        return month > 0.4
    lattice = getattr(recipe, "lattice", None) or getattr(recipe, "candidates", [recipe])[0].lattice
    if isinstance(lattice, dict):
        return {"x": month, "y": 1 - month**2}
    return month


def reordered(values: Any) -> Any:
    order = np.random.default_rng(1).permutation(300)
    if isinstance(values, dict):
        return {name: column[order] for name, column in values.items()}
    return values[order]


@pytest.mark.parametrize("name", RECIPES)
def test_june_is_not_answered_with_may(name: str, ledger: Ledger) -> None:
    recipe = RECIPES[name]
    may, june = values_of(recipe, MAY), values_of(recipe, JUNE)
    first = recipe.release(may, ledger, "mean")
    with pytest.raises(Mismatch, match=r"data that the key 'mean' was released from, got other"):
        recipe.release(june, ledger, "mean")
    # Saved again, or in another order, it is a retry: the same release, at no cost.
    for same in (may, reordered(may)):
        assert recipe.release(same, ledger, "mean").to_dict() == first.to_dict()
    assert ledger.spent.epsilon == 0.5
    assert recipe.release(june, ledger, "june").spend == first.spend
    assert ledger.spent.epsilon == 1.0


def test_columns_that_go_together_otherwise_are_other_data(ledger: Ledger) -> None:
    recipe = RECIPES["joint"]
    recipe.release({"x": MAY, "y": JUNE}, ledger, "both")
    with pytest.raises(Mismatch, match="other data"):
        recipe.release({"x": MAY, "y": JUNE[::-1]}, ledger, "both")


def test_values_that_move_within_their_cells_are_the_same_data(ledger: Ledger) -> None:
    recipe = Histogram(UNIT, epsilon=0.5, cells=4)
    first = recipe.release([0.1, 0.3, 0.9], ledger, "a")
    again = recipe.release([0.8, 0.26, 0.0], ledger, "a")
    assert again.noisy == first.noisy
    with pytest.raises(Mismatch, match="other data"):
        recipe.release([0.8, 0.24, 0.0], ledger, "a")


def test_a_choice_is_bound_to_what_every_candidate_sees(ledger: Ledger) -> None:
    recipe = RECIPES["choice"]
    recipe.release([0.1, 0.3, 0.9], ledger, "a")
    # The same cells of the first candidate, and others of the second.
    with pytest.raises(Mismatch, match="other data"):
        recipe.release([0.2, 0.3, 0.9], ledger, "a")


SAMPLERS: dict[str, tuple[Any, Any, Any]] = {
    "finite": (
        FiniteMollifier({"said": Categories(("no", "yes"))}, epsilon=0.5),
        {"said": ["no", "yes", "yes"]},
        {"said": ["yes", "no", "no"]},
    ),
    "mollifier": (
        Mollifier(reference=Gaussian(dim=2), epsilon=0.5),
        np.stack([MAY, JUNE], axis=1),
        np.stack([MAY, JUNE[::-1]], axis=1),
    ),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples_are_of_the_records_they_were_drawn_for(name: str, ledger: Ledger) -> None:
    sampler, may, june = SAMPLERS[name]
    first = sampler.privatize(may, ledger=ledger, key="branch")
    with pytest.raises(Mismatch, match="other data"):
        sampler.privatize(june, ledger=ledger, key="branch")
    turned = {"said": may["said"][::-1]} if isinstance(may, dict) else may[::-1]
    again = sampler.privatize(turned, ledger=ledger, key="branch")
    assert (again.numbers == first.numbers).all()
    assert ledger.spent.epsilon == 0.5


def test_a_holdout_has_its_own_key(ledger: Ledger) -> None:
    def asked(fresh: Any) -> None:
        train = np.zeros(len(fresh))
        shown = Holdout(train, fresh, epsilon=0.5, overfits=4, ledger=ledger, key="h", threshold=1)
        shown.ask(lambda x: np.full(len(x), 0.5))

    asked(MAY)
    with pytest.raises(Mismatch, match="key 'h/1' was released from, got other data"):
        asked(JUNE)
    asked(MAY[::-1])  # the same records, so the next round
    assert [entry.key for entry in ledger.entries()] == ["h/1", "h/2"]
    # Records of objects have no bytes to know them by, which is said.
    with pytest.warns(ConfideWarning, match="unchecked, and may be about other data: no data"):
        asked(MAY.astype(object))


def test_what_cannot_be_checked_is_said_and_returned(ledger: Ledger) -> None:
    spec, cost = {"kind": "count"}, Spend(0.1)

    def ask(key: str, data: bytes | None) -> Any:
        return ledger.charge(key, spec, cost, lambda: [key], data=data)

    ask("bound", b"may")
    ask("loose", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask("bound", b"may") == ["bound"]
    for key, data, reason in (
        ("loose", b"may", "it was stored without a digest of its data"),
        ("loose", None, "it was stored without a digest of its data"),
        ("bound", None, "no data were given"),
    ):
        with pytest.warns(ConfideWarning) as told:
            assert ask(key, data) == [key]
        assert str(told[0].message) == (
            f"The stored release of the key {key!r} is returned unchecked, and may be about other "
            f"data: {reason}."
        )
        assert told[0].filename == __file__
    assert [entry.bound for entry in ledger.entries()] == [True, False]
    for odd in ("text", [1], np.zeros(3), bytearray(b"may")):
        with pytest.raises(InvalidInput, match="data as bytes, got a"):
            ask("odd", odd)  # type: ignore[arg-type]


def test_a_lost_secret_is_said_and_replaced(ledger: Ledger) -> None:
    secret = ledger.path.with_name("staff.db.secret")
    spec, cost = {"kind": "count"}, Spend(0.1)

    def ask(key: str, data: bytes) -> Any:
        return ledger.charge(key, spec, cost, lambda: [key, data.decode()], data=data)

    ask("old", b"may")
    first = secret.read_bytes()
    secret.unlink()
    with pytest.warns(ConfideWarning, match=r"data: the secret file '.*' is missing\.$"):
        assert ask("old", b"june") == ["old", "may"]
    assert not secret.exists()  # a retry makes none: that would hide the loss
    assert [entry.bound for entry in ledger.entries()] == [False]
    lost = r"'.*staff.db.secret' was made anew or is another one: a retry of 1 earlier release is"
    with pytest.warns(ConfideWarning, match=lost) as told:
        ask("new", b"may")
    assert told[0].filename == __file__
    assert secret.read_bytes() != first
    assert [entry.bound for entry in ledger.entries()] == [False, True]
    # It is said once.
    ask("newer", b"may")
    # What the new secret made is checked, what the old one made is known to be unchecked.
    with pytest.raises(Mismatch, match="other data"):
        ask("new", b"june")
    with pytest.warns(ConfideWarning, match=r"is another one than then\.$"):
        assert ask("old", b"june") == ["old", "may"]
    # Put back, it checks again.
    secret.write_bytes(first)
    assert [entry.bound for entry in ledger.entries()] == [True, False, False]
    assert ledger.entry("old").bound
    assert not ledger.entry("new").bound
    with pytest.raises(Mismatch, match="other data"):
        ask("old", b"june")
    with pytest.warns(ConfideWarning, match=r"is another one than then\.$"):
        ask("new", b"may")


@pytest.mark.parametrize(
    "text", ["", "confide-secret-1 ", "confide-secret-1 00\n", "x " + "0" * 64, "\udcff" * 80]
)
def test_a_damaged_secret_charges_nothing(text: str, ledger: Ledger) -> None:
    spec, secret = {"kind": "count"}, ledger.path.with_name("staff.db.secret")
    ledger.charge("old", spec, Spend(0.1), lambda: "old", data=b"may")
    secret.write_bytes(text.encode(errors="surrogateescape"))
    drawn: list[int] = []
    with pytest.raises(InvalidInput, match=r"a secret file at .* a damaged one\. Nothing was char"):
        ledger.charge("new", spec, Spend(0.1), lambda: drawn.append(1), data=b"may")
    assert (drawn, ledger.spent.epsilon) == ([], 0.1)
    with pytest.warns(ConfideWarning, match=r"cannot be used\.$"):
        assert ledger.charge("old", spec, Spend(0.1), lambda: "x", data=b"june") == "old"
    secret.unlink()
    secret.mkdir()
    with pytest.raises(InvalidInput, match="a secret file at"):
        ledger.charge("new", spec, Spend(0.1), lambda: drawn.append(1), data=b"may")


def test_a_secret_that_cannot_be_made_charges_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    drawn: list[int] = []
    with pytest.raises(InvalidInput, match=r"got none, and none can be made\. Nothing was charged"):
        ledger.charge("a", {}, Spend(0.1), lambda: drawn.append(1), data=b"may")
    assert (drawn, ledger.entries()) == ([], ())


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_can_read_the_secret(ledger: Ledger) -> None:
    before = os.umask(0)
    try:
        ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"may")
    finally:
        os.umask(before)
    secret = ledger.path.with_name("staff.db.secret")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert {file.name for file in ledger.path.parent.iterdir()} == {"staff.db", "staff.db.secret"}


def charges_nothing(ledger: Ledger, got: str) -> None:
    """New charges are refused in one sentence, and a retry is returned with a warning."""
    drawn: list[int] = []
    with pytest.raises(InvalidInput, match=rf"a secret file at .* got {got}\. Nothing was charged"):
        ledger.charge("new", {}, Spend(0.1), lambda: drawn.append(1), data=b"may")
    assert drawn == []
    assert [entry.bound for entry in ledger.entries()] == [False] * len(ledger.entries())


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_secret_that_others_can_use_charges_nothing(mode: int, ledger: Ledger) -> None:
    ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"may")
    secret = ledger.path.with_name("staff.db.secret")
    secret.chmod(mode)
    charges_nothing(ledger, "one that others can use")
    with pytest.warns(ConfideWarning, match=r"staff.db.secret' cannot be used\.$"):
        assert ledger.charge("a", {}, Spend(0.1), lambda: 2, data=b"june") == 1
    secret.chmod(0o600)
    with pytest.raises(Mismatch, match="other data"):
        ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"june")


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="takes root")
@pytest.mark.parametrize("link", [False, True])
def test_a_secret_of_somebody_else_charges_nothing(link: bool, ledger: Ledger) -> None:
    secret = ledger.path.with_name("staff.db.secret")
    planted = secret.with_name("planted") if link else secret
    planted.write_text("confide-secret-1 " + "00" * 32 + "\n")
    planted.chmod(0o600)
    os.chown(planted, 65534, 65534)
    if link:
        secret.symlink_to(planted)
    charges_nothing(ledger, "one of somebody else")
    # Whoever has the ledger may have its secret too: root may work for them.
    os.chown(ledger.path, 65534, 65534)
    ledger.charge("new", {}, Spend(0.1), lambda: 1, data=b"may")


def test_a_secret_that_is_no_file_is_left_alone(ledger: Ledger) -> None:
    secret = ledger.path.with_name("staff.db.secret")
    secret.symlink_to("nowhere")
    charges_nothing(ledger, "a link that leads nowhere")
    assert os.readlink(secret) == "nowhere"
    if hasattr(os, "mkfifo"):
        secret.unlink()
        os.mkfifo(secret)
        charges_nothing(ledger, "something that is no file")


def digests(path: Path) -> list[tuple[bytes, bytes]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT secret, digest FROM data ORDER BY number").fetchall()
    connection.close()
    return rows


def test_the_digest_is_told_nowhere(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("typer")
    from confide.cli.app import run

    recipe = Query("mean", UNIT, epsilon=0.5)
    release = recipe.release(MAY, ledger, "mean")
    ((known, digest),) = digests(ledger.path)
    secret = ledger.path.with_name("staff.db.secret").read_text().split()[1]
    for verb in (["show"], ["show", "--json"], ["get", "mean"], ["get", "mean", "--json"]):
        assert run(["ledger", verb[0], str(ledger.path), *verb[1:]]) == 0
    (entry,) = ledger.entries()
    told = [capsys.readouterr().out, repr(entry), repr(ledger), json.dumps(release.to_dict())]
    try:
        recipe.release(JUNE, ledger, "mean")
    except Mismatch as error:
        told.append(str(error))
    told.append(repr(Secret(bytes.fromhex(secret))))
    # Nor does the ledger hold the secret or the data, in whatever form.
    for private in (bytes.fromhex(secret), content(recipe.index(MAY))):
        assert private not in ledger.path.read_bytes()
        assert private.hex().encode() not in ledger.path.read_bytes().lower()
    for private in (digest, known, bytes.fromhex(secret), content(recipe.index(MAY))):
        for text in told:
            assert private.hex() not in text
            assert repr(private)[2:-1] not in text


def test_without_the_secret_a_copy_of_the_ledger_says_nothing(tmp_path: Path) -> None:
    # The same data under two keys and in two ledgers: four digests with nothing in common.
    found = []
    for name in ("a.db", "b.db"):
        ledger = Ledger(tmp_path / name, epsilon=1.0)
        for key in ("one", "two"):
            ledger.charge(key, {}, Spend(0.1), lambda: 1, data=b"may")
        found += [digest for _, digest in digests(ledger.path)]
    assert len(set(found)) == 4
    assert all(len(digest) == 32 for digest in found)
    # A key and its data cannot run into each other.
    secret = Secret(bytes(32))
    assert secret.digest("ab", b"c") != secret.digest("a", b"bc")


def test_a_planted_digest_is_a_damaged_ledger(ledger: Ledger) -> None:
    ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"may")
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA ignore_check_constraints = 1")
    connection.execute("UPDATE data SET digest = 'text'")
    connection.commit()
    connection.close()
    with pytest.raises(InvalidInput, match="an intact ledger"):
        Ledger(ledger.path)
    with pytest.raises(Mismatch, match="other data"):
        ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"may")


def test_processes_that_start_at_once_agree_on_one_secret(ledger: Ledger) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=charge_all, args=(ledger.path, at)) for at in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    found = digests(ledger.path)
    assert len(found) == 20
    assert len({known for known, _ in found}) == 1
    for entry in ledger.entries():
        assert ledger.charge(entry.key, {}, Spend(0.01), lambda: 2, data=b"may") == 1


KILLED = """
import os, sys
from pathlib import Path
from confide.accounting import Spend
from confide import _secrets
from confide.ledger import Ledger
path, step = Path(sys.argv[1]), sys.argv[2]
def die(*_): os._exit(9)
if step == "synced": os.fsync = die
if step == "renamed": os.rename = die
if step == "settled": _secrets.settle = die
Ledger(path).charge("a", {}, Spend(0.1), lambda: die() if step == "drawn" else 1, data=b"may")
"""


@pytest.mark.parametrize("step", ["synced", "renamed", "settled", "drawn"])
def test_a_kill_leaves_no_half_of_a_secret(step: str, ledger: Ledger) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(ledger.path), step], check=False)
    assert done.returncode == 9
    assert ledger.entries() == ()
    ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"may")
    with pytest.raises(Mismatch, match="other data"):
        ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"june")
    assert {file.name for file in ledger.path.parent.iterdir()} == {"staff.db", "staff.db.secret"}


OLD = Path(__file__).parent / "ledger-version-2.db"
SPEC = {"kind": "count"}


def test_a_ledger_of_version_2_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)
    ledger = Ledger(path, epsilon=1.0, delta=1e-6, subject="staff")
    assert [entry.key for entry in ledger.entries()] == ["all", "north", "pay"]
    assert [entry.bound for entry in ledger.entries()] == [False] * 3
    assert ledger.entries()[1].group == ("region", "north")
    assert ledger.spent == Spend(0.75, 1e-7)
    with pytest.warns(ConfideWarning, match="stored without a digest of its data"):
        assert ledger.charge("all", SPEC, Spend(0.25), lambda: 1, data=b"x") == {"answer": 5}
    mean = Query("mean", UNIT, epsilon=0.25)
    with pytest.warns(ConfideWarning, match="unchecked"):
        stored = mean.release([0.25, 0.5, 0.75], ledger, "pay")
    assert stored.to_dict() == Release.from_dict(ledger.entry("pay").release).to_dict()
    ledger.charge("new", SPEC, Spend(0.25), lambda: 1, data=b"x")
    with pytest.raises(Mismatch, match="other data"):
        ledger.charge("new", SPEC, Spend(0.25), lambda: 1, data=b"y")
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchall() == [(3,)]
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
    connection.close()
    assert Ledger(path).left == Spend(0.0, 9e-7)


def test_a_read_only_ledger_of_version_2_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InvalidInput, match=r"version 2 in a place that is read-only\. Open it"):
        Ledger(path)
    assert path.read_bytes() == OLD.read_bytes()


def test_a_planted_version_2_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE more (x)")
    connection.commit()
    connection.close()
    with pytest.raises(InvalidInput, match="nothing but the tables of a ledger"):
        Ledger(path)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchall() == [(2,)]
    connection.close()


def test_a_ledger_is_brought_up_to_date_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)
    real, faster = database.File._held, []

    def held(file: database.File, *, shared: bool) -> Any:
        # Somebody else does it between the look at the file and the lock.
        if not faster:
            faster.append(1)
            faster.append(Ledger(path))
        return real(file, shared=shared)

    monkeypatch.setattr(database.File, "_held", held)
    assert len(Ledger(path).entries()) == 3
    assert len(faster) == 2


def hot_journal(before: bytes) -> bytes:
    """A journal that undoes whatever was done to a file, as SQLite writes it."""
    size = int.from_bytes(before[16:18]) or 1
    size = 2**16 if size == 1 else size
    pages = [before[at : at + size] for at in range(0, len(before), size)]
    numbers = (len(pages), 7, len(pages), 512, size)
    head = bytes.fromhex("d9d505f920a163d7") + b"".join(n.to_bytes(4) for n in numbers)
    found = head.ljust(512, b"\0")
    for at, page in enumerate(pages, start=1):
        check = 7 + sum(page[x] for x in range(size - 200, 0, -200))
        found += at.to_bytes(4) + page + check.to_bytes(4)
    return found


def test_a_kill_while_a_ledger_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    before = path.read_bytes()
    Ledger(path)
    # All pages are written, the journal that undoes them is still there.
    path.with_name("ledger.db-journal").write_bytes(hot_journal(before))
    assert len(Ledger(path).entries()) == 3
    # The same with a ledger that needs nothing.
    now = path.read_bytes()
    Ledger(path).charge("more", SPEC, Spend(0.05), lambda: 1, data=b"x")
    path.with_name("ledger.db-journal").write_bytes(hot_journal(now))
    assert len(Ledger(path).entries()) == 3


def test_processes_that_bring_one_ledger_up_to_date_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=open_and_charge, args=(path, at)) for at in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert Ledger(path).spent == Spend(0.95, 1e-7)


def shuffled(table: Any, seed: int) -> Any:
    return table[np.random.default_rng(seed).permutation(len(table))]


ROWS = st.sampled_from([np.int64, np.int8, np.uint64, np.float64, np.bool_]).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4))
)


@settings(deadline=None, max_examples=300)
@given(ROWS, ROWS, st.integers(0, 9))
def test_the_content_is_the_multiset_of_rows(one: Any, two: Any, seed: int) -> None:
    def rows(table: Any) -> Any:
        # The oracle: Python's numbers, for which 1 == 1.0 == True and -0.0 == 0.0.
        return sorted(table.reshape(len(table), -1).tolist())

    def known(table: Any) -> bool:
        # Beyond 2**53 a float is not taken for the integer that it equals.
        return table.dtype.kind != "f" or bool((np.abs(table) <= 2.0**53).all())

    assert content(shuffled(one, seed)) == content(one)
    if known(one) and known(two):
        assert (content(one) == content(two)) == (rows(one) == rows(two))


@settings(deadline=None, max_examples=100)
@given(
    arrays.arrays(
        np.int64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=st.integers(-5, 5)
    )
)
def test_counting_and_sorting_agree(table: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bindings, "CHUNK", 4)
        whole = content(table)
        patch.setattr(bindings, "DENSE", 0)
        assert content(table) == whole
    assert content(table) == whole


def test_the_content_of_other_things() -> None:
    words = np.array(["b", "a", "c"])
    assert content(words) == content(words[::-1]) != content(np.array(["b", "a", "a"]))
    dates = np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]")
    assert content(dates) == content(dates[::-1]) != content(dates[:1])
    wide = np.arange(300 * 40).reshape(300, 40) * 2**50
    assert content(wide) == content(shuffled(wide, 1)) != content(wide[:, ::-1])
    nan = np.array([np.nan, 1.5])
    assert content(nan) == content(-nan[::-1] * np.array([-1, 1])) != content(nan[1:])
    assert content(np.array([[-0.0, 1.5]])) == content(np.array([[0.0, 1.5]]))
    # The same bytes in another shape or of another type are other data.
    assert content(np.array([[1.5], [2.5]])) != content(np.array([[1.5, 2.5]]))
    assert content(np.array([1.5])) != content(np.array([1.5]).view("datetime64[s]"))
    # Two tables are not one.
    assert content(words, words) != content(words) != content()
    few = np.array([1, 2])
    assert content(few, few) != content(np.array([1, 2, 1, 2]))


def test_the_secret_file_of_a_ledger_is_beside_it(tmp_path: Path) -> None:
    assert Bindings.of(tmp_path / "a.db").path == tmp_path / "a.db.secret"
    assert "key" not in repr(Secret(b"k" * 32))
