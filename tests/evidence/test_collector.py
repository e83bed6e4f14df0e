"""A thinned run of the collector's study: kills, races, faults, and mutants that must be caught."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from evidence.collector import faults, hostile, kills, races, refresh, study
from evidence.collector.database import ADDRESS, database, wanted
from evidence.collector.server import EARLY, LOCKLESS, UNLOCKED

STORES = ("sqlite", "postgres")


@pytest.fixture(params=STORES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "a.db")
    made: Callable[[], str] = request.getfixturevalue("postgres")
    return made()


def test_what_was_acknowledged_outlives_a_kill(address: str) -> None:
    found = kills.kills(address, "", 2, seed=1)
    assert kills.wrong(found) == 0
    assert found["unanswered"] > 0
    assert found["reports"] == found["acknowledged"] == 3 * kills.NEW


def test_what_was_acknowledged_outlives_a_kill_while_others_come_and_go(address: str) -> None:
    found = kills.kills(address, "", 1, seed=1, visited=True)
    assert kills.wrong(found) == 0
    assert found["visits"] >= 4
    assert found["reports"] == found["acknowledged"] == 2 * kills.NEW


def test_bad_input_at_a_rate_keeps_nobody_out(address: str) -> None:
    found = hostile.hostile(address, 1.0)
    assert hostile.wrong(found) == 0
    assert found["answered"] == hostile.PEOPLE
    assert all(found["statuses"].values())


def test_racing_uploads_are_stored_once(address: str) -> None:
    assert races.wrong(races.races(address, "", 3)) == 0


def test_a_refresh_does_not_count_again(address: str) -> None:
    # That the counts are right is checked inside; what they cost is measured by the study.
    assert refresh.refresh(address, 4000)["reports"] == 4000


def test_mutants_are_caught(tmp_path: Path) -> None:
    assert kills.kills(str(tmp_path / "a.db"), EARLY, 1, seed=1)["lost"] > 0
    assert kills.kills(str(tmp_path / "c.db"), LOCKLESS, 1, seed=1, visited=True)["lost"] > 0
    assert races.wrong(races.races(str(tmp_path / "b.db"), UNLOCKED, 3)) > 0


def test_a_full_disk_is_got_over() -> None:
    with faults.small_disk() as disk:
        if disk is None:
            pytest.skip("nothing can be mounted here")
        assert faults.wrong(faults.sqlite_full(disk)) == 0


@pytest.mark.skipif(wanted() is not None, reason=f"no PostgreSQL of our own, {ADDRESS} or not")
def test_a_database_that_was_gone_is_got_over() -> None:
    with database() as server:
        assert faults.wrong(faults.postgres_gone(server)) == 0


def test_the_record_has_every_case_and_nothing_wrong() -> None:
    rows = json.loads(study.RESULTS.read_text())["rows"]
    cases = {(row["case"], row["store"]) for row in rows if not row["mutant"]}
    everywhere = [case for case in study.CASES if case != "database gone"]
    both = {(case, store) for case in everywhere for store in STORES}
    assert cases == both | {("database gone", "postgres")}
    assert study.right(rows)
    assert all(row["kills"] >= 50 for row in rows if "kills" in row and not row["mutant"])
