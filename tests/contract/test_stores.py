"""What every store of reports must keep, in a file and in a database."""

from __future__ import annotations

import dataclasses
import itertools
import json
import multiprocessing
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from evidence.collector.people import SURVEY, People

from confide.collect.collector import Collector
from confide.collect.invitations import question_cell
from confide.collect.stores import has_password, opened, postgres, sqlite
from confide.collect.stores.store import Outcome, Store
from confide.collect.wire import Entry
from confide.errors import InvalidInput, Mismatch, MissingExtra
from confide.questions import Questionnaire

PAY = SURVEY["questions"]["pay"]
KINDS = ("sqlite", "postgres")
STORED, SAME, USED = Outcome.STORED, Outcome.SAME, Outcome.USED


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "answers.db")
    made: Callable[[], str] = request.getfixturevalue("postgres")
    return made()


@pytest.fixture
def people() -> People:
    return People()


@pytest.fixture
def store(address: str, people: People) -> Iterator[Store]:
    made = opened(address, people.survey, create=True)
    yield made
    made.shut()


def entries(people: People, tokens: Sequence[str | None]) -> list[Entry]:
    return [people.entry(people.upload(token)) for token in tokens]


def recounted(store: Store) -> dict[str, dict[str, dict[int, int]]]:
    """The tallies, counted from all rows."""
    found: dict[str, dict[str, dict[int, int]]] = {}
    for cell, reports in store.rows():
        for question, report in reports.items():
            own = found.setdefault(cell, {}).setdefault(question, {})
            own[report] = own.get(report, 0) + 1
    return found


def other(entry: Entry) -> Entry:
    """The same upload with another report."""
    reports = json.loads(entry.reports)
    changed = json.dumps(reports | {"pay": reports["pay"] ^ 1}, separators=(",", ":"))
    return dataclasses.replace(entry, reports=changed)


def test_outcomes(store: Store, people: People) -> None:
    first, second, third = entries(people, people.invite(store, 3))
    (again,) = entries(people, [people.signer.mint(["north"])])
    assert store.put([]) == []
    assert store.put([first]) == [STORED]
    assert store.put([first]) == [SAME]
    assert store.put([other(first)]) == [USED]
    # Another receipt with the spent invitation, and the used receipt with an unspent one.
    assert store.put([dataclasses.replace(first, receipt=second.receipt, tie=b"")]) == [USED]
    stolen = dataclasses.replace(second, receipt=first.receipt)
    assert store.put([stolen]) == [USED]
    assert store.put([dataclasses.replace(first, tie=second.tie)]) == [USED]
    assert store.put([dataclasses.replace(first, cell="")]) == [USED]
    # What was refused has spent nothing.
    assert store.put([second]) == [STORED]
    assert store.put([again]) == [Outcome.UNKNOWN]
    assert store.put([dataclasses.replace(again, invitation=None)]) == [Outcome.UNKNOWN]
    assert sum(store.status().answered.values()) == 2
    store.close()
    assert store.put([first, third, again]) == [Outcome.CLOSED] * 3
    assert sum(store.status().answered.values()) == 2


def test_a_batch_is_judged_as_if_its_uploads_came_one_by_one(store: Store, people: People) -> None:
    first, second, third = entries(people, people.invite(store, 3))
    stolen = dataclasses.replace(third, receipt=second.receipt)
    batch = [first, first, other(first), second, stolen, second, third]
    assert store.put(batch) == [STORED, SAME, USED, STORED, USED, SAME, STORED]
    assert sum(store.status().answered.values()) == 3


def test_how_many_were_invited_to_each_question(store: Store, people: People) -> None:
    north, south = '["north"]', '["south"]'
    cells = {north: 2, south: 1, question_cell("pay"): 2, question_cell('smo"kes {'): 1}
    store.invite([bytes([at]) * 32 for at in range(3)], cells)
    store.invite([bytes([9]) * 32], {north: 1, question_cell("pay"): 1})
    (entry,) = entries(people, people.invite(store, 1))
    assert store.put([entry]) == [STORED]
    for _ in range(2):
        status = store.status()
        assert status.asked == {"pay": 3, 'smo"kes {': 1}
        assert sum(status.invited.values()) == 5
        assert sum(status.answered.values()) == 1
        assert {*status.invited, *status.answered} <= {north, south}
        store.close()


