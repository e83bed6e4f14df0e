"""Two writers on one ledger, killed at random moments: what was seen outside is charged for.

python -m evidence ledger [--kills 200] [--thin]

A trial is one ledger with room for 40 of 60 keys and two processes that charge for the keys in
random order, over and over. Each writes what it gets to a log of its own, and a release counts as
seen once that line is on disk. SIGKILL hits them at random moments and others take their place; at
the end two more run in peace. The checker trusts the logs alone:

- doubled: a key with two different releases;
- uncharged: a release that the ledger does not hold under its key;
- over the cap: more releases seen, or more epsilon charged, than the budget allows.

The mutants are broken on purpose, each in one way, and the same checker must catch each of them.
SIGKILL does not test a power cut: for that we rely on SQLite's own tests.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import secrets
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from confide import _sqlite
from confide.accounting import Spend
from confide.errors import BudgetExhausted, InvalidInput
from confide.ledgers import Ledger

ROOT = Path(__file__).resolve().parents[1]
KEYS = 60
ROOM = 40
SPEND = Spend(0.1)
BUDGET = Spend(4.0)
KILLS_A_TRIAL = 4
SOON = 0.12
"""Seconds within which a kill comes, about as long as ten charges take."""
PAUSE = 0.008
"""Seconds that a draw takes, at most, so that many kills fall inside a charge."""
MUTANTS = ("release before commit", "no memo", "no lock")


class Log:
    """What the outside sees of one process: lines that are on disk."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def begins(self, key: str) -> None:
        os.write(self.handle, f"begins {key}\n".encode())

    def sees(self, key: str, release: str) -> None:
        os.write(self.handle, f"sees {key} {release}\n".encode())
        os.fsync(self.handle)


@contextlib.contextmanager
def unlocked(file: _sqlite.File) -> Iterator[_sqlite.Run]:
    """Every statement a transaction of its own: the cap is checked, but not under the lock."""
    with file._connection("rw") as run:
        yield run


def store_again(ledger: Ledger, run: _sqlite.Run, row: tuple[Any, ...]) -> None:
    """Charge for a key once more, under a name that the table accepts."""
    STORE(ledger, run, (f"{row[0]}{AGAIN}{secrets.token_hex(4)}", *row[1:]))


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
            stack.enter_context(mock.patch.object(_sqlite.File, "writing", unlocked))
        yield


def write(path: Path, log_path: Path, mutant: str, seed: int, rounds: int | None) -> None:
    """Charge for all keys in random order, so many times or until killed."""
    generator, log = random.Random(seed), Log(log_path)
    with broken(mutant):
        ledger = Ledger(path, BUDGET)
        while rounds is None or rounds > 0:
            for number in generator.sample(range(KEYS), KEYS):
                charge(ledger, f"key-{number}", log, mutant, generator.uniform(0, PAUSE))
            rounds = None if rounds is None else rounds - 1


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
    with contextlib.suppress(InvalidInput if mutant else BudgetExhausted):
        release = ledger.charge(key, {"kind": "draw"}, SPEND, make)
        if not early:
            log.sees(key, release["answer"])


def trial(mutant: str, kills: int, seed: int) -> dict[str, int]:
    """One ledger, so many kills, two writers in peace, and what the checker finds."""
    generator = random.Random(seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "releases.ledger"

        def start(number: int, rounds: int | None) -> Any:
            arguments = (path, folder / f"{number}.log", mutant, generator.getrandbits(32), rounds)
            process = context.Process(target=write, args=arguments, daemon=True)
            process.start()
            return process

        writers = [start(0, None), start(1, None)]
        for number in range(kills):
            time.sleep(generator.uniform(0, SOON))
            victim = generator.randrange(2)
            writers[victim].kill()
            writers[victim].join()
            writers[victim] = start(number + 2, None)
        for writer in writers:
            time.sleep(generator.uniform(0, SOON))
            writer.kill()
            writer.join()
        finishers = [start(kills + 2, 1), start(kills + 3, 1)]
        for finisher in finishers:
            finisher.join()
        failed = sum(finisher.exitcode != 0 for finisher in finishers)
        found = check(path, sorted(folder.glob("*.log")))
    # The two writers that are left over are killed as well.
    return {"kills": kills + 2, "failed": failed, **found}


def check(path: Path, logs: list[Path]) -> dict[str, int]:
    """Hold what was seen against what is charged."""
    seen: dict[str, set[str]] = {}
    releases = inside = 0
    for log in logs:
        lines = log.read_text().splitlines(keepends=True)
        whole = [line.split() for line in lines if line.endswith("\n")]
        inside += bool(whole) and whole[-1][0] == "begins"
        for word, key, *rest in whole:
            if word == "sees":
                releases += 1
                seen.setdefault(key, set()).add(rest[0])
    ledger = Ledger(path)
    entries = {
        (entry.key.partition(AGAIN)[0], entry.release["answer"]) for entry in ledger.entries()
    }
    pairs = [(key, release) for key, several in seen.items() for release in several]
    over = len(pairs) > ROOM or ledger.spent.epsilon > ledger.budget.epsilon
    return {
        "inside": inside,
        "releases": releases,
        "charges": len(entries),
        "doubled": sum(len(several) > 1 for several in seen.values()),
        "uncharged": len(set(pairs) - entries),
        "over": int(over),
        # A crash must not eat the budget either: what is charged can still be had.
        "lost": max(ROOM - len(entries), 0) + len(entries - set(pairs)),
    }


def study(mutant: str, kills: int, seed: int) -> dict[str, Any]:
    """As many trials as the kills need, added up."""
    total: dict[str, Any] = {"ledger": mutant or "ours", "trials": 0}
    while total.get("kills", 0) < kills:
        found = trial(mutant, KILLS_A_TRIAL - 2, seed + total["trials"])
        total["trials"] += 1
        for name, count in found.items():
            total[name] = total.get(name, 0) + count
    return total


def violations(row: dict[str, Any]) -> int:
    return int(row["doubled"] + row["uncharged"] + row["over"])


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence ledger", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument(
        "--thin", action="store_true", help="few kills of the right one, nothing written"
    )
    options = parser.parse_args(argv)
    kills = 12 if options.thin else options.kills
    rows = [study("", kills, seed=1)]
    rows += [study(mutant, 60, seed=1) for mutant in MUTANTS]
    for row in rows:
        print(row)
    if not options.thin:
        target = ROOT / "evidence" / "results" / "ledger.json"
        target.write_text(json.dumps({"keys": KEYS, "room": ROOM, "rows": rows}, indent=1) + "\n")
    ours, mutants = rows[0], rows[1:]
    right = violations(ours) + ours["lost"] + ours["failed"] == 0
    return int(not (right and all(violations(row) for row in mutants)))
