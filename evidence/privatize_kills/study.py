"""`confide privatize` ended at random moments: nothing is left that the next run does not take.

python -m evidence privatize_kills [--kills 200] [--thin]

A trial is one file of values with a number for each person, and one output. The program runs, and
SIGTERM, SIGINT or SIGKILL ends it at a random moment of its work; then it runs again, until so
many signals have met it, and once more in peace. Small runs draw in one process, large ones in two
with many batches (sizes are cut down so that a run takes about a second). In the third kind of run
each person is asked one of two questions, which is drawn with the report: a report to the other
question would be a second one, too.

After every signal, once all processes have ended, the checker collects every report that can be
read anywhere in the folder: in the output, in any Parquet, CSV or Arrow file whatever its name, and
in the sealed batches, with the key that lies in memory and every nonce that any file name holds. In
the end it holds all of it against the output:

- doubled: people of whom two different reports could be read at some time;
- wrong: people who are missing in the output, or stand in it twice;
- left: files in the folder, and keys in memory, that are still there.

The mutants are broken on purpose, each in one way, and the same checker must catch each of them.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from confide import streams
from confide.cli.app import run
from confide.streams import batches, parts
from confide.streams.parts import Parts
from confide.survey import Survey

ROOT = Path(__file__).resolve().parents[2]
TOML = "[questions.pay]\nlow = 0\nhigh = 1\nepsilon = 1.0\n"
ASKED = f"ask = 1\n{TOML}{TOML.replace('pay', 'rent')}"
ROWS = {"small": 60_000, "large": 240_000, "asked": 60_000}
OTHER = 2**20
"""Added to reports to the other question, to tell them from those to the first."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
KILLS_A_TRIAL = 4
MUTANTS = {"forgetful": "large", "early name": "small"}
"""What is wrong, and in which kind of run it shows soonest."""
SUFFIXES = (".parquet", ".csv")


def sizes(kind: str) -> dict[str, int]:
    """Batches and buckets of a run, so that even a short one has many."""
    small = kind != "large"
    return {"PART": 12_000, "BUCKET": 8_000, "SMALL": 10**9 if small else 0, "SMALL_BYTES": 2**60}


@contextlib.contextmanager
def broken(mutant: str) -> Iterator[None]:
    """A program with one thing wrong."""
    opened, write = Parts.open.__func__, Parts.write

    def forget(kind: Any, to: Path, manifest: Any, *, restart: bool) -> Any:
        return opened(kind, to, manifest, restart=True)

    def early(self: Parts, number: int, batch: Any) -> None:
        # The nonce is in the name before the batch is finished.
        nonce = bytes(range(parts.NONCE))
        with mock.patch.object(parts.secrets, "token_bytes", return_value=nonce):
            path = self.folder / f"{number:08d}-{nonce.hex()}.half"
            write(self, number, batch)
            self.finished()[number].rename(path)
            # So long that most signals fall here.
            time.sleep(0.3)
            path.rename(path.with_suffix(".batch"))

    with contextlib.ExitStack() as stack:
        if mutant == "forgetful":
            stack.enter_context(mock.patch.object(Parts, "open", classmethod(forget)))
        if mutant == "early name":
            stack.enter_context(mock.patch.object(Parts, "write", early))
        yield


def child(kind: str, mutant: str, command: list[str]) -> int:
    """The program itself; it says when its work begins."""
    for name, size in sizes(kind).items():
        setattr(batches, name, size)
    # Arrow imports pandas when it first meets an array, which takes longer than all the rest.
    pa.array(np.zeros(1))
    with broken(mutant):
        os.write(1, b".")
        return run(command)


