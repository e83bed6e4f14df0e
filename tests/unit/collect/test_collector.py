"""Everything that runs while a survey is answered, as a whole."""

import base64
import hashlib
import json
import sqlite3
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from confide.collect import collector, demo, wire
from confide.collect.client import Client
from confide.collect.collector import Collector
from confide.collect.invitations import link
from confide.collect.stores import opened, sqlite
from confide.collect.stores.store import Status, Unavailable
from confide.collect.verification import verify
from confide.errors import InvalidInput
from confide.questions import Questionnaire

from .running import KEY, free_port, invited, running

PAY = {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}
SURVEY = Questionnaire.from_dict({"title": "Staff", "questions": PAY})


def get(url: str, **headers: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
        return json.loads(response.read())


def test_health_and_survey(tmp_path: Path) -> None:
    invited(SURVEY, tmp_path / "s", tmp_path, 1)
    with running(SURVEY, tmp_path / "s") as found:
        assert get(found.page + "health") == {"ready": True}
        assert wire.survey_of(get(found.page + "survey.json")) == SURVEY
        assert found.dashboard == ""


def test_a_deadline_ends_the_survey_by_itself(tmp_path: Path) -> None:
    closes = datetime.now(UTC) + timedelta(seconds=3)
    survey = Questionnaire.from_dict({"questions": PAY, "closes": closes.isoformat()})
    path = tmp_path / "s"
    one, other = invited(survey, path, tmp_path, 2)
    with running(survey, path) as found:
        Client(link(found.page, one), folder=tmp_path / "a").answer({"pay": 1})
        while datetime.now(UTC) < closes:
            time.sleep(0.05)
        assert get(found.page + "survey.json")["closed"] is True
        with pytest.raises(wire.Refused, match="ended"):
            Client(link(found.page, other), folder=tmp_path / "b").answer({"pay": 1})
        store = opened(path, survey, create=False)
        until = time.monotonic() + 10
        while not store.status().closed and time.monotonic() < until:
            time.sleep(0.05)
        assert store.status().closed
        store.shut()


def test_a_survey_that_takes_anybody_is_capped(tmp_path: Path) -> None:
    with running(SURVEY, tmp_path / "s", cap=2) as found:
        assert get(found.page + "survey.json")["invited"] is False
        for name in "ab":
            Client(found.page, folder=tmp_path / name).answer({"pay": 3})
        with pytest.raises(wire.Refused, match="as many answers as it takes"):
            Client(found.page, folder=tmp_path / "c").answer({"pay": 3})


def test_the_dashboard_needs_its_secret(tmp_path: Path) -> None:
    invited(SURVEY, tmp_path / "s", tmp_path, 3)
    with running(SURVEY, tmp_path / "s", owner_port=free_port()) as found:
        page, _, secret = found.dashboard.partition("#")
        state = get(page + "api/state", authorization=f"Bearer {secret}")
        assert (state["invited"], state["answered"]) == (3, 0)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(page + "api/state")


def test_a_page_is_verified_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    invited(SURVEY, tmp_path / "s", tmp_path, 1)
    with running(SURVEY, tmp_path / "s") as found:
        right = verify(found.page, SURVEY)
        assert right.holds
        assert "/device.js" in right.files
        other = Questionnaire.from_dict({"title": "Stuff", "questions": PAY})
        changed = verify(found.page, other)
        assert (changed.holds, changed.mechanisms, changed.wording) == (False, True, False)
        weaker = Questionnaire.from_dict({"questions": {"pay": {**PAY["pay"], "epsilon": 2.0}}})
        assert not verify(found.page, weaker).mechanisms
        # A package whose device differs from what is served by one byte.
        from confide.collect import static

        files = dict(static.page("page", "device"))
        files["/device.js"] = static.File(files["/device.js"].data + b" ", "text/javascript")
        monkeypatch.setattr(static, "page", lambda *_: files)
        found_out = verify(found.page, SURVEY)
        assert not found_out.holds
        assert [path for path, same in found_out.files.items() if not same] == ["/device.js"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"host": "0.0.0.0"}, "https://"),
        ({"host": "192.168.0.7", "url": "http://localhost"}, "https://"),
        ({"host": "survey.example.org"}, "https://"),
        ({"cap": 5}, "either a key"),
        ({"url": "http://example.org"}, "begins with https"),
    ],
)
def test_addresses_and_settings_that_are_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Collector(SURVEY, "s", KEY, **fields)


