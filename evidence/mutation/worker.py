"""Runs chosen tests, again and again, each time in a fork that has not imported confide yet.

What takes long to import is imported once, before the forks. Orders come as JSON on standard input,
a line each, and answers go to standard output. Started by `evidence.mutation.runs`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HEAVY = (
    "numpy", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.sparse.linalg", "scipy.fft",
    "pandas", "pyarrow", "pyarrow.parquet", "pyarrow.csv", "sklearn.linear_model",
    "sklearn.utils.estimator_checks", "hypothesis", "matplotlib.pyplot", "rich.console", "typer",
    "sqlite3",
)  # fmt: skip
"""Imported before the forks; nothing that starts threads when it is imported."""
MEMORY = 12 * 2**30
"""Bytes that a fork may use: a mistake may ask for any number."""
START, GRACE = 300.0, 15.0
"""Seconds for finding the tests, and beyond a limit for a process to end itself."""
SLOW = 99
"""Exit code of a fork whose test took too long."""
OPTIONS = ("-p", "no:xdist", "-p", "no:randomly", "-q", "--no-header", "--tb=no", "-W", "ignore")


class Chosen:
    """Keeps chosen tests, the shortest first, and ends the process when one takes too long.

    Parameters
    ----------
    limits
        Tests that are kept, in order, with the seconds that each may take; None keeps all.
    measured
        Lines that are run are noted for each test, of files under this folder.
    progress
        Where the test that runs is noted, with its limit: whoever waits ends a process that does
        not end itself.
    """

    def __init__(
        self, limits: dict[str, float] | None, measured: str | None, progress: Path
    ) -> None:
        self.limits, self.progress = limits, progress
        self.failed: list[str] = []
        self.slow = ""
        self.seconds: dict[str, float] = {}
        self.coverage: Any = None
        if measured:
            import coverage

            self.coverage = coverage.Coverage(data_file=None, include=[f"{measured}/*"])
            self.coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.limits is not None:
            order = {name: at for at, name in enumerate(self.limits)}
            items[:] = sorted((each for each in items if each.nodeid in order),
                              key=lambda each: order[each.nodeid])  # fmt: skip

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        if self.coverage:
            self.coverage.switch_context(item.nodeid)
        if self.limits is not None:
            self.slow, limit = item.nodeid, self.limits[item.nodeid]
            self.progress.write_text(json.dumps([item.nodeid, limit]))
            signal.setitimer(signal.ITIMER_REAL, limit)
        began = time.monotonic()
        yield
        self.seconds[item.nodeid] = time.monotonic() - began
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.coverage:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def lines(self) -> dict[str, dict[str, list[int]]]:
        """Lines that each test ran, by file."""
        self.coverage.stop()
        data, found = self.coverage.get_data(), dict[str, dict[str, list[int]]]()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    if test:
                        found.setdefault(test, {}).setdefault(file, []).append(line)
        return found


def run(order: dict[str, Any], answer: Path) -> int:
    """Run what was ordered, in this process, and write down what came of it."""
    from hypothesis import settings

    settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutation")
    progress = answer.with_suffix(".progress")
    plugin = Chosen(order.get("limits"), order.get("measured"), progress)

    def give_up(*_: Any) -> None:
        answer.write_text(json.dumps({"code": SLOW, "failed": [plugin.slow]}))
        os._exit(SLOW)

    signal.signal(signal.SIGALRM, give_up)
    options = [*OPTIONS, *(["-x"] if order["first"] else [])]
    code = int(pytest.main([*options, *order["files"]], plugins=[plugin]))
    found = {"code": code, "failed": plugin.failed, "seconds": plugin.seconds}
    answer.write_text(json.dumps({**found, "lines": plugin.lines()} if plugin.coverage else found))
    return code


def forked(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same in a fork, which is killed when its time is over."""
    answer, log = folder / f"answer-{os.getpid()}.json", folder / f"log-{os.getpid()}.txt"
    progress = answer.with_suffix(".progress")
    answer.unlink(missing_ok=True)
    progress.write_text(json.dumps(["", START if order.get("limits") else order["seconds"]]))
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        sys.dont_write_bytecode = not order.get("warm", False)
        try:
            code = run(order, answer)
        except BaseException:
            import traceback

            traceback.print_exc()
            code = 3
        sys.stdout.flush()
        os._exit(code)
    ends = time.monotonic() + order["seconds"]
    pid, status, running = 0, 0, ("", 0.0)
    while time.monotonic() < ends and not pid:
        pid, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.02)
        with contextlib.suppress(ValueError):
            running = json.loads(progress.read_text())
        # A long step of arithmetic does not listen to alarms.
        if time.time() - progress.stat().st_mtime > running[1] + GRACE:
            break
    with contextlib.suppress(ProcessLookupError):
        # What tests may have left running goes too.
        os.killpg(child, signal.SIGKILL)
    if not pid:
        os.waitpid(child, 0)
        return {"code": SLOW, "failed": [running[0]] if running[0] else []}
    if answer.exists():
        return dict(json.loads(answer.read_text()))
    return {"code": os.waitstatus_to_exitcode(status), "failed": []}


def main() -> None:
    folder = Path(sys.argv[1])
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert "confide" not in sys.modules
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(forked(json.loads(line), folder)), flush=True)


if __name__ == "__main__":
    main()