def test_a_batch_may_have_many_reports(address: str) -> None:
    """More values than a statement of SQLite takes."""
    words = {"categories": [str(number) for number in range(50)], "epsilon": 0.1}
    people = People(
        Questionnaire.from_dict(
            {"groups": ["region"], "questions": {f"q{number}": words for number in range(40)}}
        )
    )
    store = opened(address, people.survey, create=True)
    if isinstance(store, sqlite.SqliteStore):
        # As SQLite is built by most; some take more.
        store._open().setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)
    tokens = [people.signer.mint([f"region {number}"]) for number in range(300)]
    found = [people.signer.read(token) for token in tokens]
    store.invite([one.hash for one in found if one], {one.cell: 1 for one in found if one})
    assert store.put(entries(people, tokens)) == [STORED] * 300
    assert store.tallies() == recounted(store)
    store.shut()


def test_an_open_survey_takes_anybody_up_to_its_cap(address: str) -> None:
    people = People(Questionnaire.from_dict({**SURVEY, "groups": []}))
    people.reader = dataclasses.replace(people.reader, signer=None)
    store = opened(address, people.survey, create=True, cap=3)
    assert store.cap == 3
    uploads = entries(people, [None] * 6)
    assert store.put(uploads[:2]) == [STORED] * 2
    assert store.put([uploads[0], *uploads[2:4]]) == [SAME, STORED, Outcome.FULL]
    assert store.put([uploads[2], other(uploads[2]), uploads[5]]) == [SAME, USED, Outcome.FULL]
    signed = dataclasses.replace(uploads[4], invitation=b"x")
    assert store.put([signed]) == [Outcome.UNKNOWN]
    assert store.status().answered == {"": 3}
    with pytest.raises(InvalidInput, match="needs invitations"):
        store.invite([bytes(32)], {"": 1})
    store.shut()
    again = opened(address, people.survey, create=False)
    assert again.cap == 3
    again.shut()
    with pytest.raises(Mismatch, match="for 4 people, not 3"):
        opened(address, people.survey, create=True, cap=4)
    with pytest.raises(InvalidInput, match="cap >= 1"):
        opened(address, people.survey, create=True, cap=0)


