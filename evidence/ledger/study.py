"""Two writers on one ledger, killed at random moments: what was seen outside is charged for.

python -m evidence ledger [--kills 200] [--thin]    (mounts: needs to be root or user namespaces)

A trial is one ledger with room for 40 of 60 keys and two processes that charge for the keys in
random order, over and over. Each writes what it gets to a log of its own, and a release counts as
seen once that line is on disk. SIGKILL hits them at random moments and others take their place; at
the end two more run in peace. The checker trusts the logs alone:

- doubled: a key with two different releases;
- uncharged: a release that the ledger does not hold under its key;
- over the cap: more releases seen, or more epsilon charged, than the budget allows.

In the cases with two folders the second writer reaches the file through a folder of its own, as in
a container into which the file alone was mounted. There a ledger refuses to work. If nobody noticed
the mount, the lock on the file itself would still keep two writers apart, and a mark on it would
keep one away from what another, killed in its folder, has not finished. A ledger that can no longer
be opened counts as damaged.

The mutants are broken on purpose, each in one way, and the same checker must catch each of them.
SIGKILL does not test a power cut: for that we rely on SQLite's own tests.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import random
import secrets
import signal
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from confide.accounting import Spend
from confide.errors import BudgetExhausted, ConfideWarning, InvalidInput
from confide.ledger import database, locks
from confide.ledger.budget import Ledger

ROOT = Path(__file__).resolve().parents[2]
KEYS = 60
ROOM = 40
SPEND = Spend(0.1)
BUDGET = Spend(4.0)
KILLS_A_TRIAL = 4
SOON = 0.12
"""Seconds within which a kill comes, about as long as ten charges take."""
AT_WORK = 0.75
"""Share of the kills that wait until their victim has begun."""
PAUSE = 0.008
"""Seconds that a draw takes, at most, so that many kills fall inside a charge."""
MUTANTS = ("release before commit", "no memo", "no lock")
FOLDERS = "two folders"
"""The second writer has the file in another folder, and is refused there."""
UNSEEN = "two folders, mount unseen"
"""The same, as if nobody could tell: only the lock and the mark on the file are left."""
UNMARKED = "two folders, mount unseen, no mark"
"""A mutant: what a killed writer has not finished is not seen in the other folder."""
BESIDE = "two folders, mount unseen, lock and log beside the file"
"""A mutant: the way of SQLite's write-ahead mode, with a lock on a file beside the ledger."""
TWO = (FOLDERS, UNSEEN, UNMARKED, BESIDE)
NEW_USERS, NEW_MOUNTS = 0x10000000, 0x20000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
"""Of Linux, for unshare and mount."""


class Log:
    """What the outside sees of one process: lines that are on disk."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def begins(self, key: str) -> None:
        os.write(self.handle, f"begins {key}\n".encode())

    def sees(self, key: str, release: str) -> None:
        os.write(self.handle, f"sees {key} {release}\n".encode())
        os.fsync(self.handle)

    def refused(self) -> None:
        os.write(self.handle, b"refused -\n")


def contain(source: Path, target: Path) -> None:
    """From now on, for this process, one file is shown in the place of another."""
    system = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()

    def checked(code: int) -> None:
        if code:
            raise OSError(ctypes.get_errno(), "cannot mount")

    checked(system.unshare(NEW_MOUNTS | (NEW_USERS if user else 0)))
    if user:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"0 {user} 1")
        (own / "gid_map").write_text(f"0 {group} 1")
    checked(system.mount(None, b"/", None, RECURSIVE | PRIVATE, None))
    checked(system.mount(os.fsencode(source), os.fsencode(target), None, BIND, None))


def servers() -> Any:
    """Processes that start at once, since what they import is there already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    return context


