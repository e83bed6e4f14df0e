"""A copy of the tree, workers that run tests in it, and which tests run which lines."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.mutation.sites import Site

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "src/confide"
SKIPPED = {"tests/evidence/test_mutation.py", "tests/spark"}
"""The test of this study itself, and what needs another environment."""
NEAR = (PACKAGE, "tests/unit", "tests/contract")
"""Tests of which it is known what lines they run; the others only run for what survives these."""
NOT_COPIED = (".git", ".venv*", "site", "__pycache__", ".mypy_cache", ".ruff_cache", "*.egg-info",
              ".import_linter_cache", ".hypothesis", "build", "dist")  # fmt: skip
BUDGET = 60.0
"""Seconds of tests that a change is put to, the shortest first; survivors meet all of them."""


def allowed(seconds: float) -> float:
    """What a test may take that took so long without a change: other work may slow it down."""
    return 5 * seconds + 20


USUAL = 30.0
"""Seconds that a test is taken to need whose time is not known."""


@dataclass
class Tests:
    """What is known of the tests: how long each takes and which lines of the package it runs."""

    __test__ = False  # not one of pytest's own

    seconds: dict[str, float]
    lines: dict[str, dict[str, set[int]]]
    failing: set[str]

    def of(self, site: Site) -> list[str]:
        """Tests that run the lines of a change, the shortest first.

        What runs at import is run by all tests that run anything of the module.
        """
        wanted = set(range(site.line, site.last + 1))
        touching = {test: files[site.module] for test, files in self.lines.items()
                    if site.module in files}  # fmt: skip
        chosen = [test for test, lines in touching.items() if lines & wanted]
        if site.imported or not chosen:
            chosen = list(touching)
        return sorted((test for test in chosen if test not in self.failing),
                      key=lambda test: self.seconds[test])  # fmt: skip

    def within(self, tests: Sequence[str], budget: float) -> list[str]:
        """As many of the tests as fit into a number of seconds, at least one."""
        kept: list[str] = []
        for test in tests:
            budget -= self.seconds[test]
            if budget < 0 and kept:
                break
            kept.append(test)
        return kept


def files_of(tests: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))


class Copy:
    """A copy of the tree with a worker in it.

    Parameters
    ----------
    folder
        Where the copy goes; it is made anew.
    root
        What is copied.
    """

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.tree, self.folder = folder / "tree", folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copytree(root, self.tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self.package = self.tree / PACKAGE
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(self.package)], check=True)
        paths = [str(self.tree / "src"), str(self.tree)]
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0",
        }  # fmt: skip
        self.worker = subprocess.Popen(
            [sys.executable, "-m", "evidence.mutation.worker", str(folder)],
            cwd=self.tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.worker.stdout is not None
        if self.worker.stdout.readline().strip() != "ready":
            raise RuntimeError("the worker did not start")

    def close(self) -> None:
        assert self.worker.stdin is not None
        self.worker.stdin.close()
        self.worker.wait()

    def order(self, **order: Any) -> dict[str, Any]:
        """Have the worker run something."""
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        self.worker.stdin.write(json.dumps(order) + "\n")
        self.worker.stdin.flush()
        return dict(json.loads(self.worker.stdout.readline()))

    @contextlib.contextmanager
    def changed(self, sites: Sequence[Site]) -> Iterator[None]:
        """The tree with changes in it, which must not overlap."""
        before: dict[Path, tuple[bytes, os.stat_result]] = {}
        # From the end of a file to its start, so that places stay where they are.
        for site in sorted(sites, key=lambda each: (each.module, -each.start)):
            path = self.package / site.module
            if path not in before:
                before[path] = (path.read_bytes(), path.stat())
            path.write_bytes(site.applied(path.read_bytes()))
        for path, (_, status) in before.items():
            # Compiled files go by the time of the source, which must be another one.
            os.utime(path, (status.st_atime, status.st_mtime + 1000))
        try:
            yield
        finally:
            for path, (source, status) in before.items():
                path.write_bytes(source)
                os.utime(path, (status.st_atime, status.st_mtime))

    def run(
        self, tests: Tests, chosen: Sequence[str], *, first: bool = True, patience: int = 1
    ) -> dict[str, Any]:
        """Run chosen tests in their order; stop at the first failure, or go on."""
        limits = {test: patience * allowed(tests.seconds.get(test, USUAL)) for test in chosen}
        return self.order(
            files=files_of(chosen), limits=limits, first=first, seconds=60 + sum(limits.values())
        )


def test_files(root: Path) -> list[str]:
    """What a run of all tests is made of: the files, and the package with its examples."""
    found = sorted(str(path.relative_to(root)) for path in (root / "tests").rglob("test_*.py"))
    kept = [each for each in found if not any(each.startswith(skip) for skip in SKIPPED)]
    return [PACKAGE, *sorted(kept, key=lambda each: not each.startswith(NEAR))]


def digest(root: Path, paths: Sequence[str]) -> str:
    """A name of what files hold."""
    total = hashlib.sha256()
    for name in sorted(paths):
        path = root / name
        for each in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            total.update(each.relative_to(root).as_posix().encode() + each.read_bytes())
    return total.hexdigest()[:16]


def measured(copy: Copy, modules: Sequence[str], kept: Path) -> Tests:
    """Which test runs which lines, and for how long; files that have not changed are not run again.

    Each file of tests runs in a process of its own, so that nothing is remembered from another.
    """
    known = json.loads(kept.read_text()) if kept.exists() else {}
    source = digest(copy.tree, [f"{PACKAGE}/{name}" for name in modules])
    if known.get("source") != source:
        known = {"source": source, "files": {}}
    tests = Tests({}, {}, set())
    for file in test_files(copy.tree):
        if not file.startswith(NEAR):
            continue
        own = digest(copy.tree, [file])
        entry = known["files"].get(file)
        if entry is None or entry["digest"] != own:
            found = copy.order(
                files=[file], first=False, seconds=3600, measured=str(copy.package), warm=True
            )
            entry = {"digest": own, **found, "lines": _relative(found, copy.package)}
            known["files"][file] = entry
            kept.write_text(json.dumps(known))
            print(f"{file}: {len(found.get('seconds', {}))} tests, code {found['code']}, "
                  f"{sum(found.get('seconds', {}).values()):.0f} s", flush=True)  # fmt: skip
        tests.seconds |= entry.get("seconds", {})
        tests.failing |= set(entry.get("failed", ()))
        for test, files in entry["lines"].items():
            some = {name: set(lines) for name, lines in files.items() if name in modules}
            if some:
                tests.lines[test] = some
    return tests


def _relative(found: dict[str, Any], package: Path) -> dict[str, dict[str, list[int]]]:
    """Lines by paths under the package."""
    return {
        test: {Path(name).relative_to(package).as_posix(): lines for name, lines in files.items()}
        for test, files in found.get("lines", {}).items()
    }