@pytest.mark.parametrize("seed", range(3))
def test_any_uploads_are_judged_and_counted_as_by_hand(
    store: Store, people: People, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against an oracle that knows dictionaries only, with groups mixed in between."""
    monkeypatch.setattr(postgres, "LOADED", 17)
    monkeypatch.setattr(postgres, "IDLE", 5)
    generator = random.Random(seed)
    tokens = people.invite(store, 40) + [people.signer.mint(["south"]) for _ in range(5)]
    known = set(tokens[:40])
    uploads = [(token, *entries(people, [token])) for token in tokens for _ in range(2)]
    receipts: dict[bytes, Entry] = {}
    spent: set[str] = set()
    for _ in range(40):
        batch, expected = [], []
        for token, drawn in generator.choices(uploads, k=generator.randrange(6)):
            entry = drawn
            if generator.random() < 0.2:
                entry = dataclasses.replace(entry, receipt=generator.choice(uploads)[1].receipt)
            if entry == receipts.get(entry.receipt):
                expected.append(SAME)
            elif token not in known:
                expected.append(Outcome.UNKNOWN)
            elif token in spent or entry.receipt in receipts:
                expected.append(USED)
            else:
                expected.append(STORED)
                spent.add(token)
                receipts[entry.receipt] = entry
            batch.append(entry)
        assert store.put(batch) == expected
        if generator.random() < 0.3:
            store.tidy()
    cells = Counter(entry.cell for entry in receipts.values())
    assert store.status().answered == cells
    rows = [(entry.cell, json.loads(entry.reports)) for entry in receipts.values()]
    assert sorted(map(repr, store.rows())) == sorted(map(repr, rows))
    assert store.tallies() == recounted(store)
    before = store.tallies()
    store.close()
    assert store.tallies() == before == recounted(store)
    assert store.status().answered == cells
    assert sorted(map(repr, store.rows())) == sorted(map(repr, rows))


def test_everything_is_there_after_opening_again(address: str, people: People) -> None:
    store = opened(address, people.survey, create=True)
    uploads = entries(people, people.invite(store, 6))
    store.put(uploads[:4])
    kept = store.status(), store.tallies(), sorted(map(repr, store.rows()))
    store.shut()
    again = opened(address, people.survey, create=True)
    assert (again.status(), again.tallies(), sorted(map(repr, again.rows()))) == kept
    assert again.put(uploads) == [SAME] * 4 + [STORED] * 2
    again.shut()


def test_the_order_of_rows_says_nothing(store: Store, people: People) -> None:
    uploads = entries(people, people.invite(store, 200))
    for upload in uploads:
        store.put([upload])
    came = {upload.reports: number for number, upload in enumerate(uploads)}

    def agreement() -> float:
        """How many of all pairs of neighbors are in the order in which they came."""
        rows = [json.dumps(reports, separators=(",", ":")) for _, reports in store.rows()]
        numbers = [came[row] for row in rows]
        return sum(a < b for a, b in itertools.pairwise(numbers)) / len(numbers)

    assert 0.35 < agreement() < 0.65
    store.close()
    assert 0.35 < agreement() < 0.65


def test_invitations_are_new_and_all_or_none(store: Store, people: People) -> None:
    people.invite(store, 3)
    hashes = [bytes([number]) * 32 for number in range(3)]
    store.invite(hashes[:2], {"a": 2})
    with pytest.raises(InvalidInput, match="the store has already"):
        store.invite(hashes, {"a": 3})
    assert store.status().invited == {'["north"]': 2, '["south"]': 1, "a": 2}
    store.invite([], {})
    store.close()
    with pytest.raises(InvalidInput, match="has not ended"):
        store.invite(hashes[2:], {"a": 1})


def test_a_store_belongs_to_its_survey_and_wording(address: str, people: People) -> None:
    with pytest.raises(InvalidInput, match="got none"):
        opened(address, people.survey, create=False)
    opened(address, people.survey, create=True).shut()
    pay = {**PAY, "epsilon": 2.0}
    with pytest.raises(Mismatch, match=r"mechanisms: .*epsilon of 'pay' \(1.0 in the store, 2.0"):
        opened(address, Questionnaire.from_dict({"questions": {"pay": pay}}), create=True)
    with pytest.raises(Mismatch, match=r"another wording: title \(none in the store, \"Other\""):
        opened(address, Questionnaire.from_dict({**SURVEY, "title": "Other"}), create=False)
    with pytest.raises(Mismatch, match="takes 7 people without invitations"):
        opened(address, people.survey, create=True, cap=7)


def test_what_has_changed_in_a_survey_is_named(address: str) -> None:
    first = {
        "title": "Staff",
        "closes": "2090-01-31T18:00:00Z",
        "questions": {
            "pay": {"text": "What do you earn?", **PAY},
            "smokes": {"categories": ["no", "yes"], "epsilon": 1.0},
        },
    }
    opened(address, Questionnaire.from_dict(first), create=True).shut()
    pay = first["questions"]["pay"]  # type: ignore[index]
    for change, told in (
        ({"closes": "2090-02-28T18:00:00Z"}, ["closes", "2090-01-31T18:00", "2090-02-28T18:00"]),
        ({"closes": None}, ["closes", "none now"]),
        ({"title": "All"}, ['title ("Staff" in the store, "All" now)']),
        ({"questions": {"pay": pay}}, ["no question 'smokes'"]),
        (
            {"questions": {**first["questions"], "pay": {**pay, "text": "x" * 500}}},  # type: ignore[dict-item]
            ["text of 'pay'", "What do you earn?", "xxx..."],
        ),
        (
            {"questions": {f"q{at}": pay for at in range(9)}},
            ["no question 'pay'", "a new question 'q0'", "and 7 more"],
        ),
    ):
        survey = Questionnaire.from_dict({**first, **change})
        with pytest.raises(Mismatch) as caught:
            opened(address, survey, create=False)
        for words in told:
            assert words in str(caught.value)


def test_another_order_is_named_where_it_matters(address: str) -> None:
    questions = {"pay": PAY, "age": PAY}
    opened(address, Questionnaire.from_dict({"ask": 1, "questions": questions}), create=True).shut()
    other = {"ask": 1, "questions": dict(reversed(questions.items()))}
    with pytest.raises(Mismatch, match="mechanisms: another order of the questions"):
        opened(address, Questionnaire.from_dict(other), create=False)


def test_a_store_knows_its_invitations(store: Store, people: People) -> None:
    (token,) = people.invite(store, 1)
    invitation = people.signer.read(token)
    assert invitation is not None
    assert store.knows(invitation.hash)
    assert not store.knows(bytes(32))


def test_processes_may_make_one_store_at_once(address: str, people: People) -> None:
    def make(number: int) -> Store:
        store = opened(address, people.survey, create=True)
        store.invite([bytes([number]) * 32], {"": 1})
        return store

    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(make, range(8)))
    for each in stores:
        assert each.status().invited == {"": 8}
        each.shut()


def _visit(address: str, close: bool) -> None:
    """Open a store as another program does, look at it, perhaps close the survey, and go."""
    store = opened(address, People().survey, create=False)
    store.status()
    if close:
        store.close()
    store.shut()


def _visited(address: str, *, close: bool) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_visit, args=(address, close))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_other_programs_that_come_and_go_change_nothing(address: str, people: People) -> None:
    # A service has a store open several times. SQLite's locks belong to the whole process, and
    # would be gone if anything else in it had opened and closed the file.
    stores = [opened(address, people.survey, create=True) for _ in range(3)]
    first, second, third = entries(people, people.invite(stores[0], 3))
    assert stores[0].put([first]) == [STORED]
    _visited(address, close=False)
    assert stores[0].put([second]) == [STORED]
    stores.append(opened(address, people.survey, create=False))
    assert sum(stores[-1].status().answered.values()) == 2
    _visited(address, close=True)
    assert stores[0].put([third]) == [Outcome.CLOSED]
    assert all(store.status().closed for store in stores)
    for store in stores:
        store.shut()
    last = opened(address, people.survey, create=False)
    assert len(list(last.rows())) == 2
    last.shut()


def test_racing_uploads_of_one_invitation_are_stored_once(address: str, people: People) -> None:
    first = opened(address, people.survey, create=True)
    tokens = people.invite(first, 10)
    shared = [people.entry(people.upload(token)) for token in people.invite(first, 10)]
    stores = [first, *(opened(address, people.survey, create=False) for _ in range(3))]

    def race(store: Store) -> list[Outcome]:
        # All of them send for every invitation with a receipt of their own, in another order ...
        uploads = entries(people, random.sample(tokens, len(tokens)))
        # ... and some uploads that are the same.
        return [store.put([upload])[0] for upload in uploads + shared]

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(race, stores))
    own = Counter(outcome for each in outcomes for outcome in each[:10])
    assert own == {STORED: 10, USED: 30}
    same = Counter(outcome for each in outcomes for outcome in each[10:])
    assert same == {STORED: 10, SAME: 30}
    assert sum(first.status().answered.values()) == 20
    assert first.tallies() == recounted(first)
    for each in stores:
        each.shut()


def test_uploads_that_race_with_closing_are_stored_or_refused(address: str, people: People) -> None:
    first = opened(address, people.survey, create=True)
    uploads = entries(people, people.invite(first, 300))
    second = opened(address, people.survey, create=False)
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(lambda: [second.put([upload])[0] for upload in uploads])
        while not sum(first.status().answered.values()) > 5:
            pass
        first.close()
        outcomes = putting.result()
    stored = outcomes.count(STORED)
    assert outcomes == [STORED] * stored + [Outcome.CLOSED] * (300 - stored)
    assert sum(second.status().answered.values()) == stored == len(list(second.rows()))
    assert second.status().closed
    first.shut()
    second.shut()


def test_reading_while_others_write_sees_one_state(
    address: str, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LOADED", 30)
    first = opened(address, people.survey, create=True)
    uploads = entries(people, people.invite(first, 400))
    second = opened(address, people.survey, create=False)
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(
            lambda: [second.put(uploads[at : at + 4]) for at in range(0, len(uploads), 4)]
        )
        seen = 0
        while not putting.done():
            total = sum(n for cell in first.tallies().values() for n in cell["pay"].values())
            assert total % 4 == 0
            assert total >= seen
            seen = total
            assert len(list(first.rows())) % 4 == 0
        putting.result()
    first.shut()
    second.shut()


def test_a_reader_does_not_hold_up_writers(
    store: Store, address: str, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LOADED", 10)
    monkeypatch.setattr(postgres, "STEP", 5)
    monkeypatch.setattr(sqlite, "STEP", 5)
    uploads = entries(people, people.invite(store, 60))
    store.put(uploads[:30])
    rows = store.rows()
    next(rows)
    second = opened(address, people.survey, create=False)
    assert second.put(uploads[30:]) == [STORED] * 30
    second.tidy()
    assert len(list(rows)) in (29, 59)
    assert store.tallies() == recounted(store)
    second.shut()


def end(address: str, survey: dict[str, Any], ready: Any) -> None:
    """Close a store, in a process that is killed."""
    store = opened(address, Questionnaire.from_dict(survey), create=False)
    ready.set()
    store.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_closing_that_is_killed_is_undone_or_finished(address: str, people: People) -> None:
    store = opened(address, people.survey, create=True)
    uploads = entries(people, people.invite(store, 3000))
    for at in range(0, len(uploads), 500):
        store.put(uploads[at : at + 500])
    before = store.tallies()
    context = multiprocessing.get_context("spawn")
    for wait in (0.0, 0.02, 0.06):
        ready = context.Event()
        process = context.Process(target=end, args=(address, people.survey.to_dict(), ready))
        process.start()
        ready.wait()
        time.sleep(wait)
        process.kill()
        process.join()
        again = opened(address, people.survey, create=False)
        assert again.tallies() == before == recounted(again)
        assert again.put(uploads[:1]) == [Outcome.CLOSED if again.status().closed else SAME]
        again.shut()
    store.close()
    assert store.status().closed
    store.close()
    assert store.tallies() == before == recounted(store)
    store.shut()


def test_a_password_is_in_no_message(people: People) -> None:
    pytest.importorskip("psycopg")
    hidden = "hunter2"
    for address in (
        f"postgresql://ann:{hidden}@localhost:1/nothing",
        f"postgresql://localhost:1/nothing?user=ann&password={hidden}",
        f"postgresql://ann:{hidden}@localhost:99999999/nothing",
        f"postgresql://ann:{hidden}@localhost:1/nothing?what={hidden}",
        f"postgresql://ann:{hidden}@localhost:1/nothing#{hidden}!",
    ):
        with pytest.raises((InvalidInput, postgres.Unavailable)) as told:
            opened(address, people.survey, create=True)
        assert hidden not in str(told.value)
        assert hidden not in repr(Collector(people.survey, address, bytes(32)))
        assert has_password(address)
        assert told.value.__cause__ is None
        assert told.value.__suppress_context__ or told.value.__context__ is None


@pytest.mark.parametrize(
    ("code", "tried", "words"),
    [
        ("53100", None, "its disk is full"),
        ("57P01", None, "stopping or starting"),
        ("XX000", None, "error XX000"),
        (None, None, "the connection was lost"),
        (None, (True, False), "asks for a password"),
        (None, (False, True), "does not know this user, password or database"),
        (None, (False, False), "cannot be reached"),
    ],
)
def test_why_a_database_cannot_be_used(
    code: str | None, tried: tuple[bool, bool] | None, words: str
) -> None:
    made = tried and SimpleNamespace(needs_password=tried[0], used_password=tried[1])
    assert words in postgres._reason(SimpleNamespace(sqlstate=code, pgconn=made))


def test_a_database_that_is_not_there_is_told(people: People) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(postgres.Unavailable, match="cannot be reached"):
        opened("postgresql://ann@127.0.0.1:1/nothing", people.survey, create=True)


def test_without_its_extra_a_database_says_what_to_install(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"psycopg.*its extra postgres"):
        opened("postgresql://localhost/nothing", people.survey, create=True)


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800"])
def test_names_that_no_store_can_hold_are_refused(address: str, name: str) -> None:
    survey = Questionnaire.from_dict({"questions": {name: PAY}})
    with pytest.raises(InvalidInput, match="names of questions"):
        opened(address, survey, create=True)


@pytest.mark.parametrize("name", ['"', "';--", "Ω", "%s", "a b", "{0}", "\\u0041"])
def test_names_are_no_statements(address: str, name: str) -> None:
    people = People(Questionnaire.from_dict({"groups": [name + "g"], "questions": {name: PAY}}))
    store = opened(address, people.survey, create=True)
    upload = people.entry(people.upload(*people.invite(store, 1)))
    assert store.put([upload]) == [STORED]
    ((cell, counts),) = store.tallies().items()
    assert list(counts) == [name]
    store.close()
    assert list(store.tallies()[cell]) == [name]
    assert [cell] == list(store.status().answered)
    store.shut()


def test_one_database_holds_several_stores(postgres: Callable[[], str], people: People) -> None:
    stores = [opened(postgres(), people.survey, create=True) for _ in range(2)]
    uploads = entries(people, people.invite(stores[0], 1))
    assert stores[1].put(uploads) == [Outcome.UNKNOWN]
    assert stores[0].put(uploads) == [STORED]
    for each in stores:
        each.shut()