def marks() -> bool:
    """Whether files have attributes here, which the mark needs."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "file"
        file.touch()
        locks.mark(file)
        try:
            return bool(os.getxattr(file, locks.MARK))
        except OSError:
            return False


def mounts() -> bool:
    """Whether files can be mounted here."""
    with tempfile.TemporaryDirectory() as name:
        here, there = Path(name) / "here", Path(name) / "there"
        here.touch()
        there.touch()
        process = servers().Process(target=contain, args=(here, there))
        process.start()
        process.join()
        return process.exitcode == 0


@contextlib.contextmanager
def unlocked(file: database.File) -> Iterator[database.Run]:
    """Every statement a transaction of its own: the cap is checked, but not under the lock."""
    with file._connection("rw") as run:
        yield run


def store_again(ledger: Ledger, run: database.Run, row: tuple[Any, ...]) -> None:
    """Charge for a key once more, under a name that the table accepts."""
    STORE(ledger, run, (f"{row[0]}{AGAIN}{secrets.token_hex(4)}", *row[1:]))


@contextlib.contextmanager
def ahead(file: database.File, mode: str) -> Iterator[database.Run]:
    """A connection with a write-ahead log, which is beside the file."""
    with CONNECTION(file, mode) as run:
        file_mode = []
        while file_mode != [("wal",)]:
            with contextlib.suppress(InvalidInput):
                file_mode = run("PRAGMA journal_mode = WAL")
        yield run


CONNECTION = database.File._connection
STORE = Ledger._store
AGAIN = "/"


@contextlib.contextmanager
def broken(mutant: str) -> Iterator[None]:
    """A ledger with one thing wrong."""
    with contextlib.ExitStack() as stack:
        if mutant == "no memo":
            stack.enter_context(mock.patch.object(Ledger, "_known", return_value=None))
            stack.enter_context(mock.patch.object(Ledger, "_store", store_again))
        if mutant == "no lock":
            stack.enter_context(mock.patch.object(database.File, "writing", unlocked))
        if mutant in TWO[1:]:
            stack.enter_context(mock.patch.object(locks, "mounted", return_value=False))
        if mutant in (UNMARKED, BESIDE):
            stack.enter_context(mock.patch.object(locks, "mark"))
        if mutant == BESIDE:
            stack.enter_context(mock.patch.object(locks, "INSIDE", False))
            stack.enter_context(mock.patch.object(database.File, "_connection", ahead))
            stack.enter_context(mock.patch.object(database.File, "_own"))
        yield


def write(places: list[Path], log_path: Path, mutant: str, seed: int, rounds: int | None) -> None:
    """Charge for all keys in random order, so many times or until killed.

    The ledger is at the last of the places, and if there are two, mounted there from the first.
    """
    generator, log, path = random.Random(seed), Log(log_path), places[-1]
    if len(places) > 1:
        contain(*places)
    # For ours a release that cannot be checked against its data is a failure. Where a mount is not
    # noticed each folder has a secret of its own, and the other's releases cannot be checked.
    warnings.simplefilter("error" if mutant in ("", FOLDERS) else "ignore", ConfideWarning)
    with broken(mutant):
        ledger = started(path, log, mutant)
        if ledger is None:
            return
        while rounds is None or rounds > 0:
            for number in generator.sample(range(KEYS), KEYS):
                charge(ledger, f"key-{number}", log, mutant, generator.uniform(0, PAUSE))
            rounds = None if rounds is None else rounds - 1


def started(path: Path, log: Log, mutant: str) -> Ledger | None:
    """The ledger, or None where it is refused because it is mounted alone."""
    while True:
        try:
            return Ledger(path, BUDGET)
        except InvalidInput as error:
            alone = "mounted alone" in str(error)
            if not alone and not waits(error, mutant):
                raise
            log.refused()
            if alone:
                return None


def waits(error: InvalidInput, mutant: str) -> bool:
    """Whether somebody in the other folder has to put the ledger in order first."""
    time.sleep(PAUSE)
    return mutant == UNSEEN and "was cut short" in str(error)


def charge(ledger: Ledger, key: str, log: Log, mutant: str, pause: float) -> None:
    early = mutant == "release before commit"

    def make() -> dict[str, str]:
        log.begins(key)
        release = secrets.token_hex(8)
        if early:
            log.sees(key, release)
        time.sleep(pause)
        return {"answer": release}

    # Without the lock, writers also run into each other; that is not what is counted here.
    ours = mutant in ("", FOLDERS, UNSEEN)
    try:
        release = ledger.charge(key, {"kind": "draw"}, SPEND, make, data=key.encode())
        if not early:
            log.sees(key, release["answer"])
    except BudgetExhausted:
        pass
    except (InvalidInput, OSError) as error:
        if isinstance(error, InvalidInput) and waits(error, mutant):
            log.refused()
        elif ours:
            raise


def trial(mutant: str, kills: int, seed: int) -> dict[str, int]:
    """One ledger, so many kills, two writers in peace, and what the checker finds."""
    generator = random.Random(seed)
    context = servers()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "releases.ledger"
        elsewhere = folder / "elsewhere" / path.name
        if mutant in TWO:
            Ledger(path, BUDGET)
            elsewhere.parent.mkdir()
            elsewhere.touch()

        def start(number: int, rounds: int | None, *, second: bool) -> Any:
            places = [path, elsewhere] if second and elsewhere.exists() else [path]
            log, own = folder / f"{number}.log", generator.getrandbits(32)
            arguments = (places, log, mutant, own, rounds)
            process = context.Process(target=write, args=arguments, daemon=True)
            process.start()
            return process

        def kill(victim: int) -> None:
            # Most of them at work, some while they start.
            if generator.random() < AT_WORK:
                begun(folder / f"{names[victim]}.log")
            time.sleep(generator.uniform(0, SOON))
            writers[victim].kill()
            writers[victim].join()
            ended.append(writers[victim].exitcode)

        ended: list[int] = []
        names, writers = [0, 1], [start(0, None, second=False), start(1, None, second=True)]
        for number in range(2, kills):
            victim = generator.randrange(2)
            kill(victim)
            names[victim], writers[victim] = number, start(number, None, second=victim == 1)
        for victim in range(2):
            kill(victim)
        finishers = [start(kills, 1, second=False), start(kills + 1, 1, second=True)]
        for finisher in finishers:
            finisher.join()
            ended.append(finisher.exitcode)
        found = check(path, sorted(folder.glob("*.log")))
    # A writer is done, or was killed; whatever else ended it is a failure.
    failed = sum(code not in (0, -signal.SIGKILL) for code in ended)
    return {"kills": kills, "failed": failed, **found}


def begun(log: Path) -> None:
    """Wait until a writer has written something, which on a busy machine takes a while."""
    for _ in range(1000):
        if log.exists() and log.stat().st_size:
            return
        time.sleep(0.01)


def check(path: Path, logs: list[Path]) -> dict[str, int]:
    """Hold what was seen against what is charged."""
    seen: dict[str, set[str]] = {}
    releases = inside = refused = 0
    for log in logs:
        lines = log.read_text().splitlines(keepends=True)
        whole = [line.split() for line in lines if line.endswith("\n")]
        inside += bool(whole) and whole[-1][0] == "begins"
        for word, key, *rest in whole:
            refused += word == "refused"
            if word == "sees":
                releases += 1
                seen.setdefault(key, set()).add(rest[0])
    entries, spent, damaged = opened(path)
    pairs = [(key, release) for key, several in seen.items() for release in several]
    over = len(pairs) > ROOM or spent > BUDGET.epsilon
    return {
        "inside": inside,
        "refused": refused,
        "releases": releases,
        "charges": len(entries),
        "doubled": sum(len(several) > 1 for several in seen.values()),
        "uncharged": len(set(pairs) - entries),
        "over": int(over),
        "damaged": damaged,
        # A crash must not eat the budget either: what is charged can still be had.
        "lost": max(ROOM - len(entries), 0) + len(entries - set(pairs)),
    }


def opened(path: Path) -> tuple[set[tuple[str, str]], float, int]:
    """What a ledger holds and has spent, and 1 if it is damaged."""
    try:
        ledger = Ledger(path)
        entries = ledger.entries()
        pairs = {(entry.key.partition(AGAIN)[0], entry.release["answer"]) for entry in entries}
        return pairs, ledger.spent.epsilon, 0
    except InvalidInput as error:
        if "write-ahead" in str(error):
            # The mutant's own way; it is the only one that leaves such a file.
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.close()
            return opened(path)
        if "an intact ledger" not in str(error):
            raise
        return set(), 0.0, 1


def study(mutant: str, kills: int, seed: int) -> dict[str, Any]:
    """As many trials as the kills need, added up."""
    total: dict[str, Any] = {"ledger": mutant or "ours", "trials": 0}
    while total["trials"] * KILLS_A_TRIAL < kills:
        found = trial(mutant, KILLS_A_TRIAL, seed + total["trials"])
        total["trials"] += 1
        for name, count in found.items():
            total[name] = total.get(name, 0) + count
    return total


def violations(row: dict[str, Any]) -> int:
    return int(row["doubled"] + row["uncharged"] + row["over"] + row["damaged"])


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence ledger", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument(
        "--thin", action="store_true", help="few kills of the right one, nothing written"
    )
    options = parser.parse_args(argv)
    kills = 12 if options.thin else options.kills
    able = mounts() and marks()
    cases = ["", *([FOLDERS, UNSEEN] if able else [])]
    rows = [study(case, kills, seed=1) for case in cases]
    mutants = [*MUTANTS, *([UNMARKED, BESIDE] if able else [])]
    rows += [study(mutant, 120, seed=1) for mutant in mutants]
    for row in rows:
        print(row)
    if not able:
        print("No mounts or no attributes of files here: the cases of two folders are left out.")
    if not options.thin:
        target = ROOT / "evidence" / "ledger" / "results.json"
        target.write_text(json.dumps({"keys": KEYS, "room": ROOM, "rows": rows}, indent=1) + "\n")
    right = all(not wrong(row) for row in rows[: len(cases)])
    return int(not (right and all(violations(row) for row in rows[len(cases) :])))


def wrong(row: dict[str, Any]) -> int:
    """What must be 0 for a ledger that is not a mutant."""
    return violations(row) + int(row["lost"] + row["failed"])
