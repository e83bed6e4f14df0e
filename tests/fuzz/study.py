"""Readers fed with damaged files: a value that is in order, or one sentence.

python -m tests.fuzz.study [--seconds 180] [--seed 1]

Valid files are changed at random: bytes are flipped, cut out, repeated and put in; keys and values
of documents are exchanged for hostile ones before they are written again. Whatever comes out is
read. A reader passes if it returns a value that survives being written and read again, or raises
a ConfideError of one line, and if it leaves its folder as it was. Cases run in a process of their
own, so that a crash or a hang is a failure like any other.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.fuzz.readers import READERS, Reader

from confide.errors import MOST, ConfideError, ConfideWarning

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "tests" / "fuzz" / "results.json"
PAGE = ROOT / "docs" / "evidence" / "hostile-files.md"
MARKS = ("<!-- made by tests/fuzz/study.py -->\n", "<!-- end of fuzz -->\n")
BATCH = 4000
LIMIT = 30.0
"""Seconds after which a case counts as a hang."""


def case(seed: int, number: int, readers: tuple[Reader, ...] = READERS) -> tuple[Reader, bytes]:
    """The reader and the bytes of one case: a function of the seed and the number."""
    rng = random.Random(f"{seed}/{number}")
    reader = readers[number % len(readers)]
    return reader, reader.damaged(rng)


def fault(reader: Reader, data: bytes, folder: Path) -> tuple[str, str]:
    """How a case ended (accepted, refused, failed) and what was wrong with that."""
    path = folder / reader.file
    path.write_bytes(data)
    try:
        reader.read(path)
        ended, wrong = "accepted", ""
    except ConfideError as error:
        ended, wrong = "refused", unclear(str(error))
    except ConfideWarning as warning:
        ended, wrong = "accepted", unclear(str(warning))
    except BaseException as error:
        ended = "failed"
        where = traceback.extract_tb(error.__traceback__)[-1]
        wrong = f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name})"
    if not reader.changes and (not path.exists() or path.read_bytes() != data):
        wrong = wrong or "the file was changed"
    left = {file.name for file in folder.iterdir()} - {reader.file, *reader.beside}
    if left:
        wrong = wrong or f"files left behind: {', '.join(sorted(left))}"
    for file in folder.iterdir():
        file.unlink()
    return ("failed" if wrong else ended), wrong


def unclear(message: str) -> str:
    """What is wrong with a message, if anything is."""
    if not message.isprintable():
        return "a message of several lines"
    if len(message) > MOST:
        return f"a message of {len(message)} characters"
    if not message or not message[0].isupper() or message[-1] not in ".?":
        return "a message that is no sentence"
    return ""


def run(seed: int, numbers: Iterable[int], folder: Path, *, say: bool = False) -> dict[str, Any]:
    """Cases one after the other, each announced first if somebody is listening."""
    endings: dict[str, Counter[str]] = {reader.name: Counter() for reader in READERS}
    failures, slowest = [], (0.0, -1)
    for number in numbers:
        reader, data = case(seed, number)
        if say:
            print(number, flush=True)
            faulthandler.dump_traceback_later(LIMIT, exit=True)
        start = time.perf_counter()
        ended, wrong = fault(reader, data, folder)
        slowest = max(slowest, (time.perf_counter() - start, number))
        endings[reader.name][ended] += 1
        if wrong:
            failures.append({"case": number, "reader": reader.name, "fault": wrong})
    faulthandler.cancel_dump_traceback_later()
    return {"endings": endings, "failures": failures, "slowest": slowest}


def batch(seed: int, first: int) -> dict[str, Any]:
    """A batch in a process of its own; where that dies, the case at which it did."""
    command = [sys.executable, "-m", "tests.fuzz.study", "--seed", str(seed), "--first", str(first)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    *announced, last = child.stdout.split("\n")[:-1] or [""]
    if child.returncode == 0:
        return json.loads(last)
    number = int(last or first)
    name = case(seed, number)[0].name
    wrong = f"the process ended with code {child.returncode}: {child.stderr[-300:]}"
    return {
        "endings": {name: {"failed": 1}},
        "failures": [{"case": number, "reader": name, "fault": wrong}],
        "slowest": (0.0, number),
        "done": len(announced) + 1,
    }


def line(result: dict[str, Any]) -> str:
    """What the docs say of a run."""
    refused = sum(reader.get("refused", 0) for reader in result["readers"].values())
    return (
        f"Last run: {result['cases']:,} files for {len(result['readers'])} readers, "
        f"{refused / result['cases']:.0%} refused, {len(result['failures'])} failures, "
        f"{result['cases_per_second']} cases a second, "
        f"the slowest {result['slowest_ms'] / 1000:.1f} seconds.\n"
    )


def write(result: dict[str, Any]) -> None:
    """Record a run."""
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    before, rest = PAGE.read_text().split(MARKS[0])
    PAGE.write_text(before + MARKS[0] + line(result) + MARKS[1] + rest.split(MARKS[1])[1])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz.study")
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, help="run one batch of cases here")
    options = parser.parse_args(arguments)
    if options.first is not None:
        with tempfile.TemporaryDirectory() as folder:
            numbers = range(options.first, options.first + BATCH)
            print(json.dumps(run(options.seed, numbers, Path(folder), say=True)))
        return 0
    endings: dict[str, Counter[str]] = {reader.name: Counter() for reader in READERS}
    failures: list[dict[str, Any]] = []
    slowest, first, start = (0.0, -1), 0, time.monotonic()
    while time.monotonic() - start < options.seconds:
        done = batch(options.seed, first)
        for name, counts in done["endings"].items():
            endings[name].update(counts)
        failures += done["failures"]
        slowest = max(slowest, tuple(done["slowest"]))
        first += done.get("done", BATCH)
        speed = first / (time.monotonic() - start)
        print(f"{first:,} cases, {speed:,.0f} a second, {len(failures)} failures", flush=True)
    for failure in failures[:20]:
        print(failure)
    result = {
        "seed": options.seed,
        "cases": first,
        "cases_per_second": round(speed),
        "slowest_ms": round(1000 * slowest[0], 1),
        "failures": failures,
        "readers": {name: dict(sorted(counts.items())) for name, counts in endings.items()},
    }
    write(result)
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
