"""Small mistakes in the code that privacy rests on, and whether a test notices each.

python -m evidence mutation [--seed 13] [--count 320] [--folder FOLDER] [--jobs 1]

A sample of all changes that `evidence.mutation.sites` can make is put into a copy of the tree, one
at a time. Each meets the tests that run its lines, the shortest first, until one fails; whatever
survives that meets all tests. What survives those is either explained in
`evidence/mutation/notes.py` or a fault of the tests.

It can be stopped and started again: what was found so far is in the folder. Writes
evidence/mutation/results.json and the tables of docs/evidence/mutation.md.
Ready-made tools were looked at: mutmut does not draw a sample and cosmic-ray runs one test
command, in a new process, for every change, which takes minutes where this takes seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import queue
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evidence.mutation.notes import NOTES
from evidence.mutation.runs import (
    BUDGET,
    PACKAGE,
    ROOT,
    USUAL,
    Copy,
    Tests,
    digest,
    measured,
    test_files,
)
from evidence.mutation.sites import Site, sites
from evidence.mutation.worker import SLOW

PAGE = ROOT / "docs" / "evidence" / "mutation.md"
RESULT = ROOT / "evidence" / "mutation" / "results.json"
SEED, COUNT = 13, 320
CRITICAL = (
    "mechanisms/*.py", "releases/*.py", "exact/*.py", "ledger/*.py", "accounting/*.py",
    "lattice.py",
)  # fmt: skip
HOUR = 3600
KILLED, OVERTIME, SURVIVED = "killed", "took too long", "survived"
Row = dict[str, Any]


def modules(root: Path = ROOT) -> list[str]:
    """The modules that are changed, by their paths under the package."""
    package = root / PACKAGE
    found = (path for pattern in CRITICAL for path in package.glob(pattern))
    return sorted(path.relative_to(package).as_posix() for path in found)


def population(root: Path = ROOT) -> list[Site]:
    """All changes, in a fixed order."""
    return [site for module in modules(root) for site in sites(root / PACKAGE, module)]


def sampled(every: Sequence[Site], seed: int, count: int) -> list[Site]:
    """A random sample in which a change of the code elsewhere leaves the others in their places.

    Those with the smallest hashes of seed and name: every site is as likely as any other.
    """
    lots = {site.key: hashlib.sha256(f"{seed}:{site.key}".encode()).digest() for site in every}
    drawn = sorted(every, key=lambda site: lots[site.key])[:count]
    return sorted(drawn, key=lambda site: (site.module, site.line, site.start))


def verdict(site: Site, found: dict[str, Any], stage: str) -> Row:
    """What a run of tests says about a change."""
    failed = found["failed"][:1]
    row = {
        "key": site.key, "module": site.module, "line": site.line, "inside": site.inside,
        "kind": site.kind, "change": site.text, "stage": stage,
    }  # fmt: skip
    if found["code"] == SLOW:
        return {**row, "verdict": OVERTIME, "by": failed[0] if failed else ""}
    if found["code"] == 0:
        return {**row, "verdict": SURVIVED, "by": ""}
    # Without a test the change broke the import of the tests, or the process.
    return {**row, "verdict": KILLED, "by": failed[0] if failed else "import"}


def tried(copy: Copy, tests: Tests, site: Site) -> Row:
    """Put one change to the tests that run its lines."""
    began = time.monotonic()
    chosen = tests.within(tests.of(site), BUDGET)
    found: dict[str, Any] = {"code": 0, "failed": []}
    with copy.changed([site]):
        for patience in (1, 4):
            # A test that takes long gets a second chance: the machine may be busy.
            if chosen and found["code"] in (0, SLOW):
                found = copy.run(tests, chosen, patience=patience)
            if found["code"] != SLOW:
                break
    seconds = round(time.monotonic() - began, 1)
    row = verdict(site, found, "lines")
    return {**row, "tests": len(chosen), "seconds": seconds, "patience": patience}


def apart(several: Sequence[Site]) -> list[list[Site]]:
    """Groups of changes that do not overlap, as few as a greedy look finds."""
    groups: list[list[Site]] = []
    for site in several:
        for group in groups:
            if not any(
                site.module == other.module and site.start < other.end and other.start < site.end
                for other in group
            ):
                group.append(site)
                break
        else:
            groups.append([site])
    return groups


def all_tests(copies: Sequence[Copy], tests: Tests) -> list[str]:
    """Tests that fail now and did not before, each file in a process of its own."""
    free: queue.Queue[Copy] = queue.Queue()
    for copy in copies:
        free.put(copy)

    def failing(file: str) -> list[str]:
        copy = free.get()
        try:
            found = copy.order(files=[file], limits=None, first=False, seconds=HOUR)
        finally:
            free.put(copy)
        own = [test for test in tests.seconds if test.startswith((f"{file}::", f"{file}/"))]
        # Where it did not come to its end all its tests are asked again, one change at a time.
        return [*(own if found["code"] not in (0, 1) else ()), *found["failed"]]

    with ThreadPoolExecutor(len(copies)) as pool:
        several = pool.map(failing, test_files(copies[0].tree))
        failed = dict.fromkeys(test for file in several for test in file)
    return [test for test in failed if test not in tests.failing]


def together(
    copies: Sequence[Copy], tests: Tests, several: Sequence[Site], told: Callable[[Row], None]
) -> None:
    """Put all that survived to all tests at once, and find out whom each failure is due to."""
    copy = copies[0]
    for group in apart(several):
        left = list(group)
        with contextlib.ExitStack() as changed:
            for each in copies:
                changed.enter_context(each.changed(left))
            failed = all_tests(copies, tests)
        if failed:
            anyway = set(copy.run(tests, failed, first=False)["failed"])
            failed = [test for test in failed if test not in anyway]
        print(f"{len(left)} at once: {len(failed)} tests fail", flush=True)
        while failed:
            caught = []
            chosen = sorted(failed, key=lambda test: tests.seconds.get(test, USUAL))
            for site in left:
                with copy.changed([site]):
                    row = verdict(site, copy.run(tests, chosen), "all tests")
                if row["verdict"] != SURVIVED:
                    caught.append(site)
                    told(row)
            left = [site for site in left if site not in caught]
            if not caught:
                print(f"No change alone makes these fail: {failed[:5]}", flush=True)
                break
            # What passed with all of them is not asked about the rest of them again.
            with copy.changed(left):
                found = copy.run(tests, chosen, first=False)
            failed = found["failed"] if found["code"] in (0, 1, SLOW) else chosen
            print(f"{len(left)} at once: {len(failed)} tests fail", flush=True)


def settled(row: Row | None) -> bool:
    """Whether a change need not be tried again: tests that are new may notice what survived.

    What has an explanation goes on to all tests, the new ones among them.
    """
    if row is None:
        return False
    if row["verdict"] == SURVIVED:
        return row["key"] in NOTES
    return row["verdict"] == KILLED or row.get("patience", 0) > 1


class Book:
    """What was found so far, on disk."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, dict[str, Row]()
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(json.loads(line))

    def _take(self, row: Row) -> None:
        self.rows[row["key"]] = {**self.rows.get(row["key"], {}), **row}

    def tell(self, row: Row) -> None:
        self._take(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{row['verdict']:13} {row.get('seconds', 0):6} s  {row['module']}:{row['line']}  "
              f"{row['change'][:90]}  {row['by'][-60:]}", flush=True)  # fmt: skip


