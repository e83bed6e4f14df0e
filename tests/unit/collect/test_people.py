"""Whom to invite: tables of people, their links, and that nothing is half-written."""

import csv
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from confide.collect.invitations import Signer, split_link, uncell
from confide.collect.people import People, invite
from confide.collect.stores import opened
from confide.collect.stores.store import Store, Unavailable
from confide.errors import InvalidInput
from confide.questions import Questionnaire

PAY = {"pay": {"low": 0, "high": 9, "epsilon": 1.0}}
PLAIN = Questionnaire.from_dict({"questions": PAY})
GROUPED = Questionnaire.from_dict({"groups": ["region"], "questions": PAY})
URL = "https://survey.example.org"


def store(folder: Path, survey: Questionnaire) -> Store:
    return opened(folder / "s.reports", survey, create=True)


def table(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_text(text)
    return path


def test_links_for_people_of_whom_nothing_is_known(tmp_path: Path) -> None:
    kept, signer, to = store(tmp_path, PLAIN), Signer(bytes(32), PLAIN), tmp_path / "links.csv"
    assert invite(People.nameless(50), PLAIN, signer, kept, url=URL, to=to) == 50
    rows = list(csv.DictReader(to.open()))
    tokens = [split_link(row["link"])[1] for row in rows]
    assert [signer.read(token) is not None for token in tokens] == [True] * 50
    assert len(set(tokens)) == 50
    assert kept.status().invited == {"": 50}
    if os.name == "posix":
        assert to.stat().st_mode & 0o777 == 0o600


def test_groups_go_into_links_and_other_columns_beside_them(tmp_path: Path) -> None:
    path = table(tmp_path, 'name,region\n"Ada, B.",north\nBen,Süd\nCleo,north\n')
    kept, signer, to = store(tmp_path, GROUPED), Signer(bytes(32), GROUPED), tmp_path / "l.csv"
    people = People.read(path, GROUPED)
    assert invite(people, GROUPED, signer, kept, url=URL, to=to) == 3
    rows = list(csv.DictReader(to.open(encoding="utf-8")))
    assert [row["name"] for row in rows] == ["Ada, B.", "Ben", "Cleo"]
    found = [signer.read(split_link(row["link"])[1]) for row in rows]
    assert [one.groups for one in found if one] == [("north",), ("Süd",), ("north",)]
    invited = Counter({uncell(cell): n for cell, n in kept.status().invited.items()})
    assert invited == {("north",): 2, ("Süd",): 1}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name\nAda\n", "a column 'region'"),
        ("name,Region\nAda,n\n", "Did you mean 'Region'"),
        ("region,pay\nn,3\n", "the question 'pay'"),
        ("region,link\nn,x\n", "without a column 'link'"),
        ("region\n", "from 1 to"),
        ("", "a column 'region'"),
        ("region,region\nn,n\n", "one twice"),
        ("region,name\nn\n", "2 cells in line 2"),
        ("region\nn,m\n", "1 cells in line 2"),
        ("region,name\nn,a\n,b\n", "group 'region' in line 3"),
        ('region\n"n', "CSV in"),
        ("region\nNorth\nsouth\nnorth\n", "'North' in line 2 and 'north' in line 4"),
        ("region\nN  W\nN W\n", "one spelling"),
        ("region\ns\u00fcd\nsu\u0308d\n", "one spelling"),
        ("region\nn\n n\n", "no blanks around the group 'region' in line 3"),
    ],
)
def test_tables_of_people_that_cannot_be_used(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        People.read(table(tmp_path, text), GROUPED)


def test_other_bytes_than_text(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"region\n\xff\n")
    with pytest.raises(InvalidInput, match="UTF-8"):
        People.read(path, GROUPED)


def test_groups_take_a_table(tmp_path: Path) -> None:
    signer, to = Signer(bytes(32), GROUPED), tmp_path / "l.csv"
    with pytest.raises(InvalidInput, match="--people"):
        invite(People.nameless(3), GROUPED, signer, store(tmp_path, GROUPED), url=URL, to=to)
    assert not to.exists()


def test_links_are_never_overwritten(tmp_path: Path) -> None:
    kept, signer, to = store(tmp_path, PLAIN), Signer(bytes(32), PLAIN), tmp_path / "links.csv"
    to.write_text("older links")
    with pytest.raises(InvalidInput, match="a new file"):
        invite(People.nameless(3), PLAIN, signer, kept, url=URL, to=to)
    assert to.read_text() == "older links"
    assert kept.status().invited == {}


def test_a_store_that_fails_leaves_no_links(tmp_path: Path) -> None:
    kept, signer, to = store(tmp_path, PLAIN), Signer(bytes(32), PLAIN), tmp_path / "links.csv"
    kept.close()
    with pytest.raises(InvalidInput, match="has not ended"):
        invite(People.nameless(3), PLAIN, signer, kept, url=URL, to=to)
    assert not to.exists()


def test_a_store_that_refuses_takes_no_links_away_that_another_has(tmp_path: Path) -> None:
    kept, signer, to = store(tmp_path, PLAIN), Signer(bytes(32), PLAIN), tmp_path / "links.csv"
    people = People.nameless(3)
    invite(people, PLAIN, signer, kept, url=URL, to=to)
    links = to.read_text()
    ended = opened(tmp_path / "ended.reports", PLAIN, create=True)
    ended.close()
    with pytest.raises(InvalidInput, match="has not ended"):
        invite(people, PLAIN, signer, ended, url=URL, to=to)
    assert to.read_text() == links


def test_an_address_that_is_not_secure_invites_nobody(tmp_path: Path) -> None:
    kept, signer, to = store(tmp_path, PLAIN), Signer(bytes(32), PLAIN), tmp_path / "links.csv"
    with pytest.raises(InvalidInput, match="https"):
        invite(People.nameless(3), PLAIN, signer, kept, url="http://example.org", to=to)
    assert not to.exists()
    assert kept.status().invited == {}


def test_a_second_table_spells_groups_as_the_first(tmp_path: Path) -> None:
    kept, signer = store(tmp_path, GROUPED), Signer(bytes(32), GROUPED)
    for number, name in enumerate(("North", "North", "north")):
        people = People.read(table(tmp_path, f"region\n{name}\n"), GROUPED)
        to = tmp_path / f"{number}.csv"
        if name == "North":
            invite(people, GROUPED, signer, kept, url=URL, to=to)
            continue
        with pytest.raises(InvalidInput, match="invited before, 'North', got 'north'"):
            invite(people, GROUPED, signer, kept, url=URL, to=to)
        assert not to.exists()
    assert sum(kept.status().invited.values()) == 2


class Failing:
    """A store that loses its connection, before or after it has admitted invitations."""

    def __init__(self, inner: Store, *, after: bool) -> None:
        self.inner, self.after = inner, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def invite(self, *given: Any) -> None:
        if self.after:
            self.inner.invite(*given)
        raise Unavailable("The connection was lost.")


@pytest.mark.parametrize("after", [True, False])
def test_links_of_invitations_that_may_be_stored_are_never_lost(
    tmp_path: Path, after: bool
) -> None:
    kept, signer, to = store(tmp_path, GROUPED), Signer(bytes(32), GROUPED), tmp_path / "l.csv"
    people = People.read(table(tmp_path, "name,region\nAda,north\nBen,south\n"), GROUPED)
    cut: Any = Failing(kept, after=after)
    with pytest.raises(Unavailable, match=r"lost. Nobody knows .* run the same command again"):
        invite(people, GROUPED, signer, cut, url=URL, to=to)
    links = to.read_text()
    if os.name == "posix":
        assert to.stat().st_mode & 0o777 == 0o600
    # Other people, another address and another key are no second attempt.
    others = People.read(table(tmp_path, "name,region\nAda,north\nCleo,south\n"), GROUPED)
    for who, where, key in (
        (others, URL, bytes(32)),
        (people, "https://else.example.org", bytes(32)),
        (people, URL, bytes([1] * 32)),
    ):
        with pytest.raises(InvalidInput, match="which is there"):
            invite(who, GROUPED, Signer(key, GROUPED), kept, url=where, to=to)
    if after:
        with pytest.raises(InvalidInput, match=r"has already\. These can be sent"):
            invite(people, GROUPED, signer, kept, url=URL, to=to)
    else:
        assert invite(people, GROUPED, signer, kept, url=URL, to=to) == 2
        with pytest.raises(InvalidInput, match="These can be sent"):
            invite(people, GROUPED, signer, kept, url=URL, to=to)
    assert to.read_text() == links
    invited = {uncell(cell): n for cell, n in kept.status().invited.items()}
    assert invited == {("north",): 1, ("south",): 1}
