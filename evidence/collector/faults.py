"""Disks that are full and databases that are gone: refused with 503, and well again by itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from confide.collect.stores import opened
from evidence.collector.client import Load
from evidence.collector.database import Database
from evidence.collector.kills import checked
from evidence.collector.people import People, request
from evidence.collector.server import Server

UPLOADS = 600
MOST = 100
"""How often a device tries."""


@contextlib.contextmanager
def small_disk(size: str = "32m") -> Iterator[Path | None]:
    """A disk of some megabytes, or None where nothing can be mounted."""
    with tempfile.TemporaryDirectory(prefix="confide-small-") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", name]
        try:
            able = subprocess.run(mount, check=False, capture_output=True).returncode == 0
        except OSError:
            able = False
        try:
            yield Path(name) if able else None
        finally:
            if able:
                subprocess.run(["umount", "-l", name], check=True)


def sqlite_full(folder: Path) -> dict[str, Any]:
    """A file on a disk that is filled while people answer, until somebody makes room."""
    filler = folder / "filler"

    def make_room() -> None:
        filler.unlink(missing_ok=True)

    def fill() -> None:
        # All but some ten pages.
        free = os.statvfs(folder)
        filler.write_bytes(bytes(max(0, free.f_bavail * free.f_bsize - 60_000)))

    return trial(str(folder / "a.db"), fill, make_room)


def postgres_full(database: Database, folder: Path) -> dict[str, Any]:
    """The same with tables on such a disk."""
    address = database.address()
    people = People()
    store = opened(address, people.survey, create=True)
    run = store._open().execute
    place = folder / "tables"
    place.mkdir()
    os.chmod(folder, 0o755)
    if database.user:
        import pwd

        os.chown(place, pwd.getpwnam(database.user).pw_uid, -1)
    name = f"small{os.getpid()}"
    run(f"CREATE TABLESPACE {name} LOCATION '{place}'")
    for table in ("fresh_reports", "fresh_spent", "reports", "spent"):
        run(f"ALTER TABLE {table} SET TABLESPACE {name}")
    filler = folder / "filler"

    def fill() -> None:
        free = os.statvfs(folder)
        filler.write_bytes(bytes(max(0, free.f_bavail * free.f_bsize - 8192)))

    found = trial(address, fill, lambda: filler.unlink(missing_ok=True), people)
    schema = run("SELECT current_schema()").fetchone()[0]
    run(f"DROP SCHEMA {schema} CASCADE")
    run(f"DROP TABLESPACE {name}")
    store.shut()
    return found


def postgres_gone(database: Database) -> dict[str, Any]:
    """A database that is stopped as if the power had failed, and started again."""
    return trial(database.address(), database.stop, database.start)


def trial(
    address: str,
    break_it: Callable[[], None],
    mend: Callable[[], None],
    people: People | None = None,
) -> dict[str, Any]:
    """Uploads before, while and after something is broken; devices try until they are told."""
    people = people or People()
    store = opened(address, people.survey, create=True)
    bodies = [people.upload(token) for token in people.invite(store, UPLOADS)]
    store.shut()
    third = UPLOADS // 3
    with Server(address, people) as server:

        def send(some: Sequence[bytes], times: int = 1) -> Counter[int]:
            statuses: Counter[int] = Counter()
            for _ in range(times):
                load = Load([request(body) for body in some]).run([server.port], 16)
                statuses.update(load.statuses)
                some = [b for b, s in zip(some, load.statuses, strict=True) if s not in (200, 201)]
                if not some:
                    break
                time.sleep(0.05)
            return statuses

        before = send(bodies[:third])
        # It breaks in the middle of the next ones.
        load = Load([request(body) for body in bodies[third:]])
        load.run([server.port], 16, at=20, then=break_it)
        broken = Counter(load.statuses)
        mending = threading.Thread(target=mend)
        mending.start()
        after = send(bodies, MOST)
        mending.join()
        health = Load([b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"]).run([server.port], 1)
    again = opened(address, people.survey, create=False)
    found = checked(again, people, bodies)
    again.shut()
    return {
        "before": _texts(before),
        "broken": _texts(broken),
        "after": _texts(after),
        "other": sum(n for kind in (before, broken, after) for s, n in kind.items() if s not in OK),
        "refused": broken[503],
        "never acknowledged": UPLOADS - after[200] - after[201],
        "same server": health.statuses == [200],
        **found,
    }


OK = (200, 201, 503)


def _texts(counts: Counter[int]) -> dict[str, int]:
    return {str(status): n for status, n in sorted(counts.items())}


def wrong(found: dict[str, Any]) -> int:
    """What must be 0: anything lost, doubled or answered with another code, or nothing refused."""
    bad = found["lost"] + found["apart"] + found["never acknowledged"] + found["other"]
    return int(bad) + (not found["refused"]) + (not found["same server"])
