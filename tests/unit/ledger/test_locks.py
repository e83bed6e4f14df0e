"""One ledger file that is reached by several paths, and what its locks and its disk promise."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from confide import Ledger, _secrets
from confide.accounting import Spend
from confide.errors import InvalidInput
from confide.ledger import locks

OLD = Path(__file__).parent / "ledger-version-2.db"
CHARGE = """
    import sys
    from confide import Ledger
    from confide.ledger import locks
    from confide.accounting import Spend
    from confide.errors import InvalidInput
    path, key, *switches = sys.argv[1:]
    if "blind" in switches:
        locks.mounted = lambda path: False
    if "beside" in switches:
        locks.INSIDE = False
    try:
        ledger = Ledger(path, timeout=1.0)
        print(ledger.charge(key, {}, Spend(0.9), lambda: key, data=b"x"))
        print([entry.key for entry in ledger.entries()])
    except InvalidInput as error:
        print(type(error).__name__, error)
"""
"""What another process says when it charges 0.9 for a key."""


def charge(path: Path, key: str, *switches: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(CHARGE), str(path), key, *switches]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def within(source: Path, target: Path, command: list[str]) -> str:
    """Run a command where, as in a container, one path shows what is at another."""
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    call = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, source, target, *command]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def contained(source: Path, target: Path, path: Path, key: str, *switches: str) -> str:
    code = textwrap.dedent(CHARGE)
    return within(source, target, [sys.executable, "-c", code, str(path), key, *switches])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A folder with a ledger, and another one with an empty file to mount it over."""
    for name in ("host", "container"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ledger.db").touch()
    host, container = tmp_path / "host", tmp_path / "container"
    try:
        within(host / "ledger.db", container / "ledger.db", ["true"])
    except (OSError, subprocess.CalledProcessError) as error:
        told = getattr(error, "stderr", None) or str(error)
        pytest.skip(f"nothing can be mounted here: {told.strip()}")
    (host / "ledger.db").unlink()
    return host, container


def test_a_ledger_that_is_mounted_alone_is_refused(folders: tuple[Path, Path]) -> None:
    host, container = (folder / "ledger.db" for folder in folders)
    ledger = Ledger(host, epsilon=1.0)
    said: list[str] = []

    def make() -> str:
        said.append(contained(host, container, container, "B"))
        return "A"

    assert ledger.charge("A", {}, Spend(0.9), make, data=b"x") == "A"
    said.append(contained(host, container, container, "B"))
    for told in said:
        assert told.startswith("InvalidInput Expected a ledger in a folder that is mounted")
        assert told.endswith("mount the folder.\n")
    assert [entry.key for entry in ledger.entries()] == ["A"]
    assert sorted(file.name for file in folders[1].iterdir()) == ["ledger.db"]
    # Nor can it be looked at: what its own folder holds beside it would not be seen.
    show = [sys.executable, "-m", "confide", "ledger", "show", str(container), "--json"]
    with pytest.raises(subprocess.CalledProcessError) as caught:
        within(host, container, show)
    assert (caught.value.returncode, caught.value.stdout) == (2, "")
    assert "mounted alone" in caught.value.stderr
    # A link leads to the same file.
    link = folders[1] / "link.db"
    link.symlink_to(container)
    assert "mounted alone" in contained(host, container, link, "B")


def test_a_folder_that_is_mounted_shares_its_ledger(folders: tuple[Path, Path]) -> None:
    host, container = folders
    ledger = Ledger(host / "ledger.db", epsilon=2.0)
    ledger.charge("A", {}, Spend(0.9), lambda: "A", data=b"x")
    told = contained(host, container, container / "ledger.db", "B")
    assert told.splitlines() == ["B", "['A', 'B']"]
    # The secret comes along, so that data are checked there too.
    assert contained(host, container, container / "ledger.db", "A").splitlines()[0] == "A"
    assert [entry.key for entry in ledger.entries()] == ["A", "B"]
    assert "what is left of the budget (epsilon=0.2)" in contained(
        host, container, container / "ledger.db", "C"
    )


def test_the_lock_is_on_the_file_itself(folders: tuple[Path, Path]) -> None:
    # As if nobody noticed the mount: the budget holds all the same.
    host, container = (folder / "ledger.db" for folder in folders)
    ledger = Ledger(host, epsilon=1.0)
    said: list[str] = []

    def make() -> str:
        # Closing the file drops the locks of SQLite, which belong to the process.
        host.read_bytes()
        said.append(contained(host, container, container, "B", "blind"))
        return "A"

    assert ledger.charge("A", {}, Spend(0.9), make, data=b"x") == "A"
    assert "to be free within 1 seconds" in said[0]
    told = contained(host, container, container, "B", "blind")
    assert told.startswith("BudgetExhausted Expected a spend within what is left of the budget")
    assert [entry.key for entry in ledger.entries()] == ["A"]


CUT = """
    import os, sys
    from confide import Ledger
    from confide.ledger import locks
    from confide.accounting import Spend
    path, *switches = sys.argv[1:]
    if "blind" in switches:
        locks.mounted = lambda path: False
    store = Ledger._store
    def cut(*arguments):
        # So large that SQLite has to write to the file, and its journal, before the commit.
        store(*arguments)
        os._exit(9)
    Ledger._store = cut
    Ledger(path).charge("cut", {}, Spend(0.1), lambda: "x" * 20_000_000, data=b"x")
"""
"""Another process that is killed in the middle of a charge, when the file is half written."""


def cut(path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(CUT), str(path)]
    assert subprocess.run(command, check=False).returncode == 9
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0


@pytest.fixture
def marks(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    locks.mark(file)
    try:
        os.getxattr(file, locks.MARK)
    except (OSError, AttributeError):
        pytest.skip("files have no attributes here")


@pytest.mark.usefixtures("marks")
def test_a_ledger_is_not_used_without_the_journal_of_a_charge_that_was_cut_short(
    tmp_path: Path,
) -> None:
    path, moved = tmp_path / "ledger.db", tmp_path / "moved.db"
    Ledger(path, epsilon=1.0).charge("first", {}, Spend(0.1), lambda: 1, data=b"x")
    cut(path)
    path.rename(moved)
    with pytest.raises(
        InvalidInput, match=r"one whose use at '.*/ledger\.db' was cut short\. Open"
    ):
        Ledger(moved)
    moved.rename(path)
    # Whoever opens it by its own path puts it in order, and then it may go anywhere.
    assert [entry.key for entry in Ledger(path).entries()] == ["first"]
    path.rename(moved)
    assert Ledger(moved).spent == Spend(0.1)
    # The two of them together may be moved at once.
    cut(moved)
    moved.rename(path)
    (tmp_path / "moved.db-journal").rename(tmp_path / "ledger.db-journal")
    assert [entry.key for entry in Ledger(path).entries()] == ["first"]
    # A kill before anything was written is no obstacle in its own place, nor a folder that moves,
    # nor one that has another number when it is mounted again.
    locks.mark(path)
    assert Ledger(path).spent == Spend(0.1)
    os.setxattr(path, locks.MARK, os.fsencode(f"0:0:ledger.db\n{path}"))
    assert Ledger(path).spent == Spend(0.1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path.rename(elsewhere / "ledger.db")
    locks.mark(elsewhere / "ledger.db")
    elsewhere.rename(tmp_path / "again")
    assert Ledger(tmp_path / "again" / "ledger.db").spent == Spend(0.1)
    with pytest.raises(OSError, match="No data available"):
        os.getxattr(tmp_path / "again" / "ledger.db", locks.MARK)


@pytest.mark.usefixtures("marks")
def test_a_journal_that_stays_keeps_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path, epsilon=1.0)
    locks.mark(path)
    (tmp_path / "ledger.db-journal").mkdir()  # which SQLite can neither use nor remove
    with pytest.raises(InvalidInput):
        Ledger(path)
    assert os.getxattr(path, locks.MARK)
    (tmp_path / "ledger.db-journal").rmdir()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(InvalidInput, match="was cut short"):
        Ledger(tmp_path / "moved.db")


@pytest.mark.usefixtures("marks")
def test_what_was_cut_short_in_another_folder_is_left_alone(folders: tuple[Path, Path]) -> None:
    # As if nobody noticed the mount.
    host, container = (folder / "ledger.db" for folder in folders)
    ledger = Ledger(host, epsilon=2.0)
    ledger.charge("A", {}, Spend(0.5), lambda: "A", data=b"x")
    code = [sys.executable, "-c", textwrap.dedent(CUT), str(container), "blind"]
    with pytest.raises(subprocess.CalledProcessError) as caught:
        within(host, container, code)
    assert caught.value.returncode == 9
    assert container.with_name("ledger.db-journal").stat().st_size > 0
    for use in (lambda: Ledger(host), lambda: ledger.left):
        with pytest.raises(InvalidInput, match=r"at '.*/container/ledger\.db' was cut short"):
            use()
    told = contained(host, container, container, "B", "blind")
    assert told.splitlines() == ["B", "['A', 'B']"]
    assert ledger.spent == Spend(1.4)


def test_mounts_are_told_by_their_number_or_by_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert not locks.mounted(file)
    numbers = {file: 7, tmp_path: 8}
    monkeypatch.setattr(locks, "_mount", numbers.__getitem__)
    assert locks.mounted(file)

    def unknown(path: Path) -> int:
        raise FileNotFoundError(path)

    monkeypatch.setattr(locks, "_mount", unknown)
    assert not locks.mounted(file)
    here = os.stat(file)
    other = os.stat_result([here.st_mode, here.st_ino, here.st_dev + 1, *here[3:]])
    real = Path.stat
    monkeypatch.setattr(
        Path, "stat", lambda self, **more: other if self == file else real(self, **more)
    )
    assert locks.mounted(file)


@pytest.mark.parametrize("switch", ["inside", "beside"])
def test_writers_wait_for_each_other(
    switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if switch == "inside" and not locks.INSIDE:
        pytest.skip("no locks of open files here")
    monkeypatch.setattr(locks, "INSIDE", switch == "inside")
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, epsilon=1.0)
    said: list[str] = []

    def make() -> str:
        for file in list(tmp_path.iterdir()):
            file.read_bytes()
        said.append(charge(path, "B", switch))
        return "A"

    assert ledger.charge("A", {}, Spend(0.9), make, data=b"x") == "A"
    assert "to be free within 1 seconds" in said[0]
    assert charge(path, "B", switch).startswith("BudgetExhausted")
    names = {"ledger.db", "ledger.db.secret", *(["ledger.db.lock"] if switch == "beside" else [])}
    assert {file.name for file in tmp_path.iterdir()} == names


def test_a_file_that_is_replaced_while_it_is_locked_is_locked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    for file in (path, other):
        file.touch()
    real, opened = locks._opened, []

    def attempt(name: Path, *, shared: bool) -> int | None:
        opened.append(real(name if opened else other, shared=shared))
        return opened[-1]

    monkeypatch.setattr(locks, "_opened", attempt)
    if not locks.INSIDE:
        pytest.skip("no locks of open files here")
    with locks.inside(path, time.monotonic() + 10, shared=False) as held:
        assert held
        assert len(opened) == 2
        assert real(path, shared=True) is None
        os.close(real(other, shared=False) or -1)
    # The same for the file beside it, which may be removed.
    lock = tmp_path / "file.lock"
    made = locks._made

    def removed(name: Path) -> int | None:
        handle = made(name)
        if not gone:
            gone.append(name.unlink())
        return handle

    gone: list[None] = []
    monkeypatch.setattr(locks, "_made", removed)
    with locks.beside(path, time.monotonic() + 10) as found:
        assert found == lock
        assert made(lock) is None


def test_names_that_are_no_text_can_be_marked(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"ledger-\xff.db")
    ledger = Ledger(path, epsilon=1.0)
    ledger.charge("A", {}, Spend(0.9), lambda: 1, data=b"x")
    assert Ledger(path).spent == Spend(0.9)


def test_a_system_without_such_locks_takes_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not locks.INSIDE:
        pytest.skip("no locks of open files here")

    def unknown(*_: Any) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(locks, "_set", unknown)
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    ledger.charge("A", {}, Spend(0.9), lambda: 1, data=b"x")
    assert (tmp_path / "ledger.db.lock").exists()
    assert ledger.spent == Spend(0.9)


def test_readers_wait_for_a_writer_and_not_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, epsilon=1.0)
    seen: list[Any] = []

    def make() -> int:
        # Whoever holds the lock may look; others wait, and see what was charged.
        seen.append(Ledger(path).spent)
        threads.append(threading.Thread(target=lambda: seen.append(Ledger(path).spent)))
        threads[0].start()
        time.sleep(0.05)
        return 1

    threads: list[threading.Thread] = []
    ledger.charge("A", {}, Spend(0.5), make)
    threads[0].join()
    assert seen[0] == Spend(0.0)
    if locks.INSIDE:
        assert seen[1] == Spend(0.5)
    with ledger._file.reading(), ledger._file.reading():
        assert ledger.spent == Spend(0.5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, epsilon=1.0)
    children: list[int] = []

    def make() -> str:
        child = os.fork()
        if not child:
            time.sleep(600)
            os._exit(0)
        children.append(child)
        return "A"

    try:
        ledger.charge("A", {}, Spend(0.1), make, data=b"x")
        assert charge(path, "B").splitlines()[0] == "B"
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def test_a_write_ahead_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, epsilon=1.0)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    for use in (lambda: Ledger(path), lambda: ledger.spent):
        with pytest.raises(InvalidInput, match="got one in write-ahead mode"):
            use()


