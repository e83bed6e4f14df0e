"""The second phase begins by itself: by count and by date, once, whatever is killed meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import os
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.collect import Client, Refused, verify
from confide.collect import moving as module
from confide.collect.client import fetch
from confide.collect.exports import export
from confide.collect.invitations import Invitation, Signer, cell, link, phase_of, uncell
from confide.collect.moving import Moving, first_answered, second_in
from confide.collect.people import invited
from confide.collect.stores import opened
from confide.collect.stores.identity import document_of
from confide.collect.stores.store import Store
from confide.collect.summing import summarized
from confide.collect.wire import Entry, Reader, body, second_of, served, survey_of
from confide.errors import InvalidInput, Mismatch
from confide.estimators.next_phase import next_phase
from confide.questions import Questionnaire
from confide.results import estimate

from .running import KEY, running

FIELDS: dict[str, Any] = {
    "epsilon": 10.0,
    "groups": ["region"],
    "questions": {
        "pay": {"low": 0, "high": 1000, "size": 64},
        "smokes": {"categories": ["n", "y"]},
    },
}
N = 1100


def made(**phases: Any) -> Questionnaire:
    return Questionnaire.from_dict({**FIELDS, "phases": phases or {"after": 1000}})


def entries(survey: Questionnaire, found: Sequence[Invitation], *, seed: int) -> list[Entry]:
    """Uploads of people, who are all near 300."""
    draw = np.random.default_rng(seed)
    pay = survey.mechanisms["pay"].simulate(draw.normal(300, 8, len(found)), seed=seed).indices
    return [
        Entry(
            invitation=one.hash,
            receipt=secrets.token_bytes(32),
            tie=secrets.token_bytes(32),
            cell=one.cell,
            reports=json.dumps({"pay": int(report), "smokes": 0}, separators=(",", ":")),
        )
        for one, report in zip(found, pay, strict=True)
    ]


def filled(store: Store, survey: Questionnaire, *, n: int = N, phase: int = 1) -> list[str]:
    """Invite people of both phases, and let ``n`` of one answer; tokens of 3 more of each."""
    signer = Signer(KEY, survey)
    tokens = [signer.mint(["north"], phase=at) for at in [phase] * n + [1] * 3 + [2] * 3]
    found = [one for token in tokens if (one := signer.read(token))]
    store.invite([one.hash for one in found], invited(found, survey))
    store.put(entries(survey, found[:n], seed=n))
    return tokens[n:]


def moved(store: Store, survey: Questionnaire) -> Questionnaire:
    """Look until the second phase has begun."""
    moving = Moving(store, survey)
    until = time.monotonic() + 120
    while moving.second() is None and time.monotonic() < until:
        moving.look(store.status())
        time.sleep(0.05)
    found = moving.second()
    assert found is not None
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "s.reports")
    start: Callable[[], str] = request.getfixturevalue("postgres")
    return start()


def test_cells_tell_the_phase() -> None:
    for groups in ((), ("north",), ("1", "2")):
        for phase in (None, 1, 2):
            text = cell(groups, phase)
            assert (uncell(text), phase_of(text)) == (groups, phase)


def test_tokens_tell_the_phase() -> None:
    survey = made()
    signer = Signer(KEY, survey)
    for phase in (1, 2):
        found = signer.read(signer.mint(["north"], phase=phase))
        assert found is not None
        assert found.phase == phase
    for wrong in (None, 0, 3, True, "1"):
        with pytest.raises(InvalidInput, match="the phase of each person"):
            signer.mint(["north"], phase=wrong)  # type: ignore[arg-type]
    plain = Questionnaire.from_dict(FIELDS)
    with pytest.raises(InvalidInput, match="no phase"):
        Signer(KEY, plain).mint(["north"], phase=1)


def test_it_moves_on_once_and_by_count(address: str) -> None:
    survey = made()
    store = opened(address, survey, create=True)
    filled(store, survey, n=999)
    moving = Moving(store, survey)
    moving.look(store.status())
    assert moving._work is None
    before = store.document()
    assert second_in(before, survey) is None
    # People of the second phase who answered would not count.
    assert first_answered(store.status()) == 999
    filled(store, survey, n=101)
    pilot = summarized(survey, store.tallies(), store.status().invited)
    second = moved(store, survey)
    # A function of the first phase's reports alone.
    assert second == Questionnaire.from_dict(next_phase(survey, pilot))
    start, end = second.questions["pay"].axis.zoom  # type: ignore[union-attr]
    assert 200 < start < 290
    assert 310 < end < 400
    # Late reports of the first phase count there, and change nothing.
    filled(store, survey, n=50)
    assert moved(store, survey) == second
    other = json.dumps({**json.loads(before), "title": "another"})
    store.advance(before, other)
    assert second_in(store.document(), survey) == second
    status = store.status()
    both = summarized(survey, store.tallies(), status.invited, second=second)
    assert both["pay"].n == 1150
    store.shut()
    # The store is opened by the survey of the first phase, then as before.
    again = opened(address, survey, create=False)
    assert Moving(again, survey).second() == second
    again.shut()
    changed = Questionnaire.from_dict({**survey.to_dict(), "title": "Another"})
    with pytest.raises(
        Mismatch, match=r'another wording: title \(none in the store, "Another" now\)\.'
    ):
        opened(address, changed, create=False)


def test_it_moves_on_by_date(tmp_path: Path) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    survey = made(until=soon)
    store = opened(tmp_path / "s.reports", survey, create=True)
    filled(store, survey, n=5)
    moving = Moving(store, survey)
    moving.look(store.status())
    assert moving._work is None
    time.sleep(1)
    second = moved(store, survey)
    # Too few to tell where people are: the same cells as before.
    assert second.mechanisms == survey.mechanisms
    assert second.worded != survey.worded
    store.shut()


def test_it_does_not_move_on_after_the_end(address: str) -> None:
    survey = made()
    store = opened(address, survey, create=True)
    before = store.document()
    store.close()
    store.advance(before, before.replace('"now":1', '"now":2'))
    assert store.document() == before
    store.shut()


def _advance(address: str, before: str, now: str, ready: Any, go: Any) -> None:
    survey = made()
    store = opened(address, survey, create=False)
    ready.release()
    go.wait()
    store.advance(before, now)
    store.shut()


def test_two_processes_agree(address: str) -> None:
    survey = made()
    store = opened(address, survey, create=True)
    before = store.document()
    pilot = json.loads(before)
    several = []
    for low in (100, 200, 300, 400):
        own = {**pilot, "phases": {**pilot["phases"], "now": 2}}
        pay = {**pilot["questions"]["pay"], "scale": "zoom", "zoom": [low, low + 100]}
        own["questions"] = {**pilot["questions"], "pay": pay}
        several.append(json.dumps(own))
    context = multiprocessing.get_context("spawn")
    ready, go = context.Semaphore(0), context.Event()
    work = [
        context.Process(target=_advance, args=(address, before, now, ready, go)) for now in several
    ]
    for one in work:
        one.start()
    for _ in work:
        assert ready.acquire(timeout=120)
    go.set()
    for one in work:
        one.join(60)
        assert one.exitcode == 0
    found = store.document()
    assert found in several
    assert second_in(found, survey) is not None
    store.shut()


def test_the_first_of_two_servers_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have worked out cells of their own before either looks again."""
    survey, place = made(), str(tmp_path / "s.reports")
    stores = [opened(place, survey, create=create) for create in (True, False)]
    filled(stores[0], survey)
    several = [Moving(store, survey) for store in stores]
    for one, work in zip(several, (_first, _other), strict=True):
        monkeypatch.setattr(module, "_next", work)
        one.look(stores[0].status())
    until = time.monotonic() + 120
    while not all(one._work and one._work.done() for one in several) and time.monotonic() < until:
        time.sleep(0.05)
    for one in several:
        one.look(stores[0].status())
    kept = second_in(stores[0].document(), survey)
    assert kept is not None
    assert kept.questions["pay"].axis.zoom == (100.0, 200.0)  # type: ignore[union-attr]
    assert [one.second() for one in several] == [kept, kept]
    for one, store in zip(several, stores, strict=True):
        one.end()
        store.shut()


