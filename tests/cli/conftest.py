"""Every command runs in an empty folder of its own."""

from __future__ import annotations

from multiprocessing import forkserver
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def forks() -> None:
    """A process that has imported what most commands need, and of which copies are quick."""
    forkserver.set_forkserver_preload(["confide.cli.privatize", "confide.streams"])
    forkserver.ensure_running()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a test runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
