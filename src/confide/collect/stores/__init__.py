"""Where reports are kept: a SQLite file or a PostgreSQL database, by one interface."""

from __future__ import annotations

from pathlib import Path

from confide import _checks
from confide.collect.stores.identity import Identity
from confide.collect.stores.postgres import SCHEMES, PostgresStore
from confide.collect.stores.sqlite import SqliteStore
from confide.collect.stores.store import Store
from confide.questions import Questionnaire

__all__ = ["Store", "has_password", "opened"]


def opened(
    address: str | Path, survey: Questionnaire, *, create: bool, cap: int | None = None
) -> Store:
    """The store of a survey.

    Parameters
    ----------
    address
        The path of a file, or a PostgreSQL database: ``postgresql://user@host/database``. A
        database can hold several stores. Name one after a ``#``:
        ``postgresql://user@host/database#staff``.
    survey
        The survey. A store that was made for another one, or for another wording, is refused.
    create
        Make the store if there is none.
    cap
        For a survey that takes anybody, without invitations: how many it takes at most. A store
        keeps the one it was made with.

    Examples
    --------
    >>> import tempfile
    >>> survey = Questionnaire.from_dict(
    ...     {"questions": {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = opened(f"{folder.name}/answers.db", survey, create=True)
    >>> store.invite([bytes(32)], {"": 1})
    >>> store.status()
    Status(closed=False, invited={'': 1}, answered={}, asked={})
    >>> store.shut()
    >>> folder.cleanup()
    """
    if cap is not None:
        cap = _checks.integer(1, cap=cap)
    identity = Identity.of(survey, cap)
    if str(address).startswith(SCHEMES):
        return PostgresStore(str(address), identity, create=create)
    return SqliteStore(Path(address), identity, create=create)


def has_password(address: str | Path) -> bool:
    """Whether the address of a store contains a password, which must not be shown.

    Examples
    --------
    >>> has_password("postgresql://ann:secret@host/staff"), has_password("survey.reports")
    (True, False)
    """
    if not str(address).startswith(SCHEMES):
        return False
    place, _, settings = str(address).partition("?")
    user, at, _ = place.partition("://")[2].rpartition("@")
    return bool(at and ":" in user) or "password=" in settings