def _zoomed(survey: Questionnaire, low: float) -> str:
    fields = survey.to_dict()
    fields["phases"] = {**fields["phases"], "now": 2}
    fields["questions"]["pay"] |= {"scale": "zoom", "zoom": [low, low + 100]}
    return document_of(Questionnaire.from_dict(fields))


def _first(survey: Questionnaire, *_: Any) -> str:
    return _zoomed(survey, 100)


def _other(survey: Questionnaire, *_: Any) -> str:
    return _zoomed(survey, 200)


def test_the_store_does_not_decide_what_is_asked(tmp_path: Path) -> None:
    survey, path = made(), tmp_path / "s.reports"
    store = opened(path, survey, create=True)
    other = {**survey.to_dict(), "title": "Another", "epsilon": 16.0}
    other["questions"] = FIELDS["questions"]
    other["phases"] = {**other["phases"], "now": 2}
    moving = Moving(store, survey)
    store.advance(store.document(), json.dumps(Questionnaire.from_dict(other).to_dict()))
    with pytest.raises(Mismatch, match=r"got another survey\. Something else wrote to the store"):
        moving.look(store.status())
    assert moving.second() is None
    with pytest.raises(Mismatch, match="another survey"):
        Moving(store, survey)
    store.shut()


def _slow(*_: Any) -> str:
    time.sleep(600)
    return ""