def study(
    sample: Sequence[Site], folder: Path, jobs: int = 1, budget: float = BUDGET
) -> dict[str, Row]:
    """A row for each change of a sample."""
    book = Book(folder / "rows.jsonl")
    copies = [Copy(folder / f"copy-{at}") for at in range(jobs)]
    try:
        tests = measured(copies[0], modules(), folder / "tests.json")
        if tests.failing:
            print(f"Fail without any change: {sorted(tests.failing)}", flush=True)
        free: queue.Queue[Copy] = queue.Queue()
        for copy in copies:
            free.put(copy)

        def work(site: Site) -> Row:
            copy = free.get()
            try:
                return tried(copy, tests, site)
            finally:
                free.put(copy)

        ahead = [site for site in sample if not settled(book.rows.get(site.key))]
        with ThreadPoolExecutor(jobs) as pool:
            for row in pool.map(work, ahead):
                book.tell(row)
        left = [site for site in sample if book.rows[site.key]["verdict"] == SURVIVED]
        together(copies, tests, left, book.tell)
    finally:
        for copy in copies:
            copy.close()
    return {site.key: book.rows[site.key] for site in sample}


def results_of(rows: dict[str, Row], seed: int, total: dict[str, int]) -> dict[str, Any]:
    """What is written down: nothing about the machine."""
    kept = ("module", "line", "inside", "kind", "change", "verdict", "stage", "by", "key")
    return {
        "seed": seed,
        "source": digest(ROOT, [PACKAGE]),
        "sites": total,
        "mutants": [{key: row[key] for key in kept} for row in rows.values()],
    }