class Trial:
    """One file of values, one output, and all reports that could be read on the way."""

    def __init__(self, folder: Path, memory: Path, kind: str, suffix: str, mutant: str) -> None:
        self.folder, self.memory = folder, memory
        self.kind, self.mutant = kind, mutant
        self.n = ROWS[kind]
        self.to = folder / f"reports{suffix}"
        self.values = folder / "values.parquet"
        (folder / "survey.toml").write_text(ASKED if kind == "asked" else TOML)
        pay = np.linspace(0, 1, self.n)
        table = pa.table({"pay": pay, "rent": pay, "id": np.arange(self.n)})
        pq.write_table(table, self.values, row_group_size=sizes(kind)["PART"])
        self.known = {path.name for path in folder.iterdir()}
        self.seen = np.full(self.n, -1)
        self.doubled = np.zeros(self.n, dtype=bool)
        self.readable = 0
        self.contents: set[bytes] = set()

    def start(self) -> subprocess.Popen[bytes]:
        command = ["privatize", "survey.toml", "values.parquet", "-o", self.to.name, "--keep", "id"]
        processes = ["--processes", "2" if self.kind == "large" else "1"]
        arguments = ["--child", self.kind, self.mutant, *command, *processes]
        process = subprocess.Popen(
            [sys.executable, "-m", "evidence.privatize_kills.study", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={
                **os.environ,
                "XDG_RUNTIME_DIR": str(self.memory),
                "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path[:1] + sys.path)),
            },
        )
        assert process.stdout is not None
        process.stdout.read(1)
        return process

    def look(self) -> None:
        """Collect what can be read now, and compare it with what was seen before."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        keys = [path.read_bytes() for path in self.memory.iterdir()]
        keys += [path.read_bytes() for path in files if path.name == "key"]
        for path in files:
            if path.name in self.known:
                continue
            data = path.read_bytes()
            digest = hashlib.sha256(data).digest()
            if digest in self.contents:
                continue
            self.contents.add(digest)
            for table in itertools.chain(plain(data), self.opened(path, keys)):
                self.note(table)

    def opened(self, path: Path, keys: list[bytes]) -> Iterator[pa.Table]:
        """The reports in a sealed batch, if a key and the nonce in its name open it."""
        nonce = path.name.partition("-")[2].partition(".")[0]
        job = streams.Job(Survey.read(self.folder / "survey.toml"), [self.values], ["id"])
        if len(nonce) != 2 * parts.NONCE:
            return
        for key in keys:
            with contextlib.suppress(Exception), sized(self.kind):
                # Under whatever name, a batch is read by its bytes and the nonce.
                spare = self.memory.parent / f"0-{nonce}.batch"
                spare.write_bytes(path.read_bytes())
                kept = Parts(self.memory.parent, job.buckets, key)
                pieces = [kept.piece(spare, at, job.schema) for at in range(job.buckets)]
                spare.unlink()
                yield pa.Table.from_batches(pieces)

    def note(self, table: pa.Table) -> None:
        if {"id", "pay"} <= set(table.column_names):
            ids, reports = table["id"].to_numpy(), table["pay"].cast(pa.int64())
            if self.kind == "asked":
                other = pc.add(table["rent"].cast(pa.int64()), OTHER)
                reports = pc.coalesce(reports, other)
            own = reports.to_numpy()
            self.readable += len(ids)
            self.doubled[ids[(self.seen[ids] >= 0) & (self.seen[ids] != own)]] = True
            self.seen[ids] = own

    def end(self) -> dict[str, int]:
        """Hold the output against what was seen, and look what is left."""
        made = pq.read_table(self.to) if self.to.suffix == ".parquet" else pa_csv.read_csv(self.to)
        self.note(made)
        counts = np.bincount(made["id"].to_numpy(), minlength=self.n)
        left = [path for path in self.folder.rglob("*") if path.name not in self.known]
        return {
            "readable": self.readable,
            "doubled": int(self.doubled.sum()),
            "wrong": int((counts != 1).sum()),
            "left": len(left) - 1 + len(list(self.memory.iterdir())),
        }


@contextlib.contextmanager
def sized(kind: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name, size in sizes(kind).items():
            stack.enter_context(mock.patch.object(batches, name, size))
        yield


def plain(data: bytes) -> Iterator[pa.Table]:
    """The tables that anybody can read in some bytes."""
    with contextlib.suppress(pa.ArrowException, OSError):
        yield pq.read_table(pa.BufferReader(data))
    with contextlib.suppress(pa.ArrowException, OSError):
        yield pa.ipc.open_stream(data).read_all()
    if data.startswith(b'"pay"'):
        # Up to the last whole line.
        with contextlib.suppress(pa.ArrowException, OSError):
            yield pa_csv.read_csv(pa.BufferReader(data[: data.rfind(b"\n") + 1]))


def ended(process: subprocess.Popen[bytes], *codes: int, peace: bool = False) -> int:
    """Wait for a program and for all that it has started; other exit codes are errors."""
    _, told = process.communicate()
    while True:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    if not peace:
        # 2: SIGINT met the import of another library, which made an error of its own of it.
        codes = (2, 130, *(-one for one in SIGNALS))
    if process.returncode not in (0, *codes):
        raise RuntimeError(told.decode())
    return process.returncode


def trial(kind: str, suffix: str, mutant: str, kills: int, seed: int) -> dict[str, int]:
    """One output and so many signals on the way to it."""
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder, memory = Path(name) / "here", Path(name) / "memory"
        folder.mkdir()
        memory.mkdir()
        one = Trial(folder, memory, kind, suffix, mutant)
        begun, met, inside = time.perf_counter(), 0, 0
        while met < kills:
            process = one.start()
            begun = time.perf_counter()
            time.sleep(generator.uniform(0, SPANS[kind]))
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(generator.choice(SIGNALS))
            if ended(process) == 0:
                # It was done before; where that is usual, signals come earlier from now on.
                SPANS[kind] = 0.9 * SPANS[kind] + 0.1 * (time.perf_counter() - begun)
                break
            met += 1
            before = one.readable
            one.look()
            inside += one.readable > before
        there = one.to.exists()
        if not there or any(folder.glob(".*")):
            # An output that stands is refused; what a signal left beside it goes all the same.
            ended(one.start(), *([2] if there else []), peace=True)
        return {"kills": met, "inside": inside, **one.end()}


SPANS = {"small": 1.0, "large": 2.0, "asked": 1.0}
"""Seconds within which a signal comes, about as long as the work of a run takes."""


def study(kind: str, mutant: str, kills: int, seed: int) -> dict[str, Any]:
    """As many trials as the signals need, added up."""
    total: dict[str, Any] = {"run": kind, "program": mutant or "ours", "trials": 0}
    while total.get("kills", 0) < kills:
        suffix = SUFFIXES[total["trials"] % 2]
        found = trial(kind, suffix, mutant, KILLS_A_TRIAL, seed + total["trials"])
        total["trials"] += 1
        for name, count in found.items():
            total[name] = total.get(name, 0) + count
    return total


def violations(row: dict[str, Any]) -> int:
    return int(row["doubled"] + row["wrong"] + row["left"])


def main(argv: list[str]) -> int:
    if argv[:1] == ["--child"]:
        return child(argv[1], argv[2], argv[3:])
    parser = argparse.ArgumentParser(prog="python -m evidence privatize_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--thin", action="store_true", help="few signals, nothing written")
    options = parser.parse_args(argv)
    kills = 16 if options.thin else options.kills
    rows = [study(kind, "", kills // 2, seed=1) for kind in ROWS]
    rows += [study(kind, mutant, 12, seed=1) for mutant, kind in MUTANTS.items()]
    for row in rows:
        print(row)
    if not options.thin:
        target = ROOT / "evidence" / "privatize_kills" / "results.json"
        target.write_text(json.dumps({"people": ROWS, "rows": rows}, indent=1) + "\n")
    ours = [row for row in rows if row["program"] == "ours"]
    caught = [violations(row) for row in rows if row["program"] != "ours"]
    return int(any(map(violations, ours)) or not all(caught))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