def _look(address: str, begun: Any) -> None:
    survey = made()
    store = opened(address, survey, create=False)
    module._next = _slow
    moving = Moving(store, survey)
    while True:
        moving.look(store.status())
        if moving._work is not None:
            begun.set()
        time.sleep(0.05)


def test_killed_while_it_moves(address: str) -> None:
    survey = made()
    store = opened(address, survey, create=True)
    filled(store, survey)
    before = store.document()
    context = multiprocessing.get_context("spawn")
    begun = context.Event()
    work = context.Process(target=_look, args=(address, begun))
    work.start()
    assert begun.wait(120)
    assert work.pid is not None
    os.kill(work.pid, signal.SIGKILL)
    work.join(60)
    # The old phase, as a whole; whoever comes next moves on.
    assert store.document() == before
    second = moved(store, survey)
    assert second_in(store.document(), survey) == second
    store.shut()


def test_nobody_waits_for_the_process_when_a_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python ends when all work of its pools has, and cells of many questions take minutes."""
    survey = made()
    store = opened(tmp_path / "s.reports", survey, create=True)
    filled(store, survey)
    moving = Moving(store, survey)
    monkeypatch.setattr(module, "_next", _slow)
    moving.look(store.status())
    assert moving._work is not None
    moving.end()
    assert isinstance(moving._work.exception(timeout=60), BrokenProcessPool)
    store.shut()


def _broken(*_: Any) -> str:
    os._exit(1)


def test_a_process_that_fails_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = made()
    store = opened(tmp_path / "s.reports", survey, create=True)
    filled(store, survey)
    moving = Moving(store, survey)
    monkeypatch.setattr(module, "_next", _broken)
    moving.look(store.status())
    assert moving._work is not None
    assert moving._work.exception(timeout=120) is not None
    with pytest.raises(BrokenProcessPool):
        moving.look(store.status())
    assert second_in(store.document(), survey) is None
    monkeypatch.undo()
    monkeypatch.setattr(moving, "_due", 0.0)
    until = time.monotonic() + 120
    while moving.second() is None and time.monotonic() < until:
        moving.look(store.status())
        time.sleep(0.05)
    assert moving.second() is not None
    store.shut()


def test_uploads_are_read_in_the_phase_of_their_invitation() -> None:
    survey = made()
    second = Questionnaire.from_dict(
        {
            **survey.to_dict(),
            "phases": {"after": 1000, "now": 2},
            "questions": {
                **survey.to_dict()["questions"],
                "pay": {"low": 0, "high": 1000, "size": 64, "scale": "zoom", "zoom": [250, 350]},
            },
        }
    )
    signer = Signer(KEY, survey)
    one, two = (signer.mint(["north"], phase=phase) for phase in (1, 2))
    known: list[Questionnaire] = []
    reader = Reader(survey, signer, lambda: known[0] if known else None)
    reports = {"pay": 3, "smokes": 0}

    def status(asked: Questionnaire, token: str) -> int | str:
        try:
            return reader.read(body(asked, token, bytes(16), reports)).cell
        except Refused as error:
            return error.status

    assert status(survey, one) == '["north", 1]'
    # Another process may have moved on: it is sent again.
    assert status(second, two) == 503
    assert status(survey, two) == 422
    assert status(second, one) == 422
    assert status(second, "AQ") == 404
    known.append(second)
    assert status(second, two) == '["north", 2]'
    assert status(survey, one) == '["north", 1]'
    assert status(survey, two) == 422
    assert status(second, one) == 422
    fields = served(survey, second)
    assert second_of(fields, survey_of(fields)) is not None
    # Nothing but cells may differ.
    dear = Questionnaire.from_dict({**second.to_dict(), "epsilon": 16.0})
    with pytest.raises(Mismatch, match="differs from the first in the cells"):
        second_of(served(survey, dear), survey)
    with pytest.raises(Mismatch, match="differs from the first in the cells"):
        second_of(served(survey, survey), survey)


def test_people_of_both_phases(tmp_path: Path) -> None:
    survey, path = made(), tmp_path / "s.reports"
    store = opened(path, survey, create=True)
    tokens = filled(store, survey, n=999)
    with running(survey, path, owner_port=None) as found:

        def client(at: int) -> Client:
            return Client(link(found.page, tokens[at]), folder=tmp_path / "devices")

        answers = {"pay": 300, "smokes": "n"}
        with pytest.raises(Refused, match="has not begun yet") as early:
            client(3).answer(answers)
        assert early.value.status == 425
        assert not (tmp_path / "devices").exists()
        # Draws in the first phase, and sends when it is over.
        late = client(0)
        upload = late._draw(answers)
        client(1).answer(answers)
        until = time.monotonic() + 120
        while json.loads(fetch(found.page + "survey.json"))["next"] is None:
            assert time.monotonic() < until
            time.sleep(0.2)
        client(0).answer(answers)
        assert late.drawn() == upload
        # Comes late and has drawn nothing: the phase is that of the person.
        client(2).answer(answers)
        assert client(2).survey.fingerprint == survey.fingerprint
        second = client(3).survey
        assert second.questions["pay"].axis.zoom is not None  # type: ignore[union-attr]
        client(3).answer(answers)
        client(4).answer(answers)
        assert verify(found.page, survey).holds
        assert not verify(found.page, Questionnaire.from_dict(FIELDS)).holds
    status = store.status()
    assert {phase_of(each): n for each, n in status.answered.items()} == {1: 1002, 2: 2}
    assert export(store, survey).num_rows == 1002
    assert export(store, second).num_rows == 2
    assert export(store, second).column_names == ["pay", "smokes", "region"]
    both = summarized(survey, store.tallies(), status.invited, second=second)
    results = estimate(survey, both, quick=True)
    assert results["pay"].n == 1004
    assert results["pay"]["median"].low < 300 < results["pay"]["median"].high  # type: ignore[operator]
    assert set(results["pay"].groups["region"]) == {"north"}
    store.shut()