def test_a_public_address_behind_a_proxy_is_allowed() -> None:
    assert Collector(SURVEY, "s", KEY, host="0.0.0.0", url="https://survey.example.org")


def test_the_demo_answers_over_http(tmp_path: Path) -> None:
    show = demo.Show.prepared(tmp_path, n=40, port=0, owner_port=free_port())
    import threading

    stop, ready, pages = threading.Event(), threading.Event(), []

    def told(found: Any) -> None:
        pages.append(found.page)
        ready.set()

    thread = threading.Thread(target=show.collector.run, kwargs={"ready": told, "stop": stop})
    thread.start()
    assert ready.wait(20)
    assert show.answer(pages[0], stop, rate=1e6) == 40
    client = Client(show.link(pages[0]), folder=tmp_path / "state")
    client.answer({"pay": 50_000, "commute": 20, "leaving": "never"})
    stop.set()
    thread.join(20)
    store = opened(show.collector.store, show.collector.survey, create=False)
    assert sum(store.status().answered.values()) == 41


def test_made_up_people_are_the_same_each_time() -> None:
    assert demo.people(20) == demo.people(20)
    assert {person.groups[0] for person in demo.people(200)} == set(demo.REGIONS)


def test_an_end_that_a_reader_held_up_is_wiped_when_it_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.3)
    path = tmp_path / "s"
    (token,) = invited(SURVEY, path, tmp_path, 1)
    with running(SURVEY, path) as found:
        receipt = Client(link(found.page, token), folder=tmp_path / "a").answer({"pay": 1})
        kept = hashlib.sha256(
            b"confide receipt" + base64.urlsafe_b64decode(receipt + "==")
        ).digest()
        until = time.monotonic() + 10
        while Path(f"{path}-wal").stat().st_size and time.monotonic() < until:
            time.sleep(0.05)  # the writer has tidied, and rests
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute("SELECT receipt FROM reports").fetchall() == [(kept,)]
        store = opened(path, SURVEY, create=False)
        with pytest.raises(Unavailable, match="close whatever reads it"):
            store.close()
        assert store.status().closed
        store.shut()
        reader.execute("COMMIT")
        reader.close()

        def traces() -> bool:
            return any(kept in each.read_bytes() for each in tmp_path.glob("s*"))

        until = time.monotonic() + 10
        while traces() and time.monotonic() < until:
            time.sleep(0.05)
        assert not traces()


def test_a_deadline_comes_although_looking_at_the_store_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended = threading.Event()

    class Failing:
        """A store that fails twice, for a reason that nobody has thought of."""

        left = 2
        status = staticmethod(lambda: Status(False, {}, {}))

        def close(self) -> None:
            Failing.left -= 1
            if Failing.left >= 0:
                raise RuntimeError("pay 52000")
            ended.set()

    monkeypatch.setattr(collector, "LOOK", 0.01)
    survey = Questionnaire.from_dict({**SURVEY.to_dict(), "closes": "2020-01-31T18:00:00Z"})
    store: Any = Failing()
    watch = collector._Watch(store, survey)
    watch.start()
    assert ended.wait(20)
    watch.end()
    assert watch.closed()
    # Told once, and without what the error says.
    assert [record.getMessage() for record in caplog.records] == [
        "Looking at the store failed: RuntimeError."
    ]
