"""One PostgreSQL server for all tests, started when the first one asks for it."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from evidence.collector.database import ADDRESS, Database, wanted


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes addresses of stores, each of which nobody else has."""
    if given := os.environ.get(ADDRESS):
        yield lambda: f"{given}#s{secrets.token_hex(8)}"
        return
    if missing := wanted():
        pytest.skip(missing)
    # All workers of one run share it, and the last one to end deletes it.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"pid{os.getpid()}")
    folder = Path(tempfile.gettempdir()) / f"confide-postgres-{run}"
    server = Database(folder)
    yield server.address
    server.leave()