class Watched(sqlite3.Connection):
    """Tells, at every statement, how this connection writes to the disk."""

    seen: list[tuple[str, str, int]]

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if not statement.startswith("PRAGMA synchronous"):
            ((mode,),) = super().execute("PRAGMA journal_mode")
            ((level,),) = super().execute("PRAGMA synchronous")
            self.seen.append((statement.split(maxsplit=1)[0], mode, level))
        return super().execute(statement, *values)


def test_every_connection_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a rollback journal, only level 3 (EXTRA) waits until the folder has forgotten the
    # journal, which is what commits; with less, a power cut could undo a charge.
    Watched.seen = []
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))

    def statements() -> list[str]:
        seen = list(Watched.seen)
        Watched.seen.clear()
        assert {(mode, level) for _, mode, level in seen} == {("delete", 3)}
        return [statement for statement, _, _ in seen]

    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    assert statements().count("COMMIT") == 2  # made, and looked at
    ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"x")
    written = statements()
    assert written.count("INSERT") == 2
    assert written[-1] == "COMMIT"
    ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"x")
    assert statements()[-1] == "COMMIT"
    for look in (lambda: ledger.spent, lambda: ledger.left, ledger.entries):
        look()
        assert "SELECT" in statements()
    ledger.entry("a")
    assert "SELECT" in statements()
    old = tmp_path / "old.db"
    shutil.copy(OLD, old)
    Ledger(old)
    # Before it is brought up to date it has a write-ahead log, for which 3 is as good as 2.
    seen, Watched.seen = Watched.seen, []
    assert {level for _, _, level in seen} == {3}
    first = [statement for statement, mode, _ in seen if mode == "delete"]
    assert first[:2] == ["BEGIN", "PRAGMA"]
    assert "CREATE" in first


def test_a_new_ledger_is_in_its_folder_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[set[str]] = []
    real = _secrets.settle

    def watched(folder: Path) -> None:
        settled.append({file.name for file in folder.iterdir()})
        real(folder)

    monkeypatch.setattr(_secrets, "settle", watched)
    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    assert "ledger.db" in settled[0]
    ledger.charge("a", {}, Spend(0.1), lambda: 1, data=b"x")
    assert "ledger.db.secret" in settled[1]
    assert json.loads(ledger.entries()[0].text) == 1


@pytest.mark.skipif(os.name != "posix", reason="folders are synced on POSIX")
def test_the_disk_has_the_secret_before_its_name_and_then_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def renamed(*names: Any) -> None:
        done.append("renamed")
        rename(*names)

    ledger = Ledger(tmp_path / "ledger.db", epsilon=1.0)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    ledger.charge("a", {}, Spend(0.1), lambda: done.append("drawn"), data=b"x")
    assert done == ["file", "renamed", "folder", "drawn"]