def unexplained(results: dict[str, Any]) -> list[Row]:
    """What no test noticed and nobody explained."""
    return [
        row for row in results["mutants"] if row["verdict"] == SURVIVED and row["key"] not in NOTES
    ]


def table(kind: str, results: dict[str, Any]) -> str:
    """One of the tables of the page."""
    rows = results["mutants"]
    if kind == "modules":
        head = ("module", "changes there are", "tried", "noticed by tests of the line",
                "noticed by other tests", "took too long", "survived, explained")  # fmt: skip
        lines = []
        for module in [*results["sites"], ""]:
            own = [row for row in rows if module in (row["module"], "")]
            counts = (
                sum(results["sites"].values()) if not module else results["sites"][module],
                len(own),
                sum(row["verdict"] == KILLED and row["stage"] == "lines" for row in own),
                sum(row["verdict"] == KILLED and row["stage"] == "all tests" for row in own),
                sum(row["verdict"] == OVERTIME for row in own),
                sum(row["verdict"] == SURVIVED and row["key"] in NOTES for row in own),
            )
            name = f"`{module}`" if module else "**all**"
            lines.append((name, *(f"{count:,}" for count in counts)))
    elif kind == "survivors":
        head = ("where", "change", "why no test can notice")
        lines = [
            (_where(row), f"`{_plain(row['change'])}`", NOTES[row["key"]])
            for row in rows
            if row["verdict"] == SURVIVED and row["key"] in NOTES
        ]
    else:
        head = ("where", "mistake", "change", "noticed by")
        lines = [
            (_where(row), row["kind"], f"`{_plain(row['change'])}`", _noticed(row)) for row in rows
        ]
    ruler = "|".join("---" for _ in head)
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"| {' | '.join(head)} |\n|{ruler}|\n{body}\n"


def _where(row: Row) -> str:
    return f"`{row['module']}` {row['inside']}, line {row['line']}".replace(" ,", ",")


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


def _noticed(row: Row) -> str:
    if row["verdict"] == SURVIVED:
        return "nothing: see above"
    name = row["by"].rpartition("/")[2].partition("[")[0] or "time"
    return f"{_plain(name)}{' (time)' if row['verdict'] == OVERTIME else ''}"


def filled(page: str, results: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    for kind in ("modules", "survivors", "mutants"):
        marked = rf"(<!-- {kind} -->\n).*?(<!-- end -->)"
        text = table(kind, results)
        page = re.sub(marked, lambda m, text=text: m[1] + text + m[2], page, flags=re.DOTALL)
    tried = len(results["mutants"])
    return re.sub(r"seed \d+, [\d,]+ changes", f"seed {results['seed']}, {tried:,} changes", page)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--jobs", type=int, default=1)
    default = Path(tempfile.gettempdir()) / "confide-mutation"
    parser.add_argument("--folder", type=Path, default=default)
    options = parser.parse_args(argv)
    options.folder.mkdir(parents=True, exist_ok=True)
    every = population()
    total = {name: sum(site.module == name for site in every) for name in modules()}
    sample = sampled(every, options.seed, options.count)
    results = results_of(study(sample, options.folder, options.jobs), options.seed, total)
    RESULT.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(filled(PAGE.read_text(), results))
    left = unexplained(results)
    for row in left:
        print(f"Unexplained: {row['key']} {_where(row)}: {row['change']}")
    return int(bool(left))
