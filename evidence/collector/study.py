"""Whether the collector keeps what it acknowledged, counts everybody once, and gets well again."""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from evidence.collector import faults, hostile, kills, races, refresh
from evidence.collector.database import Database, database
from evidence.collector.server import EARLY, LOCKLESS, UNLOCKED

RESULTS = Path(__file__).with_name("results.json")
REFRESH = 0.1
"""What a call of tallies may cost, of counting everything."""


@contextlib.contextmanager
def places() -> Iterator[tuple[Path, Database]]:
    """A folder for files, and a database."""
    with tempfile.TemporaryDirectory(prefix="confide-collector-") as name, database() as server:
        yield Path(name), server


CASES = ("kills", "visited", "races", "refresh", "hostile", "disk full", "database gone")


def study(
    times: int, rounds: int, n: int, seconds: float, only: Collection[str] = CASES
) -> list[dict[str, Any]]:
    """All cases for both stores, and mutants that must be caught."""
    rows: list[dict[str, Any]] = []

    def note(case: str, store: str, found: dict[str, Any], wrong: int, *, mutant: str = "") -> None:
        row = {"case": case, "store": store, "mutant": mutant, "wrong": wrong, **found}
        print(row, flush=True)
        rows.append(row)

    with places() as (folder, server):

        def address(store: str) -> str:
            if store == "sqlite":
                return str(folder / f"{secrets.token_hex(8)}.db")
            return server.address()

        for store in ("sqlite", "postgres"):
            if "kills" in only:
                found = kills.kills(address(store), "", times, seed=1)
                note("kills", store, found, kills.wrong(found))
            if "visited" in only:
                found = kills.kills(address(store), "", times, seed=2, visited=True)
                note("visited", store, found, kills.wrong(found))
            if "races" in only:
                found = races.races(address(store), "", rounds)
                note("races", store, found, races.wrong(found))
            if "refresh" in only:
                found = refresh.refresh(address(store), n)
                note("refresh", store, found, int(found["ratio"] > REFRESH))
            if "hostile" in only:
                found = hostile.hostile(address(store), seconds)
                note("hostile", store, found, hostile.wrong(found))
        if "kills" in only:
            found = kills.kills(address("sqlite"), EARLY, 5, seed=1)
            note("kills", "sqlite", found, kills.wrong(found), mutant=EARLY)
        if "visited" in only:
            found = kills.kills(address("sqlite"), LOCKLESS, 5, seed=2, visited=True)
            note("visited", "sqlite", found, kills.wrong(found), mutant=LOCKLESS)
        if "races" in only:
            found = races.races(address("sqlite"), UNLOCKED, 5)
            note("races", "sqlite", found, races.wrong(found), mutant=UNLOCKED)
        if "disk full" in only:
            full_disks(server, note)
        if "database gone" in only:
            found = faults.postgres_gone(server)
            note("database gone", "postgres", found, faults.wrong(found))
    return rows


def full_disks(server: Database, note: Callable[..., None]) -> None:
    """Disks that are full, where something can be mounted."""
    with faults.small_disk() as disk:
        if disk is None:
            print("Nothing can be mounted here: full disks are left out.")
        else:
            found = faults.sqlite_full(disk)
            note("disk full", "sqlite", found, faults.wrong(found))
    with faults.small_disk() as disk:
        if disk is not None:
            found = faults.postgres_full(server, disk)
            note("disk full", "postgres", found, faults.wrong(found))


def right(rows: list[dict[str, Any]]) -> bool:
    """Whether nothing is wrong with ours, and something with every mutant."""
    return all(bool(row["wrong"]) == bool(row["mutant"]) for row in rows)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence collector", description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--reports", type=int, default=10**6)
    parser.add_argument("--seconds", type=float, default=20.0, help="of bad input")
    parser.add_argument("--case", action="append", choices=CASES, help="this one only; repeat it")
    parser.add_argument("--thin", action="store_true", help="little of everything, nothing written")
    options = parser.parse_args(argv)
    only = options.case or CASES
    if options.thin:
        return int(not right(study(2, 2, 20_000, 2.0, only)))
    rows = study(options.kills, options.rounds, options.reports, options.seconds, only)
    # Cases that were not run stay on record.
    before = json.loads(RESULTS.read_text())["rows"] if options.case else []
    kept = [row for row in before if row["case"] not in only]
    RESULTS.write_text(json.dumps({"rows": kept + rows}, indent=1) + "\n")
    return int(not right(rows))
